"""Words of ``tc``, and the numbers in them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from ackclock import _engine
from ackclock.errors import InputError

_NUMBER = re.compile(r"(?P<number>\d+\.?\d*|\.\d+)(?P<unit>.*)")


class Words:
    """The words of a line, one after the other."""

    def __init__(self, words: list[str]) -> None:
        self._words = words

    def __iter__(self) -> Iterator[str]:
        while self._words:
            yield self._words.pop(0)

    def value(self, after: str) -> str:
        """The word behind ``after``."""
        if not self._words:
            raise InputError(f"--tc: `{after}` needs a value")
        return self._words.pop(0)

    def take(self, fits: Callable[[str], object]) -> str | None:
        """The next word if it fits."""
        return self._words.pop(0) if self._words and fits(self._words[0]) else None

    def take_before(self, program: str) -> list[str]:
        """The words before a call of ``program``, which goes with them. Empty if it is not called."""
        called = [word.rpartition("/")[2] == program for word in self._words]
        place = called.index(True) if True in called else -1
        taken, self._words = self._words[: max(place, 0)], self._words[place + 1 :]
        return taken


def _quantity(text: str, kind: str) -> str:
    try:
        return _engine.tc_quantity(text, kind)
    except ValueError as error:
        raise InputError(f"--tc: {error}") from None


def rate(text: str) -> str:
    """A rate of ``tc`` as the scenario language spells it. Raises InputError."""
    return _quantity(text, "rate")


def size(text: str) -> str:
    """A size of ``tc`` as the scenario language spells it. Raises InputError."""
    return _quantity(text, "size")


def time(text: str) -> str:
    """A time of ``tc`` as the scenario language spells it. Raises InputError."""
    return _quantity(text, "time")


def share(text: str) -> str:
    """A percentage of ``tc``, with its sign or without. Raises InputError."""
    found = _NUMBER.fullmatch(text)
    if found is None or found["unit"] not in ("", "%") or float(found["number"]) > 100.0:
        raise InputError(f"--tc: {text}: is no percentage of tc, like 1%")
    return f"{found['number']}%"


def whole(text: str) -> int:
    """A whole number. Raises InputError."""
    if not text.isdecimal():
        raise InputError(f"--tc: {text}: is no whole number")
    return int(text)


def is_number(word: str) -> bool:
    """True if ``word`` begins with a number."""
    return _NUMBER.fullmatch(word) is not None


def is_share(word: str) -> bool:
    """True if ``word`` is a percentage, with its sign or without."""
    found = _NUMBER.fullmatch(word)
    return found is not None and found["unit"] in ("", "%")
