"""``--engine`` and the options of engines, for every command that runs something."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, get_type_hints

import typer

from ackclock.cli import completing
from ackclock.engines import NamedEngine, registry
from ackclock.engines.options import Option, declared
from ackclock.errors import InputError

LIVE = "live"
"""The engine of ``--live``."""
VIRTUAL = "uml"
"""The engine of kernels in virtual time."""


@dataclass(frozen=True)
class Chosen:
    """The engine of a command line, and the options of engines that it gives."""

    kind: type[NamedEngine]
    given: Mapping[str, Any]

    @property
    def name(self) -> str:
        """Its name."""
        return self.kind.name

    @property
    def spelled(self) -> str:
        """The option with which the command line chooses it."""
        return registry.spelled(self.name)

    def make(self, **more: Any) -> NamedEngine:
        """The engine, with what a command knows beside its options."""
        return self.kind(**self.given, **more)

    def instead(self, name: str) -> Chosen:
        """Another engine where this one is the default's, with the options that both have."""
        if self.name != registry.DEFAULT or name == self.name:
            return self
        kind = registry.find(name)
        own = declared(kind)
        return Chosen(kind, {option: value for option, value in self.given.items() if option in own})

    def with_python(self, factories: Sequence[Any]) -> dict[str, Any]:
        """``factories`` as an option of the engine, if it takes controllers in Python."""
        return {} if self.kind.no_python else {"controllers": tuple(factories)}


EngineOption = Annotated[
    str | None,
    typer.Option(
        help=f"What runs it: {', '.join(registry.ENGINES)}. Default: {registry.DEFAULT}.",
        autocompletion=completing.engines,
    ),
]
LiveOption = Annotated[
    bool,
    typer.Option(
        "--live",
        help="Run in real time: on the kernel's TCP (`--engine live`), or with `--engine quic` over UDP.",
    ),
]


BesideOption = Annotated[
    str | None,
    typer.Option(
        metavar="ENGINE", help="Run on this engine too, and report both.", autocompletion=completing.engines
    ),
]


def on_engine(
    *,
    default: str = registry.DEFAULT,
    without: tuple[str, ...] = (),
    defaults: Mapping[str, Any] | None = None,
    simulator: bool = False,
    beside: bool = False,
    fixed: bool = False,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Gives a command its engine: its parameter ``engine`` is a ``Chosen``.

    The command line gets ``--engine``, ``--live`` and the options of all engines, but for those ``without``.
    ``defaults`` replaces defaults of options. A command that always simulates as well has a parameter
    ``simulator``. With ``beside`` the command line gets ``--beside``, and the command a second engine or
    None. A command whose engine is ``fixed`` is the default's alone.
    """
    offered = {name: one for name, one in registry.options().items() if name not in without}
    own = {name: one.field.default for name, one in offered.items()} | dict(defaults or {})
    added: dict[str, tuple[Any, Any]] = {}
    added |= {} if fixed else {"engine": (EngineOption, None), "live": (LiveOption, False)}
    added |= {"beside": (BesideOption, None)} if beside else {}
    added |= {name: (_annotation(one.field.default, one.option), own[name]) for name, one in offered.items()}

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        def wrapper(**arguments: Any) -> Any:
            values = {name: arguments.pop(name) for name in offered}
            name = _name(arguments.pop("engine", None), arguments.pop("live", False), default)
            second = arguments.pop("beside", None) if beside else None
            names = [name, *([registry.DEFAULT] if simulator else []), *([second] if second else [])]
            found = _chosen(names, values, own, offered)
            arguments["engine"] = found[0]
            if simulator:
                arguments["simulator"] = found[1]
            if beside:
                arguments["beside"] = found[-1] if second else None
            return command(**arguments)

        hints = get_type_hints(command, include_extras=True)
        plain = inspect.signature(command)
        parameters = [
            one.replace(annotation=hints[one.name])
            for one in plain.parameters.values()
            if one.name not in ("engine", "simulator") and not (beside and one.name == "beside")
        ]
        parameters += [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=value, annotation=annotation)
            for name, (annotation, value) in added.items()
        ]
        wrapper.__name__, wrapper.__doc__, wrapper.__module__ = (
            command.__name__,
            command.__doc__,
            command.__module__,
        )
        wrapper.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        wrapper.__annotations__ = {one.name: one.annotation for one in parameters}
        return wrapper

    return decorate


def _annotation(default: Any, option: Option) -> Any:
    kind = option.kind if default is not None else option.kind | None
    known = option.known
    return Annotated[
        kind,
        typer.Option(
            option.flag,
            min=option.low,
            max=option.high,
            help=option.meaning,
            autocompletion=(lambda incomplete: completing.beginning(incomplete, known())) if known else None,
        ),
    ]


def _name(engine: str | None, live: bool, default: str) -> str:
    if not live:
        return engine or default
    if engine is None:
        return LIVE
    kind = registry.ENGINES.get(engine)
    if kind is None or not (kind.real_time or kind.in_real_time):
        raise InputError(f"--live: is short for --engine {LIVE}, and --engine {engine} is given")
    return kind.in_real_time or engine


def _chosen(
    names: list[str],
    values: Mapping[str, Any],
    defaults: Mapping[str, Any],
    offered: Mapping[str, registry.Offered],
) -> list[Chosen]:
    """The engines, each with its own options. An option of another engine is refused."""
    kinds = [registry.find(name) for name in names]
    for option, value in values.items():
        engines, _, about = offered[option]
        if not {*engines} & {*names} and value != defaults[option]:
            there = f"{about.why}, with {registry.spelled(*engines, instead_of=names[0])}"
            refused = f"cannot be combined with {registry.spelled(names[0])}"
            raise InputError(f"{about.flag}: {there if about.why else refused}")
    given = [
        {option: value for option, value in values.items() if name in offered[option].engines}
        for name in names
    ]
    return [Chosen(*one) for one in zip(kinds, given, strict=True)]
