"""The bottleneck of a home network in words: the wire or the radio, for each direction of the background."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ackclock.metrics import column
from ackclock.overview import RunTables

FULL = 0.8
"""A link that is busy for less than this share of the time limits no flow: loss or the controller does."""

SENT = {"up": "sent", "down": "received"}
"""The word for the background of a direction."""


def of_home(run: RunTables) -> dict[str, tuple[str, float]]:
    """For each direction of the background the busier of wire and radio, and its busy share of the time."""
    names = run.links["name"].to_pylist()
    busy = dict(zip(names, column(run.links, "busy_share").tolist(), strict=True))
    # One channel serves both directions: full if a station always has a frame to send, or all together do.
    stations = run.stations.to_pylist()
    airtime = sum(row["airtime_share"] for row in stations)
    radio = min(1.0, max(airtime, *(busy[names[row["link"]]] for row in stations)))
    found = {}
    for way, wire in (("up", names[0]), ("down", f"{names[0]}:reverse")):
        if any(str(name).startswith(f"{way}-") for name in run.flows["name"].to_pylist()):
            found[way] = max(("wire", busy[wire]), ("radio", radio), key=lambda one: one[1])
    return found


def sentence(runs: Mapping[str, Sequence[RunTables]]) -> str:
    """A sentence about the bottleneck of each direction, the wire or the radio.

    ``runs`` are the repetitions of each label with a background.
    """
    of_runs = {label: [of_home(run) for run in of] for label, of in runs.items()}
    said: dict[str, list[str]] = {}
    for way, word in SENT.items():
        places: dict[str, list[str]] = {}
        for label, repetitions in of_runs.items():
            if ways := [one[way] for one in repetitions if way in one]:
                places.setdefault(_place(ways), []).append(label)
        parts = [
            f"{place} beside {' and '.join(labels)}" if len(places) > 1 else place
            for place, labels in places.items()
        ]
        if parts:
            said.setdefault(", ".join(parts), []).append(word)
    parts = [f"of what the stations {' and '.join(words)} was {place}" for place, words in said.items()]
    return f"The bottleneck {', and that '.join(parts)}."


def _place(repetitions: Sequence[tuple[str, float]]) -> str:
    """The place that limits most repetitions."""
    names = sorted(place for place, _ in repetitions)
    place = max(names, key=names.count)
    busy = float(np.median([share for one, share in repetitions if one == place]))
    if busy < FULL:
        return f"no link (the {place} was the busiest, for {100 * busy:.0f} % of the time)"
    return f"the {place}"
