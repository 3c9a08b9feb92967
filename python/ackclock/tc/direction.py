"""One direction of a path, as lines of ``tc`` describe it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass
class Direction:
    """One direction of a path, as lines of ``tc`` describe it."""

    device: str = ""
    keys: dict[str, Any] = field(default_factory=dict)
    """Keys of ``[path]``, but for the delay."""
    delay: str | None = None
    """The delay of ``netem``, which is one-way."""
    left_out: list[str] = field(default_factory=list)
    """Words of the lines that describe no path."""
    remarks: list[str] = field(default_factory=list)
    frames: dict[str, Any] = field(default_factory=dict)
    """Keys of the framing, as ``tc`` counts it: from the header of the device on."""
    reverse: Direction | None = None
    """The direction of the ACKs, if lines of a second device describe it."""

    def put(self, key: str, value: Any) -> None:
        """Sets a key. If an earlier line had it, a remark names that key."""
        if key in self.keys and self.keys[key] != value:
            of = f"`{self.device}`" if self.device else "the path"
            self.remarks.append(f"two lines have the {key} of {of}; that of the last one counts")
        self.keys[key] = value

    def __str__(self) -> str:
        """Both directions in one line."""
        back = "" if self.reverse is None else f"; {self.reverse._said('ACKs')}"
        return self._said("data") + back

    def _said(self, packets: str) -> str:
        over = f" over {self.device}" if self.device else ""
        delay = {} if self.delay is None else {"delay": self.delay}
        return f"{packets}{over}: " + ", ".join(_said(*item) for item in (self.keys | delay).items())


def _said(key: str, value: Any) -> str:
    if not isinstance(value, dict):
        return f"{key} {str(value).lower() if isinstance(value, bool) else value}"
    parts = {name: one for name, one in value.items() if name != "discipline"}
    names = [name for name in (key, value.get("discipline")) if name is not None and name not in parts]
    return " ".join([*names, *(_said(*item) for item in parts.items())])
