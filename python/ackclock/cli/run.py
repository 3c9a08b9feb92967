"""``ackclock run``: one scenario."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from ackclock import _engine
from ackclock.cli import output, titles, trust
from ackclock.cli.choosing import Chosen, on_engine
from ackclock.cli.trust import TrustOption
from ackclock.engines import Engine, registry
from ackclock.engines.by_plan import ByPlan
from ackclock.errors import InputError

STANDARD_INPUT = Path("-")

SIMULATED = "simulated"
"""The label of the simulator beside another engine."""


@on_engine(beside=True, without=("at_once",))
def run(
    file: Annotated[Path, typer.Argument(metavar="FILE.toml", help="The scenario; `-` is standard input.")],
    settings: output.SetOption = None,
    seed: output.SeedOption = None,
    repeat: output.RepeatOption = 1,
    out: output.OutOption = None,
    figures: output.FiguresOption = "",
    open_report: output.OpenOption = False,
    force: output.ForceOption = False,
    csv: output.CsvOption = False,
    pcap: output.PcapOption = None,
    pcap_at: output.PcapAtOption = None,
    trusted: TrustOption = False,
    as_json: output.JsonOption = False,
    *,
    engine: Chosen,
    beside: Chosen | None,
) -> None:
    """Run one scenario; with `--beside live` in real time on the kernel's TCP too.

    Example: `ackclock run examples/quickstart.toml --set path.queue=1bdp --repeat 5 --out results`
    """
    report = output.Report(out, force, csv, as_json, figures, open_report)
    place = output.place(pcap, pcap_at)
    chosen = [one for one in (engine, beside) if one is not None]
    engines = {SIMULATED if one.name == registry.DEFAULT else one.name: one for one in chosen}
    if len(engines) < len(chosen):
        raise InputError(f"--beside {chosen[1].name}: is the engine that runs it already")
    runners = {label: one.make(pcap_at=place) for label, one in engines.items()}
    run_scenario(file, runners, settings, seed, repeat, report, pcap, trusted)


def run_scenario(
    file: Path,
    engines: Mapping[str, Engine],
    settings: list[str] | None,
    seed: int | None,
    repeat: int,
    report: output.Report,
    pcap: Path | None = None,
    trusted: bool = False,
) -> None:
    """Runs the scenario of a file with an engine, or with several under a name for each; ends the command."""
    report.check()
    text, files = _read(file), _engine.Files()
    given = output.overrides(settings)
    plan = _engine.resolve(text, str(file), given, files)
    trust.check(file, plan, (value for _, value in given), trusted)
    title = str(plan.name or file.stem)
    if not title.isprintable() or not title.strip():
        raise InputError(f"{file}: name = {title!a}: must be text that can be printed, and not blank")
    plans, engine = {title: plan}, next(iter(engines.values()))
    if len(engines) > 1:
        # Each under a name of its own.
        named = {label: ("name", json.dumps(f"{title}, {label}")) for label in engines}
        plans = {
            label: _engine.resolve(text, str(file), [*given, name], files) for label, name in named.items()
        }
        title = f"{title}: {' and '.join(engines)}"
        engine = ByPlan({plans[label]: one for label, one in engines.items()})
    points = output.points(plans, seed, repeat, pcap)
    output.preflight(list(plans.values()), repeat, engine)
    from ackclock.cli.outcome import Outcome

    Outcome(titles.with_settings(title, given), report).run(points, engine)


def _read(file: Path) -> str:
    try:
        if file == STANDARD_INPUT:
            return sys.stdin.read()
        return file.read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(f"{file}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{file}: is not UTF-8 text (byte {error.start} is the first that is not)") from None
