"""What a person sees of a run: a bar with the time that is left and the best so far, and a line for each thing worth one."""

from __future__ import annotations

import collections

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeRemainingColumn


class Quiet:
    """Says nothing."""

    def problem(self, problem, plan, incumbent, shipped, left_out): pass  # noqa: E704
    def searched(self, done, total): pass  # noqa: E704
    def measurement(self, record): pass  # noqa: E704
    def decision(self, problem, record): pass  # noqa: E704
    def note(self, text): pass  # noqa: E704


class Shown:
    """A context. On a terminal the bars stay at the bottom; elsewhere only the lines appear."""

    def __init__(self, problems: int, console: Console | None = None):
        self.console = console or Console(highlight=False)
        self.bars = Progress(SpinnerColumn(), TextColumn("{task.description}"), BarColumn(24), MofNCompleteColumn(),
                             TimeRemainingColumn(), TextColumn("{task.fields[best]}"), console=self.console,
                             transient=True, disable=not self.console.is_terminal)
        self.all = self.bars.add_task("problems", total=problems, best="")
        self.one, self.best, self.failed = None, None, collections.Counter()

    def __enter__(self):
        self.bars.start()
        return self

    def __exit__(self, *_):
        self.bars.stop()

    def _line(self, text: str) -> None:
        self.console.print(escape(text), soft_wrap=True)

    def note(self, text: str) -> None:
        self._line(f"  {text}")

    def problem(self, problem, plan, incumbent: str, shipped: int, left_out: int) -> None:
        if self.one is not None:
            self.bars.remove_task(self.one)
        self.best, self.failed = None, collections.Counter()
        size = (f"{len(plan.candidates)} candidates" if plan.candidates is not None
                else f"{plan.combinations} combinations, sampled")
        without = f" and {left_out} of a modelled cost too high" if left_out else ""
        new = f" besides {size}" if plan.combinations else ""
        self._line(f"{problem}: {shipped} shipped{without}{new}; now {incumbent or 'nothing serves it'}")
        self.one = self.bars.add_task(str(problem.shape), total=None, best="")

    def searched(self, done: int, total: int) -> None:
        self.bars.update(self.one, completed=done, total=total)

    def measurement(self, record: dict) -> None:
        ms = record["median_ms"]
        if record["status"] != "ok":
            self.failed[record["status"]] += 1
            self._line(f"  {record['status']:12} {record['variant']}: {record['reason'][:160]}")
        elif record["round"] == 0 and (self.best is None or ms < self.best):
            self.best = ms
            self._line(f"  {ms:9.4f} ms {record['variant']}")
        if self.one is not None and self.best is not None:
            self.bars.update(self.one, best=f"best {self.best:.4f} ms")

    def decision(self, problem, record: dict) -> None:
        self._line(f"  {record['verdict']}: {record['why']}")
        self.bars.advance(self.all)
