"""The search over one problem's spaces, by Optuna: all of a small space, else by its TPE sampler."""

from __future__ import annotations

import collections
import dataclasses
import itertools
import time
import warnings

import optuna
from optuna.trial import TrialState as State

from .problem import Problem
from .space import Space, candidate_of, spaces_of, values_of

ENUMERATED = 4096  # combinations; a space of more is sampled
FRUITLESS = 400    # proposals in a row that are rejected or known, after which there is nothing left to find
FIRST_TRIALS = 12  # of an algorithm, before it is compared with the others
BEHIND = 1.5       # times the best of all


@dataclasses.dataclass
class Plan:
    """What there is to search of a problem, before anything is built."""

    problem: Problem
    spaces: list
    allowed: dict       # algorithm -> searched key -> values
    limits: dict        # algorithm -> reasons why single values are left out
    combinations: int
    candidates: list | None            # (Space, values, Candidate) of all that are not rejected; None: too many to list
    rejections: collections.Counter    # reason -> combinations, where they were listed


def plan_of(problem: Problem, algorithms=()) -> Plan:
    spaces = spaces_of(problem, algorithms)
    allowed, limits, combinations = {}, {}, 0
    for space in spaces:
        allowed[space.algorithm], limits[space.algorithm] = space.within(problem)
        count = 1
        for values in allowed[space.algorithm].values():
            count *= len(values)
        combinations += count
    plan = Plan(problem, spaces, allowed, limits, combinations, None, collections.Counter())
    if combinations <= ENUMERATED:
        plan.candidates = []
        for space in spaces:
            choices = allowed[space.algorithm]
            for chosen in itertools.product(*choices.values()):
                values = dict(zip(choices, chosen))
                candidate, reason = candidate_of(space, values, problem)
                if candidate:
                    plan.candidates.append((space, values, candidate))
                else:
                    plan.rejections[reason] += 1
    return plan


def only(plan: Plan, candidates) -> Plan:
    """The plan of those candidates alone, as far as the problem's spaces have them."""
    kept = []
    for candidate in candidates:
        for space in plan.spaces:
            values = values_of(space, candidate) if space.algorithm == candidate.algorithm else None
            if values and candidate_of(space, values, plan.problem)[0] == candidate:
                kept.append((space, values, candidate))
    return dataclasses.replace(plan, candidates=kept, combinations=len(kept), rejections=collections.Counter())


def open_storage(where: str | None):
    """None: in memory, where the log alone carries a search over a restart. A URL (sqlite:///tune.db, mysql://...) or the
    path of a journal file spreads one search over several processes."""
    if where is None:
        return None
    if "://" in where:
        return where
    from optuna.storages import JournalStorage
    from optuna.storages.journal import JournalFileBackend
    return JournalStorage(JournalFileBackend(where))


