"""The commands of the first minutes: `examples` and `doctor`."""

import json
import subprocess
import sys

import pytest

from ackclock import _engine
from calling import refused, run


def test_examples_are_listed_with_what_they_show(capsys):
    status, out, _ = run(capsys, "show", "examples")
    assert status == 0
    assert "quickstart" in out
    assert "One CDG and one NewReno flow" in out


@pytest.mark.parametrize("name", ["quickstart", "cellular"])
def test_an_example_is_written_and_runs(capsys, tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    assert run(capsys, "new", "example", name)[0] == 0
    assert run(capsys, "run", f"{name}.toml", "--set", "duration=11s")[0] == 0


def test_an_example_replaces_nothing(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "jitter.toml").write_text("mine")
    assert "--force replaces it" in refused(capsys, "new", "example", "jitter")
    assert (tmp_path / "jitter.toml").read_text() == "mine"
    assert run(capsys, "new", "example", "jitter", "--force")[0] == 0


def test_an_unknown_example_is_refused(capsys):
    assert "there are cellular, " in refused(capsys, "new", "example", "nothing")


def test_the_doctor_says_what_is_there_and_what_to_do(capsys, monkeypatch):
    monkeypatch.setattr("ackclock.cli.machine.SINCE", (99, 0))
    status, out, _ = run(capsys, "show", "machine", "--json")
    found = {one["what"]: one for one in json.loads(out)["findings"]}
    assert status == 0
    assert found["nothing besides ackclock"]["there"]
    assert not found["Linux 6.4 or later"]["there"]
    assert found["Linux 6.4 or later"]["remedy"].startswith("this is ")
    assert "simulation" in run(capsys, "show", "machine")[1]


def test_help_loads_no_library_of_numbers_or_figures():
    script = (
        "import sys; sys.argv = ['ackclock', '--help']\n"
        "from ackclock.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "print(sorted({'numpy', 'pyarrow', 'matplotlib', 'scipy'} & set(sys.modules)), file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    # They take longer to load than the rest of the start together.
    assert done.stderr.strip() == "[]"


def test_the_package_is_a_command():
    done = subprocess.run(
        [sys.executable, "-m", "ackclock", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("ackclock ")


def test_the_doctor_knows_which_engines_are_built_in(capsys):
    found = json.loads(run(capsys, "show", "machine", "--json")[1])["findings"]
    built = {one["purpose"]: one["there"] for one in found if one["what"] == "built in"}
    assert built["live runs"] == ("live" in _engine.engines())
