"""Presets of other tools and suites as networks, such as ``wpt:cable``. Their numbers are in presets.toml."""

from __future__ import annotations

import random
import tomllib
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from ackclock.errors import InputError, did_you_mean

LEFT_OUT = "other traffic, outages, and the radio; of {source} it has rates, delays and losses"


@cache
def _tools() -> dict[str, Any]:
    return tomllib.loads((resources.files(__package__) / "presets.toml").read_text("utf-8"))


def names() -> list[str]:
    """Every preset, as ``--networks`` takes it."""
    return [f"{tool}:{name}" for tool, of in _tools().items() for name in of["networks"]]


def is_preset(name: str) -> bool:
    """True if the tool before the colon has presets."""
    tool, colon, _ = name.partition(":")
    return bool(colon) and tool in _tools()


def preset(name: str) -> tuple[dict[str, Any], str]:
    """The scenario of a preset, a download, and its omissions in words. Raises InputError."""
    if name not in names():
        tool = name.partition(":")[0]
        known = [one for one in names() if one.startswith(f"{tool}:")]
        raise InputError(
            f"--networks {name}: is no preset{did_you_mean(name, known)}; there are {', '.join(known)}"
        )
    tool, _, network = name.partition(":")
    of = _tools()[tool]
    given = {**of, **of["networks"][network]}
    if "each_way" in given:
        parts = _calibrated(given)
    elif "run" in given:
        parts = _drawn(given, given["draws"])
    elif "center" in given:
        parts = _dumbbell(given)
    else:
        parts = {"path": _path(given), "flows": [{"cc": "cubic"}]}
    document = {"name": name, "duration": "60s", **parts}
    return document, LEFT_OUT.format(source=of["source"])


def folder() -> Path:
    """The folder of the traces that presets name."""
    return Path(str(resources.files(__package__)))


def _path(given: dict[str, Any]) -> dict[str, Any]:
    """A rate for each direction, with one queue, loss, and an RTT or a delay each way."""
    loss = {"loss": given["loss"]} if "loss" in given else {}
    path = {"rate": given["down"], "queue": given["queue"], **loss}
    path["reverse"] = {"rate": given["up"], "queue": given["queue"], **loss}
    if "rtt" in given:
        path["rtt"] = given["rtt"]
    else:
        forward, reverse = given["delay"]
        path["delay"] = {"forward": forward, "reverse": reverse}
    return path


def _dumbbell(given: dict[str, Any]) -> dict[str, Any]:
    """A flow from each node of one end to each of the other. Rates and queues: of the data, then of ACKs."""
    pairs = zip(given["rates"], given["queues"], strict=True)
    data, *acks = ({"rate": rate, "queue": queue} for rate, queue in pairs)
    rtts = [f"{2 * (near + given['center'] + far):g}ms" for near in given["near"] for far in given["far"]]
    path = {**data, "rtt": rtts[0], "reverse": acks[0] if acks else data}
    return {"path": path, "flows": [{"cc": "cubic", "rtt": rtt} for rtt in rtts]}


def _calibrated(given: dict[str, Any]) -> dict[str, Any]:
    """The shells of Mahimahi: data meet the bottleneck, then loss and delay, and ACKs the delay first."""
    rate = {"trace": f"poisson-{given['poisson']}.down"} if "poisson" in given else given["rate"]
    data = {"rate": rate, "queue": given["queue"], "delay": "0ms"}
    behind = {"rate": "unlimited", "delay": given["each_way"]}
    acks = {"rate": rate, "queue": "infinite", "delay": "0ms"}
    return _chain([data, {**behind, "loss": given.get("loss", "0%")}], [behind, acks])


def _drawn(given: dict[str, Any], draws: dict[str, Any]) -> dict[str, Any]:
    """Delay and loss before the bottleneck, which change together with its rate, and ACKs without delay."""
    draw = random.Random(given["run"])
    rates, delays, losses = [], [], []
    for step in range(draws["count"]):
        at = f"{step * draws['every']}s"
        rates.append([at, f"{draw.randint(*draws['rate'])}mbit"])
        delays.append([at, f"{draw.randint(*draws['delay'])}ms"])
        # Drawn in both kinds of run, so that their rates and delays are the same.
        losses.append([at, f"{round(draw.uniform(*draws['loss']), 2)}%"])
    before = {"rate": "unlimited", "delay": delays, "reorder": True}
    if given["lossy"]:
        before["loss"] = losses
    bottleneck = {"rate": rates, "queue": given["queue"], "delay": "0ms"}
    return _chain([before, bottleneck], [{"rate": "unlimited", "delay": "0ms"}])


def _chain(data: list[dict[str, Any]], acks: list[dict[str, Any]]) -> dict[str, Any]:
    """Links from a sender to a receiver and, over other nodes, back; with a download."""
    links = []
    for start, end, hops in (("sender", "receiver", data), ("receiver", "sender", acks)):
        nodes = [start, *(f"{start}-{number}" for number in range(1, len(hops))), end]
        ends = zip(nodes[:-1], nodes[1:], hops, strict=True)
        links += [{"from": one, "to": two, **hop} for one, two, hop in ends]
    return {"links": links, "flows": [{"cc": "cubic", "from": "sender", "to": "receiver"}]}
