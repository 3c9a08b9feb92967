"""``ackclock run``: one scenario."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from ackclock import _engine
from ackclock.cli import output
from ackclock.engines import Engine
from ackclock.engines.simulator import Simulator
from ackclock.errors import InputError


def run(
    file: Annotated[Path, typer.Argument(metavar="FILE.toml", help="The scenario.")],
    settings: output.SetOption = None,
    seed: output.SeedOption = None,
    repeat: output.RepeatOption = 1,
    threads: output.ThreadsOption = None,
    out: output.OutOption = None,
    figures: output.FiguresOption = "",
    open_report: output.OpenOption = False,
    force: output.ForceOption = False,
    csv: output.CsvOption = False,
    pcap: output.PcapOption = None,
    as_json: output.JsonOption = False,
) -> None:
    """Run one scenario.

    Example: `ackclock run examples/quickstart.toml --set path.queue=1bdp --repeat 5 --out results`
    """
    report = output.Report(out, force, csv, as_json, figures, open_report)
    run_scenario(file, Simulator(threads), settings, seed, repeat, report, pcap)


def run_scenario(
    file: Path,
    engine: Engine,
    settings: list[str] | None,
    seed: int | None,
    repeat: int,
    report: output.Report,
    pcap: Path | None = None,
) -> None:
    """Runs the scenario of a file with an engine, and ends the command."""
    report.check()
    resolved = _engine.resolve(
        _read(file), str(file), output.overrides(settings), any_controller=engine.any_controller
    )
    label = str(json.loads(resolved).get("name") or file.stem)
    points = output.points({label: resolved}, seed, repeat, pcap)
    output.preflight([resolved], repeat, engine)
    from ackclock.cli.outcome import Outcome

    Outcome(label, report).run(points, engine)


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(f"{file}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{file}: is not UTF-8 text (byte {error.start} is the first that is not)") from None
