"""Which folder may know which: the arrows of the architecture, checked in the sources."""

import re
import subprocess

import pytest

SOURCES = (".cpp", ".h", ".hpp", ".cuh")


def includes(root, folder):
    """(file, included path) of every tracked source in the folder."""
    names = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard", folder], cwd=root, text=True,
                           capture_output=True, check=True).stdout.split()
    found = [(name, path) for name in names if name.endswith(SOURCES)
             for path in re.findall(r'^\s*#\s*include\s+[<"]([^>"]+)[>"]', (root / name).read_text(), re.MULTILINE)]
    assert found, f"{folder} has no includes to check"
    return found


def test_runtime_knows_no_compiler(root):
    for name, path in includes(root, "runtime"):
        assert path != "Halide.h", f"{name} includes the Halide compiler"
        assert not path.startswith(("codegen/", "generators/", "schedules/")), f"{name} includes {path}"


def test_runtime_needs_no_cuda_header(root):
    for name, path in includes(root, "runtime"):
        assert not re.fullmatch(r"cuda\.h|cuda_.*|nv.*", path), f"{name} includes {path}"


@pytest.mark.parametrize("folder", ["tools", "examples"])
def test_users_of_the_library_see_only_its_public_headers(root, folder):
    if not (root / folder).is_dir() or not list((root / folder).rglob("*.cpp")):
        pytest.skip(f"{folder}/ holds no C++")
    for name, path in includes(root, folder):
        assert not path.startswith(("runtime/", "codegen/", "generators/", "schedules/")), f"{name} includes {path}"
        assert path != "Halide.h", f"{name} includes {path}"


def test_codegen_knows_no_schedule_and_no_generator(root):
    for name, path in includes(root, "codegen"):
        assert not path.startswith(("generators/", "schedules/", "runtime/")), f"{name} includes {path}"
