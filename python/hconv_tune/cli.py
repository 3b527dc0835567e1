"""The command tools/autotune.py."""

from __future__ import annotations

import argparse
import concurrent.futures
import contextlib
import math
import os
import re
import shutil
import sys
import time
from pathlib import Path

import rich.console
from hconv_measure.arguments import words
from hconv_measure.shapes import collect_shapes

from . import explain, loss, machine, questions, table, tuner
from .builder import Builder, BuildFolder, BuildFolderError
from .candidate import shipped_candidates
from .finals import ALGORITHMS
from .listing import Listing
from .log import Log, LogError, read
from .measuring import Measuring
from .pool import Pool
from .problem import LAYOUTS, MODES, ROOT, TARGETS, TYPES, Problem
from .progress import Shown
from .runner import Runner
from .search import Search, open_storage, plan_of

import manifest  # noqa: E402  isort: skip

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


# What the server of processes imports once: PyTorch takes seconds to.
PRELOADED = {True: ("torch", "hconv_tune.questions", "hconv_tune.worker"), False: ("hconv_tune.questions",
                                                                                   "hconv_tune.worker")}


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
    add("--rounds", type=_count, default=6, help="processes that time each finalist; fewer than 6 separate nothing")
    add("--budget", type=seconds, default=None, metavar="TIME", help="for all problems together: 90s, 25m, 2h")
    add("--measure", type=seconds, default=0.3, metavar="TIME", help="timed runs of one measurement (default: 0.3s)")
    add("--prune", type=_times, default=0.0, metavar="TIMES", help="leave out shipped variants whose modelled cost is more "
        "than so many times the least (default: 0, measure all)")
    add("--fresh", choices=("yes", "no"), help="a new process for each run of the finals (default: yes on a CPU, no on a GPU)")
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


def _known(options) -> list:
    return read(options.log) if options.log.exists() else []


def dry_run(options, say) -> int:
    records, total = _known(options), 0.0
    for problem in problems_of(options):
        measured = sum(r["kind"] == "measurement" and r["round"] == 0 for r in explain.of_problem(records, problem))
        text, cost = explain.describe_plan(plan_of(problem, options.algorithms), options.trials, options.rounds, measured)
        total += cost
        say(text)
    say(f"{len(problems_of(options))} problems, about {total / 60:.0f} minutes")
    return 0


def explain_log(options, say) -> int:
    records = _known(options)
    for problem in problems_of(options):
        say(explain.explain(records, problem))
    return 0


def _shipped_library(options) -> Path:
    """The library with the shipped variants; --build-only leaves a copy beside the candidates."""
    built, carried = options.build / "lib" / "libhconv.so", options.work / "candidates" / "libhconv.so"
    if options.only_built or not built.exists():
        if not carried.exists():
            raise BuildFolderError(f"Neither {built} nor {carried} exists: build the project, or run --build-only first.")
        return carried
    return built


def _builder(options) -> Builder:
    folder = None if options.only_built else BuildFolder(options.build)
    return Builder(folder, options.work / "candidates")


def build_only(options, say) -> int:
    """Builds what a search would propose first, and copies the shipped library beside it."""
    builder = _builder(options)
    shutil.copy(options.build / "lib" / "libhconv.so", builder.cache / "libhconv.so")
    manifest_text = (ROOT / "schedules" / "variants.txt").read_text()
    end = time.monotonic() + (options.budget or math.inf)
    for problem in problems_of(options):
        shipped = {candidate.variant for candidate in shipped_candidates(manifest_text, problem)}

        def build(candidates):
            todo = [candidate for candidate in candidates if candidate.variant not in shipped]
            with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
                reasons = [built.reason for built in pool.map(builder.get, todo)]
            for candidate, reason in zip(todo, reasons):
                say(f"  {'failed' if reason else 'built '} {candidate.variant} {reason[:160]}")
            return [None if candidate in todo and reasons[todo.index(candidate)] else 1.0 for candidate in candidates]

        if not options.trials:
            break
        say(str(problem))
        search = Search(plan_of(problem, options.algorithms), build, None, options.seed, options.jobs)
        search.start_with([])
        search.run(options.trials, end)
    return 0


def _device(options, library, runner: Runner) -> dict:
    if options.target != "cuda":
        return machine.cpu_device(options.target, options.threads)
    found = runner.call(questions.gpu_device, str(library))
    if found.status != "ok":
        raise BuildFolderError(f"Nothing can be measured on a GPU: {found.reason}. --target cpu tunes this processor.")
    return found.value[0]


