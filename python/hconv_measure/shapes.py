"""Shapes as one token: B,C,H,W,KH,KW[,C_out[,pad]]; pad is one number or top:bottom:left:right."""

from __future__ import annotations

import dataclasses
from pathlib import Path


@dataclasses.dataclass(frozen=True)
class Shape:
    """x[batch, in_channels, height, width], w[out_channels, in_channels, kernel_height, kernel_width]; padding is (top,
    bottom, left, right)."""

    batch: int
    in_channels: int
    height: int
    width: int
    kernel_height: int
    kernel_width: int
    out_channels: int
    padding: tuple = (0, 0, 0, 0)

    @property
    def output(self) -> tuple:
        """(B, OC, OH, OW)"""
        top, bottom, left, right = self.padding
        return (self.batch, self.out_channels, self.height + top + bottom - self.kernel_height + 1,
                self.width + left + right - self.kernel_width + 1)

    @property
    def reduction(self) -> int:
        """Products in each output."""
        return self.in_channels * self.kernel_height * self.kernel_width

    @property
    def flops(self) -> int:
        """Operations of the direct algorithm."""
        batch, oc, oh, ow = self.output
        return 2 * batch * oc * oh * ow * self.reduction

    def __str__(self) -> str:
        parts = [self.batch, self.in_channels, self.height, self.width, self.kernel_height, self.kernel_width]
        padded = any(self.padding)
        if padded or self.out_channels != self.in_channels:
            parts.append(self.out_channels)
        if padded:
            same = len(set(self.padding)) == 1
            parts.append(self.padding[0] if same else ":".join(map(str, self.padding)))
        return ",".join(map(str, parts))


def parse_shape(token: str) -> Shape:
    """Raises ValueError with a sentence."""
    fields = token.strip().split(",")
    if not 6 <= len(fields) <= 8:
        raise ValueError(f'The shape "{token}" has {len(fields)} fields; expected B,C,H,W,KH,KW[,C_out[,pad]].')
    try:
        numbers = [int(field) for field in fields[:7]]
        sides = tuple(int(side) for side in fields[7].split(":")) if len(fields) == 8 else (0,)
    except ValueError:
        raise ValueError(f'The shape "{token}" holds something that is not a whole number.') from None
    if len(sides) not in (1, 4):
        raise ValueError(f'The shape "{token}" has {len(sides)} paddings; expected 1 or top:bottom:left:right.')
    sides = sides * 4 if len(sides) == 1 else sides
    if min(numbers) < 1 or min(sides) < 0:
        raise ValueError(f'The shape "{token}" has an extent below 1 or a padding below 0.')
    shape = Shape(*numbers[:6], numbers[6] if len(numbers) == 7 else numbers[1], sides)
    if min(shape.output) < 1:
        raise ValueError(f'The shape "{token}" has no output: the kernel is larger than the padded image.')
    return shape


def read_shapes(path) -> list[Shape]:
    """Shapes of a file, one a line, # starts a comment. Errors name file and line."""
    shapes = []
    for number, line in enumerate(Path(path).read_text(encoding="utf-8").splitlines(), 1):
        token = line.split("#")[0].strip()
        if token:
            try:
                shapes.append(parse_shape(token))
            except ValueError as reason:
                raise ValueError(f"{path}:{number}: {reason}") from None
    return shapes


def collect_shapes(words) -> list[Shape]:
    """Shapes from words of the command line: each is a shape or a file of shapes. Duplicates are dropped."""
    found = []
    for word in words:
        found += read_shapes(word) if Path(word).is_file() else [parse_shape(word)]
    return list(dict.fromkeys(found))
