"""``ackclock uml``: Linux as a program in virtual time, for ``--engine uml``."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from ackclock.cli import output
from ackclock.uml import kernels

app = typer.Typer(
    name="uml",
    help="Build Linux as a program in virtual time, for `--engine uml`.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
)


@app.command()
def build(
    source: Annotated[
        Path | None,
        typer.Argument(
            metavar="[SOURCE]",
            help="A tree of the sources of Linux, or an archive of one. Default: the newest in /usr/src.",
        ),
    ] = None,
    oldest: Annotated[bool, typer.Option("--oldest", help="Take the oldest in /usr/src.")] = False,
    jobs: Annotated[
        int | None, typer.Option(min=1, max=1024, help="Compilers at the same time; default: one a core.")
    ] = None,
) -> None:
    """Build a kernel from sources that this machine has, into your cache; about 5 minutes on two cores.

    Needs no root. The package `linux-source` of Debian has sources.
    Example: `ackclock uml build /usr/src/linux-source-6.1.tar.xz`
    """
    from ackclock.uml import build as building
    from ackclock.uml import sources

    found = sources.find(source, oldest)
    with output.progress(f"build {found.name}") as at:
        kernel = building.build(found, jobs or len(os.sched_getaffinity(0)), at)
    output.show(f"Linux {kernel.release}: {kernel.program}", as_json=False)


@app.command("list")
def list_(as_json: output.JsonOption = False) -> None:
    """List the kernels that are built, the one that `--engine uml` takes last."""
    known = kernels.built()
    if as_json:
        output.print_json({"kernels": [one.as_json() for one in known]})
        return
    table = Table("Linux", "controllers", "queue disciplines", "program")
    for one in known:
        table.add_row(one.release, ", ".join(one.controllers), ", ".join(one.disciplines), str(one.program))
    output.show(table if known else f"No kernel is built; `{kernels.BUILD}` builds one.", as_json=False)
