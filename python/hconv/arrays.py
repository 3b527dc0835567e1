"""Arrays as DLPack descriptors, without a copy: numpy, PyTorch, and `DeviceArray` for programs that have neither CUDA
nor PyTorch. bfloat16 has no numpy type: numpy arrays of uint16 hold its bits."""

from __future__ import annotations

import contextlib
import ctypes
import sys

import numpy

from ._native import BFLOAT, CPU, CUDA, FLOAT, DLDataType, DLDevice, DLTensor, check, library

_TYPES = {"float32": (FLOAT, 32), "float16": (FLOAT, 16), "bfloat16": (BFLOAT, 16)}
_ALIASES = {"f32": "float32", "f16": "float16", "bf16": "bfloat16", "uint16": "bfloat16"}
_NUMPY = {"float32": numpy.float32, "float16": numpy.float16, "bfloat16": numpy.uint16}


def to_bfloat16(values) -> numpy.ndarray:
    """Rounds float32 values to bfloat16, to nearest even; NaN stays NaN. Returns the bits as uint16, same shape."""
    values = numpy.ascontiguousarray(values, dtype=numpy.float32)
    bits = values.view(numpy.uint32)
    rounded = (bits.astype(numpy.uint64) + 0x7FFF + ((bits >> 16) & 1)) >> 16
    quiet = (bits >> 16) | 0x40  # the carry of a rounded NaN could run into the exponent and make it an infinity
    return numpy.where(numpy.isnan(values), quiet, rounded).astype(numpy.uint16)


def from_bfloat16(bits) -> numpy.ndarray:
    """The float32 values of bfloat16 bits (uint16), exactly."""
    return (numpy.asarray(bits, dtype=numpy.uint16).astype(numpy.uint32) << 16).view(numpy.float32)


def type_name(name) -> str:
    """"float32", "bfloat16" or "float16" from a name, a short name (f32, bf16, f16), a numpy or a torch type."""
    text = name if isinstance(name, str) else getattr(name, "name", None) or str(name).replace("torch.", "")
    text = _ALIASES.get(text, text)
    if text not in _TYPES:
        raise TypeError(f"The element type is {text}; expected float32, float16 or bfloat16 (numpy: uint16 bits).")
    return text


def native_type(name) -> DLDataType:
    code, bits = _TYPES[type_name(name)]
    return DLDataType(code, bits, 1)


def parse_device(device) -> DLDevice:
    """A DLDevice from "cpu", "cuda", "cuda:N", a torch.device or a DLDevice."""
    if isinstance(device, DLDevice):
        return device
    kind, _, index = str(device).partition(":")
    if kind not in ("cpu", "cuda") or (index and not index.isdigit()):
        raise ValueError(f'The device is "{device}"; expected "cpu", "cuda" or "cuda:N".')
    return DLDevice(CPU if kind == "cpu" else CUDA, int(index or 0))


