"""Bad input and bad surroundings: one sentence on standard error, the right status, nothing left behind."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import ackclock
from ackclock import Run
from ackclock.engines.live import Live
from ackclock.report import FolderError, check_folder, new_folder
from calling import PATIENCE, SCENARIO, refused, run

COMMAND = [sys.executable, "-m", "ackclock.cli"]
PACKET_SCRIPT = Path(__file__).parents[1] / "packetdrill" / "limited-transmit.pkt"

ROOT = os.geteuid() == 0


def shell(line, *arguments, **environment):
    """A command line of a shell, in which ``"$@"`` is the program with its arguments."""
    command = ["sh", "-c", line, "sh", *COMMAND, *map(str, arguments)]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=PATIENCE, check=False, env=os.environ | environment
    )


@pytest.mark.parametrize(
    ("before", "after", "sentence"),
    [
        ('rtt = "20ms"', 'rtt = "20"', "line 5: path.rtt: `20` has no unit: write `20ms` or `20s`"),
        ("queue", "queu", "line 6: path.queu: there is no such key here; did you mean `queue`?"),
        ("newreno", "newrino", "line 8: flows.0.cc: there is no controller `newrino`; did you mean"),
        ('"5mbit"', '"5kbps"', "line 4: path.rate: `5kbps` is ambiguous: tc reads bytes"),
        ('"5mbit"', "nan", "line 4: path.rate: invalid type: floating point `NaN`, expected a rate like"),
        ('"5mbit"', '"1e300mbit"', "line 4: path.rate: `1e300mbit` is too large for a rate"),
        ('"5mbit"', '{ trace = "none" }', "line 4: path.rate: the trace `none` cannot be read: No such file"),
        ('"5mbit"', '{ trace = "/dev/zero" }', "the trace `/dev/zero` cannot be read: it is no regular file"),
        ('"30p"', '"1e300bdp"', "line 6: path.queue: `1e300bdp` is not a number of BDPs from 0.000001"),
        (
            '"30p"',
            '{ limit = "30p", discipline = "blue" }',
            "line 6: path.queue.discipline: unknown variant `blue`, expected one of `fifo`, `fq`, `drr`, ",
        ),
        (
            '"30p"',
            '{ limit = "30p", discipline = "fq", quantum = "1500b" }',
            "path.queue.quantum: the discipline `fq` has no such key, but `drr` or `fq_codel` or `fq_pie`",
        ),
        ('"30p"', "-1", "line 6: path.queue: invalid type: integer `-1`, expected a queue like"),
        ('queue = "30p"', 'queue = "30p"\nloss = 1.5', "line 7: path.loss: 1.5 is not between 0 and 1"),
        ('name = "small"', "seed = -1", "line 1: seed: invalid value: integer `-1`, expected a whole number"),
        ('cc = "newreno"', 'cc = "newreno"\ncount = 1000000000', "at most 1000000 are allowed"),
        ("[[flows]]", "[flows]", "line 7: flows: invalid type: table, expected a list"),
        ('[path]\nrate = "5mbit"', 'path = 3\n[x]\nrate = "5mbit"', "line 3: path: invalid type: integer"),
        ('"1s"', '"31536000s"\nrecord.flow_series = "1us"', "of memory, more than 80% of the"),
        ('"1s"', "2020-01-01", "line 2: duration: invalid type: date `2020-01-01`, expected a time"),
        (
            '"30p"',
            '{ discipline = "cake", isolation = 1979-05-27 }',
            "path.queue.isolation: invalid type: date `1979-05-27`, expected text in quotes, a number",
        ),
        (SCENARIO, "", "duration: is missing"),
        (SCENARIO, "x = ", "line 1: is not TOML"),
    ],
)  # fmt: skip
def test_an_error_names_file_line_key_value_and_range(capsys, scenario, before, after, sentence):
    assert before in SCENARIO
    scenario.write_text(SCENARIO.replace(before, after))
    said = refused(capsys, "run", scenario)
    assert sentence in said
    assert "memory" in sentence or str(scenario) in said


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (SCENARIO.encode("utf-16"), "is not UTF-8 text (byte 0 is the first that is not)"),
        (b"\0\0\0", "line 1: is not TOML"),
        (b"a=" + b"[" * 50_000, "max recursion depth"),
    ],
)
def test_a_file_that_is_no_scenario(capsys, scenario, content, sentence):
    scenario.write_bytes(content)
    assert sentence in refused(capsys, "run", scenario)


@pytest.mark.parametrize("change", [lambda t: t.replace("\n", "\r\n"), lambda t: "\ufeff" + t])
def test_line_ends_and_byte_order_marks_are_read(capsys, scenario, change):
    scenario.write_bytes(change(SCENARIO).encode())
    assert run(capsys, "run", scenario)[0] == 0


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--repeat", "0"], "--repeat"),
        (["--repeat", "1000000000"], "--repeat 1000000000: must be at most 100000"),
        (["--engine", "sim:threads=0"], "--engine sim:threads=0: must be at least 1"),
        (["--seed", "-1"], "--seed"),
        (["--seed", str(2**64)], "must be at most 9223372036854775807"),
        (["--seed", str(2**63 - 1), "--repeat", "2"], "the last seed would be 9223372036854775808"),
        (["--set", "path.queue"], "must be KEY=VALUE"),
        (["--set", "flows.0.cc.x=1"], "`flows.0.cc` is not a table"),
        (["--set", "name=\udcff"], "is not text in the encoding of the system"),
        (["--set", "flows.0.cc=python:0"], "is one written in Python"),
        (["--also", "csv"], "--also: needs --out DIR"),
        (["--pcap", "/proc/x"], f"/proc/x: {'No such file or directory' if ROOT else 'cannot be written'}"),
        (["--pcap", "/dev/full"], f"/dev/full: {'No space left on device' if ROOT else 'cannot be written'}"),
        (["--out", "x" * 300], "File name too long"),
        (["--out", "/"], "--out /: the folder is not empty"),
    ],
)
def test_an_option_out_of_range(capsys, scenario, arguments, sentence):
    assert sentence in refused(capsys, "run", scenario, *arguments)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["new", "engine"], "new engine: NAME is missing"),
        (["compare", "cubic,bbr1"], "cubic,bbr1: must be one controller; several stand apart: cubic bbr1"),
        (["run", "cubic"], "cubic: is a controller; `ackclock compare cubic` runs it on a path"),
        (
            ["run", "x.toml", "--duration", "5s"],
            "--duration: is a key of the scenario here: --set duration=VALUE",
        ),
        (
            ["run", "x.toml", "--rate", "5mbit"],
            "--rate: is a key of the scenario here: --set path.rate=VALUE",
        ),
        (
            ["sweep", "cubic", "--over", "queu=1p"],
            "over queu: is no key of a scenario; did you mean `queue`?",
        ),
        (["compare"], "compare: CC… is missing; see `ackclock compare --help`"),
        (["compare", "cdg", "cdg"], "named twice"),
        (["compare", "python:0"], "is one written in Python"),
        (["compare", "cdg", "--set", "flows.0.cc=newreno"], "flows.0.cc: `compare` takes the controllers"),
        (["compare", "cdg", "--set", "flows=[]"], "flows: `compare` takes the controllers as arguments"),
        (["compare", "cdg", "--rate", ""], "--rate '': must not be empty: Rate of the bottleneck"),
        (["compare", "cdg", "--networks", "802.11g", "--queue", "1"], "wlans.0.queue"),
        (["compare", "cdg", "--queue", ""], "--queue '': must not be empty: Queue limit"),
        (["compare", "cdg", "--out="], "--out '': must not be empty: Write report, figures and tables"),
        (["compare", "cdg", "--also", ",", "--out", "x"], "--also ,: , is none of pdf, svg, csv, open"),
        (["run", " "], "FILE.toml ' ': must not be empty: The scenario"),
        (
            ["kernel", "parity", "--only", ""],
            "--only '': must not be empty: Situations to run: greedy, marks",
        ),
        (["kernel", "parity", "--only", ","], "--only ,: must be values separated by commas"),
        (["kernel", "parity", "--beside", ""], "--beside '': must not be empty: Controllers"),
        (["kernel", "load", ""], "NAME '': must not be empty: newreno, cdg"),
        (["compare", "cdg(G=10ms, G=5ms)"], "G is named twice"),
        (["compare", "cdg", ""], "CC… '': must not be empty: Controllers"),
        (["replay", PACKET_SCRIPT, ""], "FILE… '': must not be empty: Packet scripts"),
        (["sweep", "cdg", "--over", ""], "--over '': must not be empty: A key of the scenario"),
        (["sweep", "cdg", "--set", "flows.*.cc=cubic"], "`sweep` takes the controllers as arguments"),
        (["sweep", "cdg", "--over", "flows.0.cc=cubic,vegas"], "`sweep` takes the controllers as arguments"),
        (["matrix", "cdg", "--set", "flows.0.cc=cubic"], "`matrix` takes the controllers as arguments"),
        (["slow-start", "--set", "flows.0.cc=cdg"], "`slow-start` takes the controllers as arguments"),
        (
            ["slow-start", "--set", "flows.0.parameters.slow_start=hystart"],
            "takes the controllers as arguments",
        ),
        (["slow-start", "--network", "wired", "--trace", "/"], "--trace /: cannot be read: Is a directory"),
        (["slow-start", "--paths", "100000", "--out", "/"], "--out /: the folder is not empty"),
        (["replay", PACKET_SCRIPT, "--cc", ""], "--cc '': must not be empty: The controller"),
        (["compare", "cdg", "--loss", "200%"], "path.loss: `200%` is above 100%"),
        (["compare", "cdg", "--repeat", "100000"], "of memory together"),
        (["reproduce", "cdg2011-fig44"], "did you mean `cdg2011-fig4`?"),
        (["reproduce", "cdg2011-fig4", "--seed", str(2**63 - 1)], "the last seed would be"),
        (["bench", "--only", ""], "--only '': must not be empty"),
        (["bench", "--only", "x"], "there is no such case"),
    ],
)
@pytest.mark.usefixtures("kernel")
def test_a_command_that_cannot_be_carried_out(capsys, arguments, sentence):
    assert sentence in refused(capsys, *arguments)


def test_a_missing_file_is_named_without_an_error_number(capsys):
    sentence = "scenario: flows.0.cc: `./nothere.bpf.c` cannot be read: No such file or directory"
    assert refused(capsys, "compare", "./nothere.bpf.c") == sentence


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["compare", "cdg", "--seed", "-1"], "--seed -1: must be at least 0"),
        (["compare", "cdg", "--seed", "x"], "--seed x: must be a whole number"),
        (["compare", "cdg", "--repeat", "1000000"], "--repeat 1000000: must be at most 100000"),
        (["slow-start", "--cross", "abc"], "--cross abc: must be a number"),
        (["slow-start", "--cross", "nan"], "--cross nan: must be at most 0.95"),
    ],
)
def test_a_forbidden_number_is_named_with_its_option(capsys, arguments, sentence):
    assert refused(capsys, *arguments) == sentence


def test_a_program_of_the_shell_may_have_empty_arguments():
    from ackclock.cli import app

    command = app.application.get_command(None, "shell")
    context = command.make_context("shell", ["--rate", "1mbit", "test", "-z", ""])
    assert context.params["command_line"] == ("test", "-z", "")


def test_the_current_folder_is_not_replaced(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(FolderError, match="the current folder cannot be replaced: name a folder in it"):
        check_folder(Path(), force=False)
    check_folder(Path("results"), force=False)


@pytest.mark.parametrize(
    "command",
    [
        ["compare", "cdg", "--duration", "1s"],
        ["shell", "--", "true"],
        ["run", "there.toml"],
        ["replay", "there.pkt"],
        ["new", "controller", "mine"],
        ["kernel", "parity", "--quick"],
    ],
)
def test_a_current_folder_that_is_deleted_is_named(capsys, tmp_path, monkeypatch, command):
    monkeypatch.setattr(Live, "require", lambda: None)
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    assert refused(capsys, *command) == "the current folder has been deleted: change into another"


def test_the_seed_of_compare_is_a_key_of_the_scenario(capsys):
    _, out, _ = run(capsys, "compare", "newreno", "--duration", "1s", "--set", "seed=7", "--json")
    assert json.loads(out)["runs"][0]["seed"] == 7


def test_names_of_any_shape_are_shown_and_lead_nowhere(capsys, scenario, tmp_path):
    name = "../../[/red] [x]"
    settings = ("--set", f"name={name}", "--set", "flows.0.name=[/i]")
    status, out, _ = run(
        capsys, "run", scenario, *settings, "--repeat", 2, "--out", tmp_path / "a" / "b" / "out"
    )
    assert status == 0
    assert "[/i]" in out
    assert sorted(p.name for p in (tmp_path / "a" / "b" / "out").iterdir() if p.is_dir()) == [
        "_..___red___x_-seed-1",
        "_..___red___x_-seed-2",
    ]
    assert {p.name for p in tmp_path.iterdir()} == {"in", "a"}


def test_names_of_folders_have_no_spaces(capsys, tmp_path):
    command = ("compare", "cubic", "cdg(G=10ms)", "--networks", "home", "--duration", "1s")
    assert run(capsys, *command, "--out", tmp_path / "out")[0] == 0
    folders = sorted(one.name for one in (tmp_path / "out").iterdir() if one.is_dir())
    assert folders == ["home_cdg_G_10ms_-seed-1", "home_cubic-seed-1"]


def test_long_names_that_differ_at_their_end_get_own_folders(capsys, tmp_path):
    given = "alpha=1.000000000000000001, beta=0.500000000000000001"
    names = [f"aimd({given}, k={k})" for k in (0, 1)]
    assert run(capsys, "compare", *names, "--duration", "1s", "--out", tmp_path / "out")[0] == 0
    folders = [one.name for one in (tmp_path / "out").iterdir() if one.is_dir()]
    assert len(folders) == 2
    assert all(len(name) <= 60 + len("-seed-1") for name in folders)


@pytest.mark.parametrize("name", ["$x_$", "$$", r"$\frac$", "$5 and $6"])
def test_a_dollar_in_a_name_is_drawn_as_it_is(capsys, scenario, tmp_path, name):
    settings = ("--set", f"flows.0.name={name}", "--set", f"name={name}")
    status, _, err = run(capsys, "run", scenario, *settings, "--out", tmp_path / "out")
    assert (status, "warning" in err) == (0, False)
    assert (tmp_path / "out" / "overview.png").exists()


def test_a_figure_that_cannot_be_drawn_costs_no_table(capsys, scenario, tmp_path, monkeypatch):
    def broken(_):
        raise ZeroDivisionError("of the drawing")

    monkeypatch.setattr("ackclock.plots.overview.stack", broken)
    status, out, err = run(capsys, "run", scenario, "--out", tmp_path / "out", "--json")
    why = "the figure overview.png cannot be drawn, please report it: ZeroDivisionError: of the drawing"
    assert status == 0
    assert f"warning: {why}" in err
    assert json.loads(out)["runs"]
    assert f"{why}." in (tmp_path / "out" / "index.html").read_text()
    assert Run.load(tmp_path / "out").flows.num_rows == 1
    assert {p.name for p in (tmp_path / "out").glob("*.png")} == {"delay-throughput.png", "distributions.png"}


def test_a_first_page_that_fails_costs_no_table(capsys, scenario, tmp_path, monkeypatch):
    def broken(_):
        raise ZeroDivisionError("of the numbers")

    monkeypatch.setattr("ackclock.cli.first_page.overview", broken)
    status, _, err = run(capsys, "run", scenario, "--out", tmp_path / "out")
    assert status == 0
    assert "the first page cannot be drawn" in err
    assert Run.load(tmp_path / "out").flows.num_rows == 1


def test_force_replaces_a_report_and_nothing_else(capsys, scenario, tmp_path):
    out = tmp_path / "out"
    assert run(capsys, "run", scenario, "--out", out)[0] == 0
    assert run(capsys, "run", scenario, "--out", out, "--force", "--set", "name=again")[0] == 0
    assert json.loads((out / "run.json").read_text())["scenario"]["name"] == "again"
    assert "is no report of ackclock" in refused(capsys, "run", scenario, "--out", scenario.parent, "--force")
    assert scenario.exists()
    for dangerous in ("/", str(Path.home())):
        with pytest.raises(FolderError, match=r"no report of ackclock|root of a file system"):
            check_folder(Path(dangerous), force=True)


def test_no_folder_replaces_the_current_one_or_one_above(capsys, scenario, tmp_path, monkeypatch):
    out = tmp_path / "out"
    assert run(capsys, "run", scenario, "--out", out)[0] == 0
    (out / "below/inside").mkdir(parents=True)
    for here in (out, out / "below", out / "below/inside"):
        monkeypatch.chdir(here)
        sentence = refused(capsys, "run", scenario, "--out", out, "--force")
        assert sentence == f"--out {out}: the current folder cannot be replaced: name a folder in it"
    assert (out / "run.json").exists()


def test_a_link_to_a_folder_is_written_through(capsys, scenario, tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    assert run(capsys, "run", scenario, "--out", tmp_path / "link")[0] == 0
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real" / "index.html").exists()


def test_a_second_command_is_refused_before_it_runs(tmp_path):
    with new_folder(tmp_path / "out") as first:
        (first / "first").touch()
        with (
            pytest.raises(FolderError, match="another ackclock is at work on it"),
            new_folder(tmp_path / "out"),
        ):
            pytest.fail("it must not begin")
    assert [p.name for p in tmp_path.iterdir()] == ["out"]
    assert [p.name for p in (tmp_path / "out").iterdir()] == ["first"]


def test_a_folder_that_appears_meanwhile_is_left_alone(tmp_path):
    def late():
        with new_folder(tmp_path / "out"):
            (tmp_path / "out").mkdir()
            (tmp_path / "out" / "other").touch()

    with pytest.raises(FolderError, match="not empty"):
        late()
    assert [p.name for p in tmp_path.iterdir()] == ["out"]
    assert [p.name for p in (tmp_path / "out").iterdir()] == ["other"]


@pytest.mark.parametrize("name", ["x" * 255, "\N{EURO SIGN}" * 85])
def test_a_folder_may_have_the_longest_name_there_is(tmp_path, name):
    with new_folder(tmp_path / name) as folder:
        (folder / "a").touch()
    assert [p.name for p in tmp_path.iterdir()] == [name]
    with pytest.raises(FolderError, match="File name too long"), new_folder(tmp_path / (name + "x")):
        pytest.fail("it must not begin")
    assert [p.name for p in tmp_path.iterdir()] == [name]


def test_what_a_killed_run_left_is_removed_by_the_next(tmp_path):
    left = tmp_path / ".out.ackclock-abcdefgh"
    left.mkdir()
    os.utime(left, (0, 0))
    with new_folder(tmp_path / "out"), new_folder(tmp_path / "other"):
        pass
    assert sorted(p.name for p in tmp_path.iterdir()) == ["other", "out"]


@pytest.mark.parametrize(
    ("line", "status", "said"),
    [
        ('"$@" >/dev/full', 2, "standard output: No space left on device"),
        ('"$@" >&-', 0, ""),
        ('"$@" 2>&-', 0, ""),
        ('{ "$@"; echo $? >&3; } 3>&2 | true', 0, "141"),
    ],
)
def test_standard_output_that_cannot_be_written(scenario, line, status, said):
    done = shell(line, "run", scenario)
    assert done.returncode == status
    lines = [line for line in done.stderr.splitlines() if not line.startswith("note: ")]
    assert "\n".join(lines).removeprefix("ackclock: ") == said


@pytest.mark.skipif(not ackclock.__file__.isascii(), reason="Python finds no package in this folder in ASCII")
def test_no_home_no_terminal_and_ascii_do_no_harm(scenario, tmp_path):
    poor = {"HOME": "", "TERM": "dumb", "COLUMNS": "20", "LC_ALL": "C", "PYTHONUTF8": "0"}
    poor["PYTHONCOERCECLOCALE"] = "0"
    done = shell('"$@"', "run", scenario, "--out", tmp_path / "out", "--json", **poor)
    assert done.returncode == 0
    assert json.loads(done.stdout)["runs"]
    assert shell('"$@"', "compare", "--help", **poor).returncode == 0


def test_help_appears_without_loading_what_it_does_not_need():
    program = (
        "import sys; from ackclock.cli import main; main(['--help']);"
        "print([m for m in ('matplotlib', 'pyarrow') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize(
    "arguments",
    [
        ["run", "/dev/zero"],
        ["compare", "cubic", "--trace", "/dev/zero"],
        ["slow-start", "classic", "--trace", "/dev/zero"],
        ["replay", "/dev/zero"],
        ["check", "cubic", "--case", "/dev/zero"],
    ],
)
def test_a_file_without_end_is_not_read_to_the_end(capsys, arguments):
    assert "KiB that are allowed" in refused(capsys, *arguments)


def test_tables_that_are_nested_without_end_are_bad_input(capsys, tmp_path):
    file = tmp_path / "deep.toml"
    file.write_text("name = " + "[" * 20_000)
    for arguments in (
        ["run", file],
        ["compare", "cubic", "--networks", file],
        ["check", "cubic", "--case", file],
    ):
        said = refused(capsys, *arguments)
        assert "nested" in said or "recurse" in said
    refused(capsys, "compare", f"cubic(C={'[' * 20_000})")


@pytest.mark.parametrize(
    ("value", "why"),
    [("2024-01-01", "it is of type date"), ("nan", "nan is no number"), ("-inf", "-inf is no number")],
)
def test_a_value_that_only_toml_can_hold_is_named_with_its_key(capsys, tmp_path, value, why):
    path = f'path = {{ rate = "5mbit", rtt = "20ms", queue = "50p", loss = {value} }}\n'
    (tmp_path / "networks.toml").write_text("[networks.office]\n" + path)
    (tmp_path / "case.toml").write_text(
        'title = "t"\nwhy = "w."\nsource = "own"\n[scenario]\nduration = "1s"\nflows = [{ }]\n' + path
        + '[[judges]]\nwords = "goodput"\nmeasure = { metric = "goodput" }\nlow = 1\n'
    )  # fmt: skip
    for arguments, place in (
        (["compare", "cubic", "--networks", tmp_path / "networks.toml"], "--networks: office: "),
        (["check", "cubic", "--case", tmp_path / "case.toml", "--only", "case"], "case.toml, case case: "),
    ):
        assert refused(capsys, *arguments).startswith(f"{place}path.loss: {why}")
