"""Reports: a folder with a self-contained page, the pictures and the tables, written whole or not at all."""

from __future__ import annotations

import base64
import io
import json
import os
import platform
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from html import escape
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from ackclock import _engine

CSS = """
:root { color-scheme: light; }
body { font: 15px/1.5 system-ui, sans-serif; color: #222; }
body { max-width: 62rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.2rem; margin-top: 2.5rem; border-bottom: 1px solid #ddd; }
figure { margin: 1.2rem 0; } figure img { max-width: 100%; } figcaption { color: #555; font-size: .9rem; }
table { border-collapse: collapse; margin: 1rem 0; font-size: .9rem; }
th { text-align: left; border-bottom: 2px solid #bbb; }
td, th { padding: .25rem .7rem; vertical-align: top; } tr + tr td { border-top: 1px solid #eee; }
td.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.pass { color: #006b4f; font-weight: 600; } .miss { color: #b03a00; font-weight: 600; }
.cited, .informative { color: #666; }
pre { background: #f6f6f6; padding: .8rem; overflow-x: auto; font-size: .8rem; } .note { color: #555; }
"""


class FolderError(ValueError):
    """The output folder cannot be used."""


def check_folder(folder: Path, force: bool) -> None:
    """Refuses a folder that holds something (unless ``force``) or that cannot be written."""
    if folder.exists() and not folder.is_dir():
        raise FolderError(f"--out {folder}: is a file, but must be a folder")
    if folder.exists() and any(folder.iterdir()) and not force:
        raise FolderError(f"--out {folder}: the folder is not empty; --force replaces it")
    parent = folder.absolute().parent
    while not parent.exists():
        parent = parent.parent
    if not parent.is_dir() or not os.access(parent, os.W_OK | os.X_OK):
        raise FolderError(f"--out {folder}: {parent} cannot be written to")


@contextmanager
def new_folder(folder: Path, force: bool = False) -> Iterator[Path]:
    """A folder that gets its name only when the block has ended well; otherwise nothing is left behind."""
    check_folder(folder, force)
    target = folder.absolute()
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        work = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    except OSError as error:
        raise FolderError(f"--out {folder}: {error.strerror}") from error
    try:
        yield work
        work.chmod(0o755)
        if target.exists():
            shutil.rmtree(target)
        work.rename(target)
    except OSError as error:
        raise FolderError(f"--out {folder}: {error.strerror}") from error
    finally:
        shutil.rmtree(work, ignore_errors=True)


def host() -> dict[str, Any]:
    """What a result was made with."""
    return {
        "ackclock": _engine.version(),
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.release()}",
        "machine": platform.machine(),
        "cores": os.cpu_count(),
        "written": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def write_json(path: Path, document: Mapping[str, Any]) -> None:
    """Writes a JSON file that people can read."""
    path.write_text(json.dumps(document, indent=2, allow_nan=False) + "\n", encoding="utf-8")


class Page:
    """A page of HTML that needs no other file: pictures are embedded."""

    def __init__(self, title: str) -> None:
        self.title = title
        self._parts: list[str] = [f"<h1>{escape(title)}</h1>"]

    def heading(self, text: str, anchor: str = "") -> None:
        """A section heading."""
        self._parts.append(f'<h2 id="{escape(anchor)}">{escape(text)}</h2>')

    def paragraph(self, text: str, css: str = "") -> None:
        """A paragraph of plain text."""
        self._parts.append(f'<p class="{css}">{escape(text)}</p>')

    def table(
        self, headings: Sequence[str], rows: Sequence[Sequence[str]], css_column: int | None = None
    ) -> None:
        """A table; numbers stand right, the cells of ``css_column`` take their text as CSS class."""
        head = "".join(f"<th>{escape(h)}</th>" for h in headings)
        body = []
        for row in rows:
            cells = []
            for i, cell in enumerate(row):
                css = cell if i == css_column else "number" if cell[:1].isdigit() or cell[:1] == "-" else ""
                cells.append(f'<td class="{escape(css)}">{escape(cell)}</td>')
            body.append(f"<tr>{''.join(cells)}</tr>")
        self._parts.append(f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody></table>")

    def figure(self, png: bytes, caption: str) -> None:
        """A picture with its caption."""
        data = base64.b64encode(png).decode("ascii")
        self._parts.append(
            f'<figure><img alt="{escape(caption)}" src="data:image/png;base64,{data}">'
            f"<figcaption>{escape(caption)}</figcaption></figure>"
        )

    def details(self, summary: str, text: str) -> None:
        """A block of text that opens on a click."""
        self._parts.append(
            f"<details><summary>{escape(summary)}</summary><pre>{escape(text)}</pre></details>"
        )

    def write(self, path: Path) -> None:
        """Writes the page."""
        head = f'<meta charset="utf-8"><title>{escape(self.title)}</title><style>{CSS}</style>'
        body = "\n".join(self._parts)
        path.write_text(
            f'<!doctype html>\n<html lang="en"><head>{head}</head>\n<body>\n{body}\n</body></html>\n', "utf-8"
        )


def png(figure: Figure) -> bytes:
    """A figure as PNG, twice as fine as it is shown."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=200, metadata={"Software": "ackclock"})
    return buffer.getvalue()


def number(value: float | None, digits: int = 4) -> str:
    """A number for a table: four significant digits, a dash where there is none."""
    if value is None or value != value:
        return "-"
    if value in (float("inf"), float("-inf")):
        return "∞" if value > 0 else "-∞"
    text = f"{value:.{digits}g}"
    return f"{value:.0f}" if "e" in text and abs(value) < 1e12 else text
