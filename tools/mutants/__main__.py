"""Breaks the code on purpose, a mutant at a time, and counts the mutants that the tests of the crate notice.

`make mutants` runs a random sample of the mutants of cargo-mutants, the same ones for the same seed:
`make mutants SEED=2 CRATES="network record"` takes others, and `CRATES=package` mutants of the Python
package. `cargo install --locked cargo-mutants` installs the tool. Outcomes are written as they come, and
`--again` leaves out what was noticed, so it also continues an interrupted sample. A mutant that changes
nothing a test could see is listed in `tools/equivalent-mutants.toml`, with the reason.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path

from mutants import package
from mutants.builds import Build, Copy, compiles
from mutants.listed import ROOT, Mutant, equivalents, sample
from mutants.recorded import record
from mutants.trials import baseline, trial

CLOSE = ("network", "transport", "control", "record")
"""Crates whose own tests are to notice more."""

OTHERS = [
    "units",
    "endpoint",
    "scenario",
    "engine",
    "sim",
    "overview",
    "plugin",
    "scratch",
    "shim",
    "quic",
    "kernel",
]
"""The other crates with tests of their own. Live runs, conversions and web pages have theirs in Python."""

SAMPLES = dict.fromkeys(CLOSE, 100) | dict.fromkeys(("record", *OTHERS), 50) | {"package": 100}
"""Mutants to try, by crate; and of the Python package."""


def enough(crate: str) -> float:
    """The share that the tests are to notice."""
    return 0.95 if crate in CLOSE else 0.9


def outcomes(crate: str, mutants: list[Mutant], out: Path) -> Iterator[tuple[Mutant, str | None]]:
    """Why the tests notice each mutant: empty if they do not, none if it does not compile."""
    if not mutants:
        return
    copy = Copy(crate, out)
    build, alone = copy.build_all(mutants)
    needed = baseline(build)
    shown = ", ".join(
        f"{program.name.rsplit('-', 1)[0]} {seconds:.1f} s" for program, seconds in needed.items()
    )
    sys.stderr.write(f"{len(mutants) - len(alone)} switched, {len(alone)} built alone; {shown}\n")
    tried = itertools.count(1)

    def outcome(mutant: Mutant, build: Build | None) -> tuple[Mutant, str | None]:
        why = trial(build, mutant, needed) if build else None
        shown = "does not compile" if why is None else why or "SURVIVES"
        sys.stderr.write(f"{next(tried)}/{len(mutants)} {mutant.name}: {shown}\n")
        return mutant, why

    switched = [one for one in mutants if one not in alone]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        yield from pool.map(lambda one: outcome(one, build), switched)
    for mutant, single in compiles(copy, alone):
        yield outcome(mutant, single)


def report(crate: str, seed: int, found: dict[Mutant, str | None], machine: str | None) -> bool:
    """Prints the outcome of a crate. Returns True if enough of its mutants are killed or equivalent.

    With a `machine` it is a row of the recorded table.
    """
    known = equivalents()
    kinds = Counter[str]()
    survived = []
    for mutant, why in found.items():
        equivalent = mutant.key() in known
        if why is None:
            kinds["do not compile"] += 1
        elif why:
            kinds["timeouts" if why == "timeout" else "killed"] += 1
            if equivalent:
                sys.stdout.write(f"  listed as equivalent, but noticed by {why}: {mutant.name}\n")
        elif equivalent:
            kinds["equivalent"] += 1
        else:
            survived.append(mutant.name)
    viable = len(found) - kinds["do not compile"]
    share = 1.0 - len(survived) / viable
    counted = ", ".join(
        f"{kinds[kind]} {kind}" for kind in ("killed", "timeouts", "equivalent", "do not compile")
    )
    sys.stdout.write(f"{crate}, seed {seed}: {share:.1%}: {len(survived)} survived, {counted}\n")
    sys.stdout.writelines(f"  {name}\n" for name in sorted(survived))
    sys.stdout.flush()
    if machine:
        record(crate, seed, kinds, len(survived), machine)
    return share >= enough(crate)


def take(crate: str, seed: int, size: int) -> list[Mutant]:
    """The sample of a crate, or of the package."""
    return package.sample(seed, size) if crate == "package" else sample(crate, seed, size)


def kept(out: Path, crate: str, seed: int) -> Path:
    """The file with the outcome of a sample."""
    return out / f"{crate}-{seed}.json"


def keep(out: Path, crate: str, samples: Mapping[int, list[Mutant]], whys: Mapping[str, str | None]) -> None:
    """Writes the outcomes so far of each sample: `--again` goes on behind an interruption."""
    for seed, sampled in samples.items():
        found = {one.name: whys[one.name] for one in sampled if one.name in whys}
        kept(out, crate, seed).write_text(json.dumps(found, indent=1), "utf-8")


def before(out: Path, crate: str, seeds: list[int]) -> dict[str, str | None]:
    """The outcomes of earlier samples."""
    files = [kept(out, crate, seed) for seed in seeds]
    samples: list[dict[str, str | None]] = [
        json.loads(file.read_text("utf-8")) for file in files if file.exists()
    ]
    return {name: why for sampled in samples for name, why in sampled.items()}


def main() -> int:
    """Tries the sample of each crate."""
    parser = argparse.ArgumentParser(prog="mutants", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("crates", nargs="*", default=list(SAMPLES), help="by default all, and `package`")
    parser.add_argument("--seed", type=int, nargs="+", default=[1], help="another seed takes other mutants")
    parser.add_argument(
        "--size",
        type=int,
        nargs="+",
        help="mutants of each crate, of each seed or of all, in place of 100 or 50",
    )
    parser.add_argument(
        "--out", type=Path, default=ROOT / "target/mutants", help="where copies and outcomes go"
    )
    parser.add_argument(
        "--again", action="store_true", help="leave out those that were noticed the last time"
    )
    parser.add_argument("--record", metavar="MACHINE", help="write a row of measurements/tests/mutants.csv")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    passed = []
    for crate in given.crates:
        sizes = given.size or [SAMPLES[crate]]
        samples = {
            seed: take(crate, seed, size)
            for seed, size in zip(given.seed, itertools.cycle(sizes), strict=False)
        }
        earlier = before(given.out, crate, given.seed) if given.again else {}
        known = {name: why for name, why in earlier.items() if why != ""}
        # A mutant of several samples is tried once.
        left = {one.name: one for sampled in samples.values() for one in sampled if one.name not in known}
        mutants = [replace(one, number=number) for number, one in enumerate(left.values(), 1)]
        tried = package.outcomes if crate == "package" else partial(outcomes, crate)
        whys = dict(known)
        for mutant, why in tried(mutants, given.out.resolve() / ("package" if crate == "package" else "")):
            whys[mutant.name] = why
            keep(given.out, crate, samples, earlier | whys)
        for seed, sampled in samples.items():
            passed.append(report(crate, seed, {one: whys[one.name] for one in sampled}, given.record))
    return 0 if all(passed) else 1


if __name__ == "__main__":
    sys.exit(main())
