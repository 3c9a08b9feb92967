"""Hunting: a search for conditions in which a controller is worse than others."""

from ackclock.hunting.conditions import Condition, Noise
from ackclock.hunting.search import NOISES, STALL, WEAK, Finding, Search
from ackclock.hunting.weakness import REFERENCES, Weaknesses, load
from ackclock.hunting.writing import case, page

__all__ = [
    "NOISES",
    "REFERENCES",
    "STALL",
    "WEAK",
    "Condition",
    "Finding",
    "Noise",
    "Search",
    "Weaknesses",
    "case",
    "load",
    "page",
]
