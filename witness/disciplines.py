"""Queue disciplines of this machine's kernel and the simulated ones: the same link, the same load.

Sender, router and receiver are network namespaces. The kernel's token bucket is the bottleneck and the
discipline its queue, under datagrams or greedy TCP flows. Disciplines that the kernel lacks are left out.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from witness.namespaces import call, remove

PEERS = Path(__file__).with_name("peers.py")
"""The script that sends and receives in the namespaces."""
START_SPREAD_MS = 20
"""Flows start at random within this time. From one instant they would fill the queue in step."""

RECEIVE_BUFFER = "net.ipv4.tcp_rmem=4096 8388608 268435456"
"""As in live runs: the window decides how many segments are acknowledged one by one at the start."""

RATE, RTT_MS, SERVICE_MS = "10mbit", 40, 1.2
"""The rate of the bottleneck, the base RTT of the flows, the service time of a full packet."""
ACK_RATE, ACK_SERVICE_MS = "60kbit", 6.933
"""The rate of a slow way back, and the service time of an ACK of 52 bytes there."""
PIE_PERIOD = "20ms"
"""PIE's 15 ms on a timer of Linux at 250 Hz: four ticks, and one more because no timer ends early."""
SAMPLE_INTERVAL = "20ms"
"""Of the smoothed RTT, as in ``peers.py``."""


@dataclass(frozen=True)
class Discipline:
    """A discipline as ``tc`` spells it."""

    tc: str
    differs: Mapping[str, Any] = field(default_factory=dict)
    """Settings of the simulated queue that differ from the settings of ``tc``."""
    shapes: bool = False
    """It shapes by itself. A packet leaves it when its service begins, and leaves a token bucket when its
    service ends. The path behind it makes up for the difference."""
    of_acks: bool = False
    """It is the queue of the ACKs, on a way back at `ACK_RATE`. The data wait in ``pfifo``."""

    @property
    def queue(self) -> dict[str, Any]:
        """The discipline as a scenario spells it."""
        from ackclock import _engine

        name, *words = self.tc.split()
        read = _engine.tc_queue(name, words)["queue"]
        spelled = read if isinstance(read, dict) else {"limit" if name == "pfifo" else "discipline": read}
        return {**spelled, **self.differs}

    @property
    def unserved_ms(self) -> float:
        """The service time that the kernel's packet has not had when it leaves."""
        if self.of_acks:
            return ACK_SERVICE_MS
        return SERVICE_MS if self.shapes else 0.0

    @property
    def device(self) -> str:
        """The device of the router at which it is."""
        return "in" if self.of_acks else "out"

    @property
    def loads(self) -> Sequence[Load]:
        """The loads under which it is measured."""
        return [load for load in LOADS if not self.of_acks or (load.flows and not load.ecn)]


DISCIPLINES: Mapping[str, Discipline] = {
    "pfifo": Discipline("pfifo limit 51", {"limit": "50p"}),
    "codel": Discipline("codel ecn"),
    "fq_codel": Discipline("fq_codel"),
    "red": Discipline(
        f"red limit 400000 min 15000 max 45000 avpkt 1500 burst 17 probability 0.02 bandwidth {RATE} ecn",
        {"count_in_service": True},
    ),
    "pie": Discipline("pie ecn", {"tupdate": PIE_PERIOD}),
    "fq_pie": Discipline("fq_pie ecn", {"tupdate": PIE_PERIOD}),
    "cake": Discipline(f"cake bandwidth {RATE} besteffort flows overhead 0", shapes=True),
    **{
        f"cake {acks}": Discipline(
            f"cake bandwidth {ACK_RATE} besteffort flows overhead 0 {acks}", shapes=True, of_acks=True
        )
        for acks in ("no-ack-filter", "ack-filter", "ack-filter-aggressive")
    },
    "dualpi2": Discipline("dualpi2"),
}
"""Behind a token bucket of ``tc`` the packet that waits for tokens counts. So the limit of ``pfifo`` is one
more there, and ``red`` averages over it too."""


@dataclass(frozen=True)
class Load:
    """Datagrams at a rate, or greedy flows."""

    name: str
    datagrams: str | None = None
    flows: int = 0
    ecn: bool = False


LOADS: Sequence[Load] = (
    Load("datagrams at 12.5mbit", datagrams="12.5mbit"),
    Load("1 flow", flows=1),
    Load("4 flows", flows=4),
    Load("4 flows, ECN", flows=4, ecn=True),
)


