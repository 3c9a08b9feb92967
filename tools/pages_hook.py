"""The hook of MkDocs: markers of lessons become lessons while the pages are built."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pages import lessons


def on_page_markdown(markdown: str, page: Any, **_: object) -> str:
    """The page with its lesson, if it has one."""
    return lessons.render(markdown, Path(page.file.abs_src_path).parent)
