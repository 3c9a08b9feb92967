"""Chapter 7 of Edwan 2010, measured: the modes, epochs and the start of Gentle and YeAH.

Probes are sampled at least once a round trip, so that every round is seen. A condition is 1 where it holds.
"""

import itertools
from collections.abc import Sequence

import numpy as np

from ackclock import metrics
from ackclock.metrics import Array, MetricError, Tables, column, flow_names, samples
from ackclock.metrics.rates import arrived_at

PACKET_BITS = 8320.0
"""A packet of ns-2's TCP on the wire."""
GROWTH = 2.0
"""alpha_gh, the largest increase in damping, in packets per RTT."""


def _rtt(run: Tables) -> float:
    return float(column(run.flows, "base_rtt_ms")[0]) / 1e3


def _probe(run: Tables, name: str, flow: int = 0) -> tuple[Array, Array]:
    return samples(run, flow_names(run)[flow], name)


def _decongestions(run: Tables, start: float = 0.0, stop: float = np.inf) -> Array:
    """When the window was cut to empty the queue."""
    times, counts = _probe(run, "decongestions")
    at = times[1:][np.diff(counts) > 0]
    return at[(at >= start) & (at <= stop)]


def decongestions(run: Tables, start: float, stop: float) -> float:
    """How often the window was cut to empty the queue."""
    return float(_decongestions(run, start, stop).size)


def _steady_epochs(run: Tables, counter: float, since: float) -> list[tuple[float, float]]:
    edges = _decongestions(run, since)
    times, values = _probe(run, "np")
    epochs = [
        (float(a), float(b))
        for a, b in itertools.pairwise(edges)
        if values[min(int(np.searchsorted(times, a, side="right")), times.size - 1)] == counter
    ]
    if len(epochs) < 10:
        raise MetricError(f"only {len(epochs)} epochs have NP = {counter:g}")
    return epochs


def damping_epoch(run: Tables, counter: float, since: float) -> float:
    """The mean time from one decongestion to the next with a value of NP, in s."""
    return float(np.mean([b - a for a, b in _steady_epochs(run, counter, since)]))


def damping_queue(run: Tables, counter: float, since: float, pipe: float) -> float:
    """The mean window less the pipe over those epochs, in packets."""
    times, windows = _probe(run, "window")
    means = [windows[(times > a) & (times < b)].mean() for a, b in _steady_epochs(run, counter, since)]
    return float(np.mean(means) - pipe)


def _end_of_thrust(run: Tables) -> float:
    """When the increase first falls after it has risen above alpha_gh."""
    times, alphas = _probe(run, "alpha")
    risen = np.flatnonzero(alphas > GROWTH)
    if not risen.size:
        raise MetricError("there is no thrust")
    fallen = np.flatnonzero(alphas[risen[0] :] <= GROWTH)
    if not fallen.size:
        raise MetricError("thrust does not end")
    return float(times[risen[0] + fallen[0]])


def _begin(run: Tables) -> float:
    return float(column(run.flows, "start_s")[0])


def thrust_time(run: Tables) -> float:
    """From the start of the flow to the end of thrust, in s."""
    return _end_of_thrust(run) - _begin(run)


def thrust_window_at_end(run: Tables) -> float:
    """The window at the end of thrust, in packets."""
    times, windows = _probe(run, "window")
    return float(windows[int(np.searchsorted(times, _end_of_thrust(run))) - 1])


def thrust_share(run: Tables, capacity: float, packet: float = 1500.0) -> float:
    """The mean rate of arrivals from the start to the end of thrust over the capacity, in percent."""
    return _share_until(run, _end_of_thrust(run), capacity, packet)


def share_until_full(run: Tables, pipe: float, capacity: float, packet: float) -> float:
    """The same until the window is the pipe, in packets."""
    times, windows = _probe(run, "window")
    full = np.flatnonzero(windows >= pipe)
    if not full.size:
        raise MetricError("the window never fills the pipe")
    return _share_until(run, float(times[full[0]]), capacity, packet)


