//! TCP Vegas (Brakmo and Peterson, "TCP Vegas: end to end congestion avoidance on a global internet", IEEE JSAC
//! 13(8), 1995), in the form that FreeBSD gave it.
//!
//! Once a round trip Vegas estimates how many of its own segments wait in the bottleneck queue,
//! diff = w * (1 - base RTT / RTT), and steers the window so that they stay between `alpha` and `beta`.
//!
//! | rule | here |
//! | --- | --- |
//! | diff = (expected - actual) * base RTT (section IV-B) | `Vegas::waiting` |
//! | w + 1 below alpha, w - 1 above beta (section IV-B) | `Vegas::decide` |
//! | slow start grows in every other round trip (section IV-C) | `Vegas::decide` |
//!
//! Notable differences from the paper:
//! - Slow start ends when diff exceeds beta, with the window one segment smaller. The window grows in the next round
//!   trip only if diff is below alpha. `slow_start_exit = "gamma"` is the paper's: when diff exceeds the threshold
//!   gamma. The paper does not say with which window. Here it stays.
//! - Losses are handled as NewReno does. The finer retransmission timer of the paper is the business of the transport.
//! - w in diff is the window when the measured segment was sent: the queue before it came from that window. The actual
//!   rate is taken as w / RTT. The paper counts the bytes sent, which is less only where the application limits the
//!   flow, and there no decision is taken at all.
//! - RTT is the sample of the ACK that ends the round trip, or, if that is not usable, the last usable one in it. A
//!   round trip without any leaves nothing to decide on: the window then grows as NewReno's for one round trip.
//!
//! Linux's module is `linux/vegas.rs`.

use units::Span;

use crate::entry::{Aim, Entry, Quantity};
use crate::parameters::{choices, parameters};
use crate::parts::reno::delegate;
use crate::range::above;
use crate::{Ack, Context, Controller, Loss, Probe, Reno, Undo, Wants};

/// The entry of Vegas in the registry.
pub const ENTRY: Entry = Entry {
    name: "vegas",
    title: "Vegas",
    summary: "Keeps alpha to beta segments of its own in the bottleneck queue, a segment a round trip up or down",
    source: "Brakmo and Peterson 1995",
    aim: Aim::Delay,
    parameters: Settings::PARAMETERS,
    probes: &[
        Quantity::new("waiting", "segments", "diff, own segments in the queue"),
        Quantity::new("base_rtt_ms", "ms", "Smallest RTT"),
        Quantity::new("round_rtt_ms", "ms", "RTT of the last decision"),
        Quantity::new("growing", "", "1 while the window grows by NewReno's rules"),
    ],
    make: |given| Ok(Box::new(Vegas::new(Settings::read(given)?))),
};

/// The share of the window kept on a loss.
const BETA_LOSS: f64 = 0.5;

choices! {
    /// The event that ends slow start.
    pub enum SlowStartExit {
        /// More than beta segments that wait, as in FreeBSD.
        Beta = Word("beta"),
        /// More than gamma, as in the paper.
        Gamma = Word("gamma"),
    }
}

parameters! {
    /// The parameters.
    pub struct Settings {
        /// With fewer own segments waiting in the queue the window grows
        alpha: f64 = 1.0, unit "segments", range above(0.0).up_to(10_000.0), source "section IV-B";
        /// With more own segments waiting in the queue the window shrinks
        beta: f64 = 3.0,
            unit "segments", range above(0.0).up_to(10_000.0).not_below("alpha"), source "section IV-B";
        /// With more own segments waiting in the queue slow start ends, where slow_start_exit says so
        gamma: f64 = 1.0, unit "segments", range above(0.0).up_to(10_000.0), source "section IV-C";
        /// End of slow start: beta with the window a segment smaller, or gamma
        slow_start_exit: SlowStartExit = SlowStartExit::Beta, source "section IV-C; FreeBSD";
    }
}

/// The controller.
#[derive(Clone, Copy, Debug)]
pub struct Vegas {
    settings: Settings,
    reno: Reno,
    undo: Undo,
    /// The window grows by NewReno's rules in this round trip.
    growing: bool,
    /// The window when this round trip began.
    window_at_start: f64,
    /// The last usable RTT of this round trip.
    rtt: Option<Span>,
    base_rtt: Span,
    round_rtt: Span,
    waiting: f64,
}

impl Vegas {
    /// A controller with `settings`.
    pub fn new(settings: Settings) -> Self {
        Self {
            settings,
            reno: Reno::new(),
            undo: Undo::default(),
            growing: true,
            window_at_start: 1.0,
            rtt: None,
            base_rtt: Span::ZERO,
            round_rtt: Span::ZERO,
            waiting: 0.0,
        }
    }

