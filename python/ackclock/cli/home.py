"""The home network of ``ackclock compare --wlan``: a phone with a call, and stations beside it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ackclock import _engine
from ackclock.cli import titles
from ackclock.errors import InputError

SHOWN = ("wlans.0.standard", "wlans.0.queue", "links.0.rate", "links.0.queue", "links.0.loss")
"""The keys that ``Home.words`` shows."""

CALL = {
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

    def document(self, background: Mapping[str, Any] | None = None) -> dict[str, Any]:
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
        stations = [{"name": "phone"}, {"name": "sta", "count": self.stations}]
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
            {"name": name} | CALL | dict(zip(("from", "to"), _ends(way, "phone"), strict=True))
            for name, way in zip(DIRECTIONS, ("up", "down"), strict=True)
        ]
        return {
            "wlans": [wlan],
            "links": [wire],
            "flows": [*flows, *calls],
            "record": {"datagrams": True},
        }


def check_no_home(stations: int | None, router: str | None, **flags: bool) -> None:
    """Options of home networks need one."""
    named = {"stations": stations is not None, "router": router is not None} | flags
    for option, given in named.items():
        if given:
            option = f"--{option.replace('_', '-')}"
            raise InputError(f"{option}: only home networks have stations, with --wlan 802.11g")


def _ends(way: str, station: str) -> tuple[str, str]:
    return (station, "server") if way == "up" else ("server", station)


def _half(rtt: str) -> str:
    """Half of a time as the language writes it."""
    try:
        return f"{_engine.quantity(rtt, 'time') * 1e6 / 2:.3f}us"
    except ValueError as error:
        raise InputError(f"--rtt: {error}") from None
