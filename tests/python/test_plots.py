"""Figures: axes, legends and colours."""

import itertools
from itertools import combinations

import numpy as np
import pytest
from matplotlib.colors import to_hex, to_rgb

import ackclock
import vision
from ackclock import plots
from ackclock.figure import Axis, Panel, Plane, Series, Ticks
from ackclock.overview import Overview, overview
from ackclock.plots import difference
from ackclock.plots.draw import DOT, LARGE_DOT
from ackclock.plots.draw import draw as draw_panels
from ackclock.plots.overview import stack
from ackclock.plots.style import (
    DASHES,
    LEAST_DISTANCE,
    LOOKS,
    ON_DARK,
    UNLISTED,
    _plainly,
    dash_of,
    looks,
    on_colour,
    on_dark,
    shade,
)
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


def test_a_run_several_and_repetitions_by_label_are_drawn_alike():
    path = ackclock.Path("10mbit", "40ms", "1bdp")
    runs = ackclock.simulate(path, ["cdg"], duration="2s", repeat=2)
    for draw in (plots.goodput_over_time, plots.rtt_over_time, plots.window_over_time, plots.queue_over_time):
        curves = [
            [line.get_ydata().tolist() for line in draw(given).axes[0].get_lines()]
            for given in (runs[0], [runs[0]], runs, {"x": runs[0]}, {"x": runs})
        ]
        assert curves[0]
        assert all(one == curves[0] for one in curves), draw
    named = ackclock.simulate(
        ackclock.Scenario("other", path=path, flows=[ackclock.Flow("cdg")], duration="2s")
    )
    assert len(plots.window_over_time([*runs, named]).axes) == 2
    assert len(plots.delay_throughput(runs).axes[0].collections[0].get_offsets()) == 2
    assert len(plots.delay_throughput(named).axes[0].collections[0].get_offsets()) == 1


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


def test_the_dashes_of_a_controller_come_from_its_name_alone():
    assert dash_of("cubic") == ()
    common = ("cubic", "newreno", "cdg", "vegas", "siad", "bbr1", "bbr3")
    assert len({dash_of(name) for name in common}) == len(common)
    assert dash_of("veno") == dash_of("veno") in DASHES
    every = len(DASHES) + len(UNLISTED)
    assert len({dash_of("cdg", turn) for turn in range(every)}) == every


def test_a_controller_without_a_look_has_dashes_that_no_other_has():
    # A new one needs no colour: its own may be like another's.
    unlisted = {dash_of(f"new-{number}") for number in range(20)}
    assert unlisted == set(UNLISTED)
    assert not unlisted & {dash_of(name) for name in LOOKS}


@pytest.mark.parametrize(
    ("one", "other", "published"),
    [
        # From table 1 of Sharma, Wu and Dalal 2005: a turn of hue near blue, no chroma, hues on both sides of
        # the axis, a large difference, two greens.
        ((50.0, 2.6772, -79.7751), (50.0, 0.0, -82.7485), 2.0425),
        ((50.0, 0.0, 0.0), (50.0, -1.0, 2.0), 2.3669),
        ((50.0, 2.49, -0.001), (50.0, -2.49, 0.0009), 7.1792),
        ((50.0, 2.5, 0.0), (73.0, 25.0, -18.0), 27.1492),
        ((60.2574, -34.0099, 36.2677), (60.4626, -34.1751, 39.4387), 1.2644),
    ],
)
def test_the_distance_of_colours_is_the_published_one(one, other, published):
    assert difference.difference(one, other) == pytest.approx(published, abs=5e-5)


def test_colour_blindness_keeps_greys_and_loses_a_direction_of_colours():
    for kind in vision.CONES:
        assert vision.lab("#808080", kind) == pytest.approx(vision.lab("#808080"), abs=0.01)
    # The luminance of red is 0.2127, and without long cones 0.2127 * 0.1523 + 0.7152 * 0.1145 = 0.1143. L* is
    # 116 times the cube root of that, less 16.
    assert vision.lab("#ff0000")[0] == pytest.approx(53.24, abs=0.01)
    assert vision.lab("#ff0000", "protanopia")[0] == pytest.approx(40.29, abs=0.01)
    # A red and an olive that NewReno and Tri-S had, both with the same dashes.
    assert difference.difference(vision.lab("#d55e00"), vision.lab("#966700")) == pytest.approx(18.2, abs=0.1)
    assert vision.distance("#d55e00", "#966700") == pytest.approx(3.0, abs=0.1)


def together(*names):
    """The looks of controllers in one figure."""
    return [look for _, look in looks([(name, name) for name in names]).items()]


def nearest(names, page):
    """The least distance of two controllers that one figure shows."""
    seen = [one[page] for one in together(*names)]
    return min(difference.distance(*pair) for pair in combinations(seen, 2))


