"""The language of claims: its words, its errors, and functions of a paper."""

import numpy as np
import pytest

from ackclock import metrics
from ackclock.cases import expressions as language
from ackclock.cases import measure
from ackclock.cases.document import CaseError
from ackclock.cases.expressions import Constant, Slope, parse
from ackclock.cases.measure import Samples, quantity
from ackclock.cases.reading import KINDS
from ackclock.metrics import PerEvent
from ackclock.papers.functions import read_measures
from experiments import CELL, EXPERIMENT, WHERE, read, value


def test_quantities_are_read_in_base_units():
    assert [quantity(q) for q in ("40ms", "1%", "1448B", "10mbit", "20s", 0.8, "3", "84p", "2bdp")] == [
        0.04,
        0.01,
        1448.0,
        10e6,
        20.0,
        0.8,
        3.0,
        84.0,
        2.0,
    ]
    with pytest.raises(ValueError, match="`fast` is no quantity with its unit"):
        quantity("fast")


def test_a_leaf_takes_the_median_over_repetitions(experiment):
    leaf = {"metric": "goodput", "run": "one", "flow": "b", "from": "4s", "to": "8s", "where": WHERE}
    assert value(experiment, leaf) == pytest.approx(3e6)
    assert value(experiment, leaf | {"relative_to": "link rate"}) == pytest.approx(3 / 8)
    assert value(experiment, leaf | {"relative_to": "total", "times": 2}) == pytest.approx(6 / 7)
    assert value(experiment, leaf | {"statistic": "p80-p20"}) == 0.0


def test_values_per_event_are_pooled_over_repetitions(tmp_path):
    runs = [[1.0, 2.0], [3.0, 4.0, 10.0], []]

    def sizes(run):
        return PerEvent(np.array(run))

    tree = {"metric": "sizes", "run": "one", "where": WHERE}
    experiment = read(tmp_path, EXPERIMENT, {"sizes": sizes})
    samples = Samples()
    for statistic, expected in (("median", 3.0), ("smallest", 1.0), ("largest", 10.0)):
        leaf = parse(tree | {"statistic": statistic}, experiment, "here")
        for demand in leaf.demands():
            samples.want(*demand)
        for repetition, run in enumerate(runs):
            samples.add(CELL, repetition, run)
        assert leaf.value(samples) == expected
        assert (len(leaf.values(samples)), leaf.finished(samples)) == (2, 3)


def test_a_value_per_window_is_reduced_over_them(experiment):
    windows = {"metric": "goodput_windows", "run": "one", "flow": "b", "bin": "2s", "from": "4s", "to": "8s"}
    leaf = windows | {"where": WHERE, "over": "largest"}
    assert value(experiment, leaf) == pytest.approx(4e6)


def test_expressions_combine(experiment):
    a = {"metric": "goodput", "run": "one", "flow": "a", "from": "4s", "to": "8s", "where": WHERE}
    b = a | {"flow": "b"}
    assert value(experiment, {"ratio": [a, b]}) == pytest.approx(4 / 3)
    assert value(experiment, {"difference": [a, b]}) == pytest.approx(1e6)
    assert value(experiment, {"largest": [a, b]}) == pytest.approx(4e6)
    assert value(experiment, {"mean": [a, b], "times": "1%"}) == pytest.approx(3.5e4)
    assert value(experiment, {"ratio": [a, {"value": "8mbit"}]}) == pytest.approx(0.5)
    model = {"model": "mathis", "loss": "1%", "rtt": "40ms", "segment": "1448B"}
    assert value(experiment, model) == pytest.approx(3.547e6, rel=1e-3)


def test_the_farthest_from_a_reference_is_picked(experiment):
    numbers = [{"value": 1}, {"value": 3}, {"value": 8}]
    assert value(experiment, {"farthest": numbers, "reference": 5.5}) == 1.0


