"""The hook of MkDocs: markers become tables and lessons while the pages are built."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pages import lessons, render


def on_page_markdown(markdown: str, page: Any, **_: object) -> str:
    """The page with its tables, or with its lesson."""
    with_tables = render(markdown, page.file.src_uri)[0]
    return lessons.render(with_tables, Path(page.file.abs_src_path).parent)
