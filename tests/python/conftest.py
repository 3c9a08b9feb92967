"""Settings of all tests, and fixtures that several files share."""

import json
import os
import signal
from itertools import islice
from pathlib import Path

import pytest

from ackclock import _engine
from ackclock.cli.status import Interrupted
from ackclock.engines import registry
from ackclock.engines.simulator import Simulator, drained
from ackclock.result import Run
from calling import SCENARIO
from experiments import EXPERIMENT, read
from opened import TRACED, trace

SURROUNDINGS = (
    *("COLUMNS", "LINES", "FORCE_COLOR", "NO_COLOR", "PY_COLORS", "TTY_COMPATIBLE", "TTY_INTERACTIVE"),
    *("TERMINAL_WIDTH", "GITHUB_ACTIONS", "ACKCLOCK_TRACEBACK", "MPLBACKEND", "SHELL", "SOURCE_DATE_EPOCH"),
    *("GIT_DIR", "GIT_INDEX_FILE", "GIT_WORK_TREE", "GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"),
)
"""Variables that change what commands print, draw or commit: tests have none but those that they set."""


def pytest_addoption(parser):
    """``--skipped=FILE`` lists what this machine leaves out, for a run of it on another: ``pytest @FILE``.

    Tests in real time pass with ``--late``, too: no machine is too busy for them.
    """
    parser.addoption("--skipped", metavar="FILE", help="the file for the tests that skipped, one a line")
    parser.addoption("--late", action="store_true", help="every run in real time is past its error budget")


def pytest_terminal_summary(terminalreporter, config):
    """Writes the list of ``--skipped``."""
    if (file := config.getoption("--skipped")) is not None:
        skipped = {report.nodeid: None for report in terminalreporter.getreports("skipped")}
        Path(file).write_text("".join(f"{one}\n" for one in skipped))


def pytest_configure(config):
    """Tests see no terminal and no settings of their user.

    Ignored signals, as under nohup, stay ignored in the commands that tests start. Caught ones do not.
    """
    if config.getoption("--late"):
        Run.from_engine = _late(Run.from_engine)
    for name in SURROUNDINGS:
        os.environ.pop(name, None)
    for number in (signal.SIGHUP, signal.SIGINT):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, lambda *_: None)


def _late(made):
    """Makes runs as ``made`` does, but those in real time are past their error budget."""

    def make(*arguments):
        run = made(*arguments)
        if run.engine["kind"].endswith("live"):
            run.engine |= {"valid": False, "reasons": ["a delivery was late"]}
        return run

    return make


LONGEST = "test_wheel"
"""This file's tests take minutes, most of them on one core, so they begin first."""
LIVE = ("test_live", "test_live_media", "test_replay_live", "test_shell")
"""Tests of these use the kernel's TCP and devices of their own: one after the other, at the end."""


def pytest_collection_modifyitems(items):
    """The longest file begins, and those that use the kernel's TCP come last."""
    items.sort(key=lambda item: (item.path.stem != LONGEST, item.path.stem in LIVE))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Several processes take whole files each, so fixtures are made once.

    Not by marks of groups, which pytest-xdist 3.8 puts where pytest 9.2 does not read them.
    """
    from xdist.scheduler import LoadScopeScheduling

    class ByFile(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            file = Path(nodeid.partition("::")[0]).stem
            return "live" if file in LIVE else file

    return ByFile(config, log)


MOST_LEFT = 100
"""Descriptors that a test may leave open in its process: those of a browser, pools and fonts, and more."""


@pytest.fixture(autouse=True)
def descriptors():
    """Every test closes what it opens, or later ones meet the limit of the process, often 1,024."""
    folder = Path("/proc/self/fd")
    before = sum(1 for _ in folder.iterdir()) if folder.is_dir() else None
    yield
    if before is not None:
        left = sum(1 for _ in folder.iterdir()) - before
        assert left <= MOST_LEFT, f"the test leaves {left} descriptors open"


@pytest.fixture
def kernel(monkeypatch):
    """A simulator in place of the kernel: ``started`` counts its runs. It is interrupted after ``left``."""

    class Kernel(Simulator):
        name, stack = "live", "linux"
        started = 0
        left = 1000

        def __init__(self, *_, **__):
            super().__init__()

        def run(self, jobs, progress=None):
            for index, one in islice(super().run(jobs, progress), Kernel.left):
                Kernel.started += 1
                punctual = dict.fromkeys(("p50", "p99", "max"), 0.0)
                one.engine |= {"kind": "live", "kernel": "6.0", "valid": True, "lateness_us": punctual}
                yield index, one
            if len(jobs) > Kernel.left:
                raise Interrupted

        @classmethod
        def require(cls):
            """It is there without live runs, too."""

        def check(self, plan):
            _engine.check("sim", plan)

    monkeypatch.setitem(registry.ENGINES, "live", Kernel)
    return Kernel


@pytest.fixture
def experiment(tmp_path):
    """The experiment of ``experiments.EXPERIMENT``."""
    return read(tmp_path, EXPERIMENT)


@pytest.fixture
def scenario(tmp_path):
    """The file of ``calling.SCENARIO``."""
    folder = tmp_path / "in"
    folder.mkdir()
    path = folder / "small.toml"
    path.write_text(SCENARIO)
    return path


@pytest.fixture
def traced(tmp_path):
    """The file of ``opened.TRACED``, with its trace of 12 Mbit/s beside it."""
    file = tmp_path / "traced.toml"
    file.write_text(TRACED)
    trace(file).write_text("".join(f"{ms}\n" for ms in range(1, 1001)))
    return file


@pytest.fixture(scope="session")
def live():
    """Skips where this machine cannot run live."""
    if "live" not in _engine.engines():
        pytest.skip("built without live runs")
    path = {"rate": "10mbit", "rtt": "40ms", "queue": "1bdp"}
    short = json.dumps({"duration": "1s", "path": path, "flows": [{"cc": "newreno"}]})
    try:
        list(drained(_engine.Batch([(_engine.resolve_json(short, []), 1)], engine="live")))
    except _engine.MachineError as error:
        pytest.skip(str(error))
