"""The search space: for each algorithm and target the values that its parameters may take, and what follows from them.

A key that is missing from a table is not searched: it follows from others (`derive`). rules.py rejects values and
combinations, each with its reason. What it lets through may still be refused by the manifest, the generator, nvcc or the
library; the log then has their sentence.
"""

from __future__ import annotations

import dataclasses

from . import rules
from .candidate import DEFAULTS, PARTS, Candidate
from .problem import CPU_TARGETS, Problem

import manifest  # noqa: E402  isort: skip

# --- What is searched -------------------------------------------------------------------------------------------------

DIRECT_CUDA = {
    "tile_oc": (16, 32, 64, 128),
    "tile_ow": (8, 14, 16, 28, 32, 64, 128),
    "tile_oh": (1, 2, 4, 8, 14),
    "thread_oc": (2, 4, 8),
    "thread_ow": (2, 4, 7, 8, 14),
    "thread_oh": (1, 2),
    "ic": (2, 4, 8, 16),
    "kh_tile": (1, 3, 4, 5),
    "kw_tile": (1, 3, 4, 5, 7, 8),
    "unroll_ic": (1, 2, 8, 16),
    "stages": (2, 3, 4),
    "min_blocks": (1, 2, 3, 4, 5, 6, 8),
    "parts": PARTS,
}
MMA_CUDA = {
    "tile_oc": (16, 32, 64, 128),
    "tile_ow": (8, 16, 32, 64, 128),
    "tile_oh": (1, 2, 4, 8),
    "thread_oc": (16, 32, 64),
    "thread_ow": (8, 16, 32, 64),
    "thread_oh": (1, 2, 4),
    "ic": (16, 32, 64),
    "kh_tile": (1, 3, 4),
    "kw_tile": (1, 2, 3, 4, 5, 7),
    "stages": (2, 3, 4),
    "min_blocks": (1, 2, 3, 4),
    "layout": (0, 1),
    "store_bytes": (2, 16),
    "parts": PARTS,
}
WGMMA_CUDA = {
    "tile_oc": (64, 128, 256),
    "tile_ow": (8, 16, 32, 64, 128),
    "tile_oh": (1, 2, 4, 8, 14, 16, 28),
    "thread_oc": (16, 32, 64, 128, 256),
    "thread_ow": (8, 16, 32),
    "thread_oh": (1, 2, 4, 14, 28),
    "ic": (16, 32, 64),
    "kh_tile": (1, 3, 4),
    "kw_tile": (1, 3, 4, 5, 7),
    "stages": (2, 3, 4),
    "min_blocks": (1, 2, 3),
    "layout": (0, 1),
    "store_bytes": (2, 16),
    "a_shared": (0, 1),
}
TRANSFORM_CUDA = {
    "fft_h": (16, 32, 64),
    "fft_w": (16, 32, 64),
    "tile_oc": (16, 32, 64),
    "tile_ow": (16, 32, 56, 64),
    "thread_oc": (2, 4, 8),
    "thread_ow": (4, 7, 8),
    "ic": (8, 16),
    "stages": (2, 3, 4),
    "min_blocks": (1, 2, 4, 6, 8, 12, 16),
    "products": (3, 4),
    "sum_ic": (0, 256),
}
# fft_h x fft_w pixels; the product's register tile has tile_oc channels x tile_ow tiles.
TRANSFORM_CPU = {
    "fft_h": (16, 32, 64),
    "fft_w": (16, 32, 64),
    "tile_oc": (2, 4, 8),
    "tile_ow": (4, 8, 16, 32),
    "products": (3, 4),
}
# A register tile of OC x OW sums.
DIRECT_AVX512 = {"tile_oc": (16, 32, 48, 64), "tile_ow": (2, 4, 6, 8, 10, 12, 14, 20, 24, 28)}
DIRECT_AVX2 = {"tile_oc": (8, 16, 24, 32), "tile_ow": (2, 3, 4, 5, 6, 8, 10, 12)}
DIRECT_BASELINE = {"tile_oc": (4, 8, 16), "tile_ow": (1, 2, 3, 4, 6, 8, 12)}

# --- What follows from the searched keys ------------------------------------------------------------------------------

def _window_key(p: dict, problem: Problem) -> int:
    """kw: whole steps of kw_tile where KW has them, else any KW with a guard."""
    return p["kw_tile"] if problem.shape.kernel_width % p["kw_tile"] == 0 else 0


def _split(p):
    return {"split": 1} if p["parts"] > 1 else {}


def _derive_direct_cuda(p, problem):
    return {**p, **_split(p), "kw": _window_key(p, problem), "warps": rules.warps(p, 32)}


def _derive_mma(p, problem):
    return {**p, **_split(p), "kw": _window_key(p, problem), "warps": rules.warps(p, 1)}


