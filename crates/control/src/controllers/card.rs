//! CARD, "Congestion Avoidance using Round-trip Delay" (Jain, "A delay-based approach for congestion avoidance in
//! interconnected heterogeneous computer networks", Computer Communication Review 19(5), 1989), in the form without
//! window that Hayes and Armitage 2011, section 2, give.
//!
//! Every other round trip CARD compares the RTT with the one of the last decision. If it rose the window gives up an
//! eighth, otherwise it grows by one segment.
//!
//! | rule (Hayes and Armitage 2011, section 2) | here |
//! | --- | --- |
//! | (tau_i - tau_{i-1})/(tau_i + tau_{i-1}) > 0: congestion | `Card::decide` |
//! | w = 7/8 w on congestion, w + 1 otherwise, every second RTT | `Card::decide` |
//!
//! Notable points:
//! - Jain's normalized delay gradient divides by the relative change of the window, so that a window that shrinks
//!   under rising delay is not blamed. The form without window blames it.
//! - Slow start, losses and timeouts are NewReno's. The first sign of congestion ends slow start.
//! - tau is the last usable RTT sample of the round trip that ends. After a loss the next decision has nothing to
//!   compare with, and grows the window.

use units::Span;

use crate::entry::{Aim, Entry, Quantity};
use crate::parameters::parameters;
use crate::parts::reno::delegate;
use crate::range::{above, from};
use crate::{Ack, Context, Controller, Loss, Probe, Reno, Undo};

/// The entry of CARD in the registry.
pub const ENTRY: Entry = Entry {
    name: "card",
    title: "CARD",
    summary: "Gives up an eighth of the window when the RTT rose since the last decision, adds a segment otherwise",
    source: "Jain 1989",
    aim: Aim::Delay,
    parameters: Settings::PARAMETERS,
    probes: &[
        Quantity::new("rtt_ms", "ms", "tau of the last decision; 0 before the first"),
        Quantity::new("gradient", "", "(tau_i - tau_{i-1})/(tau_i + tau_{i-1}) of the last decision"),
        Quantity::new("decreases", "decreases", "Decreases by delay since the start"),
    ],
    make: |given| Ok(Box::new(Card::new(Settings::read(given)?))),
};

/// The share of the window kept on a loss.
const BETA_LOSS: f64 = 0.5;

parameters! {
    /// The parameters.
    pub struct Settings {
        /// Share of the window kept when the RTT rose
        beta: f64 = 0.875, range above(0.0).below(1.0), source "Hayes and Armitage 2011, section 2";
        /// Round trips from one decision to the next: the first after a change does not show its effect
        every: u32 = 2, unit "round trips", range from(1).up_to(1000), source "Jain 1989";
    }
}

/// The controller.
#[derive(Clone, Copy, Debug)]
pub struct Card {
    settings: Settings,
    reno: Reno,
    /// The last usable sample of this round trip.
    rtt: Option<Span>,
    /// tau_{i-1}: the sample of the last decision.
    last_rtt: Option<Span>,
    /// Round trips since the last decision.
    rounds: u32,
    undo: Undo,
    gradient: f64,
    decreases: u64,
}

impl Card {
    /// A controller with `settings`.
    pub fn new(settings: Settings) -> Self {
        Self {
            settings,
            reno: Reno::new(),
            rtt: None,
            last_rtt: None,
            rounds: 0,
            undo: Undo::default(),
            gradient: 0.0,
            decreases: 0,
        }
    }

    /// The sample on which a decision is due on `ack`.
    fn due(&mut self, ack: &Ack) -> Option<Span> {
        if let Some(rtt) = ack.undelayed_rtt().filter(|rtt| !rtt.is_zero()) {
            self.rtt = Some(rtt);
        }
        self.rounds += u32::from(ack.round_start);
        if self.rounds < self.settings.every {
            return None;
        }
        self.rounds = 0;
        self.rtt.take()
    }

