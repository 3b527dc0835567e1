"""Reads the tab-separated lines of bench/compare.py."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path

HEADER = ("shape", "type", "mode", "ms", "relative_l2_error", "who")


class TsvError(Exception):
    """A line is not compare.py's: FILE:LINE and a sentence."""


@dataclasses.dataclass(frozen=True)
class Row:
    """One contestant on one shape; ms is None where it failed. `who` is "hconv VARIANT", "ceiling" or a peer."""

    shape: str
    type: str
    mode: str
    ms: float | None
    error: float
    who: str

    @property
    def is_hconv(self) -> bool:
        """hconv's own choice in a plan: not one call, and no variant that was pinned."""
        return self.who.split(" ")[0] == "hconv" and not self.who.startswith(("hconv call", "hconv variant"))


@dataclasses.dataclass(frozen=True)
class Comparison:
    """One run of compare.py."""

    rows: tuple

    def types(self) -> list:
        return list(dict.fromkeys(row.type for row in self.rows if row.is_hconv))

    def own(self, type_: str) -> dict:
        """{shape: hconv's first row that has a time}: the mode that the others are divided by."""
        found = {}
        for row in self.rows:
            if row.is_hconv and row.type == type_ and row.ms:
                found.setdefault(row.shape, row)
        return found

    def peers(self, type_: str) -> dict:
        """{name: {shape: ms}} of everybody else, hconv's other modes and its one call included."""
        first = next((row.mode for row in self.own(type_).values()), None)
        found = {}
        for row in self.rows:
            if row.type != type_ or not row.ms or row.who.startswith(("ceiling", "hconv variant")):
                continue
            if row.is_hconv and row.mode == first:
                continue
            name = "hconv call" if row.who.startswith("hconv call") else "hconv" if row.is_hconv else row.who
            found.setdefault(name if row.mode == first else f"{name} {row.mode}", {}).setdefault(row.shape, row.ms)
        return found

    def copy_rate(self) -> float | None:
        """Bytes a second of the device's memory, read and written."""
        for row in self.rows:
            if row.who == "ceiling" and row.shape.startswith("copy 2^30") and row.ms:
                return 2 * 2.0 ** 30 / row.ms * 1e3
        return None

    def product_rates(self) -> dict:
        """{(type, mode): operations a second} of large matrix products."""
        found = {}
        for row in self.rows:
            words = row.shape.split(" ")
            if row.who == "ceiling" and words[0] == "product" and words[-1].isdigit() and row.ms:
                found[row.type, row.mode] = 2.0 * int(words[-1]) ** 3 / row.ms * 1e3
        return found


def _row(line: str) -> Row:
    fields = line.split("\t")
    if len(fields) != len(HEADER):
        raise ValueError(f"The line has {len(fields)} columns, expected {', '.join(HEADER)}.")
    shape, type_, mode, ms, error, who = fields
    try:
        time, relative = None if ms == "FAILED" else float(ms), float(error)
    except ValueError:
        raise ValueError(f"ms is {ms!r} and the error {error!r}, expected numbers, or FAILED for ms.") from None
    if time is not None and not (math.isfinite(time) and time > 0):
        raise ValueError(f"ms is {ms!r}, expected more than 0.")
    return Row(shape, type_, mode, time, relative, who)


def read_comparison(path) -> Comparison:
    """Raises TsvError and OSError."""
    rows = []
    for number, line in enumerate(Path(path).read_text(encoding="utf-8", errors="replace").split("\n"), 1):
        if not line or line.split("\t") == list(HEADER):
            continue
        try:
            rows.append(_row(line))
        except ValueError as reason:
            raise TsvError(f"{path}:{number}: {reason}") from None
    return Comparison(tuple(rows))
