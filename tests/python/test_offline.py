"""The site as a zip file: each link leads to a file of it, as a browser without a server needs."""

import re
import zipfile

import pytest

from pages import offline


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
