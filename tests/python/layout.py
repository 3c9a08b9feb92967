"""The layout of a drawn figure: texts over each other or outside, legends, and the size of panels."""

import itertools

from matplotlib.backends.backend_agg import FigureCanvasAgg

SMALLEST_SHARE = 0.6
"""The least part of its cell of the grid that a panel has to fill, in width and height."""
SLACK = 1.0
"""Pixels by which boxes of texts may touch."""


def faults(figure):
    """A sentence for each fault."""
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    renderer = canvas.get_renderer()
    axes = [one for one in figure.axes if one.axison]
    texts = [(text.get_text(), text.get_window_extent(renderer)) for text in _texts(figure, axes)]
    legends = [*figure.legends, *(one.get_legend() for one in axes if one.get_legend())]
    boxes = [*texts, *(("legend", one.get_window_extent(renderer)) for one in legends)]
    found = [f"outside: {name}" for name, box in boxes if not _inside(box, figure.bbox)]
    found += [
        f"over each other: {one} and {other}"
        for (one, box), (other, beside) in itertools.combinations(texts, 2)
        if _overlap(box, beside)
    ]
    return found + [sentence for one in axes for sentence in _too_small(figure, one, renderer)]


def _texts(figure, axes):
    found = [text for legend in figure.legends for text in legend.get_texts()]
    for one in axes:
        found += [one.title, one._left_title, one._right_title, one.xaxis.label, one.yaxis.label]
        found += [axis.get_offset_text() for axis in (one.xaxis, one.yaxis)]
        for axis in (one.xaxis, one.yaxis):
            low, high = sorted(axis.get_view_interval())
            shown = [tick for tick in axis.get_major_ticks() if low <= tick.get_loc() <= high]
            found += [tick.label1 for tick in shown]
        found += one.get_legend().get_texts() if one.get_legend() else []
    return [text for text in found if text.get_visible() and text.get_text().strip()]


def _inside(box, of):
    return (
        box.x0 >= of.x0 - SLACK
        and box.y0 >= of.y0 - SLACK
        and box.x1 <= of.x1 + SLACK
        and box.y1 <= of.y1 + SLACK
    )


def _overlap(one, other):
    wide = min(one.x1, other.x1) - max(one.x0, other.x0)
    high = min(one.y1, other.y1) - max(one.y0, other.y0)
    return wide > SLACK and high > SLACK


def _too_small(figure, axes, renderer):
    grid, box = axes.get_subplotspec().get_gridspec(), axes.get_window_extent(renderer)
    shares = (box.width * grid.ncols / figure.bbox.width, box.height * grid.nrows / figure.bbox.height)
    if min(shares) >= SMALLEST_SHARE:
        return []
    return [f"panel {axes.get_title(loc='left')!r} has {shares[0]:.2f} x {shares[1]:.2f} of its share"]
