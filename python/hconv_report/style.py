"""Matplotlib figures as SVG inside HTML: colours and fonts are the page's, so that they follow light and dark."""

from __future__ import annotations

import contextlib
import io
import re
import warnings

import matplotlib
from markupsafe import Markup, escape

matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402

# Colours that stand for the page's CSS variables while matplotlib draws.
INK, QUIET, GRID, CARD, ACCENT = "#a10001", "#a10002", "#a10003", "#a10004", "#a10005"
GOOD, BAD = "#a10006", "#a10007"
SERIES = ("#a20001", "#a20002", "#a20003", "#a20004", "#a20005", "#a20006")
_VARIABLES = {INK: "--ink", QUIET: "--quiet", GRID: "--grid", CARD: "--card", ACCENT: "--accent", GOOD: "--good",
              BAD: "--bad", **{colour: f"--series-{i}" for i, colour in enumerate(SERIES, 1)}}

# A figure is as wide as a phone's screen, one point a pixel; a desktop shows it somewhat larger.
WIDTH = 4.7
MARKERS = "osD^vPX"


def series_style(index: int) -> dict:
    """Colour and marker of a series: both differ, for those who cannot tell the colours apart."""
    return dict(color=SERIES[index % len(SERIES)], marker=MARKERS[index % len(MARKERS)])


@contextlib.contextmanager
def figure(height: float, name: str):
    """A figure of WIDTH x height inches in the page's colours; yields it and a list, whose one entry is afterwards the
    SVG element as Markup. `name` tells the ids of several figures on a page apart."""
    settings = {
        "svg.fonttype": "none", "svg.hashsalt": name, "svg.id": None, "font.family": "DejaVu Sans", "font.size": 9,
        "text.parse_math": False, "text.color": INK, "axes.edgecolor": QUIET, "axes.labelcolor": INK,
        "axes.facecolor": "none", "figure.facecolor": "none", "savefig.facecolor": "none", "xtick.color": QUIET,
        "ytick.color": QUIET, "xtick.labelcolor": INK, "ytick.labelcolor": INK, "grid.color": GRID, "axes.grid": False,
        "axes.spines.top": False, "axes.spines.right": False, "legend.frameon": False, "legend.fontsize": 8.5,
        "axes.axisbelow": True, "lines.linewidth": 1.5, "hatch.color": QUIET,
    }
    known = {key: value for key, value in settings.items() if key in matplotlib.rcParams}
    with warnings.catch_warnings(), matplotlib.rc_context(known):
        drawn = pyplot.figure(figsize=(WIDTH, height), layout="constrained")
        result = []
        try:
            yield drawn, result
            buffer = io.StringIO()
            # The reader's browser has its own fonts for what the one that measures here lacks.
            warnings.filterwarnings("ignore", "Glyph .* missing from font")
            drawn.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None, "Format": None, "Type": None})
        finally:
            pyplot.close(drawn)
    result.append(_inline(buffer.getvalue(), name))


def _inline(svg: str, name: str) -> Markup:
    svg = svg[svg.index("<svg"):]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    # It has a rule for *, which would hold for the page; the page's stylesheet has it for plots.
    svg = re.sub(r"<style.*?</style>", "", svg, flags=re.DOTALL)
    svg = re.sub(r"\s*<\?xml.*?\?>|<!DOCTYPE.*?>", "", svg, flags=re.DOTALL)
    # The page's stylesheet sizes it; the viewBox keeps its proportions.
    head, rest = svg.split(">", 1)
    head = re.sub(r'\s(width|height)="[^"]*"', "", head)
    for colour, variable in _VARIABLES.items():
        rest = rest.replace(colour, f"var({variable})")
    rest = re.sub(r"""(style="[^"]*?)'DejaVu Sans'[^;"]*""", r"\1var(--font)", rest)
    # Ids such as figure_1 are the same in every figure; only those that something refers to are needed.
    used = {first or second for first, second in re.findall(r'url\(#([^)"]+)\)|href="#([^"]+)"', rest)}
    rest = re.sub(r'(<[a-zA-Z]+) id="([^"]*)"', lambda m: m[0] if m[2] in used else m[1], rest)
    return Markup(f'{head} class="plot" role="img" aria-label="{escape(name)}">{rest}')
