"""The filter bank of the demo: 20 classic filters of four kernel sizes over a photograph's three colour channels."""

from __future__ import annotations

import dataclasses

import numpy

LUMINANCE = numpy.array([0.2126, 0.7152, 0.0722])  # ITU-R BT.709
RED_GREEN = numpy.array([1.0, -1.0, 0.0])
BLUE_YELLOW = numpy.array([-0.5, -0.5, 1.0])


@dataclasses.dataclass(frozen=True)
class Filter:
    """`weights` [OC, 3, KH, KW]: OC is 3 for a filter that gives a colour picture, 1 for a signed response.
    `shown` [KH, KW] is the kernel that a picture of the filter shows; `bias` is added to every output."""

    name: str
    weights: numpy.ndarray
    shown: numpy.ndarray
    bias: float = 0.0

    @property
    def size(self) -> tuple:
        return self.shown.shape

    @property
    def is_colour(self) -> bool:
        return self.weights.shape[0] == 3


def _grid(height: int, width: int):
    """Pixel offsets (y, x) from the kernel's centre."""
    return numpy.mgrid[0:height, 0:width] - numpy.array([(height - 1) / 2, (width - 1) / 2])[:, None, None]


def _gaussian(height, width, sigma_y, sigma_x=None):
    y, x = _grid(height, width)
    kernel = numpy.exp(-(y / sigma_y) ** 2 / 2 - (x / (sigma_x or sigma_y)) ** 2 / 2)
    return kernel / kernel.sum()


def _balanced(kernel):
    """Without response to flat areas, and of unit absolute sum over two: full black to full white gives 1."""
    kernel = kernel - kernel.mean()
    return kernel / (numpy.abs(kernel).sum() / 2)


def _gabor(size, degrees, wavelength=6.5, sigma=2.8, phase=0.0):
    """A wave whose crests run at `degrees` to the horizontal, under a Gaussian."""
    y, x = _grid(size, size)
    angle = numpy.deg2rad(degrees)
    across = -x * numpy.sin(angle) + y * numpy.cos(angle)
    wave = numpy.exp(-(x ** 2 + y ** 2) / (2 * sigma ** 2)) * numpy.cos(2 * numpy.pi * across / wavelength + phase)
    return _balanced(wave)


def _colour(name, kernel) -> Filter:
    """The same kernel on each colour channel by itself."""
    weights = numpy.einsum("oi,hw->oihw", numpy.eye(3), kernel)
    return Filter(name, weights, kernel)


def _signed(name, kernel, channels=LUMINANCE) -> Filter:
    return Filter(name, numpy.einsum("i,hw->ihw", channels, kernel)[None], kernel)


def _relief(name, kernel) -> Filter:
    """A grey picture: the kernel's response to brightness, around mid-grey."""
    weights = numpy.einsum("o,i,hw->oihw", numpy.ones(3), LUMINANCE, kernel)
    return Filter(name, weights, kernel, 0.5)


def filter_bank() -> list[Filter]:
    """All filters, grouped by kernel size."""
    y7, x7 = _grid(7, 7)
    g7 = _gaussian(7, 7, 1.3)
    impulse = numpy.zeros((7, 7))
    impulse[3, 3] = 1
    y11, x11 = _grid(11, 11)
    disc = numpy.clip(5.5 - numpy.hypot(y11, x11), 0, 1)
    centre_surround = _balanced(_gaussian(11, 11, 1.2) - _gaussian(11, 11, 3.0))
    line = numpy.ones(15) / 15
    y3x15, _ = _grid(3, 15)
    y15x3, x15x3 = _grid(15, 3)
    seven = [
        _colour("Gaussian blur", _gaussian(7, 7, 1.8)),
        _colour("unsharp mask", impulse + 1.8 * (impulse - _gaussian(7, 7, 1.6))),
        _signed("edge, d/dx", _balanced(x7 * g7)),
        _signed("edge, d/dy", _balanced(y7 * g7)),
        _signed("corner, d²/dxdy", _balanced(x7 * y7 * g7)),
        _signed("Laplacian of Gaussian", _balanced((2 - (x7 ** 2 + y7 ** 2) / 1.69) * g7)),
        _relief("emboss", -1.4 * _balanced((x7 + y7) * g7)),
        _signed("thin line, 45°", _balanced((1 - ((x7 + y7) / 1.6) ** 2) * g7)),
    ]
    eleven = [
        _signed("Gabor, 0°", _gabor(11, 0)),
        _signed("Gabor, 45°", _gabor(11, 45)),
        _signed("Gabor, 90°", _gabor(11, 90)),
        _signed("Gabor, 135°", _gabor(11, 135)),
        _colour("lens blur (disc)", disc / disc.sum()),
        _signed("centre–surround", centre_surround),
        _signed("red–green opponent", _gaussian(11, 11, 2.0), RED_GREEN),
        _signed("blue–yellow opponent", _gaussian(11, 11, 2.0), BLUE_YELLOW),
    ]
    wide = [
        _colour("motion blur, horizontal", numpy.outer([0.25, 0.5, 0.25], line)),
        _signed("long edge, horizontal", _balanced(y3x15 * _gaussian(3, 15, 1.0, 4.5))),
    ]
    tall = [
        _colour("motion blur, vertical", numpy.outer(line, [0.25, 0.5, 0.25])),
        _signed("long edge, vertical", _balanced(x15x3 * _gaussian(15, 3, 4.5, 1.0))),
    ]
    return seven + eleven + wide + tall


def by_size(filters) -> dict:
    """(KH, KW) -> list of filters, in the order of the bank."""
    groups: dict = {}
    for entry in filters:
        groups.setdefault(entry.size, []).append(entry)
    return groups
