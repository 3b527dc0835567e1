"""Candidates as libraries of their own: libhconv.so with one candidate's kernels in it and nothing else.

The real build's generator program, compiler calls and runtime objects are used as they are; only variants.cpp, the table
of kernels, is compiled anew. So a candidate costs its generator (and nvcc), one small C++ file and one link. Whatever
was built stays in a cache, under a hash of all that it is made from: rows, sources, compilers, architectures.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import io
import json
import os
import shlex
import shutil
import subprocess
import time
from pathlib import Path

from . import machine
from .candidate import Candidate, shipped_candidates
from .problem import ROOT, Problem

import manifest  # noqa: E402  isort: skip
import resources  # noqa: E402  isort: skip

GENERATOR_SECONDS = 600


class BuildFolderError(Exception):
    """The build folder cannot build candidates; the text says why and what to do."""


class BuildFailed(Exception):
    """One candidate could not be built; the text is what the compilers said."""


@dataclasses.dataclass(frozen=True)
class Built:
    """`library` is None where the build failed: then `reason` says why. Registers and shared bytes are those of the
    largest kernel, 0 on a CPU."""

    library: Path | None
    reason: str = ""
    registers: int = 0
    shared_bytes: int = 0
    seconds: float = 0.0


def _run(command, timeout=GENERATOR_SECONDS) -> None:
    try:
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=timeout)
    except subprocess.TimeoutExpired:
        raise BuildFailed(f"{Path(str(command[0])).name} did not end within {timeout} s.") from None
    if done.returncode:
        said = " ".join((done.stderr.strip() or done.stdout.strip()).split())
        raise BuildFailed(f"{Path(str(command[0])).name} ended with {done.returncode}: {said[:400]}")


class BuildFolder:
    """A finished build of the project, from which candidates take what they share."""

    def __init__(self, path: Path):
        self.path = Path(path).resolve()
        self.generators = self.path / "bin" / "hconv_generators"
        if not self.generators.exists() or not (self.path / "compile_commands.json").exists():
            raise BuildFolderError(f"{self.path} holds no finished build: run cmake --preset default, then cmake --build "
                                   "--preset default.")
        built = self.generators.stat().st_mtime
        newer = [path for folder in ("codegen", "generators", "schedules") for path in (ROOT / folder).rglob("*")
                 if path.suffix in machine.SOURCES and path.stat().st_mtime > built
                 and "prelude" not in path.parts]  # which nvcc reads, not the generators
        if newer:
            raise BuildFolderError(f"{newer[0].relative_to(ROOT)} is newer than {self.generators}: build first.")
        lines = (line.partition("=") for line in (self.path / "CMakeCache.txt").read_text().splitlines() if "=" in line)
        cache = {name.split(":")[0]: value for name, _, value in lines}
        self.nvcc, self.compiler = cache["HCONV_NVCC"], cache["CMAKE_CXX_COMPILER"]
        archs = cache["HCONV_CUDA_ARCHS"].split(";")
        self.archs = ",".join(archs + ([f"ptx{cache['HCONV_CUDA_PTX']}"] if cache["HCONV_CUDA_PTX"] else []))
        commands = json.loads((self.path / "compile_commands.json").read_text())
        runtime = [entry for entry in commands if entry["output"].startswith("CMakeFiles/hconv_runtime.dir/")]
        self.table = next(entry for entry in runtime if entry["file"].endswith("/runtime/variants.cpp"))
        self.objects = [self.path / entry["output"] for entry in runtime if entry is not self.table]
        self.variants = self.path / "variants"
        missing = [path for path in self.objects if not path.exists()]
        if missing:
            raise BuildFolderError(f"{missing[0]} does not exist: build hconv_shared first.")

    def info(self) -> dict:
        """The log's "build"."""
        return {"halide": machine.halide_version(), "nvcc": machine.nvcc_version(self.nvcc),
                "source": machine.source_hash()}

    def generate(self, variant, folder: Path) -> list[Path]:
        """Objects of a row: the build's own where it has them, else from its generator."""
        objects = []
        for name, generator in variant.functions():
            if (self.variants / f"{name}.o").exists():
                objects.append(self.variants / f"{name}.o")
                if (self.variants / f"{name}.resources").exists():
                    for suffix in (".resources", ".cu"):
                        shutil.copy(self.variants / f"{name}{suffix}", folder)
                continue
            # As cmake/HconvVariants.cmake does it; tests/tune compares the results.
            command = [self.generators, "-g", generator, "-f", name, "-n", name, "-o", folder, "-e", "object,c_header",
                       f"target={variant.halide_target}", *variant.generator_params(), f"variant={name}"]
            if variant.target == "cuda":
                prelude = ROOT / "codegen" / "prelude"
                command += [f"nvcc={self.nvcc}", f"nvcc_archs={self.archs}", f"prelude={prelude}:{prelude / 'device'}",
                            f"out_dir={folder}"]
            _run(command)
            objects.append(folder / f"{name}.o")
        return objects

    def link(self, folder: Path, objects) -> Path:
        """libhconv.so of a folder with variants.inc and variant_resources.inc."""
        table, library = folder / "variants.o", folder / "libhconv.so"
        words = shlex.split(self.table["command"])
        words[words.index("-o") + 1] = str(table)
        words.insert(1, f"-I{folder}")  # before the build's own table
        words = [word for word in words if not word.startswith("-g")]
        _run(["env", "-C", self.table["directory"], *words])
        runtime = self.variants / "hconv_halide_runtime.o"
        _run([self.compiler, "-shared", "-s", "-o", library, *self.objects, table, *objects, runtime, "-ldl", "-lpthread",
              f"-Wl,--version-script={ROOT / 'cmake' / 'hconv.map'}", "-Wl,--no-undefined"])
        return library


