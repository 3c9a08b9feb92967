"""Differential runs of several connections behind one queue, and open loops."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from itertools import pairwise
from pathlib import Path
from zlib import crc32

import pytest

from ackclock.replay.differential import (
    FAULTS,
    DrawnSituation,
    Faults,
    Origin,
    RecordedRun,
    Recording,
    drawn,
    parted,
    play,
    play_together,
    script,
)
from ackclock.replay.differential.network import Bottleneck
from ackclock.replay.differential.playing import FIRST_STAMP, Read, answer
from ackclock.replay.differential.receiver import Ack
from ackclock.replay.differential.situation import GENERATOR, IN_OPEN_LOOP, one_of
from ackclock.replay.script import Packet
from ackclock.replay.simulated import Simulated
from test_differential import PLAIN

# The queue.


def test_a_queue_drops_what_would_wait_longer_than_its_limit() -> None:
    bottleneck = Bottleneck(replace(PLAIN, gap_ms=4, limit_ms=8))
    # The fourth would wait 12 ms. At 4 ms the queue has room again.
    assert [bottleneck.take(at, False) for at in (0, 0, 0, 0, 4)] == [
        (4, False),
        (8, False),
        (12, False),
        None,
        (16, False),
    ]


def test_codel_counts_waits_of_its_target() -> None:
    bottleneck = Bottleneck(replace(PLAIN, gap_ms=5, codel=True))
    assert [bottleneck.take(0, True) for _ in range(2)] == [(5, False), (10, False)]
    # From now on each segment waits 10 ms. The first mark is an interval after the first of them leaves its
    # queue, the second an interval later, the third after its share of one.
    taken = [(at, bottleneck.take(at, True)) for at in range(0, 300, 5)]
    assert [at for at, left in taken if left is not None and left[1]] == [100, 200, 275]


@pytest.mark.parametrize("capable", [False, True])
def test_codel_acts_once_segments_have_waited_for_an_interval_and_then_more_often(capable: bool) -> None:
    bottleneck = Bottleneck(replace(PLAIN, gap_ms=4, codel=True))
    # 200 segments arrive at once. Segment n begins its service at 4 n less what was dropped.
    taken = [bottleneck.take(0, capable) for _ in range(200)]
    marked = [one is None or one[1] for one in taken]
    acted = [number for number, one in enumerate(marked) if one]
    if capable:
        # From 12 ms on the wait is above 10, at 112 for 100 ms. Further ones follow after 100, 71, 58, 50, 45
        # and 41 ms: at 212, 283, 341, 391, 436 and 477, each with the next segment.
        assert acted[:7] == [28, 53, 71, 86, 98, 109, 120]
        assert taken[28] == (116, True)
    else:
        # A drop takes no time of the link, so that the next segment takes its place.
        assert acted[:3] == [28, 54, 73]
    assert bottleneck.take(2000, capable) == (2004, False), "an empty queue ends it"


def test_a_situation_of_several_flows_has_two_controllers_and_starts_one_after_the_other() -> None:
    one = replace(PLAIN, faults="flows", flows=3, writes=((0, 4), (100, 2)))
    drawn_flows = [one_of(one, number) for number in range(3)]
    assert [flow.controller for flow in drawn_flows] == ["reno", "cubic", "reno"]
    assert [flow.writes for flow in drawn_flows] == [
        ((0, 4), (100, 2)),
        ((60, 4), (160, 2)),
        ((120, 4), (220, 2)),
    ]


# Open loops.

SPACED = replace(
    PLAIN, faults="close", gap_ms=0, spacing_us=400, writes=((0, 30),), lost=frozenset({3, 5}), end_ms=900
)


def test_acks_of_one_instant_are_spaced_and_the_times_are_kept() -> None:
    met = play(SPACED, Simulated()).met
    acks = [at for at, one in met if isinstance(one, Ack)][1:8]
    # The first ten segments leave and arrive at once.
    assert [after - before for before, after in pairwise(acks)] == [400] * 6


@pytest.mark.parametrize("situation", [SPACED, *(drawn(seed, "close") for seed in range(1, 4))])
def test_an_endpoint_answers_in_an_open_loop_as_it_did(situation: DrawnSituation) -> None:
    trace = play(situation, Simulated()).trace
    assert len(trace.met) > 10
    assert parted(situation, trace) is None
    later = replace(trace, met=tuple((at + 3000, one) for at, one in trace.met))
    assert parted(situation, later) is None, "whatever the machine's lateness"


@pytest.mark.parametrize("seed", range(1, 5))
def test_connections_behind_one_queue_answer_in_open_loops_as_they_did(seed: int, tmp_path: Path) -> None:
    situation = drawn(seed, "flows")
    trace = play_together(situation, Simulated).trace
    assert len(trace.others) == situation.flows - 1
    assert parted(situation, trace) is None
    origin = Origin("6.1", 250, "2026-11-26", "ackclock differential")
    Recording(origin, [RecordedRun(seed, "flows", trace)]).write(tmp_path / "one.gz")
    (run,) = Recording.read(tmp_path / "one.gz").runs
    assert run.trace == trace
    assert run.compared() is None


@pytest.mark.parametrize("faults", IN_OPEN_LOOP)
def test_the_kinds_in_an_open_loop_play_and_are_recorded_with_all_that_they_met(
    faults: Faults, tmp_path: Path
) -> None:
    for seed in (1, 2):
        played = play(drawn(seed, faults), Simulated())
        assert len(played.sent) > 20
        assert any(number < 0 for _, number in played.sent) == (faults == "both")
        origin = Origin("6.1", 250, "2026-11-26", "ackclock differential")
        Recording(origin, [RecordedRun(seed, faults, played.trace)]).write(tmp_path / "one.gz")
        (run,) = Recording.read(tmp_path / "one.gz").runs
        assert run.trace == played.trace
        assert run.compared() is None


def test_an_ack_of_a_segment_that_was_not_sent_is_a_difference() -> None:
    situation = drawn(1, "windows")
    trace = play(situation, Simulated()).trace
    ((at_us, ack),) = [(at, one) for at, one in trace.met if isinstance(one, Ack) and one.cumulative > 0][:1]
    met = [one for one in trace.met if one[0] < at_us]
    other = replace(trace, met=(*met, (at_us, replace(ack, cumulative=ack.cumulative - 1))))
    assert parted(situation, other) is not None


class Elsewhere(Simulated):
    """A host whose timestamps are others."""

    LATER = 1_000_000

    def receive(self, until: float) -> tuple[float, Packet] | None:
        left = super().receive(until)
        return None if left is None else (left[0], self._moved(left[1], (self.LATER, 0)))

    def inject(self, packet: Packet) -> None:
        echoes = packet.options is not None and packet.options.timestamps not in (None, (FIRST_STAMP, 0))
        super().inject(self._moved(packet, (0, -self.LATER)) if echoes else packet)

    @staticmethod
    def _moved(packet: Packet, by: tuple[int, int]) -> Packet:
        options = packet.options
        if options is None or options.timestamps is None:
            return packet
        value, echo = options.timestamps
        return replace(packet, options=replace(options, timestamps=(value + by[0], echo + by[1])))


def test_an_open_loop_echoes_the_timestamps_of_the_endpoint_that_meets_it() -> None:
    situation = replace(drawn(808, "both"), timestamps=True)
    played = play(situation, Elsewhere())
    assert answer(situation, played.met, Simulated()).trace.sent == played.trace.sent


def test_the_application_reads_the_data_of_the_other_side() -> None:
    situation = drawn(804, "both")
    played = play(situation, Simulated())
    assert sum(one.size for _, one in played.log if isinstance(one, Read)) == 54 * situation.size
    assert "read(4, ..., 1000) = 1000" in script(situation, played, "reads")


SUMS = {
    "losses": "f26faef4",
    "all": "54359b82",
    "pauses": "573e3738",
    "steps": "70259bd5",
    "long": "4db3f79f",
    "thin": "98c9e89f",
    "windows": "a5f536ff",
    "small": "9095b639",
    "sizes": "93728072",
    "bleached": "d281c01e",
    "modules": "8b767482",
    "bbr": "a886d18a",
    "both": "5eebfe4d",
    "buffers": "a3f7d109",
    "close": "cd0dc7a9",
    "flows": "73dd0c67",
}
"""CRC-32 of the first hundred situations of each kind, by the second version of the generator."""


@pytest.mark.parametrize("faults", FAULTS)
def test_a_hundred_seeds_of_each_kind_draw_the_situations_of_this_version_of_the_generator(faults) -> None:
    assert GENERATOR == 2
    texts = [json.dumps(asdict(drawn(seed, faults)), default=sorted, sort_keys=True) for seed in range(100)]
    assert f"{crc32(''.join(texts).encode()):08x}" == SUMS[faults]


def test_nothing_is_readable_before_a_connection() -> None:
    assert not Simulated().is_readable
