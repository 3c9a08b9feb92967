"""The interactive charts of a report's page: an overview as the JSON that they read."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from typing import Any

from ackclock.metrics import Array
from ackclock.report.overview import Band, Overview, Panel


def as_json(shown: Overview, look: Callable[[str, str], Mapping[str, Any]]) -> str:
    """What the charts of the page read; ``look`` gives colours and dashes of a label and controller."""
    document = {
        "stack": [_panel_json(panel, look) for panel in shown.stack],
        "distributions": [_panel_json(panel, look) for panel in shown.distributions],
        "plane": {
            "x_label": shown.plane.x_label,
            "y_label": shown.plane.y_label,
            "points": [
                {"label": label, **look(label, cc), "x": _list(x), "y": _list(y)}
                for label, cc, x, y in shown.plane.points
            ],
        },
    }
    return json.dumps(document, allow_nan=False)


def _panel_json(panel: Panel, look: Callable[[str, str], Mapping[str, Any]]) -> dict[str, Any]:
    return {
        "name": panel.name,
        "title": panel.title,
        "x_label": panel.x_label,
        "log": panel.log,
        "log_x": panel.log_x,
        "floor": panel.floor,
        "x": _list(panel.x),
        "curves": [_band_json(band, look(band.label, band.cc)) for band in panel.curves],
        "levels": [{"label": label, "values": _list(values)} for label, values in panel.levels],
        "ticks": [{"label": label, **look(label, cc), "at": _list(at)} for label, cc, at in panel.ticks],
    }


def _band_json(band: Band, look: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {"label": band.label, **look, "median": _list(band.median)}
    if band.low is not None and band.high is not None:
        found |= {"low": _list(band.low), "high": _list(band.high)}
    return found


def _list(values: Array) -> list[float | None]:
    """Numbers for JSON: five digits, and null for what is unknown."""
    return [float(f"{value:.5g}") if math.isfinite(value) else None for value in values.tolist()]
