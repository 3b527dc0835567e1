"""Real candidates: built by the real build, right ones and ones with faults, and a whole tuning of a small space."""

import json
import random
import signal
import subprocess
import sys
import time

import pytest
from conftest import ROOT
from hconv_measure.shapes import parse_shape
from hconv_tune import cases, cli, table, worker
from hconv_tune.builder import Builder, BuildFolder, BuildFolderError
from hconv_tune.candidate import Candidate, shipped_candidates
from hconv_tune.log import read
from hconv_tune.pool import Pool
from hconv_tune.problem import Problem
from hconv_tune.runner import Runner

import manifest

SHAPE = "1,4,10,14,3,3"
MANIFEST = (ROOT / "schedules" / "variants.txt").read_text()
PROBLEM = Problem(parse_shape(SHAPE), "f32", "fp32", "cpu_baseline", 1)


def candidate(tile_ow, tile_oc=4):
    return Candidate.of("direct", "f32", "cpu_baseline", dict(tile_oc=tile_oc, tile_ow=tile_ow, thread_oc=tile_oc,
                                                             thread_ow=tile_ow, ic=1, kw=0))


@pytest.fixture(scope="session")
def folder(build_dir):
    return BuildFolder(build_dir)


@pytest.fixture(scope="session")
def work(tmp_path_factory):
    return tmp_path_factory.mktemp("tune")


@pytest.fixture(scope="session")
def faulty(folder, work):
    """One library with four faulty functions; all around them is the real build."""
    place = work / "faulty"
    place.mkdir()
    bad = [candidate(kind) for kind in FAULTS]
    rows = "\n".join(bad[0].helpers() + [row for one in bad for row in one.rows()])
    (place / "variants.txt").write_text(rows)
    assert manifest.main([str(place / "variants.txt"), str(place)]) == 0
    (place / "variant_resources.inc").write_text("")
    objects = folder.generate(manifest.parse_line(bad[0].helpers()[0])[0], place)
    halide = folder.table["command"].split("-isystem ")[1].split()[0]
    for one in bad:
        objects.append(place / f"{one.variant}.o")
        subprocess.run([folder.compiler, "-O1", "-fPIC", f"-I{halide}", f"-DNAME={one.variant}",
                        f"-DKIND={dict(one.parameters)['tile_ow']}", "-c", ROOT / "tests" / "tune" / "bad_candidate.cpp",
                        "-o", objects[-1]], check=True)
    cases.store(PROBLEM, work / "cases")
    return folder.link(place, objects)


FAULTS = {1: ("wrong", "are NaN"), 2: ("wrong", "1 elements outside the output were overwritten."),
          3: ("crash", "died of SIGSEGV while loading or checking"),
          4: ("timeout", "stopped after 2 s of loading and checking")}


def test_a_candidate_is_what_the_build_makes(folder, tmp_path):
    """The generator is called as cmake calls it: the object of a shipped row is the same, byte for byte."""
    shipped = shipped_candidates(MANIFEST, PROBLEM)[0]
    variant = shipped.variants()[0]
    own, folder.variants = folder.variants, tmp_path / "empty"
    try:
        objects = folder.generate(variant, tmp_path)
    finally:
        folder.variants = own
    assert [path.name for path in objects] == [f"{variant.name}.o"]
    assert objects[0].read_bytes() == (own / f"{variant.name}.o").read_bytes()


@pytest.mark.parametrize("kind", FAULTS)
def test_a_faulty_kernel_costs_itself_only(faulty, work, tmp_path, kind):
    status, sentence = FAULTS[kind]
    request = worker.Request(str(faulty), candidate(kind).variant, "direct", PROBLEM, str(work / "cases"),
                             str(tmp_path / "output"), budget=0.01)
    pool = Pool(Runner(start_seconds=2 if kind == 4 else 60))
    outcome = pool.measure(request, 1.0)
    pool.close()
    assert outcome.status == status and sentence in outcome.reason, outcome


