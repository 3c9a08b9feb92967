"""Reports: a folder with a self-contained page, the pictures and the tables, written whole or not at all."""

from __future__ import annotations

import base64
import fcntl
import glob
import io
import json
import os
import platform
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ackclock import _engine
from ackclock.errors import InputError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CSS = """
:root { color-scheme: light; }
body { font: 15px/1.5 system-ui, sans-serif; color: #222; }
body { max-width: 62rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.2rem; margin-top: 2.5rem; border-bottom: 1px solid #ddd; }
figure { margin: 1.2rem 0; } figure img { max-width: 100%; } figcaption { color: #555; font-size: .9rem; }
table { border-collapse: collapse; margin: 1rem 0; font-size: .9rem; }
th { text-align: left; border-bottom: 2px solid #bbb; }
td, th { padding: .25rem .7rem; vertical-align: top; } tr + tr td { border-top: 1px solid #eee; }
td.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.pass { color: #006b4f; font-weight: 600; } .miss { color: #b03a00; font-weight: 600; }
.cited, .informative { color: #666; }
pre { background: #f6f6f6; padding: .8rem; overflow-x: auto; font-size: .8rem; } .note { color: #555; }
"""


class FolderError(InputError):
    """The output folder cannot be used."""


GENERATOR = '<meta name="generator" content="ackclock">'
"""What tells a page of ours: ``--force`` replaces nothing else."""

STALE_S = 60.0
"""A folder of an unfinished report that is so old and that nobody holds was left by a killed process."""


def check_folder(folder: Path, force: bool) -> None:
    """Refuses a folder that cannot be written or holds something; ``force`` lets a report be replaced."""
    with _in_words(folder):
        target = Path(os.path.realpath(folder))
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
        if os.path.ismount(target):
            raise FolderError(f"--out {folder}: is the root of a file system: name a folder in it")
        parent = target.parent
        while not parent.exists():
            parent = parent.parent
        if not parent.is_dir() or not os.access(parent, os.W_OK | os.X_OK):
            raise FolderError(f"--out {folder}: {parent} cannot be written to")


@contextmanager
def new_folder(folder: Path, force: bool = False) -> Iterator[Path]:
    """A folder that gets its name only when the block has ended well; otherwise nothing is left behind.

    Until then it lies beside its place, locked. What a killed process left there is removed.
    """
    check_folder(folder, force)
    target = Path(os.path.realpath(folder))
    prefix = f".{target.name}.ackclock-"
    with _in_words(folder):
        target.parent.mkdir(parents=True, exist_ok=True)
        _remove_stale(target.parent, prefix)
        work = Path(tempfile.mkdtemp(prefix=prefix, dir=target.parent))
        lock = os.open(work, os.O_RDONLY)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            yield work
            work.chmod(0o755)
            _put_in_place(work, target, force)
        finally:
            os.close(lock)
            shutil.rmtree(work, ignore_errors=True)


SETTINGS = "settings.json"
"""What a lasting folder was begun with."""


@contextmanager
def lasting_folder(folder: Path, settings: Mapping[str, Any], force: bool = False) -> Iterator[Path]:
    """A folder that is there from the start and stays, whatever ends the block, so that work can go on in it.

    It is locked meanwhile. One that was begun with the same ``settings``, kernel and version of ackclock is
    taken as it is; any other that holds something is refused, or gives way to a new one with ``force`` if it
    is a report.
    """
    made_with = {"ackclock": _engine.version(), "kernel": platform.release()}
    settings = json.loads(json.dumps(made_with | dict(settings)))
    target = Path(os.path.realpath(folder))
    if force or not (target / SETTINGS).exists():
        check_folder(folder, force)
    with _in_words(folder):
        if force and target.exists():
            with _locked(folder, target):
                old = Path(tempfile.mkdtemp(prefix=f".{target.name}.ackclock-", dir=target.parent))
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
    descriptor = os.open(target, os.O_RDONLY | os.O_DIRECTORY)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise FolderError(f"--out {folder}: another ackclock is at work in it") from None
        yield
    finally:
        os.close(descriptor)


def _check_settings(folder: Path, file: Path, settings: Mapping[str, Any]) -> None:
    """Refuses a folder that was begun with other settings than these."""
    try:
        begun = json.loads(file.read_text("utf-8"))
    except ValueError:
        begun = None
    if not isinstance(begun, dict):
        raise FolderError(f"--out {folder}: {file.name} does not hold the settings of a report")
    for key, value in settings.items():
        if begun.get(key) != value:
            then, now = (_listed(one) for one in (begun.get(key), value))
            raise FolderError(
                f"--out {folder}: was begun with {key} {then}, and now it is {now}: "
                "repeat the same, name another folder, or replace this one with --force"
            )


