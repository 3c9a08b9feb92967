//! LEDBAT++, background transport of Windows (draft-irtf-iccrg-ledbat-plus-plus).
//!
//! LEDBAT by round-trip times, amended: it grows more slowly than NewReno, comes down in proportion to its window,
//! leaves slow start before the target, and empties its part of the queue now and then, so that everyone sees the delay
//! of the path.
//!
//! | draft, section 4 | here |
//! | --- | --- |
//! | RTT in place of one-way delays; base delay of 10 minutes, the smallest of 4 samples | [`History`] |
//! | GAIN = 1/min(16, ceil(2 TARGET/base)) | `LedbatPlusPlus::gain` |
//! | W += GAIN a round trip at or below the target | `LedbatPlusPlus::steer` |
//! | above it W += max(GAIN - Constant W (delay/target - 1), -W/2) | `LedbatPlusPlus::steer` |
//! | slow start by GAIN for each segment, in the first one up to 3/4 of the target | `LedbatPlusPlus::slow_start` |
//! | two round trips after the first slow start two segments, for two round trips | `Slowdown` |
//! | again nine times as long after each as it took | `LedbatPlusPlus::end_slowdown` |
//!
//! Differences: initial window and timeout are the transport's, so the draft's initial window of two segments has to be
//! set there. A window that is not fully used does not grow, and one ACK counts for at most one window. A loss halves
//! the window, and puts off a slowdown that has begun.

use units::{Span, Time};

use super::ledbat::{BASE_CAPACITY, CURRENT_CAPACITY, History};
use crate::entry::{Aim, Entry, Quantity};
use crate::parameters::parameters;
use crate::parts::reno::delegate;
use crate::range::{above, from};
use crate::{Ack, Context, Controller, Loss, Probe, Reno, Undo};

/// The entry of LEDBAT++ in the registry.
pub const ENTRY: Entry = Entry {
    name: "ledbat++",
    title: "LEDBAT++",
    summary: "LEDBAT with slower growth, a proportional decrease, and pauses in which its queue empties",
    source: "draft-irtf-iccrg-ledbat-plus-plus",
    aim: Aim::Scavenger,
    parameters: Settings::PARAMETERS,
    probes: &[
        Quantity::new("base_delay_ms", "ms", "Smallest RTT of the base history"),
        Quantity::new("queueing_delay_ms", "ms", "Filtered current RTT less base delay"),
        Quantity::new("gain", "", "GAIN, the increase per round trip in segments"),
        Quantity::new("slowdowns", "slowdowns", "Slowdowns since the start"),
        Quantity::new("slowing", "", "1 from the beginning of a slowdown until the window is what it was"),
    ],
    make: |given| Ok(Box::new(LedbatPlusPlus::new(Settings::read(given)?))),
};

/// The share of the window kept on a loss.
const BETA: f64 = 0.5;
/// The smallest window, also the window of a slowdown, in segments.
const LEAST: f64 = 2.0;
/// The first slow start ends at this share of the target.
const EXIT: f64 = 0.75;
/// GAIN is at least one of so many parts.
const SLOWEST: f64 = 16.0;
/// Round trips from the end of slow start to the first slowdown, and round trips with two segments.
const WAIT: u32 = 2;
const HOLD: u32 = 2;

parameters! {
    /// The parameters.
    pub struct Settings {
        /// Queueing delay that it aims at
        target: Span = Span::from_millis(60),
            unit "time", range from(Span::from_micros(1)).up_to(Span::from_secs(10)), source "section 4.2, TARGET";
        /// How strongly the window comes down above the target
        constant: f64 = 1.0, range above(0.0).up_to(100.0), source "section 4.2, Constant";
        /// For so long a base delay is remembered
        base_history: u32 = 10,
            unit "minutes", range from(1).up_to(BASE_CAPACITY as u32), source "RFC 6817, section 2.5, BASE_HISTORY";
        /// The smallest of so many samples is the current delay
        current_filter: u32 = 4,
            unit "samples", range from(1).up_to(CURRENT_CAPACITY as u32), source "section 4.1";
        /// Slow down now and then
        slowdowns: bool = true, source "section 4.4";
        /// From slowdown to slowdown, in durations of one
        slowdown_interval: u32 = 9, range from(1).up_to(1000), source "section 4.4";
    }
}

/// The phase between two slowdowns.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Slowdown {
    /// The first slow start is not over.
    None,
    /// So many round trips are left before the first one.
    Awaited(u32),
    /// Two segments for so many round trips, since then.
    Holding(u32, Time),
    /// Slow start back to the window before. The slowdown began then.
    Regaining(Time),
    /// The next one begins then.
    Due(Time),
}

/// The controller.
#[derive(Clone, Copy, Debug)]
pub struct LedbatPlusPlus {
    settings: Settings,
    reno: Reno,
    undo: Undo,
    history: History,
    slowdown: Slowdown,
    slowdowns: u64,
}

