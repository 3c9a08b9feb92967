//! The events that a controller written in Python is notified of: those of `control`, as objects with attributes.
//!
//! Times and spans are seconds, rates bits per second; what is not known is `None`.

use pyo3::prelude::*;
use units::{Random, Span, Time};

fn point(at: Time) -> f64 {
    record::seconds(at)
}

pub(crate) fn span(span: Span) -> f64 {
    span.as_nanos() as f64 / 1e9
}

/// The world while an event is handled.
#[pyclass(module = "ackclock._engine")]
pub(crate) struct Context {
    /// Time of the event.
    #[pyo3(get)]
    now: f64,
    /// Payload of a full segment in bytes.
    #[pyo3(get)]
    segment_size: u64,
    /// Initial window of the connection in segments.
    #[pyo3(get)]
    initial_window: f64,
    /// At an idle restart: the most for the window and the least for the threshold, in segments.
    #[pyo3(get)]
    restart_window: f64,
    #[pyo3(get)]
    restart_threshold: f64,
    /// The random stream of the flow, to be put back when the event is handled.
    pub(crate) random: Random,
}

impl Context {
    pub(crate) fn new(cx: &control::Context<'_>) -> Self {
        Self {
            now: point(cx.now),
            segment_size: cx.segment_size.get(),
            initial_window: cx.initial_window,
            restart_window: cx.restart.map_or(cx.initial_window, |restart| restart.window),
            restart_threshold: cx.restart.map_or(0.0, |restart| restart.threshold),
            random: cx.random.clone(),
        }
    }
}

#[pymethods]
impl Context {
    /// The next number of the flow's random stream, in [0, 1).
    fn random(&mut self) -> f64 {
        self.random.uniform()
    }
}

/// One ACK.
#[pyclass(frozen, module = "ackclock._engine")]
pub(crate) struct Ack(pub(crate) control::Ack, pub(crate) Time);

#[pymethods]
impl Ack {
    #[getter]
    fn rtt(&self) -> Option<f64> {
        self.0.rtt.map(|sample| span(sample.value))
    }

    #[getter]
    fn rtt_delayed(&self) -> bool {
        self.0.rtt.is_some_and(|sample| sample.delayed)
    }

    #[getter]
    fn timestamp_rtt(&self) -> Option<f64> {
        self.0.timestamp_rtt(self.1).map(span)
    }

    #[getter]
    fn smoothed_rtt(&self) -> Option<f64> {
        (!self.0.smoothed_rtt.is_zero()).then(|| span(self.0.smoothed_rtt))
    }

    #[getter]
    fn min_rtt(&self) -> Option<f64> {
        (self.0.min_rtt != Span::MAX).then(|| span(self.0.min_rtt))
    }

    #[getter]
    fn one_way_delay(&self) -> Option<f64> {
        self.0.one_way_delay.map(span)
    }

    #[getter]
    fn newly_acknowledged(&self) -> u32 {
        self.0.newly_acknowledged
    }

    #[getter]
    fn newly_delivered(&self) -> u32 {
        self.0.newly_delivered
    }

    #[getter]
    fn newly_lost(&self) -> u32 {
        self.0.newly_lost
    }

    #[getter]
    fn delivered(&self) -> u64 {
        self.0.delivered
    }

    #[getter]
    fn lost(&self) -> u64 {
        self.0.lost
    }

    #[getter]
    fn in_flight_before(&self) -> u32 {
        self.0.in_flight_before
    }

    #[getter]
    fn in_flight(&self) -> u32 {
        self.0.in_flight
    }

    #[getter]
    fn newly_sacked(&self) -> Option<u64> {
        self.0.newly_sacked
    }

    #[getter]
    fn first_duplicate(&self) -> bool {
        self.0.first_duplicate
    }

    #[getter]
    fn ends_recovery(&self) -> bool {
        self.0.ends_recovery
    }

    #[getter]
    fn rate(&self) -> Option<RateSample> {
        self.0.rate.map(RateSample)
    }

    #[getter]
    fn round_start(&self) -> bool {
        self.0.round_start
    }

    #[getter]
    fn ecn_echo(&self) -> bool {
        self.0.ecn_echo
    }

    #[getter]
    fn newly_marked(&self) -> u32 {
        self.0.newly_marked
    }

    #[getter]
    fn marked(&self) -> u64 {
        self.0.marked
    }

    #[getter]
    fn application_limited(&self) -> bool {
        self.0.application_limited
    }

    #[getter]
    fn window_limited(&self) -> bool {
        self.0.window_limited
    }

    #[getter]
    fn acknowledged_to(&self) -> u64 {
        self.0.acknowledged_to
    }

