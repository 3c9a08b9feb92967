"""The kernel's TCP behind a script: clock, packets and blocked writes, without a device."""

from collections import deque
from types import SimpleNamespace

import pytest

from ackclock.replay import kernel
from ackclock.replay.script import UnsupportedError
from ackclock.replay.shell import Setting


class Clock:
    """Time that goes on by so much each time it is read."""

    def __init__(self, now, step=0.0):
        self.at, self.step = now, step

    def monotonic(self):
        self.at += self.step
        return self.at


@pytest.fixture
def made(monkeypatch):
    """A kernel that began at 100 s, on whose device nothing comes."""
    one = object.__new__(kernel.Kernel)
    one._begin, one._late, one._device = (lambda: 100.0), 0.0, -1
    one._sent, one._base, one._ports = deque(), None, (40000, 8080)
    one._unwritten, one._waits, one._connected = 0, False, None
    one.clock = Clock(100.0)
    monkeypatch.setattr(kernel, "time", one.clock)
    monkeypatch.setattr(kernel, "is_ready", lambda *_: False)
    return one


def test_the_clock_begins_with_the_script(made):
    made.clock.at = 102.5
    assert made.now == 2.5


def test_lateness_is_the_most_behind_an_instant_of_the_script(made):
    # The beginning itself is no instant to be late for.
    made.clock.at = 100.25
    made.wait_until(0.0)
    assert made.late == 0.0
    made.wait_until(0.125)
    assert made.late == 0.125
    made.wait_until(0.25)
    assert made.late == 0.125


def test_a_wait_polls_until_its_time_has_come(made, monkeypatch):
    waits = []

    def wait(_, __, seconds):
        waits.append(seconds)
        made.clock.at += min(seconds, 0.75)
        return False

    monkeypatch.setattr(kernel, "is_ready", wait)
    made.wait_until(1.0)
    # A second, the rest, and once more for packets that have left already.
    assert waits == [1.0, 0.25, 0.0]


def tcp(flags, payload=0):
    """A packet as it is read, with a part for its number."""
    return SimpleNamespace(flags=flags, payload=payload, part=lambda number, size: (flags, number, size))


def test_numbers_are_counted_from_the_syn_of_the_endpoint(made, monkeypatch):
    packets = iter(
        [None, (tcp("."), (1, 2), 5), (tcp("S"), (8080, 40000), 2**32 - 1), (tcp("P.", 10), (8080, 1), 4)]
    )
    monkeypatch.setattr(kernel, "read", lambda _: next(packets))
    for at in (0.1, 0.2, 0.3, 0.4):
        made._take(at, b"")
    # What is no TCP, or before the SYN, is no part of the script. Numbers go round.
    assert list(made._sent) == [(0.3, ("S", 0, 0)), (0.4, ("P.", 5, 10))]
    assert made._ports == (40000, 8080)
    # A second SYN has a number beside the first.
    packets = iter([(tcp("S"), (8080, 1), 9)])
    monkeypatch.setattr(kernel, "read", lambda _: next(packets))
    made._take(0.5, b"")
    assert (made._sent[-1], made._ports) == ((0.5, ("S", 10, 0)), (40000, 8080))


def test_a_packet_is_waited_for_until_its_time(made):
    made.clock.step = 0.25
    assert made.receive(1.0) is None
    made._sent.append((0.5, "first"))
    made._sent.append((0.6, "second"))
    assert [made.receive(9.0), made.receive(9.0)] == [(0.5, "first"), (0.6, "second")]


class Socket:
    """Takes so many bytes of each write."""

    def __init__(self, *takes):
        self.takes, self.asked = list(takes), []

    def fileno(self):
        return 3

    def send(self, data):
        self.asked.append(len(data))
        if not self.takes[0]:
            self.takes.pop(0)
            raise BlockingIOError
        return self.takes.pop(0)


def test_a_blocked_write_goes_on_while_the_buffer_takes_it(made):
    made._connected, made._unwritten = Socket(400, 600), 1000
    made._go_on_writing()
    # The first write takes less than all: the next one waits for room.
    assert (made._connected.asked, made._unwritten, made._waits) == ([1000], 600, True)
    made._go_on_writing()
    assert made._unwritten == 600


def test_a_write_with_room_is_whole(made, monkeypatch):
    monkeypatch.setattr(kernel, "is_ready", lambda *_: True)
    made._connected, made._unwritten, made._waits = Socket(400, 600), 1000, True
    made._go_on_writing()
    assert (made._connected.asked, made._unwritten, made._waits) == ([1000, 600], 0, False)
    made._go_on_writing()
    assert made._connected.asked == [1000, 600]


def test_a_full_buffer_takes_nothing_and_waits(made):
    made._connected, made._unwritten = Socket(0), 1000
    made._go_on_writing()
    assert (made._unwritten, made._waits) == (1000, True)


def test_what_is_set_in_a_namespace_is_a_sysctl_or_the_same_parameter(made):
    made.configure(Setting("net.ipv4.tcp_congestion_control", "cdg"))
    assert made._kernel_controller == "cdg"
    with pytest.raises(UnsupportedError, match="parameters/none is another on this machine than 1"):
        made.configure(Setting("no_module.none", "1"))
    with pytest.raises(UnsupportedError, match=r"the sysctl net\.none\.at_all cannot be set: "):
        made.configure(Setting("net.none.at_all", "1"))


def test_nothing_is_readable_without_a_connection(made, monkeypatch):
    monkeypatch.setattr(kernel, "is_ready", lambda *_: True)
    assert made.is_readable is False
    made._connected = Socket()
    assert made.is_readable is True
