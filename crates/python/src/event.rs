//! The events that a controller written in Python is notified of: those of `control`, as objects with attributes.
//!
//! Times and spans are seconds, rates bits per second; what is not known is `None`.
#![allow(unsafe_code)]

use std::cell::UnsafeCell;

use pyo3::prelude::*;
use units::{Random, Span, Time};

fn point(at: Time) -> f64 {
    record::seconds(at)
}

pub(crate) fn span(span: Span) -> f64 {
    span.as_nanos() as f64 / 1e9
}

/// A value of a Python object, which the engine writes anew for the next event.
struct Rewritten<T>(UnsafeCell<T>);

// SAFETY: threads read and write one at a time, as they have to be attached.
unsafe impl<T: Send> Sync for Rewritten<T> {}

impl<T> Rewritten<T> {
    const fn new(value: T) -> Self {
        Self(UnsafeCell::new(value))
    }

    /// The value, for no longer than a method of the object runs.
    fn get(&self) -> &T {
        // SAFETY: methods of Python objects run attached, and call nothing that writes.
        unsafe { &*self.0.get() }
    }

    /// Changes the value.
    fn change<R>(&self, change: impl FnOnce(&mut T) -> R, _attached: Python<'_>) -> R {
        // SAFETY: threads are attached one at a time, and this one has no reference from `get`.
        change(unsafe { &mut *self.0.get() })
    }
}

/// The world while an event is handled.
#[pyclass(frozen, module = "ackclock._engine")]
pub(crate) struct Context(Rewritten<Moment>);

/// The values of a [`Context`].
struct Moment {
    now: f64,
    segment_size: u64,
    initial_window: f64,
    restart_window: f64,
    restart_threshold: f64,
    /// The random stream of the flow, to be put back when the event is handled.
    random: Random,
}

impl Moment {
    fn new(cx: &control::Context<'_>) -> Self {
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

impl Context {
    pub(crate) fn new(cx: &control::Context<'_>) -> Self {
        Self(Rewritten::new(Moment::new(cx)))
    }

    /// Takes the values of another event.
    pub(crate) fn set(&self, cx: &control::Context<'_>, attached: Python<'_>) {
        self.0.change(|moment| *moment = Moment::new(cx), attached);
    }

    /// Puts the random stream back.
    pub(crate) fn put_back(&self, cx: &mut control::Context<'_>, _attached: Python<'_>) {
        cx.random.clone_from(&self.0.get().random);
    }
}

#[pymethods]
impl Context {
    /// Time of the event.
    #[getter]
    fn now(&self) -> f64 {
        self.0.get().now
    }

    /// Payload of a full segment in bytes.
    #[getter]
    fn segment_size(&self) -> u64 {
        self.0.get().segment_size
    }

    /// Initial window of the connection in segments.
    #[getter]
    fn initial_window(&self) -> f64 {
        self.0.get().initial_window
    }

    /// At an idle restart: the most for the window, in segments.
    #[getter]
    fn restart_window(&self) -> f64 {
        self.0.get().restart_window
    }

    /// At an idle restart: the least for the threshold, in segments.
    #[getter]
    fn restart_threshold(&self) -> f64 {
        self.0.get().restart_threshold
    }

    /// The next number of the flow's random stream, in [0, 1).
    fn random(&self, attached: Python<'_>) -> f64 {
        self.0.change(|moment| moment.random.uniform(), attached)
    }
}

/// One ACK, and when it arrived.
#[pyclass(frozen, module = "ackclock._engine")]
pub(crate) struct Ack(Rewritten<(control::Ack, Time)>);

impl Ack {
    pub(crate) fn new(ack: &control::Ack, now: Time) -> Self {
        Self(Rewritten::new((*ack, now)))
    }

    /// Becomes another ACK.
    pub(crate) fn set(&self, ack: &control::Ack, now: Time, attached: Python<'_>) {
        self.0.change(|known| *known = (*ack, now), attached);
    }

    fn ack(&self) -> &control::Ack {
        &self.0.get().0
    }
}

#[pymethods]
impl Ack {
    #[getter]
    fn rtt(&self) -> Option<f64> {
        self.ack().rtt.map(|sample| span(sample.value))
    }

    #[getter]
    fn rtt_delayed(&self) -> bool {
        self.ack().rtt.is_some_and(|sample| sample.delayed)
    }

    #[getter]
    fn timestamp_rtt(&self) -> Option<f64> {
        self.ack().timestamp_rtt(self.0.get().1).map(span)
    }

    #[getter]
    fn smoothed_rtt(&self) -> Option<f64> {
        (!self.ack().smoothed_rtt.is_zero()).then(|| span(self.ack().smoothed_rtt))
    }

    #[getter]
    fn min_rtt(&self) -> Option<f64> {
        (self.ack().min_rtt != Span::MAX).then(|| span(self.ack().min_rtt))
    }

    #[getter]
    fn one_way_delay(&self) -> Option<f64> {
        self.ack().one_way_delay.map(span)
    }

    #[getter]
    fn newly_acknowledged(&self) -> u32 {
        self.ack().newly_acknowledged
    }

    #[getter]
    fn newly_delivered(&self) -> u32 {
        self.ack().newly_delivered
    }

    #[getter]
    fn newly_lost(&self) -> u32 {
        self.ack().newly_lost
    }

    #[getter]
    fn delivered(&self) -> u64 {
        self.ack().delivered
    }

    #[getter]
    fn lost(&self) -> u64 {
        self.ack().lost
    }

    #[getter]
    fn in_flight_before(&self) -> u32 {
        self.ack().in_flight_before
    }

    #[getter]
    fn in_flight(&self) -> u32 {
        self.ack().in_flight
    }

    #[getter]
    fn newly_sacked(&self) -> Option<u64> {
        self.ack().newly_sacked
    }

    #[getter]
    fn first_duplicate(&self) -> bool {
        self.ack().first_duplicate
    }

    #[getter]
    fn ends_recovery(&self) -> bool {
        self.ack().ends_recovery
    }

    #[getter]
    fn rate(&self) -> Option<RateSample> {
        self.ack().rate.map(RateSample)
    }

    #[getter]
    fn round_start(&self) -> bool {
        self.ack().round_start
    }

    #[getter]
    fn ecn_echo(&self) -> bool {
        self.ack().ecn_echo
    }

    #[getter]
    fn newly_marked(&self) -> u32 {
        self.ack().newly_marked
    }

    #[getter]
    fn marked(&self) -> u64 {
        self.ack().marked
    }

    #[getter]
    fn application_limited(&self) -> bool {
        self.ack().application_limited
    }

    #[getter]
    fn window_limited(&self) -> bool {
        self.ack().window_limited
    }

    #[getter]
    fn acknowledged_to(&self) -> u64 {
        self.ack().acknowledged_to
    }

    #[getter]
    fn sent_to(&self) -> u64 {
        self.ack().sent_to
    }

    #[getter]
    fn slow_start_at_threshold(&self) -> bool {
        self.ack().slow_start_at_threshold
    }

    fn slow_start_credit(&self) -> f64 {
        self.ack().slow_start_credit()
    }

    fn avoidance_credit(&self) -> f64 {
        self.ack().avoidance_credit()
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
