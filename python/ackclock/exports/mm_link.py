"""mm-link: the log of the bottleneck in the format of Mahimahi, for its plots of throughput and delay.

A run has samples, not packets: each line counts all bytes since the sample before it. ``#`` is the
capacity of the link, ``+`` arrivals, ``-`` departures with the delay in ms. Drops are comments, ``# TIME d``:
the plots know no such event.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ackclock.exports import series
from ackclock.metrics import Array
from ackclock.result import Run

PACKET_BYTES = 1500


def write(run: Run, path: Path) -> None:
    """Writes the file."""
    path.write_text("\n".join(lines(run)) + "\n", "utf-8")


def lines(run: Run) -> list[str]:
    """The lines of the log."""
    one = series.of_link(run, series.bottleneck(run))
    times, queue = one["time_s"], one["queue_bytes"]
    left, could = (_each(one[name]) for name in ("departed_bytes", "capacity_bytes"))
    arrived = np.maximum(left + _each(queue), 0.0)
    dropped = _each(one["dropped_packets"])
    spans = _each(times)
    rates = np.divide(could, spans, out=np.zeros_like(times), where=spans > 0.0)
    waits = np.divide(queue, rates, out=np.zeros_like(times), where=rates > 0.0)
    name = run.scenario["name"].replace("\n", " ")
    found = ["# mahimahi mm-link (uplink) [ackclock]", f"# command line: {name}, seed {run.seed}"]
    found.append("# base timestamp: 0")
    for k, time in enumerate(times):
        at = round(time * 1e3)
        counts = (("#", could[k]), ("+", arrived[k]))
        found += [f"{at} {sign} {round(count)}" for sign, count in counts if count >= 1.0]
        if left[k] >= 1.0:
            # The plots refuse a packet that arrived before the start.
            found.append(f"{at} - {round(left[k])} {min(round(waits[k] * 1e3), at)}")
        if dropped[k] >= 1.0:
            found.append(f"# {at} d {round(dropped[k])} {round(dropped[k]) * PACKET_BYTES}")
    return found


def _each(total: Array) -> Array:
    """The rise of a count or a time since the sample before."""
    return np.asarray(np.diff(np.nan_to_num(total), prepend=0.0))
