"""The search space: what ships lies in it, and every rejection has a reason."""

import random

import pytest
from conftest import ROOT
from hconv_measure.shapes import parse_shape, read_shapes
from hconv_tune import rules, space
from hconv_tune.candidate import Candidate, shipped_candidates
from hconv_tune.problem import LAYOUTS, Problem

import manifest

MANIFEST = (ROOT / "schedules" / "variants.txt").read_text()
SHAPES = [str(shape) for shape in read_shapes(ROOT / "shapes" / "perf.txt")]
TARGETS = [("f32", "cuda"), ("bf16", "cuda"), ("f16", "cuda"), ("f32", "cpu_avx512"), ("bf16", "cpu_avx2"),
           ("f32", "cpu_baseline")]


def problem(shape, type="f32", target="cuda", mode="fp32", layout="nchw"):
    return Problem(parse_shape(shape), type, mode, target, 0 if target == "cuda" else 1, layout)


def drawn(seed, count=3000):
    draw = random.Random(seed)
    for _ in range(count):
        type, target = draw.choice(TARGETS)
        asked = problem(draw.choice(SHAPES + ["1,8,4,40,3,3", "1,8,9,9,3,3,5"]), type, target,
                        layout=draw.choice(LAYOUTS) if target == "cuda" else "nchw")
        chosen = draw.choice(space.spaces_of(asked))
        values = {key: draw.choice(options) for key, options in chosen.values.items()}
        yield asked, chosen, values


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("type, target", TARGETS)
def test_what_ships_is_in_the_space_of_some_shape(type, target, layout):
    for candidate in shipped_candidates(MANIFEST, problem(SHAPES[0], type, target, layout=layout)):
        if dict(candidate.parameters).get("parts") == 1:
            continue  # a split sum of one part, which the library may take; the search has that tile without a split
        reasons = set()
        for shape in SHAPES:
            asked = problem(shape, type, target, layout=layout)
            chosen = next(s for s in space.spaces_of(asked) if s.algorithm == candidate.algorithm)
            values = space.values_of(chosen, candidate)
            assert values, f"{candidate.variant} has a value that is not searched"
            found, reason = space.candidate_of(chosen, values, asked)
            if found and found.variant == candidate.variant:
                break
            reasons.add(reason)
        else:
            # Tiles whose kw guards a KW that kw_tile divides are made only for other widths.
            assert "kwany" in candidate.variant, f"{candidate.variant}: {reasons}"


def test_a_candidate_or_a_reason():
    kept = 0
    for asked, chosen, values in drawn(1):
        candidate, reason = space.candidate_of(chosen, values, asked)
        assert (candidate is None) == bool(reason)
        if candidate:
            kept += 1
            names = [variant.name for variant in candidate.variants()]
            parts = [str(values["parts"])] if values.get("parts", 1) > 1 else []
            assert candidate.variant == "+".join(names + parts)
            assert ("split=1" in candidate.rows()[0]) == bool(parts) and "parts" not in candidate.rows()[0]
            assert all(variant.target == asked.target for variant in candidate.variants())
            again = space.values_of(chosen, candidate)
            assert again and space.candidate_of(chosen, again, asked)[0] == candidate
    assert kept > 50


def test_every_rule_and_limit_is_needed():
    """Each rejects something."""
    fired = set()
    for asked, chosen, values in drawn(2, 12000):
        for rule in (*chosen.rules, *chosen.limits.values()):
            single = next((key for key in chosen.limits if chosen.limits[key] is rule), None)
            if rule(values[single] if single else values, asked):
                fired.add(rule)
    strict = problem(SHAPES[0], mode="strict")
    transform = next(s for s in space.spaces_of(strict) if s.algorithm == "transform")
    values = {key: options[0] for key, options in transform.values.items()}
    fired.update([rules.not_strict] if rules.not_strict(values, strict) else [])
    for chosen in space.SPACES:
        for rule in (*chosen.rules, *chosen.limits.values()):
            assert rule in fired, f"{rule.__name__} rejects nothing"


def test_limits_leave_the_values_that_candidates_use():
    for asked, chosen, values in drawn(3, 1500):
        allowed, reasons = chosen.within(asked)
        assert len(reasons) == sum(len(options) for options in chosen.values.values()) - sum(map(len, allowed.values()))
        if space.candidate_of(chosen, values, asked)[0]:
            assert all(values[key] in allowed[key] for key in values)


def test_reasons_name_what_was_found():
    asked = problem("1,64,58,58,3,3", target="cpu_avx512")
    chosen = space.spaces_of(asked, ["direct"])[0]
    assert space.candidate_of(chosen, {"tile_oc": 64, "tile_ow": 28}, asked)[1] == (
        "117 vectors are more than the 32 registers")
    narrow = problem("1,64,58,10,3,3", target="cpu_avx512")
    assert space.candidate_of(chosen, {"tile_oc": 16, "tile_ow": 28}, narrow)[1] == "tile_ow of 28 is more than twice 8"


def test_rows_are_the_manifests_and_defaults_stay_out():
    candidate = Candidate.of("direct", "f32", "cpu_avx2", dict(tile_oc=16, tile_ow=6, thread_oc=16, thread_ow=6, ic=1, kw=0,
                                                               min_blocks=1))
    assert candidate.rows() == ["direct f32 cpu_avx2 tile_oc=16 tile_ow=6 thread_oc=16 thread_ow=6 ic=1 kw=0"]
    shipped = shipped_candidates(MANIFEST, problem(SHAPES[0], target="cpu_avx2"))
    assert candidate in shipped
    pair = next(c for c in shipped_candidates(MANIFEST, problem(SHAPES[0])) if c.algorithm == "transform")
    assert [row.split()[0] for row in pair.rows()] == ["transform", "spectral_product"] and pair.variant.count("+") == 1
    assert pair.helpers() == [] and candidate.helpers() == ["pack b32 cpu"]
    mma = next(c for c in shipped_candidates(MANIFEST, problem(SHAPES[0], "f16")) if c.algorithm == "mma")
    assert mma.helpers() == ["pack b16 cuda", "pack_input b16 cuda"]
    wgmma = next(c for c in shipped_candidates(MANIFEST, problem(SHAPES[0], "f16")) if c.algorithm == "wgmma")
    assert wgmma.helpers() == mma.helpers()
    nhwc = [c for c in shipped_candidates(MANIFEST, problem(SHAPES[0], "f16", layout="nhwc")) if "nhwc" in c.variant]
    assert nhwc and all("pack_input b16 cuda layout=nhwc" in c.helpers() for c in nhwc)
    assert all(sum("layout=nhwc" in row for row in c.rows()) == 1 for c in nhwc)
    for row in pair.rows() + mma.rows() + wgmma.rows() + [row for c in nhwc for row in c.rows()]:
        assert manifest.parse_line(row)
