"""The logic of bench/compare.py that needs no PyTorch, and the files of shapes."""

import math
import sys
from types import SimpleNamespace

import compare
import numpy
import pytest
from conftest import ROOT
from hconv_measure import bounds, clocks, runs, shapes
from lib import records, variants
from lib.records import Record


@pytest.mark.parametrize("token, output, text", [
    ("2,3,10,12,3,5", (2, 3, 8, 8), "2,3,10,12,3,5"),
    ("2,3,10,12,3,5,3,0", (2, 3, 8, 8), "2,3,10,12,3,5"),
    ("2,3,10,12,3,5,7", (2, 7, 8, 8), "2,3,10,12,3,5,7"),
    ("2,3,10,12,3,5,3,1", (2, 3, 10, 10), "2,3,10,12,3,5,3,1"),
    ("2,3,10,12,3,5,7,1:2:0:3", (2, 7, 11, 11), "2,3,10,12,3,5,7,1:2:0:3"),
])
def test_shapes_parse_and_print(token, output, text):
    shape = shapes.parse_shape(token)
    assert shape.output == output and str(shape) == text
    assert shape.flops == 2 * math.prod(output) * 3 * 15
    assert shapes.parse_shape(str(shape)) == shape


@pytest.mark.parametrize("token, word", [("1,2,3", "3 fields"), ("1,2,3,4,5,6", "no output"), ("1,2,8,8,x,1", "whole"),
                                         ("1,0,8,8,1,1", "below 1"), ("1,2,8,8,3,3,2,-1", "below 0"),
                                         ("1,2,8,8,3,3,2,1:2", "2 paddings")])
def test_wrong_shapes_are_told(token, word):
    with pytest.raises(ValueError, match=word):
        shapes.parse_shape(token)


def test_errors_in_files_name_the_line(tmp_path):
    path = tmp_path / "s.txt"
    path.write_text("# nothing\n\n1,2,8,8,3,3  # fine\n1,2,8\n")
    with pytest.raises(ValueError, match="s.txt:4: "):
        shapes.read_shapes(path)
    assert len(shapes.collect_shapes(["1,2,8,8,3,3", "1,2,8,8,3,3,2"])) == 1


@pytest.mark.parametrize("path", sorted((ROOT / "shapes").glob("*.txt")), ids=lambda path: path.name)
def test_files_of_shapes_are_readable(path):
    assert shapes.read_shapes(path)


def test_perf_shapes_hold_the_contest():
    perf = {str(shape) for shape in shapes.read_shapes(ROOT / "shapes" / "perf.txt")}
    assert len(perf) == 19
    for side, kernel, channels, batch in ((32, 4, 16, 1), (32, 4, 16, 2), (64, 4, 32, 1), (64, 8, 32, 2), (128, 8, 64, 1)):
        assert f"{batch},{channels},{side},{side},{kernel},{kernel}" in perf


def test_statistics():
    assert runs.median([5, 1, 3]) == 3 and runs.median([4, 1, 3, 2]) == 2.5
    assert records.geometric_mean([1, 4]) == pytest.approx(2) and math.isnan(records.geometric_mean([]))
    assert runs.runs_for(0.01, 0.1) == 10 and runs.runs_for(1, 0.1) == 3 and runs.runs_for(0, 0.1) == 50


@pytest.mark.parametrize("n", (1, 64, 1024, 8192))
def test_bound_holds_for_float32_sums_and_not_for_less(n):
    """Sequential float32 sums are within the bound, the same sums of inputs rounded to TF32's 11 bits far outside."""
    generator = numpy.random.default_rng(n)
    a, b = (generator.standard_normal((n, 400), dtype=numpy.float32) for _ in range(2))
    exact = (a.astype(numpy.float64) * b).sum(axis=0)
    total = numpy.zeros(400, numpy.float32)
    for row_a, row_b in zip(a, b):
        total = (total + row_a.astype(numpy.float64) * row_b).astype(numpy.float32)  # a fused multiply-add
    spread = numpy.linalg.norm(exact)
    limit = bounds.bound(n, "f32", "fp32")
    assert numpy.linalg.norm(total - exact) / spread <= limit.relative
    assert numpy.all(numpy.abs(total - exact) <= limit.noise * spread / 20)
    coarse = ((a.view(numpy.uint32) + 0x1000) & 0xFFFFE000).view(numpy.float32)
    rounded = (coarse.astype(numpy.float64) * b).sum(axis=0)
    assert numpy.linalg.norm(rounded - exact) / spread > limit.relative
    assert numpy.linalg.norm(rounded - exact) / spread <= bounds.bound(n, "f32", "tf32").relative


