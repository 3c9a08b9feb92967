"""Numbers of options: both ends are taken, and one beyond is refused. No command runs."""

import pytest

from ackclock.cli import app
from ackclock.errors import InputError

BOUNDS = [
    ("bench", "--repeat", 1, None),
    ("check cubic --hunt", "--tries", 1, 1_000_000),
    ("compare cubic", "--flows", 1, None),
    ("compare cubic", "--repeat", 1, 100_000),
    ("compare cubic", "--seed", 0, 2**63 - 1),
    ("evaluate cubic --front", "--paths", 2, 100_000),
    ("read none.pcap", "--interface", 0, None),
    ("read none.pcap --controllers", "--iterations", 1, 3),
    ("reproduce cdg2011", "--shake", 0, 100),
    # The largest number of segments of an interface of Linux is a 16-bit one.
    ("shell", "--gso-max-segs", 1, 65_535),
    ("slow-start cubic", "--paths", 1, 100_000),
    ("slow-start cubic", "--cross", 0.0, 0.95),
    ("slow-start cubic", "--application", 0.0, 10.0),
    ("kernel build", "--jobs", 1, 1024),
    ("kernel parity", "--repeat", 1, 100_000),
    ("kernel parity", "--simulations", 2, 100_000),
    ("kernel differential", "--runs", 1, 100_000),
]
"""A command, an option of it, and the least and the largest number."""


def option(words, name):
    """The option of a command, as it reads its value."""
    group, command = app.application, None
    for word in words.split():
        if command is not None and not hasattr(command, "commands"):
            break
        command = (command or group).get_command(None, word)
    [found] = [one for one in command.params if name in one.opts]
    return found


@pytest.mark.parametrize(("words", "name", "low", "high"), BOUNDS)
def test_both_ends_of_a_number_are_taken_and_no_more(words, name, low, high):
    found = option(words, name)
    step = 1 if isinstance(low, int) else 0.01
    for end, beyond, what in (
        (low, low - step, "at least"),
        (high, None if high is None else high + step, "at most"),
    ):
        if end is not None:
            assert found.type.convert(str(end), found, None) == end
            with pytest.raises(InputError, match=f"must be {what} {end}$"):
                found.type.convert(str(beyond), found, None)
