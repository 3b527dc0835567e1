"""What is tuned: one convolution in one type and mode, on one target."""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
if str(ROOT / "cmake") not in sys.path:
    sys.path.append(str(ROOT / "cmake"))  # manifest.py: rows, their names, the Halide targets

from hconv_measure.shapes import Shape  # noqa: E402

TYPES, MODES = ("f32", "bf16", "f16"), ("fp32", "strict", "tf32")
CPU_TARGETS = ("cpu_avx512", "cpu_avx2", "cpu_baseline")
TARGETS = ("cuda", *CPU_TARGETS)
LAYOUTS = ("nchw", "nhwc")  # as the manifest numbers them


@dataclasses.dataclass(frozen=True)
class Problem:
    """A shape with its type (f32, bf16, f16), mode (fp32, strict, tf32), target (of TARGETS), on a CPU threads, and the
    layout of x and y (of LAYOUTS)."""

    shape: Shape
    type: str
    mode: str
    target: str
    threads: int = 0
    layout: str = "nchw"

    @property
    def token(self) -> str:
        """B,C,H,W,KH,KW,OC"""
        s = self.shape
        return ",".join(map(str, (s.batch, s.in_channels, s.height, s.width, s.kernel_height, s.kernel_width,
                                  s.out_channels)))

    @property
    def extents(self) -> tuple:
        """The eleven numbers of a tuned table's key: B, C, H, W, KH, KW, OC, then the padding."""
        return (*map(int, self.token.split(",")), *self.shape.padding)

    @property
    def on_cpu(self) -> bool:
        return self.target != "cuda"

    @property
    def device(self) -> str:
        """As the Python binding names it."""
        return "cpu" if self.on_cpu else "cuda"

    def __str__(self) -> str:
        threads = f" {self.threads} thread{'s' * (self.threads != 1)}" if self.on_cpu else ""
        layout = "" if self.layout == "nchw" else f" {self.layout}"
        return f"{self.shape} {self.type} {self.mode}{layout} {self.target}{threads}"