def test_bound_of_a_rounded_store():
    y = numpy.random.default_rng(1).standard_normal(10_000)
    stored = y.astype(numpy.float16).astype(numpy.float64)
    limit = bounds.bound(9, "f16", "fp32")
    assert numpy.linalg.norm(stored - y) / numpy.linalg.norm(y) <= limit.relative
    assert numpy.all(numpy.abs(stored - y) <= limit.store * numpy.abs(y) + limit.smallest)


def float32_transform(values, sign=-1):
    """Radix-2 Fourier transform of the last axis, every butterfly rounded to complex64; scipy and numpy round less often."""
    n = values.shape[-1]
    if n == 1:
        return values
    even, odd = float32_transform(values[..., ::2], sign), float32_transform(values[..., 1::2], sign)
    turned = odd * numpy.exp(sign * 2j * numpy.pi * numpy.arange(n // 2) / n).astype(numpy.complex64)
    return numpy.concatenate([even + turned, even - turned], axis=-1)


@pytest.mark.parametrize("channels", (1, 96))
def test_transform_bound_holds_for_float32_transforms_and_not_for_less(channels):
    """A circular correlation of 64 x 64 by transforms in complex64, and the same in float16 inputs' precision."""
    generator = numpy.random.default_rng(channels)
    x, w = (generator.standard_normal((channels, 64, 64), dtype=numpy.float32) for _ in range(2))

    def plane(values, sign=-1):
        rows = float32_transform(values.astype(numpy.complex64), sign)
        return float32_transform(rows.swapaxes(-1, -2), sign).swapaxes(-1, -2)

    products, spectrum = plane(x) * numpy.conj(plane(w)), numpy.zeros((64, 64), numpy.complex64)
    for channel in products:
        spectrum += channel
    y = plane(spectrum, 1).real / 4096
    exact = numpy.fft.ifft2((numpy.fft.fft2(x.astype(float)) * numpy.conj(numpy.fft.fft2(w.astype(float)))).sum(axis=0)).real
    limit = bounds.transform_bound(channels, "f32")
    spread = numpy.linalg.norm(exact)
    assert numpy.linalg.norm(y - exact) / spread <= limit.relative
    assert numpy.all(numpy.abs(y - exact) <= limit.noise * spread / 64)
    assert numpy.linalg.norm(y.astype(numpy.float16) - exact) / spread > limit.relative


def test_transform_variants_are_measured_with_every_product():
    rows = [dict(name=name, algorithm=algorithm, type="f32", target=target) for name, algorithm, target in
            (("p", "pack", "cuda"), ("d", "direct", "cuda"), ("t", "transform", "cuda"), ("a", "spectral_product", "cuda"),
             ("b", "spectral_product", "cuda"), ("c", "direct", "cpu_avx2"), ("e", "spectral_product", "cpu_avx2"))]
    assert variants.variant_names(rows, "f32", "cuda") == ["d", "t+a", "t+b"]
    assert variants.variant_names(rows, "f32", "cpu") == ["c"]


def test_split_variants_are_named_in_each_number_of_parts():
    rows = [dict(name="s", algorithm="direct", type="f32", target="cuda", parameters={"split": 1}),
            dict(name="d", algorithm="direct", type="f32", target="cuda", parameters={"split": 0}),
            dict(name="sum_parts_f32_cuda", algorithm="sum_parts", type="f32", target="cuda", parameters={"split": 0})]
    assert variants.variant_names(rows, "f32", "cuda") == ["s", "s+2", "s+4", "s+8", "s+16", "s+32", "s+64", "d"]


@pytest.fixture
def some():
    common = dict(kind="f32", mode="fp32", error=1e-7, flops=10 ** 9)
    return [
        Record(shape="a", who="hconv", ms=2.0, variant="v1", **common),
        Record(shape="a", who="cudnn", ms=4.0, **common),
        Record(shape="a", who="cudnn", ms=1.0, **{**common, "mode": "tf32"}),
        Record(shape="b", who="hconv", ms=1.0, variant="v2", **common),
        Record(shape="b", who="cudnn", ms=8.0, **common),
        Record(shape="c", who="hconv", ms=None, note="wrong", **common),
        Record(shape="c", who="cudnn", ms=1.0, **common),
        Record(shape="a", who="hconv variant", ms=1.0, variant="v2", **common),
        Record(shape="a", who="hconv variant", ms=2.0, variant="v1", **common),
    ]


def test_table_has_ratios_and_means(some):
    lines = records.ratio_table(some, "f32").splitlines()
    assert "cudnn tf32" in lines[1] and "variant" not in lines[1]
    row = next(line for line in lines if line.startswith("a "))
    assert "4.000 (2.00)" in row and "1.000 (0.50)" in row and "500.0" not in row and " 0.5 " in row
    assert "FAILED" in next(line for line in lines if line.startswith("c "))
    assert "(4.00) of 2" in lines[-1] and "(0.50) of 1" in lines[-1]
    assert "no hconv result" in records.ratio_table(some, "bf16")


def test_variant_table_judges_the_choice(some):
    text = records.variant_table(some, "f32")
    assert "the chosen one takes 2.00 times the best" in text
    assert text.index("v2") < text.index("v1") and "v1  <- chosen" in text


def test_tab_separated_lines(some):
    assert some[0].tsv().split("\t") == ["a", "f32", "fp32", "2.000000", "1.000e-07", "hconv v1"]
    assert some[1].tsv().split("\t")[-1] == "cudnn"
    assert some[5].tsv().split("\t")[3] == "FAILED"
    assert all(len(record.tsv().split("\t")) == len(records.COLUMNS) for record in some)


def test_peers_are_chosen_by_part_of_the_name_or_mode():
    peers = [SimpleNamespace(name=name, mode=mode, on_request=False) for name, mode in
             (("cudnn", "fp32"), ("tiled fft", "fp32"), ("cudnn", "tf32"), ("cudnn nhwc", "tf32"))]
    assert compare.choose(peers, None) == compare.choose(peers, "all") == peers and not compare.choose(peers, "none")
    assert compare.choose(peers, "nhwc") == peers[3:] and compare.choose(peers, "fft,tf32") == peers[1:]


def test_without_torch_it_says_so(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "torch", None)  # the import then fails
    assert compare.main(["1,4,8,8,3,3"]) == 2
    assert "PyTorch is not installed" in capsys.readouterr().err


@pytest.mark.parametrize("arguments, word", [(["1,2,3"], "3 fields"), (["--types", "f64"], "f64"),
                                             (["--math", "fast"], "fast")])
def test_wrong_arguments_are_told(arguments, word, capsys):
    with pytest.raises(SystemExit) as end:
        compare.parse(arguments)
    assert end.value.code == 2 and word in capsys.readouterr().err


def test_failing_results_set_the_exit_status(some, capsys, tmp_path):
    path = tmp_path / "out.tsv"
    options = compare.parse(["--tsv", str(path), "1,4,8,8,3,3"])
    assert compare.report(some, options) is True
    assert compare.report([record for record in some if record.ms], options) is False
    assert path.read_text().splitlines()[0].split("\t") == list(records.COLUMNS)
    assert "FAILED f32 c hconv fp32" in capsys.readouterr().out


def test_wall_clock_of_the_gpu_waits_for_the_result(monkeypatch):
    done = []
    fake = SimpleNamespace(cuda=SimpleNamespace(synchronize=lambda: done.append("waited")))
    monkeypatch.setitem(sys.modules, "torch", fake)
    ms = clocks.GpuWallClock(budget=0.0).milliseconds(lambda: done.append("called"))
    assert ms >= 0 and done == ["called", "waited"] * 4  # one run says how many follow: three at least
