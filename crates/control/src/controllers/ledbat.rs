//! LEDBAT, low extra delay background transport (RFC 6817).
//!
//! LEDBAT steers the delay that it sees in the queue to a fixed target: it grows no faster than NewReno below it and
//! shrinks above it, so that it fills an idle path and makes way for whatever adds more delay.
//!
//! | RFC 6817, section 2.4.2 | here |
//! | --- | --- |
//! | base_delays, a minimum for each minute | `History::update_base` |
//! | current_delays, the last samples | `History::update_current` |
//! | queuing_delay = FILTER(current_delays) - MIN(base_delays) | `History::queueing_delay` |
//! | off_target = (TARGET - queuing_delay)/TARGET | `Ledbat::off_target` |
//! | cwnd += GAIN off_target bytes_newly_acked MSS/cwnd, at most flightsize + ALLOWED_INCREASE | `Ledbat::steer` |
//! | data loss: cwnd/2, at least MIN_CWND | `Controller::on_loss` |
//! | congestion timeout: 1 MSS | `Controller::on_timeout` |
//!
//! FILTER is the minimum. The RFC leaves to others:
//! - The initial window and the congestion timeout are the transport's.
//! - `slow_start`: slow start as NewReno until the target is reached or data is lost, and after a timeout. The RFC
//!   begins at once with its own rule.
//! - The RTT takes the place of an unknown one-way delay. The queueing delay then includes the reverse path's.
//! - A window that is not fully used does not grow, and one ACK counts for at most one window.
//!
//! Unlike in the RFC, MIN_CWND does not lift a window that a timeout has left at one segment.

use units::{Span, Time};

use crate::entry::{Aim, Entry, Quantity};
use crate::parameters::parameters;
use crate::parts::reno::delegate;
use crate::range::{above, from};
use crate::{Ack, Context, Controller, Loss, Moment, Probe, Reno, Undo};

/// The entry of LEDBAT in the registry.
pub const ENTRY: Entry = Entry {
    name: "ledbat",
    title: "LEDBAT",
    summary: "Background transport: steers the queueing delay to a target and yields to flows that add more",
    source: "RFC 6817",
    aim: Aim::Scavenger,
    parameters: Settings::PARAMETERS,
    probes: &[
        Quantity::new("base_delay_ms", "ms", "Smallest delay of the base history"),
        Quantity::new("current_delay_ms", "ms", "Filtered current delay"),
        Quantity::new("queueing_delay_ms", "ms", "Current delay less base delay"),
        Quantity::new("off_target", "", "1 on an empty queue, 0 at the target"),
    ],
    make: |given| Ok(Box::new(Ledbat::new(Settings::read(given)?))),
};

/// The share of the window kept on a loss.
const BETA: f64 = 0.5;
/// MIN_CWND, segments (section 2.5).
const MIN_CWND: f64 = 2.0;
/// The longest histories that the parameters may ask for.
pub(crate) const BASE_CAPACITY: usize = 60;
pub(crate) const CURRENT_CAPACITY: usize = 32;
/// One base delay is kept for each span of this length.
const MINUTE: Span = Span::from_secs(60);

parameters! {
    /// The parameters.
    pub struct Settings {
        /// Queueing delay that it aims at; the RFC allows 100ms at most
        target: Span = Span::from_millis(100),
            unit "time", range from(Span::from_micros(1)).up_to(Span::from_secs(10)),
            source "RFC 6817, section 2.5, TARGET";
        /// Growth per round trip on an empty queue, in segments
        gain: f64 = 1.0, range above(0.0).up_to(1.0), source "RFC 6817, section 2.5, GAIN";
        /// For so long a base delay is remembered
        base_history: u32 = 10,
            unit "minutes", range from(1).up_to(BASE_CAPACITY as u32), source "RFC 6817, section 2.5, BASE_HISTORY";
        /// The smallest of so many samples is the current delay
        current_filter: u32 = 4,
            unit "samples", range from(1).up_to(CURRENT_CAPACITY as u32),
            source "RFC 6817, section 2.5, CURRENT_FILTER";
        /// By so much the window may exceed the data in flight
        allowed_increase: f64 = 1.0,
            unit "segments", range above(0.0).up_to(1000.0), source "RFC 6817, section 2.5, ALLOWED_INCREASE";
        /// Slow start as NewReno up to the target, and after a timeout
        slow_start: bool = false, source "RFC 6817 leaves it to the implementation";
    }
}

/// The smallest of the last entries, up to `N` of them.
#[derive(Clone, Copy, Debug)]
struct Minima<const N: usize> {
    entries: [Span; N],
    length: usize,
    newest: usize,
}

impl<const N: usize> Minima<N> {
    fn new(length: u32) -> Self {
        Self { entries: [Span::MAX; N], length: length as usize, newest: 0 }
    }

    fn push(&mut self, delay: Span) {
        self.newest = (self.newest + 1) % self.length;
        self.entries[self.newest] = delay;
    }

