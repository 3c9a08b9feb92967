"""Stays in states of BBR, and measures of them, on recordings of a few rows that are worked out by hand."""

from dataclasses import replace

import numpy as np
import pytest

from ackclock.checks.bbr_phases import Phases, Stay
from ackclock.checks.recording import Recording

SEGMENT = 1000.0


def recording(**changes):
    """A row each second for ten seconds, an RTT of 500 ms, and ten datagrams a second.

    The window has 20 datagrams, of which 10 are in flight. The pacing rate is twice the rate of sending.
    """
    times, sent = np.arange(11.0), np.arange(100) / 10 + 0.05
    whole = Recording(
        "bbr", times, np.full(11, 20 * SEGMENT), np.full(11, 10 * SEGMENT), np.full(11, 0.5), np.zeros(0),
        SEGMENT, True, sent, np.full(100, SEGMENT), np.full(11, 160_000.0),
    )  # fmt: skip
    if "lost" in changes:
        # A packet in three is lost, unless the numbers are said.
        changes = {"lost_numbers": 3.0 * np.arange(len(changes["lost"]))} | changes
        changes["lost"] = np.array(changes["lost"])
    return replace(whole, **changes)


def phases(**changes):
    return Phases(recording(**changes))


def test_a_stay_ends_when_another_state_of_bbr_is_reported():
    states = ((0.0, "Startup"), (1.0, "bbr_startup"), (2.0, "Drain"), (2.5, "recovery"), (4.0, "UP"))
    found = phases(states=states).stays
    assert found == [
        Stay(0.0, 2.0, "startup", "", "drain"),
        Stay(2.0, 4.0, "drain", "startup", "probe_bw_up"),
        Stay(4.0, 10.0, "probe_bw_up", "drain", ""),
    ]


def test_the_last_stay_is_left_within_no_recording():
    of = phases(states=((0.0, "UP"), (2.0, "DOWN"), (3.0, "UP")))
    assert [one.begin for one in of.left("probe_bw_up", "probe_bw_down")] == [0.0, 2.0]
    assert [one.begin for one in of.left("probe_bw_up")] == [0.0]
    assert phases(states=((0.0, "recovery"),)).stays == []


@pytest.mark.parametrize(
    ("time", "at", "before"),
    # The row of a time is at it. Outside of the recording the first row and the last one are the nearest.
    [(-1.0, 0, 0), (0.0, 0, 0), (1.0, 1, 0), (1.5, 1, 1), (2.0, 2, 1), (10.0, 10, 9), (11.0, 10, 10)],
)
def test_the_latest_value_is_at_a_time_or_before_it(time, at, before):
    of, values = phases(), 100.0 + np.arange(11.0)
    assert (of.at(values, time), of.before(values, time)) == (100.0 + at, 100.0 + before)


@pytest.mark.parametrize(
    ("time", "gap"), [(0.0, 0.0), (1.0, 1.0), (2.0, 2.0), (3.0, 2.0), (4.0, 4.0), (8.0, 0.0)]
)
def test_a_gap_is_around_a_time(time, gap):
    times = np.array([0.0, 1.0, 3.0, 7.0])
    assert phases(times=times, pacing=np.zeros(0)).gap(time) == gap


def test_round_trips_are_counted_by_the_rtt_of_their_begin():
    # From 1 s: to 1.5, 2, 3 and 4 s, and half of one until 4.5 s.
    of = phases(rtt=np.array([0.5, 0.5, *[1.0] * 9]))
    assert of.rounds(1.0, 4.5) == 4.5
    assert (of.rounds(1.0, 1.25), of.rounds(3.0, 3.0), of.rounds(3.0, 2.0)) == (0.5, 0.0, 0.0)


def test_losses_at_both_ends_of_an_interval_are_in_it():
    of = phases(lost=[1.0, 2.0, 2.0, 3.0])
    assert [of.lost_in(*ends) for ends in ((1.0, 3.0), (1.5, 2.0), (2.1, 2.9), (3.0, 3.0))] == [4, 2, 0, 1]


def test_datagrams_at_the_end_of_an_interval_are_not_in_it():
    of = phases(sent=np.array([1.0, 2.0, 3.0]), sent_bytes=np.array([1000.0, 500.0, 2000.0]))
    # The last stands for two full ones.
    assert [of.sent_in(*ends) for ends in ((1.0, 2.0), (1.0, 3.0), (2.0, 4.0), (3.5, 4.0))] == [
        1.0,
        1.5,
        2.5,
        0.0,
    ]


@pytest.mark.parametrize(
    ("sent", "known"),
    # The path holds 40 datagrams, of which a tenth may leave between two rows. Two may in any case.
    [(4, True), (5, False)],
)
def test_a_flight_is_known_if_little_is_sent_between_two_rows(sent, known):
    states, times = ((0.0, "CRUISE"),), 5.0 + (0.5 + np.arange(sent)) / sent
    of = phases(states=states, pacing=np.full(11, 640_000.0), sent=times, sent_bytes=np.full(sent, SEGMENT))
    assert of.product(5.0) == 40 * SEGMENT
    assert of.knows_flight(5.5) is of.knows_flight(6.0) is known
    # Before 5 s nothing is sent, nor behind the last row.
    assert of.knows_flight(5.0)
    assert of.knows_flight(11.0)
    first = phases(states=states, pacing=of.of.pacing, sent=times - 5.0, sent_bytes=of.of.sent_bytes)
    assert first.knows_flight(0.5) is known


