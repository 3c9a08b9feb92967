"""Docstrings from sentences of the engine."""

from __future__ import annotations

import re
import textwrap

WIDTH = 110
"""The longest line."""


def docstring(text: str, indentation: int) -> list[str]:
    """The lines of a docstring: one, or the first sentence, an empty line and the others.

    A sentence that is longer than a line ends at its colon. Raises ValueError if it has none.
    """
    before = " " * indentation
    if len(before) + len(text) + 6 <= WIDTH:
        return [f'{before}"""{text}"""']
    first, _, rest = text.partition(". ")
    if len(before) + len(first) + 4 > WIDTH:
        first, _, rest = text.partition(": ")
    if len(before) + len(first) + 4 > WIDTH:
        raise ValueError(f"does not fit in the first line of a docstring: {first}")
    return [f'{before}"""{first}.', "", *wrapped(rest, indentation), f'{before}"""']


def wrapped(text: str, indentation: int) -> list[str]:
    """The lines of a paragraph."""
    before = " " * indentation
    return textwrap.wrap(
        text,
        WIDTH,
        initial_indent=before,
        subsequent_indent=before,
        break_long_words=False,
        break_on_hyphens=False,
    )


def of_rust(text: str) -> str:
    """A comment in Rust as Python writes it: names in double backticks, with points between them."""
    text = re.sub(r"\[(`[^`]*`)\](?:\([^)]*\))?", r"\1", " ".join(text.split()))
    return re.sub(r"`([^`]*)`", lambda name: f"``{name[1].replace('::', '.')}``", text)
