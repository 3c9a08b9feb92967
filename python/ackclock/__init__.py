"""ackclock: a congestion-control laboratory.

Describe a network path and the flows on it once, simulate it packet by packet, and look at the tables:

    import ackclock

    run = ackclock.simulate(ackclock.Path("10mbit", rtt="40ms", queue="84p"), ["cdg", "newreno"])
    print(run.flows.select(["name", "goodput_bps", "rtt_mean_ms"]))

``ackclock.live`` runs the same on this machine's own TCP.
"""

import sys

try:
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
except KeyboardInterrupt:
    # Ctrl-C in the moment that the imports take ends the command as it does later; a program decides itself.
    _program = sys.argv[0] if getattr(sys, "argv", None) else ""
    if _program.rpartition("/")[2] != "ackclock" and not (_program == "-m" and "ackclock" in sys.orig_argv):
        raise
    sys.stderr.write("ackclock: interrupted\n")
    raise SystemExit(130) from None

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
