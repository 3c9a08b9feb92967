"""A survey of the kernel and its comparison with simulations: arguments, file and table."""

from __future__ import annotations

import argparse
import json
import sys
import time
from argparse import Namespace
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
Survey = Callable[[Namespace], Iterator[dict[str, Any]]]
"""Measures as the arguments say. Yields everything measured so far after each measurement."""
Table = Callable[[Mapping[str, Any], Namespace], Iterator[str]]
"""The lines of a table of Markdown: the simulations and a survey."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments that all surveys have."""
    parser.add_argument("--seconds", type=float, default=60.0, help="length of a run (default 60)")
    parser.add_argument("--runs", type=int, default=1, help="measurements of each (default 1)")
    parser.add_argument("--seeds", type=int, default=10, help="simulations of each (default 10)")
    parser.add_argument(
        "--engine", choices=["uml"], help="measure a kernel in virtual time in place of this machine's"
    )
    parser.add_argument("--linux", metavar="VERSION", help="which kernel in virtual time; default the newest")
    files = parser.add_mutually_exclusive_group()
    files.add_argument(
        "--to", type=Path, metavar="FILE", help="write what the kernel does, and simulate nothing"
    )
    files.add_argument(
        "--from", type=Path, metavar="FILE", dest="source", help="read such a file in place of measuring"
    )


def in_virtual_time(arguments: Sequence[str], linux: str | None) -> dict[str, Any]:
    """The result of a survey in a kernel in virtual time."""
    from ackclock.uml import kernels
    from ackclock.uml.guest import RunCommand
    from ackclock.uml.machine import Machine

    # There the survey measures its own kernel.
    options = argparse.ArgumentParser(add_help=False)
    for taken in ("--engine", "--linux", "--to"):
        options.add_argument(taken)
    _, kept = options.parse_known_args(arguments)
    words = [sys.executable, "-m", "witness", *kept, "--to", "{results}/survey.json"]
    with Machine(kernels.find(linux).program, RunCommand(words, str(ROOT))) as machine:
        while machine.running():
            time.sleep(0.1)
        survey = machine.results / "survey.json"
        if (machine.results / "status").read_text() != "0" or not survey.exists():
            sys.exit((machine.results / "output").read_text())
        found: dict[str, Any] = json.loads(survey.read_text())
        return found


def compare(chosen: Namespace, survey: Survey, table: Table) -> None:
    """Writes a survey into the file of ``--to``, or its table to standard output."""
    if chosen.source:
        found = json.loads(chosen.source.read_text())
    elif chosen.engine:
        found = in_virtual_time(sys.argv[1:], chosen.linux)
        if chosen.to:
            chosen.to.write_text(json.dumps(found, indent=1) + "\n")
    else:
        for found in survey(chosen):
            if chosen.to:
                chosen.to.write_text(json.dumps(found, indent=1) + "\n")
    if not chosen.to:
        heading = (
            f"Simulated (mean of {chosen.seeds} seeds) / Linux {found['kernel']}, {found['seconds']:g} s"
        )
        for line in (heading, "", *table(found, chosen)):
            sys.stdout.write(line + "\n")
