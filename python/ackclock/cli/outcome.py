"""The end of ``run``, ``compare`` and ``live``: tables on the terminal, JSON, report folder."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import typer
from rich.table import Table

from ackclock import repetitions, summary
from ackclock.cli.interrupts import Interrupts
from ackclock.cli.output import Report, file_names, notes, print_json, run_all, same_repetitions, show
from ackclock.cli.status import INTERRUPTED, INVALID
from ackclock.engines import Engine
from ackclock.overview import HIGH, LOW, Overview, overview
from ackclock.report import Page, calls, host, new_folder, notebook, number, page_of, write_json
from ackclock.report.charts import as_json
from ackclock.result import Run

PLANE = "Delay and throughput: a point for each flow and repetition"
STACK = {
    "goodput": "Goodput: what the application gets, in order; a repaired loss delivers all behind it at once",
    "rtt": "RTT",
    "queue": "How long a packet that arrives waits; ticks are dropped packets of the first repetition",
    "window": "Congestion window",
}
BAND = f"medians over the repetitions, with a band from the {LOW:.0f}th to the {HIGH:.0f}th percentile"
ZOOM = "Drag to zoom, click twice for all. A name in a legend switches its curves off and on."


@dataclass(frozen=True)
class Outcome:
    """The end of a command: it prints its runs, and writes them into the folder of ``--out``."""

    title: str
    report: Report
    calls: bool = False
    """The runs have a call (``compare --wlan``), by which they are compared."""

    def run(self, points: Sequence[repetitions.Point[str]], engine: Engine) -> None:
        """Runs the points and ends the command; leaves with the status of an interrupted one if it was."""
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
            raise typer.Exit(INTERRUPTED)
        summaries = _summaries(runs)
        # The flows and links of a home are in the report alone: they are too many for the terminal.
        tables = (calls.table(runs),) if self.calls else _tables(summaries)
        show(*tables, summary.engine_line(summaries), as_json=self.report.as_json)
        for sentence in summary.invalid_reasons(summaries):
            notes.print(f"warning: {sentence}", markup=False, soft_wrap=True)
        for sentence in same_repetitions(summary.alike(summaries)):
            notes.print(f"note: {sentence}", markup=False, soft_wrap=True)
        if self.report.as_json:
            print_json(self._document(runs, summaries))
        if summary.invalid_reasons(summaries):
            raise typer.Exit(INVALID)

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
                if self.report.csv:
                    run.to_csv(place / "csv")

            runs = run_all(points, engine, save, interrupts)
            if not runs:
                notes.print("interrupted")
                raise typer.Exit(INTERRUPTED)  # which removes the folder
            with page_of(folder, self.title):
                self._write_page(runs, folder, interrupts)
        notes.print(f"report: {out / 'index.html'}", markup=False, soft_wrap=True)
        if self.report.open and not interrupts.asked:
            typer.launch(str((out / "index.html").absolute()))
        return runs

    def _write_page(self, runs: Sequence[tuple[str, Run]], folder: Path, interrupts: Interrupts) -> None:
        summaries = _summaries(runs)
        marked = summary.marked(summaries)
        by_label: dict[str, list[Run]] = {}
        for label, run in runs:
            by_label.setdefault(marked[label], []).append(run)
        page = Page(self.title)
        with interrupts.stoppable():
            # After an interruption, drawing would take too long.
            interrupts.check()
            if self.calls:
                page.paragraph(calls.sentence(runs))
                page.draw(folder / "call.png", calls.CAPTION, partial(calls.figure, by_label))
            background = {
                label: of for label, of in by_label.items() if not self.calls or label != calls.ALONE
            }
            _draw(page, background, folder, self.report.formats)
        page.heading("Numbers")
        if self.calls:
            of_call = calls.table(runs)
            page.table(notebook.heads(of_call), notebook.cells(of_call))
        _tabulate(page, summaries)
        if interrupts.asked:
            page.paragraph("Interrupted: the runs that had finished, without all their figures.", "miss")
        page.heading("As run")
        for label, of_label in by_label.items():
            seeds = ", ".join(str(r.seed) for r in of_label)
            page.details(f"scenario of {label}, seed {seeds}", json.dumps(of_label[0].scenario, indent=2))
            for run in of_label:
                if "lateness_us" in run.engine:
                    about = json.dumps(run.engine, indent=2)
                    page.details(f"how far {label}, seed {run.seed} can be trusted", about)
        page.details("versions and host", json.dumps(host(), indent=2))
        page.write(folder / "index.html")
        write_json(folder / "summary.json", self._document(runs, summaries))

    def _document(
        self, runs: Sequence[tuple[str, Run]], summaries: Sequence[summary.Summary]
    ) -> dict[str, Any]:
        document = summary.document(summaries)
        if self.calls:
            document["calls"] = calls.as_json(runs)
        return document


def _summaries(runs: Sequence[tuple[str, Run]]) -> list[summary.Summary]:
    return [{**run.summary(), "label": label} for label, run in runs]


def _draw(page: Page, by_label: Mapping[str, list[Run]], folder: Path, formats: Sequence[str]) -> None:
    """The first page: sentences, the charts with their numbers, and the same figures as files."""
    # Without a home folder it would print the folder of its cache on standard error.
    logging.getLogger("matplotlib").setLevel(logging.ERROR)
    from ackclock import plots
    from ackclock.plots import overview as drawn

    shown = page.attempt("the first page", partial(overview, by_label))
    if shown is not None:
        page.answers(shown.sentences)
        if any(len(repetitions) > 1 for repetitions in by_label.values()):
            page.paragraph(f"Curves over time are {BAND}.", "note")
        looks = drawn.curve_looks(shown)
        page.charts(as_json(shown, lambda label, cc: looks[label, cc]), _places(shown))
        page.paragraph(ZOOM, "note")
        if shown.stack:
            page.save(folder / "overview.png", partial(drawn.stack, shown), formats)
        if shown.distributions:
            page.save(folder / "distributions.png", partial(drawn.distributions, shown), formats)
    page.save(folder / "delay-throughput.png", partial(plots.delay_throughput, by_label), formats)
    for sentence in page.undrawn:
        notes.print(f"warning: {sentence}", markup=False, soft_wrap=True)


def _places(shown: Overview) -> list[tuple[str, str]]:
    """The charts of the page, with their captions."""
    stack = [(f"stack/{panel.name}", STACK[panel.name]) for panel in shown.stack]
    distributions = [
        (f"distributions/{panel.name}", panel.y.label[:1].upper() + panel.y.label[1:])
        for panel in shown.distributions
    ]
    return [*stack, ("plane", PLANE), *distributions]


def _tables(summaries: Sequence[summary.Summary]) -> tuple[Table, Table]:
    marked = summary.marked(summaries)
    shown = [{**s, "label": marked[s["label"]]} for s in summaries]
    return summary.flows_table(shown), summary.links_table(shown)


def _tabulate(page: Page, summaries: Sequence[summary.Summary]) -> None:
    for table in _tables(summaries):
        page.table(notebook.heads(table), notebook.cells(table))
    if fairness := summary.fairness(summaries):
        shared = "; ".join(f"{label}: {number(value)}" for label, value in fairness.items())
        page.paragraph(f"Jain's index of the goodputs (medians over the repetitions): {shared}.")
    for sentence in summary.invalid_reasons(summaries):
        page.paragraph(f"{sentence}.", "miss")
    if any("lateness_us" in s["engine"] for s in summaries):
        page.paragraph(f"Live: {summary.engine_line(summaries)}.".replace("\n", "; "))
