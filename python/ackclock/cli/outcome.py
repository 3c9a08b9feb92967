"""The end of ``run`` and ``compare``: tables on the terminal, JSON, report folder."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import click
from rich.table import Table

from ackclock import repetitions, summary
from ackclock.cli.interrupts import Interrupts
from ackclock.cli.output import Report, file_names, notes, print_json, run_all, same_repetitions, show
from ackclock.cli.status import INTERRUPTED, INVALID
from ackclock.engines import Engine
from ackclock.figure import Panel
from ackclock.overview import Overview, overview
from ackclock.report import Page, bottlenecks, calls, host, new_folder, notebook, number, page_of, write_json
from ackclock.report.charts import as_json
from ackclock.result import Run

PLANE = "Delay and throughput: a point for each flow and repetition"
STACK = {
    "goodput": "Goodput: what the application gets, in order; a repaired loss delivers all behind it at once",
    "rtt": "RTT by time: the latest sample",
    "queue": "How long a packet that arrives waits; ticks are dropped packets of the first repetition",
    "window": "Congestion window",
}
DISTRIBUTIONS = {
    "rtt-distribution": "RTT by time: how much of the time it was at most this (the table has it by ACK)",
}
TABLES = (
    "RTT is by ACK: each sample of the sender counts once. Queue and delay of a link are by time. "
    "Loss is what was dropped or lost on the way, of the packets sent."
)
BAND = (
    "Curves over time are medians over the repetitions, with a band from the {:.0f}th to the {:.0f}th "
    "percentile."
)
ZOOM = "Drag to zoom, click twice for all. A name in a legend switches its curves off and on."


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
                runs = run_all(points, engine, lambda _label, _run: None, interrupts)
            else:
                runs = self._run_into(self.report.out, points, engine, interrupts)
        if interrupts.asked:
            saved = (
                f"; {len(runs)} finished runs are in {self.report.out}"
                if runs and self.report.out is not None
                else ""
            )
            notes.print(f"interrupted{saved}", markup=False, soft_wrap=True)
            raise click.exceptions.Exit(INTERRUPTED)
        done = Finished(runs)
        summaries = done.summaries
        show(*self.tables(done), summary.engine_line(summaries), as_json=self.report.as_json)
        for sentence in summary.invalid_reasons(summaries):
            notes.print(f"warning: {sentence}", markup=False, soft_wrap=True)
        for sentence in same_repetitions(summary.alike(summaries)):
            notes.print(f"note: {sentence}", markup=False, soft_wrap=True)
        if self.report.as_json:
            print_json(self.document(done))
        if summary.invalid_reasons(summaries):
            raise click.exceptions.Exit(INVALID)

    def _run_into(
        self, out: Path, points: Sequence[repetitions.Point[str]], engine: Engine, interrupts: Interrupts
    ) -> list[tuple[str, Run]]:
        """Runs the points into a new folder: the tables of each as it finishes, the report at the end."""
        names = file_names(point.key for point in points)
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
                notes.print("interrupted")
                raise click.exceptions.Exit(INTERRUPTED)  # which removes the folder
            with page_of(folder, self.title):
                self.write_page(runs, folder, interrupts)
        if not interrupts.asked:
            self.report.done(out)
        return runs

    def write_page(self, runs: Sequence[tuple[str, Run]], folder: Path, interrupts: Interrupts) -> None:
        """Writes the page, its figures and ``summary.json``."""
        done, page = Finished(runs), Page(self.title)
        with interrupts.stoppable():
            # After an interruption, drawing would take too long.
            interrupts.check()
            self.draw(page, done, folder)
            for sentence in page.undrawn:
                notes.print(f"warning: {sentence}", markup=False, soft_wrap=True)
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


class CallOutcome(Outcome):
    """The end of ``compare --networks 802.11g``, whose runs have a call by which they are compared."""

    def tables(self, done: Finished) -> Sequence[Any]:
        """The flows and links of a home are in the report alone: they are too many for the terminal."""
        return bottlenecks.sentence(_background(done.runs)), calls.table(done.runs)

    def draw(self, page: Page, done: Finished, folder: Path) -> None:
        """The bottleneck, the call, and the overview of the background."""
        background = _background(done.runs)
        page.paragraph(bottlenecks.sentence(background))
        page.paragraph(calls.sentence(done.runs))
        draw_overview(page, background, folder, self.report.formats, calls.panels(done.by_label))

    def numbers(self, page: Page, done: Finished) -> None:
        """The call."""
        of_call = calls.table(done.runs)
        page.table(notebook.heads(of_call), notebook.cells(of_call))

    def document(self, done: Finished) -> dict[str, Any]:
        """With the bottleneck and the call."""
        of_call = {
            "bottleneck": bottlenecks.sentence(_background(done.runs)),
            "calls": calls.as_json(done.runs),
        }
        return summary.document(done.summaries) | of_call


def _background(runs: Sequence[tuple[str, Run]]) -> dict[str, list[Run]]:
    """The runs with flows beside the call, by label, without the call."""
    found: dict[str, list[Run]] = {}
    for label, run in runs:
        if label != calls.ALONE:
            found.setdefault(label, []).append(run.with_flows(calls.is_background))
    return found


def draw_overview(
    page: Page,
    by_label: Mapping[str, list[Run]],
    folder: Path,
    formats: Sequence[str],
    of_call: Sequence[Panel] = (),
) -> None:
    """The first page: sentences, the charts with their numbers, and the same figures as files.

    The panels of a call come before the others.
    """
    # Without a home folder it would print the folder of its cache on standard error.
    logging.getLogger("matplotlib").setLevel(logging.ERROR)
    from ackclock import plots
    from ackclock.plots import overview as drawn

    shown = page.attempt("the first page", partial(overview, by_label))
    if shown is not None:
        looks = drawn.curve_looks(_with(shown, of_call))
        numbers = as_json(_with(shown, of_call), lambda label, cc: looks[label, cc])
        page.charts(numbers, [(f"distributions/{one.name}", calls.CAPTIONS[one.name]) for one in of_call])
        page.answers(shown.sentences)
        if any(len(repetitions) > 1 for repetitions in by_label.values()):
            low, high = shown.band
            page.paragraph(BAND.format(low, high), "note")
        page.charts(numbers, _places(shown))
        page.paragraph(ZOOM, "note")
        if shown.stack:
            page.save(folder / "overview.png", partial(drawn.stack, shown), formats)
        if shown.distributions:
            page.save(folder / "distributions.png", partial(drawn.distributions, shown), formats)
        if of_call:
            call = replace(shown, distributions=of_call)
            page.save(folder / "call.png", partial(drawn.distributions, call), formats)
    page.save(folder / "delay-throughput.png", partial(plots.delay_throughput, by_label), formats)


def _with(shown: Overview, of_call: Sequence[Panel]) -> Overview:
    """An overview with the panels of a call as well."""
    return replace(shown, distributions=[*of_call, *shown.distributions])


def _places(shown: Overview) -> list[tuple[str, str]]:
    """The charts of the page, with their captions."""
    stack = [(f"stack/{panel.name}", STACK[panel.name]) for panel in shown.stack]
    distributions = [
        (f"distributions/{panel.name}", DISTRIBUTIONS.get(panel.name, _sentence(panel.y.label)))
        for panel in shown.distributions
    ]
    return [*stack, ("plane", PLANE), *distributions]


def _sentence(label: str) -> str:
    return label[:1].upper() + label[1:]


def _tables(summaries: Sequence[summary.Summary]) -> tuple[Table, Table]:
    marked = summary.marked(summaries)
    shown = [{**s, "label": marked[s["label"]]} for s in summaries]
    return summary.flows_table(shown), summary.links_table(shown)


def _tabulate(page: Page, summaries: Sequence[summary.Summary]) -> None:
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
