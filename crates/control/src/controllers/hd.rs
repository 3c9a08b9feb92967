//! HD, the delay-based controller of the Hamilton Institute (Budzisz, Stanojevic, Schlote, Baker and Shorten, "On the
//! fair coexistence of loss- and delay-based TCP", IEEE/ACM Transactions on Networking 19(6), 2011).
//!
//! On every ACK the window may be halved, with a probability that depends on the queueing delay: it rises up to a
//! threshold, so that flows of this kind among themselves keep the queue below it, and falls beyond, so that where
//! others fill the queue they end as loss-based flows instead of starving.
//!
//! | rule | here |
//! | --- | --- |
//! | queueing delay q = RTT - smallest RTT, q_max = largest RTT - smallest RTT | `Hd::observe` |
//! | p: 0 up to q_min, to p_max at q_th, back to 0 at q_max | `Hump::probability` |
//! | back-off: w = w/2 | `Controller::on_ack` |
//!
//! Everything else is NewReno's. The shape of p is the paper's. Its values come from the module for FreeBSD by Hayes
//! and Stewart (cc_hd): q_min 5 ms, q_th 20 ms, p_max 5 %. They leave open:
//! - While no delay beyond q_th was seen, p stays at p_max from there on.
//! - At most one back-off a round trip, and none in the round trip of a loss, as in FreeBSD, where a back-off is
//!   handled as a mark.

use units::Span;

use crate::entry::{Aim, Entry, Quantity};
use crate::parameters::parameters;
use crate::parts::probabilistic::{Hump, Probabilistic};
use crate::parts::reno::delegate;
use crate::range::{above, from};
use crate::{Ack, Context, Controller, Loss, Probe, Reno, Undo};

/// The entry of HD in the registry.
pub const ENTRY: Entry = Entry {
    name: "hd",
    title: "HD",
    summary: "Halves by chance on queueing delay, less and less likely beyond a threshold, to coexist with \
        loss-based flows",
    source: "Budzisz, Stanojevic, Schlote, Baker and Shorten 2011",
    aim: Aim::General,
    parameters: Settings::PARAMETERS,
    probes: &[
        Quantity::new("queueing_delay_ms", "ms", "q"),
        Quantity::new("queueing_delay_max_ms", "ms", "q_max"),
        Quantity::new("backoff_probability", "", "p"),
        Quantity::new("backoffs", "back-offs", "Back-offs since the start"),
    ],
    make: |given| Ok(Box::new(Hd::new(Settings::read(given)?))),
};

/// The share of the window kept on a loss and by a back-off.
const BETA: f64 = 0.5;

parameters! {
    /// The parameters.
    pub struct Settings {
        /// Queueing delay above which back-offs begin
        q_min: Span = Span::from_millis(5),
            unit "time", range from(Span::ZERO).up_to(Span::from_secs(10)).less_than("q_th"),
            source "FreeBSD, cc_hd(4), qmin";
        /// Queueing delay at which a back-off is most likely
        q_th: Span = Span::from_millis(20),
            unit "time", range from(Span::from_micros(1)).up_to(Span::from_secs(10)).more_than("q_min"),
            source "FreeBSD, cc_hd(4), queue_threshold";
        /// Probability of a back-off per ACK at q_th
        p_max: f64 = 0.05, range above(0.0).up_to(1.0), source "FreeBSD, cc_hd(4), pmax";
    }
}

/// The controller.
#[derive(Clone, Copy, Debug)]
pub struct Hd {
    settings: Settings,
    reno: Reno,
    undo: Undo,
    queueing_delay: Span,
    max_rtt: Span,
    min_rtt: Span,
    backoffs: Probabilistic,
}

impl Hd {
    /// A controller with `settings`.
    pub fn new(settings: Settings) -> Self {
        Self {
            settings,
            reno: Reno::new(),
            undo: Undo::default(),
            queueing_delay: Span::ZERO,
            max_rtt: Span::ZERO,
            min_rtt: Span::ZERO,
            backoffs: Probabilistic::default(),
        }
    }

