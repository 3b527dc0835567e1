"""How often to repeat a measurement, and its middle."""

from __future__ import annotations


def median(values) -> float:
    """The middle value; of an even number the mean of the middle two."""
    ordered = sorted(values)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


def runs_for(seconds: float, budget: float, least: int = 3, most: int = 50) -> int:
    """How often to repeat something that takes `seconds`, within a budget but not less than `least` times."""
    return max(least, min(most, int(budget / max(seconds, 1e-6))))
