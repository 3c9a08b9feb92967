"""Executors of the chunks of a sweep: processes of this machine, a dask cluster, or any other.

``loky`` gives the local processes. It notices a crash of a worker. Unlike the standard library's, its workers
need no guard around the main module of a script.
"""

from __future__ import annotations

import os
import socket
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, CancelledError, Executor, Future, wait
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ackclock.engines import POLL_S
from ackclock.errors import InputError
from ackclock.sweeps import work
from ackclock.workers import SAFE_PATH, ignore_interrupts, safe_path, starting, unstoppable

CONNECT_S = 5
"""The time in which a scheduler of dask has to answer."""

LENGTH_BYTES = 8
"""A scheduler greets with a message. This many bytes before it are its length."""

LONGEST_GREETING = 1 << 20
"""It takes less than 200 bytes. The first words of any other service are a much larger number."""

MOST_ATTEMPTS = 3
"""The attempts at a chunk before the sweep gives up. A chunk can be lost with its worker."""

IDLE_S = 30
"""After this time without work a local worker ends, and so also after its parent was killed."""

WORKER_BYTES = 100_000_000
"""The memory of a local worker with its modules."""

Make = Callable[[], AbstractContextManager[Executor]]


class WorkersLostError(InputError):
    """Workers ended again and again while they ran the same chunk. The message is one sentence."""


@dataclass(frozen=True)
class Workers:
    """An executor that can be made anew when it broke, and how much it is given at once."""

    make: Make
    in_flight: int
    """The most chunks under way: enough that no worker waits for the next."""


def workers(executor: Executor | str | None, count: int | None = None) -> Workers:
    """The workers that ``executor`` names.

    ``None`` or ``"local"`` are ``count`` processes (default: one a core), ``"dask"`` is a dask cluster on
    this machine, ``"dask://HOST:PORT"`` one that runs already. An executor is used as it is.

    Raises InputError.
    """
    here = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    processes = count or here
    if executor is None or executor == "local":
        return Workers(lambda: _local(processes), 2 * processes)
    if isinstance(executor, str):
        if executor != "dask" and not executor.startswith("dask://"):
            raise InputError(f"executor `{executor}`: must be local, dask or dask://HOST:PORT")
        address = executor.removeprefix("dask").removeprefix("://")
        if executor != "dask":
            _check_scheduler(address)
        _dask_installed()
        return Workers(lambda: _dask(address, processes), 1000 if address else 2 * processes)
    given = executor
    return Workers(lambda: _lent(given), 2 * max(getattr(given, "_max_workers", 0) or 0, processes))


def check_processes(count: int | None, available: int | None) -> None:
    """Refuses more local processes than memory holds, of which so many bytes are available."""
    if count is not None and available is not None and count * WORKER_BYTES > available:
        raise InputError(
            f"{count} processes: take {count * WORKER_BYTES / 1e9:.1f} GB of memory, "
            f"and {available / 1e9:.1f} GB are available"
        )


def one_thread() -> Workers:
    """A thread of this process: live runs go one after the other, on this machine."""
    from concurrent.futures import ThreadPoolExecutor

    return Workers(lambda: ThreadPoolExecutor(1), 1)


def run(workers: Workers, chunks: Iterable[work.Chunk], stop: Path) -> Generator[work.Done, None, None]:
    """Sends the chunks and yields their results as they come.

    A chunk that was lost with its worker is sent again. When the iterator is left early, the file ``stop`` is
    made, which ends the workers' chunks. Raises the error of a run, and WorkersLostError.
    """
    source = iter(chunks)
    again: deque[tuple[work.Chunk, int]] = deque()
    with ExitStack() as stack:
        executor = stack.enter_context(workers.make())
        stack.enter_context(_stopping(stop))
        under_way: dict[Future[work.Done], tuple[work.Chunk, int]] = {}
        while True:
            while len(under_way) < workers.in_flight:
                if again:
                    chunk, attempt = again.popleft()
                elif (fresh := next(source, None)) is not None:
                    chunk, attempt = fresh, 1
                else:
                    break
                with starting():
                    under_way[executor.submit(work.run, chunk)] = chunk, attempt
            if not under_way:
                return
            finished, _ = wait(under_way, POLL_S, FIRST_COMPLETED)
            broken = False
            for future in finished:
                chunk, attempt = under_way.pop(future)
                try:
                    yield future.result()
                except (BrokenExecutor, CancelledError) as error:
                    broken = True
                    again.append((chunk, _next(chunk, attempt, error)))
                except Exception as error:
                    if type(error).__name__ != "KilledWorker":
                        raise
                    again.append((chunk, _next(chunk, attempt, error)))
            if broken:
                again.extend((chunk, attempt) for chunk, attempt in under_way.values())
                under_way.clear()
                executor = stack.enter_context(workers.make())


