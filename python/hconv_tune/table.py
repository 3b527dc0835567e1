"""Tuned tables: text, one line an entry, in the order of the lines' bytes.

    DEVICE TYPE MODE LAYOUT B,C,H,W,KH,KW,OC,PT,PB,PL,PR -> VARIANT ms=1.234 date=2026-12-02 runs=12 [threads=N]

`#` starts a comment line. threads is there exactly for CPU devices. Single spaces, keys in this order, nothing else on a
line, one device in a file. The library reads the same format (runtime/tuned_table).
"""

from __future__ import annotations

import dataclasses
import datetime
import math
import re
from pathlib import Path

from .problem import LAYOUTS, MODES, TYPES

DEVICE = re.compile(r"sm_[1-9][0-9]{1,2}a?|cpu_avx512|cpu_avx2|cpu_baseline")
VARIANT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(\+([A-Za-z_][A-Za-z0-9_]*|[1-9][0-9]{0,9}))?")
NUMBER = re.compile(r"0|[1-9][0-9]{0,9}")
MS = re.compile(r"(0|[1-9][0-9]*)(\.[0-9]+)?")
DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
LARGEST = 2 ** 31 - 1
CODING = ("utf-8", "surrogateescape")  # any bytes can be read, and named in a message
EXTENTS = ("B", "C", "H", "W", "KH", "KW", "OC", "PT", "PB", "PL", "PR")


class TableError(Exception):
    """A line is not an entry: FILE:LINE and a sentence."""


def key_of(device: str, type: str, mode: str, layout: str, extents: tuple) -> tuple:
    """What two entries of a table must not share."""
    return device, type, mode, layout, extents


@dataclasses.dataclass(frozen=True)
class Entry:
    """One line. `extents` are B,C,H,W,KH,KW,OC and the padding; `ms` is the text of the line; threads 0: not a CPU."""

    device: str
    type: str
    mode: str
    extents: tuple
    variant: str
    ms: str
    date: str
    runs: int
    threads: int = 0
    layout: str = "nchw"

    @property
    def key(self) -> tuple:
        return key_of(self.device, self.type, self.mode, self.layout, self.extents)

    def __str__(self) -> str:
        threads = f" threads={self.threads}" if self.threads else ""
        return (f"{self.device} {self.type} {self.mode} {self.layout} {','.join(map(str, self.extents))} -> "
                f"{self.variant} ms={self.ms} date={self.date} runs={self.runs}{threads}")


def milliseconds(value: float) -> str:
    """A time as a table's line has it: at most 6 significant digits, no exponent."""
    if not 0 < value < 999999.5:
        raise ValueError(f"The time is {value} ms; expected a number above 0 and below 999999.5.")
    digits = max(0, 5 - math.floor(math.log10(value)))
    text = f"{value:.{digits}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def quoted(word: str) -> str:
    """A word of the file inside quotes, printable and not too long."""
    shown = "".join(c if " " <= c < "\x7f" else "".join(f"\\x{byte:02x}" for byte in c.encode("utf-8", "surrogateescape"))
                    for c in word[:80])
    return f"'{shown}{'...' if len(word) > 80 else ''}'"


def _number(what: str, text: str, least: int, upper: str = "") -> int:
    if not NUMBER.fullmatch(text) or not least <= int(text) <= LARGEST:
        raise TableError(f"{what} is {quoted(text)}; expected a whole number {upper or f'of at least {least}'}.")
    return int(text)


def _one_of(what: str, found: str, allowed) -> str:
    if found not in allowed:
        names = " or ".join([", ".join(allowed[:-1]), allowed[-1]] if len(allowed) > 1 else allowed)
        raise TableError(f"The {what} is {quoted(found)}; expected {names}.")
    return found


def _extents(text: str) -> tuple:
    fields = text.split(",")
    if len(fields) != len(EXTENTS):
        raise TableError(f"The problem {quoted(text)} has {len(fields)} numbers; expected the {len(EXTENTS)} of "
                         f"{','.join(EXTENTS)}.")
    numbers = []
    for name, field in zip(EXTENTS, fields):
        least = 0 if name.startswith("P") else 1
        numbers.append(_number(name, field, least, f"from {least} to {LARGEST}"))
    _, _, height, width, kernel_height, kernel_width, _, top, bottom, left, right = numbers
    if kernel_height > height + top + bottom or kernel_width > width + left + right:
        raise TableError(f"The problem {quoted(text)} has no output: the kernel is larger than the padded image.")
    return tuple(numbers)


