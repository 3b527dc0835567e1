"""Problems, plans and the one-call convolution."""

from __future__ import annotations

import contextlib
import ctypes
import dataclasses
import json

import numpy

from ._native import CPU, JSON, TEXT, CProblem, DLDevice, Padding, check, library, read_text
from .arrays import (Descriptor, DeviceArray, Stream, device_guard, empty_bytes, empty_like_kind, is_torch, native_type,
                     parse_device, to_device, type_name)

_MATH = {"fp32": 0, "strict": 1, "tf32": 2}
_LAYOUTS = ("nchw", "nhwc")  # hconv_layout


def _math(name: str) -> int:
    if name not in _MATH:
        raise ValueError(f'math is "{name}"; expected one of {", ".join(_MATH)}.')
    return _MATH[name]


def _layout(name: str) -> int:
    if name not in _LAYOUTS:
        raise ValueError(f'layout is "{name}"; expected one of {", ".join(_LAYOUTS)}.')
    return _LAYOUTS.index(name)


def _padding(padding) -> Padding:
    """An int (all sides), (vertical, horizontal) or (top, bottom, left, right), in pixels."""
    if isinstance(padding, int):
        return Padding(padding, padding, padding, padding)
    sides = tuple(int(side) for side in padding)
    if len(sides) == 2:
        return Padding(sides[0], sides[0], sides[1], sides[1])
    if len(sides) == 4:
        return Padding(*sides)
    raise ValueError(f"padding has {len(sides)} numbers; expected 1, 2 (vertical, horizontal) or 4 (top, bottom, left, "
                     "right).")


@dataclasses.dataclass(frozen=True)
class Problem:
    """One convolution without its data: x[batch, in_channels, height, width], w[out_channels, in_channels, kernel_height,
    kernel_width]. dtype: float32, bfloat16, float16; device: cpu, cuda, cuda:N; math: fp32, strict, tf32; layout: in which
    order x and y lie in memory, nchw (row-major) or nhwc (PyTorch's channels_last). Shapes are B, C, H, W in either."""

    batch: int
    in_channels: int
    height: int
    width: int
    out_channels: int
    kernel_height: int
    kernel_width: int
    dtype: str = "float32"
    device: str = "cpu"
    padding: int | tuple = 0
    math: str = "fp32"
    layout: str = "nchw"

    @classmethod
    def from_arrays(cls, x, w, padding=0, math="fp32") -> "Problem":
        """The problem of two arrays, checked by the library: raises InvalidArgument or Unsupported. The layout is that of
        x, nchw where its strides are those of both."""
        x, w, sides, native = Descriptor(x, "x"), Descriptor(w, "w"), _padding(padding), CProblem()
        check(library().hconv_problem_from_tensors(x.reference, w.reference, ctypes.byref(sides), _math(math),
                                                   ctypes.byref(native)))
        device = "cpu" if native.device.device_type == CPU else f"cuda:{native.device.device_id}"
        return cls(native.batch, native.in_channels, native.height, native.width, native.out_channels,
                   native.kernel_height, native.kernel_width, x.dtype, device, padding, math,
                   _LAYOUTS[native.layout])

    @property
    def output_shape(self) -> tuple:
        """[B, OC, OH, OW]"""
        sides = _padding(self.padding)
        return (self.batch, self.out_channels, self.height + sides.top + sides.bottom - self.kernel_height + 1,
                self.width + sides.left + sides.right - self.kernel_width + 1)

    @property
    def flops(self) -> int:
        """Floating-point operations of the direct algorithm: a multiplication and an addition for each product."""
        batch, oc, oh, ow = self.output_shape
        return 2 * batch * oc * oh * ow * self.in_channels * self.kernel_height * self.kernel_width

    def native(self) -> CProblem:
        return CProblem(native_type(self.dtype), parse_device(self.device), _math(self.math), self.batch,
                        self.in_channels, self.height, self.width, self.out_channels, self.kernel_height,
                        self.kernel_width, _padding(self.padding), _layout(self.layout))


