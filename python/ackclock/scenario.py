"""Scenarios built in Python: the same document as a scenario file, as dataclasses.

Values are spelled as in a file: ``"10mbit"``, ``"40ms"``, ``"84p"``, ``"1%"``. A field that is None has its
default.
"""

from __future__ import annotations

import json
import math
import numbers
import os
import pathlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Self, TypeAlias, TypeVar

from ackclock import _engine
from ackclock.controller import Controller, check_controller

Rate: TypeAlias = str | Sequence[Sequence[str]] | Mapping[str, str]
"""``"10mbit"``, ``"unlimited"``, ``[["0s", "10mbit"], ["20s", "5mbit"]]``, ``{"trace": "saw.down"}``
or ``{"rate": "10mbit", "burst": "32kB"}``, perhaps with ``peakrate``."""

Queue: TypeAlias = str | Mapping[str, Any] | Sequence[Sequence[Any]]
"""``"84p"``, ``"64kB"``, ``"100ms"``, ``"1bdp"``, ``"infinite"``, ``"fq_codel:100p"`` or a table
``{"limit": "84p", …}`` with the keys ``count_in_service``, ``count_delayed``, ``mark_above``, ``discipline``
(``"fifo"``, ``"fq_codel"``, ``"red"`` …) and the settings of the discipline; or steps of its limit."""

LossModel: TypeAlias = str | float | Mapping[str, Any] | Sequence[Sequence[Any]]
"""``"1%"``, ``{"model": "gilbert-elliott", …}``, ``{"share": "5%", "correlation": "25%"}``,
``{"packets": [10, 11]}``, ``{"trace": "leo.csv"}``, or steps."""

Delay: TypeAlias = str | Sequence[Sequence[str]] | Mapping[str, str]
"""``"40ms"``, steps ``[["0s", "100ms"], ["30s", "40ms"]]``, or ``{"trace": "leo.csv"}``."""

Jitter: TypeAlias = str | Mapping[str, Any] | Sequence[Sequence[Any]]
"""``"3ms"``, ``{"normal": "20ms", "correlation": "25%", "reorder": True}``, or steps."""

Duplicate: TypeAlias = str | float | Mapping[str, Any]
"""``"1%"``, or ``{"share": "1%", "correlation": "25%"}``."""

Distribution: TypeAlias = str | Mapping[str, Any]
"""``"2s"``, ``{"uniform": ["2s", "3s"]}``, ``{"exponential": "2s"}`` or
``{"pareto": {"mean": "2s", "shape": 1.5}}``; of sizes alike."""

Factory: TypeAlias = Callable[[], Any]
"""Makes one controller written in Python."""

_KEYS = {"from_": "from"}

Part = TypeVar("Part", "Path", "Link")


@dataclass(kw_only=True)
class Reverse:
    """The other direction of a path or link. By default it only delays."""

    rate: Rate | None = None
    queue: Queue | None = None
    loss: LossModel | None = None
    jitter: Jitter | None = None
    duplicate: Duplicate | None = None


@dataclass
class Path:
    """A dumbbell: one bottleneck that all flows share."""

    rate: Rate
    """Rate of the bottleneck, of IP bytes."""
    rtt: Delay | None = None
    """Base round-trip time, half of it each way. This or ``delay``."""
    queue: Queue | None = None
    """The queue before the bottleneck; required unless the rate is unlimited."""
    loss: LossModel | None = None
    """Random loss before the queue."""
    delay: Delay | Mapping[str, Delay] | None = None
    """One-way propagation delay, or ``{"forward": "20ms", "reverse": "30ms"}``."""
    reverse: Reverse | None = None
    """The direction of the ACKs."""
    jitter: Jitter | None = None
    """Random delay behind the bottleneck."""
    reorder: bool | None = None
    """Packets overtake others when a delay becomes shorter, in both directions."""
    duplicate: Duplicate | None = None
    """Data of TCP flows that arrive twice at the bottleneck."""


