"""What ptxas says of a build's kernels on every supported architecture.

The images are those that the build embeds. Reports for architectures that they hold only as PTX are kept in BUILD/contract
under a hash of the image, the flags and the compiler's version, so that a second run assembles only what changed.
"""

import concurrent.futures
import dataclasses
import hashlib
import json
import pathlib
import re
import subprocess
import tempfile

ARCHS = ("80", "86", "89", "90a", "100", "120")
PTX = "80"


class ToolError(Exception):
    """A compiler or disassembler that is missing or failed; the text says which."""


@dataclasses.dataclass(frozen=True)
class Tools:
    """Paths of programs, and nvcc's release ("13.0")."""
    nvcc: str
    cuobjdump: str
    release: str


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


def run(command, cwd=None):
    """Output (stdout and stderr) of a program; ToolError when it fails."""
    try:
        done = subprocess.run([str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              cwd=cwd)
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


def archs_of(row):
    """The architectures that a function's kernels are for: only sm_90a has wgmma."""
    return ("90a",) if row["algorithm"] == "wgmma" else ARCHS


def image_of(build, name):
    """The fatbin that the build embedded in one function's object."""
    return pathlib.Path(build) / f"variants/{name}.fatbin"


def reports_of(build, row, tools):
    """ptxas' reports of one function on all its architectures: the build's own, and one for the architectures that its
    image has only as PTX, which are assembled from it as a driver would."""
    name = row["name"]
    image = image_of(build, name)
    report = image.with_suffix(".nvcc.log").read_text(encoding="utf-8")
    missing = [arch for arch in archs_of(row) if f"for 'sm_{arch}'" not in report]
    if not missing:
        return report
    flags = ["--fatbin", "-O3", "-Xptxas", "-v", *(f"-gencode=arch=compute_{PTX},code=sm_{arch}" for arch in missing)]
    digest = hashlib.sha256("\0".join([tools.release, *flags]).encode() + image.read_bytes())
    folder = pathlib.Path(build) / "contract"
    folder.mkdir(exist_ok=True)
    kept = folder / f"{name}-{digest.hexdigest()[:16]}.ptxas"
    if not kept.exists():
        for old in folder.glob(f"{name}-*.ptxas"):
            old.unlink(missing_ok=True)
        with tempfile.TemporaryDirectory() as scratch:
            run([tools.cuobjdump, "-xptx", "all", image.resolve()], cwd=scratch)
            ptx = list(pathlib.Path(scratch).glob(f"*.sm_{PTX}.ptx"))
            if len(ptx) != 1:
                raise ToolError(f"{image} holds {len(ptx)} PTX texts for sm_{PTX}, expected 1.")
            kept.write_text(run([tools.nvcc, *flags, ptx[0], "-o", pathlib.Path(scratch) / "image"]), encoding="utf-8")
    return report + kept.read_text(encoding="utf-8")


def launch_sizes(build, name):
    """{kernel: (dynamic shared bytes, threads)} of NAME.resources, which ptxas cannot know."""
    sizes = {}
    path = pathlib.Path(build) / f"variants/{name}.resources"
    for line in path.read_text(encoding="utf-8").splitlines():
        kernel, _, _, _, _, shared, threads = line.split()
        sizes[kernel] = (int(shared), int(threads))
    return sizes


def kernels_of(build, row, tools):
    """Kernel rows of one function on all its architectures."""
    name = row["name"]
    sizes = launch_sizes(build, name)
    measured = parse_ptxas(reports_of(build, row, tools))
    if {kernel for kernel, _ in measured} != set(sizes):
        raise ToolError(f"{name}.resources and ptxas list different kernels.")
    if {arch for _, arch in measured} != set(archs_of(row)):
        raise ToolError(f"{name} was assembled for {', '.join(sorted({arch for _, arch in measured}))}, expected "
                        f"{', '.join(archs_of(row))}.")
    return [Kernel(kernel, arch, registers, spills, static + sizes[kernel][0], sizes[kernel][1], stack)
            for (kernel, arch), (registers, spills, static, stack) in measured.items()]


def all_kernels(build, tools, jobs):
    """Kernel rows of all functions, in the manifest's order and that of ARCHS."""
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        return [kernel for kernels in pool.map(lambda row: kernels_of(build, row, tools), cuda_functions(build))
                for kernel in sorted(kernels, key=lambda kernel: (kernel.name, ARCHS.index(kernel.arch)))]
