"""Identification: which controller does a flow look like?"""

from ackclock.identify.classifier import LEAST, Classifier, Guess, require
from ackclock.identify.training import table, train
from ackclock.identify.trajectories import LEAST_ROUNDS, Trajectory, of_capture, of_run, read

__all__ = [
    "LEAST",
    "LEAST_ROUNDS",
    "Classifier",
    "Guess",
    "Trajectory",
    "of_capture",
    "of_run",
    "read",
    "require",
    "table",
    "train",
]
