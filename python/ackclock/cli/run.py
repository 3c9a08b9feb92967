"""``ackclock run``: one scenario."""

from __future__ import annotations

import json
import sys
import tomllib
from pathlib import Path
from typing import Annotated, Literal

import typer

from ackclock import _engine
from ackclock.cli import output
from ackclock.engines import Engine
from ackclock.engines.beside import Beside
from ackclock.engines.live import Live, check_built_in
from ackclock.engines.simulator import Simulator
from ackclock.errors import InputError

STANDARD_INPUT = Path("-")


def run(
    file: Annotated[Path, typer.Argument(metavar="FILE.toml", help="The scenario; `-` is standard input.")],
    settings: output.SetOption = None,
    seed: output.SeedOption = None,
    repeat: output.RepeatOption = 1,
    threads: output.ThreadsOption = None,
    beside: Annotated[
        Literal["live"] | None, typer.Option(help="Run on the kernel's TCP too, and report both.")
    ] = None,
    retries: output.RetriesOption = 0,
    out: output.OutOption = None,
    figures: output.FiguresOption = "",
    open_report: output.OpenOption = False,
    force: output.ForceOption = False,
    csv: output.CsvOption = False,
    pcap: output.PcapOption = None,
    pcap_at: output.PcapAtOption = None,
    as_json: output.JsonOption = False,
) -> None:
    """Run one scenario; with `--beside live` in real time on the kernel's TCP too.

    Example: `ackclock run examples/quickstart.toml --set path.queue=1bdp --repeat 5 --out results`
    """
    report = output.Report(out, force, csv, as_json, figures, open_report)
    simulator = Simulator(threads, pcap_at=output.place(pcap, pcap_at))
    if beside is None:
        if retries:
            raise InputError("--retries: only live runs are repeated, with --beside live")
        return run_scenario(file, simulator, settings, seed, repeat, report, pcap)
    check_built_in()
    engine = Live(retries, pcap_at=simulator.pcap_at)
    run_beside(file, simulator, engine, settings, seed, repeat, report, pcap)
    return None


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
    text = _read(file)
    resolved = _engine.resolve(
        text, str(file), output.overrides(settings), any_controller=engine.any_controller
    )
    for sentence in _bare_shares(text):
        output.notes.print(f"note: {sentence}", markup=False, soft_wrap=True)
    label = str(json.loads(resolved).get("name") or file.stem)
    if not label.isprintable() or not label.strip():
        raise InputError(f"{file}: name = {label!a}: must be text that can be printed, and not blank")
    points = output.points({label: resolved}, seed, repeat, pcap)
    output.preflight([resolved], repeat, engine)
    from ackclock.cli.outcome import Outcome

    Outcome(label, report).run(points, engine)


def _bare_shares(text: str) -> list[str]:
    """What bare numbers of losses in a scenario mean, a sentence each: 1 is all packets, not one percent."""
    document = tomllib.loads(text.removeprefix("\ufeff"))
    paths = [("path", document.get("path", {}))]
    paths += [(f"links.{number}", link) for number, link in enumerate(document.get("links", ()))]
    return [
        f'{name}.loss = {loss:g} is a share: {loss * 100:g} % of the packets; `"{loss * 100:g}%"` says so'
        for name, path in paths
        if isinstance(loss := path.get("loss"), int | float) and loss > 0
    ]


def run_beside(
    file: Path,
    simulator: Engine,
    live: Engine,
    settings: list[str] | None,
    seed: int | None,
    repeat: int,
    report: output.Report,
    pcap: Path | None,
) -> None:
    """Runs the scenario of a file simulated and live, each under a name of its own, and ends the command."""
    report.check()
    text = _read(file)
    given = output.overrides(settings)
    resolved = _engine.resolve(text, str(file), given)
    for sentence in _bare_shares(text):
        output.notes.print(f"note: {sentence}", markup=False, soft_wrap=True)
    title = str(json.loads(resolved).get("name") or file.stem)
    scenarios = {}
    for label in ("simulated", "live"):
        named = [*given, ("name", json.dumps(f"{title}, {label}"))]
        scenarios[label] = _engine.resolve(text, str(file), named)
    engine = Beside({scenarios["simulated"]: simulator, scenarios["live"]: live})
    points = output.points(scenarios, seed, repeat, pcap)
    output.preflight(list(scenarios.values()), repeat, engine)
    from ackclock.cli.outcome import Outcome

    Outcome(f"{title}: simulated and live", report).run(points, engine)


def _read(file: Path) -> str:
    try:
        if file == STANDARD_INPUT:
            return sys.stdin.read()
        return file.read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(f"{file}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{file}: is not UTF-8 text (byte {error.start} is the first that is not)") from None
