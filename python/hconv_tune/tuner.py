"""Tunes problems: measures candidates into the log, lets the best meet the incumbent, and decides."""

from __future__ import annotations

import concurrent.futures
import dataclasses
import datetime
import time
from pathlib import Path

from . import cases, intervals, worker
from .builder import Builder, Built
from .candidate import Candidate, shipped_candidates
from .log import VERSION, Log, identity
from .problem import LAYOUT, Problem
from .runner import Outcome, Runner
from .search import Search, only, plan_of
from .table import Entry, milliseconds

FINALISTS = 4       # besides the incumbent and the next
SHIPPED_FINALISTS = 2
FINAL_WITHIN = 1.2  # of the best of the search
FINAL_CHECKS = ("normal",)  # finalists have passed all of them in the search
GIVE_UP = 3.0       # times the best: three samples of such a candidate are enough
SEARCH_SHARE = 0.7  # of a problem's time; the rest is for the finals
ALGORITHMS = ("direct", "mma", "transform")  # the simpler first


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


@dataclasses.dataclass
class Result:
    """Of one problem: a Decision or None where time ran out, the entry of the table, and why candidates were rejected."""

    problem: Problem
    decision: intervals.Decision | None
    entry: Entry | None
    winner: Candidate | None
    rejections: dict


def now() -> str:
    return datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


