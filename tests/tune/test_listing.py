"""What the library is asked before anything is measured, and which variants the model leaves out."""

import itertools
import os
import subprocess
import sys

import pytest
from conftest import ROOT
from hconv_measure.shapes import parse_shape, read_shapes
from hconv_tune import loss, table
from hconv_tune.candidate import Candidate, shipped_candidates
from hconv_tune.listing import Listing, _add_its_parts, pruned
from hconv_tune.problem import Problem
from hconv_tune.runner import Runner

MANIFEST = (ROOT / "schedules" / "variants.txt").read_text()
LIBRARY = os.environ.get("HCONV_LIBRARY")


def problem(shape, type="f32", layout="nchw", target="cuda"):
    return Problem(parse_shape(shape), type, "fp32", target, 0 if target == "cuda" else 1, layout)


@pytest.fixture(scope="module")
def listing():
    if not LIBRARY:
        pytest.skip("HCONV_LIBRARY names no library")
    return Listing(Runner(), LIBRARY, MANIFEST, 1)


ASKED = [problem("2,64,12,13,3,3"), problem("2,64,12,13,3,3", "bf16", "nhwc"), problem("2,64,12,13,3,3", "bf16"),
         problem("1,8,9,9,3,3", target="cpu_baseline")]


def test_listed_are_variants_that_serve(listing):
    listing.ask(ASKED)
    for asked in ASKED:
        candidates, choice, costs = listing.of(asked)
        names = [candidate.variant for candidate in candidates]
        shipped = [candidate.variant for candidate in shipped_candidates(MANIFEST, asked)]
        assert choice in names and set(names) <= set(shipped) and names
        if asked.on_cpu:
            assert set(costs.values()) == {None}
            continue
        assert not [name for name in names if "_kw5_" in name or "_kw7_" in name]  # KW is 3
        assert any("_kw3_" in name for name in names) and any("_split_cuda+" in name for name in names)
        assert all(cost > 0 for cost in costs.values())
        # The library takes what is cheapest, by the same model.
        assert costs[choice] == pytest.approx(min(costs.values()), rel=1e-9)
        assert any("_nhwc_" in name for name in names) == (asked.type != "f32")


@pytest.mark.skipif(not os.environ.get("HCONV_EMULATED_CUDA"), reason="this build has no emulated driver")
def test_the_choice_is_the_plans(listing):
    """Which needs a device."""
    program = ("import hconv, sys\n"
               "for shape, type, layout in zip(*[iter(sys.argv[1:])] * 3):\n"
               "    b, c, h, w, kh, kw, oc = map(int, shape.split(','))\n"
               "    print(hconv.Plan(hconv.Problem(b, c, h, w, oc, kh, kw, type, 'cuda', 0, 'fp32', layout)).variant)\n")
    shapes = [("2,64,12,13,3,3,64", "f32", "nchw"), ("2,64,12,13,3,3,64", "bf16", "nhwc"),
              ("4,64,128,128,16,16,64", "f32", "nchw"), ("32,64,58,58,3,3,64", "f16", "nchw")]
    done = subprocess.run([sys.executable, "-c", program, *itertools.chain(*shapes)], capture_output=True, text=True,
                          env={**os.environ, "HCONV_CUDA_DRIVER": os.environ["HCONV_EMULATED_CUDA"],
                               "PYTHONPATH": str(ROOT / "python")}, timeout=100)
    assert done.returncode == 0, done.stderr
    chosen = [listing.of(problem(shape, type, layout))[1] for shape, type, layout in shapes]
    assert chosen == done.stdout.split() and any("+" in name for name in chosen)


def test_a_row_that_the_library_lacks_is_no_candidate():
    if not LIBRARY:
        pytest.skip("HCONV_LIBRARY names no library")
    row = "direct  f32  cpu_baseline  tile_oc=8 tile_ow=3  thread_oc=8 thread_ow=3  ic=1 kw=0\n"
    asked = ASKED[-1]
    candidates, _, _ = Listing(Runner(), LIBRARY, MANIFEST + row, 1).of(asked)
    missing = [c.variant for c in shipped_candidates(row, asked)]
    assert len(missing) == 1 and candidates and missing[0] not in [c.variant for c in candidates]


def some(*names):
    return [Candidate.of("direct", "f32", "cpu_baseline", dict(tile_oc=4, tile_ow=n, thread_oc=4, thread_ow=n, ic=1, kw=0))
            for n in names]