@pytest.mark.parametrize("page", ["colour", "dark"])
def test_controllers_in_one_figure_differ_by_25_in_light_and_dark(page):
    names = [controller["name"] for controller in ackclock.controllers()]
    near = [pair for pair in combinations(names, 2) if nearest(pair, page) < LEAST_DISTANCE]
    assert (LEAST_DISTANCE, near) == (25.0, [])
    # The most compared ones have their own colours there, all at once.
    assert nearest(ON_DARK, page) >= LEAST_DISTANCE
    assert [one["colour"] for one in together(*ON_DARK)] == [LOOKS[name][0].lower() for name in ON_DARK]
    mine = ["cubic", "bbr1", "cdg", "mine"]
    assert nearest(mine, page) >= LEAST_DISTANCE


@pytest.mark.parametrize("colour", ["#ff0000", "#00ff00", "#0000ff", "#000000", "#204060"])
def test_a_colour_on_dark_is_half_as_bright_as_white_and_more(colour):
    # Luma of ITU-R BT.601: black gets half of white, and brighter colours 0.45 of their own in addition.
    before, after = (np.dot((0.299, 0.587, 0.114), to_rgb(one)) for one in (colour, on_dark(colour)))
    assert after == pytest.approx(0.5 + 0.45 * before, abs=1 / 255)


def test_further_curves_are_darker_and_lighter_in_turns():
    # Of #ff8040: 65 % and 40 % of its channels, or 42 % and 62 % of the way to white.
    found = [shade("#ff8040", turn) for turn in range(6)]
    assert found == ["#ff8040", "#a6532a", "#ffb590", "#66331a", "#ffcfb6", "#ff8040"]


@pytest.mark.parametrize(
    ("colour", "on_it"),
    # Black and white have the same contrast (WCAG 2.2) at a luminance of 0.179: a grey of 117 has 0.178.
    [
        ("#757575", "white"),
        ("#767676", "black"),
        ("#ff0000", "black"),
        ("#008000", "white"),
        ("#0000ff", "white"),
    ],
)
def test_text_on_a_colour_has_the_greater_contrast(colour, on_it):
    assert on_colour(colour) == on_it


def test_numbers_at_ticks_are_short():
    values = (1e-7, 1e-10, 0.001, 2.5, 1e6, 1e12)
    assert [_plainly(value, None) for value in values] == ["1e-7", "1e-10", "0.001", "2.5", "1e6", "1e+12"]


def test_a_controller_has_one_colour_in_all_panels_of_a_figure():
    line = np.arange(2.0)
    panels = [
        Panel(cc, [Series(cc, cc, line, line), Series("x", "pert", line, line)]) for cc in ("cubic", "htcp")
    ]
    drawn = plots.draw(panels, Axis("x"), Axis("y"))
    assert len({axes.get_lines()[1].get_color() for axes in drawn.axes[:2]}) == 1


@pytest.mark.parametrize(("page", "least"), [("colour", 8.0), ("dark", 6.0)])
def test_colour_blind_readers_distinguish_colours_with_the_same_dashes(page, least):
    # 1 is just seen of areas that touch. Dark pages lighten most colours, so less is left there.
    names = [controller["name"] for controller in ackclock.controllers()]
    alike = []
    for one, other in combinations(names, 2):
        first, second = together(one, other)
        if first["dash"] == second["dash"] and (apart := vision.distance(first[page], second[page])) < least:
            alike.append(f"{one} and {other}: {apart:.1f}")
    assert not alike, "give one of them another colour or other dashes in LOOKS of plots/style.py"


def test_curves_of_several_flows_have_the_dashes_of_their_controllers():
    path = ackclock.Path("10mbit", rtt="40ms", queue="1bdp")
    for controllers, solid in ((["cubic", "newreno", "cubic"], [True, False, False]), (["newreno"], [True])):
        run = ackclock.simulate(path, controllers, duration="2s")
        lines = plots.window_over_time(run).axes[0].get_lines()
        assert [line.get_linestyle() == "-" for line in lines] == solid


def test_a_scenario_without_a_name_has_no_title():
    path, flows = ackclock.Path("10mbit", rtt="40ms", queue="1bdp"), [ackclock.Flow("cdg")]
    named = ackclock.Scenario("home", path=path, flows=flows, duration="1s")
    unnamed = ackclock.Scenario(path=path, flows=flows, duration="1s")
    titles = [
        plots.rtt_over_time(ackclock.simulate(one)).axes[0].get_title("left") for one in (named, unnamed)
    ]
    assert titles == ["home", ""]


def test_points_of_several_controllers_have_the_colour_of_none():
    path = ackclock.Path("10mbit", rtt="40ms", queue="1bdp")
    for controllers, colour in ((["cdg", "newreno"], "#444444"), (["cdg"], "#009e73")):
        run = ackclock.simulate(path, controllers, duration="2s")
        (points,) = plots.delay_throughput(run).axes[0].collections
        assert to_hex(points.get_facecolor()[0][:3]) == colour


def test_a_lone_curve_without_a_controller_is_grey():
    one = looks([("flow", "cdg"), ("queue", "")])["queue", ""]
    assert (one["colour"], one["dash"]) == ("#444444", [])
    two = looks([("simulated", ""), ("live", "")])
    assert two["simulated", ""]["colour"] != two["live", ""]["colour"]


