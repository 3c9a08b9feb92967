"""The page of a report: HTML that needs no other file.

Jinja2 renders the text, and escapes names from scenarios and files. Charts are drawn in the
browser by uPlot (MIT licence), a file of this package that is written into the page.
"""

from __future__ import annotations

import base64
import io
import json
import re
import zlib
from collections.abc import Callable, Sequence
from functools import cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from ackclock.errors import NO_MEMORY, lacks_memory, named, of_file
from ackclock.report import strips
from ackclock.report.files import write_whole

if TYPE_CHECKING:
    from jinja2 import Template
    from matplotlib.figure import Figure

    from ackclock.figure import StripRow

Drawn = TypeVar("Drawn")

GENERATOR = '<meta name="generator" content="ackclock">'
"""The mark of a page of ackclock. ``--force`` replaces only such pages."""

UPLOT = "uPlot-1.6.32"

NUMBER = re.compile(r"-|-?[\d∞](?:[\W\d_]|e[+-]\d)*")
"""A cell that is a number, a range of numbers or a dash, and no name that begins with a digit."""


LONGEST_NAME = 36
"""A longer name may be broken at its hyphens, in letters."""


class Page:
    """A page of HTML that needs no other file: pictures and charts are embedded."""

    def __init__(self, title: str) -> None:
        self.title = title
        self.undrawn: list[str] = []
        """The figures that could not be drawn, one sentence each."""
        self._parts: list[dict[str, Any]] = []
        self._numbers = ""
        self._panels: dict[str, Any] = {}

    def _add(self, kind: str, **content: Any) -> None:
        self._parts.append({"kind": kind, **content})

    def heading(self, text: str, anchor: str = "") -> None:
        """A section heading."""
        self._add("heading", text=text, anchor=anchor)

    def contents(self, rows: Sequence[tuple[str, str, str]]) -> None:
        """Links to headings: their text, their anchor, and a remark in red or nothing."""
        self._add("contents", rows=rows)

    def paragraph(self, text: str, css: str = "") -> None:
        """A paragraph of plain text."""
        self._add("paragraph", text=text, css=css)

    def answers(self, rows: Sequence[tuple[str, str]]) -> None:
        """Questions, and the sentence that answers each."""
        self._add("answers", rows=rows)

    def table(
        self,
        headings: Sequence[str],
        rows: Sequence[Sequence[str]],
        css_column: int | None = None,
        numbers: bool = True,
    ) -> None:
        """A table. ``numbers`` are aligned right. The text of a cell of ``css_column`` is its CSS class.

        On a phone each row of a table with a ``css_column`` is a block that begins with this cell.
        """

        def css(column: int, cell: str) -> str:
            if column == css_column:
                return cell
            if numbers and NUMBER.fullmatch(cell):
                return "number"
            return "" if " " in cell or len(cell) > LONGEST_NAME else "name"

        styled = [[(cell, css(column, cell)) for column, cell in enumerate(row)] for row in rows]
        self._add("table", headings=headings, rows=styled, verdicts=css_column is not None)

    def charts(self, numbers: str, charts: Sequence[tuple[str, str]]) -> None:
        """Interactive charts: the JSON that ``report.charts`` makes, and places in it with captions."""
        self._numbers = numbers
        for place, caption in charts:
            self._add("chart", place=place, caption=caption)

    def panels(
        self, name: str, panels: Sequence[dict[str, Any]], caption: str, columns: int, files: Sequence[str]
    ) -> None:
        """The panels of a figure as interactive charts (``report.charts.panels_as_json``), and its files."""
        places = {f"{name}-{number}": panel for number, panel in enumerate(panels)}
        self._panels |= places
        shown = [(f"figures/{place}", panel["title"]) for place, panel in places.items()]
        self._add("panels", places=shown, caption=caption, columns=columns, files=files)

    def strips(self, rows: Sequence[StripRow]) -> None:
        """Small multiples: a line of each of ``rows``, in which every label has a bar or a box."""
        self._add("strips", rows=strips.as_html(rows), key=strips.key(rows))

    def figure(self, png: bytes, caption: str, described: str = "") -> None:
        """A picture with its caption, and a sentence for screen readers."""
        data = base64.b64encode(png).decode("ascii")
        self._add("figure", data=data, caption=caption, described=described or caption)

    def draw(
        self, file: Path, caption: str, figure: Callable[[], Figure], formats: Sequence[str] = ()
    ) -> None:
        """Draws a figure into a PNG file and the page, and into files of further ``formats``.

        If it fails, a sentence takes its place and is added to ``undrawn``, and the page goes on.
        """
        from ackclock.plots.described import described

        sentences: list[str] = []

        def draw() -> Figure:
            drawn = figure()
            sentences.append(described(drawn))
            return drawn

        if (picture := self.save(file, draw, formats)) is not None:
            self.figure(picture, caption, f"{caption}. {sentences[0]}")

    def save(self, file: Path, figure: Callable[[], Figure], formats: Sequence[str] = ()) -> bytes | None:
        """Draws a figure into a PNG file, and files of further ``formats`` beside it, but not into the page.

        Gives the PNG, or None for one that cannot be drawn.
        """

        def draw() -> dict[Path, bytes]:
            drawn = figure()
            others = {file.with_suffix(f".{name}"): _in_format(drawn, name) for name in formats}
            return {file: png(drawn), **others}

        files = self.attempt(f"the figure {file.name}", draw)
        for path, content in (files or {}).items():
            path.write_bytes(content)
        return None if files is None else files[file]

    def attempt(self, what: str, draw: Callable[[], Drawn]) -> Drawn | None:
        """The result of ``draw``. If it fails None, with a sentence in the page and in ``undrawn``."""
        try:
            return draw()
        except Exception as error:
            self.undrawn.append(f"{what} cannot be drawn{why(error)}")
            self.paragraph(f"{self.undrawn[-1]}.", "miss")
            return None

    def details(self, summary: str, text: str) -> None:
        """A block of text that opens on a click."""
        self._add("details", summary=summary, text=text)

    def write(self, path: Path) -> None:
        """Writes the page."""
        from markupsafe import Markup

        styles, scripts = [_asset("page.css")], []
        numbers = self._numbers or (json.dumps({"figures": self._panels}) if self._panels else "")
        if numbers:
            styles.append(_asset(f"{UPLOT}.min.css"))
            scripts = [_asset(f"{UPLOT}.iife.min.js"), _asset("charts.js")]
        text = _template().render(
            title=self.title,
            parts=self._parts,
            generator=Markup(GENERATOR),
            styles=Markup("\n".join(styles)),
            scripts=[Markup(script) for script in scripts],
            numbers=Markup(_in_script(numbers)),
        )
        write_whole(path, text)


