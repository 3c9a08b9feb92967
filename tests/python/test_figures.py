"""The figures of papers and suites: drawn as `reproduce` draws them, from invented values, and measured."""

import numpy as np
import pytest

import layout
from ackclock import papers
from ackclock.cases.measure import Samples, quantity
from ackclock.figure import Axis, Panel, Series
from ackclock.metrics import Curve
from ackclock.papers.figures import broken, figures
from ackclock.plots import draw
from ackclock.plots.draw import page_looks

EXPERIMENTS = [
    experiment
    for paper in (*papers.catalogue(), *papers.catalogue(papers.SUITES))
    for experiment in paper.experiments
    if experiment.figures
]


class Invented(Samples):
    """Values as a run would give them, of the size that the axes of a figure have."""

    def __init__(self, figure):
        super().__init__()
        self.figure = figure
        self.x = np.linspace(
            quantity(figure.spec.get("from", 0.0)), quantity(figure.spec.get("to", 100.0)), 9
        )
        low, high = (
            end if end is not None else other for end, other in ((figure.y.low, 0.0), (figure.y.high, 1e3))
        )
        self.y = np.linspace(max(low, 1e-3), max(high, low + 1.0), 9) / figure.times

    def of(self, condition, sample):
        flows = self.figure.experiment.setup(condition[0]).scenario.get("flows", [])
        curves = [
            Curve(flow.get("name", f"{flow.get('cc')}-{number}"), flow.get("cc", ""), self.x, self.y)
            for number, flow in enumerate(flows)
        ]
        if sample.metric in ("goodput_by_flow", "signal_by_flow"):
            chosen = dict(sample.arguments).get("flows", [curve.name for curve in curves])
            return [[curve for curve in curves if curve.name in chosen]]
        if sample.metric == "queue_curve":
            return [Curve("queue", "", self.x, self.y)]
        if self.figure.kind == "curves":
            return [(self.x, self.y)]
        return list(self.y)

    def single(self, condition, sample, repetition):
        return self.of(condition, sample)[:1]


@pytest.mark.parametrize("experiment", EXPERIMENTS, ids=lambda experiment: experiment.id)
def test_texts_legends_and_panels_of_every_figure_have_room(experiment):
    found = {}
    for figure in figures(experiment):
        panels = figure.panels(Invented(figure))
        assert all(panel.series for panel in panels), figure.where
        found[figure.where] = layout.faults(figure.draw(panels))
    assert found == {figure: [] for figure in found}


def panel(*labels, title="a"):
    x = np.arange(3.0)
    return Panel(title, [Series(label, "newreno", x, x + number) for number, label in enumerate(labels)])


def test_the_measure_finds_what_it_is_for():
    figure = draw([panel("one", "two"), panel("three", title="b")], Axis("x"), Axis("y"), 2)
    assert layout.faults(figure) == []
    figure.axes[0].set_xticks([0.0, 0.01], ["long label", "long label"])
    # Both panels have these axes.
    assert layout.faults(figure) == ["over each other: long label and long label"] * 2
    figure = draw([panel("one")], Axis("x"), Axis("y"))
    figure.axes[0].get_legend_handles_labels()
    figure.legend(*figure.axes[0].get_legend_handles_labels(), bbox_to_anchor=(1.2, 1.0))
    assert "outside: legend" in layout.faults(figure)
    figure.set_layout_engine("none")
    figure.axes[0].set_position([0.1, 0.1, 0.3, 0.8])
    assert any("of its share" in sentence for sentence in layout.faults(figure))


def test_a_long_legend_stands_above_the_panels_in_rows_that_fit():
    names = [f"a controller with a long name {number}" for number in range(6)]
    figure = draw([panel(*names)], Axis("x"), Axis("y"))
    [legend] = figure.legends
    assert legend._ncols == 2
    assert layout.faults(figure) == []


def with_reported(title, label, cc):
    x = np.arange(3.0)
    return Panel(title, [Series(label, cc, x, x), Series("reported", "", x, x, x, x, "reported")])


def names(legend):
    return [text.get_text() for text in legend.get_texts()]


def test_one_legend_stands_for_all_panels_with_the_reported_values_last():
    panels = [with_reported("a", "one", "newreno"), with_reported("b", "two", "newreno")]
    figure = draw(panels, Axis("x"), Axis("y"), 2)
    assert names(figure.legends[0]) == ["one", "two", "reported"]
    assert all(axes.get_legend() is None for axes in figure.axes)


def test_panels_have_legends_of_their_own_where_a_name_changes_its_colour():
    panels = [with_reported("a", "flow 1", "newreno"), with_reported("b", "flow 1", "cdg")]
    figure = draw(panels, Axis("x"), Axis("y"), 2)
    assert names(figure.legends[0]) == ["reported"]
    assert [names(axes.get_legend()) for axes in figure.axes] == [["flow 1"], ["flow 1"]]


def test_a_line_is_broken_where_it_has_no_values_for_long():
    # A step of 0.1 s is usual. 2.5 s of 100 are more than 20 of them and than a two hundredth of the whole.
    times = np.concatenate((np.arange(0.0, 50.0, 0.1), np.arange(52.4, 100.0, 0.1)))
    x, y = broken(times, np.ones(times.size))
    [gap] = np.flatnonzero(np.isnan(y))
    assert (x[gap - 1], x[gap + 1]) == pytest.approx((49.9, 52.4))
    assert x.size == times.size + 1


@pytest.mark.parametrize("pause", [0.4, 1.9])
def test_a_line_keeps_short_pauses(pause):
    # 0.4 s are less than a two hundredth of 100 s, 1.9 s less than 20 steps.
    times = np.concatenate((np.arange(0.0, 50.0, 0.1), np.arange(50.0 + pause, 100.0, 0.1)))
    assert broken(times, times)[1].tolist() == times.tolist()
    assert broken(times[:1], times[:1])[0].tolist() == [0.0]


def test_models_that_follow_each_other_have_dashes_of_their_own():
    line = np.array([0.0, 1.0])
    looks = [
        ("line", "newreno"),
        ("model", "newreno"),
        ("model", ""),
        ("model", ""),
        ("line", ""),
        ("model", ""),
    ]
    panel = Panel("", [Series(str(n), cc, line, line, look=look) for n, (look, cc) in enumerate(looks)])
    [found] = page_looks([panel])
    assert [one["dash"] for one in found] == [[], [6, 3], [6, 3], [2, 2], [], [6, 3]]
    drawn = draw([panel], Axis(), Axis()).axes[0].get_lines()
    styles = [one.get_linestyle() for one in drawn]
    assert styles == ["-", "--", "--", "--", "-", "--"]
    assert drawn[3]._unscaled_dash_pattern != drawn[2]._unscaled_dash_pattern
