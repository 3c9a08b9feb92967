"""The figure that plots return: it shows itself in a notebook, without a magic command."""

from __future__ import annotations

import io

from matplotlib.figure import Figure as MatplotlibFigure


class Figure(MatplotlibFigure):
    """A figure of matplotlib that a notebook shows when it is the last value of a cell.

    Its text is a sentence for each panel, which pages give to screen readers.
    """

    rows = False
    """True if values are along x, and y names the row of each."""

    def __repr__(self) -> str:
        from ackclock.plots.described import described

        return described(self)

    def _repr_png_(self) -> bytes:
        buffer = io.BytesIO()
        self.savefig(buffer, format="png", dpi=110)
        return buffer.getvalue()
