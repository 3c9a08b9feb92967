"""The clock of this machine's timers: the times of its ticks, so that an endpoint can begin at a known one.

The kernel rounds timers to ticks, and long ones to every eighth or sixty-fourth tick. Begun at a multiple of
64 ticks, each run of a script meets the same rounding, and so does the simulated endpoint.
"""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from pathlib import Path

from ackclock.errors import InputError

TIMERS = Path("/proc/timer_list")
COARSE_CLOCK = 6
"""CLOCK_MONOTONIC_COARSE, whose resolution is a tick."""
COARSEST = 64
"""Ticks of the third level of the timer wheel, which timers of 2 to 16 s expire with."""
READINGS = 3
"""A tick between two lines of the file makes a reading wrong."""
SPIN_S = 0.0005
"""The last part of a wait, in which the clock is read all the time."""
NOW = re.compile(r"^now at (\d+) nsecs", re.MULTILINE)
COUNT = re.compile(r"^jiffies: (\d+)", re.MULTILINE)
TICK = re.compile(r"tick_\w+, S:01\n # expires at (\d+)-")


@dataclass(frozen=True)
class Jiffies:
    """The ticks of a clock. Times are nanoseconds of the monotonic clock."""

    length: int
    phase: int
    """The time of a tick, modulo the length."""
    first: int
    """The number of the tick at that time, as the kernel counts."""

    @classmethod
    def read(cls, text: str, length: int) -> Jiffies:
        """Those that ``/proc/timer_list`` shows. Raises InputError where it does not show them."""
        now, count = NOW.search(text), COUNT.search(text)
        if now is None or count is None:
            raise InputError(f"{TIMERS}: shows neither the time nor the jiffies")
        expiry = TICK.search(text)
        phase = int(expiry.group(1)) % length if expiry else 0
        return cls(length, phase, int(count.group(1)) - (int(now.group(1)) - phase) // length)

    def start_after(self, now: int) -> int:
        """The middle of the next tick whose number is a multiple of :data:`COARSEST`."""
        passed = -(-(now - self.phase) // self.length) + self.first
        number = -(-passed // COARSEST) * COARSEST
        return (number - self.first) * self.length + self.phase + self.length // 2


def tick() -> int:
    """The length of a tick of this machine in nanoseconds."""
    return round(time.clock_getres(COARSE_CLOCK) * 1e9)


def here() -> Jiffies:
    """The ticks of this machine. Raises OSError where the file cannot be read."""
    readings = [Jiffies.read(TIMERS.read_text("ascii", "replace"), tick()) for _ in range(READINGS)]
    # The jiffies are the later lines: a reading across a tick counts one too many.
    return min(readings, key=lambda ticks: ticks.first)


def wait_for_start() -> float:
    """Waits for the next start, and returns it in seconds. Without the file it is now."""
    try:
        start = here().start_after(time.monotonic_ns())
    except (OSError, InputError):
        return time.monotonic()
    while (left := start - time.monotonic_ns()) > 0:
        time.sleep(max(left / 1e9 - SPIN_S, 0.0))
    return start / 1e9
