"""The log: one JSON object a line, only ever appended to. docs/tuning.md lists the fields.

Several processes may append to one file: a line is one write under a lock. A process that is killed can leave a part of a
line at the end; opening the log cuts it off. Anything else that is not an object of a known kind is an error.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os

VERSION = 1
# What tells two measurements apart. All else is what was found.
IDENTITY = ("shape", "pad", "type", "mode", "layout", "target", "algorithm", "parameters", "variant", "device", "build",
            "round")
STATUSES = ("ok", "wrong", "crash", "timeout", "build_failed", "rejected")
VERDICTS = ("replaced", "kept", "tie")
_REQUIRED = {"measurement": ("version", "id", "status", "samples_ms", *IDENTITY),
             "decision": ("shape", "winner", "incumbent", "verdict", "why")}


class LogError(Exception):
    """A line of a log cannot be used: FILE:LINE and a sentence."""


def identity(fields: dict) -> str:
    """sha256 of the identifying fields. Clocks and driver state that change by themselves must not be among them."""
    told = {key: fields[key] for key in IDENTITY}
    return hashlib.sha256(json.dumps(told, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def _record(line: bytes) -> dict:
    """Raises ValueError with a sentence."""
    try:
        record = json.loads(line)
    except ValueError:
        raise ValueError("The line is not JSON; expected one object a line.") from None
    if not isinstance(record, dict) or record.get("kind") not in _REQUIRED:
        raise ValueError("The line is no measurement and no decision; expected an object with such a \"kind\".")
    missing = [key for key in _REQUIRED[record["kind"]] if key not in record]
    if missing:
        raise ValueError(f"The {record['kind']} lacks {', '.join(missing)}; expected all of its fields.")
    if record["kind"] == "measurement":
        if record["version"] != VERSION:
            raise ValueError(f"The version is {record['version']!r}; expected {VERSION}.")
        if record["status"] not in STATUSES:
            raise ValueError(f"The status is {record['status']!r}; expected one of {', '.join(STATUSES)}.")
    elif record["verdict"] not in VERDICTS:
        raise ValueError(f"The verdict is {record['verdict']!r}; expected one of {', '.join(VERDICTS)}.")
    return record


def parse(data: bytes, file_name: str) -> tuple[list[dict], int]:
    """(records, bytes of whole lines). What follows them is a write that was cut off: a last line without its end, or
    with it but not JSON. Raises LogError for any other line that cannot be used."""
    records, used = [], 0
    lines = data.split(b"\n")
    for number, line in enumerate(lines[:-1], 1):
        try:
            records.append(_record(line))
        except ValueError as reason:
            if number == len(lines) - 1 and not lines[-1] and "not JSON" in str(reason):
                break
            raise LogError(f"{file_name}:{number}: {reason}") from None
        used += len(line) + 1
    return records, used


def read(path) -> list[dict]:
    """The records of a log that nobody is writing; a cut-off end is left out. Raises LogError or OSError."""
    with open(path, "rb") as file:
        return parse(file.read(), str(path))[0]


class Log:
    """An open log with the records that it had. `notice` is called with a sentence when a cut-off line was dropped."""

    def __init__(self, path, notice=print):
        self.path = str(path)
        self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
        self.records = []
        with self._alone():
            data = self._everything()
            self.records, used = parse(data, self.path)
            if used < len(data):
                notice(f"{self.path}: dropped the last {len(data) - used} bytes, a line whose writing was cut off.")
                os.ftruncate(self._file, used)

    @contextlib.contextmanager
    def _alone(self):
        fcntl.flock(self._file, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.flock(self._file, fcntl.LOCK_UN)

    def _everything(self) -> bytes:
        with open(self.path, "rb") as file:
            return file.read()

    def append(self, record: dict) -> None:
        """Writes one record and waits until it is on the disk. Raises ValueError for one that could not be read back."""
        line = json.dumps(record, sort_keys=True, allow_nan=False).encode() + b"\n"
        _record(line)
        with self._alone():
            rest = memoryview(line)
            while rest:
                rest = rest[os.write(self._file, rest):]
            os.fsync(self._file)
        self.records.append(record)

    def close(self) -> None:
        os.close(self._file)

    def measurements(self) -> dict:
        """id -> the measurement; of several with one id the first."""
        found = {}
        for record in self.records:
            if record["kind"] == "measurement":
                found.setdefault(record["id"], record)
        return found
