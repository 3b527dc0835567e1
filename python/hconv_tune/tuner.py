"""Tunes problems: measures candidates into the log, lets the best meet the incumbent, and decides."""

from __future__ import annotations

import dataclasses
import time
from pathlib import Path

from . import intervals
from .candidate import Candidate, shipped_candidates
from .finals import Finals
from .listing import Listing, pruned
from .measuring import Measuring, now
from .problem import Problem
from .search import Search, only, plan_of
from .table import Entry, milliseconds

SEARCH_SHARE = 0.7  # of a problem's time; the rest is for the finals


@dataclasses.dataclass
class Settings:
    work: Path
    library: Path
    manifest_text: str
    device: dict
    trials: int = 64
    rounds: int = 6
    jobs: int = 1
    seed: int = 0
    budget: float = 0.3  # seconds of timed runs of one measurement
    algorithms: tuple = ()
    storage: object = None
    only_built: bool = False
    prune: float = 0.0     # times the least modelled cost, beyond which a shipped variant is not measured; 0: all are
    fresh: bool = True     # each run of the finals in a new process


@dataclasses.dataclass
class Result:
    """Of one problem: a Decision or None where time ran out, the entry of the table, and why candidates were rejected."""

    problem: Problem
    decision: intervals.Decision | None
    entry: Entry | None
    winner: Candidate | None
    rejections: dict


class Tuner:
    """`progress` hears of problems, measurements and notes (hconv_tune.progress)."""

    def __init__(self, settings: Settings, measuring: Measuring, listing: Listing, progress):
        self.settings, self.measuring, self.listing, self.progress = settings, measuring, listing, progress

    def tune(self, problem: Problem, deadline: float, entry: Entry | None = None, extra_rows: str = "",
             end: float | None = None) -> Result:
        """`entry`: the line that a table has for the problem; `extra_rows`: rows that won before and are not shipped yet.
        `deadline` is the problem's share of the time; the finals may go on until `end`."""
        shipped, default, costs = self.listing.of(problem)
        names = {candidate.variant for candidate in shipped}
        own = shipped + [c for c in (shipped_candidates(extra_rows, problem) if extra_rows else [])
                         if c.variant not in names]
        known = [candidate.variant for candidate in own]
        incumbent = entry.variant if entry and entry.variant in known else default
        serving = tuple(dict.fromkeys((incumbent, default)))
        if self.settings.algorithms:
            own = [c for c in own if c.algorithm in self.settings.algorithms or c.variant in serving]
        first, left_out = pruned(own, costs, serving, self.settings.prune)
        start = time.monotonic()
        until, plan = start + SEARCH_SHARE * (deadline - start), plan_of(problem, self.settings.algorithms)
        if self.settings.only_built:
            plan = only(plan, self.measuring.builder.candidates(problem))
        self.progress.problem(problem, plan, incumbent, len(first), len(left_out))
        self.measuring.begin(problem, names)
        search = Search(plan, lambda candidates: self.measuring.evaluate(problem, candidates), self.settings.storage,
                        self.settings.seed, self.settings.jobs, self.progress.searched)
        search.start_with(own)
        search.found.update({c.variant: None for c in left_out})
        search.found.update(zip((c.variant for c in first), self.measuring.evaluate(problem, first, until)))
        search.run(self.settings.trials + len(left_out), until)
        candidates = {c.variant: c for c in [*own, *self.measuring.seen(problem)]}
        finals = Finals(self.settings, self.measuring, self.progress)
        timed = finals.run(problem, serving, candidates, names, deadline if end is None else end)
        if timed is None:
            return Result(problem, None, None, None, search.rejections)
        decision = intervals.decide(timed, incumbent)
        self._note(problem, incumbent, decision)
        winner = next(t for t in timed if t.variant == decision.winner)
        kept = entry if entry and entry.variant == decision.winner else None
        return Result(problem, decision, kept or self._entry(problem, winner), candidates[decision.winner],
                      search.rejections)

    def _note(self, problem, incumbent, decision) -> None:
        record = {"kind": "decision", "shape": problem.token, "pad": list(problem.shape.padding), "type": problem.type,
                  "mode": problem.mode, "layout": problem.layout, "target": problem.target, "threads": problem.threads,
                  "winner": decision.winner, "incumbent": incumbent, "verdict": decision.verdict, "why": decision.why}
        log = self.measuring.log
        same = [r for r in log.records if r["kind"] == "decision"
                and all(r.get(key) == value for key, value in record.items())]
        if not same:
            log.append({**record, "when": now()})
        self.progress.decision(problem, record)

    def _entry(self, problem: Problem, winner: intervals.Timed) -> Entry:
        last = max(r["when"] for round in range(1, self.settings.rounds + 1)
                   for r in self.measuring.records(problem, round) if r["variant"] == winner.variant)
        return Entry(self.settings.device["arch"], problem.type, problem.mode, problem.extents, winner.variant,
                     milliseconds(winner.median), last[:10], len(winner.runs), problem.threads, problem.layout)
