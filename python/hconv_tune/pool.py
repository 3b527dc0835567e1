"""Candidates' processes: each has one candidate, and keeps Python, the device's context and the library while it
serves that candidate on one problem after another.

The device is used in two kinds of turns. In a turn of checks any number of processes start, load, and check side by side;
in a turn of timing one process runs, and all others wait for a message. A candidate that crashes or hangs ends its process
only, and whoever needs that candidate again gets a new one."""

from __future__ import annotations

import collections
import dataclasses
import multiprocessing.connection
import time

from . import worker
from .runner import CHECK, TIME, Child, Outcome, Runner, outcome_of

LEAST_SECONDS = 20    # for a phase, beside a busy machine
MULTIPLE = 10         # of the best so far


@dataclasses.dataclass
class _Serving:
    child: Child
    ready: worker.Request | None = None  # what it has checked and can be timed for
    error_l2: float | None = None


class Pool:
    """At most `most` processes live at once, of which `side_by_side` check. `serve` is the process's function."""

    def __init__(self, runner: Runner, most: int = 48, side_by_side: int = 8, serve=worker.serve,
                 least_seconds: float = LEAST_SECONDS, multiple: float = MULTIPLE):
        self.runner, self.most, self.side_by_side, self.serve = runner, max(1, most), max(1, side_by_side), serve
        self.least_seconds, self.multiple = least_seconds, multiple
        self.check_seconds = 0.0  # of the quickest candidate of this problem so far
        self.started = 0
        self._alive = collections.OrderedDict()  # key -> _Serving, the one used last at the end

    @staticmethod
    def _key(request) -> tuple:
        return request.library, request.variant, request.environment

    def _get(self, request) -> _Serving:
        key = self._key(request)
        if key not in self._alive:
            while len(self._alive) >= self.most:
                self._alive.popitem(last=False)[1].child.stop()
            self._alive[key] = _Serving(self.runner.child(self.serve, request, output=request.output))
            self.started += 1
        self._alive.move_to_end(key)
        return self._alive[key]

    def forget(self, request) -> None:
        """Ends the candidate's process, if there is one: its next measurement gets a new one."""
        serving = self._alive.pop(self._key(request), None)
        if serving:
            serving.child.stop()

    def check(self, requests) -> list[Outcome]:
        """A turn of checks, of different candidates, no more than `most`."""
        outcomes, waiting, asked = {}, collections.deque(enumerate(requests)), {}
        while waiting or asked:
            while waiting and len(asked) < self.side_by_side:
                number, request = waiting.popleft()
                serving = self._get(request)
                serving.ready = None
                serving.child.ask(("check", request))
                asked[number] = serving, time.monotonic()
            limit = (max(self.least_seconds, self.multiple * self.check_seconds) if self.check_seconds
                     else self.runner.start_seconds)
            soonest = min(start for _, start in asked.values()) + limit
            multiprocessing.connection.wait([serving.child.pipe for serving, _ in asked.values()],
                                            max(0.0, soonest - time.monotonic()))
            for number, (serving, start) in list(asked.items()):
                spent = time.monotonic() - start
                if serving.child.pipe.poll():
                    told = serving.child.answer(0)
                elif spent >= limit:
                    told = serving.child.overdue(limit)
                else:
                    continue
                outcomes[number] = self._checked(requests[number], serving, told, spent)
                del asked[number]
        return [outcomes[number] for number in range(len(requests))]

    def _checked(self, request, serving: _Serving, told, spent: float) -> Outcome:
        if isinstance(told, Outcome):  # it is dead
            self._alive.pop(self._key(request), None)
            return told
        outcome = outcome_of(told, spent)
        if outcome.status == "ok":
            serving.ready, serving.error_l2 = request, outcome.value[0]
            self.check_seconds = min(self.check_seconds or spent, spent)
            return dataclasses.replace(outcome, error_l2=serving.error_l2)
        if outcome.status == "crash":  # an error of the device stays
            self.forget(request)
        return outcome

    def time(self, request, best_ms: float | None) -> Outcome:
        """A turn of timing; the value is (samples, rejected). Checks first what its process has not checked."""
        serving = self._alive.get(self._key(request))
        if serving is None or not serving.ready or not serving.ready.same(request):
            outcome = self.check([request])[0]
            if outcome.status != "ok":
                return outcome
            serving = self._alive[self._key(request)]
        limit = self.runner.start_seconds
        if best_ms is not None:
            calls = worker.LEAST_SAMPLES + worker.ROTATED
            limit = self.least_seconds + 3 * request.budget + self.multiple * calls * best_ms / 1e3
        start = time.monotonic()
        serving.child.ask(("time", request))
        told = serving.child.answer(limit, TIME)
        if isinstance(told, Outcome):
            self._alive.pop(self._key(request), None)
            return dataclasses.replace(told, error_l2=serving.error_l2)
        outcome = outcome_of(told, time.monotonic() - start, serving.error_l2)
        if outcome.status == "crash":
            self.forget(request)
        return outcome

    def measure(self, request, best_ms: float | None = None) -> Outcome:
        """One turn of each kind."""
        outcome = self.check([request])[0]
        return self.time(request, best_ms) if outcome.status == "ok" else outcome

    def rest(self) -> None:
        """All give back what the last problem took."""
        self.check_seconds = 0.0
        resting = [serving for serving in self._alive.values() if serving.ready]
        for serving in resting:
            serving.ready = None
            serving.child.ask(("rest",))
        for key, serving in list(self._alive.items()):
            if serving in resting and isinstance(serving.child.answer(self.least_seconds, CHECK), Outcome):
                del self._alive[key]

    def close(self) -> None:
        for serving in self._alive.values():
            serving.child.kill()
        while self._alive:
            self._alive.popitem()[1].child.stop()