def why(error: Exception) -> str:
    """The end of a sentence about an exception. A full disk and its like are no faults of ackclock."""
    if isinstance(error, OSError):
        return f": {of_file(error)}"
    if lacks_memory(error):
        return f": {NO_MEMORY}"
    return f", please report it: {' '.join(named(error).split())}"


def _in_script(text: str) -> str:
    """JSON for a script element: no name in it can end the element."""
    return text.replace("&", r"\u0026").replace("<", r"\u003c").replace(">", r"\u003e")


@cache
def _asset(name: str) -> str:
    """A file from the folder of this module."""
    return (resources.files(__package__) / "assets" / name).read_text("utf-8")


@cache
def _template() -> Template:
    from jinja2 import Environment, StrictUndefined

    environment = Environment(
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    return environment.from_string(_asset("page.html.j2"))


DPI = 200
"""The resolution of a picture: twice that of its display."""


def png(figure: Figure) -> bytes:
    """A figure as PNG.

    ``savefig`` draws a figure with a layout twice. The canvas lays it out as it draws it. The encoder looks
    for runs of equal bytes alone, of which figures mostly consist.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    canvas, dpi, buffer = figure.canvas, figure.dpi, io.BytesIO()
    try:
        figure.dpi = DPI
        draw = FigureCanvasAgg(figure).print_png
        options = {"metadata": {"Software": "ackclock"}, "pil_kwargs": {"compress_type": zlib.Z_RLE}}
        draw(buffer, **options)  # type: ignore[no-untyped-call]
    finally:
        figure.dpi = dpi
        figure.set_canvas(canvas)
    return buffer.getvalue()


FORMATS = ("pdf", "svg")
"""The formats that figures can be written in besides PNG."""


def _in_format(figure: Figure, name: str, **options: Any) -> bytes:
    buffer = io.BytesIO()
    figure.savefig(buffer, format=name, **options)
    return buffer.getvalue()
