"""Adversarial inputs of a problem with their float64 reference, and the check of a result against it.

A candidate has to pass all of a problem's cases before it is timed:

    integers           the problem itself, numbers whose sums are exact: no bit may differ
    normal             the problem itself, random numbers; these are also timed
    border_integers    the problem's kernel on a small image with odd tails, uneven padding and a bias
    border_magnitudes  the same, with numbers of very different magnitude in each channel
"""

from __future__ import annotations

import dataclasses
import math
import os
import shutil
import sys
from pathlib import Path

import numpy
from hconv.arrays import from_bfloat16, to_bfloat16
from hconv_measure import bounds
from hconv_measure.shapes import Shape

from .problem import Problem

NAMES = ("integers", "normal", "border_integers", "border_magnitudes")
HOST_OPERATIONS = 1e8  # beyond them a GPU is quicker
TAPS = 128             # of a kernel, beyond which Fourier transforms are


@dataclasses.dataclass(frozen=True)
class Case:
    """x, w and bias (or None) are float32 numbers of the problem's type, reference float64; `scale` is what the error of an
    output is relative to where the numbers are not alike: the sum of its products' absolute values, else None."""

    name: str
    shape: Shape
    x: numpy.ndarray
    w: numpy.ndarray
    bias: numpy.ndarray | None
    reference: numpy.ndarray
    scale: numpy.ndarray | None


def typed(values: numpy.ndarray, type: str) -> numpy.ndarray:
    """As the library takes it: float32, float16, or bfloat16 bits in uint16; each rounded to nearest even."""
    if type == "bf16":
        return to_bfloat16(values)
    with numpy.errstate(over="ignore"):  # a sum beyond float16 is an infinity there, too
        return numpy.ascontiguousarray(values, numpy.float32 if type == "f32" else numpy.float16)


def untyped(values: numpy.ndarray, type: str) -> numpy.ndarray:
    """float64 of what `typed` made."""
    return (from_bfloat16(values) if type == "bf16" else values).astype(numpy.float64)


def convolve(x, w, bias, padding) -> numpy.ndarray:
    """float64, one matrix product a tap."""
    top, bottom, left, right = padding
    x = numpy.pad(x.astype(numpy.float64), ((0, 0), (0, 0), (top, bottom), (left, right)))
    w = w.astype(numpy.float64)
    batch, channels, height, width = x.shape
    oc, _, kh, kw = w.shape
    oh, ow = height - kh + 1, width - kw + 1
    y = numpy.zeros((batch, oc, oh * ow))
    for row in range(kh):
        for column in range(kw):
            window = x[:, :, row:row + oh, column:column + ow].reshape(batch, channels, oh * ow)
            y += w[:, :, row, column] @ window
    if bias is not None:
        y += bias.astype(numpy.float64)[:, None]
    return y.reshape(batch, oc, oh, ow)


def _convolve_on_gpu(x, w, padding, whole: bool) -> numpy.ndarray:
    """The same by PyTorch: a product a tap too, and Fourier transforms where those are many."""
    import torch
    from hconv_measure.data import reference_fft
    x, w = torch.from_numpy(x).cuda(), torch.from_numpy(w).cuda()
    with torch.no_grad():
        if w.shape[2] * w.shape[3] <= TAPS:
            return _products_of_taps(torch, x, w, padding).cpu().numpy()
        y = reference_fft(x, w, padding)
        return (y.round() if whole else y).cpu().numpy()  # integers come out a little beside themselves


def _products_of_taps(torch, x, w, padding):
    top, bottom, left, right = padding
    x = torch.nn.functional.pad(x.double(), (left, right, top, bottom))
    batch, channels, height, width = x.shape
    oc, _, kh, kw = w.shape
    w, oh, ow = w.double(), height - kh + 1, width - kw + 1
    y = torch.zeros((batch, oc, oh * ow), dtype=torch.float64, device=x.device)
    for row in range(kh):
        for column in range(kw):
            y += w[:, :, row, column] @ x[:, :, row:row + oh, column:column + ow].reshape(batch, channels, oh * ow)
    return y.view(batch, oc, oh, ow)


