"""The program inside a kernel in virtual time: prepares the system, does a task, and halts.

It is the first process there (init), and sees the host's files read-only. It may write only to the folder of
results. Time advances only while every process waits, so all waits here are in virtual time.
"""

from __future__ import annotations

import ctypes
import fcntl
import hashlib
import json
import os
import pickle
import platform
import select
import subprocess
import time
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from ackclock import _engine
from ackclock.descriptors import is_ready
from ackclock.result import Run
from ackclock.uml.machine import RANDOM, REPORT, RESULTS, SHARED_MEMORY

RESEED = 0x5207
"""RNDRESEEDCRNG of linux/random.h: the random source takes a new key."""
POWER_OFF = 0x4321FEDC
"""LINUX_REBOOT_CMD_POWER_OFF of linux/reboot.h."""
TIMER_ABSTIME = 1
"""Of time.h: sleep until an instant."""
SET_TIMER_SLACK = 29
"""PR_SET_TIMERSLACK of linux/prctl.h: nanoseconds by which a sleep may be longer."""
POLL_S = 0.5


class Task(Protocol):
    """Work for a kernel. It is sent there as a pickle."""

    def run(self, results: Path) -> None:
        """Does the work inside the kernel. The host sees the files in ``results``."""


def main(folder: str, task: Task) -> None:
    """Prepares the system, does ``task`` and halts the kernel. Never returns."""
    try:
        results = Path(folder, RESULTS)
        prepare(results)
        task.run(results)
        (results / "done").write_bytes(b"")
    except BaseException:
        traceback.print_exc()
    os.sync()
    ctypes.CDLL(None).reboot(POWER_OFF)


def prepare(results: Path) -> None:
    """Mounts what programs expect, and the folder of results so that it can be written."""
    mount("proc", "/proc", "proc")
    mount("sysfs", "/sys", "sysfs")
    mount("tmpfs", "/run", "tmpfs")
    for place in (SHARED_MEMORY, Path("/run/netns")):
        place.mkdir(parents=True, exist_ok=True)
    mount("tmpfs", str(SHARED_MEMORY), "tmpfs")
    mount("none", str(results), "hostfs", str(results))
    os.environ.update(TMPDIR="/run", HOME="/run")


def mount(source: str, target: str, kind: str, data: str = "") -> None:
    """Mounts a file system. Raises OSError."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mount(source.encode(), target.encode(), kind.encode(), 0, data.encode()):
        number = ctypes.get_errno()
        raise OSError(number, f"{kind} at {target} cannot be mounted: {os.strerror(number)}")


def wait_for_begin() -> None:
    """Sleeps to a whole second since boot.

    A system call that fails takes time. While modules are imported, the host's files decide how many do.
    """
    libc = ctypes.CDLL(None)
    libc.prctl(SET_TIMER_SLACK, 1)
    next_second = int(time.clock_gettime(time.CLOCK_MONOTONIC)) + 1
    until = (ctypes.c_long * 2)(next_second, 0)
    libc.clock_nanosleep(time.CLOCK_MONOTONIC, TIMER_ABSTIME, until, None)


def seed_randomness(results: Path, seed: int) -> None:
    """Lets the kernel's random source begin anew from ``seed``."""
    os.getrandom(1)  # It is ready only after its first use.
    (results / RANDOM).write_bytes(hashlib.sha512(str(seed).encode()).digest())
    with Path("/dev/urandom").open("rb") as source:
        fcntl.ioctl(source, RESEED)


@dataclass(frozen=True)
class Facts:
    """Writes the release and the controllers of the kernel."""

    def run(self, results: Path) -> None:
        """See ``Task.run``."""
        listed = Path("/proc/sys/net/ipv4/tcp_available_congestion_control").read_text("utf-8")
        found = {"release": platform.release(), "controllers": sorted(listed.split())}
        (results / "facts").write_text(json.dumps(found), "utf-8")


@dataclass(frozen=True)
class RunCommand:
    """Runs a program of the host. ``{results}`` in its words is the folder that it may write."""

    words: Sequence[str]
    folder: str
    seed: int = 1

    def run(self, results: Path) -> None:
        """See ``Task.run``. Its output is the file ``output``, its status the file ``status``."""
        wait_for_begin()
        seed_randomness(results, self.seed)
        command = [word.replace("{results}", str(results)) for word in self.words]
        with (results / "output").open("wb") as output:
            process = subprocess.Popen(command, cwd=self.folder, stdout=output, stderr=subprocess.STDOUT)
        ended = os.pidfd_open(process.pid)
        try:
            while not is_ready(ended, select.POLLIN, POLL_S):
                (results / REPORT).write_text(str(time.monotonic()), "utf-8")
        finally:
            os.close(ended)
        (results / "status").write_text(str(process.wait()), "utf-8")


@dataclass(frozen=True)
class RunScenario:
    """Runs one scenario."""

    plan: _engine.Plan
    seed: int
    captured: bool
    """The packets are written to the file ``capture``."""
    options: Mapping[str, Any]
    """The engine's."""

    def run(self, results: Path) -> None:
        """See ``Task.run``. The run is the file ``run``, an error that ended it is the file ``error``."""
        wait_for_begin()
        seed_randomness(results, self.seed)
        batch = _engine.Batch(
            [(self.plan, self.seed)],
            engine="uml",
            pcap=[str(results / "capture") if self.captured else None],
            **self.options,
        )
        try:
            while (found := batch.next(POLL_S)) is None:
                (results / REPORT).write_text(str(batch.progress()), "utf-8")
        except (_engine.ScenarioError, _engine.MachineError, OSError) as error:
            (results / "error").write_bytes(pickle.dumps(error))
        else:
            run = Run.from_engine(found[1], self.plan, self.seed)
            (results / "run").write_bytes(pickle.dumps(run, protocol=5))
