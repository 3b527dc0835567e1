"""bench/plot_scaling.py: which shapes belong to an axis, and where the cost per operation jumps."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))

import plot_scaling  # noqa: E402

CENTRE = (8, 96, 66, 130, 3, 3)


def line(shape, ms, who="hconv some_variant"):
    return "\t".join((",".join(map(str, shape)), "f32", "fp32", str(ms), "1e-07", who))


def flops(shape):
    batch, channels, height, width, kh, kw = shape
    return 2 * batch * channels * channels * (height - kh + 1) * (width - kw + 1) * kh * kw


def write(path, costs):
    """A file in which each shape takes `cost` milliseconds per 1e9 operations."""
    lines = ["shape\ttype\tmode\tms\trelative_l2_error\twho"]
    lines += [line(shape, flops(shape) * cost / 1e9) for shape, cost in costs.items()]
    lines += [line(CENTRE, 99, "cudnn"), line(CENTRE, "FAILED")]
    path.write_text("\n".join(lines) + "\n")


def test_finds_the_cliff_of_each_axis(tmp_path, capsys):
    wide, deep, many = (8, 96, 66, 134, 3, 3), (8, 104, 66, 130, 3, 3), (64, 96, 66, 130, 3, 3)
    write(tmp_path / "t.tsv", {CENTRE: 0.03, wide: 0.03, deep: 0.045, many: 0.027})
    assert plot_scaling.main([str(tmp_path / "t.tsv"), str(tmp_path / "t.svg")]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert printed == ["f32 B 8..64: largest step 1.11 (8 to 64), last / first 0.90",
                       "f32 C 96..104: largest step 1.50 (96 to 104), last / first 1.50",
                       "f32 W 130..134: largest step 1.00 (130 to 134), last / first 1.00"]
    assert "<svg" in (tmp_path / "t.svg").read_text()


def test_a_file_without_times_is_an_error(tmp_path, capsys):
    (tmp_path / "t.tsv").write_text(line(CENTRE, 0.1, "cudnn") + "\n")
    with pytest.raises(SystemExit):
        plot_scaling.main([str(tmp_path / "t.tsv"), str(tmp_path / "t.svg")])
    assert "holds no time of hconv" in capsys.readouterr().err
