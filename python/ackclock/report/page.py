"""The page of a report: HTML that needs no other file."""

from __future__ import annotations

import base64
import io
import re
from collections.abc import Callable, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from ackclock.report.files import write_whole

if TYPE_CHECKING:
    from matplotlib.figure import Figure

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

GENERATOR = '<meta name="generator" content="ackclock">'
"""The mark of a page of ackclock: ``--force`` replaces nothing else."""


NUMBER = re.compile(r"-|-?[\d∞](?:[\W\d_]|e[+-]\d)*")
"""A cell that is a number, a range of numbers or a dash, and no name that begins with a digit."""


class Page:
    """A page of HTML that needs no other file: pictures are embedded."""

    def __init__(self, title: str) -> None:
        self.title = title
        self.undrawn: list[str] = []
        """The figures that could not be drawn, one sentence each."""
        self._parts: list[str] = [f"<h1>{escape(title)}</h1>"]

    def heading(self, text: str, anchor: str = "") -> None:
        """A section heading."""
        self._parts.append(f'<h2 id="{escape(anchor)}">{escape(text)}</h2>')

    def paragraph(self, text: str, css: str = "") -> None:
        """A paragraph of plain text."""
        self._parts.append(f'<p class="{css}">{escape(text)}</p>')

    def table(
        self,
        headings: Sequence[str],
        rows: Sequence[Sequence[str]],
        css_column: int | None = None,
        numbers: bool = True,
    ) -> None:
        """A table; ``numbers`` are aligned right; the text of a cell of ``css_column`` is its CSS class."""
        head = "".join(f"<th>{escape(h)}</th>" for h in headings)
        body = []
        for row in rows:
            cells = []
            for i, cell in enumerate(row):
                number = numbers and NUMBER.fullmatch(cell) is not None
                css = cell if i == css_column else "number" if number else ""
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

    def draw(self, file: Path, caption: str, figure: Callable[[], Figure]) -> None:
        """Draws a figure into a PNG file and the page.

        One that cannot be drawn is a sentence there and in ``undrawn``: no table must be lost with it.
        """
        try:
            picture = png(figure())
        except Exception as error:
            why = " ".join(f"{type(error).__name__}: {error}".split())
            self.undrawn.append(f"the figure {file.name} cannot be drawn, please report it: {why}")
            self.paragraph(f"{self.undrawn[-1]}.", "miss")
            return
        file.write_bytes(picture)
        self.figure(picture, caption)

    def details(self, summary: str, text: str) -> None:
        """A block of text that opens on a click."""
        self._parts.append(
            f"<details><summary>{escape(summary)}</summary><pre>{escape(text)}</pre></details>"
        )

    def write(self, path: Path) -> None:
        """Writes the page."""
        head = f'<meta charset="utf-8">{GENERATOR}<title>{escape(self.title)}</title><style>{CSS}</style>'
        body = "\n".join(self._parts)
        write_whole(
            path, f'<!doctype html>\n<html lang="en"><head>{head}</head>\n<body>\n{body}\n</body></html>\n'
        )


def png(figure: Figure) -> bytes:
    """A figure as PNG, in twice the resolution of its display."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=200, metadata={"Software": "ackclock"})
    return buffer.getvalue()