def _value(word: str, key: str) -> str:
    if not word.startswith(f"{key}="):
        raise TableError(f"Found {quoted(word)}; expected {key}= here.")
    return word[len(key) + 1:]


def _ms(text: str) -> str:
    digits = text.replace(".", "").lstrip("0")
    if not MS.fullmatch(text) or len(text) > 24 or not 1 <= len(digits) <= 6:
        raise TableError(f"ms is {quoted(text)}; expected a decimal number above 0 of at most 6 significant digits.")
    return text


def _date(text: str) -> str:
    try:
        if DATE.fullmatch(text) and datetime.date.fromisoformat(text):
            return text
    except ValueError:  # the 30th of February
        pass
    raise TableError(f"date is {quoted(text)}; expected a day as YYYY-MM-DD.")


def parse_line(line: str) -> Entry:
    """Raises TableError with the sentence."""
    words = line.split(" ")
    if "" in words:
        raise TableError("Two spaces stand side by side, or one at an end of the line; expected single spaces between the "
                         "fields.")
    if len(words) not in (10, 11):
        raise TableError(f"The line has {len(words)} fields; expected DEVICE TYPE MODE LAYOUT {','.join(EXTENTS)} -> "
                         "VARIANT ms= date= runs=, and threads= for a CPU.")
    device, type, mode, layout, extents, arrow, variant = words[:7]
    if arrow != "->":
        raise TableError(f"Found {quoted(arrow)} after the problem; expected ->.")
    if not DEVICE.fullmatch(device):
        raise TableError(f"The device is {quoted(device)}; expected sm_ and a compute capability (sm_90a, sm_80), "
                         "cpu_avx512, cpu_avx2 or cpu_baseline.")
    _one_of("type", type, TYPES)
    _one_of("mode", mode, MODES)
    _one_of("layout", layout, LAYOUTS)
    numbers = _extents(extents)
    if not VARIANT.fullmatch(variant):
        raise TableError(f"The variant is {quoted(variant)}; expected a name that `hconv list` shows, of a transform "
                         "variant with a '+' and its product kernel's, of a split variant with a '+' and its number of "
                         "parts.")
    values = [_value(word, key) for word, key in zip(words[7:], ("ms", "date", "runs", "threads"))]
    ms, date, runs = _ms(values[0]), _date(values[1]), _number("runs", values[2], 1)
    on_cpu = device.startswith("cpu")
    if on_cpu and len(words) == 10:
        raise TableError("threads= is missing; expected it after runs= of an entry for a CPU.")
    if not on_cpu and len(words) == 11:
        raise TableError(f"Found {quoted(words[10])}; expected nothing after runs= of an entry for a GPU.")
    return Entry(device, type, mode, numbers, variant, ms, date, runs,
                 _number("threads", values[3], 1) if on_cpu else 0, layout)


def parse(text: str, file_name: str) -> list[Entry]:
    """All entries in the order of their lines. Raises TableError, `FILE:LINE: sentence`, for the first fault."""
    entries, lines, before = [], {}, None
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip(" \t") or line.startswith("#"):
            continue
        try:
            entry = parse_line(line)
            if entries and entry.device != entries[0].device:
                raise TableError(f"The device is {quoted(entry.device)}, and in line {before[0]} it is "
                                 f"{quoted(entries[0].device)}; expected one device in a file.")
            if entry.key in lines:
                raise TableError(f"The problem {quoted(line.split(' -> ')[0])} was already given in line "
                                 f"{lines[entry.key]}; expected each problem once.")
            if before and line.encode(*CODING) < before[1].encode(*CODING):
                raise TableError(f"The line comes before line {before[0]} in the order of bytes; expected sorted lines.")
        except TableError as reason:
            raise TableError(f"{file_name}:{number}: {reason}") from None
        lines[entry.key], before = number, (number, line)
        entries.append(entry)
    return entries


def read(path) -> list[Entry]:
    """The entries of a file; none where there is no file. Raises TableError."""
    path = Path(path)
    return parse(path.read_bytes().decode(*CODING), str(path)) if path.exists() else []


def render(entries, comment: str = "") -> str:
    """The file's text: sorted, so that the same entries give the same bytes."""
    head = [f"# {line}" for line in comment.splitlines()]
    return "".join(f"{line}\n" for line in head + sorted(map(str, entries), key=str.encode))
