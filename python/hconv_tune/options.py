"""The arguments of tools/autotune.py."""

from __future__ import annotations

import argparse
import os
import re
from pathlib import Path

from hconv_measure.arguments import words
from hconv_measure.shapes import collect_shapes

from . import machine
from .finals import ALGORITHMS
from .problem import LAYOUTS, MODES, ROOT, TARGETS, TYPES, Problem

DESCRIPTION = """Searches the schedule parameters of hconv's kernels for shapes on this machine, and writes a tuned table.

Every candidate is built by the real generators and compilers, checked on adversarial data against float64, and timed in a
process of its own. All that is measured goes into a log at once: a run that is stopped, by whatever, goes on where it was
when it is started again with the same arguments. docs/tuning.md has the rest."""
EXAMPLES = """examples:
  autotune.py --dry-run --shapes shapes/perf.txt        what would be searched, and how long that takes
  autotune.py --target cpu --shapes 1,64,58,58,3,3      all register tiles of this processor, one shape
  autotune.py --types f32,bf16 --budget 25m             the GPU, shapes/perf.txt, 25 minutes
  autotune.py --explain --shapes 1,64,58,58,3,3         why the winner won, from the log
  autotune.py --loss l.tsv --shapes shapes/untuned.txt  how much slower the library's choices are than the best
  autotune.py --build-only, then --only-built elsewhere: compile where the CPUs are, measure where the GPU is"""


def seconds(text: str) -> float:
    """"90", "90s", "25m" or "2h"."""
    found = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)([smh]?)", text)
    if not found or float(found.group(1)) == 0:
        raise argparse.ArgumentTypeError(f'"{text}" is no time; expected a number above 0 with s, m or h behind it')
    return float(found.group(1)) * {"": 1, "s": 1, "m": 60, "h": 3600}[found.group(2)]


def _count(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f'"{text}" is no whole number above 0')
    return int(text)


def _whole(text: str) -> int:
    if not text.isdigit():
        raise argparse.ArgumentTypeError(f'"{text}" is no whole number')
    return int(text)


def _times(text: str) -> float:
    if not re.fullmatch(r"[0-9]+(\.[0-9]+)?", text) or 0 < float(text) < 1:
        raise argparse.ArgumentTypeError(f'"{text}" is neither 0 nor a number of at least 1')
    return float(text)


def parse(arguments=None):
    parser = argparse.ArgumentParser(prog="autotune.py", description=DESCRIPTION, epilog=EXAMPLES,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--shapes", nargs="+", metavar="SHAPE", default=[str(ROOT / "shapes" / "perf.txt")],
        help="B,C,H,W,KH,KW[,C_out[,pad]] or files of such lines (default: shapes/perf.txt)")
    add("--types", type=words(TYPES), default=["f32"], help="of f32,bf16,f16 (default: f32)")
    add("--math", type=words(MODES), default=["fp32"], help="of fp32,strict,tf32 (default: fp32)")
    add("--layouts", type=words(LAYOUTS), default=["nchw"], help="of nchw,nhwc (default: nchw)")
    add("--target", choices=("cpu", *TARGETS), default="cuda", help="cpu: the best one that this processor has")
    add("--threads", type=_count, default=1, help="of a CPU (default: 1, measured in processor time)")
    add("--algorithms", type=words(ALGORITHMS), default=[], help=f"of {','.join(ALGORITHMS)} (default: all)")
    add("--trials", type=_whole, default=64, help="candidates of a problem, shipped ones among them, after which no "
        "new one is made (default: %(default)s)")
    add("--rounds", type=_count, default=6, help="runs of each finalist; fewer than 6 separate nothing")
    add("--budget", type=seconds, default=None, metavar="TIME", help="for all problems together: 90s, 25m, 2h")
    add("--measure", type=seconds, default=0.3, metavar="TIME", help="timed runs of one measurement (default: 0.3s)")
    add("--prune", type=_times, default=0.0, metavar="TIMES", help="leave out shipped variants whose modelled cost is more "
        "than so many times the least (default: 0, measure all)")
    add("--fresh", choices=("yes", "no"),
        help="a new process for each run of the finals (default: yes on a CPU, no on a GPU)")
    add("--processes", type=_count, default=48, help="of candidates, alive at once (default: %(default)s)")
    add("--jobs", type=_count, default=max(1, (os.cpu_count() or 2) - 1), help="builds and checks side by side")
    add("--seed", type=int, default=0, help="of the search (default: 0)")
    add("--storage", metavar="WHERE", help="Optuna's storage, for one search over several processes: a URL or a file")
    add("--build", type=Path, default=ROOT / "build" / "default", metavar="DIR", help="a finished build")
    add("--work", type=Path, default=ROOT / "build" / "tune", metavar="DIR",
        help="for log, candidates and references (default: build/tune)")
    add("--log", type=Path, metavar="FILE", help="default: WORK/log.jsonl")
    add("--table", type=Path, metavar="FILE", help="read as what serves now, and written (default: WORK/DEVICE.txt)")
    modes = parser.add_mutually_exclusive_group()
    modes.add_argument("--loss", metavar="TSV", type=Path, help="measure what the library's choices, with --table, lose "
                       "against the best; tune nothing, write the ratios there")
    add("--only-built", action="store_true", help="measure only what ships and what --build-only left in WORK")
    for name, text in (("--dry-run", "show the search, build and measure nothing"),
                       ("--explain", "show why each winner of the log won"),
                       ("--build-only", "build candidates, measure nothing")):
        modes.add_argument(name, action="store_true", help=text)
    options = parser.parse_args(arguments)
    options.log = options.log or options.work / "log.jsonl"
    try:
        options.shapes = collect_shapes(options.shapes)
    except (ValueError, OSError) as reason:
        parser.error(str(reason))
    if options.only_built and options.build_only:
        parser.error("--only-built measures what --build-only built; they are not for one call")
    if options.target == "cpu":
        options.target = machine.best_cpu_target()
    return options


def problems_of(options) -> list[Problem]:
    """One for each type, mode, shape and layout; modes other than the first only where the type knows a difference."""
    threads = 0 if options.target == "cuda" else options.threads
    return [Problem(shape, type, mode, options.target, threads, layout) for type in options.types
            for mode in (options.math if type == "f32" else options.math[:1]) for shape in options.shapes
            for layout in options.layouts]
