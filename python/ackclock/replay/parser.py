"""Reads packet scripts: the language of packetdrill, as far as a test of congestion control needs it.

A line that begins like a statement and continues in an unknown way is unsupported. A line that does not begin
like one is an error.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import replace

from ackclock.replay.reader import NAME, NUMBER, Reader, to_integer
from ackclock.replay.script import (
    ORDER,
    Action,
    Call,
    Code,
    Event,
    Inbound,
    Options,
    Outbound,
    Packet,
    Script,
    Shell,
    UnsupportedError,
    When,
)

OPTION = re.compile(r"--(\w+)(?:=(\S*))?")
SECONDS = re.compile(r"\d+(?:\.\d+)?(?!\.\d)|\.\d+")
FLAGS = re.compile(r"[SFRPUEWCA.\d]+(?=\s)|-(?=\s)")
RANGE = re.compile(r"(\d+):(\d+)\((\d+)\)")
ERRNO = re.compile(r"[A-Z][A-Z0-9]+")
REMARK = re.compile(r"\s*\([^)\n]*\)")
SEGMENT_SIZE = re.compile(r"mss\s+\d{1,4}")
WINDOW_SCALE = re.compile(r"wscale\s+(?:\d|1[0-4])")
TIMESTAMPS = re.compile(r"TS\s+val\s+\d{1,10}\s+ecr\s+\d{1,10}")
LARGEST = 1 << 32
"""Sequence numbers of a script are below this."""
CODEPOINTS = {"noecn": 0, "ect1": 1, "ect0": 2, "ce": 3}


def parse(text: str, name: str = "script") -> Script:
    """The script in ``text``. Raises ScriptError or UnsupportedError."""
    reader = Reader(text, name)
    options: dict[str, tuple[int, str]] = {}
    events: list[Event] = []
    while True:
        reader.skip()
        if reader.is_over():
            break
        line = reader.line
        found = reader.match(OPTION)
        if found:
            options[found.group(1)] = (line, found.group(2) or "")
            continue
        if reader.take("`"):
            events.append(
                Event(line, When(0.0, relative=True), Shell(reader.until("`", "a block in backticks")))
            )
            continue
        when = _when(reader)
        reader.skip()
        line = reader.line
        try:
            events.append(Event(line, when, _action(reader)))
        except UnsupportedError as error:
            raise UnsupportedError(error.why, error.line or line) from None
    if not events:
        raise reader.error("there is no event in this file")
    return Script(options, events)


def _when(reader: Reader) -> When:
    """The time at the beginning of an event."""
    if reader.take("*"):
        return When(0.0, any=True)
    relative, start = _instant(reader)
    reader.skip_blanks()
    if reader.take("..."):
        reader.skip_blanks()
        other, finish = _instant(reader)
        return When(start, relative=relative or other, finish=finish)
    end = None
    if reader.take("~"):
        reader.skip_blanks()
        other, end = _instant(reader)
        if other != relative or end < start:
            raise reader.error("a range of times has to be `A~B` or `+A~+B`, with A up to B")
    return When(start, end, relative=relative)


def _instant(reader: Reader) -> tuple[bool, float]:
    relative = reader.take("+")
    found = reader.match(SECONDS)
    if not found:
        raise reader.error(
            f"`{reader.rest_of_line()}` begins with no time, as 0.1, +0.1, * or +0.1~+0.2 is one"
        )
    seconds = float(found.group())
    if not math.isfinite(seconds) or seconds > 1e6:
        raise reader.error(f"the time {found.group()[:20]} s has to be at most a million seconds")
    return relative, seconds


def _action(reader: Reader) -> Action:
    for begin, action in _ACTIONS.items():
        if reader.take(begin):
            return action(reader)
    at = reader.at
    found = reader.match(NAME)
    reader.skip_blanks()
    if found and reader.take("("):
        return _call(reader, found.group())
    reader.at = at
    raise UnsupportedError(f"`{reader.rest_of_line()}` is no packet, call, assertion or shell block")


def _call(reader: Reader, name: str) -> Call:
    arguments = reader.values(")", 0)
    reader.skip()
    result, errno = 0, None
    if reader.take("="):
        reader.skip_blanks()
        result = reader.value()
        reader.skip_blanks()
        found = reader.match(ERRNO)
        if found:
            errno = found.group()
        reader.match(REMARK)
    return Call(name, arguments, result, errno)


def _packet(reader: Reader) -> Packet:
    reader.skip_blanks()
    codepoint = _codepoint(reader)
    line = reader.rest_of_line()
    found = reader.match(FLAGS)
    if not found:
        raise UnsupportedError(f"`{line}` is no TCP packet of this language: flags come first, as in `S.`")
    given = set(found.group().replace("C", "W").replace("-", ""))
    if not given <= set(ORDER):
        raise UnsupportedError(f"the flags `{found.group()}` are not modelled; {ORDER} are")
    flags = "".join(flag for flag in ORDER if flag in given)
    reader.skip_blanks()
    numbers = reader.match(RANGE)
    if not numbers:
        raise UnsupportedError(f"`{line}` has no sequence numbers, as in 1:1001(1000)")
    first, end, length = (int(number) for number in numbers.groups())
    if end - first != length or end >= LARGEST:
        raise reader.error(f"`{numbers.group()}` does not add up: the length is the end less the beginning")
    return _fields(reader, Packet(flags, first, length, codepoint=codepoint))


def _codepoint(reader: Reader) -> int | None:
    if not reader.take("["):
        return None
    names = [name.strip().lower() for name in reader.until("]", "a part in square brackets").split(",")]
    reader.skip_blanks()
    if names == ["ecn"]:
        return None
    if len(names) > 1 or names[0] not in CODEPOINTS:
        known = ", ".join(CODEPOINTS)
        raise UnsupportedError(f"`[{', '.join(names)}]` is not modelled; {known} are")
    return CODEPOINTS[names[0]]


def _fields(reader: Reader, packet: Packet) -> Packet:
    """Acknowledgement, window and options, which may follow."""
    acknowledged = window = None
    options: Options | None = Options()
    while True:
        reader.skip_blanks()
        if reader.take("ack "):
            reader.skip_blanks()
            acknowledged = reader.integer("the acknowledgement")
        elif reader.take("win "):
            reader.skip_blanks()
            window = reader.integer("the window")
        elif reader.take("<...>"):
            options = None
        elif reader.take("<"):
            options = _options(reader.until(">", "the list of TCP options"))
        else:
            break
    rest = reader.rest_of_line()
    if rest and not rest.startswith(("//", "/*")):
        raise UnsupportedError(f"`{rest}` at the end of a packet is not modelled")
    if "." not in packet.flags and acknowledged is not None:
        raise reader.error(f"`{packet}`: a packet has an acknowledgement only with the flag `.`")
    if "." in packet.flags and acknowledged is None:
        acknowledged = 0
    if any(number is not None and not 0 <= number < LARGEST for number in (acknowledged, window)):
        raise reader.error(f"`{packet}`: acknowledgement and window have to be numbers of 32 bits")
    return replace(packet, acknowledged=acknowledged, window=window, options=options)


def _options(text: str) -> Options:
    options = Options()
    for part in text.split(","):
        words = part.split()
        if words in (["nop"], ["eol"]) or not words:
            continue
        if words == ["sackOK"]:
            options = replace(options, sack_permitted=True)
        elif SEGMENT_SIZE.fullmatch(part.strip()):
            options = replace(options, segment_size=int(words[1]))
        elif WINDOW_SCALE.fullmatch(part.strip()):
            options = replace(options, window_scale=int(words[1]))
        elif TIMESTAMPS.fullmatch(part.strip()):
            options = replace(options, timestamps=(int(words[2]) % LARGEST, int(words[4]) % LARGEST))
        elif words[0] == "sack":
            options = replace(options, sack=tuple(_block(word) for word in words[1:]))
        else:
            raise UnsupportedError(f"the TCP option `{part.strip()}` is not modelled")
    return options


def _block(word: str) -> tuple[int, int]:
    start, _, end = word.partition(":")
    if not (NUMBER.fullmatch(start) and NUMBER.fullmatch(end)):
        raise UnsupportedError(f"the SACK block `{word}` is not modelled: it is BEGIN:END")
    block = to_integer(start), to_integer(end)
    if not 0 <= block[0] < block[1] < LARGEST:
        raise UnsupportedError(
            f"the SACK block `{word}` is not modelled: its end has to be above its beginning"
        )
    return block


_ACTIONS: dict[str, Callable[[Reader], Action]] = {
    "<": lambda reader: Inbound(_packet(reader)),
    ">": lambda reader: Outbound(_packet(reader)),
    "`": lambda reader: Shell(reader.until("`", "a block in backticks")),
    "%{": lambda reader: Code(reader.until("}%", "a block of assertions")),
}
