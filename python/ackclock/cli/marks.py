"""``ackclock check`` of several targets, such as the controllers of a class: each in a process of its own.

A target that crashes, hangs or takes all memory has its sentence in its row, and the others go on.
"""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import click
from rich.table import Table
from rich.text import Text

from ackclock.cli import output, supervised
from ackclock.cli.status import LIMIT
from ackclock.errors import InputError
from ackclock.printable import write_csv
from ackclock.workers import interpreter

BROKEN = "broken"
"""The verdict on a target whose check did not end with verdicts."""
OF_ALL = {"targets", "verdicts", "as_json", "out", "force"}
"""Parameters of the whole command."""
OF_ONE = ("listing", "hunting", "out")
"""Options that only one target can have."""


@dataclass(frozen=True)
class Mark:
    """The row of a target."""

    target: str
    """As it was typed."""
    verdict: str
    """``pass``, ``fail`` or ``broken``."""
    passed: int
    """Bounds that hold."""
    failed: int
    """Bounds that do not."""
    skipped: int
    """Bounds that could not be judged."""
    failing: str
    """The cases that fail."""
    reason: str
    """The sentence about a check that did not end with verdicts."""


def parsed(check: click.Command, arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """The targets among the arguments of ``check``, and its options as every target has them."""
    with click.Context(check, info_name="check", resilient_parsing=True) as context:
        try:
            values, _, order = check.make_parser(context).parse_args(list(arguments))
        except click.UsageError:
            return [], []
    options = []
    for one in dict.fromkeys(order):
        if isinstance(one, click.Option) and one.name not in OF_ALL:
            value = values[str(one.name)]
            spelled = max(one.opts, key=len)
            many = value if one.multiple else [value]
            options += [spelled] if one.is_flag else [f"{spelled}={each}" for each in many]
    # One target comes as the value of click for none.
    targets = values.get("targets")
    return [str(target) for target in targets] if isinstance(targets, list | tuple) else [], options


def judge(
    check: click.Command, arguments: Sequence[str], limit: supervised.Limit | None
) -> list[dict[str, Any] | Mark]:
    """The document of each target's check, or the row of one without."""
    targets, options = parsed(check, arguments)
    if len(set(targets)) < len(targets):
        raise InputError(f"{' '.join(targets)}: a target is named twice")
    found: list[dict[str, Any] | Mark] = []
    with output.progress(f"{len(targets)} targets") as at:
        for number, target in enumerate(targets):
            found.append(_judged(target, options, limit))
            at((number + 1) / len(targets))
    return found


def _judged(target: str, options: Sequence[str], limit: supervised.Limit | None) -> dict[str, Any] | Mark:
    within = [] if limit is None else [f"{LIMIT}={limit.text}"]
    command = interpreter("-m", "ackclock", "check", *options, *within, "--json", "--", target)
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    try:
        document: dict[str, Any] = json.loads(done.stdout)["check"]
    except ValueError:
        said = [line for line in done.stderr.splitlines() if line.startswith("ackclock: ")]
        reason = said[-1].removeprefix("ackclock: ") if said else f"ended with status {done.returncode}"
        return Mark(target, BROKEN, 0, 0, 0, "", reason)
    return document | {"target": target}


def mark(found: Mapping[str, Any] | Mark) -> Mark:
    """The row of a document of ``check --json``."""
    if isinstance(found, Mark):
        return found
    cases = found["cases"]
    counts = Counter(str(case["verdict"]) for case in cases)
    failing = dict.fromkeys(str(case["id"]) for case in cases if case["verdict"] == "fail")
    verdict = "fail" if counts["fail"] else "pass"
    target = str(found["target"])
    return Mark(target, verdict, counts["pass"], counts["fail"], counts["skipped"], " ".join(failing), "")


def write(marks: Sequence[Mark], file: Path) -> None:
    """Writes the rows as CSV. Raises OSError."""
    import pyarrow as pa

    write_csv(pa.Table.from_pylist([asdict(one) for one in marks]), file)


def table(marks: Sequence[Mark]) -> Table:
    """The rows for a terminal."""
    drawn = Table()
    for head in ("target", "verdict", "pass", "fail", "skipped", "why"):
        drawn.add_column(head, justify="right" if head in ("pass", "fail", "skipped") else "left")
    for one in marks:
        style = "green" if one.verdict == "pass" else "bold red"
        counts = [Text(str(count)) for count in (one.passed, one.failed, one.skipped)]
        drawn.add_row(
            Text(one.target), Text(one.verdict, style=style), *counts, Text(one.failing or one.reason)
        )
    return drawn
