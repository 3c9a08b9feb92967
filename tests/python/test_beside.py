"""``compare --call``: a call that adapts beside each controller, on a path, on networks and in a home."""

from __future__ import annotations

import json

import pytest

from ackclock import _engine, networks
from ackclock.cli.beside import with_call
from ackclock.contenders import contenders
from ackclock.report import beside
from calling import ENDED, needs_live, refused, run


class Measured:
    """A run whose rate and late frames are given."""

    def __init__(self, rate, late):
        self.values = {"rate_mbps": rate, "late_percent": late}


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        # Half of 2.00 Mbit/s, and 5 % more than 1 %, are no harm yet.
        (
            {"a": (0.99, 1.0), "b": (1.0, 6.0), "c": (2.0, 6.1)},
            "The call is hurt by a (0.99 Mbit/s, 1 % late), c (2.00 Mbit/s, 6.1 % late), and spared by b "
            "(1.00 Mbit/s, 6 % late). Alone it has 2.00 Mbit/s, 1 % late.",
        ),
        (
            {"a": (0.0, float("nan"))},
            "The call is hurt by a (0.00 Mbit/s, nan % late). Alone it has 2.00 Mbit/s, 1 % late.",
        ),
        ({}, "Nothing to compare with: no run ended."),
    ],
)
def test_a_call_is_hurt_by_half_its_rate_or_late_frames(monkeypatch, values, sentence):
    readers = {key: lambda run, key=key: run.values[key] for key in ("rate_mbps", "late_percent")}
    monkeypatch.setattr(beside, "_BY_KEY", readers)
    runs = {"nothing": (2.0, 1.0), **values}
    assert beside.sentence({label: [Measured(*of)] for label, of in runs.items()}) == sentence


def test_a_call_goes_the_way_of_the_first_greedy_flow():
    document = {
        "flows": [{"cc": "reno", "kind": "datagram"}, {"cc": "cubic", "from": "a", "to": "b", "rtt": "9ms"}]
    }
    [call] = contenders(["scream(l4s=true)"])
    network = with_call(networks.Network("mine", document), call)
    video, voice, *others = network.document["flows"]
    ends = {"from": "a", "to": "b", "rtt": "9ms"}
    assert ends.items() <= video.items()
    assert ends.items() <= voice.items()
    assert (video["cc"], video["kind"], video["parameters"]) == ("scream", "media", {"l4s": True})
    assert others == document["flows"]
    assert network.document["record"] == {"datagrams": True}
    assert [flow.get("name") for flow in network.without_controllers()["flows"]] == ["call", "voice", None]


def test_the_answer_comes_first_and_all_has_the_same_numbers(capsys, tmp_path):
    out = tmp_path / "out"
    arguments = (
        "--rate",
        "5mbit",
        "--queue",
        "1s",
        "--call",
        "gcc",
        "--duration",
        "20s",
        "--json",
        "--out",
        out,
    )
    status, printed, shown = run(capsys, "compare", "cubic", "cdg", *arguments)
    assert status == 0
    document = json.loads(printed)
    assert [one["label"] for one in document["runs"]] == ["nothing", "cubic", "cdg"]
    [(name, found)] = document["call"].items()
    assert name == ""
    assert found["advice"].startswith("The call is hurt by cubic (")
    assert ", and spared by cdg (" in found["advice"]
    assert " ".join(shown.split()).startswith(found["advice"])
    numbers = {
        label: {key: one["median"] for key, one in of.items()} for label, of in found["beside"].items()
    }
    alone, cubic = document["runs"][0]["flows"], document["runs"][1]["flows"]
    assert [flow["name"] for flow in cubic] == ["call", "voice", "cubic-2"]
    assert numbers["cubic"]["rate_mbps"] == pytest.approx(cubic[0]["goodput_bps"] / 1e6)
    assert numbers["cubic"]["goodput_mbps"] == pytest.approx(cubic[2]["goodput_bps"] / 1e6)
    assert numbers["cubic"]["packet_delay_p95_ms"] == pytest.approx(cubic[0]["one_way_delay_ms"]["p95"])
    assert numbers["nothing"]["frame_delay_p95_ms"] == pytest.approx(alone[0]["frame_delay_ms"]["p95"])
    assert numbers["nothing"]["goodput_mbps"] == 0.0
    # A queue of a second spoils the voice, too.
    assert numbers["cubic"]["mos"] < 3.0 < 4.3 < numbers["cdg"]["mos"]
    page = (out / "index.html").read_text("utf-8")
    assert 0 < page.index(found["advice"]) < page.index('<div class="cells">')
    assert (out / "call.png").read_bytes()[:4] == b"\x89PNG"


