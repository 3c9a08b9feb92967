"""The summary of all comparisons with something outside the project, each with date, machine and command."""

from __future__ import annotations

import gzip
import json
import re
from collections import Counter
from collections.abc import Iterable

from ackclock import parity
from pages.makers.papers import verdicts_of
from pages.measurements import ROOT, Measurement, load, load_csv
from pages.tables import Table, maker

HEADINGS = ("compared", "result", "date", "machine", "command")
PAIR = re.compile(r"([\d.]+)(?: ± [\d.]+)? / ([\d.]+)(?: ± [\d.]+)?")
"""A cell `simulated / measured`, with or without standard deviations."""


def _row(what: str, result: str, head: Measurement) -> list[str]:
    return [what, result, head.date, head.machine, f"`{head.command}`"]


@maker("quality-parity")
def cells() -> Table:
    """Cells near, within the spread of seeds, and far, of each comparison of engines."""
    rows = []
    for name, what in (
        ("linux-6.1-virtual", "TCP of Linux in virtual time: `newreno`, `cubic`"),
        ("linux-6.18", "TCP of Linux in real time: `cdg`, `siad`"),
    ):
        head, document = load(f"parity/{name}.json")
        rows.append(_row(what, _counted(parity.row(cell)[-2] for cell in document["result"]["cells"]), head))
    for name, what in (
        ("bbr", "`bbr1` beside Linux's `bbr`: one flow"),
        ("bbr-beside-cubic", "the same: share beside CUBIC"),
    ):
        head, found = load_csv(f"parity/{name}.csv")
        rows.append(_row(what, _counted(row["verdict"] for row in found), head))
    return Table(HEADINGS, rows)


def _counted(verdicts: Iterable[str]) -> str:
    counts = Counter(verdict.split(":")[0].split(" at ")[0] for verdict in verdicts)
    words = ", ".join(f"{counts[verdict]} {verdict}" for verdict in counts if verdict != "near")
    return f"{counts['near']} of {counts.total()} near" + (f"; {words}" if words else "")


@maker("quality-linux")
def linux() -> Table:
    """Controllers and queue disciplines beside Linux's: the largest difference of each quantity."""
    rows = []
    for name, what in (
        ("parity/modules", "controllers, one flow"),
        ("parity/modules-loss", "controllers, 1 % lost"),
        ("disciplines/linux-6.12", "queue disciplines"),
    ):
        head, found = load_csv(f"{name}.csv")
        numbers = [key for key in found[0] if any(PAIR.fullmatch(row[key]) for row in found)]
        worst = ", ".join(f"{key} {_largest(row[key] for row in found)}" for key in numbers)
        rows.append(_row(f"{len({*(_first(row) for row in found)})} {what}", worst, head))
    return Table(("compared", "largest difference", *HEADINGS[2:]), rows)


def _first(row: dict[str, str]) -> str:
    return next(iter(row.values()))


def _largest(cells: Iterable[str]) -> str:
    """The largest difference of two numbers in a cell."""
    pairs = (match for match in map(PAIR.fullmatch, cells) if match)
    return max((abs(float(a) - float(b)), f"({a} / {b})") for a, b in (match.groups() for match in pairs))[1]


@maker("quality-differential")
def differential() -> Table:
    """Random networks in which simulated and real TCP send the same packets."""
    folder, rows = ROOT / "tests/differential", []
    differences = json.loads((folder / "differences.json").read_text("utf-8"))
    for name, what in (
        ("losses", "losses alone"),
        ("all", "losses, reordering, lost ACKs, marks, small windows"),
    ):
        recording = json.loads(gzip.decompress((folder / f"{name}.json.gz").read_bytes()))
        origin, runs = recording["origin"], len(recording["runs"])
        agree = f"{runs - len(differences[name])} of {runs} agree"
        system = f"Linux {origin['kernel'].split('-')[0]}, {origin['hz']} ticks a second"
        rows.append([what, agree, origin["date"], system, f"`{origin['command']}`"])
    return Table(("random networks with", *HEADINGS[1:]), rows)


@maker("quality-claims")
def claims() -> Table:
    """The claims of each paper and suite under each verdict."""
    rows = []
    for paper in (
        "da1992",
        "cdg2011",
        "cdg2013",
        "siad2016",
        "edwan2010",
        "l4s",
        "ccwg-bbr",
        "rmcat",
        "ccwg-c4",
        "bbr-sharing",
        "further",
    ):
        head, verdicts = verdicts_of(paper)
        rows.append(_row(f"`{paper}`", ", ".join(f"{n} {one}" for one, n in verdicts.items()), head))
    return Table(("paper or suite", "claims", *HEADINGS[2:]), rows)


@maker("quality-wlan")
def wlan() -> Table:
    """The throughput of saturated stations under every reading of IEEE 802.11, beside the default."""
    head, found = load_csv("papers/cdg2013-conventions.csv")
    rows = []
    for size in (key for key in found[0] if key.endswith("bytes")):
        shares = sorted((float(row[size].split("(")[1].split()[0]), row["convention"]) for row in found)
        (low, least), (high, most) = shares[0], shares[-1]
        result = f"{low:+.1f} % ({least}) to {high:+.1f} % ({most})"
        rows.append(_row(f"ten stations, {size}", result, head))
    return Table(("throughput under other readings of the standard", *HEADINGS[1:]), rows)


@maker("quality-speed")
def speed() -> Table:
    """Time and instructions of a data packet."""
    bench, found = load_csv("performance/bench.csv")
    rows = []
    for row in found:
        packets = float(row["million packets/CPU s"])
        rows.append(_row(f"{row['flows']}, {row['link']}", f"{1000 / packets:.0f} ns", bench))
    parts, costs = load_csv("performance/parts.csv")
    total = sum(int(row["instructions a packet"].replace(",", "")) for row in costs)
    links = next(row for row in costs if row["part"].startswith("a link starts"))
    rows.append(_row("1 NewReno, 100 Mbit/s", f"{total} instructions", parts))
    rows.append(_row("its links alone", f"{links['instructions a packet']} instructions", parts))
    return Table(("processor time of a data packet", *HEADINGS[1:]), rows)
