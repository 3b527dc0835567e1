"""cmake/resources.py: lines of .resources files become table rows."""

import pytest
import resources


def test_rows_carry_the_variant_and_every_field(tmp_path):
    first, second, out = tmp_path / "a.resources", tmp_path / "b.resources", tmp_path / "out.inc"
    first.write_text("a_kernel0 90a 128 4 12 24576 256\na_kernel0 80 96 0 0 24576 256\n")
    second.write_text("b_kernel0 90a 40 0 0 0 128\n")
    assert resources.main([str(out), str(first), str(second)]) == 0
    assert out.read_text().splitlines()[1:] == [
        "HCONV_KERNEL_RESOURCES(a, a_kernel0, 90a, 128, 4, 12, 24576, 256)",
        "HCONV_KERNEL_RESOURCES(a, a_kernel0, 80, 96, 0, 0, 24576, 256)",
        "HCONV_KERNEL_RESOURCES(b, b_kernel0, 90a, 40, 0, 0, 0, 128)",
    ]


@pytest.mark.parametrize("text", ["", "k 90a 10 0 0 0\n", "k 90a ten 0 0 0 128\n", "k 90a 10 0 0 0 128 9\n"])
def test_a_line_that_is_not_one_is_named(text, tmp_path, capsys):
    source, out = tmp_path / "k.resources", tmp_path / "out.inc"
    source.write_text(text)
    assert resources.main([str(out), str(source)]) == 1
    assert f"{source}:1: " in capsys.readouterr().err
    assert not out.exists()
