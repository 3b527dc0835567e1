"""The convolution in float64, how far float32 sums may be from it, and rounding to the element types."""

import numpy as np

# Significand bits and exponent of the smallest normal number.
FORMATS = {"f32": (24, -126, 127), "bf16": (8, -126, 127), "f16": (11, -14, 15)}


def rounded(values, type_name):
    """float64 values rounded once to `type_name`, to nearest even (np.rint), as float64."""
    precision, lowest, highest = FORMATS[type_name]
    values = np.asarray(values, np.float64)
    exponent = np.maximum(np.frexp(values)[1] - 1, lowest)
    step = np.ldexp(1.0, exponent - precision + 1)
    result = np.where(np.isfinite(values), np.rint(values / step) * step, values)
    return np.where(np.abs(result) >= 2.0 ** (highest + 1), np.copysign(np.inf, values), result)


def conv2d(x, w, bias=None, padding=(0, 0, 0, 0)):
    """x[B,IC,H,W], w[OC,IC,KH,KW] -> y, sums of magnitudes; float64. padding: top, bottom, left, right."""
    top, bottom, left, right = padding
    x = np.pad(np.asarray(x, np.float64), ((0, 0), (0, 0), (top, bottom), (left, right)))
    w = np.asarray(w, np.float64)
    windows = np.lib.stride_tricks.sliding_window_view(x, w.shape[2:], axis=(2, 3))
    y = np.einsum("bchwij,ocij->bohw", windows, w)
    magnitudes = np.einsum("bchwij,ocij->bohw", np.abs(windows), np.abs(w))
    if bias is not None:
        bias = np.asarray(bias, np.float64)[None, :, None, None]
        y, magnitudes = y + bias, magnitudes + np.abs(bias)
    return y, magnitudes


def assert_close(found, x, w, type_name, bias=None, padding=(0, 0, 0, 0)):
    """x, w, bias hold values of the type. n float32 additions in any order are off by at most n*u/(1-n*u) times the sum of
    magnitudes (u = 2^-24), the products of a fused or unfused multiply-add included with n = terms + 1; the store rounds once."""
    y, magnitudes = conv2d(x, w, bias, padding)
    assert found.shape == y.shape
    n = (w.shape[1] * w.shape[2] * w.shape[3] + 1) * 2.0**-24
    bound = n / (1 - n) * magnitudes
    if type_name != "f32":
        precision = FORMATS[type_name][0]
        bound = bound + 2.0**-precision * (np.abs(y) + bound) + 2.0**-25
    error = np.abs(np.asarray(found, np.float64) - y)
    assert np.all(error <= bound), f"largest error {error.max()}, {np.max(error / np.maximum(bound, 1e-300))} of its bound"