@dataclass(kw_only=True)
class Link:
    """A link between two named nodes."""

    from_: str
    """The node that sends into it (``from`` in a file)."""
    to: str
    """The node at its end."""
    rate: Rate
    """Its rate, of IP bytes."""
    delay: Delay
    """Propagation delay, the same in both directions."""
    queue: Queue | None = None
    """The queue before it; required unless the rate is unlimited."""
    name: str | None = None
    """Its name in reports; by default ``<from>-<to>``. The other direction is ``<name>:reverse``."""
    loss: LossModel | None = None
    """Random loss before the queue."""
    duplex: bool | None = None
    """There is a reverse direction with the same rate, queue, loss and jitter."""
    reverse: Reverse | None = None
    """The reverse direction, where it differs."""
    jitter: Jitter | None = None
    """Random delay behind it."""
    duplicate: Duplicate | None = None
    """Data of TCP flows that arrive twice at it."""
    reorder: bool | None = None
    """Packets overtake others when the delay becomes shorter, in both directions."""
    snoop: Mapping[str, str] | None = None
    """A Snoop agent before the link: ``{}``, or ``{"timeout_min": "100ms"}``."""
    count: int | None = None
    """Number of copies; ``{copy}`` in a text is the number of the copy, from 0."""
    copies: Sequence[int | str] | None = None
    """Copies with these numbers or names, for which ``{copy}`` stands. This or ``count``."""


@dataclass(kw_only=True)
class Wlan:
    """A wireless network: an access point and the stations that share its channel."""

    standard: str
    """The amendment of IEEE 802.11: ``"802.11a"``, ``"802.11b"``, ``"802.11g"``, ``"802.11n"``,
    ``"802.11ac"`` or ``"802.11ax"``."""
    stations: int | Sequence[str | Mapping[str, Any]]
    """Its stations: their number (``sta-0``, ``sta-1``…), or a list of names or tables."""
    name: str | None = None
    """Its name in reports."""
    access_point: str | None = None
    """The node that is its access point; by default ``ap``."""
    rate: str | None = None
    """The rate of data frames: ``"54mbit"``, ``"mcs7"``, ``"fastest"`` (the default), ``"arf"``,
    ``"samplerate"``, ``"samplerate-freebsd"`` or ``"minstrel"``."""
    queue: Queue | None = None
    """The queue of each station and of the access point, by default ``"200p"``."""
    airtime_fairness: bool | None = None
    """The access point has such a queue for each station, and serves them in turn by airtime."""
    frame_errors: str | float | None = None
    """The share of data frames that are lost on the air."""
    distance: str | None = None
    """The distance of stations from the access point (``"20m"``), in place of ``frame_errors``."""
    edca: bool | None = None
    """Frames contend by access category; by default in 802.11n, ac and ax."""
    retry_limit: int | None = None
    """The most transmissions of a frame, or of the RTS before it."""
    long_retry_limit: int | None = None
    """The most transmissions of a frame behind an RTS."""
    lifetime: str | None = None
    """The age at which packets are given up; by default never."""
    beacon_interval: str | None = None
    """The time from one beacon of the access point to the next (``"102.4ms"``); by default it sends none."""
    rts_above: str | None = None
    """RTS and CTS go before larger frames; by default before none."""
    protection: bool | None = None
    """Stations of 802.11b are near: long slots, and a CTS before each OFDM frame."""
    short_preamble: bool | None = None
    """DSSS frames above 1 Mbit/s have the short preamble."""
    txop: str | None = None
    """The transmission opportunity of a station: a time, or ``"standard"``; by default one frame."""
    basic_rates: Sequence[str] | None = None
    """The basic rates, at which responses go."""
    channel_width: str | None = None
    """``"20MHz"`` or ``"40MHz"`` of 802.11n; up to ``"160MHz"``, by default 80 MHz, of 802.11ac and ax."""
    short_guard_interval: bool | None = None
    """Symbols of 802.11n and ac take 3.6 us in place of 4 us."""
    guard_interval: str | None = None
    """The guard interval of 802.11ax: ``"0.8us"``, ``"1.6us"`` or ``"3.2us"``."""
    streams: int | None = None
    """Spatial streams of 802.11n, ac and ax, 1 to 4."""
    hidden: str | Sequence[Sequence[str]] | None = None
    """Stations that do not hear each other: ``"all"``, or lists of names like ``[["laptop", "tv"]]``."""
    conventions: Mapping[str, Any] | None = None
    """Readings of the standard: ``after_collision``, ``countdown``, ``eifs_rate`` and others."""


