"""Numbers at their place: sums of controllers, fairness on a link, throughput that a link carries."""

import json
import pickle

import pytest

import ackclock
from ackclock import Run, Scenario, simulate
from ackclock.overview import overview
from ackclock.sums import of_controllers
from calling import run

TWO_WAYS = {
    "duration": "8s",
    "links": [{"from": "a", "to": "b", "rate": "8mbit", "delay": "5ms", "queue": "20p", "duplex": True}],
    "flows": [
        {"cc": "cubic", "from": "a", "to": "b", "count": 2},
        {"cc": "cubic", "from": "b", "to": "a"},
    ],
}


def flow(cc, delivered, packets, lost):
    return {
        "cc": cc, "delivered_bytes": delivered, "data_packets": packets, "loss_rate": lost,
        "retransmitted_packets": 1, "timeouts": 2,
    }  # fmt: skip


def test_sums_are_over_the_interval_of_the_run_and_losses_are_of_the_packets():
    rows = [flow("cubic", 3e6, 300, 0.01), flow("bbr1", 5e6, 400, None), flow("cubic", 2e6, 100, 0.05)]
    cubic, bbr1 = of_controllers(rows, {"flows": [{"kind": "tcp"}] * 3}, 8.0)
    # 3 + 2 of 10 MB in 8 s. 3 packets and 5 of 400 are lost.
    assert (cubic["flows"], cubic["goodput_bps"], cubic["share"], cubic["loss_rate"]) == (2, 5e6, 0.5, 0.02)
    assert (cubic["data_packets"], cubic["retransmitted_packets"], cubic["timeouts"]) == (400, 2, 4)
    assert (bbr1["cc"], bbr1["loss_rate"]) == ("bbr1", 0.0)
    datagrams = {"flows": [{"kind": "tcp"}, {"kind": "datagram"}, {"kind": "tcp"}]}
    assert [one["cc"] for one in of_controllers(rows, datagrams, 8.0)] == ["cubic"]
    nothing = of_controllers([flow("cubic", 0, 0, None)], {"flows": [{"kind": "tcp"}]}, 8.0)
    assert [nothing[0][name] for name in ("share", "loss_rate")] == [None, None]


def test_a_table_has_the_sums_where_a_controller_has_several_flows(capsys):
    several = run(capsys, "compare", "cubic", "--flows", 3, "--duration", "2s")[1]
    assert "controllers (sums over their flows)" in several
    assert "controllers" not in run(capsys, "compare", "cubic", "--duration", "2s")[1]


def test_jain_s_index_of_a_link_is_of_the_flows_whose_data_cross_it(tmp_path):
    made = simulate(Scenario.from_document(TWO_WAYS))
    there, back = made.summary()["links"]
    a, b, _ = (one["goodput_bps"] for one in made.summary()["flows"])
    index = (a + b) ** 2 / (2 * (a * a + b * b))
    assert (there["jain"], back["jain"]) == (pytest.approx(index), 1.0)
    assert made.fairness == pytest.approx(index if there["is_bottleneck"] else 1.0)
    for other in (Run.load(made.save(tmp_path / "run")), pickle.loads(pickle.dumps(made))):
        assert [one["jain"] for one in other.summary()["links"]] == [there["jain"], back["jain"]]
    # A folder of an earlier version has no routes, so all flows count.
    file = tmp_path / "run" / "run.json"
    described = json.loads(file.read_text())
    assert described.pop("routes") == [[0], [0], [1]]
    file.write_text(json.dumps(described))
    assert Run.load(tmp_path / "run").summary()["links"][1]["jain"] < 1.0
    for wrong in ("0", [0], [["a"]], [[-1]]):
        file.write_text(json.dumps(described | {"routes": wrong}))
        with pytest.raises(ackclock.ResultError, match="routes"):
            Run.load(tmp_path / "run")


def test_the_first_sentence_and_figure_stay_below_the_rate_of_the_link():
    # A repaired loss delivers all behind it at once: goodput of the last 4 s is above the rate of the link.
    document = {
        "duration": "12s",
        "warmup": "4s",
        "path": {"rate": "20mbit", "rtt": "40ms", "queue": "1s"},
        "flows": [{"cc": "cubic"}],
    }
    made = simulate(Scenario.from_document(document))
    shown = overview({"cubic": [made]})
    throughput = float(dict(shown.sentences)["Throughput"].split()[0])
    rate = made.flows["throughput_bps"].to_pylist()[0]
    assert throughput == pytest.approx(rate / 1e6, abs=0.05)
    assert 15.0 < throughput <= 20.0
    (curve,) = shown.stack[0].curves
    assert shown.stack[0].name == "throughput"
    assert max(curve.y[curve.y == curve.y]) <= 20.05


def test_a_sweep_of_short_flows_has_no_more_goodput_than_its_link(capsys, tmp_path):
    scenario = tmp_path / "web.toml"
    path = 'path = { rate = "20mbit", rtt = "10ms", queue = "100p" }'
    scenario.write_text(
        f'{path}\nduration = "5s"\nflows = [{{ cc = "cubic", every = "100ms", bytes = "100kB" }}]\n'
    )
    status, out, _ = run(capsys, "sweep", scenario, "--over", "path.queue=50p", "--out", tmp_path / "swept")
    assert status == 0
    # 50 pages of 100 kB in 5 s: 8 Mbit/s.
    (row,) = [line.split("│") for line in out.splitlines() if "50p" in line]
    assert float(row[3]) == pytest.approx(8.0, abs=0.2)


def test_a_sweep_has_the_goodput_of_each_controller(capsys, tmp_path):
    scenario = tmp_path / "two.toml"
    path = 'path = { rate = "8mbit", rtt = "10ms", queue = "20p" }'
    scenario.write_text(
        f'{path}\nduration = "3s"\nflows = [{{ cc = "cubic", count = 2 }}, {{ cc = "newreno" }}]\n'
    )
    given = ("sweep", scenario, "--over", "path.loss=0%,1%", "--repeat", 2)
    status, out, _ = run(capsys, *given, "--out", tmp_path / "swept")
    assert status == 0
    swept = ackclock.Sweep.load(tmp_path / "swept")
    place, of = next(iter(swept.of_controllers.items()))
    rows = [row for row in swept.rows() if row["point"] == dict(place.point)]
    sums = [sum(flow["delivered_bytes"] for flow in row["flows"] if flow["cc"] == "cubic") for row in rows]
    assert of["cubic"].median == pytest.approx(sum(sums) / 2 * 8 / 3.0 / 1e6)
    assert "controllers (sums over their flows)" in out
    assert "flows of" in (tmp_path / "swept" / "index.html").read_text()


def test_an_interval_is_left_out_where_nothing_is_random(capsys):
    given = ("--rate", "8mbit", "--duration", "2s", "--repeat", 3)
    _, out, err = run(capsys, "sweep", "vegas", "--over", "path.loss=0%,2%", *given)
    rows = {line.split("│")[1].strip(): line for line in out.splitlines() if "vegas" in line and "│" in line}
    assert ("[" in rows["0%"], "[" in rows["2%"]) == (False, True)
    assert "the repetitions of vegas at path.loss=0% came out the same" in err
