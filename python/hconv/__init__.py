"""hconv for Python: stride-1 2-D convolution on numpy arrays and PyTorch tensors, through the C library.

    import hconv, numpy as np
    x = np.random.default_rng(0).standard_normal((1, 3, 64, 64), dtype=np.float32)   # [B, IC, H, W]
    w = np.random.default_rng(1).standard_normal((8, 3, 5, 7), dtype=np.float32)     # [OC, IC, KH, KW]
    y = hconv.conv2d(x, w)                                                           # [B, OC, OH, OW]

The package is a thin ctypes layer over hconv.h: nothing is copied on the way in or out, PyTorch is used when its tensors
are given and never imported otherwise, and no CUDA package is needed (`device="cuda"` moves numpy arrays through the
library). bfloat16 arrays are torch.bfloat16 tensors or numpy uint16 arrays that hold the bits (see `to_bfloat16`).
"""

from ._errors import (
    DeviceError,
    Error,
    InternalError,
    InvalidArgument,
    LibraryNotFound,
    NoDevice,
    OutOfMemory,
    Unsupported,
)
from ._native import library_path
from .arrays import DeviceArray, from_bfloat16, to_bfloat16, to_device
from .plan import Plan, PreparedRun, Problem, conv2d, explain
from .query import default_device, device_count, device_name, list_variants, synchronize, version

__all__ = [
    "DeviceArray",
    "DeviceError",
    "Error",
    "InternalError",
    "InvalidArgument",
    "LibraryNotFound",
    "NoDevice",
    "OutOfMemory",
    "Plan",
    "PreparedRun",
    "Problem",
    "Unsupported",
    "conv2d",
    "default_device",
    "device_count",
    "device_name",
    "explain",
    "from_bfloat16",
    "library_path",
    "list_variants",
    "synchronize",
    "to_bfloat16",
    "to_device",
    "version",
]
