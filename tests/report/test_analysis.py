"""What the figures show, against numbers worked out by hand."""

import dataclasses

import pytest
import synthetic
from hconv_report import analysis
from hconv_report.peers import Comparison, Row
from hconv_report.records import Measurement, Problem, Run, read_logs

PROBLEM = Problem("sm_90a", "f32", "fp32", (1, 2, 3, 3, 1, 1, 2))


def of(median, low=None, high=None, status="ok", algorithm="direct", problem=PROBLEM, **parameters):
    return Measurement(problem, f"v{median}", algorithm, parameters, status, median=median, low=low, high=high)


def test_a_curve_falls_to_one():
    crash = of(None, status="crash")
    assert analysis.curve([crash, of(4.0), of(5.0), of(2.0), of(3.0)]) == [(2, 2.0), (4, 1.0), (5, 1.0)]
    assert analysis.curve([of(4.0)]) == [(1, 1.0)]
    assert analysis.curve([of(None, status="crash")]) == []


def test_a_wrong_candidate_never_wins():
    wrong = of(0.1, status="wrong")
    assert analysis.curve([of(4.0), wrong]) == [(1, 1.0), (2, 1.0)]
    assert Run([wrong, of(4.0)]).best()[PROBLEM].median == 4.0


def test_finals_decide_which_one_is_the_fastest():
    lucky, steady = of(1.0, a=1), of(1.2, a=2)
    again = [dataclasses.replace(lucky, median=median, low=median - 0.1, high=median + 0.1, round=1 + i)
             for i, median in enumerate((1.5, 1.3, 1.4))]
    again += [dataclasses.replace(steady, median=1.25, low=1.2, high=1.3, round=1)]
    best = Run([lucky, steady, of(0.9), *again]).best()[PROBLEM]
    assert (best.variant, best.median, best.low, best.high) == ("v1.2", 1.25, 1.2, 1.3)
    best = Run([lucky, steady, *again[:3]]).best()[PROBLEM]
    assert (best.variant, best.median) == ("v1.0", 1.4)
    assert (best.low, best.high) == (pytest.approx(1.2), pytest.approx(1.6))


def test_a_change_counts_where_the_intervals_separate():
    def verdict(before, now):
        change, = analysis.changes(Run([of(*now)]), Run([of(*before)]))
        assert change.low <= change.ratio <= change.high
        return change.verdict

    assert verdict((1.0, 0.9, 1.1), (1.2, 1.15, 1.3)) == "slower"
    assert verdict((1.0, 0.9, 1.1), (1.2, 1.1, 1.3)) == "same"  # they touch
    assert verdict((1.0, 0.9, 1.1), (0.8, 0.7, 0.89)) == "faster"
    assert verdict((1.0, 0.9, 1.1), (0.8, 0.7, 0.95)) == "same"
    assert verdict((1.0,), (1.1,)) == "slower"  # a log without intervals


def test_other_devices_types_and_modes_are_not_compared():
    others = [dataclasses.replace(PROBLEM, **change) for change in (
        {"target": "sm_80"}, {"type": "bf16"}, {"mode": "strict"}, {"pad": (1, 1, 1, 1)})]
    now, before = Run([of(1.0)]), Run([of(1.0, problem=problem) for problem in others])
    assert analysis.changes(now, before) == []
    assert analysis.only_in(now, before) == [PROBLEM]
    assert analysis.only_in(before, now) == others


def test_the_worst_change_comes_first():
    other = dataclasses.replace(PROBLEM, type="bf16")
    found = analysis.changes(Run([of(1.0), of(3.0, problem=other)]), Run([of(2.0), of(2.0, problem=other)]))
    assert [change.ratio for change in found] == [1.5, 0.5]