def _derive_wgmma(p, problem):
    return {**p, "kw": _window_key(p, problem), "warps": rules.warps(p, 1)}


def _derive_transform(p, problem):
    return {**p, "unroll_ic": p["ic"], "warps": rules.warps(p, 32)}


def _derive_transform_cpu(p, problem):
    return {**p, "ic": 1, "sum_ic": 256}  # a chain of additions that keeps the error small


def _derive_cpu(p, problem):
    return {**p, "thread_oc": p["tile_oc"], "thread_ow": p["tile_ow"], "ic": 1, "kw": 0}


@dataclasses.dataclass(frozen=True)
class Space:
    algorithm: str
    target: str
    types: tuple
    values: dict    # searched key -> its values
    limits: dict    # searched key -> (value, problem) -> "" or the reason of a rejection
    rules: tuple    # (all searched keys, problem) -> the same
    derive: object  # (searched keys, problem) -> all keys

    def within(self, problem: Problem) -> tuple[dict, list]:
        """(searched key -> the values that the problem allows, reasons why it does not allow the others)."""
        allowed, reasons = {}, []
        for key, values in self.values.items():
            limit = self.limits.get(key, lambda value, problem: "")
            told = {value: limit(value, problem) for value in values}
            allowed[key] = tuple(value for value in values if not told[value])
            reasons += [reason for reason in told.values() if reason]
        return allowed, reasons


_ALL = ("f32", "bf16", "f16")
_TILE = {"tile_oc": rules.tile_oc, "tile_ow": rules.tile_ow}
_CONV = {**_TILE, "tile_oh": rules.tile_oh, "kh_tile": rules.kh_tile, "kw_tile": rules.kw_tile}
_TENSOR_CORES = {**_CONV, "layout": rules.layout}
SPACES = (
    Space("direct", "cuda", _ALL, DIRECT_CUDA, _CONV,
          (rules.whole_threads, rules.whole_warps, rules.direct_lanes, rules.unrolled, rules.conv_shared,
           rules.direct_registers, rules.whole_parts), _derive_direct_cuda),
    Space("mma", "cuda", ("bf16", "f16"), MMA_CUDA, _TENSOR_CORES,
          (rules.not_strict, rules.whole_threads, rules.mma_warps, rules.conv_shared, rules.mma_registers,
           rules.whole_parts), _derive_mma),
    Space("wgmma", "cuda", ("bf16", "f16"), WGMMA_CUDA, _TENSOR_CORES,
          (rules.not_strict, rules.whole_threads, rules.mma_warps, rules.warpgroups, rules.conv_shared,
           rules.mma_registers), _derive_wgmma),
    Space("transform", "cuda", _ALL, TRANSFORM_CUDA, {"fft_h": rules.fft_h, "fft_w": rules.fft_w, "tile_oc": rules.tile_oc},
          (rules.not_strict, rules.whole_threads, rules.whole_warps, rules.product_lanes, rules.product_shared,
           rules.product_registers), _derive_transform),
    Space("direct", "cpu_avx512", _ALL, DIRECT_AVX512, _TILE, (rules.cpu_registers,), _derive_cpu),
    Space("direct", "cpu_avx2", _ALL, DIRECT_AVX2, _TILE, (rules.cpu_registers,), _derive_cpu),
    Space("direct", "cpu_baseline", _ALL, DIRECT_BASELINE, _TILE, (rules.cpu_registers,), _derive_cpu),
    *(Space("transform", target, _ALL, TRANSFORM_CPU, {"fft_h": rules.fft_h, "fft_w": rules.fft_w},
            (rules.not_strict, rules.cpu_product_registers), _derive_transform_cpu) for target in CPU_TARGETS),
)


def spaces_of(problem: Problem, algorithms=()) -> list[Space]:
    """The spaces that can serve a problem's type and target; of the named algorithms only, if any are."""
    return [space for space in SPACES if space.target == problem.target and problem.type in space.types
            and (not algorithms or space.algorithm in algorithms)]


def candidate_of(space: Space, values: dict, problem: Problem) -> tuple[Candidate | None, str]:
    """(candidate, "") or (None, why the values are rejected). `values` has each searched key."""
    for key, limit in space.limits.items():
        if reason := limit(values[key], problem):
            return None, reason
    for rule in space.rules:
        if reason := rule(values, problem):
            return None, reason
    candidate = Candidate.of(space.algorithm, problem.type, problem.target, space.derive(values, problem))
    try:
        candidate.variants()
    except manifest.ManifestError as reason:
        return None, f"the manifest: {reason}"
    return candidate, ""


def values_of(space: Space, candidate: Candidate) -> dict | None:
    """The searched keys of a candidate; None where one of its values is not searched."""
    parameters = {**DEFAULTS, **dict(candidate.parameters)}
    values = {key: parameters.get(key) for key in space.values}
    return values if all(value in space.values[key] for key, value in values.items()) else None