def _share_until(run: Tables, end: float, capacity: float, packet: float) -> float:
    begin = _begin(run)
    count = float(np.diff(arrived_at(run, flow_names(run)[0], np.array([begin, end])))[0])
    return 100 * count * packet * 8 / (end - begin) / capacity


def time_to_alpha(run: Tables, alpha: float) -> float:
    """From the start to the first increase of ``alpha``, in s."""
    times, alphas = _probe(run, "alpha")
    there = np.flatnonzero(alphas >= alpha)
    if not there.size:
        raise MetricError(f"the increase never is {alpha:g}")
    return float(times[there[0]] - _begin(run))


def thrust_then_damping(run: Tables) -> float:
    """1 if the flow begins in thrust, which ends within 2 rounds of the first queue of a packet.

    Afterwards the increase is at most alpha_gh until the queue is empty again.
    """
    times, alphas = _probe(run, "alpha")
    _, queues = _probe(run, "waiting")
    end, queued = _end_of_thrust(run), np.flatnonzero(queues >= 1)
    first = float(times[queued[0]])
    # The probes are sampled twice a round: three rounds cover two and the rounds' own ends.
    ends = end - first <= 3 * _rtt(run) and np.all(queues[: queued[0]] < 1)
    damped = queues >= 1
    damped[times < end] = False
    # A round whose first sample shows a new queue had its increase set by the round before it.
    damped[1:] &= damped[:-1]
    return float(bool(ends) and bool(np.all(alphas[damped] <= GROWTH)))


def longest_reno_visit(run: Tables, start: float, stop: float) -> float:
    """The longest visit to reno mode after the first decongestion, in rounds."""
    times, rounds = _probe(run, "reno_rounds")
    first = _decongestions(run)[0]
    chosen = rounds[(times >= max(first, start)) & (times <= stop)]
    return float(chosen.max())


def reno_share(run: Tables, start: float, stop: float) -> float:
    """The share of the rounds between two times in reno mode."""
    times, rounds = _probe(run, "reno_rounds")
    chosen = rounds[(times >= start) & (times <= stop)]
    return float(np.mean(chosen > 0))


def _bins(run: Tables, flow: int, start: float, stop: float, width: float) -> Array:
    edges = start + width * np.arange(round((stop - start) / width) + 1, dtype=np.float64)
    return np.diff(arrived_at(run, flow_names(run)[flow], edges))


def _jain_between(run: Tables, other: int, start: float, stop: float) -> float:
    return metrics.jain([float(_bins(run, flow, start, stop, stop - start)[0]) for flow in (0, other)])


def fair_after_entry(run: Tables) -> float:
    """1 if two flows are fair soon after the second enters at 200 and at 600 s.

    Jain's index of a bin is above 0.95 within a minute, and stays there until the second leaves. NP and AG of
    the first flow are at their minima within a minute.
    """
    held = True
    for other, entry, late in ((1, 200.0, 400.0), (2, 600.0, 900.0)):
        bins = [_bins(run, flow, entry, entry + 60, 10.0) for flow in (0, other)]
        held &= any(metrics.jain([a, b]) > 0.95 for a, b in zip(*bins, strict=True))
        held &= _jain_between(run, other, entry + 60, late) > 0.95
        held &= bool(is_reset(run, entry, entry + 60))
    return float(held)


def is_reset(run: Tables, start: float, stop: float) -> float:
    """1 if NP and AG are back at their minima at some time.

    The box resets them in a decongestion, which then counts: AG is 2 when the round is over.
    """
    times, counters = _probe(run, "np")
    _, ages = _probe(run, "ag")
    chosen = (times >= start) & (times <= stop)
    return float(np.any((counters[chosen] == 1) & (ages[chosen] <= 2)))


def thrust_after_leave(run: Tables, capacity: float) -> float:
    """1 if the first flow is in thrust within 2 rounds of an empty queue after 400 and after 900 s.

    It has 95 % of the capacity in a bin of 1 s within 10 s of both.
    """
    times, alphas = _probe(run, "alpha")
    _, queues = _probe(run, "waiting")
    held = True
    for leave in (400.0, 900.0):
        empty = np.flatnonzero((times > leave) & (queues < 1))
        if not empty.size:
            return 0.0
        near = (times >= times[empty[0]]) & (times <= times[empty[0]] + 2.5 * _rtt(run))
        held &= bool(np.any(alphas[near] >= GROWTH))
        held &= bool(np.any(_bins(run, 0, leave, leave + 10, 1.0) * PACKET_BITS >= 0.95 * capacity))
    return float(held)


