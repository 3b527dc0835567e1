"""Questions to the library that need no tensors."""

from __future__ import annotations

import json

from ._native import JSON, TEXT, check, library, read_text
from .arrays import parse_device


def version() -> str:
    """The library's version, "major.minor.patch"."""
    return library().hconv_version().decode()


def device_count() -> int:
    """Number of usable CUDA devices; 0 when there is no driver."""
    return library().hconv_cuda_device_count()


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
