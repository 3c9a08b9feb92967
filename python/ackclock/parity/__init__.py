"""Parity: the same scenarios in both engines, simulated and live, side by side.

A grid has cells; each is simulated with several seeds, for the spread from run to run, and run live. What has
run live is kept at once, so that a grid of an hour can be interrupted and goes on where it stopped.
"""

from ackclock.parity.comparison import Comparison, compared, run_live, simulate
from ackclock.parity.grid import Cell, Grid
from ackclock.parity.kept import Kept
from ackclock.parity.page import HEADINGS, SUMMARY_HEADINGS, by_path, document, legend, rows, summary, write

__all__ = [
    "HEADINGS",
    "SUMMARY_HEADINGS",
    "Cell",
    "Comparison",
    "Grid",
    "Kept",
    "by_path",
    "compared",
    "document",
    "legend",
    "rows",
    "run_live",
    "simulate",
    "summary",
    "write",
]
