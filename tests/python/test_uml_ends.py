"""Connections that end, on a kernel in virtual time and simulated."""

import pytest

import ackclock
from ackclock import _engine
from ackclock.engines import registry
from ackclock.engines.uml import Uml
from ackclock.uml import kernels


def available(engine):
    """Skips the test where this machine has no such engine."""
    try:
        registry.find(engine)
        if engine == Uml.name:
            kernels.find()
    except _engine.MachineError as error:
        pytest.skip(str(error))


def test_a_flow_with_an_end_ends():
    available(Uml.name)
    # Its receiver woke itself once everything had arrived, so that time stood still.
    path = ackclock.Path("1.5mbit", rtt="40ms", queue="20p")
    flow = ackclock.Flow("newreno", bytes="30kB", start="1s")
    run = ackclock.simulate(path, [flow], duration="5s", engine="uml")
    assert 0.2 < run.flows["completion_s"].to_pylist()[0] < 2


@pytest.mark.parametrize("engine", ["sim", Uml.name])
def test_lists_of_lost_openings_count_no_packet_that_closes_a_connection(engine):
    available(engine)
    # The SYN of the first flow. Its repetition and its ACK are numbers 1 and 2, the SYN of the second is 3.
    path = ackclock.Path("10mbit", rtt="40ms", queue="1bdp", loss={"openings": [0, 3]})
    flows = [ackclock.Flow("newreno", bytes="14480B", start=start) for start in ("0s", "3s")]
    run = ackclock.simulate(path, flows, duration="6s", engine=engine)
    assert [handshake > 1000 for handshake in run.flows["handshake_ms"].to_pylist()] == [True, True]
