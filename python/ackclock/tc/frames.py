"""Frames of a line in the words of ``tc``: headers, padding, and cells of ATM."""

from __future__ import annotations

from ackclock.errors import InputError
from ackclock.tc.direction import Direction
from ackclock.tc.words import Words

FRAMES = ("overhead", "linklayer", "mpu")
"""Words about frames, each with a value."""
OF_SIZE_TABLES = ("mtu", "tsize")
"""Words for the size of the table in which ``stab`` looks sizes up, each with a value."""
_LINK_LAYERS = {"ethernet": "none", "atm": "atm", "adsl": "atm"}
"""Link layers of ``tc``, and ours."""
_WITHOUT_HEADER = ("ppp", "tun", "wg", "gre", "sit", "ipip")
"""How the devices are called whose packets begin with the header of IP."""
ETHERNET = 14
"""The header of Ethernet, which the kernel counts in the size of a packet (tc-stab(8))."""


def read_frame(word: str, value: str, path: Direction) -> None:
    """A word about frames, in ``stab`` or behind a discipline."""
    if word in OF_SIZE_TABLES:
        return
    if word == "linklayer":
        if value not in _LINK_LAYERS:
            raise InputError(f"--tc: linklayer {value}: there are {', '.join(_LINK_LAYERS)}")
        path.frames["link_layer"] = _LINK_LAYERS[value]
        return
    if not value.removeprefix("-").isdecimal():
        raise InputError(f"--tc: {word} {value}: is no whole number")
    path.frames[word] = int(value)


def put_framing(path: Direction) -> None:
    """The framing of a direction. All but ``cake`` count from the header of the device on."""
    given = {key: value for key, value in path.frames.items() if value not in (0, "none")}
    if not given:
        return
    if not path.device.rpartition(" ")[2].startswith(_WITHOUT_HEADER):
        given["overhead"] = given.get("overhead", 0) + ETHERNET
        path.remarks.append(
            f"frames have {ETHERNET} bytes more than `overhead`, as tc counts the header of Ethernet"
        )
    path.put("framing", {key: value for key, value in given.items() if value != 0})


def read_cells(words: Words, path: Direction) -> None:
    """The numbers behind the rate of ``netem``: bytes of headers, and the payload and header of a cell."""
    numbers = []
    while number := words.take(lambda word: word.removeprefix("-").isdecimal()):
        numbers.append(number)
    if numbers:
        read_frame("overhead", numbers[0], path)
    if numbers[1:] == ["48", "5"]:
        read_frame("linklayer", "atm", path)
    else:
        path.left_out += [f"rate … {number}" for number in numbers[1:]]
