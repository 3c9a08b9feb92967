"""The interactive charts of a report's page: an overview as the JSON that they read."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from typing import Any

from ackclock.figure import Panel, Series, Ticks
from ackclock.metrics import Array
from ackclock.overview import Overview


def as_json(shown: Overview, look: Callable[[str, str], Mapping[str, Any]]) -> str:
    """The document of the charts; ``look`` gives colours and dashes of a label and controller."""
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
