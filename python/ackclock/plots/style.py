"""The one style of all figures, and the colour of every controller.

The palettes are those of Okabe and Ito, and of Tol, which colour-blind readers can tell apart.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from functools import cache
from typing import Any

import matplotlib as mpl
from matplotlib.colors import to_hex, to_rgb

from ackclock import _engine

PALETTE = (
    "#332288", "#AA3377", "#4477AA", "#88CCEE", "#CC6677", "#56B4E9", "#D55E00", "#117733",
    "#999933", "#DDCC77", "#882255", "#009E73", "#0072B2", "#AA4499", "#EE6677", "#E69F00",
    "#228833", "#CCBB44", "#661100", "#6699CC", "#CC79A7", "#44AA99", "#8C6D1F", "#777777",
)  # fmt: skip
"""In an order in which controllers that are often compared get colours far apart."""

FIXED = {
    "newreno": "#D55E00", "cubic": "#0072B2", "cdg": "#009E73", "siad": "#AA3377", "vegas": "#EE6677",
    "da": "#4477AA", "jk": "#CC6677", "htcp": "#E69F00", "illinois": "#228833", "highspeed": "#56B4E9",
    "scalable": "#44AA99", "ledbat": "#CCBB44", "compound": "#999933", "fast": "#AA4499",
}  # fmt: skip
"""The colours of the controllers that are compared most: no later controller takes them."""

NEUTRAL = "#444444"
"""The colour of a curve that belongs to no controller."""

STYLE: Any = {
    "figure.constrained_layout.use": True,
    "figure.dpi": 100,
    "savefig.dpi": 200,
    "font.size": 9.0,
    "axes.titlesize": 9.5,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "#666666",
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#DDDDDD",
    "grid.linewidth": 0.6,
    "xtick.color": "#444444",
    "ytick.color": "#444444",
    "lines.linewidth": 1.3,
    "lines.markersize": 4.0,
    "legend.frameon": False,
    "legend.fontsize": 8.5,
    # Names are shown as they are: a `$` in one would begin a formula.
    "text.parse_math": False,
}


def style() -> AbstractContextManager[None]:
    """The style of the house, to be used as a context."""
    return mpl.rc_context(STYLE)


@cache
def controller_colours() -> dict[str, str]:
    """The colour of each registered controller, from its name: the same in every figure.

    Some have a fixed one. Any other name has its place in the palette; where that is taken, it takes the next
    colour that is free. When the palette is used up, its darker shades follow, then its lighter ones.
    """
    chosen = dict(FIXED)
    for controller in _engine.controllers():
        name = controller["name"]
        if name not in chosen:
            chosen[name] = _colour(name, chosen.values())
    return chosen


def _colour(name: str, taken: Iterable[str]) -> str:
    """The colour at the place of a name in the palette, or the next that is not taken."""
    place, taken = zlib.crc32(name.encode()) % len(PALETTE), {one.lower() for one in taken}
    order = [*PALETTE[place:], *PALETTE[:place]]
    shades = [_shade(colour, amount) for amount in (0.0, -0.35, 0.35) for colour in order]
    return next((colour for colour in shades if colour not in taken), PALETTE[place])


def colours(controllers: Sequence[str]) -> list[str]:
    """A colour for each curve of a panel: its controller's own, in another shade for each further flow.

    A controller that is not registered gets one that no other curve of the panel has.
    """
    known = controller_colours() | {"": NEUTRAL}
    panel = {cc: known[cc] for cc in controllers if cc in known}
    for cc in controllers:
        if cc not in panel:
            panel[cc] = _colour(cc, panel.values())
    seen: dict[str, int] = {}
    result = []
    for cc in controllers:
        turn = seen.get(cc, 0)
        seen[cc] = turn + 1
        result.append(_shade(panel[cc], (0.0, -0.35, 0.42, -0.6, 0.62)[turn % 5]))
    return result


def _shade(colour: str, amount: float) -> str:
    """``colour`` mixed with white (positive amount) or black (negative)."""
    target = 1.0 if amount > 0 else 0.0
    red, green, blue = (c + (target - c) * abs(amount) for c in to_rgb(colour))
    return to_hex((red, green, blue))


DASHES: Sequence[tuple[int, ...]] = ((), (7, 3), (2, 2), (8, 3, 2, 3), (12, 4), (2, 5), (8, 2, 2, 2, 2, 2))
"""Dash patterns, in points on and off: curves can be told apart without their colours."""


def looks(curves: Sequence[tuple[str, str]]) -> dict[tuple[str, str], dict[str, Any]]:
    """The look of each curve, by label and controller, in charts of a page.

    ``colour`` is for a light background, ``dark`` for a dark one. A controller has the same colour and
    ``dash`` everywhere; further curves of one controller differ in both.
    """
    order = {controller["name"]: number for number, controller in enumerate(_engine.controllers())}
    seen: dict[str, int] = {}
    found = {}
    for (label, cc), colour in zip(curves, colours([cc or label for label, cc in curves]), strict=True):
        turn = seen.get(cc or label, 0)
        seen[cc or label] = turn + 1
        dash = DASHES[(order.get(cc, 0) + turn) % len(DASHES)]
        found[label, cc] = {"colour": colour, "dark": _on_dark(colour), "dash": list(dash)}
    return found


def _on_dark(colour: str) -> str:
    """A colour light enough for a dark background: mixed with white until it is bright."""
    red, green, blue = to_rgb(colour)
    brightness = 0.299 * red + 0.587 * green + 0.114 * blue
    return _shade(colour, max(0.0, min(0.7, (0.6 - brightness) / (1.0 - brightness))))
