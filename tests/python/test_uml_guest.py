"""The program inside a kernel in virtual time, on a C library that only notes its calls."""

import ctypes
import os
import pickle
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

import ackclock
from ackclock.errors import InputError
from ackclock.uml import guest
from ackclock.uml.machine import RANDOM, REPORT, RESULTS


@pytest.fixture
def called(monkeypatch):
    """The calls of the C library, whose ``mount`` fails for one kind."""
    calls = []

    class Library:
        def __getattr__(self, name):
            def call(*arguments):
                calls.append((name, *arguments))
                return -1 if b"none" in arguments else 0

            return call

    monkeypatch.setattr(ctypes, "CDLL", lambda *_, **__: Library())
    monkeypatch.setattr(ctypes, "get_errno", lambda: 1)
    return calls


class Writes:
    """Writes a file."""

    def run(self, results):
        (results / "made").write_text("made")


class Breaks:
    """Divides by zero."""

    def run(self, results):
        raise ZeroDivisionError(results)


@pytest.mark.parametrize(("task", "done"), [(Writes(), True), (Breaks(), False)])
def test_a_kernel_is_halted_whatever_its_task_does(tmp_path, monkeypatch, capsys, called, task, done):
    results = tmp_path / RESULTS
    results.mkdir()
    prepared = []
    monkeypatch.setattr(guest, "prepare", prepared.append)
    guest.main(str(tmp_path), task)
    assert prepared == [results]
    assert ((results / "done").exists(), (results / "made").exists()) == (done, done)
    # The number is LINUX_REBOOT_CMD_POWER_OFF.
    assert called == [("reboot", 0x4321FEDC)]
    assert ("ZeroDivisionError" in capsys.readouterr().err) != done


def test_the_folder_of_results_alone_is_the_host_s(tmp_path, monkeypatch):
    mounted, made = [], []
    monkeypatch.setattr(guest, "mount", lambda *arguments: mounted.append(arguments))
    monkeypatch.setattr(Path, "mkdir", lambda self, **kinds: made.append((str(self), kinds)))
    monkeypatch.setattr(os, "environ", {"TMPDIR": "/tmp", "LANG": "C"})
    guest.prepare(tmp_path)
    memory = str(guest.SHARED_MEMORY)
    assert [target for _, target, *_ in mounted] == ["/proc", "/sys", "/run", memory, str(tmp_path)]
    assert mounted[-1] == ("none", str(tmp_path), "hostfs", str(tmp_path))
    kinds = {"parents": True, "exist_ok": True}
    assert made == [(memory, kinds), ("/run/netns", kinds)]
    assert os.environ == {"TMPDIR": "/run", "HOME": "/run", "LANG": "C"}


def test_a_file_system_that_cannot_be_mounted_is_named(called):
    guest.mount("proc", "/proc", "proc")
    assert called == [("mount", b"proc", b"/proc", b"proc", 0, b"")]
    with pytest.raises(
        OSError, match="hostfs at /there cannot be mounted: Operation not permitted"
    ) as raised:
        guest.mount("none", "/there", "hostfs", "/here")
    assert raised.value.errno == 1


def test_work_begins_at_a_whole_second(monkeypatch, called):
    monkeypatch.setattr(time, "clock_gettime", lambda _: 12.75)
    guest.wait_for_begin()
    slack, sleep = called
    # PR_SET_TIMERSLACK, of a nanosecond, and TIMER_ABSTIME.
    assert slack == ("prctl", 29, 1)
    name, clock, flags, until, left = sleep
    assert (name, clock, flags, list(until), left) == (
        "clock_nanosleep", time.CLOCK_MONOTONIC, 1, [13, 0], None,
    )  # fmt: skip


def test_randomness_is_that_of_the_seed(tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(guest.fcntl, "ioctl", lambda _, request: asked.append(request))
    found = []
    for seed in (1, 2, 1):
        guest.seed_randomness(tmp_path, seed)
        found.append((tmp_path / RANDOM).read_bytes())
    assert found[0] == found[2] != found[1]
    # As long as the kernel's input: 64 bytes. The request is RNDRESEEDCRNG, _IO('R', 7).
    assert [len(one) for one in found] == [64, 64, 64]
    assert asked == [ord("R") << 8 | 7] * 3


@pytest.fixture
def batch(monkeypatch):
    """An engine whose batch has a run after two polls, or an error."""
    monkeypatch.setattr(guest, "wait_for_begin", lambda: None)
    monkeypatch.setattr(guest, "seed_randomness", lambda *_: None)
    state = SimpleNamespace(left=2, error=None, given=None)
    run = ackclock.simulate(ackclock.Path("5mbit", rtt="20ms", queue="9p"), ["newreno"], duration="100ms")

    class Batch:
        def __init__(self, jobs, **options):
            state.given = (jobs, options)

        def next(self, _):
            state.left -= 1
            if state.error is not None:
                raise state.error
            return None if state.left >= 0 else (0, "raw")

        def progress(self):
            return 0.25 * (2 - state.left)

    monkeypatch.setattr(guest._engine, "Batch", Batch)
    monkeypatch.setattr(guest.Run, "from_engine", lambda raw, plan, seed: (raw, plan, seed, run.seed))
    return state


@pytest.mark.parametrize("captured", [True, False])
def test_a_scenario_reports_its_progress_and_leaves_its_run(tmp_path, batch, captured):
    guest.RunScenario("plan", 7, captured, {"cores": 1}).run(tmp_path)
    pcap = [str(tmp_path / "capture") if captured else None]
    assert batch.given == ([("plan", 7)], {"engine": "uml", "pcap": pcap, "cores": 1})
    assert (tmp_path / REPORT).read_text() == "0.5"
    assert pickle.loads((tmp_path / "run").read_bytes()) == ("raw", "plan", 7, 1)
    assert not (tmp_path / "error").exists()


def test_an_error_of_a_scenario_is_left_for_the_host(tmp_path, batch):
    batch.error = OSError(28, "no space")
    guest.RunScenario("plan", 7, False, {}).run(tmp_path)
    assert pickle.loads((tmp_path / "error").read_bytes()).errno == 28
    assert not (tmp_path / "run").exists()
    # An error of the program itself ends it.
    batch.error = InputError("bad")
    with pytest.raises(InputError):
        guest.RunScenario("plan", 7, False, {}).run(tmp_path)


def test_a_kernel_has_its_release_and_controllers(tmp_path, monkeypatch):
    monkeypatch.setattr(Path, "read_text", lambda *_: "reno cubic\n")
    monkeypatch.setattr(guest.platform, "release", lambda: "6.12.0")
    guest.Facts().run(tmp_path)
    assert (tmp_path / "facts").read_bytes() == b'{"release": "6.12.0", "controllers": ["cubic", "reno"]}'
