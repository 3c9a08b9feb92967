"""Sweeps: a scenario over values of its keys, on the cores of this machine or on a cluster.

``axes`` reads the swept values, ``plan`` makes runs of them, ``executors`` sends these in chunks, ``work``
runs in the workers, ``folder`` stores the rows, ``metrics`` makes numbers of them, ``result`` reads them back
and ``drawing`` draws them.
"""

from ackclock.sweeps.axes import Axis, Design
from ackclock.sweeps.metrics import INTERVAL, METRICS, Interval, Metric, Place
from ackclock.sweeps.result import Sweep
from ackclock.sweeps.run import sweep

__all__ = ["INTERVAL", "METRICS", "Axis", "Design", "Interval", "Metric", "Place", "Sweep", "sweep"]
