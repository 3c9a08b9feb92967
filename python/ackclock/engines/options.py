"""The options of engines. An engine declares its own. ``--engine NAME:OPTION=VALUE`` and Python take them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import Field, dataclass, field, fields
from typing import Any, get_args

from ackclock.errors import InputError, did_you_mean

KEY = "option"


@dataclass(frozen=True)
class Option:
    """An option of an engine: the meaning of a field, and the values that it takes."""

    meaning: str
    low: int | None = None
    high: int | None = None
    kind: Any = int
    """``int``, ``str`` for a text, or the ``Literal`` of the texts that are allowed."""
    known: Callable[[], Sequence[str]] | None = None
    """Texts that the shell completes."""

    def refusal(self, value: int | str) -> str | None:
        """The reason why a value is not allowed, if it is not."""
        if (allowed := get_args(self.kind)) and value not in allowed:
            return f"must be {' or '.join(map(repr, allowed))}"
        if isinstance(value, int) and self.low is not None and value < self.low:
            return "must not be negative" if self.low == 0 else f"must be at least {self.low}"
        if isinstance(value, int) and self.high is not None and value > self.high:
            return f"must be at most {self.high}"
        return None


def option(
    default: int | str | None,
    meaning: str,
    *,
    low: int | None = None,
    high: int | None = None,
    kind: Any = int,
    known: Callable[[], Sequence[str]] | None = None,
) -> Any:
    """A field of an engine that is an option."""
    if known is None and (allowed := get_args(kind)):
        known = lambda: allowed  # noqa: E731
    return field(default=default, metadata={KEY: Option(meaning, low, high, kind, known)})


def threads() -> Any:
    """The option ``threads`` of the engines with many runs at once."""
    return option(None, "Threads. Default: one a core.", low=1, high=1024)


def segments_at_once() -> Any:
    """The option ``gso_max_segs`` of the engines on the kernel's TCP."""
    return option(
        None,
        "The most segments that TCP sends at once. Default: the kernel's choice.",
        low=1,
        high=65_535,
    )


def stack_log() -> Any:
    """The option ``qlog`` of the engines on QUIC."""
    return option(
        None, "A folder for the log of the QUIC stack: a file for each side of a connection.", kind=str
    )


def stack_sources(stack: str, crate: str) -> Any:
    """The option of the engines on QUIC by the name of a stack, whose state machine is in ``crate``."""
    return option(
        None,
        f"A folder with sources of {stack}, or of its crate {crate} alone, in place of the released ones.",
        kind=str,
    )


def stack_in_c() -> Any:
    """The option of the engines on QUIC for a stack in C."""
    return option(
        None,
        "The folder of a stack in C for controllers `c:NAME`, as `ackclock new stack` writes one.",
        kind=str,
    )


def declared(kind: Any) -> Mapping[str, tuple[Field[Any], Option]]:
    """The options that an engine declares, by the names of its fields."""
    return {one.name: (one, one.metadata[KEY]) for one in fields(kind) if KEY in one.metadata}


def spelled(name: str) -> str:
    """The name of an option on the command line."""
    return name.replace("_", "-")


def read(kind: Any, text: str, without: Collection[str] = ()) -> dict[str, Any]:
    """The options that ``OPTION=VALUE,…`` gives an engine, but for those ``without``. Raises InputError."""
    own = {spelled(name): of for name, of in declared(kind).items() if name not in without}
    found: dict[str, Any] = {}
    for part in text.split(",") if text else []:
        key, equals, value = (word.strip() for word in part.partition("="))
        where = f"--engine {kind.name}:{part.strip()}"
        if spelled(key) not in own:
            known = f"it has {', '.join(own)}" if own else "it has none here"
            raise InputError(f"{where}: there is no option `{key}`{did_you_mean(key, own)} ({known})")
        of, about = own[spelled(key)]
        if not equals or not value:
            raise InputError(f"{where}: must be OPTION=VALUE")
        if about.kind is int and not value.lstrip("-").isdecimal():
            raise InputError(f"{where}: must be a whole number")
        found[of.name] = int(value) if about.kind is int else value
        if why := about.refusal(found[of.name]):
            raise InputError(f"{where}: {why}")
    return found


def check(engine: Any) -> None:
    """Raises ValueError for a value that is not allowed."""
    for name, (_, about) in declared(engine).items():
        value = getattr(engine, name)
        if value is not None and (why := about.refusal(value)):
            raise ValueError(f"{name} is {value!r}: {why}")
