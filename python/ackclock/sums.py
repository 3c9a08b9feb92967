"""Sums over the flows of each controller of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

COUNTS = ("data_packets", "retransmitted_packets", "timeouts")
"""The counts of a flow that are added."""


def of_controllers(
    flows: Sequence[Mapping[str, Any]], scenario: Mapping[str, Any], measured_s: float
) -> list[dict[str, Any]]:
    """The sums of each controller, as ``--json`` prints them.

    ``flows`` are rows of the table. Goodput is over the ``measured_s`` seconds of the run, as flows may last
    for a part. ``share`` is None if nothing was delivered, ``loss_rate`` if nothing was sent. Datagrams do
    not react: their controller has no sum.
    """
    found: dict[str, list[Mapping[str, Any]]] = {}
    for flow, reacts in zip(flows, reacting(scenario, len(flows)), strict=True):
        if reacts:
            found.setdefault(flow["cc"], []).append(flow)
    delivered = {cc: sum(flow["delivered_bytes"] for flow in of) for cc, of in found.items()}
    total = sum(delivered.values())
    rows = []
    for cc, of in found.items():
        counts = {name: sum(flow[name] for flow in of) for name in COUNTS}
        lost = sum(flow["data_packets"] * (flow["loss_rate"] or 0.0) for flow in of)
        rows.append(
            {
                "cc": cc,
                "flows": len(of),
                "goodput_bps": delivered[cc] * 8 / measured_s,
                "share": delivered[cc] / total if total else None,
                **counts,
                "loss_rate": lost / counts["data_packets"] if counts["data_packets"] else None,
            }
        )
    return rows


def reacting(scenario: Mapping[str, Any], rows: int) -> list[bool]:
    """False for each row of flows that are datagrams, which no controller sends.

    With connections, whose number the scenario does not have, all react.
    """
    kinds = [flow["kind"] for flow in scenario["flows"] for _ in range(flow.get("count", 1))]
    return [kind != "datagram" for kind in kinds] if len(kinds) == rows else [True] * rows