def test_a_row_that_the_generator_refuses_is_a_failed_build(folder, work, monkeypatch):
    builder = Builder(folder, work / "refused")
    refused = Candidate.of("direct", "f32", "cpu_baseline", dict(tile_oc=8, tile_ow=2, thread_oc=4, thread_ow=2, ic=1, kw=0))
    built = builder.get(refused)
    assert built.library is None and "expected thread_oc, 4" in built.reason
    monkeypatch.setattr(folder, "generate", lambda *_: pytest.fail("it was built again"))
    assert builder.get(refused) == built  # remembered


def test_a_cache_serves_without_a_build_but_not_for_other_sources(folder, work):
    with pytest.raises(BuildFolderError, match="no candidates"):
        Builder(None, work / "nothing")
    Builder(folder, work / "cache")
    carried = Builder(None, work / "cache")
    assert "not among the candidates" in carried.get(candidate(2)).reason
    note = work / "cache" / "build.json"
    note.write_text(json.dumps({**json.loads(note.read_text()), "source": "0" * 64}))
    with pytest.raises(BuildFolderError, match="other sources"):
        Builder(None, work / "cache")


# --- The command, on a space of three candidates ----------------------------------------------------------------------

def command(build_dir, work, *more):
    return [sys.executable, str(ROOT / "tools" / "autotune.py"), "--target", "cpu_baseline", "--shapes", SHAPE,
            "--algorithms", "direct", "--trials", "3", "--jobs", "1", "--build", str(build_dir), "--work", str(work), *more]


def run(build_dir, work, *more):
    return subprocess.run(command(build_dir, work, *more), capture_output=True, text=True, timeout=300)


@pytest.fixture(scope="session")
def tuned(build_dir, work):
    done = run(build_dir, work / "run")
    assert done.returncode == 0, done.stdout + done.stderr
    return work / "run", done.stdout


def test_a_space_is_tuned(tuned, build_dir):
    place, said = tuned
    records = read(place / "log.jsonl")
    measured = [r for r in records if r["kind"] == "measurement"]
    search = [r for r in measured if r["round"] == 0]
    assert len(search) == 3 and all(r["status"] == "ok" and 0 < r["error_l2"] < 1e-6 for r in search)
    assert len({r["id"] for r in measured}) == len(measured) >= 3 + 2 * 6
    decision = records[-1]
    assert decision["kind"] == "decision" and decision["verdict"] in said
    entries = table.read(place / "cpu_baseline.txt")
    assert [(e.variant, e.extents, e.runs, e.threads) for e in entries] == [
        (decision["winner"], (1, 4, 10, 14, 3, 3, 4, 0, 0, 0, 0), 6, 1)]
    if decision["winner"] not in {c.variant for c in shipped_candidates(MANIFEST, PROBLEM)}:
        assert (place / "cpu_baseline.rows").read_text().startswith("direct f32 cpu_baseline ")


def test_a_log_that_is_whole_is_not_measured_again(tuned, build_dir):
    """What replaced an incumbent is one itself the second time, which may be a decision more; then all stays."""
    place, _ = tuned
    log, entry = (place / "log.jsonl").read_bytes(), (place / "cpu_baseline.txt").read_bytes()
    assert run(build_dir, place).returncode == 0
    second = (place / "log.jsonl").read_bytes()
    more = read(place / "log.jsonl")[len(log.splitlines()):]
    assert second.startswith(log) and (place / "cpu_baseline.txt").read_bytes() == entry
    assert [r["verdict"] for r in more] in ([], ["kept"], ["tie"]), more
    assert not more or json.loads(log.splitlines()[-1])["verdict"] == "replaced"
    assert run(build_dir, place).returncode == 0
    assert (place / "log.jsonl").read_bytes() == second and (place / "cpu_baseline.txt").read_bytes() == entry


