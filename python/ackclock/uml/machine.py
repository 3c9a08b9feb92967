"""One kernel as a process: started with a task, watched, and stopped with everything that it started."""

from __future__ import annotations

import ctypes
import os
import pickle
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, Self

from ackclock import _engine
from ackclock.workers import interpreter

MEMORY_MB = 1024
"""The memory of a kernel. It takes only as much of the machine's memory as it uses."""
PATIENCE_S = 120.0
"""A kernel that reports nothing for so long hangs, in seconds of the host."""
START = 1_000_000_000 * 10**9
"""The time of day at which every kernel starts, in nanoseconds: 2001-09-09."""
LAST_LINES = 5
"""Lines of the console in the sentence about a kernel that failed."""
SHARED_MEMORY = Path("/dev/shm")
CORE = "\0ackclock-uml-core-"
"""The name of a socket that marks a core as taken, before its number."""

TASK, RESULTS, CONSOLE, RANDOM, REPORT = "task.pickle", "results", "console", "random", "report"


def _preparation(core: int | None) -> Callable[[], None]:
    """The steps of a new process before it is a kernel: it ends with its parent, and takes ``core``."""

    def prepare() -> None:
        # The kernel of this machine kills it when the process that started it ends, also by SIGKILL.
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
        if core is not None:
            os.sched_setaffinity(0, {core})

    return prepare


def take_core(stack: ExitStack) -> int | None:
    """A core of its own for a kernel until ``stack`` is closed, or None if kernels have them all.

    A kernel and its processes take turns at every system call, which takes half the time on one core.
    """
    for core in sorted(os.sched_getaffinity(0)):
        mark = socket.socket(socket.AF_UNIX)
        try:
            # One process of the machine can have this name.
            mark.bind(f"{CORE}{core}")
        except OSError:
            mark.close()
        else:
            stack.enter_context(mark)
            return core
    return None


class Machine:
    """A kernel that runs the program ``ackclock.uml.guest`` with a task, in virtual time.

    Use it as a context: at its end the process and its folder are gone, whatever happened.
    """

    def __init__(self, program: Path, task: Any) -> None:
        self._program = program
        self._task = task
        self._process: subprocess.Popen[bytes] | None = None
        self._held = ExitStack()

    def __enter__(self) -> Self:
        self._temporary = tempfile.TemporaryDirectory(prefix="ackclock-uml-", ignore_cleanup_errors=True)
        try:
            self._start(Path(self._temporary.name).resolve())
        except BaseException:
            self._temporary.cleanup()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        self._temporary.cleanup()

    @property
    def results(self) -> Path:
        """The folder into which the task writes."""
        return self._folder / RESULTS

    def _start(self, folder: Path) -> None:
        self._folder = folder
        self.results.mkdir()
        (folder / TASK).write_bytes(pickle.dumps((sys.path, pickle.dumps(self._task))))
        # Read at boot. The guest replaces it for every run.
        (self.results / RANDOM).write_bytes(bytes(64))
        init = folder / "init"
        # The host's interpreter with the host's modules. Hashes of strings are the same each time.
        init.write_text(
            "#!/bin/sh\nexport PYTHONHASHSEED=0 PYTHONDONTWRITEBYTECODE=1\n"
            "export PATH=/usr/sbin:/usr/bin:/sbin:/bin\n"
            f"exec {shlex.join(interpreter())} -c 'import pickle, sys\n"
            'with open(sys.argv[1] + "/task.pickle", "rb") as file:\n'
            "    sys.path, task = pickle.load(file)\n"
            "from ackclock.uml import guest\n"
            f"guest.main(sys.argv[1], pickle.loads(task))' {shlex.quote(str(folder))}\n",
            "utf-8",
        )
        init.chmod(0o755)
        with (folder / CONSOLE).open("wb") as console:
            self._process = subprocess.Popen(
                self._command(),
                stdin=subprocess.DEVNULL,
                stdout=console,
                stderr=console,
                env={"ACKCLOCK_RANDOM": str(self.results / RANDOM), "TMPDIR": str(self._memory_folder())},
                cwd=folder,
                # Ctrl-C is for this process, which stops the kernel.
                process_group=0,
                preexec_fn=_preparation(take_core(self._held)),
            )
        self._heard, self._last = time.monotonic(), (0, 0)

    def _command(self) -> list[str]:
        return [
            str(self._program),
            f"mem={MEMORY_MB}M",
            "root=/dev/root",
            "rootfstype=hostfs",
            "rootflags=/",
            "ro",
            "time-travel=inf-cpu",
            f"time-travel-start={START}",
            "random.trust_bootloader=on",
            "con=none",
            "con0=fd:0,fd:1",
            f"uml_dir={self._folder}",
            "umid=kernel",
            f'init="{self._folder / "init"}"',
        ]

    def _memory_folder(self) -> Path:
        """The place of the file that is the kernel's memory: in shared memory, unless that is too small."""
        with suppress(OSError):
            about = os.statvfs(SHARED_MEMORY)
            if about.f_bavail * about.f_frsize >= MEMORY_MB << 20:
                return SHARED_MEMORY
        return self._folder

    def running(self) -> bool:
        """True while the kernel runs. Raises MachineError for one that ended badly or reports nothing."""
        assert self._process is not None
        status = self._process.poll()
        if status is not None:
            if status != 0 or not (self.results / "done").exists():
                raise self.failure("ended before its work was done")
            return False
        state = self._state()
        if state != self._last:
            self._heard, self._last = time.monotonic(), state
        elif time.monotonic() - self._heard > PATIENCE_S:
            raise self.failure(f"reported nothing for {PATIENCE_S:g} s and was stopped")
        return True

    def _state(self) -> tuple[int, int]:
        """Numbers that change when the kernel does something."""
        report = self.results / REPORT
        with suppress(OSError):
            return (self._folder / CONSOLE).stat().st_size, report.stat().st_mtime_ns
        return (self._folder / CONSOLE).stat().st_size, 0

    def cpu_s(self) -> float:
        """The CPU time of the kernel and its processes so far, in seconds of the host."""
        assert self._process is not None
        main = Path("/proc", str(self._process.pid))
        ticks = 0
        with suppress(OSError, IndexError):
            children = (main / "task" / main.name / "children").read_text("utf-8").split()
            for place in (main, *(Path("/proc", child) for child in children)):
                # Behind the name in brackets user and system time are the words 12 and 13.
                words = (place / "stat").read_text("utf-8").rpartition(")")[2].split()
                ticks += int(words[11]) + int(words[12])
        return ticks / os.sysconf("SC_CLK_TCK")

    def report(self) -> str:
        """The last report of the task."""
        try:
            return (self.results / REPORT).read_text("utf-8")
        except OSError:
            return ""

    def failure(self, what: str) -> _engine.MachineError:
        """The error that says what happened to the kernel, with the last lines of its console."""
        text = (self._folder / CONSOLE).read_text("utf-8", errors="replace")
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        last = " | ".join(lines[-LAST_LINES:]) if lines else "empty"
        return _engine.MachineError(f"the kernel in virtual time {what}; the end of its console: {last}")

    def stop(self) -> None:
        """Ends the kernel and its processes."""
        if self._process is not None:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
            self._process = None
        self._held.close()
        with suppress(OSError):
            shutil.rmtree(self._folder / "kernel")
