"""Runs that are kept as they finish."""

from pathlib import Path

import pytest

from ackclock import _engine
from ackclock.jobs import Job, Simulator
from ackclock.kept import Keeping

DOCUMENT = """
name = "a/b {}"
duration = "1s"
path = {{ rate = "10mbit", rtt = "20ms", queue = "20p" }}
flows = [{{ cc = "newreno" }}]
"""


class Counting(Simulator):
    """Counts what it ran."""

    ran = 0

    def finished(self, jobs, progress=None):
        for one in super().finished(jobs, progress):
            Counting.ran += 1
            yield one


@pytest.fixture
def jobs():
    Counting.ran = 0
    scenarios = [_engine.resolve(DOCUMENT.format(name), "scenario", []) for name in "xy"]
    return [Job(resolved, seed) for resolved in scenarios for seed in (1, 2)]


def test_what_is_kept_does_not_run_again_and_is_handed_out_first(jobs, tmp_path):
    keeping = Keeping(Counting(), tmp_path / "runs")
    assert keeping.count() == 0
    first = {index: run.flows for index, run in keeping.finished(jobs[2:3])}
    assert [p.name[:12] for p in keeping.folder.iterdir()] == ["a-b-y-seed-1"]

    fractions = []
    found = list(keeping.finished(jobs, fractions.append))
    assert Counting.ran == 4
    assert sorted(index for index, _ in found) == [0, 1, 2, 3]
    assert found[0][0] == 2
    assert found[0][1].flows.equals(first[0])
    assert all(run.seed == jobs[index].seed for index, run in found)
    assert 0.25 <= min(fractions) <= max(fractions) <= 1.0
    assert keeping.count() == 4


def test_another_scenario_of_the_same_name_runs(jobs, tmp_path):
    keeping = Keeping(Counting(), tmp_path)
    list(keeping.finished(jobs[:1]))
    list(keeping.finished([jobs[0]._replace(resolved=jobs[0].resolved.replace("20ms", "21ms"))]))
    assert (Counting.ran, keeping.count()) == (2, 2)


def test_a_scenario_whose_controller_is_another_file_now_runs(tmp_path):
    Counting.ran = 0
    file = tmp_path / "mine.bpf.c"
    example = Path(__file__).parents[2] / "kernel" / "newreno.bpf.c"
    document = DOCUMENT.format("z").replace('cc = "newreno"', f'cc = "{file}"')
    keeping = Keeping(Counting(), tmp_path / "runs")
    for text in (example.read_text(), example.read_text(), example.read_text() + "/* changed */\n"):
        file.write_text(text)
        list(keeping.finished([Job(_engine.resolve(document, "scenario", []), 1)]))
    assert (Counting.ran, keeping.count()) == (2, 2)


def test_what_a_killed_process_left_is_removed(jobs, tmp_path):
    (tmp_path / ".half").mkdir()
    keeping = Keeping(Counting(), tmp_path)
    assert keeping.count() == 0
    list(keeping.finished(jobs[:1]))
    assert [p.name[0] for p in tmp_path.iterdir()] == ["a"]
