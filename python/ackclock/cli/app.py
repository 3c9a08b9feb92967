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
from collections.abc import Mapping, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ackclock import _engine
from ackclock._engine import ControllerError, MachineError, ScenarioError
from ackclock.cli import former
from ackclock.cli.command import Group
from ackclock.cli.status import (
    BAD_INPUT,
    INTERRUPTED,
    LIMIT,
    LIMITED,
    NO_CURRENT_FOLDER,
    Interrupted,
    interrupt,
)
from ackclock.errors import NO_MEMORY, InputError, did_you_mean, lacks_memory, named, of_file

if TYPE_CHECKING:
    from ackclock.cli.supervised import Limit

COMMANDS: Mapping[str, Sequence[str]] = {
    "Try paths and controllers": ("run", "compare", "matrix", "sweep", "slow-start"),
    "Judge": ("check", "evaluate", "reproduce", "replay"),
    "Real programs and kernels": ("shell", "kernel"),
    "Read results and captures": ("read",),
    "Begin": ("show", "new"),
}
"""The commands in the order of the help, grouped by purpose. Each is in the module of its name."""

NAMES = [name for names in COMMANDS.values() for name in names]
HIDDEN = ("bench",)
"""Commands that help leaves out: they serve the development of ackclock."""

FAULT = 70
BROKEN_PIPE = 141

COMPLETION = "_ACKCLOCK_COMPLETE"
"""The variable with which a shell asks for completions."""


class _Commands(Group):
    """The commands, each imported when it is named: the others take longer than many a command runs."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """See ``click.Group.list_commands``."""
        return list(NAMES)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """See ``click.Group.get_command``."""
        if cmd_name not in (*NAMES, *HIDDEN):
            return None
        name = cmd_name.replace("-", "_")
        found = getattr(import_module(f"ackclock.cli.{name}"), name)
        return found if isinstance(found, click.Command) else None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """See ``click.Group.resolve_command``; a former name is replaced or explained."""
        name = args[0]
        if name in former.COMMANDS and not ctx.resilient_parsing:
            raise InputError(f"`{name}` is `{former.COMMANDS[name]}` now")
        args = [*former.ALIASES.get(name, [name]), *args[1:]]
        if self.get_command(ctx, args[0]) is None and not ctx.resilient_parsing and args[0][:1] != "-":
            raise InputError(
                f"there is no command `{name}`{did_you_mean(name, NAMES)} (`ackclock --help` lists them)"
            )
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """See ``click.Group.format_commands``; the commands by the question that they answer."""
        for question, names in COMMANDS.items():
            self.format_section(ctx, formatter, question, names)


def _print_version(context: click.Context, _: click.Parameter, asked: bool) -> None:
    if asked:
        sys.stdout.write(f"ackclock {_engine.version()}\n")
        context.exit()


def _print_manual(context: click.Context, _: click.Parameter, asked: bool) -> None:
    if asked:
        from ackclock.cli import manual

        sys.stdout.write(manual.page(context.command, context))
        context.exit()


def _print_completion(context: click.Context, _: click.Parameter, shell: str | None) -> None:
    if shell is not None:
        from ackclock.cli import completing

        sys.stdout.write(completing.script(shell, context.command, COMPLETION))
        context.exit()


def _eager(*names: str, **settings: Any) -> click.Option:
    return click.Option(names, is_eager=True, expose_value=False, **settings)


application = _Commands(
    "ackclock",
    help="A congestion-control laboratory: paths and flows, simulated packet by packet or live on Linux.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"], "show_default": True},
    params=[
        _eager("--version", "-V", is_flag=True, callback=_print_version, help="Print the version and exit."),
        _eager("--man", is_flag=True, callback=_print_manual, help="Print the manual page and exit."),
        _eager(
            LIMIT,
            metavar="TIME[,MEMORY]",
            help="End a command that runs controllers after TIME, or where it needs more MEMORY: 60s,2GB.",
        ),
        _eager(
            "--completion",
            metavar="SHELL",
            callback=_print_completion,
            help='Print the completion of bash, zsh or fish: `eval "$(ackclock --completion bash)"`.',
        ),
    ],
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line and returns the exit status."""
    own = arguments is None
    if own:
        _prepare_process()
    arguments = sys.argv[1:] if arguments is None else list(arguments)
    limit = None
    if COMPLETION not in os.environ and any(one in LIMITED for one in arguments):
        from ackclock.cli import supervised

        try:
            limit, arguments = supervised.taken(arguments)
        except InputError as error:
            return _end(BAD_INPUT, str(error))
        if not _is_class(arguments):
            if own and supervised.concerns(arguments, limit):
                return supervised.supervised(arguments, limit, partial(main, arguments), _end)
            if limit is not None and not own:
                return supervised.elsewhere(arguments, limit)
    if COMPLETION in os.environ:
        from ackclock.cli import completing

        return completing.complete(application, COMPLETION)
    try:
        status = _call(list(arguments), limit)
        sys.stdout.flush()
        return status
    except click.exceptions.NoArgsIsHelpError as error:
        sys.stdout.write(f"{error.ctx.get_help()}\n")
        return BAD_INPUT if error.ctx.parent else 0
    except click.NoSuchOption as error:
        return _end(BAD_INPUT, _former_option(error) or error.format_message())
    except click.MissingParameter as error:
        return _end(BAD_INPUT, _missing(error))
    except click.UsageError as error:
        return _end(BAD_INPUT, error.format_message())
    except (ScenarioError, MachineError, InputError) as error:
        return _end(BAD_INPUT, _missing_folder(str(error)) or str(error))
    except ControllerError as error:
        place = _place(arguments, error)
        return _end(BAD_INPUT, f"{place}: {error}" if place else str(error))
    except (KeyboardInterrupt, click.Abort) as error:
        # A signal raises a class of ours, and a user's controller may raise Python's.
        place = None if isinstance(error, Interrupted) else _place(arguments, error)
        if place is not None:
            return _end(BAD_INPUT, f"{place}: {named(error)}")
        return _end(INTERRUPTED, "interrupted")
    except (BrokenPipeError, SystemExit) as error:
        # Rich turns a broken pipe into SystemExit. A user's controller may raise one too.
        place = _place(arguments, error)
        if place is not None:
            return _end(BAD_INPUT, f"{place}: {named(error)}")
        _discard(sys.stdout)
        return BROKEN_PIPE
    except OSError as error:
        _discard(sys.stdout)
        where = "standard output" if error.filename is None else error.filename
        why = f"{where}: {of_file(error)}"
        return _end(BAD_INPUT, _missing_folder(why) or why)
    except Exception as error:
        if os.environ.get("ACKCLOCK_TRACEBACK") and not lacks_memory(error):
            raise
        return _failed(arguments, error)


