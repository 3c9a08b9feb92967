"""Archives of results: all that repeats them, and nothing that writes elsewhere or runs unasked."""

from __future__ import annotations

import json
import stat
import sys
import zipfile
from pathlib import PurePosixPath, PureWindowsPath

import click
import pytest

import ackclock
from ackclock import commands, inputs
from ackclock.cli.app import application
from ackclock.errors import InputError
from calling import refused, run

HELPER = "GAIN = 1.0\n"
MINE = """import ackclock
from gains_of_mine import GAIN

open({beacon!r}, "w").close()


class Mine(ackclock.Controller):
    def __init__(self, start=10.0):
        self.window = start

    def on_ack(self, cx, ack):
        self.window += GAIN / self.window

    def on_loss(self, cx, loss):
        self.window = max(self.window / 2, 2.0)

    def on_timeout(self, cx, loss):
        self.window = 2.0
"""
LINE = "time_s,rate_mbit\n0,10\n1,5\n2,10\n"


@pytest.fixture
def sources(tmp_path, monkeypatch):
    """A folder with two controllers, what they include, and a table over time."""
    folder = tmp_path / "sources"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.syspath_prepend(folder)
    monkeypatch.delitem(sys.modules, "gains_of_mine", raising=False)
    (folder / "gains_of_mine.py").write_text(HELPER)
    (folder / "mine.py").write_text(MINE.format(beacon=str(tmp_path / "ran")))
    (folder / "line.csv").write_text(LINE)
    return folder


@pytest.fixture
def archive(capsys, tmp_path, sources):
    """An archive of two controllers, whose sources are gone."""
    out = tmp_path / "results"
    command = ("compare", "cubic", "./mine.py:Mine(start=4)", "--trace", "line.csv", "--duration", "2s")
    assert run(capsys, *command, "--repeat", "2", "--out", out)[0] == 0
    assert run(capsys, "read", out, "--to", "archive", "--out", tmp_path)[0] == 0
    for one in sources.iterdir():
        if one.is_file():
            one.unlink()
    (tmp_path / "ran").unlink()
    return tmp_path / "results.zip"


def changed(archive, change):
    """The archive with other entries: ``change`` gets each name and content, and gives the content."""
    with zipfile.ZipFile(archive) as old:
        entries = [(one.filename, old.read(one)) for one in old.infolist()]
    with zipfile.ZipFile(archive, "w") as new:
        for name, content in entries:
            new.writestr(name, change(name, content))


def test_an_archive_repeats_its_runs_without_their_sources(capsys, tmp_path, archive):
    status, printed, _ = run(capsys, "reproduce", archive, "--trust", "--json", "--junit", tmp_path / "j.xml")
    document = json.loads(printed)["archive"]
    assert (status, document["made_by"]) == (0, ackclock.__version__)
    assert [(one["seed"], one["verdict"], one["why"]) for one in document["results"]] == [
        (seed, "same", "the same bytes") for _ in range(2) for seed in (1, 2)
    ]
    assert 'tests="4" failures="0"' in (tmp_path / "j.xml").read_text()
    with zipfile.ZipFile(archive) as opened:
        kept = json.loads(opened.read("results/inputs.json"))
        assert opened.read("results/inputs/gains_of_mine.py").decode() == HELPER
        assert "ackclock reproduce results.zip" in opened.read("results/README.txt").decode()
    assert kept["controllers"] == [{"file": "inputs/mine.py", "class": "Mine", "parameters": {"start": 4}}]
    # It opens a file, so its text does not show all that it reads.
    assert ["reads by `open`" in one for one in kept["lacks"]] == [True]


def test_code_of_an_archive_runs_only_with_trust(capsys, tmp_path, archive):
    sentence = refused(capsys, "reproduce", archive)
    assert sentence.startswith(f"{archive}: names inputs/")
    assert "give --trust to run it" in sentence
    assert not (tmp_path / "ran").exists()


