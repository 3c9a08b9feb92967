"""Networks to compare controllers on: scenario files of the package and of users.

A greedy flow of such a file gets the compared controller. Other flows stay as they are. A comment
``# Not in it: …`` names the omissions of the network.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path
from typing import Any

from ackclock import reading
from ackclock.contenders import Contender
from ackclock.errors import InputError, did_you_mean
from ackclock.networks import presets

NAMES = ("home", "cable", "fq_codel", "wifi", "policer", "lte", "satellite")
"""The networks of the package, in the order of tables."""

LEFT_OUT = re.compile(r"^# Not in it: (.*)$", re.MULTILINE)


@dataclass(frozen=True)
class Network:
    """A scenario without its controllers."""

    name: str
    document: Mapping[str, Any]
    left_out: str = ""
    """Its omissions, in words."""
    folder: Path = Path()
    """The files that it names are in here."""

    def with_controller(self, contender: Contender) -> dict[str, Any]:
        """The scenario in which its greedy flows have a controller. Raises InputError if there is none."""
        return self._made([_flow(one, contender) for one in self.flows()])

    def without_controllers(self) -> dict[str, Any]:
        """The scenario without its greedy flows. Raises InputError if there is none."""
        return self._made([one for one in self.flows() if not is_compared(one)])

    def with_flows(self, flows: Callable[[dict[str, Any]], list[dict[str, Any]]]) -> Network:
        """The same with the ``flows`` of a greedy flow before the others. Datagrams are recorded.

        Raises InputError if no flow is greedy.
        """
        own = self.flows()
        greedy = next(one for one in own if is_compared(one))
        record = {**self.document.get("record", {}), "datagrams": True}
        made = {**self.document, "flows": [*flows(greedy), *own], "record": record}
        return replace(self, document=made)

    def flows(self) -> list[Any]:
        """The tables of its flows. Raises InputError if none is greedy."""
        flows = self.document.get("flows", [{}])
        if not isinstance(flows, list) or not any(is_compared(one) for one in flows):
            raise InputError(f"--networks: {self.name}: flows: none is greedy, so there is none to compare")
        return flows

    def _made(self, flows: list[Any]) -> dict[str, Any]:
        return dict(_beside({**self.document, "flows": flows}, self.folder.absolute()))


def networks(names: str) -> list[Network]:
    """The networks that ``--networks`` names: the package's, presets of tools, and files.

    Raises InputError.
    """
    found = [network for one in names.split(",") if one.strip() for network in _named(one.strip())]
    if not found:
        raise InputError(f"--networks {names!r}: names no network; there are {', '.join(NAMES)}, and files")
    labels = [one.name for one in found]
    for label in labels:
        if labels.count(label) > 1:
            raise InputError(f"--networks {names}: {label} is named twice")
    return found


def text_of(name: str) -> str:
    """The file of a network of the package."""
    return (resources.files(__package__) / f"{name}.toml").read_text("utf-8")


def _named(name: str) -> list[Network]:
    if name in NAMES:
        return [_network(name, text_of(name), Path())]
    if presets.is_preset(name):
        return [Network(name, *presets.preset(name), folder=presets.folder())]
    file = Path(name)
    if file.suffix != ".toml":
        if file.is_file():
            raise InputError(
                f"--networks {name}: is no scenario (.toml); a table over time is --trace {name}"
            )
        near = did_you_mean(name, [*NAMES, *presets.names()])
        known = ", ".join(NAMES)
        raise InputError(
            f"--networks {name}: is no network{near}; there are {known}, presets like wpt:cable, and files "
            "like mine.toml"
        )
    try:
        text = reading.text(file)
        document = tomllib.loads(text)
    except OSError as error:
        raise InputError(f"{file}: cannot be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{file}: is not TOML: {error}") from None
    except RecursionError:
        raise InputError(f"{file}: tables and lists are nested too deep") from None
    if "networks" not in document:
        return [_network(str(document.get("name", file.stem)), text, file.parent)]
    tables = document["networks"]
    if not isinstance(tables, dict) or not all(isinstance(one, dict) for one in tables.values()):
        raise InputError(f"{file}: networks: must hold a table for each name, like [networks.office]")
    return [Network(str(key), one, folder=file.parent) for key, one in tables.items()]


def _network(name: str, text: str, folder: Path) -> Network:
    document = tomllib.loads(text)
    left_out = LEFT_OUT.search(text)
    return Network(name, document, left_out[1].rstrip(".") if left_out else "", folder)


def _beside(value: Any, folder: Path) -> Any:
    """A part of a scenario with traces named by their places, which are relative to its file."""
    if isinstance(value, dict):
        traces = {"trace": str(folder / value["trace"])} if isinstance(value.get("trace"), str) else {}
        return {key: _beside(one, folder) for key, one in value.items()} | traces
    return [_beside(one, folder) for one in value] if isinstance(value, list) else value


def is_compared(flow: Any) -> bool:
    """True for a greedy flow."""
    if not isinstance(flow, dict):
        return False
    return bool(flow.get("kind", "tcp") == "tcp" and flow.get("source", "greedy") == "greedy")


def _flow(flow: dict[str, Any], contender: Contender) -> dict[str, Any]:
    """A flow; if it is compared, with the controller and its parameters."""
    if not is_compared(flow):
        return flow
    given = {key: value for key, value in flow.items() if key not in ("cc", "parameters")}
    return contender.flow(1) | given
