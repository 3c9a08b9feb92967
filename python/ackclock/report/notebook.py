"""The two tables of runs as HTML, for notebooks."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

from ackclock import summary

if TYPE_CHECKING:
    from jinja2 import Template
    from rich.table import Table

TEMPLATE = """
{% for title, headings, rows in tables %}
<table><caption>{{ title }}</caption>
<thead><tr>{% for heading in headings %}<th>{{ heading }}</th>{% endfor %}</tr></thead>
<tbody>{% for row in rows %}
<tr>{% for cell in row %}<td>{{ cell }}</td>{% endfor %}</tr>
{% endfor %}</tbody></table>
{% endfor %}
"""


def tables(summaries: Sequence[summary.Summary]) -> str:
    """The tables of flows, arrivals and links as HTML. Names in them are escaped."""
    return _template().render(
        tables=[
            (str(table.title or ""), heads(table), cells(table)) for table in summary.all_tables(summaries)
        ]
    )


def heads(table: Table) -> list[str]:
    """The headings of a table for the terminal, each on one line."""
    return [str(column.header).replace("-\n", "").replace("\n", " ") for column in table.columns]


def cells(table: Table) -> list[list[str]]:
    """The cells of a table for the terminal, row by row."""
    return [[str(cell) for cell in row] for row in zip(*(c.cells for c in table.columns), strict=True)]


@cache
def _template() -> Template:
    from jinja2 import Environment, StrictUndefined

    return Environment(autoescape=True, undefined=StrictUndefined).from_string(TEMPLATE)
