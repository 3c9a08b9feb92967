"""``ackclock kernel``: controllers in this machine's kernel, kernels in virtual time, comparisons."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

import click
from rich.table import Table

from ackclock import _engine, contenders
from ackclock.cli import completing, output
from ackclock.cli.command import Argument, command, group
from ackclock.cli.differential import differential
from ackclock.cli.engine import LIVE
from ackclock.cli.interrupts import Interrupts
from ackclock.cli.options import JSON
from ackclock.cli.parity import parity
from ackclock.cli.uml import build, built
from ackclock.engines import registry

NAME = Argument(
    "name", metavar="NAME", help="ack_cdg as `ackclock kernel list` has it, or cdg, which loaded it."
)


def _settings(*, required: bool) -> Argument:
    metavar = "KEY=VALUE…" if required else "[KEY=VALUE…]"
    return Argument("settings", nargs=-1, required=required, metavar=metavar, help="Parameters.")


@command(
    Argument(
        "controller",
        metavar="NAME",
        help=f"{', '.join(completing.IN_KERNEL)}, or a source FILE.bpf.c.",
        completes=completing.in_kernel,
    ),
    _settings(required=False),
)
def load(controller: str, settings: Sequence[str]) -> None:
    """Load a controller. It stays until it is unloaded or the machine restarts.

    Prints its name for the socket option TCP_CONGESTION. Example: `ackclock kernel load cdg beta_d=0.8`
    """
    registry.find(LIVE)
    parameters = json.dumps(_parameters(settings))
    with Interrupts() as interrupts:
        name = _engine.kernel_load(controller, parameters)
        if interrupts.asked:
            _engine.kernel_unload(name)
            raise click.Abort
    output.show(name, as_json=False)
    base = re.compile(re.escape(re.sub(r"_\d+$", "", name)) + r"(_\d+)?")
    others = [
        one["name"] for one in _engine.kernel_list() if one["name"] != name and base.fullmatch(one["name"])
    ]
    if others:
        output.say(
            f"note: {' and '.join(others)} {'is' if len(others) == 1 else 'are'} loaded as well; "
            f"`ackclock kernel unload {controller}` removes all"
        )


@command(NAME)
def unload(name: str) -> None:
    """Unload a controller, or all that `cdg` loaded. Connections keep theirs until they are closed."""
    registry.find(LIVE)
    _engine.kernel_unload(name)


@command(JSON)
def list_(as_json: bool) -> None:
    """List the controllers that ackclock has loaded into the kernel, with their parameters."""
    registry.find(LIVE)
    loaded = _engine.kernel_list()
    if as_json:
        output.print_json({"controllers": loaded})
        return
    table = Table("name", "parameters")
    for one in loaded:
        shown = ", ".join(f"{key}={json.dumps(value)}" for key, value in one["parameters"].items())
        table.add_row(one["name"], shown or "-")
    output.show(table if loaded else "No controller is loaded.", as_json=False)


@command(NAME, _settings(required=True))
def set_(name: str, settings: Sequence[str]) -> None:
    """Set parameters of a controller, all or none, for open connections and new ones.

    Example: `ackclock kernel set cdg beta_d=0.8`
    """
    registry.find(LIVE)
    _engine.kernel_set(name, json.dumps(_parameters(settings)))


def _parameters(settings: Sequence[str]) -> dict[str, Any]:
    return contenders.values(settings, "beta_d=0.8")


kernel = group(
    "kernel",
    "Load controllers into Linux, build one in virtual time, and compare the simulator with it.",
    load,
    unload,
    list_,
    set_,
    build,
    built,
    parity,
    differential,
)
