"""Puts the parts together into one HTML page that needs nothing else."""

from __future__ import annotations

import collections
import re
from pathlib import Path

import jinja2
from markupsafe import Markup, escape

from . import sections
from .sections import Inputs

# HTML has no way to write these.
_CONTROL = dict.fromkeys([*range(9), 11, 12, *range(14, 32), 127, 0xfffe, 0xffff], "\ufffd")
TEMPLATES = Path(__file__).resolve().parent / "templates"


def _breakable(text) -> Markup:
    """Escaped, with places where a long name may be broken."""
    return Markup(re.sub(r"([_+,/])(?=\S)", r"\1<wbr>", str(escape(text))))


def _devices(run) -> list:
    """One line for each device and build that was measured on."""
    lines = []
    for m in run.measurements:
        device, build = m.device, m.build
        words = [str(device.get("name") or m.problem.target)]
        words += [f"{key} {device[key]}" for key in ("arch", "driver", "clocks", "threads") if device.get(key)]
        words += [f"{key} {str(build[key])[:16]}" for key in ("halide", "nvcc", "source") if build.get(key)]
        lines.append(", ".join(words))
    return list(dict.fromkeys(lines))


def _tiles(inputs: Inputs) -> list:
    """(number, what it counts) for the page's head."""
    run = inputs.run
    statuses = collections.Counter(m.status for m in run.measurements)
    verdicts = collections.Counter(d.verdict for d in run.decisions)
    samples, rejected = sum(m.samples for m in run.measurements), sum(m.rejected for m in run.measurements)
    seconds = sum(m.seconds for m in run.measurements)
    tiles = [(len(run.problems()), "problems"), (len(run.measurements), "measurements"),
             (statuses["ok"], "right and timed")]
    tiles += [(count, status.replace("_", " ")) for status, count in statuses.most_common() if status != "ok"]
    tiles += [(count, "ties" if verdict == "tie" else f"winners {verdict}")
              for verdict, count in verdicts.most_common()]
    tiles.append((samples, f"samples, {rejected} rejected"))
    time, unit = (seconds / 60, "minutes") if seconds >= 60 else (seconds, "seconds")
    tiles.append((f"{time:.1f}", unit))
    return tiles


def render(inputs: Inputs, title: str = "hconv: tuning report") -> str:
    """The page. Every text of the inputs is escaped; the figures are SVG elements in it."""
    environment = jinja2.Environment(loader=jinja2.FileSystemLoader(TEMPLATES), autoescape=True, trim_blocks=True,
                                     lstrip_blocks=True, undefined=jinja2.StrictUndefined, keep_trailing_newline=True)
    environment.filters["breakable"] = _breakable
    whens = sorted(m.when for m in inputs.run.measurements if m.when)
    parts = [sections.winners(inputs), sections.roofline(inputs), sections.peers(inputs), sections.heat(inputs),
             sections.convergence(inputs), sections.regression(inputs), sections.decisions(inputs),
             sections.failures(inputs)]
    text = environment.get_template("report.html").render(
        title=title, style=Markup((TEMPLATES / "report.css").read_text(encoding="utf-8")), devices=_devices(inputs.run),
        span=f"{whens[0]} to {whens[-1]}" if whens else "", tiles=_tiles(inputs), notices=inputs.run.notices
        + (inputs.before.notices if inputs.before else []), parts=parts, kernels=sections.kernels(inputs))
    return text.replace("\r\n", "\n").translate(_CONTROL)
