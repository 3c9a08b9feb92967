"""``ackclock kernel``: controllers in this machine's kernel, for any application."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Annotated, Any

import typer
from rich.table import Table

from ackclock import _engine, contenders
from ackclock.cli import completing, output
from ackclock.cli.choosing import LIVE
from ackclock.cli.interrupts import Interrupts
from ackclock.engines import registry

app = typer.Typer(
    name="kernel",
    help="Load controllers into this machine's kernel, for any application.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
)

NameArgument = Annotated[
    str, typer.Argument(help="ack_cdg as `ackclock kernel list` has it, or cdg, which loaded it.")
]
SettingsArgument = Annotated[list[str], typer.Argument(metavar="KEY=VALUE…", help="Parameters.")]


@app.command()
def load(
    controller: Annotated[
        str,
        typer.Argument(
            metavar="NAME",
            help=f"{', '.join(completing.IN_KERNEL)}, or a source FILE.bpf.c.",
            autocompletion=completing.in_kernel,
        ),
    ],
    settings: Annotated[list[str] | None, typer.Argument(metavar="[KEY=VALUE…]", help="Parameters.")] = None,
) -> None:
    """Load a controller; it stays until it is unloaded or the machine restarts.

    Prints its name for the socket option TCP_CONGESTION. Example: `ackclock kernel load cdg beta_d=0.8`
    """
    registry.find(LIVE)
    parameters = json.dumps(_parameters(settings or []))
    with Interrupts() as interrupts:
        name = _engine.kernel_load(controller, parameters)
        if interrupts.asked:
            _engine.kernel_unload(name)
            raise typer.Abort
    output.show(name, as_json=False)


@app.command()
def unload(name: NameArgument) -> None:
    """Unload a controller; connections that use it keep it until they are closed."""
    registry.find(LIVE)
    _engine.kernel_unload(name)


@app.command("list")
def list_(as_json: output.JsonOption = False) -> None:
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


@app.command("set")
def set_(name: NameArgument, settings: SettingsArgument) -> None:
    """Set parameters of a controller, all or none, for open connections and new ones.

    Example: `ackclock kernel set cdg beta_d=0.8`
    """
    registry.find(LIVE)
    _engine.kernel_set(name, json.dumps(_parameters(settings)))


def _parameters(settings: Sequence[str]) -> dict[str, Any]:
    return contenders.values(settings, "beta_d=0.8")
