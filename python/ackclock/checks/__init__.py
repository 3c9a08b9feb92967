"""Checks: is a controller sound? Laws that hold for all, rules of its algorithm, and ours beside it."""

from ackclock.cases.model import Judgement
from ackclock.checks.cases import OWN, TargetCase, choose, laws, read, rule_sets, rules
from ackclock.checks.judging import WORDS, as_json, check
from ackclock.checks.target import AIMS, Target, target

__all__ = [
    "AIMS",
    "OWN",
    "WORDS",
    "Judgement",
    "Target",
    "TargetCase",
    "as_json",
    "check",
    "choose",
    "laws",
    "read",
    "rule_sets",
    "rules",
    "target",
]
