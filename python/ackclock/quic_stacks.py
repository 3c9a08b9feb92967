"""The QUIC stacks that ``--engine quic`` runs, with the names of their controllers."""

from collections.abc import Mapping, Sequence

OWN: Mapping[str, Sequence[str]] = {
    "noq": ("newreno", "cubic", "bbr3"),
    "quinn": ("newreno", "cubic", "bbr"),
    "quiche": ("reno", "cubic", "bbr2_gcongestion"),
    "c": (),
}
"""The controllers of each stack itself. One in C is the user's, and gives its own any names."""

ALGORITHMS: Mapping[str, str] = {"reno": "newreno"}
"""The algorithms of controllers that a stack calls otherwise."""


def without_stack(controller: str) -> str:
    """``controller`` without the stack before its name or file: ``noq:./mine.rs`` is ``./mine.rs``."""
    stack, colon, rest = controller.partition(":")
    return rest if colon and stack in OWN else controller
