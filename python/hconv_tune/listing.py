"""Which of the shipped variants serve which problem, what the library takes by itself, and which are worth a measurement."""

from __future__ import annotations

import concurrent.futures

from . import questions
from .candidate import Candidate, shipped_candidates
from .problem import Problem
from .runner import Runner

SLICE = 8  # problems that one process is asked about


def _add_its_parts(choice: str, named: dict, costs: dict) -> None:
    """Of a split variant the library may take any number of parts, of which the candidates have some: its own is one more,
    without a modelled cost."""
    name, _, parts = choice.partition("+")
    twin = next((c for variant, c in named.items() if variant.partition("+")[0] == name), None)
    if choice not in costs and parts.isdigit() and twin:
        named[choice] = Candidate.of(twin.algorithm, twin.type, twin.target, {**dict(twin.parameters), "parts": int(parts)})
        costs[choice] = None


class Listing:
    """The library is asked, in `jobs` processes at once: a row of the manifest that it lacks, or that cannot compute a
    problem, is no candidate. `table`: a tuned table that counts among the library's own."""

    def __init__(self, runner: Runner, library, manifest_text: str, jobs: int = 1, table: str = ""):
        self.runner, self.library, self.manifest_text, self.jobs = runner, str(library), manifest_text, jobs
        self.table, self._known = table, {}

    def ask(self, problems) -> None:
        """Raises RuntimeError where the library could not answer."""
        asked = [(p, {c.variant: c for c in shipped_candidates(self.manifest_text, p)}) for p in problems
                 if p not in self._known]
        slices = [asked[at:at + SLICE] for at in range(0, len(asked), SLICE)]

        def told(part):
            return self.runner.call(questions.listing, self.library, [(p, list(named)) for p, named in part], self.table)

        with concurrent.futures.ThreadPoolExecutor(max(1, self.jobs)) as pool:
            outcomes = list(pool.map(told, slices))
        for part, outcome in zip(slices, outcomes):
            if outcome.status != "ok":
                raise RuntimeError(f"{self.library} could not be asked for its variants: {outcome.reason}")
            for (problem, named), (choice, costs) in zip(part, outcome.value[0]):
                _add_its_parts(choice, named, costs)
                self._known[problem] = [named[name] for name in costs], choice, costs

    def of(self, problem: Problem) -> tuple[list[Candidate], str, dict]:
        """(candidates, the variant that the library takes by itself, modelled costs). Where the library takes one of another
        target (a CPU has a better instruction set than the one that is tuned) or none, the first candidate stands for it, or
        "". Raises RuntimeError where its choice is of this target and no candidate: another would be measured for it."""
        if problem not in self._known:
            self.ask([problem])
        candidates, choice, costs = self._known[problem]
        names = [candidate.variant for candidate in candidates]
        if choice in names:
            return candidates, choice, costs
        if choice.partition("+")[0].endswith(f"_{problem.target}"):
            raise RuntimeError(f"{problem}: {self.library} takes {choice}, which the manifest does not have.")
        return candidates, (names or [""])[0], costs


def pruned(candidates, costs: dict, serving, limit: float) -> tuple[list, list]:
    """(candidates to measure, those that are left out since their modelled cost is more than `limit` times the least).
    What serves now comes first and always stays, then the cheaper ones; what has no cost stays. 0: all stay."""
    least = min((cost for cost in costs.values() if cost is not None), default=None)

    def keeps(candidate):
        cost = costs.get(candidate.variant)
        return not limit or cost is None or least is None or candidate.variant in serving or cost <= limit * least

    def order(candidate):
        cost = costs.get(candidate.variant)
        at = serving.index(candidate.variant) if candidate.variant in serving else len(serving)
        return at, cost if cost is not None else 0.0

    ordered = sorted(candidates, key=order)
    return [c for c in ordered if keeps(c)], [c for c in ordered if not keeps(c)]