def test_a_scenario_of_an_archive_names_no_code_elsewhere(capsys, tmp_path):
    out, elsewhere = tmp_path / "results", tmp_path / "elsewhere.c"
    elsewhere.write_text("")
    assert run(capsys, "compare", "cubic", "--duration", "1s", "--out", out)[0] == 0
    described = (out / "run.json").read_text().replace('"cubic"', json.dumps(str(elsewhere)))
    (out / "run.json").write_text(described)
    assert "elsewhere.c" in refused(capsys, "reproduce", out)


def test_a_result_that_differs_is_named_by_its_cell(capsys, archive):
    import io

    import pyarrow as pa
    import pyarrow.parquet as pq

    def other(name, content):
        if name != "results/cubic-seed-2/flows.parquet":
            return content
        table = pq.read_table(io.BytesIO(content))
        place = table.schema.get_field_index("timeouts")
        table = table.set_column(place, table.schema.field(place), pa.array([7], table.schema.types[place]))
        pq.write_table(table, written := io.BytesIO())
        return written.getvalue()

    changed(archive, other)
    status, printed, _ = run(capsys, "reproduce", archive, "--trust")
    shown = " ".join(printed.split())
    assert status == 1
    assert "flows.parquet: timeouts in row 0 was 7, and is 0" in shown
    assert "3 of 4 came out the same, 1 differ" in shown


def test_tables_of_another_version_of_arrow_are_compared_by_value(capsys, archive):
    import io

    import pyarrow.parquet as pq

    def rewritten(name, content):
        if not name.endswith("flows.parquet"):
            return content
        pq.write_table(pq.read_table(io.BytesIO(content)), written := io.BytesIO(), compression="none")
        return written.getvalue()

    changed(archive, rewritten)
    status, printed, _ = run(capsys, "reproduce", archive, "--trust", "--json")
    assert (status, {one["why"] for one in json.loads(printed)["archive"]["results"]}) == (
        0,
        {"the same values; flows.parquet was written by another version of Arrow"},
    )


def test_a_sweep_is_archived_and_repeated(capsys, tmp_path, sources):
    (sources / "mine.py").write_text(MINE.format(beacon=str(tmp_path / "ran")))
    out = tmp_path / "swept"
    over = ("--over", "queue=0.5bdp,2bdp", "--trace", "line.csv", "--duration", "1s", "--repeat", "2")
    assert run(capsys, "sweep", "cubic", "./mine.py", *over, "--out", out)[0] == 0
    assert run(capsys, "read", out, "--to", "archive", "--out", tmp_path)[0] == 0
    for one in sources.glob("*.*"):
        one.unlink()
    again = tmp_path / "again"
    status, printed, _ = run(capsys, "reproduce", tmp_path / "swept.zip", "--trust", "--json", "--out", again)
    found = json.loads(printed)["archive"]["results"]
    assert (status, [(one["name"], one["why"]) for one in found]) == (
        0,
        [("links.parquet", "the same bytes"), ("runs.parquet", "the same bytes")],
    )
    assert (again / "runs.parquet").read_bytes() == (out / "runs.parquet").read_bytes()
    assert "2 of 2 came out the same" in (again / "index.html").read_text()
    # A row a place: two controllers at two queues, with the seeds of both repetitions.
    import pyarrow.parquet as pq

    assert pq.read_table(out / "scenarios.parquet")["seeds"].to_pylist() == [[1, 2]] * 4


def test_a_check_is_archived_with_its_command(capsys, tmp_path, sources):
    (sources / "mine.py").write_text(MINE.format(beacon=str(tmp_path / "ran")))
    out = tmp_path / "checked"
    command = ("check", "./mine.py:Mine(start=4)", "--only", "after-loss", "--json", "--out", out)
    assert run(capsys, *command, "--junit", tmp_path / "j.xml")[0] == 0
    described = json.loads((out / "inputs.json").read_text())
    assert described["command"] == ["check", "@inputs/mine.py@:Mine(start=4)", "--only", "after-loss"]
    assert sorted(described["places"]) == ["inputs/gains_of_mine.py", "inputs/mine.py"]
    assert run(capsys, "read", out, "--to", "archive", "--out", tmp_path)[0] == 0
    for one in sources.glob("*.*"):
        one.unlink()
    (tmp_path / "ran").unlink()
    archive = tmp_path / "checked.zip"
    assert "names inputs/" in refused(capsys, "reproduce", archive)
    assert not (tmp_path / "ran").exists()
    status, printed, _ = run(capsys, "reproduce", archive, "--trust", "--json")
    found = json.loads(printed)["archive"]["results"]
    assert (status, [(one["name"], one["why"]) for one in found]) == (0, [("check.json", "the same bytes")])


