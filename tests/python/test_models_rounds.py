"""Gentle and YeAH round by round, against the packet-level reference runs of the specification."""

import numpy as np
import pytest

from ackclock.papers.data.edwan2010.models.rounds import Gentle, Yeah, course

# 100 Mbit/s, 100 ms, packets of 1500 bytes, Q_max 50.
PIPE, RTT = 100e6 * 0.1 / 12000, 0.1


def reference(**options):
    return course(Gentle(50, **options), PIPE, RTT, 300.0)


def test_the_decongestions_of_the_reference_run_come_when_they_should():
    expected = [6.04, 8.74, 11.4, 14.1, 16.8, 19.5, 22.2, 24.9, 30.2, 41.8, 62.1, 93.7, 139, 202, 264]
    found = reference()
    assert found.decongestions == pytest.approx(expected, rel=0.05)
    # 889 -> 838 packets at the first of them.
    first = np.searchsorted(found.times, found.decongestions[0])
    assert found.windows[first] == pytest.approx(838, abs=3)


def test_an_epoch_at_np_of_four_matches_the_closed_form():
    epochs = np.diff(reference().decongestions)
    # R Q_max/(2 A) = 0.1 * 50 * 16/(2 * 2) = 20 s, measured 20.3.
    assert epochs[9] == pytest.approx(20.3, rel=0.02)
    assert epochs[0] == pytest.approx(2.7, rel=0.02)


def test_an_age_that_starts_again_keeps_epochs_short():
    assert reference(age_restarts=True).decongestions.size == pytest.approx(30, rel=0.05)


def test_yeah_decongests_every_seven_rounds():
    found = course(Yeah(50), PIPE, RTT, 300.0).decongestions
    assert found.size == pytest.approx(364, rel=0.05)
    assert np.diff(found) == pytest.approx(np.full(found.size - 1, 0.74), rel=0.05)


@pytest.mark.parametrize(("floor", "ends"), [(0.0, [209.6, 298.8]), (0.1, [195.0, 253.0, 311.0])])
def test_the_late_epochs_at_300_megabits_depend_on_the_floor(floor, ends):
    # The thesis, figure 7.8: 92 ms, packets of 1000 bytes, Q_max 80.
    found = course(Gentle(80, floor=floor), 3450, 0.092, 320.0)
    late = found.decongestions[found.decongestions > 190]
    assert late == pytest.approx(ends, rel=0.02)
    if not floor:
        bins = [(found.times > a) & (found.times <= a + 50) for a in range(50, 300, 50)]
        means = [found.queues[one].mean() for one in bins]
        # The mean queue of each 50 s. It falls where the text says, from 200 to 250 s.
        assert means == pytest.approx([54.8, 51.8, 54.6, 45.5, 67.3], rel=0.05)


def test_the_increase_of_thrust_grows_until_its_largest():
    # The window gains 2, 4, 6 … packets in rounds with an empty queue, each ACK its share of it.
    gains = np.diff(course(Gentle(50), PIPE, RTT, 2.0).windows)
    assert gains[3:9] == pytest.approx([6, 8, 10, 12, 14, 16], rel=0.25)
    assert gains[-1] == pytest.approx(20.0, rel=0.05)
