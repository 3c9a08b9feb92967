"""Metrics of congestion control (RFC 5166), as functions over the tables of a run.

Every function takes a run (anything with the tables ``flows``, ``links``, ``flow_series``, ``link_series``,
``probes`` and ``events``) and answers in SI units unless its name says otherwise: bits per second, seconds,
fractions of one. Round-trip times and queueing delays are in milliseconds, as in the tables.

``start`` and ``stop`` bound the interval that is looked at, in seconds since the start of the run. Left out,
they mean the measured interval of the run (after the warm-up), and the exact totals of the ``flows`` and
``links`` tables are used. A flow or a link is named as in the scenario; ``flow=None`` means all flows
together, ``link=None`` the first link with a rate.
"""

from ackclock.metrics.congestion import empty_epochs, epoch_queue_minimum, growth_per_rtt, loss_event_distance
from ackclock.metrics.curves import Curve, goodput_by_flow, queue_curve, signal_by_flow
from ackclock.metrics.delay import (
    buffer,
    queue_delay,
    queue_length,
    queue_percentile,
    rtt_deviation,
    rtt_mean,
    rtt_percentile,
    rtt_range,
    rtt_samples,
)
from ackclock.metrics.fairness import (
    jain,
    jain_index,
    max_min_ratio,
    settling_time,
    throughput_among,
    time_to_share,
    time_until_rate,
    variation,
)
from ackclock.metrics.groups import goodput_by_group, signal_by_group
from ackclock.metrics.loss import event_count, event_share, event_value, loss_rate
from ackclock.metrics.models import linear_growth, mathis
from ackclock.metrics.packets import packets_arrived
from ackclock.metrics.rates import (
    flow_value,
    goodput,
    goodput_bins,
    goodput_windows,
    link_rate,
    throughput,
    utilization,
)
from ackclock.metrics.relations import correlation, rise_until, signal_when
from ackclock.metrics.signals import change_at, lag, signal_at, signal_mean, signal_percentile, signal_share
from ackclock.metrics.steps import signal_increase, signal_ratio, steps_until, steps_until_settled
from ackclock.metrics.tables import (
    SIGNALS,
    Array,
    MetricError,
    Tables,
    column,
    event_times,
    flow_names,
    samples,
)

__all__ = [
    "SIGNALS",
    "Array",
    "Curve",
    "MetricError",
    "Tables",
    "buffer",
    "change_at",
    "column",
    "correlation",
    "empty_epochs",
    "epoch_queue_minimum",
    "event_count",
    "event_share",
    "event_times",
    "event_value",
    "flow_names",
    "flow_value",
    "goodput",
    "goodput_bins",
    "goodput_by_flow",
    "goodput_by_group",
    "goodput_windows",
    "growth_per_rtt",
    "jain",
    "jain_index",
    "lag",
    "linear_growth",
    "link_rate",
    "loss_event_distance",
    "loss_rate",
    "mathis",
    "max_min_ratio",
    "packets_arrived",
    "queue_curve",
    "queue_delay",
    "queue_length",
    "queue_percentile",
    "rise_until",
    "rtt_deviation",
    "rtt_mean",
    "rtt_percentile",
    "rtt_range",
    "rtt_samples",
    "samples",
    "settling_time",
    "signal_at",
    "signal_by_flow",
    "signal_by_group",
    "signal_increase",
    "signal_mean",
    "signal_percentile",
    "signal_ratio",
    "signal_share",
    "signal_when",
    "steps_until",
    "steps_until_settled",
    "throughput",
    "throughput_among",
    "time_to_share",
    "time_until_rate",
    "utilization",
    "variation",
]
