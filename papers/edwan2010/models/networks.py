"""Networks as the models of allocation see them: links with capacities, and sources with routes of links."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ackclock.errors import InputError
from ackclock.metrics.tables import Array
from ackclock.papers.data.edwan2010.models.vectors import vector


@dataclass(frozen=True)
class Network:
    """Links and sources. Arrays over either are in the order of these names."""

    links: tuple[str, ...]
    sources: tuple[str, ...]
    capacities: Array
    """The capacity of each link, in any unit of rate."""
    routing: Array
    """links x sources: 1 where a source uses a link, else 0."""

    @classmethod
    def of(cls, capacities: Mapping[str, float], routes: Mapping[str, Sequence[str]]) -> Network:
        """A network from the capacity of each link and the links of each source."""
        links = tuple(capacities)
        for source, route in routes.items():
            unknown = [link for link in route if link not in capacities]
            if unknown or not route:
                missing = f"has the unknown link {unknown[0]}" if unknown else "has no link"
                raise InputError(f"the route of {source} {missing}: there are {', '.join(links)}")
        routing = np.array([[float(link in route) for route in routes.values()] for link in links])
        return cls(links, tuple(routes), vector("capacities", list(capacities.values())), routing)

    def load(self, rates: Array) -> Array:
        """The sum of the rates on each link."""
        return np.asarray(self.routing @ rates)

    def route_prices(self, prices: Array) -> Array:
        """The sum of the prices along the route of each source."""
        return np.asarray(self.routing.T @ prices)


def two_links(first: float, second: float) -> Network:
    """The example of the thesis (figure 4.3): source x1 uses links a and b, x2 only a, x3 only b."""
    return Network.of({"a": first, "b": second}, {"x1": ["a", "b"], "x2": ["a"], "x3": ["b"]})


def nine_links() -> Network:
    """The network of 48 sources and 9 links in the thesis (table 5.1)."""
    users = {link: set(_numbers(text)) for link, text in _USERS.items()}
    routes = {str(s): [link for link in users if s in users[link]] for s in range(1, 49)}
    return Network.of(_CAPACITIES, routes)


_CAPACITIES = {"C0": 3, "C1": 4, "C2": 8, "C3": 10, "C4": 6, "C5": 7, "C6": 8, "C7": 11, "C8": 6}
_USERS = {
    "C0": "1,8-10",
    "C1": "1,3-4,6,8-10",
    "C2": "1,3-4,6,8-10,26",
    "C3": "1,3-4,6,8,10,12,44",
    "C4": "1,3,5-6,8,11,13,18,25,27,30,44-45,48",
    "C5": "1,3,5-7,11,13-14,18,27,31,34,44-45,48",
    "C6": "1-3,5-7,11,13-14,16,18-19,28,33-34,36,42,44-45,48",
    "C7": "2-3,6,11,14,16-21,24,28-29,32-36,42-44,46-48",
    "C8": "2,11,14-23,32-43,46-48",
}


def _numbers(text: str) -> Iterable[int]:
    for part in text.split(","):
        first, _, last = part.partition("-")
        yield from range(int(first), int(last or first) + 1)
