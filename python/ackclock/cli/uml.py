"""``ackclock kernel build`` and ``built``: Linux as a program in virtual time, for ``--engine uml``."""

from __future__ import annotations

import os
from pathlib import Path

from rich.table import Table

from ackclock.cli import output
from ackclock.cli.command import FILE, Argument, Number, Option, command, flag
from ackclock.cli.options import JSON
from ackclock.uml import kernels


@command(
    Argument(
        "source",
        required=False,
        type=FILE,
        metavar="[SOURCE]",
        help="A tree of the sources of Linux, or an archive of one. Default: the newest in /usr/src.",
    ),
    flag("--oldest", help="Take the oldest in /usr/src."),
    Option("--jobs", type=Number(1, 1024), help="Compilers at the same time; default: one a core."),
)
def build(source: Path | None, oldest: bool, jobs: int | None) -> None:
    """Build a kernel from sources on this machine, into your cache. It takes about 5 minutes on two cores.

    Needs no root. The package `linux-source` of Debian has sources.
    Example: `ackclock kernel build /usr/src/linux-source-6.1.tar.xz`
    """
    from ackclock.uml import build as building
    from ackclock.uml import sources

    found = sources.find(source, oldest)
    with output.progress(f"build {found.name}") as at:
        kernel = building.build(found, jobs or len(os.sched_getaffinity(0)), at)
    output.show(f"Linux {kernel.release}: {kernel.program}", as_json=False)


@command(JSON)
def built(as_json: bool) -> None:
    """List the kernels that are built, the one that `--engine uml` takes last."""
    known = kernels.built()
    if as_json:
        output.print_json({"kernels": [one.as_json() for one in known]})
        return
    table = Table("Linux", "controllers", "queue disciplines", "program")
    for one in known:
        table.add_row(one.release, ", ".join(one.controllers), ", ".join(one.disciplines), str(one.program))
    output.show(table if known else f"No kernel is built; `{kernels.BUILD}` builds one.", as_json=False)
