"""How far a correct result can be from float64, for inputs drawn from a normal distribution.

The data is random, so rounding errors add up like a random walk. Adding n products one after another, each partial sum k
has a standard deviation of sqrt(k) and is rounded with an error of at most u of it: in all u * sqrt(1 + 2 + ... + n),
which relative to the result's sqrt(n) is u * sqrt((n + 1) / 2). Tensor cores truncate instead (unit 2^-23), and a
truncation always errs to one side: that adds up to one unit for each step of at least 8 products.

In the transform domain an output's error is that of its tile, spread over it evenly. Each of log2(TH TW) + 2 levels of
butterflies errs by at most 5.6 u of the tile's 2-norm (docs/transform.md), in x, in w and on the way back, independently. A
complex product is made of three or four real ones, one of which may be twice as large; each is summed over the channels.
"""

from __future__ import annotations

import dataclasses
import math

FLOAT32 = 2.0 ** -24  # unit roundoff
TRUNCATED = 2.0 ** -23
TF32 = 2.0 ** -11
STORE = {"f32": 0.0, "bf16": 2.0 ** -8, "f16": 2.0 ** -11}
SMALLEST = {"f32": 0.0, "bf16": 0.0, "f16": 2.0 ** -25}  # half a unit among float16's subnormal numbers

# A normal variable leaves 8 standard deviations once in 10^15.
DEVIATIONS = 8.0


@dataclasses.dataclass(frozen=True)
class Bound:
    """`relative`: on ||y - reference|| / ||reference||; elements are within store * |reference| + noise * rms(reference)
    + smallest."""

    relative: float
    store: float
    noise: float
    smallest: float


def bound(n: int, kind: str, mode: str, slack: float = 1.0) -> Bound:
    """n products an output, type f32, bf16 or f16, mode fp32, strict or tf32. `slack` scales the whole bound: competitors
    promise nothing, they only must compute the same function."""
    walk = math.sqrt((n + 1) / 2)
    if kind == "f32" and mode != "tf32":
        summation = FLOAT32 * walk
    else:
        summation = TRUNCATED * (walk + n / 8)
    if kind == "f32" and mode == "tf32":
        summation += math.sqrt(2) * TF32  # both factors of each product are rounded, independently
    return _with_store(summation, kind, slack)


def transform_bound(channels: int, kind: str) -> Bound:
    """The same for a variant of the transform domain, with tiles of up to 64 x 64."""
    levels = math.log2(64 * 64) + 2
    return _with_store(FLOAT32 * (5.6 * math.sqrt(3 * levels) + math.sqrt(6 * (channels + 1) / 2)), kind, 1.0)


def fault(y, reference, limit: Bound, reduction: int) -> tuple:
    """(relative L2 error, "" or why y is wrong). y and reference are float64, both numpy arrays or both torch tensors."""
    difference = abs(y - reference)
    count, distance, norm = math.prod(difference.shape), _norm(difference), _norm(reference)
    # What the bounds are relative to: few outputs may all be small by chance, but not their rounding errors.
    rms = max(norm / math.sqrt(count), math.sqrt(reduction))
    error = distance / norm if norm else math.nan
    spread = distance / math.sqrt(count) / rms
    if not spread <= limit.relative:  # NaN is never within
        return error, f"The relative L2 error is {spread:.2e}; expected at most {limit.relative:.2e}."
    allowed = abs(reference) * limit.store + (limit.noise * rms + limit.smallest)
    beyond = int((difference > allowed).sum())
    if beyond:
        worst = float((difference / allowed).max())
        return error, f"{beyond} elements are beyond their bound, the worst by a factor of {worst:.1f}."
    return error, ""


def _norm(values) -> float:
    return math.sqrt(float((values * values).sum()))


def worst_sum(exact, magnitude, terms: int, kind: str, truncates: bool):
    """How far each output may be from `exact` whatever the data is: `magnitude` is the sum of its products' absolute values.

    A product is rounded at most once by itself and then by at most `terms` additions; a step of a tensor core cuts each
    product, the sum before it and the new sum: at most thrice as many."""
    n, u = (3 if truncates else 1) * (terms + 1), TRUNCATED if truncates else FLOAT32
    return _and_store(n * u / (1 - n * u) * magnitude, exact, kind)


def worst_transform(exact, norms, channels: int, kind: str):
    """The same for a variant of the transform domain, with tiles of up to 64 x 64 (docs/transform.md). `norms` are at least
    the sum over the channels of the 2-norm of an output's tile of x times that of its weights."""
    spectrum = (1 + 5.6 * FLOAT32) ** (math.log2(64 * 64) + 2) - 1
    sums = (math.sqrt(10) * channels + 8.1) * FLOAT32
    relative = (1 + spectrum) ** 2 * (1 + sums) * (1 + 2 * spectrum) * (1 + FLOAT32) - 1
    return _and_store(relative * norms, exact, kind)


def _and_store(error, exact, kind: str):
    return error + STORE[kind] * (abs(exact) + error) + SMALLEST[kind] + 2.0 ** -120


def _with_store(summation: float, kind: str, slack: float) -> Bound:
    store = STORE[kind]
    return Bound(slack * (summation + store), slack * store, slack * DEVIATIONS * summation, slack * SMALLEST[kind])
