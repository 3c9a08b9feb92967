"""Plays situations on the kernel's TCP, several at a time, each in a process and a namespace of its own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context

from ackclock.replay.differential.playing import Played, play
from ackclock.replay.differential.situation import Situation
from ackclock.replay.kernel import Kernel, in_namespace

LATENESS_S = 0.0009
"""The error budget: a machine later than half a cell moves what leaves into another."""


def is_valid(played: Played) -> bool:
    """True if the machine was not too late."""
    return played.late_s <= LATENESS_S


def play_live(situation: Situation, retries: int) -> Played:
    """Plays a situation on the kernel, again while the machine was late. Raises MachineError."""
    while True:
        played = in_namespace(partial(_once, situation))
        if is_valid(played) or retries == 0:
            return played
        retries -= 1


def _once(situation: Situation) -> Played:
    kernel = Kernel()
    try:
        return play(situation, kernel)
    finally:
        kernel.close()


def play_all(situations: Iterable[Situation], retries: int, at_once: int) -> Iterator[Played]:
    """Plays situations, so many at once; yields them in their order."""
    with ProcessPoolExecutor(at_once, mp_context=get_context("spawn")) as workers:
        yield from workers.map(partial(play_live, retries=retries), situations)
