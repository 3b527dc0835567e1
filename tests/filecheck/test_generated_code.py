"""Runs LLVM FileCheck over what is generated for each CUDA variant of the manifest.

KIND.cuda.check looks at the CUDA text, KIND.sass.check at the machine code for sm_90a; KIND is the algorithm, or one of
its functions where it has several (transform_input). The manifest row's keys
are variables there (tile_oc is [[TILE_OC]]), besides NAME, CTYPE (C++ element type), THREADS, ACCUMULATORS (sums of one
thread), LDS_BITS (widest load of shared float32), VECTOR (elements in 16 bytes), STAGES_IN_FLIGHT and Y_CTYPE (C++ type
of y, which split rows leave in float32).
Lines that hold only for one element type carry the prefix
CUDA-F32 and so on, those for rows with stages > 1 or = 1 CUDA-PIPELINED or CUDA-PLAIN, those for rows with split=1 or
without CUDA-SPLIT or CUDA-WHOLE; likewise with SASS.
"""

import math
import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / "tests/contract"))

import cuda_images  # noqa: E402

BUILD = pathlib.Path(os.environ.get("HCONV_BUILD_DIR", ROOT / "build/default"))
VARIANTS = cuda_images.cuda_functions(BUILD)
CTYPES = {"f32": "float", "bf16": "hconv::bfloat16", "f16": "hconv::half", "b32": "uint32_t", "b16": "uint16_t"}
ELEMENT_BYTES = {"f32": 4, "bf16": 2, "f16": 2, "b32": 4, "b16": 2}
# Who computes thread_oc x thread_oh x thread_ow outputs: a thread, or a warp.
THREADS_SHARING_A_TILE = {"direct": 1, "mma": 32, "wgmma": 32, "spectral_product": 1}
WITH_SUMS = tuple(THREADS_SHARING_A_TILE)
SASS_ARCH = "sm_90a"


def file_check_program():
    names = ["FileCheck", *(f"FileCheck-{version}" for version in range(25, 12, -1))]
    for name in names:
        if path := shutil.which(name):
            return path
    for path in sorted(pathlib.Path("/usr/lib").glob("llvm-*/bin/FileCheck")):
        return str(path)
    pytest.fail("FileCheck was not found: install llvm-14-tools (or another version), or run scripts/setup.")


