"""What runs in a process of its own for each measurement: load one library, check one variant on all cases, time it.

The parent learns of each phase as it ends, so that it can tell a hang while checking from one while timing.
"""

from __future__ import annotations

import ctypes
import dataclasses
import math
import os
from pathlib import Path

import hconv
import numpy
from hconv import _native
from hconv_measure.clocks import GpuClock, ProcessorClock
from hconv_measure.runs import runs_for

from . import cases, machine
from .problem import Problem

ROTATED = 3              # copies of x that runs take in turn
ROTATED_BYTES = 1 << 30  # of all of them, at most
LEAST_SAMPLES = 3
INTERRUPTION_MS = 5      # more than one interruption in this time is too many
BATCHES = 3              # of a GPU's runs; its clock is looked at in each


@dataclasses.dataclass(frozen=True)
class Request:
    """One measurement. `budget` is seconds of timed runs, at most `runs` of them; what is slower than `give_up_ms` is
    timed LEAST_SAMPLES times only. `checks` are the cases that it has to pass first."""

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


class Unusable(Exception):
    """The candidate ends here with a status of the log and a reason."""

    def __init__(self, status: str, reason: str):
        super().__init__(reason)
        self.status = status


class View(hconv.DeviceArray):
    """A part of another array's memory."""

    def __init__(self, whole: hconv.DeviceArray, first: int, shape):
        self.whole, self.shape, self.dtype, self.device = whole, tuple(shape), whole.dtype, whole.device
        self.data = ctypes.c_void_p(whole.data.value + first * (whole.nbytes // whole.size))

    def free(self) -> None:
        self.data = ctypes.c_void_p()


class Memory:
    """Arrays where the problem's device can reach them."""

    def __init__(self, problem: Problem):
        self.problem = problem

    def array(self, values):
        """A copy of numbers in the library's representation."""
        host = numpy.array(cases.typed(numpy.asarray(values), self.problem.type))  # cases are mapped files
        return host if self.problem.on_cpu else hconv.to_device(host, self.problem.device)


class Output:
    """y full of NaN, between two strips of a pattern that must stay as it is."""

    STRIP = 256

    def __init__(self, memory: Memory, shape):
        self.pattern, nan = cases.typed(numpy.array([-1.5, math.nan], numpy.float32), memory.problem.type)
        self.shape, self.count = shape, math.prod(shape)
        host = numpy.full(self.count + 2 * self.STRIP, self.pattern)
        host[self.STRIP:-self.STRIP] = nan
        if memory.problem.on_cpu:
            self.whole, self.y = host, host[self.STRIP:-self.STRIP].reshape(shape)
        else:
            self.whole = hconv.to_device(host, memory.problem.device)
            self.y = View(self.whole, self.STRIP, shape)

    def read(self) -> tuple:
        """(y on the host, "" or a sentence on what was written outside of it)."""
        host = self.whole if isinstance(self.whole, numpy.ndarray) else self.whole.numpy()
        strips = numpy.concatenate((host[:self.STRIP], host[-self.STRIP:]))
        wrong = int((strips != self.pattern).sum())
        return (host[self.STRIP:-self.STRIP].reshape(self.shape),
                f"{wrong} elements outside the output were overwritten." if wrong else "")


def _pin(request: Request, case: cases.Case) -> str:
    """What the name of a case's variant must start with. The parts of a split one divide the problem's channels; those of
    a border case are few, and the library chooses."""
    name, _, parts = request.variant.partition("+")
    if not parts.isdigit():
        return request.variant
    few = case.shape.in_channels != request.problem.shape.in_channels
    os.environ["HCONV_VARIANT"] = name if few else request.variant
    _native.library().hconv_reload_environment()
    return f"{name}+" if few else request.variant


def prepare(request: Request, memory: Memory, case: cases.Case, x, y):
    """A run of the pinned variant with all arguments bound."""
    mode, padding = request.problem.mode, case.shape.padding
    pinned = _pin(request, case)
    w, bias = memory.array(case.w), None if case.bias is None else memory.array(case.bias)
    plan = hconv.Plan.for_arrays(x, w, padding, mode)
    if plan.variant != pinned and not (pinned.endswith("+") and plan.variant.startswith(pinned)):
        raise Unusable("rejected", f"the library chose {plan.variant} although {pinned} was pinned")
    return plan, plan.prepare(x, plan.pack(w), bias=bias, out=y)


def check(request: Request, memory: Memory) -> float:
    """The relative L2 error on random numbers. Raises Unusable for the first case that is wrong."""
    error, problem = math.nan, request.problem
    for name in request.checks:
        case = cases.load(problem, Path(request.cases), name)
        output = Output(memory, case.shape.output)
        _, run = prepare(request, memory, case, memory.array(case.x), output.y)
        run()
        y, damage = output.read()  # on a GPU this waits
        found, wrong = cases.check(case, y, problem.type, problem.mode, request.algorithm)
        if wrong or damage:
            raise Unusable("wrong", f"{name} ({case.shape}): {wrong or damage}")
        error = found if name == "normal" else error
    return error


def rotated(request: Request, memory: Memory) -> list:
    """Runs of the problem itself that differ in where x lies."""
    case = cases.load(request.problem, Path(request.cases), "normal")
    first = memory.array(case.x)
    copies = max(1, min(ROTATED, ROTATED_BYTES // max(first.nbytes, 1)))
    inputs = [first] + [memory.array(case.x) for _ in range(copies - 1)]
    plan, run = prepare(request, memory, case, first, Output(memory, case.shape.output).y)
    packed = plan.pack(memory.array(case.w))
    return [run] + [plan.prepare(x, packed, out=run.out) for x in inputs[1:]]


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


def time_on_gpu(request: Request, calls, clock: GpuClock, query=machine.start_gpu_query) -> tuple[list, int]:
    """The same; samples of a batch during which the GPU was throttled, or slower than in another batch, are rejected."""
    once = clock.samples(calls, 1)[0]
    wanted = runs_for(once / 1e3, request.budget, LEAST_SAMPLES, request.runs)
    if once > request.give_up_ms:
        wanted = LEAST_SAMPLES
    batches, each = [], -(-wanted // BATCHES)
    for _ in range(2 * BATCHES):
        asked = query()
        samples = clock.samples(calls, each)
        state = machine.read_gpu_query(asked.communicate()[0]) if asked else {}
        batches.append((samples, state))
        top = max((state.get("sm", 0) for _, state in batches), default=0)
        good = [not state.get("throttled") and state.get("sm", top) >= 0.95 * top for _, state in batches]
        if sum(good) >= BATCHES:
            break
    accepted = [sample for (samples, _), fine in zip(batches, good) if fine for sample in samples]
    return accepted, sum(len(samples) for (samples, _), fine in zip(batches, good) if not fine)


def measure(request: Request, tell) -> None:
    """Runs in the child. `tell` sends ("checked", error) and then ("done", samples, rejected), or ("ended", status,
    reason)."""
    redirect(request.output)
    os.environ.update(HCONV_LIBRARY=request.library, HCONV_VARIANT=request.variant)
    for name in ("HCONV_TUNED_FILE", "HCONV_CHECK", "HCONV_LOG", "HCONV_BACKEND"):
        os.environ.pop(name, None)
    problem = request.problem
    if problem.on_cpu:
        os.environ["HCONV_NUM_THREADS"] = str(problem.threads)
    try:
        clock = ProcessorClock(problem.threads) if problem.on_cpu else GpuClock(request.budget)
        memory = Memory(problem)
        tell(("checked", check(request, memory)))
        timed = time_on_cpu if problem.on_cpu else time_on_gpu
        tell(("done", *timed(request, rotated(request, memory), clock)))
    except Unusable as reason:
        tell(("ended", reason.status, str(reason)))
    except (hconv.Unsupported, hconv.InvalidArgument) as reason:
        tell(("ended", "rejected", str(reason)))
    except (hconv.Error, MemoryError, RuntimeError) as reason:
        tell(("ended", "crash", f"{type(reason).__name__}: {reason}"))


def redirect(path: str) -> None:
    """What a dying library prints goes to a file, of which the parent quotes the end."""
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    os.dup2(file, 1)
    os.dup2(file, 2)
    os.close(file)


def choice(library: str, problem: Problem, tell) -> None:
    """Tells which variant the library takes by itself, tuned tables included; "" where it takes none of the target."""
    os.environ["HCONV_LIBRARY"] = library
    os.environ.pop("HCONV_VARIANT", None)
    if problem.on_cpu:
        os.environ["HCONV_NUM_THREADS"] = str(problem.threads)
    s = problem.shape
    asked = hconv.Problem(s.batch, s.in_channels, s.height, s.width, s.out_channels, s.kernel_height, s.kernel_width,
                          dict(f32="float32", bf16="bfloat16", f16="float16")[problem.type], problem.device, s.padding,
                          problem.mode)
    try:
        tell(("done", hconv.Plan(asked).variant))
    except hconv.Error as reason:
        tell(("ended", "rejected", str(reason)))


def gpu_device(tell) -> None:
    """Tells the log's "device" of the GPU."""
    try:
        import torch
        if not torch.cuda.is_available():
            raise RuntimeError("PyTorch finds no CUDA device here")
        name, capability = torch.cuda.get_device_name(0), torch.cuda.get_device_capability(0)
    except (ImportError, RuntimeError) as reason:
        tell(("ended", "rejected", str(reason)))
        return
    asked = machine.start_gpu_query()
    state = machine.read_gpu_query(asked.communicate()[0]) if asked else {}
    tell(("done", {"name": name, "arch": machine.arch_name(*capability), "driver": state.get("driver", ""),
                   "clocks": f"{state['max_sm']} MHz" if state else "", "threads": 0}))


def store_cases(problem: Problem, folder: str, tell) -> None:
    """Makes a problem's cases in a process that may use the GPU."""
    cases.store(problem, Path(folder))
    tell(("done",))
