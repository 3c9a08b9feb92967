"""The site as one zip file that opens without a server: ``python -m pages.offline SITE FILE.zip``.

A server shows ``lessons/index.html`` for a link to ``lessons/``. A browser that reads files lists the folder,
so links to folders get the name of their page. The search of the theme needs a server, so its button goes.
A link of HTML that leads nowhere is refused, as Zensical checks links of Markdown alone.
"""

from __future__ import annotations

import html
import re
import sys
import zipfile
from pathlib import Path
from urllib.parse import unquote

from pages.tables import PageError

LINK = re.compile(
    r"""(?P<before>\b(?:href|src)=["'])(?P<path>(?![a-z][a-z0-9+.-]*:|/|#)[^"'#?]*)(?P<rest>[#?"'])"""
)
"""A link within the site: its path may end with a slash, or be a folder as `.` and `..` are."""

WITHOUT_SERVER = "<style>.md-search, .md-header__button[for=__search] { display: none }</style></head>"

LEFT_OUT = ("404.html", "sitemap.xml", "sitemap.xml.gz")
"""Files for servers."""

WHEN = (1980, 1, 1, 0, 0, 0)
"""The time of all files: the same site gives the same bytes."""


def opened_as_files(page: str) -> str:
    """A page whose links to folders name their pages."""

    def named(link: re.Match[str]) -> str:
        path = link["path"]
        if path and path.rpartition("/")[2] in ("", ".", ".."):
            path = f"{path.removesuffix('/')}/index.html"
        return f"{link['before']}{path}{link['rest']}"

    return LINK.sub(named, page).replace("</head>", WITHOUT_SERVER, 1)


def dead(page: str, folder: Path) -> list[str]:
    """The links of a page in ``folder`` that lead to no file of the site."""
    paths = {unquote(html.unescape(link["path"])) for link in LINK.finditer(page)}
    return sorted(path for path in paths if path and not (folder / path).is_file())


def write(site: Path, file: Path) -> None:
    """Writes a built site into a zip file. Raises OSError, or PageError for a link that leads nowhere."""
    with zipfile.ZipFile(file, "w") as archive:
        for one in sorted(site.rglob("*")):
            if not one.is_file() or one.name in LEFT_OUT or one == file:
                continue
            content = one.read_bytes()
            # The playground is one page of its own, and has no folder among its links.
            if one.suffix == ".html" and one.name != "app.html":
                page = opened_as_files(content.decode("utf-8"))
                if nowhere := dead(page, one.parent):
                    raise PageError(f"{one}: {nowhere[0]} leads to no file of the site")
                content = page.encode("utf-8")
            entry = zipfile.ZipInfo(f"ackclock/{one.relative_to(site).as_posix()}", WHEN)
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, content, zipfile.ZIP_DEFLATED)


def main() -> int:
    """Writes the zip file."""
    write(*map(Path, sys.argv[1:3]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
