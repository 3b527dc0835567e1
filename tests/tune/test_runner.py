"""Processes end as they should, whatever they do, and turns of checks and of timing never overlap."""

import dataclasses
import time

import children
import pytest
from hconv_tune.pool import Pool
from hconv_tune.runner import Runner


@dataclasses.dataclass
class Request:
    output: str
    variant: str = "v"
    library: str = "l"
    problem: str = "p"
    environment: tuple = ()
    budget: float = 0.1

    def same(self, other):
        return (self.variant, self.problem) == (other.variant, other.problem)


@pytest.fixture(scope="module")
def runner():
    return Runner(preload=("children", "hconv_tune.questions", "hconv_tune.worker"), start_seconds=2.0)


@pytest.fixture()
def pool(runner):
    pools = []

    def make(serve, **other):
        pools.append(Pool(runner, serve=serve, least_seconds=1.0, **other))
        return pools[-1]

    yield make
    for one in pools:
        one.close()


@pytest.fixture()
def request_(tmp_path):
    return Request(str(tmp_path / "output"))


def test_a_good_one(pool, request_):
    outcome = pool(children.good).measure(request_, 1.0)
    assert (outcome.status, outcome.value, outcome.error_l2) == ("ok", ([1.0, 1.1, 1.2], 2), 1e-7)


@pytest.mark.parametrize("child, status, sentence", [
    (children.crash, "crash", "died of SIGSEGV while it was timed"),
    (children.crash_in_check, "crash", "died of SIGSEGV while loading or checking"),
    (children.leave, "crash", "ended with 3 while loading or checking: terminate called after throwing something"),
    (children.raises, "crash", "ended with 1 while loading or checking"),
    (children.half, "crash", ""),
    (children.wrong, "wrong", "3 of 9 exact sums of integers differ."),
])
def test_a_bad_one(pool, request_, child, status, sentence):
    outcome = pool(child).measure(request_, 1.0)
    assert outcome.status == status and sentence in outcome.reason
    assert pool(children.good).measure(request_, 1.0).status == "ok"


@pytest.mark.parametrize("child, phase", [(children.hang, "timing"), (children.hang_in_check, "loading and checking")])
def test_one_that_hangs_is_stopped(pool, request_, child, phase):
    start = time.monotonic()
    outcome = pool(child).measure(request_, 1.0)
    assert outcome.status == "timeout" and phase in outcome.reason
    assert time.monotonic() - start < 15


def test_the_time_of_timing_is_a_multiple_of_the_bests(pool, request_):
    start = time.monotonic()
    outcome = pool(children.hang).measure(request_, 10.0)  # 1 s + 3 budgets + 10 times 6 calls of 10 ms
    assert outcome.reason == "It was stopped after 2 s of timing." and 1.5 < time.monotonic() - start < 15


def test_bad_ones_cost_themselves_only(pool, request_):
    """A turn of checks with a crash, a hang and a wrong one among good ones; then the good ones are timed."""
    names = ["a", "hang_in_check", "b", "wrong", "crash", "c"]
    requests = [dataclasses.replace(request_, variant=name, output=f"{request_.output}.{name}") for name in names]
    one = pool(children.by_name, side_by_side=3)
    assert [o.status for o in one.check(requests)] == ["ok", "timeout", "ok", "wrong", "ok", "ok"]
    timed = {r.variant: one.time(r, 1.0) for r in requests if r.variant not in ("hang_in_check", "wrong")}
    assert {name: outcome.status for name, outcome in timed.items()} == {"a": "ok", "b": "ok", "c": "ok", "crash": "crash"}
    assert len({outcome.value[0][0] for outcome in timed.values() if outcome.status == "ok"}) == 3  # processes
    assert one.started == 6


def test_a_process_serves_its_candidate_only(pool, request_):
    """On the next problem the same process; another candidate's is another; a new one after `forget` or beyond `most`."""
    one, other = pool(children.by_name, most=2), dataclasses.replace(request_, problem="q")
    first = one.measure(request_, 1.0).value[0][0]
    assert one.measure(other, 1.0).value[0][0] == first
    assert one.measure(dataclasses.replace(request_, variant="w"), 1.0).value[0][0] != first
    one.rest()
    assert one.time(request_, 1.0).value[0][0] == first  # which checks again
    one.forget(request_)
    second = one.time(request_, 1.0).value[0][0]
    assert second != first
    for name in ("w", "x"):
        one.measure(dataclasses.replace(request_, variant=name), 1.0)
    assert one.measure(request_, 1.0).value[0][0] != second


def test_nothing_checks_while_another_is_timed(pool, request_, tmp_path):
    requests = [dataclasses.replace(request_, variant=f"v{n}", output=str(tmp_path / f"{n}.txt")) for n in range(4)]
    one = pool(children.turns, side_by_side=4)
    for _ in range(2):
        one.check(requests)
        for request in requests:
            one.time(request, 1.0)
    turns = [line.split() for n in range(4) for line in (tmp_path / f"{n}.txt").read_text().splitlines()]
    turns = [(what, float(start), float(end)) for what, start, end in turns]
    timed = [turn for turn in turns if turn[0] == "time"]
    assert len(timed) == 8
    for turn in timed:
        assert not [other for other in turns if other is not turn and other[1] < turn[2] and turn[1] < other[2]]
