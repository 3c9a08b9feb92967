"""The tables of the scenario language as dataclasses.

Values are spelled as in a file: ``"10mbit"``, ``"40ms"``, ``"84p"``, ``"1%"``. A field that is None has its
default.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from ackclock.controller import Controller

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

# Below: written by tools/written from the schema, in the order that the fields had before.


@dataclass(kw_only=True)
class Reverse:
    """The other direction of a path or link. By default it only delays."""

    rate: Rate | None = None
    """Its rate."""
    queue: Queue | None = None
    """Its queue."""
    loss: LossModel | None = None
    """Its random loss."""
    jitter: Jitter | None = None
    """Random delay behind it."""
    duplicate: Duplicate | None = None
    """Data of TCP flows that arrive twice: a share of the packets, or a table with ``correlation`` (netem of
    ``tc``)."""
    clear_ecn: str | None = None
    """Equipment clears the ECN field, ``"before"`` the queue or ``"after"`` it, as at the ends of tunnels."""
    framing: str | Mapping[str, Any] | None = None
    """Headers, padding and cells that packets take on the line: keywords like ``"pppoe-vcmux"``, or a
    table."""


@dataclass
class Path:
    """A dumbbell: the bottleneck, and the propagation delay of every flow after it."""

    rate: Rate
    """Rate of the bottleneck, of IP bytes."""
    rtt: Delay | None = None
    """Base RTT (propagation), half of it each way. This or ``delay``."""
    queue: Queue | None = None
    """The queue before the bottleneck. To be given unless the rate is unlimited."""
    loss: LossModel | None = None
    """Random loss before the queue."""
    delay: Delay | Mapping[str, Delay] | None = None
    """One-way propagation delay."""
    reverse: Reverse | None = None
    """The path of the ACKs."""
    jitter: Jitter | None = None
    """Random delay behind it."""
    reorder: bool | None = None
    """Packets overtake others when a delay becomes shorter, in both directions."""
    duplicate: Duplicate | None = None
    """Data of TCP flows that arrive twice: a share of the packets, or a table with ``correlation`` (netem of
    ``tc``)."""
    clear_ecn: str | None = None
    """Equipment clears the ECN field, ``"before"`` the queue or ``"after"`` it, as at the ends of tunnels."""
    framing: str | Mapping[str, Any] | None = None
    """Headers, padding and cells that packets take on the line: keywords like ``"pppoe-vcmux"``, or a
    table."""


@dataclass(kw_only=True)
class Link:
    """A link between two nodes."""

    from_: str
    """The node that sends into it. (``from`` in a file)"""
    to: str
    """The node at its end."""
    rate: Rate
    """Its rate, of IP bytes."""
    delay: Delay
    """Propagation delay, the same in both directions."""
    queue: Queue | None = None
    """The queue before it. To be given unless the rate is unlimited."""
    name: str | None = None
    """Its name in reports, by default ``<from>-<to>``. The other direction is ``<name>:reverse``."""
    loss: LossModel | None = None
    """Random loss before the queue."""
    duplex: bool | None = None
    """The link has a reverse direction with the same rate, queue, loss and jitter. This or ``reverse``."""
    reverse: Reverse | None = None
    """The reverse direction, where it differs. Without ``duplex`` and this the link has one direction."""
    jitter: Jitter | None = None
    """Random delay behind it."""
    duplicate: Duplicate | None = None
    """Data of TCP flows that arrive twice: a share of the packets, or a table with ``correlation`` (netem of
    ``tc``)."""
    reorder: bool | None = None
    """Packets overtake others when a delay becomes shorter, in both directions."""
    snoop: Mapping[str, Any] | None = None
    """A Snoop agent (Balakrishnan et al. 1995) before the link, at ``from``, which repairs the losses of TCP
    flows that arrive there over other links. By default there is none."""
    count: int | None = None
    """Number of copies; ``{copy}`` in a text is the number of the copy, from 0"""
    copies: Sequence[int | str] | None = None
    """Copies with these numbers or names, for which ``{copy}`` stands. This or ``count``"""
    clear_ecn: str | None = None
    """Equipment clears the ECN field, ``"before"`` the queue or ``"after"`` it, as at the ends of tunnels."""
    framing: str | Mapping[str, Any] | None = None
    """Headers, padding and cells that packets take on the line: keywords like ``"pppoe-vcmux"``, or a
    table."""


@dataclass(kw_only=True)
class Wlan:
    """A wireless network: an access point and the stations on its channel.

    They share it by the rules of IEEE 802.11.
    """

    standard: str
    """The amendment of IEEE 802.11."""
    stations: int | Sequence[str | Mapping[str, Any]]
    """The nodes that are its stations: names, or tables with more, or their number: ``sta-0``, ``sta-1`` and
    so on."""
    name: str | None = None
    """Its name in reports."""
    access_point: str | None = None
    """The node that is its access point."""
    rate: str | None = None
    """The rate of data frames."""
    queue: Queue | None = None
    """The queue of each station and of the access point: packets or bytes."""
    airtime_fairness: bool | None = None
    """The access point has such a queue for each station, and serves them in turn by the time that their
    frames take on the air, up and down (airtime fairness of mac80211). By default there is one queue for
    all."""
    frame_errors: float | str | None = None
    """The share of data frames that are not understood, whoever sends (frame error ratio, IEEE 802.11)."""
    distance: str | None = None
    """How far stations are from the access point, which decides how many frames noise spoils at each rate
    (receiver sensitivity, IEEE 802.11). By default noise spoils none. This or ``frame_errors``."""
    edca: bool | None = None
    """Frames contend by access category (EDCA) and not alike (DCF), by default in 802.11n, ac and ax."""
    retry_limit: int | None = None
    """How often a frame is sent at most, or the RTS before it (dot11ShortRetryLimit)."""
    long_retry_limit: int | None = None
    """How often a frame behind an RTS is sent at most (dot11LongRetryLimit)."""
    lifetime: str | None = None
    """How long after they arrived packets are given up (dot11EDCATableMSDULifetime), by default never."""
    beacon_interval: str | None = None
    """The time from one beacon of the access point to the next (dot11BeaconPeriod), as 102.4ms. By default it
    sends none."""
    rts_above: str | None = None
    """RTS and CTS go before frames of more bytes than this (dot11RTSThreshold), MAC header included, by
    default before none."""
    protection: bool | None = None
    """Stations of 802.11b are near: long slots, and a CTS of its sender before each OFDM frame. Only
    802.11g."""
    short_preamble: bool | None = None
    """DSSS frames above 1 Mbit/s have the short preamble (802.11b)."""
    txop: str | None = None
    """How long a station sends when its turn comes, frame after frame without a backoff
    (dot11EDCATableTXOPLimit): a time for all, or ``standard``, the default of EDCA for each access category.
    By default it sends one frame or A-MPDU."""
    basic_rates: Sequence[str] | None = None
    """The rates that every station understands (BSSBasicRateSet of 802.11): responses go at the highest of
    them that is not above the rate of the frame that they answer. By default 1, 2, 5.5 and 11 or 6, 12 and 24
    Mbit/s."""
    channel_width: str | None = None
    """How wide the channel is: up to 40 MHz in 802.11n, up to 160 MHz in 802.11ac and ax. By default 20 MHz,
    and 80 MHz in 802.11ac and ax."""
    short_guard_interval: bool | None = None
    """Symbols take 3.6 us in place of 4 us. Only 802.11n and ac."""
    guard_interval: str | None = None
    """The guard interval of 802.11ax, whose symbols take 12.8 us more, by default 0.8 us."""
    streams: int | None = None
    """Spatial streams, 1 to 4, by default 2. Only 802.11n, ac and ax."""
    hidden: str | Sequence[Sequence[str]] | None = None
    """Stations that do not sense each other's frames (Tobagi and Kleinrock 1975). By default all do."""
    conventions: Mapping[str, Any] | None = None
    """The points on which readings of IEEE 802.11 differ."""


