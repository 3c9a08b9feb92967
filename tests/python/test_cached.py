"""The cache of runs."""

from pathlib import Path

import pytest

from ackclock import _engine
from ackclock.engines import Job
from ackclock.engines.cached import CachedEngine
from ackclock.engines.simulator import Simulator

DOCUMENT = """
name = "a/b {}"
duration = "1s"
path = {{ rate = "10mbit", rtt = "20ms", queue = "20p" }}
flows = [{{ cc = "newreno" }}]
"""


class Counting(Simulator):
    """Counts its runs."""

    ran = 0

    def run(self, jobs, progress=None):
        for one in super().run(jobs, progress):
            Counting.ran += 1
            yield one


@pytest.fixture
def jobs():
    Counting.ran = 0
    plans = [_engine.resolve(DOCUMENT.format(name), "scenario", []) for name in "xy"]
    return [Job(plan, seed) for plan in plans for seed in (1, 2)]


def test_a_cached_run_is_loaded_first_and_not_run_again(jobs, tmp_path):
    engine = CachedEngine(Counting(), tmp_path / "runs")
    assert engine.count() == 0
    first = {index: run.flows for index, run in engine.run(jobs[2:3])}
    assert [p.name[:12] for p in engine.folder.iterdir()] == ["a-b-y-seed-1"]

    fractions = []
    found = list(engine.run(jobs, fractions.append))
    assert Counting.ran == 4
    assert sorted(index for index, _ in found) == [0, 1, 2, 3]
    assert found[0][0] == 2
    assert found[0][1].flows.equals(first[0])
    assert all(run.seed == jobs[index].seed for index, run in found)
    assert 0.25 <= min(fractions) <= max(fractions) <= 1.0
    assert engine.count() == 4


def test_another_scenario_of_the_same_name_runs(jobs, tmp_path):
    engine = CachedEngine(Counting(), tmp_path)
    list(engine.run(jobs[:1]))
    other = _engine.Plan(jobs[0].plan.resolved.replace("20ms", "21ms"))
    list(engine.run([jobs[0]._replace(plan=other)]))
    assert (Counting.ran, engine.count()) == (2, 2)


def test_a_scenario_whose_controller_is_another_file_now_runs(tmp_path):
    Counting.ran = 0
    file = tmp_path / "mine.bpf.c"
    example = Path(__file__).parents[2] / "kernel" / "newreno.bpf.c"
    document = DOCUMENT.format("z").replace('cc = "newreno"', f'cc = "{file}"')
    engine = CachedEngine(Counting(), tmp_path / "runs")
    for text in (example.read_text(), example.read_text(), example.read_text() + "/* changed */\n"):
        file.write_text(text)
        plan = _engine.resolve(document, "scenario", [], _engine.Files(trusted=True))
        list(engine.run([Job(plan, 1)]))
    assert (Counting.ran, engine.count()) == (2, 2)


def test_a_controller_in_c_runs_again_in_another_process(tmp_path):
    Counting.ran = 0
    file = Path(__file__).parents[2] / "kernel" / "newreno.bpf.c"
    document = DOCUMENT.format("z").replace('cc = "newreno"', f'cc = "{file}"')
    plan = _engine.resolve(document, "scenario", [], _engine.Files(trusted=True))
    for _ in range(2):
        list(CachedEngine(Counting(), tmp_path / "runs").run([Job(plan, 1)]))
    assert Counting.ran == 2


def test_a_scenario_whose_trace_is_another_now_runs(tmp_path):
    Counting.ran = 0
    file = tmp_path / "link.trace"
    document = DOCUMENT.format("z").replace('"10mbit"', f'{{ trace = "{file}" }}')
    engine = CachedEngine(Counting(), tmp_path / "runs")
    for text in ("1\n", "1\n", "2\n"):
        file.write_text(text)
        list(engine.run([Job(_engine.resolve(document, "scenario", []), 1)]))
    assert (Counting.ran, engine.count()) == (2, 2)


def test_what_a_killed_process_left_is_removed(jobs, tmp_path):
    (tmp_path / ".half").mkdir()
    engine = CachedEngine(Counting(), tmp_path)
    assert engine.count() == 0
    list(engine.run(jobs[:1]))
    assert [p.name[0] for p in tmp_path.iterdir()] == ["a"]
