//! DUAL (Wang and Crowcroft, "Eliminating periodic packet losses in the 4.3-Tahoe BSD TCP congestion control
//! algorithm", Computer Communication Review 22(2), 1992), as Dabbous 1992, section 3, and Hayes and Armitage 2011,
//! section 2, describe it.
//!
//! Tahoe with a second rule: every other round trip the RTT is compared with a threshold between its smallest and its
//! largest value, and above it the window gives up an eighth, before the queue overflows.
//!
//! | rule (Dabbous 1992, section 3) | here |
//! | --- | --- |
//! | D_i = (1 - alpha) D_min + alpha D_max | `Dual::threshold` |
//! | D > D_i: W = 7/8 W | `Dual::on_ack` |
//! | normal probing, loss: slow start and linear growth of Tahoe | [`Reno::grow`], [`Reno::tahoe`] |
//!
//! Notable points:
//! - D_max is taken as the RTT with a full queue, which only a loss shows: in slow start, where the RTT is at its
//!   largest most of the time, the rule does not apply.
//! - D is the last usable RTT sample of the round trip that ends.
//! - A timeout forgets D_max: the path may be another.

use units::Span;

use crate::entry::{Aim, Entry, Quantity};
use crate::parameters::parameters;
use crate::parts::reno::delegate;
use crate::range::{above, from};
use crate::{Ack, Context, Controller, Loss, Probe, Reno, Undo, Wants};

/// The entry of DUAL in the registry.
pub const ENTRY: Entry = Entry {
    name: "dual",
    title: "DUAL",
    summary: "Tahoe that gives up an eighth of the window when the RTT is above the middle of its range",
    source: "Wang and Crowcroft 1992",
    aim: Aim::Delay,
    parameters: Settings::PARAMETERS,
    probes: &[
        Quantity::new("min_rtt_ms", "ms", "D_min; 0 before the first sample"),
        Quantity::new("max_rtt_ms", "ms", "D_max; 0 before the first sample"),
        Quantity::new("threshold_ms", "ms", "D_i; 0 before the first sample"),
        Quantity::new("decreases", "decreases", "Decreases by delay since the start"),
    ],
    make: |given| Ok(Box::new(Dual::new(Settings::read(given)?))),
};

parameters! {
    /// The parameters.
    pub struct Settings {
        /// Place of the threshold between the smallest RTT and the largest: the share of the queue that may fill
        alpha: f64 = 0.5,
            range from(0.0).up_to(1.0), source "Dabbous 1992, section 3; Wang and Crowcroft 1992 for 0.5";
        /// Share of the window kept above the threshold
        beta: f64 = 0.875, range above(0.0).below(1.0), source "Dabbous 1992, section 3";
        /// Round trips from one comparison to the next
        every: u32 = 2, unit "round trips", range from(1).up_to(1000), source "Hayes and Armitage 2011, section 2";
    }
}

/// D_min and D_max.
#[derive(Clone, Copy, Debug)]
struct Range {
    min: Span,
    max: Span,
}

/// The controller.
#[derive(Clone, Copy, Debug)]
pub struct Dual {
    settings: Settings,
    reno: Reno,
    range: Option<Range>,
    /// D: the last usable sample.
    rtt: Span,
    /// Round trips since the last comparison.
    rounds: u32,
    undo: Undo,
    decreases: u64,
}

impl Dual {
    /// A controller with `settings`.
    pub fn new(settings: Settings) -> Self {
        Self {
            settings,
            reno: Reno::new(),
            range: None,
            rtt: Span::ZERO,
            rounds: 0,
            undo: Undo::default(),
            decreases: 0,
        }
    }

    fn observe(&mut self, ack: &Ack) {
        if let Some(rtt) = ack.undelayed_rtt() {
            self.rtt = rtt;
            let Range { min, max } = self.range.unwrap_or(Range { min: rtt, max: rtt });
            self.range = Some(Range { min: min.min(rtt), max: max.max(rtt) });
        }
    }

    /// D_i.
    fn threshold(&self) -> Option<Span> {
        let alpha = self.settings.alpha;
        self.range.map(|Range { min, max }| min + max.saturating_sub(min).scale(alpha))
    }

    /// True if a comparison is due on `ack` and finds D above D_i.
    fn is_congested(&mut self, ack: &Ack) -> bool {
        self.rounds += u32::from(ack.round_start);
        if self.rounds < self.settings.every {
            return false;
        }
        self.rounds = 0;
        self.threshold().is_some_and(|threshold| self.rtt > threshold)
    }
}

