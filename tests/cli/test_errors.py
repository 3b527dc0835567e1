"""Every way to be refused: the exit code, and a sentence with the argument, the value found and the value expected."""

import os

import numpy as np
import pytest

from conftest import HAS_CUDA, NO_DRIVER

CONV = ("conv", "--input", "x.npy", "--weights", "w.npy", "--output", "y.npy", "--device", "cpu")


@pytest.fixture
def saved(cli):
    cli.save("x.npy", np.ones((2, 3, 9, 11), "f4"))
    cli.save("w.npy", np.ones((5, 3, 3, 4), "f4"))
    return cli


def assert_says(message, *parts):
    for part in parts:
        assert part in message, message


@pytest.mark.parametrize("missing", ["--input", "--weights", "--output"])
def test_required_options(saved, missing):
    at = CONV.index(missing)
    assert_says(saved.refused(2, *CONV[:at], *CONV[at + 2:]), missing, "required", "hconv conv --help")


@pytest.mark.parametrize("arguments, says", [
    ([], ["no command was given", "conv, bench, explain, list or devices"]),
    (["frobnicate"], ["'frobnicate' is unknown"]),
    (["list", "extra"], ["'extra' is unknown"]),
    (["explain"], ["SHAPE is required"]),
    (["explain", "1,2,3"], ["SHAPE: '1,2,3'", "expected B,C,H,W,KH,KW"]),
    (["explain", "1,1,4,4,1,1", "--type", "f64"], ["--type: 'f64'", "expected f32, bf16 or f16"]),
    (["explain", "1,1,4,4,1,1", "--math", "fast"], ["--math: 'fast'", "expected fp32, strict or tf32"]),
    (["bench"], ["SHAPE: none was given"]),
    (["bench", "1,1,4,4,1"], ["SHAPE: '1,1,4,4,1'"]),
    (["bench", "--file", "missing.txt"], ["--file missing.txt", "No such file"]),
    (["bench", "1,1,4,4,1,1", "--repeat", "0"], ["--repeat", "0", "1 to 1000000"]),
    (["bench", "1,1,4,4,1,1", "--repeat", "x"], ["--repeat", "x", "1 to 1000000"]),
    (["bench", "1,1,4,4,1,1", "--pad", "valid"], ["--pad: 'valid'", "TOP,BOTTOM,LEFT,RIGHT"]),
    (["bench", "1,1,4,4,1,1", "--device", "gpu"], ["--device: 'gpu'", "expected cpu, cuda or cuda:N"]),
])
def test_command_lines(cli, arguments, says):
    assert_says(cli.refused(2, *arguments), *says)


@pytest.mark.parametrize("option, value, says", [
    ("--pad", "-1", "--pad: '-1'"),
    ("--pad", "1,2", "--pad: '1,2'"),
    ("--pad", "1,2,3,-4", "--pad: '1,2,3,-4'"),
    ("--type", "float32", "--type: 'float32'"),
    ("--math", "double", "--math: 'double'"),
    ("--repeat", "0", "--repeat"),
])
def test_conv_option_values(saved, option, value, says):
    assert_says(saved.refused(2, *CONV, option, value), says)


@pytest.mark.parametrize("option", ["--input", "--weights", "--bias"])
def test_files_that_are_not_arrays(saved, option):
    at = {"--input": "x.npy", "--weights": "w.npy", "--bias": "b.npy"}
    arguments = ["conv", "--device", "cpu", "--output", "y.npy"]
    for name, file in {**at, option: "odd.npy"}.items():
        if name != "--bias" or option == "--bias":
            arguments += [name, file]
    odd = saved.folder / "odd.npy"
    assert_says(saved.refused(2, *arguments), f"{option} odd.npy", "No such file")
    odd.mkdir()
    assert_says(saved.refused(2, *arguments), f"{option} odd.npy", "is a folder")
    odd.rmdir()
    odd.write_bytes(b"")
    assert_says(saved.refused(2, *arguments), f"{option} odd.npy", "not a .npy file")
    np.savez(saved.folder / "archive.npz", a=np.ones(3))
    odd.write_bytes((saved.folder / "archive.npz").read_bytes())
    assert_says(saved.refused(2, *arguments), f"{option} odd.npy", "not a .npy file", "numpy.save")
    np.save(odd, np.ones((5, 3, 3, 4), "f4"))
    odd.write_bytes(odd.read_bytes()[:-5])
    assert_says(saved.refused(2, *arguments), f"{option} odd.npy", "(5, 3, 3, 4)", "715 bytes found, expected 720")


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root reads everything")
def test_unreadable_file(saved):
    (saved.folder / "x.npy").chmod(0)
    assert_says(saved.refused(2, *CONV), "--input x.npy", "Permission denied")