def test_a_heat_map_takes_the_best_over_the_other_parameters():
    found = analysis.heat_map(PROBLEM, [
        of(3.0, a=1, b=10, c=1), of(2.0, a=1, b=10, c=2), of(4.0, a=2, b=10, c=1),
        of(None, status="crash", a=1, b=20, c=1), of(5.0, a=2, b=20, c=2), of(6.0, a=3, b=30, c=1),
        of(0.5, algorithm="mma", a=1, b=10, c=1)])
    assert (found.algorithm, found.row, found.column) == ("direct", "a", "b")  # each pair has 5 combinations
    assert found.rows == [1, 2, 3] and found.columns == [10, 20, 30]
    assert found.cells == {(1, 10): (2.0, "ok"), (2, 10): (4.0, "ok"), (1, 20): (None, "crash"), (2, 20): (5.0, "ok"),
                           (3, 30): (6.0, "ok")}


def test_parameters_that_move_together_are_not_a_heat_map():
    candidates = [of(1.0, thread=tile, tile=tile, oc=oc) for tile in (1, 2, 3, 4) for oc in (1, 2)]
    assert analysis.telling_pair(candidates) == ("oc", "thread")
    assert analysis.telling_pair([of(1.0, a=1)]) == ()


def test_a_parameter_with_many_values_is_in_the_rows():
    found = analysis.heat_map(PROBLEM, [of(1.0, a=a, b=b) for a in (1, 2) for b in range(9)])
    assert (found.row, found.column) == ("b", "a")


def test_a_heat_map_needs_two_parameters_that_vary():
    assert analysis.heat_map(PROBLEM, [of(1.0, a=1, b=1), of(2.0, a=2, b=1)]) is None
    assert analysis.heat_map(PROBLEM, [of(None, status="crash", a=1, b=1)]) is None
    assert analysis.heat_map(PROBLEM, [of(1.0, a=1, b=1)], ("a", "c")) is None
    wanted = analysis.heat_map(PROBLEM, [of(1.0, a=1, b=2)], ("b", "a"))
    assert (wanted.row, wanted.column, wanted.cells) == ("b", "a", {(2, 1): (1.0, "ok")})


def test_roofline_points_are_operations_over_bytes_and_time():
    problem = Problem("sm_90a", "f32", "fp32", (1, 2, 3, 3, 1, 1, 2))
    flops, bytes_ = 2 * 1 * 2 * 9 * 2, 4 * (18 + 4 + 18)
    assert analysis.roofline_points(Run([of(2.0), of(1.0)]), None) == [
        ("1,2,3,3,1,1", "f32", pytest.approx(flops / bytes_), pytest.approx(flops / 1e-3))]
    row = Row("1,2,3,3,1,1", "f32", "fp32", 1.0, 0.0, "hconv v")
    assert analysis.problem_of(row) == dataclasses.replace(problem, target="")
    assert analysis.roofline_points(Run(), Comparison((row,)))[0][2:] == (pytest.approx(flops / bytes_),
                                                                         pytest.approx(flops / 1e-3))


@pytest.mark.parametrize("shape", ["product 8192", "1,2,3", "1,2,3,3,9,1", "1,2,3,3,1,1,2,0:0", "a,b,c,d,e,f",
                                   "0,2,3,3,1,1"])
def test_a_row_that_is_no_shape_is_no_problem(shape):
    assert analysis.problem_of(Row(shape, "f32", "fp32", 1.0, 0.0, "hconv v")) is None


def test_the_synthetic_search_is_seen_as_its_formula_says(tmp_path):
    run = read_logs([synthetic.write_log(tmp_path / "log.jsonl", synthetic.search())])
    for problem, measurements in run.problems().items():
        found = analysis.heat_map(problem, measurements)
        assert (found.row, found.column) == ("tile_oc", "tile_ow")
        least = found.cells[64, 128][0]
        shape = ",".join(map(str, problem.extents))
        assert least == pytest.approx(synthetic.milliseconds(shape, problem.pad, 64, 128, 3))
        assert found.cells[32, 128][0] / least == pytest.approx(1.12)
        assert found.cells[128, 256] == (None, "build_failed")
        assert found.cells[16, 256][0] / least == pytest.approx(1.12 ** 3)  # the one with 2 stages timed out
    assert [(status, count) for status, _, count, _ in analysis.failures(run)] == [("build_failed", 8), ("timeout", 4)]
