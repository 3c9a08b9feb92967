"""Plays situations on the kernel's TCP, several at a time, each in a process and a namespace of its own."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import ExitStack, closing
from functools import cache, partial
from multiprocessing import get_context
from multiprocessing.synchronize import Event

from ackclock.replay.differential.playing import Played, play, play_together
from ackclock.replay.differential.situation import DrawnSituation
from ackclock.replay.jiffies import wait_for_start
from ackclock.replay.kernel import Kernel, in_namespace, new_namespace
from ackclock.workers import ignore_interrupts, safe_path, starting

LATENESS_S = 0.0009
"""The error budget: a machine later than half a cell moves what leaves into another."""


def is_valid(played: Played) -> bool:
    """True if the machine was not too late. In an open loop the simulation meets the lateness, too."""
    return played.open_loop or played.late_s <= LATENESS_S


def play_live(situation: DrawnSituation, retries: int) -> Played:
    """Plays a situation on the kernel, again while the machine was late. Raises MachineError."""
    while True:
        played = in_namespace(partial(_once, situation))
        if is_valid(played) or retries == 0:
            return played
        retries -= 1


def _once(situation: DrawnSituation) -> Played:
    start = cache(wait_for_start)
    with ExitStack() as opened:

        def make() -> Kernel:
            new_namespace()
            return opened.enter_context(closing(Kernel(start=start)))

        return play_together(situation, make) if situation.flows > 1 else play(situation, make())


def _begin(stop: Event) -> None:
    """A worker begins. It ends with ``stop``, whatever it plays."""

    def end() -> None:
        stop.wait()
        os._exit(0)

    ignore_interrupts()
    threading.Thread(target=end, daemon=True).start()


def play_all(
    situations: Iterable[DrawnSituation], retries: int, at_once: int
) -> Iterator[tuple[DrawnSituation, Played]]:
    """Plays situations, so many at once, and yields each as it ends until the iterator is closed."""
    processes = get_context("spawn")
    with safe_path():
        stop = processes.Event()
    workers = ProcessPoolExecutor(at_once, processes, _begin, (stop,))
    try:
        with starting():
            played = {workers.submit(play_live, one, retries): one for one in situations}
        for future in as_completed(played):
            yield played[future], future.result()
    except BaseException:
        # None is cancelled: a pool whose workers have ended fails all that are left, and trips over others.
        stop.set()
        raise
    finally:
        workers.shutdown()