def square_wave(run: Tables) -> float:
    """1 if the window of the first flow is about half as large while the second is there.

    After 400 s it is back at 95 % of the latter within 20 s.
    """
    times, windows = _probe(run, "window")
    before = windows[(times >= 100) & (times <= 200)].mean()
    shared = windows[(times >= 260) & (times <= 400)].mean() / before
    back = bool(np.any(windows[(times > 400) & (times <= 420)] >= 0.95 * before))
    return float(0.4 <= shared <= 0.6 and back)


def recovery_time(run: Tables, capacity: float, leave: float = 200.0) -> float:
    """From the leave of the other flow to the first bin of 1 s with 95 % of the capacity, in s."""
    stop = float(column(run.flows, "stop_s")[0])
    full = np.flatnonzero(_bins(run, 0, leave, stop, 1.0) * PACKET_BITS >= 0.95 * capacity)
    if not full.size:
        raise MetricError("the flow does not reach 95 % of the capacity again")
    return float(full[0] + 1)


def s_shape(run: Tables) -> float:
    """1 if the increase after 200 s rises to its maximum and then is at most alpha_gh at once.

    It stays there until the next decongestion.
    """
    times, alphas = _probe(run, "alpha")
    _, modes = _probe(run, "reno_rounds")
    after = (times > 200) & (modes == 0)
    times, alphas = times[after], alphas[after]
    top = int(np.argmax(alphas))
    if alphas[top] <= GROWTH:
        return 0.0
    begin = int(np.flatnonzero(alphas[: top + 1] <= GROWTH)[-1]) if np.any(alphas[: top + 1] <= GROWTH) else 0
    rising = bool(np.all(np.diff(alphas[begin : top + 1]) >= -1e-9))
    last = int(np.flatnonzero(alphas == alphas[top])[-1])
    cuts = _decongestions(run, float(times[last]))
    until = float(cuts[0]) if cuts.size else np.inf
    later = alphas[(times > times[last] + 1.5 * _rtt(run)) & (times < until)]
    return float(rising and bool(np.all(later <= GROWTH)))


def queue_between(run: Tables, start: float, stop: float) -> float:
    """The mean queue of the bottleneck between two times, in packets, from its samples."""
    curve = metrics.queue_curve(run, None, start, stop)
    return float(np.mean(curve.values))


def queue_dip(run: Tables) -> float:
    """The mean queue of the neighbouring 50 s less the mean queue over 200 to 250 s, in packets."""
    before, within, after = (queue_between(run, start, start + 50) for start in (150.0, 200.0, 250.0))
    return (before + after) / 2 - within


def queue_means(run: Tables) -> tuple[Array, Array]:
    """The mean queue of each 50 s, in packets, at its end (figure 7.8)."""
    ends = np.arange(50.0, 301.0, 50.0)
    return ends, np.array([queue_between(run, end - 50, end) for end in ends])


def reset_and_steady(run: Tables, pipe: float, allowed: float) -> float:
    """1 if Gentle begins anew at the start and after each visit, and is steady 20 s later (figure 7.14).

    NP and AG are at their minima and thrust is seen within 5 s. Once it is steady, and until the next visit
    begins, the window is between 0.9 of the pipe and 20 packets above pipe and allowed queue.
    """
    times, alphas = _probe(run, "alpha")
    at, windows = _probe(run, "window")
    held = True
    for begin, end in ((0.0, 40.0), (100.0, 815.0), (935.0, 1200.0)):
        held &= bool(is_reset(run, begin, begin + 5))
        held &= bool(np.any(alphas[(times >= begin) & (times <= begin + 5)] > GROWTH))
        steady = windows[(at >= begin + 20) & (at < end)]
        held &= bool(np.all((steady >= 0.9 * pipe) & (steady <= pipe + allowed + 20)))
    return float(held)


