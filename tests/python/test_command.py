"""Commands, options and arguments: bounds, words, values in place of options, completion and help."""

import click
import pytest
from click.testing import CliRunner

from ackclock.cli.command import Argument, Number, OneOf, Option, command, flag, given, group
from ackclock.errors import InputError


def called(*arguments, parts):
    """What the command gets, or the sentence with which it is refused."""

    @command(*parts)
    def tried(**values):
        """Tries. More."""
        click.echo(values)

    result = CliRunner().invoke(tried, arguments, standalone_mode=False)
    if isinstance(result.exception, InputError):
        return str(result.exception)
    if result.exception is not None:
        raise result.exception
    return result.output.strip()


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("2", "{'n': 2}"),
        ("9", "{'n': 9}"),
        ("1", "--number 1: must be at least 2"),
        ("10", "--number 10: must be at most 9"),
        ("2.5", "--number 2.5: must be a whole number"),
        ("two", "--number two: must be a whole number"),
    ],
)
def test_a_number_is_within_its_bounds(text, found):
    assert called("--number", text, parts=[Option("-n", "--number", "n", type=Number(2, 9))]) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("0.5", "{'x': 0.5}"),
        ("1", "{'x': 1.0}"),
        ("1.5", "--x 1.5: must be at most 1.0"),
        # NaN is neither below nor above.
        ("nan", "--x nan: must be at most 1.0"),
        ("-0.5", "--x -0.5: must be at least 0.0"),
        ("half", "--x half: must be a number"),
    ],
)
def test_a_share_has_a_fraction(text, found):
    assert called(f"--x={text}", parts=[Option("--x", type=Number(0.0, 1.0, float))]) == found


def test_a_number_without_bounds_is_any():
    parts = [Option("--x", type=Number(kind=float))]
    assert [called(f"--x={text}", parts=parts) for text in ("-1e9", "inf")] == [
        "{'x': -1000000000.0}",
        "{'x': inf}",
    ]


def test_a_word_is_one_of_some():
    parts = [Option("--to", type=OneOf("csv", "qlog"))]
    assert called("--to", "qlog", parts=parts) == "{'to': 'qlog'}"
    assert called("--to", "pdf", parts=parts) == "--to pdf: must be csv or qlog"


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        (["--name", ""], "--name '': must not be empty: Its name"),
        (["--name", " "], "--name ' ': must not be empty: Its name"),
        (["--name", "--all"], "--name: needs a value before --all"),
        (["--name", "--name=x"], "--name: needs a value before --name=x"),
        (["--name", "-x"], "{'name': '-x', 'whole': False}"),
        (["--name", "x", "--all"], "{'name': 'x', 'whole': True}"),
        ([], "{'name': None, 'whole': False}"),
    ],
)
def test_an_option_needs_a_value(arguments, found):
    parts = [Option("--name", help="Its name. Or another."), flag("--all", "whole")]
    assert called(*arguments, parts=parts) == found


def test_arguments_are_named_as_their_help_has_them():
    assert called("", parts=[Argument("file", metavar="FILE…")]) == "FILE… '': must not be empty"
    assert called("", parts=[Argument("file")]) == "FILE '': must not be empty"


def offered(parameter, typed):
    """What the shell is offered, and the kind of the offers."""
    context = click.Context(click.Command("tried", params=[parameter]))
    return [(one.value, one.type) for one in parameter.shell_complete(context, typed)]


def test_the_shell_is_offered_words_or_else_files():
    words = ["cubic", "cubic-rfc", "cdg"]
    for parameter in (
        Option("--cc", completes=lambda typed: [one for one in words if one.startswith(typed)]),
        Argument("cc", completes=lambda typed: [one for one in words if one.startswith(typed)]),
    ):
        assert offered(parameter, "cub") == [("cubic", "plain"), ("cubic-rfc", "plain")]
        assert offered(parameter, "./x") == [("./x", "file")]
    assert offered(Option("--to", type=OneOf("csv", "qlog")), "q") == [("qlog", "plain")]
    # Nothing is known of other values.
    assert offered(Option("--title"), "x") == []


def test_an_option_is_given_if_it_is_on_the_command_line():
    @command(Option("--one", default="1"), Option("--two", default="2"))
    def tried(**_):
        click.echo([given("one"), given("two")])

    assert CliRunner().invoke(tried, ["--two", "2"], standalone_mode=False).output.strip() == "[False, True]"


def test_a_group_names_the_nearest_command_and_lists_first_paragraphs():
    @command()
    def load_all():
        """Load them.

        In detail.
        """
        click.echo("loaded")

    whole = group("kernel", "Kernels.", load_all)
    runner = CliRunner()
    assert runner.invoke(whole, ["load-all"]).output == "loaded\n"
    wrong = runner.invoke(whole, ["load-al"])
    assert str(wrong.exception) == (
        "there is no command `kernel load-al`; did you mean `load-all`? (`ackclock kernel --help` lists them)"
    )
    shown = runner.invoke(whole, ["--help"]).output
    assert "load-all  Load them." in shown
    assert "In detail" not in shown
    # Without a command the help is shown, too.
    assert "load-all  Load them." in runner.invoke(whole, []).output


def test_options_are_under_their_headings():
    @command(Option("--rate", heading="Path", help="The rate."), Option("--out", help="A folder."))
    def tried(**_):
        """Tries."""

    shown = CliRunner().invoke(tried, ["--help"]).output
    assert "Path:\n  --rate VALUE  The rate." in shown
    assert "Options:\n  --out VALUE  A folder." in shown
