"""Differential runs: generator, network, comparison, shrinking, and recorded answers of a kernel."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ackclock.cli import status
from ackclock.cli.differential import FAULTS as NAMED
from ackclock.replay import replay
from ackclock.replay.differential import (
    FAULTS,
    Difference,
    DrawnSituation,
    Origin,
    Played,
    RecordedRun,
    Recording,
    Shrinking,
    Trace,
    compared,
    drawn,
    play,
    script,
    used,
)
from ackclock.replay.differential.network import Network, Sample, Write
from ackclock.replay.differential.receiver import Ack, Receiver, Segment
from ackclock.replay.differential.situation import LARGEST_WINDOW, MODULES
from ackclock.replay.jiffies import Jiffies
from ackclock.replay.simulated import Simulated
from calling import needs_live, refused, run

FOLDER = Path(__file__).parents[1] / "differential"
RECORDINGS = sorted(FOLDER.glob("*.json.gz"))
KNOWN = FOLDER / "differences.json"
"""Seeds whose recorded kernel the simulation does not follow. `docs/differential.md` has the causes."""

PLAIN = DrawnSituation(
    seed=0,
    faults="losses",
    controller="reno",
    sack=True,
    timestamps=False,
    ecn=False,
    rtt_ms=100,
    handshake_ms=96,
    gap_ms=2,
    window=LARGEST_WINDOW,
    ack_every=1,
    writes=((0, 4),),
    end_ms=400,
    lost=frozenset(),
)


# Situations.


def test_a_seed_always_draws_the_same_situation() -> None:
    # Recordings hold answers to these: another generator needs another version, and new recordings.
    one = drawn(1, "losses")
    assert (one.controller, one.rtt_ms, one.handshake_ms, one.gap_ms) == ("reno", 202, 182, 6)
    assert sorted(one.lost)[:5] == [38, 69, 155, 156, 168]
    other = drawn(4, "all")
    assert (other.sack, other.timestamps, other.ecn, other.ack_every) == (False, True, True, 4)
    assert (other.late[:2], other.late_acks[:2]) == (((1, 14), (4, 14)), ((11, 8), (15, 8)))


@given(st.integers(0, 10_000), st.sampled_from(FAULTS))
def test_times_are_even_and_rtts_no_multiple_of_a_tick(seed, faults) -> None:
    one = drawn(seed, faults)
    times = [one.rtt_ms, one.handshake_ms, one.gap_ms, *(at for at, _ in one.writes)]
    times += [late for _, late in (*one.late, *one.late_acks)] + [at for at, _ in one.rtt_steps]
    assert all(at % 2 == 0 for at in times)
    assert all(rtt % 4 == 2 for rtt in (one.rtt_ms, *(rtt for _, rtt in one.rtt_steps)))
    assert faults == "all" or not (one.late or one.twice)
    assert faults in ("all", "bleached") or not one.marked
    assert one.writes[-1][0] < one.end_ms - 2 * one.rtt_ms


def test_each_kind_of_faults_draws_what_is_its_own() -> None:
    sets = {name: [drawn(seed, name) for seed in range(30)] for name in FAULTS}
    assert sorted({one.rtt_ms for one in sets["long"]}) == [702, 1202, 2002]
    assert {name for name in FAULTS if any(one.rtt_steps for one in sets[name])} == {"steps"}
    assert max(one.ack_every for one in sets["thin"]) == 50
    assert max(one.ack_every for name in FAULTS if name != "thin" for one in sets[name]) == 4
    idle = [after[0] - before[0] for one in sets["pauses"] for before, after in pairwise(one.writes)]
    assert set(idle) == {60, 260, 420, 700, 1300}
    assert {name for name in FAULTS if any(one.windows for one in sets[name])} == {"windows"}
    assert {one.size for one in sets["sizes"]} == {88, 536, 1296, 1400}
    assert all(one.ecn and one.bleached for one in sets["bleached"])
    assert {one.unit for name in FAULTS if name in ("windows", "small") for one in sets[name]} == {1}
    own = {
        "peer": {"both"},
        "send_buffer": {"buffers"},
        "spacing_us": {"close"},
        "limit_ms": {"flows"},
        "codel": {"flows"},
    }
    for name, kinds in own.items():
        assert {kind for kind in FAULTS if any(getattr(one, name) for one in sets[kind])} == kinds, name
    assert {one.flows for one in sets["flows"]} == {2, 3}
    assert {one.controller for one in sets["modules"]} <= {*MODULES}
    assert {one.controller for one in sets["bbr"]} == {"bbr"}
    assert NAMED == FAULTS, "the command names them"


def test_faults_of_packets_that_were_never_sent_are_left_out() -> None:
    one = replace(PLAIN, lost=frozenset({1, 7}), late=((2, 14), (8, 14)), lost_acks=frozenset({0, 3}))
    less = used(one, transmissions=7, acks=3)
    assert (less.lost, less.late, less.lost_acks) == (frozenset({1}), ((2, 14),), frozenset({0}))


# The network.


def events(network: Network) -> list[tuple[int, object]]:
    """All that reaches the endpoint, but for samples."""
    found = []
    while (due := network.due) is not None:
        happening = network.take()
        if happening is not None and not isinstance(happening, Sample):
            found.append((due, happening))
    return found


def test_a_bottleneck_takes_its_time_for_each_segment() -> None:
    network = Network(replace(PLAIN, writes=()))
    for number in range(3):
        network.depart(0, Segment(number))
    network.depart(50, Segment(3))
    # Served until 2, 4, 6 and 52 ms. They arrive 100 ms later.
    assert events(network) == [(102, Ack(1)), (104, Ack(2)), (106, Ack(3)), (152, Ack(4))]


def test_segments_that_leave_after_a_step_have_another_rtt_and_arrive_in_order() -> None:
    network = Network(replace(PLAIN, writes=(), rtt_steps=((40, 30), (200, 60))))
    for number, at in enumerate((0, 40, 60, 120, 200)):
        network.depart(at, Segment(number))
    # A segment takes 2 ms. The second would arrive at 40 + 2 + 30 ms, before the first.
    arrivals = [(102, Ack(1)), (102, Ack(2)), (102, Ack(3)), (152, Ack(4)), (262, Ack(5))]
    assert events(network) == arrivals


def test_a_network_loses_delays_and_doubles_what_its_situation_names() -> None:
    one = replace(
        PLAIN,
        writes=((6, 9),),
        lost=frozenset({0}),
        late=((1, 10),),
        twice=frozenset({2}),
        lost_acks=frozenset({0}),
        late_acks=((1, 20),),
    )
    network = Network(one)
    for number in range(3):
        network.depart(0, Segment(number))
    # Segment 1 arrives at 104 + 10 ms, 2 at 106 ms and again 4 ms later. The first ACK is lost. The second,
    # for the duplicate at 110 ms, takes 20 ms more.
    assert events(network) == [
        (6, Write(9)),
        (114, Ack(0, ((1, 3),))),
        (130, Ack(0, ((2, 3), (2, 3)))),
    ]


def test_only_segments_that_are_capable_are_marked() -> None:
    network = Network(replace(PLAIN, writes=(), marked=frozenset({0, 1})))
    network.depart(0, Segment(0))
    network.depart(0, Segment(1), capable=True)
    assert [ack for _, ack in events(network)] == [Ack(1), Ack(2, echo=True)]


# The receiver.


def test_data_of_the_other_side_carry_the_ack_that_waits() -> None:
    receiver = Receiver(replace(PLAIN, ack_every=2))
    assert receiver.send() == Ack(0, start=0, data=1)
    assert receiver.on_segment(10, Segment(0)) is None
    assert receiver.send() == Ack(1, start=1, data=1)
    assert receiver.due is None
    assert receiver.on_segment(20, Segment(1)) is None
    assert receiver.on_timeout() == Ack(2, start=2)


def test_the_block_of_the_latest_segment_comes_first_and_a_duplicate_before_it() -> None:
    receiver = Receiver(PLAIN)
    answers = [receiver.on_segment(0, Segment(number)) for number in (1, 5, 3, 2, 3, 0)]
    assert answers == [
        Ack(0, ((1, 2),)),
        Ack(0, ((5, 6), (1, 2))),
        Ack(0, ((3, 4), (5, 6), (1, 2))),
        Ack(0, ((1, 4), (5, 6))),
        Ack(0, ((3, 4), (1, 4), (5, 6))),
        Ack(4, ((5, 6),)),
    ]


def test_an_ack_waits_for_more_segments_or_for_its_time_but_not_beside_a_hole() -> None:
    receiver = Receiver(replace(PLAIN, ack_every=2))
    assert (receiver.on_segment(10, Segment(0)), receiver.due) == (None, 36)
    assert (receiver.on_segment(12, Segment(1)), receiver.due) == (Ack(2), None)
    assert (receiver.on_segment(20, Segment(2)), receiver.due) == (None, 46)
    assert (receiver.on_timeout(), receiver.due) == (Ack(3), None)
    assert receiver.on_segment(50, Segment(4)) == Ack(3, ((4, 5),))
    assert receiver.on_segment(52, Segment(3)) == Ack(5)


def test_segments_of_bytes_may_be_short_and_overlap() -> None:
    receiver = Receiver(replace(PLAIN, faults="small"))
    pieces = [(0, 1000), (1500, 700), (1400, 200), (2200, 10), (1400, 300), (1000, 500)]
    answers = [receiver.on_segment(0, Segment(start, length=length)) for start, length in pieces]
    assert answers == [
        Ack(1000),
        Ack(1000, ((1500, 2200),)),
        Ack(1000, ((1400, 2200),)),
        Ack(1000, ((1400, 2210),)),
        Ack(1000, ((1400, 1700), (1400, 2210))),
        Ack(2210),
    ]


def test_the_end_of_a_window_never_moves_back_and_a_change_is_announced() -> None:
    one = replace(PLAIN, faults="windows", writes=(), windows=((0, 4000), (200, 600), (300, 2001)))
    network = Network(one)
    network.depart(0, Segment(0, length=1000))
    network.depart(90, Segment(1000, length=1500))
    # At 192 ms bytes up to 6500 are allowed: 600 and 2001 bytes from 2500 on are less.
    windows = [(at, ack.window) for at, ack in events(network) if isinstance(ack, Ack)]
    assert windows == [(102, 4000), (192, 4000), (200, 4000), (300, 4000)]
    network.depart(310, Segment(2500, length=3000))
    # 1000 bytes are left of 6500; windows count 8 bytes.
    assert [ack.window for _, ack in events(network) if isinstance(ack, Ack)] == [2008]


def test_bleached_marks_have_no_echo() -> None:
    receiver = Receiver(replace(PLAIN, bleached=True))
    assert receiver.on_segment(0, Segment(0, marked=True)) == Ack(1)


def test_a_mark_is_echoed_until_the_sender_has_reduced_its_window() -> None:
    receiver = Receiver(PLAIN)
    answers = [
        receiver.on_segment(0, Segment(0, marked=True)),
        receiver.on_segment(0, Segment(1)),
        receiver.on_segment(0, Segment(2, reduced=True)),
    ]
    assert [answer.echo for answer in answers if answer is not None] == [True, True, False]


def test_the_timestamp_of_the_earliest_segment_since_the_last_ack_is_echoed() -> None:
    receiver = Receiver(replace(PLAIN, ack_every=2, timestamps=True))
    receiver.on_segment(0, Segment(0, stamp=7))
    assert receiver.on_segment(0, Segment(1, stamp=9)) == Ack(2, stamp=7)
    # One above a hole changes nothing (RFC 7323, section 4.3).
    assert receiver.on_segment(0, Segment(3, stamp=20)) == Ack(2, ((3, 4),), stamp=7)
    assert receiver.on_segment(0, Segment(2, stamp=30)) == Ack(4, stamp=30)


@given(st.lists(st.integers(0, 12), max_size=40))
def test_blocks_are_what_arrived_above_the_cumulative_point(numbers) -> None:
    receiver = Receiver(PLAIN)
    arrived: set[int] = set()
    for number in numbers:
        duplicate = number in arrived
        answer = receiver.on_segment(0, Segment(number))
        arrived.add(number)
        cumulative = next(n for n in range(14) if n not in arrived)
        assert answer is not None
        assert answer.cumulative == cumulative
        blocks = answer.blocks[1:] if duplicate else answer.blocks
        covered = {n for start, end in blocks for n in range(start, end)}
        assert covered <= {n for n in arrived if n > cumulative}
        assert len(answer.blocks) == 4 or covered == {n for n in arrived if n > cumulative}
        assert not duplicate or answer.blocks[0] == (number, number + 1)


# The comparison.

TRACE = Trace(((0, 0), (0, 1), (100, 2)), ((240, 10, 99, 0, 3, 0, 0, 0, 0, 3),))


def test_traces_agree_up_to_two_ticks() -> None:
    assert compared(TRACE, replace(TRACE, sent=((0, 0), (0, 1), (108, 2)))) is None
    later = compared(TRACE, replace(TRACE, sent=((0, 0), (0, 1), (109, 2))))
    assert later == Difference(100, "packet 2: simulated segment 2 at 100 ms, kernel segment 2 at 109 ms")


def test_states_do_not_count_while_a_late_timer_shifts_them() -> None:
    state = (240, 11, 99, 3, 3, 0, 0, 0, 0, 3)
    shifted = Trace(((0, 0), (0, 1), (104, 2)), (state,))
    assert compared(TRACE, shifted) is None
    later = Trace((*shifted.sent, (238, 3)), (state,))
    assert compared(Trace((*TRACE.sent, (238, 3)), TRACE.states), later) is not None


def test_a_segment_more_or_another_one_is_a_difference() -> None:
    less = compared(TRACE, replace(TRACE, sent=((0, 0), (0, 1))))
    assert less == Difference(100, "packet 2: simulated segment 2 at 100 ms, kernel nothing")
    other = compared(replace(TRACE, sent=((0, 0), (50, 0))), TRACE)
    assert other == Difference(0, "packet 1: simulated segment 0 at 50 ms, kernel segment 1 at 0 ms")


def test_the_earliest_difference_counts() -> None:
    state = (240, 11, 99, 3, 3, 0, 0, 0, 0, 3)
    found = compared(replace(TRACE, states=(state,)), TRACE)
    assert found == Difference(
        240, "state at 240 ms: snd_cwnd 11 simulated, 10 kernel, ca_state 3 simulated, 0 kernel"
    )
    sooner = compared(Trace((), (state,)), TRACE)
    assert sooner == Difference(0, "packet 0: simulated nothing, kernel segment 0 at 0 ms")


def test_other_connections_are_compared_one_by_one() -> None:
    second = replace(TRACE, sent=((0, 0), (0, 1), (120, 2)))
    found = compared(replace(TRACE, others=(TRACE,)), replace(TRACE, others=(second,)))
    assert found == Difference(100, "packet 2: simulated segment 2 at 100 ms, kernel segment 2 at 120 ms")


def test_an_acknowledgement_is_named_as_one() -> None:
    sent = ((0, 0), (0, 1), (100, -4))
    found = compared(TRACE, replace(TRACE, sent=sent))
    assert found == Difference(100, "packet 2: simulated segment 2 at 100 ms, kernel ACK of 3 at 100 ms")


# Shrinking.


def test_a_difference_is_reduced_to_the_faults_that_it_needs() -> None:
    """A difference at 200 ms, wherever transmissions 3 and 9 are lost and two segments are written."""
    tried = []

    def differs(one: DrawnSituation) -> Difference | None:
        tried.append(one)
        needed = one.lost >= {3, 9} and one.writes[0][1] >= 2
        return Difference(200, "here") if needed else None

    first = replace(
        PLAIN,
        lost=frozenset(range(20)),
        late=((1, 14), (2, 14)),
        twice=frozenset({4}),
        window=8,
        timestamps=True,
        writes=((0, 4), (100, 3), (300, 4)),
        end_ms=3000,
    )
    small = Shrinking(first, Difference(200, "here"), differs).run()
    assert (small.lost, small.late, small.twice) == (frozenset({3, 9}), (), frozenset())
    assert (small.window, small.timestamps, small.end_ms) == (LARGEST_WINDOW, False, 260)
    # Either write is enough, and the first is tried first. The write at 300 ms comes too late to matter.
    assert small.writes == ((100, 3),)
    assert len(tried) <= 80


def test_a_script_of_what_an_endpoint_did_matches_that_endpoint(tmp_path: Path) -> None:
    one = replace(PLAIN, writes=((0, 12),), lost=frozenset({1}), timestamps=True, rtt_ms=102)
    file = tmp_path / "one.pkt"
    file.write_text(script(one, play(one, Simulated()), "A loss."), encoding="utf-8")
    assert replay(file, Simulated).verdict == "match"
    other = file.read_text("utf-8").replace("assert tcpi_snd_cwnd ==", "assert 1 + tcpi_snd_cwnd ==")
    file.write_text(other, encoding="utf-8")
    assert replay(file, Simulated).verdict == "divergence"


# Recordings.


def recording(*runs: RecordedRun) -> Recording:
    return Recording(Origin("6.1", 250, "2026-11-26", "ackclock differential"), runs)


def test_a_recording_survives_its_file(tmp_path: Path) -> None:
    one = recording(RecordedRun(7, "losses", TRACE), RecordedRun(8, "all", Trace((), ())))
    one.write(tmp_path / "a.gz")
    one.write(tmp_path / "b.gz")
    assert Recording.read(tmp_path / "a.gz") == replace(one, runs=list(one.runs))
    assert (tmp_path / "a.gz").read_bytes() == (tmp_path / "b.gz").read_bytes()


def test_a_file_that_is_no_recording_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "x.gz"
    assert refused(capsys, "kernel", "differential", file) == f"{file}: No such file or directory"
    for data in (b"text", gzip.compress(b"{}"), gzip.compress(b'{"generator": 1, "origin": 3, "runs": []}')):
        file.write_bytes(data)
        assert refused(capsys, "kernel", "differential", file).startswith(
            f"{file}: is no recording of `ackclock kern"
        )
    recording().write(file)
    file.write_bytes(
        gzip.compress(gzip.decompress(file.read_bytes()).replace(b'"generator":2', b'"generator":0'))
    )
    assert "was recorded with generator 0" in refused(capsys, "kernel", "differential", file)


@needs_live
def test_what_plays_on_the_kernel_asks_for_live(capsys: pytest.CaptureFixture[str]) -> None:
    assert refused(capsys, "kernel", "differential").startswith(
        "FILE: without one it plays on the kernel's TCP"
    )
    assert refused(capsys, "kernel", "differential", "x", "--runs", "3").startswith(
        "--runs: plays on the kernel's"
    )
    assert "plays anew" in refused(capsys, "kernel", "differential", "x", "--live")


@dataclass(frozen=True)
class Interrupted:
    """A TCP whose first of three situations is late again and again until Ctrl-C comes."""

    release = "6.1"
    ticks = 250
    varies = True

    def play(self, situations: Sequence[DrawnSituation]) -> Iterator[tuple[DrawnSituation, Played]]:
        for situation in reversed(situations[1:3]):
            yield situation, play(situation, Simulated())
        raise status.Interrupted


@dataclass
class Late:
    """A TCP with a timer that is late: always for seed 1, and for seed 2 only at first."""

    varies: bool = True
    release = "6.18"
    ticks = 250
    asked: list[list[int]] = field(default_factory=list)

    def play(self, situations: Sequence[DrawnSituation]) -> Iterator[tuple[DrawnSituation, Played]]:
        self.asked.append([one.seed for one in situations])
        for situation in situations:
            played = play(situation, Simulated())
            if situation.seed == 1 or (situation.seed == 2 and len(self.asked) == 1):
                played.sent[-1] = (played.sent[-1][0] + 20, played.sent[-1][1])
            yield situation, played


@needs_live
def test_a_difference_counts_only_if_it_comes_twice(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for varies, agree, asked in ((True, 2, [[1, 2, 3], [1, 2]]), (False, 1, [[1, 2, 3]])):
        tcp = Late(varies)
        monkeypatch.setattr("ackclock.cli.differential._tcp", lambda _, tcp=tcp: tcp)
        status, out, err = run(capsys, "kernel", "differential", "--live", "--runs", "3")
        assert (status, tcp.asked) == (1, asked)
        assert f"{agree} of 3 runs agree" in out
        assert ("1 differences vanished" in err) == varies


@needs_live
def test_an_interruption_keeps_what_was_played(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("ackclock.cli.differential._tcp", lambda _: Interrupted())
    file = tmp_path / "runs.json.gz"
    status, out, _ = run(
        capsys, "kernel", "differential", "--live", "--runs", "5", "--record", file, "--out", tmp_path / "x"
    )
    assert status == 130
    assert "2 of 2 runs agree" in out
    assert [one.seed for one in Recording.read(file).runs] == [2, 3]
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize("file", RECORDINGS, ids=lambda file: file.name.split(".")[0])
def test_the_simulation_follows_the_recorded_kernel(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, "kernel", "differential", file, "--json")
    runs = json.loads(out)["runs"]
    known = json.loads(KNOWN.read_text("utf-8"))
    kind = runs[0]["faults"]
    found = [one["seed"] for one in runs if not one["agrees"]]
    if os.environ.get("UPDATE_DIFFERENCES"):
        known |= {kind: found}
        KNOWN.write_text(json.dumps(known, sort_keys=True) + "\n", encoding="utf-8")
    assert found == known[kind], "UPDATE_DIFFERENCES=1 accepts the change"


# The kernel.


def test_a_start_is_the_middle_of_a_tick_whose_number_is_a_multiple_of_64() -> None:
    timer = " #0: <1>, tick_nohz_handler, S:01\n # expires at 1003000000-1\n"
    text = f"now at 1001000000 nsecs\n{timer}jiffies: 300\n"
    ticks = Jiffies.read(text, 4_000_000)
    # Ticks are at 3 + 4n ms. Number 300 began at 999 ms. Number 320 begins 80 ms later.
    assert ticks.start_after(1_001_000_000) == 1_079_000_000 + 2_000_000
    assert ticks.start_after(1_080_000_000) == 1_335_000_000 + 2_000_000