@dataclass
class Flow:
    """One sender with its receiver, or several alike."""

    cc: str | type[Controller]
    """The congestion controller, as in ``ackclock show controllers``, or a file beside the scenario: ``….c``,
    ``….rs``, ``….so``. Or a class written in Python."""
    parameters: Mapping[str, Any] | None = None
    """Parameters of the controller."""
    name: str | None = None
    """Its name in reports, by default ``<cc>-<index among the flows>``, or the name of the file of a
    controller."""
    count: int | None = None
    """Number of copies. ``{copy}`` in a text is the number of the copy, from 0. Their names get ``-0``,
    ``-1`` and so on."""
    copies: Sequence[int | str] | None = None
    """Copies with these numbers or names, for which ``{copy}`` stands. This or ``count``"""
    start: str | None = None
    """When it starts."""
    start_jitter: str | None = None
    """A random delay of the start, uniform from 0 to below this, drawn for every copy."""
    stop: str | None = None
    """When it stops sending, or the last of ``every`` has started, by default at the end of the run."""
    bytes: Distribution | None = None
    """How much it sends. The flow ends when all is delivered, by default never."""
    every: Distribution | None = None
    """The time from one to the next: a connection of its own, with ``bytes`` each, starts at ``start`` and
    then again and again before ``stop``. Their names get ``-0``, ``-1`` and so on. By default there is
    one."""
    think: Distribution | None = None
    """Pages of connections in place of ``every``: how long their reader pauses from the completion of one
    page to the request of the next. Each connection sends ``bytes``. Pages begin before ``stop``."""
    connections: Distribution | int | None = None
    """How many connections a page has, at once, by default one."""
    rtt: Delay | None = None
    """Base RTT of this flow in place of the path's, half of it each way."""
    from_: str | None = None
    """The node of the sender, among ``links``. The route with the fewest hops is taken. (``from`` in a
    file)"""
    to: str | None = None
    """The node of the receiver."""
    via: Sequence[str] | None = None
    """All nodes from sender to receiver in order, in place of ``from`` and ``to``. ACKs take the same route
    back."""
    extra_delay: str | None = None
    """Propagation delay each way, on top of the delays of the links."""
    subflows: Sequence[Mapping[str, Any]] | None = None
    """The paths that a multipath flow uses at once, with a TCP connection each or one QUIC connection."""
    relays: Mapping[str, Any] | None = None
    """The flow whose data it sends on, from a proxy that splits a connection."""
    quick_start: str | None = None
    """The rate that the SYN asks the routers for (Quick-Start, RFC 4782), by default none."""
    access_category: str | None = None
    """The access category of its packets in wireless networks with EDCA (802.11e), by default best effort."""
    dscp: str | None = None
    """The code point of DiffServ (RFC 2474) in its packets and their ACKs, by which ``cake`` with
    ``diffserv`` sorts them, by default ``CS0``."""
    profile: str | None = None
    """The TCP options of a stack or era, by default the profile of the scenario."""
    transport: Mapping[str, Any] | None = None
    """Single TCP options in place of the profile's."""
    kind: str | None = None
    """TCP, datagrams, or media."""
    echo: bool | None = None
    """The receiver echoes each datagram. By default it does."""
    packet_size: str | None = None
    """IP size of a datagram, or of the largest packet of media, by default 1500 bytes."""
    source: str | Sequence[Sequence[Any]] | Mapping[str, Any] | None = None
    """The data that the application offers."""
    changes: Sequence[Mapping[str, Any]] | None = None
    """Parameters of the controller that change while the flow runs, where the controller allows it (SIAD's
    Num_RTT, Kühlewind 2016), and receive windows."""
    media: Mapping[str, Any] | None = None
    """The encoder of a flow of kind ``media``, its repair of losses and its feedback."""
    reverse: bool | None = None
    """Its data take the way back of a ``path``, and its ACKs the other one, as an upload beside downloads."""


