"""Texts from files reach terminals and spreadsheets as text alone."""

import io
from pathlib import Path

import pyarrow as pa
import pytest
from rich.table import Table
from rich.text import Text

from ackclock.cli.console import Console
from ackclock.printable import is_printable, printable, write_csv
from calling import SCENARIO, refused, run

ESCAPES = "\x1b]0;owned\x07\x1b[2J\x9b31m\u202eexe\u2066\u200f[bold]x[/nope]"


def test_controls_and_marks_of_direction_become_visible():
    assert printable("a\x1b[2Jb\r\x07\x7f\x9b\u202e\u2028\u061c") == "a␛[2Jb␍␇" + 5 * "\ufffd"
    for kept in ("a\tb\n", "λ ≥ 2, Ü", "中文", "\u200d"):
        assert printable(kept) == kept
        assert is_printable(kept)
    assert not is_printable("\x1b")


@pytest.mark.parametrize("soft_wrap", [True, False])
def test_a_console_prints_texts_as_they_are(soft_wrap):
    table = Table(ESCAPES, title=ESCAPES)
    table.add_row(ESCAPES)
    table.add_row(Text(ESCAPES))
    shown = io.StringIO()
    console = Console(file=shown, width=200, force_terminal=True, color_system=None)
    console.print(table)
    console.print(ESCAPES, soft_wrap=soft_wrap)
    assert is_printable(shown.getvalue())
    # A cell has room for the letters alone, so the end of such a text is cut.
    assert shown.getvalue().count("[bold]x") == 5


def test_cells_are_neither_formulas_nor_controls(tmp_path):
    names = pa.array(["=1+1", "+x", "-x", "@x", "\tx", "a=b", "x\u202e\x1b\r", None]).dictionary_encode()
    write_csv(pa.table({"name": names, "=rate": [-1.0] * 8}), tmp_path / "t.csv")
    lines = (tmp_path / "t.csv").read_text().splitlines()
    assert lines[0] == '"name","\'=rate"'
    assert lines[1:] == [
        *(f'"\'{name}",-1' for name in ("=1+1", "+x", "-x", "@x", "\tx")),
        '"a=b",-1',
        '"x\ufffd\ufffd\ufffd",-1',
        ",-1",
    ]


def test_names_of_flows_reach_no_terminal_as_controls(capsys, tmp_path):
    file = tmp_path / "small.toml"
    file.write_text(SCENARIO + 'name = "=1\\u202e"\n')
    status, out, err = run(capsys, "run", file, "--out", tmp_path / "out", "--also", "csv")
    assert is_printable(out + err)
    if status == 0:
        assert "\"'=1" in (tmp_path / "out" / "csv" / "flows.csv").read_text()


def test_texts_of_papers_that_steer_are_refused(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run(capsys, "new", "paper", "mine")[0] == 0
    for file in Path("mine").glob("*.toml"):
        text = file.read_text()
        file.write_text(text.replace('title = "', 'title = "\\u001b[41m'))
        assert "must be text that can be printed" in refused(capsys, "reproduce", "./mine", "--list")
        file.write_text(text)
    assert run(capsys, "reproduce", "./mine", "--list")[0] == 0


def test_markup_in_texts_of_papers_is_printed(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run(capsys, "new", "paper", "mine")[0] == 0
    for file in Path("mine").glob("*.toml"):
        file.write_text(file.read_text().replace('title = "', 'title = "[red]x[/nope] '))
    status, out, _ = run(capsys, "reproduce", "./mine", "--list")
    assert (status, "[red]x[/nope]" in out) == (0, True)


def test_errors_show_controls_of_file_names(capsys):
    assert is_printable(refused(capsys, "run", "no\x1b[31m.toml"))
