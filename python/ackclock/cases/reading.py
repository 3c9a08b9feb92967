"""Reads the claims of a file, each with measure and band, and refuses mistakes in a sentence."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import fields
from string import Formatter
from typing import Any

from ackclock import _engine
from ackclock.cases.document import CaseError, TomlTable, settings
from ackclock.cases.measure import STATISTICS
from ackclock.cases.model import Claim, Relative
from ackclock.errors import did_you_mean
from ackclock.repetitions import MOST_REPETITIONS

KINDS = ("reported-number", "ratio", "ordering", "shape")
"""The kinds of claims."""

STANDARDS = ("newreno", "cubic")
"""The standard controllers (RFC 5681, RFC 9438), beside which RFC 9743, section 5.2, judges a new one."""

DIRECTIONS = ("more", "less")
"""The directions in which a measure is better."""

STANDARD_SHARE = 0.1
"""The distance from the standards that counts, as a share of their value."""

OURS = "ours"
"""The name of our controller of the target's algorithm, beside which a target is judged."""

MOST_POINTS = 10_000
"""The largest number of points of a sweep."""

NUMBER = (int, float)
_OF_TARGETS = ("relative", "is_worst", "group", "title", "because", "better")
"""Fields of a claim about a target, which have no keys in the files of papers."""
_KEYS = frozenset(field.name for field in fields(Claim)) - {*_OF_TARGETS}


def sweep(table: TomlTable) -> dict[str, tuple[str, ...]]:
    """The keys of ``sweep`` in a file with the values of each. Raises CaseError for a mistake."""
    swept = settings(table.take("sweep", dict, {}), f"{table.where}: sweep.")
    if (count := math.prod(map(len, swept.values()))) > MOST_POINTS:
        raise CaseError(f"{table.where}: the sweep has {count} points; at most {MOST_POINTS} are allowed")
    return swept


def claims(table: TomlTable) -> tuple[Claim, ...]:
    """The claims that a file lists. Raises CaseError for a mistake."""
    return tuple(
        _claim(TomlTable(*one))
        for number, values in enumerate(table.tables("claims"))
        for one in _family(values, f"{table.where}, claims.{number}")
    )


def _claim(table: TomlTable) -> Claim:
    where, kind = table.where, table.take("kind", str)
    if kind not in KINDS:
        raise CaseError(f'{where}: kind = "{kind}" must be one of {", ".join(KINDS)}')
    texts = {key: table.take(key, str) for key in ("id", "text", "source")}
    remarks = {
        one.name: table.take(one.name, type(one.default), one.default)
        for one in fields(Claim)
        if isinstance(one.default, str | bool) and one.name in _KEYS - {"kind", "reported", "source"}
    }
    claim = Claim(
        kind=kind,
        reported=table.take("reported", (*NUMBER, str)),
        low=float(table.take("low", NUMBER, -math.inf)),
        high=float(table.take("high", NUMBER, math.inf)),
        share=float(table.take("share", NUMBER, 0.5)),
        measure=table.take("measure", (dict, list), None),
        **texts,
        **remarks,
    )
    table.done()
    check_bounds(claim, where)
    if claim.measure is None and not (claim.cited or claim.informative):
        raise CaseError(f"{where}: `measure` is missing (only cited and informative claims do without)")
    if claim.measure is None and claim.whole_only:
        raise CaseError(f"{where}: `whole_only` is for claims that have a `measure`")
    if claim.over and not claim.judged_over:
        raise CaseError(f"{where}: `over` needs `judged_over`, which says in words what it is")
    return claim


def check_bounds(claim: Claim, where: str) -> None:
    """Refuses numbers of a claim that are not finite, and bands and shares that contain nothing."""
    for key in ("reported", "low", "high"):
        bound = getattr(claim, key)
        if isinstance(bound, float) and (math.isnan(bound) or (key == "reported" and math.isinf(bound))):
            raise CaseError(f"{where}: {key} = {bound!r} must be a number")
    if claim.low > claim.high:
        raise CaseError(f"{where}: low = {claim.low:g} is above high = {claim.high:g}")
    if not 0 < claim.share <= 1:
        raise CaseError(f"{where}: share = {claim.share:g} must be above 0 and at most 1")


def band(table: TomlTable) -> dict[str, Any]:
    """The ends ``low`` and ``high`` of a band, each a number, or a table for one that follows from others.

    They are fields of a claim. Raises CaseError for a mistake.
    """
    ends: dict[str, float] = {}
    relative: dict[str, Relative] = {}
    for end in ("low", "high"):
        found = table.take(end, (*NUMBER, dict), None)
        if isinstance(found, Mapping):
            relative[end] = _relative(TomlTable(found, f"{table.where}, {end}"))
        elif found is not None:
            ends[end] = float(found)
    return ends | ({"relative": relative} if relative else {})


