"""The classifier: a forest of trees over the features of simulated flows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ackclock.arguments import library
from ackclock.identify.features import features
from ackclock.identify.training import Table
from ackclock.identify.trajectories import Trajectory
from ackclock.metrics.tables import Array

TREES = 200

LEAST = 0.25
"""The share below which a flow is of no known controller."""

FLOOR = 1e-3
"""The least share of one flow in the mean of several: one flow alone does not rule a controller out."""


def require() -> Any:
    """The forests of scikit-learn. Raises InputError without them."""
    return library("sklearn.ensemble", "`ackclock read --controllers`", "scikit-learn")


@dataclass(frozen=True)
class Guess:
    """A controller, and the share of the trees that name it."""

    name: str
    share: float
    also: tuple[str, ...] = ()
    """Controllers whose flows are the same on every path of the training."""


class Classifier:
    """A forest over a table. Raises InputError without scikit-learn."""

    def __init__(self, known: Table) -> None:
        ensemble = require()
        merged, self._also = known.merged()
        self.columns = known.columns
        forest = ensemble.ExtraTreesClassifier(TREES, random_state=1)
        # Each controller weighs the same, so one name for three weighs three times as much.
        weights = [len(self._also[name]) / merged.labels.count(name) for name in merged.labels]
        self._forest: Any = forest.fit(merged.values, merged.labels, sample_weight=weights)

    def shares(self, flows: Sequence[Trajectory]) -> Array:
        """The share of the trees for each controller, for each flow."""
        rows = [[found[name] for name in self.columns] for found in map(features, flows)]
        return np.asarray(self._forest.predict_proba(np.asarray(rows)))

    def guesses(self, flows: Sequence[Trajectory]) -> list[Guess]:
        """The controllers of ``flows``, which have the same one, the likeliest first."""
        means = np.exp(np.mean(np.log(self.shares(flows) + FLOOR), axis=0))
        means /= np.sum(means)
        names = [str(self._forest.classes_[place]) for place in np.argsort(-means, kind="stable")]
        return [
            Guess(name, float(share), tuple(self._also[name][1:]))
            for name, share in zip(names, sorted(means, reverse=True), strict=True)
        ]
