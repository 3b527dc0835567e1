"""The CUDA path of the binding and of the demo, on the emulated driver of tests/emulator."""

import os
import subprocess
import sys

import pytest
from conftest import ROOT

EMULATOR = os.environ.get("HCONV_EMULATED_CUDA")
pytestmark = pytest.mark.skipif(not EMULATOR, reason="this build has no emulated driver")

PROGRAM = """
import hconv, numpy, reference
assert hconv.device_count() >= 1, "no emulated device"
generator = numpy.random.default_rng(3)
x, w, bias = (reference.integers(generator, s) for s in ((2, 5, 8, 20), (6, 5, 3, 2), (6,)))
expected = reference.conv2d(x, w, bias, (1, 1, 1, 1))
y = hconv.conv2d(x, w, bias, 1, device="cuda")
assert numpy.array_equal(y, expected), "float32"
small = numpy.sign(w)
b = hconv.conv2d(hconv.to_bfloat16(x), hconv.to_bfloat16(small), hconv.to_bfloat16(bias), 1, device="cuda")
assert numpy.array_equal(hconv.from_bfloat16(b), reference.conv2d(x, small, bias, (1, 1, 1, 1))), "bfloat16"
dx, dw = hconv.to_device(x), hconv.to_device(w)
plan = hconv.Plan.for_arrays(dx, dw)
assert plan.variant.endswith("_cuda"), plan.variant
assert numpy.array_equal(plan.run(dx, plan.pack(dw)).numpy(), reference.conv2d(x, w)), "plan"
try:
    hconv.conv2d(x, hconv.to_device(w))
except hconv.InvalidArgument as told:
    assert "device" in str(told), told
else:
    raise AssertionError("x on the host and w on the device were accepted")
"""


def run(arguments, tmp_path):
    path = os.pathsep.join((str(ROOT / "python"), str(ROOT / "tests" / "python")))
    environment = {**os.environ, "HCONV_CUDA_DRIVER": EMULATOR, "PYTHONPATH": path}
    return subprocess.run([sys.executable, *arguments], env=environment, cwd=tmp_path, capture_output=True, text=True,
                          timeout=500)


def test_binding(tmp_path):
    done = run(["-c", PROGRAM], tmp_path)
    assert done.returncode == 0, done.stderr


def test_demo(tmp_path):
    done = run([str(ROOT / "python" / "demo.py"), "--device", "cuda", "--height", "24", "--output", "sheet.png"], tmp_path)
    assert done.returncode == 0, done.stderr
    assert "(cuda" in done.stdout and (tmp_path / "sheet.png").stat().st_size > 10_000
