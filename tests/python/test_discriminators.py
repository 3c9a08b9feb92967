"""The rules of Biaz, Spike and ZigZag for the cause of a loss, with numbers worked out by hand."""

import numpy as np
import pytest

from ackclock.discriminators import Delays, averages, biaz, spikes, zigzag
from ackclock.errors import InputError


@pytest.mark.parametrize(
    ("gap", "lost", "is_error"),
    [
        # T is 2 s. One lost segment had its place if the next comes 4 s after the last, or up to 6 s.
        (2.0, 1, False),
        (4.0, 1, True),
        (5.9, 1, True),
        (6.0, 1, False),
        # After three lost segments these are 8 and 10 s.
        (6.0, 3, False),
        (8.0, 3, True),
        (10.0, 3, False),
        (0.0, 1, False),
    ],
)
def test_a_gap_is_of_an_error_if_the_lost_segments_had_their_places_on_the_link(gap, lost, is_error):
    assert biaz(gap, lost, 2.0) is is_error


def test_a_gap_of_whole_places_is_the_same_with_rounding():
    unit = 8320 / 3e6
    gap = (7.1 + 2 * unit) - 7.1
    assert gap != 2 * unit
    assert biaz(gap, 1, unit)
    assert not biaz((7.1 + 3 * unit) - 7.1, 1, unit)


def test_a_spike_starts_at_half_of_the_range_and_ends_at_a_third():
    # From 10 to 40 the levels are 25 and 20: 24 starts no spike, 26 does, 21 stays in it, 19 ends it. The
    # range grows with 100 to levels of 55 and 40.
    found = spikes([10, 40, 10, 24, 26, 21, 19, 21, 100, 41, 39])
    assert found.tolist() == [False, True, False, False, True, True, False, False, True, True, False]


def test_a_constant_delay_is_no_spike():
    assert not spikes([5.0] * 4).any()


def test_the_averages_weigh_a_sample_by_a_32nd_and_a_16th():
    # 64, then 96: the mean is 64 + 32/32 = 65, the deviation 31/16. Then 65: the mean stays, and the
    # deviation is 15/16 of that.
    found = averages([64.0, 96.0, 65.0])
    assert found.mean.tolist() == [64.0, 65.0, 65.0]
    assert found.deviation.tolist() == [0.0, 31 / 16, 31 / 16 * 15 / 16]


def test_the_level_of_zigzag_rises_with_the_lost_segments():
    # Mean 100, deviation 20: below 80, 90, 100 and 110 after one, two, three and more lost segments.
    for lost, level in ((1, 80), (2, 90), (3, 100), (4, 110), (9, 110)):
        assert zigzag(level - 0.1, lost, 100.0, 20.0)
        assert not zigzag(level, lost, 100.0, 20.0)


def test_the_latest_delay_before_a_loss_decides():
    # The spike of 30 ends with 12. The mean is 10, 10.625 and 10.668, the deviation 0, 1.211 and 1.218.
    delays = Delays([1.0, 2.0, 3.0], [10.0, 30.0, 12.0])
    assert delays.told(2.5, 4.0, 1, 2.0) == {"biaz": True, "spike": False, "zigzag": False}
    assert delays.told(3.0, 3.0, 1, 2.0) == {"biaz": False, "spike": True, "zigzag": False}
    assert delays.told(0.5, 4.0, 1, 2.0) == {"biaz": True, "spike": False, "zigzag": False}
    assert np.allclose(averages([10.0, 30.0, 12.0]).deviation, [0.0, 1.2109, 1.2185], atol=1e-4)


def test_without_lost_segments_there_is_nothing_to_tell():
    with pytest.raises(InputError, match="lost = 0: must be above 0"):
        biaz(1.0, 0, 1.0)
    with pytest.raises(InputError, match="lost = 0: must be above 0"):
        zigzag(1.0, 0, 1.0, 1.0)
