"""How far apart two colours are: CIEDE2000.

Sharma, Wu and Dalal, "The CIEDE2000 Color-Difference Formula" (2005). 1 is just seen of areas that touch,
black is 100 from white.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from math import atan2, cos, exp, hypot, radians, sin, sqrt, tau

from matplotlib.colors import to_rgb

Triple = tuple[float, float, float]

XYZ = (
    (0.4124564, 0.3575761, 0.1804375),
    (0.2126729, 0.7151522, 0.0721750),
    (0.0193339, 0.1191920, 0.9503041),
)
"""From linear sRGB to CIE XYZ under D65 (IEC 61966-2-1)."""


@cache
def distance(one: str, other: str) -> float:
    """How far two colours are apart."""
    return difference(lab(linear(one)), lab(linear(other)))


def linear(colour: str) -> list[float]:
    """Linear red, green and blue of a colour."""
    return [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(colour)]


def lab(colour: Sequence[float]) -> Triple:
    """CIELAB of linear red, green and blue, relative to white, which is the sum of each row."""
    x, y, z = (_root(_times(row, colour) / sum(row)) for row in XYZ)
    return 116.0 * y - 16.0, 500.0 * (x - y), 200.0 * (y - z)


def _times(row: Triple, values: Sequence[float]) -> float:
    return sum(a * b for a, b in zip(row, values, strict=True))


def _root(share: float) -> float:
    return share ** (1 / 3) if share > (6 / 29) ** 3 else share / (3 * (6 / 29) ** 2) + 4 / 29


def difference(one: Triple, other: Triple) -> float:
    """CIEDE2000 of two colours in CIELAB."""
    mean_chroma = (hypot(*one[1:]) + hypot(*other[1:])) / 2
    stretch = 1.5 - 0.5 * sqrt(mean_chroma**7 / (mean_chroma**7 + 25.0**7))
    (light, chroma, hue), (light_2, chroma_2, hue_2) = (_polar(of, stretch) for of in (one, other))
    turn = hue_2 - hue
    if chroma * chroma_2 == 0.0:
        turn, mean_hue = 0.0, hue + hue_2
    else:
        turn -= tau * round(turn / tau)
        mean_hue = hue + turn / 2
    delta = (light_2 - light, chroma_2 - chroma, 2 * sqrt(chroma * chroma_2) * sin(turn / 2))
    mean_light, mean = (light + light_2) / 2, (chroma + chroma_2) / 2
    ripple = (
        1.0
        - 0.17 * cos(mean_hue - radians(30))
        + 0.24 * cos(2 * mean_hue)
        + 0.32 * cos(3 * mean_hue + radians(6))
        - 0.20 * cos(4 * mean_hue - radians(63))
    )
    far = (mean_light - 50.0) ** 2
    in_light = delta[0] / (1.0 + 0.015 * far / sqrt(20.0 + far))
    in_chroma = delta[1] / (1.0 + 0.045 * mean)
    in_hue = delta[2] / (1.0 + 0.015 * mean * ripple)
    blue = radians(60) * exp(-(((mean_hue % tau - radians(275)) / radians(25)) ** 2))
    rotation = -sin(blue) * 2 * sqrt(mean**7 / (mean**7 + 25.0**7))
    return sqrt(in_light**2 + in_chroma**2 + in_hue**2 + rotation * in_chroma * in_hue)


def _polar(of: Triple, stretch: float) -> Triple:
    """Lightness, chroma and hue, with its a* stretched."""
    light, a, b = of[0], stretch * of[1], of[2]
    return light, hypot(a, b), atan2(b, a) % tau
