"""``ackclock live``: one scenario on this machine's own TCP."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ackclock.cli import output
from ackclock.cli.run import run_scenario
from ackclock.engines.live import Live, check_built_in


def live(
    file: Annotated[Path, typer.Argument(metavar="FILE.toml", help="The scenario; `-` is standard input.")],
    settings: output.SetOption = None,
    seed: output.SeedOption = None,
    repeat: output.RepeatOption = 1,
    retries: output.RetriesOption = 0,
    gso_max_segs: output.GsoOption = None,
    out: output.OutOption = None,
    figures: output.FiguresOption = "",
    open_report: output.OpenOption = False,
    force: output.ForceOption = False,
    csv: output.CsvOption = False,
    pcap: output.PcapOption = None,
    pcap_at: output.PcapAtOption = None,
    as_json: output.JsonOption = False,
) -> None:
    """Run one scenario on the kernel's TCP, in real time.

    Example: `ackclock live examples/quickstart.toml --set duration=20s --out results`
    """
    check_built_in()
    engine = Live(retries, gso_max_segs=gso_max_segs, pcap_at=output.place(pcap, pcap_at))
    report = output.Report(out, force, csv, as_json, figures, open_report)
    run_scenario(file, engine, settings, seed, repeat, report, pcap)
