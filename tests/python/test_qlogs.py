"""`ackclock read LOG…`: qlog of QUIC stacks, in every form, and the figure of several logs."""

import json
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ackclock
from ackclock import qlogs
from ackclock.errors import InputError
from calling import refused, run

EVENTS = [
    {"time": 1000.0, "name": "transport:packet_sent", "data": {"raw": {"length": 1200}}},
    {
        "time": 1010.0,
        "name": "recovery:metrics_updated",
        "data": {"congestion_window": 12000, "latest_rtt": 40},
    },
    {"time": 1030.0, "name": "recovery:packet_lost", "data": {"header": {"packet_number": 3}}},
    {"time": 1030.0, "name": "recovery:congestion_state_updated", "data": {"new": "recovery"}},
    {
        "time": 1050.0,
        "name": "recovery:metrics_updated",
        "data": {"congestion_window": 8400, "pacing_rate": 9e6},
    },
]
NEWER = {
    "transport:packet_sent": "quic:packet_sent",
    "recovery:metrics_updated": "quic:recovery_metrics_updated",
    "recovery:packet_lost": "quic:packet_lost",
    "recovery:congestion_state_updated": "quic:congestion_state_updated",
}


def contained(events, form="relative"):
    """A log that is one JSON text."""
    common = {"time_format": form}
    return json.dumps({"qlog_version": "0.3", "traces": [{"common_fields": common, "events": events}]})


def sequence(events, form="relative", record="\x1e"):
    """A log that is a sequence of JSON texts."""
    head = {
        "file_schema": "urn:ietf:params:qlog:file:sequential",
        "trace": {"common_fields": {"time_format": form}},
    }
    return "".join(f"{record}{json.dumps(one)}\n" for one in (head, *events))


def deltas(events):
    """The same events with times since the one before."""
    times = np.diff([one["time"] for one in events], prepend=0.0)
    return [{**one, "time": float(time)} for one, time in zip(events, times, strict=True)]


FORMS = {
    "JSON": contained(EVENTS),
    "JSON with deltas": contained(deltas(EVENTS), "delta"),
    "a sequence": sequence(EVENTS),
    "a sequence of 0.4": sequence(deltas(EVENTS), "relative_to_previous_event"),
    "lines": sequence(EVENTS, record=""),
    "out of order": contained([EVENTS[4], *EVENTS[:4]]),
    "names of later drafts": contained([{**one, "name": NEWER[one["name"]]} for one in EVENTS]),
}


@pytest.mark.parametrize("text", FORMS.values(), ids=FORMS)
def test_every_form_of_a_log_has_the_same_events(tmp_path, text):
    (tmp_path / "a.qlog").write_text(text)
    found = qlogs.read(tmp_path / "a.qlog")
    [one] = found.traces
    assert qlogs.is_log(tmp_path / "a.qlog")
    assert (found.remark, one.title, one.end) == ("", "trace 1", pytest.approx(0.05))
    assert one.times.tolist() == pytest.approx([0.01, 0.05])
    assert one.metrics["congestion_window"].tolist() == [12000, 8400]
    # A metric that does not change is not written again. One that was not written is unknown.
    assert one.metrics["latest_rtt"].tolist() == pytest.approx([0.04, 0.04])
    assert np.isnan(one.metrics["pacing_rate"]).tolist() == [True, False]
    assert (one.sent.tolist(), one.sent_bytes.tolist(), one.lost.tolist()) == (
        [0.0],
        [1200],
        [pytest.approx(0.03)],
    )
    assert one.states == ((pytest.approx(0.03), "recovery"),)


def test_a_lost_packet_that_is_acknowledged_later_was_not_lost(tmp_path):
    path = tmp_path / "one.qlog"
    frames = [{"frame_type": "ack", "acked_ranges": [[0, 1], [3], ["x", 5]]}, "none"]
    back = [
        {
            "time": 1040.0 + number,
            "name": "transport:packet_received",
            "data": {"header": {"packet_type": kind}, "frames": frames},
        }
        for number, kind in enumerate(("initial", "1RTT", "1RTT"))
    ]
    lost = [
        {"time": 1030.0, "name": "recovery:packet_lost", "data": {"header": header}}
        for header in ({"packet_type": "1RTT", "packet_number": 3}, {"packet_type": "1RTT"})
    ]
    path.write_text(contained([*EVENTS[:2], *lost, *back]))
    [log] = qlogs.read(path).traces
    assert log.lost_numbers == pytest.approx([3, np.nan], nan_ok=True)
    assert log.spurious == pytest.approx([0.041])


def test_a_sequence_that_ends_within_an_event_is_read_up_to_there(tmp_path, capsys):
    path = tmp_path / "a.sqlog"
    path.write_text(sequence(EVENTS)[:-20])
    status, out, err = run(capsys, "read", path, "--json")
    [one] = json.loads(out)["logs"]
    assert (status, one["window_bytes"]["max"], one["lost_packets"]) == (0, 12000, 1)
    assert f"note: {path}: ends within an event, and is read up to there" in err


