"""The options of engines: each engine declares its own, and commands and Python take those of all."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import Field, dataclass, field, fields
from typing import Any, get_args

KEY = "option"


@dataclass(frozen=True)
class Option:
    """An option on the command line; in Python it is the field of the engine."""

    flag: str
    meaning: str
    low: int | None = None
    high: int | None = None
    why: str = ""
    """The reason why other engines refuse it."""
    kind: Any = int
    """``int``, ``str`` for a text, or the ``Literal`` of the texts that are allowed."""
    known: Callable[[], Sequence[str]] | None = None
    """Texts that the shell completes, where others are allowed too."""


def option(
    default: int | str | None,
    flag: str,
    meaning: str,
    *,
    low: int | None = None,
    high: int | None = None,
    why: str = "",
    kind: Any = int,
    known: Callable[[], Sequence[str]] | None = None,
) -> Any:
    """A field of an engine, and an option on the command line."""
    about = Option(flag, meaning, low, high, why, kind, known)
    return field(default=default, metadata={KEY: about})


def threads() -> Any:
    """The option ``threads`` of the engines with many runs at once."""
    return option(None, "--threads", "Threads; default: one a core.", low=1, high=1024)


def segments_at_once() -> Any:
    """The option ``gso_max_segs`` of the engines on the kernel's TCP."""
    return option(
        None,
        "--gso-max-segs",
        "How many segments TCP sends at once, at most, in a live run. Default: the kernel's choice.",
        low=1,
        high=65_535,
        why="only the kernel's TCP sends in trains",
    )


def stack_log() -> Any:
    """The option ``qlog`` of the engines on QUIC."""
    return option(
        None,
        "--qlog",
        "A folder for the log of the QUIC stack itself: a file for each side of a connection.",
        why="only the QUIC stack writes a log of its own",
        kind=str,
    )


def declared(kind: Any) -> Mapping[str, tuple[Field[Any], Option]]:
    """The options that an engine declares, by the names of its fields."""
    return {one.name: (one, one.metadata[KEY]) for one in fields(kind) if KEY in one.metadata}


def check(engine: Any) -> None:
    """Raises ValueError for a value that is not allowed."""
    for name, (_, of) in declared(engine).items():
        value = getattr(engine, name)
        if value is not None and of.low is not None and value < of.low:
            least = "must not be negative" if of.low == 0 else f"must be at least {of.low}"
            raise ValueError(f"{name} is {value}: {least}")
        if value is not None and (allowed := get_args(of.kind)) and value not in allowed:
            raise ValueError(f"{name} is {value!r}: must be {' or '.join(map(repr, allowed))}")
