"""A sweep over a file of lines as a whole: quantiles over the lines, counts of lines, and the worst ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from ackclock.errors import InputError
from ackclock.sweeps.axes import Axis, numbers
from ackclock.sweeps.lines import Condition
from ackclock.sweeps.metrics import METRICS, Place
from ackclock.sweeps.result import Sweep

if TYPE_CHECKING:
    from matplotlib.figure import Figure

QUANTILES = (5.0, 25.0, 50.0, 75.0, 95.0, 99.0)
"""In percent of the lines."""

WORST = 20
"""The lines that are listed by themselves."""


class Group(NamedTuple):
    """A controller, at the values of other swept keys: all lines have it."""

    controller: str
    point: tuple[tuple[str, str], ...]

    def __str__(self) -> str:
        """The controller, and the values of other keys if there are any: ``cubic, queue=1bdp``."""
        values = (f"{key.removeprefix('path.')}={value}" for key, value in self.point)
        return ", ".join([self.controller, *values])


@dataclass(frozen=True)
class Fleet:
    """The lines of a sweep."""

    axis: Axis
    groups: Mapping[Group, Mapping[str, Mapping[str, float]]]
    """For each group and line, by its number, the median of each metric over the repetitions."""

    @classmethod
    def of(cls, swept: Sweep) -> Fleet | None:
        """The lines of a sweep, or None if it has no file of lines."""
        axis = swept.design.lines
        if axis is None:
            return None
        groups: dict[Group, dict[str, dict[str, float]]] = {}
        for place in swept.values:
            line = dict(place.point)[axis.keys[0]]
            rest = tuple(item for item in place.point if item[0] not in axis.keys)
            groups.setdefault(Group(place.controller, rest), {})[line] = _medians(swept, place)
        return cls(axis, groups)

    @property
    def conditions(self) -> list[Condition]:
        """The questions to the lines."""
        return [Condition.read(text) for text in self.axis.conditions]

    def quantiles(self, group: Group, metric: str) -> list[float]:
        """A metric at ``QUANTILES`` of the lines that have a value. Empty if none has."""
        import numpy as np

        values = [of[metric] for of in self.groups[group].values() if metric in of]
        return [float(value) for value in np.percentile(values, QUANTILES)] if values else []

    def count(self, group: Group, condition: Condition) -> tuple[int, int]:
        """The lines for which a condition holds, and those that have a value."""
        values = [of[condition.metric] for of in self.groups[group].values() if condition.metric in of]
        return sum(
            (value > condition.bound) is condition.above for value in values if value != condition.bound
        ), len(values)

    def sentences(self) -> list[str]:
        """A sentence for each condition."""
        found = []
        for condition in self.conditions:
            counts = [(group, *self.count(group, condition)) for group in self.groups]
            each = (
                f"{group}: {count} of {lines} lines ({100 * count / lines:.1f} %)" if lines else f"{group}: -"
                for group, count, lines in counts
            )
            found.append(f"{condition}: {'; '.join(each)}")
        return found

    def worst(self) -> list[tuple[str, list[float | None]]]:
        """The lines that are worst by the first condition, the worst first, with its metric in each group.

        A line is as bad as its worst group.
        """
        condition = self.conditions[0]
        sign = 1.0 if condition.above else -1.0
        lines: dict[str, list[float | None]] = {}
        for number, of in enumerate(self.groups.values()):
            for line, values in of.items():
                row = lines.setdefault(line, [None] * len(self.groups))
                row[number] = values.get(condition.metric)
        known = {line: [one for one in row if one is not None] for line, row in lines.items()}
        order = sorted(
            (line for line, row in known.items() if row),
            key=lambda line: (-max(sign * value for value in known[line]), int(line)),
        )
        return [(line, lines[line]) for line in order[:WORST]]

    def named(self, line: str) -> list[str]:
        """The columns of a line as the file has them."""
        return list(self.axis.values[int(line) - 1])

    def heads(self) -> list[str]:
        """The names above ``named``."""
        return [key.removeprefix("path.") for key in self.axis.keys]

    def mapped(self) -> tuple[str, str]:
        """The two columns of a map: the first keys whose values are different numbers. Raises InputError."""
        keys = self.axis.keys[self.axis.labels :]
        columns = zip(*(values[self.axis.labels :] for values in self.axis.values), strict=True)
        varied = [
            key
            for key, column in zip(keys, columns, strict=True)
            if len(set(column)) > 1 and None not in numbers(column)[0]
        ]
        if len(varied) < 2:
            raise InputError("a map of lines needs two keys with different numbers")
        return varied[0], varied[1]

    def draw_map(self, metric: str) -> Figure:
        """The median of a metric over two keys of the lines, a map for each group. Raises InputError."""
        from ackclock.sweeps.drawing_fleet import Positions, fleet_map

        over = [Positions.of(self.axis, key) for key in self.mapped()]
        found = {
            str(group): {int(line) - 1: of[metric] for line, of in lines.items() if metric in of}
            for group, lines in self.groups.items()
        }
        return fleet_map(METRICS[metric].axis, over[0], over[1], found)

    def described(self) -> dict[str, Any]:
        """For ``--json``: quantiles, counts and the worst lines."""
        groups = list(self.groups)
        return {
            "quantiles": [
                {**_point(group), "metric": name, "unit": METRICS[name].unit}
                | {f"p{quantile:g}": value for quantile, value in zip(QUANTILES, values, strict=True)}
                for group in groups
                for name in METRICS
                if (values := self.quantiles(group, name))
            ],
            "conditions": [
                {**_point(group), "condition": str(condition)}
                | dict(zip(("lines", "of"), self.count(group, condition), strict=True))
                for condition in self.conditions
                for group in groups
            ],
            "worst": [
                dict(zip(self.axis.keys, self.named(line), strict=True))
                | {"values": {str(group): value for group, value in zip(groups, row, strict=True)}}
                for line, row in self.worst()
            ],
        }


def _point(group: Group) -> dict[str, Any]:
    return {"controller": group.controller, "point": dict(group.point)}


def _medians(swept: Sweep, place: Place) -> dict[str, float]:
    found = {name: swept.interval(place, name) for name in METRICS}
    return {name: interval.median for name, interval in found.items() if interval is not None}


def shown(values: Sequence[float | None], metric: str) -> list[str]:
    """The values of a metric in a table."""
    return ["-" if value is None else f"{value:.{METRICS[metric].digits}f}" for value in values]
