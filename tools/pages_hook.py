"""The hook of MkDocs: markers of tables become tables while the pages are built."""

from __future__ import annotations

from typing import Any

from pages import render


def on_page_markdown(markdown: str, page: Any, **_: object) -> str:
    """The page with its tables."""
    return render(markdown, page.file.src_uri)[0]
