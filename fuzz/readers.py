"""Coverage-guided fuzzers of the readers in Python: packet scripts, captures and logs of QUIC.

``make fuzz`` runs each: ``readers.py TARGET [libFuzzer's options and corpora]``. A reader answers, or raises
InputError in one sentence. Anything else is a fault.
"""

from __future__ import annotations

import io
import sys
import tempfile
from collections.abc import Callable, Mapping
from contextlib import redirect_stderr, suppress
from pathlib import Path

import atheris

# It says for each module that it instruments it.
with redirect_stderr(io.StringIO()), atheris.instrument_imports(include=["ackclock"]):
    from ackclock import qlogs
    from ackclock.captures import connections
    from ackclock.cli.captured import remarks, summary
    from ackclock.errors import InputError
    from ackclock.recorded import Recorded
    from ackclock.replay.parser import parse
    from ackclock.replay.script import UnsupportedError

MOST_FLOWS = 4
"""Directions of connections that are analysed: each takes milliseconds."""


def scripts(content: bytes) -> None:
    """A packet script, which may have what is not modelled."""
    with suppress(UnsupportedError):
        parse(content.decode("utf-8", "replace"), "fuzz.pkt")


def captures(content: bytes) -> None:
    """A capture, and all that follows from its packets."""
    for flow in connections(_file("fuzz.pcap", content)).flows[:MOST_FLOWS]:
        recorded = Recorded(flow)
        summary(recorded)
        list(remarks(recorded))


def logs(content: bytes) -> None:
    """A log of QUIC."""
    qlogs.read(_file("fuzz.sqlog", content))


TARGETS: Mapping[str, Callable[[bytes], None]] = {"scripts": scripts, "captures": captures, "logs": logs}


def _file(name: str, content: bytes) -> Path:
    path = Path(_FOLDER.name, name)
    path.write_bytes(content)
    return path


def _held(target: Callable[[bytes], None]) -> Callable[[bytes], None]:
    """The target, held to its law."""

    def held(content: bytes) -> None:
        try:
            target(content)
        except InputError as error:
            sentence = str(error)
            if not sentence or "\n" in sentence:
                raise AssertionError(f"no sentence: {sentence!r}") from error

    return held


if __name__ == "__main__":
    _FOLDER = tempfile.TemporaryDirectory(prefix="ackclock-fuzz-")
    name, *options = sys.argv[1:]
    atheris.Setup([sys.argv[0], *options], _held(TARGETS[name]))
    atheris.Fuzz()
