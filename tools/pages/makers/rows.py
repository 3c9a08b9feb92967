"""A CSV file as it is."""

from __future__ import annotations

from pages.measurements import load_csv
from pages.tables import PageError, Table, maker


@maker("rows")
def rows(file: str, columns: str = "", **only: str) -> Table:
    """The rows whose columns have the values of ``only``, and of these ``columns``, separated by commas.

    A column that ``only`` names is left out unless ``columns`` asks for it.
    """
    measured, found = load_csv(file)
    names = columns.split(",") if columns else [name for name in found[0] if name not in only]
    if unknown := {*names, *only} - set(found[0]):
        raise PageError(f"measurements/{file}: there is no column {', '.join(sorted(unknown))}")
    chosen = [row for row in found if all(row[name] == value for name, value in only.items())]
    return Table(names, [[row[name] for name in names] for row in chosen], [measured])
