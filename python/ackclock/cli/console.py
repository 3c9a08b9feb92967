"""Consoles of the command line: texts come from files, so none is markup, and none steers the terminal."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rich.console import Console as Rich
from rich.console import ConsoleOptions, RenderableType
from rich.segment import Segment

from ackclock.printable import printable


class Console(Rich):
    """A console that prints text unchanged, but for control characters and marks of direction."""

    def __init__(self, **options: Any) -> None:
        super().__init__(markup=False, emoji=False, highlight=False, **options)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """See ``rich.console.Console.render``."""
        for text, style, control in super().render(renderable, options):
            yield Segment(text if control else printable(text), style, control)
