"""The one style of all figures, and the colour of every controller.

The palettes are by Okabe and Ito, and by Tol. Colour-blind readers can distinguish their colours.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from functools import cache
from typing import Any

import matplotlib as mpl
from matplotlib.axis import Axis
from matplotlib.colors import to_hex, to_rgb
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from ackclock import _engine
from ackclock.plots import difference

PALETTE = (
    "#332288", "#AA3377", "#4477AA", "#88CCEE", "#CC6677", "#56B4E9", "#D55E00", "#117733",
    "#999933", "#DDCC77", "#882255", "#009E73", "#0072B2", "#AA4499", "#EE6677", "#E69F00",
    "#228833", "#CCBB44", "#661100", "#6699CC", "#CC79A7", "#44AA99", "#8C6D1F", "#777777",
)  # fmt: skip
"""In an order in which controllers that are often compared get colours far apart."""

DASHES: Sequence[tuple[int, ...]] = ((6, 2), (2, 2), (7, 2, 2, 2), (10, 2), (3, 1), (7, 2, 2, 2, 2, 2), ())
"""Dash patterns, in points on and off: curves differ without their colours too.

Gaps are short, so that the dashes between them show the peaks of a curve.
"""

UNLISTED: Sequence[tuple[int, ...]] = ((5, 1, 1, 1), (9, 1, 3, 1), (2, 1, 1, 1, 1, 1))
"""Dash patterns of controllers without a look below. None with one has them: colours may be alike."""

LOOKS = {
    "africa": ("#661100", 5), "aimd": ("#8C6D1F", 5), "bbr1": ("#03B7D5", 3), "bbr3": ("#BD87D8", 5),
    "bic": ("#332288", 0), "c4": ("#117733", 2), "card": ("#88CCEE", 1), "cdg": ("#009E73", 4),
    "chd": ("#882255", 4), "compound": ("#999933", 1), "copa": ("#C39F33", 6), "coupled": ("#211658", 6),
    "cubic": ("#0072B2", 6), "cubic-rfc": ("#8A3D00", 0), "da": ("#4477AA", 0), "dctcp": ("#6C5D03", 6),
    "dual": ("#9B424D", 0), "e-tcp": ("#4D4D4D", 2), "fast": ("#AA4499", 1), "gentle-1": ("#90854D", 4),
    "gentle-2": ("#6E214D", 3), "hd": ("#581637", 0), "highspeed": ("#56B4E9", 6), "htcp": ("#E69F00", 0),
    "hybla": ("#854F6D", 6), "illinois": ("#228833", 3), "jk": ("#CC6677", 3), "ledbat": ("#CCBB44", 2),
    "ledbat++": ("#2C4D6E", 5), "newreno": ("#D55E00", 0), "nice": ("#636321", 0), "pert": ("#004A74", 0),
    "pit": ("#966700", 2), "prague": ("#81394E", 5), "relentless": ("#165821", 2),
    "scalable": ("#44AA99", 0), "siad": ("#8A12CC", 2), "tcp-c": ("#420B00", 4), "tcp-fq": ("#426385", 3),
    "tcp-fs": ("#6659A6", 5), "tcp-lp": ("#7399BF", 2), "tcp-q": ("#D98C99", 2), "tri-s": ("#4C9966", 5),
    "vegas": ("#F94B6F", 1), "veno": ("#387597", 4), "westwood": ("#5B4714", 0), "yeah": ("#0B4D21", 6),
}  # fmt: skip
"""The colour of each controller, and its index in ``DASHES``.

The most compared controllers have dashes of their own. Two controllers with the same dashes have colours
that readers without one kind of cones can distinguish, which a test checks.
"""

ON_DARK = {
    "cubic": "#3399F9", "newreno": "#F5883F", "cdg": "#0FCC90", "bbr1": "#8DF0FF", "bbr3": "#CCA8FF",
    "vegas": "#FF7596", "siad": "#AB39E1", "copa": "#FFFC60", "dctcp": "#A29309", "prague": "#816060",
}  # fmt: skip
"""The colours of the most compared controllers on a dark background. Others are lighter than on white."""

LEAST_DISTANCE = 25.0
"""The least distance (CIEDE2000) of two controllers in one figure, on white and on dark."""

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
    """The style of all figures, as a context."""
    return mpl.rc_context(STYLE)


@cache
def controller_colours() -> dict[str, str]:
    """The colour of each registered controller: the same in every figure.

    The hash of its name chooses the colour of a controller without a look. If it is taken, the next free
    colour follows, then darker shades of the palette, then lighter ones.
    """
    chosen = {name: colour for name, (colour, _) in LOOKS.items()}
    for controller in _engine.controllers():
        name = controller["name"]
        if name not in chosen:
            chosen[name] = _colour(name, chosen.values())
    return chosen


def _colour(name: str, taken: Iterable[str]) -> str:
    """The colour at the hash of a name in the palette, or the next free one."""
    first, taken = zlib.crc32(name.encode()) % len(PALETTE), {one.lower() for one in taken}
    order = [*PALETTE[first:], *PALETTE[:first]]
    shades = [_mixed(colour, amount) for amount in (0.0, -0.35, 0.35) for colour in order]
    return next((colour for colour in shades if colour not in taken), PALETTE[first])


def colours(controllers: Sequence[str], among: Iterable[str] = ()) -> list[str]:
    """A colour for each curve of a panel: its controller's own, in another shade for each further flow.

    A controller whose colour is nearer than ``LEAST_DISTANCE`` to an earlier controller's has another in this
    figure. ``among`` are the controllers of all panels of the figure, in which the choice is the same.
    """
    chosen = _apart([*among, *controllers]) | {"": NEUTRAL}
    seen: dict[str, int] = {}
    result = []
    for cc in controllers:
        turn = seen.get(cc, 0)
        seen[cc] = turn + 1
        result.append(shade(chosen[cc], turn))
    return result


def shade(colour: str, turn: int) -> str:
    """The colour of a further curve of a controller, of which there are ``turn`` before."""
    return _mixed(colour, (0.0, -0.35, 0.42, -0.6, 0.62)[turn % 5])


def spares() -> list[str]:
    """The colours for a controller whose own is too near to another's, in the order of trial."""
    return [*(LOOKS[name][0] for name in ON_DARK), *PALETTE]


