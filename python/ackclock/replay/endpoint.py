"""The endpoint under test: one interface for the simulated one and the kernel's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from ackclock.replay.script import Packet, Value
from ackclock.replay.shell import Setting


class Endpoint(Protocol):
    """An endpoint. Times are seconds since its start."""

    @property
    def now(self) -> float:
        """The time of its clock."""

    @property
    def sees_windows(self) -> bool:
        """True if the window fields of its packets mean something."""

    @property
    def late(self) -> float:
        """Its largest lateness in seconds."""

    def configure(self, setting: Setting) -> None:
        """Sets a sysctl before the first socket. Raises UnsupportedError."""

    def wait_until(self, time: float) -> None:
        """Waits until a time. Packets that leave meanwhile wait for ``receive``."""

    def inject(self, packet: Packet) -> None:
        """Delivers a packet now, with echoes of the endpoint's timestamps. Raises UnsupportedError."""

    def receive(self, until: float) -> tuple[float, Packet] | None:
        """The next packet that leaves and its time, waiting until then at most."""

    def call(self, name: str, arguments: Sequence[Value], blocks: bool) -> tuple[int, str | None]:
        """Makes a system call: its result, and the name of the error. Raises UnsupportedError.

        One that ``blocks`` may go on after this. Its result counts as the expected one.
        """

    @property
    def is_readable(self) -> bool:
        """True if data have arrived that were not read."""

    def information(self) -> Mapping[str, int]:
        """The fields of ``TCP_INFO`` at this moment. Raises UnsupportedError."""

    def close(self) -> None:
        """Releases everything."""
