"""The search over one problem's spaces, by Optuna: all of a small space, else by its TPE sampler."""

from __future__ import annotations

import collections
import dataclasses
import itertools
import time
import warnings

import optuna

from .problem import Problem
from .space import Space, candidate_of, spaces_of, values_of

ENUMERATED = 4096  # combinations; a space of more is sampled
FRUITLESS = 400    # proposals in a row that are rejected or known, after which there is nothing left to find


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


def _names(space: Space, values: dict) -> dict:
    """The study's parameters: each algorithm has keys of its own, so that Optuna learns them apart."""
    return {"algorithm": space.algorithm, **{f"{space.algorithm}.{key}": value for key, value in values.items()}}


def _suggest(plan: Plan, trial) -> tuple[Space, dict]:
    names = [space.algorithm for space in plan.spaces]
    algorithm = trial.suggest_categorical("algorithm", names)
    space = plan.spaces[names.index(algorithm)]
    values = {key: trial.suggest_categorical(f"{algorithm}.{key}", choices)
              for key, choices in plan.allowed[algorithm].items()}
    return space, values


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
    """One problem's study. `evaluate(candidates)` gives for each candidate its time in ms, or None where it has none;
    it may build them side by side."""

    def __init__(self, plan: Plan, evaluate, storage=None, seed: int = 0, jobs: int = 1, progress=None):
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        self.plan, self.evaluate, self.jobs = plan, evaluate, jobs
        self.progress = progress or (lambda done, total: None)
        self.rejections = collections.Counter(plan.rejections)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)  # group
            sampler = optuna.samplers.TPESampler(seed=seed, multivariate=True, group=True, constant_liar=jobs > 1)
        self.study = optuna.create_study(study_name=f"{plan.problem} seed {seed}", sampler=sampler, storage=storage,
                                         direction="minimize", load_if_exists=True)
        self.found = {}  # variant -> ms or None

    def start_with(self, candidates) -> None:
        """Proposes these first, as far as they lie in the space, and then, of a small space, all others. Does nothing to
        a study that has trials: another process began it."""
        if self.study.trials:
            return
        queue = []
        for candidate in candidates:
            for space in self.plan.spaces:
                values = values_of(space, candidate) if space.algorithm == candidate.algorithm else None
                if values and all(value in self.plan.allowed[space.algorithm][key] for key, value in values.items()):
                    queue.append(_names(space, values))
        for space, values, _ in self.plan.candidates or []:
            queue.append(_names(space, values))
        for parameters in queue:
            self.study.enqueue_trial(parameters, skip_if_exists=True)

    def _ask(self, wanted: int) -> list:
        """Trials with candidates that are new; none when there is nothing left."""
        asked, fruitless, variants = [], 0, set()
        while len(asked) < wanted and fruitless < FRUITLESS:
            if self.plan.candidates is not None and not self._waiting():
                break
            trial = self.study.ask()
            space, values = _suggest(self.plan, trial)
            candidate, reason = candidate_of(space, values, self.plan.problem)
            if candidate is None:
                self.rejections[reason] += 1
                self.study.tell(trial, state=optuna.trial.TrialState.FAIL)
            elif candidate.variant in self.found:
                self._tell(trial, self.found[candidate.variant])
            elif candidate.variant in variants:
                self.study.tell(trial, state=optuna.trial.TrialState.FAIL)
            else:
                variants.add(candidate.variant)
                asked.append((trial, candidate))
                fruitless = 0
                continue
            fruitless += 1
        return asked

    def _waiting(self) -> bool:
        return bool(self.study.get_trials(deepcopy=False, states=(optuna.trial.TrialState.WAITING,)))

    def _tell(self, trial, ms) -> None:
        """What could not be measured counts as worse than all that could."""
        if ms is None:
            self.study.tell(trial, state=optuna.trial.TrialState.PRUNED)
        else:
            self.study.tell(trial, ms)

    def run(self, trials: int, deadline: float) -> None:
        """Until `trials` candidates have a result, the deadline (time.monotonic()) has passed, or nothing is left."""
        total = trials if self.plan.candidates is None else min(trials, len(self.plan.candidates))
        while len(self.found) < trials and time.monotonic() < deadline:
            batch = self._ask(min(self.jobs, trials - len(self.found)))
            if not batch:
                break
            for (trial, candidate), ms in zip(batch, self.evaluate([candidate for _, candidate in batch])):
                self.found[candidate.variant] = ms
                self._tell(trial, ms)
            self.progress(len(self.found), total)
        self._sweep(trials, deadline)

    def _sweep(self, trials: int, deadline: float) -> None:
        """Of a small space what another process took and then died over."""
        others = {trial.params.get("algorithm") for trial in self.study.get_trials(deepcopy=False)
                  if trial.state == optuna.trial.TrialState.RUNNING}
        for space, _, candidate in self.plan.candidates or []:
            if others and candidate.variant not in self.found and len(self.found) < trials and time.monotonic() < deadline:
                self.found[candidate.variant] = self.evaluate([candidate])[0]
