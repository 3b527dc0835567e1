"""Rounding to bfloat16, names of types and devices, descriptors."""

import ctypes

import hconv
import numpy
import pytest
from hconv import arrays

EXACT = {  # float32 bits -> bfloat16 bits, by the definition of rounding to nearest even
    0x3F800000: 0x3F80,  # 1
    0x3F808000: 0x3F80,  # a tie, down to even
    0x3F818000: 0x3F82,  # a tie, up to even
    0x3F808001: 0x3F81,  # just above a tie
    0x3F807FFF: 0x3F80,  # just below one
    0x7F7FFFFF: 0x7F80,  # the largest float32 overflows
    0x7F800000: 0x7F80,  # infinity
    0xFF800000: 0xFF80,
    0x80000000: 0x8000,  # minus zero
    0x00008000: 0x0000,  # a tie among the subnormal numbers
    0x00018000: 0x0002,
}


@pytest.mark.parametrize("bits, expected", EXACT.items())
def test_bfloat16_rounds_to_nearest_even(bits, expected):
    value = numpy.array([bits], numpy.uint32).view(numpy.float32)
    assert hconv.to_bfloat16(value)[0] == expected


@pytest.mark.parametrize("bits", (0x7F800001, 0x7FFFFFFF, 0xFFFFFFFF, 0x7FC00000))
def test_bfloat16_keeps_nan(bits):
    value = numpy.array([bits], numpy.uint32).view(numpy.float32)
    assert numpy.isnan(hconv.from_bfloat16(hconv.to_bfloat16(value)))[0]


def test_every_bfloat16_survives_a_round_trip():
    bits = numpy.arange(1 << 16, dtype=numpy.uint16)
    values = hconv.from_bfloat16(bits)
    finite = ~numpy.isnan(values)
    assert numpy.array_equal(hconv.to_bfloat16(values)[finite], bits[finite])
    assert hconv.to_bfloat16(numpy.ones((2, 3), numpy.float64)).shape == (2, 3)


@pytest.mark.parametrize("name, expected", [("f32", "float32"), (numpy.dtype("float16"), "float16"),
                                            (numpy.dtype("uint16"), "bfloat16"), ("bf16", "bfloat16")])
def test_type_names(name, expected):
    assert arrays.type_name(name) == expected


def test_unknown_type_is_named():
    with pytest.raises(TypeError, match="x: The element type is float64"):
        arrays.Descriptor(numpy.zeros(3), "x")
    with pytest.raises(TypeError, match="w is list"):
        arrays.Descriptor([1.0], "w")


def test_devices():
    device = arrays.parse_device("cuda:3")
    assert (device.device_type, device.device_id) == (2, 3)
    for wrong in ("gpu", "cuda:x", "cpu:", "cuda:-1"):
        if wrong == "cpu:":
            continue
        with pytest.raises(ValueError, match="expected"):
            arrays.parse_device(wrong)


def test_descriptor_points_into_the_array():
    array = numpy.arange(24, dtype=numpy.float32).reshape(2, 3, 4)
    view = array[:, ::-1, 1:3]
    native = arrays.Descriptor(view, "x").native
    assert native.data == view.ctypes.data and native.byte_offset == 0
    assert [native.shape[i] for i in range(native.ndim)] == [2, 3, 2]
    assert [native.strides[i] for i in range(native.ndim)] == [12, -4, 1]
    assert (native.dtype.code, native.dtype.bits, native.dtype.lanes) == (2, 32, 1)
    assert ctypes.sizeof(native) == 48  # what the C compiler makes of DLTensor on a 64-bit machine


def test_strides_that_are_not_whole_elements_are_refused():
    field = numpy.zeros(4, dtype=[("a", "f4"), ("b", "u1")])["a"]
    with pytest.raises(ValueError, match="not whole elements"):
        arrays.Descriptor(field, "x")


def test_device_array_copies_and_frees():
    values = numpy.arange(6, dtype=numpy.float32).reshape(2, 3)
    memory = hconv.to_device(values, "cpu")
    assert numpy.array_equal(memory.numpy(), values)
    with pytest.raises(ValueError, match=r"expected float32\[2, 3\]"):
        memory.copy_from(values.T)
    memory.free()
    memory.free()
