"""The statistics, on synthetic noise whose truth is known."""

import math
import random

import pytest
from hconv_tune.intervals import Timed, decide, faster, interval, median, without_outliers


def noise(draw, center, count=6):
    """Run times as a machine in use gives them: never much below, sometimes far above."""
    return tuple(center * (1 + abs(draw.gauss(0, 0.02)) + (draw.random() < 0.1) * draw.uniform(0, 0.5))
                 for _ in range(count))


def named(runs, variant, rank=(0,)):
    return Timed(variant, tuple(runs), rank)


@pytest.mark.parametrize("n, low, high", [(6, 1, 6), (8, 1, 8), (9, 2, 8), (11, 2, 10), (12, 3, 10), (25, 8, 18)])
def test_bounds_are_the_order_statistics_of_the_tables(n, low, high):
    # n and ranks at 95 %: Conover, Practical Nonparametric Statistics, table of the sign test
    values = list(range(1, n + 1))
    random.Random(n).shuffle(values)
    assert interval(values) == (low, high)


@pytest.mark.parametrize("n", range(6))
def test_few_values_have_no_bounds(n):
    assert interval(range(n)) == (0.0, math.inf)


@pytest.mark.parametrize("n", [6, 10, 25])
@pytest.mark.parametrize("shape", ["normal", "skewed"])
def test_the_interval_covers_the_median_as_often_as_it_says(n, shape):
    draw, hits, times = random.Random(n), 0, 3000
    for _ in range(times):
        values = [draw.gauss(5, 1) if shape == "normal" else math.exp(draw.gauss(0, 1)) for _ in range(n)]
        low, high = interval(values)
        hits += low <= (5 if shape == "normal" else 1) <= high
    assert hits / times >= 0.94


def test_equal_candidates_rarely_replace_the_incumbent():
    # All six runs of a challenger below all six of the incumbent: 1 in C(12, 6) = 924 of each challenger, and 7 of them.
    draw, times, replaced = random.Random(2), 4000, 0
    for _ in range(times):
        finalists = [named(noise(draw, 1.0), name) for name in "abcdefgh"]
        replaced += decide(finalists, "a").verdict == "replaced"
    assert 0 < replaced / times <= 7 / 924 + 3 * math.sqrt(7 / 924 / times)


def test_a_winner_by_a_tenth_is_found():
    draw, found = random.Random(3), 0
    for _ in range(500):
        finalists = [named(noise(draw, 1.0), "now"), named(noise(draw, 0.85), "better"), named(noise(draw, 0.97), "third")]
        decision = decide(finalists, "now")
        found += decision.winner == "better" and decision.verdict == "replaced"
        assert decision.winner != "third" or decision.verdict == "replaced"
    assert found >= 300  # else noise of up to a half hides it, and the incumbent stays


def test_a_slower_candidate_never_wins_beyond_chance():
    draw, wrong = random.Random(4), 0
    for _ in range(3000):
        wrong += decide([named(noise(draw, 1.0), "now"), named(noise(draw, 1.05), "slower")], "now").winner == "slower"
    assert wrong <= 3


def test_overlap_is_a_tie_and_what_is_there_stays():
    decision = decide([named([10, 11, 12, 13, 14, 15], "now"), named([5, 6, 7, 8, 9, 10.5], "other")], "now")
    assert (decision.winner, decision.verdict) == ("now", "tie")
    assert "now" in decision.why and "other" in decision.why


def test_a_gain_of_less_than_a_hundredth_is_none():
    now = named([1.000] * 6, "now")
    assert decide([now, named([0.995] * 6, "other")], "now").verdict == "tie"
    assert decide([now, named([0.985] * 6, "other")], "now").winner == "other"


def test_the_fastest_incumbent_is_kept():
    decision = decide([named([1] * 6, "now"), named([2] * 6, "other")], "now")
    assert (decision.winner, decision.verdict) == ("now", "kept")


def test_of_equal_winners_the_simplest_is_taken_in_any_order():
    finalists = [named([10] * 6, "now", (0, 0)), named([5, 5, 5, 5, 5, 6], "long_row", (1, 0, 9)),
                 named([5.2] * 6, "shipped", (0, 3)), named([7] * 6, "shipped_but_slower", (0, 1))]
    for seed in range(20):
        random.Random(seed).shuffle(finalists)
        decision = decide(finalists, "now")
        assert (decision.winner, decision.verdict) == ("shipped", "replaced")


def test_too_few_runs_decide_nothing():
    assert decide([named([10] * 5, "now"), named([5] * 5, "other")], "now").verdict == "tie"
    assert not faster(named([5] * 5, "a"), named([10] * 6, "b"))


def test_an_incumbent_that_does_not_work_is_replaced():
    decision = decide([named([5] * 6, "other")], "gone")
    assert (decision.winner, decision.verdict) == ("other", "replaced") and "gone" in decision.why


def test_disturbed_samples_are_left_out_and_counted():
    assert without_outliers([1.0, 1.1, 0.9, 1.4, 3.0, 1.6]) == ([1.0, 1.1, 0.9, 1.4, 1.6], 1)
    assert without_outliers([]) == ([], 0)
    assert median([3, 1, 2]) == 2 and median([4, 1, 2, 3]) == 2.5
