"""The words of ``tc`` that ``--tc`` reads and refuses, from the declarations of the disciplines."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ackclock import _engine
from pages.tables import Table, maker


@maker("tc-words")
def tc_words() -> Table:
    """A row for each discipline."""
    disciplines: dict[str, list[Mapping[str, Any]]] = {}
    for word in _engine.tc_words():
        disciplines.setdefault(word["discipline"], []).append(word)
    rows = [
        [
            f"`{name}`",
            _listed(word["word"] for word in words if word["read"] and word["why"] is None),
            _listed(word["word"] for word in words if word["read"] and word["why"] is not None),
            "; ".join(f"`{word['word']}` ({word['why']})" for word in words if not word["read"]),
        ]
        for name, words in disciplines.items()
    ]
    return Table(("discipline", "words that are simulated", "without effect here", "refused"), rows)


def _listed(words: Iterable[str]) -> str:
    return ", ".join(dict.fromkeys(f"`{word}`" for word in words))
