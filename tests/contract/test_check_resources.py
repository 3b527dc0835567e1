"""check_resources.py: what it accepts, and that it names every kind of breach."""

import check_resources
import pytest
from cuda_images import Kernel, ToolError, parse_ptxas

REPORT = """
ptxas info    : Compiling entry function 'k' for 'sm_90a'
ptxas info    : Function properties for k
    0 bytes stack frame, 8 bytes spill stores, 12 bytes spill loads
ptxas info    : Used 64 registers, used 1 barriers, 48 bytes smem, 400 bytes cmem[0]
ptxas info    : Compiling entry function 'k' for 'sm_80'
ptxas info    : Function properties for k
    32 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Function properties for a_function
    16 bytes stack frame, 4 bytes spill stores, 4 bytes spill loads
ptxas info    : Used 60 registers, used 1 barriers, 400 bytes cmem[0]
"""
KERNEL = Kernel("k", "90a", 64, 0, 1024, 128)


def breaches(kernel, row=KERNEL, same_release=True):
    return check_resources.violations([kernel], {(row.name, row.arch): row}, same_release)


def test_ptxas_reports_are_read():
    assert parse_ptxas(REPORT) == {("k", "90a"): (64, 20, 48, 0), ("k", "80"): (60, 8, 0, 32)}
    with pytest.raises(ToolError, match="did not report registers"):
        parse_ptxas("ptxas info    : Compiling entry function 'k' for 'sm_80'\n")


def test_the_table_reads_back():
    other = [Kernel("other", arch, registers, 0, 0, 32) for arch, registers in (("80", 10), ("90a", 12), ("120", 14))]
    text = check_resources.format_table([KERNEL, *other], "13.0")
    assert check_resources.parse_table(text) == ("13.0", {(k.name, k.arch): k for k in (KERNEL, *other)})


def test_a_table_has_one_size_a_kernel():
    with pytest.raises(ValueError, match="k has 2048 shared bytes and 128 threads on sm_120, others on other"):
        check_resources.format_table([KERNEL, Kernel("k", "120", 64, 0, 2048, 128)], "13.0")


ROW = "k 128 1024 1 2 3 4 5 -"


@pytest.mark.parametrize("line", ["k 128 1024 1 2 3 4 5", "k 128 1024 1 2 3 4 5 many", "k 128 - 1 2 3 4 5 6",
                                  "k many 1024 1 2 3 4 5 6", f"{ROW}\n{ROW}"])
def test_lines_that_are_no_rows_are_named(line):
    check_resources.parse_table(f"# nvcc 13.0.\n{ROW}\n")
    with pytest.raises(ValueError, match=r"^resources.txt:\d: "):
        check_resources.parse_table("# nvcc 13.0.\n" + line)


def test_equal_and_fewer_registers_are_kept():
    assert breaches(KERNEL) == []
    assert breaches(Kernel("k", "90a", 60, 0, 1024, 128)) == []


@pytest.mark.parametrize("kernel, sentence", [
    (Kernel("k", "90a", 65, 0, 1024, 128), "k on sm_90a uses 65 registers, its row allows 64."),
    (Kernel("k", "90a", 64, 4, 1024, 128), "k on sm_90a spills 4 bytes of registers."),
    (Kernel("k", "90a", 64, 0, 1024, 128, 32), "k on sm_90a has a stack frame of 32 bytes."),
    (Kernel("k", "90a", 64, 0, 1020, 128), "k on sm_90a has shared_bytes 1020, its row says 1024."),
    (Kernel("k", "90a", 64, 0, 1024, 256), "k on sm_90a has threads 256, its row says 128."),
])
def test_each_breach_is_named(kernel, sentence):
    assert breaches(kernel) == [sentence]


def test_missing_and_superfluous_rows_are_named():
    assert breaches(Kernel("k", "80", 64, 0, 1024, 128)) == [
        "k on sm_80 has no row.", "The row of k on sm_90a belongs to no kernel."]


def test_another_compiler_may_take_other_registers_but_not_spill():
    assert breaches(Kernel("k", "90a", 80, 0, 1024, 128), same_release=False) == []
    assert breaches(Kernel("k", "90a", 80, 4, 1024, 128), same_release=False) != []
