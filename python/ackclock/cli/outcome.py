"""The end of ``run`` and ``compare``: tables on the terminal, JSON, report folder."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.table import Table
from rich.text import Text

from ackclock import repetitions, summary
from ackclock.cli.interrupts import Interrupts
from ackclock.cli.output import (
    Report,
    file_names,
    leave_interrupted,
    moving_shares,
    print_json,
    run_all,
    same_repetitions,
    say,
    show,
    show_early,
)
from ackclock.cli.status import INVALID
from ackclock.engines import Engine
from ackclock.halves import moving

if TYPE_CHECKING:
    from ackclock.report import Page
    from ackclock.result import Run

TABLES = (
    "RTT is by ACK: each sample of the sender counts once. Queue and delay of a link are by time. "
    "Loss is what was dropped or lost on the way, of the packets sent."
)


@dataclass(frozen=True)
class Finished:
    """The runs of a command."""

    runs: Sequence[tuple[str, Run]]
    """With their labels, in order."""

    @cached_property
    def summaries(self) -> list[summary.Summary]:
        """The numbers of each."""
        return [{**run.summary(), "label": label} for label, run in self.runs]

    @cached_property
    def moving(self) -> list[str]:
        """The labels whose shares, or whose goodput alone, differ between the halves, a sentence each."""
        runs: dict[str, list[Run]] = {}
        for label, run in self.runs:
            runs.setdefault(label, []).append(run)
        return moving(runs)

    @cached_property
    def by_label(self) -> dict[str, list[Run]]:
        """The repetitions of each label, which is marked where one is invalid."""
        marked = summary.marked(self.summaries)
        found: dict[str, list[Run]] = {}
        for label, run in self.runs:
            found.setdefault(marked[label], []).append(run)
        return found


@dataclass(frozen=True)
class Outcome:
    """The end of a command: it prints its runs, and writes them into the folder of ``--out``."""

    title: str
    report: Report

    def tables(self, done: Finished) -> Sequence[Any]:
        """The tables that the terminal shows."""
        return _tables(done.summaries)

    def draw(self, page: Page, done: Finished, folder: Path) -> None:
        """The first part of the page."""
        from ackclock.cli.first_page import draw_overview

        draw_overview(page, done.by_label, folder, self.report.formats)

    def numbers(self, page: Page, done: Finished) -> None:
        """Writes the tables of the page that precede flows and links."""

    def document(self, done: Finished) -> dict[str, Any]:
        """The object of ``--json``."""
        return summary.document(done.summaries)

    def run(self, points: Sequence[repetitions.Point[str]], engine: Engine) -> None:
        """Runs the points and ends the command.

        Leaves with the status of an interrupted command if it was.
        """
        with Interrupts() as interrupts:
            if self.report.out is None:
                done = Finished(run_all(points, engine, lambda _label, _run: None, interrupts))
                if not interrupts.asked:
                    show(*self.answer(done), as_json=self.report.as_json)
            else:
                done = self._run_into(self.report.out, points, engine, interrupts)
        if interrupts.asked:
            saved = (
                f"; {len(done.runs)} finished runs are in {self.report.out}"
                if done.runs and self.report.out is not None
                else ""
            )
            leave_interrupted(f"interrupted{saved}")
        summaries = done.summaries
        for sentence in summary.invalid_reasons(summaries):
            say(f"warning: {sentence}")
        for sentence in same_repetitions(summary.alike(summaries)):
            say(f"note: {sentence}")
        for sentence in moving_shares(done.moving):
            say(f"note: {sentence}")
        about = {point.key: point.plan.inspect() for point in points}
        for sentence in summary.beyond_buffers(summaries, about):
            say(f"note: {sentence}")
        if self.report.as_json:
            print_json(self.document(done))
        if summary.invalid_reasons(summaries):
            raise click.exceptions.Exit(INVALID)

    def answer(self, done: Finished) -> Sequence[Any]:
        """The buffers that limited flows, the tables, and the cost of the runs."""
        limits = map(Text, [*summary.broken(done.summaries), *summary.limits(done.summaries)])
        return *limits, *self.tables(done), summary.engine_line(done.summaries)

    def _run_into(
        self, out: Path, points: Sequence[repetitions.Point[str]], engine: Engine, interrupts: Interrupts
    ) -> Finished:
        """Runs the points into a new folder: the tables of each as it finishes, the report at the end."""
        from ackclock.inputs import Inputs
        from ackclock.report import new_folder, page_of

        names = file_names(point.key for point in points)
        inputs = Inputs.of((point.plan for point in points), engine)
        with new_folder(out, self.report.force) as folder:

            def save(label: str, run: Run) -> None:
                alone = repetitions.count(points) == 1
                place = folder if alone else folder / f"{names[label]}-seed-{run.seed}"
                place.mkdir(exist_ok=True)
                run.save(place)
                if "csv" in self.report.also:
                    run.to_csv(place / "csv")

            runs = run_all(points, engine, save, interrupts)
            if not runs:
                leave_interrupted("interrupted")  # which removes the folder
            inputs.write(folder)
            done = Finished(runs)
            things = [] if interrupts.asked else self.answer(done)
            finish = show_early(*things, as_json=self.report.as_json)
            with page_of(folder, self.title):
                self.write_page(done, folder, interrupts)
        if not interrupts.asked:
            self.report.done(out)
        finish()
        return done

    def write_page(self, done: Finished, folder: Path, interrupts: Interrupts) -> None:
        """Writes the page, its figures and ``summary.json``."""
        from ackclock.report import Page, host, write_json

        page = Page(self.title)
        with interrupts.stoppable():
            # After an interruption, drawing would take too long.
            interrupts.check()
            self.draw(page, done, folder)
            for sentence in page.undrawn:
                say(f"warning: {sentence}")
        page.heading("Numbers")
        self.numbers(page, done)
        _tabulate(page, done.summaries)
        if interrupts.asked:
            page.paragraph("Interrupted: the runs that had finished, without all their figures.", "miss")
        page.heading("As run")
        for label, of_label in done.by_label.items():
            seeds = ", ".join(str(r.seed) for r in of_label)
            page.details(f"scenario of {label}, seed {seeds}", json.dumps(of_label[0].scenario, indent=2))
            for run in of_label:
                if "lateness_us" in run.engine:
                    about = json.dumps(run.engine, indent=2)
                    page.details(f"how far {label}, seed {run.seed} can be trusted", about)
        page.details("versions and host", json.dumps(host(), indent=2))
        page.write(folder / "index.html")
        write_json(folder / "summary.json", self.document(done))


def _tables(summaries: Sequence[summary.Summary]) -> list[Table]:
    marked = summary.marked(summaries)
    shown = [{**s, "label": marked[s["label"]]} for s in summaries]
    return summary.all_tables(shown)


def _tabulate(page: Page, summaries: Sequence[summary.Summary]) -> None:
    from ackclock.report import notebook, number

    for table in _tables(summaries):
        page.table(notebook.heads(table), notebook.cells(table))
    page.paragraph(TABLES, "note")
    if fairness := summary.fairness(summaries):
        shared = "; ".join(f"{label}: {number(value)}" for label, value in fairness.items())
        page.paragraph(f"Jain's index of the goodputs (medians over the repetitions): {shared}.")
    for sentence in summary.invalid_reasons(summaries):
        page.paragraph(f"{sentence}.", "miss")
    if any("lateness_us" in s["engine"] for s in summaries):
        page.paragraph(f"Live: {summary.engine_line(summaries)}.".replace("\n", "; "))