def test_the_plane_of_one_scenario_tells_its_flows_apart():
    path = ackclock.Path("10mbit", rtt="40ms", queue="1bdp")
    runs = list(ackclock.simulate(path, ["cdg", "newreno"], duration="5s", repeat=2))
    shown = overview({"both": runs})
    assert [(one.label, one.cc, len(one.x)) for one in shown.plane.points] == [
        ("cdg-0", "cdg", 2),
        ("newreno-1", "newreno", 2),
    ]
    (samples,) = shown.distributions
    assert [(band.label, band.cc) for band in samples.curves] == [("cdg-0", "cdg"), ("newreno-1", "newreno")]
    goodputs = [run.flows["goodput_bps"][1].as_py() / 1e6 for run in runs]
    assert shown.plane.points[1].y.tolist() == goodputs
    beside = overview({"one": runs[:1], "other": runs[1:]})
    assert [(one.label, one.cc, len(one.x)) for one in beside.plane.points] == [
        ("one", "", 2),
        ("other", "", 2),
    ]


def test_lines_and_ticks_of_the_stack_say_what_they_are():
    x = np.arange(3.0)
    curves = [Series("one", "cdg", x, np.array([1.0, 2.0, 3.0]))]
    levels = [Series("rate of the link", "", x, np.full(3, 5.0), look="level")]
    ticks = [Ticks("one", "cdg", np.array([1.0]))]
    panel = Panel("", [*curves, *levels], "queue", Axis("time (s)"), Axis("queue (ms)", low=0.0), ticks)
    (axes,) = stack(Overview([], [panel], Plane(Axis(), Axis(), []))).axes
    assert {text.get_text() for text in axes.texts} == {"rate of\nthe link", "drops"}


def test_a_name_beginning_with_an_underscore_is_in_the_legend():
    curves = [Series(name, "cdg", np.arange(2.0), np.arange(2.0)) for name in ("_x", "y", "")]
    figure = plots.draw([Panel("", curves)], Axis("x"), Axis("y"))
    assert [text.get_text().strip() for text in figure.legends[0].get_texts()] == ["_x", "y"]
    plane = plots.delay_throughput({"_x": [handmade()]})
    assert [text.get_text().strip() for text in plane.legends[0].get_texts()] == ["_x"]


def test_the_curves_drawn_are_those_of_the_run():
    axes = plots.goodput_over_time({"run": [handmade()]}, width=5.0).axes[0]
    assert [line.get_ydata().tolist() for line in axes.get_lines()] == [[4.0, 4.0], [pytest.approx(3.6)]]


def test_curves_in_the_background_share_an_entry_of_the_legend():
    line = np.array([0.0, 1.0])
    others = [Series(f"flow {number}", "", line, line, look="background") for number in range(2, 21)]
    figure = plots.draw([Panel("", [*others, Series("flow 1", "siad", line, line)])], Axis("x"), Axis("y"))
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["flow 2 to flow 20", "flow 1"]
    colours = [drawn.get_color() for drawn in figure.axes[0].get_lines()]
    assert len(set(colours[:-1])) == 1
    assert colours[-1].upper() == plots.controller_colours()["siad"].upper()


def test_a_lone_curve_in_the_background_has_its_name_in_the_legend():
    line = np.array([0.0, 1.0])
    series = [Series("flow 2", "", line, line, look="background"), Series("flow 1", "siad", line, line)]
    figure = plots.draw([Panel("", series)], Axis("x"), Axis("y"))
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["flow 2", "flow 1"]


def test_bars_of_curves_at_one_point_stand_beside_each_other():
    x, y = np.array([1.0, 2.0]), np.array([5.0, 6.0])
    beside = [Series(str(shift), "cdg", x, y, y - 1, y + 1, aside=shift) for shift in (-0.1, 0.1)]
    axes = plots.draw([Panel("", beside)], Axis("x"), Axis("y")).axes[0]
    assert [bar.lines[0].get_xdata().tolist() for bar in axes.containers] == [[0.9, 1.9], [1.1, 2.1]]


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


def test_labels_of_a_logarithmic_axis_do_not_touch_in_small_panels():
    for low, high in ((2e-5, 2e-3), (1e-7, 1e-2), (3e3, 4e5), (0.2, 30.0)):
        values = np.array([low, high])
        panels = [Panel(title="", series=[Series("Reno", "newreno", values, values)])] * 5
        axis = Axis("loss probability", scale="log")
        figure = draw_panels(panels, axis, axis, columns=3)
        figure.draw_without_rendering()
        drawn = figure.axes[4].xaxis
        shown = [label for label in drawn.get_ticklabels() if low <= label.get_position()[0] <= high]
        boxes = [label.get_window_extent() for label in shown]
        assert len(boxes) >= 2
        for before, after in itertools.pairwise(boxes):
            assert before.x1 < after.x0, [label.get_text() for label in shown]


def test_few_dots_are_large():
    for count, size in ((40, LARGE_DOT), (400, DOT)):
        values = np.linspace(1.0, 2.0, count)
        series = Series("stepped", "newreno", values, values, look="points")
        figure = draw_panels([Panel(title="", series=[series])], Axis("x"), Axis("y"))
        assert figure.axes[0].lines[0].get_markersize() == size
