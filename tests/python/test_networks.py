"""``compare --networks``: named networks, files of users, advice, and small multiples."""

from __future__ import annotations

import json
import random
import re
import tomllib
from pathlib import Path

import numpy as np
import pytest

import ackclock
from ackclock import networks
from ackclock.contenders import contenders
from ackclock.errors import InputError
from ackclock.networks import presets
from ackclock.report import advice
from calling import refused, run

OFFICE = """
[networks.office]
path = { rate = "5mbit", rtt = "20ms", queue = "50p" }

[networks.lossy]
path = { rate = "5mbit", rtt = "20ms", queue = "50p", loss = "1%" }
[[networks.lossy.flows]]
cc = "vegas"
count = 2
[[networks.lossy.flows]]
cc = "newreno"
kind = "datagram"
source = { rate = "80kbit" }
"""


@pytest.mark.parametrize("name", networks.NAMES)
def test_a_named_network_is_a_scenario_with_its_sources(capsys, tmp_path, name):
    text = networks.text_of(name)
    assert networks.LEFT_OUT.search(text)
    # Each number follows a comment with its source.
    for key in re.findall(r"^(?:rate|rtt|queue|links|standard) = ", text, re.MULTILINE):
        before = text[: text.index(f"\n{key}")].rstrip().splitlines()
        assert before[-1].startswith("#"), key
    file = tmp_path / f"{name}.toml"
    file.write_text(text, "utf-8")
    status, out, said = run(capsys, "run", file, "--set", "duration=1s", "--json")
    assert (status, json.loads(out)["runs"][0]["label"]) == (0, name)
    assert "warning" not in said


LTE_SUITE = Path(__file__).parents[2] / "suites" / "rmcat" / "lte.toml"


@pytest.mark.parametrize(
    ("text", "seed", "halves"),
    [(networks.text_of("lte"), 1, 120), (LTE_SUITE.read_text("utf-8"), 2, 240)],
    ids=["network", "suite"],
)
def test_the_rate_of_lte_is_drawn_as_its_file_says(text, seed, halves):
    draw, rate, expected = random.Random(seed), 500.0, []
    for half in range(halves):
        expected.append([f"{half * 0.5:g}s", f"{rate * 0.012:.2f}mbit"])
        rate += draw.gauss(0.0, 200.0 * 0.5**0.5)
        rate = abs(rate - 50.0) + 50.0
        rate = 1000.0 - abs(1000.0 - rate)
    document = tomllib.loads(text)
    assert document.get("scenario", document)["path"]["rate"] == expected


def test_every_pair_runs_once_and_one_page_shows_them(capsys, tmp_path):
    arguments = ("--networks", "home,wifi", "--duration", "3s", "--out", tmp_path / "out", "--json")
    status, out, shown = run(capsys, "compare", "cubic", "cdg(G=10ms)", *arguments)
    assert status == 0
    document = json.loads(out)
    labels = [one["label"] for one in document["runs"]]
    assert labels == [f"{net}, {cc}" for net in ("home", "wifi") for cc in ("cubic", "cdg(G=10ms)")]
    home = document["networks"]["home"]["controllers"]["cubic"]
    flow = document["runs"][0]["flows"][0]
    assert home["goodput_mbps"]["values"] == [pytest.approx(flow["delivered_bytes"] * 8e-6 / 3)]
    above = flow["rtt_ms"]["p95"] - flow["base_rtt_ms"]
    assert home["rtt_p95_above_base_ms"]["median"] == pytest.approx(above)
    assert home["loss_percent"]["values"] == [pytest.approx(100 * flow["loss_rate"])]
    page = (tmp_path / "out" / "index.html").read_text("utf-8")
    assert page.count('<section class="strips">') == 2
    for of in document["networks"].values():
        assert of["advice"] in page
        assert of["limits"] in page
    assert "how much is chance (one run each)" in document["networks"]["home"]["limits"]
    assert f"home: {document['networks']['home']['advice']}" in " ".join(shown.split())
    assert (tmp_path / "out" / "networks.png").read_bytes()[:4] == b"\x89PNG"
    # The bar, the table and the JSON have the same number.
    text = f"{home['goodput_mbps']['median']:.2f}"
    assert f'<span class="value">{text}</span>' in page
    assert f'<td class="number">{text}</td>' in page


