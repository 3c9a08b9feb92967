"""Presets of other tools as networks, such as ``wpt:cable``. Their numbers are in presets.toml."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib import resources
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
    given = of["networks"][network]
    loss = {"loss": given["loss"]} if "loss" in given else {}
    path = {"rate": given["down"], "queue": of["queue"], **loss}
    path["reverse"] = {"rate": given["up"], "queue": of["queue"], **loss}
    if "rtt" in given:
        path["rtt"] = given["rtt"]
    else:
        forward, reverse = given["delay"]
        path["delay"] = {"forward": forward, "reverse": reverse}
    document = {"name": name, "duration": "60s", "path": path, "flows": [{"cc": "cubic"}]}
    return document, LEFT_OUT.format(source=of["source"])
