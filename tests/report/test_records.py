"""Reading logs and comparisons: what is kept, what is left out with a notice, and which line is refused."""

import json
import random

import pytest
import synthetic
from hconv_report.peers import TsvError, read_comparison
from hconv_report.records import Problem, read_logs
from hconv_tune.log import LogError


def test_a_problem_counts_its_operations_and_bytes():
    problem = Problem("sm_90a", "bf16", "fp32", (2, 3, 5, 6, 3, 2, 4), (1, 0, 0, 2))
    assert problem.convolution.output[2:] == (4, 7)
    assert problem.flops == 2 * 2 * 4 * 4 * 7 * 3 * 3 * 2
    assert problem.bytes == 2 * (2 * 3 * 5 * 6 + 4 * 3 * 3 * 2 + 2 * 4 * 4 * 7)
    assert problem.shape == "2,3,5,6,3,2,4,1:0:0:2"
    assert Problem("", "f32", "fp32", (1, 8, 9, 9, 3, 3, 8), (1, 1, 1, 1)).shape == "1,8,9,9,3,3,8,1"
    assert Problem("", "f32", "fp32", (1, 8, 9, 9, 3, 3, 8)).shape == "1,8,9,9,3,3"


def test_every_record_is_read(tmp_path):
    records = synthetic.search(types=("f32", "f16"))
    run = read_logs([synthetic.write_log(tmp_path / "a.jsonl", records[:100]),
                     synthetic.write_log(tmp_path / "b.jsonl", records[100:])])
    assert len(run.measurements) + len(run.decisions) == len(records)
    assert len(run.problems()) == 2 * len(synthetic.SHAPES)
    assert run.notices == []
    first, record = run.measurements[0], records[0]
    assert (first.median, first.low, first.high) == (record["median_ms"], record["low_ms"], record["high_ms"])
    assert (first.samples, first.registers, first.problem.target) == (8, record["registers"], "sm_90a")
    for problem, best in run.best().items():
        assert best.median == min(m.median for m in run.problems()[problem] if m.timed)
        assert "oc64x128" in best.variant and "_s3_" in best.variant


def test_a_log_that_was_cut_off_anywhere_is_read(tmp_path):
    path = tmp_path / "log.jsonl"
    synthetic.write_log(path, synthetic.search(shapes={"1,16,32,32,4,4,16": (0, 0, 0, 0)}))
    whole = path.read_bytes()
    lines = whole.split(b"\n")[:-1]
    dice = random.Random(7)
    for length in [0, len(whole), *(dice.randrange(len(whole)) for _ in range(60))]:
        path.write_bytes(whole[:length])
        run = read_logs([path])
        kept = whole[:length].count(b"\n")
        assert len(run.measurements) + len(run.decisions) == kept
        in_a_line = length and not whole[:length].endswith(b"\n")
        assert len(run.notices) == (1 if in_a_line else 0), length
    path.write_bytes(b"\n".join(lines[:3]) + b"\n" + lines[3][:50] + b"\n")
    assert len(read_logs([path]).measurements) == 3


GOOD = synthetic.measurement("4,64,128,128,8,8,64", (0, 0, 0, 0), 1, 64, 128, 3)