def window_ratio_of_visits(run: Tables) -> float:
    """The mean window with NewReno over that without (figure 7.14)."""
    return _mean_of(run, "window", VISITS) / _mean_of(run, "window", ALONE)


VISITS = ((45.0, 100.0), (820.0, 935.0))
ALONE = ((130.0, 810.0), (965.0, 1200.0))


def _mean_of(run: Tables, signal: str, spans: Sequence[tuple[float, float]]) -> float:
    times, values = _probe(run, signal)
    chosen = np.zeros(times.size, dtype=bool)
    for start, stop in spans:
        chosen |= (times >= start) & (times <= stop)
    return float(np.mean(values[chosen] if signal == "window" else values[chosen] > 0))


def reno_ratio_of_visits(run: Tables) -> float:
    """The share of rounds in reno mode with NewReno over that without (figure 7.14)."""
    alone = _mean_of(run, "reno_rounds", ALONE)
    with_reno = _mean_of(run, "reno_rounds", VISITS)
    return with_reno / alone if alone else np.inf


def smallest_peak_of_visits(run: Tables) -> float:
    """The largest window of each visit of NewReno, and of these the smaller one, in packets."""
    times, windows = _probe(run, "window")
    return float(min(windows[(times >= start) & (times <= stop)].max() for start, stop in VISITS))


def probe_curve(run: Tables, name: str, flow: int = 0) -> tuple[Array, Array]:
    """A signal or probe of a flow over time."""
    return _probe(run, name, int(flow))


def mode_flag(run: Tables, low: float, high: float) -> tuple[Array, Array]:
    """A line that is high in the slow mode of YeAH or the reno mode of Gentle, and low otherwise."""
    name = "reno_rounds" if flow_names(run)[0].startswith("gentle") else "slow_rounds"
    times, rounds = _probe(run, name)
    return times, np.where(rounds > 0, high, low)


def rounds_above_doubling(run: Tables) -> float:
    """The number of rounds from the first on with a window above 2^k, or 0 if it is so again later."""
    times, windows = _probe(run, "window")
    at = _begin(run) + _rtt(run) * (np.arange(1, 31) + 0.5)
    now = windows[np.searchsorted(times, at) - 1]
    above = now > 2.0 ** np.arange(1, 31)
    count = int(np.argmin(above)) if not np.all(above) else 30
    return float(count if not np.any(above[count:]) else 0)


def window_per_round(run: Tables) -> tuple[Array, Array]:
    """The window at the end of each of the first 30 rounds (figure 7.1)."""
    times, windows = _probe(run, "window")
    at = _begin(run) + _rtt(run) * (np.arange(31) + 0.5)
    return np.arange(31.0), windows[np.maximum(np.searchsorted(times, at) - 1, 0)]


def mean_if_closer(values: Sequence[float], others: Sequence[float], least: Sequence[float]) -> float:
    """The mean of some values if at least such a share of them is above their others, else 0."""
    closer = np.mean([a > b for a, b in zip(values, others, strict=True)])
    return float(np.mean(values)) if closer >= least[0] else 0.0


def as_expected(values: Sequence[float], expected: Sequence[float]) -> float:
    """How many of some values are as expected."""
    return float(sum(value == wanted for value, wanted in zip(values, expected, strict=True)))


def modes_as_expected(during: Sequence[float], after: Sequence[float]) -> float:
    """1 if at least half of the rounds are in reno mode during a visit, and at most a tenth after it."""
    return float(during[0] >= 0.5 and after[0] <= 0.1)


def grows_with_distance(ratios: Sequence[float]) -> float:
    """1 if the unfairness grows with the distance of the RTT from 100 ms.

    At either end it is at least 1.1 times its value in the middle.
    """
    down = all(a >= b for a, b in itertools.pairwise(ratios[:4]))
    up = all(a <= b for a, b in itertools.pairwise(ratios[3:]))
    return float(down and up and min(ratios[0], ratios[-1]) >= 1.1 * ratios[3])


def queue_of(run: Tables) -> tuple[Array, Array]:
    """The queue of the bottleneck over time, in packets."""
    curve = metrics.queue_curve(run)
    return curve.times, curve.values
