"""Finds and loads libhconv.so and declares the structures and functions of hconv.h for ctypes."""

from __future__ import annotations

import ctypes
import functools
import os
from ctypes import POINTER, c_char_p, c_int, c_int32, c_int64, c_size_t, c_uint8, c_uint16, c_uint64, c_void_p
from pathlib import Path

from ._errors import BY_STATUS, Error, LibraryNotFound

CPU, CUDA = 1, 2  # DLDeviceType
FLOAT, BFLOAT = 2, 4  # DLDataTypeCode
INVALID_ARGUMENT = 1
TEXT, JSON = 0, 1  # hconv_format


class DLDevice(ctypes.Structure):
    _fields_ = [("device_type", c_int32), ("device_id", c_int32)]


class DLDataType(ctypes.Structure):
    _fields_ = [("code", c_uint8), ("bits", c_uint8), ("lanes", c_uint16)]


class DLTensor(ctypes.Structure):
    _fields_ = [("data", c_void_p), ("device", DLDevice), ("ndim", c_int32), ("dtype", DLDataType),
                ("shape", POINTER(c_int64)), ("strides", POINTER(c_int64)), ("byte_offset", c_uint64)]


class Padding(ctypes.Structure):
    _fields_ = [("top", c_int32), ("bottom", c_int32), ("left", c_int32), ("right", c_int32)]


class CProblem(ctypes.Structure):
    _fields_ = [("dtype", DLDataType), ("device", DLDevice), ("math", c_int), ("batch", c_int64),
                ("in_channels", c_int64), ("height", c_int64), ("width", c_int64), ("out_channels", c_int64),
                ("kernel_height", c_int64), ("kernel_width", c_int64), ("padding", Padding),
                ("layout", c_int)]


_TENSOR, _PADDING, _PROBLEM, _SIZE = POINTER(DLTensor), POINTER(Padding), POINTER(CProblem), POINTER(c_size_t)

# name: (result, arguments)
_FUNCTIONS = {
    "hconv_last_error": (c_char_p, []),
    "hconv_version": (c_char_p, []),
    "hconv_problem_from_tensors": (c_int, [_TENSOR, _TENSOR, _PADDING, c_int, _PROBLEM]),
    "hconv_plan_create": (c_int, [_PROBLEM, POINTER(c_void_p)]),
    "hconv_plan_destroy": (None, [c_void_p]),
    "hconv_plan_packed_bytes": (c_size_t, [c_void_p]),
    "hconv_plan_workspace_bytes": (c_size_t, [c_void_p]),
    "hconv_plan_minimum_workspace_bytes": (c_size_t, [c_void_p]),
    "hconv_plan_output_shape": (None, [c_void_p, POINTER(c_int64)]),
    "hconv_plan_variant": (c_char_p, [c_void_p]),
    "hconv_pack": (c_int, [c_void_p, _TENSOR, c_void_p, c_size_t, c_void_p]),
    "hconv_run": (c_int, [c_void_p, _TENSOR, c_void_p, _TENSOR, _TENSOR, c_void_p, c_size_t, c_void_p]),
    "hconv_conv2d": (c_int, [_TENSOR, _TENSOR, _TENSOR, _PADDING, c_int, _TENSOR, c_void_p]),
    "hconv_explain": (c_int, [_PROBLEM, c_int, c_char_p, _SIZE]),
    "hconv_list": (c_int, [c_int, c_char_p, _SIZE]),
    "hconv_cuda_device_count": (c_int, []),
    "hconv_default_device": (c_int, [POINTER(DLDevice)]),
    "hconv_device_name": (c_int, [DLDevice, c_char_p, _SIZE]),
    "hconv_malloc": (c_int, [DLDevice, c_size_t, POINTER(c_void_p)]),
    "hconv_free": (c_int, [DLDevice, c_void_p]),
    "hconv_copy": (c_int, [c_void_p, DLDevice, c_void_p, DLDevice, c_size_t, c_void_p]),
    "hconv_synchronize": (c_int, [DLDevice, c_void_p]),
}


def _candidates() -> list[Path]:
    """Places beside this package and in the source tree's build folders, newest file first."""
    package = Path(__file__).resolve().parent
    root = package.parent.parent
    found = list(package.glob("libhconv.so"))
    for pattern in ("build*/libhconv.so", "build*/*/libhconv.so", "build*/*/*/libhconv.so", "lib/libhconv.so"):
        found += root.glob(pattern)
    return sorted(found, key=lambda path: path.stat().st_mtime, reverse=True)


def library_path() -> Path:
    """The libhconv.so that will be loaded: $HCONV_LIBRARY if set, else the newest one in the package or a build folder.

    Raises LibraryNotFound.
    """
    named = os.environ.get("HCONV_LIBRARY")
    if named:
        if not Path(named).is_file():
            raise LibraryNotFound(f"HCONV_LIBRARY names {named}, which is not a file.")
        return Path(named)
    found = _candidates()
    if not found:
        raise LibraryNotFound("libhconv.so was not found in the package or in a build folder; build the project or set "
                              "HCONV_LIBRARY to the file.")
    return found[0]


@functools.lru_cache(maxsize=None)
def library() -> ctypes.CDLL:
    """Loads the library once a process. Raises LibraryNotFound with the loader's reason."""
    path = library_path()
    try:
        loaded = ctypes.CDLL(str(path))
        for name, (result, arguments) in _FUNCTIONS.items():
            function = getattr(loaded, name)
            function.restype, function.argtypes = result, arguments
    except (OSError, AttributeError) as reason:
        raise LibraryNotFound(f"{path} could not be loaded: {reason}.") from reason
    return loaded


def check(status: int) -> None:
    """Raises the exception that belongs to a status, with the library's sentence."""
    if status:
        text = library().hconv_last_error().decode(errors="replace")
        raise BY_STATUS.get(status, Error)(text or f"hconv returned status {status} without a sentence.")


def read_text(call) -> str:
    """Fetches a text through `call(buffer, size)`, a C function with the buffer rules of hconv_explain."""
    capacity = 1 << 14
    while True:
        buffer, size = ctypes.create_string_buffer(capacity), c_size_t(capacity)
        status = call(buffer, ctypes.byref(size))
        if status == INVALID_ARGUMENT and size.value > capacity:
            capacity = size.value
            continue
        check(status)
        return buffer.value.decode()
