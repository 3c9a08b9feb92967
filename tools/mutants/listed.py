"""The mutants of a crate: a random sample of cargo-mutants' list, and the known equivalents in it."""

from __future__ import annotations

import json
import random
import re
import subprocess
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
EQUIVALENT = ROOT / "tools/equivalent-mutants.toml"


@dataclass(frozen=True)
class Mutant:
    """One change of one place."""

    number: int
    """Its number within the sample, from 1."""
    name: str
    """As cargo-mutants names it: file, line, column, change and function."""
    file: str
    span: tuple[int, int]
    """The text that `replacement` replaces, as offsets of characters."""
    replacement: str
    function: tuple[int, int] | None
    """The function around it, from its attributes to its last brace, or None for a constant."""
    line: str
    """The line that it changes."""

    def key(self) -> tuple[str, str]:
        """What names a mutant when lines have moved: its file and change, and the line that it changes."""
        return re.sub(r":\d+:\d+:", ":", self.name), self.line

    def module(self) -> str:
        """The path of its module."""
        parts = Path(self.file).with_suffix("").parts[3:]
        return "::".join(part for part in parts if part not in ("lib", "mod"))


def sample(crate: str, seed: int, size: int) -> list[Mutant]:
    """A random sample of the mutants of a crate."""
    command = ["cargo", "mutants", "--list", "--json", "--package", f"ackclock-{crate}"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode != 0:
        raise SystemExit(
            f"cargo mutants: {listed.stderr.strip()}; `cargo install --locked cargo-mutants` installs it"
        )
    mutants = json.loads(listed.stdout)
    chosen = random.Random(f"{crate} {seed}").sample(mutants, min(size, len(mutants)))
    return [read(number, one) for number, one in enumerate(chosen, 1)]


def read(number: int, one: dict[str, Any]) -> Mutant:
    """A mutant from its entry in the list of cargo-mutants."""
    lines = (ROOT / one["file"]).read_text("utf-8").split("\n")
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)

    def offsets(span: dict[str, dict[str, int]]) -> tuple[int, int]:
        first, last = (starts[span[end]["line"] - 1] + span[end]["column"] - 1 for end in ("start", "end"))
        return first, last

    return Mutant(
        number=number,
        name=one["name"],
        file=one["file"],
        span=offsets(one["span"]),
        replacement=one["replacement"],
        function=offsets(one["function"]["span"]) if one["function"] else None,
        line=lines[one["span"]["start"]["line"] - 1].strip(),
    )


def equivalents() -> set[tuple[str, str]]:
    """The keys of the mutants that no test can distinguish from the original."""
    entries = tomllib.loads(EQUIVALENT.read_text("utf-8"))["equivalent"]
    return {(one["mutant"], one["line"]) for one in entries}
