"""Measurements of candidates: what the log has is not measured again, and all else goes into the log at once."""

from __future__ import annotations

import concurrent.futures
import datetime
import math
import shutil
import time
from pathlib import Path

from . import cases, intervals, questions, worker
from .builder import Builder, Built
from .candidate import Candidate
from .log import VERSION, Log, identity
from .pool import Pool
from .problem import Problem
from .runner import Outcome, Runner

FINAL_CHECKS = ("normal",)  # finalists have passed all of them in the search
GIVE_UP = 1.5         # times the best: one batch of such a candidate is enough
FINAL_BUDGET = 1 / 3  # of a measurement's: there are six of them
CASES_SECONDS = 3600


def now() -> str:
    return datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


class NoCases(RuntimeError):
    """A problem's data or reference could not be made; the text says why."""


class Measuring:
    """Of one run of the tuner. `settings` are the tuner's."""

    def __init__(self, settings, log: Log, builder: Builder, runner: Runner, pool: Pool, progress):
        self.settings, self.log, self.builder, self.runner = settings, log, builder, runner
        self.pool, self.progress = pool, progress
        self.known = log.measurements()
        self.trial = len(self.known)
        self.new = 0
        self.shipped, self.best = set(), None
        self._maker, self._stored, self._type = None, None, None

    def begin(self, problem: Problem, shipped: set) -> None:
        """`shipped`: names of the variants that are in the library itself."""
        if self._type not in (None, problem.type):
            self.pool.close()  # no candidate of one type serves another
        self.pool.rest()
        self.shipped, self.best, self._type = shipped, None, problem.type

    # --- What is known ------------------------------------------------------------------------------------------------

    def _fields(self, problem: Problem, candidate: Candidate, round: int) -> dict:
        fields = {"shape": problem.token, "pad": list(problem.shape.padding), "type": problem.type, "mode": problem.mode,
                  "layout": problem.layout, "target": problem.target, "algorithm": candidate.algorithm,
                  "parameters": dict(candidate.parameters), "variant": candidate.variant,
                  "device": self.settings.device, "build": self.builder.build, "round": round}
        return {"kind": "measurement", "version": VERSION, "id": identity(fields), **fields}

    def measured(self, problem: Problem, candidate: Candidate, round: int) -> dict | None:
        """The log's record, or None."""
        return self.known.get(self._fields(problem, candidate, round)["id"])

    def records(self, problem: Problem, round: int) -> list:
        """What the log has of a problem's good measurements on this device and build."""
        return [r for r in self.known.values() if r["round"] == round and r["status"] == "ok"
                and r["device"] == self.settings.device and r["build"] == self.builder.build
                and (r["shape"], r["pad"], r["type"], r["mode"], r["layout"], r["target"])
                == (problem.token, list(problem.shape.padding), problem.type, problem.mode, problem.layout, problem.target)]

    def seen(self, problem: Problem) -> list:
        return [Candidate(r["algorithm"], problem.type, problem.target, tuple(sorted(r["parameters"].items())))
                for r in self.records(problem, 0)]

    # --- What a measurement needs -------------------------------------------------------------------------------------

    def _cases(self, problem: Problem) -> Path:
        """Cases do not depend on mode and threads. Of a GPU, which makes them in no time, those of one shape are kept."""
        name = "_".join(map(str, problem.extents)) + f"_{problem.type}_{problem.device}"
        folder = self.settings.work / "cases" / name
        if (folder, problem.layout) == self._stored:
            return folder
        if self._stored and folder != self._stored[0] and not problem.on_cpu:
            shutil.rmtree(self._stored[0], ignore_errors=True)
        self._stored = None
        self._maker = self._maker or self.runner.child(questions.serve_cases)
        self._maker.ask((problem, str(folder)))
        told = self._maker.answer(CASES_SECONDS)
        if isinstance(told, Outcome):
            self._maker = None
            raise NoCases(f"The reference of {problem} could not be computed: {told.reason}")
        self._stored = folder, problem.layout
        return folder

    def _library(self, candidate: Candidate) -> Built:
        if candidate.variant in self.shipped:
            return Built(self.settings.library)
        return self.builder.get(candidate)

    def _request(self, problem: Problem, candidate: Candidate, round: int, built: Built) -> worker.Request:
        budget = self.settings.budget * (FINAL_BUDGET if round else 1)
        printed = self.settings.work / "printed"
        printed.mkdir(exist_ok=True)
        return worker.Request(str(built.library), candidate.variant, candidate.algorithm, problem,
                              str(self._cases(problem)), str(printed / f"{candidate.variant}.txt"), budget,
                              give_up_ms=GIVE_UP * self.best if self.best and not round else math.inf,
                              checks=FINAL_CHECKS if round else cases.NAMES,
                              again=round == self.settings.rounds)

    # --- Measurements -------------------------------------------------------------------------------------------------

    def evaluate(self, problem: Problem, candidates, deadline: float | None = None) -> list:
        """ms or None of each: built side by side, checked side by side, timed one after another. Once the deadline has
        passed, no more are begun."""
        todo = [c for c in candidates if self.measured(problem, c, 0) is None]
        with concurrent.futures.ThreadPoolExecutor(max(1, self.settings.jobs)) as pool:
            built = dict(zip(todo, pool.map(self._library, todo)))
        for record in (self.measured(problem, c, 0) for c in candidates if c not in built):
            self._better(record)
        each = min(self.pool.side_by_side, self.pool.most)
        for at in range(0, len(todo), each):
            if not deadline or time.monotonic() < deadline:
                self._turns(problem, todo[at:at + each], built)
        return [(self.measured(problem, c, 0) or {"median_ms": None})["median_ms"] for c in candidates]

    def _turns(self, problem: Problem, candidates, built: dict) -> None:
        """A turn of checks and the turns of timing after it."""
        start = time.monotonic()
        working = [c for c in candidates if built[c].library]
        requests = [self._request(problem, c, 0, built[c]) for c in working]
        checked = dict(zip(working, self.pool.check(requests) if requests else []))
        spent = (time.monotonic() - start) / max(1, len(candidates))
        for candidate in candidates:
            start = time.monotonic()
            outcome = checked.get(candidate, Outcome("build_failed", built[candidate].reason))
            if outcome.status == "ok":
                outcome = self.pool.time(self._request(problem, candidate, 0, built[candidate]), self.best)
            self._better(self._append(problem, candidate, 0, built[candidate], outcome,
                                      spent + time.monotonic() - start))

    def run_of_finals(self, problem: Problem, candidate: Candidate, round: int, best_ms: float) -> dict:
        """The record of a finalist's run in a round: the log's, or a new one that is then in the log."""
        found = self.measured(problem, candidate, round)
        if found:
            return found
        start, built = time.monotonic(), self._library(candidate)
        request = self._request(problem, candidate, round, built)
        if self.settings.fresh:
            self.pool.forget(request)
        outcome = self.pool.time(request, best_ms)
        return self._append(problem, candidate, round, built, outcome, time.monotonic() - start)

    def _better(self, record: dict) -> None:
        ms = record["median_ms"]
        self.best = min(self.best or ms, ms) if ms is not None else self.best

    def _append(self, problem, candidate, round: int, built: Built, outcome: Outcome, seconds: float) -> dict:
        samples, rejected, status, reason = [], 0, outcome.status, outcome.reason
        if status == "ok":
            samples, outliers = intervals.without_outliers([float(f"{ms:.6g}") for ms in outcome.value[0]])
            rejected = outcome.value[1] + outliers
            if len(samples) < worker.LEAST_SAMPLES:
                status, reason = "rejected", f"{rejected} samples were disturbed, and {len(samples)} are too few."
        low, high = intervals.interval(samples)
        error = outcome.error_l2 if outcome.error_l2 == outcome.error_l2 else None
        record = {**self._fields(problem, candidate, round), "status": status, "reason": reason, "samples_ms": samples,
                  "rejected_samples": rejected, "median_ms": intervals.median(samples) if status == "ok" else None,
                  "low_ms": low if low else None, "high_ms": high if low else None, "error_l2": error,
                  "registers": built.registers, "shared_bytes": built.shared_bytes, "when": now(),
                  "seconds": to_milliseconds(built.seconds + seconds), "trial": self.trial}
        self.trial += 1
        self.new += 1
        self.log.append(record)
        self.known[record["id"]] = record
        self.progress.measurement(record)
        return record

    def close(self) -> None:
        self.pool.close()
        if self._maker:
            self._maker.kill()
            self._maker.stop()
        if self._stored and self.settings.device["threads"] == 0:
            shutil.rmtree(self._stored[0], ignore_errors=True)


def to_milliseconds(seconds: float) -> float:
    return round(seconds, 3)


