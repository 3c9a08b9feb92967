"""Tables of the columns of a run's tables, from the declaration of the rows."""

from __future__ import annotations

from ackclock import _engine
from pages.tables import PageError, Table, maker


@maker("columns")
def columns(table: str) -> Table:
    """A row for each column of a table."""
    rows = [
        [f"`{column['name']}`", column["unit"] or "", column["meaning"]]
        for column in _engine.columns()
        if column["table"] == table
    ]
    if not rows:
        raise PageError(f"there is no table `{table}` of a run")
    return Table(("column", "unit", "means"), rows)