@pytest.mark.parametrize("array", [np.ones((1, 1, 2, 2), "c8"), np.array([["a"]]), np.array([[1]], "M8[s]"),
                                   np.zeros((1, 1), [("a", "f4")]), np.ones((1, 1, 2, 2), np.longdouble)])
def test_element_types(saved, array):
    saved.save("x.npy", array)
    assert_says(saved.refused(3, *CONV), "--input x.npy", "expected")


def test_pickled_objects(saved):
    np.save(saved.folder / "x.npy", np.array([None]), allow_pickle=True)
    assert_says(saved.refused(3, *CONV), "--input x.npy", "'|O'")


@pytest.mark.parametrize("name, shape, says", [
    ("x.npy", (9, 11), ["--input x.npy", "(9, 11)", "(B, C, H, W)"]),
    ("x.npy", (), ["--input x.npy", "()"]),
    ("x.npy", (1, 2, 3, 9, 11), ["--input x.npy", "(1, 2, 3, 9, 11)"]),
    ("x.npy", (2, 4, 9, 11), ["--weights w.npy", "(5, 3, 3, 4)", "C_in of 4", "--input x.npy", "(2, 4, 9, 11)"]),
    ("w.npy", (5, 3, 3), ["--weights w.npy", "(5, 3, 3)", "(C_out, C_in, KH, KW)"]),
    ("w.npy", (5, 3, 10, 4), ["--weights w.npy", "(5, 3, 10, 4)", "--input x.npy", "OH would be 0", "at least 1"]),
    ("w.npy", (5, 3, 3, 12), ["--weights w.npy", "OW would be 0", "at least 1"]),
    ("w.npy", (5, 3, 0, 4), ["--weights w.npy", "KH is 0", "at least 1"]),
    ("w.npy", (0, 3, 3, 4), ["--weights w.npy", "OC is 0", "at least 1"]),
])
def test_shapes(saved, name, shape, says):
    saved.save(name, np.ones(shape, "f4"))
    assert_says(saved.refused(2, *CONV), *says)


@pytest.mark.parametrize("shape", [(4,), (5, 1), (), (0,)])
def test_bias_shapes(saved, shape):
    saved.save("b.npy", np.ones(shape, "f4"))
    assert_says(saved.refused(2, *CONV, "--bias", "b.npy"), "--bias b.npy", str(shape), "(5,)", "--weights w.npy")


def test_output_paths(saved):
    arguments = list(CONV)
    arguments[arguments.index("y.npy")] = "missing/y.npy"
    assert_says(saved.refused(2, *arguments), "--output missing/y.npy", "folder missing does not exist")
    arguments[arguments.index("missing/y.npy")] = "."
    assert_says(saved.refused(2, *arguments), "--output .", "cannot be written")
    if os.path.exists("/dev/full"):
        arguments[arguments.index(".")] = "/dev/full"
        assert_says(saved.refused(2, *arguments), "--output /dev/full", "incomplete")


def test_no_device(saved):
    arguments = [*CONV[:-1], "cuda"]
    assert_says(saved.refused(4, *arguments, **NO_DRIVER), "--device: 'cuda'", "no CUDA driver", "expected cpu")
    assert_says(saved.refused(4, "bench", "1,1,4,4,1,1", "--device", "cuda:1", **NO_DRIVER), "--device: 'cuda:1'")
    assert_says(saved.refused(4, *CONV[:-2], HCONV_DEVICE="cuda", **NO_DRIVER), "cuda:0", "/nowhere/libcuda.so.1")


@pytest.mark.skipif(not HAS_CUDA, reason="HCONV_CUDA_DRIVER names no driver")
def test_no_such_device(cli):
    assert_says(cli.refused(4, "bench", "1,1,4,4,1,1", "--device", "cuda:999"), "--device: 'cuda:999'", "expected cuda:0")


def test_device_of_the_environment(saved):
    assert_says(saved.refused(2, *CONV[:-2], HCONV_DEVICE="tpu"), "HCONV_DEVICE", "'tpu'")
    assert saved.json(*CONV[:-2], HCONV_DEVICE="cpu")["device"] == "cpu"
    assert saved.json(*CONV[:-2], **NO_DRIVER)["device"] == "cpu", "without a driver the CPU is the default"


def test_unsupported_sizes(cli):
    assert_says(cli.refused(3, "explain", "1,32768,65536,65536,1,1", "--device", "cpu"), "too large", "2^31")
    document = cli.json("bench", "1,32768,65536,65536,1,1", "--device", "cpu", code=3)
    assert "2^31" in document["results"][0]["error"]


def test_out_of_memory(cli):
    """Four petabytes, more than an address space holds: refused with a sentence, also under the address sanitizer."""
    result = cli.run("bench", "1000000,64,4096,4096,1,1", "--device", "cpu", ASAN_OPTIONS="allocator_may_return_null=1")
    assert result.returncode == 5, result.stderr
    assert_says(result.stderr, "1000000,64,4096,4096,1,1", "bytes on cpu for the input")
