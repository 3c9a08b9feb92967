"""Sweeps: a scenario over values of its keys, on the cores of this machine or on a cluster.

``axes`` reads what is swept, ``plan`` makes runs of it, ``executors`` sends them in chunks, ``work`` is
what a worker does, ``folder`` stores the rows, and ``result`` says what they amount to.
"""

from ackclock.sweeps.axes import Axis, Design
from ackclock.sweeps.result import INTERVAL, METRICS, Interval, Metric, Place, Sweep
from ackclock.sweeps.run import sweep

__all__ = ["INTERVAL", "METRICS", "Axis", "Design", "Interval", "Metric", "Place", "Sweep", "sweep"]
