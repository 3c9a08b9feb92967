"""How far apart two colours are for readers with and without all three kinds of cones.

Colours as seen follow Machado, Oliveira and Fernandes, "A Physiologically-based Model for
Simulation of Color Vision Deficiency" (2009), at full severity, in linear RGB.
"""

from __future__ import annotations

from functools import cache

from ackclock.plots import difference as colours

Triple = colours.Triple

CONES: dict[str, tuple[Triple, Triple, Triple]] = {
    "all": ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)),
    "protanopia": (
        (0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998),
    ),
    "deuteranopia": (
        (0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881),
    ),
    "tritanopia": (
        (1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.303900),
    ),
}  # fmt: skip
"""Linear red, green and blue as each kind of reader sees them."""


def distance(one: str, other: str) -> float:
    """The distance of two colours for the kind of reader to whom they are most alike."""
    return min(colours.difference(lab(one, kind), lab(other, kind)) for kind in CONES)


@cache
def lab(colour: str, kind: str = "all") -> Triple:
    """A colour in CIELAB, as readers of a kind see it."""
    linear = colours.linear(colour)
    seen = [sum(a * b for a, b in zip(row, linear, strict=True)) for row in CONES[kind]]
    return colours.lab([min(1.0, max(0.0, one)) for one in seen])
