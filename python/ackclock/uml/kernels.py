"""The kernels that were built: a folder for each in the user's cache."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ackclock import _engine
from ackclock.errors import InputError, did_you_mean
from ackclock.uml import recipe

PROGRAM, DESCRIPTION = "linux", "kernel.json"

BUILD = "ackclock kernel build"


@dataclass(frozen=True)
class Kernel:
    """A kernel that was built."""

    release: str
    """Its version, such as ``6.1.192``."""
    recipe: str
    """The digest of configuration and edits with which it was built."""
    controllers: Sequence[str]
    """The congestion controllers that it has, by their names in Linux."""
    disciplines: Sequence[str]
    """The queue disciplines that it has."""
    program: Path
    """The kernel itself."""

    def as_json(self) -> dict[str, Any]:
        """The same as values of JSON."""
        return asdict(self) | {"program": str(self.program)}

    def save(self) -> None:
        """Writes the description beside the program."""
        self.program.with_name(DESCRIPTION).write_text(json.dumps(self.as_json(), indent=1) + "\n", "utf-8")

    @property
    def current(self) -> bool:
        """True if today's recipe would give the same kernel."""
        return self.recipe == recipe.digest()


def folder() -> Path:
    """The folder of all kernels."""
    given = os.environ.get("XDG_CACHE_HOME", "")
    base = Path(given) if Path(given).is_absolute() else Path.home() / ".cache"
    return base / "ackclock" / "uml"


def check_folder(of: Path) -> None:
    """Refuses a part of the cache that another user may change: a kernel has all rights of its user.

    Raises MachineError.
    """
    known = of.lstat()
    # Windows has no owners in numbers, and its profiles are their users' own.
    owner = os.geteuid() if hasattr(os, "geteuid") else known.st_uid
    if known.st_uid != owner or known.st_mode & (stat.S_IWGRP | stat.S_IWOTH) or of.is_symlink():
        raise _engine.MachineError(
            f"{of}: other users may change it, and no kernel of theirs is run: remove it, and `{BUILD}`"
        )


def place(release: str) -> Path:
    """The folder of a kernel that is built with today's recipe."""
    return folder() / f"{release}-{recipe.digest()}"


def built() -> list[Kernel]:
    """The kernels in the cache that today's recipe has built, the newest version last.

    Raises MachineError for a cache that other users may change.
    """
    found = []
    for description in folder().glob(f"*/{DESCRIPTION}"):
        program = description.with_name(PROGRAM)
        for part in (folder(), program.parent, program) if program.is_file() else ():
            check_folder(part)
        try:
            kernel = Kernel(**json.loads(description.read_text("utf-8")) | {"program": program})
        except (OSError, ValueError, TypeError):
            continue
        if kernel.current and program.is_file():
            found.append(kernel)
    return sorted(found, key=lambda kernel: numbers(kernel.release))


def numbers(release: str) -> list[int]:
    """The numbers of a version: by them 6.12 comes after 6.9."""
    return [int(part) for part in release.split("-")[0].split(".") if part.isdigit()]


def find(version: str | None = None) -> Kernel:
    """The newest kernel of a version (``6.1``, ``6.1.192``), or of all. Raises MachineError without one."""
    known = built()
    if not known:
        raise _engine.MachineError(f"no kernel is built for virtual time: `{BUILD}` builds one")
    if version is None:
        return known[-1]
    wanted = numbers(version)
    for kernel in reversed(known):
        if wanted and numbers(kernel.release)[: len(wanted)] == wanted:
            return kernel
    names = [kernel.release for kernel in known]
    raise InputError(
        f"linux={version}: no such kernel is built{did_you_mean(version, names)} "
        f"(there are {', '.join(names)}; `{BUILD}` builds others)"
    )
