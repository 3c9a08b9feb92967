"""Evaluations: the evidence that RFC 9743 asks for of a new controller, beside NewReno and CUBIC."""

from ackclock.checks.cases import OWN
from ackclock.evaluation.judging import Evaluation, Finding, evaluate
from ackclock.evaluation.measuring import Measure
from ackclock.evaluation.suite import Criterion, added, choose, criteria

__all__ = ["OWN", "Criterion", "Evaluation", "Finding", "Measure", "added", "choose", "criteria", "evaluate"]
