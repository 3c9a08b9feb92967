"""Experiments on an engine with a stack of its own, such as the kernel's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from ackclock.papers.experiment import Experiment


def with_stack(experiment: Experiment, profile: str) -> Experiment:
    """The experiment with the endpoints of ``profile`` in place of the paper's."""
    # One run an instant of real time: the set-up alone, without the variations around it.
    return replace(experiment.with_scenarios(partial(_scenario, profile)), variations={})


def _scenario(profile: str, scenario: Mapping[str, Any]) -> dict[str, Any]:
    flows = [
        {key: value for key, value in flow.items() if key not in ("profile", "transport")}
        for flow in scenario.get("flows", [])
    ]
    return {**scenario, "profile": profile, "flows": flows}
