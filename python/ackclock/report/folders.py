"""The folder of a report: written whole or not at all, or one in which interrupted work can go on."""

from __future__ import annotations

import glob
import json
import os
import shutil
import tempfile
import time
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from ackclock import _engine
from ackclock.errors import InputError, of_file
from ackclock.report import locks
from ackclock.report.files import write_json
from ackclock.report.page import GENERATOR, Page, why


class FolderError(InputError):
    """The output folder cannot be used."""


class PageError(Exception):
    """The page of a report cannot be written, for the reason in its cause. The folder keeps the runs."""


@contextmanager
def page_of(folder: Path, title: str) -> Iterator[None]:
    """Writes a page with one sentence, and raises PageError, if the page of the block cannot be written."""
    try:
        yield
    except Exception as error:
        page = Page(title)
        page.paragraph(f"The page cannot be written{why(error)}. The runs are here.", "miss")
        page.write(folder / "index.html")
        raise PageError from error


STALE_S = 60.0
"""An unfinished folder older than this that no process has locked was left by a killed process."""


SHORT = 100
"""The longest name, in bytes, that is part of a temporary name as a whole: file systems allow 255."""


def _prefix(target: Path) -> str:
    """The beginning of the temporary names of a folder. A long name has its first part and a checksum."""
    name = target.name.encode(errors="surrogateescape")
    if len(name) > SHORT:
        start = name[:SHORT].decode(errors="ignore")
        return f".{start}-{zlib.crc32(name):08x}.ackclock-"
    return f".{target.name}.ackclock-"


def check_folder(folder: Path, force: bool) -> None:
    """Raises FolderError unless the folder can be written and is empty, or a report with ``force``."""
    with _in_words(folder):
        target = Path(os.path.realpath(folder))
        with suppress(FileNotFoundError, NotADirectoryError):
            target.lstat()  # refuses a name that is too long
        if target.exists() and not target.is_dir():
            raise FolderError(f"--out {folder}: is a file, but must be a folder")
        if target.exists() and any(target.iterdir()):
            if not force:
                raise FolderError(f"--out {folder}: the folder is not empty; --force replaces it")
            if not _is_report(target):
                raise FolderError(
                    f"--out {folder}: holds something that is no report of ackclock, "
                    "and --force replaces only those: empty the folder or name another"
                )
        here = Path(os.path.realpath(os.curdir))
        if target.exists() and (here == target or target in here.parents):
            # A new folder would take its name, and a shell inside would be in a deleted folder.
            raise FolderError(f"--out {folder}: the current folder cannot be replaced: name a folder in it")
        if os.path.ismount(target):
            raise FolderError(f"--out {folder}: is the root of a file system: name a folder in it")
        parent = target.parent
        while not parent.exists():
            parent = parent.parent
        if not parent.is_dir() or not os.access(parent, os.W_OK | os.X_OK):
            raise FolderError(f"--out {folder}: {parent} cannot be written to")


@contextmanager
def new_folder(folder: Path, force: bool = False) -> Iterator[Path]:
    """A folder that gets its name only when the block ends without an error. Otherwise it is removed.

    After a PageError the folder gets its name, and the cause is raised.

    Until then it has a temporary name in the same parent and is locked. Folders that killed processes left
    there are removed. Raises FolderError at once if another process has begun this folder.
    """
    check_folder(folder, force)
    target = Path(os.path.realpath(folder))
    prefix = _prefix(target)
    with _in_words(folder):
        target.parent.mkdir(parents=True, exist_ok=True)
        _remove_stale(target.parent, prefix)
        work = Path(tempfile.mkdtemp(prefix=prefix, dir=target.parent))
        lock = locks.lock(work)
        try:
            # This comes after its own lock. If two processes begin at once, at least one sees the other.
            if any(locks.is_locked(other) for other in _unfinished(target.parent, prefix) if other != work):
                raise FolderError(f"--out {folder}: another ackclock is at work on it")
            failed = None
            try:
                yield work
            except PageError as error:
                failed = error.__cause__
            work.chmod(0o755)
            _put_in_place(work, target, force)
            if failed is not None:
                raise failed
        finally:
            locks.unlock(lock)
            shutil.rmtree(work, ignore_errors=True)


