"""The style sheet and the script of the site: contrast, underlined links, boxes that take the focus."""

from __future__ import annotations

import shutil
from importlib.util import find_spec
from pathlib import Path

import pytest

from calling import PATIENCE

CHROMIUM = shutil.which("chromium")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="needs chromium (Debian: apt install chromium)")

DOCS = Path(__file__).parents[2] / "docs"

PARTS = """
<nav class="md-nav"><label class="md-nav__title">Begin</label></nav>
<article class="md-typeset">
<p>Text with <a href="#x">a link</a> and <a href="#x"><code>code in one</code></a>, <code>code</code>.</p>
<p><small><a href="#x">Open in the playground</a> small</small></p>
<table><tbody><tr><td>a cell with <a href="#x">a link</a></td></tr></tbody></table>
<div class="highlight"><pre><code>{code}</code></pre></div>
</article>
<footer class="md-footer"><div class="md-footer-meta md-typeset">
<div class="md-copyright">MIT</div>
</div></footer>
"""

# The classes of Pygments that code on our pages has.
TOKENS = "c c1 k kc kn kt kd ow o p n nb nc nd ne nf nn nt na nv s s1 s2 se si sd m mi mf mh gp go gh gi gd"

CONTRAST = """() => {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const rgba = (text) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = text;
    canvas.fillRect(0, 0, 1, 1);
    const data = canvas.getImageData(0, 0, 1, 1).data;
    return [data[0], data[1], data[2], data[3] / 255];
  };
  const over = (top, below) => [0, 1, 2].map((i) => top[i] * top[3] + below[i] * (1 - top[3])).concat(1);
  // Relative luminance and contrast: WCAG 2.2.
  const luminance = (colour) => {
    const [r, g, b] = colour.slice(0, 3).map((v) => v / 255)
      .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const found = [];
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const element = texts.currentNode.parentElement;
    if (!texts.currentNode.textContent.trim()) continue;
    let below = [255, 255, 255, 1], opacity = 1;
    const layers = [];
    for (let one = element; one; one = one.parentElement) {
      layers.push(rgba(getComputedStyle(one).backgroundColor));
      opacity *= +getComputedStyle(one).opacity;
    }
    for (const layer of layers.reverse()) below = over(layer, below);
    const letters = rgba(getComputedStyle(element).color);
    letters[3] *= opacity;
    const [high, low] = [over(letters, below), below].map(luminance).sort((a, b) => b - a);
    found.push([texts.currentNode.textContent.trim(), (high + 0.05) / (low + 0.05)]);
  }
  return found;
}"""


def themes():
    """The style sheets of the theme in the packages that have it: Zensical's, and Material's for MkDocs."""
    for package, folder in (("zensical", "classic"), ("material", ".")):
        if (spec := find_spec(package)) is not None and spec.origin is not None:
            sheets = Path(spec.origin).parent / "templates" / "assets" / "stylesheets" / folder
            yield [next(sheets.glob(f"{name}.*.css")) for name in ("main", "palette")]


@pytest.fixture(scope="module")
def browser():
    sync_api = pytest.importorskip("playwright.sync_api")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox"], timeout=1000 * PATIENCE
        )
        yield browser
        browser.close()


def show(browser, scheme):
    """A page with the parts of ours in the colours of a scheme."""
    theme = next(themes(), None)
    if theme is None:
        pytest.skip("needs the theme of the site (pip install zensical)")
    page = browser.new_page()
    page.set_default_timeout(1000 * PATIENCE)
    code = "".join(f'<span class="{token}">{token} </span>' for token in TOKENS.split())
    styles = "".join(f"<style>{one.read_text('utf-8')}</style>" for one in [*theme, DOCS / "site.css"])
    body = f'<body data-md-color-scheme="{scheme}" data-md-color-primary="indigo">'
    page.set_content(f"<html><head>{styles}</head>{body}{PARTS.format(code=code)}</body></html>")
    return page


@pytest.mark.parametrize("scheme", ["default", "slate"])
def test_every_letter_has_the_contrast_of_wcag(browser, scheme):
    found = show(browser, scheme).evaluate(CONTRAST)
    assert len(found) > len(TOKENS.split())
    assert [(text, round(ratio, 2)) for text, ratio in found if ratio < 4.5] == []


def test_links_in_text_differ_by_more_than_their_colour(browser):
    lines = show(browser, "default").evaluate(
        "[...document.querySelectorAll('article a')].map((a) => getComputedStyle(a).textDecorationLine)"
    )
    assert lines == ["underline"] * 4


def test_boxes_that_the_theme_makes_later_have_names_and_take_the_focus(browser):
    page = show(browser, "default")
    page.add_script_tag(content=(DOCS / "site.js").read_text("utf-8"))
    found = page.evaluate(
        """async () => {
          document.dispatchEvent(new Event("DOMContentLoaded"));
          for (const one of ["md-typeset__scrollwrap", "md-typeset__scrollwrap", "md-code__nav"]) {
            const made = document.createElement("div");
            made.className = one;
            document.body.append(made);
          }
          await new Promise(requestAnimationFrame);
          return [...document.querySelectorAll("[aria-label]")].map((one) => [one.ariaLabel, one.tabIndex]);
        }"""
    )
    assert found == [*([f"table {number}", 0] for number in (1, 2)), ["buttons of code 1", -1]]
