"""When is one candidate faster than another? docs/tuning.md explains the choices.

The interval of a median is taken between order statistics: of n values in order, the true median lies between number k
and number n + 1 - k with the probability 1 - 2 P(Binomial(n, 1/2) < k), whatever the values' distribution is. Nothing is
drawn at random, so the same samples always give the same interval.
"""

from __future__ import annotations

import dataclasses
import math

CONFIDENCE = 0.95
OUTLIER = 1.5  # times the median
WORTH = 0.01   # a gain below this is none


def median(values) -> float:
    ordered = sorted(values)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


def interval(values, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """(low, high) of the median at no less than the confidence. Values that are too few for it (fewer than 6 for 95 %)
    have no bounds: (0, inf)."""
    ordered, n = sorted(values), len(values)
    left_out, tail = 0, 0.0
    while 2 * (left_out + 1) <= n:
        tail += math.comb(n, left_out) / 2 ** n
        if 1 - 2 * tail < confidence:
            break
        left_out += 1
    if left_out == 0:
        return 0.0, math.inf
    return ordered[left_out - 1], ordered[n - left_out]


def without_outliers(samples) -> tuple[list, int]:
    """(samples, how many were left out): those above 1.5 times the median were disturbed by something else."""
    if not samples:
        return [], 0
    limit = OUTLIER * median(samples)
    kept = [sample for sample in samples if sample <= limit]
    return kept, len(samples) - len(kept)


@dataclasses.dataclass(frozen=True)
class Timed:
    """A finalist: the medians of its runs, each of a process of its own, in ms. `rank`: the lower, the simpler."""

    variant: str
    runs: tuple
    rank: tuple = ()

    @property
    def median(self) -> float:
        return median(self.runs)

    @property
    def interval(self) -> tuple[float, float]:
        return interval(self.runs)


def faster(one: Timed, other: Timed) -> bool:
    """Whether their intervals separate and the gain is worth naming."""
    return one.interval[1] < other.interval[0] and one.median <= (1 - WORTH) * other.median


@dataclasses.dataclass(frozen=True)
class Decision:
    winner: str
    verdict: str  # replaced, kept or tie
    why: str


def _told(timed: Timed) -> str:
    low, high = timed.interval
    return f"{timed.variant} {timed.median:.4g} ms [{low:.4g}, {high:.4g}]"


def decide(finalists, incumbent: str) -> Decision:
    """Who serves the problem from now on. `finalists` are Timed, `incumbent` the name of the one that serves it now.

    The incumbent stays unless one is faster than it by `faster`. Of those that are, all that the fastest one is not
    faster than are its equals, and the simplest of them wins."""
    ordered = sorted(finalists, key=lambda timed: (timed.median, timed.rank, timed.variant))
    if not ordered:
        raise ValueError("There are no finalists; expected at least one.")
    now = next((timed for timed in ordered if timed.variant == incumbent), None)
    better = ordered if now is None else [timed for timed in ordered if faster(timed, now)]
    if not better:
        equals = [timed for timed in ordered if timed is not now and not faster(now, timed)]
        if not equals:
            return Decision(incumbent, "kept", f"{_told(now)} is faster than every other finalist.")
        return Decision(incumbent, "tie", f"{_told(now)} and {_told(equals[0])} are not separated"
                        f"{f', nor are {len(equals) - 1} more' if len(equals) > 1 else ''}; what is there stays.")
    fastest = better[0]
    equals = [timed for timed in better if timed is fastest or not faster(fastest, timed)]
    winner = min(equals, key=lambda timed: (timed.rank, timed.variant))
    against = f"{_told(now)}" if now else f"{incumbent or 'nothing'}, which could not be measured"
    why = f"{_told(winner)} is faster than {against}"
    if len(equals) > 1:
        why += f"; it is the simplest of {len(equals)} that are not separated"
    return Decision(winner.variant, "replaced", why + ".")
