"""``ackclock read CAPTURE``: the connections of a capture, with their rates, RTTs, repairs and limits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.table import Table
from rich.text import Text

from ackclock.captures import Capture, connections
from ackclock.cli import output
from ackclock.cli.output import Report
from ackclock.errors import InputError
from ackclock.figure import Axis, Panel, Series
from ackclock.recorded import CAUSES, Recorded, largest

if TYPE_CHECKING:
    from ackclock.report import Page

BITS, MILLI, MEGA, KILO = 8, 1e3, 1e6, 1e3
MOST, SHOWN, DRAWN = 1000, 20, 6
"""Connections with the most data: as many are analysed, as many have a row on the terminal, and figures."""
STEPS = 100
"""Intervals of a connection over time."""

ABOUT = (
    "Seen from one place, causes and limits are rules about packets and their times, and approximate. A "
    "segment sent again is fast, unless nothing had passed for 1.5 RTTs: then a timer repeated it, and all "
    "that leaves until the data sent before is acknowledged. RTTs are samples of ACKs for data sent once. "
    "Data outstanding leaves out SACK blocks of the last ACK."
)


def captured(capture: Path, interface: int, report: Report) -> None:
    """The connections of a capture: tables, one object of JSON, and a page with figures."""
    report.check()
    seen = connections(capture, interface)
    output.remark(seen.remark)
    if not seen.flows:
        raise InputError(f"{capture}: there is no TCP connection with data on interface {interface}")
    found, left_out = largest(seen, MOST, str(capture))
    output.remark(left_out)
    rows = [summary(one) for one in found]
    finish = output.show_early(*_tables(rows[:SHOWN]), as_json=report.as_json)
    for number, one in enumerate(found[:SHOWN], 1):
        for sentence in remarks(one):
            output.remark(f"{number}: {sentence}")
    if len(found) > SHOWN:
        output.remark(f"{len(found) - SHOWN} connections with less data have no row here, and one in --json")
    if report.as_json:
        output.print_json({"connections": rows})
    if (out := report.out) is not None:
        from ackclock.report import new_folder, page_of

        with new_folder(out, report.force) as folder, page_of(folder, str(capture)):
            _write(capture, seen, found, rows, folder, report)
        report.done(out)
    finish()


def summary(one: Recorded) -> dict[str, Any]:
    """The numbers of a direction of a connection, as in ``--json``."""
    duration = one.last - one.first
    sent, acknowledged = int(one.data["payload"].sum(dtype=np.int64)), _acknowledged(one)
    again, windows = one.retransmissions, one.windows
    return {
        "sender": one.flow.sender,
        "receiver": one.flow.receiver,
        "start_s": one.first,
        "duration_s": duration,
        "data_packets": int(one.data.size),
        "data_bytes": sent,
        "acknowledged_bytes": acknowledged,
        "throughput_bps": sent * BITS / duration if duration else None,
        "goodput_bps": acknowledged * BITS / duration if duration else None,
        "segment_bytes": one.segment,
        "handshake_ms": None if one.flow.handshake is None else one.flow.handshake * MILLI,
        "rtt_ms": spread(one.rtt[1] * MILLI),
        "rtt_samples": int(one.rtt[1].size),
        "retransmitted_packets": int(again.rows.size),
        **{f"{cause}_retransmissions": int((again.causes == cause).sum()) for cause in CAUSES},
        "spurious_retransmissions": int(again.spurious.sum()),
        "timeouts": again.timers,
        "reordered_packets": one.reordered,
        "probes": one.probes,
        "outstanding_bytes": spread(one.outstanding),
        "first_window_bytes": one.first_window,
        "receive_window_bytes": None if windows is None else spread(windows),
        "zero_windows": int(one.zero_windows.sum()),
        "closed_s": one.closed,
        "burst_segments": spread(one.bursts),
        "limited_by": one.limits,
        "is_at_sender": one.is_at_sender,
        "over_time": over_time(one),
    }


def _acknowledged(one: Recorded) -> int:
    return int(one.acknowledged[-1]) if one.acknowledged.size else 0


def spread(values: Any) -> dict[str, float] | None:
    """Percentiles of values, or None without any."""
    if not len(values):
        return None
    ends = np.percentile(values, (0, 50, 95, 100)).tolist()
    low, median, high, most = (round(float(value), 6) for value in ends)
    return {"min": low, "mean": round(float(np.mean(values)), 6), "p50": median, "p95": high, "max": most}


def over_time(one: Recorded) -> dict[str, list[float | None]]:
    """Throughput, the most data outstanding and the median RTT in a hundred intervals of the connection."""
    edges = np.linspace(one.first, one.last, STEPS + 1)
    width = (one.last - one.first) / STEPS
    if not width:
        return {"time_s": [], "throughput_bps": [], "outstanding_bytes": [], "rtt_ms": []}

    def interval(times: Any) -> Any:
        return np.clip(np.searchsorted(edges, times, side="right") - 1, 0, STEPS - 1)

    of = interval(one.data["time"])
    sent = np.bincount(of, one.data["payload"], STEPS) * BITS / width
    most = np.zeros(STEPS)
    np.maximum.at(most, of, one.outstanding)
    at, samples = one.rtt
    parts = np.split(samples, np.searchsorted(at, edges[1:-1]))
    return {
        "time_s": edges[:-1].tolist(),
        "throughput_bps": sent.tolist(),
        "outstanding_bytes": most.tolist(),
        "rtt_ms": [float(np.median(part)) * MILLI if part.size else None for part in parts],
    }


def remarks(one: Recorded) -> list[str]:
    """Sentences about a connection of which the capture shows a part."""
    found = []
    if one.windows is None:
        lacks = "the options of the handshake are" if all(one.flow.openings) else "the handshake is"
        found.append(f"{lacks} not in the capture, so receive windows have no unit")
    if not one.flow.answers.size:
        found.append("no ACK is in the capture")
    elif not one.is_at_sender:
        found.append(
            "the capture was not taken at the sender: RTTs are from here to the receiver and back, and data "
            "outstanding shows no limit"
        )
    if one.missing:
        found.append(f"{one.missing} bytes of data were acknowledged and are not in the capture")
    return found


def _name(number: int, row: Mapping[str, Any]) -> tuple[Text, Text]:
    return Text(str(number)), Text(f"{row['sender']} > {row['receiver']}")


def _tables(rows: Sequence[Mapping[str, Any]]) -> list[Table]:
    """Rates and limits, and repairs."""
    rates = Table(
        "",
        "connection",
        "MB",
        "s",
        "Mbit/s",
        "RTT ms\nleast",
        "RTT ms\nmedian",
        "outstanding\nmost kB",
        "limited by",
    )
    repairs = Table(
        "", "packets", "sent\nagain", "fast", "timeout", "probe", "spurious", "over-\ntaken", "zero\nwindows",
        "closed\ns", "burst\nmedian", "burst\nmost",
    )  # fmt: skip
    for number, row in enumerate(rows, 1):
        rates.add_row(*_name(number, row), *_rates(row))
        repairs.add_row(str(number), *_repairs(row))
    return [rates, repairs]


def _rates(row: Mapping[str, Any]) -> list[str]:
    rtt = row["rtt_ms"] or {"min": None, "p50": None}
    throughput = row["throughput_bps"]
    cause, share = max(row["limited_by"].items(), key=lambda item: item[1])
    is_seen = share and (row["is_at_sender"] or cause != "network")
    return [
        _number(row["data_bytes"] / MEGA),
        _number(row["duration_s"]),
        _number(None if throughput is None else throughput / MEGA),
        _number(rtt["min"]),
        _number(rtt["p50"]),
        _number(row["outstanding_bytes"]["max"] / KILO),
        f"{cause} {100 * share:.0f} %" if is_seen else "-",
    ]


def _repairs(row: Mapping[str, Any]) -> list[str]:
    burst = row["burst_segments"]
    counts = ("data_packets", "retransmitted_packets", *(f"{cause}_retransmissions" for cause in CAUSES))
    others = ("spurious_retransmissions", "reordered_packets", "zero_windows")
    return [
        *(str(row[name]) for name in (*counts, *others)),
        _number(row["closed_s"]),
        f"{burst['p50']:.0f}",
        f"{burst['max']:.0f}",
    ]


def _number(value: float | None) -> str:
    from ackclock.report import number

    return number(value)


def _write(
    capture: Path,
    seen: Capture,
    found: Sequence[Recorded],
    rows: Sequence[Mapping[str, Any]],
    folder: Path,
    report: Report,
) -> None:
    """The page: tables of all connections, and figures of the largest."""
    from ackclock.report import Page, write_json
    from ackclock.report.notebook import cells, heads

    page = Page(str(capture))
    if seen.remark:
        page.paragraph(f"{seen.remark}.", "note")
    for table in _tables(rows):
        page.table(heads(table), cells(table))
    page.paragraph(ABOUT, "note")
    largest = sorted(range(len(found)), key=lambda row: -rows[row]["data_bytes"])[:DRAWN]
    for row in sorted(largest):
        one = found[row]
        page.heading(f"{row + 1}: {one.flow.sender} > {one.flow.receiver}", f"connection-{row + 1}")
        for sentence in remarks(one):
            page.paragraph(f"{sentence[0].upper()}{sentence[1:]}.", "note")
        shares = ", ".join(f"{name} {100 * share:.0f} %" for name, share in rows[row]["limited_by"].items())
        page.paragraph(f"The rate was limited by: {shares}.")
        _draw(page, one, row + 1, folder, report.formats)
    write_json(folder / "connections.json", {"connections": list(rows)})
    page.write(folder / "index.html")


def _draw(page: Page, one: Recorded, number: int, folder: Path, formats: Sequence[str]) -> None:
    """The figures of a connection."""
    from ackclock import plots
    from ackclock.plots import sequence
    from ackclock.plots.draw import page_looks
    from ackclock.report.charts import panels_as_json

    name = f"connection-{number}"
    picture = page.save(folder / f"{name}-sequence.png", partial(sequence.time_sequence, one), formats)
    if picture is not None:
        page.figure(picture, "Time-sequence graph", sequence.time_sequence.__doc__ or "")
    for kind, title, y, panel in _panels(one):
        x, y_axis = Axis("time (s)"), Axis(y, low=0.0)
        file = folder / f"{name}-{kind}.png"
        if page.save(file, partial(plots.draw, [panel], x, y_axis), formats) is not None:
            files = [file.with_suffix(f".{ending}").name for ending in ("png", *formats)]
            drawn = panels_as_json([panel], x, y_axis, page_looks([panel]))
            page.panels(f"{name}-{kind}", drawn, title, 1, files)


def _panels(one: Recorded) -> list[tuple[str, str, str, Panel]]:
    """Data outstanding and the receive window, RTTs, and throughput, over time."""
    over, answers = over_time(one), one.flow.answers
    outstanding = [Series("outstanding", "outstanding", one.data["time"], one.outstanding / KILO)]
    if one.windows is not None and one.has_near_window:
        outstanding.append(Series("receive window", "window", answers["time"], one.windows / KILO))
    throughput = Series("", "", np.array(over["time_s"]), np.array(over["throughput_bps"]) / MEGA)
    at, samples = one.rtt
    return [
        (
            "outstanding",
            "Data outstanding, and the receive window if it comes near",
            "kB",
            Panel("", outstanding),
        ),
        (
            "rtt",
            "RTT, each sample",
            "RTT (ms)",
            Panel("", [Series("", "", at, samples * MILLI, look="points")]),
        ),
        ("throughput", "Throughput, in a hundred intervals", "Mbit/s", Panel("", [throughput])),
    ]
