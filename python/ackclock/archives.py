"""Archives of results: a folder with its inputs as one zip file, and its runs repeated and compared.

The same folder gives the same bytes. An archive comes from others, so nothing of it is written outside the
folder into which it is unpacked, and code in it runs only with ``--trust``.
"""

from __future__ import annotations

import json
import re
import shutil
import stat
import sys
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO

from ackclock import _engine, commands, repetitions, trust
from ackclock.contenders import controller_in
from ackclock.engines import Job, NamedEngine, Progress, registry
from ackclock.errors import InputError, of_file
from ackclock.inputs import Inputs
from ackclock.result import Run, Runs
from ackclock.stored import table_in
from ackclock.sweeps import executors, kept
from ackclock.sweeps.folder import RUNS
from ackclock.sweeps.result import DESCRIPTION, Sweep
from ackclock.sweeps.run import execute, finish
from ackclock.sweeps.work import LINKS
from ackclock.verdict import NOT_JUDGED, Verdict

Resolve = Callable[[str], _engine.Plan]
"""The plan of a scenario as results have it."""

LEFT_OUT = ("chunks", "__pycache__")
"""Folders whose content the tables have as well."""

SUFFIX = ".zip"

DAMAGED = (zipfile.BadZipFile, zlib.error, RuntimeError, EOFError, ValueError)
"""The errors of the reader of archives, which has none of its own for encrypted ones and other methods."""

_PYTHON = re.compile(r"python:(\d{1,9}):(.*)")
"""A controller in Python in a resolved scenario: its number and its label."""

_WHEN = (1980, 1, 1, 0, 0, 0)
"""The time of all files in an archive: the earliest of the format."""

README = """Results of ackclock {version}, with all that repeats them. This command makes each run again and
compares its tables, byte by byte:

    ackclock reproduce {name}

Without `--trust` it runs no code of the archive. Made with {versions}.
"""


@dataclass(frozen=True)
class Repeated:
    """A run, or a table of a sweep, repeated."""

    name: str
    """Its folder or file."""
    seed: int | None
    verdict: Verdict
    why: str


def pack(folder: Path, file: IO[bytes], name: str) -> Inputs:
    """Writes a folder of results into an archive called ``name``. Raises ResultError or InputError.

    Returns its inputs, which say what may be missing.
    """
    found = Inputs.load(folder)
    _check_results(folder, found)
    shown = ", ".join(f"{one} {value}" for one, value in found.versions.items())
    readme = README.format(version=found.versions.get("ackclock", "?"), versions=shown, name=name)
    root = name.removesuffix(SUFFIX)
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(_entry(f"{root}/README.txt"), readme)
        for one in sorted(_files(folder)):
            entry = _entry(f"{root}/{one.relative_to(folder).as_posix()}")
            with one.open("rb") as source, archive.open(entry, "w") as target:
                shutil.copyfileobj(source, target)
    return found


def _check_results(folder: Path, found: Inputs) -> None:
    """Refuses a folder whose runs cannot be repeated."""
    if missing := [place for place in found.places if not (folder / place).is_file()]:
        raise InputError(f"{folder}: {missing[0]} is missing")
    if found.command:
        return
    if (folder / DESCRIPTION).is_file():
        scenarios = [json.loads(row["scenario"]) for row in kept.rows(folder)]
    else:
        scenarios = [run.scenario for run in Runs.load(folder)]
    for scenario in scenarios:
        for flow in scenario["flows"]:
            in_python = _PYTHON.fullmatch(str(flow.get("cc")))
            if in_python and int(in_python[1]) >= len(found.controllers):
                raise InputError(
                    f"{folder}: {in_python[2]} is a controller of a program, whose file is not kept: name "
                    "its file on the command line, as ./FILE.py:CLASS"
                )


def _files(folder: Path) -> Iterator[Path]:
    """The files of results. Links and hidden files are left out."""
    for one in folder.iterdir():
        if one.name.startswith(".") or one.is_symlink() or one.name in LEFT_OUT:
            continue
        if one.is_dir():
            yield from _files(one)
        elif one.is_file():
            yield one


def _entry(name: str) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name, _WHEN)
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.external_attr = (stat.S_IFREG | 0o644) << 16
    return entry


