"""The site as a zip file: each link leads to a file of it, as a browser without a server needs."""

import re
import zipfile
from pathlib import Path

import pytest

from pages import lessons, offline
from pages.tables import PageError

DOCS = Path(__file__).resolve().parents[2] / "docs"


@pytest.mark.parametrize(
    ("link", "there"),
    [
        ('href="../cookbook/"', 'href="../cookbook/index.html"'),
        ('href="../cookbook/#calls"', 'href="../cookbook/index.html#calls"'),
        ('href="."', 'href="./index.html"'),
        ('href=".."', 'href="../index.html"'),
        ("href='../../'", "href='../../index.html'"),
        ('href="../playground/app.html#open=a&slide=b"', 'href="../playground/app.html#open=a&slide=b"'),
        ('src="../assets/a.js"', 'src="../assets/a.js"'),
        ('href="saw-tooth.ipynb"', 'href="saw-tooth.ipynb"'),
        ('href="#here"', 'href="#here"'),
        ('href="https://example.org/"', 'href="https://example.org/"'),
        ('href="mailto:a@example.org/"', 'href="mailto:a@example.org/"'),
        ('href="//example.org/"', 'href="//example.org/"'),
        ('href="/"', 'href="/"'),
    ],
)
def test_links_to_folders_name_their_pages(link, there):
    assert offline.opened_as_files(f"<a {link}>x</a>") == f"<a {there}>x</a>"


def test_a_site_in_a_zip_leads_to_its_own_files(tmp_path):
    site = tmp_path / "site"
    pages = {
        "index.html": '<head></head><a href="lessons/">x</a><a href="lessons/saw/#q">x</a>',
        "lessons/index.html": '<head></head><a href="..">x</a><a href="saw/">x</a>',
        "lessons/saw/index.html": '<head></head><iframe src="../../playground/app.html#open=a"></iframe>',
        "playground/app.html": '<a href="../index.html">x</a>',
        "404.html": '<a href="/lessons/">x</a>',
    }
    for name, page in pages.items():
        (site / name).parent.mkdir(parents=True, exist_ok=True)
        (site / name).write_text(page)
    made = []
    # The second time the file of the first is in the site.
    for _ in range(2):
        offline.write(site, site / "offline.zip")
        made.append((site / "offline.zip").read_bytes())
    assert made[0] == made[1]
    with zipfile.ZipFile(site / "offline.zip") as archive:
        archive.extractall(tmp_path / "unpacked")
    root = tmp_path / "unpacked" / "ackclock"
    found = {str(one.relative_to(root)) for one in root.rglob("*.*")}
    assert found == pages.keys() - {"404.html"}
    for page in root.rglob("*.html"):
        for link in re.findall(r'(?:href|src)="([^"#]+)', page.read_text()):
            assert (page.parent / link).is_file(), (page, link)


def test_a_link_that_leads_nowhere_is_refused(tmp_path):
    (tmp_path / "index.html").write_text('<a href="playground/app.html#open=a">x</a>')
    with pytest.raises(PageError, match=r"playground/app\.html leads to no file of the site"):
        offline.write(tmp_path, tmp_path / "offline.zip")


def test_links_of_html_in_sources_lead_to_the_playground():
    """Zensical takes them from the folder of the source, and writes them for the page that it makes."""
    found = 0
    sources = [*DOCS.rglob("*.md")]
    for source in sources:
        for link in re.findall(r'(?:href|src)="([^"#:]*app\.html)', source.read_text("utf-8")):
            assert (source.parent / link).resolve() == DOCS / "playground" / "app.html", (source, link)
            found += 1
    assert found > 10
    assert (lessons.LESSONS / lessons.PLAYGROUND).resolve() == DOCS / "playground" / "app.html"