    #[getter]
    fn sent_to(&self) -> u64 {
        self.0.sent_to
    }

    #[getter]
    fn slow_start_at_threshold(&self) -> bool {
        self.0.slow_start_at_threshold
    }

    fn slow_start_credit(&self) -> f64 {
        self.0.slow_start_credit()
    }

    fn avoidance_credit(&self) -> f64 {
        self.0.avoidance_credit()
    }
}

/// A delivery rate sample.
#[pyclass(frozen, module = "ackclock._engine")]
pub(crate) struct RateSample(control::RateSample);

#[pymethods]
impl RateSample {
    #[getter]
    fn delivered(&self) -> u64 {
        self.0.delivered
    }

    #[getter]
    fn interval(&self) -> f64 {
        span(self.0.interval)
    }

    #[getter]
    fn application_limited(&self) -> bool {
        self.0.application_limited
    }

    #[getter]
    fn prior_delivered(&self) -> u64 {
        self.0.prior_delivered
    }

    #[getter]
    fn is_retransmission(&self) -> bool {
        self.0.is_retransmission
    }

    #[getter]
    fn sent(&self) -> Option<SentState> {
        self.0.sent.map(SentState)
    }
}

/// The state of the connection when a segment left.
#[pyclass(frozen, module = "ackclock._engine")]
pub(crate) struct SentState(control::SentState);

#[pymethods]
impl SentState {
    #[getter]
    fn at(&self) -> f64 {
        point(self.0.at)
    }

    #[getter]
    fn delivered(&self) -> u64 {
        self.0.delivered
    }

    #[getter]
    fn lost(&self) -> u64 {
        self.0.lost
    }

    #[getter]
    fn marked(&self) -> u64 {
        self.0.marked
    }

    #[getter]
    fn in_flight(&self) -> u32 {
        self.0.in_flight
    }

    #[getter]
    fn application_limited(&self) -> bool {
        self.0.application_limited
    }
}

/// A segment that leaves.
#[pyclass(frozen, module = "ackclock._engine")]
pub(crate) struct Transmission(pub(crate) control::Transmission);

#[pymethods]
impl Transmission {
    #[getter]
    fn sequence(&self) -> u64 {
        self.0.sequence
    }

    #[getter]
    fn retransmission(&self) -> bool {
        self.0.retransmission
    }

    #[getter]
    fn in_flight(&self) -> u32 {
        self.0.in_flight
    }

    #[getter]
    fn application_limited(&self) -> bool {
        self.0.application_limited
    }
}

/// The fate of the last transmission of a segment.
#[pyclass(frozen, module = "ackclock._engine")]
pub(crate) struct SegmentReport(pub(crate) control::SegmentReport);

#[pymethods]
impl SegmentReport {
    #[getter]
    fn sequence(&self) -> u64 {
        self.0.sequence
    }

    #[getter]
    fn retransmitted(&self) -> bool {
        self.0.retransmitted
    }

    #[getter]
    fn rtt(&self) -> Option<f64> {
        self.0.rtt.map(span)
    }

    #[getter]
    fn sent(&self) -> SentState {
        SentState(self.0.sent)
    }
}

/// A loss event or an expiry of the retransmission timer.
#[pyclass(frozen, module = "ackclock._engine")]
pub(crate) struct Loss(pub(crate) control::Loss);

#[pymethods]
impl Loss {
    #[getter]
    fn in_flight(&self) -> u32 {
        self.0.in_flight
    }

    #[getter]
    fn newly_lost(&self) -> u32 {
        self.0.newly_lost
    }

    #[getter]
    fn again(&self) -> bool {
        self.0.again
    }

    #[getter]
    fn acknowledged_to(&self) -> u64 {
        self.0.acknowledged_to
    }

    #[getter]
    fn sent_to(&self) -> u64 {
        self.0.sent_to
    }

    #[getter]
    fn sent_at(&self) -> f64 {
        point(self.0.sent_at)
    }
}

/// Congestion marks echoed by the receiver.
#[pyclass(frozen, module = "ackclock._engine")]
pub(crate) struct Marks(pub(crate) control::Marks);

#[pymethods]
impl Marks {
    #[getter]
    fn in_flight(&self) -> u32 {
        self.0.in_flight
    }

    #[getter]
    fn acknowledged_to(&self) -> u64 {
        self.0.acknowledged_to
    }

    #[getter]
    fn sent_to(&self) -> u64 {
        self.0.sent_to
    }

    #[getter]
    fn at(&self) -> f64 {
        point(self.0.at)
    }

    fn as_loss(&self) -> Loss {
        Loss(self.0.as_loss())
    }
}
