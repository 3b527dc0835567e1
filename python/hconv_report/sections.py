"""The parts of the page: each has a figure or a table, or a sentence that says what is missing."""

from __future__ import annotations

import collections
import dataclasses

from . import analysis, figures
from .peers import Comparison
from .records import Run
from .sources import Sources

MOST_MAPS, MOST_CURVES, MOST_FAILURES = 4, 12, 25


@dataclasses.dataclass
class Section:
    """`plots` are (caption, SVG); `rows` are lists of cells under `head`; `missing` says what is not there and why."""

    id: str
    title: str
    lead: str = ""
    plots: list = dataclasses.field(default_factory=list)
    head: list = dataclasses.field(default_factory=list)
    rows: list = dataclasses.field(default_factory=list)
    missing: list = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class Inputs:
    run: Run
    before: Run | None = None
    comparison: Comparison | None = None
    sources: Sources = dataclasses.field(default_factory=lambda: Sources(None))
    heat: tuple = ()


def milliseconds(value) -> str:
    return "" if value is None else f"{value:.4g} ms"


def _amount(value, unit: str = "") -> str:
    return "not in the log" if value is None else f"{value:g}{unit}" if value else "none"


def label_of(inputs: Inputs):
    """A function Problem -> text, with the device only where there are several."""
    targets = {problem.target for problem in inputs.run.problems()}
    return lambda problem: problem.label + (f" {problem.target}" if len(targets) > 1 else "")


def decisions(inputs: Inputs) -> Section:
    section = Section("decisions", "Decisions", "What the tuner made of each problem. The incumbent stays unless the "
                      "confidence intervals separate.")
    section.head = ["problem", "verdict", "winner", "incumbent", "why"]
    section.rows = [[d.what, d.verdict, d.winner, d.incumbent, d.why] for d in inputs.run.decisions]
    if not section.rows:
        section.missing.append("The logs hold no decision: the search was not finished, or only measured.")
    return section


def winners(inputs: Inputs) -> Section:
    section = Section("best", "Fastest candidates", "The median of each problem's fastest candidate, with its "
                      "interval; of those that were measured again in the end, if any were.")
    section.head = ["problem", "time", "interval", "TFLOP/s", "rel. L2 error", "candidates", "variant"]
    problems, label = inputs.run.problems(), label_of(inputs)
    for problem, m in inputs.run.best().items():
        candidates = {of.variant for of in problems[problem]}
        interval = "" if m.low is None or m.high is None else f"{m.low:.4g} to {m.high:.4g}"
        section.rows.append([label(problem), milliseconds(m.median), interval, f"{problem.flops / m.median / 1e9:.3g}",
                             "" if m.error is None else f"{m.error:.1e}", str(len(candidates)), m.variant])
    if not section.rows:
        section.missing.append("The logs hold no candidate with a time.")
    return section


def roofline(inputs: Inputs) -> Section:
    section = Section("roofline", "Roofline", "Operations of the direct algorithm over the time of the fastest "
                      "candidate, against operations a byte of x, w and y. A transform needs fewer operations, and may "
                      "lie above.")
    points = analysis.roofline_points(inputs.run, inputs.comparison)
    if not points:
        section.missing.append("There is no measured time: neither in the logs nor in a comparison (--compare).")
        return section
    copy = inputs.comparison.copy_rate() if inputs.comparison else None
    products = inputs.comparison.product_rates() if inputs.comparison else {}
    section.plots.append(("", figures.roofline(points, copy, products, "Roofline")))
    if copy is None or not products:
        section.missing.append("The ceilings of the device are missing: they are in a comparison (--compare) that "
                               "bench/compare.py made with --ceilings.")
    return section


def peers(inputs: Inputs) -> Section:
    section = Section("peers", "Against the others", "Their time over hconv's, of one run of bench/compare.py, which "
                      "checks every result first. To the right of the line hconv is the faster one.")
    if inputs.comparison is None:
        section.missing.append("There is no comparison: --compare takes the file that bench/compare.py --tsv wrote.")
        return section
    for type_ in inputs.comparison.types():
        own, others = inputs.comparison.own(type_), inputs.comparison.peers(type_)
        rows = [(shape, {name: times[shape] / row.ms for name, times in others.items() if shape in times})
                for shape, row in own.items()]
        if any(ratios for _, ratios in rows):
            section.plots.append((type_, figures.peer_bars(rows, list(others), f"Peers {type_}")))
        else:
            section.missing.append(f"For {type_} the comparison has no other contestant.")
    failed = [row for row in inputs.comparison.rows if row.ms is None]
    if failed:
        section.head = ["failed", "shape", "type", "mode"]
        section.rows = [[row.who, row.shape, row.type, row.mode] for row in failed]
    if not inputs.comparison.types():
        section.missing.append("The comparison has no row of hconv.")
    return section


