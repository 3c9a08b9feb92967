"""Running a sweep: chunks of missing runs go to the workers, their rows into the folder."""

from __future__ import annotations

import itertools
import os
import re
import shutil
import uuid
import weakref
from collections.abc import Generator, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from ackclock import _engine, repetitions
from ackclock.controller import Controller
from ackclock.engines import NamedEngine, Progress, registry
from ackclock.errors import InputError
from ackclock.report.files import write_json
from ackclock.running import Described, described
from ackclock.scenario import Factory, display_name, read
from ackclock.sweeps import executors, kept, work
from ackclock.sweeps.axes import DRAWS, Axis, Design, axis
from ackclock.sweeps.executors import Workers
from ackclock.sweeps.folder import SweepFolder
from ackclock.sweeps.lines import LINES, parse_over
from ackclock.sweeps.plan import Plan, Resolve, Variant
from ackclock.sweeps.result import DESCRIPTION, Sweep
from ackclock.trust import all_named

CHUNK_S = 1.5
"""The work of a chunk in seconds: much more than sending it costs."""

LAST_CHUNK_S = 0.1
"""The least work of a chunk near the end, when all workers should stay busy."""

WORK_PER_WRITING = 10.0
"""The least ratio of the time of a chunk to the time of writing its rows."""

FIRST_CHUNK = 4
"""The runs of the first chunk, before the time of a run is known."""

MOST_IN_CHUNK = 2000


@dataclass
class Pace:
    """The number of runs in a chunk, from the time that the chunks before it took."""

    most: int = MOST_IN_CHUNK
    runs: int = 0
    seconds: float = 0.0
    chunks: int = 0
    writing: float = 0.0

    def saw(self, done: work.Done) -> None:
        """Notes a chunk that came back."""
        self.runs += done.runs
        self.seconds += done.seconds
        self.chunks += 1
        self.writing += done.writing

    def size(self, left: int, in_flight: int) -> int:
        """The runs of the next chunk, where at most ``left`` are left for ``in_flight`` chunks at a time."""
        if not self.runs:
            return min(FIRST_CHUNK, self.most)
        seconds = max(self.seconds, 1e-9) / self.runs
        share = max(LAST_CHUNK_S, min(CHUNK_S, left * seconds / in_flight))
        wanted = max(share, WORK_PER_WRITING * self.writing / self.chunks)
        return max(1, min(self.most, int(wanted / seconds)))


@dataclass
class Outcome:
    """The outcome of a sweep."""

    done: int
    """The runs that are in the folder, of ``total``."""
    total: int
    invalid: list[str]
    """The reasons why live runs went past their error budget, a sentence each."""
    latest: work.Example | None = None
    """One of the runs whose rows came back last."""


def execute(
    plan: Plan,
    folder: Path,
    workers: Workers,
    engine: NamedEngine | None = None,
    progress: Progress | None = None,
) -> Generator[Outcome, None, None]:
    """Makes the runs that ``folder`` lacks, and yields the outcome so far each time that rows come back.

    Without ``engine`` the runs are simulated.

    Leaving the iterator early, as Ctrl-C does, ends the work within a second. Finished runs are in the
    folder. Raises the error of a run, and WorkersLost.
    """
    store = SweepFolder(folder)
    present = store.digests()
    outcome = Outcome(0, len(plan), [])
    engine = engine or registry.make(registry.DEFAULT, controllers=tuple(plan.controllers))
    alone = engine.alone()
    pace = Pace(1 if engine.real_time else MOST_IN_CHUNK)
    left = len(plan)

    def missing() -> Iterator[work.Item]:
        nonlocal left
        for item in plan.items():
            left -= 1
            if item.digest in present:
                outcome.done += 1
            else:
                yield item

    def chunks() -> Iterator[work.Chunk]:
        rest = missing()
        while items := tuple(itertools.islice(rest, pace.size(left, workers.in_flight))):
            yield work.Chunk(items, folder.resolve(), alone)

    with closing(executors.run(workers, chunks(), store.chunks / work.STOP)) as finished:
        for done in finished:
            pace.saw(done)
            outcome.done += done.runs
            outcome.invalid += done.invalid
            outcome.latest = done.first
            if progress is not None:
                progress(outcome.done / outcome.total)
            yield outcome
    yield outcome


def finish(plan: Plan, folder: Path) -> Sweep:
    """Puts the rows of the sweep in order, writes its tables and its description, and gives the result."""
    store = SweepFolder(folder)
    digests, controllers = [], dict[str, None]()
    for item in plan.items():
        digests.append(item.digest)
        controllers[item.controller] = None
    store.write(digests)
    sweep = Sweep(folder, plan.design, list(controllers))
    write_json(folder / DESCRIPTION, {"version": _engine.version(), **sweep.described()})
    kept.keep(plan, folder)
    return sweep


