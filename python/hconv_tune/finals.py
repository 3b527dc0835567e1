"""The finals of a problem: the best of the search meet what serves now, in rounds, all in turn."""

from __future__ import annotations

import time

from . import intervals
from .candidate import Candidate
from .problem import Problem

FINALISTS = 4       # besides the incumbent and the next
SHIPPED_FINALISTS = 2
FINAL_WITHIN = 1.2  # of the best of the search
ALGORITHMS = ("direct", "mma", "wgmma", "transform")  # the simpler first


def chosen(ranked, serving, shipped, finalists: int = FINALISTS) -> list[str]:
    """Names of the finalists, of records with the fastest first. What serves is always among them, if it works."""
    near = [r["variant"] for r in ranked if r["median_ms"] <= FINAL_WITHIN * ranked[0]["median_ms"]]
    near = [name for name in near if name not in serving]
    names = near[:finalists] + [name for name in near[finalists:] if name in shipped][:SHIPPED_FINALISTS]
    return names + [name for name in dict.fromkeys(serving) if any(r["variant"] == name for r in ranked)]


class Finals:
    def __init__(self, settings, measuring, progress):
        self.settings, self.measuring, self.progress = settings, measuring, progress

    def run(self, problem: Problem, serving: tuple, candidates: dict, shipped: set, end: float) -> list | None:
        """Timed finalists, each with a run in each round. None where time ran out or nothing works."""
        ranked = sorted(self.measuring.records(problem, 0), key=lambda r: (r["median_ms"], r["variant"]))
        if not ranked:
            return None
        names = chosen(ranked, serving, shipped)
        best, runs = ranked[0]["median_ms"], {name: [] for name in names}
        for round in range(1, self.settings.rounds + 1):
            turn = round % len(names)
            for name in names[turn:] + names[:turn]:
                candidate = candidates[name]
                if self.measuring.measured(problem, candidate, round) is None and time.monotonic() > end:
                    self.progress.note(f"{problem}: the time ended before a decision")
                    return None
                record = self.measuring.run_of_finals(problem, candidate, round, best)
                if record["status"] == "ok":
                    runs[name].append(run_ms(record))
        order = list(candidates)
        timed = [intervals.Timed(name, tuple(values), rank(candidates[name], shipped, order))
                 for name, values in runs.items() if values]
        return timed or None


def rank(candidate: Candidate, shipped: set, order: list) -> tuple:
    """The lower, the simpler: shipped ones in the manifest's order, then the simpler algorithm and the shorter row."""
    if candidate.variant in shipped:
        return (0, order.index(candidate.variant))
    return (1, ALGORITHMS.index(candidate.algorithm), len(candidate.parameters))


def run_ms(record: dict) -> float:
    """What a run of the finals counts as. On one CPU thread its least sample: other programs take from the caches and so
    only ever add to it; else the median."""
    alone = record["target"] != "cuda" and record["device"]["threads"] == 1
    return min(record["samples_ms"]) if alone else record["median_ms"]