@contextmanager
def _stopping(stop: Path) -> Iterator[None]:
    """Makes the file ``stop`` when the block ends early, by an error or an interruption."""
    stop.unlink(missing_ok=True)
    try:
        yield
    except BaseException:
        stop.touch()
        raise


def _next(chunk: work.Chunk, attempt: int, error: BaseException) -> int:
    """The number of the next attempt. Raises WorkersLostError after the last."""
    if attempt == MOST_ATTEMPTS:
        first = chunk.items[0]
        where = ", ".join(f"{key}={value}" for key, value in first.point.items())
        raise WorkersLostError(
            f"the workers of {len(chunk.items)} runs ended {attempt} times, from {first.controller}, "
            f"{where}, seed {first.seed} on: a crash in C, or too little memory ({type(error).__name__})"
        ) from error
    return attempt + 1


@contextmanager
def _local(processes: int) -> Iterator[Executor]:
    import loky

    # A thread of the pool may start workers, too.
    safe = {SAFE_PATH: "1"}
    _track()
    with safe_path():
        pool = loky.ProcessPoolExecutor(processes, timeout=IDLE_S, initializer=ignore_interrupts, env=safe)
    try:
        yield pool
    finally:
        _shut_down(pool)


def _track() -> None:
    """Starts the tracker of the standard library. Its start, which a worker would bring, unblocks Ctrl-C."""
    from multiprocessing import resource_tracker

    with safe_path():
        resource_tracker.ensure_running()


def _shut_down(pool: Any) -> None:
    """Waits for the workers, which end their runs. Another Ctrl-C ends them as they are.

    They must not outlive it: at its end the interpreter waits for them, and they for a word of the pool.
    """
    try:
        pool.shutdown(wait=True, kill_workers=False)
    except BaseException:
        with unstoppable():
            pool.shutdown(wait=True, kill_workers=True)
        raise


@contextmanager
def _lent(executor: Executor) -> Iterator[Executor]:
    """An executor that is the caller's: it is not shut down."""
    yield executor


def _dask_installed() -> None:
    try:
        import distributed  # noqa: F401
    except ImportError:
        raise InputError("executor dask: needs dask: python -m pip install 'dask[distributed]'") from None


@contextmanager
def _dask(address: str, processes: int) -> Iterator[Executor]:
    """The executor of a dask cluster: the one at ``address``, or a new one of this machine."""
    import logging

    from distributed import Client

    if address:
        # After its end, too: a client would try for half a minute.
        _check_scheduler(address)
    # A lost connection is said in one sentence, not by tracebacks of each of its tasks.
    for name in ["asyncio", *logging.root.manager.loggerDict]:
        if name.startswith(("asyncio", "distributed", "tornado")):
            logging.getLogger(name).setLevel(logging.CRITICAL)
    given: dict[str, Any] = {"address": f"tcp://{address}"} if address else {"n_workers": processes}
    if not address:
        given |= {"threads_per_worker": 1, "dashboard_address": None}
    connect: Any = Client
    try:
        # A process of a new cluster begins in a thread that begins here, and leaves Ctrl-C to this one, too.
        _track()
        with safe_path() if address else starting():
            client = connect(**given, set_as_default=False)
    except OSError as error:
        raise InputError(f"executor dask://{address}: cannot be reached: {error}") from None
    with ExitStack() as closing:
        closing.enter_context(client)
        executor = closing.enter_context(client.get_executor(pure=False))
        try:
            yield executor
        finally:
            with unstoppable():
                closing.close()


def _check_scheduler(address: str) -> None:
    """Raises InputError unless something at ``HOST:PORT`` answers as a scheduler does.

    A client of dask tries for half a minute where nothing listens, and for ever where nothing answers.
    """
    host, _, port = address.rpartition(":")
    if not host or not port.isdecimal():
        raise InputError(f"executor dask://{address}: must be dask://HOST:PORT, as in dask://10.0.0.1:8786")
    try:
        with socket.create_connection((host.strip("[]"), int(port)), CONNECT_S) as connection:
            greeting = connection.recv(LENGTH_BYTES)
    except (OSError, OverflowError) as error:
        raise InputError(f"executor dask://{address}: cannot be reached: {error}") from None
    if not 0 < int.from_bytes(greeting, "little") <= LONGEST_GREETING:
        raise InputError(f"executor dask://{address}: is no scheduler of dask")
