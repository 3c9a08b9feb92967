"""The table of metrics, from the registry that claims and figures use."""

from __future__ import annotations

import inspect

from ackclock.metrics import registry
from pages.tables import Table, maker


@maker("metrics")
def metrics() -> Table:
    """A row for each metric and model, with the first sentence of its docstring."""
    rows = []
    for name, function in sorted((registry.METRICS | registry.MODELS).items()):
        arguments = [one for one in inspect.signature(function).parameters if one != "run"]
        first = inspect.cleandoc(function.__doc__ or "").split("\n\n")[0]
        rows.append([f"`{name}`", first.replace("``", "`"), ", ".join(arguments)])
    return Table(("metric", "means", "arguments"), rows)