def test_the_language_of_claims_is_frozen():
    """It gets no more words. Other measures are functions in `papers/<paper>/measures.py`."""
    assert set(language.HEADS) == {
        "metric", "model", "value", "function", "slope_of", "ratio", "difference", "largest", "smallest",
        "mean", "sum", "farthest",
    }  # fmt: skip
    assert {
        "metric", "run", "where", "relative_to", "statistic", "over", "times",
    } == language.LEAF_KEYS  # fmt: skip
    assert {"each", "along", "points", "runs"} == language.EACH_KEYS
    assert {"slope_of", "along", "points"} == language.SLOPE_KEYS
    assert set(measure.STATISTICS) == {
        "median", "mean", "smallest", "largest", "p5", "p20", "p80", "p95", "p80-p20",
    }  # fmt: skip
    assert set(measure.REFERENCES) == {"link rate", "total", "buffer"}
    assert set(KINDS) == {"reported-number", "ratio", "ordering", "shape"}


MEASURES = """
def spread(values, unit):
    return (max(values) - min(values)) / unit[0]

def flows(run, at_least: float = 0.0):
    return float(sum(rate >= at_least for rate in run.flows["goodput_bps"].to_pylist()))

def _hidden(values):
    return 0.0
"""


@pytest.fixture
def with_measures(tmp_path):
    (tmp_path / "measures.py").write_text(MEASURES)
    return read(tmp_path, EXPERIMENT, read_measures(tmp_path / "measures.py"))


def test_a_claim_may_call_a_function_of_its_paper(with_measures):
    # From 3 to 8 are 5, in units of 2.
    listed = [{"value": 3}, {"each": {"value": 8}, "along": "path.loss"}]
    tree = {"function": "spread", "values": listed, "unit": {"value": 2}}
    assert value(with_measures, tree) == 2.5
    assert value(with_measures, tree | {"times": 100}) == 250.0


def test_a_metric_of_a_paper_goes_before_one_of_the_package_with_its_name(tmp_path):
    (tmp_path / "measures.py").write_text("def utilization(run, group):\n    return float(len(group))\n")
    experiment = read(tmp_path, EXPERIMENT, read_measures(tmp_path / "measures.py"))
    leaf = {"metric": "utilization", "run": "one", "where": WHERE, "group": "four"}
    assert value(experiment, leaf) == 4.0


def test_a_paper_may_have_a_metric_of_its_own(with_measures):
    # The hand-made run has two flows, of 4 and 3.6 Mbit/s.
    leaf = {"metric": "flows", "run": "one", "where": WHERE}
    assert value(with_measures, leaf) == 2.0
    assert value(with_measures, leaf | {"at_least": "3.8mbit"}) == 1.0


@pytest.mark.parametrize(
    ("tree", "sentence"),
    [
        ({"function": "none"}, "has no function `none` (it has spread, flows)"),
        ({"function": "flows"}, "has no function `flows`"),
        ({"function": "_hidden", "values": []}, "has no function `_hidden`"),
        ({"function": "spread", "values": []}, "`spread` takes values, unit, each a list of measures"),
    ],
)
def test_a_wrong_call_is_refused_with_its_place(with_measures, tree, sentence):
    with pytest.raises(CaseError, match="here") as error:
        parse(tree, with_measures, "here")
    assert sentence in str(error.value)


def test_a_call_without_a_value_says_why(with_measures):
    tree = {"function": "spread", "values": [{"value": 1}], "unit": [{"value": 0}]}
    with pytest.raises(metrics.MetricError, match="`spread`: float division by zero"):
        value(with_measures, tree)


def test_measures_that_do_not_load_are_refused(tmp_path):
    (tmp_path / "measures.py").write_text("import nothing_of_this_name\n")
    with pytest.raises(CaseError, match=r"measures\.py, line 1: ModuleNotFoundError: No module"):
        read_measures(tmp_path / "measures.py")


