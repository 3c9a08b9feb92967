"""Experiments on an engine that refuses some of their runs: these are left out, or simulated."""

import pytest

from ackclock import _engine, papers
from ackclock.engines import registry
from ackclock.engines.cached import CachedEngine
from ackclock.engines.simulator import Simulator
from ackclock.engines.uml import Uml
from ackclock.papers import page
from ackclock.uml import kernels
from calling import refused
from experiments import read

EXPERIMENT = """
id = "demo-fig1"
title = "Two controllers"
section = "1"
kind = "simulation"
status = "own result"
shows = "goodput"

[scenario]
duration = "2s"
path = { rate = "8mbit", rtt = "40ms", queue = "20p" }

[[runs]]
name = "rival"
scenario = { flows = [{ cc = "cubic" }] }

[[runs]]
name = "own"
scenario = { flows = [{ cc = "siad" }] }

[[claims]]
id = "demo-both"
kind = "ratio"
text = "Both use the link"
reported = 1.0
low = 0.2
high = 5.0
source = "section 1"
measure = { ratio = [{ metric = "goodput", run = "rival" }, { metric = "goodput", run = "own" }] }

[[claims]]
id = "demo-own"
kind = "reported-number"
text = "SIAD uses the link"
reported = 8e6
low = 4e6
source = "section 1"
measure = { metric = "goodput", run = "own" }
"""


class Kernel(Simulator):
    """Refuses SIAD."""

    def check(self, plan):
        if plan.name == "demo/own":
            raise _engine.ScenarioError("it has no siad")
        super().check(plan)


def test_a_refused_run_is_simulated_for_claims_that_compare_it_with_one_of_the_engine(tmp_path):
    experiment = read(tmp_path, EXPERIMENT)
    simulated = papers.reproduce([experiment])
    without, filled = (
        papers.reproduce([experiment], engine=Kernel(), rest=rest) for rest in (None, Simulator())
    )
    assert without.measured() == {"demo-both": None, "demo-own": None}
    assert filled.measured() == {**simulated.measured(), "demo-own": None}
    assert (without.replaced, filled.replaced) == (False, True)
    assert without.refused == filled.refused == ["it has no siad"]
    for done, title in ((without, "not run live (1)"), (filled, "simulated in place of live (1)")):
        simulated.others["live"] = done
        page.write(simulated, (), tmp_path)
        assert title in (tmp_path / "index.html").read_text()


@pytest.mark.parametrize("engine", [Simulator(), Kernel()])
def test_a_run_that_the_simulator_refuses_is_a_mistake_on_any_engine(tmp_path, engine):
    experiment = read(tmp_path, EXPERIMENT.replace('"cubic"', '"cubik"'))
    cached = CachedEngine(engine, tmp_path / "runs")
    with pytest.raises(papers.CaseError, match=r"run rival: .*there is no controller `cubik`"):
        papers.reproduce([experiment], engine=cached)


def test_the_kernel_in_virtual_time_has_the_rival_and_the_simulator_siad(tmp_path):
    try:
        registry.find(Uml.name)
        kernels.find()
    except _engine.MachineError as error:
        pytest.skip(str(error))
    experiment = read(tmp_path, EXPERIMENT)
    done = papers.reproduce([experiment], engine=Uml(), rest=Simulator())
    values = done.measured()
    assert 0.2 < values["demo-both"] < 5.0
    assert values["demo-own"] is None
    assert "`siad` is ackclock's own controller for the kernel" in done.refused[0]


def test_without_another_engine_nothing_is_refused(capsys):
    said = refused(capsys, "reproduce", "cdg2011-fig7", "--simulate-refused")
    assert said == "--simulate-refused: needs an engine that refuses runs, such as --engine uml"
