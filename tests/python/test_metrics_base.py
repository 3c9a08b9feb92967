"""Delays above the base RTT, on paths where it changes."""

import dataclasses

import ackclock
from ackclock import metrics
from ackclock.plots.runs import _delay_and_goodput
from handmade import handmade

RUN = handmade()


def test_delay_is_above_the_base_rtt_of_its_time():
    # The base of a, whose RTT is 40 ms and 10 ms more each second, is 60 ms from 5 s on.
    bases = [40.0] * 5 + [60.0] * 6 + [50.0] * 11
    series = RUN.flow_series
    place = series.column_names.index("base_rtt_ms")
    run = dataclasses.replace(RUN, flow_series=series.set_column(place, "base_rtt_ms", [bases]))
    above = metrics.rtt_samples(run, "a", above_base=True)
    assert above.tolist() == [0.0, 10.0, 20.0, 30.0, 40.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0]
    # The histogram of the run knows no base, so the samples give the percentile. The percentile of b stays.
    assert metrics.rtt_percentile(run, 50, "a", above_base=True) == 40.0
    assert metrics.rtt_percentile(run, 50, "b", above_base=True) == 10.0
    # The figure of delay and goodput has the same.
    assert [delay for delay, _ in _delay_and_goodput(run)] == [40.0, 10.0]


def test_samples_have_the_base_rtt_of_their_time():
    path = ackclock.Path(rate="10mbit", rtt=[["0s", "40ms"], ["4s", "140ms"]], queue="84p")
    run = ackclock.simulate(path, ["vegas"], duration="8s", warmup="2s")
    times, bases = (run.flow_series[name].to_pylist() for name in ("time_s", "base_rtt_ms"))
    base = dict(zip(times, bases, strict=True))
    # At 4.1 s the ACK has taken 70 ms, and its data left at 3.96 s: 20 ms.
    assert [base[at] for at in (3.9, 4.1, 4.2, 7.9)] == [40.0, 90.0, 140.0, 140.0]
    name = run.flows["name"].to_pylist()[0]
    # Vegas keeps a queue of two to four packets, 1.2 ms each.
    assert 0.0 < metrics.rtt_percentile(run, 50, name, 2.5, 3.9, above_base=True) < 10.0
    assert 0.0 < metrics.rtt_percentile(run, 50, name, 4.2, 5.0, above_base=True) < 10.0
    assert metrics.rtt_percentile(run, 95, name, above_base=True) < 30.0
    assert run.flow_series["arrived_bytes"].to_pylist()[-1] > 0
