"""Connections that end on a kernel in virtual time."""

import pytest

import ackclock
from ackclock import _engine
from ackclock.engines import registry
from ackclock.engines.uml import Uml
from ackclock.uml import kernels


def test_a_flow_with_an_end_ends():
    try:
        registry.find(Uml.name)
        kernels.find()
    except _engine.MachineError as error:
        pytest.skip(str(error))
    # Its receiver woke itself once everything had arrived, so that time stood still.
    path = ackclock.Path("1.5mbit", rtt="40ms", queue="20p")
    flow = ackclock.Flow("newreno", bytes="30kB", start="1s")
    run = ackclock.simulate(path, [flow], duration="5s", engine="uml")
    assert 0.2 < run.flows["completion_s"].to_pylist()[0] < 2
