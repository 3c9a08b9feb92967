"""Writes the tables of all pages: ``PYTHONPATH=tools python -m pages``, or ``make tables``."""

from __future__ import annotations

from pages.markers import MARKER, render
from pages.measurements import ROOT

DOCS = ROOT / "docs"


def main() -> None:
    """Rewrites the pages whose tables have changed."""
    for page in sorted(DOCS.rglob("*.md")):
        text = page.read_text("utf-8")
        if MARKER.search(text) and (new := render(text, page.relative_to(ROOT).as_posix())[0]) != text:
            page.write_text(new, "utf-8")


if __name__ == "__main__":
    main()
