"""The target of a check: a controller by name, in a file, or of another stack."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ackclock import _engine, quic_stacks
from ackclock.contenders import WITHOUT_WINDOW, Contender, contenders
from ackclock.engines import registry
from ackclock.errors import InputError, did_you_mean
from ackclock.trust import all_named, named

AIMS: Mapping[str, str] = {
    "general": "any path of the Internet, beside Reno and CUBIC",
    "fast": "paths that Reno cannot fill",
    "delay": "short queues; yields to flows that fill them",
    "scavenger": "background transfers, which yield to all others",
    "marks": "queues that mark, apart from other flows",
}
"""Purposes of controllers, as their entries in the registry name them."""

STACKS: Mapping[str, str] = dict.fromkeys(quic_stacks.OWN, "quic")
"""Stacks that bring controllers of their own, and the engine that runs each."""


RECOVERY = "rfc9002"
"""The rules of RFC 9002 for the window of a QUIC stack, and the controllers that have them."""
WITH_RECOVERY = ("newreno", "cubic")


@dataclass(frozen=True)
class Target:
    """A controller to be checked."""

    text: str
    """As the command line has it."""
    contender: Contender
    engine: str
    """The engine that runs it, unless the command line names one."""
    aim: str
    algorithm: str | None
    """The controller of ours that it implements, if it is known."""
    rules: tuple[str, ...]
    """The rule sets that it is judged by."""
    foreign: bool
    """It is not ours: it is compared with ours of the same algorithm."""
    trusted: bool = False
    """Code may run that cases of the user name."""

    @property
    def name(self) -> str:
        """Its name in tables."""
        return self.contender.name

    def files(self) -> _engine.Files:
        """The files of scenarios with the target in them."""
        return all_named() if self.trusted else named([self.contender])

    def flow(self, flow: Mapping[str, Any]) -> dict[str, Any]:
        """A flow of a case: the target's unless it has a controller."""
        if "cc" in flow:
            return dict(flow)
        own = self.contender.flow(1)
        own.pop("name", None)
        own.pop("count", None)
        parameters = {**own.pop("parameters", {}), **flow.get("parameters", {})}
        return own | dict(flow) | ({"parameters": parameters} if parameters else {})


def target(
    text: str, *, aim: str | None = None, algorithm: str | None = None, rule_sets: Sequence[str] = ()
) -> Target:
    """The target that a command line names.

    ``algorithm`` lists the algorithms it implements. Raises InputError.
    """
    (contender,) = contenders([text])
    known = {one["name"]: one for one in _engine.controllers()}
    stack, colon, name = contender.cc.partition(":")
    foreign = contender.cc not in known
    of_stack = bool(colon) and stack in STACKS
    own = quic_stacks.ALGORITHMS.get(name, name) if of_stack else contender.cc
    named = [one.strip() for one in (algorithm or "").split(",") if one.strip()]
    if algorithm is not None and not named:
        raise InputError(f"--as {algorithm}: names no algorithm")
    if named and contender.cc in WITHOUT_WINDOW:
        raise InputError(
            f"--as {algorithm}: is for windows of TCP, and {contender.cc} has none: it sets a rate"
        )
    for one in named:
        if one not in known and one not in rule_sets:
            meant = did_you_mean(one, [*known, *rule_sets])
            raise InputError(f"--as {one}: there is neither a controller nor a rule set of that name{meant}")
    implements = next((one for one in named if one in known), own if own in known else None)
    start = contender.parameters.get("slow_start")
    recovery = RECOVERY if of_stack and implements in WITH_RECOVERY else None
    wanted = [one for one in (implements, recovery, start, *named) if one is not None]
    rules = tuple(dict.fromkeys(one for one in wanted if one in rule_sets))
    declared = aim or _declared(contender) or (known[implements]["aim"] if implements else "general")
    if declared not in AIMS:
        raise InputError(f"{text}: the aim `{declared}` must be one of {', '.join(AIMS)}")
    engine = STACKS[stack] if of_stack else registry.DEFAULT
    return Target(text, contender, engine, declared, implements, rules, foreign)


def _declared(contender: Contender) -> str | None:
    """The aim that a class in Python declares."""
    kind = getattr(contender.factory, "func", None)
    found: str | None = getattr(kind, "aim", None)
    return found
