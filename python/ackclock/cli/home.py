"""The home of ``ackclock compare --networks 802.11g``: a phone with a call, and stations beside it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ackclock import _engine
from ackclock.cli import titles
from ackclock.cli.paths import PathGiven
from ackclock.errors import InputError

SHOWN = ("wlans.0.standard", "wlans.0.queue", "links.0.rate", "links.0.queue", "links.0.loss")
"""The keys that ``Home.words`` shows."""

STANDARDS = "802.11"
"""The beginning of the names of all standards."""

OPTIONS = {"stations": True, "up": False, "down": False, "router": True, "airtime-fairness": False}
"""The options of a home, each with whether it has a value."""

WIRE = {"rate": "1gbit", "queue": "200p"}
"""The defaults of a home that differ from a path's."""

MOST_STATIONS = 1000

PHONE = "phone"
"""The station that has the call."""

VOICE = {
    "cc": "newreno",
    "kind": "datagram",
    "echo": False,
    "packet_size": "200B",
    "source": {"rate": "80kbit"},
    "start_jitter": "20ms",
}
"""G.711: 160 bytes of voice and 40 of headers every 20 ms, each way. The controller only observes."""


@dataclass(frozen=True)
class Home:
    """An access point, a phone and stations on one channel, and a server behind a wire."""

    standard: str
    stations: int
    up: bool
    down: bool
    rate: str
    """The rate of the wire."""
    rtt: str
    queue: str
    """The queue of each station and of the access point."""
    router: str
    """The queue at each end of the wire."""
    loss: str
    """The random loss on the wire."""
    airtime_fairness: bool = False
    """The access point serves its stations in turn by airtime."""

    @classmethod
    def read(cls, text: str, path: PathGiven) -> Home:
        """The home of ``STANDARD:OPTION,…``, behind a wire with the keys of the path. Raises InputError."""
        if named := sorted({"trace", "tc"} & path.given):
            raise InputError(f"--{named[0]}: describes a path, and --networks {text} is a network of its own")
        standard, _, given = text.partition(":")
        found: dict[str, str] = {}
        for part in given.split(",") if given else []:
            option, equals, value = (word.strip() for word in part.partition("="))
            if option not in OPTIONS or OPTIONS[option] != bool(equals and value):
                known = ", ".join(f"{one}=VALUE" if value else one for one, value in OPTIONS.items())
                raise InputError(f"--networks {text}: `{part}` must be one of {known}")
            found[option] = value
        number = found.get("stations", "8")
        if not number.isdecimal() or not 1 <= int(number) <= MOST_STATIONS:
            raise InputError(f"--networks {text}: stations must be a whole number from 1 to {MOST_STATIONS}")
        keys = {**path.values} | {key: value for key, value in WIRE.items() if key not in path.given}
        return cls(
            standard,
            int(number),
            up="up" in found or "down" not in found,
            down="down" in found,
            router=found.get("router", "1000p"),
            airtime_fairness="airtime-fairness" in found,
            **keys,
        )

    @property
    def ends(self) -> dict[str, str]:
        """The ends of a call in one direction: to the phone where stations receive, and from it otherwise."""
        return dict(zip(("from", "to"), _ends("down" if self.down else "up", PHONE), strict=True))

    def words(self, settings: titles.Settings) -> str:
        """The runs in words."""
        sends = " and ".join([word for word, on in (("send", self.up), ("receive", self.down)) if on])
        given = (self.standard, self.queue, self.rate, self.router, self.loss)
        standard, radio, rate, router, loss = titles.as_set(dict(zip(SHOWN, given, strict=True)), settings)
        return (
            f"{standard}, {self.stations} stations that {sends}, radio queue {radio}"
            f"{', airtime fairness' if self.airtime_fairness else ''}; "
            f"wire {rate}, {self.rtt}, router queue {router}, loss {loss}"
        )

    def document(
        self, background: Mapping[str, Any] | None = None, with_voice: bool = True
    ) -> dict[str, Any]:
        """The scenario with the flows ``background`` (a table) at each station and in each direction.

        They come first, so that ``flows.0`` is one of the background.
        """
        from ackclock.report.calls import DIRECTIONS

        wire = {
            "from": "ap",
            "to": "server",
            "rate": self.rate,
            "delay": _half(self.rtt),
            "queue": self.router,
            "loss": self.loss,
            "duplex": True,
        }
        stations = [{"name": PHONE}, {"name": "sta", "count": self.stations}]
        wlan: dict[str, Any] = {"standard": self.standard, "stations": stations, "queue": self.queue}
        wlan |= {"airtime_fairness": True} if self.airtime_fairness else {}
        flows = [
            {**background, "name": f"{way}-{number}", "from": start, "to": end, "start_jitter": "200ms"}
            for way, on in (("up", self.up), ("down", self.down))
            for number in range(self.stations)
            if on and background is not None
            for start, end in [_ends(way, f"sta-{number}")]
        ]
        calls = [
            {"name": name} | VOICE | dict(zip(("from", "to"), _ends(way, PHONE), strict=True))
            for name, way in zip(DIRECTIONS, ("up", "down"), strict=True)
            if with_voice
        ]
        return {"wlans": [wlan], "links": [wire], "flows": [*flows, *calls], "record": {"datagrams": True}}


def is_home(networks: str) -> bool:
    """True if ``--networks`` names the standard of a home in place of networks."""
    return networks.startswith(STANDARDS)


def _ends(way: str, station: str) -> tuple[str, str]:
    return (station, "server") if way == "up" else ("server", station)


def _half(rtt: str) -> str:
    """Half of a time as the language writes it."""
    try:
        return f"{_engine.quantity(rtt, 'time') * 1e6 / 2:.3f}us"
    except ValueError as error:
        raise InputError(f"--rtt: {error}") from None
