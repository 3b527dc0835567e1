"""What a measurement depends on besides the candidate: the device, and the compilers and sources behind the kernels."""

from __future__ import annotations

import hashlib
import importlib.metadata
import platform
import re
import subprocess
from pathlib import Path

from .problem import CPU_TARGETS, ROOT

SOURCES = (".cpp", ".h", ".cuh")  # not variants.txt, nor the tuned tables: they choose, they do not change a kernel


def source_hash(root: Path = ROOT) -> str:
    """sha256 over the sources of generators, schedules and the back end."""
    digest = hashlib.sha256()
    for folder in ("codegen", "generators", "schedules"):
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in SOURCES:
                digest.update(f"{path.relative_to(root).as_posix()}\0".encode() + path.read_bytes() + b"\0")
    return digest.hexdigest()


def nvcc_version(nvcc) -> str:
    """"13.0.88", or "" where there is no nvcc."""
    try:
        text = subprocess.run([str(nvcc), "--version"], capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return ""
    found = re.search(r"V([0-9.]+)", text)
    return found.group(1) if found else ""


def halide_version() -> str:
    try:
        return importlib.metadata.version("halide")
    except importlib.metadata.PackageNotFoundError:
        return ""


def best_cpu_target(flags: str | None = None) -> str:
    """The target that the library prefers on this processor; `flags` as /proc/cpuinfo has them."""
    if flags is None:
        flags = _cpu_info("flags")
    words = set(flags.split())
    if words >= {"avx512f", "avx512cd", "avx512bw", "avx512dq", "avx512vl"}:
        return CPU_TARGETS[0]
    return CPU_TARGETS[1] if words >= {"avx2", "fma", "f16c"} else CPU_TARGETS[2]


def _cpu_info(field: str) -> str:
    found = re.search(rf"^{field}\s*: (.*)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    return found.group(1) if found else ""


def _largest_clock() -> str:
    path = Path("/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq")
    return f"{int(path.read_text()) // 1000} MHz" if path.exists() else ""


def cpu_device(target: str, threads: int) -> dict:
    """The log's "device" of a CPU."""
    return {"name": _cpu_info("model name"), "arch": target, "driver": platform.release(), "clocks": _largest_clock(),
            "threads": threads}


def arch_name(major: int, minor: int) -> str:
    """Of a compute capability, as tuned tables name it."""
    return f"sm_{major}{minor}{'a' if (major, minor) == (9, 0) else ''}"


# nvidia-smi's bits for: hardware slowdown, software and hardware thermal slowdown, power brake. The cap of power (4) is
# ordinary under load and shows in the clock.
THROTTLED = 0x8 | 0x20 | 0x40 | 0x80
_QUERY = ("clocks.sm", "clocks.max.sm", "clocks_throttle_reasons.active", "driver_version")


def start_gpu_query(device: int = 0) -> subprocess.Popen | None:
    """Asks nvidia-smi in the background; None where there is none."""
    try:
        return subprocess.Popen(["nvidia-smi", f"--id={device}", f"--query-gpu={','.join(_QUERY)}",
                                 "--format=csv,noheader,nounits"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                text=True)
    except OSError:
        return None


def read_gpu_query(text: str) -> dict:
    """sm and max_sm in MHz, throttled, driver, of what nvidia-smi printed; {} where that cannot be read."""
    fields = [field.strip() for field in text.strip().split(",")]
    try:
        return {"sm": int(fields[0]), "max_sm": int(fields[1]), "throttled": bool(int(fields[2], 16) & THROTTLED),
                "driver": fields[3]}
    except (IndexError, ValueError):
        return {}