@pytest.mark.parametrize(("sent", "known"), [(2, True), (3, False)])
def test_two_datagrams_between_two_rows_say_enough_of_a_flight(sent, known):
    times = 5.0 + (0.5 + np.arange(sent)) / sent
    pacing = np.full(11, 8_000.0)
    of = phases(states=((0.0, "CRUISE"),), pacing=pacing, sent=times, sent_bytes=np.full(sent, 1000.0))
    assert of.knows_flight(5.5) is known


def test_the_median_of_a_stay_has_its_known_rows_and_not_that_of_its_end():
    stay, values = Stay(2.0, 5.0, "drain", "", ""), np.arange(11.0)
    assert phases().median(values, stay) == 3.0
    values[3] = np.inf
    assert phases().median(values, stay) == 3.0
    values[2] = np.nan
    assert phases().median(values, stay) == 4.0
    assert np.isnan(phases().median(values, Stay(2.2, 2.8, "drain", "", "")))


STAY = Stay(2.0, 4.0, "startup", "", "drain")
QUICK = np.arange(1000) / 100 + 0.005
"""100 packets a second, 50 in a round trip: one of them is two per cent, and two are more."""


@pytest.mark.parametrize(
    ("lost", "gaps", "time"),
    [
        ([3.0, 3.1], 1, 3.1),
        ([3.0], 1, None),
        # The second is a round trip and more behind the first: (2.5, 3] has one, and (2.6, 3.1] two.
        ([2.5, 3.0, 3.1], 1, 3.1),
        ([3.0, 3.1], 2, 3.1),
        ([3.0, 3.1], 3, None),
        ([3.0, 3.1, 3.2], 3, 3.2),
        # Losses at the ends of the stay count, and others begin no search.
        ([2.0, 2.0], 1, 2.0),
        ([3.9, 4.0], 1, 4.0),
        ([4.1, 4.2], 1, None),
        ([1.8, 1.9], 1, None),
        # The losses of a round trip that began before the stay are losses of its first one.
        ([1.9, 2.0], 1, 2.0),
    ],
)
def test_high_loss_is_over_two_per_cent_of_the_round_before(lost, gaps, time):
    of = phases(lost=lost, sent=QUICK, sent_bytes=np.full(1000, SEGMENT))
    assert of.high_loss(STAY, gaps) == time


@pytest.mark.parametrize(
    ("numbers", "gaps"), [([1, 2, 3], 1), ([1, 2, 4], 2), ([5, 1, 3], 3), ([1, 2, np.nan], 3)]
)
def test_packets_lost_one_behind_the_other_are_a_gap(numbers, gaps):
    lost = {"lost": [1.0, 3.0, 3.0, 3.0], "lost_numbers": np.array([0, *numbers], dtype=float)}
    of = phases(sent=QUICK, sent_bytes=np.full(1000, SEGMENT), **lost)
    assert [of.high_loss(STAY, gaps), of.high_loss(STAY, gaps + 1)] == [3.0, None]
    # A gap is enough if no number is asked for.
    assert of.high_loss(STAY) == 3.0


def test_losses_of_a_log_without_packets_are_no_share():
    assert phases(lost=[3.0, 3.1], sent=np.zeros(0), sent_bytes=np.zeros(0)).high_loss(STAY) is None


@pytest.mark.parametrize(
    ("changes", "limited"),
    [
        ({}, True),
        # A flight of 0.9 of the window, and of a little less.
        ({"flight": np.full(11, 18_000.0)}, False),
        ({"flight": np.full(11, 17_999.0)}, True),
        # One row with a full window is enough, within the interval and not at its end.
        ({"flight": np.array([10_000.0] * 3 + [20_000.0] + [10_000.0] * 7)}, False),
        ({"flight": np.array([10_000.0] * 4 + [20_000.0] + [10_000.0] * 6)}, True),
        # 10,000 bytes/s are sent: 0.7 of 14,285.7, which is 114,286 bit/s.
        ({"pacing": np.full(11, 114_285.0)}, False),
        ({"pacing": np.full(11, 114_287.0)}, True),
        # 14,000 bytes/s are 0.7 of the pacing rate.
        ({"sent_bytes": np.full(100, 1400.0)}, False),
    ],
)
def test_an_application_limits_flight_and_rate(changes, limited):
    assert phases(**changes).is_limited(2.0, 4.0) is limited


def test_an_interval_without_rows_is_limited_by_nothing():
    assert phases().is_limited(2.1, 2.9) is False
    # At one instant nothing is sent, so the rate is nothing, too.
    assert phases().is_limited(2.0, 2.0) is False
    assert phases().is_limited(2.0, 2.1) is True
    assert phases(pacing=np.full(11, 112_000.0)).is_limited(2.0, 2.1) is False