SETTINGS = "settings.json"
"""The file with the settings that a resumable folder was started with."""


@contextmanager
def resumable_folder(folder: Path, settings: Mapping[str, Any], force: bool = False) -> Iterator[Path]:
    """A folder that stays however the block ends, so that interrupted work can go on in it.

    It is locked during the block. A folder that was started with the same ``settings`` and version of
    ackclock is used again. Any other that is not empty is refused, or replaced with ``force`` if it is a
    report.
    """
    settings = json.loads(json.dumps({"ackclock": _engine.version(), **settings}))
    target = Path(os.path.realpath(folder))
    if force or not (target / SETTINGS).exists():
        check_folder(folder, force)
    with _in_words(folder):
        if force and target.exists():
            with _locked(folder, target):
                old = Path(tempfile.mkdtemp(prefix=_prefix(target), dir=target.parent))
                target.rename(old)
            shutil.rmtree(old, ignore_errors=True)
        target.mkdir(parents=True, exist_ok=True)
        with _locked(folder, target):
            if (target / SETTINGS).exists():
                _check_settings(folder, target / SETTINGS, settings)
            else:
                write_json(target / SETTINGS, settings)
            yield target


@contextmanager
def _locked(folder: Path, target: Path) -> Iterator[None]:
    try:
        lock = locks.lock(target)
    except BlockingIOError:
        raise FolderError(f"--out {folder}: another ackclock is at work in it") from None
    try:
        yield
    finally:
        locks.unlock(lock)


def _check_settings(folder: Path, file: Path, settings: Mapping[str, Any]) -> None:
    """Raises FolderError for a folder that was started with other settings."""
    begun = _begun(file)
    if begun is None:
        raise FolderError(f"--out {folder}: {file.name} does not hold the settings of a report")
    for key, value in settings.items():
        if begun.get(key) != value:
            then, now = (_listed(one) for one in (begun.get(key), value))
            raise FolderError(
                f"--out {folder}: was started with {key} {then}, and now it is {now}: "
                "repeat the same, name another folder, or replace this one with --force"
            )


def _begun(file: Path) -> dict[str, Any] | None:
    """The settings in a file, or none. Raises OSError."""
    try:
        begun = json.loads(file.read_text("utf-8"))
    except ValueError:
        return None
    return begun if isinstance(begun, dict) else None


def _listed(value: Any) -> str:
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)


@contextmanager
def _in_words(folder: Path) -> Iterator[None]:
    """Raises FolderError, one sentence, for an error of the file system."""
    try:
        yield
    except OSError as error:
        raise FolderError(f"--out {folder}: {of_file(error)}") from error


def _put_in_place(work: Path, target: Path, force: bool) -> None:
    """Renames ``work`` to ``target``. Replaces an empty folder, and a report only with ``force``."""
    if not (force and target.exists() and _is_report(target)):
        work.rename(target)
        return
    old = work.with_name(f"{work.name}.old")
    target.rename(old)
    try:
        work.rename(target)
    except OSError:
        old.rename(target)
        raise
    shutil.rmtree(old, ignore_errors=True)


def _is_report(folder: Path) -> bool:
    """True for a folder with a page of ackclock, and for one without that was interrupted before its page."""
    with suppress(OSError), (folder / "index.html").open("rb") as page:
        return GENERATOR.encode() in page.read(1000)
    with suppress(OSError):
        return "ackclock" in (_begun(folder / SETTINGS) or {})
    return False


def _unfinished(parent: Path, prefix: str) -> Iterator[Path]:
    return parent.glob(f"{glob.escape(prefix)}*")


def _remove_stale(parent: Path, prefix: str) -> None:
    for left in _unfinished(parent, prefix):
        try:
            if time.time() - left.stat().st_mtime < STALE_S or not locks.LOCKS:
                continue
            lock = locks.lock(left)
        except OSError:
            continue
        shutil.rmtree(left, ignore_errors=True)
        locks.unlock(lock)
