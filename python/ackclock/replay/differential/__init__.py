"""Differential runs: the simulated endpoint and the kernel's TCP in the same random networks.

A situation is drawn from a seed and played on both. What leaves and the states of both are compared. A
difference is made smaller, and written as a packet script that the kernel matches and the simulation does
not. The answers of a kernel can be recorded, and compared later without it.
"""

from ackclock.replay.differential.live import is_valid, play_all, play_live
from ackclock.replay.differential.playing import Played, play, play_together
from ackclock.replay.differential.recording import Origin, RecordedRun, Recording, parted
from ackclock.replay.differential.shrinking import Shrinking, used
from ackclock.replay.differential.situation import FAULTS, DrawnSituation, Faults, drawn
from ackclock.replay.differential.trace import Difference, Trace, compared
from ackclock.replay.differential.writing import script

__all__ = [
    "FAULTS",
    "Difference",
    "DrawnSituation",
    "Faults",
    "Origin",
    "Played",
    "RecordedRun",
    "Recording",
    "Shrinking",
    "Trace",
    "compared",
    "drawn",
    "is_valid",
    "parted",
    "play",
    "play_all",
    "play_live",
    "play_together",
    "script",
    "used",
]