impl LedbatPlusPlus {
    /// A controller with `settings`.
    pub fn new(settings: Settings) -> Self {
        Self {
            settings,
            reno: Reno::new(),
            undo: Undo::default(),
            history: History::new(settings.base_history, settings.current_filter),
            slowdown: Slowdown::None,
            slowdowns: 0,
        }
    }

    /// Queueing delay over target.
    fn excess(&self) -> f64 {
        self.history.queueing_delay().as_secs_f64() / self.settings.target.as_secs_f64()
    }

    fn gain(&self) -> f64 {
        let base = self.history.base().as_secs_f64().max(1e-9);
        1.0 / (2.0 * self.settings.target.as_secs_f64() / base).ceil().clamp(1.0, SLOWEST)
    }

    /// GAIN for each segment, up to the threshold. The first slow start ends before the target.
    fn slow_start(&mut self, ack: &Ack) {
        if self.slowdown == Slowdown::None && self.excess() > EXIT {
            self.reno.threshold = self.reno.window.max(Reno::MINIMUM);
            self.slowdown = Slowdown::Awaited(WAIT);
            return;
        }
        if ack.window_limited {
            let grown = self.reno.window + self.gain() * f64::from(ack.covers());
            self.reno.window = grown.min(self.reno.threshold);
        }
    }

    fn steer(&mut self, ack: &Ack) {
        let (gain, excess, window) = (self.gain(), self.excess(), self.reno.window);
        let credit = f64::from(ack.covers());
        if excess <= 1.0 {
            if ack.window_limited {
                self.reno.additive_increase(credit, gain);
            }
            return;
        }
        let change = (gain - self.settings.constant * window * (excess - 1.0)).max(-window / 2.0);
        if change > 0.0 && !ack.window_limited {
            return;
        }
        self.reno.additive_increase(credit, change);
        self.reno.window = self.reno.window.max(LEAST.min(window));
        // A smaller window is no reason for slow start.
        self.reno.threshold = self.reno.threshold.min(self.reno.window.max(Reno::MINIMUM));
    }

    /// The steps of a slowdown that are due at an ACK. True if the window stays as it is.
    fn slow_down(&mut self, now: Time, ack: &Ack) -> bool {
        match self.slowdown {
            Slowdown::Awaited(0) => self.begin_slowdown(now),
            Slowdown::Awaited(rounds) if ack.round_start => self.slowdown = Slowdown::Awaited(rounds - 1),
            Slowdown::Due(at) if now >= at => self.begin_slowdown(now),
            Slowdown::Holding(0, start) => self.slowdown = Slowdown::Regaining(start),
            Slowdown::Holding(rounds, start) if ack.round_start => {
                self.slowdown = Slowdown::Holding(rounds - 1, start);
            }
            Slowdown::Regaining(start) if !self.reno.in_slow_start() => self.end_slowdown(now, start),
            _ => {}
        }
        matches!(self.slowdown, Slowdown::Holding(..))
    }

    fn begin_slowdown(&mut self, now: Time) {
        if !self.settings.slowdowns {
            return;
        }
        self.reno.threshold = self.reno.window.max(Reno::MINIMUM);
        self.reno.window = self.reno.window.min(LEAST);
        self.slowdown = Slowdown::Holding(HOLD, now);
        self.slowdowns += 1;
    }

    /// The window is as before the slowdown, which began at `start`.
    fn end_slowdown(&mut self, now: Time, start: Time) {
        self.slowdown = Slowdown::Due(now + now.since(start) * u64::from(self.settings.slowdown_interval));
    }

    /// A loss ends the first slow start, and a slowdown.
    fn interrupt(&mut self, now: Time) {
        self.slowdown = match self.slowdown {
            Slowdown::None => Slowdown::Awaited(WAIT),
            Slowdown::Holding(_, start) | Slowdown::Regaining(start) => {
                self.end_slowdown(now, start);
                self.slowdown
            }
            other => other,
        };
    }

    fn observe(&mut self, now: Time, ack: &Ack) {
        if let Some(rtt) = ack.undelayed_rtt() {
            self.history.observe(now, rtt);
        }
    }
}

impl Controller for LedbatPlusPlus {
    delegate!(reno: on_start, on_spurious(undo), on_idle_restart, window, slow_start_threshold);

    fn on_ack(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        self.observe(cx.now, ack);
        if self.slow_down(cx.now, ack) {
            return;
        }
        if self.reno.in_slow_start() {
            self.slow_start(ack);
        } else {
            self.steer(ack);
        }
    }

    fn on_duplicate_ack(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        self.observe(cx.now, ack);
    }

    fn on_loss(&mut self, cx: &mut Context<'_>, _loss: &Loss) {
        self.undo.remember(self.reno);
        self.reno.multiplicative_decrease(BETA);
        self.interrupt(cx.now);
    }

    fn on_timeout(&mut self, cx: &mut Context<'_>, loss: &Loss) {
        self.undo.remember_first(loss, self.reno);
        self.reno.timeout(BETA, loss.again);
        self.interrupt(cx.now);
    }