def _failed(arguments: Sequence[str], error: Exception) -> int:
    """The status of a command that ended with an exception which is no sentence, which it says here."""
    from ackclock.cli.supervised import code, is_confined

    lacks = lacks_memory(error)
    why = NO_MEMORY if lacks else named(error)
    # Without a file there is no line, and the search would need memory itself.
    place = _place(arguments, error) if code(arguments) or not lacks else None
    if place is not None:
        return _end(BAD_INPUT, f"{place}: {why}")
    if lacks:
        return _end(BAD_INPUT, NO_MEMORY)
    if is_confined():
        # Libraries fail in any way where an allocation does.
        return _end(BAD_INPUT, f"{NO_MEMORY} (`ulimit -v`), or this is a fault of ackclock: {why}")
    return _end(FAULT, f"a fault of ackclock, please report it: {why} (ACKCLOCK_TRACEBACK=1 shows where)")


def _is_class(arguments: Sequence[str]) -> bool:
    """True for several targets of ``check``, each of which has the limits of the command."""
    if arguments[0] != "check":
        return False
    from ackclock.cli import marks

    check = application.get_command(click.Context(application), "check")
    return check is not None and len(marks.parsed(check, arguments[1:])[0]) > 1


def _call(arguments: list[str], limit: Limit | None) -> int:
    """Calls the command of the arguments and gives its status."""
    if arguments[:1] == ["help"]:
        arguments = [*arguments[1:2], "--help"]
    for argument in arguments:
        if any("\ud800" <= character <= "\udfff" for character in argument):
            raise InputError(f"argument {argument!a}: is not text in the encoding of the system")
    try:
        with application.make_context("ackclock", list(arguments)) as context:
            context.meta.update(arguments=arguments, limit=limit)
            return int(application.invoke(context) or 0)
    except click.exceptions.Exit as end:
        return end.exit_code


def _place(arguments: Sequence[str], error: BaseException) -> str | None:
    """See ``contenders.place_in``."""
    from ackclock.contenders import place_in

    return place_in(arguments, error)


def _former_option(error: click.NoSuchOption) -> str | None:
    """A sentence about an option that is spelled otherwise now."""
    command = error.ctx.command.name if error.ctx and error.ctx.command else ""
    return former.sentence(str(command), error.option_name)


def _missing(error: click.MissingParameter) -> str:
    """A sentence about an argument that a command lacks."""
    context = error.ctx
    if context is None or error.param is None:
        return error.format_message()
    of = context.command_path.removeprefix("ackclock ")
    return f"{of}: {error.param.make_metavar(context)} is missing; see `{context.command_path} --help`"


def _missing_folder(why: str) -> str | None:
    """A sentence where a file is missing because the current folder is."""
    if os.strerror(errno.ENOENT) not in why:
        return None
    try:
        Path.cwd()
    except FileNotFoundError:
        return NO_CURRENT_FOLDER
    return None


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
    if sys.argv[1:2] != ["shell"]:
        # Threads of BLAS cost more than they save here. Programs in a shell would inherit the variable.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
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
    interrupt()


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
