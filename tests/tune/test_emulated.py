"""The whole command for --target cuda on the emulated driver: both layouts, killed and resumed, and the loss. Its times are
the processor's and mean nothing."""

import os
import signal
import subprocess
import sys
import time

import pytest
from conftest import ROOT
from hconv_tune import table
from hconv_tune.log import read

EMULATOR = os.environ.get("HCONV_EMULATED_CUDA")
pytestmark = pytest.mark.skipif(not EMULATOR, reason="this build has no emulated driver")
SHAPE = "1,8,5,9,1,1"


def command(work, *more):
    return [sys.executable, str(ROOT / "tools" / "autotune.py"), "--shapes", SHAPE, "--types", "bf16", "--trials", "0",
            "--prune", "1.2", "--measure", "0.005", "--jobs", "2", "--work", str(work), "--only-built", *more]


def run(work, *more):
    environment = {**os.environ, "HCONV_CUDA_DRIVER": EMULATOR}
    return subprocess.run(command(work, *more), capture_output=True, text=True, timeout=300, env=environment)


@pytest.fixture(scope="module")
def work(build_dir, tmp_path_factory):
    place = tmp_path_factory.mktemp("emulated")
    done = subprocess.run([*command(place)[:-1], "--build-only", "--build", str(build_dir)], capture_output=True, text=True,
                          timeout=100)
    assert done.returncode == 0, done.stderr
    assert sorted(path.name for path in (place / "candidates").iterdir()) == ["build.json", "libhconv.so"]
    return place


def measurements(log):
    return [r for r in read(log) if r["kind"] == "measurement"]


def test_a_run_over_both_layouts_is_killed_and_goes_on(work):
    """What a killed run measured is not measured again."""
    log = work / "log.jsonl"
    process = subprocess.Popen(command(work, "--layouts", "nchw,nhwc"), stdout=subprocess.DEVNULL,
                               env={**os.environ, "HCONV_CUDA_DRIVER": EMULATOR})
    end = time.monotonic() + 60
    while (not log.exists() or log.read_bytes().count(b"\n") < 3) and process.poll() is None and time.monotonic() < end:
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    kept = [r["id"] for r in measurements(log)]
    assert kept
    done = run(work, "--layouts", "nchw,nhwc")
    assert done.returncode == 0, done.stdout + done.stderr
    all_of = measurements(log)
    ids = [r["id"] for r in all_of]
    assert ids[:len(kept)] == kept and len(set(ids)) == len(ids) > len(kept)
    assert {r["layout"] for r in all_of} == {"nchw", "nhwc"} and {r["status"] for r in all_of} <= {"ok", "rejected"}
    assert all(0 < r["error_l2"] < 1e-2 for r in all_of if r["status"] == "ok")
    # On nhwc kernels of its own compete with those of nchw behind a conversion, unless the model leaves those out.
    assert any("_nhwc_" in r["variant"] for r in all_of if r["layout"] == "nhwc")
    entries = table.read(work / "sm_90a.txt")
    assert [(e.device, e.layout) for e in entries] == [("sm_90a", "nchw"), ("sm_90a", "nhwc")]
    before, tabled = log.read_bytes(), (work / "sm_90a.txt").read_bytes()
    assert run(work, "--layouts", "nchw,nhwc", "--budget", "60s").returncode == 0
    assert measurements(log) == all_of and log.read_bytes().startswith(before)
    assert (work / "sm_90a.txt").read_bytes() == tabled or b'"replaced"' in before.splitlines()[-1]


def test_the_loss_of_a_choice_that_a_table_makes(work):
    """A table that names one of the slower variants is asked, and its choice is among what is timed."""
    tuned = [r["variant"] for r in measurements(work / "log.jsonl") if r["layout"] == "nchw"]
    other = next(variant for variant in tuned if variant != tuned[0])  # the library's own choice comes first
    (work / "mine.txt").write_text(f"sm_90a bf16 fp32 nchw {SHAPE},8,0,0,0,0 -> {other} ms=1 date=2026-12-02 runs=6\n")
    asked = run(work, "--loss", str(work / "loss.tsv"), "--log", str(work / "loss.jsonl"), "--table", str(work / "mine.txt"))
    assert asked.returncode == 0, asked.stdout + asked.stderr
    header, row = [line.split("\t") for line in (work / "loss.tsv").read_text().splitlines()]
    lost = dict(zip(header, row))
    assert lost["choice"] == other and float(lost["ratio"]) >= 1 and int(lost["measured"]) >= 2
    assert float(lost["ratio"]) == pytest.approx(float(lost["choice_ms"]) / float(lost["best_ms"]), rel=1e-3)
    assert "1 of 1 problems" in asked.stdout and str(work / "mine.txt") in asked.stdout


def test_a_budget_that_ends_leaves_log_and_table(work):
    done = run(work, "--layouts", "nchw,nhwc", "--budget", "0.001s", "--log", str(work / "cut.jsonl"),
               "--table", str(work / "cut.txt"))
    assert done.returncode == 1 and "0 of 2 problems are decided" in done.stdout, done.stdout + done.stderr
    assert measurements(work / "cut.jsonl") == [] and not (work / "cut.txt").exists()
