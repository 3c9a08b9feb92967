"""Parity: the same scenarios in both engines, simulated and live, side by side.

A situation is a scenario without its controllers, with the quantities to compare: greedy flows over a grid of
paths, and the files of ``situations``. A cell is a controller in a situation. Each is simulated with several
seeds, for the spread from run to run, and run live.
"""

from ackclock.parity.comparison import Comparison, compared, simulate
from ackclock.parity.grid import Cell, Grid
from ackclock.parity.page import by_path, document, engine_of, legend, write
from ackclock.parity.situations import GREEDY, GridPath, Situation, beside, catalogue, greedy, select
from ackclock.parity.tables import (
    HEADINGS,
    far_headings,
    far_rows,
    row,
    summary,
    summary_headings,
    summary_row,
    tally,
    verdict,
)

__all__ = [
    "GREEDY",
    "HEADINGS",
    "Cell",
    "Comparison",
    "Grid",
    "GridPath",
    "Situation",
    "beside",
    "by_path",
    "catalogue",
    "compared",
    "document",
    "engine_of",
    "far_headings",
    "far_rows",
    "greedy",
    "legend",
    "row",
    "select",
    "simulate",
    "summary",
    "summary_headings",
    "summary_row",
    "tally",
    "verdict",
    "write",
]