    fn probe(&self, out: &mut dyn Probe) {
        let slowing = matches!(self.slowdown, Slowdown::Holding(..) | Slowdown::Regaining(_));
        out.value("base_delay_ms", self.history.base().as_millis_f64());
        out.value("queueing_delay_ms", self.history.queueing_delay().as_millis_f64());
        out.value("gain", self.gain());
        out.value("slowdowns", self.slowdowns as f64);
        out.value("slowing", f64::from(u8::from(slowing)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{World, ack, loss, probed, rtt};

    const MS: fn(u64) -> Span = Span::from_millis;

    /// One sample counts. Base delay `base` ms, past the first slow start.
    fn cruising(window: f64, base: u64) -> LedbatPlusPlus {
        let mut ledbat = LedbatPlusPlus::new(Settings { current_filter: 1, ..Settings::default() });
        ledbat.history.observe(Time::ZERO, MS(base));
        ledbat.reno = Reno { window, threshold: 2.0 };
        ledbat.slowdown = Slowdown::Due(Time::NEVER);
        ledbat
    }

    fn arrives(ledbat: &mut LedbatPlusPlus, world: &mut World, millis: u64, segments: u32, round_start: bool) {
        let ack = Ack { rtt: rtt(millis), newly_acknowledged: segments, round_start, ..ack() };
        ledbat.on_ack(&mut world.context(), &ack);
    }

    #[test]
    fn the_gain_is_one_over_twice_the_target_in_base_delays() {
        // 120 ms over 200, 100, 50, 7 and 2 ms, rounded up: 1, 2, 3, 18 and 60, at most 16.
        for (base, parts) in [(200, 1.0), (100, 2.0), (50, 3.0), (7, 16.0), (2, 16.0)] {
            assert_eq!(cruising(10.0, base).gain(), 1.0 / parts, "{base} ms");
        }
    }

    #[test]
    fn the_window_grows_by_the_gain_and_falls_in_proportion_to_itself() {
        // Base 50 ms, GAIN 1/3, w = 60. At the target (110 ms) 1/3 a round trip. 116 ms: 10 % above, 1/3 - 6 a round
        // trip. 230 ms: twice above, half the window. An ACK of 6 counts a tenth.
        for (millis, change) in [(80, 1.0 / 3.0), (110, 1.0 / 3.0), (116, 1.0 / 3.0 - 6.0), (230, -30.0)] {
            let mut ledbat = cruising(60.0, 50);
            arrives(&mut ledbat, &mut World::new(), millis, 6, false);
            assert!((ledbat.window() - 60.0 - change / 10.0).abs() < 1e-9, "{} at {millis} ms", ledbat.window());
        }
    }

    #[test]
    fn the_first_slow_start_ends_at_three_quarters_of_the_target() {
        let mut world = World::new();
        let mut ledbat = cruising(10.0, 50);
        (ledbat.reno.threshold, ledbat.slowdown) = (f64::INFINITY, Slowdown::None);
        // 45 ms of queue are three quarters. Three segments at a third each.
        arrives(&mut ledbat, &mut world, 95, 3, true);
        assert_eq!(ledbat.window(), 11.0);
        arrives(&mut ledbat, &mut world, 96, 3, true);
        assert_eq!((ledbat.window(), ledbat.slow_start_threshold()), (11.0, 11.0));
        assert_eq!(ledbat.slowdown, Slowdown::Awaited(2));
    }

    #[test]
    fn a_slowdown_holds_two_segments_for_two_round_trips_and_comes_again_after_nine_times_its_length() {
        let mut world = World::new();
        let mut ledbat = LedbatPlusPlus { slowdown: Slowdown::Awaited(2), ..cruising(8.0, 120) };
        let mut windows = Vec::new();
        for _ in 0..9 {
            world.pass(MS(120));
            arrives(&mut ledbat, &mut world, 120, 2, true);
            windows.push(ledbat.window());
        }
        // GAIN 1. Two round trips as before, growing by 2/w each; two segments from the third ACK on; after two round
        // trips two more an ACK up to the threshold of 8.4939.
        let (first, second) = (8.0 + 2.0 / 8.0, 8.25 + 2.0 / 8.25);
        assert_eq!(windows[..2], [first, second]);
        assert_eq!(windows[2..8], [2.0, 2.0, 2.0, 4.0, 6.0, 8.0]);
        assert_eq!((windows[8], probed(&ledbat, "slowing")), (second, 1.0));
        // Begun at 360 ms, over at 1200 ms: nine times 840 ms later.
        world.pass(MS(120));
        arrives(&mut ledbat, &mut world, 120, 2, true);
        assert_eq!(ledbat.slowdown, Slowdown::Due(Time::ZERO + MS(1200 + 9 * 840)));
    }

    #[test]
    fn a_loss_halves_and_ends_a_slowdown() {
        let mut world = World::new();
        let mut ledbat = LedbatPlusPlus { slowdown: Slowdown::Holding(1, Time::ZERO), ..cruising(20.0, 50) };
        world.pass(MS(100));
        ledbat.on_loss(&mut world.context(), &loss());
        assert_eq!(ledbat.window(), 10.0);
        assert_eq!(ledbat.slowdown, Slowdown::Due(Time::ZERO + MS(1000)));
    }
}