class Tuner:
    """`progress` hears of problems, measurements and notes (hconv_tune.progress)."""

    def __init__(self, settings: Settings, log: Log, builder: Builder, runner: Runner, progress):
        self.settings, self.log, self.builder, self.runner, self.progress = settings, log, builder, runner, progress
        self.known = log.measurements()
        self.trial = len(self.known)
        self.stored, self.best = set(), None

    # --- One measurement ----------------------------------------------------------------------------------------------

    def _fields(self, problem: Problem, candidate: Candidate, round: int) -> dict:
        fields = {"shape": problem.token, "pad": list(problem.shape.padding), "type": problem.type, "mode": problem.mode,
                  "layout": LAYOUT, "target": problem.target, "algorithm": candidate.algorithm,
                  "parameters": dict(candidate.parameters), "variant": candidate.variant,
                  "device": self.settings.device, "build": self.builder.build, "round": round}
        return {"kind": "measurement", "version": VERSION, "id": identity(fields), **fields}

    def measured(self, problem: Problem, candidate: Candidate, round: int) -> dict | None:
        """The log's record, or None."""
        return self.known.get(self._fields(problem, candidate, round)["id"])

    def _cases(self, problem: Problem) -> Path:
        """Cases do not depend on mode and threads."""
        name = "_".join(map(str, problem.extents)) + f"_{problem.type}_{problem.device}"
        folder = self.settings.work / "cases" / name
        if folder not in self.stored:
            self.progress.note(f"reference of {problem.shape} {problem.type}")
            made = self.runner.call(worker.store_cases, problem, str(folder), seconds=3600)
            if made.status != "ok":
                raise RuntimeError(f"The reference of {problem} could not be computed: {made.reason}")
            self.stored.add(folder)
        return folder

    def _library(self, candidate: Candidate, shipped: set) -> Built:
        if candidate.variant in shipped:
            return Built(self.settings.library)
        return self.builder.get(candidate)

    def measure(self, problem: Problem, candidate: Candidate, round: int, best_ms: float | None, built: Built) -> dict:
        """The record of a measurement: the log's, or a new one that is then in the log."""
        fields = self._fields(problem, candidate, round)
        if fields["id"] in self.known:
            return self.known[fields["id"]]
        start = time.monotonic()
        if built.library is None:
            outcome = Outcome("build_failed", built.reason)
        else:
            request = worker.Request(str(built.library), candidate.variant, candidate.algorithm, problem,
                                     str(self._cases(problem)), str(self.settings.work / "worker.out"),
                                     self.settings.budget,
                                     give_up_ms=GIVE_UP * best_ms if best_ms and round == 0 else float("inf"),
                                     checks=FINAL_CHECKS if round else cases.NAMES)
            outcome = self.runner.measure(request, best_ms)
        samples, rejected, status, reason = [], 0, outcome.status, outcome.reason
        if status == "ok":
            samples, outliers = intervals.without_outliers(outcome.value[0])
            rejected = outcome.value[1] + outliers
            if len(samples) < worker.LEAST_SAMPLES:
                status, reason = "rejected", f"{rejected} samples were disturbed, and {len(samples)} are too few."
        low, high = intervals.interval(samples)
        record = {**fields, "status": status, "reason": reason, "samples_ms": samples, "rejected_samples": rejected,
                  "median_ms": intervals.median(samples) if status == "ok" else None,
                  "low_ms": low if low else None, "high_ms": high if low else None,
                  "error_l2": outcome.error_l2 if outcome.error_l2 == outcome.error_l2 else None,
                  "registers": built.registers, "shared_bytes": built.shared_bytes, "when": now(),
                  "seconds": round_to_ms(built.seconds + time.monotonic() - start), "trial": self.trial}
        self.trial += 1
        self.log.append(record)
        self.known[record["id"]] = record
        self.progress.measurement(record)
        return record

    # --- One problem --------------------------------------------------------------------------------------------------

    def incumbent(self, problem: Problem, entry: Entry | None, shipped: list) -> str:
        """The variant that serves the problem now: the table's, else the library's choice, else the first shipped one."""
        names = [candidate.variant for candidate in shipped]
        if entry and entry.variant in names:
            return entry.variant
        chosen = self.runner.call(worker.choice, str(self.settings.library), problem, seconds=120)
        if chosen.status == "ok" and chosen.value[0] in names:
            return chosen.value[0]
        return names[0] if names else ""

    def tune(self, problem: Problem, deadline: float, entry: Entry | None = None, extra_rows: str = "") -> Result:
        """`entry`: the line that a table has for the problem; `extra_rows`: rows that won before and are not shipped yet."""
        shipped = shipped_candidates(self.settings.manifest_text, problem)
        names = {candidate.variant for candidate in shipped}
        if extra_rows:
            shipped += [c for c in shipped_candidates(extra_rows, problem) if c.variant not in names]
        incumbent = self.incumbent(problem, entry, shipped)
        default = self.incumbent(problem, None, shipped) if entry else incumbent
        start, plan = time.monotonic(), plan_of(problem, self.settings.algorithms)
        if self.settings.only_built:
            plan = only(plan, [*shipped, *self.builder.candidates(problem)])
        search = Search(plan, lambda candidates: self._evaluate(problem, candidates, names), self.settings.storage,
                        self.settings.seed, self.settings.jobs, self.progress.searched)
        self.progress.problem(problem, plan, incumbent)
        serving = (incumbent, default)
        first = sorted(shipped, key=lambda c: serving.index(c.variant) if c.variant in serving else len(serving))
        search.start_with(first)
        self.best = None
        for candidate in first[:len(set(serving))]:  # whatever the space says of them
            search.found[candidate.variant] = self._evaluate(problem, [candidate], names)[0]
        search.run(self.settings.trials, start + SEARCH_SHARE * (deadline - start))
        candidates = {c.variant: c for c in [*shipped, *self._seen(problem)]}
        timed = self._finals(problem, serving, candidates, names, deadline)
        if timed is None:
            return Result(problem, None, None, None, search.rejections)
        decision = intervals.decide(timed, incumbent)
        self._note(problem, incumbent, decision)
        winner = next(t for t in timed if t.variant == decision.winner)
        kept = entry if entry and entry.variant == decision.winner else None
        return Result(problem, decision, kept or self._entry(problem, winner), candidates[decision.winner],
                      search.rejections)

    def _evaluate(self, problem: Problem, candidates, shipped: set) -> list:
        """ms or None of each: built side by side, measured one after another."""
        todo = [c for c in candidates if self.measured(problem, c, 0) is None]
        with concurrent.futures.ThreadPoolExecutor(max(1, self.settings.jobs)) as pool:
            built = dict(zip(todo, pool.map(lambda c: self._library(c, shipped), todo)))
        times = []
        for candidate in candidates:
            record = self.measure(problem, candidate, 0, self.best, built.get(candidate, Built(None)))
            ms = record["median_ms"]
            self.best = min(self.best or ms, ms) if ms is not None else self.best
            times.append(ms)
        return times

    def _records(self, problem: Problem, round: int) -> list:
        return [r for r in self.known.values() if r["round"] == round and r["status"] == "ok"
                and r["device"] == self.settings.device and r["build"] == self.builder.build
                and (r["shape"], r["pad"], r["type"], r["mode"], r["target"])
                == (problem.token, list(problem.shape.padding), problem.type, problem.mode, problem.target)]

    def _seen(self, problem: Problem) -> list:
        return [Candidate(r["algorithm"], problem.type, problem.target, tuple(sorted(r["parameters"].items())))
                for r in self._records(problem, 0)]

    def _finals(self, problem, serving: tuple, candidates, shipped: set, deadline) -> list | None:
        """Timed finalists, each with a run in each round, all in turn. `serving`, the incumbent and the library's own
        choice, are always among them. None where time ran out or nothing works."""
        ranked = sorted(self._records(problem, 0), key=lambda r: (r["median_ms"], r["variant"]))
        if not ranked:
            return None
        near = [r["variant"] for r in ranked if r["median_ms"] <= FINAL_WITHIN * ranked[0]["median_ms"]]
        near = [name for name in near if name not in serving]
        names = near[:FINALISTS] + [name for name in near[FINALISTS:] if name in shipped][:SHIPPED_FINALISTS]
        names += [name for name in dict.fromkeys(serving) if any(r["variant"] == name for r in ranked)]
        best, runs = ranked[0]["median_ms"], {name: [] for name in names}
        for round in range(1, self.settings.rounds + 1):
            turn = round % len(names)
            for name in names[turn:] + names[:turn]:
                candidate = candidates[name]
                if self.measured(problem, candidate, round) is None and time.monotonic() > deadline:
                    self.progress.note(f"{problem}: the time ended before a decision")
                    return None
                record = self.measured(problem, candidate, round) or self.measure(
                    problem, candidate, round, best, self._library(candidate, shipped))
                if record["status"] == "ok":
                    runs[name].append(run_ms(record))
        order = list(candidates)
        timed = [intervals.Timed(name, tuple(values), self._rank(candidates[name], shipped, order))
                 for name, values in runs.items() if values]
        return timed or None

    @staticmethod
    def _rank(candidate: Candidate, shipped: set, order: list) -> tuple:
        """The lower, the simpler: shipped ones in the manifest's order, then the simpler algorithm and the shorter row."""
        if candidate.variant in shipped:
            return (0, order.index(candidate.variant))
        return (1, ALGORITHMS.index(candidate.algorithm), len(candidate.parameters))

    def _note(self, problem, incumbent, decision) -> None:
        record = {"kind": "decision", "shape": problem.token, "pad": list(problem.shape.padding), "type": problem.type,
                  "mode": problem.mode, "target": problem.target, "threads": problem.threads, "winner": decision.winner,
                  "incumbent": incumbent, "verdict": decision.verdict, "why": decision.why}
        same = [r for r in self.log.records if r["kind"] == "decision"
                and all(r.get(key) == value for key, value in record.items())]
        if not same:
            self.log.append({**record, "when": now()})
        self.progress.decision(problem, record)

    def _entry(self, problem: Problem, winner: intervals.Timed) -> Entry:
        last = max(r["when"] for round in range(1, self.settings.rounds + 1) for r in self._records(problem, round)
                   if r["variant"] == winner.variant)
        return Entry(self.settings.device["arch"], problem.type, problem.mode, problem.extents, winner.variant,
                     milliseconds(winner.median), last[:10], len(winner.runs), problem.threads)


def run_ms(record: dict) -> float:
    """What a run of the finals counts as. On one CPU thread its least sample: other programs take from the caches and so
    only ever add to it; else the median."""
    alone = record["target"] != "cuda" and record["device"]["threads"] == 1
    return min(record["samples_ms"]) if alone else record["median_ms"]


def round_to_ms(seconds: float) -> float:
    return round(seconds, 3)
