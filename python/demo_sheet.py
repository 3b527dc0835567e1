"""Draws the demo's contact sheet: the photograph, each filter's response, the filter as an inset."""

from __future__ import annotations

import io

import matplotlib
import numpy
from PIL import Image

matplotlib.use("Agg")
from matplotlib import colors, pyplot  # noqa: E402

BACKGROUND, INK, QUIET, ACCENT = "#101216", "#f2f0ea", "#9aa0a8", "#f0a35e"
# Zero is dark, so that what a filter ignores recedes: ice for negative, ember for positive.
SIGNED = colors.LinearSegmentedColormap.from_list(
    "signed", ["#e9fbff", "#6fd0ee", "#1f7fb8", "#143a5e", "#14171c", "#5e2a14", "#c4581a", "#f5a54a", "#fff3d6"])
COLUMNS, ROWS, HERO = 6, 4, 2  # the photograph takes HERO x HERO cells
DETAIL = 0.68  # the part of each side of the photograph that the cells show, from the middle of its upper edge


def _picture(response, entry):
    """[OC, H, W] -> what imshow wants. All signed responses are scaled alike: the 99.6th percentile of the magnitude is
    full colour, and the root below it lifts the faint parts."""
    if entry.is_colour:
        return dict(X=numpy.clip(response.transpose(1, 2, 0), 0, 1))
    limit = max(float(numpy.percentile(numpy.abs(response[0]), 99.6)), 1e-6)
    lifted = numpy.sign(response[0]) * numpy.minimum(numpy.abs(response[0]) / limit, 1) ** 0.85
    return dict(X=lifted, cmap=SIGNED, vmin=-1, vmax=1)


def _detail(shape):
    """Slices of the part that the cells show, and (left, top, width, height) in pixels."""
    height, width = shape[-2:]
    h, w = round(height * DETAIL), round(width * DETAIL)
    left = (width - w) // 2
    return (slice(None), slice(0, h), slice(left, left + w)), (left, 0, w, h)


def _frame(axes, colour="#2b3038", width=0.8):
    axes.set_xticks([])
    axes.set_yticks([])
    for spine in axes.spines.values():
        spine.set_color(colour)
        spine.set_linewidth(width)


def _inset(figure, left, bottom, cell_w, cell_h, aspect, kernel):
    """The kernel in the cell's lower left corner; a tap has the same size on the sheet for every filter."""
    tap = 0.021 * cell_w
    height, width = kernel.shape
    axes = figure.add_axes([left + 0.03 * cell_w, bottom + 0.03 * cell_w * aspect, tap * width,
                            tap * height * aspect])
    limit = numpy.abs(kernel).max()
    axes.imshow(kernel, cmap=SIGNED, vmin=-limit, vmax=limit, interpolation="nearest", aspect="auto")
    _frame(axes, INK, 0.9)


def draw_sheet(photo, results, footer: str, path, width_pixels: int = 1800, palette: bool = False) -> None:
    """photo [3, H, W] in 0..1; results: list of (Filter, response [OC, H, W]); writes a PNG, of 256 colours if asked."""
    inches = 15.0
    margin, gap, caption, header, foot = 0.45, 0.14, 0.30, 1.12, 0.52
    cell_w = (inches - 2 * margin - (COLUMNS - 1) * gap) / COLUMNS
    cell_h = cell_w * photo.shape[1] / photo.shape[2]
    pitch = cell_h + caption + gap
    tall = header + ROWS * pitch - gap + foot
    figure = pyplot.figure(figsize=(inches, tall), dpi=width_pixels / inches, facecolor=BACKGROUND)

    def box(column, row, columns=1, rows=1):
        """Left, bottom, width, height of a block of cells in figure units."""
        w, h = columns * cell_w + (columns - 1) * gap, rows * pitch - gap - caption
        top = tall - header - row * pitch
        return (margin + column * (cell_w + gap)) / inches, (top - h) / tall, w / inches, h / tall

    def text(x, y, words, **style):
        figure.text(x / inches, 1 - y / tall, words, va="baseline", **style)

    sizes = list(dict.fromkeys(entry.size for entry, _ in results))
    text(margin, 0.58, "One photograph, {} convolutions".format(len(results)), color=INK, fontsize=25, weight="bold")
    text(margin, 0.90, "kernels of " + ", ".join(f"{h}×{w}" for h, w in sizes) + " on three colour channels, "
         "each drawn in the corner of its response", color=QUIET, fontsize=12.5)
    text(inches - margin, 0.58, "hconv", color=ACCENT, fontsize=25, weight="bold", ha="right")
    _legend(figure, (inches - margin - 2.55) / inches, 1 - 0.90 / tall, 2.4 / inches, 0.10 / tall)

    def caption_at(left, bottom, words, note="", right=None):
        y = bottom - 0.205 / tall
        figure.text(left, y, words, color=INK, fontsize=11, va="baseline")
        if note:
            figure.text(right, y, note, color=QUIET, fontsize=9.5, va="baseline", ha="right")

    left, bottom, w, h = box(0, 0, HERO, HERO)
    axes = figure.add_axes([left, bottom, w, h])
    axes.imshow(photo.transpose(1, 2, 0), aspect="auto", interpolation="lanczos")
    _frame(axes)
    part, (x, y, part_w, part_h) = _detail(photo.shape)
    axes.add_patch(pyplot.Rectangle((x - 0.5, y - 0.5), part_w, part_h, fill=False, edgecolor=INK, linewidth=1.0,
                                    linestyle=(0, (1, 2.5))))
    caption_at(left, bottom, "the photograph", f"{photo.shape[2]}×{photo.shape[1]}", left + w)
    cells = [(c, r) for r in range(ROWS) for c in range(COLUMNS) if c >= HERO or r >= HERO]
    if len(results) > len(cells):
        raise ValueError(f"The sheet has room for {len(cells)} filters; there are {len(results)}.")
    for (entry, response), (column, row) in zip(results, cells):
        left, bottom, w, h = box(column, row)
        axes = figure.add_axes([left, bottom, w, h])
        axes.imshow(aspect="auto", interpolation="lanczos", **_picture(response[part], entry))
        _frame(axes)
        _inset(figure, left, bottom, w, h, inches / tall, entry.shown)
        caption_at(left, bottom, entry.name, "{}×{}".format(*entry.size), left + w)
    figure.text(margin / inches, 0.2 / tall, footer, color=QUIET, fontsize=10, va="baseline")
    _save(figure, path, palette)


def _legend(figure, left, bottom, width, height):
    """The colour scale of signed responses."""
    axes = figure.add_axes([left, bottom, width, height])
    axes.imshow(numpy.linspace(-1, 1, 256)[None], cmap=SIGNED, aspect="auto")
    axes.axis("off")
    style = dict(color=QUIET, fontsize=9, va="center")
    figure.text(left - 0.004, bottom + height / 2, "response  −", ha="right", **style)
    figure.text(left + width + 0.003, bottom + height / 2, "+", ha="left", **style)


def _save(figure, path, palette):
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", facecolor=BACKGROUND)
    pyplot.close(figure)
    image = Image.open(buffer).convert("RGB")
    if palette:
        image = image.quantize(256, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)
    image.save(path, format="PNG", optimize=True)
