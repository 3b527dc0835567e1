"""hconv conv: what it reads, what it computes, what it writes."""

import numpy as np
import pytest
from numpy.lib import format as npy

from reference import assert_close, conv2d, rounded

random = np.random.default_rng(3)
X = random.integers(-4, 5, (2, 3, 9, 11))
W = random.integers(-3, 4, (5, 3, 3, 4))
BIAS = random.integers(-9, 10, 5)
DTYPES = ["<f2", ">f2", "<f4", ">f4", "<f8", ">f8", "i1", "<i2", ">i4", "<i8", ">i8"]
UNSIGNED = ["u1", ">u2", "<u4", ">u8", "?"]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("fortran", [False, True], ids=["C", "Fortran"])
def test_every_dtype_and_order_is_exact_on_small_integers(cli, dtype, fortran):
    y, document = cli.conv(X.astype(dtype), W.astype(dtype), "--device", "cpu", bias=BIAS.astype(dtype), fortran=fortran)
    half = dtype[1:] == "f2"
    assert y.dtype == (np.dtype("<f2") if half else np.dtype("<f4"))
    assert document["type"] == ("f16" if half else "f32")
    assert document["notes"] == []
    np.testing.assert_array_equal(y, conv2d(X, W, BIAS)[0])


@pytest.mark.parametrize("dtype", UNSIGNED)
def test_unsigned_and_bool(cli, dtype):
    x, w = np.abs(X).astype(dtype), np.abs(W).astype(dtype)
    y, _ = cli.conv(x, w, "--device", "cpu")
    np.testing.assert_array_equal(y, conv2d(x, w)[0])


@pytest.mark.parametrize("version", [(1, 0), (2, 0), (3, 0)])
def test_format_versions(cli, device, version):
    for name, array in (("x.npy", X.astype("f4")), ("w.npy", W.astype("f4"))):
        with open(cli.folder / name, "wb") as file:
            npy.write_array(file, array, version)
    cli.ok("conv", "-i", "x.npy", "-w", "w.npy", "-o", "y.npy", "--device", device)
    np.testing.assert_array_equal(cli.load("y.npy"), conv2d(X, W)[0])


PADDINGS = {"0": (0, 0, 0, 0), "2": (2, 2, 2, 2), "1,2,3,0": (1, 2, 3, 0), "same": (1, 1, 1, 2)}


@pytest.mark.parametrize("type_name", ["f32", "bf16", "f16"])
@pytest.mark.parametrize("padding", PADDINGS)
def test_exact_on_integers(cli, device, type_name, padding):
    """Sums below 256, so that bfloat16 holds them as well."""
    x, w, bias = random.integers(-2, 3, (2, 3, 9, 11)), random.integers(-1, 2, (5, 3, 3, 4)), BIAS
    y, document = cli.conv(x.astype("f4"), w.astype("f4"), "--device", device, "--type", type_name, "--pad", padding,
                           bias=bias.astype("f4"))
    assert document["device"] == ("cpu" if device == "cpu" else "cuda:0")
    assert document["padding"] == dict(zip(("top", "bottom", "left", "right"), PADDINGS[padding]))
    np.testing.assert_array_equal(y, conv2d(x, w, bias, PADDINGS[padding])[0])


@pytest.mark.parametrize("type_name", ["f32", "bf16", "f16"])
@pytest.mark.parametrize("shape", [((1, 1, 1, 1), (1, 1, 1, 1)), ((3, 17, 20, 7), (33, 17, 5, 3)), ((1, 4, 40, 70), (3, 4, 1, 11))])
def test_real_data_within_the_derived_bound(cli, device, type_name, shape):
    x, w = (rounded(random.standard_normal(s), type_name) for s in shape)
    y, document = cli.conv(x, w, "--device", device, "--type", type_name)
    assert document["notes"] == [], "the values were of the type already"
    assert_close(y, x, w, type_name)


def test_strict_math(cli, device):
    x, w = random.standard_normal((1, 8, 12, 12)).astype("f4"), random.standard_normal((8, 8, 3, 3)).astype("f4")
    y, document = cli.conv(x, w, "--device", device, "--math", "strict")
    assert document["math"] == "strict"
    assert_close(y, x, w, "f32")


def test_3d_input_is_one_image(cli, device):
    y, document = cli.conv(X[0].astype("f4"), W.astype("f4"), "--device", device)
    assert document["output"]["shape"] == [5, 7, 8]
    np.testing.assert_array_equal(y, conv2d(X[:1], W)[0][0])


def test_zero_batch(cli, device):
    y, document = cli.conv(np.zeros((0, 3, 9, 11), "f4"), W.astype("f4"), "--device", device)
    assert y.shape == (0, 5, 7, 8)
    assert document["operations"] == 0


def identity(cli, values, dtype, type_name):
    """The values after a 1x1 convolution by 1: what the conversion made of them."""
    x = np.asarray(values).astype(dtype).reshape(1, 1, 1, -1)
    y, document = cli.conv(x, np.ones((1, 1, 1, 1), "f4"), "--type", type_name, "--device", "cpu")
    return y.reshape(-1), document["notes"]


