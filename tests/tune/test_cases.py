"""The adversarial data, and that the check finds what can be wrong with a kernel."""

import os
import subprocess
import sys

import numpy
import pytest
from conftest import PLACES, ROOT
from hconv_measure.shapes import parse_shape
from hconv_tune import cases
from hconv_tune.candidate import shipped_candidates
from hconv_tune.problem import Problem

TYPES = ("f32", "bf16", "f16")


def problem(type="f32", shape="2,3,9,12,3,4,5,1:0:2:1"):
    return Problem(parse_shape(shape), type, "fp32", "cpu_baseline", 1)


def by_definition(x, w, bias, padding):
    top, _, left, _ = padding
    y = numpy.zeros((x.shape[0], w.shape[0], x.shape[2] + sum(padding[:2]) - w.shape[2] + 1,
                     x.shape[3] + sum(padding[2:]) - w.shape[3] + 1))
    for b, oc, oh, ow in numpy.ndindex(*y.shape):
        for ic, kh, kw in numpy.ndindex(*w.shape[1:]):
            h, v = oh + kh - top, ow + kw - left
            if 0 <= h < x.shape[2] and 0 <= v < x.shape[3]:
                y[b, oc, oh, ow] += float(x[b, ic, h, v]) * float(w[oc, ic, kh, kw])
        y[b, oc, oh, ow] += 0.0 if bias is None else float(bias[oc])
    return y


def result(case, type, y=None):
    """What a kernel in float32 would return."""
    exact = numpy.asarray(case.reference if y is None else y)
    return cases.typed(exact.astype(numpy.float32), type)


@pytest.mark.parametrize("name", cases.NAMES)
def test_the_reference_is_the_definition(name):
    case = cases.make_case(problem(shape="2,3,4,5,3,2,2,1:0:2:1"), name)
    if name.startswith("border_"):
        case = cases.Case(name, case.shape, case.x[:1, :, :, :6], case.w[:2], case.bias[:2], None, None)
    y = cases.convolve(case.x, case.w, case.bias, case.shape.padding)
    assert numpy.allclose(y, by_definition(case.x, case.w, case.bias, case.shape.padding), rtol=1e-13, atol=1e-9)


@pytest.mark.parametrize("type", TYPES)
@pytest.mark.parametrize("name", cases.NAMES)
def test_numbers_are_of_the_type_and_the_rounded_reference_passes(name, type):
    case = cases.make_case(problem(type), name)
    for values in (case.x, case.w):
        assert numpy.array_equal(cases.untyped(cases.typed(values, type), type), values)
    for algorithm in ("direct", "mma", "transform"):
        assert cases.check(case, result(case, type), type, "fp32", algorithm)[1] == ""


@pytest.mark.parametrize("type", TYPES)
@pytest.mark.parametrize("name", cases.NAMES)
@pytest.mark.parametrize("algorithm", ["direct", "mma", "transform"])
def test_faults_are_found(name, type, algorithm):
    case = cases.make_case(problem(type), name)
    padding = case.shape.padding

    def found(y):
        return cases.check(case, y, type, "fp32", algorithm)[1]

    unwritten = result(case, type)
    unwritten[-1, -1, -1, -1] = cases.typed(numpy.array([numpy.nan], numpy.float32), type)[0]
    assert "NaN" in found(unwritten)
    last_column = numpy.array(case.reference)
    last_column[..., -1] = last_column[..., -2]
    assert found(result(case, type, last_column))
    shifted = cases.convolve(numpy.roll(case.x, 1, axis=3), case.w, case.bias, padding)
    assert found(result(case, type, shifted))
    one_tap_less = numpy.array(case.w)
    one_tap_less[:, :, -1, -1] = 0
    assert found(result(case, type, cases.convolve(case.x, one_tap_less, case.bias, padding)))
    if case.bias is not None and name != "border_magnitudes":  # there it can be less than a rounding
        assert found(result(case, type, cases.convolve(case.x, case.w, None, padding)))


