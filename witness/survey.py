"""A survey of the kernel and its comparison with simulations: arguments, file and table."""

from __future__ import annotations

import argparse
import json
import sys
from argparse import Namespace
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

Survey = Callable[[Namespace], Iterator[dict[str, Any]]]
"""Measures as the arguments say; yields everything measured so far after each measurement."""
Table = Callable[[Mapping[str, Any], Namespace], Iterator[str]]
"""The lines of a table of Markdown: the simulations and a survey."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments that all surveys have."""
    parser.add_argument("--seconds", type=float, default=60.0, help="length of a run (default 60)")
    parser.add_argument("--runs", type=int, default=1, help="measurements of each (default 1)")
    parser.add_argument("--seeds", type=int, default=10, help="simulations of each (default 10)")
    files = parser.add_mutually_exclusive_group()
    files.add_argument(
        "--to", type=Path, metavar="FILE", help="write what the kernel does, and simulate nothing"
    )
    files.add_argument(
        "--from", type=Path, metavar="FILE", dest="source", help="read such a file in place of measuring"
    )


def compare(chosen: Namespace, survey: Survey, table: Table) -> None:
    """Writes a survey into the file of ``--to``, or its table to standard output."""
    if chosen.source:
        found = json.loads(chosen.source.read_text())
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
