"""How ``run``, ``compare`` and ``live`` end: tables on the terminal, JSON, report folder."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import typer
from rich.table import Table

from ackclock import repetitions, summary
from ackclock.cli import INTERRUPTED
from ackclock.cli.interrupts import Interrupts
from ackclock.cli.output import notes, print_json, run_all, show
from ackclock.engines import Engine
from ackclock.report import Page, host, new_folder, number, write_json
from ackclock.result import Run

Drawn = tuple[str, str, str]
"""A figure: file, caption, function of ``ackclock.plots``."""

OVER_TIME: Sequence[Drawn] = (
    ("goodput", "Goodput of each flow over time", "goodput_over_time"),
    ("rtt", "RTT of each flow over time", "rtt_over_time"),
    ("queue", "Queue of the bottleneck over time", "queue_over_time"),
    ("window", "Congestion window of each flow over time", "window_over_time"),
)
PLANE: Drawn = (
    "delay-throughput",
    "Delay-throughput plane: a point per flow and repetition, ellipses of one standard deviation",
    "delay_throughput",
)


@dataclass(frozen=True)
class Outcome:
    """The end of a command: it prints its runs, and writes them into the folder of ``--out``."""

    title: str
    figures: Sequence[Drawn]
    out: Path | None
    force: bool
    csv: bool
    as_json: bool

    def run(self, points: Sequence[repetitions.Point[str]], engine: Engine) -> None:
        """Runs the points and ends the command; leaves with the status of an interrupted one if it was."""
        with Interrupts() as interrupts:
            if self.out is None:
                runs = run_all(points, engine, lambda _label, _run: None, interrupts)
            else:
                runs = self._run_into(self.out, points, engine, interrupts)
        if interrupts.asked:
            saved = f"; {len(runs)} finished runs are in {self.out}" if runs and self.out is not None else ""
            notes.print(f"interrupted{saved}", markup=False, soft_wrap=True)
            raise typer.Exit(INTERRUPTED)
        summaries = _summaries(runs)
        show(*_tables(summaries), summary.engine_line(summaries), as_json=self.as_json)
        for sentence in summary.invalid_reasons(summaries):
            notes.print(f"warning: {sentence}", markup=False, soft_wrap=True)
        if self.as_json:
            print_json(summary.document(summaries))

    def _run_into(
        self, out: Path, points: Sequence[repetitions.Point[str]], engine: Engine, interrupts: Interrupts
    ) -> list[tuple[str, Run]]:
        """Runs the points into a new folder: the tables of each as it finishes, the report at the end."""
        with new_folder(out, self.force) as folder:

            def save(label: str, run: Run) -> None:
                alone = repetitions.count(points) == 1
                place = folder if alone else folder / f"{_file_name(label)}-seed-{run.seed}"
                place.mkdir(exist_ok=True)
                run.save(place)
                if self.csv:
                    run.to_csv(place / "csv")

            runs = run_all(points, engine, save, interrupts)
            if not runs:
                notes.print("interrupted")
                raise typer.Exit(INTERRUPTED)  # which removes the folder
            self._report(runs, folder, interrupts)
        notes.print(f"report: {out / 'index.html'}", markup=False, soft_wrap=True)
        return runs

    def _report(self, runs: Sequence[tuple[str, Run]], folder: Path, interrupts: Interrupts) -> None:
        summaries = _summaries(runs)
        marked = summary.marked(summaries)
        by_label: dict[str, list[Run]] = {}
        for label, run in runs:
            by_label.setdefault(marked[label], []).append(run)
        page = Page(self.title)
        _tabulate(page, summaries)
        with interrupts.stoppable():
            # After an interruption, drawing would take too long.
            interrupts.check()
            _draw(page, self.figures, by_label, folder)
        if interrupts.asked:
            page.paragraph("Interrupted: the runs that had finished, without all their figures.", "miss")
        page.heading("As run")
        for label, of_label in by_label.items():
            seeds = ", ".join(str(r.seed) for r in of_label)
            page.details(f"scenario of {label}, seed {seeds}", json.dumps(of_label[0].scenario, indent=2))
            for run in of_label:
                if run.engine["kind"] == "live":
                    told = json.dumps(run.engine, indent=2)
                    page.details(f"how far {label}, seed {run.seed} can be trusted", told)
        page.details("versions and host", json.dumps(host(), indent=2))
        page.write(folder / "index.html")
        write_json(folder / "summary.json", summary.document(summaries))


def _summaries(runs: Sequence[tuple[str, Run]]) -> list[summary.Summary]:
    return [{**run.summary(), "label": label} for label, run in runs]


def _draw(page: Page, figures: Sequence[Drawn], by_label: Mapping[str, list[Run]], folder: Path) -> None:
    # Without a home folder it would print the place of its cache on standard error.
    logging.getLogger("matplotlib").setLevel(logging.ERROR)
    from ackclock import plots

    for name, caption, draw in figures:
        if _can_draw(name, by_label):
            page.draw(folder / f"{name}.png", caption, partial(getattr(plots, draw), by_label))
    for sentence in page.undrawn:
        notes.print(f"warning: {sentence}", markup=False, soft_wrap=True)


def _file_name(label: str) -> str:
    """A label as part of a file name: what could lead elsewhere, or be too long, is taken out."""
    return re.sub(r"[^\w .+-]", "_", label).strip(" .")[:60] or "run"


def _can_draw(name: str, by_label: Mapping[str, Sequence[Run]]) -> bool:
    """Whether the series that a figure needs were recorded: a scenario may switch them off."""
    needs = "link_series" if name == "queue" else "flow_series"
    return all(getattr(run, needs).num_rows for repetitions in by_label.values() for run in repetitions[:1])


def _tables(summaries: Sequence[summary.Summary]) -> tuple[Table, Table]:
    marked = summary.marked(summaries)
    shown = [{**s, "label": marked[s["label"]]} for s in summaries]
    return summary.flows_table(shown), summary.links_table(shown)


def _tabulate(page: Page, summaries: Sequence[summary.Summary]) -> None:
    for table in _tables(summaries):
        rows = [[str(cell) for cell in row] for row in zip(*(c.cells for c in table.columns), strict=True)]
        page.table([str(c.header).replace("-\n", "").replace("\n", " ") for c in table.columns], rows)
    jain = [s["fairness"]["jain"] for s in summaries]
    page.paragraph(f"Jain's index of the goodputs: {', '.join(number(j) for j in jain)}.")
    for sentence in summary.invalid_reasons(summaries):
        page.paragraph(f"{sentence}.", "miss")
    if any(s["engine"]["kind"] == "live" for s in summaries):
        page.paragraph(f"Live: {summary.engine_line(summaries)}.".replace("\n", "; "))