@pytest.mark.parametrize("indent", [None, 1])
def test_a_log_that_is_one_text_and_ends_within_it_is_read_up_to_there(tmp_path, capsys, indent):
    path = tmp_path / "a.qlog"
    titled = [{**EVENTS[0], "data": {"raw": {"length": 1200}, "note": 'brackets: ]}"'}}, *EVENTS[1:]]
    whole = json.dumps(json.loads(contained(titled)), indent=indent)
    lost = whole.index("packet_lost")
    for end, losses in ((lost, 0), (whole.index("congestion_state_updated"), 1), (len(whole) - 2, 1)):
        path.write_text(whole[:end])
        status, out, err = run(capsys, "read", path, "--json")
        [one] = json.loads(out)["logs"]
        assert (status, one["sent_bytes"], one["lost_packets"]) == (0, 1200, losses)
        assert f"note: {path}: ends within an event, and is read up to there" in err
    # A text that is damaged in its middle is none.
    path.write_text(whole.replace("packet_lost", 'packet_lost"', 1))
    assert refused(capsys, "read", path).startswith(f"{path}: is no qlog: text 1 in it is no JSON")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{}", "is no qlog: it has no list `traces`"),
        ('{"traces": []}', "has neither metrics_updated nor packet_sent nor packet_lost"),
        ('{"traces": [{"events": [[0, "a", "b"]]}]}', "event 1: is no object, as qlog has them since 0.3"),
        ('{"traces": [{"events": [{"name": "a"}]}]}', "event 1: has no `time` in ms or no `name`"),
        (contained([{**EVENTS[0], "time": 1e308}]), "event 1: has no `time` in ms or no `name`"),
        (
            contained(
                [{"time": 1, "name": "metrics_updated", "data": {"path_id": path}} for path in (0, 1, 0)]
            ),
            "has the metrics of 2 paths of a connection, and its packets name none",
        ),
        ('\x1e{"a": 1}\n\x1enothing\n\x1e{}\n', "is no qlog: text 2 in it is no JSON"),
        ('\x1e{"a": 1}\n\x1e[]\n', "is no qlog: text 2 in it is no object"),
        ("{", "is no qlog: text 1 in it is no JSON"),
        ("\x1e\n\x1e", "is no qlog: there is no text in it"),
    ],
)
def test_a_file_that_is_no_log_is_one_sentence(tmp_path, capsys, text, why):
    (tmp_path / "a.qlog").write_text(text)
    assert refused(capsys, "read", tmp_path / "a.qlog").startswith(f"{tmp_path / 'a.qlog'}: {why}")


@pytest.mark.parametrize("number", [1e308, 1 << 64, -1, -1e-3])
def test_a_number_that_no_stack_can_have_is_unknown(tmp_path, capsys, number):
    data = {"congestion_window": number, "latest_rtt": number, "raw": {"length": number}}
    path = tmp_path / "a.qlog"
    path.write_text(contained([*EVENTS, *({**one, "data": data} for one in EVENTS)]))
    status, out, _ = run(capsys, "read", path, "--json", "--out", tmp_path / "page")
    [one] = json.loads(out)["logs"]
    assert (status, one["sent_bytes"], one["window_bytes"]["max"], one["rtt_ms"]["max"]) == (
        0,
        1200,
        12000,
        40,
    )
    assert (one["window_bytes"]["min"], one["rtt_ms"]["min"]) == (8400, 40)


def test_the_log_of_a_run_has_its_series(tmp_path, capsys):
    run(capsys, "compare", "cubic", "bbr1", "--duration", "5s", "--loss", "1%", "--out", tmp_path / "both")
    run(capsys, "read", tmp_path / "both", "--to", "qlog", "--out", tmp_path / "logs")
    files = [tmp_path / f"logs/{name}-seed-1.qlog" for name in ("bbr1", "cubic")]
    status, out, _ = run(capsys, "read", *files, "--json", "--out", tmp_path / "page", "--also", "svg")
    found = json.loads(out)["logs"]
    assert (status, [one["label"] for one in found]) == (0, ["bbr1-seed-1.qlog", "cubic-seed-1.qlog"])
    assert json.loads((tmp_path / "page/logs.json").read_text())["logs"] == found
    runs = {one.scenario["name"]: one for one in ackclock.Runs.load(tmp_path / "both")}
    for name, one in zip(("bbr1", "cubic"), found, strict=True):
        [of] = [other for label, other in runs.items() if name in label]
        windows = np.round(of.flow_series["window_segments"].to_numpy() * 1448)
        assert one["window_bytes"]["max"] == windows.max()
        assert one["rtt_ms"]["min"] == pytest.approx(
            np.nanmin(of.flow_series["latest_rtt_ms"].to_numpy()), abs=1e-6
        )
    for figure in ("window", "in-flight", "rtt"):
        assert (tmp_path / f"page/{figure}.svg").stat().st_size > 1000
    assert "cannot be drawn" not in (tmp_path / "page/index.html").read_text()


def test_labels_have_the_folder_or_the_trace_where_names_are_the_same(tmp_path, capsys):
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "log.sqlog").write_text(sequence(EVENTS))
    both = tmp_path / "both.qlog"
    traces = [{"title": title, "events": EVENTS} for title in ("one", "one", "two")]
    both.write_text(json.dumps({"traces": traces}))
    files = [tmp_path / "a/log.sqlog", tmp_path / "b/log.sqlog", both]
    _, out, _ = run(capsys, "read", *files, "--json")
    labels = [one["label"] for one in json.loads(out)["logs"]]
    assert labels == [*map(str, files[:2]), "both.qlog: one 1", "both.qlog: one 2", "both.qlog: two"]
    assert "a file is named twice" in refused(capsys, "read", both, both)
    assert refused(capsys, "read", both, "--interface", 1) == "--interface: has no effect on a log"


@settings(max_examples=300)
@given(st.data())
def test_no_text_ends_in_anything_but_a_sentence(tmp_path_factory, draw):
    text = list(draw.draw(st.sampled_from(sorted(FORMS.values()))))
    for _ in range(draw.draw(st.integers(1, 5))):
        place = draw.draw(st.integers(0, len(text) - 1))
        text[place] = draw.draw(st.sampled_from([*'{}[],:"\x1e\n09eE.-x', "null", "1e999", "NaN"]))
    path = tmp_path_factory.mktemp("logs") / "a.qlog"
    path.write_text("".join(text))
    with suppress(InputError):
        qlogs.read(path)