@dataclass(kw_only=True)
class Record:
    """The series and events that a run writes down."""

    flow_series: str | None = None
    """Window, RTT, rates of every flow."""
    probes: str | None = None
    """Internals of the controllers."""
    link_series: str | None = None
    """Queue and throughput of every link: a time or "off"."""
    events: bool | None = None
    """Drops, marks, losses, retransmissions, timeouts, recoveries."""
    frames: bool | None = None
    """Every frame on the air of a wireless network."""
    datagrams: bool | None = None
    """Every datagram that arrives, of flows of kind ``datagram`` and ``media``, and every video frame."""


@dataclass
class Document:
    """A network and the flows on it.

    The network is either one bottleneck (``path``) or any number of ``links``.
    """

    name: str = "scenario"
    """Its name in reports, by default the name of the file."""
    path: Path | None = None
    """One bottleneck that all flows share (a dumbbell)."""
    links: Sequence[Link] = field(default_factory=list)
    """Links between named nodes, in place of ``path``."""
    wlans: Sequence[Wlan] = field(default_factory=list)
    """Wireless networks, whose access points and stations are nodes, as the ends of ``links`` are."""
    flows: Sequence[Flow] = field(default_factory=list)
    """The senders, each with its receiver."""
    duration: str = "60s"
    """How long it runs."""
    warmup: str | None = None
    """The measured interval starts here and ends with the run."""
    seed: int | None = None
    """Fixes every random draw: the same seed gives the same run. At most 2^63 - 1."""
    phase_noise: bool | None = None
    """Unless this is false, the hosts of profiles whose clocks tick have a clock of timestamps whose phase
    the seed draws, and take up to 10 us for a packet."""
    profile: str | None = None
    """The TCP options of flows that name no profile."""
    record: Record | None = None
    """The series and events that the run writes down."""
    buffers: str | None = None
    """The buffers of the hosts of TCP flows: without a limit, or as the profile of a flow has them.
    ``transport.receive_buffer`` and ``transport.send_buffer`` set a flow's."""