@dataclass
class Flow:
    """One sender with its receiver, or several alike."""

    cc: str | type[Controller]
    """The congestion controller: its name, a class written in Python, or a file ``….bpf.c`` or ``….rs``."""
    parameters: Mapping[str, Any] | None = None
    """Parameters of the controller."""
    name: str | None = None
    """Its name in reports; by default ``<cc>-<index among the flows>``."""
    count: int | None = None
    """Number of copies; ``{copy}`` in a text is the number of the copy, from 0. Their names get ``-0``,
    ``-1`` and so on."""
    copies: Sequence[int | str] | None = None
    """Copies with these numbers or names, for which ``{copy}`` stands. This or ``count``."""
    start: str | None = None
    """When it starts."""
    start_jitter: str | None = None
    """A random delay of the start, uniform from 0 to below this."""
    stop: str | None = None
    """When it stops, or the last of ``every`` has started; by default at the end of the run."""
    bytes: Distribution | None = None
    """The amount that it sends; the flow ends when all is delivered. By default without end."""
    every: Distribution | None = None
    """The time from one connection of ``bytes`` to the next; their names get ``-0``, ``-1`` and so on."""
    think: Distribution | None = None
    """Pages of connections in place of ``every``: the pause from one complete page to the next request."""
    connections: Distribution | int | None = None
    """The number of parallel connections of a page; by default one."""
    rtt: Delay | None = None
    """Base round-trip time of this flow in place of the path's."""
    from_: str | None = None
    """The node of the sender, among ``links`` (``from`` in a file)."""
    to: str | None = None
    """The node of the receiver."""
    via: Sequence[str] | None = None
    """All nodes from sender to receiver in order, in place of ``from_`` and ``to``."""
    extra_delay: str | None = None
    """Propagation delay each way on top of that of the links."""
    subflows: Sequence[Mapping[str, Any]] | None = None
    """The paths of a multipath flow, each ``{"from": …, "to": …}`` or ``{"rtt": …}``."""
    relays: Mapping[str, Any] | None = None
    """``{"flow": …, "buffer": …}``: the flow whose data it sends on, as a proxy."""
    quick_start: str | None = None
    """The rate that the SYN requests from the routers (Quick-Start)."""
    access_category: str | None = None
    """``"background"``, ``"best-effort"``, ``"video"`` or ``"voice"``, in wireless networks with EDCA."""
    dscp: str | None = None
    """The code point of its packets (``"EF"``), by which ``cake`` with ``diffserv`` sorts them."""
    profile: str | None = None
    """The TCP options of a stack or era; by default the profile of the scenario."""
    transport: Mapping[str, Any] | None = None
    """Single TCP options in place of those of the profile."""
    kind: str | None = None
    """``"tcp"``, or ``"datagram"``: datagrams at the rate of the source, whatever the controller says."""
    echo: bool | None = None
    """Each datagram is echoed; by default it is."""
    packet_size: str | None = None
    """IP size of a datagram."""
    source: Mapping[str, Any] | str | Sequence[Sequence[str]] | None = None
    """The data of the application; by default as much as the flow can send. Datagrams may follow a recording:
    ``{"trace": "call.txt"}``."""
    changes: Sequence[Mapping[str, Any]] | None = None
    """``{"at": "10s", "parameters": {…}}``: parameters that change while the flow runs."""


