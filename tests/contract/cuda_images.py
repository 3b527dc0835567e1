"""Assembles the generated CUDA of a build for every supported architecture, once, and reads back what ptxas says.

Images and ptxas' reports are kept in BUILD/contract under a hash of the source, the prelude, the flags and the compiler's
version, so that a second run compiles only what changed.
"""

import concurrent.futures
import dataclasses
import hashlib
import json
import os
import pathlib
import re
import subprocess

ARCHS = ("80", "86", "89", "90a", "100", "120")
FLAGS = ("--fatbin", "-std=c++17", "-O3", "-Xptxas", "-v", "-diag-suppress", "177")
ROOT = pathlib.Path(__file__).resolve().parents[2]
PRELUDE = (ROOT / "codegen/prelude", ROOT / "codegen/prelude/device")


class ToolError(Exception):
    """A compiler or disassembler that is missing or failed; the text says which."""


@dataclasses.dataclass(frozen=True)
class Kernel:
    """What one kernel takes on one architecture."""
    name: str
    arch: str
    registers: int
    spill_bytes: int
    shared_bytes: int
    threads: int
    stack_bytes: int = 0


def run(command):
    """Output (stdout and stderr) of a program; ToolError when it fails."""
    try:
        done = subprocess.run([str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    except OSError as error:
        raise ToolError(f"Cannot start {command[0]}: {error.strerror}.") from error
    if done.returncode != 0:
        raise ToolError(f"{' '.join(str(part) for part in command)} failed:\n{done.stdout}")
    return done.stdout


def nvcc_release(nvcc):
    """"13.0" of `nvcc --version`."""
    found = re.search(r"release (\d+\.\d+)", run([nvcc, "--version"]))
    if not found:
        raise ToolError(f"{nvcc} --version names no release.")
    return found.group(1)


def cuda_functions(build):
    """Rows of the manifest whose kernels are printed as CUDA, in its order: one a compiled function, which is its name;
    `kind` is the algorithm, with the function's suffix where an algorithm has several."""
    path = pathlib.Path(build) / "variants/variants.json"
    return [{**row, "name": function, "kind": row["algorithm"] + function.removeprefix(row["name"])}
            for row in json.loads(path.read_text(encoding="utf-8")) if row["target"] == "cuda"
            for function in row["functions"]]


def parse_ptxas(text):
    """{(kernel, arch): (registers, spill bytes, static shared bytes, stack bytes)} of a `ptxas -v` report. Functions that
    a kernel calls are listed after it, with properties of their own: the largest counts."""
    found = {}
    key = None
    for line in text.splitlines():
        if entry := re.search(r"Compiling entry function '([^']+)' for 'sm_(\w+)'", line):
            key = entry.groups()
            found[key] = [None, None, 0, 0]
        elif local := re.search(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads", line):
            if key:
                stack, stores, loads = map(int, local.groups())
                found[key][1] = max(found[key][1] or 0, stores + loads)
                found[key][3] = max(found[key][3], stack)
        elif used := re.search(r"Used (\d+) registers(?:.*?(\d+) bytes smem)?", line):
            if key:
                found[key][0] = int(used.group(1))
                found[key][2] = int(used.group(2) or 0)
    for (kernel, arch), values in found.items():
        if None in values:
            raise ToolError(f"ptxas did not report registers and spills of {kernel} for sm_{arch}.")
    return {key: tuple(values) for key, values in found.items()}


def assemble(build, name, nvcc, release):
    """(fatbin path, ptxas' report) of one variant, from the cache or from nvcc."""
    source = pathlib.Path(build) / f"variants/{name}.cu"
    flags = [*FLAGS, *(f"-gencode=arch=compute_{arch},code=sm_{arch}" for arch in ARCHS)]
    digest = hashlib.sha256("\0".join([release, *flags]).encode())
    for file in [source, *(header for folder in PRELUDE for header in sorted(folder.glob("*.*h")))]:
        digest.update(file.read_bytes())
    folder = pathlib.Path(build) / "contract"
    folder.mkdir(exist_ok=True)
    image = folder / f"{name}-{digest.hexdigest()[:16]}.fatbin"
    report = image.with_suffix(".ptxas")
    if not (image.exists() and report.exists()):
        for old in [*folder.glob(f"{name}-*.fatbin"), *folder.glob(f"{name}-*.ptxas")]:
            old.unlink(missing_ok=True)
        scratch = image.with_suffix(f".{os.getpid()}.tmp")
        text = run([nvcc, *flags, *(f"-I{folder}" for folder in PRELUDE), source, "-o", scratch])
        report.write_text(text, encoding="utf-8")
        scratch.rename(image)
    return image, report.read_text(encoding="utf-8")


def launch_sizes(build, name):
    """{kernel: (dynamic shared bytes, threads)} of NAME.resources, which ptxas cannot know."""
    sizes = {}
    path = pathlib.Path(build) / f"variants/{name}.resources"
    for line in path.read_text(encoding="utf-8").splitlines():
        kernel, _, _, _, _, shared, threads = line.split()
        sizes[kernel] = (int(shared), int(threads))
    return sizes


def kernels_of(build, name, nvcc, release):
    """Kernel rows of one variant on all ARCHS."""
    sizes = launch_sizes(build, name)
    measured = parse_ptxas(assemble(build, name, nvcc, release)[1])
    if {kernel for kernel, _ in measured} != set(sizes):
        raise ToolError(f"{name}.resources and ptxas list different kernels.")
    return [Kernel(kernel, arch, registers, spills, static + sizes[kernel][0], sizes[kernel][1], stack)
            for (kernel, arch), (registers, spills, static, stack) in measured.items()]


def all_kernels(build, nvcc, jobs):
    """Kernel rows of all variants, in the manifest's order and that of ARCHS."""
    release = nvcc_release(nvcc)
    names = [row["name"] for row in cuda_functions(build)]
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        rows = [row for rows in pool.map(lambda name: kernels_of(build, name, nvcc, release), names)
                for row in sorted(rows, key=lambda row: (row.name, ARCHS.index(row.arch)))]
    return rows
