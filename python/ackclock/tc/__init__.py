"""Lines of ``tc`` as a path: ``tbf``, ``netem``, ``htb`` and queue disciplines, with the units of ``tc``."""

from ackclock.tc.direction import Direction
from ackclock.tc.lines import read
from ackclock.tc.words import rate, share, size, time

__all__ = ["Direction", "rate", "read", "share", "size", "time"]
