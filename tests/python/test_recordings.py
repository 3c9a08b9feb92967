"""`ackclock check RECORDING`: laws of windows, judged on logs of QUIC and on captures."""

import json
import os
from dataclasses import replace

import numpy as np
import pytest

from ackclock import _engine
from ackclock.checks import recordings
from ackclock.checks.recording import Recording
from ackclock.checks.recordings import check
from calling import refused, run
from test_captures import classic, data

RTT, STEP, SEGMENT = 0.05, 0.01, 1200


def reno(kept=0.5, rounds=1.0, again=1.0, growth=2.0, floor=0.0, idle=False):
    """A window of Reno with a loss every two seconds, in steps of a fifth of an RTT.

    ``kept`` is the share after a loss, ``again`` a second reduction half an RTT later, and ``growth`` the
    growth of slow start in an RTT. ``idle`` leaves nine tenths of the window unused.
    """
    times = np.arange(0.0, 10.0, STEP)
    window, values, lost = 10.0 * SEGMENT, [], []
    for time in times:
        phase = round(time / STEP) % 200
        if time and phase == 0:
            lost.append(time - STEP / 2)
            window *= kept
        elif time > 2.0 and phase == 3:
            window *= again
        elif time < 0.15:
            window *= growth ** (STEP / RTT)
        else:
            window += SEGMENT * STEP / RTT * rounds
        values.append(max(window, floor))
    windows = np.array(values)
    flight = windows * (0.1 if idle else 0.95)
    sent = np.arange(0.0, 10.0, STEP / 10)
    rtts = np.full(times.size, RTT)
    sizes = np.full(sent.size, float(SEGMENT))
    return Recording("reno", times, windows, flight, rtts, np.array(lost), SEGMENT, True, sent, sizes)


def bursts():
    """Forty datagrams leave at once, four times the initial window."""
    times = np.repeat(np.arange(0.0, 10.0, 0.2), 40)
    return replace(reno(), sent=times, sent_bytes=np.full(times.size, float(SEGMENT)))


def least():
    """One datagram in flight for the second half."""
    one = reno()
    window = np.where(one.times < 5.0, one.window, SEGMENT)
    return replace(one, window=window, lost=one.lost[one.lost < 5.0])


def failing(recording, names=("newreno",)):
    return [
        one.claim.id.removeprefix("recorded-") for one in check(recording, names) if one.verdict == "miss"
    ]


def test_a_window_of_reno_breaks_no_law():
    found = {one.claim.id: one for one in check(reno(), ["newreno"])}
    assert failing(reno()) == []
    assert found["recorded-reduction"].measured == pytest.approx(0.5)
    assert found["recorded-one-reduction"].measured == 1
    assert found["recorded-growth"].measured == pytest.approx(2.0, abs=0.05)
    # The application used all of the window, which says nothing about one that it leaves unused.
    assert (
        found["recorded-application-limit"].reason == "the application never left half of the window unused"
    )


@pytest.mark.parametrize(
    ("fault", "law"),
    [
        (reno(kept=0.7), "reduction"),
        (reno(kept=1.0), "reduction"),
        (reno(kept=0.7, again=0.7), "one-reduction"),
        (reno(growth=3.0), "growth"),
        (reno(idle=True), "application-limit"),
        (least(), "least-window"),
        (bursts(), "pacing"),
    ],
    ids=lambda one: one if isinstance(one, str) else "",
)
def test_each_fault_breaks_its_law(fault, law):
    assert failing(fault) == [law]


def test_the_share_after_a_loss_is_the_one_of_the_algorithm():
    assert failing(reno(kept=0.7), ["cubic"]) == failing(reno(kept=0.7), []) == []
    assert failing(reno(kept=0.5), ["cubic"]) == ["reduction"]
    by_rate = [one.reason for one in check(reno(kept=1.0), ["bbr3"])][:3]
    assert by_rate == ["the window of bbr3 follows a model of the path"] * 3


def test_a_recording_without_losses_says_so():
    found = {one.claim.id: one for one in check(replace(reno(), lost=np.zeros(0)), [])}
    for law in ("recorded-reduction", "recorded-one-reduction"):
        assert (found[law].verdict, found[law].reason) == ("not judged", "the recording has no loss")


@pytest.fixture(scope="module")
def logs(tmp_path_factory):
    """The logs and captures of simulated controllers."""
    from ackclock.cli import main

    folder = tmp_path_factory.mktemp("recordings")
    names = ("bbr1", "cubic", "newreno")
    options = ["--duration", "20s", "--set", "record.flow_series=5ms", "--pcap", str(folder / "c.pcapng")]
    assert main(["compare", *names, *options, "--out", str(folder / "runs")]) == 0
    assert main(["read", str(folder / "runs"), "--to", "qlog", "--out", str(folder)]) == 0
    return {name: (folder / f"{name}-seed-1.qlog", folder / f"c-{name}-seed-1.pcapng") for name in names}


@pytest.mark.parametrize("name", ["bbr1", "cubic", "newreno"])
def test_recordings_of_our_controllers_break_no_law(capsys, logs, name):
    for file in logs[name]:
        status, out, _ = run(capsys, "check", file, "--as", name, "--json")
        found = json.loads(out)["check"]
        assert (status, found["target"]) == (0, str(file))
        judged = [one["id"] for one in found["cases"] if one["verdict"] == "pass"]
        assert ("recorded-reduction" in judged) == (name != "bbr1")


