"""What test processes do: each stands for a candidate's process in a Pool, and answers its messages in its own way."""

import ctypes
import os
import sys
import time


def _serve(pipe, check, timed):
    """`check` and `timed` answer, or do something else."""
    while True:
        try:
            what, *request = pipe.recv()
        except EOFError:
            return
        if what == "rest":
            pipe.send(("done",))
        else:
            pipe.send((check if what == "check" else timed)(*request))


def _checked(request):
    return "done", 1e-7


def _timed(request):
    return "done", [1.0, 1.1, 1.2], 2


def good(first, pipe):
    _serve(pipe, _checked, _timed)


def crash(first, pipe):
    _serve(pipe, _checked, lambda _: ctypes.string_at(0))


def crash_in_check(first, pipe):
    _serve(pipe, lambda _: ctypes.string_at(0), _timed)


def leave(first, pipe):
    file = os.open(first.output, os.O_WRONLY | os.O_CREAT)
    os.write(file, b"terminate called after throwing\nsomething\n")
    os._exit(3)


def raises(first, pipe):
    raise KeyError("a fault of the tuner itself")


def hang(first, pipe):
    _serve(pipe, _checked, lambda _: time.sleep(1000))


def hang_in_check(first, pipe):
    while True:
        pass


def wrong(first, pipe):
    _serve(pipe, lambda _: ("ended", "wrong", "3 of 9 exact sums of integers differ."), _timed)


def half(first, pipe):
    """Dies within a message."""
    sys.stdout.flush()
    os.write(pipe.fileno(), b"\0\0\1\0garbage")
    os._exit(0)


BY_NAME = {"good": good, "crash": crash, "hang": hang, "hang_in_check": hang_in_check, "wrong": wrong}


def by_name(first, pipe):
    """The one that the request's variant names; its times are the process's number."""
    if first.variant in BY_NAME:
        return BY_NAME[first.variant](first, pipe)
    return _serve(pipe, _checked, lambda request: ("done", [float(os.getpid())] * 3, 0))


def turns(first, pipe):
    """Writes down when it checked and when it was timed, each of them for a while."""
    def during(what):
        start = time.monotonic()
        time.sleep(0.05)
        with open(first.output, "a") as file:
            file.write(f"{what} {start} {time.monotonic()}\n")

    _serve(pipe, lambda request: (during("check"), _checked(request))[1],
           lambda request: (during("time"), _timed(request))[1])