def _gpu_serves() -> bool:
    try:
        import torch
    except ImportError:
        return False
    return torch.cuda.is_available()


def _reference(shape: Shape, x, w, bias, on_gpu: bool, whole: bool) -> numpy.ndarray:
    if not on_gpu or shape.flops < HOST_OPERATIONS or not _gpu_serves():
        return convolve(x, w, bias, shape.padding)
    y = _convolve_on_gpu(x, w, shape.padding, whole)
    return y if bias is None else y + bias.astype(numpy.float64)[:, None, None]


def border_shape(problem: Problem) -> Shape:
    """Small, with the problem's kernel. Kernels of nhwc, of which there are some for 16-bit types on a GPU, write 8 channels
    at once, and serve no other numbers of them."""
    kh, kw = problem.shape.kernel_height, problem.shape.kernel_width
    pieces = not problem.on_cpu and problem.type != "f32" and problem.shape.out_channels % 8 == 0
    oc = 24 if pieces else 19
    return Shape(2, 5, kh + 6, kw + 21, kh, kw, oc, (1, 0, 2, 1))


def _integers(shape: Shape, random, type: str, with_bias: bool):
    # terms * limit^2 + bias stays below 2^24; 15 is exact in bfloat16 as well.
    limit = int(min(15.0, math.sqrt((2 ** 24 - 64) / shape.reduction)))
    draw = lambda size, most: random.integers(-most, most, size, endpoint=True).astype(numpy.float32)  # noqa: E731
    return (draw(_x_size(shape), limit), draw(_w_size(shape), limit),
            draw(shape.out_channels, 64) if with_bias else None)


def _normal(shape: Shape, random, type: str, with_bias: bool):
    draw = lambda size: _rounded(random.standard_normal(size, numpy.float32), type)  # noqa: E731
    return draw(_x_size(shape)), draw(_w_size(shape)), draw(shape.out_channels) if with_bias else None


def _magnitudes(shape: Shape, random, type: str, with_bias: bool):
    x, w, bias = _normal(shape, random, type, with_bias)
    low, high = (-6, 2) if type == "f16" else (-12, 12)  # float16 has to hold the sums

    def powers(count):
        return numpy.exp2(random.integers(low, high, count, endpoint=True)).astype(numpy.float32)

    x = x * powers(shape.in_channels)[None, :, None, None]
    w = w * powers(shape.in_channels)[None, :, None, None] * powers(shape.out_channels)[:, None, None, None]
    return _rounded(x, type), _rounded(w, type), bias


def _rounded(values, type):
    return untyped(typed(values, type), type).astype(numpy.float32)


def _x_size(shape):
    return shape.batch, shape.in_channels, shape.height, shape.width


def _w_size(shape):
    return shape.out_channels, shape.in_channels, shape.kernel_height, shape.kernel_width


def make_case(problem: Problem, name: str) -> Case:
    """The same numbers each time."""
    border = name.startswith("border_")
    shape = border_shape(problem) if border else problem.shape
    fill = {"integers": _integers, "normal": _normal, "magnitudes": _magnitudes}[name.removeprefix("border_")]
    random = numpy.random.default_rng([NAMES.index(name), *problem.extents])
    x, w, bias = fill(shape, random, problem.type, border)
    y = _reference(shape, x, w, bias, not problem.on_cpu, "integers" in name)
    scale = None
    if name != "normal":
        absolute = None if bias is None else abs(bias)
        scale = _reference(shape, abs(x), abs(w), absolute, not problem.on_cpu, False) if border else None
    return Case(name, shape, x, w, bias, y, scale)


def _place(problem: Problem, folder: Path, name: str) -> Path:
    """Only the border cases depend on the layout."""
    return folder / (f"{name}_{problem.layout}" if name.startswith("border_") else name)


