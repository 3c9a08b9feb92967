"""Every kind of figure has the lines, areas and texts of the committed list, with their looks and places.

So has every controller its colours and dashes.

`UPDATE_DOCS=1 pytest tests/python/test_artists.py` writes the lists of `tests/figures`, for review.
"""

import os
from pathlib import Path

import numpy as np
import pytest

from ackclock import plots
from ackclock.figure import Axis, HeatMap, Panel, Plane, Series, Strip, StripRow, Strips, Ticks
from ackclock.overview import Overview
from ackclock.plots.draw import draw
from ackclock.plots.matrix import draw_matrix
from ackclock.plots.overview import stack
from ackclock.plots.strips import strips
from ackclock.plots.style import LOOKS as OF_CONTROLLERS
from ackclock.plots.style import looks as looks_of
from artists import as_text
from handmade import handmade

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


RUNS = {"first": [handmade()], "second": [handmade(), handmade(), handmade()]}
FIGURES = {
    "looks": looks,
    "curves": curves,
    "boxes": boxes,
    "maps": maps,
    "stack": stacked,
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
