"""Connections and programs that end, on a kernel in virtual time and simulated."""

import os

import pytest

import ackclock
from ackclock import _engine
from ackclock.engines import registry
from ackclock.engines.uml import Uml
from ackclock.uml import guest, kernels


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


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="needs Linux")
def test_a_program_reports_within_a_second_that_it_runs_and_leaves_status_and_output(tmp_path, monkeypatch):
    # Outside of a kernel of its own there is no simulation to wait for.
    monkeypatch.setattr(guest, "wait_for_begin", lambda: None)
    monkeypatch.setattr(guest, "seed_randomness", lambda *_: None)
    program = ["sh", "-c", 'echo "$0"; sleep 0.7; exit 3', "in {results}"]
    guest.RunCommand(program, str(tmp_path)).run(tmp_path)
    assert (tmp_path / "output").read_text() == f"in {tmp_path}\n"
    assert (tmp_path / "status").read_text() == "3"
    assert float((tmp_path / guest.REPORT).read_text()) > 0.0
