"""Text from files as a terminal and a spreadsheet may have it: nothing in it steers them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

STEERING = "\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufff9-\ufffb"
"""Controls but for tabs and ends of lines, marks of direction, and further ends of lines."""

_STEERING = re.compile(f"[{STEERING}]")

FORMULA = r"^[=+\-@\t]"
"""The beginnings of a cell that a spreadsheet takes for a formula."""


def printable(text: str) -> str:
    """The text with every control and mark of direction replaced by a visible character."""
    return _STEERING.sub(lambda found: chr(0x2400 + ord(found[0])) if found[0] < " " else "\ufffd", text)


def is_printable(text: str) -> bool:
    """True if nothing in the text steers a terminal."""
    return _STEERING.search(text) is None


def write_csv(table: pa.Table, file: Path) -> None:
    """Writes a CSV file. Texts are printable. One that would be a formula begins with an apostrophe."""
    import pyarrow as pa
    import pyarrow.csv as csv

    columns: Mapping[str, pa.ChunkedArray] = dict(zip(table.column_names, table.columns, strict=True))
    csv.write_csv(pa.table([_plain(of) for of in columns.values()], [_cell(one) for one in columns]), file)


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_dictionary(column.type):
        column = column.cast(pa.string())
    if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
        return column
    steering = re.sub(
        r"[\x00-\x1f\x7f-\x9f\u061c-\uffff]", lambda found: rf"\x{{{ord(found[0]):x}}}", STEERING
    )
    visible = pc.replace_substring_regex(column, f"[{steering}]", "\ufffd")
    return pc.replace_substring_regex(visible, f"({FORMULA})", r"'\1")


def _cell(text: str) -> str:
    return re.sub(f"({FORMULA})", r"'\1", printable(text))