def _apart(controllers: Iterable[str]) -> dict[str, str]:
    """The colour of each controller in one figure. The most compared choose first, the unregistered last."""
    known = controller_colours()
    names = sorted(dict.fromkeys(controllers), key=lambda name: (name not in ON_DARK, name not in known))
    chosen: dict[str, str] = {}
    for name in names:
        if name:
            own = known.get(name) or _colour(name, chosen.values())
            chosen[name] = next((one for one in (own, *spares()) if _is_free(one, chosen.values())), own)
    return chosen


def _is_free(colour: str, taken: Iterable[str]) -> bool:
    return all(are_apart(colour, other) for other in taken)


@cache
def are_apart(one: str, other: str) -> bool:
    """Two colours differ by at least ``LEAST_DISTANCE`` on white and on a dark background."""
    pairs = ((one, other), (on_dark(one), on_dark(other)))
    return all(difference.distance(*pair) >= LEAST_DISTANCE for pair in pairs)


def _mixed(colour: str, amount: float) -> str:
    """``colour`` mixed with white (positive amount) or black (negative)."""
    target = 1.0 if amount > 0 else 0.0
    red, green, blue = (c + (target - c) * abs(amount) for c in to_rgb(colour))
    return to_hex((red, green, blue))


def dash_of(name: str, turn: int = 0) -> tuple[int, ...]:
    """The dashes of a controller, by its name alone: a new controller changes no other's.

    ``turn`` counts the curves of that controller before.
    """
    listed = name in LOOKS
    patterns = [*DASHES, *UNLISTED] if listed else [*UNLISTED, *DASHES]
    first = LOOKS[name][1] if listed else zlib.crc32(name.encode()) % len(UNLISTED)
    return patterns[(first + turn) % len(patterns)]


def dashes_of(controllers: Sequence[str]) -> list[tuple[int, ...]]:
    """The dashes of each curve of a panel: its controller's own, others for each further flow."""
    seen: dict[str, int] = {}
    found = []
    for cc in controllers:
        turn = seen.get(cc, 0)
        seen[cc] = turn + 1
        found.append(dash_of(cc, turn) if cc else ())
    return found


def looks(curves: Sequence[tuple[str, str]]) -> dict[tuple[str, str], dict[str, Any]]:
    """The look of each curve, by label and controller, in charts of a page.

    ``colour`` is for a light background, ``dark`` for a dark one. A controller has the same colour and
    ``dash`` everywhere. Further curves of one controller differ in both. A lone curve without a controller is
    grey.
    """
    of_none = [label for label, cc in curves if not cc]
    known = [cc or ("" if len(of_none) == 1 else label) for label, cc in curves]
    return {
        curve: {"colour": colour, "dark": on_dark(colour), "dash": list(dash)}
        for curve, colour, dash in zip(curves, colours(known), dashes_of(known), strict=True)
    }


def on_colour(colour: Any) -> str:
    """Black or white, whichever has more contrast on ``colour`` (WCAG 2.2, relative luminance)."""
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(colour)]
    luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    return "black" if (luminance + 0.05) / 0.05 > 1.05 / (luminance + 0.05) else "white"


@cache
def on_dark(colour: str) -> str:
    """A colour light enough for a dark background: mixed with white, darker ones more than lighter ones."""
    for name, dark in ON_DARK.items():
        if colour.lower() == LOOKS[name][0].lower():
            return dark.lower()
    red, green, blue = to_rgb(colour)
    brightness = 0.299 * red + 0.587 * green + 0.114 * blue
    return _mixed(colour, max(0.0, (0.5 - 0.55 * brightness) / (1.0 - brightness)))


def _plainly(value: float, _: object) -> str:
    """The shortest spelling of a number, such as 1e-7: longer ones touch on axes of small panels."""
    return f"{value:g}".replace("e-0", "e-").replace("e+0", "e")


SHORT_LOG_AXIS = 300.0
"""A logarithmic axis that covers less than this factor has labels at 2 and 5 as well, if there is room."""


def logarithmic(axis: Axis) -> None:
    """Makes an axis of a plot logarithmic, with plain numbers at its ticks.

    Matplotlib writes formulas at the minor ticks of short logarithmic axes, which ``STYLE`` shows as text.
    """
    (axis.axes.set_xscale if axis is axis.axes.xaxis else axis.axes.set_yscale)("log")
    axis.set_major_formatter(FuncFormatter(_plainly))
    axis.set_minor_formatter(NullFormatter())
    low, high = axis.get_view_interval()
    if high < SHORT_LOG_AXIS * low and 3 * math.log10(high / low) <= axis.get_tick_space():
        axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
