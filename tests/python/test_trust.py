"""Code that files name runs only after ``--trust``, and never by a listing."""

from __future__ import annotations

from pathlib import Path

import pytest

from calling import SCENARIO, needs_live, refused, run

CODE = Path(__file__).parents[2] / "kernel" / "newreno.bpf.c"

MEASURES = "from pathlib import Path\nPath({!r}).touch()\n\n\ndef nothing(run):\n    return 1.0\n"


@pytest.fixture
def paper(capsys, tmp_path, monkeypatch):
    """The folder of a paper of one short experiment."""
    monkeypatch.chdir(tmp_path)
    assert run(capsys, "new", "paper", "mine")[0] == 0
    for file in (tmp_path / "mine").glob("*.toml"):
        text = file.read_text()
        file.write_text(
            text.replace('duration = "60s"', 'duration = "1s"').replace("repetitions = 5", "repetitions = 1")
        )
    return tmp_path / "mine"


@pytest.mark.parametrize("place", ["measures.py", "measures/more.py"])
def test_measures_of_a_folder_run_only_when_trusted(capsys, tmp_path, paper, place):
    ran = tmp_path / "ran"
    (paper / place).parent.mkdir(exist_ok=True)
    (paper / place).write_text(MEASURES.format(str(ran)))
    status, listed, _ = run(capsys, "reproduce", "./mine", "--list", "--json")
    assert (status, '"id": "mine-' in listed) == (0, True)
    assert run(capsys, "reproduce", "./mine", "--list", "--trust")[0] == 0
    said = refused(capsys, "reproduce", "./mine", "--quick", "--out", tmp_path / "out")
    assert said.startswith(f"mine: names {place}, which is code")
    file = next(file for file in paper.glob("*.toml") if file.name != "paper.toml")
    assert "give --trust" in refused(capsys, "reproduce", file)
    assert not ran.exists()
    assert run(capsys, "reproduce", "./mine", "--quick", "--trust", "--out", tmp_path / "out")[0] in (0, 1)
    assert ran.exists()


def test_controllers_that_a_paper_names_run_only_when_trusted(capsys, tmp_path, paper):
    file = next(file for file in paper.glob("*.toml") if file.name != "paper.toml")
    file.write_text(file.read_text().replace('cc = "newreno"', f'cc = "{CODE}"', 1))
    said = refused(capsys, "reproduce", "./mine", "--quick", "--out", tmp_path / "out")
    assert f"names {CODE}, which is code" in said
    assert not (tmp_path / "out").exists()


def test_controllers_that_a_scenario_names_run_only_when_trusted(capsys, tmp_path):
    file = tmp_path / "small.toml"
    file.write_text(SCENARIO.replace('"newreno"', f'"{CODE}"'))
    for command in (["run", file], ["sweep", file, "--over", "queue=5p"]):
        assert f"{file}: names {CODE}, which is code" in refused(capsys, *command)
    assert run(capsys, "run", file, "--trust")[0] == 0
    assert run(capsys, "sweep", file, "--over", "queue=5p", "--trust")[0] == 0
    assert run(capsys, "run", file, "--set", "flows.0.cc=cubic")[0] == 0


@needs_live
def test_controllers_of_a_scenario_run_live_only_when_trusted(capsys, tmp_path):
    file = tmp_path / "small.toml"
    file.write_text(SCENARIO.replace('"newreno"', f'"{CODE}"'))
    assert f"{file}: names {CODE}, which is code" in refused(capsys, "live", file)


def test_a_controller_on_the_command_line_is_trusted(capsys, tmp_path):
    file = tmp_path / "small.toml"
    file.write_text(SCENARIO)
    assert run(capsys, "run", file, "--set", f"flows.0.cc={CODE}")[0] == 0
    assert run(capsys, "compare", CODE, "--duration", "1s")[0] == 0
    # Another file of the same name is not the one in the line.
    file.write_text(SCENARIO.replace('"newreno"', '"./newreno.bpf.c"'))
    (tmp_path / "newreno.bpf.c").write_text(CODE.read_text())
    assert "which is code" in refused(capsys, "run", file, "--set", f"flows.0.name={CODE}")