def test_files_and_tables_of_a_file_are_networks(capsys, tmp_path):
    (tmp_path / "mine.toml").write_text(OFFICE)
    scenario = 'duration = "9s"\npath = { rate = { trace = "a.down" }, rtt = "20ms", queue = "50p" }\n'
    (tmp_path / "scenario.toml").write_text(f"# Not in it: rain.\n{scenario}")
    (tmp_path / "a.down").write_text("".join(f"{ms}\n" for ms in range(1, 100, 2)))
    files = f"{tmp_path / 'mine.toml'},{tmp_path / 'scenario.toml'}"
    status, out, _ = run(capsys, "compare", "cubic", "--networks", files, "--duration", "2s", "--json")
    assert status == 0
    document = json.loads(out)
    assert list(document["networks"]) == ["office", "lossy", "scenario"]
    assert "Not shown: rain;" in document["networks"]["scenario"]["limits"]
    lossy = document["runs"][1]
    assert [flow["cc"] for flow in lossy["flows"]] == ["cubic", "cubic", "newreno"]
    # The datagrams of the file are no goodput of the controller.
    delivered = sum(flow["delivered_bytes"] for flow in lossy["flows"][:2]) * 8e-6 / 2
    found = document["networks"]["lossy"]["controllers"]["cubic"]["goodput_mbps"]["median"]
    assert found == pytest.approx(delivered)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--networks", "hime"), "--networks hime: is no network; did you mean `home`?"),
        (("--networks", "home,home"), "--networks home,home: home is named twice"),
        (("--networks", ","), "--networks ',': names no network; there are home, cable"),
        (
            ("--networks", __file__),
            f"--networks {__file__}: is no scenario (.toml); a table over time is --trace",
        ),
        (("--networks", "no.toml"), "no.toml: cannot be read: No such file or directory"),
        (("--networks", "home", "--rate", "1mbit"), "--rate: is of the path, and --networks names others"),
        (("--networks", "home", "--flows", "2"), "--flows: is of the path, and --networks names others"),
        (("--networks", "wifi", "--set", "path.queue=codel"), "--networks: wifi: "),
    ],
)
def test_networks_that_cannot_be(capsys, arguments, sentence):
    assert refused(capsys, "compare", "cubic", *arguments).startswith(sentence)


def test_a_network_needs_a_greedy_flow():
    one = {"flows": [{"cc": "newreno", "kind": "datagram", "source": {"rate": "1mbit"}}]}
    with pytest.raises(InputError, match="none is greedy"):
        networks.Network("mine", one).with_controller(contenders(["cubic"])[0])


class Measured:
    """A run whose quantities are given."""

    def __init__(self, goodput, delay, loss):
        self.values = goodput, delay, loss


@pytest.fixture
def measured(monkeypatch):
    """Makes the quantities of advice read from :class:`Measured`."""
    names = ("goodput_mbps", "rtt_p95_above_base_ms", "loss_percent")
    readers = [lambda run, at=at: run.values[at] for at in range(3)]
    given = [(name, name, "", reader, 1) for name, reader in zip(names, readers, strict=True)]
    monkeypatch.setattr(advice, "MEASURES", given)
    monkeypatch.setattr(advice, "goodput_mbps", readers[0])


@pytest.mark.usefixtures("measured")
@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        # A tenth less goodput for a hundredth of the delay.
        (
            {"a": (10.0, 500.0, 0.0), "b": (9.5, 5.0, 0.0), "c": (8.0, 1.0, 0.0)},
            "Choose b (9.5 Mbit/s, 5 ms) rather than a (10 Mbit/s, 500 ms), c (8 Mbit/s, 1 ms).",
        ),
        (
            {"a": (10.0, 12.0, 0.0), "b": (9.9, 9.0, 0.0)},
            "Any of them will do: a (10 Mbit/s, 12 ms), b (9.9 Mbit/s, 9 ms).",
        ),
        (
            {"a": (10.0, 5.0, 40.0), "b": (10.0, 6.0, 2.0)},
            "Choose b (10 Mbit/s, 6 ms) rather than a (10 Mbit/s, 5 ms and 40 % loss).",
        ),
        (
            {"a": (10.0, 5.0, 5.0), "b": (10.0, 60.0, 4.9)},
            "Choose a (10 Mbit/s, 5 ms and 5 % loss) rather than b (10 Mbit/s, 60 ms).",
        ),
        ({"a": (0.0, 5.0, 100.0), "b": (0.0, 6.0, 100.0)}, "Nothing to choose from: no flow got through."),
        ({"a": (1.0, 5.0, 0.0)}, "Nothing to choose from: one controller ran."),
    ],
)
def test_advice_weighs_goodput_delay_and_loss(values, sentence):
    assert advice.advice({label: [Measured(*of)] for label, of in values.items()}) == sentence


