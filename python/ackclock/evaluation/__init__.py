"""Evaluations: the evidence that RFC 9743 asks for of a new controller, beside NewReno and CUBIC."""

from ackclock.evaluation.judging import Evaluation, Finding, evaluate
from ackclock.evaluation.measuring import Measure
from ackclock.evaluation.suite import Criterion, choose, criteria

__all__ = ["Criterion", "Evaluation", "Finding", "Measure", "choose", "criteria", "evaluate"]
