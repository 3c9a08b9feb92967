//! Vegas of Linux 6 (`tcp_vegas.c`): whole segments, the smallest RTT of a round trip, and diff over the base RTT. The
//! paper's is `controllers/vegas.rs`.
//!
//! | rule of tcp_vegas.c | here |
//! | --- | --- |
//! | diff = cwnd * (minRTT - baseRTT) / baseRTT, rounded down | `Vegas::decide` |
//! | slow start in every round trip until diff > gamma; then min(cwnd, cwnd * baseRTT / minRTT + 1) | the same |
//! | a round trip with two samples or fewer is one of Reno | `Controller::on_ack` |
//! | measures anew after disorder and recovery; the base RTT after idle | `Vegas::resume`, `on_transmit_start` |
//!
//! The window also grows where the application uses only a part of it, but for a round trip of Reno. Difference from
//! Linux: the microsecond by which it raises each RTT is left out.

use units::Span;

use crate::controllers::vegas;
use crate::entry::Form;
use crate::parameters::parameters;
use crate::parts::linux::{self, Counter, micros};
use crate::parts::reno::delegate;
use crate::range::above;
use crate::{Ack, Context, Controller, Loss, Moment, Probe, Reno, TransmitStart, Undo, Wants};

/// The form of Vegas.
pub(crate) const FORM: Form = Form {
    parameters: Settings::PARAMETERS,
    probes: vegas::ENTRY.probes,
    make: |given| Ok(Box::new(Vegas::new(Settings::read(given)?))),
};

parameters! {
    /// The parameters of the module.
    pub(crate) struct Settings {
        /// With fewer own segments waiting in the queue the window grows
        alpha: f64 = 2.0, unit "segments", range above(0.0).up_to(10_000.0), source "Linux, alpha";
        /// With more own segments waiting in the queue the window shrinks
        beta: f64 = 4.0, unit "segments", range above(0.0).up_to(10_000.0).not_below("alpha"), source "Linux, beta";
        /// With more own segments waiting in the queue slow start ends
        gamma: f64 = 1.0, unit "segments", range above(0.0).up_to(10_000.0), source "Linux, gamma";
    }
}

/// Round trips with so many samples or fewer decide nothing.
const FEW_SAMPLES: u32 = 2;

/// The controller.
#[derive(Clone, Copy, Debug)]
struct Vegas {
    settings: Settings,
    reno: Reno,
    undo: Undo,
    counter: Counter,
    /// The round trip ends with the ACK of a segment above this.
    end: u64,
    /// Everything below was sent when the last ACK came.
    sent_to: u64,
    samples: u32,
    /// The smallest RTT of the round trip, and of the flow since it last was idle.
    least: Span,
    base: Span,
    /// A loss or disorder: Reno until it is over.
    interrupted: bool,
    /// The next ACK begins a measurement.
    begins: bool,
    /// diff, and the RTTs, of the last decision.
    waiting: f64,
    round_rtt: Span,
    base_rtt: Span,
    /// In slow start after the last decision.
    growing: bool,
}

