"""The report's figures, from plain numbers to SVG."""

from __future__ import annotations

import math

from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from .style import ACCENT, BAD, GOOD, GRID, INK, QUIET, SERIES, figure, series_style


def _plain(value, _position=None) -> str:
    """A number of a logarithmic axis without powers of ten."""
    return f"{value:.6g}"


def _log_axis(axis, low: float, high: float, most: int = 6) -> None:
    """Ticks at 1, 2 and 5 of each power of ten, fewer where the range is wide."""
    wide = math.log10(high / low) > 2
    axis.set_major_locator(LogLocator(subs=(1,) if wide else (1, 2, 5), numticks=most + 4))
    axis.set_major_formatter(FuncFormatter(_plain))
    axis.set_minor_formatter(NullFormatter())


def short(text: str, most: int = 46) -> str:
    """A label that fits: its middle left out."""
    return text if len(text) <= most else f"{text[:most // 2 - 1]}…{text[-(most // 2):]}"


def roofline(points: list, copy_rate: float | None, product_rates: dict, name: str):
    """points: (label, type, operations a byte, operations a second). copy_rate in bytes a second, product_rates
    {(type, mode): operations a second}; None and {} where they were not measured."""
    types = list(dict.fromkeys(type_ for _, type_, _, _ in points))
    colours = {type_: series_style(index) for index, type_ in enumerate(types)}
    xs, ys = [x for _, _, x, _ in points], [y / 1e12 for *_, y in points]
    low, high = min(xs) / 2, max(xs) * 2
    with figure(3.6, name) as (drawn, result):
        axes = drawn.add_subplot()
        tops = []
        for (type_, mode), rate in product_rates.items():
            if type_ in colours:
                tops.append(rate / 1e12)
                colour = colours[type_]["color"]
                start = low if not copy_rate else max(low, rate / copy_rate)
                if start < high:
                    axes.plot([start, high], [rate / 1e12] * 2, color=colour, linewidth=1.1)
                    axes.annotate(f"{type_} product{'' if mode == 'fp32' else ' ' + mode}, {rate / 1e12:.4g}",
                                  (high, rate / 1e12), xytext=(0, 2), textcoords="offset points", ha="right",
                                  fontsize=7.5, color=QUIET)
        if copy_rate:
            end = min(high, max(tops) * 1e12 / copy_rate) if tops else high
            if end > low:
                axes.plot([low, end], [low * copy_rate / 1e12, end * copy_rate / 1e12], color=QUIET, linewidth=1.1)
            tops.append(min(end, low * 4) * copy_rate / 1e12)
            x = low * 1.15
            axes.annotate(f"copy, {copy_rate / 1e12:.3g} TB/s", (x, x * copy_rate / 1e12), xytext=(6, -3), va="top",
                          textcoords="offset points", fontsize=7.5, color=QUIET)
        for type_ in types:
            mine = [(x, y / 1e12) for _, t, x, y in points if t == type_]
            axes.scatter(*zip(*mine), s=22, label=type_, linewidths=0, alpha=0.9, **colours[type_])
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xlim(low, high)
        bottom, top = min(ys + tops) / 1.6, max(ys + tops) * 1.8
        axes.set_ylim(bottom, top)
        _log_axis(axes.xaxis, low, high)
        _log_axis(axes.yaxis, bottom, top)
        axes.grid(color=GRID, linewidth=0.6)
        axes.set_xlabel("operations a byte of x, w and y")
        axes.set_ylabel("TFLOP/s")
        drawn.legend(loc="outside upper right", ncols=3)
    return result[0]


def peer_bars(rows: list, peers: list, name: str):
    """rows: (shape, {peer: its time / hconv's}). Bars from 1: to the right hconv is the faster one."""
    thick, gap = 0.105, 0.09
    heights = [thick * max(1, sum(peer in ratios for peer in peers)) + gap for _, ratios in rows]
    ratios = [ratio for _, found in rows for ratio in found.values()]
    low, high = min([*ratios, 1]) / 1.25, max([*ratios, 1]) * 1.6
    legend_rows = math.ceil(len(peers) / 2)
    with figure(sum(heights) + 0.7 + 0.19 * legend_rows, name) as (drawn, result):
        axes = drawn.add_subplot()
        y, ticks = 0.0, []
        seen = set()
        for (shape, found), height in zip(rows, heights):
            ticks.append((y + height / 2 - gap / 2, shape))
            for index, peer in enumerate(peers):
                if peer not in found:
                    continue
                ratio = found[peer]
                axes.barh(y + thick / 2, ratio - 1, left=1, height=thick * 0.86, color=SERIES[index % len(SERIES)],
                          label=None if peer in seen else peer)
                axes.annotate(f"{ratio:.3g}", (ratio, y + thick / 2), xytext=(3 if ratio >= 1 else -3, 0),
                              textcoords="offset points", va="center", ha="left" if ratio >= 1 else "right", fontsize=7,
                              color=QUIET)
                seen.add(peer)
                y += thick
            y += gap if found else gap + thick
        axes.axvline(1, color=ACCENT, linewidth=1.4)
        axes.set_xscale("log")
        axes.set_xlim(low / (1.25 if low < 0.8 else 1), high)
        axes.set_ylim(y, -gap)
        axes.set_yticks([position for position, _ in ticks], [short(shape, 26) for _, shape in ticks], fontsize=7.5)
        axes.tick_params(axis="y", length=0)
        axes.spines["left"].set_visible(False)
        _log_axis(axes.xaxis, low, high)
        axes.xaxis.grid(color=GRID, linewidth=0.6)
        axes.set_xlabel("time / hconv's time (1: hconv)")
        drawn.legend(loc="outside upper left", ncols=2, fontsize=8)
    return result[0]


