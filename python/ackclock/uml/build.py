"""Building a kernel: configuration, make, and a first boot."""

from __future__ import annotations

import fcntl
import json
import os
import stat
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from ackclock import _engine
from ackclock.uml import guest, kernels, recipe, sources
from ackclock.uml.kernels import Kernel
from ackclock.uml.machine import Machine

STEPS = 1100
"""Lines that make prints: files that it makes."""
LOG = "build.log"
POLL_S = 0.2

Progress = Callable[[float], None]


def build(source: Path, jobs: int, progress: Progress) -> Kernel:
    """Builds a kernel into the cache, boots it once, and describes it there. Raises MachineError."""
    if missing := sources.missing_tools():
        raise _engine.MachineError(f"building a kernel needs {', '.join(missing)}: install them")
    source = source.resolve()
    kernels.folder().mkdir(mode=0o700, parents=True, exist_ok=True)
    kernels.check_folder(kernels.folder())
    with alone(), tempfile.TemporaryDirectory(prefix=".build-", dir=kernels.folder()) as temporary:
        tree = Path(temporary, "linux")
        log = kernels.folder() / LOG
        with log.open("wb") as output:
            for fraction in _steps(source, tree, jobs, output):
                progress(fraction)
        release = _release(tree)
        program = tree / "linux"
        found = facts(program)
        place = kernels.place(release)
        place.mkdir(mode=0o700, exist_ok=True)
        disciplines = [
            name for name in recipe.DISCIPLINES if f"NET_SCH_{name.upper()}=y" in _configuration(tree)
        ]
        # A kernel of the same name that runs keeps its file.
        program.chmod(0o755)
        program.replace(place / kernels.PROGRAM)
        kernel = Kernel(release, recipe.digest(), found["controllers"], disciplines, place / kernels.PROGRAM)
        kernel.save()
        log.replace(place / LOG)
        return kernel


@contextmanager
def alone() -> Iterator[None]:
    """Locks the cache: two builds would write one log. Raises MachineError while another build goes on."""
    descriptor = os.open(kernels.folder(), os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError:
        raise _engine.MachineError(
            f"{kernels.folder()}: another build goes on there: wait for its end"
        ) from None
    finally:
        os.close(descriptor)


def check_unpacked(tree: Path, archive: Path) -> None:
    """Refuses an unpacked archive with devices, or links that lead out of it: edits would write through them.

    Raises MachineError.
    """
    for folder, folders, files in os.walk(tree):
        for name in folders + files:
            file = Path(folder, name)
            kind = file.lstat().st_mode
            if stat.S_ISLNK(kind):
                if not file.resolve().is_relative_to(tree.resolve()):
                    raise _engine.MachineError(
                        f"{archive}: has a link out of its folder: {file.relative_to(tree)}"
                    )
            elif not (stat.S_ISREG(kind) or stat.S_ISDIR(kind)):
                raise _engine.MachineError(f"{archive}: has a device or pipe: {file.relative_to(tree)}")


def _steps(source: Path, tree: Path, jobs: int, output: BinaryIO) -> Iterator[float]:
    """Unpacks, edits, configures and compiles. Yields the fraction that is done."""
    tree.mkdir()
    if source.is_dir():
        copy = ["cp", "-a", "--reflink=auto", f"{source}/.", str(tree)]
        yield from _run(copy, tree, output, lambda: 0.0)
        yield from _run(["make", "ARCH=um", "mrproper"], tree, output, lambda: 0.02)
    else:
        # GNU tar takes `..` and links out of the folder for what they are, and writes through neither.
        unpack = ["tar", "-xf", str(source), "--no-same-owner", "--strip-components=1", "-C", str(tree)]
        yield from _run(unpack, tree, output, lambda: 0.0)
        check_unpacked(tree, source)
    try:
        recipe.apply(tree)
    except ValueError as error:
        raise _engine.MachineError(f"{source}: this version of Linux cannot be built yet: {error}") from None
    options = tree / ".ackclock-options"
    options.write_text(recipe.options(), "utf-8")
    configure = ["make", "ARCH=um", f"KCONFIG_ALLCONFIG={options}", "allnoconfig"]
    yield from _run(configure, tree, output, lambda: 0.05)
    made = (tree.parent.parent / LOG).stat().st_size

    def compiled() -> float:
        with (kernels.folder() / LOG).open("rb") as log:
            log.seek(made)
            lines = sum(chunk.count(b"\n") for chunk in iter(lambda: log.read(1 << 16), b""))
        return 0.08 + 0.9 * min(1.0, lines / STEPS)

    yield from _run(["nice", "-n", "5", "make", "ARCH=um", f"-j{jobs}", "linux"], tree, output, compiled)


def _run(command: list[str], tree: Path, output: BinaryIO, fraction: Callable[[], float]) -> Iterator[float]:
    """Runs a step. Yields its fraction from time to time. Raises MachineError for one that fails."""
    environment = {
        name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MFLAGS", "ARCH")
    }
    process = subprocess.Popen(
        command,
        cwd=tree,
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=subprocess.STDOUT,
        env=environment
        | {
            "LC_ALL": "C",
            "KBUILD_BUILD_TIMESTAMP": "1970-01-01",
            "KBUILD_BUILD_USER": "ackclock",
            "KBUILD_BUILD_HOST": "ackclock",
        },
        process_group=0,
    )
    try:
        while process.poll() is None:
            yield fraction()
            time.sleep(POLL_S)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, 9)
            process.wait()
    if process.returncode:
        output.flush()
        text = Path(output.name).read_text("utf-8", errors="replace")
        why = next((line for line in text.splitlines() if "rror" in line), "its output ends there")
        raise _engine.MachineError(
            f"building the kernel failed in `{' '.join(command[:4])}`: {why.strip()} "
            f"(all of it: {output.name})"
        )


def _configuration(tree: Path) -> str:
    return (tree / ".config").read_text("utf-8")


def _release(tree: Path) -> str:
    return (tree / "include/config/kernel.release").read_text("utf-8").strip()


def facts(program: Path) -> dict[str, Any]:
    """Boots a kernel and asks for its release and controllers. Raises MachineError."""
    with Machine(program, guest.Facts()) as machine:
        while machine.running():
            time.sleep(POLL_S / 4)
        found: dict[str, Any] = json.loads((machine.results / "facts").read_text("utf-8"))
        return found