def store(problem: Problem, folder: Path) -> None:
    """Writes all cases of a problem that are not there, for processes to map."""
    for name in NAMES:
        place = _place(problem, folder, name)
        if place.exists():
            continue
        case, partial = make_case(problem, name), place.with_name(f"{place.name}.{os.getpid()}")
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(parents=True)
        for field in ("x", "w", "bias", "reference", "scale"):
            value = getattr(case, field)
            if value is not None:
                numpy.save(partial / f"{field}.npy", value)
        partial.rename(place)  # a process that is killed leaves no half of a case


def load(problem: Problem, folder: Path, name: str) -> Case:
    place = _place(problem, folder, name)
    arrays = [numpy.load(place / f"{field}.npy", mmap_mode="r") if (place / f"{field}.npy").exists() else None
              for field in ("x", "w", "bias", "reference", "scale")]
    return Case(name, border_shape(problem) if name.startswith("border_") else problem.shape, *arrays)


def moved(case: Case, arrays: dict) -> Case:
    """The case with other arrays of the same numbers."""
    return dataclasses.replace(case, **arrays)


class _Host:
    """What checks need of numpy."""

    double = staticmethod(lambda values: numpy.asarray(values, numpy.float64))
    rounded = staticmethod(lambda exact, type: untyped(typed(exact.astype(numpy.float32), type), type))
    found = staticmethod(untyped)
    isnan, sqrt = staticmethod(numpy.isnan), staticmethod(numpy.sqrt)


class _Tensors:
    """The same of PyTorch."""

    def __init__(self, torch):
        types = {"f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16}
        self.double = lambda values: values.double()
        self.rounded = lambda exact, type: exact.float().to(types[type]).double()
        self.found = lambda y, type: y.double()
        self.isnan, self.sqrt = torch.isnan, torch.sqrt


def _norms(case: Case, on) -> numpy.ndarray:
    """For each output the sum over the channels of the 2-norm of x, all of the image, times that of its weights."""
    x, w = (on.sqrt((on.double(values) ** 2).sum((2, 3))) for values in (case.x, case.w))
    norms = x @ w.T
    if case.bias is not None:
        norms = norms + abs(on.double(case.bias))[None, :]
    return norms[:, :, None, None]


def check(case: Case, y, type: str, mode: str, algorithm: str) -> tuple[float, str]:
    """(relative L2 error, "" or why y, in the library's representation, is wrong). y and the case's arrays are numpy's, or
    all of them PyTorch's."""
    on = _Host if isinstance(y, numpy.ndarray) else _Tensors(sys.modules["torch"])
    transforms, n = algorithm == "transform", case.shape.reduction
    exact, found = on.double(case.reference), on.found(y, type)
    unwritten, size = int(on.isnan(found).sum()), math.prod(found.shape)
    if unwritten:
        return math.nan, f"{unwritten} of {size} outputs are NaN; none should be."
    if case.name == "normal":
        limit = (bounds.transform_bound(case.shape.in_channels, type) if transforms
                 else bounds.bound(n, type, mode if type == "f32" else "fp32"))
        return bounds.fault(found, exact, limit, n)
    expected = on.rounded(exact, type)
    if "integers" in case.name and not transforms:
        differ = int((found != expected).sum())
        return 0.0, f"{differ} of {size} exact sums of integers differ." if differ else ""
    if transforms:
        allowed = bounds.worst_transform(exact, _norms(case, on), case.shape.in_channels, type)
    else:
        allowed = bounds.worst_sum(exact, on.double(case.scale), n, type, truncates=algorithm in ("mma", "wgmma"))
    with numpy.errstate(invalid="ignore"):
        beyond = ~((abs(found - exact) <= allowed) | (found == expected))
    count = int(beyond.sum())
    return 0.0, f"{count} of {size} outputs are beyond their worst-case bound." if count else ""