def heat(inputs: Inputs) -> Section:
    section = Section("heat", "Time over two parameters", "The best time of all candidates with these two values, in "
                      "milliseconds; hatched where none has a time.")
    problems = sorted(inputs.run.problems().items(), key=lambda item: -sum(m.timed for m in item[1]))
    label = label_of(inputs)
    for problem, measurements in problems:
        found = analysis.heat_map(problem, measurements, inputs.heat)
        if found and len(section.plots) < MOST_MAPS:
            caption = f"{label(problem)}, {found.algorithm}"
            section.plots.append((caption, figures.heat_map(found.rows, found.columns, found.cells, found.row,
                                                            found.column, f"Heat map {caption}")))
    if not section.plots:
        wanted = " and ".join(inputs.heat)
        section.missing.append(f"No problem has times over {wanted}." if wanted else
                               "No problem has times over at least two parameters that were varied.")
    elif len(problems) > len(section.plots):
        section.lead += f" The {len(section.plots)} problems with the most times, of {len(problems)}."
    return section


def convergence(inputs: Inputs) -> Section:
    section = Section("convergence", "Convergence", "The best time so far over the best in the end, against the number "
                      "of candidates tried, those without a result among them.")
    label = label_of(inputs)
    curves = [(label(problem), analysis.curve([m for m in measurements if m.round == 0]))
              for problem, measurements in inputs.run.problems().items()]
    curves = [(name, points) for name, points in curves if points]
    for start in range(0, min(len(curves), MOST_CURVES), 6):
        section.plots.append(("", figures.convergence(curves[start:start + 6][:MOST_CURVES - start],
                                                      f"Convergence {start // 6 + 1}")))
    if not curves:
        section.missing.append("The logs hold no candidate with a time.")
    elif len(curves) > MOST_CURVES:
        section.lead += f" The first {MOST_CURVES} of {len(curves)} problems."
    return section


def regression(inputs: Inputs) -> Section:
    section = Section("regression", "Against an earlier run", "The fastest candidate's time now over the one before. A "
                      "change counts where the two intervals do not touch.")
    if inputs.before is None:
        section.missing.append("There is no earlier run: --before takes its log.")
        return section
    found, label = analysis.changes(inputs.run, inputs.before), label_of(inputs)
    if not found:
        section.missing.append("The earlier run has no problem in common with this one (device, shape, type and mode).")
        return section
    section.plots.append(("", figures.regression([(label(c.problem), c.ratio, c.low, c.high, c.verdict) for c in found],
                                                 "Regression")))
    section.head = ["problem", "verdict", "before", "now", "now / before", "variant before", "variant now"]
    section.rows = [[label(c.problem), c.verdict, milliseconds(c.before.median), milliseconds(c.now.median),
                     f"{c.ratio:.3f}", c.before.variant, "the same" if c.now.variant == c.before.variant
                     else c.now.variant] for c in found]
    gone, new = analysis.only_in(inputs.before, inputs.run), analysis.only_in(inputs.run, inputs.before)
    if gone:
        section.missing.append(f"Only the earlier run has {', '.join(label(problem) for problem in gone)}.")
    if new:
        section.missing.append(f"Only this run has {', '.join(label(problem) for problem in new)}.")
    return section


def failures(inputs: Inputs) -> Section:
    section = Section("failures", "Candidates without a result", "Why they were dropped; each cost itself only.")
    found = analysis.failures(inputs.run)
    section.head = ["status", "how often", "reason", "one of them"]
    section.rows = [[status, str(count), reason, variant] for status, reason, count, variant in found[:MOST_FAILURES]]
    if not found:
        section.lead = "There are none."
    elif len(found) > MOST_FAILURES:
        section.missing.append(f"{len(found) - MOST_FAILURES} further reasons are left out.")
    return section


def kernels(inputs: Inputs) -> list:
    """A dict for each variant that is the fastest for a problem: what it is, uses, and its CUDA text."""
    by_variant, label = collections.defaultdict(list), label_of(inputs)
    for problem, m in inputs.run.best().items():
        by_variant[m.variant].append((problem, m))
    found = []
    for variant, uses in by_variant.items():
        m = next((m for _, m in uses if m.registers is not None), uses[0][1])
        on_cpu = uses[0][0].target.startswith("cpu")
        files, note = ([], "it runs on the CPU") if on_cpu else inputs.sources.of(variant)
        found.append({
            "variant": variant, "problems": [f"{label(problem)}: {milliseconds(of.median)}" for problem, of in uses],
            "facts": [("algorithm", m.algorithm or "not in the log"),
                      ("registers a thread", _amount(m.registers)),
                      ("shared memory of a block", _amount(m.shared_bytes, " bytes")),
                      ("parameters", ", ".join(f"{key} {value}" for key, value in sorted(m.parameters.items())))],
            "files": files, "note": note})
    return found
