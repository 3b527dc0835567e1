"""conv2d, plans and questions through the shared library, on the CPU."""

import threading

import hconv
import numpy
import pytest
import reference

FORMS = {
    "float32": (lambda v: v.astype(numpy.float32), lambda y: y),
    "float16": (lambda v: v.astype(numpy.float16), lambda y: y.astype(numpy.float64)),
    "bfloat16": (hconv.to_bfloat16, hconv.from_bfloat16),
}


@pytest.fixture
def generator():
    return numpy.random.default_rng(20)


@pytest.mark.parametrize("dtype", FORMS)
@pytest.mark.parametrize("padding, sides", [(0, (0, 0, 0, 0)), (1, (1, 1, 1, 1)), ((2, 1), (2, 2, 1, 1)),
                                            ((0, 1, 2, 3), (0, 1, 2, 3))])
def test_integers_are_exact(dtype, padding, sides, generator):
    encode, decode = FORMS[dtype]
    x, w, bias = (reference.integers(generator, shape) for shape in ((2, 3, 9, 11), (5, 3, 3, 4), (5,)))
    w = numpy.sign(w)  # sums of up to 36 * 3 + 3 stay exact in bfloat16's 8 bits
    y = hconv.conv2d(encode(x), encode(w), encode(bias), padding)
    expected = reference.conv2d(x, w, bias, sides)
    assert numpy.abs(expected).max() <= 256
    assert y.dtype == encode(x).dtype
    assert numpy.array_equal(decode(y), expected)


def channels_last(array):
    return numpy.ascontiguousarray(array.transpose(0, 2, 3, 1)).transpose(0, 3, 1, 2)


@pytest.mark.parametrize("dtype", FORMS)
def test_channels_last_stays_channels_last(dtype, generator):
    encode, decode = FORMS[dtype]
    x, w = (reference.integers(generator, shape) for shape in ((2, 3, 9, 11), (5, 3, 3, 4)))
    w = numpy.sign(w)
    x_last = channels_last(encode(x))
    expected = reference.conv2d(x, w)
    for weights in (encode(w), channels_last(encode(w))):
        y = hconv.conv2d(x_last, weights)
        assert y.shape == (2, 5, 7, 8) and y.transpose(0, 2, 3, 1).flags.c_contiguous
        assert numpy.array_equal(decode(y), expected)
    plan = hconv.Plan.for_arrays(x_last, w if dtype == "float32" else encode(w))
    assert plan.problem.layout == "nhwc" and plan.minimum_workspace_bytes > 0
    y = plan.run(x_last, plan.pack(encode(w)))
    assert y.transpose(0, 2, 3, 1).flags.c_contiguous and numpy.array_equal(decode(y), expected)
    assert hconv.explain(plan.problem)["problem"]["layout"] == "nhwc"
    with pytest.raises(hconv.Unsupported, match="x is laid out as NCHW"):
        plan.run(encode(x), plan.pack(encode(w)))
    with pytest.raises(ValueError, match='layout is "NHWC"; expected one of nchw, nhwc'):
        hconv.Plan(hconv.Problem(1, 1, 3, 3, 1, 1, 1, layout="NHWC"))


def test_numbers_are_close(generator):
    x, w = (generator.standard_normal(shape, dtype=numpy.float32) for shape in ((1, 6, 20, 23), (4, 6, 7, 3)))
    y = hconv.conv2d(x, w, math="strict")
    n = 6 * 7 * 3
    allowed = n * 2.0 ** -24 / (1 - n * 2.0 ** -24) * reference.conv2d(abs(x), abs(w))
    assert numpy.all(numpy.abs(y - reference.conv2d(x, w)) <= allowed)


def test_output_can_be_given(generator):
    x, w = reference.integers(generator, (1, 2, 6, 7)), reference.integers(generator, (3, 2, 2, 3))
    out = numpy.full((1, 3, 5, 5), numpy.nan, numpy.float32)
    assert hconv.conv2d(x, w, out=out) is out
    assert numpy.array_equal(out, reference.conv2d(x, w))


def test_read_only_output_is_refused(generator):
    out = numpy.zeros((1, 3, 5, 5), numpy.float32)
    out.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        hconv.conv2d(numpy.ones((1, 2, 6, 7), numpy.float32), numpy.ones((3, 2, 2, 3), numpy.float32), out=out)


def test_no_images_are_no_work():
    y = hconv.conv2d(numpy.ones((0, 2, 6, 7), numpy.float32), numpy.ones((3, 2, 2, 3), numpy.float32))
    assert y.shape == (0, 3, 5, 5)