class Search:
    """One problem's studies, one an algorithm. `evaluate(candidates)` gives for each candidate its time in ms, or None
    where it has none; it may build them side by side.

    Algorithms take turns. One whose best is far behind after its first trials is left."""

    def __init__(self, plan: Plan, evaluate, storage=None, seed: int = 0, jobs: int = 1, progress=None):
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        self.plan, self.evaluate, self.jobs = plan, evaluate, jobs
        self.progress = progress or (lambda done, total: None)
        self.rejections = collections.Counter(plan.rejections)
        self.found = {}  # variant -> ms or None
        self.studies, self.times = {}, {space.algorithm: [] for space in plan.spaces}
        self.exhausted, self.turn = set(), 0
        for space in plan.spaces:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)  # multivariate
                sampler = optuna.samplers.TPESampler(seed=seed, multivariate=True, constant_liar=jobs > 1)
            self.studies[space.algorithm] = optuna.create_study(
                study_name=f"{plan.problem} {space.algorithm} seed {seed}", sampler=sampler, storage=storage,
                direction="minimize", load_if_exists=True)

    def start_with(self, candidates) -> None:
        """Proposes these first, as far as they lie in the space, and then, of a small space, all others. Does nothing to
        a study that has trials: another process began it."""
        for space in self.plan.spaces:
            study, allowed = self.studies[space.algorithm], self.plan.allowed[space.algorithm]
            if study.trials:
                continue
            queue = [values_of(space, candidate) for candidate in candidates if candidate.algorithm == space.algorithm]
            queue = [values for values in queue if values and all(values[key] in allowed[key] for key in allowed)]
            queue += [values for other, values, _ in self.plan.candidates or [] if other is space]
            for values in queue:
                study.enqueue_trial(values, skip_if_exists=True)

    def _next(self) -> Space | None:
        """Whose turn it is; None when every algorithm has nothing left."""
        bests = {name: min(times) for name, times in self.times.items() if times}
        limit = BEHIND * min(bests.values(), default=float("inf"))
        for _ in self.plan.spaces:
            space = self.plan.spaces[self.turn % len(self.plan.spaces)]
            self.turn += 1
            behind = len(self.times[space.algorithm]) >= FIRST_TRIALS and bests[space.algorithm] > limit
            if space.algorithm not in self.exhausted and not behind:
                return space
        return None

    def _propose(self, space: Space, taken: set):
        """(trial, candidate) of a new candidate, or None when there seems to be no other."""
        study, choices = self.studies[space.algorithm], self.plan.allowed[space.algorithm]
        for _ in range(FRUITLESS):
            if self.plan.candidates is not None and not study.get_trials(deepcopy=False, states=(State.WAITING,)):
                break
            trial = study.ask()
            values = {key: trial.suggest_categorical(key, options) for key, options in choices.items()}
            candidate, reason = candidate_of(space, values, self.plan.problem)
            if candidate is None:
                self.rejections[reason] += 1
                study.tell(trial, state=State.FAIL)
            elif candidate.variant in self.found:
                self._tell(study, trial, self.found[candidate.variant])
            elif candidate.variant in taken:
                study.tell(trial, state=State.FAIL)
            else:
                return trial, candidate
        self.exhausted.add(space.algorithm)
        return None

    def _ask(self, wanted: int) -> list:
        """(space, trial, candidate) of up to `wanted` new candidates; none when there is nothing left."""
        asked, taken = [], set()
        while len(asked) < wanted:
            space = self._next()
            if space is None:
                break
            proposed = self._propose(space, taken)
            if proposed:
                asked.append((space, *proposed))
                taken.add(proposed[1].variant)
        return asked

    @staticmethod
    def _tell(study, trial, ms) -> None:
        """What could not be measured counts as worse than all that could."""
        if ms is None:
            study.tell(trial, state=State.PRUNED)
        else:
            study.tell(trial, ms)

    def run(self, trials: int, deadline: float) -> None:
        """Until `trials` candidates have a result, the deadline (time.monotonic()) has passed, or nothing is left."""
        total = trials if self.plan.candidates is None else min(trials, len(self.plan.candidates))
        while len(self.found) < trials and time.monotonic() < deadline:
            batch = self._ask(min(self.jobs, trials - len(self.found)))
            if not batch:
                self._sweep(trials, deadline)
                break
            for (space, trial, candidate), ms in zip(batch, self.evaluate([candidate for _, _, candidate in batch])):
                self.found[candidate.variant] = ms
                self._tell(self.studies[space.algorithm], trial, ms)
                self.times[space.algorithm].append(float("inf") if ms is None else ms)
            self.progress(len(self.found), total)

    def _sweep(self, trials: int, deadline: float) -> None:
        """Of a small space what another process took and then died over."""
        lost = {name for name, study in self.studies.items()
                if study.get_trials(deepcopy=False, states=(State.RUNNING,))}
        for space, _, candidate in self.plan.candidates or []:
            if (space.algorithm in lost and candidate.variant not in self.found and len(self.found) < trials
                    and time.monotonic() < deadline):
                self.found[candidate.variant] = self.evaluate([candidate])[0]