@contextlib.contextmanager
def _parts(options, problems, console):
    """(settings, measuring, listing, progress, the table's path and entries) of a run."""
    builder, library, runner = _builder(options), _shipped_library(options), Runner(PRELOADED[options.target == "cuda"])
    device = _device(options, library, runner)
    path = options.table or options.work / f"{device['arch']}.txt"
    entries = {entry.key: entry for entry in table.read(path)}
    settings = tuner.Settings(options.work, library, (ROOT / "schedules" / "variants.txt").read_text(), device,
                              options.trials, options.rounds, options.jobs, options.seed, options.measure,
                              tuple(options.algorithms), open_storage(options.storage), options.only_built, options.prune,
                              options.target != "cuda" if options.fresh is None else options.fresh == "yes")
    pool = Pool(runner, options.processes, options.jobs)
    listing = Listing(runner, library, settings.manifest_text, options.jobs,
                      str(path.resolve()) if options.loss and path.exists() else "")
    with Shown(len(problems), console) as progress:
        measuring = Measuring(settings, Log(options.log, progress.note), builder, runner, pool, progress)
        try:
            listing.ask(problems)
            yield settings, measuring, listing, progress, path, entries
        finally:
            measuring.close()
            console.print(f"{measuring.new} measurements in {pool.started} processes")


def lose(options, console) -> int:
    """--loss."""
    problems, end = problems_of(options), time.monotonic() + (options.budget or math.inf)
    with _parts(options, problems, console) as (settings, measuring, listing, progress, path, _):
        found = loss.measure(problems, settings, measuring, listing, progress, end)
    options.loss.parent.mkdir(parents=True, exist_ok=True)
    options.loss.write_text(loss.rows(found))
    console.print(rich.markup.escape(loss.summary(found, problems, path)), soft_wrap=True)
    return 0 if len(found) == len(problems) else 1


def tune(options, console) -> int:
    problems, end, undecided = problems_of(options), time.monotonic() + (options.budget or math.inf), 0
    with _parts(options, problems, console) as (settings, measuring, listing, progress, path, entries):
        rows_path = path.with_suffix(".rows")
        rows = rows_path.read_text().splitlines() if rows_path.exists() else []
        tuning = tuner.Tuner(settings, measuring, listing, progress)
        for number, problem in enumerate(problems):
            left = (end - time.monotonic()) / (len(problems) - number)
            if left <= 0:
                undecided += 1
                continue
            key = table.key_of(settings.device["arch"], problem.type, problem.mode, problem.layout, problem.extents)
            result = tuning.tune(problem, time.monotonic() + left, entries.get(key), "\n".join(rows), end)
            for reason, count in result.rejections.most_common(3):
                progress.note(f"{count} x {reason}")
            if result.entry is None:
                undecided += 1
                continue
            entries[key] = result.entry
            new = [row for row in result.winner.rows() if row not in rows]
            if result.winner.variant not in {c.variant for c in shipped_candidates(settings.manifest_text, problem)}:
                rows = sorted({*rows, *new})
            rows = _needed(rows, entries.values())
            _write(path, rows_path, entries, rows)
    console.print(f"{len(problems) - undecided} of {len(problems)} problems are decided; the table is {path}", soft_wrap=True)
    if rows:
        console.print(f"{rows_path} has rows that schedules/variants.txt lacks", soft_wrap=True)
    return 0 if not undecided else 1


def _needed(rows, entries) -> list:
    """The rows whose variants the table names."""
    names = {name for entry in entries for name in entry.variant.split("+")}
    return [row for row in rows if any(variant.name in names for variant in manifest.parse_line(row))]


def _write(path: Path, rows_path: Path, entries: dict, rows: list) -> None:
    for where, text in ((path, table.render(entries.values())), (rows_path, "".join(f"{row}\n" for row in rows))):
        if text or where.exists():
            where.parent.mkdir(parents=True, exist_ok=True)
            partial = where.with_name(f"{where.name}.{os.getpid()}")
            partial.write_text(text)
            partial.replace(where)


def main(arguments=None) -> int:
    """0: every problem is decided; 1: some are not; 2: nothing could be done."""
    options = parse(arguments)
    console = rich.console.Console(highlight=False)

    def say(text):
        console.print(rich.markup.escape(text), soft_wrap=True)

    try:
        if options.dry_run:
            return dry_run(options, say)
        if options.explain:
            return explain_log(options, say)
        options.work.mkdir(parents=True, exist_ok=True)
        if options.build_only:
            return build_only(options, say)
        return lose(options, console) if options.loss else tune(options, console)
    except (BuildFolderError, LogError, table.TableError, RuntimeError) as reason:
        print(f"autotune: {reason}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("autotune: stopped; the log has all that was measured, and the same command goes on from there",
              file=sys.stderr)
        return 130