    fn lower_newest(&mut self, delay: Span) {
        self.entries[self.newest] = self.entries[self.newest].min(delay);
    }

    fn smallest(&self) -> Span {
        self.entries[..self.length].iter().copied().min().unwrap_or(Span::MAX)
    }
}

/// The delays of the path and of the present.
#[derive(Clone, Copy, Debug)]
pub(crate) struct History {
    base_delays: Minima<BASE_CAPACITY>,
    current_delays: Minima<CURRENT_CAPACITY>,
    /// The minute of the newest base delay.
    minute: Option<u64>,
    base: Span,
    current: Span,
}

impl History {
    /// Remembers the base delay of so many `minutes`, and the smallest of so many `samples` as the current one.
    pub(crate) fn new(minutes: u32, samples: u32) -> Self {
        Self {
            base_delays: Minima::new(minutes),
            current_delays: Minima::new(samples),
            minute: None,
            base: Span::ZERO,
            current: Span::ZERO,
        }
    }

    /// A sample of the delay.
    pub(crate) fn observe(&mut self, now: Time, delay: Span) {
        self.update_base(now, delay);
        self.update_current(delay);
    }

    /// The base delay, zero before the first sample.
    pub(crate) fn base(&self) -> Span {
        self.base
    }

    fn update_base(&mut self, now: Time, delay: Span) {
        let minute = now.as_nanos() / MINUTE.as_nanos();
        if self.minute == Some(minute) {
            self.base_delays.lower_newest(delay);
            self.base = self.base.min(delay);
        } else {
            self.minute = Some(minute);
            self.base_delays.push(delay);
            self.base = self.base_delays.smallest();
        }
    }

    fn update_current(&mut self, delay: Span) {
        self.current_delays.push(delay);
        self.current = self.current_delays.smallest();
    }

    /// Zero before the first sample.
    pub(crate) fn queueing_delay(&self) -> Span {
        self.current.saturating_sub(self.base)
    }
}

/// The controller.
#[derive(Clone, Copy, Debug)]
pub struct Ledbat {
    settings: Settings,
    reno: Reno,
    undo: Undo,
    history: History,
}

impl Ledbat {
    /// A controller with `settings`.
    pub fn new(settings: Settings) -> Self {
        let history = History::new(settings.base_history, settings.current_filter);
        Self { settings, reno: Reno::new(), undo: Undo::default(), history }
    }

    fn observe(&mut self, now: Time, ack: &Ack) {
        if let Some(delay) = ack.forward_delay() {
            self.history.observe(now, delay);
        }
    }

    fn off_target(&self) -> f64 {
        let target = self.settings.target.as_secs_f64();
        (target - self.history.queueing_delay().as_secs_f64()) / target
    }

    fn steer(&mut self, at: &Moment, ack: &Ack) {
        let off_target = self.off_target();
        if self.settings.slow_start && self.reno.in_slow_start() {
            if off_target > 0.0 {
                if ack.window_limited {
                    self.reno.slow_start(at, ack);
                }
                return;
            }
            self.reno.threshold = self.reno.window.max(Reno::MINIMUM);
        }
        if off_target > 0.0 && !ack.window_limited {
            return;
        }
        let before = self.reno.window;
        self.reno.additive_increase(f64::from(ack.covers()), self.settings.gain * off_target);
        let max_allowed = f64::from(ack.in_flight_before) + self.settings.allowed_increase;
        self.reno.window = self.reno.window.min(max_allowed).max(MIN_CWND.min(before));
        if self.reno.window < before {
            // A smaller window is no reason for slow start.
            self.reno.threshold = self.reno.threshold.min(self.reno.window.max(Reno::MINIMUM));
        }
    }
}

impl Controller for Ledbat {
    delegate!(reno: on_start, on_timeout(undo), on_spurious(undo), on_idle_restart, window, slow_start_threshold);

    fn on_ack(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        self.observe(cx.now, ack);
        self.steer(cx, ack);
    }

    fn on_duplicate_ack(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        self.observe(cx.now, ack);
    }

    fn on_loss(&mut self, _cx: &mut Context<'_>, _loss: &Loss) {
        self.undo.remember(self.reno);
        self.reno.multiplicative_decrease(BETA);
    }