@contextmanager
def opened(file: Path) -> Iterator[Path]:
    """The folder of results in an archive, or ``file`` if it is that folder. Raises InputError."""
    if file.is_dir():
        yield file
        return
    with TemporaryDirectory(prefix="ackclock-archive-") as temporary:
        work = Path(temporary)
        try:
            with zipfile.ZipFile(file) as archive:
                _unpack(archive, work, file)
        except OSError as error:
            raise InputError(f"{file}: cannot be read: {of_file(error)}") from None
        except DAMAGED as error:
            raise InputError(f"{file}: is no archive that can be read ({error})") from None
        found = [one.parent for one in sorted(work.glob("*/inputs.json"))]
        if len(found) != 1:
            raise InputError(f"{file}: is no archive of results: `ackclock read DIR --to archive` writes one")
        try:
            yield found[0]
        except (InputError, _engine.ScenarioError) as error:
            # Its user has never seen the temporary folder.
            raise InputError(str(error).replace(str(found[0]), str(file))) from error


def _unpack(archive: zipfile.ZipFile, work: Path, file: Path) -> None:
    """Writes the files of an archive below ``work``. Refuses all that is no file below it."""
    entries = archive.infolist()
    for entry in entries:
        kind = stat.S_IFMT(entry.external_attr >> 16)
        parts = entry.filename.removesuffix("/").split("/")
        if not set(parts).isdisjoint(("", ".", "..")) or any(one in entry.filename for one in "\\:\0"):
            raise InputError(f"{file}: {entry.filename!r} would be written outside its folder")
        if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
            raise InputError(f"{file}: {entry.filename!r} is a link or a device, and no file")
    names = [entry.filename.removesuffix("/").casefold() for entry in entries]
    if len(set(names)) < len(names):
        raise InputError(f"{file}: has two files of one name")
    size, free = sum(entry.file_size for entry in entries), shutil.disk_usage(work).free
    if size > free:
        raise InputError(f"{file}: needs {size} bytes, and {work.parent} has {free} left")
    for entry in entries:
        target = work / entry.filename
        if entry.is_dir():
            target.mkdir(parents=True, exist_ok=True)
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        with archive.open(entry) as source, target.open("xb") as copy:
            shutil.copyfileobj(source, copy)


def repeat(folder: Path, work: Path, trusted: bool, progress: Progress | None = None) -> Iterator[Repeated]:
    """Repeats the runs of a folder of results in ``work``, and compares each as it finishes.

    Raises InputError for code without ``trusted``, ScenarioError, MachineError.
    """
    found = Inputs.load(folder)
    if found.command:
        commands.check(folder, found, trusted)
        _check_results(folder, found)
        yield from _command(folder, work, found)
        return
    if not trusted and (why := trust.sentence(folder, found.code)):
        raise InputError(why)
    _check_results(folder, found)
    _reach(folder, found)
    files = trust.all_named() if trusted else trust.named()

    def resolve(resolved: str) -> _engine.Plan:
        return _engine.resolve_json(json.dumps(found.moved(json.loads(resolved), folder)), [], files)

    if (folder / DESCRIPTION).is_file():
        yield from _sweep(folder, work, found, resolve, progress)
    else:
        yield from _runs(folder, work, found, resolve, progress)


def _reach(folder: Path, found: Inputs) -> None:
    """Puts the folders of modules in Python before others, for controllers that import them."""
    for one in commands.module_folders(folder, found):
        if one not in sys.path:
            sys.path.insert(0, one)


def _engine_of(name: str, folder: Path, found: Inputs) -> NamedEngine:
    """The engine called ``name`` with the options of the runs. Raises InputError for another than theirs."""
    of = found.engines.get(name)
    if of is None:
        raise InputError(f"{folder}: does not say how the engine {name} ran")
    factories = [
        partial(controller_in(folder / one["file"], one["class"]), **one["parameters"])
        for one in found.controllers
    ]
    more = {} if registry.find(name).no_python else {"controllers": tuple(factories)}
    try:
        made = registry.make(name, **of["options"], **more)
    except (TypeError, ValueError) as error:
        raise InputError(f"{folder}: {error}") from None
    if dict(made.identity()) != of["identity"]:
        then, now = (json.dumps(dict(one)) for one in (of["identity"], made.identity()))
        raise InputError(f"{folder}: was run with {then}, and here it is {now}")
    return made


