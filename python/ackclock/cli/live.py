"""``ackclock live``: one scenario on this machine's own TCP."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ackclock.cli import output
from ackclock.cli.choosing import LIVE, Chosen, on_engine
from ackclock.cli.run import run_scenario
from ackclock.cli.trust import TrustOption


@on_engine(default=LIVE, without=("at_once", "threads", "cores"))
def live(
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
) -> None:
    """Run one scenario on the kernel's TCP, in real time.

    Example: `ackclock live examples/quickstart.toml --set duration=20s --out results`
    """
    report = output.Report(out, force, csv, as_json, figures, open_report)
    runner = engine.make(pcap_at=output.place(pcap, pcap_at))
    run_scenario(file, {engine.name: runner}, settings, seed, repeat, report, pcap, trusted)
