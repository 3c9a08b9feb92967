"""The report of a reproduction: page, pictures, tables and the scenarios that ran."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import pyarrow.parquet as pq

from ackclock import report
from ackclock.cases.model import WORDS, Judgement
from ackclock.engines import registry
from ackclock.papers.closeness import CLOSENESS, by_reading, closeness, depending, in_words
from ackclock.papers.experiment import Paper
from ackclock.papers.figures import table
from ackclock.papers.perturbation import LATER_S, RTT_SHARE
from ackclock.papers.reproduction import Reproduction, Result
from ackclock.report import Page, host, number, write_json

HEADINGS = ("claim", "what the paper says", "reported", "measured", "band", "unit", "holds in", "verdict")
OTHERS = HEADINGS.index("measured") + 1
"""The position of the columns of the other engines."""
HOLDS = HEADINGS.index("holds in")


def headings(reproduction: Reproduction) -> list[str]:
    """``HEADINGS``, with a column for each of the others, and with "holds in" only if a claim counts runs."""
    named = list(HEADINGS)
    if reproduction.perturbed:
        named.insert(HOLDS + 1, "shaken")
    if not _counts(reproduction):
        named.pop(HOLDS)
    if reproduction.others:
        named[OTHERS - 1 : OTHERS] = ["simulated", *reproduction.others]
    return named


def _counts(reproduction: Reproduction) -> bool:
    return any(j.holds is not None for result in reproduction.results for j in result.judgements)


def rows(result: Result, reproduction: Reproduction) -> list[list[str]]:
    """The judgements of a result as rows under ``headings``."""
    others, counts = reproduction.measured_by_others(), _counts(reproduction)
    steadiness = reproduction.steadiness()
    found = []
    for judgement in result.judgements:
        cells = row(judgement)
        if reproduction.perturbed:
            cells.insert(HOLDS + 1, str(steadiness.get(judgement.claim.id, "")))
        if not counts:
            cells.pop(HOLDS)
        cells[OTHERS:OTHERS] = map(number, others[judgement.claim.id].values())
        found.append(cells)
    return found


def row(judgement: Judgement) -> list[str]:
    """A judgement as a row under ``HEADINGS``."""
    claim = judgement.claim
    reported = claim.reported if isinstance(claim.reported, str) else number(float(claim.reported))
    text = f"{claim.text} ({claim.source})" + "".join(f"; {remark}" for remark in _remarks(judgement))
    band = f"{number(claim.low)} … {number(claim.high)}"
    holds = "" if judgement.holds is None else str(judgement.holds)
    return [claim.id, text, reported, number(judgement.measured), band, claim.unit, holds, judgement.word]


def _remarks(judgement: Judgement) -> list[str]:
    """The remarks on a judgement, beside its numbers."""
    claim = judgement.claim
    found = []
    if claim.measured_as:
        found.append(f"measured: {claim.measured_as}")
    if claim.judged_over:
        # The share that has to hold is in the column "holds in".
        found.append(f"judged over {claim.judged_over.rpartition(':')[0] or claim.judged_over}")
    if claim.fragile:
        found.append("fragile: holds only in some realisations")
    if judgement.counted is not None:
        found.append(f"{judgement.counted} repetitions have a value")
    if judgement.unmeasured:
        found.append(f"not measured: {judgement.unmeasured}")
    elif judgement.reason:
        found.append(f"why it misses: {judgement.reason}")
    return found


def markdown(reproduction: Reproduction) -> str:
    """The judgements as a table in Markdown, for documentation."""
    every = [row for result in reproduction.results for row in rows(result, reproduction)]
    return report.markdown(headings(reproduction), every)


def write(
    reproduction: Reproduction, papers: tuple[Paper, ...], folder: Path, formats: Sequence[str] = ()
) -> list[str]:
    """Writes the page, PNG and Parquet of each figure, tables, claims and run.json into ``folder``.

    Figures are written in ``formats`` too.
    Returns a sentence for each figure that could not be drawn.
    """
    (folder / "claims.md").write_text(markdown(reproduction), "utf-8")
    pq.write_table(reproduction.claims_table(), folder / "claims.parquet")
    about = {"host": host(), "interrupted": reproduction.interrupted}
    write_json(folder / "run.json", about | reproduction.as_json() | {"runs": reproduction.scenarios})
    page = Page("Experiments reproduced")
    judged = [j for r in reproduction.results for j in r.judgements]
    counts = {word: sum(j.word == word for j in judged) for word in WORDS}
    page.paragraph(", ".join(f"{n} {word}" for word, n in counts.items() if n) or "No claim was judged.")
    if reproduction.interrupted:
        page.paragraph(
            "Interrupted: claims rest on the repetitions that had finished, and figures are left as Parquet.",
            "miss",
        )
    for name, other in reproduction.engines.items():
        _other(page, name, other)
    if reproduction.perturbed:
        page.paragraph(
            f"The column shaken says in how many of {len(reproduction.perturbed)} repetitions of everything "
            f"a claim holds, each with other seeds, flows that start up to {LATER_S * 1e3:g} ms later, and "
            f"base RTTs longer or shorter by up to {RTT_SHARE:.0%}. Verdicts are about the experiment itself."
        )
    if len(reproduction.results) > 1:
        page.contents([_entry(result) for result in reproduction.results])
    if reproduction.readings:
        _readings(page, reproduction, folder)
    titles = {p.id: f"{p.authors}, “{p.title}”, {p.venue} {p.year}" for p in papers}
    shown: set[str] = set()
    for result in reproduction.results:
        if result.experiment.paper not in shown:
            shown.add(result.experiment.paper)
            page.paragraph(titles.get(result.experiment.paper, result.experiment.paper))
        _experiment(page, result, reproduction, folder, formats)
    page.heading("Made with")
    page.details("versions and host", json.dumps(host(), indent=2))
    page.write(folder / "index.html")
    return page.undrawn


def _entry(result: Result) -> tuple[str, str, str]:
    """The entry of an experiment in the contents, with the number of its misses."""
    experiment, words = result.experiment, [judgement.word for judgement in result.judgements]
    missed = words.count("miss")
    remark = f"{missed} of {len(words)} claims miss" if missed else ""
    return f"{experiment.id}: {experiment.title}", experiment.id, remark


def _readings(page: Page, reproduction: Reproduction, folder: Path) -> None:
    """How near each reading comes, and the claims that depend on it."""
    default = [judgement for result in reproduction.results for judgement in result.judgements]
    judged = by_reading(default, reproduction.readings)
    near = [one.row() for one in closeness(judged)]
    (folder / "readings.md").write_text(report.markdown(CLOSENESS, near), "utf-8")
    page.heading("Readings")
    page.table(CLOSENESS, near)
    dependent = [
        [name, *(in_words(reading, judgement) for reading, judgement in found)]
        for name, found in depending(judged).items()
    ]
    if dependent:
        widest = max(map(len, dependent))
        columns = ["the verdict depends on the reading", *[""] * (widest - 1)]
        page.table(columns, [row + [""] * (widest - len(row)) for row in dependent])


def _experiment(
    page: Page, result: Result, reproduction: Reproduction, folder: Path, formats: Sequence[str]
) -> None:
    experiment = result.experiment
    page.heading(f"{experiment.id}: {experiment.title}", experiment.id)
    page.paragraph(
        f"Section {experiment.section}, {experiment.kind}, {experiment.status}. Shows {experiment.shows}. "
        f"{result.runs_done} of {result.runs} runs, {number(result.seconds, 3)} s."
    )
    _figures(page, result, "", reproduction.interrupted, folder, formats)
    for name, done in reproduction.engines.items():
        for other in done.results:
            if other.experiment.id == experiment.id and other.runs_done:
                _figures(page, other, name, done.interrupted, folder, formats)
    for shown in result.tables:
        name = f"{experiment.id}-{shown.table.name}".rstrip("-")
        pq.write_table(shown.values, folder / f"{name}.parquet")
        (folder / f"{name}.md").write_text(report.markdown(shown.table.headings, shown.rows), "utf-8")
        page.paragraph(shown.table.title)
        page.table(shown.table.headings, shown.rows)
    if result.judgements:
        columns = headings(reproduction)
        page.table(columns, rows(result, reproduction), css_column=len(columns) - 1)
    if experiment.assumed:
        page.paragraph(f"Not given by the paper, chosen here: {', '.join(experiment.assumed)}.", "note")
    own = [s for s in reproduction.scenarios if s["experiment"] == experiment.id]
    page.details(f"scenarios as run ({len(own)})", json.dumps(own, indent=1))


def _figures(
    page: Page, result: Result, engine: str, interrupted: bool, folder: Path, formats: Sequence[str]
) -> None:
    for drawn in result.figures:
        name = "-".join(part for part in (result.experiment.id, drawn.figure.name, engine) if part)
        pq.write_table(table(drawn.panels), folder / f"{name}.parquet")
        if interrupted:
            continue  # after an interruption, drawing would take too long
        file = folder / f"{name}.png"
        if page.save(file, partial(drawn.figure.draw, drawn.panels), formats) is None:
            continue
        caption = f"{drawn.figure.title} ({engine})" if engine else drawn.figure.title
        files = [file.with_suffix(f".{ending}").name for ending in ("png", *formats, "parquet")]
        page.panels(name, drawn.figure.as_json(drawn.panels), caption, drawn.figure.columns, files)


def _other(page: Page, name: str, other: Reproduction) -> None:
    """The facts to know about the runs of another engine."""
    done = sum(result.runs_done for result in other.results)
    kind = registry.ENGINES[name]
    text = f"{name.capitalize()}: {done} runs on {kind.words}"
    if kind.stack is not None:
        text += (
            f", whose endpoints replace the paper's. The column {kind.stack} is simulated with such "
            "endpoints too"
        )
    if other.replaced:
        text += (
            f". Runs that it refuses are simulated, also in its figures; a claim without a run on {name} "
            "has no value there"
        )
    page.paragraph(f"{text}. The band and the verdict are about the column simulated.")
    for sentence in other.invalid:
        page.paragraph(f"Past its error budget: {sentence}.", "miss")
    if other.refused:
        title = f"simulated in place of {name}" if other.replaced else f"not run {name}"
        page.details(f"{title} ({len(other.refused)})", "\n".join(other.refused))
