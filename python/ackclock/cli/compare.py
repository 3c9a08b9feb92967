"""``ackclock compare``: each controller alone on the same path."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ackclock import _engine
from ackclock.cli import completing, output, titles
from ackclock.cli.choosing import Chosen, on_engine
from ackclock.cli.home import SHOWN, Home, check_no_home
from ackclock.cli.paths import TcOption, TraceOption, path_of
from ackclock.contenders import Contender, contenders
from ackclock.errors import InputError

if TYPE_CHECKING:
    from ackclock.cli.outcome import Outcome

OF_A_PATH = ("rate", "rtt", "queue", "loss", "trace", "lines", "flows", "wlan")
"""The options of a path or home, which named networks have themselves."""


@on_engine(without=("at_once",))
def compare(
    context: typer.Context,
    controllers: output.ControllersArgument,
    networks: Annotated[
        str | None,
        typer.Option(
            metavar="NAME,…",
            help="Each controller alone on each of these networks, in one figure: home, cable, fq_codel, "
            "wifi, policer, lte, satellite, or files of scenarios.",
            autocompletion=completing.named_networks,
        ),
    ] = None,
    rate: Annotated[
        str | None,
        typer.Option(help="Rate of the bottleneck; with --wlan of the wire. Default: 10mbit, 1gbit."),
    ] = None,
    rtt: output.RttOption = "40ms",
    queue: Annotated[
        str | None,
        typer.Option(
            help="Queue limit: 84p, 64kB, 100ms, 1bdp, infinite; or a discipline: codel, fq_codel…; "
            "with --wlan of the radio: of the access point and each station. "
            "Default: 1bdp, 200p.",
            autocompletion=completing.queues,
        ),
    ] = None,
    router: Annotated[
        str | None,
        typer.Option(
            help="Queue of the router towards the wire, and of the wire towards it, with --wlan: "
            "cake, fq_codel, fifo:100ms… Default: 1000p.",
            autocompletion=completing.queues,
        ),
    ] = None,
    loss: output.LossOption = "0%",
    trace: TraceOption = None,
    lines: TcOption = None,
    flows: output.FlowsOption = 1,
    duration: output.DurationOption = "60s",
    warmup: output.WarmupOption = "0s",
    profile: output.ProfileOption = "linux",
    wlan: Annotated[
        str | None,
        typer.Option(
            metavar="STANDARD",
            help="A call in a home network: 802.11a, b, g, n, ac or ax, as 802.11ac.",
            autocompletion=completing.wlans,
        ),
    ] = None,
    stations: Annotated[
        int | None, typer.Option(min=1, max=1000, help="Stations beside the phone, with --wlan. Default: 8.")
    ] = None,
    up: Annotated[bool, typer.Option("--up", help="The stations send, with --wlan; the default.")] = False,
    down: Annotated[bool, typer.Option("--down", help="The stations receive, with --wlan.")] = False,
    airtime_fairness: Annotated[
        bool,
        typer.Option(
            "--airtime-fairness", help="The access point serves its stations in turn by airtime, with --wlan."
        ),
    ] = False,
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
    as_json: output.JsonOption = False,
    *,
    engine: Chosen,
) -> None:
    """Compare controllers on one path, on several networks, or beside a call in a home network.

    Examples: `ackclock compare newreno cubic cdg --loss 1% --repeat 10 --out results`,
    `ackclock compare cubic bbr1 cdg --networks home,wifi,lte --out networks`,
    `ackclock compare newreno cubic cdg --wlan 802.11g --stations 8 --up`
    """
    output.check_current_folder()
    compared = contenders(controllers, engine.name)
    output.check_share("--loss", loss)
    factories = [one.factory for one in compared if one.factory is not None]
    runner = engine.make(pcap_at=output.place(pcap, pcap_at), **engine.with_python(factories))
    report = output.Report(out, force, csv, as_json, figures, open_report)
    report.check()
    settings_given = output.overrides(settings)
    output.check_arguments("compare", dict(settings_given))
    common = {"duration": duration, "warmup": warmup, "profile": profile}
    asked = _Asked(compared, common, settings_given, report)
    if wlan is None:
        check_no_home(stations, router, up=up, down=down, airtime_fairness=airtime_fairness)
    if networks is not None:
        given = [one for one in OF_A_PATH if output.on_command_line(context, one)]
        plans, outcome = _on_networks(asked, networks, given)
    elif wlan is None:
        path = {"rate": rate or "10mbit", "rtt": rtt, "queue": queue or "1bdp", "loss": loss}
        path = path_of(path, output.named(context, path), trace, lines)
        plans, outcome = _on_a_path(asked, path, flows)
    else:
        if engine.kind.real_time:
            raise InputError(
                f"--wlan: cannot be combined with {engine.spelled}; the kernel's TCP has no wireless network"
            )
        if trace is not None or lines is not None:
            option = "--tc" if trace is None else "--trace"
            raise InputError(f"{option}: describes a path, and --wlan is a network of its own")
        queues = queue or "200p", router or "1000p"
        wire = rate or "1gbit", rtt, *queues, loss
        home = Home(wlan, stations or 8, up or not down, down, *wire, airtime_fairness)
        plans, outcome = _beside_a_call(asked, home, flows)
    points = output.points(plans, seed, repeat, pcap)
    output.preflight(list(plans.values()), repeat, runner)
    outcome().run(points, runner)


@dataclass(frozen=True)
class _Asked:
    """The parts of a command line that all kinds of comparison share."""

    compared: Sequence[Contender]
    common: Mapping[str, Any]
    settings: Sequence[tuple[str, str]]
    report: output.Report

    @property
    def names(self) -> str:
        """The controllers in words."""
        return ", ".join(one.name for one in self.compared)

    def plans(self, made: Mapping[str, Mapping[str, Any]]) -> dict[str, _engine.Plan]:
        """The plans of scenarios by label."""
        files = _engine.Files()
        return {
            name: _engine.resolve_json(
                json.dumps({"name": name, **document, **self.common}), self.settings, files
            )
            for name, document in made.items()
        }

    def title(self, words: str, flows: int, shown: Sequence[str] = ()) -> str:
        """A title with what all comparisons may set; the words tell the keys ``shown``."""
        each = f"; {flows} flows each" if flows > 1 else ""
        length = titles.as_set({"duration": self.common["duration"]}, self.settings)[0]
        return titles.with_settings(f"{words}{each}; {length}", self.settings, [*shown, "duration"])


Comparison = tuple[Mapping[str, _engine.Plan], "Callable[[], Outcome]"]
"""The plans by label, and the end of the command; its module is imported only when nothing is refused."""


def _on_a_path(asked: _Asked, path: Mapping[str, Any], flows: int) -> Comparison:
    """Each controller alone on the same path."""
    plans = asked.plans({one.name: {"flows": [one.flow(flows)], "path": path} for one in asked.compared})
    words, shown = titles.of_path(path, asked.settings)
    title = asked.title(f"{asked.names}: {words}", flows, shown)

    def outcome() -> Outcome:
        from ackclock.cli.outcome import Outcome

        return Outcome(title, asked.report)

    return plans, outcome


def _beside_a_call(asked: _Asked, home: Home, flows: int) -> Comparison:
    """The call alone, and beside the flows of each controller."""
    from ackclock.report.calls import ALONE

    made = {ALONE: home.document()} | {one.name: home.document(one.flow(flows)) for one in asked.compared}
    plans = asked.plans(made)
    words = f"A call beside {asked.names}: {home.words(asked.settings)}"
    title = asked.title(words, flows, SHOWN)

    def outcome() -> Outcome:
        from ackclock.cli.outcome import CallOutcome

        return CallOutcome(title, asked.report)

    return plans, outcome


def _on_networks(asked: _Asked, names: str, given: Sequence[str]) -> Comparison:
    """Each controller alone on each network."""
    if given:
        option = given[0].replace("lines", "tc")
        raise InputError(f"--{option}: is of the path, and --networks names others")
    from ackclock import networks
    from ackclock.cli import networks as comparison

    named = networks.networks(names)
    plans = comparison.plans(named, asked.compared, asked.common, asked.settings)
    title = asked.title(f"{asked.names} on {', '.join(one.name for one in named)}", 1)

    def outcome() -> Outcome:
        return comparison.NetworksOutcome(title, asked.report, named, asked.compared)

    return plans, outcome
