"""The demo: its filters, its bound, its exit status, its picture."""

import demo
import demo_filters
import numpy
import pytest
import reference
from PIL import Image


def test_bank_is_what_the_title_says():
    bank = demo_filters.filter_bank()
    sizes = {entry.size for entry in bank}
    assert len(bank) == 20 and len({entry.name for entry in bank}) == 20
    assert len(sizes) >= 2 and any(kh != kw for kh, kw in sizes)
    for entry in bank:
        assert entry.weights.shape[1:] == (3, *entry.size) and entry.weights.shape[0] in (1, 3)


def test_edge_filters_ignore_flat_areas_and_blurs_keep_them():
    flat = numpy.full((1, 3, 15, 15), 0.5)
    for entry in demo_filters.filter_bank():
        y = reference.conv2d(flat, entry.weights)
        expected = 0.5 if entry.is_colour and not entry.bias else 0.0
        assert numpy.allclose(y, expected, atol=1e-12), entry.name


def test_reference_is_the_definition():
    generator = numpy.random.default_rng(5)
    x, w, bias = (generator.standard_normal(shape) for shape in ((3, 12, 14), (4, 3, 3, 5), (4,)))
    assert numpy.allclose(demo.reference(x, w, bias), reference.conv2d(x[None], w, bias)[0], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("kind", ("f32", "bf16", "f16"))
def test_demo_draws_a_sheet(kind, tmp_path, capsys):
    path = tmp_path / "new" / "sheet.png"
    assert demo.main(["--device", "cpu", "--height", "40", "--width", "900", "--type", kind, "--output", str(path)]) == 0
    printed = capsys.readouterr().out
    for word in ("device", "GFLOP/s", "bound", "7x7", "11x11", "3x15", "15x3", str(path)):
        assert word in printed
    image = numpy.asarray(Image.open(path).convert("RGB")).astype(int)
    assert image.shape[1] == 900 and image.shape[0] > 700
    # Every cell of the 6 x 4 grid shows something: no block of the lower half is flat.
    rows = numpy.array_split(image[image.shape[0] // 10:], 4)
    for row in rows:
        for cell in numpy.array_split(row, 6, axis=1):
            assert cell.std() > 5 and cell.max() > 100


def test_same_pixels_as_the_library_gave(tmp_path):
    """The red-green response of a picture that is red on the left and green on the right has its signs."""
    picture = numpy.zeros((48, 48, 3), numpy.uint8)
    picture[:, :24, 0] = 255
    picture[:, 24:, 1] = 255
    Image.fromarray(picture).save(tmp_path / "halves.png")
    photo = demo.load_photo(tmp_path / "halves.png")
    opponent = [entry for entry in demo_filters.filter_bank() if entry.name.startswith("red")]
    responses, row = demo.convolve(photo, opponent, "float32", "cpu", "fp32")
    assert row["ok"] and row["error"] > 0
    assert responses[0, 24, 6] == pytest.approx(1, abs=1e-6) and responses[0, 24, 40] == pytest.approx(-1, abs=1e-6)


def test_a_wrong_result_fails(monkeypatch, tmp_path, capsys):
    right = demo.reference
    monkeypatch.setattr(demo, "reference", lambda x, w, bias: right(x, w, bias) * (1 + 1e-3))
    assert demo.main(["--device", "cpu", "--height", "24", "--output", str(tmp_path / "sheet.png")]) == 1
    told = capsys.readouterr()
    assert "ERROR ABOVE BOUND" in told.out and "exceeds its bound" in told.err


@pytest.mark.parametrize("arguments, word", [(["--photo", "missing.png"], "missing.png"),
                                             (["--height", "9"], "expected at least 16x16")])
def test_what_cannot_run_is_told(arguments, word, tmp_path, capsys):
    assert demo.main([*arguments, "--device", "cpu", "--output", str(tmp_path / "sheet.png")]) == 2
    assert word in capsys.readouterr().err
