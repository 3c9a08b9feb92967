"""The page of a check: a table, and each failure with its scenario."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from ackclock.cases.model import Judgement
from ackclock.checks.judging import WORDS, as_json
from ackclock.checks.target import Target
from ackclock.report import Page, number, write_json

HEADINGS = ("case", "measure", "measured", "allowed", "verdict")


def write(found: Sequence[Judgement], target: Target, about: str, folder: Path) -> None:
    """Writes the page and the verdicts, and the scenario of each case that fails.

    ``about`` says by which laws the target is judged. Each sender in a recording has its own verdicts.
    """
    page = Page(f"Check of {target.name}")
    page.paragraph(about)
    senders = Counter(one.claim.id for one in found)
    for group in dict.fromkeys(one.claim.group for one in found):
        page.heading(group)
        rows = [_cells(one) for one in found if one.claim.group == group]
        page.table(HEADINGS, rows, css_column=len(HEADINGS) - 1)
    for one in found:
        if one.verdict == "pass":
            continue
        claim = one.claim
        name = claim.id if senders[claim.id] == 1 else f"{claim.id}, {claim.group}"
        page.heading(f"{name}: {claim.title}", anchor=_file(name))
        page.paragraph(one.sentence, "miss" if one.verdict == "miss" else "")
        page.paragraph(f"{claim.because} Source: {claim.source}.")
        if one.scenario:
            name = f"{_file(claim.id)}.json"
            (folder / name).write_text(_readable(one.scenario), encoding="utf-8")
            page.details(f"ackclock run {name}", _readable(one.scenario))
    write_json(folder / "check.json", {"target": target.name, "cases": [as_json(one) for one in found]})
    page.write(folder / "index.html")


def _cells(one: Judgement) -> list[str]:
    return [one.claim.id, one.claim.text, number(one.measured), one.allowed, WORDS[one.verdict]]


def _file(identity: str) -> str:
    return re.sub(r"[^\w.-]+", "-", identity)


def _readable(scenario: str) -> str:
    return json.dumps(json.loads(scenario), indent=2) + "\n"
