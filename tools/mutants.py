#!/usr/bin/env python3
"""Breaks the code on purpose, a mutant at a time, and counts what the tests of the crate notice.

`make mutants` runs a random sample of the mutants of cargo-mutants, the same ones for the same seed:
`make mutants SEED=2 CRATES="network record"` takes others. `cargo install --locked cargo-mutants` installs
the tool. A mutant that changes nothing a test could see is listed in `tools/equivalent-mutants.toml`, with
the reason.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
SAMPLES = {"network": 100, "transport": 100, "control": 100, "record": 50}
"""Mutants to try, by crate."""
EQUIVALENT = ROOT / "tools/equivalent-mutants.toml"
FAST = {
    "CARGO_PROFILE_TEST_OPT_LEVEL": "1",
    "CARGO_PROFILE_TEST_DEBUG": "none",
    "CARGO_INCREMENTAL": "1",
}
"""A profile that compiles fast, and tests that finish."""

Mutant = dict[str, Any]


def sample(crate: str, seed: int, size: int) -> list[Mutant]:
    """A random sample of the mutants of a crate."""
    command = ["cargo", "mutants", "--list", "--json", "--package", f"ackclock-{crate}"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    mutants: list[Mutant] = json.loads(listed.stdout)
    return random.Random(f"{crate} {seed}").sample(mutants, min(size, len(mutants)))


def key(mutant: Mutant) -> tuple[str, str]:
    """What names a mutant when lines have moved: its file and change, and the line that it changes."""
    line = (ROOT / mutant["file"]).read_text("utf-8").splitlines()[mutant["span"]["start"]["line"] - 1]
    change = re.sub(r":\d+:\d+:", ":", mutant["name"])
    return change, line.strip()


def equivalents() -> set[tuple[str, str]]:
    """The mutants that nothing can tell from the original."""
    listed = tomllib.loads(EQUIVALENT.read_text("utf-8"))["equivalent"]
    return {(one["mutant"], one["line"]) for one in listed}


def run(crate: str, mutants: list[Mutant], out: Path) -> dict[str, list[str]]:
    """The names of the mutants by their outcome, as cargo-mutants calls it."""
    exactly = "|".join(re.escape(mutant["name"]) for mutant in mutants)
    command = ["cargo", "mutants", "--package", f"ackclock-{crate}", "--re", f"^({exactly})$"]
    command += ["--output", str(out), "--minimum-test-timeout", "120", "--", "--lib", "--tests"]
    subprocess.run(command, cwd=ROOT, env=os.environ | FAST, check=False)
    outcomes: dict[str, list[str]] = {}
    for one in json.loads((out / "mutants.out/outcomes.json").read_text("utf-8"))["outcomes"]:
        if one["scenario"] != "Baseline":
            outcomes.setdefault(one["summary"], []).append(one["scenario"]["Mutant"]["name"])
    return outcomes


def report(crate: str, mutants: list[Mutant], outcomes: dict[str, list[str]]) -> bool:
    """Prints the outcome of a crate; whether 95 % of its mutants are killed or equivalent."""
    known = equivalents()
    same = {mutant["name"] for mutant in mutants if key(mutant) in known}
    killed = len(outcomes.get("CaughtMutant", []))
    late = len(outcomes.get("Timeout", []))
    survived = [name for name in outcomes.get("MissedMutant", []) if name not in same]
    alike = len(outcomes.get("MissedMutant", [])) - len(survived)
    unviable = len(outcomes.get("Unviable", []))
    viable = killed + late + alike + len(survived)
    sys.stdout.write(
        f"{crate}: {killed} killed, {late} timeouts, {alike} equivalent, {len(survived)} survived, "
        f"{unviable} do not compile\n"
    )
    sys.stdout.writelines(f"  {name}\n" for name in survived)
    return killed + late + alike >= 0.95 * viable


def main() -> int:
    """Tries the sample of each crate."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("crates", nargs="*", default=list(SAMPLES), help="the crates; by default all four")
    parser.add_argument("--seed", type=int, default=1, help="another seed takes other mutants")
    parser.add_argument("--size", type=int, help="mutants of each crate, in place of 100 and 50")
    parser.add_argument("--out", type=Path, default=ROOT / "target/mutants", help="where the outcomes go")
    given = parser.parse_args()
    enough = []
    for crate in given.crates:
        mutants = sample(crate, given.seed, given.size or SAMPLES[crate])
        enough.append(report(crate, mutants, run(crate, mutants, given.out / crate)))
    return 0 if all(enough) else 1


if __name__ == "__main__":
    sys.exit(main())
