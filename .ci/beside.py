"""What the tools share that lay a kernel beside the simulation: namespaces, and the command line."""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import subprocess
import sys
from argparse import Namespace
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

NEW_NETWORK = 0x40000000

Survey = Callable[[Namespace], Iterator[dict[str, Any]]]
"""Measures as the arguments say, and gives what is known after each measurement."""
Table = Callable[[Mapping[str, Any], Namespace], Iterator[str]]
"""What a survey found, beside the simulation: the lines of a table of Markdown."""


def call(command: str) -> None:
    """Runs a command."""
    subprocess.run(command.split(), check=True)


def enter(space: str) -> None:
    """Puts this thread into a network namespace."""
    with Path("/run/netns", space).open() as handle:
        if ctypes.CDLL(None, use_errno=True).setns(handle.fileno(), NEW_NETWORK):
            raise OSError(ctypes.get_errno(), f"setns {space}")


def child(work: Callable[[], object]) -> int:
    """A process that does ``work``."""
    pid = os.fork()
    if pid == 0:
        try:
            work()
        finally:
            os._exit(0)
    return pid


def parser(description: str | None, *, seconds: float, seeds: int) -> argparse.ArgumentParser:
    """The arguments of every such tool, with its defaults."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=seconds, help="length of a run")
    parser.add_argument("--seeds", type=int, default=seeds, help="simulations of each")
    parser.add_argument("--linux", type=Path, help="write what the kernel does here, and do not simulate")
    parser.add_argument("--beside", type=Path, help="what a kernel did, in place of measuring it")
    return parser


def lay(chosen: Namespace, survey: Survey, table: Table) -> None:
    """Measures, or reads what was measured; writes it into a file, or the table of it to standard output."""
    if chosen.beside:
        found = json.loads(chosen.beside.read_text())
    else:
        for found in survey(chosen):
            if chosen.linux:
                chosen.linux.write_text(json.dumps(found, indent=1) + "\n")
    if not chosen.linux:
        heading = (
            f"Simulated (mean of {chosen.seeds} seeds) / Linux {found['kernel']}, {found['seconds']:g} s"
        )
        for line in (heading, "", *table(found, chosen)):
            sys.stdout.write(line + "\n")
