"""The page in a real browser, as a phone and a desktop show it, light and dark. scripts/test-report installs a browser
where there is none."""

import os
from pathlib import Path

import browser
import pytest

PHONE, DESKTOP = (360, 740), (1280, 900)
SIZES = pytest.mark.parametrize("size", [PHONE, DESKTOP], ids=["phone", "desktop"])
MODES = pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
# [smallest height of a text of the figures in CSS pixels, texts outside their figure]
FIGURE_TEXTS = """(() => {
  let least = 1e9, outside = [];
  for (const svg of document.querySelectorAll('svg')) {
    const frame = svg.getBoundingClientRect();
    for (const text of svg.querySelectorAll('text')) {
      const box = text.getBoundingClientRect();
      least = Math.min(least, Math.min(box.height, box.width > 0 ? 1e9 : 0));
      if (box.left < frame.left - 1 || box.right > frame.right + 1 ||
          box.top < frame.top - 1 || box.bottom > frame.bottom + 1)
        outside.push(text.textContent);
    }
  }
  return [least, outside];
})()"""
# Relative luminance of a CSS colour as in WCAG 2.
CONTRAST = """((a, b) => {
  const linear = v => v <= 0.03928 * 255 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4;
  const light = c => { const [r, g, b] = c.match(/[0-9.]+/g).map(linear);
                       return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const [x, y] = [light(a), light(b)]; return (Math.max(x, y) + 0.05) / (Math.min(x, y) + 0.05); })"""


@pytest.fixture(scope="module")
def chromium():
    program = browser.find()
    if not program:
        pytest.skip("There is no Chromium here; scripts/test-report installs one and runs these tests.")
    running = browser.Browser(program)
    yield running
    running.close()


@SIZES
@MODES
def test_the_page_fits_and_asks_for_nothing(chromium, page, size, dark):
    chromium.open(page.as_uri(), *size, dark)
    assert chromium.value("document.documentElement.scrollWidth") == size[0], "it scrolls sideways"
    assert chromium.requests() == [page.as_uri()]
    assert chromium.complaints() == []
    least, outside = chromium.value(FIGURE_TEXTS)
    assert outside == []
    assert least >= 7, "the smallest text of a figure, in pixels"
    if os.environ.get("HCONV_SCREENSHOTS"):
        name = f"{'phone' if size is PHONE else 'desktop'}-{'dark' if dark else 'light'}.png"
        chromium.screenshot(Path(os.environ["HCONV_SCREENSHOTS"]) / name)


@MODES
def test_colours_follow_the_system_and_are_readable(chromium, page, dark):
    chromium.open(page.as_uri(), *DESKTOP, dark)
    background = chromium.value("getComputedStyle(document.body).backgroundColor")
    assert (background == "rgb(16, 18, 22)") == dark
    for selector, least in {"body": 7, ".quiet": 4.5, "a": 4.5, "th": 4.5, ".missing": 4.5}.items():
        colour = f"getComputedStyle(document.querySelector('{selector}')).color"
        contrast = chromium.value(f"{CONTRAST}({colour}, '{background}')")
        assert contrast >= least, selector
    texts = "[...document.querySelectorAll('#roofline svg text')]"
    fills = chromium.value(f"[...new Set({texts}.map(t => getComputedStyle(t).fill))]")
    assert fills
    for fill in fills:
        assert chromium.value(f"{CONTRAST}('{fill}', '{background}')") >= 4.5, fill


def test_a_kernels_source_folds_out(chromium, page):
    chromium.open(page.as_uri(), *PHONE, False)
    visible = "document.querySelector('details pre').checkVisibility()"
    assert chromium.value(visible) is False
    chromium.value("document.querySelector('summary').click()")
    assert chromium.value(visible) is True
    assert "a < b && c > d" in chromium.value("document.querySelector('details pre').innerText")
    assert chromium.value("document.documentElement.scrollWidth") == PHONE[0]


def test_hostile_texts_do_nothing(chromium, tmp_path):
    import json

    import report
    import synthetic
    record = synthetic.measurement("4,64,128,128,8,8,64", (0, 0, 0, 0), 1, 64, 128, 3)
    harm = "document.title='broken'"
    attack = f"\"'><script>{harm}</script><img src=http://127.0.0.1:9/x onerror=\"{harm}\">"
    record.update(variant=attack, type=attack, mode=attack, device={"name": attack})
    (tmp_path / "log.jsonl").write_text(json.dumps(record) + "\n")
    assert report.main([str(tmp_path / "log.jsonl"), "--title", "title", "-o", str(tmp_path / "r.html")]) == 0
    chromium.open((tmp_path / "r.html").as_uri(), *DESKTOP, False)
    assert chromium.value("document.title") == "title"
    assert chromium.requests() == [(tmp_path / "r.html").as_uri()]
    assert attack in chromium.value("document.body.innerText")
