"""The example test cases of BBR, judged on a recording with the states of a controller.

The cases are in draft-ietf-ccwg-bbr-06, appendix A. A recording exercises some of them, and each of the
others says why it has no verdict. A state ends when the next one is reported. Round trips are counted by the
RTT of each time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from ackclock.cases.model import Claim
from ackclock.checks.bbr_phases import (
    CRUISE,
    DOWN,
    DRAIN,
    GAINS,
    LEAST_WINDOW,
    PROBE_BW,
    PROBE_RTT,
    REFILL,
    STARTUP,
    STEADY,
    UP,
    Phases,
    Stay,
)
from ackclock.checks.recording import INITIAL, Measured, Recording, law
from ackclock.metrics.tables import Array

NAME = "bbr3"
"""The controller of the draft."""
SOURCE = "draft-ietf-ccwg-bbr-06, appendix"
GAPS = 6
"""The gaps in a round trip with high loss that end Startup."""
PROBE_RTT_LENGTH, PROBE_RTT_INTERVAL = 0.2, 5.0
BRIEF = 1.25
"""An RTT below this share of the least one has met no queue."""
LONG = 3.0
"""A silence of so many RTTs is one of a timer."""
FOURFOLD = 4.0
"""A change of the bandwidth by more than this factor is one of the path."""
COARSE = "the metrics are too far apart to know the flight at the end of the state"
POLICED = 0.5
"""A policer drops more than this share of a round trip, and leaves no queue."""


def _share(found: Sequence[bool], why: str) -> Measured:
    return (float(np.mean(found)), "") if found else (None, why)


def _most(found: Sequence[float], why: str) -> Measured:
    return (max(found), "") if found else (None, why)


def _middle(found: Sequence[float], why: str) -> Measured:
    known = [one for one in found if np.isfinite(one)]
    return (float(np.median(known)), "") if known else (None, why)


def _flight(of: Phases, stays: Sequence[Stay], why: str) -> Measured:
    """The median flight at the end of stays, over the bandwidth-delay product."""
    is_coarse = bool(stays) and not any(of.knows_flight(one.end) for one in stays)
    return _middle([_drained(of, one) for one in stays], COARSE if is_coarse else why)


def _startup_next(of: Phases) -> Measured:
    quiet = [one for one in of.left(STARTUP) if one.after != PROBE_RTT]
    # Drain is over at once if no more is in flight than the path holds.
    right = [
        one.after == DRAIN or _drained(of, one) <= BRIEF
        for one in quiet
        if one.after not in PROBE_BW or of.knows_flight(one.end)
    ]
    return _share(right, COARSE if quiet else "the recording has no end of Startup")


def _startup_plateau(of: Phases) -> Measured:
    found = []
    for stay in of.left(STARTUP):
        if stay.after == DRAIN and not of.lost_in(stay.begin, stay.end):
            rows = (of.of.times >= stay.begin) & (of.of.times < stay.end) & np.isfinite(of.bandwidth)
            found += (
                [of.rounds(_plateau(of.of.times[rows], of.bandwidth[rows]), stay.end)] if rows.any() else []
            )
    return _middle(found, "the recording has no Startup that ends without losses, with pacing rates")


def _plateau(times: Array, rates: Array) -> float:
    """The time of the last growth by a quarter."""
    noted, since = float(rates[0]), float(times[0])
    for time, rate in zip(times.tolist(), rates.tolist(), strict=True):
        if rate >= 1.25 * noted:
            noted, since = rate, time
    return since


def _startup_loss(of: Phases) -> Measured:
    found = [
        of.rounds(time, stay.end)
        for stay in of.stays
        if stay.state == STARTUP and (time := of.high_loss(stay, GAPS)) is not None
    ]
    return _most(found, "Startup has no round trip with more than two per cent lost, in six gaps")


def _drain_gain(of: Phases) -> Measured:
    found = [
        of.median(of.bandwidth, stay) * GAINS[DRAIN] / of.before(of.bandwidth, stay.begin)
        for stay in of.left(DRAIN)
        if stay.before == STARTUP and of.is_clean(stay) and _has_grown(of, stay.begin)
    ]
    return _middle(found, "the recording has no Drain with pacing rates")


def _has_grown(of: Phases, end: float) -> bool:
    """True if the pacing rate has grown in Startup: it never falls there, so a first one may stay."""
    known = of.pacing[(of.of.times < end) & np.isfinite(of.pacing)]
    return bool(known.size) and bool(known[-1] > 2 * known[0])


def _drained(of: Phases, stay: Stay) -> float:
    """The flight at the end of a stay, over the bandwidth-delay product, or NaN with too few rows."""
    if not of.knows_flight(stay.end):
        return np.nan
    least = LEAST_WINDOW * of.of.segment
    return of.before(of.of.flight, stay.end) / max(of.product(stay.end), least)


def _drain_flight(of: Phases) -> Measured:
    short = [one for one in of.left(DRAIN) if of.rounds(one.begin, one.end) < 3 and of.is_clean(one)]
    return _flight(
        of, short, "the recording has no Drain that ends within three round trips, with pacing rates"
    )


def _drain_time(of: Phases) -> Measured:
    long = [one for one in of.left(DRAIN) if _drained(of, one) > BRIEF and of.is_clean(one)]
    return _most([of.rounds(one.begin, one.end) for one in long], "the flight fell to the path's in Drain")


def _up_plateau(of: Phases) -> Measured:
    found = [
        of.rounds(one.begin, one.end)
        for one in of.left(UP)
        if one.after == DOWN and of.is_clean(one) and not of.is_limited(one.begin, one.end)
    ]
    return (min(found), "") if found else (None, "the recording has no UP that ends without losses")


def _up_loss(of: Phases, *, is_idle: bool) -> Measured:
    found = [
        of.rounds(time, stay.end)
        for stay in of.left(UP)
        if (time := of.high_loss(stay)) is not None
        and of.is_limited(time - of.at(of.of.rtt, time), time) == is_idle
    ]
    kind = "application-limited UP" if is_idle else "UP with a full window"
    return _middle(found, f"the recording has no {kind} that loses over two per cent")


def _never_ends(of: Phases) -> Measured:
    idle = [
        one
        for one in of.stays
        if one.state in (STARTUP, UP) and of.is_limited(one.begin, one.end) and of.is_clean(one)
    ]
    ended = [one.after not in ("", PROBE_RTT) for one in idle]
    return (
        (float(sum(ended)), "") if idle else (None, "no Startup or UP without losses is application-limited")
    )


def _down_gain(of: Phases) -> Measured:
    found = [
        of.median(of.bandwidth, one) * GAINS[DOWN] / of.at(of.bandwidth, one.end)
        for one in of.left(DOWN)
        if one.after == CRUISE and of.is_clean(one)
    ]
    return _middle(found, "the recording has no DOWN before CRUISE without losses, with pacing rates")


def _down_flight(of: Phases) -> Measured:
    found = [one for one in of.left(DOWN) if one.after == CRUISE and of.is_clean(one)]
    return _flight(of, found, "the recording has no DOWN before CRUISE without losses, with pacing rates")


def _down_time(of: Phases) -> Measured:
    found = []
    for one in of.left(DOWN):
        if one.after == REFILL:
            rounds = of.product(one.begin) / of.of.segment
            found.append((one.end - one.begin) / min(2.0, rounds * of.at(of.of.least_rtt, one.begin)))
    return (min(found), "") if found else (None, "no DOWN is followed by REFILL")


def _probe_rtt_length(of: Phases) -> Measured:
    # The state may have begun at any time after the row before.
    found = [
        (one.end - one.begin + of.gap(one.begin) - PROBE_RTT_LENGTH) / of.at(of.of.rtt, one.begin)
        for one in of.left(PROBE_RTT)
    ]
    return _middle(found, "the recording has no ProbeRTT")


def _probe_rtt_window(of: Phases) -> Measured:
    found = []
    for one in of.left(PROBE_RTT):
        product = of.before(of.bandwidth, one.begin) * of.at(of.of.least_rtt, one.begin)
        is_large = product > 2 * LEAST_WINDOW * of.of.segment
        if one.before in PROBE_BW and is_large and of.is_clean(one):
            found.append(of.median(of.of.window, one) / product)
    return _middle(
        found, "the recording has no ProbeRTT with pacing rates, on a path of over eight datagrams"
    )


def _probe_rtt_next(of: Phases) -> Measured:
    late = [one.after in PROBE_BW for one in of.left(PROBE_RTT) if one.before in PROBE_BW]
    return _share(late, "the recording has no ProbeRTT after ProbeBW")


def _probe_rtt_startup(of: Phases) -> Measured:
    early = [one.after == STARTUP for one in of.left(PROBE_RTT) if one.before == STARTUP]
    return _share(early, "the recording has no ProbeRTT in Startup")


def _probe_rtt_idle(of: Phases) -> Measured:
    sent = of.of.sent
    gaps = np.flatnonzero(np.diff(sent) > PROBE_RTT_INTERVAL)
    if not gaps.size:
        return None, "the recording has no silence of five seconds"
    back = sent[gaps + 1].tolist()
    entered = [one.begin for one in of.stays if one.state == PROBE_RTT]
    return float(
        sum(any(time <= at <= time + LONG * of.at(of.of.rtt, time) for at in entered) for time in back)
    ), ""


def _aggregated_startup(of: Phases) -> Measured:
    found = []
    for one in of.left(STARTUP):
        later = [of.median(of.bandwidth, two) for two in of.stays if two.state == CRUISE]
        if one.after == DRAIN and later and of.trains(one):
            found.append(of.before(of.bandwidth, one.end) / later[0])
    return _middle(found, "Startup has no aggregated acknowledgements, or no CRUISE follows")


def _aggregated_cruise(of: Phases) -> Measured:
    found = [
        of.median(of.of.window, one) / (2 * of.median(of.bandwidth, one) * of.at(of.of.least_rtt, one.begin))
        for one in of.stays
        if one.state == CRUISE and of.trains(one)
    ]
    return _middle(found, "CRUISE has no aggregated acknowledgements")


def _sub_packet(of: Phases) -> Measured:
    found = [
        of.median(of.of.window, one) / of.of.segment
        for one in of.stays
        if one.state in PROBE_BW
        and of.median(of.bandwidth, one) * of.at(of.of.least_rtt, one.begin) < of.of.segment
    ]
    return (min(found), "") if found else (None, "the path holds a packet or more")


def _steady(of: Phases) -> list[tuple[Stay, float]]:
    """Each steady stay with its bandwidth, as far as it is known."""
    rates = [(one, of.median(of.bandwidth, one)) for one in of.stays if one.state in STEADY]
    return [one for one in rates if np.isfinite(one[1])]


def _rises(of: Phases) -> Measured:
    """The round trips in an UP that multiplies the bandwidth, for each doubling from a packet on."""
    found = []
    for one in of.left(UP):
        low, high = of.at(of.bandwidth, one.begin), of.before(of.bandwidth, one.end)
        if high > FOURFOLD * low:
            packets = high * of.at(of.of.least_rtt, one.end) / of.of.segment
            found.append(float(of.rounds(one.begin, one.end) / np.log2(packets)))
    return _most(found, "the bandwidth of the path does not rise many times over")


def _falls(of: Phases) -> Measured:
    """The probes of the bandwidth until the estimate has followed a path that became many times slower."""
    rates = _steady(of)
    for k, (stay, rate) in enumerate(rates):
        slower = [late for _, late in rates[k + 1 :]]
        if not slower or rate < FOURFOLD * min(slower):
            continue
        reached = next(one for one, late in rates[k + 1 :] if rate >= FOURFOLD * late)
        slow = _slow_from(of, stay.begin, reached.begin, rate)
        if slow is None:
            continue
        return float(sum(one.state == UP and slow < one.begin < reached.begin for one in of.stays)), ""
    return None, "the bandwidth of the path does not fall many times over"


def _slow_from(of: Phases, begin: float, end: float, rate: float) -> float | None:
    """The time from which on a queue shows a path at a fraction of the rate. None without a queue."""
    rows = (of.of.times >= begin) & (of.of.times <= end)
    is_slow = of.of.flight[rows] / of.of.rtt[rows] < rate / FOURFOLD
    slow = of.of.times[rows][is_slow & (of.of.rtt[rows] > 2 * of.of.least_rtt[rows])]
    return float(slow[0]) if slow.size else None


def _policed(of: Phases) -> Measured:
    """The share of packets that is lost in the second half, where losses meet no queue."""
    lost, rtts = of.of.lost, of.of.rtt
    if not any(
        of.lost_in(time - rtt, time) > max(POLICED * of.sent_in(time - 2 * rtt, time - rtt), INITIAL)
        for time in lost.tolist()
        if (rtt := of.before(rtts, time)) < BRIEF * of.at(of.of.least_rtt, time)
    ):
        return None, "no round trip loses half of its packets without a queue"
    middle, end = (of.of.times[0] + of.of.times[-1]) / 2, of.of.times[-1]
    return of.lost_in(middle, end) / max(of.sent_in(middle, end), 1.0), ""


def _spurious(of: Phases, *, is_timeout: bool) -> Measured:
    """The bandwidth a second after a loss that was none, over the bandwidth before."""
    found = []
    for time in of.of.spurious.tolist():
        row = int(np.searchsorted(of.of.times, time))
        gap = of.of.times[max(row, 1)] - of.of.times[max(row, 1) - 1] if row < of.of.times.size else 0.0
        silent = gap > LONG * of.before(of.of.rtt, time)
        if silent == is_timeout and time + 1.0 <= of.of.times[-1]:
            lost = of.before(of.bandwidth, float(of.of.lost[np.searchsorted(of.of.lost, time) - 1]))
            found.append(of.at(of.bandwidth, time + 1.0) / lost)
    kind = "timeout" if is_timeout else "loss"
    return _middle(found, f"the recording has no {kind} that was spurious")


def _idle_refill(of: Phases) -> Measured:
    found = [
        of.at(of.bandwidth, one.end) / of.before(of.bandwidth, one.begin)
        for one in of.left(REFILL)
        if one.after == UP and of.is_limited(one.begin, one.end)
    ]
    return _middle(found, "the recording has no application-limited REFILL")


Measure = Callable[[Phases], Measured]


def _case(
    name: str,
    section: int,
    text: str,
    because: str,
    measure: Measure,
    low: float = -np.inf,
    high: float = np.inf,
) -> tuple[Claim, Measure]:
    return law(f"bbr-{name}", text, f"{SOURCE} A.{section}", because, low, high), measure


CASES: tuple[tuple[Claim, Measure], ...] = (
    _case(
        "startup-next", 1, "share of ends of Startup that go to Drain", "Drain follows Startup",
        _startup_next, low=1.0,
    ),
    _case(
        "startup-plateau", 1, "round trips without a quarter more before Drain",
        "three round trips without a quarter more end Startup", _startup_plateau, 2.0, 5.0,
    ),
    _case(
        "startup-loss", 2, "round trips from high loss to the end of Startup", "high loss ends Startup",
        _startup_loss, high=3.0,
    ),
    _case(
        "drain-gain", 3, "pacing in Drain over the bandwidth", "Drain paces at half of the bandwidth",
        _drain_gain, 0.45, 0.55,
    ),
    _case(
        "drain-flight", 3, "flight at the end of Drain over the bandwidth-delay product",
        "Drain ends once the path holds the flight", _drain_flight, high=1.25,
    ),
    _case(
        "drain-time", 4, "round trips in Drain with a longer flight", "Drain ends after three round trips",
        _drain_time, 2.0, 5.0,
    ),
    _case(
        "up-plateau", 5, "fewest round trips in UP without losses", "three round trips end UP",
        _up_plateau, low=2.0,
    ),
    _case(
        "up-loss-idle", 6, "round trips from high loss to the end of UP, application-limited",
        "high loss ends UP", lambda of: _up_loss(of, is_idle=True), high=2.0,
    ),
    _case(
        "never-ends", 7, "ends of application-limited Startup or UP without losses",
        "an application that sends little says nothing about the path", _never_ends, high=0.0,
    ),
    _case(
        "down-gain", 8, "pacing in DOWN over the bandwidth", "DOWN paces at nine tenths of the bandwidth",
        _down_gain, 0.85, 0.95,
    ),
    _case(
        "down-flight", 8, "flight at the end of DOWN over the bandwidth-delay product",
        "DOWN ends once the path holds the flight", _down_flight, high=1.25,
    ),
    _case(
        "down-time", 9, "shortest DOWN before REFILL over the wait for a probe",
        "only the time of the next probe leads from DOWN to REFILL", _down_time, low=0.9,
    ),
    _case(
        "probe-rtt-length", 10, "round trips in ProbeRTT beyond 200 ms", "it takes 200 ms and a round trip",
        _probe_rtt_length, 0.0, 4.0,
    ),
    _case(
        "probe-rtt-window", 10, "window in ProbeRTT over the bandwidth-delay product",
        "ProbeRTT halves the flight", _probe_rtt_window, 0.4, 0.65,
    ),
    _case(
        "probe-rtt-next", 10, "share of ends of ProbeRTT that go to ProbeBW", "ProbeBW goes on",
        _probe_rtt_next, low=1.0,
    ),
    _case(
        "probe-rtt-idle", 11, "ProbeRTTs as data follows five seconds of silence",
        "a silence has drained the queue", _probe_rtt_idle, high=0.0,
    ),
    _case(
        "aggregated-startup", 12, "bandwidth at the end of Startup over that in CRUISE",
        "Startup finds the bandwidth behind aggregated acknowledgements", _aggregated_startup, 0.8, 1.25,
    ),
    _case(
        "aggregated-cruise", 13, "window in CRUISE over two bandwidth-delay products",
        "the window has room for aggregated acknowledgements", _aggregated_cruise, low=1.0,
    ),
    _case(
        "sub-packet", 14, "window in datagrams on a path of less than one", "the least window is four",
        _sub_packet, low=LEAST_WINDOW - 0.01,
    ),
    _case(
        "rises", 15, "round trips in UP for each doubling up to a faster path",
        "steps of UP double each round trip", _rises, high=4.0,
    ),
    _case(
        "falls", 16, "probes until the bandwidth follows a slower path", "two cycles forget a bandwidth",
        _falls, high=3.0,
    ),
    _case(
        "policer", 17, "share lost in the second half, without a queue", "BBR conforms to the rate of tokens",
        _policed, high=0.05,
    ),
    _case(
        "spurious-loss", 18, "bandwidth after a spurious loss over that before", "a spurious loss is undone",
        lambda of: _spurious(of, is_timeout=False), low=0.9,
    ),
    _case(
        "spurious-timeout", 19, "bandwidth after a spurious timeout over that before",
        "a spurious timeout is undone", lambda of: _spurious(of, is_timeout=True), low=0.9,
    ),
    _case(
        "probe-rtt-startup", 20, "share of ends of ProbeRTT in Startup that go back", "Startup goes on",
        _probe_rtt_startup, low=1.0,
    ),
    _case(
        "up-loss", 21, "round trips from high loss to the end of UP", "high loss ends UP at once",
        lambda of: _up_loss(of, is_idle=False), high=2.0,
    ),
    _case(
        "idle-refill", 22, "bandwidth after an application-limited REFILL over that before",
        "samples of an application that sends little do not lower the bandwidth", _idle_refill, low=0.95,
    ),
)  # fmt: skip
"""Each case with its measure, in the order of the draft."""


def cases(of: Recording) -> Iterator[tuple[Claim, Measured]]:
    """Each case with its value, or the reason for which it has none."""
    phases = Phases(of)
    for claim, measure in CASES:
        if not phases.stays:
            yield claim, (None, "the recording has no states of BBR")
            continue
        value, why = measure(phases)
        if value is not None and not np.isfinite(value):
            value, why = None, "the recording has no pacing rates"
        yield claim, (value, why)
