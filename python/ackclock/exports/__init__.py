"""Exports: runs in the formats of other tools. Each has a module. ``FORMATS`` names them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from ackclock.exports import csv, flent, iperf3, mm_link, qlog, radiotap
from ackclock.result import Run


class Format(NamedTuple):
    """A format that runs can be written in."""

    suffix: str
    """The ending of its files."""
    write: Callable[[Run, Path], None]
    """Writes a run into a file, csv into a new or empty folder."""


FORMATS: Mapping[str, Format] = {
    "csv": Format("-csv", csv.write),
    "flent": Format(".flent.gz", flent.write),
    "iperf3": Format(".iperf3.json", iperf3.write),
    "mm-link": Format(".mm-link.log", mm_link.write),
    "qlog": Format(".qlog", qlog.write),
    "radiotap": Format(".radiotap.pcap", radiotap.write),
}
"""The formats, by the name that ``--to`` takes."""

__all__ = ["FORMATS", "Format"]
