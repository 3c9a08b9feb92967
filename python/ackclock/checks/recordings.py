"""Judges recordings: laws of windows in the log of a QUIC stack, or in a capture taken at the sender.

A recording shows one path. A law is judged where the recording exercises it, and otherwise says why not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from ackclock import qlogs
from ackclock.capture_files import is_capture
from ackclock.captures import connections
from ackclock.cases.judgement import verdict
from ackclock.cases.model import Claim, Judgement
from ackclock.checks import recorded_bbr
from ackclock.checks.recording import INITIAL, Measured, Recording, law
from ackclock.errors import InputError
from ackclock.recorded import Recorded, largest
from ackclock.verdict import NOT_JUDGED

MOST = 100
"""The most senders of a capture that are judged."""
ENDINGS = (".qlog", ".sqlog", ".pcap", ".pcapng")
"""A target with such a name is a recording, whatever it holds."""
KEPT = {"newreno": 0.5, "cubic": 0.7, "cubic-rfc": 0.7}
"""The share of the window that a controller keeps after a loss."""
LEAST_KEPT, MOST_KEPT, NEAR = 0.2, 0.9, 0.07
"""The share that a controller without a name may keep, and the distance allowed from a known share."""
BY_RATE = ("bbr1", "bbr3")
"""Controllers whose window follows a model of the path, and neither single losses nor ACKs."""
MOMENT = 1e-9
"""A new window at the instant of a loss follows it."""
DROP = 0.95
"""A window below this share of the value before was reduced."""
LEAST = 2
"""The least window in datagrams (RFC 9002, section 7.2)."""
SMALLEST = 1200
"""The bytes of a datagram that every path of QUIC carries (RFC 9000, section 14)."""
MOST_GROWTH = 2.5
"""Slow start doubles the window in an RTT. One that counts ACKs twice triples it."""


def is_recording(text: str) -> bool:
    """True for the name of a file that is a log or a capture."""
    path = Path(text)
    if path.suffix in ENDINGS:
        return True
    return (path.is_file() or path.is_fifo()) and (qlogs.is_log(path) or is_capture(path))


def read(path: Path) -> tuple[list[Recording], str]:
    """The recordings in a file, and a sentence if it is cut off. Raises InputError without any."""
    if qlogs.is_log(path):
        logs = qlogs.read(path)
        found, remark = [_of_log(one) for one in logs.traces], logs.remark
    else:
        capture = connections(path)
        largest_flows, left_out = largest(capture, MOST, str(path))
        found = [_of_flow(one) for one in largest_flows]
        remark = "; ".join(one for one in (capture.remark, left_out) if one)
    shown = [one for one in found if one is not None]
    if not shown:
        raise InputError(f"{path}: shows no window and no RTT of a sender over time")
    return shown, remark


def _of_log(one: qlogs.Log) -> Recording | None:
    window = one.metrics["congestion_window"]
    smoothed = one.metrics["smoothed_rtt"]
    rtt = np.where(np.isfinite(smoothed), smoothed, one.metrics["latest_rtt"])
    known = np.isfinite(window) & np.isfinite(rtt) & (window >= 1.0) & (rtt > 0)
    if not known.any():
        return None
    full = one.sent_bytes[one.sent_bytes >= SMALLEST]
    return Recording(
        one.title,
        one.times[known],
        window[known],
        one.metrics["bytes_in_flight"][known],
        rtt[known],
        one.lost,
        float(full.min()) if full.size else SMALLEST,
        True,
        one.sent,
        one.sent_bytes,
        one.metrics["pacing_rate"][known],
        one.states,
        one.lost_numbers,
        one.spurious,
        one.is_tcp,
    )


def _of_flow(one: Recorded) -> Recording | None:
    at, samples = one.rtt
    if not samples.size or not one.is_at_sender:
        return None
    again = one.retransmissions
    times, flight = one.data["time"], one.outstanding.astype(np.float64)
    rtt = samples[np.maximum(np.searchsorted(at, times, side="right") - 1, 0)]
    lost = times[again.rows[(again.causes == "fast") & ~again.spurious]]
    sizes = one.data["payload"].astype(np.float64)
    return Recording(one.flow.sender, times, flight, flight, rtt, lost, one.segment, False, times, sizes)


def check(recording: Recording, names: Sequence[str]) -> list[Judgement]:
    """The laws for a recording. ``names`` are the algorithms that its sender implements (``--as``)."""
    kept = next((KEPT[name] for name in names if name in KEPT), None)
    by_rate = next((name for name in names if name in BY_RATE), None)
    found = []
    for claim, (value, why) in _measured(recording, by_rate):
        of = claim
        if claim.id == "recorded-reduction" and kept is not None:
            of = replace(claim, low=kept - NEAR, high=kept + NEAR)
        found.append(Judgement(of, value, NOT_JUDGED if value is None else verdict(of, value), why))
    return found


def _measured(recording: Recording, by_rate: str | None) -> Iterator[tuple[Claim, Measured]]:
    """Each law with its value, or the reason for which it has none. BBR 3 has the cases of its draft, too."""
    for claim, measure, is_of_acks in LAWS:
        if by_rate and is_of_acks:
            yield claim, (None, f"the window of {by_rate} follows a model of the path")
        else:
            yield claim, measure(recording)
    if by_rate == recorded_bbr.NAME:
        yield from recorded_bbr.cases(recording)


def _reduction(of: Recording) -> Measured:
    """The share of the window that is left after a loss, the median over rounds with losses."""
    kept = []
    for time, rtt in of.episodes():
        if of.has_window:
            after = of.within(time - MOMENT, time + 1.5 * rtt)
            kept += [float(after.min()) / of.before(time)] if after.size else []
        else:
            # The recovery takes an RTT, in which lost data counts as outstanding.
            before = of.within(time - rtt, time - MOMENT)
            after = of.within(time + 1.5 * rtt, time + 2.5 * rtt)
            kept += [float(after.max() / before.max())] if before.size and after.size else []
    return (float(np.median(kept)), "") if kept else (None, "the recording has no loss")


def _reductions(of: Recording) -> Measured:
    """The reductions within an RTT of a loss, the most of any round with losses."""
    if not of.has_window:
        return None, "a capture has no window"
    most = [
        int(
            (
                np.diff(np.log(np.append(of.before(time), of.within(time - MOMENT, time + rtt))))
                < np.log(DROP)
            ).sum()
        )
        for time, rtt in of.episodes()
    ]
    return (float(max(most)), "") if most else (None, "the recording has no loss")


def _growth(of: Recording) -> Measured:
    """The window over the window an RTT before, the most."""
    later = np.searchsorted(of.times, of.times + of.rtt, side="right") - 1
    is_whole = of.times + of.rtt <= of.times[-1]
    if not of.has_window:
        return None, "a capture has no window"
    if not is_whole.any():
        return None, "the recording is shorter than an RTT"
    return float((of.window[later] / of.window)[is_whole].max()), ""


def _idle_growth(of: Recording) -> Measured:
    """The share of all growth that happens while less than half of the window is in flight."""
    if not of.has_window:
        return None, "a capture has no window"
    if not np.isfinite(of.flight).any():
        return None, "the recording has no bytes_in_flight"
    steps = np.diff(of.window).clip(min=0.0)
    most = np.fmax(of.flight[1:], of.flight[:-1])
    is_idle = most < 0.5 * of.window[:-1]
    if not is_idle.any():
        return None, "the application never left half of the window unused"
    return (float(steps[is_idle].sum() / steps.sum()), "") if steps.any() else (0.0, "")


def _least(of: Recording) -> Measured:
    """The smallest window, in datagrams."""
    if not of.has_window:
        return None, "a capture has no window"
    if of.is_tcp:
        return None, "TCP has a window of one segment after a timeout (RFC 5681, section 3.1)"
    return float(of.window.min() / of.segment), ""


def _burst(of: Recording) -> Measured:
    """The most data that leaves in a twentieth of an RTT, over the amount that pacing allows.

    Pacing allows an initial window at once, and the window twice in an RTT.
    """
    if not of.has_window:
        return None, "TCP may send without pacing"
    if not of.sent.size:
        return None, "the recording has no packet_sent"
    if of.sent_bytes.max() > 2 * of.segment:
        return None, "a packet_sent in it stands for several packets"
    rows = np.maximum(np.searchsorted(of.times, of.sent, side="right") - 1, 0)
    span = of.rtt[rows] / 20
    sums = np.concatenate(([0.0], np.cumsum(of.sent_bytes)))
    until = np.searchsorted(of.sent, of.sent + span, side="right")
    inside = sums[until] - sums[:-1]
    allowed = INITIAL * of.segment + 2 * of.window[rows] / 20
    return float((inside / allowed).max()), ""


LAWS: tuple[tuple[Claim, Callable[[Recording], Measured], bool], ...] = (
    (
        law(
            "reduction", "window after a loss, share of that before", "RFC 9002, section 7.3.2",
            "a loss is answered by a smaller window", LEAST_KEPT, MOST_KEPT,
        ),
        _reduction,
        True,
    ),
    (
        law(
            "one-reduction", "reductions within an RTT of a loss", "RFC 9002, section 7.3.2",
            "the losses of one round are one congestion event", high=1.0,
        ),
        _reductions,
        True,
    ),
    (
        law(
            "growth", "window over the window an RTT before", "RFC 9002, section 7.3.1",
            "slow start adds the bytes acknowledged, so it doubles in an RTT", high=MOST_GROWTH,
        ),
        _growth,
        True,
    ),
    (
        law(
            "application-limit", "share of the growth with the window half unused", "RFC 9002, section 7.8",
            "a window that is not used must not grow", high=0.1,
        ),
        _idle_growth,
        True,
    ),
    (
        law(
            "least-window", "smallest window in datagrams", "RFC 9002, section 7.2",
            "the least window is two datagrams", low=LEAST - 0.01,
        ),
        _least,
        False,
    ),
    (
        law(
            "pacing", "data in a twentieth of an RTT, over the allowed", "RFC 9002, section 7.7",
            "a sender paces, or limits bursts to the initial window", high=1.0,
        ),
        _burst,
        False,
    ),
)  # fmt: skip
"""Each law, its measure, and if it is about windows that follow ACKs and losses."""
