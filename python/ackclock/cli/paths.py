"""The path that options describe: single keys, ``--trace`` and ``--tc``."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ackclock import _engine, reading
from ackclock.cli.command import given
from ackclock.cli.output import check_share, say
from ackclock.errors import InputError


@dataclass(frozen=True)
class PathGiven:
    """The options of a path: their values, and the names of those on the command line."""

    values: Mapping[str, Any]
    """The keys of the path."""
    trace: Path | None
    """The file of ``--trace``, perhaps with columns behind a colon."""
    lines: str | None
    """The lines of ``--tc``, or their file."""
    given: frozenset[str]

    @classmethod
    def of(cls, trace: Path | None, tc: str | None, **values: Any) -> PathGiven:
        """The values of the options, while their command runs. Raises InputError."""
        check_share("--loss", values["loss"])
        return cls(values, trace, tc, frozenset(name for name in (*values, "trace", "tc") if given(name)))

    def keys(self) -> dict[str, Any]:
        """The keys of the path, also from ``--tc`` and ``--trace``. Raises InputError."""
        found = dict(self.values)
        if self.lines is not None:
            found = _with_tc(found, self.given, self.lines)
        if self.trace is not None:
            has_rate = "rate" in self.given or isinstance(found["rate"], dict)
            found = _with_trace(found, self.given, self.trace, has_rate)
        return found


def _with_trace(path: dict[str, Any], given: Collection[str], trace: Path, has_rate: bool) -> dict[str, Any]:
    file, columns = reading.trace_file(str(trace))
    try:
        keys = _engine.trace_keys(reading.text(Path(file), reading.MOST_OF_TABLE), columns)
    except OSError as error:
        raise InputError(f"--trace {trace}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise InputError(f"--trace {trace}: is no text") from None
    except ValueError as error:
        raise InputError(f"--trace {trace}: {error}") from None
    if "rate" in keys and has_rate:
        raise InputError(f"--trace {trace}: has the rate of the path; leave --rate out")
    if not keys:
        raise InputError(
            f"--trace {trace}: has no column of rates, delays or losses, like rate_mbit or rtt_ms"
        )
    # A delay is one way of an RTT.
    ours = {"rtt" if key == "delay" else key for key in given}
    named = {"rtt" if key == "delay" else key for key in keys} - ours
    chosen = {} if columns is None else {"columns": columns}
    return path | {key: {"trace": file, **chosen} for key in named}


def _with_tc(path: dict[str, Any], given: Collection[str], lines: str) -> dict[str, Any]:
    from ackclock import tc

    read = tc.read(_lines(lines))
    for key in ("rate", "queue", "loss"):
        if key in read.keys and key in given:
            raise InputError(f"--tc: has the {key} of the path; leave --{key} out")
    if read.left_out:
        say(f"note: --tc leaves out {', '.join(read.left_out)}")
    for remark in read.remarks:
        say(f"note: --tc: {remark}")
    say(f"note: --tc: {read}")
    found = path | read.keys
    back = read.reverse
    if back is not None and back.keys:
        found["reverse"] = back.keys
    forward, reverse = read.delay, None if back is None else back.delay
    if forward is not None or reverse is not None:
        if "delay" in given:
            raise InputError(
                "--tc: has the delay of the path; leave --delay out, or write --rtt for the rest of it"
            )
        found.pop("rtt", None)
        found["delay"] = _delays(forward, reverse, str(path["rtt"]) if "rtt" in given else None)
    return found


def _lines(given: str) -> str:
    """The lines of ``--tc``, perhaps from a file. Raises InputError."""
    if not os.path.isfile(given):  # noqa: PTH113 - is_file raises where lines are longer than a name
        return given
    try:
        return reading.text(Path(given))
    except OSError as error:
        raise InputError(f"--tc {given}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise InputError(f"--tc {given}: is no text") from None


def _delays(forward: str | None, reverse: str | None, rtt: str | None) -> dict[str, str]:
    """The delays of netem in their directions, on a path that has an RTT of its own or none."""
    try:
        half = 0.0 if rtt is None else _engine.quantity(rtt, "time") / 2
    except ValueError as error:
        raise InputError(f"--rtt: {error}") from None
    ways = {"forward": forward, "reverse": reverse}
    seconds = {way: half + (0.0 if one is None else _engine.quantity(one)) for way, one in ways.items()}
    return {way: f"{one * 1e6:.3f}us" for way, one in seconds.items()}
