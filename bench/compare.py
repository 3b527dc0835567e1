#!/usr/bin/env python3
"""Checks and then times hconv against cuDNN, torch.fft and Triton kernels, on one device, in one run.

SHAPE is B,C,H,W,KH,KW[,C_out[,pad]] or a file of such lines (default: shapes/perf.txt). Inputs are fresh random numbers;
every result is compared with float64, and a wrong one is FAILED and not timed. Outputs are filled with NaN before the
check. Times are medians of device time with the L2 cache cleared before each run, or of the wall clock with --wall.
"""

from __future__ import annotations

import argparse
import math
import os
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "python")]

from lib.records import COLUMNS, Record, ratio_table, variant_table  # noqa: E402
from hconv_measure.arguments import words  # noqa: E402
from hconv_measure.shapes import collect_shapes  # noqa: E402

LAYOUTS = ("nchw", "nhwc")
KINDS, MODES = ("f32", "bf16", "f16"), ("fp32", "strict", "tf32")
EXAMPLES = """examples:
  compare.py                                              all of shapes/perf.txt, float32
  compare.py --types f32,bf16,f16 --tsv out.tsv --triton kernel.py
  compare.py --peers cudnn,tiled --math fp32,tf32 1,128,256,256,32,32
  compare.py --peers gemm,winograd,cublas --math strict   against cuDNN's algorithms of a family, and cuBLAS
  compare.py --all-variants --peers none shapes/perf.txt  which variant is the fastest, and was it chosen?"""


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__, epilog=EXAMPLES,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("shapes", nargs="*", metavar="SHAPE", default=[str(HERE.parent / "shapes" / "perf.txt")])
    parser.add_argument("--types", type=words(KINDS, empty=KINDS), default=["f32"], help="of f32,bf16,f16 (default: f32)")
    parser.add_argument("--math", type=words(MODES, empty=MODES), default=["fp32"],
                        help="hconv's modes, of fp32,strict,tf32; the others are divided by the first (default: fp32)")
    parser.add_argument("--layout", choices=LAYOUTS, default="nchw",
                        help="of hconv's x, w and y; peers have theirs in their names (default: %(default)s)")
    parser.add_argument("--peers", help="all, none, or parts of names: cudnn,fft,triton,tf32; only on request: gemm and "
                        "winograd (the fastest of cuDNN's algorithms of a family), cublas (1x1; all three float32)")
    parser.add_argument("--triton", action="append", default=[], metavar="[NAME=]FILE",
                        help="Python file with kernel_function(x, w); may be repeated")
    parser.add_argument("--triton-max-tflop", type=float, default=math.inf, metavar="N",
                        help="leave larger shapes out for the Triton kernels")
    parser.add_argument("--budget", type=float, default=0.12, metavar="SECONDS",
                        help="for each measurement; 3 to 50 runs (default: %(default)s)")
    parser.add_argument("--wall", action="store_true",
                        help="on CUDA: wall-clock time of a call until its result is there, instead of device time")
    parser.add_argument("--one-call", action="store_true", help="time conv2d, which packs the weights, as well")
    parser.add_argument("--all-variants", action="store_true", help="time every variant of hconv")
    parser.add_argument("--ceilings", action="store_true", help="measure copy and matrix-product rates first")
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--threads", type=int, help="PyTorch's threads with --device cpu")
    parser.add_argument("--seed", type=int, help="of the random inputs (default: a new one, printed)")
    parser.add_argument("--tsv", metavar="FILE", help="write the tab-separated lines there instead of printing them")
    options = parser.parse_args(arguments)
    try:
        options.shapes = collect_shapes(options.shapes)
    except (ValueError, OSError) as reason:
        parser.error(str(reason))
    return options


def choose(peers, choice):
    """The peers that --peers asks for: a part of the name, or the mode. None: all but those on request. Of these only
    their names count, and no part that another peer's name has: `cudnn` and `fft` are not meant for them."""
    if choice in (None, "all", "none"):
        return [peer for peer in peers if choice == "all" or choice is None and not peer.on_request]
    parts = [part for part in map(str.strip, choice.split(",")) if part]
    special = [part for part in parts if not any(part in peer.name for peer in peers if not peer.on_request)]
    return [peer for peer in peers
            if any(part in peer.name for part in (special if peer.on_request else parts))
            or peer.mode in parts and not peer.on_request]


def measure_peer(peer, case, clock, torch):
    """A Record, or None where the peer does not serve the case."""
    from hconv_measure.bounds import bound
    from lib.peers import Skip
    common = dict(shape=str(case.shape), kind=case.kind, mode=peer.mode, who=peer.name, flops=case.shape.flops)
    peer.switch()
    try:
        call = peer.prepare(case)
        # The allocator hands this memory out again, most likely as the output: what is not written then shows.
        torch.full(case.shape.output, math.nan, dtype=case.x.dtype, device=case.device)
        error, wrong = case.check(call(), bound(case.shape.reduction, case.kind, peer.mode, slack=16))
        ms = None if wrong else clock.milliseconds(call)
        return Record(ms=ms, error=error, note=wrong, variant=getattr(call, "variant", ""), **common)
    except Skip:
        return None
    except Exception as reason:  # a peer may fail in any way; the comparison goes on without it
        return Record(ms=None, error=math.nan, note=f"{type(reason).__name__}: {str(reason)[:200]}", **common)