def sweep(
    scenario: Described,
    controllers: Sequence[str | type[Controller]] | None = None,
    *,
    over: Mapping[str, str | Sequence[object]] | Sequence[str],
    repeat: int = 1,
    seed: int | None = None,
    samples: int | None = None,
    draw: str = DRAWS[0],
    duration: str | None = None,
    warmup: str | None = None,
    executor: Executor | str | None = None,
    processes: int | None = None,
    engine: str = registry.DEFAULT,
    out: str | Path | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> Sweep:
    """Runs a scenario over values of its keys, and gives the table of all runs and its plots:

        swept = ackclock.sweep(
            ackclock.Path("50mbit", rtt="20ms", queue="1bdp"),
            ["cubic", "cdg"],
            over={"queue": ["0.1bdp", "1bdp", "5bdp"]},
            repeat=5,
            duration="20s",
        )
        print(swept.runs.select(["controller", "path.queue", "goodput_bps"]))
        swept.plot("queue_delay_p95")

    ``over`` has the values of each key: a list, or a range as text (``"1mbit..1gbit*10log"``). With several
    keys all combinations are run. The values of keys joined by ``:`` change together. With ``samples`` that
    many points are drawn from lists and ranges instead, by ``draw``: ``"latin-hypercube"``, ``"sobol"`` or
    ``"random"``. Each of ``controllers`` runs alone. Without them the flows of the scenario run as they are.

    ``executor`` says where: ``None`` for the cores of this machine (``processes`` of them), ``"dask"`` or
    ``"dask://HOST:PORT"``, or any ``concurrent.futures.Executor``, whose workers must reach the folder
    ``out`` under the same name. With ``out`` the tables stay there, and a sweep that was interrupted goes
    on: a run that is in the folder is not repeated. Without it they are in a temporary folder that goes
    with the result. ``engine`` runs it, with its options: see ``ackclock.simulate``.

    Raises ScenarioError or InputError for a sweep that cannot be run, and the errors of controllers.
    """
    if repeat < 1:
        raise ValueError(f"repeat is {repeat}: must be at least 1")
    kind = registry.find(engine)
    design = Design(tuple(_axes(over)), samples, draw, 1 if seed is None else seed)
    given = {"duration": duration, "warmup": warmup, "seed": seed}
    set_keys = {key: str(value) for key, value in given.items() if value is not None}
    variants, factories = _variants(scenario, controllers)
    first = first_seed(variants, design, set_keys)
    # No digest covers a controller in Python, so its runs are never taken from a folder.
    context = uuid.uuid4().hex if factories else ""
    if factories and kind.no_python is None:
        options |= {"controllers": tuple(factories)}
    runner = registry.make(engine, **options)
    plan = Plan(variants, design, repetitions.seeds(first, repeat), set_keys, factories, context)
    plan = plan.on(runner)
    plan.check(runner)
    where = executors.one_thread() if runner.real_time else executors.workers(executor, processes)
    folder = Path(mkdtemp(prefix="ackclock-sweep-") if out is None else out)
    folder.mkdir(parents=True, exist_ok=True)
    try:
        for _ in execute(plan, folder, where, runner, progress):
            pass
        result = finish(plan, folder)
    except BaseException:
        if out is None:
            shutil.rmtree(folder, ignore_errors=True)
        raise
    if out is None:
        weakref.finalize(result, shutil.rmtree, folder, ignore_errors=True)
    return result


def first_seed(variants: Sequence[Variant], design: Design, settings: Mapping[str, str]) -> int:
    """The seed of the scenario, with its overrides: the first repetition has it. Raises ScenarioError."""
    point = design.overrides(next(design.points()))
    return variants[0].resolve(list({**settings, **point}.items())).seed


def _axes(over: Mapping[str, str | Sequence[object]] | Sequence[str]) -> Iterator[Axis]:
    if isinstance(over, str):
        raise TypeError(
            f'over is {over!r}: it must be a dict, as in {{"queue": ["0.1bdp", "1bdp"]}}, or a list'
        )
    if isinstance(over, Mapping):
        for key, values in over.items():
            yield parse_over(f"{key}={values}") if key == LINES else axis(key, values)
    else:
        yield from map(parse_over, over)


def _variants(
    scenario: Described, controllers: Sequence[str | type[Controller]] | None
) -> tuple[list[Variant], list[Factory]]:
    """The scenario with each controller, or as it is, and the makers of controllers written in Python."""
    if isinstance(controllers, str):
        raise TypeError(f'controllers is {controllers!r}: it must be a list, as in ["cubic"]')
    if controllers is None and isinstance(scenario, str | os.PathLike):
        return [Variant(of_file(Path(scenario), all_named()))], []
    files = all_named()
    variants: list[Variant] = []
    factories: list[Factory] = []
    for cc in controllers or (None,):
        # The makers of all scenarios are one list: each scenario counts its own from 0.
        text, own = described(scenario, None if cc is None else [cc], files).as_json()
        name = None if cc is None else display_name(cc) if isinstance(cc, str) else cc.__name__
        if name is not None and name in [one.controller for one in variants]:
            raise InputError(f"{name}: is named twice")
        variants.append(Variant(of_document(_counted_from(len(factories), text), files), name))
        factories += own
    return variants, factories


def _counted_from(first: int, text: str) -> str:
    """The document with the numbers of its controllers in Python counted from ``first``."""
    return re.sub(r'"python:(\d+):', lambda found: f'"python:{int(found[1]) + first}:', text)


def of_document(document: str, files: _engine.Files) -> Resolve:
    """A scenario in JSON, to be resolved with overrides. ``files`` reads what it names."""
    return lambda overrides: _engine.resolve_json(document, overrides, files)


def of_file(file: Path, files: _engine.Files) -> Resolve:
    """A scenario file, to be resolved with overrides. Raises ScenarioError, or OSError."""
    text = read(file)
    return lambda overrides: _engine.resolve(text, os.fspath(file), overrides, files)
