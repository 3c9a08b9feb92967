"""``ackclock run``: one scenario."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from ackclock import _engine, reading, trust
from ackclock.cli import output, titles
from ackclock.cli.command import FILE, Argument, command
from ackclock.cli.engine import BESIDE, Chosen, engine_options
from ackclock.cli.options import EVERYTHING, PCAP, REPEATS, TRUST, Repeats, report_options
from ackclock.cli.output import Capture, Report
from ackclock.engines import Engine, registry
from ackclock.engines.by_plan import ByPlan
from ackclock.errors import InputError

STANDARD_INPUT = Path("-")

SIMULATED = "simulated"
"""The label of the simulator beside another engine."""


@command(
    Argument("file", type=FILE, metavar="FILE.toml", help="The scenario; `-` is standard input."),
    REPEATS,
    TRUST,
    engine_options(),
    BESIDE,
    report_options(*EVERYTHING),
    PCAP,
)
def run(
    file: Path,
    repeats: Repeats,
    trusted: bool,
    engine: Chosen,
    beside: Chosen | None,
    report: Report,
    pcap: Capture | None,
) -> None:
    """Run one scenario, with `--beside live` also in real time on the kernel's TCP.

    Example: `ackclock run examples/quickstart.toml --set path.queue=1bdp --repeat 5 --out results`
    """
    runners = {
        label: one.make(pcap_at=output.point_of(pcap)) for label, one in _labelled(engine, beside).items()
    }
    report.check()
    text = _read(file)
    files = trust.all_named() if trusted else trust.named(settings=repeats.settings, beside=file.parent)
    plan = _engine.resolve(text, str(file), repeats.settings, files)
    title = str(plan.name or file.stem)
    if not title.isprintable() or not title.strip():
        raise InputError(f"{file}: name = {title!a}: must be text that can be printed, and not blank")
    plans: dict[str, _engine.Plan] = {title: plan}
    runner: Engine = next(iter(runners.values()))
    if len(runners) > 1:
        # Each under a name of its own.
        named = {label: ("name", json.dumps(f"{title}, {label}")) for label in runners}
        plans = {
            label: _engine.resolve(text, str(file), [*repeats.settings, name], files)
            for label, name in named.items()
        }
        title = f"{title}: {' and '.join(runners)}"
        runner = ByPlan({plans[label]: one for label, one in runners.items()})
    points = output.points(plans, repeats.seed, repeats.repeat, pcap)
    output.preflight(list(plans.values()), repeats.repeat, runner)
    from ackclock.cli.outcome import Outcome

    Outcome(titles.with_settings(title, repeats.settings), report).run(points, runner)


def _labelled(engine: Chosen, beside: Chosen | None) -> dict[str, Chosen]:
    """The engines by their names, or two of one name with their options."""
    if beside is None or beside.name != engine.name:
        chosen = [engine] if beside is None else [engine, beside]
        return {SIMULATED if one.name == registry.DEFAULT else one.name: one for one in chosen}
    if beside.text == engine.text:
        raise InputError(f"--beside {beside.text}: is the engine that runs it already")
    return {one.text: one for one in (engine, beside)}


def _read(file: Path) -> str:
    try:
        if file == STANDARD_INPUT:
            given = sys.stdin.read(reading.MOST_OF_DOCUMENT + 1)
            if len(given) > reading.MOST_OF_DOCUMENT:
                raise InputError(f"{file}: cannot be read: {reading.too_long(reading.MOST_OF_DOCUMENT)}")
            return given
        return reading.text(file)
    except OSError as error:
        if str(file) in {one["name"] for one in _engine.controllers()}:
            raise InputError(
                f"{file}: is a controller; `ackclock compare {file}` runs it on a path"
            ) from None
        raise InputError(f"{file}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{file}: is not UTF-8 text (byte {error.start} is the first that is not)") from None
