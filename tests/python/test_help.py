"""Help on a terminal of 80 columns: no word is broken, and flags have no type."""

import re
from pathlib import Path

import click
import pytest

from ackclock.cli import former
from ackclock.cli.app import HIDDEN, NAMES, application
from ackclock.errors import InputError
from calling import run
from sources import by_hand

ROOT = Path(__file__).resolve().parents[2]


def words(capsys, monkeypatch, command, columns):
    monkeypatch.setenv("COLUMNS", str(columns))
    code, out, _ = run(capsys, *command, "--help")
    assert code == 0
    assert "<bool>" not in out
    assert columns > 80 or max(map(len, out.splitlines())) <= 80
    return set(re.findall("[A-Za-z]{2,}", out))


def commands(group, before=()):
    """The names of the commands of a group and of its groups, with the commands."""
    context = click.Context(group)
    for name in [*group.list_commands(context), *([] if before else HIDDEN)]:
        one = group.get_command(context, name)
        yield (*before, name), one
        if isinstance(one, click.Group):
            yield from commands(one, (*before, name))


COMMANDS = dict(commands(application))


def test_the_commands_fit_one_screen(capsys):
    assert len(NAMES) <= 14
    assert len(run(capsys, "--help")[1].splitlines()) <= 50


def test_a_command_has_at_most_twenty_options():
    for name, one in COMMANDS.items():
        shown = [option for option in one.params if isinstance(option, click.Option) and not option.hidden]
        assert len(shown) <= 20, name


@pytest.mark.parametrize("command", COMMANDS)
def test_no_option_takes_the_next_one_for_its_value(command):
    with_value = [
        one for one in COMMANDS[command].params if isinstance(one, click.Option) and not one.is_flag
    ]
    for option in with_value:
        for name in option.opts:
            with pytest.raises(
                InputError, match=f"^{max(option.opts, key=len)}: needs a value before --help"
            ):
                COMMANDS[command].make_context(command[-1], [name, "--help"])


@pytest.mark.parametrize("command", COMMANDS)
def test_help_breaks_no_word_at_80_columns(capsys, monkeypatch, command):
    narrow, wide = (words(capsys, monkeypatch, command, columns) for columns in (80, 220))
    assert narrow <= wide


SOURCES = [("crates", "rs"), ("python", "py"), ("papers", "py"), ("papers", "toml"), ("suites", "toml")]
ELSEWHERE = {"former.py", "tests", "target"}


def test_no_page_and_no_source_names_a_command_that_went():
    """Measured tables keep the commands of their day."""
    pages = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]
    lines = [(page.name, number, line) for page in pages for number, line in by_hand(page.read_text("utf-8"))]
    for folder, end in SOURCES:
        for source in sorted((ROOT / folder).glob(f"**/*.{end}")):
            if not ELSEWHERE & set(source.relative_to(ROOT).parts):
                read = enumerate(source.read_text("utf-8").splitlines(), 1)
                lines += [(source.name, number, line) for number, line in read]
    named = re.compile(rf"ackclock ({'|'.join([*former.COMMANDS, *former.ALIASES])})\b(?! (is|was|has)\b)")
    assert [one for one in lines if named.search(one[2])] == []
