//! FAST TCP (Wei, Jin, Low and Hegde, "FAST TCP: motivation, architecture, algorithms, performance", IEEE/ACM
//! Transactions on Networking 14(6), 2006).
//!
//! FAST aims at the window that keeps `alpha` of its own segments in the queues of the path, and closes in on it by a
//! fixed share of the distance: in proportion to the window, where Vegas takes steps of one segment.
//!
//! | rule | here |
//! | --- | --- |
//! | average RTT += eta (RTT - average RTT), eta = min(3/w, 1/4) | `Fast::observe` |
//! | w = min(2w, (1 - gamma) w + gamma (base RTT/RTT w + alpha(w, q))), every other round trip | `Fast::update` |
//! | alpha(w, q) = alpha w while q = 0, else alpha | `Fast::update` |
//! | a loss halves | `Controller::on_loss` |
//!
//! At rest w (1 - base RTT/RTT) = alpha, so each flow keeps alpha segments waiting, whatever its RTT.
//!
//! The paper leaves open:
//! - Slow start is NewReno's. It ends when alpha own segments wait at the end of a round trip.
//! - alpha is one number. The authors chose it by the rate of the path, from 20 at 10 Mbit/s to 200 at 1 Gbit/s and
//!   above.
//! - A window that is not fully used is not updated, and none falls below two segments.
//! - The new window holds at once. The paper spreads a decrease over the round trip.

use units::Span;

use crate::entry::{Aim, Entry, Quantity};
use crate::parameters::parameters;
use crate::parts::reno::delegate;
use crate::range::above;
use crate::{Ack, Context, Controller, Loss, Probe, Reno, Undo};

/// The entry of FAST in the registry.
pub const ENTRY: Entry = Entry {
    name: "fast",
    title: "FAST TCP",
    summary: "Keeps alpha of its own segments in the queue, and closes in on that by a share of the distance",
    source: "Wei, Jin, Low and Hegde 2006",
    aim: Aim::Delay,
    parameters: Settings::PARAMETERS,
    probes: &[
        Quantity::new("average_rtt_ms", "ms", "Average RTT"),
        Quantity::new("base_rtt_ms", "ms", "Base RTT"),
        Quantity::new("waiting", "segments", "w (1 - base RTT/RTT), own segments in the queues"),
    ],
    make: |given| Ok(Box::new(Fast::new(Settings::read(given)?))),
};

/// The share of the window kept on a loss.
const BETA_LOSS: f64 = 0.5;
/// The largest weight of a sample in the average RTT, and its product with the window for large windows.
const WEIGHT_MAX: f64 = 0.25;
const WEIGHT_WINDOW: f64 = 3.0;

parameters! {
    /// The parameters.
    pub struct Settings {
        /// Own segments that it keeps in the queues of the path
        alpha: f64 = 20.0,
            unit "segments", range above(0.0).up_to(100_000.0),
            source "the paper's alpha; the value is for paths below 100 Mbit/s";
        /// Share of the distance to the target that an update goes
        gamma: f64 = 0.5, range above(0.0).up_to(1.0), source "the paper's gamma";
    }
}

/// The controller.
#[derive(Clone, Copy, Debug)]
pub struct Fast {
    settings: Settings,
    reno: Reno,
    undo: Undo,
    /// In seconds; 0 before the first sample.
    average_rtt: f64,
    base_rtt: f64,
    /// The window is updated at the end of this round trip, not of the next.
    updates: bool,
}

impl Fast {
    /// A controller with `settings`.
    pub fn new(settings: Settings) -> Self {
        Self { settings, reno: Reno::new(), undo: Undo::default(), average_rtt: 0.0, base_rtt: 0.0, updates: false }
    }

    fn observe(&mut self, ack: &Ack) {
        let Some(rtt) = ack.undelayed_rtt().map(Span::as_secs_f64) else { return };
        self.base_rtt = ack.min_rtt.as_secs_f64();
        if self.average_rtt == 0.0 {
            self.average_rtt = rtt;
        } else {
            let eta = (WEIGHT_WINDOW / self.reno.window).min(WEIGHT_MAX);
            self.average_rtt += eta * (rtt - self.average_rtt);
        }
    }

    /// base RTT / RTT; 1 while nothing is known to wait.
    fn share_of_path(&self) -> f64 {
        if self.average_rtt > self.base_rtt { self.base_rtt / self.average_rtt } else { 1.0 }
    }

    fn waiting(&self) -> f64 {
        self.reno.window * (1.0 - self.share_of_path())
    }

    /// The end of a round trip that used the window.
    fn end_round(&mut self) {
        if self.reno.in_slow_start() {
            if self.waiting() >= self.settings.alpha {
                self.reno.threshold = self.reno.window.max(Reno::MINIMUM);
            }
            self.updates = false;
            return;
        }
        if self.updates {
            self.update();
        }
        self.updates = !self.updates;
    }

