"""What runs in a candidate's process: it loads one library, checks one variant on all cases of a problem, times it when it
is told to, and waits for the next problem.

The parent (pool.py) hears of each phase as it ends, so that it can tell a hang while checking from one while timing.
"""

from __future__ import annotations

import dataclasses
import math
import os
import time
from pathlib import Path

import hconv
from hconv import _native
from hconv_measure.clocks import GpuClock, ProcessorClock
from hconv_measure.runs import runs_for

from . import cases, nvml
from .intervals import median
from .memory import TorchMemory, memory_of
from .problem import Problem

ROTATED = 3              # copies of x that runs take in turn
ROTATED_BYTES = 1 << 30  # of all of them, at most
LEAST_SAMPLES = 3
INTERRUPTION_MS = 5      # more than one interruption in this time is too many
BATCHES = 3              # of a GPU's runs; its clock is looked at in each
WARM_MS = 5              # of runs before the first batch: a GPU that was idle raises its clock


@dataclasses.dataclass(frozen=True)
class Request:
    """One measurement. `budget` is seconds of timed runs, at most `runs` of them; what is slower than `give_up_ms` after
    the first of them is timed no further. `checks` are the cases that it has to pass first, `normal` also after timing if
    `again`."""

    library: str
    variant: str
    algorithm: str
    problem: Problem
    cases: str
    output: str          # file for what the process prints
    budget: float = 0.3
    runs: int = 25
    give_up_ms: float = math.inf
    checks: tuple = cases.NAMES
    again: bool = False

    @property
    def environment(self) -> tuple:
        """What a process cannot change any more."""
        return self.problem.target, self.problem.threads

    def same(self, other: "Request") -> bool:
        """Whether what was prepared for one serves the other."""
        return (self.variant, self.problem, self.cases) == (other.variant, other.problem, other.cases)


class Unusable(Exception):
    """The candidate ends here with a status of the log and a reason."""

    def __init__(self, status: str, reason: str):
        super().__init__(reason)
        self.status = status


def _pin(request: Request, case: cases.Case) -> str:
    """What the name of a case's variant must start with. The parts of a split one divide the problem's channels; those of
    a border case are few, and the library chooses."""
    name, _, parts = request.variant.partition("+")
    few = parts.isdigit() and case.shape.in_channels != request.problem.shape.in_channels
    os.environ["HCONV_VARIANT"] = name if few else request.variant
    _native.library().hconv_reload_environment()
    return f"{name}+" if few else request.variant


def prepare(request: Request, memory, case: cases.Case, x, y):
    """(plan, packed weights, a run) of the pinned variant with all arguments bound."""
    pinned = _pin(request, case)
    w, bias = memory.image(case.w), None if case.bias is None else memory.vector(case.bias)
    plan = hconv.Plan.for_arrays(x, w, case.shape.padding, request.problem.mode)
    if plan.variant != pinned and not (pinned.endswith("+") and plan.variant.startswith(pinned)):
        raise Unusable("rejected", f"the library chose {plan.variant} although {pinned} was pinned")
    if plan.problem.layout != request.problem.layout:
        raise Unusable("rejected", f"the arrays' layout is {plan.problem.layout}, not {request.problem.layout}")
    packed = plan.pack(w)
    return plan, packed, plan.prepare(x, packed, bias=bias, out=y)


def check_case(request: Request, memory, name: str) -> tuple:
    """(relative L2 error, the case, its output and x, what `prepare` gave). Raises Unusable where it is wrong."""
    case = cases.load(request.problem, Path(request.cases), name)
    output, x = memory.output(case.shape.output), memory.image(case.x)
    prepared = prepare(request, memory, case, x, output.y)
    prepared[2]()
    case = memory.reference(case)
    error, wrong = memory.check(case, output, request.problem.mode, request.algorithm)
    if wrong:
        raise Unusable("wrong", f"{name} ({case.shape}): {wrong}")
    return error, case, output, x, prepared


