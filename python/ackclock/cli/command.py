"""Commands, options and groups of options: click's, with headings in help and ackclock's sentences.

A command is a function and its parameters::

    @command(CONTROLLERS, PATH, engine_options(), REPORT)
    def compare(controllers, path, engine, report): ...

Options that describe one thing are a ``Together``: the function gets them as one value.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from ackclock.errors import InputError, did_you_mean

Completion = Callable[[str], Sequence[str]]
"""Completes a typed prefix: returns the words that begin with it."""

FILE = click.Path(path_type=Path)


class Number(click.ParamType[float]):
    """A number within bounds."""

    def __init__(self, low: float | None = None, high: float | None = None, kind: type = int) -> None:
        self.low, self.high, self.kind = low, high, kind
        self.name = "n" if kind is int else "x"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """See ``click.ParamType.convert``. Raises InputError."""
        try:
            number = self.kind(value)
        except ValueError:
            raise InputError(f"{_name(param)} {value}: must be {self._words}") from None
        # NaN is neither below nor above.
        if self.high is not None and not number <= self.high:
            raise InputError(f"{_name(param)} {value}: must be at most {self.high}")
        if self.low is not None and not number >= self.low:
            raise InputError(f"{_name(param)} {value}: must be at least {self.low}")
        return number

    @property
    def _words(self) -> str:
        return "a whole number" if self.kind is int else "a number"


class OneOf(click.ParamType[str]):
    """One of some words."""

    name = "word"

    def __init__(self, *words: str) -> None:
        self.words = words

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """See ``click.ParamType.convert``. Raises InputError."""
        if value not in self.words:
            raise InputError(f"{_name(param)} {value}: must be {' or '.join(self.words)}")
        return value

    def beginning(self, typed: str) -> list[str]:
        """The words that begin with the typed prefix."""
        return [word for word in self.words if word.startswith(typed)]


class _Parameter(click.Parameter):
    """A parameter that refuses an empty value: it comes from a variable of the shell that is not set.

    Arguments of another program may be empty.
    """

    help: str | None

    def consume_value(self, ctx: click.Context, opts: Mapping[str, Any]) -> Any:
        """See ``click.Parameter.consume_value``. Raises InputError."""
        value, source = super().consume_value(ctx, opts)
        texts = value if isinstance(value, list | tuple) and ctx.allow_interspersed_args else [value]
        for text in texts if source is ParameterSource.COMMANDLINE else ():
            if isinstance(text, str) and not text.strip():
                wanted = (self.help or "").split(". ")[0].rstrip(".")
                reason = f": {wanted}" if wanted else ""
                raise InputError(f"{_name(self)} '{text}': must not be empty{reason}")
        return value, source


class Option(_Parameter, click.Option):
    """An option of a command, under a heading of its help."""

    def __init__(
        self, *names: str, heading: str = "Options", completes: Completion | None = None, **settings: Any
    ) -> None:
        self.heading = heading
        kind = settings.get("type")
        if isinstance(kind, OneOf):
            completes = kind.beginning
        if kind is None and "is_flag" not in settings:
            settings.setdefault("metavar", "VALUE")
        super().__init__(names, **settings, **_completing(completes))

    def consume_value(self, ctx: click.Context, opts: Mapping[str, Any]) -> Any:
        """See ``click.Parameter.consume_value``. Raises InputError for an option in place of the value."""
        value, source = super().consume_value(ctx, opts)
        every = ctx.command.get_params(ctx)
        options = {name for one in every if isinstance(one, click.Option) for name in one.opts}
        for text in value if isinstance(value, list | tuple) else [value]:
            if isinstance(text, str) and text.partition("=")[0] in options:
                raise InputError(f"{_name(self)}: needs a value before {text}")
        return value, source


def flag(*names: str, **settings: Any) -> Option:
    """An option without a value."""
    return Option(*names, is_flag=True, **settings)


class Argument(_Parameter, click.Argument):
    """An argument of a command."""

    def __init__(self, name: str, *, completes: Completion | None = None, **settings: Any) -> None:
        super().__init__([name], **settings, **_completing(completes))


@dataclass(frozen=True)
class Together:
    """Options that the function of a command gets as one value."""

    name: str
    """The argument of the function."""
    make: Callable[..., Any]
    """Makes the value of the values of the options."""
    options: Sequence[Option]


def command(*parts: Option | Argument | Together, **settings: Any) -> Callable[[Callable[..., Any]], Command]:
    """A decorator that makes a command of a function, whose docstring is its help."""

    def made(function: Callable[..., Any]) -> Command:
        groups = [part for part in parts if isinstance(part, Together)]
        parameters: list[click.Parameter] = []
        for part in parts:
            parameters += part.options if isinstance(part, Together) else [part]

        def callback(**values: Any) -> Any:
            for group in groups:
                own = {str(option.name): values.pop(str(option.name)) for option in group.options}
                values[group.name] = group.make(**own)
            return function(**values)

        name = function.__name__.rstrip("_").replace("_", "-")
        about = inspect.cleandoc(function.__doc__ or "")
        return Command(name, params=parameters, callback=callback, help=about, **settings)

    return made


class Command(click.Command):
    """A command, whose help has the options under their headings."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """See ``click.Command.format_options``."""
        sections: dict[str, list[tuple[str, str]]] = {}
        for one in self.params:
            if isinstance(one, Option) and (record := one.get_help_record(ctx)) is not None:
                sections.setdefault(one.heading, []).append(record)
        for heading, records in sections.items():
            with formatter.section(heading):
                formatter.write_dl(records)


class Group(click.Group):
    """A command that has commands of its own, whose help has the first paragraph of each."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """See ``click.Group.resolve_command``. Raises InputError for a command that there is not."""
        name = args[0]
        if self.get_command(ctx, name) is None and not ctx.resilient_parsing and name[:1] != "-":
            nearest = did_you_mean(name, self.list_commands(ctx))
            help_ = f"`ackclock {self.name} --help` lists them"
            raise InputError(f"there is no command `{self.name} {name}`{nearest} ({help_})")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """See ``click.Group.format_commands``."""
        self.format_section(ctx, formatter, "Commands", self.list_commands(ctx))

    def format_section(
        self, ctx: click.Context, formatter: click.HelpFormatter, heading: str, names: Sequence[str]
    ) -> None:
        """Writes some of the commands under a heading."""
        commands = [self.get_command(ctx, name) for name in names]
        rows = [(str(one.name), str(one.help).split("\n\n")[0]) for one in commands if one is not None]
        with formatter.section(heading):
            formatter.write_dl(rows)


def group(name: str, about: str, *commands: Command) -> Group:
    """A command that has commands of its own."""
    return Group(name, help=about, no_args_is_help=True, commands=[*commands])


def given(option: str) -> bool:
    """True if an option of the running command is on its command line."""
    return click.get_current_context().get_parameter_source(option) is ParameterSource.COMMANDLINE


def _name(parameter: click.Parameter | None) -> str:
    """How the command line names a parameter."""
    if parameter is None:
        return ""
    spelled = max(parameter.opts, key=len)
    return spelled if spelled.startswith("-") else parameter.metavar or spelled.upper()


def _completing(completes: Completion | None) -> dict[str, Any]:
    if completes is None:
        return {}
    from click.shell_completion import CompletionItem

    def items(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
        words = completes(incomplete)
        # Many values may be files in place of names.
        return [CompletionItem(word) for word in words] or [CompletionItem(incomplete, type="file")]

    return {"shell_complete": items}
