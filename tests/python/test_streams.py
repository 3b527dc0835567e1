"""Memory of torch tensors that a stream may still use, with a torch that is pretended on the emulated driver."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT

EMULATOR = os.environ.get("HCONV_EMULATED_CUDA")
pytestmark = pytest.mark.skipif(not EMULATOR, reason="this build has no emulated driver")

# What hconv needs of torch; a tensor knows the stream whose pool its memory came from, and the streams recorded on it.
# torch's allocator gives memory to new owners as soon as the tensor is gone, unless another stream was recorded.
PRELUDE = """
import contextlib, ctypes, os, sys, types
import hconv, numpy, reference

driver = ctypes.CDLL(os.environ["HCONV_CUDA_DRIVER"])

class Stream:
    def __init__(self, handle):
        self.cuda_stream = handle
    def __eq__(self, other):
        return self.cuda_stream == other.cuda_stream
    def __hash__(self):
        return hash(self.cuda_stream)

def new_handle():
    handle = ctypes.c_void_p()
    assert driver.cuStreamCreate(ctypes.byref(handle), 0) == 0
    return handle.value

class Tensor:
    made = []
    def __init__(self, shape, dtype):
        self.memory = hconv.DeviceArray(shape, "bfloat16" if dtype == "uint8" else dtype)  # of bytes twice as many
        self.shape, self.dtype, self.device = tuple(shape), dtype, types.SimpleNamespace(type="cuda", index=0)
        self.pool, self.recorded = state.stream, set()
        self.made.append(self)
    def data_ptr(self):
        return self.memory.data.value
    def stride(self):
        return [int(numpy.prod(self.shape[i + 1:])) for i in range(len(self.shape))]
    def record_stream(self, stream):
        self.recorded.add(stream)

def external(handle, device):
    assert handle, "ExternalStream(0) makes a new stream"
    return Stream(handle)

@contextlib.contextmanager
def using(stream):
    before, state.stream = state.stream, stream
    yield
    state.stream = before

def bfloat16(array):
    made = Tensor(array.shape, "bfloat16")
    made.memory.copy_from(hconv.to_bfloat16(array))
    return made

state = types.SimpleNamespace(stream=Stream(0))
context = ctypes.c_void_p()
assert driver.cuInit(0) == driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
assert driver.cuCtxSetCurrent(context) == 0
torch = sys.modules["torch"] = types.SimpleNamespace(
    Tensor=Tensor, uint8="uint8", float32="float32", bfloat16="bfloat16",
    empty=lambda shape, dtype, device: Tensor((shape,) if isinstance(shape, int) else shape, dtype),
    cuda=types.SimpleNamespace(
        ExternalStream=external, stream=using, current_stream=lambda device: state.stream,
        default_stream=lambda device: Stream(0), device=lambda device: contextlib.nullcontext()))

generator = numpy.random.default_rng(3)
x, w, bias = (numpy.sign(reference.integers(generator, s)) for s in ((2, 32, 8, 20), (64, 32, 3, 3), (64,)))
expected = reference.conv2d(x, w, bias, (1, 1, 1, 1))
tx, tw, tb = (bfloat16(array) for array in (x, w, bias))
side = Stream(new_handle())

def check(y, queue, packing=None):
    packing = packing or queue
    driver.cuStreamSynchronize(ctypes.c_void_p(queue.cuda_stream))
    assert numpy.array_equal(hconv.from_bfloat16(y.memory.numpy()), hconv.from_bfloat16(hconv.to_bfloat16(expected)))
    for used, tensors in ((packing, [tw]), (queue, [made for made in Tensor.made if made is not tw])):
        for made in tensors:
            assert made.pool == used or used in made.recorded, f"{made.shape} may be reused before the stream's work"
"""

PLAN = """
plan = hconv.Plan.for_arrays(tx, tw, 1)
assert plan.workspace_bytes > 0, plan.variant
y = plan.run(tx, plan.pack(tw, stream={pack}), tb, stream={run})
made = Tensor.made[3:]
assert [t.pool.cuda_stream for t in made] == [{pack} or 0, {run} or 0, {run} or 0], "packed weights, y and workspace"
check(y, Stream({run} or 0), Stream({pack} or 0))
"""


def variant():
    """A variant of bfloat16 that packs its input, so that it has a workspace, and takes a 3x3 kernel."""
    rows = json.loads((Path(os.environ["HCONV_BUILD_DIR"]) / "variants" / "variants.json").read_text())
    wanted = {"algorithm": "mma", "type": "bf16", "kw": 3, "layout": 0}
    names = [row["name"] for row in rows if wanted.items() <= row.items()]
    return names[0] if names else pytest.skip("this build has no such variant")


def run(program, tmp_path):
    path = os.pathsep.join((str(ROOT / "python"), str(ROOT / "tests" / "python")))
    environment = {**os.environ, "HCONV_CUDA_DRIVER": EMULATOR, "PYTHONPATH": path, "HCONV_VARIANT": variant()}
    done = subprocess.run([sys.executable, "-c", PRELUDE + program], env=environment, cwd=tmp_path, capture_output=True,
                          text=True, timeout=500)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("pack, run_on", [("None", "None"), ("0", "side.cuda_stream"), ("side.cuda_stream", "0"),
                                          ("side.cuda_stream", "None"), ("side.cuda_stream", "another")])
def test_plan(pack, run_on, tmp_path):
    run(f"another = new_handle()\npack, queue = {pack}, {run_on}\n" + PLAN.format(pack="pack", run="queue"), tmp_path)


def test_the_current_stream_serves(tmp_path):
    run("with using(side):\n    y = hconv.conv2d(tx, tw, tb, 1)\ncheck(y, side)", tmp_path)


def test_one_call(tmp_path):
    run("y = hconv.conv2d(tx, tw, tb, 1, stream=side.cuda_stream)\nassert y.pool == side\ncheck(y, side)", tmp_path)


def test_a_prepared_run_keeps_to_its_stream(tmp_path):
    run("""
plan = hconv.Plan.for_arrays(tx, tw, 1)
run = plan.prepare(tx, plan.pack(tw), tb, stream=side.cuda_stream)
with using(Stream(new_handle())):
    y = run()
check(y, side, Stream(0))
""", tmp_path)
