"""Questions to the library that need no tensors."""

from __future__ import annotations

import ctypes
import json

from ._native import CPU, JSON, TEXT, DLDevice, check, library, read_text
from .arrays import parse_device


def version() -> str:
    """The library's version, "major.minor.patch"."""
    return library().hconv_version().decode()


def device_count() -> int:
    """Number of usable CUDA devices; 0 when there is no driver."""
    return library().hconv_cuda_device_count()


def default_device() -> str:
    """The device to use when none is named: $HCONV_DEVICE (cpu or cuda) if set, else "cuda:0" if usable, else "cpu"."""
    device = DLDevice()
    check(library().hconv_default_device(ctypes.byref(device)))
    return "cpu" if device.device_type == CPU else f"cuda:{device.device_id}"


def device_name(device="cpu") -> str:
    """Name of "cpu", "cuda" or "cuda:N", e.g. "NVIDIA H200". Raises NoDevice."""
    native = parse_device(device)
    return read_text(lambda text, size: library().hconv_device_name(native, text, size))


def list_variants(as_json: bool = True):
    """All compiled variants with their parameters and resources: the parsed JSON, or text with as_json=False."""
    text = read_text(lambda text, size: library().hconv_list(JSON if as_json else TEXT, text, size))
    return json.loads(text) if as_json else text


def synchronize(device="cuda", stream=None) -> None:
    """Waits for the work queued on a device's stream (an integer; None: the default stream)."""
    check(library().hconv_synchronize(parse_device(device), stream))
