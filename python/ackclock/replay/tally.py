"""Many packet scripts: they are found in folders, and their verdicts counted."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from ackclock.errors import InputError
from ackclock.replay import Verdict

SUFFIX = ".pkt"
COUNTED = {
    "match": ("matches", "match"),
    "divergence": ("diverges", "diverge"),
    "unsupported": ("is unsupported", "are unsupported"),
    "no script": ("is no script", "are no scripts"),
}
"""The verdicts in words, of one script and of several."""
QUOTED = re.compile(r"`(\S+)[^`]*`")
SET_TO = re.compile(r"(--\w+)=\S*")


def scripts_in(places: Iterable[Path]) -> list[Path]:
    """The files of ``places``, and the scripts at any depth of its folders by name.

    Raises InputError for a folder without a script.
    """
    found: list[Path] = []
    for place in places:
        if place.is_dir():
            inside = sorted(file for file in place.rglob(f"*{SUFFIX}") if file.is_file())
            if not inside:
                raise InputError(f"{place}: holds no packet script ({SUFFIX})")
            found += inside
        else:
            found.append(place)
    return found


def folder(files: Sequence[str]) -> str:
    """The deepest folder that holds several files, or the empty text."""
    return os.path.commonpath([Path(file).parent for file in files]) if len(files) > 1 else ""


def counts(verdicts: Iterable[Verdict]) -> dict[str, int]:
    """The number of scripts with each verdict, of those that occur."""
    number = Counter[str](verdict.verdict for verdict in verdicts)
    return {name: number[name] for name in COUNTED if number[name]}


def sentence(verdicts: Sequence[Verdict]) -> str:
    """Example: ``162 scripts: 33 match, 3 diverge, 126 are unsupported.``"""
    parts = [f"{number} {COUNTED[name][number != 1]}" for name, number in counts(verdicts).items()]
    late = sum(not verdict.is_valid for verdict in verdicts)
    if late:
        parts.append(f"{late} of them on a machine that was too late")
    return f"{len(verdicts)} script{'s' * (len(verdicts) != 1)}: {', '.join(parts)}."


def lacking(verdicts: Iterable[Verdict]) -> list[tuple[str, int]]:
    """The parts that are not modelled, most frequent first, without values that differ between scripts."""
    reasons = Counter(_kind(verdict.why) for verdict in verdicts if verdict.verdict == "unsupported")
    return sorted(reasons.items(), key=lambda reason: (-reason[1], reason[0]))


def _kind(why: str) -> str:
    return SET_TO.sub(r"\1", QUOTED.sub(r"`\1`", why))
