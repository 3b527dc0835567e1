"""Processes with a deadline for each phase. A crash or a hang of one ends that one only."""

from __future__ import annotations

import dataclasses
import multiprocessing
import os
import signal
import time
from pathlib import Path

from .problem import ROOT

START_SECONDS = 300   # for work of unknown length: cases, the first candidate's checks
CHECK, TIME = "loading or checking", "it was timed"
PHASES = {CHECK: "loading and checking", TIME: "timing"}


@dataclasses.dataclass(frozen=True)
class Outcome:
    """`status` is "ok" or one of the log's others with a reason."""

    status: str
    reason: str = ""
    value: tuple = ()
    error_l2: float | None = None
    seconds: float = 0.0


def _child(pipe, function, arguments):
    function(*arguments, pipe)


def _telling(function, *arguments_and_pipe):
    *arguments, pipe = arguments_and_pipe
    function(*arguments, pipe.send)


class Child:
    """A process that runs function(*arguments, pipe). What it prints goes to `output`, if the function redirects it."""

    def __init__(self, context, function, arguments, output: str | None = None):
        self.pipe, other = context.Pipe()
        self.output, self.process = output, context.Process(target=_child, args=(other, function, arguments), daemon=True)
        self.process.start()
        other.close()

    def ask(self, what) -> None:
        """A process that died is noticed when its answer is asked for."""
        try:
            self.pipe.send(what)
        except (BrokenPipeError, OSError):
            pass

    def answer(self, seconds: float, phase: str = CHECK):
        """What it told, or an Outcome of one that died or took longer; that is then stopped."""
        if not self.pipe.poll(max(0.0, seconds)):
            return self.overdue(seconds, phase)
        try:
            return self.pipe.recv()
        except Exception:  # a message that was cut off can be any fault of unpickling
            outcome = Outcome("crash", self._death(phase))
            self.stop()
            return outcome

    def overdue(self, seconds: float, phase: str = CHECK) -> Outcome:
        self.stop()
        return Outcome("timeout", f"It was stopped after {seconds:.0f} s of {PHASES[phase]}.")

    def stop(self) -> None:
        """One that stands in a kernel is killed."""
        if self.process is None:
            return
        self.pipe.close()
        self.process.join(0.2)
        if self.process.is_alive():
            self.process.kill()
        self.process.join()
        self.process.close()
        self.process = None

    def kill(self) -> None:
        """Without waiting for it; `stop` follows."""
        if self.process is not None:
            self.process.kill()

    def _death(self, phase: str) -> str:
        self.process.join(5)
        code = self.process.exitcode
        if code is None:
            how = "It closed its pipe"
        elif code < 0:
            how = f"It died of {signal.Signals(-code).name}"
        else:
            how = f"It ended with {code}"
        text = (Path(self.output).read_text(errors="replace").strip()
                if self.output and Path(self.output).exists() else "")
        said = f": {' '.join(text.split())[-300:]}" if text else "."
        return f"{how} while {phase}{said}"


class Runner:
    """Starts processes from a server that has Python's modules loaded and nothing else, so that a start is cheap and
    nothing of one process reaches another."""

    def __init__(self, preload=("hconv_tune.worker",), start_seconds: float = START_SECONDS):
        paths = [str(ROOT / "python"), *filter(None, [os.environ.get("PYTHONPATH")])]
        os.environ["PYTHONPATH"] = os.pathsep.join(paths)  # the server imports its modules by it
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload(list(preload))
        self.start_seconds = start_seconds

    def child(self, function, *arguments, output: str | None = None) -> Child:
        return Child(self._context, function, arguments, output)

    def call(self, function, *arguments, seconds: float | None = None) -> Outcome:
        """Runs function(*arguments, tell) in a process until it tells ("done", ...) or ("ended", status, reason)."""
        child, start = self.child(_telling, function, *arguments), time.monotonic()
        try:
            told = child.answer(seconds or self.start_seconds)
        finally:
            child.stop()
        return told if isinstance(told, Outcome) else outcome_of(told, time.monotonic() - start)


def outcome_of(told: tuple, seconds: float, error_l2: float | None = None) -> Outcome:
    """Of ("done", ...) or ("ended", status, reason)."""
    if told[0] == "ended":
        return Outcome(told[1], told[2], error_l2=error_l2, seconds=seconds)
    return Outcome("ok", value=tuple(told[1:]), error_l2=error_l2, seconds=seconds)