def test_an_experiment_and_an_evaluation_are_repeated(capsys, tmp_path):
    for command, name in (
        (("reproduce", "da1992-fig3"), "run.json"),
        (("evaluate", "newreno", "--only", "5.1.1"), "evaluate.json"),
    ):
        out = tmp_path / command[0]
        assert run(capsys, *command, "--out", out)[0] == 0
        status, printed, _ = run(capsys, "reproduce", out, "--json")
        found = json.loads(printed)["archive"]["results"]
        assert (status, {one["verdict"] for one in found}) == (0, {"same"})
        assert name in {one["name"] for one in found}
    # One number of the verdicts is another.
    document = json.loads((tmp_path / "reproduce" / "run.json").read_text())
    document["experiments"][0]["claims"][0]["measured"] = 7.0
    (tmp_path / "reproduce" / "run.json").write_text(json.dumps(document))
    status, printed, _ = run(capsys, "reproduce", tmp_path / "reproduce")
    assert status == 1
    assert "experiments.0.claims.0.measured was 7.0" in " ".join(printed.split())


@pytest.mark.parametrize(
    ("command", "why"),
    [
        (["shell", "--rate", "1mbit"], "shell is no command that can be repeated"),
        (["check", "cubic", "--out", "/tmp/elsewhere"], "has --out"),
        (["check", "cubic", "--junit=/tmp/x"], "has --junit"),
        (["check", "/home/me/mine.py:Mine"], "names /home/me/mine.py:Mine"),
        (["check", "--server", "true", "--client", "true"], "names --server"),
        (["check", "cubic", "--case", "@inputs/../../x@"], "names @inputs/../../x@"),
    ],
)
def test_a_command_of_an_archive_runs_nothing_unasked(capsys, tmp_path, command, why):
    folder = tmp_path / "hostile"
    folder.mkdir()
    inputs.Inputs({}, versions=inputs.versions(), command=command).write(folder)
    assert why in refused(capsys, "reproduce", folder)


def test_a_command_of_an_archive_runs_no_code_in_the_current_folder(capsys, tmp_path, monkeypatch):
    (tmp_path / "mine.py").write_text(
        "open('ran', 'w')\nimport ackclock\nclass Mine(ackclock.Controller): pass\n"
    )
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "hostile"
    folder.mkdir()
    command = ["check", "mine.py", "--only", "idle-path"]
    inputs.Inputs({}, versions=inputs.versions(), command=command).write(folder)
    assert "mine.py: there is no such file" in refused(capsys, "reproduce", folder)
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("name", commands.REPEATABLE)
def test_each_option_of_the_output_is_left_out_of_commands(name):
    command = application.get_command(click.Context(application), name)
    output = [one for one in command.params if getattr(one, "heading", "") == "Output"]
    assert {one for option in output for one in option.opts if option.is_flag} <= {*commands.FLAGS}
    assert {one for option in output for one in option.opts if not option.is_flag} <= {*commands.OUTPUT}


def test_a_command_on_the_kernel_is_not_judged(capsys, tmp_path):
    folder = tmp_path / "live"
    folder.mkdir()
    (folder / "check.json").write_text("{}")
    inputs.Inputs({}, versions=inputs.versions(), command=["check", "cubic", "--live"]).write(folder)
    status, printed, _ = run(capsys, "reproduce", folder, "--json")
    (found,) = json.loads(printed)["archive"]["results"]
    assert (status, found["name"], found["verdict"]) == (0, "check.json", "not judged")


