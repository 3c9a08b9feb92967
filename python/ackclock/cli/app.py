"""The application: its commands and exit statuses.

| exit status | meaning |
| --- | --- |
| 0 | done |
| 1 | a claim or check failed |
| 2 | bad input, or output that cannot be written: one sentence on standard error |
| 3 | a live run past its error budget |
| 70 | an error in ackclock itself |
| 130 | interrupted |
| 141 | the reader of standard output closed it |
"""

from __future__ import annotations

import errno
import os
import re
import signal
import stat
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from ackclock import _engine
from ackclock._engine import MachineError, ScenarioError
from ackclock.cli.status import INTERRUPTED, NO_CURRENT_FOLDER
from ackclock.errors import InputError

COMMANDS: Mapping[str, str] = {
    "run": "run",
    "live": "live",
    "shell": "shell",
    "compare": "compare",
    "sweep": "sweep",
    "matrix": "matrix",
    "slow-start": "slow_starts",
    "check": "check",
    "hunt": "hunt",
    "parity": "parity",
    "differential": "differential",
    "reproduce": "reproduce",
    "replay": "replay",
    "controllers": "controllers",
    "bench": "bench",
    "plot": "plot",
    "export": "export",
    "losses": "losses",
    "identify": "identify",
    "examples": "examples",
    "doctor": "doctor",
}
"""The commands in the order of the help, each with its function in the module of its name."""

GROUPS = ("kernel", "uml", "new")
"""The modules that have commands of their own."""

BAD_INPUT = 2
FAULT = 70
BROKEN_PIPE = 141

UsageError: Any = typer.BadParameter.__base__
"""The exception of Typer for an error on the command line: Click's class, or its own copy of it."""


@contextmanager
def _aborting() -> Iterator[None]:
    """An interruption ends as an abort: of itself Typer would end with the status alone."""
    try:
        yield
    except KeyboardInterrupt:
        raise typer.Abort from None


def _name_no_type_of_flags(command: TyperCommand | TyperGroup, ctx: Any) -> None:
    """Help shows what an option takes; a flag takes nothing."""
    for parameter in command.get_params(ctx):
        if getattr(parameter, "is_flag", False):
            parameter.metavar = ""


class _Commands(TyperGroup):
    """The commands. An interruption that no command handles reaches ``main``, which reports it."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        _name_no_type_of_flags(self, ctx)
        super().format_help(ctx, formatter)

    def make_context(self, *arguments: Any, **options: Any) -> Any:
        with _aborting():
            return super().make_context(*arguments, **options)

    def invoke(self, ctx: Any) -> Any:
        with _aborting():
            return super().invoke(ctx)


class _Command(TyperCommand):
    """A command. It refuses an empty value that would stand for all, for none or for this folder.

    Such a value comes from a variable of the shell that is not set. Others have sentences of their own.
    """

    def format_help(self, ctx: Any, formatter: Any) -> None:
        _name_no_type_of_flags(self, ctx)
        super().format_help(ctx, formatter)

    def parse_args(self, ctx: Any, args: list[str]) -> Any:
        given, _, _ = self.make_parser(ctx).parse_args(list(args))
        for parameter in self.params:
            value = given.get(parameter.name)
            has_default = isinstance(parameter.default, str) and parameter.default
            # Arguments without options behind them are those of another program.
            own = ctx.allow_interspersed_args
            texts = value if own and isinstance(value, (list, tuple)) else [value]
            empty = [text for text in texts if isinstance(text, str) and not text.strip()]
            if empty and not has_default:
                name = parameter.opts[0]
                name = name if name.startswith("-") else parameter.metavar or name.upper()
                value = empty[0]
                wanted = (getattr(parameter, "help", None) or "").split(". ")[0].rstrip(".")
                raise InputError(f"{name} '{value}': must not be empty" + (f": {wanted}" if wanted else ""))
        return super().parse_args(ctx, args)


def _print_version(asked: bool) -> None:
    if asked:
        sys.stdout.write(f"ackclock {_engine.version()}\n")
        raise typer.Exit


def _print_manual(context: typer.Context, asked: bool) -> None:
    if asked:
        from ackclock.cli import manual

        sys.stdout.write(manual.page(context.command, context))
        raise typer.Exit


def _main(
    context: typer.Context,
    _version: Annotated[
        bool,
        typer.Option(
            "--version", "-V", callback=_print_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
    _manual: Annotated[
        bool,
        typer.Option("--man", callback=_print_manual, is_eager=True, help="Print the manual page and exit."),
    ] = False,
) -> None:
    if context.invoked_subcommand is None:
        sys.stdout.write(context.get_help() + "\n")


def application(names: Iterable[str] = (*COMMANDS, *GROUPS)) -> typer.Typer:
    """The application with the commands and groups of these names, whose modules are imported."""
    made = typer.Typer(
        name="ackclock",
        cls=_Commands,
        help="A congestion-control laboratory: paths and flows, simulated packet by packet or live on Linux.",
        invoke_without_command=True,
        rich_markup_mode="markdown",
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    made.callback()(_main)
    for name in names:
        module = import_module(f"ackclock.cli.{name.replace('-', '_')}")
        if name in GROUPS:
            for one in module.app.registered_commands:
                one.cls = _Command
            made.add_typer(module.app)
        else:
            settings = getattr(module, "CONTEXT", None)
            made.command(name, cls=_Command, context_settings=settings)(getattr(module, COMMANDS[name]))
    return made


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line and returns the exit status."""
    if arguments is None:
        _prepare_process()
        arguments = sys.argv[1:]
    try:
        if arguments[:1] == ["help"]:
            arguments = [*arguments[1:2], "--help"]
        for argument in arguments:
            if any("\ud800" <= character <= "\udfff" for character in argument):
                raise InputError(f"argument {argument!a}: is not text in the encoding of the system")
        call = partial(
            application(_wanted(arguments)), list(arguments), prog_name="ackclock", standalone_mode=False
        )
        if os.environ.get("_ACKCLOCK_COMPLETE") == "complete_bash":
            from ackclock.cli import completing

            completing.for_bash(os.environ, call)
        status = call()
        sys.stdout.flush()
        return int(status or 0)
    except UsageError as error:
        return _end(BAD_INPUT, _usage(error))
    except (ScenarioError, MachineError, InputError) as error:
        return _end(BAD_INPUT, _missing_folder(str(error)) or str(error))
    except (KeyboardInterrupt, typer.Abort):
        return _end(INTERRUPTED, "interrupted")
    except (BrokenPipeError, SystemExit) as error:
        # Rich turns a broken pipe into SystemExit; besides it can come from the user's controller.
        place = _place(arguments, error)
        if place is not None:
            return _end(BAD_INPUT, f"{place}: {type(error).__name__}: {error}")
        _discard(sys.stdout)
        return BROKEN_PIPE
    except OSError as error:
        _discard(sys.stdout)
        where = "standard output" if error.filename is None else error.filename
        why = f"{where}: {error.strerror or error}"
        return _end(BAD_INPUT, _missing_folder(why) or why)
    except Exception as error:
        if os.environ.get("ACKCLOCK_TRACEBACK"):
            raise
        why = f"{type(error).__name__}: {error}"
        place = _place(arguments, error)
        if place is not None:
            return _end(BAD_INPUT, f"{place}: {why}")
        return _end(FAULT, f"a fault of ackclock, please report it: {why} (ACKCLOCK_TRACEBACK=1 shows where)")