def heat_map(rows: list, columns: list, cells: dict, row_name: str, column_name: str, name: str):
    """cells: {(row, column): (ms or None, status)}; None is a candidate without a time, an absent cell
    was not tried."""
    times = [ms for ms, _ in cells.values() if ms]
    least, most = min(times), max(times)
    with figure(0.9 + 0.34 * len(rows), name) as (drawn, result):
        axes = drawn.add_subplot()
        for (row, column), (ms, status) in cells.items():
            x, y = columns.index(column), rows.index(row)
            if ms is None:
                axes.add_patch(_cell(x, y, facecolor="none", edgecolor=GRID, hatch="////"))
                axes.text(x + 0.5, y + 0.5, status, ha="center", va="center", fontsize=7, color=QUIET)
                continue
            share = math.log(ms / least) / math.log(most / least) if most > least else 0.0
            colour, dark = _shade(share)
            axes.add_patch(_cell(x, y, facecolor=colour, edgecolor=ACCENT if ms == least else "none", linewidth=2))
            axes.text(x + 0.5, y + 0.5, f"{ms:.3g}", ha="center", va="center", fontsize=8.5,
                      color="#ffffff" if dark else "#15181c", fontweight="bold" if ms == least else "normal")
        axes.set_xlim(0, len(columns))
        axes.set_ylim(len(rows), 0)
        axes.set_xticks([x + 0.5 for x in range(len(columns))], [str(c) for c in columns])
        axes.set_yticks([y + 0.5 for y in range(len(rows))], [str(r) for r in rows])
        axes.tick_params(length=0)
        for spine in axes.spines.values():
            spine.set_visible(False)
        axes.set_xlabel(column_name)
        axes.set_ylabel(row_name)
    return result[0]


# From fast to slow; each holds its contrast with black or white text in light and in dark.
_SHADES = ("#f7e3b5", "#f5bb6b", "#e58a3c", "#c4581a", "#8a3713", "#4a1d10")


def _shade(share: float):
    """(colour, whether text on it is white) of 0 to 1."""
    position = min(max(share, 0.0), 1.0) * (len(_SHADES) - 1)
    index = min(int(position), len(_SHADES) - 2)
    parts = [[int(shade[i:i + 2], 16) for i in (1, 3, 5)] for shade in _SHADES[index:index + 2]]
    mixed = [round(a + (b - a) * (position - index)) for a, b in zip(*parts)]
    return "#{:02x}{:02x}{:02x}".format(*mixed), 0.299 * mixed[0] + 0.587 * mixed[1] + 0.114 * mixed[2] < 130


def _cell(x, y, **style):
    from matplotlib.patches import Rectangle
    return Rectangle((x + 0.03, y + 0.04), 0.94, 0.92, **style)


def convergence(curves: list, name: str):
    """curves: (label, [(trial, best so far / best of the run)]); trials count from 1."""
    worst = max(value for _, curve in curves for _, value in curve)
    with figure(3.0 + 0.17 * len(curves), name) as (drawn, result):
        axes = drawn.add_subplot()
        for index, (label, curve) in enumerate(curves):
            style = series_style(index)
            axes.step(*zip(*curve), where="post", color=style["color"], label=short(label),
                      linestyle=("-", "--", ":")[index // len(SERIES) % 3])
        axes.set_yscale("log")
        top = max(worst * 1.1, 1.05)
        axes.set_ylim(0.98, top)
        _log_axis(axes.yaxis, 0.98, top)
        axes.grid(color=GRID, linewidth=0.6)
        axes.set_xlabel("candidates tried")
        axes.set_ylabel("best so far / best in the end")
        drawn.legend(loc="outside upper left", fontsize=7.5)
    return result[0]


def regression(rows: list, name: str):
    """rows: (label, ratio now / before, low, high, verdict 'faster' | 'slower' | 'same')."""
    colours = {"faster": GOOD, "slower": BAD, "same": QUIET}
    low, high = min(min(low for _, _, low, _, _ in rows), 1) / 1.05, max(max(h for *_, h, _ in rows), 1) * 1.05
    with figure(0.8 + 0.2 * len(rows), name) as (drawn, result):
        axes = drawn.add_subplot()
        for y, (_, ratio, left, right, verdict) in enumerate(rows):
            colour = colours[verdict]
            axes.plot([left, right], [y, y], color=colour, linewidth=2.2, solid_capstyle="round")
            axes.plot([ratio], [y], color=colour, marker={"faster": "<", "slower": ">", "same": "o"}[verdict],
                      markersize=7, markeredgewidth=0)
        axes.axvline(1, color=INK, linewidth=0.9)
        axes.set_xscale("log")
        axes.set_xlim(low, high)
        axes.set_ylim(len(rows) - 0.4, -0.6)
        axes.set_yticks(range(len(rows)), [short(label, 32) for label, *_ in rows], fontsize=7.5)
        axes.tick_params(axis="y", length=0)
        axes.spines["left"].set_visible(False)
        _log_axis(axes.xaxis, low, high)
        axes.xaxis.grid(color=GRID, linewidth=0.6)
        axes.set_xlabel("time now / time before")
    return result[0]
