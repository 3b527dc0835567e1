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
from pathlib import Path

import numpy
from hconv.arrays import from_bfloat16, to_bfloat16
from hconv_measure import bounds
from hconv_measure.shapes import Shape

from .problem import Problem

NAMES = ("integers", "normal", "border_integers", "border_magnitudes")
# Direct sums on the host beyond this many operations take minutes; a GPU has seconds for them.
HOST_OPERATIONS = 2e10


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


def _convolve_on_gpu(x, w, padding) -> numpy.ndarray:
    import torch
    from hconv_measure.data import DIRECT_FLOPS, reference_direct, reference_fft
    x, w = torch.from_numpy(x).cuda(), torch.from_numpy(w).cuda()
    oc, channels, kh, kw = w.shape
    operations = 2.0 * x.shape[0] * oc * x.shape[2] * x.shape[3] * channels * kh * kw
    compute = reference_direct if operations < DIRECT_FLOPS else reference_fft
    with torch.no_grad():
        return compute(x, w, padding).cpu().numpy()


def _reference(shape: Shape, x, w, bias, on_gpu: bool, whole: bool) -> numpy.ndarray:
    if not on_gpu or shape.flops < HOST_OPERATIONS:
        return convolve(x, w, bias, shape.padding)
    y = _convolve_on_gpu(x, w, shape.padding)
    if whole:  # through Fourier transforms integers come out a little beside themselves
        y = numpy.rint(y)
    return y if bias is None else y + bias.astype(numpy.float64)[:, None, None]


def border_shape(shape: Shape) -> Shape:
    """Small, with the problem's kernel."""
    kh, kw = shape.kernel_height, shape.kernel_width
    return Shape(2, 5, kh + 6, kw + 21, kh, kw, 19, (1, 0, 2, 1))


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
    shape = border_shape(problem.shape) if border else problem.shape
    fill = {"integers": _integers, "normal": _normal, "magnitudes": _magnitudes}[name.removeprefix("border_")]
    random = numpy.random.default_rng([NAMES.index(name), *problem.extents])
    x, w, bias = fill(shape, random, problem.type, border)
    y = _reference(shape, x, w, bias, not problem.on_cpu, "integers" in name)
    scale = None
    if name != "normal":
        absolute = None if bias is None else abs(bias)
        scale = _reference(shape, abs(x), abs(w), absolute, not problem.on_cpu, False) if border else None
    return Case(name, shape, x, w, bias, y, scale)


def store(problem: Problem, folder: Path) -> None:
    """Writes all cases of a problem, from which processes map them."""
    for name in NAMES:
        case, place = make_case(problem, name), folder / name
        place.mkdir(parents=True, exist_ok=True)
        for field in ("x", "w", "bias", "reference", "scale"):
            value = getattr(case, field)
            if value is not None:
                numpy.save(place / f"{field}.npy", value)


def load(problem: Problem, folder: Path, name: str) -> Case:
    place = folder / name
    arrays = [numpy.load(place / f"{field}.npy", mmap_mode="r") if (place / f"{field}.npy").exists() else None
              for field in ("x", "w", "bias", "reference", "scale")]
    return Case(name, border_shape(problem.shape) if name.startswith("border_") else problem.shape, *arrays)


def _norms(case: Case) -> numpy.ndarray:
    """For each output the sum over the channels of the 2-norm of x, all of the image, times that of its weights."""
    x = numpy.sqrt((numpy.asarray(case.x, numpy.float64) ** 2).sum(axis=(2, 3)))
    w = numpy.sqrt((numpy.asarray(case.w, numpy.float64) ** 2).sum(axis=(2, 3)))
    norms = x @ w.T
    if case.bias is not None:
        norms = norms + abs(numpy.asarray(case.bias, numpy.float64))[None, :]
    return norms[:, :, None, None]


def check(case: Case, y: numpy.ndarray, type: str, mode: str, algorithm: str) -> tuple[float, str]:
    """(relative L2 error, "" or why y, in the library's representation, is wrong)."""
    transforms, n = algorithm == "transform", case.shape.reduction
    exact, found = numpy.asarray(case.reference), untyped(y, type)
    unwritten = int(numpy.isnan(found).sum())
    if unwritten:
        return math.nan, f"{unwritten} of {found.size} outputs are NaN; none should be."
    if case.name == "normal":
        limit = (bounds.transform_bound(case.shape.in_channels, type) if transforms
                 else bounds.bound(n, type, mode if type == "f32" else "fp32"))
        return bounds.fault(found, exact, limit, n)
    if "integers" in case.name and not transforms:
        expected = untyped(typed(exact.astype(numpy.float32), type), type)
        differ = int((found != expected).sum())
        return 0.0, f"{differ} of {found.size} exact sums of integers differ." if differ else ""
    if transforms:
        allowed = bounds.worst_transform(exact, _norms(case), case.shape.in_channels, type)
    else:
        allowed = bounds.worst_sum(exact, case.scale, n, type, truncates=algorithm in ("mma", "wgmma"))
    with numpy.errstate(invalid="ignore"):
        beyond = ~((abs(found - exact) <= allowed) | (found == untyped(typed(exact.astype(numpy.float32), type), type)))
    count = int(beyond.sum())
    return 0.0, f"{count} of {found.size} outputs are beyond their worst-case bound." if count else ""
