"""Measures for the BBR draft: the states that a controller goes through, and signals in them."""

from itertools import pairwise

import numpy as np

from ackclock import metrics
from ackclock.metrics import MetricError, Tables
from ackclock.metrics.tables import Array


def _stays(run: Tables, flow: str, signal: str) -> list[tuple[float, float, int]]:
    """The stays in states: from, until, state. The last one ends with the last sample."""
    times, values = metrics.samples(run, flow, signal)
    changes = [0, *(np.flatnonzero(np.diff(values)) + 1), len(values) - 1]
    return [(float(times[a]), float(times[b]), int(values[a])) for a, b in pairwise(changes)]


def _stay(run: Tables, flow: str, signal: str, state: float, start: float) -> tuple[float, float, int]:
    """The first stay in a state that begins at ``start`` (s) or later: from, until, the state after it."""
    stays = _stays(run, flow, signal)
    for number, (begin, end, value) in enumerate(stays[:-1]):
        if value == state and begin >= start:
            return begin, end, stays[number + 1][2]
    raise MetricError(f"`{flow}` does not enter and leave `{signal}` {state:g} after {start:g} s")


def state_after(run: Tables, flow: str, signal: str, state: float, start: float = 0.0) -> float:
    """The state that follows the first stay in ``state`` after ``start`` (s)."""
    return float(_stay(run, flow, signal, state, start)[2])


def stay(run: Tables, flow: str, signal: str, state: float, start: float = 0.0) -> float:
    """How long (s) the first stay in a state after ``start`` (s) is."""
    begin, end, _ = _stay(run, flow, signal, state, start)
    return end - begin


def rounds_in(run: Tables, flow: str, signal: str, state: float, start: float = 0.0) -> float:
    """How many round trips of the controller the first stay in a state after ``start`` (s) is."""
    begin, end, _ = _stay(run, flow, signal, state, start)
    before, after = _latest(run, flow, "round", [begin, end])
    return float(after - before)


def times_entered(
    run: Tables, flow: str, signal: str, state: float, start: float = 0.0, stop: float = np.inf
) -> float:
    """How often a state is entered from ``start`` to ``stop`` (s)."""
    stays = _stays(run, flow, signal)
    return float(sum(value == state and start <= begin <= stop for begin, _, value in stays))


def at_end(run: Tables, flow: str, signal: str, state: float, of: str, start: float = 0.0) -> float:
    """The latest value of the signal ``of`` as the first stay in a state after ``start`` (s) ends."""
    _, end, _ = _stay(run, flow, signal, state, start)
    return float(_latest(run, flow, of, [end])[0])


def within_stay(
    run: Tables, flow: str, signal: str, state: float, of: str, percentile: float, start: float = 0.0
) -> float:
    """A percentile of the signal ``of`` within the first stay in a state after ``start`` (s)."""
    begin, end, _ = _stay(run, flow, signal, state, start)
    times, values = metrics.samples(run, flow, of)
    chosen = values[(times > begin) & (times < end) & np.isfinite(values)]
    if not chosen.size:
        raise MetricError(f"`{flow}` has no sample of `{of}` in `{signal}` {state:g}")
    return float(np.percentile(chosen, percentile))


def plateau(run: Tables, flow: str, signal: str, state: float, of: str, growth: float) -> float:
    """How many round trips at the end of the first stay in a state ``of`` grew by less than a factor.

    Counted as the draft does: from the last round trip that reached ``growth`` times the value noted before.
    """
    begin, end, _ = _stay(run, flow, signal, state, 0.0)
    times, rounds = metrics.samples(run, flow, "round")
    chosen = (times >= begin) & (times <= end)
    steps = times[chosen][np.flatnonzero(np.diff(rounds[chosen])) + 1]
    noted, count = 0.0, 0
    for value in _latest(run, flow, of, steps):
        if value >= growth * noted:
            noted, count = float(value), 0
        else:
            count += 1
    return float(count)


def _latest(run: Tables, flow: str, signal: str, at: list[float] | Array) -> Array:
    """The latest values of a signal at some times (s)."""
    times, values = metrics.samples(run, flow, signal)
    return np.asarray(values[np.maximum(np.searchsorted(times, np.asarray(at), side="right") - 1, 0)])
