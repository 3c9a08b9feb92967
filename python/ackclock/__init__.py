"""ackclock: a congestion-control laboratory.

Describe a network path and the flows on it once, simulate it packet by packet, and look at the tables:

    import ackclock

    run = ackclock.simulate(ackclock.Path("10mbit", rtt="40ms", queue="84p"), ["cdg", "newreno"])
    print(run.flows.select(["name", "goodput_bps", "rtt_mean_ms"]))

``ackclock.live`` runs the same on this machine's own TCP.
"""

from __future__ import annotations

TYPE_CHECKING = False
"""As of ``typing``, which takes longer to import than all else here."""

if TYPE_CHECKING:
    from ackclock import exports as exports
    from ackclock import gym as gym
    from ackclock import metrics as metrics
    from ackclock import papers as papers
    from ackclock import plots as plots
    from ackclock import report as report
    from ackclock import sweeps as sweeps
    from ackclock._engine import (
        Ack,
        Context,
        ControllerError,
        Loss,
        MachineError,
        Marks,
        RateSample,
        ScenarioError,
        SegmentReport,
        SentState,
        Transmission,
        controllers,
        profiles,
        schema,
    )
    from ackclock.controller import Controller
    from ackclock.language import Flow, Link, Path, Record, Reverse, Wlan
    from ackclock.result import ResultError, Run, Runs
    from ackclock.running import live, simulate
    from ackclock.scenario import Scenario
    from ackclock.sweeps import Sweep, sweep

    __version__: str
else:
    _NAMES = {
        "ackclock._engine": (
            *(
                "Ack",
                "Context",
                "ControllerError",
                "Loss",
                "MachineError",
                "Marks",
                "RateSample",
                "ScenarioError",
                "SegmentReport",
            ),
            *("SentState", "Transmission", "controllers", "profiles", "schema"),
        ),
        "ackclock.controller": ("Controller",),
        "ackclock.result": ("ResultError", "Run", "Runs"),
        "ackclock.running": ("live", "simulate"),
        "ackclock.language": ("Flow", "Link", "Path", "Record", "Reverse", "Wlan"),
        "ackclock.scenario": ("Scenario",),
        "ackclock.sweeps": ("Sweep", "sweep"),
    }
    _BELOW = ("exports", "gym", "metrics", "papers", "plots", "report", "sweeps")
    _MODULES = {name: module for module, names in _NAMES.items() for name in names}

    def __getattr__(name: str) -> object:
        """A public name or module, which is imported at its first use (PEP 562)."""
        from importlib import import_module

        if name == "__version__":
            value = import_module("ackclock._engine").version()
        elif name in _MODULES:
            value = getattr(import_module(_MODULES[name]), name)
        elif name in _BELOW:
            value = import_module(f"{__name__}.{name}")
        else:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        globals()[name] = value
        return value

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__, *_BELOW, "__version__"})


__all__ = [
    "Ack",
    "Context",
    "Controller",
    "ControllerError",
    "Flow",
    "Link",
    "Loss",
    "MachineError",
    "Marks",
    "Path",
    "RateSample",
    "Record",
    "ResultError",
    "Reverse",
    "Run",
    "Runs",
    "Scenario",
    "ScenarioError",
    "SegmentReport",
    "SentState",
    "Sweep",
    "Transmission",
    "Wlan",
    "controllers",
    "live",
    "profiles",
    "schema",
    "simulate",
    "sweep",
]