def test_a_sum_in_float16_is_found():
    case = cases.make_case(problem("f16", "1,64,9,9,3,3"), "normal")
    y = numpy.zeros(case.reference.shape, numpy.float16)
    for ic in range(64):
        part = cases.convolve(case.x[:, ic:ic + 1], case.w[:, ic:ic + 1], None, (0, 0, 0, 0))
        y = (y + part.astype(numpy.float16)).astype(numpy.float16)
    assert cases.check(case, y, "f16", "fp32", "direct")[1]


def test_cases_are_the_same_each_time_and_survive_the_disk(tmp_path):
    asked = problem("bf16")
    cases.store(asked, tmp_path)
    for name in cases.NAMES:
        made, loaded = cases.make_case(asked, name), cases.load(asked, tmp_path, name)
        for field in ("x", "w", "bias", "reference", "scale"):
            one, other = getattr(made, field), getattr(loaded, field)
            assert one is other is None or numpy.array_equal(one, other)
        assert made.shape == loaded.shape


EMULATOR = os.environ.get("HCONV_EMULATED_CUDA")
PROGRAM = """
import sys, time
from pathlib import Path
from hconv_measure.shapes import parse_shape
from hconv_tune import cases, worker
from hconv_tune.problem import Problem
algorithm, type, layout, variant, shape, folder = sys.argv[1:]
problem = Problem(parse_shape(shape), type, "fp32", "cuda", 0, layout)
cases.store(problem, Path(folder))
request = worker.Request("", variant, algorithm, problem, folder, "")
memory = worker.memory_of(problem)
held = worker.Held(request, memory)
assert 0 < held.error < 1e-2 and len(held.calls) == 3
class Clock:
    def samples(self, calls, count, during=None):
        [call() for call in calls]
        return [1.0] * count
samples, rejected = worker.time_on_gpu(request, held.calls, Clock(), state=dict)
assert samples == [1.0] * 27 and rejected == 0
held.check_again(request)
held.calls = [lambda: None]
try:
    held.check_again(request)
    raise SystemExit("an output that nobody wrote passed")
except worker.Unusable as reason:
    assert "are NaN" in str(reason)
output = memory.output((1, 1, 1, 8))
import ctypes
ctypes.memset(output.whole.data.value, 17, 4)
assert "elements outside" in output.read()[1]
"""


def smallest(algorithm, asked, split, layout):
    """The shipped variant of an algorithm for 4 x 4 kernels that has the least work in a block, of split ones or others,
    with kernels of that layout."""
    found = [c for c in shipped_candidates((ROOT / "schedules" / "variants.txt").read_text(), asked)
             if c.algorithm == algorithm and dict(c.parameters).get("kw", 4) in ((1,) if split or layout else (4,))
             and ("parts" in dict(c.parameters)) == split and dict(c.parameters).get("layout", 0) == layout]
    return min(found, key=lambda c: dict(c.parameters)["tile_oc"] * dict(c.parameters)["tile_ow"]).variant


@pytest.mark.skipif(not EMULATOR, reason="this build has no emulated driver")
@pytest.mark.parametrize("algorithm, type, layout, split", [
    ("direct", "f32", "nchw", False), ("mma", "bf16", "nchw", False), ("transform", "f16", "nchw", False),
    ("direct", "f32", "nchw", True), ("direct", "f32", "nhwc", True), ("mma", "f16", "nhwc", False)])
def test_kernels_of_the_gpu_pass_on_the_emulated_driver(algorithm, type, layout, split, tmp_path):
    shape = "1,32,10,10,4,4" if split else "1,4,10,10,4,4,8" if layout == "nhwc" else "1,4,10,10,4,4"
    asked = Problem(parse_shape(shape), type, "fp32", "cuda", 0, layout)
    variant = smallest(algorithm, asked, split, 1 if algorithm == "mma" and layout == "nhwc" else 0)
    environment = {**os.environ, "HCONV_CUDA_DRIVER": EMULATOR, "HCONV_VARIANT": variant,
                   "PYTHONPATH": os.pathsep.join(PLACES + list(filter(None, [os.environ.get("PYTHONPATH")])))}
    done = subprocess.run([sys.executable, "-c", PROGRAM, algorithm, type, layout, variant, shape, str(tmp_path)],
                          env=environment, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
