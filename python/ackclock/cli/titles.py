"""Titles of reports: options as they were given, with ``--set`` in their place or behind them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

Settings = Sequence[tuple[str, str]]


def as_set(shown: Mapping[str, str], settings: Settings) -> list[str]:
    """The values of ``shown`` (by keys of the scenario), those that ``settings`` replace as they are set."""
    return [dict(settings).get(key, value) for key, value in shown.items()]


def of_path(path: Mapping[str, Any], settings: Settings) -> tuple[str, list[str]]:
    """The options of a path in words, and the keys of a scenario that the words name."""
    shown = {f"path.{key}": _words(value) for key, value in path.items()}
    values = dict(zip(path, as_set(shown, settings), strict=True))
    first = [values.pop(key) for key in ("rate", "rtt") if key in values]
    return ", ".join([*first, *(f"{key} {value}" for key, value in values.items())]), list(shown)


def _words(value: Any) -> str:
    """A value of a path in words: of a table its values, as ``tc`` would write them."""
    if not isinstance(value, Mapping):
        return str(value)
    if "trace" in value:
        return str(value["trace"])
    return " ".join(f"{key} {_words(inner)}" for key, inner in value.items())


def with_settings(title: str, settings: Settings, shown: Sequence[str] = ()) -> str:
    """A title followed by the settings, except the settings of keys that it shows."""
    others = [f"{key}={value}" for key, value in settings if key not in shown]
    return f"{title}; with {', '.join(others)}" if others else title
