"""Options that describe a path: ``--trace`` and ``--tc`` beside those of single keys."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from ackclock import _engine, tc
from ackclock.cli.output import notes
from ackclock.errors import InputError

TraceOption = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="A file over time in place of --rate: a trace of mm-link, or a table with columns like "
        "time_s, rate_mbit, rtt_ms, loss.",
    ),
]
TcOption = Annotated[
    str | None,
    typer.Option(
        "--tc",
        metavar="LINES",
        help="Lines of tc in its units: 'tbf rate 10mbit burst 32kbit latency 50ms', 'netem delay 40ms 5ms'.",
    ),
]


def path_of(
    path: Mapping[str, Any], given: Collection[str], trace: Path | None = None, lines: str | None = None
) -> dict[str, Any]:
    """The keys of a path; ``given`` are those that the command line names. Raises InputError."""
    found = dict(path)
    if lines is not None:
        found = _with_tc(found, given, lines)
    if trace is not None:
        found = _with_trace(found, given, trace, "rate" in given or isinstance(found["rate"], dict))
    return found


def _with_trace(path: dict[str, Any], given: Collection[str], trace: Path, has_rate: bool) -> dict[str, Any]:
    try:
        keys = _engine.trace_keys(trace.read_text())
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
    return path | {key: {"trace": str(trace)} for key in named}


def _with_tc(path: dict[str, Any], given: Collection[str], lines: str) -> dict[str, Any]:
    read = tc.read(lines)
    for key in ("rate", "queue", "loss"):
        if key in read.keys and key in given:
            raise InputError(f"--tc: has the {key} of the path; leave --{key} out")
    if read.left_out:
        notes.print(f"note: --tc leaves out {', '.join(read.left_out)}", markup=False, soft_wrap=True)
    for remark in read.remarks:
        notes.print(f"note: --tc: {remark}", markup=False, soft_wrap=True)
    found = path | read.keys
    if read.delay is not None and "delay" in given:
        raise InputError(
            "--tc: has the delay of the path; leave --delay out, or write --rtt for the rest of it"
        )
    if read.delay is not None:
        found.pop("rtt", None)
        found["delay"] = _delays(read.delay, str(path["rtt"]) if "rtt" in given else None)
    return found


def _delays(one_way: str, rtt: str | None) -> dict[str, str]:
    """The delay of netem in its direction, on a path that has an RTT of its own or none."""
    try:
        half = 0.0 if rtt is None else _engine.quantity(rtt, "time") * 1e6 / 2
    except ValueError as error:
        raise InputError(f"--rtt: {error}") from None
    forward = half + float(one_way.removesuffix("us"))
    return {"forward": f"{forward:.3f}us", "reverse": f"{half:.3f}us"}
