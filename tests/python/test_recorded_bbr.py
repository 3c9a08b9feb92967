"""The example test cases of BBR's draft, on recordings of ours, and on ones made by hand with faults."""

import json
import tomllib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import ackclock
from ackclock.checks import recordings
from ackclock.checks.bbr_phases import Phases, state
from ackclock.checks.recorded_bbr import CASES
from ackclock.checks.recording import Recording
from ackclock.exports import qlog
from calling import run

SUITE = Path(__file__).parents[2] / "suites" / "ccwg-bbr"
RTT, SEGMENT = 0.04, 1250
RATE = 10e6
"""The rate of the path in bit/s: 40 datagrams an RTT."""
PRODUCT = RATE * RTT / 8 / SEGMENT
IN_ORDER = (
    ("Startup", 8, 2.77, 2.0),
    ("Drain", 2, 0.5, 1.0),
    ("DOWN", 2, 0.9, 0.95),
    ("CRUISE", 40, 1.0, 1.0),
    ("REFILL", 1, 1.0, 1.0),
    ("UP", 4, 1.25, 1.2),
    ("DOWN", 2, 0.9, 0.95),
    ("CRUISE", 40, 1.0, 1.0),
    ("ProbeRTT", 6, 1.0, 0.5),
    ("CRUISE", 40, 1.0, 1.0),
)
"""States of BBR in their order: RTTs in each, the pacing rate over the path's, and the flight at its end over
the bandwidth-delay product."""