    fn observe(&mut self, ack: &Ack) {
        if let Some(rtt) = ack.undelayed_rtt().filter(|rtt| !rtt.is_zero()) {
            self.rtt = Some(rtt);
        }
    }

    /// The window when this round trip began: so many segments it measures.
    pub(crate) fn window_at_start(&self) -> f64 {
        self.window_at_start
    }

    /// A round trip ends in a back-off to `window` instead of a decision, out of slow start.
    pub(crate) fn back_off(&mut self, window: f64) {
        self.reno.window = window;
        self.reno.threshold = window.max(Reno::MINIMUM);
        self.growing = false;
        self.begin_round();
    }

    /// Own segments that wait in the queue at `rtt`: diff.
    fn waiting(&self, rtt: Span) -> f64 {
        let queueing = rtt.saturating_sub(self.base_rtt);
        self.window_at_start * (queueing.as_secs_f64() / rtt.as_secs_f64())
    }

    /// The end of a round trip whose segments took `rtt`.
    fn decide(&mut self, rtt: Span, base_rtt: Span) {
        self.base_rtt = base_rtt;
        self.round_rtt = rtt;
        self.waiting = self.waiting(rtt);
        let by_gamma = self.settings.slow_start_exit == SlowStartExit::Gamma;
        if by_gamma && self.reno.in_slow_start() {
            self.growing = !self.growing;
            if self.waiting > self.settings.gamma {
                self.growing = false;
                self.reno.threshold = self.reno.window.max(Reno::MINIMUM);
            }
            return;
        }
        if self.waiting < self.settings.alpha {
            if self.reno.in_slow_start() {
                self.growing = !self.growing;
            } else {
                self.growing = false;
                self.reno.window += 1.0;
            }
        } else if self.waiting > self.settings.beta {
            self.growing = false;
            let less = (self.reno.window - 1.0).max(Reno::MINIMUM);
            if self.reno.in_slow_start() {
                self.reno.threshold = less;
            }
            self.reno.window = self.reno.window.min(less);
        } else if !self.reno.in_slow_start() {
            self.growing = false;
        }
    }

    /// A new round trip begins.
    fn begin_round(&mut self) {
        self.rtt = None;
        self.window_at_start = self.reno.window;
    }
}

impl Controller for Vegas {
    delegate!(reno: on_spurious(undo), on_idle_restart, window, slow_start_threshold);

    fn wants(&self) -> Wants {
        Wants { exact_rtt: true, ..Wants::default() }
    }

    fn on_start(&mut self, cx: &mut Context<'_>) {
        self.reno.start(cx);
        self.begin_round();
    }

    fn on_ack(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        self.observe(ack);
        if ack.round_start {
            match self.rtt {
                Some(rtt) if ack.window_limited => self.decide(rtt, ack.min_rtt),
                Some(_) => {}
                None => self.growing = true,
            }
        }
        if self.growing {
            self.reno.grow(cx, ack);
        }
        if ack.round_start {
            self.begin_round();
        }
    }

    fn on_duplicate_ack(&mut self, _cx: &mut Context<'_>, ack: &Ack) {
        self.observe(ack);
        if ack.round_start {
            self.begin_round();
        }
    }

    fn on_loss(&mut self, _cx: &mut Context<'_>, _loss: &Loss) {
        self.undo.remember(self.reno);
        self.reno.multiplicative_decrease(BETA_LOSS);
        self.growing = self.reno.in_slow_start();
    }