def variables(row):
    """FileCheck's variables of one manifest row."""
    values = {key.upper(): value for key, value in row.items() if isinstance(value, int)}
    values.update(NAME=row["name"], CTYPE=CTYPES[row["type"]], VECTOR=16 // ELEMENT_BYTES[row["type"]])
    values.update(Y_CTYPE="float" if row["split"] else values["CTYPE"])
    if row["algorithm"] == "direct":
        # A thread's outputs lie side by side in shared memory: up to four of them are one load.
        values.update(LDS_BITS=32 * max(math.gcd(row["thread_oc"], 4), math.gcd(row["thread_ow"], 4)))
    if row["algorithm"] in WITH_SUMS:
        # With three stages or more, one is kept for the wgmma of the step before.
        kept = 1 if row["algorithm"] == "wgmma" and row["stages"] > 2 else 0
        values.update(THREADS=32 * row["warps"], ACCUMULATORS=accumulators(row),
                      STAGES_IN_FLIGHT=max(row["stages"] - 2 - kept, 0))
    return values


def accumulators(row):
    """Sums that one thread of a convolution or product holds."""
    tile = row["thread_oc"] * max(row["thread_oh"], 1) * row["thread_ow"]
    if row["algorithm"] == "spectral_product":
        tile *= {4: 2, 3: 3}[row["products"] or 4]  # real and imaginary part, or three products
    return tile // THREADS_SHARING_A_TILE[row["algorithm"]]


def stores(row):
    """How a tensor-core variant stores y."""
    if row["split"]:
        return "PARTS"
    return "WIDE" if row["store_bytes"] == 16 else "PAIRS" if row["layout"] else "NARROW"


def file_check(check_file, text, prefix, row, forbidden=()):
    staging = "PIPELINED" if row["stages"] > 1 else "PLAIN"
    sums, type = "SPLIT" if row["split"] else "WHOLE", row["type"].upper()
    prefixes = [prefix, *(f"{prefix}-{suffix}" for suffix in
                          (type, staging, f"{staging}-{type}", sums, f"{sums}-{type}", stores(row)))]
    command = [file_check_program(), str(check_file), f"--check-prefixes={','.join(prefixes)}",
               "--allow-unused-prefixes", "--dump-input=never",
               *(f"--implicit-check-not={word}" for word in forbidden),
               *(f"-D{key}={value}" for key, value in variables(row).items())]
    done = subprocess.run(command, input=text, text=True, capture_output=True)
    if done.returncode != 0:
        pytest.fail(f"{row['name']} against {check_file.name}:\n{done.stderr}", pytrace=False)


def expect_at_least(count, word, text):
    found = text.count(word)
    assert found >= count, f"{found} {word}, expected at least {count}"


def kind_of(row):
    """Of the check files. The forms of wgmma have little in common."""
    return "wgmma_shared" if row["a_shared"] else row["kind"]


def ids(row):
    return row["name"]


@pytest.fixture(scope="session")
def cuobjdump():
    return os.environ.get("HCONV_CUOBJDUMP") or shutil.which("cuobjdump") or pytest.fail(
        "cuobjdump was not found: run scripts/setup, which takes it from the wheel nvidia-cuda-cuobjdump.")


def test_there_are_cuda_variants_of_every_type():
    assert {row["type"] for row in VARIANTS if not row["algorithm"].startswith(("pack", "transpose"))} == {"f32", "bf16", "f16"}


@pytest.mark.parametrize("row", VARIANTS, ids=ids)
def test_cuda(row):
    text = (BUILD / f"variants/{row['name']}.cu").read_text(encoding="utf-8")
    # Sums of another precision, and calls that the printer did not know.
    file_check(HERE / f"{kind_of(row)}.cuda.check", text, "CUDA", row, forbidden=("double", "unknown", "atomic"))


@pytest.mark.parametrize("row", VARIANTS, ids=ids)
def test_sass(row, cuobjdump):
    text = cuda_images.run([cuobjdump, "-sass", "-arch", SASS_ARCH, cuda_images.image_of(BUILD, row["name"])])
    # Local memory, that is spills or an array that is not in registers; double precision; generic addressing.
    file_check(HERE / f"{kind_of(row)}.sass.check", text, "SASS", row,
               forbidden=("LDL", "STL", "DFMA", "DADD", "DMUL", " LD.E", " ST.E"))
    if row["algorithm"] == "direct":
        # Each sum of a thread once a tap that is staged: the loops around them are unrolled, and products are fused.
        expect_at_least(accumulators(row) * row["kw_tile"], "FFMA", text)
    elif row["algorithm"] == "spectral_product":
        # Exactly one a real product: the real and the imaginary part are not multiplied first and added later.
        products = row["thread_oc"] * row["thread_ow"] * (row["products"] or 4)
        assert text.count("FFMA") % products == 0 and text.count("FMUL") == 0, text.count("FFMA")
        expect_at_least(products, "FFMA", text)
    elif row["algorithm"] == "mma":
        # A product of 16 x 8 x 16 for each four sums of a lane and each 16 channels of a step; none on the FMA units.
        expect_at_least(accumulators(row) // 4, "HMMA", text)
        assert "FFMA" not in text
        # An integer division goes through MUFU.RCP.
        inside = next(loop for loop in loops(text) if "HMMA" in loop)
        assert "MUFU" not in inside, inside
    elif row["algorithm"] == "wgmma":
        expect_hgmma(row, text)
        # Else ptxas waits for each one, and the loads of the next fragments hide behind none.
        report = cuda_images.image_of(BUILD, row["name"]).with_suffix(".nvcc.log").read_text(encoding="utf-8")
        assert "serialized" not in report, report


def loops(text):
    """The instructions of each loop in machine code, a line each; inner loops first."""
    code = [(int(address, 16), instruction)
            for address, instruction in re.findall(r"^\s+/\*([0-9a-f]{4,})\*/\s+(.*?);", text, re.MULTILINE)]
    targets = [(re.search(r"\bBRA\b.*0x([0-9a-f]+)", instruction), address) for address, instruction in code]
    for _, first, last in sorted((address - int(found[1], 16), int(found[1], 16), address) for found, address in targets
                                 if found and int(found[1], 16) < address):
        yield "\n".join(instruction for address, instruction in code if first <= address <= last)


def expect_hgmma(row, text):
    """The products are HGMMA alone, and the loop around them keeps the tensor cores busy.

    An HGMMA of 64 x N x 16 takes them N / 2 cycles and gives a lane N / 2 sums. In each cycle a scheduler issues one
    instruction; a warpgroup's four warps have one each.
    """
    assert "FFMA" not in text and " HMMA" not in text
    for inside in loops(text):
        cycles = sum(int(n) // 2 for n in re.findall(r"HGMMA\.64x(\d+)x16\.F32", inside))
        if cycles:
            assert cycles >= accumulators(row) * row["ic"] // 16, f"HGMMA of {cycles} cycles in the loop"
            instructions = len(inside.split("\n"))
            assert instructions <= cycles, f"{instructions} instructions in {cycles} cycles of HGMMA"
            return
    pytest.fail("No loop holds an HGMMA.")


def test_wgmma_is_machine_code_for_one_architecture(cuobjdump):
    """Nothing in its image may look runnable to another device: neither machine code nor PTX."""
    for row in VARIANTS:
        if row["algorithm"] != "wgmma":
            continue
        listed = cuda_images.run([cuobjdump, "-lelf", "-lptx", cuda_images.image_of(BUILD, row["name"])])
        assert re.findall(r"\.(sm_\w+)\.(cubin|ptx)", listed) == [("sm_90a", "cubin")], listed


def test_the_checks_do_fail(tmp_path):
    """FileCheck is run with options that make an absent line an error."""
    check = tmp_path / "a.check"
    check.write_text("CUDA: acc[[ACCUMULATORS]]\n")
    row = next(row for row in VARIANTS if row["algorithm"] == "direct")
    file_check(check, f"acc{accumulators(row)}\n", "CUDA", row)
    for text, forbidden in (("acc\n", ()), (f"acc{accumulators(row)}\ndouble\n", ("double",))):
        with pytest.raises(pytest.fail.Exception):
            file_check(check, text, "CUDA", row, forbidden)