def test_a_recording_of_another_algorithm_fails(capsys, logs, tmp_path):
    for file in logs["cubic"]:
        status, _, err = run(
            capsys,
            "check",
            file,
            "--as",
            "newreno",
            "--junit",
            tmp_path / "c.xml",
            "--out",
            tmp_path / "page",
            "--force",
        )
        assert (status, "recorded-reduction fails: window after a loss" in err) == (1, True)
        assert 'name="recorded-reduction"' in (tmp_path / "c.xml").read_text()
        assert "recorded-reduction" in (tmp_path / "page/index.html").read_text()


def test_what_has_no_effect_on_a_recording_is_refused(capsys, logs, tmp_path):
    file = logs["cubic"][0]
    assert refused(capsys, "check", file, "--only", "rtt") == "--only: has no effect on a recording"
    empty = classic(tmp_path / "c.pcap", [(0.0, data(1))])
    assert refused(capsys, "check", empty) == f"{empty}: shows no window and no RTT of a sender over time"
    assert not recordings.is_recording(str(tmp_path))


def test_each_sender_of_a_recording_is_named(capsys, tmp_path):
    path = tmp_path / "two.qlog"
    metrics = [{"congestion_window": size, "smoothed_rtt": 50.0} for size in (12000, 12000, 600)]
    events = [
        {"time": 100.0 * number, "name": "recovery:metrics_updated", "data": data}
        for number, data in enumerate(metrics)
    ]
    path.write_text(json.dumps({"traces": [{"title": title, "events": events} for title in ("one", "two")]}))
    status, out, err = run(capsys, "check", path, "--out", tmp_path / "page")
    page = (tmp_path / "page/index.html").read_text()
    assert status == 1
    for sender in ("one", "two"):
        assert f"two.qlog: {sender}" in out
        assert f"recorded-least-window of {sender} fails: " in err
        assert page.count(f'id="recorded-least-window-recording-{sender}"') == 1
    assert "for any path of the Internet" not in out + page


live_built = pytest.mark.skipif("live" not in _engine.engines(), reason="built without live runs")


@pytest.mark.parametrize(
    ("option", "name"),
    [
        ("--hunt", "hunt"),
        ("--aim=delay", "aim"),
        ("--engine=sim", "engine"),
        pytest.param("--live", "live", marks=live_built),
    ],
)
def test_an_option_of_controllers_is_refused_beside_a_recording(capsys, logs, option, name):
    assert refused(capsys, "check", logs["cubic"][0], option) == f"--{name}: has no effect on a recording"


def test_a_window_below_a_byte_is_none(capsys, tmp_path):
    path = tmp_path / "a.qlog"
    data = [{"congestion_window": size, "latest_rtt": 50.0} for size in (1e-300, 1e18, 1e18)]
    events = [
        {"time": 50.0 * number, "name": "metrics_updated", "data": one} for number, one in enumerate(data)
    ]
    path.write_text(json.dumps({"traces": [{"events": events}]}))
    _, out, _ = run(capsys, "check", path, "--json")
    growth = next(one for one in json.loads(out)["check"]["cases"] if one["id"] == "recorded-growth")
    assert (growth["verdict"], growth["measured"]) == ("pass", 1.0)


@pytest.mark.parametrize("ending", recordings.ENDINGS)
def test_a_file_named_like_a_recording_is_no_controller(capsys, tmp_path, ending):
    path = tmp_path / f"a{ending}"
    assert refused(capsys, "check", path) == f"{path}: cannot be read: No such file or directory"
    path.write_bytes(b"")
    assert refused(capsys, "check", path) == f"{path}: the capture is empty"
    path.write_bytes(b"\x80noise")
    assert refused(capsys, "check", path).startswith(f"{path}: is no whole capture in pcapng or pcap")


def test_a_pipe_is_refused_and_not_waited_for(capsys, tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    for command in (("read",), ("read", "--losses"), ("read", "--controllers"), ("check",)):
        assert refused(capsys, *command, path) == f"{path}: is a pipe, and must be a file"


def test_verdicts_that_cannot_be_written_leave_nothing(capsys, logs, tmp_path):
    assert refused(capsys, "check", logs["cubic"][0], "--junit", tmp_path) == f"{tmp_path}: Is a directory"
    assert not list(tmp_path.parent.glob(".*.part"))


def test_the_largest_senders_of_a_capture_are_judged(capsys, tmp_path, monkeypatch):
    path = tmp_path / "three.pcapng"
    flows = ("--flows", 3, "--rate", "8mbit", "--duration", "3s", "--pcap", path)
    assert run(capsys, "compare", "cubic", *flows)[0] == 0
    monkeypatch.setattr(recordings, "MOST", 2)
    (file,) = tmp_path.glob("*.pcapng")
    status, out, err = run(capsys, "check", file, "--json")
    groups = {one["group"] for one in json.loads(out)["check"]["cases"]}
    assert (status in (0, 1), len(groups)) == (True, 2)
    assert f"{file}: 2 of 3 directions of connections are read, with the most data" in err


def test_a_list_without_a_name_is_no_algorithm(capsys, tmp_path):
    path = tmp_path / "a.qlog"
    path.write_text("{}")
    assert refused(capsys, "check", path, "--as", ",") == "--as ,: names no algorithm"
    assert refused(capsys, "check", "cubic", "--as", ",,") == "--as ,,: names no algorithm"