    /// Takes the RTT of `ack`. Returns whether it gave one.
    fn observe(&mut self, ack: &Ack) -> bool {
        let Some(rtt) = ack.undelayed_rtt() else { return false };
        self.max_rtt = self.max_rtt.max(rtt);
        self.min_rtt = ack.min_rtt;
        self.queueing_delay = rtt - ack.min_rtt;
        true
    }

    fn queueing_delay_max(&self) -> Span {
        self.max_rtt - self.min_rtt
    }

    fn backoff_probability(&self) -> f64 {
        let Settings { q_min, q_th, p_max } = self.settings;
        Hump { q_min, q_th, p_max }.probability(self.queueing_delay, self.queueing_delay_max())
    }
}

impl Controller for Hd {
    delegate!(reno: on_start, on_timeout(undo), on_spurious(undo), on_idle_restart, window, slow_start_threshold);

    fn on_ack(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        let observed = self.observe(ack);
        let probability = self.backoff_probability();
        if observed && self.backoffs.responds(cx, ack, probability) {
            self.reno.multiplicative_decrease(BETA);
        } else {
            self.reno.grow(cx, ack);
        }
    }

    fn on_duplicate_ack(&mut self, _cx: &mut Context<'_>, ack: &Ack) {
        self.observe(ack);
    }

    fn on_loss(&mut self, _cx: &mut Context<'_>, loss: &Loss) {
        self.undo.remember(self.reno);
        self.reno.multiplicative_decrease(BETA);
        self.backoffs.on_loss(loss);
    }

    fn probe(&self, out: &mut dyn Probe) {
        out.value("queueing_delay_ms", self.queueing_delay.as_millis_f64());
        out.value("queueing_delay_max_ms", self.queueing_delay_max().as_millis_f64());
        out.value("backoff_probability", self.backoff_probability());
        out.value("backoffs", self.backoffs.responses as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{World, ack, loss, probed, rtt};

    #[test]
    fn a_back_off_halves_once_a_round_trip_and_not_in_that_of_a_loss() {
        let mut world = World::new();
        let settings = Settings { p_max: 1.0, ..Settings::default() };
        let mut hd = Hd { reno: Reno { window: 64.0, threshold: 2.0 }, ..Hd::new(settings) };
        // 20 ms above the minimum of 40 ms, where the probability is p_max.
        let certain = Ack { rtt: rtt(60), acknowledged_to: 10, sent_to: 74, ..ack() };
        hd.on_ack(&mut world.context(), &certain);
        assert_eq!(hd.window(), 32.0);
        hd.on_ack(&mut world.context(), &Ack { acknowledged_to: 73, sent_to: 106, ..certain });
        assert!((hd.window() - 32.03125).abs() < 1e-12, "still the same round trip");
        hd.on_ack(&mut world.context(), &Ack { acknowledged_to: 74, sent_to: 106, ..certain });
        assert_eq!((hd.window(), probed(&hd, "backoffs")), (16.015625, 2.0));
        hd.on_loss(&mut world.context(), &Loss { acknowledged_to: 90, sent_to: 120, ..loss() });
        hd.on_ack(&mut world.context(), &Ack { acknowledged_to: 119, ..certain });
        assert!((hd.window() - 8.0).abs() < 0.2, "{}", hd.window());
    }

    #[test]
    fn an_ack_without_sample_backs_off_for_none() {
        let mut world = World::new();
        let settings = Settings { p_max: 1.0, ..Settings::default() };
        let mut hd = Hd { reno: Reno { window: 50.0, threshold: 2.0 }, ..Hd::new(settings) };
        hd.on_duplicate_ack(&mut world.context(), &Ack { rtt: rtt(60), ..ack() });
        hd.on_ack(&mut world.context(), &ack());
        assert!((hd.window() - 50.02).abs() < 1e-12);
    }
}
