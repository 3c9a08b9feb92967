"""``ackclock compare``: controllers on one path, each alone with its like."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

from ackclock import _engine
from ackclock.cli import output
from ackclock.cli.finish import OVER_TIME, PLANE, Ending
from ackclock.cli.output import InputError
from ackclock.jobs import Job
from ackclock.report import check_folder


def compare(
    controllers: Annotated[
        list[str], typer.Argument(metavar="CC…", help="Controllers; `ackclock controllers` lists them.")
    ],
    rate: Annotated[str, typer.Option(help="Rate of the bottleneck.")] = "10mbit",
    rtt: Annotated[str, typer.Option(help="Base RTT, without queueing.")] = "40ms",
    queue: Annotated[str, typer.Option(help="Queue limit: 84p, 64kB, 100ms, 1bdp, infinite.")] = "84p",
    loss: Annotated[str, typer.Option(help="Random loss on the way of the data.")] = "0%",
    flows: Annotated[int, typer.Option(min=1, help="Flows of the controller in each run.")] = 1,
    duration: Annotated[str, typer.Option(help="Length of a run.")] = "60s",
    warmup: Annotated[str, typer.Option(help="Left out of the statistics at the start.")] = "0s",
    profile: Annotated[str, typer.Option(help="The stack of the endpoints: linux, freebsd-9…")] = "linux",
    settings: output.SetOption = None,
    seed: output.SeedOption = 1,
    repeat: output.RepeatOption = 1,
    threads: output.ThreadsOption = None,
    out: output.OutOption = None,
    force: output.ForceOption = False,
    csv: output.CsvOption = False,
    pcap: output.PcapOption = None,
    as_json: output.JsonOption = False,
) -> None:
    """Compare controllers on one path.

    Example: `ackclock compare newreno cubic cdg --loss 1% --repeat 10 --out results`
    """
    if len(set(controllers)) < len(controllers):
        raise InputError(f"{' '.join(controllers)}: a controller is named twice")
    if out is not None:
        check_folder(out, force)
    path = {"rate": rate, "rtt": rtt, "queue": queue, "loss": loss}
    common: dict[str, Any] = {"duration": duration, "warmup": warmup, "profile": profile, "path": path}
    labels, jobs = [], []
    first = 1 if seed is None else seed
    names = [f"{cc}-seed-{first + r}" for cc in controllers for r in range(repeat)]
    files = iter(output.captures(pcap, names))
    for number, cc in enumerate(controllers):
        document = {"name": cc, "flows": [{"cc": cc, "count": flows}]} | common
        resolved = _engine.resolve_json(json.dumps(document), output.overrides(settings))
        if number == 0:
            output.warn(resolved)
        for repetition in range(repeat):
            labels.append(cc)
            jobs.append(Job(resolved, first + repetition, next(files)))
    runs, interrupted = output.run_all(labels, jobs, threads)
    title = f"{', '.join(controllers)}: {rate}, {rtt}, queue {queue}, loss {loss}"
    ending = Ending(title, [*OVER_TIME, PLANE], out, force, csv, as_json)
    ending.finish(runs, interrupted)
