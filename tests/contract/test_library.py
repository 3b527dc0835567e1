"""What the built libraries show and need: symbols, shared libraries, and programs outside the tree that link them."""

import importlib.util
import pathlib
import re
import shutil
import subprocess

import pytest

SYSTEM_LIBRARIES = {"libc", "libm", "libstdc++", "libgcc_s", "libdl", "libpthread", "ld-linux-x86-64"}

PROGRAM = r"""
#include <cstdio>
#include <hconv/hconv.h>

int main() {
  float x[] = {1, 2, 3, 4, 5, 6, 7, 8, 9}, w[] = {1, 10, 100, 1000}, y[4] = {};
  int64_t x_shape[] = {1, 1, 3, 3}, w_shape[] = {1, 1, 2, 2}, y_shape[] = {1, 1, 2, 2};
  DLTensor tensors[3] = {};
  float *data[] = {x, w, y};
  int64_t *shapes[] = {x_shape, w_shape, y_shape};
  for (int i = 0; i < 3; i++) {
    tensors[i].data = data[i];
    tensors[i].device = {kDLCPU, 0};
    tensors[i].ndim = 4;
    tensors[i].dtype = {kDLFloat, 32, 1};
    tensors[i].shape = shapes[i];
  }
  if (hconv_conv2d(&tensors[0], &tensors[1], nullptr, nullptr, HCONV_MATH_FP32, &tensors[2], nullptr) != HCONV_OK) {
    std::fprintf(stderr, "%s\n", hconv_last_error());
    return 1;
  }
  std::printf("%g %g %g %g\n", y[0], y[1], y[2], y[3]);
  return 0;
}
"""
# 1 + 10*2 + 100*4 + 1000*5 and so on, by hand.
EXPECTED = "5421 6532 8754 9865"

# A program with Halide code of its own, whose Halide runtime has the program's error handler and parallel loop.
HALIDE_PROGRAM = PROGRAM.replace("int main()", "int hconv_part()") + r"""
#include "user_pack.h"
#include <HalideBuffer.h>

int errors = 0, loops = 0;
void on_error(void *, const char *) { errors++; }
int in_order(void *context, halide_task_t task, int min, int size, uint8_t *closure) {
  loops++;
  for (int i = min; i < min + size; i++)
    if (int error = task(context, i, closure))
      return error;
  return 0;
}

int nothing(void *, int, uint8_t *) { return 0; }

// Many images, so that hconv's kernels run in parallel, if there is more than one processor.
int parallel_part() {
  static float x[64 * 16 * 16 * 4], w[16 * 4] = {1}, y[64 * 16 * 16 * 16];
  int64_t x_shape[] = {64, 4, 16, 16}, w_shape[] = {16, 4, 1, 1}, y_shape[] = {64, 16, 16, 16};
  DLTensor tensors[3] = {{x, {kDLCPU, 0}, 4, {kDLFloat, 32, 1}, x_shape, nullptr, 0},
                         {w, {kDLCPU, 0}, 4, {kDLFloat, 32, 1}, w_shape, nullptr, 0},
                         {y, {kDLCPU, 0}, 4, {kDLFloat, 32, 1}, y_shape, nullptr, 0}};
  x[0] = 7;
  hconv_conv2d(&tensors[0], &tensors[1], nullptr, nullptr, HCONV_MATH_FP32, &tensors[2], nullptr);
  return y[0] == 7;
}

int main() {
  halide_set_error_handler(on_error);
  halide_set_custom_do_par_for(in_order);
  Halide::Runtime::Buffer<uint32_t> w(2, 2, 3, 4), packed(16, 2, 2, 3), flat(16);
  w.fill(5);
  packed.fill(1);
  if (hconv_part() || !parallel_part())
    return 1;
  const int loops_of_hconv = loops;
  if (halide_do_par_for(nullptr, nothing, 0, 3, nullptr) || user_pack(w, packed) || user_pack(w, flat) == 0 || hconv_part())
    return 1;
  std::printf("%d %d, %u %u, %d %d\n", loops_of_hconv, loops, packed(3, 1, 1, 2), packed(4, 1, 1, 2), errors,
              hconv_last_error()[0]);
}
"""

CMAKE_LISTS = """
cmake_minimum_required(VERSION 3.28)
project(outside LANGUAGES CXX)
find_package(hconv 0.1 REQUIRED)
add_executable(static_program program.cpp)
target_link_libraries(static_program PRIVATE hconv::hconv)
add_executable(shared_program program.cpp)
target_link_libraries(shared_program PRIVATE hconv::hconv_shared)
"""


def run(*command, **options):
    result = subprocess.run([str(word) for word in command], text=True, capture_output=True, **options)
    assert result.returncode == 0, f"{command}\n{result.stdout}\n{result.stderr}"
    return result.stdout


