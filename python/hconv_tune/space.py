"""The search space: for each algorithm and target the values that its parameters may take, what follows from them, the
limits that a problem sets to single values, and the rules that reject a combination; each rejection has its reason.

A key that is missing from a table is not searched: it follows from others (`derived`). What the rules let through may still
be refused by the manifest, the generator, nvcc or the library; the log then has their sentence.
"""

from __future__ import annotations

import dataclasses

from .candidate import Candidate
from .problem import Problem

import manifest  # noqa: E402  isort: skip

# --- What is searched -------------------------------------------------------------------------------------------------

DIRECT_CUDA = {
    "tile_oc": (16, 32, 64, 128),
    "tile_ow": (8, 16, 32, 64, 128),
    "tile_oh": (1, 2, 4, 8),
    "thread_oc": (2, 4, 8),
    "thread_ow": (2, 4, 8),
    "thread_oh": (1, 2),
    "ic": (4, 8, 16),
    "kh_tile": (1, 3, 4),
    "kw_tile": (1, 3, 4, 5, 7, 8),
    "unroll_ic": (1, 2, 8),
    "stages": (2, 3, 4),
    "min_blocks": (1, 2, 3, 4, 5, 6, 8),
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
    "min_blocks": (1, 2, 4),
}
TRANSFORM_CUDA = {
    "fft_h": (16, 32, 64),  # square tiles: the schedules have no others
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
# A register tile of OC x OW sums.
DIRECT_AVX512 = {"tile_oc": (16, 32, 48, 64), "tile_ow": (2, 4, 6, 8, 10, 12, 14, 20, 24, 28)}
DIRECT_AVX2 = {"tile_oc": (8, 16, 24, 32), "tile_ow": (2, 3, 4, 5, 6, 8, 10, 12)}
DIRECT_BASELINE = {"tile_oc": (4, 8, 16), "tile_ow": (1, 2, 3, 4, 6, 8, 12)}

# --- What the hardware has --------------------------------------------------------------------------------------------

REGISTERS, THREADS, SHARED_BYTES = 65536, 2048, 228 * 1024  # of a multiprocessor of sm_90
BLOCK_SHARED_BYTES, RESERVED_BYTES = 227 * 1024, 1024       # of a block, and besides what it asks for
ADDRESSING = 24                                             # registers of a thread for addresses and loops, at least
CPU_REGISTERS = {"cpu_avx512": (32, 16), "cpu_avx2": (16, 8), "cpu_baseline": (16, 4)}  # vectors, lanes of float32
BYTES = {"f32": 4, "bf16": 2, "f16": 2}


# --- What follows from the searched keys ------------------------------------------------------------------------------

def _warps(p: dict, lanes: int) -> int:
    owners = 1
    for key in ("oc", "ow", "oh"):
        owners *= p.get(f"tile_{key}", 1) // p.get(f"thread_{key}", 1)
    return owners // lanes


def _window_key(p: dict, problem: Problem) -> int:
    """kw: whole steps of kw_tile where KW has them, else any KW with a guard."""
    return p["kw_tile"] if problem.shape.kernel_width % p["kw_tile"] == 0 else 0


def _derive_direct_cuda(p, problem):
    return {**p, "kw": _window_key(p, problem), "warps": _warps(p, 32)}


def _derive_mma(p, problem):
    return {**p, "kw": _window_key(p, problem), "warps": _warps(p, 1)}


def _derive_transform(p, problem):
    return {**p, "fft_w": p["fft_h"], "unroll_ic": p["ic"], "warps": _warps(p, 32)}


def _derive_cpu(p, problem):
    return {**p, "thread_oc": p["tile_oc"], "thread_ow": p["tile_ow"], "ic": 1, "kw": 0}


# --- Limits of single values: "" or the reason why a problem has no use for one ------------------------------------------

def _within(what, tile, extent, least=8):
    """A tile of twice an extent computes mostly nothing."""
    return f"{what} of {tile} is more than twice {extent}" if tile > max(2 * extent, least) else ""


def _tile_oc(value, problem):
    lanes = CPU_REGISTERS[problem.target][1] if problem.on_cpu else 8
    return _within("tile_oc", value, max(problem.shape.out_channels, lanes))


def _tile_ow(value, problem):
    return _within("tile_ow", value, problem.shape.output[3])


def _tile_oh(value, problem):
    return _within("tile_oh", value, problem.shape.output[2], least=1)


def _kh_tile(value, problem):
    height = problem.shape.kernel_height
    return f"KH={height} is no multiple of kh_tile={value}" if height % value else ""


def _kw_tile(value, problem):
    width = problem.shape.kernel_width
    return f"kw_tile={value} is more than KW={width}" if value > width else ""


def _fft(value, problem):
    s = problem.shape
    if max(s.kernel_height, s.kernel_width) > value:
        return f"a kernel of {s.kernel_height} x {s.kernel_width} is larger than a tile of {value} x {value}"
    return ""


# --- Rules: "" or the reason of a rejection ---------------------------------------------------------------------------

def _whole_threads(p, problem):
    for key in ("oc", "ow", "oh"):
        tile, thread = p.get(f"tile_{key}", 1), p.get(f"thread_{key}", 1)
        if tile % thread:
            return f"tile_{key}={tile} is no multiple of thread_{key}={thread}"
    return ""


def _whole_warps(p, problem):
    threads = _warps(p, 1)
    if threads % 32 or not 32 <= threads <= 1024:
        return f"a block would have {threads} threads, which are not 1 to 32 whole warps"
    return ""


def _direct_lanes(p, problem):
    across = {key: p[f"tile_{key}"] // p[f"thread_{key}"] for key in ("oc", "ow", "oh")}
    lanes_ow = min(across["ow"], 8)
    if across["ow"] % lanes_ow or 8 % lanes_ow or across["oh"] % (8 // lanes_ow) or across["oc"] % 4:
        return (f"{across['ow']} (ow) x {across['oh']} (oh) x {across['oc']} (oc) threads do not divide into warps of 8 "
                "pixels x 4 channels")
    return ""


def _product_lanes(p, problem):
    across_n, across_oc = p["tile_ow"] // p["thread_ow"], p["tile_oc"] // p["thread_oc"]
    lanes = next(n for n in (8, 4, 2, 1) if across_n % n == 0)
    if across_oc % (32 // lanes):
        return f"{across_n} (n) x {across_oc} (oc) threads do not divide into warps of {lanes} x {32 // lanes}"
    return ""


def _mma_warps(p, problem):
    warps = _warps(p, 1)
    return "" if 1 <= warps <= 16 else f"a block would have {warps} warps, expected 1 to 16"


def _unrolled(p, problem):
    return f"unroll_ic={p['unroll_ic']} is more than ic={p['ic']}" if p["unroll_ic"] > p["ic"] else ""


def _shared(staged_elements, p, element_bytes):
    bytes = p["stages"] * staged_elements * element_bytes
    if bytes > BLOCK_SHARED_BYTES:
        return f"{p['stages']} stages need {bytes} bytes of shared memory, a block has {BLOCK_SHARED_BYTES}"
    if p["min_blocks"] * (bytes + RESERVED_BYTES) > SHARED_BYTES:
        return f"min_blocks={p['min_blocks']} blocks of {bytes} bytes of shared memory do not fit on a multiprocessor"
    return ""


def _conv_shared(p, problem):
    x = (p["tile_ow"] + p["kw_tile"] - 1) * (p["tile_oh"] + p["kh_tile"] - 1)
    w = p["tile_oc"] * p["kw_tile"] * p["kh_tile"]
    return _shared((x + w) * p["ic"], p, BYTES[problem.type])


def _product_shared(p, problem):
    return _shared((p["tile_ow"] + p["tile_oc"]) * p["ic"] * 2, p, 4)


def _registers(needed, threads, p):
    """`threads` is 0 of tiles that are smaller than a thread's, which another rule rejects."""
    if p["min_blocks"] * threads > THREADS:
        return f"min_blocks={p['min_blocks']} blocks of {threads} threads are more than a multiprocessor's {THREADS}"
    share = min(255, REGISTERS // (p["min_blocks"] * max(threads, 1)))
    if needed > share:
        return f"a thread needs at least {needed} registers, and with min_blocks={p['min_blocks']} has {share}"
    return ""


def _direct_registers(p, problem):
    sums = p["thread_oc"] * p["thread_ow"] * p["thread_oh"]
    window = p["thread_oh"] * (p["thread_ow"] + p["kw_tile"] - 1)
    return _registers(sums + window + p["thread_oc"] + ADDRESSING, _warps(p, 1), p)


def _mma_registers(p, problem):
    rows, columns = p["thread_oc"], p["thread_ow"] * p["thread_oh"]
    return _registers(rows * columns // 32 + rows // 16 * 4 + columns // 8 * 2 + ADDRESSING, 32 * _warps(p, 1), p)


def _product_registers(p, problem):
    sums = p["thread_oc"] * p["thread_ow"] * p["products"]  # 3 products: three sums of each
    return _registers(min(sums, 2 * sums) + 2 * p["thread_oc"] + 8 + ADDRESSING, _warps(p, 1), p)


def _not_strict(p, problem):
    return "strict asks for sums of products of x and w themselves" if problem.mode == "strict" else ""


def _cpu_registers(p, problem):
    registers, lanes = CPU_REGISTERS[problem.target]
    vectors = p["tile_oc"] // lanes
    needed = vectors * p["tile_ow"] + vectors + 1
    return f"{needed} vectors are more than the {registers} registers" if needed > registers else ""


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
_TILE = {"tile_oc": _tile_oc, "tile_ow": _tile_ow}
_CONV = {**_TILE, "tile_oh": _tile_oh, "kh_tile": _kh_tile, "kw_tile": _kw_tile}
SPACES = (
    Space("direct", "cuda", _ALL, DIRECT_CUDA, _CONV,
          (_whole_threads, _whole_warps, _direct_lanes, _unrolled, _conv_shared, _direct_registers), _derive_direct_cuda),
    Space("mma", "cuda", ("bf16", "f16"), MMA_CUDA, _CONV,
          (_not_strict, _whole_threads, _mma_warps, _conv_shared, _mma_registers), _derive_mma),
    Space("transform", "cuda", _ALL, TRANSFORM_CUDA, {"fft_h": _fft, "tile_oc": _tile_oc},
          (_not_strict, _whole_threads, _whole_warps, _product_lanes, _product_shared, _product_registers),
          _derive_transform),
    Space("direct", "cpu_avx512", _ALL, DIRECT_AVX512, _TILE, (_cpu_registers,), _derive_cpu),
    Space("direct", "cpu_avx2", _ALL, DIRECT_AVX2, _TILE, (_cpu_registers,), _derive_cpu),
    Space("direct", "cpu_baseline", _ALL, DIRECT_BASELINE, _TILE, (_cpu_registers,), _derive_cpu),
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
    parameters = {**manifest.DEFAULTS, **dict(candidate.parameters)}
    values = {key: parameters.get(key) for key in space.values}
    return values if all(value in space.values[key] for key, value in values.items()) else None
