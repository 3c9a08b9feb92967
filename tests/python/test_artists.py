"""Every kind of figure has the lines, areas and texts of the committed list, with their looks and places.

So has every controller its colours and dashes.

`UPDATE_DOCS=1 pytest tests/python/test_artists.py` writes the lists of `tests/figures`, for review.
"""

import os
import tempfile
from pathlib import Path

import numpy as np
import pytest

from ackclock import plots
from ackclock.figure import (
    Axis,
    Cross,
    HeatMap,
    Interval,
    Panel,
    Plane,
    Series,
    Strip,
    StripRow,
    Strips,
    Ticks,
)
from ackclock.overview import Overview
from ackclock.plots.described import described
from ackclock.plots.draw import draw
from ackclock.plots.front import draw_front
from ackclock.plots.intervals import draw_intervals
from ackclock.plots.matrix import draw_matrix
from ackclock.plots.overview import stack
from ackclock.plots.sequence import time_sequence
from ackclock.plots.strips import strips
from ackclock.plots.style import LOOKS as OF_CONTROLLERS
from ackclock.plots.style import looks as looks_of
from artists import as_text
from handmade import handmade
from test_captures import ack, data
from test_recorded import recorded, sack

UPDATE = os.environ.get("UPDATE_DOCS") == "1"
FOLDER = Path(__file__).parents[1] / "figures"

X = np.array([1.0, 2.0, 4.0])
Y = np.array([3.0, 1.0, 2.0])
LOOKS = ("line", "dashed", "marked", "points", "model", "reported", "across", "band", "background", "level")


def looks():
    """A panel for each look of a curve, without and with its ends."""
    plain = [Panel(look, [Series("a", "cdg", X, Y, look=look)]) for look in LOOKS]
    bars = [
        Panel(f"{look} with bars", [Series("a", "cdg", X, Y, Y - 0.5, Y + 1.0, look=look, aside=0.1)])
        for look in LOOKS
    ]
    return draw([*plain, *bars], Axis("x"), Axis("y"), columns=4)


def curves():
    """Few curves and more than a legend holds."""
    few, many = (
        Panel(f"{count}", [Series(f"{n}", "cdg", X, Y + n) for n in range(count)]) for count in (3, 12)
    )
    return draw([few, many], Axis("x"), Axis("y", scale="log"), columns=2, title="title")


def boxes():
    """Boxes, a bar, and a strip without values."""
    values = np.array([2.0, 4.0, 6.0, 8.0, 10.0])
    found = [Strip("a", "cubic", values), Strip("b", "cdg", values[:1]), Strip("c", "bbr3", values[:0])]
    return strips([StripRow("net", [Strips("x", "ms", found), Strips("y", "s", found[:2])])])


def maps():
    """Maps with numbers, and one without a value."""
    grid = np.array([[1.0, 2.0], [3.0, np.nan]])
    names = ["cubic", "cdg"]
    texts = [["1", "2"], ["3", ""]]
    none = HeatMap("none", names, names, grid * np.nan, [["", ""], ["", ""]])
    return draw_matrix([HeatMap("some", names, names, grid, texts), none])


def stacked():
    """Curves, a level and ticks below each other."""
    lines = [Series("one", "cdg", X, Y), Series("two", "cubic", X, Y + 1.0)]
    level = [Series("rate of the link", "", X, np.full(3, 5.0), look="level")]
    ticks = [Ticks("one", "cdg", X[:1]), Ticks("two", "cubic", X[1:])]
    panels = [
        Panel("", lines, "goodput", Axis("time (s)"), Axis("goodput (Mbit/s)", low=0.0)),
        Panel("", [*lines, *level], "queue", Axis("time (s)"), Axis("queue (ms)", low=0.0), ticks),
    ]
    return stack(Overview([], panels, Plane(Axis(), Axis(), [])))


def front():
    """Two controllers that no other beats, and one that they beat, with intervals that are not even."""
    crosses = [
        Cross("best", (0.9, 0.8, 0.95), (2.0, 1.5, 4.0), True),
        Cross("least delay", (0.5, 0.25, 0.55), (1.0, 0.75, 1.125), True),
        Cross("worst", (0.4, 0.3, 0.6), (8.0, 7.0, 9.5), False),
    ]
    return draw_front(crosses, Axis("use", scale="log"), Axis("delay"))


def intervals():
    """A measure of each verdict, one of them beyond the edge."""
    shown = [
        Interval("loss", 20.0, 4.0, 30.0, [0.5, 16.0], "worse"),
        Interval("goodput", 1.0, 0.75, 1.25, [0.9, 1.1], "like"),
        Interval("delay", 0.05, 0.02, 0.5, [], "better"),
    ]
    return draw_intervals(shown, "cdg")


def sequence():
    """A connection of 3 s with RTTs of 100 ms. The segment of 2 s is lost and sent again."""
    sent = [(0.2 + 0.1 * k, data(1 + 1000 * k)) for k in range(30)]
    # The window stays at 3000 bytes, and the segment behind the lost one is reported.
    answers = [(at + 0.1, ack(1001 + 1000 * k, 3000)) for k, (at, _) in enumerate(sent) if not 18 <= k <= 20]
    lost = [(2.2, sack(18001, (19001, 20001), window=3000)), (2.205, data(18001))]
    packets = sorted([*sent, *answers, *lost, (2.305, ack(21001, 3000))], key=lambda one: one[0])
    with tempfile.TemporaryDirectory() as folder:
        return time_sequence(recorded(Path(folder), packets))


RUNS = {"first": [handmade()], "second": [handmade(), handmade(), handmade()]}
FIGURES = {
    "looks": looks,
    "curves": curves,
    "boxes": boxes,
    "maps": maps,
    "stack": stacked,
    "front": front,
    "intervals": intervals,
    "sequence": sequence,
    "goodput": lambda: plots.goodput_over_time(RUNS),
    "rtt": lambda: plots.rtt_over_time(RUNS),
    "window": lambda: plots.window_over_time(RUNS),
    "queue": lambda: plots.queue_over_time(RUNS),
    "plane": lambda: plots.delay_throughput(RUNS),
}


def committed(name, found):
    """The committed list. It is written anew if that is asked for."""
    file = FOLDER / f"{name}.txt"
    if UPDATE:
        file.parent.mkdir(exist_ok=True)
        file.write_text(found, "utf-8")
    return file.read_text("utf-8")


@pytest.mark.parametrize("name", FIGURES)
def test_a_screen_reader_hears_values_of_each_figure(name):
    assert "nothing to show" not in described(FIGURES[name]())


def test_a_front_has_the_scales_of_its_axes():
    crosses = [Cross("a", (0.9, 0.8, 0.95), (2.0, 1.5, 4.0), True)]
    axes = draw_front(crosses, Axis("use"), Axis("delay", scale="log")).axes[0]
    assert (axes.get_xscale(), axes.get_yscale()) == ("linear", "log")


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_has_the_artists_of_the_committed_list(name):
    found = as_text(FIGURES[name]())
    assert found == committed(name, found)


def test_a_controller_alone_has_the_look_of_the_committed_list():
    # The last three have no look of their own, and each has other dashes.
    rows = []
    for name in [*sorted(OF_CONTROLLERS), "new-0", "new-1", "new-4"]:
        look = looks_of([(name, name)])[name, name]
        rows.append(f"{name}: {look['colour']}, on dark {look['dark']}, dashes {look['dash']}\n")
    found = "".join(rows)
    assert len({row.partition("dashes")[2] for row in rows[-3:]}) == 3
    assert found == committed("controllers", found)
