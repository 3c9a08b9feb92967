"""Sentences, notes, names of files and progress, as the command line prints them."""

import io
import json
from contextlib import contextmanager

import pytest
from rich.console import Console

from ackclock import _engine, repetitions
from ackclock.cli import output
from ackclock.cli.interrupts import Interrupts
from ackclock.engines import registry
from ackclock.engines.simulator import Simulator
from calling import run


@pytest.fixture
def terminal(monkeypatch):
    """Standard error as a terminal of twenty columns."""
    monkeypatch.setenv("TERM", "xterm")
    console = Console(file=io.StringIO(), width=20, force_terminal=True, color_system="standard")
    monkeypatch.setattr(output, "notes", console)
    return console.file


def test_a_sentence_is_one_line_however_wide_the_terminal_is(terminal):
    output.say("[cubic] has 5 words in a line that is longer than the terminal", highlight=False)
    assert terminal.getvalue() == "[cubic] has 5 words in a line that is longer than the terminal\n"


def test_numbers_of_a_sentence_have_a_colour(terminal):
    output.say("it has 5 words")
    assert terminal.getvalue().startswith("it has \x1b[")
    output.remark("")
    before = terminal.getvalue()
    output.remark("it is cut off")
    assert terminal.getvalue() == f"{before}note: it is cut off\n"


@pytest.mark.parametrize(
    ("loaded", "note"),
    [
        (["cdg_2"], ""),
        (["cdg_x", "acdg", "cdgs", "cdg_2"], ""),
        (["cdg", "cdg_2"], "cdg is loaded as well; `ackclock kernel unload cdg` removes all"),
        (["cdg", "cdg_10"], "cdg and cdg_10 are loaded as well; `ackclock kernel unload cdg` removes all"),
    ],
)
def test_loading_a_controller_again_names_the_others(capsys, monkeypatch, loaded, note):
    monkeypatch.setattr(registry, "find", lambda _: None)
    monkeypatch.setattr(_engine, "kernel_load", lambda *_: "cdg_2", raising=False)
    listed = [{"name": name, "parameters": {}} for name in loaded]
    monkeypatch.setattr(_engine, "kernel_list", lambda: listed, raising=False)
    assert run(capsys, "kernel", "load", "cdg") == (0, "cdg_2\n", f"note: {note}\n" if note else "")


def test_loaded_controllers_are_listed_with_their_parameters(capsys, monkeypatch):
    monkeypatch.setattr(registry, "find", lambda _: None)
    rows = [{"name": "cdg", "parameters": {"G": "10ms", "beta_d": 0.7}}, {"name": "da", "parameters": {}}]
    monkeypatch.setattr(_engine, "kernel_list", lambda: rows, raising=False)
    text = run(capsys, "kernel", "list")[1]
    assert [line.split() for line in text.splitlines() if "cdg" in line or "da" in line.split()] == [
        ["│", "cdg", "│", 'G="10ms",', "beta_d=0.7", "│"],
        ["│", "da", "│", "-", "│"],
    ]
    assert json.loads(run(capsys, "kernel", "list", "--json")[1]) == {"controllers": rows}
    rows.clear()
    assert run(capsys, "kernel", "list")[1] == "No controller is loaded.\n"


@pytest.mark.parametrize(
    ("label", "name"),
    [
        ("cdg(G=1ms, beta_d=0.7)", "cdg_G_1ms_beta_d_0.7_"),
        (" ./a b ", "_a_b"),
        ("...", "run"),
        ("", "run"),
        ("x" * 60, "x" * 60),
    ],
)
def test_a_label_is_part_of_a_file_name(label, name):
    assert output.file_name(label) == name


def test_long_labels_and_those_of_one_name_have_a_checksum():
    long = [output.file_name(f"{'x' * 200}{end}") for end in "ab"]
    assert len(set(long)) == 2
    assert {len(name) for name in long} == {60}
    assert len(output.file_name("x" * 61)) == 60
    names = output.file_names(["a/b", "a_b", "A_B", "c"])
    assert names["c"] == "c"
    assert len({name.casefold() for name in names.values()}) == 4
    # The CRC-32 of `a/b`.
    assert names["a/b"] == "a_b-07f4401c"


