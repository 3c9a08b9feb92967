"""Published measurements: a run of a paper as a small file, which the documentation joins with the claims.

``ackclock reproduce PAPER --measurements FILE`` writes the file. Its head has date, commit, machine and
command. Below are, by experiment, the measured value of every claim and the cells of every table. Text, band,
source and cause of a claim stay in the paper's own files, and the verdict follows from value and band.
"""

from __future__ import annotations

import json
import os
import platform
import shlex
import subprocess
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ackclock.cases.judgement import verdict
from ackclock.cases.model import Claim, Count, Judgement
from ackclock.errors import InputError
from ackclock.papers.experiment import Experiment
from ackclock.papers.reproduction import Reproduction, Result

COUNTS = ("holds", "counted", "shaken")
"""The fields of a claim that count runs: a list of their number and of how many there are."""
OWN = ("measured", "why", *COUNTS)
"""The fields of a claim that are not values of another engine."""


def write(path: Path, done: Reproduction, options: Sequence[str]) -> None:
    """Writes the measurements of a reproduction. Experiments of the file that did not run keep their values.

    ``options`` are the command's options that change values, such as ``--quick``. Raises InputError for a
    file of other options.
    """
    date, commit = f"{datetime.now(UTC):%Y-%m-%d}", _commit()
    experiments = published(path, options)
    for result in done.results:
        experiments[result.experiment.id] = {"date": date, "commit": commit, **_experiment(result, done)}
    here, file = Path.cwd(), path.resolve()
    shown = file.relative_to(here) if file.is_relative_to(here) else path
    papers = dict.fromkeys(result.experiment.paper for result in done.results)
    command = shlex.join(["ackclock", "reproduce", *papers, *options, "--measurements", str(shown)])
    kernel = [f"{platform.system()} {platform.release()}"] if done.in_real_time else []
    head = {"date": date, "commit": commit, "machine": ", ".join([*kernel, machine()]), "command": command}
    document = {**head, "options": list(options), "experiments": experiments}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(_lines(document) + "\n", "utf-8")


def published(path: Path, options: Sequence[str]) -> dict[str, Any]:
    """The experiments of a file, if there is one. Raises InputError for a file of other options."""
    if not path.exists():
        return {}
    before = read(path)
    if before["options"] != list(options):
        asked = " ".join(before["options"]) or "no option"
        raise InputError(f"{path}: was measured with {asked}; remove it to measure in another way")
    return dict(before["experiments"])


def read(path: Path) -> dict[str, Any]:
    """The document of a file. Raises InputError for one that cannot be read."""
    try:
        document = json.loads(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise InputError(f"{path}: {error}") from error
    if not isinstance(document, dict) or not {"options", "experiments"} <= set(document):
        raise InputError(f"{path}: is no file of measurements")
    return document


def _experiment(result: Result, done: Reproduction) -> dict[str, Any]:
    others, steadiness = done.measured_by_others(), done.steadiness()
    claims: dict[str, dict[str, Any]] = {}
    for judgement in result.judgements:
        name = judgement.claim.id
        found: dict[str, Any] = {"measured": _value(judgement.measured)}
        found |= {engine: _value(value) for engine, value in others[name].items()}
        counts = dict(zip(COUNTS, (judgement.holds, judgement.counted, steadiness.get(name)), strict=True))
        found |= {key: [count.number, count.of] for key, count in counts.items() if count is not None}
        if judgement.unmeasured:
            found["why"] = judgement.unmeasured
        claims[name] = found
    cells = {filled.table.name: filled.rows for filled in result.tables}
    readings = {
        name: {key: _under(changed[key]) for key in claims if key in changed}
        for name, changed in done.readings.items()
    }
    readings = {name: values for name, values in readings.items() if values}
    return (
        {"claims": claims}
        | ({"tables": cells} if cells else {})
        | ({"readings": readings} if readings else {})
    )


def _under(judgement: Judgement) -> list[Any]:
    """A claim under another reading: its value, and how many runs of how many hold where they are counted."""
    holds = judgement.holds
    return [_value(judgement.measured), *([] if holds is None else [holds.number, holds.of])]


def _value(value: float | None) -> float | str | None:
    """A number for JSON, which has no infinity."""
    return str(value) if value is not None and abs(value) == float("inf") else value


def _lines(tree: Any, indent: str = "") -> str:
    """JSON with a line for each claim, and for each row of a table."""
    if _is_flat(tree):
        return json.dumps(tree, ensure_ascii=False)
    within = indent + " "
    if isinstance(tree, dict):
        parts = [f"{json.dumps(key)}: {_lines(one, within)}" for key, one in tree.items()]
    else:
        parts = [_lines(one, within) for one in tree]
    first, last = "{}" if isinstance(tree, dict) else "[]"
    return f"{first}\n{within}" + f",\n{within}".join(parts) + f"\n{indent}{last}"


def _is_flat(tree: Any) -> bool:
    """True if a tree is a value, a list of values, or a mapping of these."""
    if isinstance(tree, list):
        return not any(isinstance(one, dict | list) for one in tree)
    if isinstance(tree, dict):
        return all(_is_flat(one) and not isinstance(one, dict) for one in tree.values())
    return True


def _commit() -> str:
    """The commit of the source tree, or the empty text outside of one."""
    command = ["git", "-C", str(Path(__file__).parent), "rev-parse", "--short", "HEAD"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def machine() -> str:
    """The processor and the number of cores."""
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    except OSError:
        lines = []
    named = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return f"{named[0] if named else platform.machine()}, {os.cpu_count()} cores"


def judgements(experiments: Sequence[Experiment], document: Mapping[str, Any]) -> list[Judgement]:
    """The claims of experiments that have a value in a document, judged by it."""
    found = []
    for experiment in experiments:
        values = document["experiments"].get(experiment.id, {}).get("claims", {})
        for claim in (one for one in experiment.claims if one.id in values):
            value = values[claim.id]
            holds, counted = (Count(*value[key]) if key in value else None for key in ("holds", "counted"))
            found.append(_judged(claim, value["measured"], value.get("why", ""), holds, counted))
    return found


def readings(
    experiments: Sequence[Experiment], names: Sequence[str], document: Mapping[str, Any]
) -> dict[str, dict[str, Judgement]]:
    """The claims that each reading changes, judged by a document of ``--readings``."""
    found: dict[str, dict[str, Judgement]] = {name: {} for name in names}
    claims = {claim.id: claim for experiment in experiments for claim in experiment.claims}
    for one in document["experiments"].values():
        for name, values in one.get("readings", {}).items():
            for key, (measured, *counts) in values.items():
                found[name][key] = _judged(
                    claims[key], measured, "", Count(*counts) if counts else None, None
                )
    return found


def _judged(
    claim: Claim, value: float | str | None, why: str, holds: Count | None, counted: Count | None
) -> Judgement:
    measured = None if value is None else float(value)
    return Judgement(claim, measured, verdict(claim, measured, holds), why, holds, counted)