@dataclass(frozen=True)
class Reading:
    """The packets of a discipline under a load."""

    sent: float
    """Packets that left the queue."""
    dropped: float
    marked: float
    delay_ms: float
    """Mean queueing delay, measured on datagrams, or as the smoothed RTT of flows less the base RTT."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of this survey alone."""
    every = list(DISCIPLINES)
    parser.add_argument("--at-once", type=int, default=4, help="measurements at a time (default 4)")
    parser.add_argument("--only", nargs="+", choices=every, default=every, metavar="NAME")


def scenario(discipline: Discipline, load: Load, seconds: float) -> dict[str, Any]:
    """The scenario of a load behind a discipline."""
    path = {"rate": RATE, "rtt": f"{1 if load.datagrams else RTT_MS}ms", "queue": discipline.queue}
    if discipline.of_acks:
        path["reverse"] = {"rate": ACK_RATE, "queue": path["queue"]}
        path["queue"] = DISCIPLINES["pfifo"].queue
    flow: dict[str, Any]
    if load.datagrams:
        flow = {"cc": "newreno", "kind": "datagram", "echo": False, "source": {"rate": load.datagrams}}
    else:
        flow = {
            "cc": "cubic",
            "transport": {"ecn": load.ecn, "segmentation_offload": False},
            "start_jitter": f"{START_SPREAD_MS}ms",
        }
    flows = [dict(flow) for _ in range(max(load.flows, 1))]
    record = {"flow_series": SAMPLE_INTERVAL, "probes": "off", "events": False}
    return {"duration": f"{seconds:g}s", "path": path, "flows": flows, "record": record}


def simulated(discipline: Discipline, load: Load, seconds: float, seeds: int) -> list[Reading]:
    """The readings of ``seeds`` simulations."""
    from ackclock import Scenario, simulate

    runs = simulate(Scenario.from_document(scenario(discipline, load, seconds)), repeat=seeds)
    readings = []
    for run in runs if isinstance(runs, Sequence) else [runs]:
        name = "bottleneck:reverse" if discipline.of_acks else "bottleneck"
        [link] = [row for row in run.links.to_pylist() if row["name"] == name]
        delay = link["queue_delay_mean_ms"]
        if load.flows:
            delay = delay_of_flows(run)
        readings.append(
            Reading(link["departed_packets"], link["dropped_packets"], link["marked_packets"], delay)
        )
    return readings


def delay_of_flows(run: Any) -> float:
    """The mean smoothed RTT above the RTT of an empty path, in ms.

    It includes the wait for delayed ACKs, as the kernel's does. The RTTs in the table of flows exclude it.
    """
    rtts = run.flow_series.column("smoothed_rtt_ms").to_pylist()
    return statistics.fmean(rtt for rtt in rtts if rtt is not None) - RTT_MS - SERVICE_MS


@contextmanager
def network(
    name: str, discipline: Discipline, delay: bool = False, ecn: bool = False
) -> Iterator[tuple[str, str, str]]:
    """Makes sender, router with the bottleneck, and receiver. Returns the names of their namespaces.

    TCP limits its backlog in its own machine, so the bottleneck is in another one.
    """
    spaces = near, middle, far = f"{name}-a", f"{name}-b", f"{name}-c"
    try:
        for space in spaces:
            call(f"ip netns add {space}")
            settings = f"net.ipv4.tcp_ecn={int(ecn)} net.ipv4.ip_forward=1"
            call(f"ip netns exec {space} sysctl -qw {settings}")
        call(f"ip -n {near} link add end type veth peer name in netns {middle}")
        call(f"ip -n {middle} link add out type veth peer name end netns {far}")
        call(f"ip netns exec {far} sysctl -qw", RECEIVE_BUFFER)
        addresses = ((near, "end", "10.8.0.1"), (middle, "in", "10.8.0.9"), (middle, "out", "10.9.0.9"))
        for space, device, address in (*addresses, (far, "end", "10.9.0.2")):
            call(f"ip -n {space} address add {address}/24 dev {device}")
            call(f"ip -n {space} link set {device} gso_max_segs 1 up")
        for space, router in ((near, "10.8.0.9"), (far, "10.9.0.9")):
            call(f"ip -n {space} route add default via {router}")
        add = f"tc -n {middle} qdisc add dev"
        if discipline.shapes:
            call(f"{add} {discipline.device} root handle 2: {discipline.tc}")
        if discipline.of_acks or not discipline.shapes:
            # Lengths are without the header of Ethernet. Tokens for two packets: late timers cost no rate.
            shaper = f"stab overhead -14 linklayer ethernet tbf rate {RATE} burst 3000 limit 10000000"
            queue = DISCIPLINES["pfifo"].tc if discipline.of_acks else discipline.tc
            call(f"{add} out root handle 1: {shaper}")
            call(f"{add} out parent 1: handle {3 if discipline.of_acks else 2}: {queue}")
        if delay:
            rtt = f"{RTT_MS + discipline.unserved_ms}ms"
            call(f"tc -n {far} qdisc add dev end root netem limit 100000 delay {rtt}")
        yield spaces
    finally:
        for space in spaces:
            remove(space)


