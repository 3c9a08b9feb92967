"""Parity: the same scenarios in both engines, simulated and live, side by side.

A grid has cells; each is simulated with several seeds, for the spread from run to run, and run live.
"""

from ackclock.parity.comparison import Comparison, compared, simulate
from ackclock.parity.grid import Cell, Grid
from ackclock.parity.page import HEADINGS, SUMMARY_HEADINGS, by_path, document, legend, rows, summary, write

__all__ = [
    "HEADINGS",
    "SUMMARY_HEADINGS",
    "Cell",
    "Comparison",
    "Grid",
    "by_path",
    "compared",
    "document",
    "legend",
    "rows",
    "simulate",
    "summary",
    "write",
]
