"""Times a callable on the GPU (events, L2 cleared, median) or on the CPU (wall clock, median)."""

from __future__ import annotations

import time

import torch

from .records import median, runs_for

# Five times the largest L2 so far (H200: 50 MB). Clearing also keeps the GPU busy for longer than Python needs to launch
# the next run, so that no time between launch and start is counted.
CLEARED_BYTES = 256 << 20


class GpuClock:
    """Device time. All runs of a measurement are queued at once."""

    def __init__(self, budget: float):
        self.budget = budget
        self.cache = torch.empty(CLEARED_BYTES // 4, dtype=torch.int32, device="cuda")

    def synchronize(self) -> None:
        torch.cuda.synchronize()

    def _timed(self, call, count):
        pairs = []
        for _ in range(count):
            self.cache.zero_()
            pair = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            pair[0].record()
            call()
            pair[1].record()
            pairs.append(pair)
        torch.cuda.synchronize()
        return [start.elapsed_time(end) for start, end in pairs]

    def milliseconds(self, call) -> float:
        """The callable has run before (compiled, tuned, loaded)."""
        once = self._timed(call, 1)[0]
        return median(self._timed(call, runs_for(once / 1e3, self.budget)))


class CpuClock:
    """Wall-clock time of synchronous calls."""

    def __init__(self, budget: float):
        self.budget = budget

    def synchronize(self) -> None:
        pass

    def milliseconds(self, call) -> float:
        def once():
            start = time.perf_counter()
            call()
            return time.perf_counter() - start

        first = once()
        return median(once() for _ in range(runs_for(first, self.budget))) * 1e3
