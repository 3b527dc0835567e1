"""Reads the tuner's logs: one JSON object a line. docs/report.md says which fields the report uses."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path

from hconv_measure.shapes import Shape
from hconv_tune import log

ELEMENT_BYTES = {"f32": 4, "bf16": 2, "f16": 2}


@dataclasses.dataclass(frozen=True)
class Problem:
    """What was convolved, and on what (`target`: "sm_90a", "cpu_avx2, 8 threads"). `extents` are
    B,C,H,W,KH,KW,OC; `pad` is top, bottom, left, right."""

    target: str
    type: str
    mode: str
    extents: tuple
    pad: tuple = (0, 0, 0, 0)
    layout: str = "nchw"

    @classmethod
    def of(cls, shape: Shape, target: str, type: str, mode: str) -> Problem:
        return cls(target, type, mode, (*dataclasses.astuple(shape)[:7],), shape.padding)

    @property
    def convolution(self) -> Shape:
        return Shape(*self.extents, self.pad)

    @property
    def shape(self) -> str:
        """As in shapes/*.txt: OC only where it is not C, the padding only where there is one."""
        return str(self.convolution)

    @property
    def label(self) -> str:
        return f"{self.shape} {self.type} {self.mode}" + (f" {self.layout}" if self.layout != "nchw" else "")

    @property
    def flops(self) -> float:
        """Operations of the direct algorithm."""
        return float(self.convolution.flops)

    @property
    def bytes(self) -> float:
        """Of x, w and y, each touched once."""
        batch, channels, height, width, kernel_height, kernel_width, oc = self.extents
        elements = batch * channels * height * width + oc * channels * kernel_height * kernel_width
        return float(ELEMENT_BYTES.get(self.type, 4)) * (elements + math.prod(self.convolution.output))


@dataclasses.dataclass(frozen=True)
class Measurement:
    """One candidate. Times in milliseconds, None where there is none."""

    problem: Problem
    variant: str
    algorithm: str
    parameters: dict
    status: str
    reason: str = ""
    median: float | None = None
    low: float | None = None
    high: float | None = None
    error: float | None = None
    registers: int | None = None
    shared_bytes: int | None = None
    rejected: int = 0
    samples: int = 0
    seconds: float = 0.0
    trial: int = 0
    round: int = 0  # 0: the search; from 1 on the finals, which measure the best ones again
    when: str = ""
    device: dict = dataclasses.field(default_factory=dict)
    build: dict = dataclasses.field(default_factory=dict)

    @property
    def timed(self) -> bool:
        return self.status == "ok" and self.median is not None


def summary(repeated: list) -> Measurement:
    """Measurements of one variant as one: the middle one (of an even number the slower), with an interval that holds
    all of theirs."""
    ordered = sorted(repeated, key=lambda m: m.median)
    lows = [m.median if m.low is None else min(m.low, m.median) for m in repeated]
    highs = [m.median if m.high is None else max(m.high, m.median) for m in repeated]
    return dataclasses.replace(ordered[len(ordered) // 2], low=min(lows), high=max(highs))


@dataclasses.dataclass(frozen=True)
class Decision:
    """What the tuner made of a problem: verdict is replaced, kept or tie. `what` is the problem as a text."""

    what: str
    winner: str
    incumbent: str
    verdict: str
    why: str
    when: str = ""


@dataclasses.dataclass
class Run:
    """All records of some logs in their order, and what was odd about the files."""

    measurements: list = dataclasses.field(default_factory=list)
    decisions: list = dataclasses.field(default_factory=list)
    notices: list = dataclasses.field(default_factory=list)

    def problems(self) -> dict:
        """{Problem: its measurements}, in the order of their first measurement."""
        found = {}
        for measurement in self.measurements:
            found.setdefault(measurement.problem, []).append(measurement)
        return found

    def best(self) -> dict:
        """{Problem: its fastest candidate}, as summary() has it. Where there were finals, of those that were in them:
        the least of many noisy times of a search is mostly luck. Problems without a time are left out."""
        found = {}
        for problem, all_of in self.problems().items():
            timed = [m for m in all_of if m.timed]
            timed = [m for m in timed if m.round > 0] or timed
            by_variant = {}
            for m in timed:
                by_variant.setdefault(m.variant, []).append(m)
            if timed:
                found[problem] = min(map(summary, by_variant.values()), key=lambda m: m.median)
        return found


def _number(record, key, least=None):
    value = record.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise ValueError(f"{key} is {value!r}, expected a number or null.")
    if least is not None and value < least:
        raise ValueError(f"{key} is {value!r}, expected at least {least}.")
    return value


def _time(record, key):
    value = _number(record, key)
    if value is not None and value <= 0:
        raise ValueError(f"{key} is {value!r}, expected more than 0 milliseconds.")
    return value


def _text(record, key, default=None) -> str:
    value = record.get(key, default)
    if not isinstance(value, str):
        raise ValueError(f"{key} is {value!r}, expected a text.")
    return value


def _object(record, key) -> dict:
    value = record.get(key) or {}
    if not isinstance(value, dict):
        raise ValueError(f"{key} is {value!r}, expected an object.")
    return value


def _whole(value, least) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ValueError
    return value


def _device(record) -> str:
    """Times compare only on one kind of device: the target, on CUDA the architecture, on a CPU the threads."""
    target, device = _text(record, "target"), _object(record, "device")
    if target == "cuda":
        return str(device.get("arch") or target)
    return f"{target}, {device['threads']} threads" if device.get("threads") else target


def _problem(record) -> Problem:
    shape, pad = _text(record, "shape"), record.get("pad") or [0, 0, 0, 0]
    try:
        extents = tuple(_whole(int(word), 1) for word in shape.split(","))
        padding = tuple(_whole(side, 0) for side in pad)
    except (TypeError, ValueError):
        extents, padding = (), ()
    if len(extents) != 7 or len(padding) != 4:
        raise ValueError(f"shape is {shape!r} and pad {pad!r}, expected 'B,C,H,W,KH,KW,OC' and four paddings.")
    problem = Problem(_device(record), _text(record, "type"), _text(record, "mode"), extents, padding,
                      _text(record, "layout", "nchw"))
    if min(problem.convolution.output) < 1:
        raise ValueError(f"shape is {shape!r}, expected one with an output: the kernel is larger than the "
                         "padded image.")
    return problem


def _measurement(record) -> Measurement:
    samples = record.get("samples_ms") or []
    return Measurement(
        problem=_problem(record), variant=_text(record, "variant"), algorithm=_text(record, "algorithm", ""),
        parameters=_object(record, "parameters"), status=_text(record, "status"), reason=_text(record, "reason", ""),
        median=_time(record, "median_ms"), low=_time(record, "low_ms"), high=_time(record, "high_ms"),
        error=_number(record, "error_l2"), registers=_number(record, "registers", 0),
        shared_bytes=_number(record, "shared_bytes", 0), rejected=_number(record, "rejected_samples", 0) or 0,
        samples=len(samples) if isinstance(samples, list) else 0, seconds=_number(record, "seconds", 0) or 0.0,
        trial=_number(record, "trial") or 0, round=_number(record, "round", 0) or 0, when=_text(record, "when", ""),
        device=_object(record, "device"), build=_object(record, "build"))


def _decision(record) -> Decision:
    # An older or shorter line names only the shape.
    what = _problem({**record, "target": ""}).label if "type" in record and "mode" in record else _text(record, "shape")
    return Decision(what, _text(record, "winner", ""), _text(record, "incumbent", "") or "",
                    _text(record, "verdict"), _text(record, "why", ""), _text(record, "when", ""))


def _add(record, run: Run) -> None:
    if record["kind"] == "measurement":
        run.measurements.append(_measurement(record))
    else:
        run.decisions.append(_decision(record))


def read_logs(paths) -> Run:
    """All records of the files. Raises LogError for a line that cannot be used, and OSError; a last line whose writing
    was cut off is left out, with a notice."""
    run = Run()
    for path in paths:
        data = Path(path).read_bytes()
        records, used = log.parse(data, str(path))
        if used < len(data):
            run.notices.append(f"{path}: the last line was cut off while it was written, and is left out.")
        for number, record in enumerate(records, 1):
            try:
                _add(record, run)
            except ValueError as reason:
                raise log.LogError(f"{path}:{number}: {reason}") from None
    return run
