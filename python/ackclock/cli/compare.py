"""``ackclock compare``: each controller alone on the same path."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import typer

from ackclock import _engine
from ackclock.cli import completing, output
from ackclock.cli.choosing import Chosen, on_engine
from ackclock.cli.home import Home, check_no_home
from ackclock.contenders import Contender, contenders
from ackclock.errors import InputError


@on_engine(without=("at_once",))
def compare(
    controllers: output.ControllersArgument,
    rate: Annotated[
        str | None,
        typer.Option(help="Rate of the bottleneck; with --wlan of the wire. Default: 10mbit, 100mbit."),
    ] = None,
    rtt: output.RttOption = "40ms",
    queue: Annotated[
        str | None,
        typer.Option(
            help="Queue limit: 84p, 64kB, 100ms, 1bdp, infinite; or a discipline: codel, fq_codel…; "
            "with --wlan of each station. "
            "Default: 1bdp, 200p.",
            autocompletion=completing.queues,
        ),
    ] = None,
    loss: output.LossOption = "0%",
    flows: output.FlowsOption = 1,
    duration: output.DurationOption = "60s",
    warmup: output.WarmupOption = "0s",
    profile: output.ProfileOption = "linux",
    wlan: Annotated[
        str | None,
        typer.Option(
            metavar="STANDARD",
            help="A call in a home network: 802.11a, 802.11b, 802.11g or 802.11n.",
            autocompletion=completing.wlans,
        ),
    ] = None,
    stations: Annotated[
        int | None, typer.Option(min=1, max=1000, help="Stations beside the phone, with --wlan. Default: 8.")
    ] = None,
    up: Annotated[bool, typer.Option("--up", help="The stations send, with --wlan; the default.")] = False,
    down: Annotated[bool, typer.Option("--down", help="The stations receive, with --wlan.")] = False,
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
    """Compare controllers on one path, or beside a call in a home network.

    Examples: `ackclock compare newreno cubic cdg --loss 1% --repeat 10 --out results`,
    `ackclock compare newreno cubic cdg --wlan 802.11g --stations 8 --up`
    """
    output.check_current_folder()
    compared = contenders(controllers, engine.name)
    names = [one.name for one in compared]
    output.check_share("--loss", loss)
    factories = [one.factory for one in compared if one.factory is not None]
    runner = engine.make(pcap_at=output.place(pcap, pcap_at), **engine.with_python(factories))
    report = output.Report(out, force, csv, as_json, figures, open_report)
    report.check()
    set_keys = output.overrides(settings)
    output.check_arguments("compare", dict(set_keys))
    made: Mapping[str, Mapping[str, Any]]
    if wlan is None:
        check_no_home(stations, up, down)
        path = {"rate": rate or "10mbit", "rtt": rtt, "queue": queue or "1bdp", "loss": loss}
        made = {one.name: {"flows": [one.flow(flows)], "path": path} for one in compared}
        title = f"{', '.join(names)}: {path['rate']}, {rtt}, queue {path['queue']}, loss {loss}"
    else:
        if engine.kind.real_time:
            raise InputError(
                f"--wlan: cannot be combined with {engine.spelled}; the kernel's TCP has no wireless network"
            )
        home = Home(wlan, stations or 8, up or not down, down, rate or "100mbit", rtt, queue or "200p", loss)
        made = _beside_a_call(home, compared, flows)
        title = f"A call beside {', '.join(names)}: {home.words()}"
    common = {"duration": duration, "warmup": warmup, "profile": profile}
    files = _engine.Files()
    plans = {
        name: _engine.resolve_json(json.dumps({"name": name, **document, **common}), set_keys, files)
        for name, document in made.items()
    }
    points = output.points(plans, seed, repeat, pcap)
    output.preflight(list(plans.values()), repeat, runner)
    from ackclock.cli.outcome import Outcome

    outcome = Outcome(title, report, calls=wlan is not None)
    outcome.run(points, runner)


def _beside_a_call(home: Home, compared: Sequence[Contender], flows: int) -> dict[str, dict[str, Any]]:
    """The call alone, and beside the flows of each controller."""
    from ackclock.report.calls import ALONE

    return {ALONE: home.document()} | {one.name: home.document(one.flow(flows)) for one in compared}
