"""Sweeps: their jobs, and the results of each."""

import contextlib
import re
from pathlib import Path
from types import SimpleNamespace

import pytest

import ackclock
from ackclock import repetitions
from ackclock.engines import Job
from ackclock.errors import InputError
from ackclock.repetitions import Point


class Recording:
    """An engine that answers each job with its name and seed, the last job first."""

    def __init__(self):
        self.batches = []

    def check(self, plan):
        pass

    def run(self, jobs, progress=None):
        self.batches.append(list(jobs))
        for done, index in enumerate(reversed(range(len(jobs))), start=1):
            yield index, (jobs[index].plan, jobs[index].seed)
            progress(done / len(jobs))


def test_a_hundred_thousand_repetitions_are_allowed(monkeypatch):
    def refuse(_plans, repeat):
        raise MemoryError(repeat)

    path = ackclock.Path("1mbit", rtt="20ms", queue="9p")
    monkeypatch.setattr(repetitions, "check_memory", refuse)
    for repeat in (1, 100_000):
        with pytest.raises(MemoryError, match=f"^{repeat}$"):
            ackclock.simulate(path, ["cubic"], repeat=repeat)
    for repeat in (0, 100_001):
        with pytest.raises(ValueError, match=f"repeat is {repeat}: must be from 1 to 100000"):
            ackclock.simulate(path, ["cubic"], repeat=repeat)


def test_each_repetition_of_each_point_runs():
    points = [Point("a", "A", range(5, 7)), Point("b", "B", range(5, 7))]
    assert repetitions.count(points) == 4
    assert list(repetitions.results(points, Recording())) == [
        ("b", 1, ("B", 6)),
        ("b", 0, ("B", 5)),
        ("a", 1, ("A", 6)),
        ("a", 0, ("A", 5)),
    ]


def test_a_run_that_points_share_is_made_once():
    engine = Recording()
    # Seeds 1 and 2, and 2 and 3, of one scenario: three jobs, four results.
    found = set(repetitions.results([Point("a", "A", range(1, 3)), Point("b", "A", range(2, 4))], engine))
    assert engine.batches == [[Job("A", 1), Job("A", 2), Job("A", 3)]]
    assert found == {("a", 0, ("A", 1)), ("a", 1, ("A", 2)), ("b", 0, ("A", 2)), ("b", 1, ("A", 3))}


def test_many_jobs_go_to_the_engine_in_batches():
    engine, seen = Recording(), []
    found = list(repetitions.results([Point("a", "A", range(5))], engine, seen.append, batch=2))
    assert [len(batch) for batch in engine.batches] == [2, 2, 1]
    assert sorted(result.repetition for result in found) == [0, 1, 2, 3, 4]
    # One of five runs after another.
    assert seen == pytest.approx([0.2, 0.4, 0.6, 0.8, 1.0])


def test_a_capture_belongs_to_its_repetition():
    engine = Recording()
    list(repetitions.results([Point("a", "A", range(3, 5), ("x", "y"))], engine))
    assert engine.batches == [[Job("A", 3, "x"), Job("A", 4, "y")]]


def test_leaving_early_stops_the_engine():
    class Closing(Recording):
        stopped = False

        def run(self, jobs, progress=None):
            try:
                yield from super().run(jobs, progress)
            finally:
                Closing.stopped = True

    for _ in repetitions.results([Point("a", "A", range(9))], Closing()):
        break
    assert Closing.stopped


def test_seeds_past_the_largest_are_refused():
    assert repetitions.seeds(2**63 - 2, 2) == range(2**63 - 2, 2**63)
    with pytest.raises(InputError, match="the last seed would be 9223372036854775808; at most"):
        repetitions.seeds(2**63 - 1, 2)


IO = Path("/proc/self/io")
"""Counts what this process reads and writes, on Linux."""


def _reads():
    return int(re.search(r"syscr: (\d+)", IO.read_text())[1])


@pytest.mark.skipif(not IO.exists(), reason="only Linux counts reads")
def test_a_repetition_asks_the_system_for_nothing():
    path = ackclock.Path("1mbit", rtt="20ms", queue="9p")
    runs = 100
    before = _reads()
    found = ackclock.simulate(path, ["cubic"], duration="100ms", repeat=runs)
    assert [run.fairness for run in found] == [1.0] * runs
    assert found.summary()[-1]["flows"][0]["cc"] == "cubic"
    # Memory and cores are looked up once for all runs: that takes some sixty reads.
    assert _reads() - before < 2 * runs


def test_runs_take_four_fifths_of_the_memory_and_no_byte_more(monkeypatch):
    plan = SimpleNamespace(inspect=lambda: {"estimated_memory_bytes": 400})
    for available, refused in ((1000, False), (999, True)):
        monkeypatch.setattr(repetitions._engine, "available_memory", lambda available=available: available)
        with pytest.raises(InputError) if refused else contextlib.nullcontext():
            repetitions.check_memory([plan], 2)
        # A run alone is the engine's to refuse.
        repetitions.check_memory([plan], 1)
