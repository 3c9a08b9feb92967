"""Reported values in figures: points with their bands, and lines with the area of the band."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ackclock.cases.document import CaseError
from ackclock.cases.measure import quantity
from ackclock.cases.model import Case, Claim
from ackclock.figure import Series

REPORTED = "reported, with the band"

_KEYS = frozenset({"id", "x", "y", "from", "to", "times", "cc"})


def ends(claim: Claim, times: float) -> tuple[float, float, float] | None:
    """The reported value and the ends of the band, as a figure scales them. None if the value is in words.

    An open end is at the value.
    """
    if isinstance(claim.reported, str):
        return None
    low, high = (end if np.isfinite(end) else claim.reported for end in (claim.low, claim.high))
    return claim.reported * times, low * times, high * times


def series(
    entries: Sequence[Any], case: Case, where: str, times: float, labelled: bool = False
) -> list[Series]:
    """The reported values of the ``claims`` of a panel.

    An entry is the id of a claim that is measured from a time to another, or a table with its ``id``. A point
    at ``x`` has its band upwards. A point at ``y``, for a claim about the other axis, has its band to the
    sides. An entry ``from`` one x ``to`` another is a line. ``times`` converts the claim's unit to the
    axis's, and ``cc`` names the controller of its curve. Raises CaseError for other entries.
    """
    drawn: list[Series] = []
    for entry in entries:
        spec = {"id": entry} if isinstance(entry, str) else entry
        if not isinstance(spec, Mapping) or not {"id"} <= set(spec) <= _KEYS:
            raise CaseError(f"{where}: claims: an id, or a table with the keys {', '.join(sorted(_KEYS))}")
        found = _one(spec, case, where, times, "" if drawn or labelled else REPORTED)
        drawn += [found] if found is not None else []
    return drawn


def _one(spec: Mapping[str, Any], case: Case, where: str, times: float, label: str) -> Series | None:
    claim = next((one for one in case.claims if one.id == spec["id"]), None)
    if claim is None:
        raise CaseError(f"{where}: claims: there is no claim `{spec['id']}`")
    measure = claim.measure if isinstance(claim.measure, Mapping) else {}
    # A claim is in the unit of the axis, or in its measure's, which the figure scales too.
    scale = quantity(spec["times"]) if "times" in spec else times / quantity(measure.get("times", 1.0))
    values, cc = ends(claim, scale), str(spec.get("cc", ""))
    if values is None:
        return None
    value, low, high = (np.array([one]) for one in values)
    if "x" in spec:
        return Series(label, cc, np.array([quantity(spec["x"])]), value, low, high, "reported")
    if "y" in spec:
        return Series(label, cc, value, np.array([quantity(spec["y"])]), low, high, "across")
    window = {**measure, **spec}
    if not {"from", "to"} <= set(window):
        raise CaseError(
            f"{where}: claims: `{spec['id']}` is not measured from a time to another: "
            "it needs x, y, or from and to"
        )
    x = np.array([quantity(window["from"]), quantity(window["to"])])
    return Series(label, cc, x, np.repeat(value, 2), np.repeat(low, 2), np.repeat(high, 2), "band")
