"""Queue disciplines beside those of the kernel: what is read of ``tc``, and what is simulated."""

import importlib.util
import struct
import sys
from pathlib import Path
from types import ModuleType

import ackclock


def script(name: str) -> ModuleType:
    """A script beside the tests of a new machine."""
    spec = importlib.util.spec_from_file_location(name, Path(__file__).parents[2] / ".ci" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


script("beside")
disciplines = script("disciplines")
peers = script("discipline_peers")


def test_marks_are_found_where_each_discipline_counts_them() -> None:
    shaper = {"kind": "tbf", "handle": "1:", "packets": 9, "drops": 9}
    codel = {"kind": "codel", "handle": "2:", "packets": 7, "drops": 2, "ecn_mark": 3}
    red = {"kind": "red", "handle": "2:", "packets": 7, "drops": 2, "marked": 4}
    tins = [{"ecn_mark": 5, "drops": 2}]
    cake = {"kind": "cake", "handle": "2:", "packets": 7, "drops": 2, "tins": tins}
    assert disciplines.counters([shaper, codel]) == (7, 2, 3)
    assert disciplines.counters([shaper, red]) == (7, 2, 4)
    assert disciplines.counters([cake]) == (7, 2, 5)


def test_the_kernel_tells_the_marks_of_dualpi2_in_the_seventh_word() -> None:
    # TCA_KIND (1) is 8 bytes with its zero and the head of 4, so 12; TCA_XSTATS (4) has twelve words.
    kind = struct.pack("=HH8s", 12, 1, b"dualpi2")
    counted = struct.pack("=HH12I", 52, 4, *range(100, 112))
    # One of 6 bytes is followed by two that do not count.
    odd = struct.pack("=HH2sxx", 6, 9, b"xy")
    found = peers.attributes(odd + kind + counted)
    assert found[1] == b"dualpi2\0"
    assert found[9] == b"xy"
    assert peers.MARKED.unpack_from(found[4]) == (106,)


def test_a_simulated_queue_takes_as_many_of_a_burst_as_one_behind_a_token_bucket() -> None:
    # Linux 6.18, tbf with a burst of 1500 and pfifo with a limit of 8: 11 of 20 packets dropped.
    flow = {"cc": "newreno", "transport": {"initial_window": 20, "segmentation_offload": False}}
    path = {"rate": "10mbit", "rtt": "20ms", "queue": "8p"}
    run = ackclock.simulate(
        ackclock.Scenario.from_document({"duration": "30ms", "path": path, "flows": [flow]})
    )
    [link] = run.links.to_pylist()
    assert link["dropped_packets"] == 11


def test_the_same_load_is_simulated() -> None:
    # In 2 s 2083 or 2084 datagrams of 1500 bytes come at 12.5 Mbit/s and 1667 leave at 10: what is over fills
    # a queue of 50, and the rest is dropped.
    load = disciplines.Load("datagrams", datagrams="12.5mbit")
    [reading] = disciplines.simulated(disciplines.DISCIPLINES["pfifo"], load, 2.0, 1)
    assert abs(reading.sent - 1667) <= 2
    assert abs(reading.dropped - (2083.5 - 1667 - 50)) <= 3
    assert reading.marked == 0


def test_the_delay_of_flows_is_that_of_the_smoothed_rtt() -> None:
    # An ACK covers two segments, of which the first arrived 1.2 ms earlier. It counts for the smoothed RTT,
    # which is what the kernel is asked for, and the second for the mean of the RTTs. Ends of trains would be
    # acknowledged at once, also alone: but segments leave one by one, as the kernel's device takes them.
    load, queue = disciplines.Load("1 flow", flows=1), disciplines.DISCIPLINES["pfifo"]
    document = disciplines.scenario(queue, load, 20.0)
    run = ackclock.simulate(ackclock.Scenario.from_document(document))
    [flow] = run.flows.to_pylist()
    apart = disciplines.delay_of_flows(run) + 41.2 - flow["rtt_mean_ms"]
    assert 1.1 < apart < 1.3, apart


def test_several_runs_are_told_by_mean_and_deviation() -> None:
    # 1 and 3: 2, and each is 1 off, so that the deviation of two is the root of 2.
    assert disciplines.spread([1.0, 3.0], 1) == "2.0 ± 1.4"
    assert disciplines.spread([17.0], 0) == "17"


def test_two_runs_with_one_seed_start_their_flows_alike() -> None:
    # Within 20 ms, as the simulated ones: both ends of the comparison draw from the same range.
    document = disciplines.scenario(disciplines.DISCIPLINES["red"], disciplines.LOADS[2], 20.0)
    assert {flow["start_jitter"] for flow in document["flows"]} == {"20ms"}
    drawn = [peers.offsets(4, 0.02, seed) for seed in (1, 1, 2)]
    assert drawn[0] == drawn[1] != drawn[2]
    assert all(0 <= offset <= 0.02 for offset in drawn[0])