@pytest.mark.usefixtures("measured")
def test_limits_name_what_chance_may_have_done():
    near = {"a": [Measured(10, 1, 0), Measured(12, 1, 0)], "b": [Measured(11, 1, 0), Measured(11.5, 1, 0)]}
    assert advice.limits(near, "") == (
        "Not shown: flows that share the link; which of b and a has more goodput (their ranges overlap)."
    )
    far = {"a": [Measured(10, 1, 0), Measured(12, 1, 0)], "b": [Measured(7, 1, 0), Measured(8, 1, 0)]}
    assert advice.limits(far, "rain") == "Not shown: rain; flows that share the link."


def test_boxes_lie_where_their_values_are():
    from ackclock.figure import Strip, StripRow, Strips
    from ackclock.report import strips

    values = np.array([2.0, 4.0, 6.0, 8.0, 10.0])
    row = StripRow(
        "net", [Strips("x", "ms", [Strip("a", "cubic", values), Strip("b", "cdg", np.array([5.0]))])]
    )
    first, second = strips.as_html([row])[0]["cells"][0]["strips"]
    shapes = {name: (left, width) for name, left, width in first["shapes"]}
    # Percent of the largest, 10: from 2 to 10, quartiles 4 and 8, median 6.
    assert shapes["reach"] == (20.0, 80.0)
    assert shapes["box"] == (40.0, 40.0)
    assert shapes["median"] == (60.0, 0.0)
    assert second["shapes"] == [("bar", 0.0, 50.0)]
    assert (first["text"], second["text"]) == ("6.0", "5.0")


def test_presets_of_tools_are_networks():
    names = presets.names()
    assert {"devtools:slow-4g", "wpt:cable", "atc:edge-lossy"} <= set(names)
    for one in networks.networks(",".join(names)):
        document = one.with_controller(contenders(["cubic"])[0])
        ackclock.Scenario.from_document(document).resolved()
    [edge] = networks.networks("atc:edge-lossy")
    assert edge.document["path"] == {
        "rate": "240kbit",
        "delay": {"forward": "400ms", "reverse": "440ms"},
        "queue": "1000p",
        "loss": "1%",
        "reverse": {"rate": "200kbit", "queue": "1000p", "loss": "1%"},
    }
    assert "Augmented Traffic Control" in edge.left_out


def test_calibrated_presets_lose_behind_the_bottleneck_as_the_shells_of_mahimahi():
    [nepal] = networks.networks("pantheon:nepal-india")
    trace = {"trace": str(presets.folder().absolute() / "poisson-0.57mbit.down")}
    document = nepal.with_controller(contenders(["cubic"])[0])
    data, behind, back, acks = document["links"]
    assert data == {
        "from": "sender",
        "to": "sender-1",
        "rate": trace,
        "queue": "14p",
        "delay": "0ms",
    }
    assert behind == {
        "from": "sender-1",
        "to": "receiver",
        "rate": "unlimited",
        "delay": "28ms",
        "loss": "4.77%",
    }
    assert (back["from"], back["to"], back["delay"]) == ("receiver", "receiver-1", "28ms")
    assert (acks["from"], acks["to"], acks["rate"]) == ("receiver-1", "sender", trace)


@pytest.mark.parametrize("rate", ["0.57", "2.64", "3.04"])
def test_random_opportunities_are_drawn_as_the_presets_say(rate):
    count, draw = round(float(rate) * 1e6 * 30 / 12_000), random.Random(1)
    times = sorted([*(draw.randint(1, 30_000) for _ in range(count - 1)), 30_000])
    text = (presets.folder() / f"poisson-{rate}mbit.down").read_text("utf-8")
    assert text == "".join(f"{time}\n" for time in times)


