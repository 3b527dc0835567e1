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


def _with_store(summation: float, kind: str, slack: float) -> Bound:
    store = STORE[kind]
    return Bound(slack * (summation + store), slack * store, slack * DEVIATIONS * summation, slack * SMALLEST[kind])
