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
from ackclock.report import check_folder


def run(
    file: Annotated[Path, typer.Argument(metavar="FILE.toml", help="The scenario.")],
    settings: output.SetOption = None,
    seed: output.SeedOption = None,
    repeat: output.RepeatOption = 1,
    threads: output.ThreadsOption = None,
    out: output.OutOption = None,
    force: output.ForceOption = False,
    csv: output.CsvOption = False,
    pcap: output.PcapOption = None,
    as_json: output.JsonOption = False,
) -> None:
    """Run one scenario.

    Example: `ackclock run examples/quickstart.toml --set path.queue=1bdp --repeat 5 --out results`
    """
    run_scenario(
        file,
        Simulator(threads),
        settings,
        seed,
        repeat,
        pcap=pcap,
        out=out,
        force=force,
        csv=csv,
        as_json=as_json,
    )


def run_scenario(
    file: Path,
    engine: Engine,
    settings: list[str] | None,
    seed: int | None,
    repeat: int,
    *,
    pcap: Path | None = None,
    out: Path | None,
    force: bool,
    csv: bool,
    as_json: bool,
) -> None:
    """Runs the scenario of a file with an engine, and ends the command."""
    output.check_csv(csv, out)
    if out is not None:
        check_folder(out, force)
    resolved = _engine.resolve(
        _read(file), str(file), output.overrides(settings), any_controller=engine.any_controller
    )
    label = str(json.loads(resolved).get("name") or file.stem)
    points = output.points({label: resolved}, seed, repeat, pcap)
    output.preflight([resolved], repeat, engine)
    from ackclock.cli.outcome import OVER_TIME, Outcome

    Outcome(label, OVER_TIME, out, force, csv, as_json).run(points, engine)


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(f"{file}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{file}: is not UTF-8 text (byte {error.start} is the first that is not)") from None
