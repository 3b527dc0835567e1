"""The search, with times that are made up."""

import time

import pytest
from hconv_measure.shapes import parse_shape
from hconv_tune.problem import Problem
from hconv_tune.search import Search, open_storage, plan_of

SMALL = Problem(parse_shape("1,64,58,58,3,3"), "f32", "fp32", "cpu_avx512", 1)
LARGE = Problem(parse_shape("32,64,58,58,3,3"), "bf16", "fp32", "cuda")
FOREVER = float("inf")


class Times:
    """ms of a candidate: a made-up function with one best, and none for some."""

    def __init__(self, fails=lambda candidate: False):
        self.fails, self.asked = fails, []

    def __call__(self, candidates):
        self.asked += [candidate.variant for candidate in candidates]
        return [None if self.fails(c) else self.of(c) for c in candidates]

    @staticmethod
    def of(candidate):
        p = dict(candidate.parameters)
        cost = {"direct": 4.0, "mma": 1.0, "wgmma": 3.0, "transform": 2.0}[candidate.algorithm]
        for key, best in dict(tile_oc=64, tile_ow=32, tile_oh=4, stages=3, ic=32, kw_tile=3).items():
            cost += abs(p.get(key, best) - best) / best
        return cost


def searched(problem, trials, times, **other):
    search = Search(plan_of(problem, ["direct"] if problem is SMALL else []), times, **other)
    search.start_with([])
    search.run(trials, FOREVER)
    return search


def test_a_small_space_is_measured_whole_and_once():
    times = Times()
    search = searched(SMALL, 1000, times)
    plan = plan_of(SMALL, ["direct"])
    assert sorted(times.asked) == sorted(c.variant for _, _, c in plan.candidates) and len(plan.candidates) == 24
    assert sum(plan.rejections.values()) + len(plan.candidates) == plan.combinations == 40
    assert search.rejections == plan.rejections


def test_the_budget_of_trials_and_time_is_kept():
    times = Times()
    searched(SMALL, 5, times)
    assert len(times.asked) == 5
    late = Search(plan_of(SMALL, ["direct"]), times)
    late.start_with([])
    late.run(100, time.monotonic() - 1)
    assert len(times.asked) == 5


@pytest.mark.parametrize("jobs", [1, 3])
def test_the_same_seed_asks_the_same(jobs):
    one, other = Times(), Times()
    searched(LARGE, 30, one, seed=3, jobs=jobs)
    searched(LARGE, 30, other, seed=3, jobs=jobs)
    assert one.asked == other.asked and len(set(one.asked)) == 30
    another = Times()
    searched(LARGE, 30, another, seed=4, jobs=jobs)
    assert another.asked != one.asked


def test_sampling_finds_better_ones_than_chance():
    search = searched(LARGE, 120, Times(), seed=1)
    mma = [ms for name, ms in search.found.items() if "_mma_" in name]
    assert min(mma) < 1.6 and sum(mma[-20:]) / 20 < 0.75 * sum(mma[:10]) / 10
    others = [name for name in search.found if "_mma_" not in name]
    assert 30 <= len(others) < 50  # each had its first trials, and the slower algorithms no more


def test_failures_are_results_too():
    times = Times(fails=lambda candidate: dict(candidate.parameters)["tile_ow"] > 8)
    search = searched(SMALL, 1000, times)
    assert len(search.found) == 24 and None in search.found.values()
    assert sum(ms is None for ms in search.found.values()) == sum(
        dict(c.parameters)["tile_ow"] > 8 for _, _, c in plan_of(SMALL, ["direct"]).candidates)


def test_two_searches_share_a_storage(tmp_path):
    one, other, where = Times(), Times(), str(tmp_path / "journal")
    first = Search(plan_of(SMALL, ["direct"]), one, open_storage(where))
    first.start_with([])
    second = Search(plan_of(SMALL, ["direct"]), other, open_storage(where))
    second.start_with([])
    for _ in range(12):
        first.run(len(first.found) + 1, FOREVER)
        second.run(len(second.found) + 1, FOREVER)
    assert not set(one.asked) & set(other.asked) and len({*one.asked, *other.asked}) == 24


def test_what_a_dead_process_took_is_measured(tmp_path):
    where = str(tmp_path / "journal")
    dead = Search(plan_of(SMALL, ["direct"]), Times(), open_storage(where))
    dead.start_with([])
    assert len(dead._ask(3)) == 3  # and never told
    times = Times()
    searched(SMALL, 1000, times, storage=open_storage(where))
    assert len(times.asked) == 24
