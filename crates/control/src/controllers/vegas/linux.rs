//! Vegas as the module of Linux 6 has it: whole segments, the smallest RTT of a round trip, and diff over the base RTT.
//!
//! | rule of tcp_vegas.c | here |
//! | --- | --- |
//! | diff = cwnd * (minRTT - baseRTT) / baseRTT, rounded down | `Vegas::decide_as_linux` |
//! | slow start, in every round trip, until diff > gamma; then cwnd = min(cwnd, cwnd * baseRTT / minRTT + 1) | the same |
//! | a round trip with two samples or fewer is one of NewReno | `Vegas::on_ack_as_linux` |
//! | measurement begins anew after disorder and recovery, with the base RTT after idle | `Round::resume`, `Round::forget` |
//!
//! Differences from Linux: the microsecond by which it raises each RTT is left out, and a window of which the
//! application uses only a part does not grow.

use units::Span;

use super::Vegas;
use crate::parts::linux::{Counter, avoidance, micros};
use crate::{Ack, Reno};

/// Round trips with so many samples or fewer decide nothing.
const FEW_SAMPLES: u32 = 2;

/// What Linux measures in one round trip.
#[derive(Clone, Copy, Debug)]
pub(super) struct Round {
    /// It ends with the ACK of a segment above this.
    end: u64,
    /// Everything below was sent when the last ACK came.
    sent_to: u64,
    samples: u32,
    /// The smallest RTT of the round trip, and of the flow since it last was idle.
    least: Span,
    base: Span,
    /// Loss, or disorder: NewReno until it is over.
    interrupted: bool,
    /// The next ACK begins a measurement.
    begins: bool,
    counter: Counter,
}

impl Default for Round {
    fn default() -> Self {
        Self {
            end: 0,
            sent_to: 0,
            samples: 0,
            least: Span::MAX,
            base: Span::MAX,
            interrupted: false,
            begins: false,
            counter: Counter::default(),
        }
    }
}

impl Round {
    /// A loss or a timeout.
    pub(super) fn interrupt(&mut self) {
        self.interrupted = true;
        self.counter.clear();
    }

    /// Repair is over.
    pub(super) fn resume(&mut self) {
        self.interrupted = false;
        self.begins = true;
    }

    /// The flow sends again after idle: its path may be another.
    pub(super) fn forget(&mut self) {
        self.base = Span::MAX;
        self.begin(self.sent_to);
    }

    /// An ACK that does not advance the cumulative point, or comes while losses are repaired.
    pub(super) fn observe_disorder(&mut self, ack: &Ack) {
        self.observe(ack);
        self.begins = true;
    }

    fn observe(&mut self, ack: &Ack) {
        self.sent_to = ack.sent_to;
        if let Some(rtt) = ack.rtt.map(|rtt| rtt.value).filter(|rtt| !rtt.is_zero()) {
            self.base = self.base.min(rtt);
            self.least = self.least.min(rtt);
            self.samples += 1;
        }
    }

    fn begin(&mut self, end: u64) {
        (self.end, self.samples, self.least) = (end, 0, Span::MAX);
    }
}

impl Vegas {
    /// An ACK that may grow the window.
    pub(super) fn on_ack_as_linux(&mut self, ack: &Ack) {
        self.linux.observe(ack);
        if std::mem::take(&mut self.linux.begins) {
            self.linux.begin(ack.sent_to);
        }
        if self.linux.interrupted {
            self.grow_as_reno(ack);
        } else if ack.acknowledged_to > self.linux.end {
            if self.linux.samples > FEW_SAMPLES {
                self.decide_as_linux(ack);
            } else {
                self.grow_as_reno(ack);
            }
            self.linux.begin(ack.sent_to);
        } else if self.reno.in_slow_start() && ack.window_limited {
            self.reno.slow_start(ack);
        }
    }

    fn grow_as_reno(&mut self, ack: &Ack) {
        if let Some(credit) = avoidance(&mut self.reno, ack) {
            let every = self.reno.window as u32;
            self.linux.counter.grow(&mut self.reno, every, credit, ack.counting);
        }
    }

