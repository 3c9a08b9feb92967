"""Video frames: delay, lateness and freezes by hand, and the tables of a call."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
import pytest

import ackclock
from ackclock import metrics, summary
from ackclock.arrived import arrivals
from ackclock.metrics.calls import is_voice


@dataclass(frozen=True)
class Call:
    """A run with the flow ``call``."""

    flows: pa.Table
    tables: dict[str, pa.Table]

    def table(self, name: str) -> pa.Table:
        """A table of the call."""
        return self.tables[name]


@pytest.fixture
def call() -> Call:
    # A frame each 40 ms. Frames 0 to 4 take 50, 60, 90, 50 and 50 ms and wait up to 100 ms. Frame 5 is lost,
    # frames 6 to 14 cannot be decoded, and frame 15 is a key frame. The last second does not count.
    count = 60
    captured = [0.04 * n for n in range(count - 1)] + [2.37]
    delays = [50, 60, 90, 50, 50, None] + [50] * (count - 6)
    complete = [None if d is None else t + d / 1e3 for t, d in zip(captured, delays, strict=True)]
    shown = [None if 5 <= n < 15 else t + 0.1 for n, t in enumerate(captured)]
    video = pa.table(
        {
            "captured_s": captured,
            "flow": pa.array([0] * count, pa.uint32()),
            "bytes": pa.array([500 if n == 5 else 1000 for n in range(count)], pa.uint32()),
            "complete_s": pa.array(complete, pa.float64()),
            "shown_s": pa.array(shown, pa.float64()),
        }
    )
    datagrams = pa.table(
        {
            "sent_s": [0.0, 0.02, 0.04],
            "flow": pa.array([0] * 3, pa.uint32()),
            "sequence": pa.array([0, 1, 2], pa.uint64()),
            "arrived_s": [0.050, 0.086, 0.090],
        }
    )
    flows = pa.table({"flow": pa.array([0], pa.uint32()), "name": ["call"]})
    return Call(flows, {"video_frames": video, "datagrams": datagrams})


def test_a_summary_has_delays_of_packets_and_frames_and_the_freezes(call: Call) -> None:
    found = arrivals(call, "call")
    # Delays of 50, 66 and 50 ms.
    assert found["one_way_delay_ms"] == pytest.approx({"p50": 50.0, "p95": 64.4, "p99": 65.68})
    assert found["frame_delay_ms"]["p50"] == pytest.approx(50.0)
    # Frame 4 is shown at 260 ms, and frame 15 at 700 ms. 35 frames are older than a second.
    shown = metrics.video_frames(call, "call", None, None)[2]
    assert found["frame_loss"] == pytest.approx(10 / shown.size)
    # Frame 5 alone was never complete, with 500 of 34 * 1000 + 500 bytes.
    assert found["media_loss"] == pytest.approx(500 / 34_500)
    assert (found["freezes"], found["frozen_s"]) == (1, pytest.approx(0.44))


def test_without_frames_a_summary_has_delays_alone(call: Call) -> None:
    none = call.tables["video_frames"].slice(0, 0)
    bare = Call(call.flows, {**call.tables, "video_frames": none})
    assert list(arrivals(bare, "call")) == ["one_way_delay_ms"]


def test_the_terminal_has_a_table_of_arrivals_where_datagrams_are_recorded() -> None:
    path = {"rate": "1mbit", "rtt": "60ms", "queue": "300ms"}
    media = {"name": "a", "cc": "gcc", "kind": "media"}
    silent = {"name": "a", "cc": "cubic", "kind": "datagram", "echo": False, "source": {"rate": "100kbit"}}

    def heads(flow: dict[str, object], record: bool) -> list[str] | None:
        run = ackclock.simulate(
            {
                "duration": "3s",
                "path": path,
                "record": {"datagrams": record},
                "flows": [flow, {"cc": "cubic", "bytes": "10kB"}],
            }
        )
        table = summary.arrivals_table([run.summary()])
        return table and [str(column.header) for column in table.columns]

    assert heads(media, record=False) is None
    delays = ["run", "flow", "delay p50\nms", "delay p95\nms"]
    assert heads(silent, record=True) == delays
    frames = [
        "frame p50\nms",
        "frame p95\nms",
        "lost after\nrepair %",
        "not shown\n%",
        "freezes",
        "frozen\ns",
    ]
    assert heads(media, record=True) == delays + frames


def test_voice_has_its_mean_opinion_score_in_every_table() -> None:
    voice = {"cc": "newreno", "kind": "datagram", "packet_size": "200B", "source": {"rate": "80kbit"}}
    video = {"name": "call", "cc": "gcc", "kind": "media"}
    users = {"name": "users", "cc": "cubic", "bytes": "20kB", "every": "0.2s"}
    loud = {"cc": "newreno", "kind": "datagram", "packet_size": "1500B", "source": {"rate": "600kbit"}}
    run = ackclock.simulate(
        {
            "duration": "3s",
            "path": {"rate": "5mbit", "rtt": "60ms", "queue": "300ms", "loss": "1%"},
            "record": {"datagrams": True},
            "flows": [{**voice, "name": "voice", "count": 2}, video, loud, users, {**voice, "count": 2}],
        }
    )
    flows = run.summary()["flows"]
    # Each connection of the users has a row of its own.
    assert len(flows) > 8
    found = [flow.get("mos") for flow in flows]
    assert set(found[2:-2]) == {None}
    named = [flow["name"] for flow in flows]
    assert named[:2] == ["voice-0", "voice-1"]
    for name, mos in zip([*named[:2], *named[-2:]], [*found[:2], *found[-2:]], strict=True):
        assert mos == metrics.mean_opinion_score(metrics.call_best_rating(run, name))
    table = summary.arrivals_table([run.summary()])
    assert table is not None
    assert [str(column.header) for column in table.columns][-1] == "MOS"


def test_packets_of_voice_are_small_and_10_to_60_ms_apart() -> None:
    def voice(size: str, rate: object, kind: str = "datagram") -> bool:
        return is_voice({"kind": kind, "packet_size": size, "source": rate})

    # 200 bytes at 80 kbit/s are 20 ms, at 20 kbit/s 80 ms, at 160 kbit/s 10 ms.
    assert voice("200B", {"rate": "80kbit"})
    assert not voice("200B", {"rate": "20kbit"})
    assert not voice("200B", {"rate": "160kbit"})
    # 480 bytes are 60 ms at 64 kbit/s. 160 bytes are 10 ms at 128 kbit/s, the highest rate.
    assert voice("480B", {"rate": "64kbit"})
    assert not voice("481B", {"rate": "64kbit"})
    assert voice("160B", {"rate": "128kbit"})
    assert not voice("159B", {"rate": "128kbit"})
    assert not voice("200B", {"rate": "129kbit"})
    assert not voice("200B", {"rate": "0bit"})
    assert not voice("1500B", {"rate": "1mbit"})
    assert not voice("200B", "greedy")
    assert not voice("200B", {"rate": "80kbit"}, "tcp")


@pytest.mark.parametrize(
    ("path", "condition", "at"),
    [
        # The encoder does not go below 1 Mbit/s where 300 kbit/s pass. The first second sees no loss yet.
        ({"rate": "300kbit", "queue": "300ms"}, "congestion", (3.0, 6.0)),
        # Reports go on each second, and five bring no new packet.
        (
            {"rate": "5mbit", "queue": "1bdp", "loss": [["0s", "0%"], ["10s", "100%"]]},
            "media timeout",
            (14.9, 16.2),
        ),
        # Three intervals of 5 s after the last report.
        (
            {"rate": "5mbit", "queue": "1bdp", "reverse": {"loss": [["0s", "0%"], ["10s", "100%"]]}},
            "RTCP timeout",
            (24.8, 25.2),
        ),
    ],
)
def test_a_circuit_breaker_stops_a_call_for_good(path, condition, at) -> None:
    call = {"name": "call", "cc": "gcc", "kind": "media", "media": {"min_rate": "1mbit", "breaker": "1s"}}
    run = ackclock.simulate(
        {"duration": "40s", "path": {"rtt": "60ms", **path}, "record": {"datagrams": True}, "flows": [call]}
    )
    found = run.summary()["flows"][0]["circuit_breaker"]
    assert found["condition"] == condition
    assert at[0] <= found["at_s"] <= at[1]
    assert run.datagrams["sent_s"].to_numpy().max() <= found["at_s"]
    [sentence] = summary.broken([run.summary()])
    assert f"stopped call after {found['at_s']:.1f} s by {condition} (RFC 8083)" in sentence


def test_a_call_that_adapts_does_not_trip_its_breaker() -> None:
    call = {"name": "call", "cc": "gcc", "kind": "media", "media": {"breaker": "1s"}}
    flows = [call, {"cc": "cubic"}]
    run = ackclock.simulate(
        {"duration": "40s", "path": {"rate": "1mbit", "rtt": "60ms", "queue": "300ms"}, "flows": flows}
    )
    assert "circuit_breaker" not in run.summary()["flows"][0]


def test_delays_are_of_frames_that_are_complete(call: Call) -> None:
    assert metrics.frame_delay_percentile(call, 100, "call") == pytest.approx(90.0)
    assert metrics.frame_delay_percentile(call, 50, "call") == pytest.approx(50.0)
    assert metrics.frame_delay_percentile(call, 50, "call", start=0.03, stop=0.05) == pytest.approx(60.0)
    # Frames 0 to 4.
    assert metrics.frame_delay_mean(call, "call", stop=0.18) == pytest.approx(60.0)


def test_frames_that_are_not_shown_are_lost_and_late(call: Call) -> None:
    # The last frame is captured at 2.37 s: frames 0 to 34 count, and ten of them were not shown.
    assert metrics.frame_loss(call, "call") == pytest.approx(10 / 35)
    assert metrics.frames_late(call, "call", 0.1) == pytest.approx(10 / 35)
    assert metrics.frames_late(call, "call", 0.09) == 1.0


def test_a_picture_that_stands_still_is_frozen(call: Call) -> None:
    # From frame 4 to frame 15: 440 ms, above 40 + 150.
    assert metrics.freezes(call, "call") == 1.0
    assert metrics.frozen_time(call, "call") == pytest.approx(0.44)
    assert metrics.freezes(call, "call", start=0.6) == 0.0


def test_the_jitter_of_packets_is_that_of_rfc_3550(call: Call) -> None:
    # Delays of 50, 66 and 50 ms: J = 16/16 = 1, then 1 + (16 - 1)/16.
    assert metrics.packet_jitter(call, "call") == pytest.approx(1.9375)


SCENARIO = {
    "duration": "20s",
    "path": {"rate": "1mbit", "rtt": "100ms", "queue": "300ms"},
    "flows": [{"name": "call", "cc": "gcc", "kind": "media"}],
    "record": {"datagrams": True},
}


def test_a_call_has_its_frames_in_a_table_and_keeps_the_queue_short() -> None:
    run = ackclock.simulate(SCENARIO)
    frames = run.video_frames
    assert frames.num_rows == pytest.approx(600, rel=0.03)
    assert frames["is_key"][0].as_py()
    assert frames["frame"].to_pylist() == list(range(frames.num_rows))
    assert metrics.frame_loss(run, "call") == 0.0
    assert metrics.frame_delay_percentile(run, 95, "call") < 200.0
    assert 0.6e6 < metrics.goodput(run, "call", start=10.0, stop=20.0) < 1e6


def test_a_call_is_read_back_from_its_folder(tmp_path) -> None:
    run = ackclock.simulate(SCENARIO | {"duration": "2s"})
    run.save(tmp_path / "call")
    assert ackclock.Run.load(tmp_path / "call").video_frames.equals(run.video_frames)


def test_without_its_record_a_call_has_no_frames() -> None:
    run = ackclock.simulate(SCENARIO | {"duration": "2s", "record": {}})
    with pytest.raises(metrics.MetricError, match=r"record\.datagrams"):
        metrics.frame_loss(run, "call")