def test_the_same_folder_gives_the_same_archive(capsys, tmp_path):
    out = tmp_path / "results"
    assert run(capsys, "compare", "cubic", "--duration", "1s", "--out", out)[0] == 0
    made = []
    for place in ("one", "two"):
        assert run(capsys, "read", out, "--to", "archive", "--out", tmp_path / place)[0] == 0
        made.append((tmp_path / place / "results.zip").read_bytes())
    assert made[0] == made[1]
    with zipfile.ZipFile(tmp_path / "one" / "results.zip") as opened:
        entries = opened.infolist()
    # The earliest date of the format, and files that their owner may write and all may read.
    assert {one.date_time for one in entries} == {(1980, 1, 1, 0, 0, 0)}
    assert {stat.filemode(one.external_attr >> 16) for one in entries} == {"-rw-r--r--"}
    assert {one.compress_type for one in entries} == {zipfile.ZIP_DEFLATED}
    assert "is there already" in refused(capsys, "read", out, "--to", "archive", "--out", tmp_path / "one")
    # The folder itself can be repeated, too. Without code it needs no trust.
    assert run(capsys, "reproduce", out)[0] == 0
    assert "--quick: has no effect" in refused(capsys, "reproduce", out, "--quick")
    assert "is repeated alone" in refused(capsys, "reproduce", out, "cdg2011-fig4")


@pytest.mark.parametrize(
    ("name", "kind", "why"),
    [
        ("../escaped", 0, "outside its folder"),
        ("results/../../escaped", 0, "outside its folder"),
        ("/escaped", 0, "outside its folder"),
        ("results/a\\..\\..\\escaped", 0, "outside its folder"),
        ("C:escaped", 0, "outside its folder"),
        ("results/./escaped", 0, "outside its folder"),
        ("results//escaped", 0, "outside its folder"),
        ("results/link", stat.S_IFLNK, "is a link or a device"),
        ("results/device", stat.S_IFCHR, "is a link or a device"),
        ("results/pipe", stat.S_IFIFO, "is a link or a device"),
        ("results/INPUTS.json", 0, "two files of one name"),
    ],
)
def test_an_archive_writes_nothing_outside_its_folder(capsys, tmp_path, name, kind, why):
    file = tmp_path / "deep" / "hostile.zip"
    file.parent.mkdir()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("results/inputs.json", "{}")
        entry = zipfile.ZipInfo("placeholder")
        entry.filename = name
        entry.external_attr = kind << 16
        archive.writestr(entry, str(tmp_path))
    before = sorted(tmp_path.rglob("*"))
    assert why in refused(capsys, "reproduce", file, "--trust")
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize(
    ("described", "why"),
    [
        ({"places": {"inputs/../../x": "/x"}}, "is no place below inputs"),
        ({"places": {"run.json": "/x"}}, "is no place below inputs"),
        ({"places": {"inputs\\x": "/x"}}, "is no place below inputs"),
        ({"controllers": [{"file": "/etc/x.py", "class": "X", "parameters": {}}]}, "is not among the files"),
        ({"places": {"inputs/x": "/x"}}, "inputs/x is missing"),
        ({"engines": {"sim": 1}}, "does not describe the inputs of runs"),
    ],
)
def test_inputs_that_are_none_are_refused(capsys, tmp_path, described, why):
    file = tmp_path / "hostile.zip"
    empty = inputs.Inputs({}, versions=inputs.versions())
    empty.write(tmp_path)
    whole = json.loads((tmp_path / "inputs.json").read_text()) | described
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("results/inputs.json", json.dumps(whole))
    assert why in refused(capsys, "reproduce", file, "--trust")


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04", b"not a zip"])
def test_a_file_that_is_no_archive_is_refused(capsys, tmp_path, content):
    (tmp_path / "no.zip").write_bytes(content)
    assert "is no archive" in refused(capsys, "reproduce", tmp_path / "no.zip")
    with zipfile.ZipFile(tmp_path / "other.zip", "w") as archive:
        archive.writestr("a", "b")
    assert "is no archive of results" in refused(capsys, "reproduce", tmp_path / "other.zip")


