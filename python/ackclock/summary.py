"""Summaries: the object of ``--json`` and the table at the end of a command, from the summaries of runs."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rich.table import Table
from rich.text import Text

from ackclock import _engine
from ackclock.groups import grouped
from ackclock.scenario import display_name

Summary = Mapping[str, Any]
"""One object of the ``runs`` list, from ``Run.summary()``."""

MANY_FLOWS = 16
"""With more flows than this in a run, the table shows flows of one name and controller together."""


def document(summaries: Sequence[Summary]) -> dict[str, Any]:
    """The object that ``--json`` prints."""
    return {"version": _engine.version(), "runs": list(summaries)}


Column = tuple[str, Callable[[Mapping[str, Any]], float | None], str]
"""A column of a table: its head, its value from a row, and the form of the number."""


def _median(values: Sequence[float | None]) -> float | None:
    known = [v for v in values if v is not None]
    return statistics.median(known) if known else None


def _text(value: float | None, form: str = ".2f") -> str:
    return "-" if value is None else format(value, form)


def _cells(group: Sequence[Mapping[str, Any]], columns: Sequence[Column]) -> list[str]:
    """The medians of a group for the columns of a table."""
    return [_text(_median([value(row) for row in group]), form) for _, value, form in columns]


def _flow_groups(summaries: Sequence[Summary]) -> dict[tuple[str, str], list[Mapping[str, Any]]]:
    """The flows that share a row: by name over the repetitions, without its number when there are many."""
    many = any(len(s["flows"]) > MANY_FLOWS for s in summaries)
    groups: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for s in summaries:
        if many:
            for group in grouped([flow["name"] for flow in s["flows"]], [flow["cc"] for flow in s["flows"]]):
                row = groups.setdefault((str(s["label"]), group.name), [])
                row.extend(s["flows"][index] for index in group.flows)
        else:
            for flow in s["flows"]:
                groups.setdefault((str(s["label"]), flow["name"]), []).append(flow)
    return groups


def alike(summaries: Sequence[Summary]) -> list[str]:
    """The labels whose repetitions all came out the same: nothing in them is random."""
    outcomes: dict[str, list[Any]] = {}
    for s in summaries:
        outcomes.setdefault(str(s["label"]), []).append([s["flows"], s["links"]])
    return [label for label, of in outcomes.items() if len(of) > 1 and all(one == of[0] for one in of)]


def flows_table(summaries: Sequence[Summary]) -> Table:
    """A row per flow: medians over the repetitions."""
    seeds = len({s["seed"] for s in summaries})
    several = f", medians over {seeds} repetitions" if seeds > 1 else ""
    table = Table(title=f"flows (RTT by ACK{several})", title_justify="left")
    for name in ("run", "flow"):
        table.add_column(name, overflow="fold")
    columns: list[Column] = [
        ("goodput\nMbit/s", lambda f: f["goodput_bps"] / 1e6, ".3f"),
        ("RTT p50\nms", lambda f: f["rtt_ms"]["p50"], ".1f"),
        ("RTT p95\nms", lambda f: f["rtt_ms"]["p95"], ".1f"),
        ("loss\n%", lambda f: f["loss_rate"] * 100, ".3f"),
        ("packets", lambda f: f["data_packets"], ".0f"),
        ("retrans-\nmitted", lambda f: f["retransmitted_packets"], ".0f"),
        ("time-\nouts", lambda f: f["timeouts"], ".0f"),
    ]
    for name, _, _ in columns:
        table.add_column(name, justify="right")
    for (label, flow), group in _flow_groups(summaries).items():
        table.add_row(Text(label), Text(flow), *_cells(group, columns))
    return table


def controllers_table(summaries: Sequence[Summary]) -> Table | None:
    """A row per controller, the sums over its flows: medians over the repetitions.

    None if no controller has several flows in a run.
    """
    if not any(one["flows"] > 1 for s in summaries for one in s["controllers"]):
        return None
    columns: list[Column] = [
        ("flows", lambda c: c["flows"], ".0f"),
        ("goodput\nMbit/s", lambda c: c["goodput_bps"] / 1e6, ".3f"),
        ("share\n%", lambda c: None if c["share"] is None else c["share"] * 100, ".1f"),
        ("loss\n%", lambda c: None if c["loss_rate"] is None else c["loss_rate"] * 100, ".3f"),
        ("packets", lambda c: c["data_packets"], ".0f"),
        ("retrans-\nmitted", lambda c: c["retransmitted_packets"], ".0f"),
        ("time-\nouts", lambda c: c["timeouts"], ".0f"),
    ]
    table = Table(title="controllers (sums over their flows)", title_justify="left")
    for name in ("run", "controller"):
        table.add_column(name, overflow="fold")
    for name, _, _ in columns:
        table.add_column(name, justify="right")
    groups: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for s in summaries:
        for one in s["controllers"]:
            groups.setdefault((str(s["label"]), display_name(one["cc"])), []).append(one)
    for (label, controller), group in groups.items():
        table.add_row(Text(label), Text(controller), *_cells(group, columns))
    return table


def arrivals_table(summaries: Sequence[Summary]) -> Table | None:
    """A row per flow with recorded datagrams: medians over the repetitions. None without any."""
    groups = {
        names: recorded
        for names, group in _flow_groups(summaries).items()
        if (recorded := [f for f in group if "one_way_delay_ms" in f])
    }
    if not groups:
        return None
    columns: list[Column] = [
        *(
            (f"{words} {one}\nms", lambda f, key=key, one=one: (f.get(key) or {}).get(one), ".1f")
            for words, key in (("delay", "one_way_delay_ms"), ("frame", "frame_delay_ms"))
            for one in ("p50", "p95")
        ),
        ("lost after\nrepair %", lambda f: None if "media_loss" not in f else f["media_loss"] * 100, ".2f"),
        ("not shown\n%", lambda f: None if "frame_loss" not in f else f["frame_loss"] * 100, ".2f"),
        ("freezes", lambda f: f.get("freezes"), ".0f"),
        ("frozen\ns", lambda f: f.get("frozen_s"), ".2f"),
    ]
    flows = [flow for group in groups.values() for flow in group]
    if not any("frame_loss" in flow for flow in flows):
        columns = columns[:2]
    if any("mos" in flow for flow in flows):
        columns.append(("MOS", lambda f: f.get("mos"), ".2f"))
    table = Table(
        title="arrivals (one-way delay by packet, frames from capture to completion)", title_justify="left"
    )
    for name in ("run", "flow"):
        table.add_column(name, overflow="fold")
    for name, _, _ in columns:
        table.add_column(name, justify="right")
    for (label, flow), group in groups.items():
        table.add_row(Text(label), Text(flow), *_cells(group, columns))
    return table


def all_tables(summaries: Sequence[Summary]) -> list[Table]:
    """The tables of flows, controllers with several, recorded arrivals if there are any, and links."""
    found = (
        *(flows_table(summaries), controllers_table(summaries)),
        *(arrivals_table(summaries), links_table(summaries)),
    )
    return [table for table in found if table is not None]


def links_table(summaries: Sequence[Summary]) -> Table:
    """A row per link: medians over the repetitions, and the fairness of the flows whose data cross it."""
    table = Table(title="links (queue and delay by time)", title_justify="left")
    for name in ("run", "link"):
        table.add_column(name, overflow="fold")
    columns: list[Column] = [
        ("utili-\nzation", lambda r: r["utilization"], ".3f"),
        ("queue mean\npackets", lambda r: r["queue_packets"]["mean"], ".1f"),
        ("delay mean\nms", lambda r: r["queue_delay_ms"]["mean"], ".1f"),
        ("delay p95\nms", lambda r: r["queue_delay_ms"]["p95"], ".1f"),
        ("dropped", lambda r: r["dropped_packets"], ".0f"),
        ("lost", lambda r: r["lost_packets"], ".0f"),
        ("marked", lambda r: r["marked_packets"], ".0f"),
        ("Jain\nindex", lambda r: r["jain"], ".3f"),
    ]
    for name, _, _ in columns:
        table.add_column(name, justify="right")
    groups: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for s in summaries:
        for link in s["links"]:
            groups.setdefault((str(s["label"]), link["name"]), []).append(link)
    for (label, link), group in groups.items():
        table.add_row(Text(label), Text(link), *_cells(group, columns))
    return table


def fairness(summaries: Sequence[Summary]) -> dict[str, float]:
    """Jain's index of the goodputs by label, the median over its repetitions.

    Runs of a single flow have none, nor have runs in which fewer than two flows last.
    """
    found: dict[str, list[float]] = {}
    for s in summaries:
        if len(s["flows"]) > 1 and s["fairness"]["jain"] is not None:
            found.setdefault(str(s["label"]), []).append(s["fairness"]["jain"])
    return {label: statistics.median(values) for label, values in found.items()}


TIMES = ("busy_us", "app_limited_us", "rwnd_limited_us", "sndbuf_limited_us")
"""The columns of the times that a flow spends with each limit."""


def limits(summaries: Sequence[Summary]) -> list[str]:
    """A sentence for each label whose flows the window did not limit for longest: the median repetition."""
    found: dict[str, list[tuple[str, float] | None]] = {}
    for s in summaries:
        flows = s["flows"]
        measured, completed, *times = (
            [flow[column] for flow in flows] for column in ("measured_s", "completion_s", *TIMES)
        )
        found.setdefault(str(s["label"]), []).append(_engine.limit(measured, completed, times))
    sentences = []
    for label, of in found.items():
        limited = sorted((one for one in of if one is not None), key=lambda one: one[1])
        if len(limited) > len(of) // 2:
            name, percent = limited[len(of) // 2]
            sentences.append(f"{label} was limited by its {name} {percent:.3g} % of the time")
    return sentences


def broken(summaries: Sequence[Summary]) -> list[str]:
    """A sentence for each flow that a circuit breaker stopped (RFC 8083)."""
    return [
        f"{s['label']}, seed {s['seed']}: the circuit breaker stopped {flow['name']} after "
        f"{flow['circuit_breaker']['at_s']:.1f} s by {flow['circuit_breaker']['condition']} (RFC 8083)"
        for s in summaries
        for flow in s["flows"]
        if "circuit_breaker" in flow
    ]


def beyond_buffers(summaries: Sequence[Summary], plans: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """A sentence for each profile whose buffers carry less than its flows have in flight without a limit.

    ``plans`` has ``Plan.inspect()`` by label. The flight is a mean, by Little's law: goodput times mean RTT.
    """
    found: dict[tuple[str, int], dict[str, float]] = {}
    for s in summaries:
        label = s["label"]
        usual = {
            (flow["name"], flow["profile"]): flow["usual_flight_bytes"] for flow in plans[label]["flows"]
        }
        for flow in s["flows"]:
            profile = flow["profile"]
            most = usual.get((flow["name"], profile))
            flight = (flow["goodput_bps"] or 0) / 8 * (flow["rtt_ms"]["mean"] or 0) / 1e3
            if most is not None and flight > most:
                labels = found.setdefault((profile, most), {})
                labels[label] = max(flight, labels.get(label, 0))
    return [
        f"{', '.join(labels)} had up to {max(labels.values()) / 1e6:.3g} MB in flight on average, and the "
        f"usual buffers of profile {profile} carry {most / 1e6:.3g} MB: --set buffers=profile sets them"
        for (profile, most), labels in found.items()
    ]


def engine_line(summaries: Sequence[Summary]) -> str:
    """Packets and their cost. If some runs are in real time, only these count, with their lateness."""
    live = [s["engine"] for s in summaries if "lateness_us" in s["engine"]]
    engines = live or [s["engine"] for s in summaries]
    packets = sum(engine["data_packets"] for engine in engines)
    cpu = sum(engine["cpu_s"] for engine in engines)
    if live:
        p50, p99, most = (max(e["lateness_us"][key] for e in live) / 1e3 for key in ("p50", "p99", "max"))
        by_udp = [e["kind"] == "quic-live" or e.get("state_source") == "ends" for e in live]
        stacks = sorted({"UDP sockets" if udp else "TCP" for udp in by_udp})
        return (
            f"{packets} data packets on the {' and '.join(stacks)} of Linux {live[0]['kernel']}, "
            f"{cpu:.2f} CPU seconds\n"
            f"deliveries were late by {p50:.3f} ms (median), {p99:.3f} ms (99 %), {most:.3f} ms (most)"
        )
    rate = f", {packets / cpu / 1e6:.2f} million packets per CPU second" if cpu > 0 else ""
    return f"{packets} data packets in {cpu:.2f} CPU seconds{rate}"


def marked(summaries: Sequence[Summary]) -> dict[str, str]:
    """Each label for tables and figures: marked if runs went past their error budget."""
    groups: dict[str, list[bool]] = {}
    for s in summaries:
        groups.setdefault(str(s["label"]), []).append(bool(s["engine"].get("valid", True)))
    return {label: _mark(label, valid) for label, valid in groups.items()}


def _mark(label: str, valid: Sequence[bool]) -> str:
    if all(valid):
        return label
    count = "" if len(valid) == 1 else f"{valid.count(False)} of {len(valid)} "
    return f"{label} ({count}invalid)"


def invalid_reasons(summaries: Sequence[Summary]) -> list[str]:
    """Why runs are not valid, one sentence for each such run."""
    return [
        f"{s['label']}, seed {s['seed']} is not valid: {'; '.join(s['engine']['reasons'])}"
        for s in summaries
        if not s["engine"].get("valid", True)
    ]
