"""Metrics of congestion control (RFC 5166), as functions over the tables of a run.

Every function takes a run (anything with the tables ``flows``, ``links``, ``flow_series``, ``link_series``,
``probes`` and ``events``) and answers in SI units unless its name says otherwise: bits per second, seconds,
fractions of one. Round-trip times and queueing delays are in milliseconds, as in the tables.

``start`` and ``stop`` bound the interval that is looked at, in seconds since the start of the run. Left out,
they mean the measured interval of the run (after the warm-up), and the exact totals of the ``flows`` and
``links`` tables are used. A flow or a link is named as in the scenario. ``flow=None`` means all flows
together, ``link=None`` the first link with a rate.

Figures and claims of papers can name each function that is decorated with ``@metric`` or ``@model``. Only a
new module needs a line here.
"""

from ackclock.metrics.calls import *
from ackclock.metrics.congestion import *
from ackclock.metrics.convergence import *
from ackclock.metrics.curves import *
from ackclock.metrics.delay import *
from ackclock.metrics.estimates import *
from ackclock.metrics.fairness import *
from ackclock.metrics.groups import *
from ackclock.metrics.loss import *
from ackclock.metrics.models import *
from ackclock.metrics.packets import *
from ackclock.metrics.rates import *
from ackclock.metrics.recovery import *
from ackclock.metrics.registry import *
from ackclock.metrics.relations import *
from ackclock.metrics.response import *
from ackclock.metrics.sharing import *
from ackclock.metrics.signals import *
from ackclock.metrics.stability import *
from ackclock.metrics.steps import *
from ackclock.metrics.tables import *
from ackclock.metrics.video import *
