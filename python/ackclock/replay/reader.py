"""Characters of a script, and the parts that several statements share: numbers, values, comments."""

from __future__ import annotations

import re

from ackclock.replay.script import ScriptError, Text, Value

SPACE = re.compile(r"(?:\s+|//[^\n]*|/\*.*?\*/)+", re.DOTALL)
NUMBER = re.compile(r"-?(?:0[xX][0-9a-fA-F]+|\d+)")
NAME = re.compile(r"[A-Za-z_]\w*")
STRING = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
DEEPEST = 20
"""The deepest nesting of values."""


class Reader:
    """A position in the text of a script."""

    def __init__(self, text: str, name: str) -> None:
        self.text = text
        self.name = name
        self.at = 0

    @property
    def line(self) -> int:
        """The line of the position, counted from 1."""
        return self.text.count("\n", 0, self.at) + 1

    def error(self, why: str) -> ScriptError:
        """An error at the position."""
        return ScriptError(f"{self.name}, line {self.line}: {why}")

    def skip(self) -> None:
        """Skips blanks, line ends and comments."""
        found = SPACE.match(self.text, self.at)
        if found:
            self.at = found.end()

    def skip_blanks(self) -> None:
        """Skips blanks within a line."""
        while self.text[self.at : self.at + 1] in (" ", "\t"):
            self.at += 1

    def is_over(self) -> bool:
        """True at the end of the text."""
        return self.at >= len(self.text)

    def rest_of_line(self) -> str:
        """The rest of the line, at most 60 characters of it."""
        end = self.text.find("\n", self.at)
        return self.text[self.at : end if end >= 0 else None].strip()[:60]

    def take(self, text: str) -> bool:
        """True if ``text`` comes next, which is then passed."""
        found = self.text.startswith(text, self.at)
        if found:
            self.at += len(text)
        return found

    def match(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """The match of ``pattern`` here, which is passed."""
        found = pattern.match(self.text, self.at)
        if found:
            self.at = found.end()
        return found

    def until(self, end: str, what: str) -> str:
        """Everything before ``end``, which is passed as well."""
        to = self.text.find(end, self.at)
        if to < 0:
            raise self.error(f"{what} has no end; it ends with {end}")
        text = self.text[self.at : to]
        self.at = to + len(end)
        return text

    def integer(self, what: str) -> int:
        """A number, decimal or with 0x."""
        found = self.match(NUMBER)
        if not found:
            raise self.error(f"{what} has to be a number, not `{self.rest_of_line()}`")
        return to_integer(found.group())

    def value(self, depth: int = 0) -> Value:
        """An argument or result of a system call."""
        self.skip()
        if depth > DEEPEST:
            raise self.error(f"lists lie in one another more than {DEEPEST} deep")
        if self.take("..."):
            return ...
        found = self.match(STRING)
        if found:
            return Text(found.group(1))
        if self.take("["):
            return self.values("]", depth)
        if self.take("{"):
            return tuple(self.values("}", depth))
        found = self.match(NUMBER)
        if found:
            return to_integer(found.group())
        return self.names(depth)

    def names(self, depth: int) -> Value:
        """Names joined by ``|``, or a field ``name=value`` or a call ``name(value)``."""
        names = []
        while True:
            self.skip()
            self.take(".")
            found = self.match(NAME) or self.match(NUMBER)
            if not found:
                raise self.error(f"`{self.rest_of_line()}` is no argument of a system call")
            names.append(found.group())
            self.skip()
            if self.take("="):
                return {names[-1]: self.value(depth + 1)}
            if self.take("("):
                arguments = self.values(")", depth)
                self.skip()
                return {names[-1]: self.value(depth + 1) if self.take("=") else arguments}
            if not self.take("|"):
                return "|".join(names)

    def values(self, end: str, depth: int) -> list[Value]:
        """Values up to ``end``, separated by commas."""
        values: list[Value] = []
        while True:
            self.skip()
            if self.take(end):
                return values
            if values and not self.take(","):
                raise self.error(f"`{self.rest_of_line()}` has to be `,` or `{end}`")
            values.append(self.value(depth + 1))


def to_integer(text: str) -> int:
    """A number, decimal or with 0x."""
    return int(text, 16) if "x" in text.lower() else int(text)