    /// The end of a round trip with enough samples.
    fn decide_as_linux(&mut self, ack: &Ack) {
        let (least, base) = (micros(self.linux.least).max(1), micros(self.linux.base).max(1));
        (self.round_rtt, self.base_rtt) = (self.linux.least, self.linux.base);
        let window = self.reno.window as u64;
        self.waiting = (window * (least - base) / base) as f64;
        let settings = self.settings;
        if self.reno.in_slow_start() {
            if self.waiting > settings.gamma {
                let held = (window * base / least) as f64;
                self.reno.window = self.reno.window.min(held + 1.0);
                self.reno.threshold = self.reno.threshold.min(self.reno.window);
            } else if ack.window_limited {
                self.reno.slow_start(ack);
            }
        } else if self.waiting > settings.beta {
            self.reno.window -= 1.0;
            self.reno.threshold = self.reno.threshold.min(self.reno.window);
        } else if self.waiting < settings.alpha && ack.window_limited {
            self.reno.window += 1.0;
        }
        self.reno.window = self.reno.window.max(Reno::MINIMUM);
        let three_quarters = (self.reno.window / 2.0).floor() + (self.reno.window / 4.0).floor();
        // Linux's threshold may be 1 here; below two segments it makes no difference, as the window is never less.
        self.reno.threshold = self.reno.threshold.max(three_quarters).max(Reno::MINIMUM);
        self.growing = self.reno.in_slow_start();
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Settings, SlowStartExit};
    use super::*;
    use crate::Controller;
    use crate::testing::{World, ack, loss, rtt};

    fn at(window: f64, threshold: f64) -> Vegas {
        let settings = Settings { alpha: 2.0, beta: 4.0, slow_start_exit: SlowStartExit::Linux, ..Settings::default() };
        let mut vegas = Vegas::new(settings);
        vegas.reno = Reno { window, threshold };
        vegas.linux.base = Span::from_millis(40);
        vegas
    }

    /// Three ACKs with RTTs of `millis`, of which the last ends the round trip.
    fn round(vegas: &mut Vegas, millis: u64) {
        let end = vegas.linux.end;
        for above in [0, 0, 1] {
            let ack = Ack { rtt: rtt(millis), acknowledged_to: end + above, sent_to: end + 10, ..ack() };
            vegas.on_ack(&mut World::new().context(), &ack);
        }
    }

    #[test]
    fn diff_is_in_whole_segments_over_the_base_rtt() {
        // Window 50, base RTT 40 ms: 41 ms are 50/40 = 1, below 2; 42 ms 2; 43 ms 3; 44 ms 5, above 4.
        for (millis, after) in [(41, 51.0), (42, 50.0), (43, 50.0), (44, 49.0)] {
            let mut vegas = at(50.0, 2.0);
            round(&mut vegas, millis);
            assert_eq!(vegas.window(), after, "{millis} ms");
        }
    }

    #[test]
    fn slow_start_doubles_each_round_trip_and_ends_with_what_the_path_holds() {
        // Three ACKs of a segment each, then 60 - 40 ms of 100: 100 * 40/60 + 1 = 67.
        let mut vegas = at(97.0, f64::INFINITY);
        round(&mut vegas, 40);
        assert_eq!(vegas.window(), 100.0);
        let mut vegas = at(98.0, f64::INFINITY);
        round(&mut vegas, 60);
        assert_eq!((vegas.window(), vegas.slow_start_threshold()), (67.0, 67.0));
    }

    #[test]
    fn the_threshold_is_at_least_three_quarters_of_the_window() {
        let mut vegas = at(50.0, 2.0);
        round(&mut vegas, 42);
        assert_eq!(vegas.slow_start_threshold(), 37.0);
    }

    #[test]
    fn after_a_recovery_a_whole_round_trip_is_measured_before_a_decision() {
        let mut world = World::new();
        let mut vegas = at(51.0, 2.0);
        vegas.on_loss(&mut world.context(), &loss());
        assert_eq!(vegas.window(), 25.0);
        vegas.on_recovered(&mut world.context());
        // It begins with this ACK, and ends with that of a segment above the 60 sent by now.
        let of = |acknowledged_to| Ack { rtt: rtt(40), acknowledged_to, sent_to: 60, ..ack() };
        for acknowledged_to in [40, 45, 50, 60] {
            vegas.on_ack(&mut world.context(), &of(acknowledged_to));
            assert_eq!(vegas.window(), 25.0);
        }
        vegas.on_ack(&mut world.context(), &of(61));
        assert_eq!(vegas.window(), 26.0);
    }

    #[test]
    fn after_idle_the_base_rtt_is_forgotten() {
        let mut world = World::new();
        let mut vegas = at(50.0, 2.0);
        vegas.on_transmit_start(&mut world.context(), Span::from_secs(1));
        round(&mut vegas, 80);
        assert_eq!((vegas.window(), vegas.linux.base), (51.0, Span::from_millis(80)));
    }

    #[test]
    fn the_threshold_is_never_below_two_segments() {
        let mut vegas = at(2.0, 100.0);
        vegas.linux.base = Span::from_millis(1);
        vegas.linux.least = Span::from_millis(1000);
        // Of two segments 2 * 1 / 1000 are held by the path: the window would be 1, and the threshold with it.
        vegas.decide_as_linux(&ack());
        assert_eq!((vegas.window(), vegas.slow_start_threshold()), (2.0, 2.0));
    }
}
