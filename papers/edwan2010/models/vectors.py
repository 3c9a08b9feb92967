"""Checks of the arrays that models take. A value that is not allowed is an ``InputError``."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ackclock.errors import InputError
from ackclock.metrics.tables import Array


def probabilities(name: str, values: npt.ArrayLike) -> Array:
    """An array of probabilities, each above 0 and at most 1."""
    array = np.asarray(values, dtype=np.float64)
    wrong = array[~((array > 0) & (array <= 1))]
    if wrong.size:
        raise InputError(f"{name} = {wrong.flat[0]:g}: must be above 0 and at most 1")
    return array


def vector(name: str, values: npt.ArrayLike, size: int | None = None) -> Array:
    """A vector of positive numbers. One number makes ``size`` equal ones."""
    array = np.asarray(values, dtype=np.float64)
    if array.ndim == 0 and size is not None:
        array = np.full(size, float(array))
    if array.ndim != 1 or (size is not None and array.size != size):
        raise InputError(f"{name} has the shape {array.shape}: must be {size or 'a list of'} numbers")
    wrong = array[~(np.isfinite(array) & (array > 0))]
    if wrong.size:
        raise InputError(f"{name} has {wrong[0]:g}: each must be above 0")
    return array
