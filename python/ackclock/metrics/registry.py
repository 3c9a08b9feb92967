"""The registry of metrics and models that figures and claims of papers can name.

A function enters it by its decorator, under its own name.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])

METRICS: dict[str, Callable[..., Any]] = {}
"""Every metric by its name: a function whose first argument is the run."""

MODELS: dict[str, Callable[..., Any]] = {}
"""Every model by its name: a function of parameters, without a run."""


def metric(function: Function) -> Function:
    """Registers a metric. Raises ValueError for a name that is taken."""
    return _registered(METRICS, function)


def model(function: Function) -> Function:
    """Registers a model. Raises ValueError for a name that is taken."""
    return _registered(MODELS, function)


def _registered(registry: dict[str, Callable[..., Any]], function: Function) -> Function:
    if function.__name__ in registry:
        raise ValueError(f"there are two functions `{function.__name__}`")
    registry[function.__name__] = function
    return function
