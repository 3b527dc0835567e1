"""Fresh random inputs of a shape, their float64 reference, and the check of a result against it."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as functional

from .bounds import Bound, fault

TYPES = {"f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16}

# Direct float64 convolution beyond this many operations costs more device time than it is worth.
DIRECT_FLOPS = 2e11


def reference_direct(x, w, padding):
    top, bottom, left, right = padding
    return functional.conv2d(functional.pad(x.double(), (left, right, top, bottom)), w.double())


def reference_fft(x, w, padding, spectrum_bytes=1 << 30):
    """Through the Fourier transform in float64, a few output channels at a time."""
    top, bottom, left, right = padding
    x = functional.pad(x.double(), (left, right, top, bottom))
    height, width = x.shape[-2:]
    oh, ow = height - w.shape[2] + 1, width - w.shape[3] + 1
    spectrum = torch.fft.rfft2(x)
    y = torch.empty(x.shape[0], w.shape[0], oh, ow, dtype=torch.float64, device=x.device)
    each = 16 * w.shape[1] * height * (width // 2 + 1)
    step = max(1, spectrum_bytes // each)
    for first in range(0, w.shape[0], step):
        part = torch.fft.rfft2(w[first:first + step].double(), s=(height, width)).conj()
        product = torch.einsum("bihw,oihw->bohw", spectrum, part)
        y[:, first:first + step] = torch.fft.irfft2(product, s=(height, width))[..., :oh, :ow]
    return y


class Case:
    """One shape in one type: x, w, and the reference of exactly these (already rounded) values. `inputs` are x
    and w in the layout, with nhwc channels_last."""

    def __init__(self, shape, kind: str, device: str, generator, layout: str = "nchw"):
        self.shape, self.kind, self.device, self.layout = shape, kind, device, layout
        size = (shape.batch, shape.in_channels, shape.height, shape.width)
        kernel = (shape.out_channels, shape.in_channels, shape.kernel_height, shape.kernel_width)
        self.x = torch.randn(size, device=device, generator=generator).to(TYPES[kind])
        self.w = torch.randn(kernel, device=device, generator=generator).to(TYPES[kind])
        compute = reference_direct if shape.flops < DIRECT_FLOPS else reference_fft
        self.reference = compute(self.x, self.w, shape.padding)
        order = torch.channels_last if layout == "nhwc" else torch.contiguous_format
        self.inputs = tuple(t.contiguous(memory_format=order) for t in (self.x, self.w))

    def check(self, y, limit: Bound) -> tuple:
        """(relative L2 error, "" or why the result is wrong)."""
        if tuple(y.shape) != self.shape.output:
            return math.nan, f"The output has the shape {tuple(y.shape)}; expected {self.shape.output}."
        if y.dtype != TYPES[self.kind]:
            return math.nan, f"The output is {y.dtype}; expected {TYPES[self.kind]}."
        return fault(y.double(), self.reference, limit, self.shape.reduction)


class GuardedOutput:
    """y filled with NaN, between two strips of a pattern that must stay as it is."""

    STRIP, PATTERN = 256, -1.5

    def __init__(self, shape, kind: str, device: str, layout: str = "nchw"):
        count = math.prod(shape)
        self.memory = torch.full((count + 2 * self.STRIP,), self.PATTERN, dtype=TYPES[kind], device=device)
        batch, channels, height, width = shape
        inside = self.memory[self.STRIP:self.STRIP + count]
        self.y = (inside.view(batch, height, width, channels).permute(0, 3, 1, 2) if layout == "nhwc"
                  else inside.view(shape))
        self.y.fill_(math.nan)

    def damage(self) -> str:
        """"" or a sentence."""
        strips = torch.cat((self.memory[:self.STRIP], self.memory[-self.STRIP:]))
        wrong = int((strips != self.PATTERN).sum().item())
        return f"{wrong} elements outside the output were overwritten." if wrong else ""