def _place(arguments: Sequence[str], error: BaseException) -> str | None:
    """See ``contenders.place_in``."""
    from ackclock.contenders import place_in

    return place_in(arguments, error)


WORDS = {
    "greater than or equal to": "at least",
    "less than or equal to": "at most",
    "a valid integer": "a whole number",
    "a valid number": "a number",
}
"""Words for those in which Typer's checker of numbers says what it allows."""


def _usage(error: Any) -> str:
    """A sentence about an error on the command line: a number that is not allowed with its option."""
    checked = getattr(error.__cause__, "errors", None)
    if checked is None or error.param is None:
        return str(error.format_message())
    fault = checked()[0]
    allowed = fault["msg"].removeprefix("Input should be ").split(", unable")[0]
    for theirs, ours in WORDS.items():
        allowed = allowed.replace(theirs, ours)
    return f"{error.param.opts[0]} {fault['input']}: must be {allowed}"


def _missing_folder(why: str) -> str | None:
    """A sentence where a file is missing because the current folder is."""
    if os.strerror(errno.ENOENT) not in why:
        return None
    try:
        Path.cwd()
    except FileNotFoundError:
        return NO_CURRENT_FOLDER
    return None


def _wanted(arguments: Sequence[str]) -> Sequence[str]:
    """The command that is called, where its name comes first; none for the version; else all.

    The modules and options of all the others take longer than many a command runs.
    """
    first = arguments[0] if arguments else ""
    everything = (*COMMANDS, *GROUPS)
    if first in ("--version", "-V"):
        return ()
    return (first,) if first in everything else everything


def _prepare_process() -> None:
    """Makes standard streams open and able to take any text, and lets signals to end act as Ctrl-C."""
    for descriptor, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        try:
            os.fstat(descriptor)
        except OSError:
            # Otherwise the next opened file would get the number of the closed stream.
            os.open(os.devnull, os.O_RDWR)
            setattr(sys, name, open(descriptor, mode, closefd=False, encoding="utf-8"))  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="replace")
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        # Otherwise it runs under nohup.
        signal.signal(signal.SIGHUP, _hung_up)
    if not sys.warnoptions:
        # Warnings of libraries, such as matplotlib on a name too long for its figure, do not help the user.
        warnings.simplefilter("ignore")


def _hung_up(*_: Any) -> None:
    """Ends as Ctrl-C does, and discards output to the closed terminal."""
    for stream in (sys.stdout, sys.stderr):
        if stat.S_ISCHR(os.fstat(stream.fileno()).st_mode):
            _discard(stream)
    raise KeyboardInterrupt


def _discard(stream: Any) -> None:
    """Discards the rest of a stream: flushing it at the end would raise an error."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    except (OSError, ValueError):
        return


def _end(status: int, sentence: str) -> int:
    if not sentence:
        # `ackclock new` alone: its help has been printed.
        return status
    from ackclock.printable import printable

    # Rust adds the number of an error of the system, which adds nothing.
    sentence = printable(re.sub(r" \(os error \d+\)", "", " ".join(sentence.split())))
    try:
        sys.stderr.write(f"ackclock: {sentence}\n")
        sys.stderr.flush()
    except OSError:
        _discard(sys.stderr)
    return status