@dataclass(kw_only=True)
class Record:
    """The samples and events of a run to record; a sampling is ``"100ms"``, ``"20acks"`` or ``"off"``."""

    flow_series: str | None = None
    """Window, round-trip time and rates of every flow."""
    probes: str | None = None
    """Internals of the controllers."""
    link_series: str | None = None
    """Queue and throughput of every link."""
    events: bool | None = None
    """Drops, marks, losses, retransmissions, timeouts, recoveries."""
    frames: bool | None = None
    """Every frame on the air of a wireless network."""
    datagrams: bool | None = None
    """Every datagram that arrives."""


@dataclass
class Scenario:
    """A network and the flows on it. The network is one bottleneck (``path``) or any number of ``links``."""

    name: str = "scenario"
    """Its name in reports."""
    path: Path | None = None
    """One bottleneck that all flows share."""
    links: Sequence[Link] = field(default_factory=list)
    """Links between named nodes, in place of ``path``."""
    wlans: Sequence[Wlan] = field(default_factory=list)
    """Wireless networks; their access points and stations are nodes like those of ``links``."""
    flows: Sequence[Flow] = field(default_factory=list)
    """The senders."""
    duration: str = "60s"
    """Length of the run."""
    warmup: str | None = None
    """The measured interval starts here and ends with the run."""
    seed: int | None = None
    """Fixes every random draw."""
    phase_noise: bool | None = None
    """Clocks of hosts have a phase that is drawn, and hosts take microseconds; by default true."""
    profile: str | None = None
    """The TCP options of flows that name no profile."""
    record: Record | None = None
    """The samples and events to record."""

    @classmethod
    def load(
        cls,
        file: str | os.PathLike[str],
        overrides: Mapping[str, Any] | None = None,
        *,
        files: _engine.Files | None = None,
    ) -> Self:
        """Reads a scenario file, with the values at the dotted keys of ``overrides`` in place of its own.

        ``files`` remembers the files that the scenario names. Raises ScenarioError, or OSError if the file
        cannot be read.
        """
        text = read(pathlib.Path(file))
        plan = _engine.resolve(text, os.fspath(file), override_list(overrides), files)
        return cls.from_document(json.loads(plan.resolved))

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> Self:
        """The scenario of a document of the shape of a scenario file, such as ``Run.scenario``.

        Raises TypeError for an unknown key.
        """
        given = _arguments(document)
        if "path" in given:
            given["path"] = _with_reverse(Path, given["path"])
        given["links"] = [_with_reverse(Link, link) for link in given.get("links", ())]
        given["wlans"] = [Wlan(**wlan) for wlan in given.get("wlans", ())]
        given["flows"] = [Flow(**_arguments(flow)) for flow in given.get("flows", ())]
        if "record" in given:
            given["record"] = Record(**given["record"])
        return cls(**given)

    def resolved(self, overrides: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """The complete document, all defaults filled in and everything checked. Raises ScenarioError."""
        plan, _ = self.compiled(overrides)
        resolved: dict[str, Any] = json.loads(plan.resolved)
        return resolved

    def compiled(
        self, overrides: Mapping[str, Any] | None = None, files: _engine.Files | None = None
    ) -> tuple[_engine.Plan, list[Factory]]:
        """What engines take: the plan, and makers of its controllers in Python.

        ``files``: see ``load``. Raises ScenarioError.
        """
        text, factories = self.as_json()
        return _engine.resolve_json(text, override_list(overrides), files), factories

    def as_json(self) -> tuple[str, list[Factory]]:
        """The document as JSON, not yet resolved, and makers of its controllers in Python.

        Raises ScenarioError.
        """
        document = _document(self)
        factories: list[Factory] = []
        for flow, described in zip(self.flows, document.get("flows", ()), strict=True):
            if not isinstance(flow.cc, str):
                if not isinstance(flow.cc, type):
                    raise TypeError(
                        f"flows.{_index_of(self.flows, flow)}.cc is {flow.cc!r}: it must be the name of a "
                        "controller, or a class written in Python"
                    )
                check_controller(flow.cc)
                described["cc"] = f"python:{len(factories)}:{flow.cc.__name__}"
                if flow.name is None and flow.count is None:
                    described["name"] = f"{flow.cc.__name__}-{_index_of(self.flows, flow)}"
                factories.append(_factory(flow.cc, dict(flow.parameters or {})))
        return json.dumps(_plain(document, ""), default=str), factories


def display_name(cc: str) -> str:
    """The name of a controller in tables and plots: of a file in C without its folder."""
    return _engine.controller_label(cc)


def in_file(cc: str) -> str:
    """``cc`` in a resolved scenario: a file in C by its absolute path."""
    file = _engine.controller_file(cc)
    return cc if file is None else str(pathlib.Path(file).absolute())


def override_list(overrides: Mapping[str, Any] | None) -> list[tuple[str, str]]:
    """Overrides as the engine takes them: dotted keys, and values in TOML (text stays as it is)."""
    return [
        (key, value if isinstance(value, str) else _toml(value)) for key, value in (overrides or {}).items()
    ]


def read(file: pathlib.Path) -> str:
    """The text of a scenario file. Raises ScenarioError where it is not UTF-8, or OSError."""
    try:
        return file.read_text("utf-8")
    except UnicodeDecodeError as error:
        raise _error(
            f"{file}: is not UTF-8 text (byte {error.start} is the first that is not)", str(file)
        ) from None


def _error(message: str, file: str, key: str = "") -> _engine.ScenarioError:
    error = _engine.ScenarioError(message)
    error.file, error.line, error.key = file, None, key
    return error


def _document(part: Any) -> dict[str, Any]:
    """A dataclass as a table of the document, without fields that are None."""
    table: dict[str, Any] = {}
    for attribute in fields(part):
        value = getattr(part, attribute.name)
        if value is None:
            continue
        if isinstance(value, Path | Reverse | Record):
            value = _document(value)
        elif attribute.name in ("links", "wlans", "flows"):
            value = [_document(item) for item in value]
        table[_KEYS.get(attribute.name, attribute.name)] = value
    for name in ("links", "wlans"):
        if table.get(name) == []:
            del table[name]
    return table


def _plain(value: Any, key: str) -> Any:
    """A value for JSON: NumPy's numbers become Python's. Raises ScenarioError for other types."""
    match value:
        case str():
            if any("\ud800" <= character <= "\udfff" for character in value):
                raise _error(f"scenario: {key}: {value!a} is no text", "", key)
        case Mapping():
            return {str(k): _plain(v, f"{key}.{k}".lstrip(".")) for k, v in value.items()}
        case list() | tuple():
            return [_plain(one, f"{key}.{number}") for number, one in enumerate(value)]
        case numbers.Integral() if not isinstance(value, bool):
            return int(value)
        case numbers.Real() if not isinstance(value, bool):
            if not math.isfinite(value):
                raise _error(f"scenario: {key}: {value} is no number", "", key)
            return float(value)
    return value


def _arguments(table: Mapping[str, Any]) -> dict[str, Any]:
    return {"from_" if key == "from" else key: value for key, value in table.items()}


def _with_reverse(kind: type[Part], table: Mapping[str, Any]) -> Part:
    given = _arguments(table)
    if "reverse" in given:
        given["reverse"] = Reverse(**given["reverse"])
    return kind(**given)


def _index_of(flows: Sequence[Flow], wanted: Flow) -> int:
    """The number of flows before ``wanted``, copies counted."""
    index = 0
    for flow in flows:
        if flow is wanted:
            break
        index += flow.count or 1
    return index


def _factory(kind: type[Controller], parameters: dict[str, Any]) -> Factory:
    return lambda: kind(**parameters)


def _toml(value: Any) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case int() | float():
            return repr(value)
        case str():
            return json.dumps(value)
        case Mapping():
            return "{" + ", ".join(f"{json.dumps(key)} = {_toml(item)}" for key, item in value.items()) + "}"
        case Sequence():
            return "[" + ", ".join(map(_toml, value)) + "]"
    raise TypeError(f"{value!r}: an override is text, a number, true or false, or a list or table of these")
