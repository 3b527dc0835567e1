"""A candidate that crashes, hangs or lies costs itself only."""

import time
import types

import children
import pytest
from hconv_tune.runner import Runner


@pytest.fixture(scope="module")
def runner():
    return Runner(preload=("children", "hconv_tune.worker"), least_seconds=1.0, start_seconds=2.0)


@pytest.fixture()
def request_(tmp_path):
    return types.SimpleNamespace(output=str(tmp_path / "output"), budget=0.1)


def test_a_good_one(runner, request_):
    outcome = runner.measure(request_, 1.0, children.good)
    assert (outcome.status, outcome.value, outcome.error_l2) == ("ok", ([1.0, 1.1, 1.2], 2), 1e-7)


@pytest.mark.parametrize("child, status, sentence", [
    (children.crash, "crash", "died of SIGSEGV while it was timed"),
    (children.crash_in_check, "crash", "died of SIGSEGV while loading or checking"),
    (children.leave, "crash", "ended with 3 while loading or checking: terminate called after throwing something"),
    (children.raises, "crash", "ended with 1 while loading or checking"),
    (children.half, "crash", ""),
    (children.wrong, "wrong", "3 of 9 exact sums of integers differ."),
])
def test_a_bad_one(runner, request_, child, status, sentence):
    outcome = runner.measure(request_, 1.0, child)
    assert outcome.status == status and sentence in outcome.reason
    assert runner.measure(request_, 1.0, children.good).status == "ok"


@pytest.mark.parametrize("child, phase", [(children.hang, "timing"), (children.hang_in_check, "loading and checking")])
def test_one_that_hangs_is_stopped(runner, request_, child, phase):
    runner.check_seconds = 0.01
    start = time.monotonic()
    outcome = runner.measure(request_, 1.0, child)
    assert outcome.status == "timeout" and phase in outcome.reason
    assert time.monotonic() - start < 15


def test_the_time_of_timing_is_a_multiple_of_the_bests(runner, request_):
    start = time.monotonic()
    outcome = runner.measure(request_, 10.0, children.hang)  # 1 s + 3 budgets + 10 times 6 calls of 10 ms
    assert outcome.reason == "It was stopped after 2 s of timing." and 1.5 < time.monotonic() - start < 15
