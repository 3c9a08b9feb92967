"""``ackclock compare``: each controller alone on the same path, on networks, or beside a call."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ackclock import _engine, trust
from ackclock.cli import completing, output, titles
from ackclock.cli.command import Number, Option, command, given
from ackclock.cli.engine import Chosen, engine_options
from ackclock.cli.home import SHOWN, Home, is_home
from ackclock.cli.options import CONTROLLERS, EVERYTHING, PATH, PCAP, REPEATS, Repeats, common, report_options
from ackclock.cli.output import Capture, Report
from ackclock.cli.paths import PathGiven
from ackclock.contenders import Contender, contenders
from ackclock.errors import InputError
from ackclock.networks import NAMES, rrul
from ackclock.scenario import as_json

if TYPE_CHECKING:
    from ackclock.cli.outcome import Outcome
    from ackclock.networks import Network


@command(
    CONTROLLERS,
    PATH,
    Option(
        "--networks",
        heading="Path",
        metavar="NAME,…",
        help="In place of the path: home, cable, fq_codel, wifi, policer, lte, satellite, presets of tools "
        "(wpt:cable), or files of scenarios; with `:rrul` behind them four flows each way at once, `rrul` "
        "alone for the path; or a call in a home, 802.11ac:stations=8,up, with --rate of its wire (default: "
        "1gbit), --queue of its radio (default: 200p).",
        completes=completing.named_networks,
    ),
    Option(
        "--call",
        heading="Runs",
        metavar="CC",
        help="A call in each run, beside the flows of the controller: video whose rate gcc, nada, scream or "
        "another CC sets, and voice.",
        completes=completing.controllers,
    ),
    Option(
        "--flows",
        hidden=True,
        type=Number(1),
        default=1,
        help="Flows of the controller in each run: short for `--set flows.0.count=N`.",
    ),
    common(),
    REPEATS,
    engine_options(),
    report_options(*EVERYTHING),
    PCAP,
)
def compare(
    controllers: Sequence[str],
    path: PathGiven,
    networks: str | None,
    call: str | None,
    flows: int,
    common: Mapping[str, Any],
    repeats: Repeats,
    engine: Chosen,
    report: Report,
    pcap: Capture | None,
) -> None:
    """Compare controllers on one path, on several networks, or beside a call.

    Examples: `ackclock compare newreno cubic cdg --loss 1% --repeat 10 --out results`,
    `ackclock compare cubic bbr1 cdg --networks home,wifi,lte --out networks`,
    `ackclock compare cubic cdg --call gcc --networks home,wifi`,
    `ackclock compare cubic bbr1 --networks home:rrul,cable:rrul`,
    `ackclock compare newreno cubic cdg --networks 802.11g:stations=8,up`
    """
    output.check_current_folder()
    compared = contenders(controllers, engine.name)
    factories = [one.factory for one in compared if one.factory is not None]
    of_call = [] if call is None else contenders([call], engine.name, after=len(factories))
    factories += [one.factory for one in of_call if one.factory is not None]
    runner = engine.make(pcap_at=output.point_of(pcap), **engine.with_python(factories))
    report.check()
    output.check_arguments("compare", repeats.keys)
    asked = _Asked(compared, common, repeats.settings, report)
    if networks is not None and (spaced := [one.cc for one in compared if one.cc in NAMES]):
        raise InputError(f"{spaced[0]}: is a network; commas join them: --networks {networks},{spaced[0]}")
    if networks is not None and is_home(networks) and engine.kind.real_time:
        raise InputError(
            f"--networks {networks}: cannot be combined with {engine.spelled}; the kernel's TCP has no "
            "wireless network"
        )
    if of_call:
        plans, outcome = _with_a_call(asked, of_call[0], networks, path, flows)
    elif networks is None:
        plans, outcome = _on_a_path(asked, path.keys(), flows)
    elif is_home(networks):
        plans, outcome = _beside_a_call(asked, Home.read(networks, path), flows)
    elif rrul.is_rrul(networks):
        plans, outcome = _both_ways(asked, networks, path)
    else:
        plans, outcome = _on_networks(asked, networks, path)
    points = output.points(plans, repeats.seed, repeats.repeat, pcap)
    output.preflight(list(plans.values()), repeats.repeat, runner)
    outcome().run(points, runner)


@dataclass(frozen=True)
class _Asked:
    """The parts of a command line that all kinds of comparison share."""

    compared: Sequence[Contender]
    common: Mapping[str, Any]
    settings: Sequence[tuple[str, str]]
    report: Report

    @property
    def names(self) -> str:
        """The controllers in words."""
        return ", ".join(one.name for one in self.compared)

    def plans(self, made: Mapping[str, Mapping[str, Any]]) -> dict[str, _engine.Plan]:
        """The plans of scenarios by label."""
        files = trust.named(self.compared, self.settings)
        return {
            name: _engine.resolve_json(
                as_json({"name": name, **document, **self.common}), self.settings, files
            )
            for name, document in made.items()
        }

    def title(self, words: str, flows: int, shown: Sequence[str] = (), duration: str | None = None) -> str:
        """A title with the settings of every comparison. ``words`` already name the keys ``shown``."""
        each = f"; {flows} flows each" if flows > 1 else ""
        length = titles.as_set({"duration": duration or self.common["duration"]}, self.settings)[0]
        return titles.with_settings(f"{words}{each}; {length}", self.settings, [*shown, "duration"])


Comparison = tuple[Mapping[str, _engine.Plan], "Callable[[], Outcome]"]
"""The plans by label, and the end of the command. Its module is imported only when nothing is refused."""


def _on_a_path(asked: _Asked, path: Mapping[str, Any], flows: int) -> Comparison:
    """Each controller alone on the same path."""
    plans = asked.plans({one.name: {"flows": [one.flow(flows)], "path": path} for one in asked.compared})
    words, shown = titles.of_path(path, asked.settings)
    title = asked.title(f"{asked.names}: {words}", flows, shown)

    def outcome() -> Outcome:
        from ackclock.cli.outcome import Outcome

        return Outcome(title, asked.report)

    return plans, outcome


def _beside_a_call(asked: _Asked, home: Home, flows: int) -> Comparison:
    """The call alone, and beside the flows of each controller."""
    from ackclock.report.calls import ALONE

    made = {ALONE: home.document()} | {one.name: home.document(one.flow(flows)) for one in asked.compared}
    plans = asked.plans(made)
    words = f"A call beside {asked.names}: {home.words(asked.settings)}"
    title = asked.title(words, flows, SHOWN)

    def outcome() -> Outcome:
        from ackclock.cli.calls import CallOutcome

        return CallOutcome(title, asked.report)

    return plans, outcome


def _on_networks(asked: _Asked, names: str, path: PathGiven) -> Comparison:
    """Each controller alone on each network."""
    from ackclock.cli import networks as comparison

    named = _named(names, path)
    plans = comparison.plans(named, asked.compared, asked.common, asked.settings)
    words = f"{asked.names} on {', '.join(one.name for one in named)}"
    title = asked.title(words, 1, duration=comparison.lengths(named, asked.common))

    def outcome() -> Outcome:
        return comparison.NetworksOutcome(title, asked.report, named, asked.compared)

    return plans, outcome


def _both_ways(asked: _Asked, names: str, path: PathGiven) -> Comparison:
    """Each controller in both directions of each network at once, or of the path."""
    from ackclock import networks
    from ackclock.cli import networks as comparison
    from ackclock.cli.rrul import RrulOutcome

    alone = names.strip() == rrul.NAME
    if alone:
        named = [networks.Network(rrul.NAME, {"path": path.keys(), "flows": [{"cc": "cubic"}]})]
    else:
        named = _named(",".join(one.strip().removesuffix(f":{rrul.NAME}") for one in names.split(",")), path)
    loaded = [rrul.rrul(one) for one in named]
    plans = comparison.plans(loaded, asked.compared, asked.common, asked.settings)
    where, shown = titles.of_path(path.keys(), asked.settings) if alone else (names, [])
    words = f"Both directions at once, {asked.names}: {where}"
    title = asked.title(words, 1, shown, comparison.lengths(loaded, asked.common))

    def outcome() -> Outcome:
        return RrulOutcome(title, asked.report, loaded, asked.compared)

    return plans, outcome


def _with_a_call(
    asked: _Asked, call: Contender, names: str | None, path: PathGiven, flows: int
) -> Comparison:
    """A call that adapts: alone, and beside the flows of each controller, on the path or on each network."""
    from ackclock import networks
    from ackclock.cli import networks as comparison
    from ackclock.cli.beside import BesideOutcome, with_call

    greedy = {"cc": "cubic", "count": flows}
    if names is None:
        given_path = path.keys()
        words, shown = titles.of_path(given_path, asked.settings)
        named = [with_call(networks.Network("", {"path": given_path, "flows": [greedy]}), call)]
    elif is_home(names):
        home = Home.read(names, path)
        words, shown = home.words(asked.settings), list(SHOWN)
        network = networks.Network(names, home.document(greedy, with_voice=False))
        named = [with_call(network, call, home.ends)]
    else:
        named = [with_call(one, call) for one in _named(names, path)]
        words, shown = ", ".join(one.name for one in named), []
    compared = [comparison.ALONE, *asked.compared]
    plans = comparison.plans(named, compared, asked.common, asked.settings, [call])
    words = f"A call by {call.name} beside {asked.names}: {words}"
    title = asked.title(words, flows, shown, comparison.lengths(named, asked.common))

    def outcome() -> Outcome:
        return BesideOutcome(title, asked.report, named, compared)

    return plans, outcome


def _named(names: str, path: PathGiven) -> list[Network]:
    """The networks of ``--networks``. Raises InputError if the options describe a path, too."""
    if options := [*path.given, *(["flows"] if given("flows") else [])]:
        raise InputError(f"--{min(options)}: is of the path, and --networks names others")
    from ackclock import networks

    return networks.networks(names)
