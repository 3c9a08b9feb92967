"""Both directions of a network at once, as Flent's RRUL loads a line: four flows each way, and a ping."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ackclock.errors import InputError
from ackclock.networks import Network, is_compared

NAME = "rrul"
"""The network of the options of a path, and what follows the name of any other network and a colon."""

FLOWS = 4
"""The flows of each direction (Flent's test ``rrul_be``: four, all best effort)."""

ECHOES: Mapping[str, Any] = {
    "cc": "newreno",
    "kind": "datagram",
    "packet_size": "84B",
    "source": {"rate": "3360bit"},
}
"""56 bytes of data behind headers of ICMP and IP every 200 ms, and their echoes. The controller observes."""


def is_rrul(names: str) -> bool:
    """True if all ``names`` of ``--networks`` are loaded both ways. Raises InputError if only some are."""
    found = [one.strip().rpartition(":")[2] == NAME for one in names.split(",") if one.strip()]
    if any(found) and not all(found):
        raise InputError(f"--networks {names}: either all networks have `:{NAME}`, or none")
    return any(found)


def rrul(network: Network) -> Network:
    """The network with its first greedy flow four times in each direction, and a ping.

    A way back without a rate has the rate and the queue of the path. Raises InputError if there is no path,
    or no greedy flow.
    """
    from ackclock.report.rrul import PING, WAYS

    path = network.document.get("path")
    if not isinstance(path, dict):
        raise InputError(
            f"--networks: {network.name}: has no [path], whose two directions {NAME} loads; among [[links]] "
            "flows name their ends"
        )
    mirrored = {key: path[key] for key in ("rate", "queue", "framing") if key in path}
    reverse = path.get("reverse", {})
    made = {**path, "reverse": reverse if "rate" in reverse else mirrored | reverse}
    flows = network.flows()
    greedy = next(one for one in flows if is_compared(one))
    loads = [
        {**greedy, "name": way, "count": FLOWS, "start_jitter": "200ms"}
        | ({"reverse": True} if way == WAYS[1] else {})
        for way in WAYS
    ]
    others = [one for one in flows if not is_compared(one)]
    document = {**network.document, "path": made, "flows": [*loads, {"name": PING, **ECHOES}, *others]}
    return replace(network, document=document)
