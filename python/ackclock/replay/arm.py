"""What runs scripts: the endpoint under test, behind one interface for the simulated one and the kernel's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from ackclock.replay.script import Packet, Value
from ackclock.replay.shell import Setting


class Arm(Protocol):
    """An endpoint. Times are seconds since its start."""

    @property
    def now(self) -> float:
        """The time of its clock."""

    @property
    def sees_windows(self) -> bool:
        """Whether the window fields of what it sends mean something."""

    @property
    def late(self) -> float:
        """How late it was at most, in seconds."""

    def configure(self, setting: Setting) -> None:
        """Sets a sysctl before the first socket. Raises UnsupportedError."""

    def wait_until(self, time: float) -> None:
        """Lets the time pass; what leaves meanwhile is kept for ``receive``."""

    def inject(self, packet: Packet) -> None:
        """Lets a packet arrive now. It echoes timestamps of the endpoint's clock. Raises UnsupportedError."""

    def receive(self, until: float) -> tuple[float, Packet] | None:
        """The next packet that left and when, waiting for it until then."""

    def call(self, name: str, arguments: Sequence[Value], blocks: bool) -> tuple[int, str | None]:
        """A system call: what it returns, and the name of the error. Raises UnsupportedError.

        One that ``blocks`` may go on after this; its result counts as the expected one.
        """

    def information(self) -> Mapping[str, int]:
        """The fields of ``TCP_INFO`` at this moment. Raises UnsupportedError."""

    def close(self) -> None:
        """Gives everything back."""