def test_a_run_that_is_killed_goes_on(tuned, build_dir):
    """Killed while it measures, and its log cut besides; what is left is kept and the rest measured."""
    place, _ = tuned
    whole = (place / "log.jsonl").read_bytes()
    ends = [at + 1 for at, byte in enumerate(whole) if byte == 10]
    cut = random.Random().randrange(ends[1], ends[-3])
    print(f"cut after {cut} of {len(whole)} bytes")  # shown when it fails
    (place / "cut.jsonl").write_bytes(whole[:cut])
    process = subprocess.Popen(command(build_dir, place, "--log", str(place / "cut.jsonl"), "--table",
                                       str(place / "cut.txt")), stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    before = (place / "cut.jsonl").stat().st_size
    end = time.monotonic() + 60
    while (place / "cut.jsonl").stat().st_size <= before and process.poll() is None and time.monotonic() < end:
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    kept = [r["id"] for r in read(place / "cut.jsonl") if r["kind"] == "measurement"]
    done = run(build_dir, place, "--log", str(place / "cut.jsonl"), "--table", str(place / "cut.txt"))
    assert done.returncode == 0, done.stdout + done.stderr
    ids = [r["id"] for r in read(place / "cut.jsonl") if r["kind"] == "measurement"]
    complete = sum(end <= cut for end in ends)
    assert whole[:ends[complete - 1]] == (place / "cut.jsonl").read_bytes()[:ends[complete - 1]]
    assert ids[:len(kept)] == kept and len(set(ids)) == len(ids)


def test_texts(tuned, build_dir, capsys):
    place, _ = tuned
    common = ["--target", "cpu_baseline", "--shapes", SHAPE, "--build", str(build_dir)]
    assert cli.main([*common, "--work", str(place), "--explain"]) == 0
    told = capsys.readouterr().out
    assert "ok)" in told and "finals: conv2d_direct_f32_" in told
    assert any(f" {word}: conv2d_direct_f32_" in told for word in ("kept", "tie", "replaced"))
    never = place / "never"
    assert cli.main([*common, "--work", str(never), "--dry-run"]) == 0
    told = capsys.readouterr().out
    assert "candidates, all measured" in told and "0 measurements are in the log" in told and not never.exists()


@pytest.mark.parametrize("arguments, sentence", [
    (["--shapes", "1,2,3"], "has 3 fields"), (["--budget", "0"], "is no time"), (["--types", "f64"], '"f64" is none of'),
    (["--rounds", "0"], "is no whole number above 0"), (["--trials", "-1"], '"-1" is no whole number'),
    (["--trials", "x"], '"x" is no whole number'), (["--prune", "0.5"], "neither 0 nor a number of at least 1"),
    (["--layouts", "chwn"], '"chwn" is none of'), (["--only-built", "--build-only"], "not for one call"),
    (["--build", "/nowhere"], "holds no finished build")])
def test_faults_are_sentences(tmp_path, capsys, arguments, sentence):
    try:
        status = cli.main(["--target", "cpu_baseline", "--work", str(tmp_path / "w"), *arguments])
    except SystemExit as ended:
        status = ended.code
    assert status == 2 and sentence in capsys.readouterr().err


def test_what_was_built_elsewhere_is_measured_alone(build_dir, tmp_path):
    """--build-only, then --only-built: no build folder, and only the candidates that are there."""
    work, nowhere = tmp_path / "carried", tmp_path / "nowhere"
    common = ["--target", "cpu_baseline", "--shapes", SHAPE, "--work", str(work), "--algorithms", "direct"]
    done = run(build_dir, work, "--build-only", "--trials", "1")
    assert done.returncode == 0 and done.stdout.count("built ") == 1, done.stdout + done.stderr
    done = subprocess.run([sys.executable, str(ROOT / "tools" / "autotune.py"), *common, "--build", str(nowhere),
                           "--only-built"], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    measured = {r["variant"] for r in read(work / "log.jsonl") if r["kind"] == "measurement"}
    shipped = {c.variant for c in shipped_candidates(MANIFEST, PROBLEM)}
    assert len(measured) == 2 and len(measured - shipped) == 1
