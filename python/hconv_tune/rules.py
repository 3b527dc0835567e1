"""What rejects candidates: limits that a problem sets to single values, and rules for combinations. Each gives "" or a
reason, a phrase that names what was found.
"""

from __future__ import annotations

import math

REGISTERS, THREADS, SHARED_BYTES = 65536, 2048, 228 * 1024  # of a multiprocessor of sm_90
BLOCK_SHARED_BYTES, RESERVED_BYTES = 227 * 1024, 1024       # of a block, and besides what it asks for
ADDRESSING = 24                                             # registers of a thread for addresses and loops, at least
CPU_REGISTERS = {"cpu_avx512": (32, 16), "cpu_avx2": (16, 8), "cpu_baseline": (16, 4)}  # vectors, lanes of float32
BYTES = {"f32": 4, "bf16": 2, "f16": 2}


def warps(p: dict, lanes: int) -> int:
    """Warps of a block whose tiles are owned by threads (lanes 32) or by warps (1)."""
    owners = 1
    for key in ("oc", "ow", "oh"):
        owners *= p.get(f"tile_{key}", 1) // p.get(f"thread_{key}", 1)
    return owners // lanes


# --- Limits of single values: "" or the reason why a problem has no use for one ------------------------------------------

def _within(what, tile, extent, least=8):
    """A tile of twice an extent computes mostly nothing."""
    return f"{what} of {tile} is more than twice {extent}" if tile > max(2 * extent, least) else ""


def tile_oc(value, problem):
    lanes = CPU_REGISTERS[problem.target][1] if problem.on_cpu else 8
    return _within("tile_oc", value, max(problem.shape.out_channels, lanes))


def tile_ow(value, problem):
    return _within("tile_ow", value, problem.shape.output[3])


def tile_oh(value, problem):
    return _within("tile_oh", value, problem.shape.output[2], least=1)


def kh_tile(value, problem):
    height = problem.shape.kernel_height
    return f"KH={height} is no multiple of kh_tile={value}" if height % value else ""


def kw_tile(value, problem):
    width = problem.shape.kernel_width
    return f"kw_tile={value} is more than KW={width}" if value > width else ""


def layout(value, problem):
    oc = problem.shape.out_channels
    return f"kernels of nhwc write 8 channels at once, and OC is {oc}" if value and oc % 8 else ""


def fft_h(value, problem):
    height = problem.shape.kernel_height
    return f"KH={height} is more than the {value} rows of a tile" if height > value else ""


def fft_w(value, problem):
    width = problem.shape.kernel_width
    return f"KW={width} is more than the {value} columns of a tile" if width > value else ""


# --- Rules: "" or the reason of a rejection ---------------------------------------------------------------------------

def whole_threads(p, problem):
    for key in ("oc", "ow", "oh"):
        tile, thread = p.get(f"tile_{key}", 1), p.get(f"thread_{key}", 1)
        if tile % thread:
            return f"tile_{key}={tile} is no multiple of thread_{key}={thread}"
    return ""


def whole_warps(p, problem):
    threads = warps(p, 1)
    if threads % 32 or not 32 <= threads <= 1024:
        return f"a block would have {threads} threads, which are not 1 to 32 whole warps"
    return ""


