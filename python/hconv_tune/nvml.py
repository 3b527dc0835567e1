"""Clocks and throttling of a GPU from NVIDIA's management library, which answers in less than a millisecond; nvidia-smi, its
command, takes a tenth of a second and serves where the library is not found."""

from __future__ import annotations

import ctypes
import functools
import os

from . import machine

_NAMES = ("libnvidia-ml.so.1", "libnvidia-ml.so")
_SM = 1  # nvmlClockType_t


def chosen(visible: str | None) -> tuple[int, str]:
    """(index, "") or (0, UUID) of the first GPU that CUDA_VISIBLE_DEVICES leaves."""
    first = (visible or "").split(",")[0].strip()
    if first.isdigit():
        return int(first), ""
    return 0, first if first.startswith("GPU-") else ""


class Nvml:
    """Raises OSError where the library or one of its answers is missing."""

    def __init__(self, library, index: int = 0, uuid: str = ""):
        self._library, self._device = library, ctypes.c_void_p()
        self._call("nvmlInit_v2")
        if uuid:
            self._call("nvmlDeviceGetHandleByUUID", uuid.encode(), ctypes.byref(self._device))
        else:
            self._call("nvmlDeviceGetHandleByIndex_v2", ctypes.c_uint(index), ctypes.byref(self._device))
        self.state()

    def _call(self, name: str, *arguments) -> None:
        try:
            status = getattr(self._library, name)(*arguments)
        except AttributeError:
            raise OSError(f"NVML has no {name}") from None
        if status:
            raise OSError(f"{name} returned {status}")

    def _clock(self, name: str) -> int:
        found = ctypes.c_uint()
        self._call(name, self._device, ctypes.c_int(_SM), ctypes.byref(found))
        return found.value

    def state(self) -> dict:
        """What machine.read_gpu_query gives: sm and max_sm in MHz, throttled, driver."""
        reasons, driver = ctypes.c_ulonglong(), ctypes.create_string_buffer(96)
        self._call("nvmlDeviceGetCurrentClocksThrottleReasons", self._device, ctypes.byref(reasons))
        self._call("nvmlSystemGetDriverVersion", driver, ctypes.c_uint(len(driver)))
        return {"sm": self._clock("nvmlDeviceGetClockInfo"), "max_sm": self._clock("nvmlDeviceGetMaxClockInfo"),
                "throttled": bool(reasons.value & machine.THROTTLED), "driver": driver.value.decode()}


@functools.lru_cache(maxsize=None)
def _opened() -> Nvml | None:
    for name in _NAMES:
        try:
            return Nvml(ctypes.CDLL(name), *chosen(os.environ.get("CUDA_VISIBLE_DEVICES")))
        except OSError:
            continue
    return None


def gpu_state() -> dict:
    """The state now; {} where nobody tells."""
    try:
        library = _opened()
        if library:
            return library.state()
    except OSError:
        pass
    asked = machine.start_gpu_query(chosen(os.environ.get("CUDA_VISIBLE_DEVICES"))[0])
    return machine.read_gpu_query(asked.communicate()[0]) if asked else {}
