"""Executors of sweeps: which are refused, and how often a lost chunk is tried again."""

import contextlib
import socket
import subprocess
import sys
import threading
from concurrent.futures import BrokenExecutor, ThreadPoolExecutor
from types import SimpleNamespace

import pytest

from ackclock.errors import InputError
from ackclock.sweeps import executors
from calling import run


@pytest.mark.parametrize(
    ("address", "words"),
    [
        # Nothing listens on port 1 of this machine.
        ("127.0.0.1:1", "executor dask://127.0.0.1:1: cannot be reached"),
        ("127.0.0.1:99999", "cannot be reached"),
        ("127.0.0.1:many", "must be dask://HOST:PORT"),
        ("127.0.0.1", "must be dask://HOST:PORT"),
        ("", "must be dask://HOST:PORT"),
    ],
)
def test_an_unreachable_scheduler_is_refused_and_leaves_no_folder(address, words, tmp_path):
    out = tmp_path / "new"
    command = [sys.executable, "-m", "ackclock.cli", "sweep", "cdg", "--executor", f"dask://{address}"]
    done = subprocess.run([*command, "--out", out], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1), done.stderr
    assert words in done.stderr
    assert not out.exists()


@pytest.mark.parametrize(("greeting", "words"), [(b"", "timed out"), (b"SSH-2.0-x", "is no scheduler")])
def test_a_port_that_is_no_scheduler_is_refused(greeting, words, monkeypatch):
    monkeypatch.setattr(executors, "CONNECT_S", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as other:

        def greet():
            with other.accept()[0] as client, contextlib.suppress(ConnectionError):
                client.sendall(greeting)
                # Until it hangs up.
                client.recv(1)

        thread = threading.Thread(target=greet)
        thread.start()
        with pytest.raises(InputError, match=words):
            executors.workers(f"dask://127.0.0.1:{other.getsockname()[1]}")
        thread.join()


def test_more_processes_than_memory_holds_are_refused(capsys, monkeypatch):
    with pytest.raises(InputError, match=r"1024 processes: take 102.4 GB of memory, and 1.0 GB are"):
        executors.check_processes(1024, 10**9)
    executors.check_processes(10, 10**9)
    asked = []
    monkeypatch.setattr(
        executors,
        "_local",
        lambda processes: asked.append(processes) or contextlib.nullcontext(ThreadPoolExecutor(1)),
    )
    command = ("sweep", "cubic", "--over", "queue=5p,9p", "--duration", "1s", "--executor", "local:1024")
    assert run(capsys, *command)[0] == 0
    assert asked == [2]


def test_a_chunk_has_three_attempts_before_the_sweep_gives_up():
    item = SimpleNamespace(controller="cubic", point={"queue": "5p", "rtt": "9ms"}, seed=7)
    chunk = SimpleNamespace(items=(item, item))
    lost = BrokenExecutor("a worker ended")
    assert [executors._next(chunk, attempt, lost) for attempt in (1, 2)] == [2, 3]
    said = "the workers of 2 runs ended 3 times, from cubic, queue=5p, rtt=9ms, seed 7 on: a crash in C, or"
    with pytest.raises(executors.WorkersLostError, match=f"^{said}"):
        executors._next(chunk, 3, lost)
