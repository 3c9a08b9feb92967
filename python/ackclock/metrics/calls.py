"""Calls: delay, playout and quality of two flows of datagrams, one in each direction.

All is computed from the table ``datagrams`` (``record.datagrams``). Times are in milliseconds. The quality
follows the E-model of ITU-T G.107 (06/2015) with its default values, without echo: R = 93.2 - Idd - Ie,eff,
where only the delay (Idd) and the losses (Ie,eff) vary.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from ackclock import _engine
from ackclock.metrics.rates import goodput_windows
from ackclock.metrics.registry import metric
from ackclock.metrics.tables import Array, MetricError, Recorded, Tables, column, of_flow, percentile_of

VOICE_S = (0.01, 0.06)
"""The times between packets of voice: 10 to 60 ms."""
MOST_VOICE_BPS = 128e3
"""The highest rate of voice, with headers: G.711 in packets of 10 ms has 96 kbit/s."""

R_DEFAULT = 93.2
"""The rating of a call without delay and losses: R0 - Is with the default values of G.107, table 2."""


def arrivals(run: Recorded, flow: str) -> tuple[Array, Array]:
    """The times of sending (s) and the one-way delays (ms) of the datagrams of a flow that arrived."""
    table = run.table("datagrams")
    own = of_flow(run, table, flow)
    sent, arrived = column(table, "sent_s")[own], column(table, "arrived_s")[own]
    order = np.argsort(sent, kind="stable")
    return sent[order], (arrived - sent)[order] * 1e3


def one_way_delays(run: Recorded, flow: str) -> tuple[Array, Array]:
    """The times of sending (s) and the one-way delays (ms) of the datagrams of a flow that arrived.

    Raises MetricError if none arrived, or none is recorded.
    """
    sent, delays = arrivals(run, flow)
    if not sent.size:
        raise MetricError(f"no datagram of `{flow}` arrived, or `record.datagrams = true` is missing")
    return sent, delays


def call_rtts(run: Recorded, forward: str, reverse: str) -> tuple[Array, Array]:
    """The times of sending (s) of datagrams of ``forward``, and their RTTs (ms) by synthetic packet pairs.

    A datagram is paired with the next one that the other end sends after its arrival. The time between is
    subtracted, so the RTT is the sum of both one-way delays (Zander and Armitage 2013, "Minimally-intrusive
    frequent round trip time measurements using Synthetic Packet-Pairs", LCN). Datagrams without a partner are
    left out.
    """
    sent, there = one_way_delays(run, forward)
    answered, back = one_way_delays(run, reverse)
    pair = np.searchsorted(answered, sent + there / 1e3, side="left")
    paired = pair < answered.size
    return sent[paired], there[paired] + back[pair[paired]]


def is_voice(flow: Mapping[str, Any]) -> bool:
    """True for a flow of a resolved scenario with small datagrams at the times of a voice codec."""
    source = flow.get("source")
    if flow.get("kind") != "datagram" or not isinstance(source, Mapping):
        return False
    try:
        rate = _engine.quantity(source["rate"], "rate")
        size = _engine.quantity(flow.get("packet_size", "1500B"), "size")
    except (KeyError, TypeError, ValueError):
        # The rate changes, or a stored description is damaged.
        return False
    least, most = VOICE_S
    return 0 < rate <= MOST_VOICE_BPS and least <= 8 * size / rate <= most


@metric
def call_rtt_percentile(run: Recorded, percentile: float, forward: str, reverse: str) -> float:
    """A percentile of the RTTs of a call (ms), by synthetic packet pairs."""
    return percentile_of(call_rtts(run, forward, reverse)[1], percentile)


@metric
def call_delta_rtt_percentile(run: Recorded, percentile: float, forward: str, reverse: str) -> float:
    """A percentile of the differences (ms) between the RTTs of datagrams sent one after the other."""
    rtts = call_rtts(run, forward, reverse)[1]
    if rtts.size < 2:
        raise MetricError("a difference needs two RTTs")
    return percentile_of(np.abs(np.diff(rtts)), percentile)


@metric
def delay_percentile(run: Recorded, percentile: float, flow: str) -> float:
    """A percentile of the one-way delays (ms) of the datagrams of a flow that arrived."""
    return percentile_of(one_way_delays(run, flow)[1], percentile)


@metric
def playout_delay(run: Recorded, flow: str, buffer_ms: float = 60.0) -> float:
    """The time from sending to playing a datagram (ms).

    The first datagram waits in the jitter buffer for ``buffer_ms``, and every other one is played at the same
    distance from its sending. Later arrivals are lost (a fixed jitter buffer).
    """
    return float(one_way_delays(run, flow)[1][0]) + buffer_ms


@metric
def playout_loss(run: Recorded, flow: str, buffer_ms: float = 60.0) -> float:
    """The share of the datagrams of a flow that are lost or come too late to be played."""
    delays = one_way_delays(run, flow)[1]
    table = run.table("datagrams")
    # Datagrams sent after the last one that arrived may still be on their way.
    sent = column(table, "sequence")[of_flow(run, table, flow)].max() + 1
    in_time = np.count_nonzero(delays <= playout_delay(run, flow, buffer_ms) + 1e-9)
    return 1.0 - float(in_time) / float(sent)


@metric
def call_rating(
    run: Recorded,
    flow: str,
    buffer_ms: float = 60.0,
    coding_ms: float = 20.0,
    impairment: float = 0.0,
    robustness: float = 25.1,
) -> float:
    """The rating R of the E-model at the receiver of a flow.

    The delay is the playout delay plus ``coding_ms``, in which the sender collects a packet. ``impairment``
    (Ie) and ``robustness`` (Bpl) describe the codec: 0 and 25.1 for G.711 with packet loss concealment (ITU-T
    G.113). Losses are taken as independent (BurstR = 1).
    """
    delay = playout_delay(run, flow, buffer_ms) + coding_ms
    return rating(delay, playout_loss(run, flow, buffer_ms), impairment, robustness)


@metric
def call_mos(run: Recorded, flow: str, buffer_ms: float = 60.0, coding_ms: float = 20.0) -> float:
    """The mean opinion score of the E-model at the receiver of a flow, from 1 to 4.5."""
    return mean_opinion_score(call_rating(run, flow, buffer_ms, coding_ms))


@metric
def call_loss(run: Recorded, flow: str) -> float:
    """The share of the datagrams of a flow that did not arrive, up to the last that did.

    Later ones may still be on their way, so a call that ends early is rated by the datagrams before its end.
    """
    arrived = one_way_delays(run, flow)[1].size
    table = run.table("datagrams")
    return 1.0 - arrived / (float(column(table, "sequence")[of_flow(run, table, flow)].max()) + 1)


@metric
def call_best_rating(run: Recorded, flow: str, coding_ms: float = 20.0) -> float:
    """The highest rating R that a fixed playout can give the receiver of a flow.

    A longer playout delay loses fewer datagrams that come late, and a shorter one plays them earlier. All
    percentiles of the delays are tried. The codec is the default of ``call_rating``.
    """
    delays = one_way_delays(run, flow)[1]
    arrived = 1.0 - call_loss(run, flow)
    tried = [(float(np.percentile(delays, percent)), percent / 100) for percent in range(1, 101)]
    return max(rating(delay + coding_ms, max(0.0, 1.0 - arrived * share)) for delay, share in tried)


@metric
def stall_fraction(
    run: Tables, flow: str, start: float, stop: float, width: float = 5.0, below: float = 100e3
) -> float:
    """The share of the windows of ``width`` (s) in which the goodput of a flow is ``below`` so many bit/s."""
    return float(np.mean(goodput_windows(run, flow, width, start, stop) < below))


def rating(delay_ms: float, loss: float, impairment: float = 0.0, robustness: float = 25.1) -> float:
    """R for a one-way delay (ms) from mouth to ear and a share of lost packets (G.107, clause 7)."""
    percent = 100 * loss
    effective = impairment + (95 - impairment) * percent / (percent + robustness)
    return R_DEFAULT - delay_impairment(delay_ms) - effective


def delay_impairment(delay_ms: float) -> float:
    """Idd, the reduction of R by a one-way delay (ms): 0 up to 100 ms (G.107, equation 7-27)."""
    if delay_ms <= 100:
        return 0.0
    x = math.log2(delay_ms / 100)
    rise, later = math.pow(1 + x**6, 1 / 6), math.pow(1 + (x / 3) ** 6, 1 / 6)
    return 25 * (rise - 3 * later + 2)


def mean_opinion_score(rating: float) -> float:
    """The mean opinion score of a rating R (G.107, annex B)."""
    if rating <= 0:
        return 1.0
    if rating >= 100:
        return 4.5
    return 1 + 0.035 * rating + rating * (rating - 60) * (100 - rating) * 7e-6