def needed(path):
    """Names of the shared libraries a program asks for, without version."""
    return {name.split(".so")[0] for name in re.findall(r"\(NEEDED\).*\[(.*)\]", run("readelf", "-d", path))}


def tool(root, name):
    return shutil.which(name, path=str(root / ".venv/bin")) or shutil.which(name)


@pytest.fixture(scope="module")
def installed(root, build_dir, tmp_path_factory):
    prefix = tmp_path_factory.mktemp("prefix")
    run(tool(root, "cmake"), "--install", build_dir, "--prefix", prefix)
    return prefix


def test_shared_library_exports_the_c_api_and_nothing_else(root, build_dir):
    exported = set(re.findall(r" [TWDBRV] (\S+)$", run("nm", "-D", "--defined-only", build_dir / "lib/libhconv.so"),
                              re.MULTILINE))
    header = re.sub(r"/\*.*?\*/", "", (root / "runtime/include/hconv/hconv.h").read_text(), flags=re.DOTALL)
    declared = set(re.findall(r"\b(hconv_\w+)\(", header))
    assert "hconv_conv2d" in declared and len(declared) > 15
    assert exported == declared


def test_libraries_need_only_the_system(build_dir):
    assert needed(build_dir / "lib/libhconv.so") <= SYSTEM_LIBRARIES


def test_no_cuda_variant_uses_halides_own_cuda_launcher(build_dir):
    objects = sorted(path for path in (build_dir / "variants").glob("*_cuda*.o") if "opencl" not in path.name)
    assert any(path.name.startswith("conv2d_") for path in objects)
    for path in objects:
        undefined = run("nm", "--undefined-only", path)
        assert "hconv_cuda_launch" in undefined
        assert "halide_cuda_run" not in undefined, path.name
        assert "halide_cuda_initialize_kernels" not in undefined, path.name


def test_program_outside_the_tree_with_cmake(root, installed, tmp_path):
    (tmp_path / "program.cpp").write_text(PROGRAM)
    (tmp_path / "CMakeLists.txt").write_text(CMAKE_LISTS)
    build = tmp_path / "build"
    # Ninja, which scripts/setup installs: a bare machine need not have make.
    run(tool(root, "cmake"), "-S", tmp_path, "-B", build, "-G", "Ninja", f"-DCMAKE_MAKE_PROGRAM={tool(root, 'ninja')}",
        f"-DCMAKE_PREFIX_PATH={installed}")
    run(tool(root, "cmake"), "--build", build)
    for program in ("static_program", "shared_program"):
        assert run(build / program).split() == EXPECTED.split()
    assert needed(build / "static_program") <= SYSTEM_LIBRARIES


def test_program_outside_the_tree_with_the_compiler_alone(installed, tmp_path):
    (tmp_path / "program.cpp").write_text(PROGRAM)
    program = tmp_path / "program"
    run("g++", "-std=c++17", tmp_path / "program.cpp", f"-I{installed}/include", f"-L{installed}/lib", "-l:libhconv.a",
        "-ldl", "-lpthread", "-o", program)
    assert run(program).split() == EXPECTED.split()


@pytest.fixture(scope="module")
def halide_object(build_dir, tmp_path_factory):
    """user_pack.o and user_pack.h: a Halide pipeline with a runtime of its own."""
    generators = build_dir / "bin/hconv_generators"
    if not generators.exists():
        pytest.skip("this build took its variants from another one")
    folder = tmp_path_factory.mktemp("halide")
    run(generators, "-g", "pack_weights", "-f", "user_pack", "-n", "user_pack", "-o", folder, "-e", "object,c_header",
        "target=x86-64-linux", "variant=user_pack", "bits=32")
    return folder / "user_pack.o"


@pytest.mark.parametrize("order", ["before", "after"])
@pytest.mark.parametrize("library", ["libhconv.a", "libhconv.so"])
def test_a_program_keeps_its_own_halide_runtime(installed, halide_object, library, order, tmp_path):
    halide = pathlib.Path(importlib.util.find_spec("halide").submodule_search_locations[0]) / "include"
    (tmp_path / "program.cpp").write_text(HALIDE_PROGRAM)
    program = tmp_path / "program"
    linked = [halide_object, f"-l:{library}"] if order == "before" else [f"-l:{library}", halide_object]
    run("g++", "-std=c++17", tmp_path / "program.cpp", f"-I{installed}/include", f"-I{halide}", f"-I{halide_object.parent}",
        f"-L{installed}/lib", f"-Wl,-rpath,{installed}/lib", *linked, "-ldl", "-lpthread", "-o", program)
    told = run(program).splitlines()
    assert told[:2] == [EXPECTED, EXPECTED]
    # hconv's loops and errors go past the program's handlers, the program's own reach them.
    assert told[2:] == ["0 1, 5 0, 1 0"]
