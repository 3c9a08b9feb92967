"""The application: its commands, and how it ends.

Exit status: 0 done, 1 a claim or check failed, 2 bad input (one sentence on standard error), 130 interrupted.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from ackclock import _engine
from ackclock._engine import ScenarioError
from ackclock.cli import bench, compare, controllers, reproduce, run
from ackclock.cli.output import INTERRUPTED, InputError
from ackclock.metrics import MetricError
from ackclock.papers import CatalogueError
from ackclock.report import FolderError
from ackclock.result import ResultError

BAD_INPUT = 2

UsageError: Any = typer.BadParameter.__base__
"""What Typer raises for a mistake on the command line: Click's class, or its own copy of it."""

app = typer.Typer(
    name="ackclock",
    help="A congestion-control laboratory: paths and flows, run packet by packet in simulated time.",
    invoke_without_command=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("run")(run.run)
app.command("compare")(compare.compare)
app.command("reproduce")(reproduce.reproduce)
app.command("controllers")(controllers.controllers)
app.command("bench")(bench.bench)


def _print_version(asked: bool) -> None:
    if asked:
        sys.stdout.write(f"ackclock {_engine.version()}\n")
        raise typer.Exit


@app.callback()
def _main(
    context: typer.Context,
    _version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version and leave."
        ),
    ] = False,
) -> None:
    if context.invoked_subcommand is None:
        sys.stdout.write(context.get_help() + "\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line and returns the exit status."""
    try:
        status = app(
            None if arguments is None else list(arguments), prog_name="ackclock", standalone_mode=False
        )
        sys.stdout.flush()
        return int(status or 0)
    except UsageError as error:
        return _refuse(error.format_message())
    except (ScenarioError, CatalogueError, FolderError, MetricError, ResultError, InputError) as error:
        return _refuse(str(error))
    except (KeyboardInterrupt, typer.Abort):
        sys.stderr.write("ackclock: interrupted\n")
        return INTERRUPTED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1


def _refuse(sentence: str) -> int:
    sys.stderr.write(f"ackclock: {' '.join(sentence.split())}\n")
    return BAD_INPUT
