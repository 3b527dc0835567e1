"""A candidate's arrays, where its problem's device can reach them: numpy's on a CPU, PyTorch's on a GPU, and the library's
own where a GPU is asked for and PyTorch has none, which is the emulated driver of the tests."""

from __future__ import annotations

import ctypes
import math

import hconv
import numpy

from . import cases
from .problem import Problem


def _torch():
    """PyTorch where it has a GPU, else None."""
    try:
        import torch
    except ImportError:
        return None
    return torch if torch.cuda.is_available() else None


def memory_of(problem: Problem):
    return TorchMemory(problem) if not problem.on_cpu and _torch() else Memory(problem)


class View(hconv.DeviceArray):
    """A part of another array's memory; `strides` in elements."""

    def __init__(self, whole: hconv.DeviceArray, first: int, shape, strides=None):
        self.whole, self.shape, self.strides = whole, tuple(shape), strides
        self.dtype, self.device = whole.dtype, whole.device
        self.data = ctypes.c_void_p(whole.data.value + first * (whole.nbytes // whole.size))

    def free(self) -> None:
        self.data = ctypes.c_void_p()


def channels_last(shape) -> tuple:
    """Strides in elements of B, C, H, W with the channels innermost."""
    _, channels, height, width = shape
    return height * width * channels, 1, width * channels, channels


class Memory:
    """Arrays of numpy or of the library."""

    def __init__(self, problem: Problem):
        self.problem = problem

    def vector(self, values):
        """A copy of numbers in the library's representation."""
        host = numpy.array(cases.typed(numpy.asarray(values), self.problem.type))  # cases are mapped files
        return host if self.problem.on_cpu else hconv.to_device(host, self.problem.device)

    def image(self, values):
        """The same of x or w, in the problem's layout."""
        if self.problem.layout == "nchw":
            return self.vector(values)
        last = self.vector(numpy.ascontiguousarray(numpy.asarray(values).transpose(0, 2, 3, 1)))
        return last.transpose(0, 3, 1, 2) if self.problem.on_cpu else View(last, 0, values.shape,
                                                                           channels_last(values.shape))

    def copy(self, image, values):
        """Another image of the same values."""
        return self.image(values)

    def output(self, shape):
        return Output(self, shape)

    def check(self, case: cases.Case, output, mode: str, algorithm: str) -> tuple:
        """(relative L2 error, "" or why the output is wrong)."""
        y, damage = output.read()  # on a GPU this waits
        error, wrong = cases.check(case, y, self.problem.type, mode, algorithm)
        return error, wrong or damage

    def reference(self, case: cases.Case) -> cases.Case:
        """The case, where checks of it are quick."""
        return case

    def rest(self) -> None:
        """Gives back what nothing uses any more."""


class Output:
    """y full of NaN, between two strips of a pattern that must stay as it is."""

    STRIP = 256

    def __init__(self, memory: Memory, shape):
        problem = memory.problem
        self.pattern, nan = cases.typed(numpy.array([-1.5, math.nan], numpy.float32), problem.type)
        self.shape, self.count, self.layout = shape, math.prod(shape), problem.layout
        host = numpy.full(self.count + 2 * self.STRIP, self.pattern)
        host[self.STRIP:-self.STRIP] = nan
        if problem.on_cpu:
            self.whole, self.y = host, self._inside(host)
        else:
            self.whole = hconv.to_device(host, problem.device)
            self.y = View(self.whole, self.STRIP, shape, channels_last(shape) if self.layout == "nhwc" else None)
        self._poisoned = host.copy()

    def _inside(self, host):
        batch, channels, height, width = self.shape
        inside = host[self.STRIP:-self.STRIP]
        if self.layout == "nchw":
            return inside.reshape(self.shape)
        return inside.reshape(batch, height, width, channels).transpose(0, 3, 1, 2)

    def poison(self) -> None:
        if isinstance(self.whole, numpy.ndarray):
            self.whole[:] = self._poisoned
        else:
            self.whole.copy_from(self._poisoned)

    def read(self) -> tuple:
        """(y on the host, "" or a sentence on what was written outside of it)."""
        host = self.whole if isinstance(self.whole, numpy.ndarray) else self.whole.numpy()
        strips = numpy.concatenate((host[:self.STRIP], host[-self.STRIP:]))
        wrong = int((strips != self.pattern).sum())
        return self._inside(host), f"{wrong} elements outside the output were overwritten." if wrong else ""


class TorchMemory:
    """Arrays of PyTorch, which also checks results where they lie. `place` is cpu in tests alone."""

    def __init__(self, problem: Problem, place: str = "cuda"):
        import torch
        self.torch, self.problem, self.place = torch, problem, place
        self.type = {"f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16}[problem.type]
        self.order = torch.channels_last if problem.layout == "nhwc" else torch.contiguous_format

    def _there(self, values):
        return self.torch.from_numpy(numpy.array(values)).to(self.place)

    def vector(self, values):
        return self._there(values).to(self.type)

    def image(self, values):
        return self.vector(values).contiguous(memory_format=self.order)

    def copy(self, image, values):
        return image.clone(memory_format=self.torch.preserve_format)

    def output(self, shape):
        return TorchOutput(self, shape)

    def reference(self, case: cases.Case) -> cases.Case:
        there = {name: self._there(getattr(case, name)) for name in ("x", "w", "bias", "reference", "scale")
                 if getattr(case, name) is not None}
        return cases.moved(case, there)

    def check(self, case: cases.Case, output, mode: str, algorithm: str) -> tuple:
        case = case if self.torch.is_tensor(case.reference) else self.reference(case)
        damage = output.damage()
        error, wrong = cases.check(case, output.y, self.problem.type, mode, algorithm)
        return error, wrong or damage

    def rest(self) -> None:
        if self.place == "cuda":
            self.torch.cuda.empty_cache()


class TorchOutput:
    """As Output; hconv_measure.data has the array."""

    def __init__(self, memory: TorchMemory, shape):
        from hconv_measure.data import GuardedOutput
        self._guarded = GuardedOutput(shape, memory.problem.type, memory.place, memory.problem.layout)
        self.y, self.damage = self._guarded.y, self._guarded.damage

    def poison(self) -> None:
        self.y.fill_(math.nan)