def counters(report: Sequence[Mapping[str, Any]]) -> tuple[int, int, int]:
    """Packets sent, dropped and marked by the discipline 2:, from ``tc -s -j qdisc``."""
    [found] = [qdisc for qdisc in report if qdisc.get("handle") == "2:"]
    tins = found.get("tins", [])
    marked = found.get("ecn_mark", found.get("marked", 0)) + sum(tin.get("ecn_mark", 0) for tin in tins)
    return found["packets"], found["drops"], marked


def measured(name: str, discipline: Discipline, load: Load, seconds: float, seed: int) -> Reading:
    """Measures a discipline of this machine's kernel under a load."""
    with network(name, discipline, not load.datagrams, load.ecn) as (near, middle, far):
        kind = (
            ["datagrams", load.datagrams.removesuffix("mbit")]
            if load.datagrams
            else ["flows", str(load.flows)]
        )
        options = [*kind, str(seconds), str(START_SPREAD_MS / 1000), str(seed)]
        receive = [*f"ip netns exec {far}".split(), sys.executable, str(PEERS), "receive", *options]
        receiver = subprocess.Popen(receive, stdout=subprocess.PIPE, text=True)
        assert receiver.stdout is not None
        receiver.stdout.readline()
        sender = call(f"ip netns exec {near} {sys.executable}", PEERS, "send", *options)
        if discipline.tc == "dualpi2":
            printed = call(f"ip netns exec {middle} {sys.executable}", PEERS, "counters", "out")
            sent, dropped, marked = map(int, printed.split())
        else:
            report = json.loads(call(f"tc -n {middle} -s -j qdisc show dev {discipline.device}"))
            sent, dropped, marked = counters(report)
        received, _ = receiver.communicate(timeout=30)
        delay = float(received) + discipline.unserved_ms if load.datagrams else float(sender) - RTT_MS
    return Reading(sent, dropped, marked, delay - SERVICE_MS)


def offered(discipline: Discipline) -> bool:
    """True if the kernel has the discipline."""
    try:
        with network("ack-try", discipline):
            return True
    except subprocess.CalledProcessError:
        return False


def survey(chosen: Namespace) -> Iterator[dict[str, Any]]:
    """Measures all loads behind the disciplines of this machine's kernel."""
    names = [name for name in chosen.only if offered(DISCIPLINES[name])]
    cells = [
        (name, load, run)
        for run in range(chosen.runs)
        for load in LOADS
        for name in names
        if load in DISCIPLINES[name].loads
    ]

    def one(number: int) -> Reading:
        name, load, run = cells[number]
        return measured(f"ack{os.getpid()}-{number}", DISCIPLINES[name], load, chosen.seconds, run)

    found: dict[str, Any] = {"kernel": platform.release(), "seconds": chosen.seconds, "readings": []}
    with ThreadPoolExecutor(chosen.at_once) as pool:
        for (name, load, _), reading in zip(cells, pool.map(one, range(len(cells))), strict=True):
            found["readings"].append({"discipline": name, "load": load.name, **vars(reading)})
            yield found


def spread(values: Sequence[float], places: int) -> str:
    """The mean, and the standard deviation where there are several values."""
    mean = f"{statistics.fmean(values):.{places}f}"
    return f"{mean} ± {statistics.stdev(values):.{places}f}" if len(values) > 1 else mean


def table(survey: Mapping[str, Any], chosen: Namespace) -> Iterator[str]:
    """Simulated and measured numbers as a table of Markdown."""
    yield "| discipline | load | drops | marks | delay (ms) |"
    yield "| --- | --- | --- | --- | --- |"
    loads = {load.name: load for load in LOADS}
    cells: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for found in survey["readings"]:
        cells.setdefault((found["discipline"], found["load"]), []).append(found)
    for (name, load), theirs in cells.items():
        if name not in chosen.only:
            continue
        ours = [
            vars(run) for run in simulated(DISCIPLINES[name], loads[load], survey["seconds"], chosen.seeds)
        ]
        pairs = [
            " / ".join(spread([run[key] for run in runs], places) for runs in (ours, theirs))
            for key, places in (("dropped", 0), ("marked", 0), ("delay_ms", 1))
        ]
        yield f"| `{name}` | {load} | {' | '.join(pairs)} |"
