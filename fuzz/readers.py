"""Readers in Python of packet scripts, captures and logs of QUIC, each with an input of bytes.

A reader answers, or raises InputError in one sentence. Anything else is a fault. ``instrumented.py`` calls
them with random input, and a test with each file of ``corpora/``.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

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
    with _file("fuzz.pcap", content) as file:
        for flow in connections(file).flows[:MOST_FLOWS]:
            recorded = Recorded(flow)
            summary(recorded)
            list(remarks(recorded))


def logs(content: bytes) -> None:
    """A log of QUIC."""
    with _file("fuzz.sqlog", content) as file:
        qlogs.read(file)


TARGETS: Mapping[str, Callable[[bytes], None]] = {"scripts": scripts, "captures": captures, "logs": logs}


@contextmanager
def _file(name: str, content: bytes) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="ackclock-fuzz-") as folder:
        path = Path(folder, name)
        path.write_bytes(content)
        yield path


def hold(target: str, content: bytes) -> None:
    """Calls a target. Raises AssertionError for a refusal that is no sentence."""
    try:
        TARGETS[target](content)
    except InputError as error:
        sentence = str(error)
        if not sentence or "\n" in sentence:
            raise AssertionError(f"no sentence: {sentence!r}") from error