@pytest.mark.parametrize("change, fragment", [
    ({"kind": "guess"}, "The line is no measurement and no decision"),
    ({"shape": "4,64,128"}, "shape is '4,64,128'"),
    ({"shape": "4,64,128,128,8,8,0"}, "shape is '4,64,128,128,8,8,0'"),
    ({"shape": "1,1,2,2,3,3,1"}, "expected one with an output"),
    ({"shape": 7}, "shape is 7, expected a text"),
    ({"pad": [0, 0, 0]}, "four paddings"),
    ({"pad": [0, 0, 0, -1]}, "four paddings"),
    ({"pad": 3}, "four paddings"),
    ({"median_ms": "fast"}, "median_ms is 'fast', expected a number or null"),
    ({"median_ms": 0}, "median_ms is 0, expected more than 0"),
    ({"median_ms": float("nan")}, "median_ms is nan"),
    ({"registers": -1}, "registers is -1, expected at least 0"),
    ({"parameters": [1]}, "parameters is [1], expected an object"),
    ({"device": "H200"}, "device is 'H200', expected an object"),
    ({"variant": None}, "variant is None, expected a text"),
    ({"status": True}, "The status is True; expected one of ok, wrong,"),
])
def test_a_bad_line_is_named(tmp_path, change, fragment):
    path = tmp_path / "log.jsonl"
    path.write_text("\n".join(json.dumps(r) for r in (GOOD, {**GOOD, **change}, GOOD)) + "\n")
    with pytest.raises(LogError) as caught:
        read_logs([path])
    assert str(caught.value).startswith(f"{path}:2: ") and fragment in str(caught.value)


@pytest.mark.parametrize("line", ["{", "[1]", "nonsense", "", "3", '"text"', "\xff"])
def test_a_line_that_is_no_object_is_named(tmp_path, line):
    path = tmp_path / "log.jsonl"
    good = json.dumps(GOOD).encode() + b"\n"
    path.write_bytes(good + line.encode("latin-1") + b"\n" + good)
    with pytest.raises(LogError, match=":2: "):
        read_logs([path])


def test_a_comparison_is_read(tmp_path):
    found = read_comparison(synthetic.write_comparison(tmp_path / "c.tsv"))
    assert found.types() == ["f32", "bf16"]
    assert len(found.own("f32")) == len(synthetic.SHAPES)
    assert list(found.peers("bf16")) == ["cudnn nchw", "cudnn nhwc", "tiled torch.fft", "triton seed"]
    shape, own = next(iter(found.own("f32").items()))
    assert found.peers("f32")["triton seed"][shape] / own.ms == pytest.approx(12, rel=1e-4)
    assert found.copy_rate() == pytest.approx(4.2e12, rel=1e-4)
    assert found.product_rates() == {("f32", "fp32"): pytest.approx(51e12, rel=1e-4),
                                     ("bf16", "fp32"): pytest.approx(740e12, rel=1e-4)}


def test_other_modes_and_calls_of_hconv_are_contestants(tmp_path):
    path = tmp_path / "c.tsv"
    path.write_text("".join(f"1,2,3,3,1,1\tf32\t{mode}\t{ms}\t1e-7\t{who}\n" for mode, ms, who in (
        ("fp32", 2, "hconv v"), ("strict", 4, "hconv w"), ("fp32", 3, "hconv call v"), ("fp32", 1, "hconv variant u"),
        ("tf32", 1, "cudnn"))))
    found = read_comparison(path)
    assert found.own("f32")["1,2,3,3,1,1"].ms == 2
    assert {name: times["1,2,3,3,1,1"] for name, times in found.peers("f32").items()} == {
        "hconv strict": 4, "hconv call": 3, "cudnn tf32": 1}


@pytest.mark.parametrize("line, fragment", [
    ("1,2,3", "The line has 1 columns"),
    ("1,2,3,4,1,1\tf32\tfp32\tfast\t0\thconv v", "ms is 'fast'"),
    ("1,2,3,4,1,1\tf32\tfp32\t-1\t0\thconv v", "expected more than 0"),
    ("1,2,3,4,1,1\tf32\tfp32\tinf\t0\thconv v", "expected more than 0"),
])
def test_a_bad_line_of_a_comparison_is_named(tmp_path, line, fragment):
    path = tmp_path / "c.tsv"
    path.write_text(f"shape\ttype\tmode\tms\trelative_l2_error\twho\n{line}\n")
    with pytest.raises(TsvError) as caught:
        read_comparison(path)
    assert str(caught.value).startswith(f"{path}:2: ") and fragment in str(caught.value)