    fn probe(&self, out: &mut dyn Probe) {
        out.value("base_delay_ms", self.history.base.as_millis_f64());
        out.value("current_delay_ms", self.history.current.as_millis_f64());
        out.value("queueing_delay_ms", self.history.queueing_delay().as_millis_f64());
        out.value("off_target", self.off_target());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{World, ack, loss, probed, rtt};

    const MS: fn(u64) -> Span = Span::from_millis;

    /// Knows a base delay of 20 ms.
    fn cruising(window: f64, settings: Settings) -> Ledbat {
        let mut ledbat = Ledbat { reno: Reno { window, threshold: 2.0 }, ..Ledbat::new(settings) };
        ledbat.history.update_base(Time::ZERO, MS(20));
        ledbat
    }

    /// An ACK of a segment that took `millis`, of 50 in flight.
    fn arrived(millis: u64) -> Ack {
        Ack { one_way_delay: Some(MS(millis)), in_flight_before: 50, ..ack() }
    }

    #[test]
    fn the_window_follows_the_distance_from_the_target() {
        // Window 50, base 20 ms, target 100 ms. 20 ms: off target 1, 1/50 more. 70 ms: 0.5, 0.5/50 more. 120 ms: 0.
        // 170 ms: -0.5, 0.5/50 less. With two segments acknowledged, twice that.
        for (millis, segments, after) in
            [(20, 1, 50.02), (70, 1, 50.01), (120, 1, 50.0), (170, 1, 49.99), (170, 2, 49.98)]
        {
            let mut ledbat = cruising(50.0, Settings::default());
            let ack = Ack { newly_acknowledged: segments, ..arrived(millis) };
            ledbat.on_ack(&mut World::new().context(), &ack);
            assert!((ledbat.window() - after).abs() < 1e-9, "{} at {millis} ms, not {after}", ledbat.window());
        }
    }

    #[test]
    fn the_smallest_of_the_last_four_samples_counts() {
        let mut world = World::new();
        let mut ledbat = cruising(50.0, Settings::default());
        for (millis, smallest) in [(90, 90), (60, 60), (80, 60), (80, 60), (80, 60), (70, 70), (200, 70)] {
            ledbat.on_duplicate_ack(&mut world.context(), &arrived(millis));
            assert_eq!(probed(&ledbat, "current_delay_ms"), f64::from(smallest), "after {millis} ms");
        }
    }

    #[test]
    fn a_base_delay_is_forgotten_after_as_many_minutes_as_the_history_is_long() {
        let mut world = World::new();
        let mut ledbat = cruising(50.0, Settings { base_history: 3, ..Settings::default() });
        for (millis, base) in [(50, 20), (40, 20), (30, 30), (60, 30), (60, 30), (60, 60)] {
            world.pass(MINUTE);
            ledbat.on_duplicate_ack(&mut world.context(), &arrived(millis));
            assert_eq!(probed(&ledbat, "base_delay_ms"), f64::from(base), "{}", world.now);
        }
        ledbat.on_duplicate_ack(&mut world.context(), &arrived(55));
        assert_eq!(probed(&ledbat, "base_delay_ms"), 55.0, "within a minute the smallest counts");
    }

    #[test]
    fn the_window_exceeds_the_flight_by_the_allowed_increase_at_most_and_keeps_two_segments() {
        let mut world = World::new();
        let mut ledbat = cruising(50.0, Settings::default());
        ledbat.on_ack(&mut world.context(), &Ack { in_flight_before: 40, ..arrived(20) });
        assert_eq!(ledbat.window(), 41.0);
        let mut ledbat = cruising(2.5, Settings::default());
        // 1000 ms are 8.8 targets too many.
        ledbat.on_ack(&mut world.context(), &arrived(1000));
        assert_eq!(ledbat.window(), 2.0);
    }

    #[test]
    fn losses_halve_and_timeouts_leave_one_segment_from_which_it_grows_by_its_own_rule() {
        let mut world = World::new();
        let mut ledbat = cruising(50.0, Settings::default());
        ledbat.on_loss(&mut world.context(), &loss());
        assert_eq!(ledbat.window(), 25.0);
        ledbat.on_timeout(&mut world.context(), &loss());
        assert_eq!(ledbat.window(), 1.0);
        // Half way to the target: half a segment.
        ledbat.on_ack(&mut world.context(), &arrived(70));
        assert_eq!(ledbat.window(), 1.5);
    }

    #[test]
    fn slow_start_if_allowed_ends_at_the_target() {
        let mut world = World::new();
        let mut ledbat = cruising(50.0, Settings { slow_start: true, current_filter: 1, ..Settings::default() });
        ledbat.reno.threshold = f64::INFINITY;
        ledbat.on_ack(&mut world.context(), &arrived(119));
        assert_eq!(ledbat.window(), 51.0);
        ledbat.on_ack(&mut world.context(), &arrived(120));
        assert_eq!((ledbat.window(), ledbat.slow_start_threshold()), (51.0, 51.0));
    }

    #[test]
    fn without_one_way_delays_round_trips_show_the_queue() {
        let mut world = World::new();
        let mut ledbat = Ledbat::new(Settings::default());
        ledbat.on_duplicate_ack(&mut world.context(), &Ack { rtt: rtt(40), ..ack() });
        for _ in 0..4 {
            ledbat.on_duplicate_ack(&mut world.context(), &Ack { rtt: rtt(65), ..ack() });
        }
        assert_eq!(probed(&ledbat, "queueing_delay_ms"), 25.0);
        assert!((probed(&ledbat, "off_target") - 0.75).abs() < 1e-12);
    }
}