@pytest.mark.parametrize("change, sentence", [
    (dict(w=numpy.ones((3, 4, 2, 3), numpy.float32)), "channels"),
    (dict(w=numpy.ones((3, 2, 7, 3), numpy.float32)), None),
    (dict(w=numpy.ones((3, 2, 2, 3), numpy.float16)), "type"),
    (dict(x=numpy.ones((2, 6, 7), numpy.float32)), None),
    (dict(padding=-1), "padding"),
    (dict(bias=numpy.ones(4, numpy.float32)), "bias"),
    (dict(out=numpy.ones((1, 3, 5, 6), numpy.float32)), None),
])
def test_contradictions_are_told(change, sentence):
    arguments = dict(x=numpy.ones((1, 2, 6, 7), numpy.float32), w=numpy.ones((3, 2, 2, 3), numpy.float32))
    with pytest.raises(hconv.InvalidArgument) as caught:
        hconv.conv2d(**{**arguments, **change})
    assert isinstance(caught.value, ValueError)
    text = str(caught.value)
    assert text.endswith(".") and (sentence is None or sentence in text)


def test_strided_input_is_not_read_as_if_contiguous(generator):
    x = reference.integers(generator, (1, 2, 6, 14))[..., ::2]
    w = reference.integers(generator, (3, 2, 2, 3))
    try:
        y = hconv.conv2d(x, w)
    except (hconv.InvalidArgument, hconv.Unsupported) as refused:
        assert "x" in str(refused)
    else:
        assert numpy.array_equal(y, reference.conv2d(x, w))


def test_wrong_words_are_told():
    x, w = numpy.ones((1, 2, 6, 7), numpy.float32), numpy.ones((3, 2, 2, 3), numpy.float32)
    with pytest.raises(ValueError, match='math is "fast"'):
        hconv.conv2d(x, w, math="fast")
    with pytest.raises(ValueError, match="padding has 3 numbers"):
        hconv.conv2d(x, w, padding=(1, 2, 3))


def test_plan_runs_many_times(generator):
    w = reference.integers(generator, (7, 3, 3, 5))
    problem = hconv.Problem(2, 3, 10, 12, 7, 3, 5)
    plan = hconv.Plan(problem)
    assert plan.output_shape == problem.output_shape == (2, 7, 8, 8)
    assert problem.flops == 2 * (2 * 7 * 8 * 8) * (3 * 3 * 5)
    assert plan.packed_bytes >= w.nbytes
    packed = plan.pack(w)
    assert packed.address % 16 == 0
    for _ in range(3):
        x = reference.integers(generator, (2, 3, 10, 12))
        assert numpy.array_equal(plan.run(x, packed), reference.conv2d(x, w))
    other = reference.integers(generator, w.shape)
    assert plan.pack(other, into=packed) is packed
    prepared = plan.prepare(x, packed)
    prepared.out.fill(numpy.nan)
    assert numpy.array_equal(prepared(), reference.conv2d(x, other))


def test_a_plan_refuses_other_shapes(generator):
    plan = hconv.Plan(hconv.Problem(2, 3, 10, 12, 7, 3, 5))
    packed = plan.pack(numpy.ones((7, 3, 3, 5), numpy.float32))
    with pytest.raises(hconv.InvalidArgument):
        plan.run(numpy.ones((2, 3, 10, 13), numpy.float32), packed)
    with pytest.raises(hconv.InvalidArgument):
        plan.pack(numpy.ones((7, 3, 5, 3), numpy.float32))


def test_problem_from_arrays():
    x, w = numpy.ones((1, 2, 6, 7), numpy.uint16), numpy.ones((3, 2, 2, 3), numpy.uint16)
    assert hconv.Problem.from_arrays(x, w, (1, 0)) == hconv.Problem(1, 2, 6, 7, 3, 2, 3, "bfloat16", "cpu", (1, 0))


def test_a_plan_serves_many_threads(generator):
    plan = hconv.Plan(hconv.Problem(1, 4, 16, 16, 8, 3, 3))
    w = reference.integers(generator, (8, 4, 3, 3))
    packed, right = plan.pack(w), []

    def work(seed):
        x = reference.integers(numpy.random.default_rng(seed), (1, 4, 16, 16))
        right.append(all(numpy.array_equal(plan.run(x, packed), reference.conv2d(x, w)) for _ in range(5)))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert right == [True] * 4


def test_library_describes_itself():
    assert hconv.version().count(".") == 2
    assert hconv.device_name("cpu")
    text, rows = hconv.list_variants(as_json=False), hconv.list_variants()
    assert len({row["name"] for row in rows}) == len(rows) > 0
    assert all(row["name"] in text for row in rows)


def test_explain_names_the_variant_of_the_plan():
    problem = hconv.Problem(1, 4, 16, 16, 8, 3, 3)
    variant = hconv.Plan(problem).variant
    assert hconv.explain(problem)["variant"]["name"] == variant
    assert variant in hconv.explain(problem, as_json=False)
    assert variant in {row["name"] for row in hconv.list_variants()}


def test_missing_device_is_told():
    with pytest.raises(hconv.NoDevice):
        hconv.conv2d(numpy.ones((1, 1, 3, 3), numpy.float32), numpy.ones((1, 1, 3, 3), numpy.float32), device="cuda:99")


def test_missing_library_is_told(monkeypatch):
    monkeypatch.setenv("HCONV_LIBRARY", "/no/such/libhconv.so")
    with pytest.raises(hconv.LibraryNotFound, match="/no/such/libhconv.so"):
        hconv.library_path()