    /// Decides on the RTT `tau`. Returns whether it rose.
    fn decide(&mut self, tau: Span) -> bool {
        let (now, last) = (tau.as_secs_f64(), self.last_rtt.replace(tau).unwrap_or(tau).as_secs_f64());
        self.gradient = (now - last) / (now + last);
        let congested = self.gradient > 0.0;
        if congested {
            self.reno.multiplicative_decrease(self.settings.beta);
            self.decreases += 1;
        }
        congested
    }

    fn forget(&mut self) {
        self.rtt = None;
        self.last_rtt = None;
        self.rounds = 0;
    }
}

impl Controller for Card {
    delegate!(reno: on_start, on_spurious(undo), window, slow_start_threshold);

    fn on_ack(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        let due = self.due(ack);
        let congested = due.is_some_and(|tau| self.decide(tau));
        if congested || !ack.window_limited {
            return;
        }
        if self.reno.grows_exponentially(cx) {
            self.reno.grow(cx, ack);
        } else if due.is_some() {
            self.reno.window += 1.0;
        }
    }

    fn on_loss(&mut self, _cx: &mut Context<'_>, _loss: &Loss) {
        self.undo.remember(self.reno);
        self.reno.multiplicative_decrease(BETA_LOSS);
        self.forget();
    }

    fn on_timeout(&mut self, _cx: &mut Context<'_>, loss: &Loss) {
        self.undo.remember_first(loss, self.reno);
        self.reno.timeout(BETA_LOSS, loss.again);
        self.forget();
    }

    fn on_idle_restart(&mut self, cx: &mut Context<'_>) {
        self.reno.idle_restart(cx);
        self.forget();
    }

    fn probe(&self, out: &mut dyn Probe) {
        out.value("rtt_ms", self.last_rtt.unwrap_or(Span::ZERO).as_millis_f64());
        out.value("gradient", self.gradient);
        out.value("decreases", self.decreases as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{World, ack, loss, probed, rtt};

    fn cruising(window: f64) -> Card {
        let mut card = Card::new(Settings::default());
        card.reno = Reno { window, threshold: 2.0 };
        card
    }

    /// Two round trips of `millis`: one decision.
    fn decide(card: &mut Card, millis: u64) {
        for _ in 0..2 {
            card.on_ack(&mut World::new().context(), &Ack { rtt: rtt(millis), round_start: true, ..ack() });
        }
    }

    #[test]
    fn a_risen_rtt_takes_an_eighth_an_equal_or_fallen_one_adds_a_segment_every_other_round_trip() {
        let mut card = cruising(39.0);
        for (millis, window) in [(40, 40.0), (60, 35.0), (60, 36.0), (40, 37.0)] {
            decide(&mut card, millis);
            assert_eq!(card.window(), window, "{millis} ms");
        }
        // (60 - 40)/(60 + 40), then (40 - 60)/100.
        assert!((probed(&card, "gradient") + 0.2).abs() < 1e-12);
        assert_eq!(probed(&card, "decreases"), 1.0);
    }

    #[test]
    fn the_first_rise_ends_slow_start() {
        let mut card = Card::new(Settings::default());
        card.reno.window = 16.0;
        decide(&mut card, 40);
        assert_eq!(card.window(), 18.0);
        card.on_ack(&mut World::new().context(), &ack());
        decide(&mut card, 41);
        // 19 and 20, of which an eighth goes.
        assert_eq!((card.window(), card.slow_start_threshold()), (17.5, 17.5));
    }

    #[test]
    fn a_loss_halves_and_leaves_nothing_to_compare_with() {
        let mut card = cruising(40.0);
        decide(&mut card, 40);
        card.on_loss(&mut World::new().context(), &loss());
        assert_eq!(card.window(), 20.5);
        decide(&mut card, 80);
        assert_eq!(card.window(), 21.5);
    }

    #[test]
    fn an_unused_window_shrinks_but_does_not_grow() {
        let mut card = cruising(40.0);
        for (millis, window) in [(40, 40.0), (41, 35.0)] {
            for _ in 0..2 {
                let unused = Ack { rtt: rtt(millis), round_start: true, window_limited: false, ..ack() };
                card.on_ack(&mut World::new().context(), &unused);
            }
            assert_eq!(card.window(), window);
        }
    }
}
