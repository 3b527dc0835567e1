"""The command tools/autotune.py."""

from __future__ import annotations

import concurrent.futures
import contextlib
import math
import os
import shutil
import sys
import time
from pathlib import Path

import rich.console

from . import explain, loss, machine, questions, table, tuner
from .builder import Builder, BuildFolder, BuildFolderError
from .candidate import shipped_candidates
from .listing import Listing
from .log import Log, LogError, read
from .measuring import Measuring, NoCases
from .options import parse, problems_of
from .pool import Pool
from .problem import ROOT
from .progress import Shown
from .runner import Runner
from .search import Search, open_storage, plan_of

import manifest  # noqa: E402  isort: skip

# What the server of processes imports once: PyTorch takes seconds to.
MODULES = ("hconv_tune.questions", "hconv_tune.worker")
PRELOADED = {True: ("torch", *MODULES), False: MODULES}


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
            try:
                result = tuning.tune(problem, time.monotonic() + left, entries.get(key), "\n".join(rows), end)
            except NoCases as reason:
                progress.note(str(reason))
                undecided += 1
                continue
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
