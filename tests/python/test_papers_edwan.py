"""The thesis of Edwan 2010: experiments that no run is needed for, and figures of functions."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import ackclock
from ackclock import papers
from ackclock.cases.document import CaseError
from ackclock.cases.measure import Samples, quantity
from ackclock.papers.catalogue import read_experiment
from ackclock.papers.figures import figures
from ackclock.papers.functions import measures_of
from ackclock.report import number
from experiments import EXPERIMENT, read
from handmade import handmade

MODELS = (
    "fig2.3 fig2.4 fig2.5 sec2.9.1 fig3.2 table4.1 table4.2 fig4.5 eq4.32 eq4.35 table5.2 sec5.5.2-pf fig6.1 "
    "fig6.2 fig6.3 fig6.11 fig8.6 table8.1 appB.1 appB.2"
)
FIGURE = """
[[figures]]
name = "functions"
kind = "curves"
x = { label = "x" }
y = { label = "y", times = 2.0 }
[[figures.panels]]
curves = [
  { label = "line", function = "line", slope = 3.0, look = "model" },
  { label = "flows", function = "flows", run = "one", where = { "path.loss" = "1%" } },
]
"""
MEASURES = """
def line(slope: float):
    return [0, 1], [0, slope]

def flows(run):
    return [0.0], [run.flows.num_rows]
