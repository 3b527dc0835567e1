"""The format of tuned tables, on the files that the library's parser is tested with, too."""

import random
from pathlib import Path

import pytest
from hconv_tune import table

TABLES = Path(__file__).parent / "tables"
GOOD, BAD = sorted((TABLES / "good").glob("*.txt")), sorted((TABLES / "bad").glob("*.txt"))


@pytest.mark.parametrize("path", GOOD, ids=lambda path: path.stem)
def test_good_tables_are_read_and_written_back(path):
    entries = table.read(path)
    lines = [line for line in path.read_text().splitlines() if line.strip() and not line.startswith("#")]
    assert [str(entry) for entry in entries] == lines
    assert table.render(reversed(entries)) == "".join(f"{line}\n" for line in lines)


@pytest.mark.parametrize("path", BAD, ids=lambda path: path.stem)
def test_bad_tables_are_refused_with_line_and_sentence(path):
    first = path.read_bytes().split(b"\n")[0].decode()
    number, _, fragment = first.removeprefix("# line ").partition(": ")
    with pytest.raises(table.TableError) as told:
        table.read(path)
    assert str(told.value).startswith(f"{path}:{number}: ") and fragment in str(told.value)


def test_there_are_examples_and_a_missing_file_is_empty(tmp_path):
    assert len(GOOD) >= 2 and len(BAD) >= 10
    assert table.read(tmp_path / "none.txt") == []


def test_random_damage_is_an_error_or_the_same_format():
    draw, texts, refused = random.Random(5), [path.read_bytes() for path in GOOD if path.stem != "empty"], 0
    for _ in range(3000):
        data = bytearray(draw.choice(texts))
        for _ in range(draw.randint(1, 4)):
            at = draw.randrange(len(data))
            if draw.random() < 0.5:
                data[at] = draw.randrange(256)
            else:
                del data[at:at + draw.randint(1, 30)]
        text = bytes(data).decode("utf-8", "surrogateescape")
        try:
            entries = table.parse(text, "t")
        except table.TableError as reason:
            refused += 1
            assert str(reason).startswith("t:") and len(str(reason)) < 400
        else:
            lines = [line for line in text.split("\n") if line.strip(" \t") and not line.startswith("#")]
            assert [str(entry) for entry in entries] == lines
    assert 1500 < refused < 3000


def test_random_entries_survive_and_are_sorted():
    draw, entries = random.Random(6), {}
    for _ in range(300):
        kernel = draw.randint(1, 16), draw.randint(1, 16)
        extents = (draw.randint(1, 64), draw.randint(1, 512), kernel[0] + draw.randint(0, 99),
                   kernel[1] + draw.randint(0, 99), *kernel, draw.randint(1, 512), *(draw.randint(0, 3) for _ in range(4)))
        entry = table.Entry("sm_90a", draw.choice(["f32", "bf16"]), "fp32", extents, "v" * draw.randint(1, 9),
                            table.milliseconds(10 ** draw.uniform(-4, 5)), "2026-12-02", draw.randint(1, 99))
        entries[entry.key] = entry
    text = table.render(entries.values(), "a comment\nof two lines")
    again = table.parse(text, "t")
    assert {entry.key: entry for entry in again} == entries
    assert table.render(again, "a comment\nof two lines") == text


@pytest.mark.parametrize("value, text", [(1.5, "1.5"), (0.07063449, "0.0706345"), (123456.7, "123457"), (2.0, "2"),
                                         (99999.96, "100000"), (0.0000123456789, "0.0000123457"), (999999.4, "999999"),
                                         (0.99999999, "1"), (10.0, "10")])
def test_milliseconds_have_six_significant_digits(value, text):
    assert table.milliseconds(value) == text


@pytest.mark.parametrize("value", [0.0, -1.0, 1e6, float("nan"), float("inf")])
def test_no_time_is_refused(value):
    with pytest.raises(ValueError):
        table.milliseconds(value)
