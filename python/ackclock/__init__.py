"""ackclock: a congestion-control laboratory.

Describe a network path and the flows on it once, simulate it packet by packet, and look at the tables:

    import ackclock

    run = ackclock.simulate(ackclock.Path("10mbit", rtt="40ms", queue="84p"), ["cdg", "newreno"])
    print(run.flows.select(["name", "goodput_bps", "rtt_mean_ms"]))

``ackclock.live`` runs the same on this machine's own TCP.
"""

from ackclock._engine import (
    Ack,
    Context,
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
    version,
)
from ackclock.controller import Controller
from ackclock.result import ResultError, Run, Runs
from ackclock.running import live, simulate
from ackclock.scenario import Flow, Link, Path, Record, Reverse, Scenario, Wlan
from ackclock.sweeps import Sweep, sweep

__version__ = version()

__all__ = [
    "Ack",
    "Context",
    "Controller",
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