def test_runs_in_real_time_are_not_judged(capsys, tmp_path):
    out = tmp_path / "results"
    assert run(capsys, "compare", "cubic", "--duration", "1s", "--out", out)[0] == 0
    text = (out / "run.json").read_text().replace('"kind": "sim"', '"kind": "live"')
    (out / "run.json").write_text(text)
    status, printed, _ = run(capsys, "reproduce", out, "--json")
    (found,) = json.loads(printed)["archive"]["results"]
    assert (status, found["verdict"]) == (0, "not judged")


def test_another_version_of_ackclock_is_named(capsys, tmp_path):
    out = tmp_path / "results"
    assert run(capsys, "compare", "cubic", "--duration", "1s", "--out", out)[0] == 0
    described = json.loads((out / "inputs.json").read_text())
    described["versions"]["ackclock"] = "0.0.1"
    (out / "inputs.json").write_text(json.dumps(described))
    status, _, shown = run(capsys, "reproduce", out)
    assert status == 0
    assert "is of ackclock 0.0.1" in " ".join(shown.split())


def test_folders_that_cannot_be_repeated_are_refused(capsys, tmp_path):
    class Local(ackclock.Controller):
        def on_ack(self, cx, ack):
            pass

        on_loss = on_timeout = on_ack

    ackclock.sweep(
        ackclock.Path("10mbit", "20ms"),
        [Local],
        over={"queue": ["1bdp"]},
        duration="1s",
        out=tmp_path / "own",
    )
    # A class within a function is in no file by its name.
    assert "controller of a program" in refused(
        capsys, "read", tmp_path / "own", "--to", "archive", "--out", tmp_path
    )
    out = tmp_path / "old"
    ackclock.simulate(ackclock.Path("10mbit", "20ms", "1bdp"), ["cubic"], duration="1s").save(out)
    assert "has no inputs.json" in refused(capsys, "read", out, "--to", "archive", "--out", tmp_path)


def test_an_interrupted_sweep_is_refused(tmp_path):
    from ackclock.sweeps import kept

    swept = ackclock.sweep(
        ackclock.Path("10mbit", "20ms"),
        ["cubic"],
        over={"queue": ["1bdp"]},
        repeat=2,
        duration="1s",
        out=tmp_path / "s",
    )
    import pyarrow.parquet as pq

    pq.write_table(swept.runs.slice(0, 1), tmp_path / "s" / "runs.parquet")
    with pytest.raises(InputError, match="has 1 of 2 runs: the same command"):
        kept.rows(tmp_path / "s")


def test_files_keep_their_places_among_each_other():
    files = ["/home/me/lab/mine.bpf.c", "/home/me/lab/headers/gains.h", "/home/me/data/line.csv"]
    assert inputs.places(files) == {
        "/home/me/lab/mine.bpf.c": "inputs/lab/mine.bpf.c",
        "/home/me/lab/headers/gains.h": "inputs/lab/headers/gains.h",
        "/home/me/data/line.csv": "inputs/data/line.csv",
    }
    assert inputs.places(["/line.csv"]) == {"/line.csv": "inputs/line.csv"}


def test_names_of_files_are_moved_whole(tmp_path):
    kept = inputs.Inputs({"inputs/a.rs": "/lab/a.rs"})
    moved = kept.moved({"flows": [{"cc": "noq:/lab/a.rs:Mine"}, {"cc": "/lab/a.rs2"}]}, tmp_path)
    assert moved == {"flows": [{"cc": f"noq:{tmp_path}/inputs/a.rs:Mine"}, {"cc": "/lab/a.rs2"}]}


@pytest.mark.parametrize(
    ("path", "names"),
    [
        (PurePosixPath("/a/b.py"), ["a", "b.py"]),
        (PurePosixPath("a/b.py"), ["a", "b.py"]),
        (PureWindowsPath("C:\\a\\b.py"), ["C:", "a", "b.py"]),
        (PureWindowsPath("a\\b.py"), ["a", "b.py"]),
    ],
)
def test_the_names_of_a_path_begin_with_its_drive(path, names):
    assert inputs._below_root(path) == names
