"""What a user would take instead of hconv: PyTorch with cuDNN in its modes, cuBLAS, torch.fft, Triton files."""

from __future__ import annotations

import importlib.util
import math
from pathlib import Path

import torch
import torch.nn.functional as functional


class Skip(Exception):
    """The contestant does not serve this case; the text says why."""


class Peer:
    """`prepare(case)` returns a callable that computes y, and may name the algorithm in its attribute `variant`;
    `settings` are switched on around every use. A peer `on_request` runs only where --peers asks for it."""

    def __init__(self, name, mode, kinds, prepare, settings=None, on_request=False):
        self.name, self.mode, self.kinds, self.prepare, self.settings = name, mode, kinds, prepare, settings or {}
        self.on_request = on_request

    def switch(self) -> None:
        """Sets PyTorch's global switches for this peer."""
        set_switches(**self.settings)


def set_switches(tf32=False, benchmark=False, deterministic=False) -> None:
    torch.backends.cudnn.allow_tf32 = tf32
    torch.backends.cuda.matmul.allow_tf32 = tf32
    torch.backends.cudnn.benchmark = benchmark
    torch.backends.cudnn.deterministic = deterministic


def symmetric_padding(case) -> tuple:
    top, bottom, left, right = case.shape.padding
    if top != bottom or left != right:
        raise Skip("PyTorch and cuDNN pad both sides alike")
    return top, left


def _conv(case, x, w):
    padding = symmetric_padding(case)
    return lambda: functional.conv2d(x, w, padding=padding)


def _nchw(case):
    return _conv(case, case.x, case.w)


def _nhwc(case):
    last = torch.channels_last
    return _conv(case, case.x.contiguous(memory_format=last), case.w.contiguous(memory_format=last))


def _unpadded(case) -> None:
    if any(case.shape.padding):
        raise Skip("written for no padding")


def _product(case):
    _unpadded(case)
    if tuple(case.w.shape[2:]) != (1, 1):
        raise Skip("only a 1x1 layer is a matrix product")
    x, w = case.x.flatten(2), case.w.flatten(1)
    y = torch.full(case.shape.output, math.nan, dtype=case.x.dtype, device=case.device)

    def run():
        torch.matmul(w, x, out=y.flatten(2))
        return y

    return run


def _whole_fft(case):
    _unpadded(case)
    x, w = case.x, case.w
    size, (oh, ow) = x.shape[-2:], case.shape.output[2:]

    def run():
        product = torch.einsum("bihw,oihw->bohw", torch.fft.rfft2(x), torch.fft.rfft2(w, s=size).conj())
        return torch.fft.irfft2(product, s=size)[..., :oh, :ow]

    return run


def _tile_spectrum(w, tile):
    """w -> [frequency, oc, ic]"""
    padded = functional.pad(w, (0, tile - w.shape[3], 0, tile - w.shape[2]))
    return torch.fft.rfft2(padded).conj().permute(2, 3, 0, 1).reshape(-1, w.shape[0], w.shape[1]).contiguous()


def _overlap_save(x, spectrum, kernel, tile):
    """Transforms of overlapping tiles, one matrix product a frequency, the valid part of each tile kept."""
    batch, channels, height, width = x.shape
    oh, ow = height - kernel[0] + 1, width - kernel[1] + 1
    valid_h, valid_w = tile - kernel[0] + 1, tile - kernel[1] + 1
    rows, columns = -(-oh // valid_h), -(-ow // valid_w)
    x = functional.pad(x, (0, max(0, (columns - 1) * valid_w + tile - width),
                           0, max(0, (rows - 1) * valid_h + tile - height)))
    tiles = x.unfold(2, tile, valid_h).unfold(3, tile, valid_w)[:, :, :rows, :columns]
    tiles = torch.fft.rfft2(tiles).permute(4, 5, 1, 0, 2, 3).reshape(tile * (tile // 2 + 1), channels, -1)
    y = torch.bmm(spectrum, tiles).reshape(tile, tile // 2 + 1, -1, batch, rows, columns).permute(3, 2, 4, 5, 0, 1)
    y = torch.fft.irfft2(y, s=(tile, tile))[..., :valid_h, :valid_w]
    return y.permute(0, 1, 2, 4, 3, 5).reshape(batch, -1, rows * valid_h, columns * valid_w)[:, :, :oh, :ow]


def _tiled_fft(ready):
    def prepare(case):
        _unpadded(case)
        kernel = case.w.shape[2:]
        largest = max(kernel)
        if largest == 1 or largest > 32:
            raise Skip("tiles of up to 64 suit kernels from 2 to 32")
        tile = 16 if largest <= 7 else 32 if largest <= 12 else 64
        spectrum = _tile_spectrum(case.w, tile)
        if ready:
            return lambda: _overlap_save(case.x, spectrum, kernel, tile)
        return lambda: _overlap_save(case.x, _tile_spectrum(case.w, tile), kernel, tile)

    return prepare


def _quick_tuning(module) -> None:
    """Lets the module's Triton autotuners try each configuration three times at most: their default of a tenth of a
    second and more for each takes minutes over many shapes."""
    def bench(call, *_, quantiles=None, **__):
        call()
        torch.cuda.synchronize()
        times = []
        while len(times) < 3 and sum(times) < 20:
            start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            start.record()
            call()
            end.record()
            end.synchronize()
            times.append(start.elapsed_time(end))
        best = min(times)
        return [best] * len(quantiles) if quantiles else best

    for value in vars(module).values():
        if hasattr(value, "configs") and hasattr(value, "cache") and hasattr(value, "fn"):
            value.do_bench = bench


def triton_peer(path, name=None) -> Peer:
    """A peer of a Python file with kernel_function(x, w). Raises ValueError or OSError with a sentence."""
    path = Path(path)
    if not path.is_file():
        raise ValueError(f"{path} is not a file; expected a Python file with kernel_function(x, w).")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    if not hasattr(module, "kernel_function"):
        raise ValueError(f"{path} has no kernel_function(x, w).")
    _quick_tuning(module)

    def prepare(case):
        _unpadded(case)
        if case.shape.in_channels != case.shape.out_channels:
            raise Skip("written for as many output as input channels")
        return lambda: module.kernel_function(case.x, case.w)

    return Peer(name or f"triton {path.stem}", "fp32", ("f32", "bf16", "f16"), prepare)


def gpu_peers() -> list[Peer]:
    low, exact = ("bf16", "f16"), ("f32",)
    return [
        Peer("cudnn", "fp32", exact + low, _nchw, dict(benchmark=True)),
        Peer("cudnn heuristic", "fp32", exact, _nchw, dict(deterministic=True)),
        Peer("cudnn nhwc", "fp32", low, _nhwc, dict(benchmark=True)),
        Peer("torch.fft", "fp32", exact, _whole_fft),
        Peer("tiled fft", "fp32", exact, _tiled_fft(False)),
        Peer("tiled fft ready", "fp32", exact, _tiled_fft(True)),
        Peer("cudnn", "tf32", exact, _nchw, dict(benchmark=True, tf32=True)),
        Peer("cudnn nhwc", "tf32", exact, _nhwc, dict(benchmark=True, tf32=True)),
        Peer("cublas", "fp32", exact, _product, on_request=True),
    ]


def cpu_peers() -> list[Peer]:
    return [Peer("torch", "fp32", ("f32", "bf16", "f16"), _nchw), Peer("tiled fft", "fp32", ("f32",), _tiled_fft(False))]