def beside_standards(table: TomlTable) -> dict[str, Any]:
    """A band around the standards for a measure with ``better``, and that direction.

    ``share`` and ``margin`` are the distance that counts. They are fields of a claim, empty without
    ``better``. Raises CaseError for a mistake.
    """
    direction = table.take("better", str, "")
    if not direction:
        return {}
    if direction not in DIRECTIONS:
        raise CaseError(f"{table.where}: better = {direction!r} must be {' or '.join(DIRECTIONS)}")
    if "low" in table.values or "high" in table.values:
        raise CaseError(f"{table.where}: better = {direction!r} stands in place of `low` and `high`")
    return around_standards(direction, *_distance(table, STANDARD_SHARE))


def around_standards(direction: str, share: float, margin: float) -> dict[str, Any]:
    """The fields of a claim that is better in a direction, by a distance from both standards."""
    low, high = (Relative(STANDARDS, of, share, margin) for of in ("smallest", "largest"))
    return {"better": direction, "relative": {"low": low, "high": high}}


def _relative(table: TomlTable) -> Relative:
    known = [OURS, *(one["name"] for one in _engine.controllers())]
    beside = table.take("beside", list)
    if not beside or not all(isinstance(one, str) for one in beside):
        raise CaseError(f"{table.where}: beside = {beside!r} must be a list of controllers")
    if stray := [one for one in beside if one not in known]:
        raise CaseError(
            f"{table.where}: beside: there is no controller `{stray[0]}`{did_you_mean(stray[0], known)}"
        )
    of = table.take("of", str)
    if of not in STATISTICS:
        raise CaseError(f"{table.where}: of = {of!r} must be one of {', '.join(STATISTICS)}")
    share, margin = _distance(table, 0.0)
    seeds = table.take("seeds", int, 0)
    if not 0 <= seeds <= MOST_REPETITIONS:
        raise CaseError(f"{table.where}: seeds = {seeds}: from 1 to {MOST_REPETITIONS} are allowed")
    table.done()
    return Relative(tuple(beside), of, share, margin, seeds)


def _distance(table: TomlTable, usual: float) -> tuple[float, float]:
    """``share`` and ``margin`` of a relative end; ``usual`` is the share where the file has none."""
    share, margin = float(table.take("share", NUMBER, usual)), float(table.take("margin", NUMBER, 0.0))
    for key, value in (("share", share), ("margin", margin)):
        if not 0 <= value < math.inf:
            raise CaseError(f"{table.where}: {key} = {value:g} must be a number from 0 on")
    return share, margin


def filled(tree: Any, values: Mapping[str, Any], where: str) -> Any:
    """A tree of TOML values in which every ``{name}`` of a text has become the value of that name."""
    if isinstance(tree, str):
        try:
            # A blank is a name alone. Python gives `{x.y}`, `{x[0]}` and `{x:>9}` further meanings.
            blanks = [
                f"{name}{form}{how or ''}"
                for _, name, form, how in Formatter().parse(tree)
                if name is not None
            ]
        except ValueError as error:
            known = ", ".join(values)
            raise CaseError(f"{where}: `{tree}` has a blank that is none of {known} ({error})") from None
        if any(blank not in values for blank in blanks):
            known = ", ".join(values)
            raise CaseError(f"{where}: `{tree}` has a blank that is none of {known}")
        return tree.format_map(values)
    if isinstance(tree, Mapping):
        return {key: filled(value, values, where) for key, value in tree.items()}
    if isinstance(tree, list):
        return [filled(value, values, where) for value in tree]
    return tree


def _family(values: Mapping[str, Any], where: str) -> Iterator[tuple[Mapping[str, Any], str]]:
    """The claims of one entry: itself, or with ``columns`` and ``rows`` one for each row.

    A cell fills the blanks ``{column}`` in the texts of the entry and of its measure. A column that is called
    like a key of a claim (``reported``, ``low``, ``high``) gives the claim that key.
    """
    if "rows" not in values:
        yield values, where
        return
    own = {key: value for key, value in values.items() if key not in ("columns", "rows")}
    columns, rows = values.get("columns"), values["rows"]
    if not isinstance(columns, list) or not isinstance(rows, list) or not rows:
        raise CaseError(f"{where}: `columns` and `rows` must be lists, and there must be a row")
    if not all(isinstance(column, str) for column in columns):
        raise CaseError(f"{where}: `columns` must be names")
    if twice := set(columns) & set(own):
        raise CaseError(f"{where}: `{min(twice)}` is both a key and a column")
    for number, cells in enumerate(rows):
        place = f"{where}, row {number}"
        if not isinstance(cells, list) or len(cells) != len(columns):
            raise CaseError(f"{place}: must be a list of {len(columns)}, one for each of `columns`")
        row = dict(zip(columns, cells, strict=True))
        keys = {key: value for key, value in row.items() if key in _KEYS}
        yield filled(own, row, place) | keys, place
