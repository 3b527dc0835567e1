"""Times callables on the GPU (events, L2 cleared, median) or on the CPU (wall clock or processor time, median)."""

from __future__ import annotations

import resource
import time

from .runs import median, runs_for

# Ten times the largest L2 so far (H200: 50 MB). Clearing also keeps the GPU busy, for 0.15 ms there, which is longer than
# Python needs to launch the next run, so that no time between launch and start is counted.
CLEARED_BYTES = 512 << 20


class GpuClock:
    """Device time. All runs of a measurement are queued at once."""

    def __init__(self, budget: float):
        import torch
        self.torch, self.budget = torch, budget
        self.cache = torch.empty(CLEARED_BYTES // 4, dtype=torch.int32, device="cuda")

    def synchronize(self) -> None:
        self.torch.cuda.synchronize()

    def samples(self, calls, count: int, during=lambda: None) -> list:
        """Milliseconds of `count` runs, of the callables in turn, each with the L2 cache cleared before it. `during` is
        called while they run."""
        event, pairs = self.torch.cuda.Event, []
        for run in range(count):
            self.cache.zero_()
            pair = event(enable_timing=True), event(enable_timing=True)
            pair[0].record()
            calls[run % len(calls)]()
            pair[1].record()
            pairs.append(pair)
        during()
        self.synchronize()
        return [start.elapsed_time(end) for start, end in pairs]

    def milliseconds(self, call) -> float:
        """The callable has run before (compiled, tuned, loaded)."""
        once = self.samples([call], 1)[0]
        return median(self.samples([call], runs_for(once / 1e3, self.budget)))


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
            self.synchronize()
            return time.perf_counter() - start

        first = once()
        return median(once() for _ in range(runs_for(first, self.budget))) * 1e3


class GpuWallClock(CpuClock):
    """Wall-clock time of a call on the GPU until its result is there: what one call costs a program that waits for it.
    Caches are as the run before left them."""

    def __init__(self, budget: float):
        import torch
        super().__init__(budget)
        self.synchronize = torch.cuda.synchronize


class ProcessorClock:
    """Time of synchronous calls on a CPU that others use too: the process's own processor time, or, with several threads,
    the wall clock. A sample repeats its call for at least `least_ms`."""

    def __init__(self, threads: int, least_ms: float = 1.0):
        self.now = time.process_time_ns if threads == 1 else time.perf_counter_ns
        self.least_ms = least_ms

    def synchronize(self) -> None:
        pass

    def repeats(self, ms: float) -> int:
        """Calls in a sample of something that takes `ms`."""
        return max(1, min(10000, int(self.least_ms / max(ms, 1e-4)) + 1))

    def sample(self, call, repeats: int) -> tuple:
        """(milliseconds of a call, how often the sample was interrupted by other programs)."""
        before = resource.getrusage(resource.RUSAGE_SELF).ru_nivcsw
        start = self.now()
        for _ in range(repeats):
            call()
        spent = self.now() - start
        return spent / repeats / 1e6, resource.getrusage(resource.RUSAGE_SELF).ru_nivcsw - before
