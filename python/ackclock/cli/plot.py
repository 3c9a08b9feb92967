"""``ackclock plot``: several results over each other, with box plots over their repetitions."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from ackclock.cli import output
from ackclock.cli.interrupts import Interrupts
from ackclock.errors import InputError


def plot(
    results: Annotated[
        list[Path], typer.Argument(metavar="DIR…", help="Folders that run, compare or live wrote.")
    ],
    out: output.OutOption = None,
    figures: output.FiguresOption = "",
    open_report: output.OpenOption = False,
    force: output.ForceOption = False,
    as_json: output.JsonOption = False,
) -> None:
    """Lay several results over each other, with box plots and intervals over their repetitions.

    Example: `ackclock plot results/fifo results/codel --out results/both`
    """
    report = output.Report(out, force, False, as_json, figures, open_report)
    report.check()
    runs = _labelled(results)
    from ackclock.cli.plotted import Finished, PlotOutcome

    title = " and ".join(str(one) for one in results)
    outcome, done = PlotOutcome(title, report), Finished(runs)
    output.show(*outcome.tables(done), as_json=as_json)
    if as_json:
        output.print_json(outcome.document(done))
    for sentence in outcome.warnings(done):
        output.notes.print(f"note: {sentence}", markup=False, soft_wrap=True)
    if out is None:
        return
    from ackclock.report import new_folder, page_of

    with Interrupts() as interrupts, new_folder(out, force) as folder, page_of(folder, title):
        outcome.write_page(runs, folder, interrupts)
    output.notes.print(f"report: {out / 'index.html'}", markup=False, soft_wrap=True)
    if open_report:
        typer.launch(str((out / "index.html").absolute()))


def _labelled(results: Sequence[Path]) -> list[tuple[str, Any]]:
    """The runs of the folders, labelled by their scenarios; of several folders by these as well."""
    from ackclock.result import Runs

    if len(set(map(str, results))) < len(results):
        raise InputError(f"{' '.join(map(str, results))}: a folder is named twice")
    names = [one.resolve().name for one in results]
    found = []
    for folder, name in zip(results, names, strict=True):
        place = name if names.count(name) == 1 else str(folder)
        for run in Runs.load(folder):
            scenario = str(run.scenario["name"])
            found.append((f"{place}: {scenario}" if len(results) > 1 else scenario, run))
    return found
