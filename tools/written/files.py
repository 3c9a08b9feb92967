"""The files with a written part."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ackclock import _engine
from written import language, stub

PACKAGE = Path(__file__).parents[2] / "python" / "ackclock"


@dataclass(frozen=True)
class File:
    """A file, and how the written part of its text comes about."""

    path: Path
    written: Callable[[str], str]

    def texts(self) -> tuple[str, str]:
        """The text as it is, and as it is written anew."""
        text = self.path.read_text()
        return text, self.written(text)

    def write(self) -> bool:
        """Writes the file anew. Says whether it has changed."""
        before, after = self.texts()
        if before != after:
            self.path.write_text(after)
        return before != after


FILES = (
    File(PACKAGE / "_engine.pyi", lambda text: stub.written(text, _engine.signals())),
    File(PACKAGE / "language.py", lambda text: language.written(text, json.loads(_engine.schema()))),
)
"""All of them."""