class DeviceArray:
    """Memory of the library's own allocator on a device, with a shape and a type; freed with the object. `strides`: in
    elements, None where it is row-major."""

    strides = None

    def __init__(self, shape, dtype="float32", device="cuda"):
        self.shape = tuple(int(extent) for extent in shape)
        self.dtype = type_name(dtype)
        self.device = parse_device(device)
        self.data = ctypes.c_void_p()
        check(library().hconv_malloc(self.device, max(self.nbytes, 1), ctypes.byref(self.data)))

    @property
    def size(self) -> int:
        return int(numpy.prod(self.shape, dtype=numpy.int64))

    @property
    def nbytes(self) -> int:
        return self.size * (_TYPES[self.dtype][1] // 8)

    def copy_from(self, array: numpy.ndarray) -> "DeviceArray":
        """Copies a numpy array of the same shape and type into this memory; returns when the copy is done."""
        if array.shape != self.shape or type_name(array.dtype) != self.dtype:
            raise ValueError(f"The array is {array.dtype}{list(array.shape)}; expected {self.dtype}{list(self.shape)}.")
        source = numpy.ascontiguousarray(array)
        check(library().hconv_copy(self.data, self.device, source.ctypes.data, DLDevice(CPU, 0), self.nbytes, None))
        return self

    def numpy(self) -> numpy.ndarray:
        """A copy on the host; waits for the work on the default stream."""
        host = numpy.empty(self.shape, _NUMPY[self.dtype])
        check(library().hconv_copy(host.ctypes.data, DLDevice(CPU, 0), self.data, self.device, self.nbytes, None))
        return host

    def free(self) -> None:
        """Gives the memory back now; the array must not be used afterwards."""
        if self.data:
            check(library().hconv_free(self.device, self.data))
            self.data = ctypes.c_void_p()

    def __del__(self):
        with contextlib.suppress(Exception):  # the interpreter may be half gone
            self.free()


def to_device(array: numpy.ndarray, device="cuda") -> DeviceArray:
    """Copies a numpy array (uint16 = bfloat16 bits) to a device."""
    array = numpy.asarray(array)
    return DeviceArray(array.shape, type_name(array.dtype), device).copy_from(array)


def is_torch(array) -> bool:
    """Whether `array` is a PyTorch tensor, found out without importing PyTorch."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(array, torch.Tensor)


class Descriptor:
    """A DLTensor that points into `array`, which it keeps alive. `name` is used in error messages."""

    def __init__(self, array, name: str):
        self.array = array
        if isinstance(array, DeviceArray):
            pointer, shape, strides, device = array.data.value, array.shape, array.strides, array.device
        elif is_torch(array):
            index = array.device.index or 0
            pointer, shape, strides = array.data_ptr(), tuple(array.shape), tuple(array.stride())
            device = DLDevice(CUDA if array.device.type == "cuda" else CPU, index)
            if array.device.type not in ("cpu", "cuda"):
                raise TypeError(f"{name} is on {array.device}; expected a tensor on the CPU or on a CUDA device.")
        elif isinstance(array, numpy.ndarray):
            if any(stride % array.itemsize for stride in array.strides):
                raise ValueError(f"{name} has strides of {array.strides} bytes, which are not whole elements.")
            pointer, shape = array.ctypes.data, array.shape
            strides, device = tuple(stride // array.itemsize for stride in array.strides), DLDevice(CPU, 0)
        else:
            raise TypeError(f"{name} is {type(array).__name__}; expected a numpy array, a torch tensor or a DeviceArray.")
        try:
            self.dtype = type_name(array.dtype)
        except TypeError as reason:
            raise TypeError(f"{name}: {reason}") from None
        self.shape, self.device = shape, device
        self._shape = (ctypes.c_int64 * max(len(shape), 1))(*shape)
        self._strides = None if strides is None else (ctypes.c_int64 * max(len(shape), 1))(*strides)
        self.native = DLTensor(pointer, device, len(shape), native_type(self.dtype),
                               ctypes.cast(self._shape, ctypes.POINTER(ctypes.c_int64)),
                               ctypes.cast(self._strides, ctypes.POINTER(ctypes.c_int64)) if strides else None, 0)
        self.reference = ctypes.byref(self.native)


def empty_like_kind(model, shape, dtype: str, device: DLDevice, layout: str = "nchw"):
    """An uninitialised array of the same kind as `model` (numpy, torch or DeviceArray, which is always nchw) on the
    device."""
    batch, channels, height, width = shape
    if is_torch(model):
        torch = sys.modules["torch"]
        order = {"memory_format": torch.channels_last} if layout == "nhwc" else {}
        return torch.empty(tuple(shape), dtype=getattr(torch, dtype), device=model.device, **order)
    if isinstance(model, DeviceArray):
        return DeviceArray(shape, dtype, device)
    if layout == "nhwc":
        return numpy.empty((batch, height, width, channels), _NUMPY[dtype]).transpose(0, 3, 1, 2)
    return numpy.empty(tuple(shape), _NUMPY[dtype])


def empty_bytes(model, count: int):
    """An uninitialised torch.uint8 tensor of `count` bytes on the tensor model's device."""
    return sys.modules["torch"].empty(count, dtype=sys.modules["torch"].uint8, device=model.device)


class Stream:
    """The stream that work on `array` is queued on: `handle` as the library takes it, by default PyTorch's current stream
    for a CUDA tensor and the default stream for anything else."""

    def __init__(self, array, handle=None):
        self.handle, self._torch = handle, None
        if is_torch(array) and array.device.type == "cuda":
            cuda = sys.modules["torch"].cuda
            if handle is None:
                self._torch = cuda.current_stream(array.device)
            elif handle == 0:  # ExternalStream(0) would be a new stream
                self._torch = cuda.default_stream(array.device)
            else:
                self._torch = cuda.ExternalStream(handle, device=array.device)
            self.handle = self._torch.cuda_stream

    def allocating(self):
        """A context in which PyTorch takes memory that earlier work on this stream, and no other, may still use."""
        return contextlib.nullcontext() if self._torch is None else sys.modules["torch"].cuda.stream(self._torch)

    def uses(self, *arrays) -> None:
        """Tells PyTorch's allocator to keep the tensors' memory, once they are gone, until the stream's work is done."""
        for array in arrays:
            if self._torch is not None and is_torch(array) and array.device.type == "cuda":
                array.record_stream(self._torch)


def device_guard(array):
    """A context in which a CUDA tensor's device is PyTorch's current one; nothing for other arrays."""
    if is_torch(array) and array.device.type == "cuda":
        return sys.modules["torch"].cuda.device(array.device)
    return contextlib.nullcontext()
