"""``--engine NAME[:OPTION=VALUE,…]``, for every command that runs something."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from ackclock.cli import completing
from ackclock.cli.command import Option, Together, flag
from ackclock.engines import NamedEngine, options, registry
from ackclock.errors import InputError

LIVE = "live"
"""The engine of ``--live``."""
VIRTUAL = "uml"
"""The engine of kernels in virtual time."""

NOT_ALONE = ("at_once",)
"""The options of engines that a command with punctual runs does not take."""
OF_WORKERS = ("at_once", "threads", "cores", "qlog")
"""The options of engines that a command takes if its runs go to workers."""


@dataclass(frozen=True)
class Chosen:
    """The engine of a command line, and its options."""

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

    @property
    def text(self) -> str:
        """Its name and the options that were given, as ``--engine`` takes them."""
        given = ",".join(f"{options.spelled(option)}={value}" for option, value in self.given.items())
        return f"{self.name}:{given}" if given else self.name

    def make(self, **more: Any) -> NamedEngine:
        """The engine, with its options and ``more`` arguments from the command."""
        return self.kind(**self.given, **more)

    def option(self, name: str) -> Any:
        """The value of an option, given or not."""
        return self.given.get(name, options.declared(self.kind)[name][0].default)

    def instead(self, name: str) -> Chosen:
        """Another engine where this one is the default's, with the options that both have."""
        if self.name != registry.DEFAULT or name == self.name:
            return self
        kind = registry.find(name)
        own = options.declared(kind)
        return Chosen(kind, {option: value for option, value in self.given.items() if option in own})

    def with_python(self, factories: Sequence[Any]) -> dict[str, Any]:
        """``factories`` as an option of the engine, if it takes controllers in Python."""
        return {} if self.kind.no_python else {"controllers": tuple(factories)}


@dataclass(frozen=True)
class _Choice:
    """The engines of a command."""

    default: str
    without: Collection[str]
    """The options of engines that the command does not take."""
    defaults: Mapping[str, Any]
    """Its own defaults of options."""

    def one(self, text: str | None, live: bool) -> Chosen:
        """The engine that ``--engine`` and ``--live`` name. Raises InputError."""
        name, _, given = (text or (LIVE if live else self.default)).partition(":")
        if live and text:
            name = _in_real_time(name)
        kind = registry.find(name)
        own = options.declared(kind)
        defaults = {option: value for option, value in self.defaults.items() if option in own}
        return Chosen(kind, defaults | options.read(kind, given, self.without))

    def beside_simulator(self, texts: Sequence[str], live: bool) -> tuple[Chosen, Chosen]:
        """The engine, and the simulator, which ``--engine`` may name too. Raises InputError."""
        simulators = [text for text in texts if text.partition(":")[0] == registry.DEFAULT]
        others = [text for text in texts if text not in simulators]
        if max(len(simulators), len(others)) > 1:
            raise InputError(f"--engine {texts[-1]}: one engine beside the simulator can be named")
        simulator = self.one(simulators[0] if simulators else registry.DEFAULT, False)
        if simulators and not others and not live:
            return simulator, simulator
        return self.one(others[0] if others else None, live), simulator


def engine_options(
    default: str = registry.DEFAULT,
    *,
    without: Collection[str] = NOT_ALONE,
    defaults: Mapping[str, Any] | None = None,
) -> Together:
    """The options of an engine: the command gets ``engine``, a ``Chosen``."""
    choice = _Choice(default, without, defaults or {})
    return Together("engine", lambda engine, live: choice.one(engine, live), (_option(default), _live()))


def engine_beside_simulator(
    default: str = registry.DEFAULT,
    *,
    without: Collection[str] = (),
    defaults: Mapping[str, Any] | None = None,
) -> Together:
    """The options of a command that simulates as well: it gets ``engines``, its engine and the simulator."""
    choice = _Choice(default, without, defaults or {})
    taken = (_option(default, multiple=True), _live())
    return Together("engines", lambda engine, live: choice.beside_simulator(engine, live), taken)


_engine_of = partial(Option, heading="Engine", completes=completing.engines)

BESIDE = Together(
    "beside",
    lambda beside: None if beside is None else _Choice(registry.DEFAULT, NOT_ALONE, {}).one(beside, False),
    (_engine_of("--beside", metavar="ENGINE", help="Run on this engine too, and report both."),),
)


def _option(default: str, *, multiple: bool = False) -> Option:
    names = ", ".join(registry.ENGINES)
    twice = f" Repeatable: that of the simulator beside another, {registry.DEFAULT}:threads=1." * multiple
    return _engine_of(
        "--engine",
        metavar="NAME[:OPTION=VALUE,…]",
        multiple=multiple,
        help=f"What runs it: {names}. `live:retries=2` sets an option; `ackclock show engines` lists them. "
        f"`--live` is short for `--engine live`, and with quic for quic-live.{twice}  [default: {default}]",
    )


def _live() -> Option:
    return flag("--live", hidden=True, help="Run in real time: short for `--engine live`.")


def _in_real_time(engine: str) -> str:
    kind = registry.ENGINES.get(engine)
    if kind is None or not (kind.real_time or kind.in_real_time):
        raise InputError(f"--live: is short for --engine {LIVE}, and --engine {engine} is given")
    return kind.in_real_time or engine
