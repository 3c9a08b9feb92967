"""Builds of the tests of a crate in a copy of the sources.

One has all mutants that can be switched on. Every other mutant has a build of its own.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import tomllib
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from mutants.listed import ROOT, Mutant
from mutants.switch import MODULE, blamed, broken, can_switch, switched

FAST = {
    "CARGO_INCREMENTAL": "0",
    "CARGO_PROFILE_TEST_OPT_LEVEL": "1",
    "CARGO_PROFILE_TEST_DEBUG": "none",
    "RUSTFLAGS": "--cap-lints allow",
}
"""A profile that compiles fast, with tests that finish. A mutant may break lints.

Parts that an incremental build has of another mutant may not link.
"""

PROPERTIES = {
    "PROPTEST_MAX_SHRINK_ITERS": "0",
    "PROPTEST_DISABLE_FAILURE_PERSISTENCE": "1",
    "INSTA_UPDATE": "no",
}
"""A failed test writes nothing, and its counterexample need not be small."""


COMPILER_S = 20.0
"""The least processor time that a compiler gets for one mutant: a loop in a constant may have no end."""


ELSEWHERE = {"vendored"}
"""Features that change where a library comes from, and no line of a crate."""


class DoesNotCompileError(Exception):
    """The messages of the compiler: none if it took too long."""


@dataclass(frozen=True)
class Build:
    """The test programs of a crate."""

    programs: list[Path]
    folder: Path
    """Where they run."""

    def environment(self) -> dict[str, str]:
        """The variables that cargo would set for them, and the variables of a trial."""
        config: dict[str, dict[str, str]] = tomllib.loads((ROOT / ".cargo/config.toml").read_text("utf-8"))
        return os.environ | config["env"] | PROPERTIES | {"CARGO_MANIFEST_DIR": str(self.folder)}


class Copy:
    """A copy of the sources of the workspace, in which one crate is broken.

    Crates may take turns in one folder, so that their common dependencies are built once.
    """

    def __init__(self, crate: str, out: Path) -> None:
        self.crate = crate
        self.folder = out / "tree"
        self.target = out / "target"
        self.took_s = 0.0
        """Processor time of the last build."""
        self.originals = self.tracked()
        self.links = {name: (ROOT / name).readlink() for name in self.listed() if (ROOT / name).is_symlink()}
        self.remove_others()
        self.restore()

    def listed(self) -> list[str]:
        """The names of the files and links under version control, and of new ones."""
        command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
        return [name for name in listed.stdout.split("\0") if name]

    def tracked(self) -> dict[str, bytes]:
        """The files, as they are on disk."""
        names = [name for name in self.listed() if (ROOT / name).is_file()]
        return {name: (ROOT / name).read_bytes() for name in names}

    def remove_others(self) -> None:
        """Removes files of an earlier copy that the sources have no more."""
        for path in self.folder.rglob("*"):
            if path.is_file() and path.relative_to(self.folder).as_posix() not in self.originals:
                path.unlink()

    def restore(self) -> None:
        """Writes every file as it was, and the links to folders."""
        for name, content in self.originals.items():
            self.write(name, content)
        for name, target in self.links.items():
            if not (link := self.folder / name).is_symlink() and name not in self.originals:
                link.symlink_to(target)

    def write(self, name: str, content: bytes) -> None:
        """Writes one file, unless it is so already: cargo goes by the time of the last change."""
        path = self.folder / name
        if not path.is_file() or path.read_bytes() != content:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)

    def text(self, name: str) -> str:
        """A file as it was."""
        return self.originals[name].decode("utf-8")

    def build_all(self, mutants: list[Mutant]) -> tuple[Build, list[Mutant]]:
        """One build with all mutants that can be switched on, and the mutants that are not in it."""
        left_out = {one.number for one in mutants if not can_switch(self.text(one.file), one)}
        while True:
            within = [one for one in mutants if one.number not in left_out]
            written = self.switch(within)
            try:
                return self.build(), [one for one in mutants if one.number in left_out]
            except DoesNotCompileError as error:
                faults = self.faults(str(error), written)
                if not faults:
                    raise
                left_out |= faults

    def switch(self, mutants: list[Mutant]) -> dict[str, str]:
        """Writes the files with these mutants in them, and returns them."""
        by_file: dict[str, list[Mutant]] = defaultdict(list)
        for mutant in mutants:
            by_file[mutant.file].append(mutant)
        root = f"crates/{self.crate}/src/lib.rs"
        written = {name: switched(self.text(name), those) for name, those in by_file.items()}
        written[root] = written.get(root, self.text(root)) + MODULE
        self.restore_but(written)
        return written

    def restore_but(self, written: dict[str, str]) -> None:
        """Writes these files, and every other as it was."""
        for name, content in self.originals.items():
            self.write(name, written[name].encode() if name in written else content)

    def faults(self, messages: str, written: dict[str, str]) -> set[int]:
        """The mutants that the compiler complains about."""
        found: set[int] = set()
        for line in messages.splitlines():
            for span in json.loads(line)["spans"]:
                if span["is_primary"] and span["file_name"] in written:
                    found |= blamed(written[span["file_name"]], span["line_start"])
        return found

    def build_one(self, mutant: Mutant) -> Build:
        """A build with one change.

        # Raises
        `DoesNotCompileError` if the mutant is none.
        """
        self.restore_but({mutant.file: broken(self.text(mutant.file), mutant)})
        return self.build(max(COMPILER_S, 2 * self.took_s))

    def features(self) -> list[str]:
        """The features of the crate, without which a part of its code is not compiled."""
        manifest = tomllib.loads(self.text(f"crates/{self.crate}/Cargo.toml"))
        return [name for name in manifest.get("features", {}) if name not in ELSEWHERE]

    def build(self, limit_s: float | None = None) -> Build:
        """The test programs of the copy as it is. No compiler may take longer than `limit_s`."""

        def limit() -> None:
            if limit_s:
                resource.setrlimit(resource.RLIMIT_CPU, (round(limit_s), round(limit_s)))

        before = processor_time()
        command = ["cargo", "test", "--no-run", "--package", f"ackclock-{self.crate}", "--lib", "--tests"]
        command += ["--features", ",".join(self.features())]
        command += ["--message-format", "json", "--target-dir", str(self.target), "--quiet"]
        built = subprocess.run(
            command,
            cwd=self.folder,
            env=os.environ | FAST,
            stdout=subprocess.PIPE,
            text=True,
            check=False,
            preexec_fn=limit,
        )
        messages = [json.loads(line) for line in built.stdout.splitlines() if line.startswith("{")]
        if built.returncode != 0:
            errors = [one["message"] for one in messages if one["reason"] == "compiler-message"]
            raise DoesNotCompileError("\n".join(json.dumps(one) for one in errors if one["level"] == "error"))
        self.took_s = processor_time() - before
        programs = [Path(one["executable"]) for one in messages if one.get("executable")]
        return Build(programs, self.folder / "crates" / self.crate)


def processor_time() -> float:
    """The processor time of all programs that have ended, in seconds."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def compiles(copy: Copy, mutants: Iterable[Mutant]) -> Iterable[tuple[Mutant, Build | None]]:
    """A build of each mutant alone, or None if it does not compile."""
    for mutant in mutants:
        try:
            yield mutant, copy.build_one(mutant)
        except DoesNotCompileError:
            yield mutant, None
