"""hconv as a contestant: packed weights, the one-call form, and every variant pinned in turn."""

from __future__ import annotations

import contextlib
import os

import hconv
from hconv._native import library
from hconv_measure.bounds import bound, transform_bound
from hconv_measure.data import GuardedOutput

from .records import Record
from .variants import variant_names


def measure(case, mode, clock, who="hconv", one_call=False) -> Record:
    """Checks hconv on a case, into a guarded NaN-filled output, and times it if it is right."""
    shape = case.shape
    common = dict(shape=str(shape), kind=case.kind, mode=mode, who=who, flops=shape.flops)
    try:
        x, w = case.inputs
        plan = hconv.Plan.for_arrays(x, w, shape.padding, mode)
        output = GuardedOutput(shape.output, case.kind, case.device, case.layout)
        if one_call:
            def call():
                return hconv.conv2d(x, w, padding=shape.padding, math=mode, out=output.y)
        else:
            call = plan.prepare(x, plan.pack(w), out=output.y)
        y = call()
        clock.synchronize()
        limit = (transform_bound(shape.in_channels, case.kind) if "_transform_" in plan.variant
                 else bound(shape.reduction, case.kind, mode))
        error, wrong = case.check(y, limit)
        wrong = wrong or output.damage()
    except hconv.Error as reason:
        return Record(ms=None, error=float("nan"), note=f"{type(reason).__name__}: {reason}", **common)
    ms = None if wrong else clock.milliseconds(call)
    return Record(ms=ms, error=error, note=wrong, variant=plan.variant, **common)


@contextlib.contextmanager
def pinned(variant: str):
    """Only `variant` serves plans made within. The library reads its environment once, so a hook makes it look again."""
    before = os.environ.get("HCONV_VARIANT")

    def pin(value):
        if value is None:
            os.environ.pop("HCONV_VARIANT", None)
        else:
            os.environ["HCONV_VARIANT"] = value
        library().hconv_reload_environment()

    pin(variant)
    try:
        yield
    finally:
        pin(before)


def measure_variants(case, mode, clock) -> list:
    """Every variant that takes the case; those that decline it are left out."""
    records = []
    for name in variant_names(hconv.list_variants(), case.kind, case.device):
        with pinned(name):
            try:
                hconv.Plan.for_arrays(*case.inputs, case.shape.padding, mode)
            except (hconv.Unsupported, hconv.InvalidArgument, hconv.NoDevice):
                continue
            record = measure(case, mode, clock, "hconv variant")
        records.append(record if record.variant else Record(**{**vars(record), "variant": name}))
    return records
