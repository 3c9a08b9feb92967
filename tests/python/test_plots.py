"""Figures: axes, legends and colours."""

import numpy as np
import pytest

import ackclock
from ackclock import plots
from ackclock.plots import Axis, Panel, Series
from handmade import handmade

RUNS = {"first": [handmade()], "second": [handmade(), handmade()]}


def test_every_figure_of_runs_labels_its_axes_with_units():
    drawings = (
        plots.goodput_over_time,
        plots.rtt_over_time,
        plots.window_over_time,
        plots.queue_over_time,
        plots.delay_throughput,
    )
    for draw in drawings:
        axes = draw(RUNS).axes[0]
        assert "(" in axes.get_xlabel(), draw
        assert "(" in axes.get_ylabel(), draw


def test_further_flows_of_a_controller_get_other_shades():
    assert plots.colours(["cdg", "newreno"]) == ["#009e73", "#d55e00"]
    shades = plots.colours(["cdg"] * 5)
    assert shades[0] == "#009e73"
    assert len(set(shades)) == 5


def test_every_controller_has_a_colour_of_its_own():
    found = plots.controller_colours()
    assert {controller["name"] for controller in ackclock.controllers()} <= set(found)
    assert len({colour.lower() for colour in found.values()}) == len(found)


def test_unknown_controllers_get_colours_of_their_own():
    mine, yours, again = plots.colours(["mine", "yours", "mine"])
    assert len({mine, yours, again}) == 3


def test_a_controller_that_is_not_registered_gets_a_free_colour():
    registered = [controller["name"] for controller in ackclock.controllers()][:5]
    found = plots.colours([*registered, "mine"])
    assert len(set(found)) == 6


def test_colours_are_the_same_in_every_figure():
    assert plots.colours(["cdg", "newreno", "mine"])[:2] == plots.colours(["other", "cdg", "newreno"])[1:]


def test_a_name_that_begins_with_an_underscore_is_in_the_legend():
    curves = [Series(name, "cdg", np.arange(2.0), np.arange(2.0)) for name in ("_x", "y", "")]
    figure = plots.draw([Panel("", curves)], Axis("x"), Axis("y"))
    assert [text.get_text().strip() for text in figure.legends[0].get_texts()] == ["_x", "y"]
    plane = plots.delay_throughput({"_x": [handmade()]})
    assert [text.get_text().strip() for text in plane.legends[0].get_texts()] == ["_x"]


def test_the_curves_drawn_are_those_of_the_run():
    axes = plots.goodput_over_time({"run": [handmade()]}, width=5.0).axes[0]
    assert [line.get_ydata().tolist() for line in axes.get_lines()] == [[4.0, 4.0], [pytest.approx(3.6)]]


def test_a_panel_with_many_curves_has_no_legend():
    line = np.array([0.0, 1.0])
    many = Panel("", [Series(str(i), "cdg", line, line) for i in range(plots.LEGEND_LIMIT + 1)])
    few = Panel("", many.series[:3])
    assert not plots.draw([many], Axis("x"), Axis("y")).legends
    assert len(plots.draw([few], Axis("x"), Axis("y")).legends[0].get_texts()) == 3


def test_many_flows_are_drawn_by_name():
    scenario = ackclock.Scenario(
        path=ackclock.Path(rate="10mbit", rtt="40ms", queue="1bdp"),
        flows=[
            ackclock.Flow("newreno", count=2),
            ackclock.Flow("cubic", name="web", bytes="30kB", every="100ms"),
        ],
        duration="24s",
    )
    run = ackclock.simulate(scenario)
    for figure in (plots.goodput_over_time, plots.rtt_over_time, plots.window_over_time):
        drawn = figure({"all": [run]})
        assert [line.get_label() for line in drawn.axes[0].get_lines()] == ["2 x newreno", "240 x web"]
    plots.delay_throughput({"all": [run]})
    assert [group["name"] for group in run.summary()["flows"]][2:4] == ["web-0", "web-1"]


def test_percentile_bars_span_low_to_high():
    x = np.array([1.0])
    bar = Series("s", "cdg", x, np.array([2.0]), np.array([1.5]), np.array([4.0]))
    axes = plots.draw([Panel("", [bar])], Axis("x"), Axis("y")).axes[0]
    (container,) = axes.containers
    segment = container.lines[2][0].get_segments()[0]
    assert segment[:, 1].tolist() == [1.5, 4.0]


def test_the_plane_has_an_ellipse_from_three_points_on():
    three = plots.delay_throughput({"x": [handmade(), handmade()]})
    assert len(three.axes[0].patches) == 1
    assert not plots.delay_throughput({"x": [handmade()]}).axes[0].patches
