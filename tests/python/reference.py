"""The operation in float64, written down as it is defined, for small problems."""

import numpy


def conv2d(x, w, bias=None, padding=(0, 0, 0, 0)):
    """x[B,IC,H,W], w[OC,IC,KH,KW], bias[OC] as float64; padding is (top, bottom, left, right)."""
    top, bottom, left, right = padding
    x = numpy.pad(x.astype(numpy.float64), ((0, 0), (0, 0), (top, bottom), (left, right)))
    windows = numpy.lib.stride_tricks.sliding_window_view(x, w.shape[2:], axis=(2, 3))
    y = numpy.einsum("bchwij,ocij->bohw", windows, w.astype(numpy.float64))
    return y if bias is None else y + bias.astype(numpy.float64)[None, :, None, None]


def integers(generator, shape):
    """Small whole numbers: every sum of a small convolution of them is exact in float32."""
    return generator.integers(-3, 4, shape).astype(numpy.float32)