def test_the_model_leaves_out_what_costs_a_multiple_of_the_least():
    a, b, c, d = some(1, 2, 3, 4)
    costs = {a.variant: 30.0, b.variant: 10.0, c.variant: 31.0, d.variant: None}
    assert pruned([a, b, c, d], costs, (), 3.0) == ([d, b, a], [c])
    assert pruned([a, b, c, d], costs, (c.variant,), 3.0) == ([c, d, b, a], [])  # what serves now always stays
    assert pruned([a, b, c, d], costs, (), 0.0) == ([d, b, a, c], [])
    assert pruned([], {}, (), 3.0) == ([], [])


def test_the_loss_is_told_by_its_geometric_mean_and_its_worst():
    asked = [problem(shape) for shape in ("1,8,9,9,3,3", "1,8,9,9,1,1", "1,8,9,9,5,5")]
    found = [loss.Lost(p, "v", ms, "w", 1.0, 5, 2) for p, ms in zip(asked, (1.0, 1.21, 1.0))]
    assert loss.mean(found[:2]) == pytest.approx(1.1)
    assert "2 of 3 problems, 1.100 in geometric mean, worst 1.210" in loss.summary(found[:2], asked, "t")
    assert "reached" in loss.summary(found, asked, "t")
    assert "missed" in loss.summary([loss.Lost(asked[0], "v", 1.31, "w", 1.0, 5, 2), *found[2:]], asked, "t")
    lines = loss.rows(found).splitlines()
    assert lines[2].split("\t") == ["1,8,9,9,1,1", "f32", "fp32", "nchw", "1.2100", "1.21", "1", "v", "w", "5", "2"]
    assert len(lines) == 4 and len(lines[0].split("\t")) == 11


def test_shapes_of_the_loss_are_not_the_tuned_ones():
    untuned, tuned = (read_shapes(ROOT / "shapes" / f"{name}.txt") for name in ("untuned", "perf"))
    assert len(set(untuned)) == len(untuned) == 50 and not set(untuned) & set(tuned)


@pytest.mark.parametrize("path", sorted((ROOT / "schedules" / "tuned").glob("*.txt")), ids=lambda path: path.name)
def test_tables_that_ship_name_variants_that_ship(path):
    """Each entry is one that a search over the manifest could have made: its variant serves the key's type, target and
    layout. The parser is the strict one."""
    entries = table.read(path)
    assert entries and {entry.device for entry in entries} == {path.stem}
    for entry in entries:
        target = "cuda" if entry.device.startswith("sm_") else entry.device
        b, c, h, w, kh, kw, oc, *pad = entry.extents
        asked = Problem(parse_shape(f"{b},{c},{h},{w},{kh},{kw},{oc},{':'.join(map(str, pad))}"), entry.type, entry.mode,
                        target, entry.threads, entry.layout)
        assert entry.variant in {candidate.variant for candidate in shipped_candidates(MANIFEST, asked)}, str(entry)


def test_a_table_with_a_variant_that_does_not_ship_would_be_found(tmp_path):
    line = ("sm_90a f32 fp32 nchw 1,64,12,13,3,3,64,0,0,0,0 -> conv2d_direct_f32_oc7_cuda ms=1 date=2026-12-02 runs=6\n")
    (tmp_path / "sm_90a.txt").write_text(line)
    with pytest.raises(AssertionError, match="conv2d_direct_f32_oc7_cuda"):
        test_tables_that_ship_name_variants_that_ship(tmp_path / "sm_90a.txt")


def test_the_librarys_own_number_of_parts_is_a_candidate():
    split = Candidate.of("direct", "f32", "cuda", {"tile_oc": 32, "tile_ow": 8, "tile_oh": 8, "thread_oc": 4, "thread_ow": 4,
                                                   "thread_oh": 2, "ic": 16, "kw_tile": 1, "kw": 1, "stages": 4, "warps": 2,
                                                   "split": 1, "parts": 2})
    name = split.variant.partition("+")[0]
    named, costs = {split.variant: split}, {split.variant: 5.0}
    for choice in (split.variant, f"{name}+3", "conv2d_other+3", name):
        _add_its_parts(choice, named, costs)
    assert costs == {split.variant: 5.0, f"{name}+3": None}
    assert named[f"{name}+3"].variant == f"{name}+3"
