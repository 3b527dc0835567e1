"""Processes with a deadline for each phase. A crash or a hang of one ends that one only."""

from __future__ import annotations

import dataclasses
import multiprocessing
import os
import signal
import time
from pathlib import Path

from . import worker
from .problem import ROOT

START_SECONDS = 300   # for work of unknown length: cases, the first candidate's checks
LEAST_SECONDS = 20    # for a phase, beside a busy machine
MULTIPLE = 10         # of the best so far


@dataclasses.dataclass(frozen=True)
class Outcome:
    """`status` is "ok" or one of the log's others with a reason."""

    status: str
    reason: str = ""
    value: tuple = ()
    error_l2: float | None = None
    check_seconds: float = 0.0


def _child(pipe, function, arguments):
    function(*arguments, pipe.send)


class Runner:
    """Starts processes from a server that has Python's modules loaded and nothing else, so that a start is cheap and
    nothing of one candidate reaches the next."""

    def __init__(self, preload=("hconv_tune.worker",), multiple: float = MULTIPLE, least_seconds: float = LEAST_SECONDS,
                 start_seconds: float = START_SECONDS):
        paths = [str(ROOT / "python"), *filter(None, [os.environ.get("PYTHONPATH")])]
        os.environ["PYTHONPATH"] = os.pathsep.join(paths)  # the server imports its modules by it
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload(list(preload))
        self.multiple, self.least_seconds, self.start_seconds = multiple, least_seconds, start_seconds
        self.check_seconds = 0.0  # of the quickest candidate so far

    def call(self, function, *arguments, seconds: float | None = None) -> Outcome:
        """Runs function(*arguments, tell) in a process until it tells "done" or "ended"."""
        return self._run(function, arguments, lambda phase: seconds or self.start_seconds, None)

    def measure(self, request: worker.Request, best_ms: float | None, function=worker.measure) -> Outcome:
        """One measurement; the value is (samples, rejected). A phase may take `multiple` times what the best took."""
        check = max(self.least_seconds, self.multiple * self.check_seconds) if self.check_seconds else self.start_seconds
        timing = self.start_seconds
        if best_ms is not None:
            calls = worker.LEAST_SAMPLES + worker.ROTATED
            timing = self.least_seconds + 3 * request.budget + self.multiple * calls * best_ms / 1e3
        outcome = self._run(function, (request,), {"check": check, "time": timing}.get, request.output)
        if outcome.status == "ok":
            self.check_seconds = min(self.check_seconds or outcome.check_seconds, outcome.check_seconds)
        return outcome

    def _run(self, function, arguments, limit, output) -> Outcome:
        receiver, sender = self._context.Pipe(duplex=False)
        process = self._context.Process(target=_child, args=(sender, function, arguments), daemon=True)
        process.start()
        sender.close()
        phase, start, error, check_seconds = "check", time.monotonic(), None, 0.0
        try:
            while True:
                seconds = limit(phase)
                if not receiver.poll(max(0.0, start + seconds - time.monotonic())):
                    return Outcome("timeout", f"It was stopped after {seconds:.0f} s of "
                                   f"{'loading and checking' if phase == 'check' else 'timing'}.", error_l2=error)
                try:
                    told = receiver.recv()
                except (EOFError, OSError):
                    return Outcome("crash", self._death(process, phase, output), error_l2=error)
                if told[0] == "checked":
                    error, check_seconds = told[1], time.monotonic() - start
                    phase, start = "time", time.monotonic()
                elif told[0] == "done":
                    return Outcome("ok", value=tuple(told[1:]), error_l2=error, check_seconds=check_seconds)
                else:
                    return Outcome(told[1], told[2], error_l2=error)
        finally:
            receiver.close()
            process.join(0.2)
            if process.is_alive():
                process.kill()
            process.join()
            process.close()

    @staticmethod
    def _death(process, phase, output) -> str:
        process.join(5)
        code = process.exitcode
        if code is None:
            how = "It closed its pipe"
        elif code < 0:
            how = f"It died of {signal.Signals(-code).name}"
        else:
            how = f"It ended with {code}"
        text = Path(output).read_text(errors="replace").strip() if output and Path(output).exists() else ""
        said = f": {' '.join(text.split())[-300:]}" if text else "."
        return f"{how} while {'loading or checking' if phase == 'check' else 'it was timed'}{said}"