impl Vegas {
    fn new(settings: Settings) -> Self {
        Self {
            settings,
            reno: Reno::new(),
            undo: Undo::default(),
            counter: Counter::new(),
            end: 0,
            sent_to: 0,
            samples: 0,
            least: Span::MAX,
            base: Span::MAX,
            interrupted: false,
            begins: false,
            waiting: 0.0,
            round_rtt: Span::ZERO,
            base_rtt: Span::ZERO,
            growing: true,
        }
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

    /// Repair is over (`vegas_enable`).
    fn resume(&mut self) {
        self.interrupted = false;
        self.begins = true;
    }

    /// A congestion event: the threshold that it leaves.
    fn interrupt(&mut self) -> f64 {
        self.interrupted = true;
        self.counter.clear();
        linux::half(&self.reno)
    }

    /// The end of a round trip with enough samples.
    fn decide(&mut self, at: &Moment, ack: &Ack) {
        let (least, base) = (micros(self.least).max(1), micros(self.base).max(1));
        (self.round_rtt, self.base_rtt) = (self.least, self.base);
        let window = self.reno.window as u64;
        self.waiting = (window * (least - base) / base) as f64;
        let settings = self.settings;
        if self.reno.in_slow_start() {
            if self.waiting > settings.gamma {
                let held = (window * base / least) as f64;
                self.reno.window = self.reno.window.min(held + 1.0);
                self.reno.threshold = self.reno.threshold.min(self.reno.window);
            } else {
                self.reno.slow_start(at, ack);
            }
        } else if self.waiting > settings.beta {
            self.reno.window -= 1.0;
            self.reno.threshold = self.reno.threshold.min(self.reno.window);
        } else if self.waiting < settings.alpha {
            self.reno.window += 1.0;
        }
        self.reno.window = self.reno.window.max(Reno::MINIMUM);
        let three_quarters = (self.reno.window / 2.0).floor() + (self.reno.window / 4.0).floor();
        // Linux's threshold may be 1 here. Below two segments it makes no difference, as the window is never less.
        self.reno.threshold = self.reno.threshold.max(three_quarters).max(Reno::MINIMUM);
        self.growing = self.reno.in_slow_start();
    }
}

impl Controller for Vegas {
    delegate!(reno: on_start, on_idle_restart, window, slow_start_threshold);

    fn wants(&self) -> Wants {
        Wants { transmit_start: true, exact_rtt: true, ..Wants::default() }
    }

    fn on_transmit_start(&mut self, _cx: &mut Context<'_>, _start: &TransmitStart) {
        // The path may be another after idle.
        self.base = Span::MAX;
        self.begin(self.sent_to);
    }

    fn on_ack(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        self.observe(ack);
        if ack.ends_repair {
            self.resume();
        }
        if std::mem::take(&mut self.begins) {
            self.begin(ack.sent_to);
        }
        if self.interrupted {
            self.counter.grow_as_reno(&mut self.reno, cx, ack);
        } else if ack.acknowledged_to > self.end {
            if self.samples > FEW_SAMPLES {
                self.decide(cx, ack);
            } else {
                self.counter.grow_as_reno(&mut self.reno, cx, ack);
            }
            self.begin(ack.sent_to);
        } else if self.reno.in_slow_start() {
            self.reno.slow_start(cx, ack);
        }
    }

    fn on_duplicate_ack(&mut self, _cx: &mut Context<'_>, ack: &Ack) {
        self.observe(ack);
        self.interrupted &= !ack.ends_repair;
        self.begins = true;
    }

    fn on_loss(&mut self, _cx: &mut Context<'_>, _loss: &Loss) {
        self.undo.remember(self.reno);
        let threshold = self.interrupt();
        self.reno.settle_at(threshold);
    }

    fn on_recovered(&mut self, _cx: &mut Context<'_>) {
        self.resume();
    }

    fn on_spurious(&mut self, _cx: &mut Context<'_>) {
        self.undo.restore(&mut self.reno);
        self.resume();
    }

    fn on_timeout(&mut self, _cx: &mut Context<'_>, loss: &Loss) {
        self.undo.remember_first(loss, self.reno);
        let threshold = self.interrupt();
        self.reno.time_out_to(threshold, loss);
    }

