"""The interactive charts of a report's page: an overview as the JSON that they read."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from ackclock.figure import Axis, Panel, Series, Ticks
from ackclock.metrics import Array
from ackclock.overview import Overview


def as_json(shown: Overview, look: Callable[[str, str], Mapping[str, Any]]) -> str:
    """The document of the charts. ``look`` gives colours and dashes of a label and controller."""
    document = {
        "stack": [_panel_json(panel, look) for panel in shown.stack],
        "distributions": [_panel_json(panel, look) for panel in shown.distributions],
        "plane": {
            "x_label": shown.plane.x.label,
            "y_label": shown.plane.y.label,
            "points": [
                {"label": one.label, **look(one.label, one.cc), "x": _list(one.x), "y": _list(one.y)}
                for one in shown.plane.points
            ],
        },
    }
    return json.dumps(document, allow_nan=False)


ROOM, ROOM_LOG = 0.05, 1.1
"""Room beyond the values of an axis: a share of their span, and a factor on a logarithmic one."""
MOST_POINTS = 800
"""A curve with more is drawn by the least and the largest value of as many stretches as half of this."""


def panels_as_json(
    panels: Sequence[Panel],
    x: Axis,
    y: Axis,
    looks: Sequence[Sequence[Mapping[str, Any]]],
) -> list[dict[str, Any]]:
    """Panels that share both axes, and whose curves have an x each. ``looks`` has colours and dashes."""
    axes = {"x": _shared("x", x, panels), "y": _shared("y", y, panels)}
    return [
        {
            "title": panel.title,
            **axes,
            "curves": [_own_curve_json(*one) for one in zip(panel.series, look, strict=True)],
        }
        for panel, look in zip(panels, looks, strict=True)
    ]


def _shared(name: str, axis: Axis, panels: Sequence[Panel]) -> dict[str, Any]:
    """An axis, with ends that leave room around the values of all panels where it has none."""
    log = axis.scale == "log"
    values = np.concatenate(
        [[], *(part for one in panels for curve in one.series for part in _along(name, curve))]
    )
    values = values[np.isfinite(values) & ((values > 0) | (not log))]
    low, high = (float(values.min()), float(values.max())) if values.size else (1.0, 10.0)
    if log:
        low, high = low / ROOM_LOG, high * ROOM_LOG
    else:
        room = ROOM * (high - low) or 1.0
        low, high = low - room, high + room
    ends = (low if axis.low is None else axis.low, high if axis.high is None else axis.high)
    return {"label": axis.label, "log": log, "ends": _list(np.array(ends))}


def _along(name: str, curve: Series) -> list[Array]:
    """The values of a curve along an axis, with the ends of its bars along that axis."""
    bars = [curve.low, curve.high] if name == ("x" if curve.look == "across" else "y") else []
    own = curve.x + curve.aside if name == "x" else curve.y
    return [own, *(one for one in bars if one is not None)]


def _own_curve_json(curve: Series, look: Mapping[str, Any]) -> dict[str, Any]:
    at = _shown(curve)
    found = {"label": curve.label, "look": curve.look, **look}
    found |= {"x": _list(curve.x[at] + curve.aside), "y": _list(curve.y[at])}
    if curve.low is not None and curve.high is not None:
        found |= {"low": _list(curve.low[at]), "high": _list(curve.high[at])}
    return found


def _shown(curve: Series) -> npt.NDArray[np.intp]:
    """The indices of the points that a chart shows of a curve."""
    count = curve.y.size
    if count <= MOST_POINTS:
        return np.arange(count)
    if curve.low is not None or curve.look == "points":
        return np.linspace(0, count - 1, MOST_POINTS).astype(int)
    ends = np.linspace(0, count, MOST_POINTS // 2 + 1).astype(int)
    shown = [0, count - 1]
    for low, high in pairwise(ends):
        is_break = np.isnan(curve.y[low:high])
        values, breaks = low + np.flatnonzero(~is_break), low + np.flatnonzero(is_break)
        # A break is shown beside the extremes.
        shown += breaks[:1].tolist()
        if values.size:
            shown += [int(values[curve.y[values].argmin()]), int(values[curve.y[values].argmax()])]
    return np.unique(shown)


def _panel_json(panel: Panel, look: Callable[[str, str], Mapping[str, Any]]) -> dict[str, Any]:
    log = panel.y.scale == "log"
    return {
        "name": panel.name,
        "title": panel.y.label,
        "x_label": panel.x.label,
        "log": log,
        "log_x": panel.x.scale == "log",
        "floor": panel.y.low if log else None,
        # All curves of a panel have the same x.
        "x": _list(panel.series[0].x) if panel.series else [],
        "curves": [_curve_json(one, look(one.label, one.cc)) for one in panel.curves],
        "levels": [{"label": one.label, "values": _list(one.y)} for one in panel.levels],
        "ticks": [_ticks_json(one, look(one.label, one.cc)) for one in panel.ticks],
    }


def _curve_json(curve: Series, look: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {"label": curve.label, **look, "median": _list(curve.y)}
    if curve.low is not None and curve.high is not None:
        found |= {"low": _list(curve.low), "high": _list(curve.high)}
    return found


def _ticks_json(ticks: Ticks, look: Mapping[str, Any]) -> dict[str, Any]:
    return {"label": ticks.label, **look, "at": _list(ticks.at)}


def _list(values: Array) -> list[float | None]:
    """Numbers for JSON: five digits, null for NaN."""
    return [float(f"{value:.5g}") if math.isfinite(value) else None for value in values.tolist()]