def test_notes_about_moving_shares_name_five():
    shares = [f"share {number}" for number in range(1, 8)]
    assert output.moving_shares([]) == []
    hint = ": --warmup leaves a start out, and a longer --duration shows the end"
    first = "; ".join(shares[:5])
    assert output.moving_shares(shares[:5]) == [f"{first}{hint}"]
    assert output.moving_shares(shares[:6]) == [f"{first}, and 1 more{hint}"]
    assert output.moving_shares(shares) == [f"{first}, and 2 more{hint}"]
    [sentence] = output.moving_queues({"cdg": (1, 4), "cubic": (2, 4)})
    assert sentence.startswith("in 1 of 4 runs of cdg, 2 of 4 runs of cubic the mean queueing delay")
    assert output.moving_queues({}) == []
    assert output.same_repetitions([]) == []
    assert "the repetitions of a, b came out the same" in output.same_repetitions(["a", "b"])[0]


def test_a_line_of_progress_is_written_each_minute(monkeypatch, capsys):
    now = [100.0]
    monkeypatch.setattr(output.time, "monotonic", lambda: now[0])
    with output.progress("9 runs") as at:
        for time, fraction in ((159.9, 0.1), (160.0, 0.25), (200.0, 0.3), (219.9, 0.4), (220.0, 0.5)):
            now[0] = time
            at(fraction)
    # After a minute a quarter is done, and after two minutes a half.
    first, second = capsys.readouterr().err.splitlines()
    assert first.startswith("9 runs: 25 % done, 3 min left, ends at ")
    assert second.startswith("9 runs: 50 % done, 2 min left, ends at ")


def test_progress_on_a_terminal_is_a_bar_after_half_a_second(monkeypatch, terminal):
    now = [100.0]
    monkeypatch.setattr(output.time, "monotonic", lambda: now[0])
    with output.progress("work") as at:
        now[0] = 100.5
        at(0.1)
        assert terminal.getvalue() == ""
        now[0] = 100.6
        at(0.25)
        assert "work" in terminal.getvalue()


def test_progress_on_a_terminal_without_a_cursor_is_a_line_each_minute(monkeypatch, terminal):
    monkeypatch.setenv("TERM", "dumb")
    now = [100.0]
    monkeypatch.setattr(output.time, "monotonic", lambda: now[0])
    with output.progress("work") as at:
        for now[0], fraction in ((159.0, 0.2), (160.0, 0.25), (161.0, 0.3)):
            at(fraction)
    assert terminal.getvalue().startswith("work: ")
    assert terminal.getvalue().count("\n") == 1


def test_the_end_of_long_work_is_foreseen_for_a_week():
    # A hundredth in 1.7 hours are seven days, less the time that has passed.
    assert output.progress_line("work", 0.01, 6000.0).startswith("work: 1 % done, 9900 min left")
    assert output.progress_line("work", 0.01, 7 * 864.0 * 100 / 99).startswith(
        "work: 1 % done, 10080 min left"
    )
    assert output.progress_line("work", 0.01, 6200.0) == "work: 0 % done after 103 min"
    assert output.progress_line("work", 0.0, 90.0) == "work: 0 % done after 2 min"


@pytest.mark.parametrize(("seeds", "title"), [((1,), "run"), ((1, 2), "2 runs")])
def test_progress_counts_runs(monkeypatch, seeds, title):
    titles = []

    @contextmanager
    def progress(text):
        titles.append(text)
        yield lambda _: None

    monkeypatch.setattr(output, "progress", progress)
    path = {"rate": "1mbit", "rtt": "20ms", "queue": "20p"}
    document = {"duration": "100ms", "path": path, "flows": [{"cc": "newreno"}]}
    plan = _engine.resolve_json(json.dumps(document), [])
    points = [repetitions.Point("newreno", plan, seeds)]
    found = output.run_all(points, Simulator(), lambda *_: None, Interrupts())
    assert ([run.seed for _, run in found], titles) == ([*seeds], [title])
