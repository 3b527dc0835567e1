"""What test processes do: each is told to a Runner in place of a measurement."""

import ctypes
import os
import sys
import time


def good(request, tell):
    tell(("checked", 1e-7))
    tell(("done", [1.0, 1.1, 1.2], 2))


def crash(request, tell):
    tell(("checked", 1e-7))
    ctypes.string_at(0)


def crash_in_check(request, tell):
    ctypes.string_at(0)


def leave(request, tell):
    file = os.open(request.output, os.O_WRONLY | os.O_CREAT)
    os.write(file, b"terminate called after throwing\nsomething\n")
    os._exit(3)


def raises(request, tell):
    raise KeyError("a fault of the tuner itself")


def hang(request, tell):
    tell(("checked", 1e-7))
    time.sleep(1000)


def hang_in_check(request, tell):
    while True:
        pass


def wrong(request, tell):
    tell(("ended", "wrong", "3 of 9 exact sums of integers differ."))


def half(request, tell):
    """Dies within a message."""
    sys.stdout.flush()
    os.write(tell.__self__.fileno(), b"\0\0\1\0garbage")
    os._exit(0)
