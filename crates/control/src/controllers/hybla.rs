//! TCP Hybla (Caini and Firrincieli, "TCP Hybla: a TCP enhancement for heterogeneous networks", International Journal
//! of Satellite Communications and Networking 22, 2004).
//!
//! NewReno whose growth does not depend on the RTT: a flow with rho times the reference RTT grows as fast as one with
//! that RTT, in segments a second.
//!
//! | rule, with rho = max(RTT/RTT_0, 1) | here |
//! | --- | --- |
//! | slow start: w += 2^rho - 1 for each ACK | `Hybla::slow_start` |
//! | congestion avoidance: w += rho^2/w for each ACK | `Controller::on_ack` |
//!
//! Notable differences from the paper: rho comes from the smallest smoothed RTT so far, as in Linux. 2^rho is at most
//! 2^16. The first window and threshold are not multiplied by rho, and segments are not paced.
//!
//! Linux's module is `linux/hybla.rs`.

use units::Span;

use crate::entry::{Aim, Entry, Quantity};
use crate::parameters::parameters;
use crate::parts::reno::delegate;
use crate::range::from;
use crate::{Ack, Context, Controller, Loss, Probe, Reno, Undo};

/// The entry of Hybla in the registry.
pub const ENTRY: Entry = Entry {
    name: "hybla",
    title: "TCP Hybla",
    summary: "NewReno that grows as fast on long paths as on one of 25 ms",
    source: "Caini and Firrincieli 2004; Linux",
    aim: Aim::General,
    parameters: Settings::PARAMETERS,
    probes: &[Quantity::new("rho", "", "RTT over the reference RTT, at least 1")],
    make: |given| Ok(Box::new(Hybla::new(Settings::read(given)?))),
};

/// The share of the window kept on a loss.
const BETA: f64 = 0.5;
/// 2^rho grows no further.
const LARGEST_EXPONENT: f64 = 16.0;

parameters! {
    /// The parameters.
    pub struct Settings {
        /// The RTT of the flow that it equals
        rtt_0: Span = Span::from_millis(25),
            unit "time", range from(Span::from_millis(1)).up_to(Span::from_secs(10)), source "the paper's RTT_0";
    }
}

/// The controller.
#[derive(Clone, Copy, Debug)]
pub struct Hybla {
    settings: Settings,
    reno: Reno,
    undo: Undo,
    /// The smallest smoothed RTT.
    least: Span,
    rho: f64,
}

impl Hybla {
    /// A controller with `settings`.
    pub fn new(settings: Settings) -> Self {
        Self { settings, reno: Reno::new(), undo: Undo::default(), least: Span::MAX, rho: 1.0 }
    }

    fn observe(&mut self, ack: &Ack) {
        if ack.smoothed_rtt.is_zero() || ack.smoothed_rtt >= self.least {
            return;
        }
        self.least = ack.smoothed_rtt;
        self.rho = (self.least.as_secs_f64() / self.settings.rtt_0.as_secs_f64()).max(1.0);
    }

    /// Slow start; what goes beyond the threshold is lost.
    fn slow_start(&mut self, credit: f64) {
        let gain = libm::exp2(self.rho.min(LARGEST_EXPONENT)) - 1.0;
        let limit = self.reno.threshold.max(self.reno.window + credit);
        self.reno.window = (self.reno.window + gain * credit).min(limit);
    }
}

impl Controller for Hybla {
    delegate!(reno: on_start, on_timeout(undo), on_spurious(undo), on_idle_restart, keep, window, slow_start_threshold);

    fn on_ack(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        self.observe(ack);
        if !ack.window_limited {
            return;
        }
        if self.reno.grows_exponentially(cx) {
            self.slow_start(ack.slow_start_credit(cx));
        } else {
            self.reno.additive_increase(ack.avoidance_credit(cx), self.rho * self.rho);
        }
    }

    fn on_loss(&mut self, _cx: &mut Context<'_>, _loss: &Loss) {
        self.undo.remember(self.reno);
        self.reno.multiplicative_decrease(BETA);
    }

    fn probe(&self, out: &mut dyn Probe) {
        out.value("rho", self.rho);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{World, ack, loss, probed};

    fn at(window: f64, threshold: f64, millis: u64) -> (Hybla, Ack) {
        let mut hybla = Hybla::new(Settings::default());
        hybla.reno = Reno { window, threshold };
        (hybla, Ack { smoothed_rtt: Span::from_millis(millis), ..ack() })
    }

    #[test]
    fn four_times_the_reference_rtt_adds_sixteen_segments_a_round_trip() {
        let (mut hybla, ack) = at(1000.0, 2.0, 100);
        (0..1000).for_each(|_| hybla.on_ack(&mut World::new().context(), &ack));
        assert!((hybla.window() - 1016.0).abs() < 1.01, "{}", hybla.window());
    }

    #[test]
    fn slow_start_adds_two_to_the_rho_less_one_for_each_ack() {
        // rho = 4 and 1.48: 2^1.48 - 1 = 1.789.
        for (millis, after) in [(100, 25.0), (37, 10.0 + 1.789_487)] {
            let (mut hybla, ack) = at(10.0, f64::INFINITY, millis);
            hybla.on_ack(&mut World::new().context(), &ack);
            assert!((hybla.window() - after).abs() < 1e-5, "{millis} ms: {}", hybla.window());
        }
    }

    #[test]
    fn a_short_path_is_newreno() {
        let (mut hybla, ack) = at(100.0, 2.0, 10);
        (0..128).for_each(|_| hybla.on_ack(&mut World::new().context(), &ack));
        assert!((hybla.window() - 101.0).abs() < 0.3, "{}", hybla.window());
        assert_eq!(probed(&hybla, "rho"), 1.0);
    }

    #[test]
    fn rho_is_that_of_the_smallest_smoothed_rtt() {
        let (mut hybla, ack) = at(100.0, 2.0, 50);
        hybla.on_ack(&mut World::new().context(), &ack);
        hybla.on_ack(&mut World::new().context(), &Ack { smoothed_rtt: Span::from_millis(90), ..ack });
        assert_eq!(probed(&hybla, "rho"), 2.0);
    }

    #[test]
    fn slow_start_does_not_go_beyond_the_threshold() {
        let (mut hybla, ack) = at(10.0, 20.0, 100);
        hybla.on_ack(&mut World::new().context(), &ack);
        assert_eq!(hybla.window(), 20.0);
    }

    #[test]
    fn a_loss_halves() {
        let (mut hybla, _) = at(25.0, 2.0, 100);
        hybla.on_loss(&mut World::new().context(), &loss());
        assert_eq!(hybla.window(), 12.5);
    }
}
