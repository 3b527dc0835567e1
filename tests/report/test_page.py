"""The page: HTML that a strict parser takes, nothing from elsewhere, everything escaped, gaps told."""

import re

import html5lib
import pytest
import report
import synthetic

XHTML = "{http://www.w3.org/1999/xhtml}"
PARTS = ("best", "roofline", "peers", "heat", "convergence", "regression", "decisions", "failures", "kernels")

ONE_SHAPE = {"1,16,32,32,4,4,16": (0, 0, 0, 0)}


def parsed(text):
    """The document; any error of a strict HTML5 parser fails the test."""
    return html5lib.HTMLParser(strict=True).parse(text)


def words(element) -> str:
    return "".join(element.itertext())


def section(document, name):
    return next(part for part in document.iter(f"{XHTML}section") if part.get("id") == name)


def test_the_page_is_valid_and_whole(page):
    document = parsed(page.read_text())
    assert [part.get("id") for part in document.iter(f"{XHTML}section")] == list(PARTS)
    links = [link.get("href") for link in document.iter(f"{XHTML}a")]
    assert links == [f"#{part}" for part in PARTS]
    for part in PARTS[1:6]:
        plots = [e for e in section(document, part).iter() if e.tag.endswith("}svg")]
        assert plots, part
        assert all(plot.get("viewBox") and plot.get("aria-label") and not plot.get("width") for plot in plots), part
    assert "1.110" in words(section(document, "regression"))
    assert "build_failed" in words(section(document, "failures"))


def test_ids_are_unique_and_references_resolve(page):
    text = page.read_text()
    ids = re.findall(r'\sid="([^"]+)"', text)
    assert len(ids) == len(set(ids))
    references = set(re.findall(r'url\(#([^)]+)\)|href="#([^"]+)"', text))
    assert {a or b for a, b in references} <= set(ids)


def test_nothing_comes_from_elsewhere(page):
    text = page.read_text()
    for element in parsed(text).iter():
        if not isinstance(element.tag, str):
            continue
        assert element.tag.split("}")[-1] not in ("script", "link", "img", "image", "iframe", "object", "embed", "base")
        for name, value in element.attrib.items():
            if str(name).split("}")[-1] in ("src", "href", "srcset", "action", "data"):
                assert value.startswith("#"), value
            assert not str(name).startswith("on"), name
    assert not re.search(r"@import|url\((?!#)", text)
    namespaces = {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"}
    assert set(re.findall(r"https?://[^\s\"'<>]+", text)) <= namespaces
    assert "default-src 'none'" in text


def test_figures_follow_the_pages_colours(page):
    text = page.read_text()
    used = set(re.findall(r"var\((--[a-z0-9-]+)\)", text))
    style = text[text.index("<style>"):text.index("</style>")]
    light, dark = style.split("prefers-color-scheme: dark", 1)
    for variable in used:
        assert f"{variable}:" in light, variable
        assert f"{variable}:" in dark or variable in ("--font", "--code"), variable
    assert not re.search(r"#a[12]00\d\d", text), "a placeholder of style.py is left"


def test_the_same_inputs_give_the_same_page(tmp_path):
    log = synthetic.write_log(tmp_path / "log.jsonl", synthetic.search(shapes=ONE_SHAPE))
    for name in ("a.html", "b.html"):
        assert report.main([log, "-o", str(tmp_path / name)]) == 0
    assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()


HOSTILE = ["<script>alert(1)</script>'><svg onload=alert(1)>", "\"><img src=x onerror=alert(1)></style></section>",
           "{{ 7 * 7 }}{% raw %} $\\frac{1}{$ $x$", "&lt;b&gt; &amp; ]]> <!--", "\u202etxt \x1b[31m\x00\x0b a_b+c/d"]


CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f]")


def page_of(word, folder) -> str:
    """A page of inputs that have a text wherever there may be any."""
    record = synthetic.measurement("4,64,128,128,8,8,64", (0, 0, 0, 0), 1, 64, 128, 3)
    parameters = {**record["parameters"], f"key {word}": word}
    records = [{**record, "variant": word, "algorithm": word, "parameters": parameters, "mode": word, "type": word,
                "target": word, "when": word, "device": {"name": word, "arch": word, "driver": word},
                "build": {"nvcc": word}}]
    others = {**parameters, f"key {word}": f"{word}2", "tile_oc": 32}
    records += [{**records[0], "parameters": others, "median_ms": 9.0}]
    records += [synthetic.failed({**records[0], "status": "crash", "reason": word})]
    records += [{"kind": "decision", "verdict": "tie",
                 **{key: word for key in ("shape", "winner", "incumbent", "why")}}]
    log = synthetic.write_log(folder / "log.jsonl", records)
    line = "\t".join(("4,64,128,128,8,8", "f32", "fp32", "1.0", "1e-7"))
    (folder / "c.tsv").write_text(f"{line}\thconv v\n{line}\tpeer {word}\n{word}\tf32\tfp32\tFAILED\tnan\t{word}\n")
    assert report.main([log, "--before", log, "--compare", str(folder / "c.tsv"), "--heat", f"key {word},tile_oc",
                        "--title", word, "-o", str(folder / "r.html")]) == 0
    return (folder / "r.html").read_text(encoding="utf-8")


def tags(document) -> list:
    return [e.tag for e in document.iter()
            if isinstance(e.tag, str) and e.tag.startswith(XHTML) and not e.tag.endswith("}wbr")]


@pytest.fixture(scope="module")
def harmless(tmp_path_factory):
    return tags(parsed(page_of("harmless", tmp_path_factory.mktemp("harmless"))))