    fn on_timeout(&mut self, _cx: &mut Context<'_>, loss: &Loss) {
        self.undo.remember_first(loss, self.reno);
        self.reno.timeout(BETA_LOSS, loss.again);
        self.growing = true;
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
    use crate::testing::{World, ack, loss, probed, rtt};

    fn cruising(window: f64) -> Vegas {
        let mut vegas = Vegas::new(Settings::default());
        vegas.reno = Reno { window, threshold: 2.0 };
        vegas.growing = false;
        vegas.begin_round();
        vegas
    }

    /// The ACK that ends a round trip of `millis` on a path of 40 ms.
    fn round(vegas: &mut Vegas, millis: u64) {
        vegas.on_ack(&mut World::new().context(), &Ack { rtt: rtt(millis), round_start: true, ..ack() });
    }

    #[test]
    fn a_beta_below_alpha_is_refused() {
        let given = |text: &str| -> crate::Parameters { serde_json::from_str(text).unwrap() };
        let error = ENTRY.build(&given(r#"{"alpha": 4, "beta": 2}"#)).err().unwrap();
        assert!(error.to_string().contains("not below alpha"), "{error}");
    }

    #[test]
    fn the_window_follows_the_segments_in_the_queue() {
        // Window 50: at 40 ms none waits; at 41 ms 50/41 = 1.22; at 42.6 ms 3.05; at 50 ms 10.
        for (millis, after) in [(40, 51.0), (41, 50.0), (50, 49.0)] {
            let mut vegas = cruising(50.0);
            round(&mut vegas, millis);
            assert_eq!(vegas.window(), after, "{millis} ms");
        }
        let mut vegas = cruising(50.0);
        round(&mut vegas, 50);
        assert!((probed(&vegas, "waiting") - 10.0).abs() < 1e-9);
    }

    #[test]
    fn the_window_in_the_estimate_is_that_at_the_start_of_the_round_trip() {
        let mut vegas = cruising(10.0);
        vegas.reno.window = 100.0;
        round(&mut vegas, 50);
        // 10 * (1 - 40/50) = 2 waiting, not 20.
        assert_eq!(vegas.window(), 100.0);
    }

    #[test]
    fn slow_start_grows_in_every_other_round_trip() {
        let mut world = World::new();
        let mut vegas = Vegas::new(Settings::default());
        vegas.on_start(&mut world.context());
        let mut windows = Vec::new();
        for _ in 0..4 {
            for _ in 0..vegas.window() as u32 - 1 {
                vegas.on_ack(&mut world.context(), &Ack { rtt: rtt(40), ..ack() });
            }
            round(&mut vegas, 40);
            windows.push(vegas.window());
        }
        // The ACK that ends a round trip belongs to the next one.
        assert_eq!(windows, [19.0, 20.0, 39.0, 40.0]);
    }

    #[test]
    fn slow_start_ends_one_segment_lower_when_the_queue_builds() {
        let mut vegas = Vegas::new(Settings::default());
        vegas.reno.window = 40.0;
        vegas.begin_round();
        round(&mut vegas, 50);
        assert_eq!((vegas.window(), vegas.slow_start_threshold()), (39.0, 39.0));
    }

    #[test]
    fn the_paper_leaves_slow_start_at_gamma_with_the_window_that_it_has() {
        // Window 40: at 41 ms 0.98 waits, at 41.1 ms 1.07.
        let mut vegas = Vegas::new(Settings { slow_start_exit: SlowStartExit::Gamma, ..Settings::default() });
        vegas.reno.window = 40.0;
        vegas.begin_round();
        round(&mut vegas, 41);
        assert_eq!((vegas.slow_start_threshold(), probed(&vegas, "growing")), (f64::INFINITY, 0.0));
        round(&mut vegas, 42);
        assert_eq!((vegas.window(), vegas.slow_start_threshold()), (40.0, 40.0));
    }

    #[test]
    fn a_round_trip_without_sample_grows_as_newreno() {
        let mut world = World::new();
        let mut vegas = cruising(50.0);
        vegas.on_ack(&mut world.context(), &Ack { round_start: true, ..ack() });
        assert!((vegas.window() - 50.02).abs() < 1e-12);
        round(&mut vegas, 41);
        assert_eq!(probed(&vegas, "growing"), 0.0);
    }

    #[test]
    fn an_unused_window_decides_nothing() {
        for millis in [40, 80] {
            let mut vegas = cruising(50.0);
            let unused = Ack { rtt: rtt(millis), round_start: true, window_limited: false, ..ack() };
            vegas.on_ack(&mut World::new().context(), &unused);
            assert_eq!(vegas.window(), 50.0);
        }
    }

    #[test]
    fn losses_halve_and_timeouts_start_anew() {
        let mut world = World::new();
        let mut vegas = cruising(50.0);
        vegas.on_loss(&mut world.context(), &loss());
        assert_eq!(vegas.window(), 25.0);
        vegas.on_timeout(&mut world.context(), &loss());
        assert_eq!((vegas.window(), vegas.slow_start_threshold()), (1.0, 12.5));
        assert_eq!(probed(&vegas, "growing"), 1.0);
    }

    #[test]
    fn just_alpha_or_beta_in_the_queue_leave_the_window() {
        // At twice the base RTT half the window waits.
        for (window, after) in [(2.0, 2.0), (3.0, 3.0), (6.0, 6.0), (7.0, 6.0)] {
            let mut vegas = cruising(window);
            vegas.window_at_start = window;
            vegas.decide(Span::from_millis(80), Span::from_millis(40));
            assert_eq!(vegas.reno.window, after, "{window}");
        }
    }
}