def measure_shape(shape, kind, options, peers, clock, generator, torch):
    """All records of one shape in one type."""
    from lib import ours
    from hconv_measure.data import Case
    from lib.peers import set_switches
    set_switches()
    case = Case(shape, kind, options.device, generator, options.layout)
    modes = options.math if kind == "f32" else options.math[:1]
    records = []
    for mode in modes:
        records.append(ours.measure(case, mode, clock))
        if options.one_call:
            records.append(ours.measure(case, mode, clock, "hconv call", one_call=True))
    for peer in peers:
        too_large = peer.name.startswith("triton") and shape.flops > options.triton_max_tflop * 1e12
        if kind in peer.kinds and not too_large:
            record = measure_peer(peer, case, clock, torch)
            records += [record] if record else []
    if options.all_variants:
        records += ours.measure_variants(case, modes[0], clock)
    return records


def ceilings(clock, torch):
    """Rates of the device as records: TB/s of a large copy, TFLOP/s of an 8192 matrix product."""
    from lib.peers import set_switches
    source = torch.empty(1 << 30, dtype=torch.uint8, device="cuda").random_()
    target = torch.empty_like(source)
    target.copy_(source)
    ms = clock.milliseconds(lambda: target.copy_(source))
    print(f"copy           {2 * source.numel() / ms / 1e9:8.2f} TB/s (read and written)")
    yield Record(shape="copy 2^30 bytes", kind="u8", mode="-", who="ceiling", ms=ms, error=0.0)
    n = 8192
    for kind, mode, dtype in (("f32", "fp32", torch.float32), ("f32", "tf32", torch.float32),
                              ("bf16", "fp32", torch.bfloat16), ("f16", "fp32", torch.float16)):
        set_switches(tf32=mode == "tf32")
        a, b = (torch.randn(n, n, device="cuda").to(dtype) for _ in range(2))
        a @ b
        ms = clock.milliseconds(lambda: a @ b)
        print(f"product {kind:4} {mode:4}{2 * n ** 3 / ms / 1e9:7.1f} TFLOP/s ({n}x{n}x{n})")
        yield Record(shape=f"product {n}", kind=kind, mode=mode, who="ceiling", ms=ms, error=0.0)


def prepare_device(options):
    """(torch, clock, peers). Raises RuntimeError with the sentence why nothing can be measured."""
    try:
        import torch
    except ImportError:
        raise RuntimeError("PyTorch is not installed, and compare.py needs it for the peers and the reference.") from None
    if options.device == "cuda" and not torch.cuda.is_available():
        raise RuntimeError("PyTorch finds no CUDA device here; --device cpu compares the CPU variants.")
    from hconv_measure import clocks
    from lib import cudnn, peers
    import hconv
    try:
        hconv.version()
        if options.device == "cuda" and not hconv.device_count():
            raise RuntimeError("PyTorch finds a CUDA device, but hconv does not.")
        if options.all_variants and not hasattr(hconv._native.library(), "hconv_reload_environment"):
            raise RuntimeError("This libhconv.so cannot pin variants (no hconv_reload_environment).")
        chosen = peers.gpu_peers() + cudnn.cudnn_peers() if options.device == "cuda" else peers.cpu_peers()
        for word in options.triton:
            name, _, path = word.rpartition("=")
            chosen.append(peers.triton_peer(path, f"triton {name}" if name else None))
    except (hconv.Error, ValueError, OSError) as reason:
        raise RuntimeError(str(reason)) from None
    on_gpu = clocks.GpuWallClock if options.wall else clocks.GpuClock
    clock = on_gpu(options.budget) if options.device == "cuda" else clocks.CpuClock(options.budget)
    if options.threads:
        torch.set_num_threads(options.threads)
    return torch, clock, choose(chosen, options.peers)


def report(records, options):
    print()
    for kind in options.types:
        print(ratio_table(records, kind))
        if options.all_variants:
            print(variant_table(records, kind))
    failed = [record for record in records if record.ms is None]
    for record in failed:
        print(f"FAILED {record.kind} {record.shape} {record.who} {record.mode} {record.variant}: {record.note}")
    lines = ["\t".join(COLUMNS)] + [record.tsv() for record in records]
    if options.tsv:
        Path(options.tsv).write_text("\n".join(lines) + "\n", encoding="utf-8")
    else:
        print("\n" + "\n".join(lines))
    return any(record.who.startswith("hconv") for record in failed)


def main(arguments=None) -> int:
    """0: all of hconv's results are right; 1: some are not; 2: nothing could be measured."""
    options = parse(arguments)
    try:
        torch, clock, peers = prepare_device(options)
    except RuntimeError as reason:
        print(f"compare: {reason}", file=sys.stderr)
        return 2
    import hconv
    start = time.time()
    seed = int.from_bytes(os.urandom(4), "little") if options.seed is None else options.seed
    generator = torch.Generator(device=options.device)
    generator.manual_seed(seed)
    print(f"hconv {hconv.version()}, torch {torch.__version__}, {hconv.device_name(options.device)}, seed {seed}")
    records = list(ceilings(clock, torch)) if options.ceilings and options.device == "cuda" else []
    with torch.no_grad():
        for kind in options.types:
            for shape in options.shapes:
                began = time.time()
                new = measure_shape(shape, kind, options, peers, clock, generator, torch)
                records += new
                own = next(r for r in reversed(new) if r.who == "hconv")
                told = "FAILED" if own.ms is None else f"{own.ms:.4f} ms"
                print(f"{kind:5}{str(shape):28}{told:>14}  {own.variant}  [{time.time() - began:.1f} s]", flush=True)
                for record in new:
                    if record.variant and not record.who.startswith("hconv"):
                        print(f"{'':5}{record.who}: {record.variant}")
    wrong = report(records, options)
    print(f"\n{len(records)} measurements in {time.time() - start:.0f} s")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
