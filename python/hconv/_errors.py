"""The library's status codes as Python exceptions; each carries the library's own sentence."""


class Error(Exception):
    """Base of everything this package raises on behalf of the library. `status` is the hconv_status number."""

    status = -1


class LibraryNotFound(Error):
    """libhconv.so was not found or could not be loaded."""


class InvalidArgument(Error, ValueError):
    """An argument contradicts itself or another one; nothing was launched."""

    status = 1


class Unsupported(Error, NotImplementedError):
    """A meaningful request that the library does not serve (type, layout, size)."""

    status = 2


class NoDevice(Error, RuntimeError):
    """CUDA was asked for, but there is no driver or no such device."""

    status = 3


class OutOfMemory(Error, MemoryError):
    """An allocation on the host or on the device failed."""

    status = 4


class DeviceError(Error, RuntimeError):
    """The CUDA driver reported a failure."""

    status = 5


class InternalError(Error, RuntimeError):
    """A fault of hconv itself."""

    status = 6


BY_STATUS = {kind.status: kind for kind in (InvalidArgument, Unsupported, NoDevice, OutOfMemory, DeviceError,
                                            InternalError)}