    fn probe(&self, out: &mut dyn Probe) {
        out.value("waiting", self.waiting);
        out.value("base_rtt_ms", self.base_rtt.as_millis_f64());
        out.value("round_rtt_ms", self.round_rtt.as_millis_f64());
        out.value("growing", f64::from(u8::from(self.growing)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{World, ack, loss, rtt, starting};

    fn at(window: f64, threshold: f64) -> Vegas {
        Vegas { reno: Reno { window, threshold }, base: Span::from_millis(40), ..Vegas::new(Settings::default()) }
    }

    /// Three ACKs with RTTs of `millis`, of which the last ends the round trip.
    fn round(vegas: &mut Vegas, millis: u64) {
        let end = vegas.end;
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
        // It begins with this ACK, and ends with the ACK of a segment above the 60 sent by now.
        let of = |acknowledged_to| Ack { rtt: rtt(40), acknowledged_to, sent_to: 60, ..ack() };
        for acknowledged_to in [40, 45, 50, 60] {
            vegas.on_ack(&mut world.context(), &of(acknowledged_to));
            assert_eq!(vegas.window(), 25.0);
        }
        vegas.on_ack(&mut world.context(), &of(61));
        assert_eq!(vegas.window(), 26.0);
    }

    // Linux 6.12 in virtual time, seed 98030 of `kernel differential --faults modules`: 13 segments after four ACKs.
    #[test]
    fn slow_start_does_not_look_whether_the_window_is_used() {
        let mut vegas = at(10.0, f64::INFINITY);
        vegas.base = Span::MAX;
        for acknowledged_to in 1..=4 {
            let ack = Ack { rtt: rtt(200), acknowledged_to, sent_to: 4, window_limited: false, ..ack() };
            vegas.on_ack(&mut World::new().context(), &ack);
        }
        // The first ACK ends a round trip of one sample, which is one of Reno.
        assert_eq!(vegas.window(), 13.0);
    }

    #[test]
    fn the_ack_that_ends_the_repair_of_a_timeout_begins_a_measurement() {
        let (mut world, mut vegas) = (World::new(), at(20.0, 2.0));
        vegas.on_timeout(&mut world.context(), &loss());
        let of = |acknowledged_to| Ack { rtt: rtt(40), acknowledged_to, sent_to: 60, ..ack() };
        vegas.on_ack(&mut world.context(), &Ack { ends_repair: true, ..of(40) });
        let before = vegas.window();
        assert_eq!((before, vegas.interrupted, vegas.end), (2.0, false, 60));
        vegas.on_ack(&mut world.context(), &Ack { sent_to: 70, ..of(41) });
        assert_eq!((vegas.window(), vegas.end), (3.0, 60), "slow start in the same round trip");
    }

    #[test]
    fn after_idle_the_base_rtt_is_forgotten() {
        let mut world = World::new();
        let mut vegas = at(50.0, 2.0);
        vegas.on_transmit_start(&mut world.context(), &starting(Span::from_secs(1)));
        round(&mut vegas, 80);
        assert_eq!((vegas.window(), vegas.base), (51.0, Span::from_millis(80)));
    }

    #[test]
    fn the_threshold_is_never_below_two_segments() {
        let mut vegas = at(2.0, 100.0);
        vegas.base = Span::from_millis(1);
        vegas.least = Span::from_millis(1000);
        // Of two segments 2 * 1 / 1000 are held by the path: the window would be 1, and the threshold with it.
        vegas.decide(&Moment::EMPTY, &ack());
        assert_eq!((vegas.window(), vegas.slow_start_threshold()), (2.0, 2.0));
    }

    #[test]
    fn a_round_trip_of_two_samples_grows_as_reno_and_one_of_three_decides() {
        for (samples, window) in [(2, 20.0), (3, 21.0)] {
            let mut world = World::new();
            let mut vegas = Vegas::new(Settings::default());
            vegas.reno = Reno { window: 20.0, threshold: 2.0 };
            (vegas.begins, vegas.end) = (false, 100);
            for n in 1..=samples {
                let to = if n == samples { 101 } else { 90 };
                let ack = Ack { rtt: rtt(40), acknowledged_to: to, sent_to: 120, ..ack() };
                vegas.on_ack(&mut world.context(), &ack);
            }
            assert_eq!((vegas.reno.window, vegas.end), (window, 120), "{samples}");
        }
    }
}
