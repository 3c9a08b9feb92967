//! Helpers for tests of controllers, here and in other crates (feature `testing`): a clock, an ACK of one segment, a
//! loss, a controller with a fixed window, and recordings of the calls of a controller.

mod recording;

use units::{Bytes, Random, Span, Time};

pub use self::recording::{Event, Recorder, Recording};
use crate::{Ack, Context, Controller, Loss, Moment, Probe, RttSample, TransmitStart};

/// The time and the random stream of a test.
pub struct World {
    /// The time of the next event.
    pub now: Time,
    /// The connection, but for the time: segments of 1448 B, an initial window of ten.
    pub connection: Moment,
    random: Random,
}

const CONNECTION: Moment = Moment { segment_size: Bytes::new(1448), initial_window: 10.0, ..Moment::EMPTY };

impl World {
    /// At the start of a run.
    pub fn new() -> Self {
        Self { now: Time::ZERO, connection: CONNECTION, random: Random::stream(1, "test", 0) }
    }

    /// The context of an event.
    pub fn context(&mut self) -> Context<'_> {
        Context { moment: Moment { now: self.now, ..self.connection }, random: &mut self.random }
    }

    /// Lets `span` pass.
    pub fn pass(&mut self, span: Span) {
        self.now += span;
    }
}

impl Default for World {
    fn default() -> Self {
        Self::new()
    }
}

/// Sending that resumes after `idle`, after an application that had nothing to send.
pub fn starting(idle: Span) -> TransmitStart {
    TransmitStart { idle, application_limited: true }
}

/// An ACK of one segment on a fully used window, without RTT sample.
pub fn ack() -> Ack {
    Ack {
        smoothed_rtt: Span::from_millis(40),
        min_rtt: Span::from_millis(40),
        newly_acknowledged: 1,
        newly_delivered: 1,
        in_flight_before: 10,
        in_flight: 9,
        window_limited: true,
        acknowledged_to: 1,
        sent_to: 10,
        ..Ack::EMPTY
    }
}

/// An RTT sample of `millis` milliseconds.
pub fn rtt(millis: u64) -> Option<RttSample> {
    Some(RttSample { value: Span::from_millis(millis), delayed: false })
}

/// One segment of ten lost.
pub fn loss() -> Loss {
    Loss { in_flight: 10, newly_lost: 1, again: false, acknowledged_to: 0, sent_to: 10, sent_at: Time::ZERO }
}

/// A controller with a fixed window, which calls a function with each ACK and answers no other event.
pub struct Steady<F> {
    /// The window in segments.
    pub window: f64,
    /// Called with each ACK outside recovery.
    pub on_ack: F,
}

impl<F: FnMut(&mut Context<'_>, &Ack) + Send> Controller for Steady<F> {
    fn on_ack(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        (self.on_ack)(cx, ack);
    }
    fn on_loss(&mut self, _cx: &mut Context<'_>, _loss: &Loss) {}
    fn on_timeout(&mut self, _cx: &mut Context<'_>, _loss: &Loss) {}
    fn on_idle_restart(&mut self, _cx: &mut Context<'_>) {}
    fn window(&self) -> f64 {
        self.window
    }
    fn slow_start_threshold(&self) -> f64 {
        f64::INFINITY
    }
}

/// The probe `name` of `controller`.
///
/// # Panics
/// If it has none of that name.
pub fn probed(controller: &dyn Controller, name: &str) -> f64 {
    struct One<'a>(&'a str, Option<f64>);
    impl Probe for One<'_> {
        fn value(&mut self, name: &'static str, value: f64) {
            if name == self.0 {
                self.1 = Some(value);
            }
        }
    }
    let mut one = One(name, None);
    controller.probe(&mut one);
    one.1.unwrap_or_else(|| panic!("no probe `{name}`"))
}
