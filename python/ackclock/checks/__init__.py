"""Checks: is a controller sound? Laws that hold for all, rules of its algorithm, and ours beside it."""

from ackclock.checks.cases import Case, choose, laws, read, rule_sets, rules
from ackclock.checks.judging import Judgement, check
from ackclock.checks.target import AIMS, Target, target

__all__ = [
    "AIMS",
    "Case",
    "Judgement",
    "Target",
    "check",
    "choose",
    "laws",
    "read",
    "rule_sets",
    "rules",
    "target",
]
