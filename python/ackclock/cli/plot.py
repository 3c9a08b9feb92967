"""``ackclock read DIR…``: several results over each other, with box plots over their repetitions."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ackclock.cli import output
from ackclock.cli.interrupts import Interrupts
from ackclock.cli.output import Report
from ackclock.errors import InputError


def plot(results: Sequence[Path], report: Report) -> None:
    """Lays several results over each other, with box plots and intervals over their repetitions.

    A sweep is read alone.
    """
    from ackclock.sweeps.result import DESCRIPTION

    sweeps = [one for one in results if (one / DESCRIPTION).is_file()]
    if sweeps and len(results) > 1:
        raise InputError(f"{sweeps[0]}: is a sweep, which is read alone")
    if sweeps:
        from ackclock.cli.sweep import read_again

        read_again(sweeps[0], report)
        return
    report.check()
    runs = _labelled(results)
    from ackclock.cli.plotted import Finished, PlotOutcome

    title = " and ".join(str(one) for one in results)
    outcome, done = PlotOutcome(title, report), Finished(runs)
    finish = output.show_early(*outcome.tables(done), as_json=report.as_json)
    if report.as_json:
        output.print_json(outcome.document(done))
    if (out := report.out) is None:
        finish()
        return
    from ackclock.report import new_folder, page_of

    with Interrupts() as interrupts, new_folder(out, report.force) as folder, page_of(folder, title):
        outcome.write_page(done, folder, interrupts)
    report.done(out)
    finish()


def _labelled(results: Sequence[Path]) -> list[tuple[str, Any]]:
    """The runs of the folders, labelled by scenario, and by folder too if there are several."""
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