def _runs(
    folder: Path, work: Path, found: Inputs, resolve: Resolve, progress: Progress | None
) -> Iterator[Repeated]:
    """The runs, engine by engine. Runs in real time are not repeated."""
    places = sorted(one.parent for one in (*folder.glob("run.json"), *folder.glob("*/run.json")))
    loaded = [(place, Run.load(place)) for place in places]
    for name in dict.fromkeys(run.engine["kind"] for _, run in loaded):
        of_engine = [(place, run) for place, run in loaded if run.engine["kind"] == name]
        if name in registry.ENGINES and registry.ENGINES[name].real_time:
            why = f"{registry.ENGINES[name].words} measures anew each time"
            yield from (Repeated(place.name, run.seed, NOT_JUDGED, why) for place, run in of_engine)
            continue
        engine = _engine_of(name, folder, found)
        seeds = [repetitions.seeds(run.seed, 1)[0] for _, run in of_engine]
        plans = [resolve(json.dumps(run.scenario)) for _, run in of_engine]
        jobs = [Job(*one) for one in zip(plans, seeds, strict=True)]
        for job in jobs:
            engine.check(job.plan)
        repetitions.check_memory(plans, 1)
        for index, made in engine.run(jobs, progress):
            place, run = of_engine[index]
            new = made.save(work / (place.name if place != folder else "run"))
            tables = [f"{table}.parquet" for table in run.table_names]
            yield Repeated(place.name, run.seed, *compared(place, new, tables))


def _sweep(
    folder: Path, work: Path, found: Inputs, resolve: Resolve, progress: Progress | None
) -> Iterator[Repeated]:
    """The tables of a sweep."""
    swept = Sweep.load(folder)
    name = next(iter(found.engines), registry.DEFAULT)
    engine = _engine_of(name, folder, found)
    if engine.real_time:
        why = f"{engine.words} measures anew each time"
        yield from (Repeated(f"{table}.parquet", None, NOT_JUDGED, why) for table in (RUNS, LINKS))
        return
    controllers = getattr(engine, "controllers", ())
    plan = kept.KeptPlan(
        (), swept.design, range(0), controllers=controllers, rows=kept.rows(folder), resolve=resolve
    )
    for item in plan.items():
        engine.check(item.plan)
    for _ in execute(plan, work, executors.workers("local"), engine, progress):
        pass
    finish(plan, work)
    for table in (RUNS, LINKS):
        file = f"{table}.parquet"
        yield Repeated(file, None, *compared(folder, work, [file]))


def _command(folder: Path, work: Path, found: Inputs) -> Iterator[Repeated]:
    """The files of a command without runs."""
    files = commands.results(folder)
    if commands.in_real_time(found):
        why = "the engine of the command measures anew each time"
        yield from (Repeated(file, None, NOT_JUDGED, why) for file in files)
        return
    new = commands.repeat(folder, work, found)
    for file in files:
        if file.endswith(".parquet"):
            yield Repeated(file, None, *compared(folder, new, [file]))
        elif not (new / file).is_file():
            yield Repeated(file, None, "miss", "is not written")
        elif (folder / file).read_bytes() == (new / file).read_bytes():
            yield Repeated(file, None, "pass", "the same bytes")
        elif why_not := commands.difference(folder / file, new / file):
            yield Repeated(file, None, "miss", why_not)
        else:
            yield Repeated(file, None, "pass", "the same but for the times that it took")


def compared(folder: Path, new: Path, files: Sequence[str]) -> tuple[Verdict, str]:
    """The verdict on tables that were made again: their files have the same bytes, or their values."""
    by_value = []
    for name in files:
        if (folder / name).read_bytes() == (new / name).read_bytes():
            continue
        if (why := _difference(folder / name, new / name)) is not None:
            return "miss", f"{name}: {why}"
        by_value.append(name)
    if by_value:
        return "pass", f"the same values; {by_value[0]} was written by another version of Arrow"
    return "pass", "the same bytes"


def _difference(then: Path, now: Path) -> str | None:
    """The first difference between two tables, or None if each value has the same bits."""
    old, new = table_in(then), table_in(now)
    if old.num_rows != new.num_rows:
        return f"{old.num_rows} rows, and now {new.num_rows}"
    if old.schema.names != new.schema.names:
        return f"the columns {', '.join(old.schema.names)}, and now {', '.join(new.schema.names)}"
    for name in old.schema.names:
        pairs = zip(old[name].to_pylist(), new[name].to_pylist(), strict=True)
        for row, (before, after) in enumerate(pairs):
            # The shortest text of a number is its bits, also where it is not equal to itself.
            if repr(before) != repr(after):
                return f"{name} in row {row} was {before!r}, and is {after!r}"
    return None
