"""The needs of a build on this machine: sources of Linux, and tools."""

from __future__ import annotations

import re
import shutil
import tarfile
from pathlib import Path

from ackclock.errors import InputError
from ackclock.uml import kernels

TOOLS = ("make", "gcc", "flex", "bison", "bc", "tar", "xz")
"""The programs that a build calls."""
SOURCES = Path("/usr/src")
"""The folder of the sources that a distribution's package carries."""
PACKAGE = "linux-source"


def missing_tools() -> list[str]:
    """The programs that a build needs and this machine lacks."""
    return [tool for tool in TOOLS if shutil.which(tool) is None]


def archives() -> list[Path]:
    """The sources of the distribution's packages, the oldest version first."""
    found = SOURCES.glob(f"{PACKAGE}-*.tar.*")
    return sorted(found, key=lambda file: kernels.numbers(_version_in(file.name)))


def _version_in(name: str) -> str:
    found = re.search(r"\d+(\.\d+)+", name)
    return found.group().rstrip(".") if found else ""


def find(given: Path | None, oldest: bool = False) -> Path:
    """The tree or archive to build from: ``given``, or the newest or oldest package. Raises InputError."""
    if given is None:
        if not (known := archives()):
            raise InputError(
                f"no sources of Linux in {SOURCES}: install them (Debian: `apt install {PACKAGE}`), or name "
                "a tree or an archive"
            )
        return known[0 if oldest else -1]
    if given.is_dir() and not (given / "arch" / "um" / "Kconfig").is_file():
        raise InputError(f"{given}: is no tree of the sources of Linux: it has no arch/um/Kconfig")
    if not given.is_dir() and not (given.is_file() and tarfile_or_not(given)):
        raise InputError(f"{given}: must be a tree of the sources of Linux, or an archive of one")
    return given


def tarfile_or_not(file: Path) -> bool:
    """True for an archive that tar reads."""
    try:
        return tarfile.is_tarfile(file)
    except OSError:
        return False