@pytest.mark.parametrize("text", HOSTILE)
def test_every_text_is_escaped(tmp_path, harmless, text):
    """The same elements as with a harmless text, and the text itself among the words."""
    found = page_of(text, tmp_path)
    assert not CONTROL.search(found)
    document = parsed(found)
    assert tags(document) == harmless
    assert words(document).count(CONTROL.sub("\ufffd", text)) >= 12, "it is shown as it is"


def test_cuda_source_is_shown_as_it_is(page):
    document = parsed(page.read_text())
    kernels = section(document, "kernels")
    sources = [words(e) for e in kernels.iter(f"{XHTML}pre")]
    assert sources == ["// sums of a < b && c > d\n__global__ void kernel(const float *x) {}\n"]
    assert "No CUDA source: conv2d_direct_bf16_oc64x128_t8x8_ic8_s3_w4_cuda.cu is not in" in words(kernels)
    assert "192" not in words(kernels) and "registers a thread128" in words(kernels).replace("\n", "")  # 64 + tile_oc


def test_a_transforms_files_are_all_found_and_names_are_no_paths(tmp_path):
    from hconv_report.sources import Sources
    for name in ("t_input", "t_weights", "t_output", "p"):
        (tmp_path / f"{name}.cu").write_text(name)
    (tmp_path.parent / "secret.cu").write_text("secret")
    files, note = Sources(tmp_path).of("t+p")
    assert [name for name, _ in files] == ["t_input.cu", "t_weights.cu", "t_output.cu", "p.cu"] and note == ""
    assert Sources(tmp_path).of("../secret") == ([], "its name is no file's")
    (tmp_path / "p.cu").write_text("x" * 500_000)
    assert Sources(tmp_path).of("p") == ([], "p.cu has 500000 bytes, too many for this page")
    assert Sources(None).of("p") == ([], "no --cuda-source folder was given")


def test_each_gap_is_told(tmp_path):
    (tmp_path / "empty.jsonl").write_text("")
    assert report.main([str(tmp_path / "empty.jsonl"), "-o", str(tmp_path / "r.html")]) == 0
    document = parsed((tmp_path / "r.html").read_text())
    for part, sentence in {
        "best": "The logs hold no candidate with a time.", "roofline": "There is no measured time",
        "peers": "There is no comparison: --compare takes", "heat": "No problem has times over at least two parameters",
        "convergence": "The logs hold no candidate with a time.", "regression": "There is no earlier run: --before",
        "decisions": "The logs hold no decision", "failures": "There are none.", "kernels": "no candidate with a time",
    }.items():
        assert sentence in words(section(document, part)), part
    log = synthetic.write_log(tmp_path / "log.jsonl", synthetic.search(shapes=ONE_SHAPE))
    assert report.main([log, "-o", str(tmp_path / "r.html"), "--before", str(tmp_path / "empty.jsonl")]) == 0
    document = parsed((tmp_path / "r.html").read_text())
    assert "bench/compare.py made with --ceilings" in words(section(document, "roofline"))
    assert "no problem in common" in words(section(document, "regression"))
    assert "no --cuda-source folder was given" in words(section(document, "kernels"))


def test_extreme_inputs_are_drawn(tmp_path):
    """One candidate; equal times; times 12 orders of magnitude apart; a hundred problems."""
    base = synthetic.measurement("1,1,1,1,1,1,1", (0, 0, 0, 0), 1, 64, 128, 3)
    cases = {
        "one": [base],
        "equal": [{**base, "parameters": {"a": a, "b": b}} for a in (1, 2) for b in (1, 2)],
        "wide": [{**base, "parameters": {"a": a, "b": a}, "median_ms": 10.0 ** (3 * a - 6), "low_ms": None,
                  "high_ms": None} for a in range(5)],
        "many": [{**base, "shape": f"{b},1,1,1,1,1,1"} for b in range(1, 101)],
        "mixed values": [{**base, "parameters": {"a": a, "b": b}} for a in (1, "x", 2.5) for b in (True, None, 3)],
    }
    for name, records in cases.items():
        log = synthetic.write_log(tmp_path / "log.jsonl", records)
        assert report.main([log, "--before", log, "-o", str(tmp_path / "r.html")]) == 0, name
        parsed((tmp_path / "r.html").read_text())


@pytest.mark.parametrize("arguments, fragment", [
    (["missing.jsonl"], "missing.jsonl"),
    (["log.jsonl", "--compare", "log.jsonl"], "log.jsonl:1: The line has 1 columns"),
    (["log.jsonl", "--cuda-source", "nowhere"], "nowhere is no folder"),
    (["bad.jsonl"], "bad.jsonl:1: The line is not JSON"),
    (["log.jsonl", "--before", "bad.jsonl"], "bad.jsonl:1: "),
])
def test_inputs_that_cannot_be_used_end_with_a_sentence(tmp_path, monkeypatch, capsys, arguments, fragment):
    monkeypatch.chdir(tmp_path)
    synthetic.write_log(tmp_path / "log.jsonl", synthetic.search(shapes=ONE_SHAPE))
    (tmp_path / "bad.jsonl").write_text("{\n{}\n{}\n")
    assert report.main([*arguments, "-o", "r.html"]) == 2
    assert fragment in capsys.readouterr().err
    assert not (tmp_path / "r.html").exists()


def test_the_heat_maps_parameters_are_two(capsys):
    with pytest.raises(SystemExit):
        report.parse(["log.jsonl", "--heat", "tile_oc", "-o", "r.html"])
    assert "expected two names of parameters" in capsys.readouterr().err
