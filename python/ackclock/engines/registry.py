"""The engines by name, for commands and Python.

An engine is a class with a line in :data:`ENGINES`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from ackclock.engines import NamedEngine
from ackclock.engines.live import Live
from ackclock.engines.options import declared
from ackclock.engines.quic import Quic
from ackclock.engines.quic_live import QuicLive
from ackclock.engines.simulator import Simulator
from ackclock.engines.uml import Uml
from ackclock.errors import InputError, did_you_mean

ENGINES: Mapping[str, type[NamedEngine]] = {
    kind.name: kind for kind in (Simulator, Quic, Live, QuicLive, Uml)
}
"""Every engine by its name, the default first."""

DEFAULT = next(iter(ENGINES))


def find(name: str) -> type[NamedEngine]:
    """The engine called ``name``. Raises InputError for an unknown one, MachineError for one not built in."""
    if name not in ENGINES:
        known = ", ".join(ENGINES)
        raise InputError(f"there is no engine `{name}`{did_you_mean(name, ENGINES)} (there are {known})")
    ENGINES[name].require()
    return ENGINES[name]


def make(name: str, **options: Any) -> NamedEngine:
    """The engine called ``name`` with its options. Raises TypeError for an option that it has not."""
    kind = find(name)
    known = [one.name for one in fields(kind)]
    for option in options:
        if option not in known:
            raise TypeError(f"the engine `{name}` has no option `{option}`{did_you_mean(option, known)}")
    return kind(**options)


def option_names() -> list[str]:
    """The names of the options of all engines. Engines may share one."""
    return list(dict.fromkeys(name for kind in ENGINES.values() for name in declared(kind)))


def spelled(name: str) -> str:
    """The option with which the command line chooses an engine."""
    return "--live" if name == Live.name else f"--engine {name}"