class Builder:
    """Builds into `cache` with a BuildFolder; without one it only finds what the cache has."""

    def __init__(self, folder: BuildFolder | None, cache: Path):
        self.folder, self.cache = folder, Path(cache)
        self.cache.mkdir(parents=True, exist_ok=True)
        note = self.cache / "build.json"
        if folder:
            self.build, self.archs = folder.info(), folder.archs
            note.write_text(json.dumps({**self.build, "archs": self.archs}, indent=1, sort_keys=True) + "\n")
        elif note.exists():
            known = json.loads(note.read_text())
            self.archs = known.pop("archs")
            self.build = known
        else:
            raise BuildFolderError(f"{self.cache} holds no candidates, and there is no build folder to build them with.")
        if self.build["source"] != machine.source_hash():
            raise BuildFolderError(f"The candidates of {self.cache} were built from other sources than those here.")

    def key(self, candidate: Candidate) -> str:
        what = [candidate.rows(), candidate.helpers(), self.build, self.archs if candidate.target == "cuda" else ""]
        return hashlib.sha256(json.dumps(what, sort_keys=True).encode()).hexdigest()[:24]

    def cached(self, candidate: Candidate) -> Built | None:
        note = self.cache / self.key(candidate) / "built.json"
        if not note.exists():
            return None
        told = json.loads(note.read_text())
        library = note.parent / "libhconv.so"
        return Built(None if told["reason"] else library, **told)

    def get(self, candidate: Candidate) -> Built:
        """From the cache, else built now. A failure is remembered too."""
        found = self.cached(candidate)
        if found:
            return found
        if not self.folder:
            return Built(None, "It is not among the candidates that were built before.")
        start, place = time.monotonic(), self.cache / self.key(candidate)
        work = place.with_name(f"{place.name}.{os.getpid()}.{time.monotonic_ns()}")
        work.mkdir()
        reason = ""
        try:
            self._build(candidate, work)
        except BuildFailed as failure:
            reason = str(failure)
        registers, shared = self._resources(work)
        told = dict(reason=reason, registers=registers, shared_bytes=shared, seconds=round(time.monotonic() - start, 3))
        for path in work.iterdir():
            if path.suffix not in (".so", ".cu", ".resources", ".txt"):
                path.unlink()
        (work / "built.json").write_text(json.dumps(told, indent=1, sort_keys=True) + "\n")
        try:
            work.rename(place)
        except OSError:  # another process was faster
            shutil.rmtree(work)
        return self.cached(candidate)

    def candidates(self, problem: Problem) -> list[Candidate]:
        """All that the cache has a library of, for the problem's type and target."""
        found = []
        for note in sorted(self.cache.glob("*/built.json")):
            rows = note.with_name("variants.txt")
            if rows.exists():
                found += shipped_candidates(rows.read_text(), problem)
        return [candidate for candidate in dict.fromkeys(found) if (self.cached(candidate) or Built(None)).library]

    def _build(self, candidate: Candidate, work: Path) -> None:
        rows = work / "variants.txt"
        rows.write_text("\n".join(candidate.helpers() + candidate.rows()) + "\n")
        said = io.StringIO()
        with contextlib.redirect_stderr(said):
            if manifest.main([str(rows), str(work)]):
                raise BuildFailed(said.getvalue().strip())
        objects = []
        for variant in manifest.parse(rows.read_text(), rows.name):
            objects += self.folder.generate(variant, work)
        resources.main([str(work / "variant_resources.inc"), *map(str, sorted(work.glob("*.resources")))])
        self.folder.link(work, objects)

    @staticmethod
    def _resources(work: Path) -> tuple[int, int]:
        rows = [row for path in work.glob("*.resources") if not path.name.startswith("pack")
                for row in resources.parse(path.read_text(), path.name)]
        return max((row["registers"] for row in rows), default=0), max((row["shared_bytes"] for row in rows), default=0)