def made(phases=IN_ORDER, lost=(), silent=(), window=2.0):
    """A recording of these states, in steps of a twentieth of an RTT. ``silent`` names times without packets.

    The bandwidth doubles in each of the first rounds of Startup.
    """
    times, windows, flights, pacing, states = [], [], [], [], []
    now = 0.0
    for name, rounds, gain, flight in phases:
        states.append((now, name))
        for step in range(round(rounds * 20)):
            reached = min(2.0 ** (step // 20 - 4), 1.0) if name == "Startup" else 1.0
            times.append(now)
            pacing.append(gain * RATE * reached)
            flights.append(flight * PRODUCT * SEGMENT * reached)
            windows.append((0.5 if name == "ProbeRTT" else window) * PRODUCT * SEGMENT)
            now += RTT / 20
    sent = np.arange(0.0, now, RTT / PRODUCT)
    for begin, end in silent:
        sent = sent[(sent < begin) | (sent > end)]
    rows = len(times)
    return Recording(
        "bbr", np.array(times), np.array(windows), np.array(flights), np.full(rows, RTT), np.array(lost),
        SEGMENT, True, sent, np.full(sent.size, float(SEGMENT)), np.array(pacing), tuple(states),
        np.arange(len(lost)) * 2.0,
    )  # fmt: skip


def changed(name, number=None, **fields):
    """The states with one, or all of that name, changed: ``state``, ``rounds``, ``gain`` or ``flight``."""
    phases = [list(one) for one in IN_ORDER]
    rows = [k for k, one in enumerate(phases) if one[0] == name]
    for row in rows if number is None else [rows[number]]:
        for field, value in fields.items():
            phases[row][("state", "rounds", "gain", "flight").index(field)] = value
    return phases


def judged(recording):
    """The cases that are judged, with their verdicts."""
    found = recordings.check(recording, ["bbr3"])
    prefix = "recorded-bbr-"
    return {
        one.claim.id.removeprefix(prefix): one.verdict
        for one in found
        if one.claim.id.startswith(prefix) and one.measured is not None
    }


def missed(recording):
    return [name for name, verdict in judged(recording).items() if verdict == "miss"]


def test_states_in_their_order_break_no_case():
    assert missed(made()) == []
    assert set(judged(made())) == {
        "startup-next", "startup-plateau", "drain-gain", "drain-flight", "up-plateau", "down-gain",
        "down-flight", "probe-rtt-length", "probe-rtt-window", "probe-rtt-next",
    }  # fmt: skip


@pytest.mark.parametrize("rounds", [2, 3, 8])
def test_a_plateau_begins_with_its_state_if_the_rate_never_grows(rounds):
    whole = made()
    begin, end = whole.times[[100, 100 + 20 * rounds]].tolist()
    flat = replace(whole, states=((0.0, "Drain"), (begin, "Startup"), (end, "Drain")))
    found = [one for one in recordings.check(flat, ["bbr3"]) if one.claim.id.endswith("startup-plateau")]
    assert [one.measured for one in found] == [pytest.approx(rounds)]


def at(name, number=0, phases=IN_ORDER):
    """The time at which a state is entered."""
    row = [k for k, one in enumerate(phases) if one[0] == name][number]
    return sum(one[1] for one in phases[:row]) * RTT


def burst(begin, packets=12):
    """Losses in a round trip: every second packet."""
    return begin + np.arange(packets) * RTT / 20


LONG_UP = changed("UP", rounds=30)
LONG_STARTUP = changed("Startup", rounds=30)
IDLE = changed("CRUISE", 1, rounds=200)


@pytest.mark.parametrize(
    ("recording", "case"),
    [
        (made(changed("Drain", state="CRUISE", flight=1.6)), "startup-next"),
        (made(LONG_STARTUP), "startup-plateau"),
        (made(LONG_STARTUP, lost=burst(0.2)), "startup-loss"),
        (made(changed("Drain", gain=0.35)), "drain-gain"),
        (made(changed("Drain", flight=1.6, rounds=1)), "drain-flight"),
        (made(changed("Drain", flight=1.6, rounds=9)), "drain-time"),
        (made(changed("UP", rounds=1)), "up-plateau"),
        (made(changed("DOWN", gain=1.0)), "down-gain"),
        (made(changed("DOWN", flight=1.6)), "down-flight"),
        (made(changed("CRUISE", 0, state="DOWN", rounds=3, gain=0.9)), "down-time"),
        (made(changed("ProbeRTT", rounds=2)), "probe-rtt-length"),
        (made(LONG_UP, lost=burst(at("UP") + RTT)), "up-loss"),
        (made(changed("CRUISE", 2, state="Startup")), "probe-rtt-next"),
        (made(IDLE, silent=[(5.0, at("ProbeRTT", phases=IDLE) - RTT / 2)]), "probe-rtt-idle"),
        (made(changed("UP", rounds=6, flight=0.3), silent=[(at("UP"), at("DOWN", 1))]), "never-ends"),
    ],
    ids=lambda one: one if isinstance(one, str) else "",
)
def test_each_fault_breaks_its_case(recording, case):
    assert case in missed(recording)


def test_cases_are_of_the_22_sections_of_the_appendix_in_order():
    sections = [int(case.source.removeprefix("draft-ietf-ccwg-bbr-06, appendix A.")) for case, _ in CASES]
    assert sections == sorted(sections)
    assert set(sections) == set(range(1, 23))


def test_each_case_that_a_recording_does_not_exercise_says_why():
    found = recordings.check(made(), ["bbr3"])
    skipped = {one.claim.id: one.reason for one in found if one.measured is None}
    assert skipped["recorded-bbr-probe-rtt-idle"] == "the recording has no silence of five seconds"
    assert all(skipped.values())
    without = recordings.check(made(phases=[("recovery", 20, 1.0, 1.0)]), ["bbr3"])
    reasons = {one.reason for one in without if one.claim.id.startswith("recorded-bbr")}
    assert reasons == {"the recording has no states of BBR"}


def test_the_cases_are_those_of_the_draft():
    found = recordings.check(made(), ["bbr3"])
    sources = [one.claim.source for one in found if one.claim.id.startswith("recorded-bbr-")]
    assert {int(source.rpartition(".")[2]) for source in sources} == set(range(1, 23))


def test_the_page_of_recordings_has_the_cases_that_are_judged():
    found = recordings.check(made(), ["bbr3"])
    judged = [
        f"| `{one.claim.id}` | {one.claim.text} | {one.allowed} | {one.claim.source} |" for one in found
    ]
    lines = (SUITE.parents[1] / "docs/recordings.md").read_text("utf-8").splitlines()
    assert [line for line in lines if line.startswith("| `recorded-")] == judged


def measured(recording, case):
    """The value of a case, or why there is none."""
    [one] = [one for one in recordings.check(recording, ["bbr3"]) if one.claim.id == f"recorded-bbr-{case}"]
    return one.reason if one.measured is None else one.measured


LATER = at("CRUISE", 1) + 0.999
"""A time between two rows of the second CRUISE."""


@pytest.mark.parametrize(
    ("gap", "case", "other"),
    # A silence of more than three RTTs, 120 ms, is one of the timer.
    [(0.11, "loss", "timeout"), (0.13, "timeout", "loss")],
)
def test_bandwidth_after_a_spurious_loss_is_compared_with_that_before(gap, case, other):
    whole = made(changed("CRUISE", 1, rounds=80), lost=[LATER - gap - RTT / 2])
    keep = (whole.times < LATER - gap) | (whole.times > LATER)
    names = ("times", "window", "flight", "rtt", "pacing")
    some = replace(whole, **{name: getattr(whole, name)[keep] for name in names})
    some = replace(some, spurious=np.array([LATER]))
    # The rate is halved from the time on, and has three quarters a second later.
    some.pacing[some.times > LATER] *= 0.5
    some.pacing[some.times > LATER + 0.9] *= 1.5
    assert measured(some, f"spurious-{case}") == pytest.approx(0.75)
    assert measured(some, f"spurious-{other}") == f"the recording has no {other} that was spurious"


def test_the_silence_of_a_timer_may_be_the_first_of_a_recording():
    whole = made([("CRUISE", 80, 1.0, 1.0)], lost=[0.05])
    keep = (whole.times == 0.0) | (whole.times > 0.2)
    names = ("times", "window", "flight", "rtt", "pacing")
    some = replace(whole, **{name: getattr(whole, name)[keep] for name in names})
    assert measured(replace(some, spurious=np.array([0.2])), "spurious-timeout") == pytest.approx(1.0)


def test_a_spurious_loss_in_the_last_second_is_not_judged():
    whole = made(lost=[1.0])
    reason = "the recording has no loss that was spurious"
    late = replace(whole, spurious=np.array([whole.times[-1] - 0.99]))
    assert measured(late, "spurious-loss") == reason
    early = replace(whole, spurious=np.array([whole.times[-1] - 1.01]))
    assert measured(early, "spurious-loss") == pytest.approx(1.0)


STEPS = (
    ("CRUISE", 40, 1.0, 1.0),
    ("UP", 4, 1.25, 1.2),
    ("CRUISE", 40, 0.3, 1.0),
    ("UP", 4, 1.25, 1.2),
    ("CRUISE", 40, 0.2, 1.0),
)
"""The bandwidth falls to three tenths, and then to a fifth."""


@pytest.mark.parametrize(
    ("slow", "probes"),
    # A queue shows the slower path before the first UP, between both, behind them, or never.
    [(1.0, 2.0), (41.0, 1.0), (84.0, 0.0), (None, None)],
)
def test_probes_are_counted_from_the_queue_to_the_slower_bandwidth(slow, probes):
    whole = made(STEPS)
    if slow is not None:
        # Three RTTs of a queue, and a flight that leaves a fifth of the rate.
        rows = whole.times >= slow * RTT
        whole.rtt[rows] = 3 * RTT
        whole.flight[rows] = 0.2 * 3 * PRODUCT * SEGMENT
    reason = "the bandwidth of the path does not fall many times over"
    assert measured(whole, "falls") == (reason if probes is None else probes)


def test_a_fall_to_a_quarter_is_many_times_over_and_a_smaller_one_is_not():
    steps = [("CRUISE", 40, 1.0, 1.0), ("UP", 4, 1.25, 1.2), ("CRUISE", 40, 0.25, 1.0)]
    whole = made(steps)
    whole.rtt[:] = np.where(whole.times < RTT, RTT, 3 * RTT)
    whole.flight[:] = 0.2 * 3 * PRODUCT * SEGMENT
    assert measured(whole, "falls") == 1.0
    whole.pacing[whole.times >= 44 * RTT] *= 1.01
    assert measured(whole, "falls") == "the bandwidth of the path does not fall many times over"


@pytest.mark.parametrize(
    ("packets", "queued", "share"),
    # Of 40 packets in a round trip 20 are half, and of 50 in a longer one 25. A quarter of an RTT is a queue.
    [(21, 1.0, 0.0), (20, 1.0, None), (26, 1.24, 0.0), (26, 1.26, None)],
)
def test_a_policer_drops_half_of_a_round_trip_without_a_queue(packets, queued, share):
    first = 1.0 + np.arange(packets) * RTT / 41
    whole = made([("CRUISE", 100, 1.0, 1.0)], lost=first)
    whole.rtt[whole.times > 0.5] = queued * RTT
    reason = "no round trip loses half of its packets without a queue"
    assert measured(whole, "policer") == (reason if share is None else share)


def test_losses_of_a_policer_are_a_share_of_the_second_half():
    # 4 s, of which the second half has 2000 packets. 21 are lost in the first one, and 100 there.
    lost = np.concatenate((1.0 + np.arange(21) * RTT / 41, 2.5 + np.arange(100) / 100))
    assert measured(made([("CRUISE", 100, 1.0, 1.0)], lost=lost), "policer") == pytest.approx(0.05, rel=2e-3)


def quiet(whole):
    """The recording with so little sent that its pacing rate can be in bits alone."""
    return replace(whole, sent_bytes=whole.sent_bytes / 100)


def test_an_up_takes_round_trips_for_each_doubling_from_a_packet_on():
    # From a fifth of the bandwidth to all of it, 40 packets, in eight round trips. log2 40 is 5.32.
    whole = quiet(made([("CRUISE", 40, 0.2, 1.0), ("UP", 8, 0.25, 1.0), ("DOWN", 2, 0.9, 1.0)]))
    last = (whole.times >= 47 * RTT) & (whole.times < 48 * RTT)
    whole.pacing[last] = 1.25 * RATE
    assert measured(whole, "rises") == pytest.approx(8 / 5.3219, abs=1e-3)
    # Four times as much is no change of the path.
    whole.pacing[last] = 4 * 0.25 * RATE
    assert measured(whole, "rises") == "the bandwidth of the path does not rise many times over"


@pytest.mark.parametrize(("gain", "datagrams"), [(0.024, 80.0), (0.026, None)])
def test_a_window_is_in_datagrams_on_a_path_of_less_than_one(gain, datagrams):
    # The path holds 40 datagrams at the whole rate, and 0.96 or 1.04 at these.
    found = measured(quiet(made([("CRUISE", 40, gain, 1.0)])), "sub-packet")
    assert found == ("the path holds a packet or more" if datagrams is None else pytest.approx(datagrams))


@pytest.mark.parametrize(("after", "share"), [("Startup", 1.0), ("Drain", 0.0)])
def test_probe_rtt_goes_back_to_startup(after, share):
    phases = [("Startup", 8, 2.77, 2.0), ("ProbeRTT", 6, 1.0, 0.5), (after, 8, 1.0, 1.0)]
    assert measured(made(phases), "probe-rtt-startup") == share
    assert measured(made(phases), "probe-rtt-next") == "the recording has no ProbeRTT after ProbeBW"


def test_times_in_states_are_worked_out_in_round_trips():
    # 240 ms and the 2 ms between two rows, less 200, are 1.05 round trips of 40 ms.
    assert measured(made(), "probe-rtt-length") == pytest.approx(42 / 40)
    # DOWN of three round trips before REFILL, of the 40 that are as many packets as the path holds.
    assert measured(made(changed("CRUISE", 0, state="DOWN", rounds=3)), "down-time") == pytest.approx(5 / 40)
    # The window is half of the path's.
    assert measured(made(), "probe-rtt-window") == pytest.approx(0.5)
    assert measured(made(), "up-plateau") == pytest.approx(4.0)


@pytest.mark.parametrize(
    ("later", "silence", "found"),
    # ProbeRTT within three round trips of the first packet behind five seconds, before it, and later.
    [(0.1, 5.1, 1.0), (2.9, 5.1, 1.0), (3.1, 5.1, 0.0), (-0.5, 5.1, 0.0), (0.1, 4.9, None)],
)
def test_a_silence_of_five_seconds_leaves_no_probe_rtt(later, silence, found):
    phases = [("CRUISE", 200, 1.0, 1.0), ("ProbeRTT", 10, 1.0, 0.5), ("CRUISE", 40, 1.0, 1.0)]
    whole = made(phases)
    back = 8.0 - later * RTT
    sent = np.concatenate((np.arange(0.0, back - silence, 0.01), np.arange(back, 9.0, 0.01)))
    sent[int((back - silence) / 0.01)] = back - silence
    whole = replace(whole, sent=sent, sent_bytes=np.full(sent.size, float(SEGMENT)))
    reason = "the recording has no silence of five seconds"
    assert measured(whole, "probe-rtt-idle") == (reason if found is None else found)


def test_states_are_known_by_the_names_of_several_stacks():
    assert state("bbr_probe_bw_up") == state("UP") == state("ProbeBW_UP") == "probe_bw_up"
    assert state("Startup") == state("bbr_startup") == "startup"
    assert state("ProbeRTT") == state("bbr_probe_rtt") == "probe_rtt"
    assert state("congestion_avoidance") is None


def test_a_pacing_rate_in_bytes_is_known_by_what_was_sent():
    bits, by_bytes = made(), made()
    by_bytes.pacing[:] /= 8
    assert Phases(by_bytes).pacing == pytest.approx(Phases(bits).pacing)


EXERCISED = {
    "app-limited": {"never-ends", "probe-rtt-startup"},
    "drain-time": {"drain-time", "down-time"},
    "probe-rtt": {
        "startup-plateau",
        "drain-gain",
        "drain-flight",
        "up-plateau",
        "down-gain",
        "probe-rtt-length",
    },
    "probe-rtt-idle": {"probe-rtt-idle"},
    "probe-up-longterm": {"up-loss"},
    "startup-loss": {"startup-next"},
    "sub-packet": {"sub-packet"},
}
"""Scenarios of the suite, with cases that a recording of each exercises."""


def checked(capsys, tmp_path, name, every):
    """The cases of our BBR in a scenario of the suite, with rows so often in its log."""
    document = tomllib.loads((SUITE / f"{name}.toml").read_text())
    own = next(one["scenario"] for one in document.get("runs", ()) if one["name"] == "bbr3")
    path = document["scenario"].get("path", {}) | own.get("path", {})
    record = {"probes": every, "flow_series": every, "events": True}
    log = tmp_path / "bbr3.qlog"
    qlog.write(ackclock.simulate({**document["scenario"], **own, "path": path, "record": record}), log)
    status, out, err = run(capsys, "check", log, "--as", "bbr3", "--json")
    cases = json.loads(out)["check"]["cases"]
    assert status == 0, err
    return cases


@pytest.mark.parametrize(
    "name",
    [
        "aggregation",
        "app-limited",
        "drain-time",
        "probe-rtt",
        "spurious-timeout",
        "sub-packet",
        "ten-times-down",
    ],
)
def test_rare_rows_in_a_log_accuse_no_right_bbr(capsys, tmp_path, name):
    assert checked(capsys, tmp_path, name, "5ms")


def test_rare_rows_in_a_log_are_the_reason_to_judge_no_flight(capsys, tmp_path):
    cases = {one["id"]: one for one in checked(capsys, tmp_path, "probe-rtt", "20ms")}
    for name in ("drain-flight", "down-flight"):
        assert cases[f"recorded-bbr-{name}"]["verdict"] == "skipped"
        assert "the metrics are too far apart" in cases[f"recorded-bbr-{name}"]["reason"]


def test_a_pacing_rate_that_falls_for_most_of_a_log_keeps_its_unit():
    slow = made(changed("CRUISE", 2, rounds=400, gain=0.05))
    rows = slow.times[-1] - 400 * RTT
    keep = (slow.sent < rows) | (np.arange(slow.sent.size) % 20 == 0)
    slow = replace(slow, sent=slow.sent[keep], sent_bytes=slow.sent_bytes[keep])
    assert Phases(slow).pacing == pytest.approx(slow.pacing / 8)


@pytest.mark.parametrize("name", EXERCISED)
def test_recordings_of_our_bbr_break_no_case(capsys, tmp_path, name):
    cases = checked(capsys, tmp_path, name, "1ack")
    passed = {one["id"].removeprefix("recorded-bbr-") for one in cases if one["verdict"] == "pass"}
    assert passed >= EXERCISED[name]