impl Controller for Dual {
    delegate!(reno: on_start, on_spurious(undo), on_idle_restart, window, slow_start_threshold);

    /// As 4.3BSD-Tahoe, which has no recovery.
    fn wants(&self) -> Wants {
        Wants { slow_starts_on_loss: true, ..Wants::default() }
    }

    fn on_ack(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        self.observe(ack);
        if self.is_congested(ack) && !self.reno.in_slow_start() {
            self.reno.multiplicative_decrease(self.settings.beta);
            self.decreases += 1;
        } else {
            self.reno.grow(cx, ack);
        }
    }

    fn on_duplicate_ack(&mut self, _cx: &mut Context<'_>, ack: &Ack) {
        self.observe(ack);
    }

    fn on_loss(&mut self, _cx: &mut Context<'_>, _loss: &Loss) {
        self.undo.remember(self.reno);
        self.reno.tahoe();
    }

    fn on_timeout(&mut self, _cx: &mut Context<'_>, loss: &Loss) {
        self.undo.remember_first(loss, self.reno);
        self.reno.tahoe();
        self.range = self.range.map(|range| Range { max: range.min, ..range });
    }

    fn probe(&self, out: &mut dyn Probe) {
        let range = self.range.unwrap_or(Range { min: Span::ZERO, max: Span::ZERO });
        out.value("min_rtt_ms", range.min.as_millis_f64());
        out.value("max_rtt_ms", range.max.as_millis_f64());
        out.value("threshold_ms", self.threshold().unwrap_or(Span::ZERO).as_millis_f64());
        out.value("decreases", self.decreases as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{World, ack, loss, probed, rtt};

    /// In congestion avoidance at `window`, having seen RTTs from 40 to 80 ms.
    fn cruising(window: f64) -> Dual {
        let mut dual = Dual::new(Settings::default());
        for millis in [40, 80] {
            dual.observe(&Ack { rtt: rtt(millis), ..ack() });
        }
        dual.reno = Reno { window, threshold: 2.0 };
        dual
    }

    /// An ACK that ends a round trip of `millis`.
    fn round(dual: &mut Dual, millis: u64) {
        dual.on_ack(&mut World::new().context(), &Ack { rtt: rtt(millis), round_start: true, ..ack() });
    }

    #[test]
    fn every_other_round_trip_above_the_middle_takes_an_eighth() {
        let mut dual = cruising(40.0);
        assert_eq!(probed(&dual, "threshold_ms"), 60.0);
        round(&mut dual, 61);
        assert_eq!(dual.window(), 40.025);
        dual.reno.window = 40.0;
        round(&mut dual, 61);
        assert_eq!(dual.window(), 35.0);
        round(&mut dual, 61);
        assert!(dual.window() > 35.0);
        assert_eq!(probed(&dual, "decreases"), 1.0);
    }

    #[test]
    fn at_the_threshold_the_window_grows() {
        let mut dual = cruising(40.0);
        round(&mut dual, 60);
        round(&mut dual, 60);
        // 40 + 1/40 + 1/40.025.
        assert!((dual.window() - 40.05).abs() < 1e-4, "{}", dual.window());
    }

    #[test]
    fn alpha_places_the_threshold_between_the_extremes() {
        // 40 + 0.25 * 40.
        let mut dual = cruising(40.0);
        dual.settings.alpha = 0.25;
        assert_eq!(probed(&dual, "threshold_ms"), 50.0);
    }

    #[test]
    fn slow_start_ends_with_a_loss_not_with_delay() {
        let mut dual = cruising(40.0);
        dual.reno.threshold = f64::INFINITY;
        round(&mut dual, 80);
        round(&mut dual, 80);
        assert_eq!(dual.window(), 42.0);
        dual.on_loss(&mut World::new().context(), &loss());
        assert_eq!((dual.window(), dual.slow_start_threshold()), (1.0, 21.0));
    }

    #[test]
    fn a_timeout_forgets_the_largest_rtt_a_loss_does_not() {
        let mut dual = cruising(40.0);
        dual.on_loss(&mut World::new().context(), &loss());
        assert_eq!(probed(&dual, "max_rtt_ms"), 80.0);
        dual.on_timeout(&mut World::new().context(), &loss());
        assert_eq!((probed(&dual, "min_rtt_ms"), probed(&dual, "max_rtt_ms")), (40.0, 40.0));
        round(&mut dual, 50);
        assert_eq!(probed(&dual, "threshold_ms"), 45.0);
    }
}
