"""Commands and options under their former names: each runs, or answers with the name of today."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ackclock.cli.status import LIMITED

ALIASES: Mapping[str, Sequence[str]] = {
    "live": ("run", "--live"),
    "hunt": ("check", "--hunt"),
    "controllers": ("show", "controllers"),
}
"""Names that still run, each as a command and its first arguments."""

COMMANDS: Mapping[str, str] = {
    "differential": "ackclock kernel differential",
    "export": "ackclock read DIR --to FORMAT",
    "identify": "ackclock read FILE --controllers",
    "losses": "ackclock read CAPTURE --losses",
    "plot": "ackclock read DIR…",
    "doctor": "ackclock show machine",
    "examples": "ackclock show examples`, and for one of them `ackclock new example NAME",
    "parity": "ackclock kernel parity",
    "uml": "ackclock kernel build` or `ackclock kernel built",
}
"""Names that are gone, each with the command that has its place."""

OPTIONS: Mapping[str, str] = {
    "--csv": "--also csv",
    "--figures": "--also pdf,svg",
    "--open": "--also open",
    "--pcap-at": "--pcap POINT:FILE",
    "--processes": "--executor local:N",
    "--draw": "--samples N:DRAW",
    "--wlan": "--networks STANDARD:OPTION,…",
    "--stations": "--networks 802.11g:stations=N",
    "--up": "--networks 802.11g:up",
    "--down": "--networks 802.11g:down",
    "--router": "--networks 802.11g:router=QUEUE",
    "--airtime-fairness": "--networks 802.11g:airtime-fairness",
    "--install-completion": "--completion SHELL",
    "--show-completion": "--completion SHELL",
}
"""Options that are gone, each with the spelling of today."""

OF_ONE_COMMAND: Mapping[tuple[str, str], str] = {("sweep", "--flows"): "--set flows.0.count=N"}
"""The same of an option that another command has."""


def sentence(command: str, option: str) -> str | None:
    """A sentence about an option that a command has no more, or None for one that it never had."""
    now = OF_ONE_COMMAND.get((command, option)) or OPTIONS.get(option)
    if now is not None:
        return f"{option}: is `{now}` now"
    if option == "--trust" and command in LIMITED:
        return f"--trust: is not needed; `{command}` runs the code that its command line names, and no other"
    if command == "run" and (key := _key(option)):
        return f"{option}: is a key of the scenario here: --set {key}=VALUE"
    from ackclock.engines import registry
    from ackclock.engines.options import declared

    name = option.removeprefix("--").replace("-", "_")
    of = [engine for engine, kind in registry.ENGINES.items() if name in declared(kind)]
    if not of:
        return None
    return f"{option}: is an option of an engine: --engine {of[0]}:{option.removeprefix('--')}=VALUE"


def _key(option: str) -> str | None:
    """The key of a scenario that an option of ``compare`` sets, or None for another option."""
    from ackclock.sweeps.axes import SHORT_KEYS, TOP_KEYS

    name = option.removeprefix("--")
    return SHORT_KEYS.get(name) or (name if name in TOP_KEYS else None)
