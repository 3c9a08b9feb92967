"""Controllers written in Python."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

import polars
import pytest

import ackclock

LOSSY = ackclock.Path("10mbit", "40ms", "20p", loss="1%")


class NewReno(ackclock.Controller):
    """NewReno (RFC 5681) as the engine has it, written from its rules a second time."""

    def __init__(self) -> None:
        self.before: tuple[float, float] | None = None

    def on_ack(self, cx: ackclock.Context, ack: ackclock.Ack) -> None:
        if not ack.window_limited:
            return
        credit = ack.avoidance_credit()
        if cx.slow_start_at_threshold and self.window == self.slow_start_threshold:
            self.window += ack.slow_start_credit()
            return
        if self.window < self.slow_start_threshold:
            credit = ack.slow_start_credit()
            room = self.slow_start_threshold - self.window
            if credit < room:
                self.window += credit
                return
            self.window = self.slow_start_threshold
            credit -= room
        if credit > 0:
            self.window += min(credit / self.window, 1.0)

    def on_loss(self, cx: ackclock.Context, loss: ackclock.Loss) -> None:
        self.before = self.window, self.slow_start_threshold
        self.slow_start_threshold = max(self.window * 0.5, 2.0)
        self.window = min(self.window, self.slow_start_threshold)

    def on_timeout(self, cx: ackclock.Context, loss: ackclock.Loss) -> None:
        if not loss.again:
            self.before = self.window, self.slow_start_threshold
            self.slow_start_threshold = max(self.window * 0.5, 2.0)
        self.window = 1.0

    def on_spurious(self, cx: ackclock.Context) -> None:
        if self.before is not None:
            self.window = max(self.window, self.before[0])
            self.slow_start_threshold = max(self.slow_start_threshold, self.before[1])
            self.before = None


class Fixed(ackclock.Controller):
    """A window that never changes."""

    def __init__(self, segments: float = 10.0) -> None:
        self.window = segments

    def on_start(self, cx: ackclock.Context) -> None:
        pass

    def on_ack(self, cx: ackclock.Context, ack: ackclock.Ack) -> None:
        pass

    def on_loss(self, cx: ackclock.Context, loss: ackclock.Loss) -> None:
        pass

    def on_timeout(self, cx: ackclock.Context, loss: ackclock.Loss) -> None:
        pass


def simulated(
    cc: str | type[ackclock.Controller], path: ackclock.Path = LOSSY, **given: object
) -> ackclock.Run:
    flow = ackclock.Flow(cc, **given)  # type: ignore[arg-type]
    record = ackclock.Record(flow_series="1ack")
    scenario = ackclock.Scenario(path=path, flows=[flow], duration="20s", record=record)
    run = ackclock.simulate(scenario)
    assert isinstance(run, ackclock.Run)
    return run


@pytest.mark.parametrize("profile", ["linux", "freebsd-9"])
def test_newreno_in_python_equals_the_engine_segment_for_segment(profile: str) -> None:
    engine, python = simulated("newreno", profile=profile), simulated(NewReno, profile=profile)
    kinds = engine.events["kind"].to_pylist()
    assert kinds.count("loss-event") > 20
    assert "timeout" in kinds or profile == "linux"
    assert engine.flow_series.num_rows > 1000
    assert python.flow_series.equals(engine.flow_series)
    assert python.events.equals(engine.events)


def test_parameters_go_by_name_and_copies_have_own_objects() -> None:
    path = ackclock.Path("10mbit", "40ms", "84p")
    run = simulated(Fixed, path, parameters={"segments": 4.0}, count=2)
    # 8 segments in all in a round trip of 40 ms and a delayed ACK or none: never a queue of more than 8.
    assert set(run.flow_series["window_segments"].to_pylist()) == {4.0}
    assert run.flows.num_rows == 2
    assert run.links["queue_packets_max"].to_pylist()[0] <= 8
    assert run.flows["cc"].to_pylist() == ["Fixed"] * 2
    assert run.scenario["flows"][0]["parameters"] == {"segments": 4.0}


def test_two_classes_in_one_scenario_are_kept_apart() -> None:
    flows = [ackclock.Flow(Fixed, {"segments": 2.0}), "newreno", ackclock.Flow(Fixed, {"segments": 7.0})]
    run = ackclock.simulate(ackclock.Path("10mbit", "40ms", "84p"), flows, duration="2s")
    assert run.flows["name"].to_pylist() == ["Fixed-0", "newreno-1", "Fixed-2"]
    # Before the connections are open, they have the stack's window.
    series = run.polars("flow_series").filter(polars.col("time_s") > 0.1)
    series = series.group_by("flow").agg(window=polars.col("window_segments").max())
    windows = dict(series.iter_rows())
    assert (windows[0], windows[2]) == (2.0, 7.0)


def test_probes_random_numbers_and_signals_reach_python() -> None:
    seen: list[tuple[float, float | None, float | None]] = []

    class Curious(Fixed):
        drawn = 0.0

        def on_ack(self, cx: ackclock.Context, ack: ackclock.Ack) -> None:
            self.drawn = cx.random()
            seen.append((cx.now, ack.rtt, ack.min_rtt))
            assert (cx.segment_size, cx.initial_window) == (1448, 10.0)
            assert ack.rate is None or ack.rate.delivered >= 1

        def probe(self) -> Mapping[str, float]:
            return {"drawn": self.drawn, "twice": 2 * self.drawn}

    path = ackclock.Path("10mbit", "40ms", "84p")
    run = simulated(Curious, path)
    probes = run.polars("probes").pivot(on="name", index="time_s", values="value")
    assert (probes["twice"] == 2 * probes["drawn"]).all()
    assert len(set(probes["drawn"])) > 100
    # 40 ms of propagation, 1.2 ms of service for 1500 bytes at 10 Mbit/s, and less than 10 us of each host.
    least = min(rtt for _, rtt, _ in seen if rtt is not None)
    assert 0.0412 <= least < 0.04122
    assert seen[-1][2] == pytest.approx(least)
    assert all(a[0] <= b[0] for a, b in pairwise(seen))
    again = simulated(Curious, path)
    assert again.probes.equals(run.probes)


def test_a_pacing_rate_holds_the_flow_back() -> None:
    class Paced(Fixed):
        pacing_rate = 2e6

    run = simulated(Paced, ackclock.Path("10mbit", "40ms", "84p"), parameters={"segments": 100.0})
    # Rates of controllers count payload.
    assert run.flows["goodput_bps"].to_pylist()[0] == pytest.approx(2e6, rel=0.01)


@pytest.mark.parametrize(
    ("at", "later", "sentence"),
    [
        (0.0, 0.0, r"0\.0: allowed is a later time, from \S+ s on, or None \(after on_timer at \S+ s\)"),
        (
            1.0,
            0.0,
            r"1\.0: allowed is a later time, from 1\.000000001 s on, or None \(after on_timer at 1 s\)",
        ),
        (1.0, 1e-12, r"1\.000000000001: allowed is a later time, from 1\.000000001 s on, or None "),
    ],
)
def test_a_timer_that_is_not_moved_on_is_refused(at: float, later: float, sentence: str) -> None:
    class Forgetting(Fixed):
        wants = ("timer",)

        def on_start(self, cx: ackclock.Context) -> None:
            self.wake_up_at = at

        def on_timer(self, cx: ackclock.Context) -> None:
            self.wake_up_at = at + later

    with pytest.raises(ValueError, match=rf"^Forgetting\.wake_up_at is {sentence}"):
        simulated(Forgetting)


@pytest.mark.parametrize(
    ("value", "shown"),
    [("soon", "'soon', of type str"), (True, "True, of type bool"), (float("nan"), "NaN")],
)
@pytest.mark.parametrize("attribute", ["wake_up_at", "pause_until"])
def test_a_time_of_another_type_is_refused(attribute: str, value: object, shown: str) -> None:
    class Wrong(Fixed):
        wants = ("timer", "pauses")

        def on_ack(self, cx: ackclock.Context, ack: ackclock.Ack) -> None:
            setattr(self, attribute, value)

    sentence = rf"^Wrong\.{attribute} is {shown}: allowed is a time in seconds, or None \(after on_ack\)$"
    with pytest.raises(ValueError, match=sentence):
        simulated(Wrong)


def test_what_a_controller_wants_it_gets() -> None:
    heard: dict[str, list[float]] = {"start": [], "sent": [], "timer": [], "delivered": [], "lost": []}

    class Listening(Fixed):
        wants = ("sent", "transmit_start", "segments", "timer")

        def on_start(self, cx: ackclock.Context) -> None:
            self.wake_up_at = 5.0

        def on_transmit_start(self, cx: ackclock.Context, idle: float) -> None:
            heard["start"].append(idle)

        def on_sent(self, cx: ackclock.Context, sent: ackclock.Transmission) -> None:
            heard["sent"].append(sent.sequence)

        def on_timer(self, cx: ackclock.Context) -> None:
            heard["timer"].append(cx.now)
            self.wake_up_at = None

        def on_segment_delivered(self, cx: ackclock.Context, segment: ackclock.SegmentReport) -> None:
            heard["delivered"].append(segment.sequence)
            assert (segment.rtt is None) == segment.retransmitted
            assert 1 <= segment.sent.in_flight <= 10

        def on_segment_lost(self, cx: ackclock.Context, segment: ackclock.SegmentReport) -> None:
            heard["lost"].append(segment.sequence)

        def on_ack(self, cx: ackclock.Context, ack: ackclock.Ack) -> None:
            assert (ack.delivered, ack.lost) == (len(heard["delivered"]), len(heard["lost"]))
            assert ack.rate is None or ack.rate.sent is not None

    flows = simulated(Listening).flows
    assert heard["start"] == [0.0]
    assert heard["timer"] == [5.0]
    # The counters of the run: the controller got every transmission, and every loss.
    assert len(heard["sent"]) == flows["data_packets"][0].as_py()
    assert len(set(heard["delivered"])) == len(heard["delivered"]) > 1000
    assert len(heard["lost"]) == flows["lost_packets"][0].as_py() > 0


def test_marks_are_counted_for_a_controller_that_governs_them() -> None:
    marked: list[int] = []

    class Scalable(Fixed):
        wants = ("governs_marks",)
        ecn_codepoint = "ect1"

        def on_ecn(self, cx: ackclock.Context, marks: ackclock.Marks) -> None:
            raise AssertionError("marks are for on_ack")

        def on_ack(self, cx: ackclock.Context, ack: ackclock.Ack) -> None:
            marked.append(ack.newly_marked)

    # 17 of 30 segments are on the way (10 Mbit/s, 20 ms) and 13 wait: all but the first are marked.
    path = ackclock.Path("10mbit", "20ms", {"limit": "84p", "mark_above": "5p"})
    run = simulated(Scalable, path, parameters={"segments": 30.0}, transport={"ecn": "accurate"})
    assert sum(marked) == pytest.approx(run.flows["marked_packets"][0].as_py(), abs=10)
    assert sum(marked) > 10_000


def test_a_wish_that_there_is_not_is_refused() -> None:
    class Wishful(Fixed):
        wants = ("everything",)

    with pytest.raises(ValueError, match=r"Wishful\.wants has `everything`: allowed are sent, "):
        simulated(Wishful)


def test_a_codepoint_that_there_is_not_is_refused() -> None:
    class Wrong(Fixed):
        ecn_codepoint = "ce"

    with pytest.raises(ValueError, match=r"Wrong\.ecn_codepoint is ce: allowed are ect0 and ect1"):
        simulated(Wrong)


def test_an_exception_ends_the_run_and_keeps_its_traceback() -> None:
    class Broken(Fixed):
        def on_loss(self, cx: ackclock.Context, loss: ackclock.Loss) -> None:
            raise ZeroDivisionError(f"at {cx.now:.3f}")

    with pytest.raises(ZeroDivisionError, match=r"at 0\.") as caught:
        simulated(Broken)
    assert caught.traceback[-1].name == "on_loss"


def test_a_controller_that_cannot_be_made_says_so() -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument 'segmens'"):
        simulated(Fixed, parameters={"segmens": 3})


@pytest.mark.parametrize(
    ("attribute", "value", "sentence"),
    [
        ("window", float("nan"), r"Wrong\.window is NaN: allowed is a number of segments from 0 to 10000000"),
        ("window", -1.0, r"Wrong\.window is -1"),
        ("slow_start_threshold", float("nan"), r"Wrong\.slow_start_threshold is NaN"),
        (
            "pacing_rate",
            0.0,
            r"Wrong\.pacing_rate is 0: allowed is a finite rate of at least 1 bit/s, or None",
        ),
    ],
)
def test_an_attribute_out_of_range_is_refused_in_one_sentence(
    attribute: str, value: float, sentence: str
) -> None:
    class Wrong(Fixed):
        def on_ack(self, cx: ackclock.Context, ack: ackclock.Ack) -> None:
            setattr(self, attribute, value)

    with pytest.raises(ValueError, match=sentence):
        simulated(Wrong)


def test_a_method_that_is_missing_is_named() -> None:
    class Lazy(ackclock.Controller):
        pass

    with pytest.raises(NotImplementedError, match=r"Lazy has no on_ack\(cx, ack\)"):
        simulated(Lazy)


def test_a_scenario_does_not_bring_its_python_controllers_along() -> None:
    scenario = ackclock.Scenario(path=LOSSY, flows=[ackclock.Flow(Fixed)])
    with pytest.raises(
        ackclock.ScenarioError,
        match="flow `Fixed-0`: cc: the controller `Fixed` is one written in Python",
    ):
        ackclock.simulate(ackclock.Scenario.from_document(scenario.resolved()))


def test_a_misspelt_event_is_refused_with_its_name():
    class Misspelt(Fixed):
        def on_lost(self, cx, loss):
            pass

    with pytest.raises(TypeError, match=r"Misspelt\.on_lost: there is no such event; did you mean `on_loss`"):
        ackclock.simulate(LOSSY, [Misspelt], duration="1s")


@pytest.mark.parametrize("missing", ["on_ack", "on_loss", "on_timeout"])
def test_a_controller_without_a_needed_event_is_refused(missing):
    events = {name: lambda *_: None for name in ("on_ack", "on_loss", "on_timeout") if name != missing}
    kind = type("Short", (ackclock.Controller,), events)
    # Without loss, the event may never come: it is refused all the same.
    with pytest.raises(NotImplementedError, match=rf"Short has no {missing}\("):
        ackclock.simulate(ackclock.Path("10mbit", "40ms", "infinite"), [kind], duration="10ms")


def test_a_class_that_is_no_controller_is_refused():
    with pytest.raises(TypeError, match="int is no controller: its class must derive"):
        ackclock.simulate(LOSSY, [int], duration="1s")


@pytest.mark.parametrize("flows", ["cdg", Fixed, ackclock.Flow("cdg")])
def test_flows_that_are_no_list_are_refused(flows):
    with pytest.raises(TypeError, match=r"flows is .*: it must be a list, as in"):
        ackclock.simulate(LOSSY, flows, duration="1s")
