"""Tables of the documentation that programs write.

A page holds a marker, ``<!-- table: NAME ARGUMENTS -->``, on a line of its own. The site is built with a
table in its place: a maker of that name, in one of the modules of ``makers``, writes it from the program
itself (the registry of controllers, a schema) or from a file in ``measurements/``.
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
