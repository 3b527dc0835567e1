"""What the report shows, computed from the records: no drawing and no HTML."""

from __future__ import annotations

import collections
import dataclasses
import itertools

from hconv_measure.shapes import parse_shape

from .peers import Comparison
from .records import Measurement, Problem, Run


@dataclasses.dataclass(frozen=True)
class Change:
    """A problem in this run and in an earlier one: time now / time before with the range that both intervals allow."""

    problem: Problem
    before: Measurement
    now: Measurement
    ratio: float
    low: float
    high: float

    @property
    def verdict(self) -> str:
        """'faster' or 'slower' where the two intervals do not touch, else 'same'."""
        return "faster" if self.high < 1 else "slower" if self.low > 1 else "same"


def changes(now: Run, before: Run) -> list:
    """A Change for each problem that both have a time for, the worst first."""
    old, found = before.best(), []
    for problem, new in now.best().items():
        if problem in old:
            then = old[problem]
            found.append(Change(problem, then, new, new.median / then.median, new.low / then.high, new.high / then.low))
    return sorted(found, key=lambda change: -change.ratio)


def only_in(run: Run, other: Run) -> list:
    """Problems with a time in `run` and none in `other`."""
    return [problem for problem in run.best() if problem not in other.best()]


def curve(measurements: list) -> list:
    """[(candidates tried, best so far / best in the end)] where the best changes, and at the end; [] without a time."""
    times = [m.median for m in measurements if m.timed]
    if not times:
        return []
    least, best, points = min(times), None, []
    for trial, m in enumerate(measurements, 1):
        if m.timed and (best is None or m.median < best):
            best = m.median
            points.append((trial, best / least))
    if points[-1][0] != len(measurements):
        points.append((len(measurements), points[-1][1]))
    return points


def telling_pair(measurements: list) -> tuple:
    """The two parameters with the most combinations of values, of equals the names that come first; () without such.
    Two that always move together make only as many combinations as each has values, and so come late."""
    values = collections.defaultdict(set)
    for m in measurements:
        for key, value in m.parameters.items():
            values[key].add(repr(value))
    varied = sorted(key for key in values if len(values[key]) > 1)

    def combinations(pair):
        return len({tuple(repr(m.parameters.get(key)) for key in pair) for m in measurements})

    return min(itertools.combinations(varied, 2), key=lambda pair: (-combinations(pair), pair), default=())


@dataclasses.dataclass(frozen=True)
class HeatMap:
    """Times over two parameters, the best of all others. cells: {(row, column): (ms or None, status)}."""

    problem: Problem
    algorithm: str
    row: str
    column: str
    rows: list
    columns: list
    cells: dict


def _in_order(values) -> list:
    numbers = all(isinstance(value, (int, float)) for value in values)
    return sorted(values, key=None if numbers else str)


def heat_map(problem: Problem, measurements: list, wanted=()) -> HeatMap | None:
    """Of the algorithm that was measured most, over the parameters `wanted` or the telling pair; None where there is
    nothing to show."""
    timed = collections.Counter(m.algorithm for m in measurements if m.timed)
    if not timed:
        return None
    algorithm = timed.most_common(1)[0][0]
    mine = [m for m in measurements if m.algorithm == algorithm]
    keys = tuple(wanted) or telling_pair(mine)
    mine = [m for m in mine if all(_is_value(m.parameters.get(key)) for key in keys)]
    if len(keys) < 2 or not any(m.timed for m in mine):
        return None
    row, column = keys
    if not wanted and len({m.parameters[column] for m in mine}) > 8:  # a phone has more room below than beside
        row, column = sorted(keys, key=lambda key: -len({m.parameters[key] for m in mine}))
    cells = {}
    for m in mine:
        place = m.parameters[row], m.parameters[column]
        ms, status = cells.get(place, (None, m.status))
        if m.timed and (ms is None or m.median < ms):
            ms = m.median
        cells[place] = (ms, status)
    rows, columns = ({place[i] for place in cells} for i in (0, 1))
    return HeatMap(problem, algorithm, row, column, _in_order(rows), _in_order(columns), cells)


def _is_value(value) -> bool:
    return isinstance(value, (int, float, str))


def roofline_points(run: Run, comparison: Comparison | None) -> list:
    """(label, type, operations a byte, operations a second) of the fastest candidates, or without a log of hconv's rows
    in the comparison."""
    points = [(p.shape, p.type, p.flops / p.bytes, p.flops / m.median * 1e3) for p, m in run.best().items()]
    if points or comparison is None:
        return points
    for row in comparison.rows:
        problem = problem_of(row) if row.is_hconv and row.ms else None
        if problem:
            points.append((row.shape, row.type, problem.flops / problem.bytes, problem.flops / row.ms * 1e3))
    return points


def problem_of(row) -> Problem | None:
    """The problem of a row of compare.py; None for a shape that is not one."""
    try:
        shape = parse_shape(row.shape)
    except ValueError:
        return None
    return Problem.of(shape, "", row.type, row.mode)


def failures(run: Run) -> list:
    """(status, reason, how often, one variant) of the candidates without a result, the most frequent first."""
    found, example = collections.Counter(), {}
    for m in run.measurements:
        if m.status != "ok":
            found[m.status, m.reason] += 1
            example.setdefault((m.status, m.reason), m.variant)
    return [(status, reason, count, example[status, reason]) for (status, reason), count in found.most_common()]
