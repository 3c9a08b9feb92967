"""What limits a recorded connection: windows that do not grow, worked out round by round."""

import pytest

from test_captures import ack, data
from test_recorded import recorded, sack

RTT, ROUNDS = 0.1, 200


def steady(wait=0.0001, lost=None, queued=0.0, window=60000, last=1000, rounds=ROUNDS):
    """A connection of rounds of 100 ms with four segments in each, whose ACKs are a millisecond apart.

    A segment leaves ``wait`` behind an ACK. ``lost`` is the round whose first segment is sent again.
    ``queued`` is the delay of a queue behind the first round, and ``last`` the size of the last segment of a
    round.
    """
    packets, number, at = [], 1, 0.2
    for k in range(rounds):
        rtt = RTT + (queued if k else 0.0)
        sizes = (1000, 1000, 1000, last)
        ends = [number + sum(sizes[: j + 1]) for j in range(4)]
        packets += [
            (at + 0.001 * j + wait, data(end - size, size))
            for j, (end, size) in enumerate(zip(ends, sizes, strict=True))
        ]
        if k == lost:
            blocks = [(ends[0], end) for end in ends[1:]]
            packets += [(at + rtt + 0.001 * j, sack(number, one)) for j, one in enumerate(blocks, 1)]
            packets += [(at + rtt + 0.0032, data(number)), (at + 2 * rtt + 0.0032, ack(ends[-1], window))]
            at += rtt + 0.0032
        else:
            packets += [(at + rtt + 0.001 * j, ack(end, window)) for j, end in enumerate(ends)]
        at += rtt
        number = ends[-1]
    return sorted(packets, key=lambda one: one[0])


@pytest.mark.parametrize(
    ("changes", "limits"),
    [
        # A window that stays, with ACKs that pause in each round.
        ({}, {"sender": 1.0}),
        # Eight rounds show that it stays, and seven do not.
        ({"rounds": 8}, {"sender": 1.0}),
        ({"rounds": 7}, {"network": 1.0}),
        # Segments that leave half a millisecond behind an ACK wait for their application.
        ({"wait": 0.0005}, {"application": 1.0}),
        # A loss explains the window of its round and of the fifty of five seconds, of 201 in all.
        ({"lost": 100}, {"sender": 150 / 201, "network": 51 / 201}),
        ({"lost": 40}, {"sender": 150 / 201, "network": 51 / 201}),
        # The last nine rounds and the one of the retransmission.
        ({"lost": 190}, {"sender": 191 / 201, "network": 10 / 201}),
        # Behind a loss, a window that segments do not fill at once tells nothing about the application.
        ({"lost": 100, "wait": 0.0005}, {"application": 101 / 201, "network": 100 / 201}),
        # An RTT of 102 ms beside one of 100 ms is no queue, and one of 104 ms is.
        ({"queued": 0.002}, {"sender": 1.0}),
        ({"queued": 0.004}, {"network": 1.0}),
        # The receiver has room for a fifth segment from an ACK to the segment behind it: 0.4 ms of a round.
        # The first round knows of no window.
        ({"window": 4000}, {"receiver": 0.996 * 199 / 200, "sender": 0.004 + 0.996 / 200}),
        ({"window": 4999}, {"receiver": 0.996 * 199 / 200, "sender": 0.004 + 0.996 / 200}),
        ({"window": 5000}, {"sender": 1.0}),
        # A short segment has taken all data along: until the ACK of the first one, 97 ms of a round.
        ({"last": 500}, {"application": 0.97, "sender": 0.03}),
    ],
)  # fmt: skip
def test_limits_of_a_window_that_does_not_grow(tmp_path, changes, limits):
    found = recorded(tmp_path, steady(**changes)).limits
    expected = dict.fromkeys(found, 0.0) | limits
    assert found == pytest.approx(expected, abs=0.003)
