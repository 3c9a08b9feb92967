"""Functions through which the engine calls a controller written in Python.

One call of a function here handles an event and answers with everything that the engine reads afterwards:
attributes are read several times faster from Python than from outside of it.
"""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import TYPE_CHECKING, Any

from ackclock import destructors

if TYPE_CHECKING:
    from ackclock._engine import Context
    from ackclock.controller import Controller

Decisions = tuple[float, float, float | None, float | None]
"""Window, threshold, pacing rate, and the send quantum where there is a rate."""

WITHOUT_ARGUMENT = {"on_start", "on_recovered", "on_spurious", "on_idle_restart", "on_timer"}
"""The events that have no signal besides the context."""


def taken_over(of: Controller) -> Decisions:
    """The first decisions of a controller, whose attributes become its own where they are its class's.

    The interpreter looks up attributes of an instance once and for all, attributes of a class each time.
    """
    destructors.expect(of)
    for name in ("window", "slow_start_threshold", "pacing_rate"):
        if not hasattr(getattr(type(of), name), "__set__"):
            setattr(of, name, getattr(of, name))
    rate = of.pacing_rate
    return of.window, of.slow_start_threshold, rate, rate and of.send_quantum


def _without_argument(of: Any, cx: Context) -> Decisions:
    of.event(cx)
    rate = of.pacing_rate
    return of.window, of.slow_start_threshold, rate, rate and of.send_quantum


def _with_argument(of: Any, cx: Context, argument: Any) -> Decisions:
    of.event(cx, argument)
    rate = of.pacing_rate
    return of.window, of.slow_start_threshold, rate, rate and of.send_quantum


def caller(event: str) -> Callable[..., Decisions]:
    """A function of a controller and the arguments of ``event``, which handles it.

    It is a copy of a function above with this name in place of ``event``: the interpreter remembers in the
    code of a function how it found its names, and this one serves a single class.
    """
    code = (_without_argument if event in WITHOUT_ARGUMENT else _with_argument).__code__
    names = tuple(event if name == "event" else name for name in code.co_names)
    return FunctionType(code.replace(co_name=event, co_names=names), {})