def _listed(value: Any) -> str:
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)


@contextmanager
def _in_words(folder: Path) -> Iterator[None]:
    """Turns an error of the file system into one sentence."""
    try:
        yield
    except OSError as error:
        raise FolderError(f"--out {folder}: {error.strerror or error}") from error


def _put_in_place(work: Path, target: Path, force: bool) -> None:
    """Renames ``work`` to ``target``. An empty folder gives way, a report only with ``force``."""
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
    try:
        with (folder / "index.html").open("rb") as page:
            return GENERATOR.encode() in page.read(1000)
    except OSError:
        return False


def _remove_stale(parent: Path, prefix: str) -> None:
    for left in parent.glob(f"{glob.escape(prefix)}*"):
        try:
            if time.time() - left.stat().st_mtime < STALE_S:
                continue
            descriptor = os.open(left, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        except OSError:
            continue
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(left, ignore_errors=True)
        except BlockingIOError:
            continue
        finally:
            os.close(descriptor)


def host() -> dict[str, Any]:
    """What a result was made with."""
    return {
        "ackclock": _engine.version(),
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.release()}",
        "machine": platform.machine(),
        "cores": os.cpu_count(),
        "written": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def write_json(path: Path, document: Mapping[str, Any]) -> None:
    """Writes a JSON file that people can read."""
    write_whole(path, json.dumps(document, indent=2, allow_nan=False) + "\n")


def write_whole(path: Path, text: str) -> None:
    """Writes or replaces a file; its name never stands for half of the text, even if the power fails."""
    unfinished = path.with_name(f".{path.name}.part")
    with unfinished.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    unfinished.rename(path)


class Page:
    """A page of HTML that needs no other file: pictures are embedded."""

    def __init__(self, title: str) -> None:
        self.title = title
        self._parts: list[str] = [f"<h1>{escape(title)}</h1>"]

    def heading(self, text: str, anchor: str = "") -> None:
        """A section heading."""
        self._parts.append(f'<h2 id="{escape(anchor)}">{escape(text)}</h2>')

    def paragraph(self, text: str, css: str = "") -> None:
        """A paragraph of plain text."""
        self._parts.append(f'<p class="{css}">{escape(text)}</p>')

    def table(
        self,
        headings: Sequence[str],
        rows: Sequence[Sequence[str]],
        css_column: int | None = None,
        numbers: bool = True,
    ) -> None:
        """A table; ``numbers`` stand right, the cells of ``css_column`` take their text as CSS class."""
        head = "".join(f"<th>{escape(h)}</th>" for h in headings)
        body = []
        for row in rows:
            cells = []
            for i, cell in enumerate(row):
                number = numbers and (cell[:1].isdigit() or cell[:1] == "-")
                css = cell if i == css_column else "number" if number else ""
                cells.append(f'<td class="{escape(css)}">{escape(cell)}</td>')
            body.append(f"<tr>{''.join(cells)}</tr>")
        self._parts.append(f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody></table>")

    def figure(self, png: bytes, caption: str) -> None:
        """A picture with its caption."""
        data = base64.b64encode(png).decode("ascii")
        self._parts.append(
            f'<figure><img alt="{escape(caption)}" src="data:image/png;base64,{data}">'
            f"<figcaption>{escape(caption)}</figcaption></figure>"
        )

    def details(self, summary: str, text: str) -> None:
        """A block of text that opens on a click."""
        self._parts.append(
            f"<details><summary>{escape(summary)}</summary><pre>{escape(text)}</pre></details>"
        )

    def write(self, path: Path) -> None:
        """Writes the page."""
        head = f'<meta charset="utf-8">{GENERATOR}<title>{escape(self.title)}</title><style>{CSS}</style>'
        body = "\n".join(self._parts)
        write_whole(
            path, f'<!doctype html>\n<html lang="en"><head>{head}</head>\n<body>\n{body}\n</body></html>\n'
        )


def png(figure: Figure) -> bytes:
    """A figure as PNG, twice as fine as it is shown."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=200, metadata={"Software": "ackclock"})
    return buffer.getvalue()


def number(value: float | None, digits: int = 4) -> str:
    """A number for a table: four significant digits, a dash where there is none."""
    if value is None or value != value:
        return "-"
    if value in (float("inf"), float("-inf")):
        return "∞" if value > 0 else "-∞"
    text = f"{value:.{digits}g}"
    return f"{value:.0f}" if "e" in text and abs(value) < 1e12 else text