def _aligned_bytes(model, count: int, device: DLDevice):
    """Scratch memory of `count` bytes, aligned to at least 16, of the kind of `model`; returns (keep-alive, address)."""
    if count == 0:
        return None, None
    if is_torch(model) and model.device.type == "cuda":
        memory = empty_bytes(model, count)
        return memory, memory.data_ptr()
    if device.device_type == CPU:
        memory = numpy.empty(count + 63, numpy.uint8)
        return memory, -(-memory.ctypes.data // 64) * 64
    memory = DeviceArray(((count + 1) // 2,), "bfloat16", device)
    return memory, memory.data.value


class PackedWeights:
    """Weights in a plan's own layout, from Plan.pack. `memory` keeps the bytes alive."""

    def __init__(self, memory, address: int, count: int):
        self.memory, self.address, self.nbytes = memory, address, count


class PreparedRun:
    """A run whose arguments are all bound: calling it only enters the library. Keeps every array alive; `out` is y.

    The stream is the one that was current when the run was prepared. When a PreparedRun of tensors goes, work on it may
    still be under way: PyTorch reuses their memory only after that.
    """

    def __init__(self, plan, x, packed, bias, out, workspace, stream: Stream):
        self.out = out.array
        self._arguments = (plan._handle, x.reference, packed.address, bias and bias.reference, out.reference,
                           workspace[1], workspace[2], stream.handle)
        self._keep = (plan, x, packed, bias, out, workspace)
        self._run = library().hconv_run
        self._guard = device_guard(x.array) if is_torch(x.array) else None
        stream.uses(x.array, packed.memory, bias and bias.array, out.array, workspace[0])  # holds for all later calls

    def __call__(self):
        """Computes y (asynchronously on CUDA) and returns it."""
        if self._guard is None:
            check(self._run(*self._arguments))
        else:
            with self._guard:
                check(self._run(*self._arguments))
        return self.out


class Plan:
    """A variant chosen for a Problem: pack the weights once, run many times.

    Raises NoDevice, Unsupported or InvalidArgument when there is nothing to choose.
    """

    def __init__(self, problem: Problem):
        self.problem = problem
        self._handle = ctypes.c_void_p()
        self._native = problem.native()
        check(library().hconv_plan_create(ctypes.byref(self._native), ctypes.byref(self._handle)))

    @classmethod
    def for_arrays(cls, x, w, padding=0, math="fp32") -> "Plan":
        """The plan of two arrays, made in the context of x's device."""
        with device_guard(x):
            return cls(Problem.from_arrays(x, w, padding, math))

    def __del__(self):
        with contextlib.suppress(Exception):
            if self._handle:
                library().hconv_plan_destroy(self._handle)

    @property
    def variant(self) -> str:
        """Name of the variant that the plan runs."""
        return library().hconv_plan_variant(self._handle).decode()

    @property
    def packed_bytes(self) -> int:
        return library().hconv_plan_packed_bytes(self._handle)

    @property
    def workspace_bytes(self) -> int:
        """Scratch memory with which a run is fastest; it is taken for each run."""
        return library().hconv_plan_workspace_bytes(self._handle)

    @property
    def minimum_workspace_bytes(self) -> int:
        """Scratch memory with which a run still works, bitwise the same but slower where it is less."""
        return library().hconv_plan_minimum_workspace_bytes(self._handle)

    @property
    def output_shape(self) -> tuple:
        """[B, OC, OH, OW], as the library has it."""
        shape = (ctypes.c_int64 * 4)()
        library().hconv_plan_output_shape(self._handle, shape)
        return tuple(shape)

    def pack(self, w, into: PackedWeights | None = None, stream=None) -> PackedWeights:
        """Brings w[OC, IC, KH, KW] into the plan's layout, on w's device; `into` reuses earlier memory of this plan."""
        weights, count, stream = Descriptor(w, "w"), self.packed_bytes, Stream(w, stream)
        if into is None:
            with stream.allocating():
                into = PackedWeights(*_aligned_bytes(w, count, self._native.device), count)
        stream.uses(w, into.memory)
        with device_guard(w):
            check(library().hconv_pack(self._handle, weights.reference, into.address, into.nbytes, stream.handle))
        return into

    def prepare(self, x, packed: PackedWeights, bias=None, out=None, stream=None, workspace_bytes=None) -> PreparedRun:
        """Binds all arguments of a run (and allocates y where `out` is None), for calls that repeat.

        workspace_bytes: scratch memory, from minimum_workspace_bytes on; without it workspace_bytes of the plan."""
        source, stream = Descriptor(x, "x"), Stream(x, stream)
        with stream.allocating():
            if out is None:
                out = empty_like_kind(x, self.output_shape, source.dtype, source.device, self.problem.layout)
            count = self.workspace_bytes if workspace_bytes is None else workspace_bytes
            workspace = (*_aligned_bytes(x, count, self._native.device), count)
        _check_writeable(out)
        return PreparedRun(self, source, packed, None if bias is None else Descriptor(bias, "bias"),
                           Descriptor(out, "out"), workspace, stream)

    def run(self, x, packed: PackedWeights, bias=None, out=None, stream=None, workspace_bytes=None):
        """y[B, OC, OH, OW] of x[B, IC, H, W] and packed weights; bias[OC]. Returns `out`, or a new array of x's kind.

        On CUDA the work is queued on `stream` (default: PyTorch's current stream for tensors, else the default stream).
        """
        return self.prepare(x, packed, bias, out, stream, workspace_bytes)()


def _check_writeable(out) -> None:
    if isinstance(out, numpy.ndarray) and not out.flags.writeable:
        raise ValueError("out is a read-only array; expected one that can be written.")


def conv2d(x, w, bias=None, padding=0, math="fp32", out=None, device=None, stream=None):
    """y[b,oc,oh,ow] = bias[oc] + sum of x[b,ic,oh+kh-top,ow+kw-left] * w[oc,ic,kh,kw] (cross-correlation, stride 1).

    x[B,IC,H,W], w[OC,IC,KH,KW], bias[OC] and y are numpy arrays, torch tensors or DeviceArrays of one type (float32,
    float16, bfloat16) on one device, dense: row-major or, as PyTorch's channels_last, with the channels innermost, x and y
    alike. padding: zeros around x, an int, (vertical, horizontal) or
    (top, bottom, left, right). math: "fp32", "strict" or "tf32". Returns `out`, or a new array of x's kind. There is no
    gradient. numpy arrays are computed on the CPU, or, with device="cuda", copied there and back.

    Raises InvalidArgument, Unsupported, NoDevice, OutOfMemory or DeviceError with the library's sentence.
    """
    if device is not None and isinstance(x, numpy.ndarray) and parse_device(device).device_type != CPU:
        on_device = [None if array is None else to_device(array, device) for array in (x, w, bias)]
        result = conv2d(*on_device, padding, math).numpy()  # on the default stream, which numpy() waits for
        if out is None:
            return result
        numpy.copyto(out, result, casting="no")
        return out
    source, weights, sides, stream = Descriptor(x, "x"), Descriptor(w, "w"), _padding(padding), Stream(x, stream)
    offsets = None if bias is None else Descriptor(bias, "bias")
    if out is None:
        problem = Problem.from_arrays(x, w, padding, math)
        with stream.allocating():
            out = empty_like_kind(x, problem.output_shape, source.dtype, source.device, problem.layout)
    _check_writeable(out)
    target = Descriptor(out, "out")
    stream.uses(x, w, bias, out)
    with device_guard(x):
        check(library().hconv_conv2d(source.reference, weights.reference, offsets and offsets.reference,
                                     ctypes.byref(sides), _math(math), target.reference,
                                     stream.handle))
    return out


def explain(problem: Problem, as_json: bool = True):
    """How a problem would be computed and why: the parsed JSON, or text with as_json=False."""
    native = problem.native()
    text = read_text(lambda text, size: library().hconv_explain(ctypes.byref(native), JSON if as_json else TEXT, text,
                                                                size))
    return json.loads(text) if as_json else text
