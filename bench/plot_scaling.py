#!/usr/bin/env python3
"""Draws how time per operation changes along batch, channels and width, from what compare.py measured.

  compare.py --peers none --tsv scaling.tsv shapes/scaling.txt
  plot_scaling.py scaling.tsv scaling.svg

The first shape is the centre; a shape that differs from it along one axis belongs to that axis. Prints for each axis the
largest step of time per operation between neighbours (a cliff is one above 1.3), and for the batch the ratio of the ends.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python"))

from hconv_measure.shapes import parse_shape  # noqa: E402

AXES = {"batch": "B", "in_channels": "C", "width": "W"}


def read(path) -> dict:
    """{type: [(shape, picoseconds per 1000 operations)]} of hconv's rows, in the file's order."""
    rows = {}
    for line in Path(path).read_text(encoding="utf-8").splitlines():
        fields = line.split("\t")
        if len(fields) < 6 or not fields[5].startswith("hconv ") or fields[3] in ("ms", "FAILED"):
            continue
        shape = parse_shape(fields[0])
        rows.setdefault(fields[1], []).append((shape, float(fields[3]) * 1e12 / shape.flops))
    return rows


def along(axis: str, rows: list) -> list:
    """(extent, cost) of the shapes that differ from the first one along `axis` only, in order."""
    def rest(shape):
        return tuple(getattr(shape, other) for other in AXES if other != axis)

    return sorted((getattr(shape, axis), cost) for shape, cost in rows if rest(shape) == rest(rows[0][0]))


def largest_step(points: list) -> tuple:
    """(ratio, from, to) of the two neighbours whose cost differs most."""
    steps = [(max(a[1] / b[1], b[1] / a[1]), a[0], b[0]) for a, b in zip(points, points[1:])]
    return max(steps, default=(1.0, points[0][0], points[0][0]))


def draw(by_type: dict, path) -> None:
    import matplotlib
    matplotlib.use("Agg")
    from matplotlib import pyplot
    figure, plots = pyplot.subplots(1, len(AXES), figsize=(11, 3.4), sharey=True, layout="constrained")
    for plot, (axis, letter) in zip(plots, AXES.items()):
        for kind, rows in by_type.items():
            points = along(axis, rows)
            plot.plot(*zip(*points), marker="o", markersize=3, label=kind)
        plot.set_xlabel(f"{letter} ({axis.replace('_', ' ')})")
        plot.set_ylim(bottom=0)
        plot.grid(alpha=0.3)
    plots[0].set_ylabel("ps per 1000 operations")
    plots[0].legend()
    figure.savefig(path)


def main(arguments=None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tsv", help="compare.py's lines")
    parser.add_argument("picture", help="file to write, .svg or .png")
    options = parser.parse_args(arguments)
    by_type = read(options.tsv)
    if not by_type:
        parser.error(f"{options.tsv} holds no time of hconv.")
    for kind, rows in by_type.items():
        for axis, letter in AXES.items():
            points = along(axis, rows)
            ratio, before, after = largest_step(points)
            line = f"{kind} {letter} {points[0][0]}..{points[-1][0]}: largest step {ratio:.2f} ({before} to {after})"
            print(line + f", last / first {points[-1][1] / points[0][1]:.2f}")
    draw(by_type, options.picture)
    return 0


if __name__ == "__main__":
    sys.exit(main())