@pytest.mark.parametrize(
    ("lost", "clean"), [([], True), ([1.5], False), ([4.5], False), ([1.4, 4.6], True), ([3.0], False)]
)
def test_a_clean_stay_has_no_loss_from_a_round_trip_before_to_one_behind(lost, clean):
    assert phases(lost=lost, states=((0.0, "CRUISE"),)).is_clean(STAY) is clean


@pytest.mark.parametrize(("rate", "clean"), [(64_000.0, False), (64_016.0, True)])
def test_a_path_of_four_datagrams_is_too_short_for_a_clean_stay(rate, clean):
    # 8000 bytes/s and 500 ms are 4 datagrams.
    assert phases(pacing=np.full(11, rate), states=((0.0, "CRUISE"),)).is_clean(STAY) is clean


def test_a_pacing_rate_is_in_bytes_if_three_times_as_much_was_sent():
    # 100,000 bytes in 10 s, of 33,333 that bits would allow, which is 3,333 bytes/s.
    assert phases(pacing=np.full(11, 26_667.0)).pacing == pytest.approx(np.full(11, 26_667.0 / 8))
    assert phases(pacing=np.full(11, 26_666.0)).pacing == pytest.approx(np.full(11, 26_666.0))
    # 30,000 bytes are three times the 10,000 that bits allow, and not more.
    thrice = phases(pacing=np.full(11, 8_000.0), sent_bytes=np.full(100, 300.0))
    assert thrice.pacing.tolist() == [1_000.0] * 11
    # Twenty seconds allow 100,000 bytes at 5,000 bytes/s, a third of them at 1,667.
    slow = {"times": 2 * np.arange(11.0), "sent": 2 * np.arange(100) / 10}
    assert phases(pacing=np.full(11, 13_340.0), **slow).pacing == pytest.approx(np.full(11, 13_340.0 / 8))
    assert phases(pacing=np.full(11, 13_330.0), **slow).pacing == pytest.approx(np.full(11, 13_330.0))
    unknown = np.array([np.nan] * 5 + [160_000.0] * 6)
    assert phases(pacing=unknown).pacing[5:] == pytest.approx(np.full(6, 20_000.0))
    # A rate that is known at the end alone allows nothing.
    assert phases(pacing=np.array([0.0] * 10 + [8_000.0])).pacing.tolist() == [0.0] * 10 + [1_000.0]


def test_the_bandwidth_is_the_pacing_rate_over_the_gain_of_the_state():
    names = ("Startup", "Drain", "DOWN", "CRUISE", "REFILL", "UP", "ProbeRTT")
    found = phases(states=tuple(zip(np.arange(1.0, 8.0), names, strict=True))).bandwidth
    assert np.isnan(found[0])
    # 20,000 bytes/s over 2.77, 0.5, 0.9, 1, 1, 1.25 and 1 (draft-ietf-ccwg-bbr-06, section 4.6.1).
    assert found[1:8] == pytest.approx([7220.2, 40_000, 22222.2, 20_000, 20_000, 16_000, 20_000], abs=0.1)
    assert found[8:].tolist() == [20_000.0] * 3


def test_the_product_is_that_of_the_next_steady_state():
    pacing = np.array([160_000.0] * 4 + [80_000.0] * 3 + [40_000.0] * 4)
    rtt = np.array([1.0, 0.5, *[0.8] * 9])
    of = phases(pacing=pacing, rtt=rtt, states=((0.0, "Drain"), (4.0, "CRUISE"), (7.0, "UP")))
    # 10,000 bytes/s in CRUISE, with the least RTT until then: 1 s, and 500 ms from 1 s on.
    assert [of.product(time) for time in (0.0, 2.0, 6.9)] == [10_000.0, 5_000.0, 5_000.0]
    # No steady state ends later: 5,000 bytes/s over 1.25.
    assert [of.product(time) for time in (7.0, 9.0)] == [2_000.0, 2_000.0]


def test_trains_take_eight_datagrams_from_the_flight_in_the_last_rounds():
    # Falls of 8, 2 and 9 datagrams: the median is 8. All are in the last three round trips.
    flight = 1000.0 * np.array([20, 20, 20, 20, 12, 20, 18, 20, 11, 20, 20])
    rtt, stay = np.full(11, 3.0), Stay(0.0, 10.0, "startup", "", "drain")
    assert phases(flight=flight, rtt=rtt).trains(stay)
    flight[4] += 1.0
    assert not phases(flight=flight, rtt=rtt).trains(stay)
    # Behind 10 - 3 s there is the last fall alone.
    assert phases(flight=flight, rtt=np.full(11, 1.0)).trains(stay)
    # From 6.5 to 8 s there is a row, and the fall is at 8 s.
    assert not phases(flight=flight, rtt=np.full(11, 0.5)).trains(replace(stay, end=8.0))
    assert not phases(rtt=rtt).trains(stay)