    fn update(&mut self) {
        let Settings { alpha, gamma } = self.settings;
        let (w, share) = (self.reno.window, self.share_of_path());
        let alpha = if share == 1.0 { alpha * w } else { alpha };
        let target = (1.0 - gamma) * w + gamma * (share * w + alpha);
        self.reno.window = target.min(2.0 * w).max(Reno::MINIMUM);
        // A smaller window is no reason for slow start.
        self.reno.threshold = self.reno.threshold.min(self.reno.window);
    }
}

impl Controller for Fast {
    delegate!(reno: on_start, on_spurious(undo), on_idle_restart, window, slow_start_threshold);

    fn on_ack(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        self.observe(ack);
        if !ack.window_limited {
            return;
        }
        if ack.round_start {
            self.end_round();
        }
        if self.reno.in_slow_start() {
            self.reno.slow_start(cx, ack);
        }
    }

    fn on_duplicate_ack(&mut self, _cx: &mut Context<'_>, ack: &Ack) {
        self.observe(ack);
    }

    fn on_loss(&mut self, _cx: &mut Context<'_>, _loss: &Loss) {
        self.undo.remember(self.reno);
        self.reno.multiplicative_decrease(BETA_LOSS);
        self.updates = false;
    }

    fn on_timeout(&mut self, _cx: &mut Context<'_>, loss: &Loss) {
        self.undo.remember_first(loss, self.reno);
        self.reno.timeout(BETA_LOSS, loss.again);
        self.updates = false;
    }

    fn probe(&self, out: &mut dyn Probe) {
        out.value("average_rtt_ms", 1e3 * self.average_rtt);
        out.value("base_rtt_ms", 1e3 * self.base_rtt);
        out.value("waiting", self.waiting());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{World, ack, loss, probed, rtt};

    fn cruising(window: f64, average_millis: f64) -> Fast {
        Fast {
            reno: Reno { window, threshold: 2.0 },
            average_rtt: average_millis / 1e3,
            base_rtt: 0.04,
            ..Fast::new(Settings::default())
        }
    }

    /// The end of a round trip, without a sample.
    fn round(fast: &mut Fast) {
        fast.on_ack(&mut World::new().context(), &Ack { round_start: true, ..ack() });
    }

    #[test]
    fn every_other_round_trip_goes_half_the_way_to_alpha_segments_waiting() {
        let mut fast = cruising(100.0, 50.0);
        round(&mut fast);
        assert_eq!(fast.window(), 100.0);
        // 50 + (0.8 * 100 + 20)/2 = 100: 20 wait, which is alpha. At 200, 40 wait: 100 + (160 + 20)/2 = 190.
        round(&mut fast);
        assert!((fast.window() - 100.0).abs() < 1e-9, "{}", fast.window());
        let mut fast = cruising(200.0, 50.0);
        round(&mut fast);
        round(&mut fast);
        assert!((fast.window() - 190.0).abs() < 1e-9, "{}", fast.window());
        assert!(!fast.reno.in_slow_start());
    }

    #[test]
    fn an_update_at_most_doubles_and_leaves_two_segments() {
        // 2 + (3.2 + 20)/2 = 13.6 is more than twice 4.
        let mut fast = cruising(4.0, 50.0);
        round(&mut fast);
        round(&mut fast);
        assert_eq!(fast.window(), 8.0);
        // 1 + (0.08 + 0.5)/2 is less than 2.
        let mut fast = Fast { settings: Settings { alpha: 0.5, gamma: 0.5 }, ..cruising(2.0, 1000.0) };
        round(&mut fast);
        round(&mut fast);
        assert_eq!(fast.window(), 2.0);
    }

    #[test]
    fn without_queueing_delay_it_doubles() {
        // alpha w = 2000 more segments are aimed at.
        let mut fast = cruising(100.0, 40.0);
        round(&mut fast);
        round(&mut fast);
        assert_eq!(fast.window(), 200.0);
    }

    #[test]
    fn the_average_rtt_forgets_within_a_third_of_a_window_but_not_faster_than_four_samples() {
        let mut world = World::new();
        for (window, expected) in [(30.0, 41.0), (6.0, 42.5)] {
            // From 40 ms towards 50 ms by 3/30, and by 1/4 where 3/6 would be more.
            let mut fast = cruising(window, 40.0);
            fast.on_duplicate_ack(&mut world.context(), &Ack { rtt: rtt(50), ..ack() });
            assert!((probed(&fast, "average_rtt_ms") - expected).abs() < 1e-9);
        }
    }

    #[test]
    fn slow_start_ends_with_alpha_segments_waiting() {
        let mut fast = Fast { reno: Reno { window: 99.0, threshold: f64::INFINITY }, ..cruising(99.0, 50.0) };
        round(&mut fast);
        assert_eq!(fast.window(), 100.0, "19.8 wait");
        round(&mut fast);
        assert_eq!((fast.window(), fast.slow_start_threshold()), (100.0, 100.0), "20 wait");
    }

    #[test]
    fn a_loss_halves() {
        let mut fast = cruising(100.0, 50.0);
        fast.on_loss(&mut World::new().context(), &loss());
        assert_eq!((fast.window(), fast.slow_start_threshold()), (50.0, 50.0));
    }
}