def direct_lanes(p, problem):
    """As ThreadGrid of schedules/direct_cuda has it."""
    across = {key: p[f"tile_{key}"] // p[f"thread_{key}"] for key in ("oc", "ow", "oh")}
    for lanes_oc in (4, 8, 16, 32, 2, 1):
        pixels = 32 // lanes_oc
        if across["oc"] % lanes_oc == 0 and across["oh"] % (pixels // math.gcd(across["ow"], pixels)) == 0:
            return ""
    return f"{across['ow']} (ow) x {across['oh']} (oh) x {across['oc']} (oc) threads do not divide into warps"


def product_lanes(p, problem):
    across_n, across_oc = p["tile_ow"] // p["thread_ow"], p["tile_oc"] // p["thread_oc"]
    lanes = next(n for n in (8, 4, 2, 1) if across_n % n == 0)
    if across_oc % (32 // lanes):
        return f"{across_n} (n) x {across_oc} (oc) threads do not divide into warps of {lanes} x {32 // lanes}"
    return ""


def mma_warps(p, problem):
    count = warps(p, 1)
    return "" if 1 <= count <= 16 else f"a block would have {count} warps, expected 1 to 16"


def warpgroups(p, problem):
    """Four neighbouring warps make a warpgroup, along channels where their number there allows it, else along pixels."""
    if p["ic"] == 16 and not p.get("a_shared"):
        return "steps of ic=16 are for a_shared=1 alone"
    across_oc = p["tile_oc"] // p["thread_oc"]
    across_pixels = warps(p, 1) // max(across_oc, 1)
    if across_oc % 4 == 0:
        return ""
    if across_pixels % 4:
        return f"{across_oc} warps along channels and {across_pixels} along pixels are no multiple of 4 of either"
    if p["thread_ow"] == 8 and p["thread_oh"] % 2:
        return "a warp would have 8 pixels of an odd number of rows, which are no multiple of 16"
    return ""


def unrolled(p, problem):
    return f"unroll_ic={p['unroll_ic']} is more than ic={p['ic']}" if p["unroll_ic"] > p["ic"] else ""


def whole_parts(p, problem):
    steps = -(-problem.shape.in_channels // p["ic"])
    return f"{steps} steps of ic={p['ic']} do not divide into parts={p['parts']}" if steps % p["parts"] else ""


def _shared(staged_elements, p, element_bytes):
    bytes = p["stages"] * staged_elements * element_bytes
    if bytes > BLOCK_SHARED_BYTES:
        return f"{p['stages']} stages need {bytes} bytes of shared memory, a block has {BLOCK_SHARED_BYTES}"
    if p["min_blocks"] * (bytes + RESERVED_BYTES) > SHARED_BYTES:
        return f"min_blocks={p['min_blocks']} blocks of {bytes} bytes of shared memory do not fit on a multiprocessor"
    return ""


def conv_shared(p, problem):
    x = (p["tile_ow"] + p["kw_tile"] - 1) * (p["tile_oh"] + p["kh_tile"] - 1)
    w = p["tile_oc"] * p["kw_tile"] * p["kh_tile"]
    return _shared((x + w) * p["ic"], p, BYTES[problem.type])


def product_shared(p, problem):
    return _shared((p["tile_ow"] + p["tile_oc"]) * p["ic"] * 2, p, 4)


def _registers(needed, threads, p):
    """`threads` is 0 of tiles that are smaller than a thread's, which another rule rejects."""
    if p["min_blocks"] * threads > THREADS:
        return f"min_blocks={p['min_blocks']} blocks of {threads} threads are more than a multiprocessor's {THREADS}"
    share = min(255, REGISTERS // (p["min_blocks"] * max(threads, 1)))
    if needed > share:
        return f"a thread needs at least {needed} registers, and with min_blocks={p['min_blocks']} has {share}"
    return ""


def direct_registers(p, problem):
    sums = p["thread_oc"] * p["thread_ow"] * p["thread_oh"]
    window = p["thread_oh"] * (p["thread_ow"] + p["kw_tile"] - 1)
    return _registers(sums + window + p["thread_oc"] + ADDRESSING, warps(p, 1), p)


def mma_registers(p, problem):
    rows, columns = p["thread_oc"], p["thread_ow"] * p["thread_oh"]
    return _registers(rows * columns // 32 + rows // 16 * 4 + columns // 8 * 2 + ADDRESSING, 32 * warps(p, 1), p)


def product_registers(p, problem):
    sums = p["thread_oc"] * p["thread_ow"] * p["products"]  # 3 products: three sums of each
    return _registers(min(sums, 2 * sums) + 2 * p["thread_oc"] + 8 + ADDRESSING, warps(p, 1), p)


def not_strict(p, problem):
    return "strict asks for sums of products of x and w themselves" if problem.mode == "strict" else ""


def cpu_product_registers(p, problem):
    registers, lanes = CPU_REGISTERS[problem.target]
    if p["tile_ow"] % lanes:
        return f"tile_ow={p['tile_ow']} is no multiple of a vector's {lanes} lanes"
    columns = p["tile_ow"] // lanes
    needed = (3 if p["products"] == 3 else 2) * p["tile_oc"] * columns + 2 * columns
    return f"{needed} vectors are more than the {registers} registers" if needed > registers else ""


def cpu_registers(p, problem):
    registers, lanes = CPU_REGISTERS[problem.target]
    vectors = p["tile_oc"] // lanes
    needed = vectors * p["tile_ow"] + vectors + 1
    return f"{needed} vectors are more than the {registers} registers" if needed > registers else ""