@pytest.mark.parametrize(
    ("given", "labels"),
    [
        (("--networks", "wifi,home"), ["wifi, nothing", "wifi, cubic", "home, nothing", "home, cubic"]),
        (
            ("--networks", "802.11n:stations=1,down", "--flows", "2"),
            ["802.11n:stations=1,down, nothing", "802.11n:stations=1,down, cubic"],
        ),
    ],
)
def test_a_call_is_on_every_network_alone_and_beside(capsys, given, labels):
    status, printed, _ = run(
        capsys, "compare", "cubic", "--call", "nada", "--duration", "2s", "--json", *given
    )
    assert status == 0
    runs = json.loads(printed)["runs"]
    assert [one["label"] for one in runs] == labels
    downloads = [flow for flow in runs[1]["flows"] if flow["cc"] == "cubic"]
    assert len(downloads) == (2 if "--flows" in given else 1)


def test_a_controller_in_python_sets_the_rate_of_a_call_beside_another(capsys, tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(
        "import ackclock\n\n\nclass Mine(ackclock.Controller):\n"
        "    window = 10.0\n    slow_start_threshold = 10.0\n    pacing_rate = 800_000.0\n\n"
        "    def on_ack(self, cx, ack): pass\n    def on_loss(self, cx, loss): pass\n"
        "    def on_timeout(self, cx, loss): pass\n"
    )
    arguments = ("--call", f"{file}:Mine", "--duration", "5s", "--json")
    status, printed, _ = run(capsys, "compare", f"{file}:Mine", *arguments)
    assert status == 0
    found = json.loads(printed)["call"][""]["beside"]["nothing"]["rate_mbps"]["median"]
    assert found == pytest.approx(0.8, rel=0.1)


def test_calls_that_cannot_be(capsys):
    assert refused(capsys, "compare", "cubic", "--call", "tfrc").startswith("flows.0.kind: must be left out")
    said = refused(capsys, "compare", "cubic", "--call", "gcc", "--networks", "home", "--rate", "1mbit")
    assert said == "--rate: is of the path, and --networks names others"


@needs_live
def test_a_call_runs_live_beside_a_download_with_its_voice(capsys):
    document = {
        "duration": "1s",
        "path": {"rate": "1mbit", "rtt": "1ms", "queue": "9p"},
        "flows": [{"cc": "cubic"}],
    }
    try:
        _engine.check("live", _engine.resolve_json(json.dumps(document), []))
    except _engine.MachineError as error:
        pytest.skip(str(error))
    path = ("--rate", "4mbit", "--rtt", "40ms", "--queue", "200ms", "--duration", "4s")
    status, out, err = run(capsys, "compare", "cubic", "--call", "gcc", "--live", *path, "--json")
    assert status in ENDED, err
    found = json.loads(out)
    assert len(found["runs"]) == 2
    for one in found["runs"]:
        video, voice = one["flows"][:2]
        assert one["engine"]["kind"] == "live"
        # Half of the encoder's lowest rate, and 50 packets of voice a second.
        assert video["goodput_bps"] > 75e3
        assert voice["data_packets"] == pytest.approx(200, abs=2)
    assert found["call"]