class Held:
    """A checked candidate that can be timed: runs of the problem itself that differ in where x lies."""

    def __init__(self, request: Request, memory):
        self.request, self.memory = request, memory
        for name in request.checks:
            if name != "normal":
                check_case(request, memory, name)
        self.error, self.case, self.output, x, (plan, packed, run) = check_case(request, memory, "normal")
        bytes_of_x = 4 * math.prod(self.case.x.shape)
        copies = max(1, min(ROTATED, ROTATED_BYTES // max(bytes_of_x, 1)))
        values = cases.load(request.problem, Path(request.cases), "normal").x
        others = [memory.copy(x, values) for _ in range(copies - 1)]
        self.calls = [run] + [plan.prepare(other, packed, out=run.out) for other in others]
        memory.rest()

    def check_again(self, request: Request) -> None:
        """The output of a run after all others. Raises Unusable."""
        self.output.poison()
        self.calls[-1]()
        wrong = self.memory.check(self.case, self.output, request.problem.mode, request.algorithm)[1]
        if wrong:
            raise Unusable("wrong", f"after it was timed: {wrong}")


def time_on_cpu(request: Request, calls, clock: ProcessorClock) -> tuple[list, int]:
    """(accepted samples in ms, rejected ones)."""
    once = min(clock.sample(call, 1)[0] for call in calls)
    repeats = clock.repeats(once)
    wanted = runs_for(once * repeats / 1e3, request.budget, LEAST_SAMPLES, request.runs)
    if once > request.give_up_ms:
        wanted = LEAST_SAMPLES
    samples, rejected = [], 0
    while len(samples) < wanted and rejected < 3 * wanted:
        ms, interruptions = clock.sample(calls[(len(samples) + rejected) % len(calls)], repeats)
        if interruptions > 1 + ms * repeats / INTERRUPTION_MS:
            rejected += 1
        else:
            samples.append(ms)
    return samples, rejected


def time_on_gpu(request: Request, calls, clock, state=nvml.gpu_state) -> tuple[list, int]:
    """The same; samples of a batch during which the GPU was throttled, or slower than in another batch, are rejected."""
    once = clock.samples(calls, 1)[0]
    if once < WARM_MS:
        once = median(clock.samples(calls, min(20, int(WARM_MS / max(once, 0.01)) + 1)))
    wanted = runs_for(once / 1e3, request.budget, LEAST_SAMPLES, request.runs)
    batches, each = [], max(2, -(-wanted // BATCHES))  # so that an outlier leaves enough
    if once > request.give_up_ms:
        each = LEAST_SAMPLES + 2  # one batch decides
    for _ in range(2 * BATCHES):
        told = []
        samples = clock.samples(calls, each, lambda: told.append(state()))
        batches.append((samples, told[0] if told else {}))
        top = max((state.get("sm", 0) for _, state in batches), default=0)
        good = [not state.get("throttled") and state.get("sm", top) >= 0.95 * top for _, state in batches]
        slow = any(fine and median(samples) > request.give_up_ms for (samples, _), fine in zip(batches, good))
        if sum(good) >= BATCHES or (slow and each >= LEAST_SAMPLES):
            break
    accepted = [sample for (samples, _), fine in zip(batches, good) if fine for sample in samples]
    return accepted, sum(len(samples) for (samples, _), fine in zip(batches, good) if not fine)


class WallClock:
    """Of the emulated driver, whose times mean nothing."""

    def samples(self, calls, count, during=lambda: None):
        found = []
        for run in range(count):
            start = time.perf_counter()
            calls[run % len(calls)]()
            hconv.synchronize("cuda")
            found.append(1e3 * (time.perf_counter() - start))
        during()
        return found


def _clock(memory, request: Request):
    if request.problem.on_cpu:
        return ProcessorClock(request.problem.threads)
    return GpuClock(request.budget) if isinstance(memory, TorchMemory) else WallClock()


def serve(first: Request, pipe) -> None:
    """Runs in the child. `pipe` brings ("check", Request), answered by ("done", error), ("time", Request), answered by
    ("done", samples, rejected), and ("rest",), answered by ("done",); or any of them by ("ended", status, reason)."""
    redirect(first.output)
    os.environ.update(HCONV_LIBRARY=first.library, HCONV_VARIANT=first.variant)
    for name in ("HCONV_TUNED_FILE", "HCONV_CHECK", "HCONV_LOG", "HCONV_BACKEND"):
        os.environ.pop(name, None)
    if first.problem.on_cpu:
        os.environ["HCONV_NUM_THREADS"] = str(first.problem.threads)
    held, clock, memory = None, None, None
    while True:
        try:
            what, *request = pipe.recv()
        except EOFError:
            return
        try:
            if what == "check":
                held, memory = None, memory_of(request[0].problem)
                clock = clock or _clock(memory, request[0])
                held = Held(request[0], memory)
                answer = "done", held.error
            elif what == "time":
                answer = "done", *_timed(request[0], held, clock)
            else:
                held = None
                if memory:
                    memory.rest()
                answer = ("done",)
        except Unusable as reason:
            answer = "ended", reason.status, str(reason)
        except (hconv.Unsupported, hconv.InvalidArgument) as reason:
            answer = "ended", "rejected", str(reason)
        except (hconv.Error, MemoryError, RuntimeError) as reason:
            answer = "ended", "crash", f"{type(reason).__name__}: {reason}"
        pipe.send(answer)


def _timed(request: Request, held: Held, clock) -> tuple:
    timed = time_on_cpu if request.problem.on_cpu else time_on_gpu
    samples, rejected = timed(request, held.calls, clock)
    if request.again:
        held.check_again(request)
    return samples, rejected


def redirect(path: str) -> None:
    """What a dying library prints goes to a file, of which the parent quotes the end."""
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    os.dup2(file, 1)
    os.dup2(file, 2)
    os.close(file)