def test_runs_over_leo_are_the_draws_of_their_script():
    steady, lossy = networks.networks("leo:changes-1,leo:lossy-1")
    before, bottleneck, back = lossy.document["links"]
    # random.seed(1), then randint(50, 100), randint(5, 100) and uniform(0, 1) twice over.
    assert bottleneck["rate"][:2] == [["0s", "58mbit"], ["15s", "98mbit"]]
    assert before["delay"][:2] == [["0s", "77ms"], ["15s", "13ms"]]
    assert before["loss"][:2] == [["0s", "0.85%"], ["15s", "0.26%"]]
    assert [len(before["loss"]), before["delay"][-1]] == [20, ["285s", "96ms"]]
    # int(50 * 2**20 * 2 * 0.05 / 8) bytes
    assert (bottleneck["queue"], back["delay"]) == ("655360B", "0ms")
    assert [{**before, "loss": None}, bottleneck, back] == [
        {**steady.document["links"][0], "loss": None},
        *steady.document["links"][1:],
    ]
    assert "loss" not in steady.document["links"][0]


def test_dumbbells_have_the_rtts_of_the_common_suite():
    access, satellite = networks.networks("tcpeval:access-link,tcpeval:satellite-down")
    # Table 1 of draft-irtf-iccrg-tcpeval-01, and 4 ms for the central link of 2 ms each way.
    rtts = [4, 74, 150, 28, 98, 174, 54, 124, 200]
    made = access.with_controller(contenders(["vegas"])[0])
    assert [(flow["cc"], flow["rtt"]) for flow in made["flows"]] == [
        ("vegas", f"{rtt + 4}ms") for rtt in rtts
    ]
    assert access.document["path"]["reverse"] == {"rate": "100mbit", "queue": "100ms"}
    assert satellite.document["path"] == {
        "rate": "40mbit",
        "queue": "100ms",
        "rtt": "604ms",
        "reverse": {"rate": "4mbit", "queue": "1000ms"},
    }


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("wpt:cabel", "--networks wpt:cabel: is no preset; did you mean `wpt:cable`?"),
        ("wtp:cable", "--networks wtp:cable: is no network; did you mean `wpt:cable`?"),
        ("nlc:lte", "--networks nlc:lte: is no network"),
    ],
)
def test_presets_that_are_none(capsys, name, sentence):
    assert refused(capsys, "compare", "cubic", "--networks", name).startswith(sentence)
    assert "there are atc:2g-rural, atc:2g-urban," in refused(
        capsys, "compare", "cubic", "--networks", "atc:x"
    )


def test_a_preset_has_a_page(capsys, tmp_path):
    out = tmp_path / "out"
    arguments = ("--networks", "wpt:fios", "--duration", "2s", "--out", out)
    status, shown, _ = run(capsys, "compare", "cubic", *arguments)
    assert status == 0
    assert "wpt:fios" in shown
    assert "of WebPageTest, connectivity.ini it has rates" in (out / "index.html").read_text("utf-8")


def test_the_keys_of_a_network_s_file_count_unless_the_command_line_has_them(capsys, tmp_path):
    path = 'path = { rate = "5mbit", rtt = "20ms", queue = "50p" }'
    (tmp_path / "short.toml").write_text(f'duration = "2s"\nwarmup = "1s"\n{path}\n')
    (tmp_path / "plain.toml").write_text(f"{path}\n")
    files = ",".join(str(tmp_path / name) for name in ("short.toml", "plain.toml"))
    for given, expected in (
        ((), [(2.0, "1s"), (60.0, "0s")]),
        (("--duration", "3s"), [(3.0, "1s"), (3.0, "0s")]),
    ):
        status, out, _ = run(capsys, "compare", "newreno", "--networks", files, *given, "--json")
        runs = json.loads(out)["runs"]
        assert status == 0
        assert [(one["duration_s"], one["scenario"]["warmup"]) for one in runs] == expected
    page = tmp_path / "page"
    run(capsys, "compare", "newreno", "--networks", files, "--out", page)
    assert "<h1>newreno on short, plain; 2s and 60s</h1>" in (page / "index.html").read_text()