"""


def test_the_experiments_without_runs_miss_what_the_thesis_has_wrong():
    chosen = papers.select(papers.catalogue(), [f"edwan2010-{name}" for name in MODELS.split()])
    judged = [j for result in papers.reproduce(chosen).results for j in result.judgements]
    assert {j.claim.id for j in judged if j.verdict == "miss"} == {
        "edwan2010-eq4.35-c3",
        "edwan2010-sec5.5.2-pf-c3",
        "edwan2010-fig6.1-c4",
    }
    assert all(j.measured is not None for j in judged if not j.claim.cited)


def test_a_misprinted_row_stands_beside_its_corrections():
    chosen = papers.select(papers.catalogue(), ["edwan2010-table4.2"])
    (filled,) = [t for t in papers.reproduce(chosen).results[0].tables if t.table.name == "misprints"]
    assert filled.rows[0] == ["x1, alpha = 1", "4.226", "2.257", "2.257"]


@pytest.mark.parametrize(("delay", "rtt"), [("5ms", 42), ("16ms", 64), ("30ms", 92), ("300ms", 632)])
def test_flows_of_figure_6_5_have_their_own_access_links(delay: str, rtt: int):
    (chosen,) = papers.select(papers.catalogue(), ["edwan2010-fig6.5"])
    scenario = dict(chosen.setup("illinois").scenario)
    bottleneck, first, second = scenario["links"]
    assert [link["rate"] for link in (bottleneck, first, second)] == ["300mbit", "1gbit", "1gbit"]
    document = scenario | {"duration": "1s", "links": [bottleneck, first, second | {"delay": delay}]}
    run = ackclock.simulate(ackclock.Scenario.from_document(document))
    # Twice 16 ms of the bottleneck and 30 ms of access, or the second flow's delay.
    assert run.flows["base_rtt_ms"].to_pylist() == [92, rtt]


@pytest.mark.parametrize(
    ("name", "rtts"),
    [
        ("fig6.5", {92}),
        ("fig6.6", {92}),
        ("sec6.3.2", {92}),
        ("fig6.7", {40, 70, 92, 100, 120, 180, 380, 660}),
        ("fig6.9", {70, 92}),
        ("fig6.10", {70, 92}),
        ("fig6.12", {92}),
        ("fig6.13", {92}),
        ("fig7.5", {92}),
        ("fig7.6a", {40}),
        ("fig7.6b", {20, 30, 40, 50, 60, 70, 80, 90, 100, 110, 120}),
        ("fig7.7", {40}),
        ("fig7.8", {92}),
    ],
)
def test_flows_of_the_dumbbells_have_access_links_of_1_gbit(name: str, rtts: set[int]):
    (chosen,) = papers.select(papers.catalogue(), [f"edwan2010-{name}"])
    for setup in chosen.setups:
        links = {link["from"]: link for link in setup.scenario["links"]}
        swept = chosen.sweep.get("links.0.delay", [links["a"]["delay"]])
        for flow in setup.scenario["flows"]:
            access = links[flow["from"]]
            assert (access["to"], access["rate"], access["queue"]) == ("a", "1gbit", "infinite")
            delays = [quantity(access["delay"]) + quantity(delay) for delay in swept]
            assert {round(2e3 * delay) for delay in delays} == rtts


def test_curves_come_from_functions_with_and_without_a_run(tmp_path):
    (tmp_path / "measures").mkdir()
    (tmp_path / "measures" / "some.py").write_text(MEASURES)
    experiment = read(tmp_path, EXPERIMENT + FIGURE, measures_of(tmp_path))
    figure = figures(experiment)[-1]
    samples = Samples()
    for condition, sample in figure.demands():
        samples.want(condition, sample)
    (condition,) = samples.conditions()
    samples.add(condition, 0, handmade())
    line, flows = figure.panels(samples)[0].series
    # Every y is doubled: 3 becomes 6, and two flows become 4.
    assert (line.y.tolist(), line.look) == ([0.0, 6.0], "model")
    assert flows.y.tolist() == [4.0]


def test_a_curve_of_an_unknown_function_is_refused(tmp_path):
    experiment = read(tmp_path, EXPERIMENT + FIGURE, {})
    with pytest.raises(CaseError, match="the paper has no function `line`"):
        list(figures(experiment)[-1].demands())


def test_two_functions_of_one_name_are_refused(tmp_path):
    (tmp_path / "measures").mkdir()
    for name in ("a", "b"):
        (tmp_path / "measures" / f"{name}.py").write_text("def twice():\n    return 1.0\n")
    with pytest.raises(CaseError, match=r"b\.py: there are two functions `twice`"):
        measures_of(tmp_path)


def test_a_small_number_keeps_its_digits():
    assert (number(2.868e-10), number(123456.0), number(0.0)) == ("2.868e-10", "123456", "0")


def test_veno_keeps_four_fifths_and_westwood_what_the_queue_leaves():
    from ackclock.papers.data.edwan2010.models import responses

    # sqrt(9/(2p)) at p = 0.02 is 15. Congested, AIMD(1/2, 1/2): sqrt(0.75/p) = sqrt(37.5).
    assert float(responses.veno(0.02)) == pytest.approx(15.0)
    assert float(responses.veno(0.02, congested=True)) == pytest.approx(np.sqrt(37.5))
    # A quarter of the RTT is queueing: sqrt(4 * 0.99/0.01) = sqrt(396).
    assert float(responses.westwood(0.01, 0.1, 0.025)) == pytest.approx(np.sqrt(396))
    # 20 packets in a queue of 10 ms are 2000 packets/s, over 110 ms 220 packets.
    assert float(responses.delay_based(0.01, 0.1, 20)) == pytest.approx(220.0)


def test_an_experiment_may_have_the_runs_of_another(tmp_path):
    own = [line for line in EXPERIMENT.split("\n")[:8] if line and not line.startswith("repetitions")]
    (tmp_path / "first.toml").write_text(EXPERIMENT)
    (tmp_path / "second.toml").write_text("\n".join([*own, 'same_runs_as = "first"']))
    first, second = (read_experiment(tmp_path / f"{name}.toml", "demo") for name in ("first", "second"))
    assert (second.setups, second.sweep, second.repetitions) == (first.setups, first.sweep, 3)
    (tmp_path / "third.toml").write_text('same_runs_as = "first"\nrepetitions = 2\n')
    with pytest.raises(CaseError, match="`repetitions` may not stand beside `same_runs_as`"):
        read_experiment(tmp_path / "third.toml", "demo")
    (tmp_path / "third.toml").write_text('same_runs_as = "second"\n')
    with pytest.raises(CaseError, match="`second` itself has the runs of another experiment"):
        read_experiment(tmp_path / "third.toml", "demo")


def test_a_reduced_experiment_says_so(tmp_path):
    extra = 'scenario = { duration = "5s" }\nmembers = 1\n\n[sweep]'
    starts = '[[variations]]\nname = "starts"\nset = { "flows.0.start" = ["0s", "1s"] }\n'
    reduced = read(tmp_path, EXPERIMENT.replace("[sweep]", extra, 1) + starts).reduced()
    assert reduced.title == "A demonstration (reduced)"
    assert [one.scenario["duration"] for one in reduced.setups] == ["5s", "5s"]
    assert reduced.setups[1].scenario["path"]["queue"] == "50p"
    assert reduced.variations["starts"].at(0, ("one", ())) == ("one", (("flows.0.start", "0s"),))
    assert reduced.variations["starts"].members == 1


def test_gaps_of_a_duplicate_run_begin_with_the_hole():
    experiments = papers.select(papers.catalogue(), ["edwan2010-table8.2"])
    measures = experiments[0].measures
    flow = {"cc": "newreno", "name": "cross-1", "transport": {"receive_window": 45}, "from": "a", "to": "c"}
    slow = {"from": "a", "to": "b", "rate": "3mbit", "delay": "25ms", "queue": "100p", "reverse": {}}
    lossy = {"from": "b", "to": "c", "rate": "5mbit", "delay": "25ms", "queue": "100p", "reverse": {}}
    links = [slow, lossy | {"loss": {"packets": [400]}}]
    document = {"duration": "3s", "profile": "ns2-linux", "links": links, "flows": [flow]}
    scenario = ackclock.Scenario.from_document(document | {"record": {"flow_series": "1ack"}})
    run = ackclock.simulate(scenario)
    # One packet of 1000 bytes is lost in a train: one gap of 2 T, then gaps of T. Span 1/2, no noise.
    assert measures["captured_cuts"](run, "cross") == 1.0
    assert measures["captured_mean"](run, "cross", "span") == pytest.approx(0.5, abs=1e-3)
    assert measures["captured_mean"](run, "cross", "noise") == 0.0
    assert measures["captured_mean"](run, "cross", "decrease") == pytest.approx(0.25, abs=1e-3)


def test_times_of_too_few_entries_are_not_compared() -> None:
    farthest = measures_of(Path(__file__).parents[2] / "papers" / "edwan2010")["farthest_time_ratio"]
    never = float("nan")
    starts, middle = [4.0], [1.0]
    # Three of four are enough: (10 + 20 + 30)/3 over 40 is 1/2, farther from 1 than 60/40. The third RTT,
    # where none converges, is left out.
    first, second = [10.0, 20.0, 30.0, never] + [60.0] * 4 + [never] * 4, [40.0] * 8 + [never] * 4
    assert farthest(first, second, starts, middle) == pytest.approx(0.5)
    with pytest.raises(ValueError, match="at RTT number 2 only 2 and 4 of 4 entries converge"):
        farthest([10.0] * 4 + [10.0, never, never, 30.0], [10.0] * 8, starts, middle)


def test_shares_and_loss_rates_are_those_of_the_two_subflows() -> None:
    own = measures_of(Path(__file__).parents[2] / "papers" / "edwan2010")

    class Two:
        flows = pa.table({"flow": [0, 1], "name": ["both:0", "both:1"], "loss_rate": [0.01, 0.03]})
        flow_series = pa.table(
            {
                "time_s": [1.0, 1.0, 2.0, 2.0, 3.0, 3.0],
                "flow": pa.array([0, 1] * 3, pa.uint32()),
                "window_segments": [10.0, 30.0, 30.0, 10.0, 20.0, 20.0],
            }
        )

    times, shares = own["share_of_first_path"](Two())
    assert list(times) == [1.0, 2.0, 3.0]
    assert list(shares) == [0.25, 0.75, 0.5]
    # 1/4 and 3/4 have the mean 1/2, and both are 1/4 off it.
    assert own["share_deviation"](Two(), 0.0, 2.5) == 0.25
    assert own["loss_rate_ratio"](Two()) == pytest.approx(3.0)
    assert own["place_between"]([2.0], [5.0, 1.0]) == 0.25


def test_a_reset_within_a_counted_decongestion_is_seen() -> None:
    is_reset = measures_of(Path(__file__).parents[2] / "papers" / "edwan2010")["is_reset"]

    def lone(threshold: int) -> ackclock.Run:
        parameters = {"q_max": 10, "reset_threshold": threshold}
        document = {
            "duration": "20s",
            "path": {"rate": "30mbit", "rtt": "92ms", "queue": "100p"},
            "flows": [{"cc": "gentle-1", "parameters": parameters}],
            "record": {"probes": "20ms"},
        }
        return ackclock.simulate(ackclock.Scenario.from_document(document))

    # With a threshold of 0 every decongestion resets. With 1 only consecutive ones do, and a lone flow has
    # none.
    assert (is_reset(lone(0), 10.0, 20.0), is_reset(lone(1), 10.0, 20.0)) == (1.0, 0.0)
