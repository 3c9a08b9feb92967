"""Tables of the documentation that programs write.

A page holds a marker, ``<!-- table: NAME ARGUMENTS -->``, on a line of its own, and below it the table, up to
``<!-- /table -->``. A maker of that name, in one of the modules of ``makers``, writes the table from the
program itself (the registry of controllers, a schema) or from a file in ``measurements/``. ``make tables``
writes all of them anew, and a test compares them.
"""

from pages.markers import MARKER, render
from pages.measurements import MEASUREMENTS, Measurement, load, load_csv
from pages.tables import MAKERS, PageError, Table, maker

__all__ = [
    "MAKERS",
    "MARKER",
    "MEASUREMENTS",
    "Measurement",
    "PageError",
    "Table",
    "load",
    "load_csv",
    "maker",
    "render",
]
