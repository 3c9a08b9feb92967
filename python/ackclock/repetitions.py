"""Points times repetitions, run on any engine, with the results as they finish.

A point is one scenario under a key of the caller's choice. Its repetitions differ only in the seed. The
caller decides which tables of a run to keep: a sweep of 100,000 runs holds in memory its points, one batch of
jobs, and these tables.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Generic, NamedTuple, TypeVar

from ackclock import _engine
from ackclock.engines import LARGEST_SEED, Engine, Job, Progress
from ackclock.errors import InputError, named, words
from ackclock.result import Run

BATCH = 10_000
"""The largest number of different jobs in a batch."""

MOST_REPETITIONS = 100_000
"""The largest number of repetitions of a scenario."""

Key = TypeVar("Key")


class Point(NamedTuple, Generic[Key]):
    """One scenario, to be run with several seeds."""

    key: Key
    """The caller's name for it: a label, a cell of a grid."""
    plan: _engine.Plan
    """The scenario."""
    seeds: range
    """The seed of each repetition."""
    captures: Sequence[str | None] = ()
    """The file of the packet capture of each repetition. Empty for no captures."""


class Result(NamedTuple, Generic[Key]):
    """One finished run of a point."""

    key: Key
    """The key of its point."""
    repetition: int
    """The number of the repetition, from 0."""
    run: Run


class Broken(NamedTuple, Generic[Key]):
    """A point whose runs end with an exception of a controller."""

    key: Key
    error: Exception

    @property
    def why(self) -> str:
        """The exception, in a line."""
        is_sentence = isinstance(self.error, _engine.ControllerError)
        return " ".join((words(self.error) if is_sentence else named(self.error)).split())


class _Use(NamedTuple, Generic[Key]):
    """One repetition of one point, for which a job is run."""

    key: Key
    repetition: int


def seeds(first: int, repeat: int) -> range:
    """The seeds of ``repeat`` repetitions, counted up from ``first``. Raises InputError past the largest."""
    last = first + repeat - 1
    if last > LARGEST_SEED:
        raise InputError(
            f"{repeat} repetitions from seed {first}: the last seed would be {last}; "
            f"at most {LARGEST_SEED} is allowed"
        )
    return range(first, last + 1)


def check_memory(plans: Sequence[_engine.Plan], repeat: int) -> None:
    """Raises InputError if all runs of the plans together would not fit into memory."""
    runs = len(plans) * repeat
    if runs == 1:
        return  # The engine refuses it.
    needed = sum(plan.inspect()["estimated_memory_bytes"] for plan in plans) * repeat
    available = _engine.available_memory()
    if available is not None and needed > 0.8 * available:
        raise InputError(
            f"{runs} runs: they may take {_size(needed)} of memory together, more than 80% of the "
            f"{available / 1e9:.1f} GB available: repeat less often, or sample less "
            "(record.events = false, record.flow_series = 1s)"
        )


def _size(needed: int) -> str:
    """A size in gigabytes; beyond every machine an estimate says nothing but that."""
    most = 10**15
    return f"more than {_size(most)}" if needed > most else f"{needed / 1e9:.1f} GB"


def count(points: Iterable[Point[Key]]) -> int:
    """The number of results of the points."""
    return sum(len(point.seeds) for point in points)


def results(
    points: Sequence[Point[Key]], engine: Engine, progress: Progress | None = None, batch: int = BATCH
) -> Iterator[Result[Key]]:
    """Runs every repetition of every point and yields the results as they finish.

    A job that several points share is run once and yielded for each of them, if it falls into one batch of
    ``batch`` jobs. Leaving the iterator early stops the runs. Raises the engine's errors.
    """
    total, done = count(points), 0
    for jobs, uses in _batches(points, batch):
        share = sum(map(len, uses))

        def at(fraction: float, done: int = done, share: int = share) -> None:
            if progress is not None:
                progress((done + fraction * share) / total)

        for index, run in engine.run(jobs, at):
            for use in uses[index]:
                yield Result(use.key, use.repetition, run)
        done += share


def _batches(points: Iterable[Point[Key]], batch: int) -> Iterator[tuple[list[Job], list[list[_Use[Key]]]]]:
    """The different jobs in batches, each job with its uses."""
    uses: dict[Job, list[_Use[Key]]] = {}
    for point in points:
        for repetition, seed in enumerate(point.seeds):
            job = Job(point.plan, seed, point.captures[repetition] if point.captures else None)
            if job not in uses and len(uses) == batch:
                yield list(uses), list(uses.values())
                uses = {}
            uses.setdefault(job, []).append(_Use(point.key, repetition))
    if uses:
        yield list(uses), list(uses.values())


def survivors(
    points: Sequence[Point[Key]], engine: Engine, progress: Progress | None = None
) -> Iterator[Result[Key] | Broken[Key]]:
    """As ``results``, with ``Broken`` for a point in which a controller raises an exception.

    An exception ends a batch, so the points that are left run one by one. Raises errors that are not a
    controller's.
    """
    done: set[tuple[Key, int]] = set()
    try:
        for result in results(points, engine, progress):
            done.add((result.key, result.repetition))
            yield result
        return
    except (_engine.MachineError, _engine.ScenarioError, InputError):
        raise
    except Exception:
        left = [point for point in points if any((point.key, n) not in done for n in range(len(point.seeds)))]
    for point in left:
        try:
            yield from (one for one in results([point], engine) if (one.key, one.repetition) not in done)
        except Exception as error:
            yield Broken(point.key, error)
