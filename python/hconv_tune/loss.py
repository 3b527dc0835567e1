"""How much slower the library's choices are than the best of its variants, for problems that were not tuned."""

from __future__ import annotations

import dataclasses
import math
import time

from . import intervals
from .finals import chosen, run_ms
from .listing import pruned
from .measuring import NoCases
from .problem import Problem

AGAINST = 2    # the fastest, besides what the library chooses
ROUNDS = 3     # of these, in turn
TARGET_MEAN, TARGET_WORST = 1.10, 1.30


@dataclasses.dataclass(frozen=True)
class Lost:
    problem: Problem
    choice: str
    choice_ms: float
    best: str
    best_ms: float
    measured: int
    left_out: int

    @property
    def ratio(self) -> float:
        return self.choice_ms / self.best_ms


def measure(problems, settings, measuring, listing, progress, end: float) -> list[Lost]:
    """One for each problem, as far as the time lasts. The finalists are timed again in turn: the least of many times once
    measured would be too low by its noise."""
    found = []
    for problem in problems:
        if time.monotonic() > end:
            progress.note(f"the time ended after {len(found)} of {len(problems)} problems")
            break
        shipped, choice, costs = listing.of(problem)
        first, left_out = pruned(shipped, costs, (choice,), settings.prune)
        measuring.begin(problem, {c.variant for c in shipped})
        try:
            measuring.evaluate(problem, first)
        except NoCases as reason:
            progress.note(str(reason))
            continue
        names = {c.variant: c for c in first}
        ranked = sorted((r for r in measuring.records(problem, 0) if r["variant"] in names),
                        key=lambda r: (r["median_ms"], r["variant"]))
        if choice not in [r["variant"] for r in ranked]:
            progress.note(f"{problem}: {choice or 'no variant'} of the library's own choice has no time")
            continue
        runs = {name: [] for name in chosen(ranked, (choice,), (), AGAINST)}
        for round in range(1, ROUNDS + 1):
            for name in runs:
                record = measuring.run_of_finals(problem, names[name], round, ranked[0]["median_ms"])
                if record["status"] == "ok":
                    runs[name].append(run_ms(record))
        medians = {name: intervals.median(times) for name, times in runs.items() if times}
        if choice not in medians:
            progress.note(f"{problem}: {choice} was not right again")
            continue
        best = min(medians, key=lambda name: (medians[name], name != choice))
        found.append(Lost(problem, choice, medians[choice], best, medians[best], len(first), len(left_out)))
        progress.note(f"{problem}: {found[-1].ratio:.3f} of the best, {choice} {medians[choice]:.4f} ms, "
                      f"{best} {medians[best]:.4f} ms")
    return found


def rows(found) -> str:
    """TSV, a line a problem."""
    lines = ["\t".join(("shape", "type", "mode", "layout", "ratio", "choice_ms", "best_ms", "choice", "best", "measured",
                        "left_out"))]
    for lost in found:
        p = lost.problem
        lines.append("\t".join(map(str, (p.shape, p.type, p.mode, p.layout, f"{lost.ratio:.4f}", f"{lost.choice_ms:.6g}",
                                         f"{lost.best_ms:.6g}", lost.choice, lost.best, lost.measured, lost.left_out))))
    return "".join(f"{line}\n" for line in lines)


def mean(found) -> float:
    """Geometric."""
    return math.exp(sum(math.log(lost.ratio) for lost in found) / len(found))


def summary(found, problems, table) -> str:
    lines = []
    for kind in dict.fromkeys((p.type, p.layout) for p in problems):
        own = [lost for lost in found if (lost.problem.type, lost.problem.layout) == kind]
        if own:
            worst = max(own, key=lambda lost: lost.ratio)
            lines.append(f"{' '.join(kind)}: {len(own)} problems, {mean(own):.3f} of the best in geometric mean, worst "
                         f"{worst.ratio:.3f} ({worst.problem.shape})")
    if found:
        good = mean(found) <= TARGET_MEAN and max(lost.ratio for lost in found) <= TARGET_WORST
        lines.append(f"all: {len(found)} of {len(problems)} problems, {mean(found):.3f} in geometric mean, worst "
                     f"{max(lost.ratio for lost in found):.3f}; at most {TARGET_MEAN} and {TARGET_WORST} were wanted: "
                     f"{'reached' if good else 'missed'}; table {table}")
    return "\n".join(lines) or "no problem was measured"