@pytest.mark.parametrize("dtype", ["<f8", "<f4", "<f2"])
@pytest.mark.parametrize("type_name", ["f32", "bf16", "f16"])
def test_conversion_rounds_once_to_nearest_even(cli, dtype, type_name):
    exponents = (-14, 15) if dtype == "<f2" else (-30, 30)
    values = np.ldexp(random.uniform(-2, 2, 20000), random.integers(*exponents, 20000))
    ties = np.concatenate([1 + np.arange(1, 64, 2) * 2.0**-bits for bits in (8, 9, 11, 12, 24, 25)])
    values = np.concatenate([values, ties, np.nextafter(ties, 0), np.nextafter(ties, 9), [65504, 65519.99, 65520, -65520]])
    with np.errstate(over="ignore"):
        values = values.astype(dtype)
    values = values[np.isfinite(values)]
    y, notes = identity(cli, values, dtype, type_name)
    expected = rounded(values.astype("f8"), type_name)
    np.testing.assert_array_equal(y.astype("f8"), expected)
    changed, overflowed = int(np.sum(expected != values)), int(np.sum(np.isinf(expected)))
    assert any(f"{changed} of {values.size} float" in note for note in notes) == (changed > 0)
    assert any(f"{overflowed} finite values are too large for {type_name}" in note for note in notes) == (overflowed > 0)


def test_int64_is_rounded_once(cli):
    values = [2**60 + 2**36 + 1, 2**60 + 2**36, -(2**60) - 2**36 - 1, 2**24 + 1, -(2**63)]
    y, _ = identity(cli, values, "<i8", "f32")
    assert [int(v) for v in y] == [2**60 + 2**37, 2**60, -(2**60) - 2**37, 2**24, -(2**63)]


def test_special_values_pass(cli, device):
    values = np.array([np.inf, -np.inf, np.nan, 0, 65504], "f4").reshape(1, 1, 1, -1)
    for type_name in ("f32", "bf16", "f16"):
        y, _ = cli.conv(values, np.ones((1, 1, 1, 1), "f4"), "--type", type_name, "--device", device)
        np.testing.assert_array_equal(y.reshape(-1), rounded([np.inf, -np.inf, np.nan, 0, 65504], type_name))


def bfloat16_file(cli, name, values, descr):
    """As ml_dtypes' bfloat16 arrays come out of np.save: raw 2-byte elements."""
    bits = (np.asarray(values, "<f4").view("<u4") >> 16).astype("<u2")
    with open(cli.folder / name, "wb") as file:
        npy.write_array_header_1_0(file, {"descr": descr, "fortran_order": False, "shape": bits.shape})
        file.write(bits.tobytes())
    return name


@pytest.mark.parametrize("descr", ["<V2", "|V2"])
def test_ml_dtypes_bfloat16(cli, device, descr):
    x, w = rounded(random.standard_normal((2, 3, 8, 8)), "bf16"), rounded(random.standard_normal((4, 3, 3, 3)), "bf16")
    bfloat16_file(cli, "x.npy", x, descr)
    bfloat16_file(cli, "w.npy", w, descr)
    cli.ok("conv", "-i", "x.npy", "-w", "w.npy", "-o", "y.npy", "--type", "bf16", "--device", device)
    y = cli.load("y.npy")
    assert y.dtype == np.dtype("<f4")
    np.testing.assert_array_equal(y, rounded(y, "bf16"), "every value is a bfloat16")
    assert_close(y, x, w, "bf16")


def test_bfloat16_elements_need_the_type(cli):
    bfloat16_file(cli, "x.npy", X, "<V2")
    cli.save("w.npy", W)
    for arguments in ([], ["--type", "f32"], ["--type", "f16"]):
        message = cli.refused(2, "conv", "-i", "x.npy", "-w", "w.npy", "-o", "y.npy", "--device", "cpu", *arguments)
        assert "--input x.npy" in message and "'<V2'" in message and "expected --type bf16" in message


def test_mixed_dtypes_take_the_type_of_the_input(cli):
    y, document = cli.conv(X.astype("f2"), W.astype("f8"), "--device", "cpu", bias=BIAS)
    assert document["type"] == "f16"
    np.testing.assert_array_equal(y, conv2d(X, W, BIAS)[0])


def test_text_names_device_variant_shape_and_time(cli, device):
    cli.save("x.npy", X.astype("f4"))
    cli.save("w.npy", W.astype("f4"))
    lines = cli.ok("conv", "-i", "x.npy", "-w", "w.npy", "-o", "y.npy", "--device", device, "--repeat", 3).stdout.splitlines()
    table = {line.split()[0]: line.split(maxsplit=1)[1] for line in lines}
    assert table["device"].startswith(device)
    assert table["variant"].startswith("conv2d_")
    assert table["input"] == "(2, 3, 9, 11), padding 0,0,0,0"
    assert table["weights"] == "(5, 3, 3, 4)"
    assert table["output"] == "(2, 5, 7, 8) '<f4' in y.npy"
    assert "ms, median of 3 runs" in table["time"] and table["time"].endswith("GFLOP/s")


def test_json_names_everything(cli, device):
    _, document = cli.conv(X.astype("f4"), W.astype(">f8"), "--device", device, bias=BIAS)
    assert document["variant"].startswith("conv2d_")
    assert document["device_name"]
    assert document["input"] == {"file": "x.npy", "shape": [2, 3, 9, 11], "element_type": "<f4"}
    assert document["weights"]["element_type"] == ">f8"
    assert document["bias"]["shape"] == [5]
    assert document["output"] == {"file": "y.npy", "shape": [2, 5, 7, 8], "element_type": "<f4"}
    assert document["operations"] == 2 * (2 * 5 * 7 * 8) * (3 * 3 * 4)
    assert document["gflops"] == pytest.approx(document["operations"] / document["milliseconds"] * 1e-6)
