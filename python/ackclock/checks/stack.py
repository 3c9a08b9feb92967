"""A stack from outside as two commands: it runs live across the emulated path, and the link is judged."""

from __future__ import annotations

import json
import math
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ackclock import _engine, metrics
from ackclock.cases.judgement import verdict
from ackclock.cases.model import Claim, Judgement
from ackclock.checks.cases import TargetCase
from ackclock.engines import Progress
from ackclock.errors import InputError
from ackclock.metrics import MetricError
from ackclock.result import Run
from ackclock.scenario import as_json
from ackclock.verdict import NOT_JUDGED

HEAD_START_S = 0.5
"""The server listens before the client begins, in seconds."""

TIMED_OUT = 124
"""The exit status of ``timeout`` for a program that it ended."""

MOST_BITS = 100e6
"""The fastest link that the emulator serves on any machine, in bit/s."""

SERVERS = {"near": "10.0.0.1", "far": "10.0.0.2"}


@dataclass(frozen=True)
class Stack:
    """The commands of a server and a client. ``{server}`` and ``{duration}`` in them are filled in."""

    server: str
    client: str
    download: bool
    """The server sends the data."""

    @property
    def name(self) -> str:
        """Its name in tables: the program that sends."""
        return shlex.split(self.sender)[0].rpartition("/")[2]

    @property
    def sender(self) -> str:
        """The command of the program that sends."""
        return self.server if self.download else self.client

    def commands(self, duration_s: float) -> tuple[list[str], list[str]]:
        """The commands at the near end, which sends, and at the far end."""
        filled = {"server": SERVERS["near" if self.download else "far"], "duration": f"{duration_s:g}"}
        server, client = (_filled(one, filled) for one in (self.server, self.client))
        # Standard output belongs to the check.
        late = ["sh", "-c", f'sleep {HEAD_START_S}; exec "$@" >&2', "sh", *client]
        first = ["sh", "-c", 'exec "$@" >&2', "sh", *server]
        bounded = ["timeout", f"{duration_s + 1:g}"]
        return ([*bounded, *first], late) if self.download else ([*bounded, *late], first)


def _filled(command: str, values: dict[str, str]) -> list[str]:
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise InputError(f"{command}: {error}") from None
    if not words:
        raise InputError("--server and --client: must not be empty")
    for key, value in values.items():
        words = [word.replace(f"{{{key}}}", value) for word in words]
    return words


def cases_for(cases: Sequence[TargetCase]) -> list[TargetCase]:
    """The cases of one flow that always has data, on links that can be emulated.

    Claims are about the link.
    """
    found = []
    for case in cases:
        flows = case.setups[0].scenario["flows"]
        claims = tuple(
            one for one in case.claims if one.measure.get("metric") == "utilization" and not one.relative
        )
        alone = len(flows) == 1 and set(flows[0]) <= {"name", "start_jitter"}
        if claims and alone and _fastest(case) <= MOST_BITS:
            found.append(replace(case, claims=claims))
    return found


def _fastest(case: TargetCase) -> float:
    rates = [link["rate_bps"] or 0.0 for link in _plan(case).inspect()["links"]]
    return float(max(rates, default=0.0))


def check(
    cases: Sequence[TargetCase], stack: Stack, seed: int = 1, progress: Progress | None = None
) -> list[Judgement]:
    """Runs the stack in each case, in real time, and judges it. Raises MachineError."""
    found = []
    for number, case in enumerate(cases):
        if progress is not None:
            progress(number / len(cases))
        plan = _plan(case)
        run, why = _run(plan, stack, seed)
        found += [_judged(claim, plan, run, why) for claim in case.claims]
    return found


def _plan(case: TargetCase) -> _engine.Plan:
    (setup,) = case.setups
    document = {**setup.scenario, "flows": [{"cc": "newreno"}]}
    return _engine.resolve_json(as_json(document), setup.settings)


def _run(plan: _engine.Plan, stack: Stack, seed: int) -> tuple[Run, str]:
    """The session, and why it cannot be judged if it cannot."""
    near, far = stack.commands(plan.inspect()["duration_s"])
    status, ran, _ = _engine.shell(plan, seed, near, far)
    run = Run.from_engine(ran, plan, seed)
    if not run.valid:
        return run, "; ".join(run.engine["reasons"])
    return run, "" if status in (0, TIMED_OUT) else f"{stack.sender} ended with status {status}"


def _judged(claim: Claim, plan: _engine.Plan, run: Run, why: str) -> Judgement:
    measured: float | None = None
    if not why:
        about = json.loads(plan.resolved)
        start, stop = (_engine.quantity(about[key], "time") for key in ("warmup", "duration"))
        try:
            measured = metrics.utilization(run, "bottleneck", start, stop)
        except MetricError as error:
            why = str(error)
    if measured is not None and not math.isfinite(measured):
        measured, why = None, f"{claim.text}: has no value"
    judged = verdict(claim, measured) if run.valid else NOT_JUDGED
    return Judgement(claim, measured, judged, why, scenario=plan.resolved, valid=run.valid)