def test_each_repeats_an_expression_over_points_and_runs(experiment):
    a = {"metric": "goodput", "flow": "a", "from": "4s", "to": "8s"}
    points = {"each": a | {"run": "one"}, "along": "path.loss"}
    assert value(experiment, {"sum": points}) == pytest.approx(3 * 4e6)
    assert value(experiment, {"sum": points | {"points": ["1%", "2%", "4%"]}}) == pytest.approx(2 * 4e6)
    both = {"each": a, "along": "path.loss", "runs": ["one", "other"]}
    assert value(experiment, {"sum": [both, {"value": 1e6}]}) == pytest.approx(6 * 4e6 + 1e6)
    ratios = {"each": {"ratio": [a | {"flow": "b"}, a]}, "along": "path.loss", "runs": ["one"]}
    assert value(experiment, {"largest": ratios}) == pytest.approx(3 / 4)


def test_points_and_runs_are_pooled_as_repetitions_are(experiment):
    a = {"metric": "goodput", "run": ["one", "other"], "flow": "a", "from": "4s", "to": "8s"}
    assert len(list(parse(a | {"where": {"path.loss": "all"}}, experiment, "here").demands())) == 6
    assert len(list(parse(a | {"where": {"path.loss": ["0%", "9%"]}}, experiment, "here").demands())) == 2
    assert value(experiment, a | {"where": {"path.loss": "all"}, "statistic": "mean"}) == pytest.approx(4e6)


def test_a_measure_is_relative_to_the_buffer_of_its_run(experiment):
    leaf = {"metric": "queue_length", "run": "one", "where": WHERE, "relative_to": "buffer"}
    assert value(experiment, leaf) == pytest.approx(12 / 84)


def test_a_slope_is_taken_of_logarithms(experiment):
    # Two decades up where the parameter goes up one.
    assert Slope((3.0, 30.0), (Constant(0.5), Constant(50))).value(Samples()) == pytest.approx(2.0)
    tree = {"slope_of": {"metric": "goodput", "run": "one", "flow": "a"}, "along": "path.loss"}
    assert value(experiment, tree | {"points": ["1%", "4%"]}) == pytest.approx(0.0)


@pytest.mark.parametrize(
    ("tree", "sentence"),
    [
        ({"metric": "speed"}, "there is no metric `speed` (there are "),
        ({"metric": "goodputs"}, "there is no metric `goodputs`; did you mean `goodput`?"),
        ({"metric": "goodput", "where": WHERE}, "say which `run`"),
        ({"metric": "goodput", "run": "one"}, "`where` must give a value for each key of the sweep"),
        (
            {"metric": "goodput", "run": "one", "where": {"path.loss": "2%"}},
            'path.loss = "2%" is not in the sweep',
        ),
        ({"metric": "goodput", "run": "none", "where": WHERE}, "there is no run `none`"),
        ({"metric": "goodput", "run": "one", "where": WHERE, "flaw": 1}, "`goodput` has no argument `flaw`"),
        ({"metric": "lag", "run": "one", "where": WHERE}, "`lag` needs the argument `flow`"),
        ({"metric": "goodput", "ratio": []}, "exactly one of"),
        ({"ratio": [{"value": 1}]}, "takes two measures"),
        ({"largest": []}, "takes at least one measure"),
        ({"largest": [{"value": 1}], "above": 1}, "unknown key `above` beside `largest`"),
        ({"median": [{"value": 1}]}, "exactly one of"),
        ({"farthest": [{"value": 1}]}, "`farthest` needs a `reference`"),
        ({"sum": {"each": {"value": 1}}}, "`each` has `along`"),
        ({"sum": {"each": {"value": 1}, "along": "path.rate"}}, "is not a key of the sweep"),
        (
            {"metric": "goodput", "run": "one", "where": WHERE, "relative_to": "all"},
            '"link rate", "total", "buffer"',
        ),
        ({"value": "fast"}, "is no quantity with its unit"),
        ({"model": "mathis", "loss": "1%"}, "`mathis` needs the argument `rtt`"),
    ],
)
def test_an_error_in_a_measure_names_its_place(experiment, tree, sentence):
    with pytest.raises(CaseError, match="here") as error:
        parse(tree, experiment, "here")
    assert sentence in str(error.value)
