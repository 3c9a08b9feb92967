//! CHD, CAIA-Hamilton delay-based congestion control (Hayes and Armitage, "Improved coexistence and loss tolerance for
//! delay based TCP congestion control", LCN 2010).
//!
//! HD that decides once a round trip, on the largest RTT of it. Losses without a queue are no sign of congestion.
//! Beside the window it keeps another, the shadow window, which does not back off: beside flows that fill the queue a
//! loss halves that one, so that the back-offs before it cost nothing.
//!
//! | rule | here |
//! | --- | --- |
//! | queueing delay q = largest RTT of the round trip - smallest RTT | `Chd::end_round` |
//! | probability of a back-off, per round trip | `Hump::probability` |
//! | back-off: w = w/2; before it s = max(s, w), or s = 0 if q does not exceed that of the last one | `Chd::back_off` |
//! | a back-off at q > q_th: others compete; q <= q_th: none do | `Chd::end_round` |
//! | loss at q > q_th: w = max(w, s) where others compete, then w/2; s/2 at any loss | `Controller::on_loss` |
//! | loss at a smaller q, or a round trip after a back-off: w stays | `Controller::on_loss` |
//! | s grows as w does; s = 0 is none | `Chd::grow` |
//! | a mark (ECN) halves, whatever the queue | `Controller::on_ecn` |
//!
//! Everything else is NewReno's. Shape and rules are the paper's as its authors' module for FreeBSD has them (cc_chd),
//! and so are the values: q_min 5 ms, q_th 20 ms, p_max 50 %. Differences from the module:
//! - Delays are exact, not in ticks of 1 ms.
//! - While no delay beyond q_th was seen before, p is p_max there.
//! - A mark halves the shadow window and a timeout takes it to one segment, as they do NewReno's. The module leaves it.
//! - It decides on ACKs that advance. A round trip that ends on another has no decision.

use units::Span;

use crate::entry::{Aim, Entry, Quantity};
use crate::parameters::parameters;
use crate::parts::probabilistic::{Hump, Probabilistic};
use crate::parts::reno::delegate;
use crate::range::{above, from};
use crate::{Ack, Context, Controller, Loss, Marks, Moment, Probe, Reno, Undo};

/// The entry of CHD in the registry.
pub const ENTRY: Entry = Entry {
    name: "chd",
    title: "CAIA-Hamilton (CHD)",
    summary: "HD that decides once a round trip, bears losses without a queue, and keeps a shadow window for when \
        others fill it",
    source: "Hayes and Armitage 2010",
    aim: Aim::General,
    parameters: Settings::PARAMETERS,
    probes: &[
        Quantity::new("queueing_delay_ms", "ms", "q of the last round trip"),
        Quantity::new("shadow_window", "segments", "s"),
        Quantity::new("competes", "", "1 while loss-based flows are taken to compete"),
        Quantity::new("backoffs", "back-offs", "Back-offs since the start"),
        Quantity::new("tolerated_losses", "losses", "Losses that were not taken for congestion"),
    ],
    make: |given| Ok(Box::new(Chd::new(Settings::read(given)?))),
};

/// The share of the window kept on a loss and by a back-off.
const BETA: f64 = 0.5;

parameters! {
    /// The parameters.
    pub struct Settings {
        /// Queueing delay above which back-offs begin
        q_min: Span = Span::from_millis(5),
            unit "time", range from(Span::ZERO).up_to(Span::from_secs(10)).less_than("q_th"),
            source "FreeBSD, cc_chd(4), queue_min";
        /// Queueing delay at which a back-off is most likely, and above which a loss is of congestion
        q_th: Span = Span::from_millis(20),
            unit "time", range from(Span::from_micros(1)).up_to(Span::from_secs(10)).more_than("q_min"),
            source "FreeBSD, cc_chd(4), queue_threshold";
        /// Probability of a back-off per round trip at q_th
        p_max: f64 = 0.5, range above(0.0).up_to(1.0), source "FreeBSD, cc_chd(4), pmax";
    }
}

/// The state that a spurious loss restores.
#[derive(Clone, Copy, Debug, PartialEq)]
struct State {
    reno: Reno,
    /// s; zero is none.
    shadow: f64,
}

/// The controller.
#[derive(Clone, Copy, Debug)]
pub struct Chd {
    settings: Settings,
    state: State,
    undo: Undo<State>,
    /// Loss-based flows are taken to compete.
    competes: bool,
    min_rtt: Span,
    max_rtt: Span,
    /// The largest RTT of this round trip.
    max_in_round: Span,
    /// q of the last one.
    queueing_delay: Span,
    /// q of the last back-off.
    last_backoff: Span,
    backoffs: Probabilistic,
    tolerated_losses: u64,
}

impl Chd {
    /// A controller with `settings`.
    pub fn new(settings: Settings) -> Self {
        Self {
            settings,
            state: State { reno: Reno::new(), shadow: 0.0 },
            undo: Undo::default(),
            competes: false,
            min_rtt: Span::MAX,
            max_rtt: Span::ZERO,
            max_in_round: Span::ZERO,
            queueing_delay: Span::ZERO,
            last_backoff: Span::ZERO,
            backoffs: Probabilistic::default(),
            tolerated_losses: 0,
        }
    }

    /// Takes the RTT of `ack`. Returns the queueing delay if a round trip with an RTT ends.
    fn observe(&mut self, ack: &Ack) -> Option<Span> {
        if let Some(rtt) = ack.undelayed_rtt() {
            self.max_rtt = self.max_rtt.max(rtt);
            self.max_in_round = self.max_in_round.max(rtt);
            self.min_rtt = ack.min_rtt;
        }
        if !ack.round_start || self.max_in_round.is_zero() {
            return None;
        }
        self.queueing_delay = self.queue();
        self.max_in_round = Span::ZERO;
        Some(self.queueing_delay)
    }

    /// The queueing delay of this round trip so far.
    fn queue(&self) -> Span {
        self.max_in_round.saturating_sub(self.min_rtt)
    }

    /// A round trip ends with a queue of `q`. Says whether the window backs off.
    fn end_round(&mut self, cx: &mut Context<'_>, ack: &Ack, q: Span) -> bool {
        let Settings { q_min, q_th, p_max } = self.settings;
        let probability = Hump { q_min, q_th, p_max }.probability(q, self.max_rtt.saturating_sub(self.min_rtt));
        let backs_off = self.backoffs.responds(cx, ack, probability);
        if q <= q_th {
            self.competes = false;
        } else if backs_off {
            self.competes = true;
        }
        backs_off
    }

    /// The window halves for a queue of `q`.
    fn back_off(&mut self, q: Span) {
        let State { reno, shadow } = &mut self.state;
        // A longer queue than at the last back-off may be of others, who do not back off.
        let others = self.competes || q > self.last_backoff;
        *shadow = if others { shadow.max(reno.window) } else { 0.0 };
        self.last_backoff = q;
        reno.multiplicative_decrease(BETA);
    }

    /// Both windows grow as NewReno's.
    fn grow(&mut self, at: &Moment, ack: &Ack) {
        let State { reno, shadow } = &mut self.state;
        let before = reno.window;
        reno.grow(at, ack);
        if *shadow > 0.0 {
            *shadow += reno.window - before;
        }
    }

    fn halve_shadow(&mut self) {
        if self.state.shadow > 0.0 {
            self.state.shadow = (self.state.shadow * BETA).max(Reno::MINIMUM);
        }
    }
}

impl Controller for Chd {
    delegate!(state.reno: window, slow_start_threshold);

    fn on_start(&mut self, cx: &mut Context<'_>) {
        self.state.reno.start(cx);
        // Others may compete from the first.
        self.state.shadow = self.state.reno.window;
    }

    fn on_ack(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        match self.observe(ack) {
            Some(q) if self.end_round(cx, ack, q) => self.back_off(q),
            _ => self.grow(cx, ack),
        }
    }

    fn on_duplicate_ack(&mut self, _cx: &mut Context<'_>, ack: &Ack) {
        self.observe(ack);
    }

    fn on_loss(&mut self, _cx: &mut Context<'_>, loss: &Loss) {
        self.undo.remember(self.state);
        // The delay of this round trip, or of the last one while this has no sample.
        let q = if self.max_in_round.is_zero() { self.queueing_delay } else { self.queue() };
        let State { reno, shadow } = &mut self.state;
        if q > self.settings.q_th && !self.backoffs.is_recent(loss.acknowledged_to) {
            if self.competes {
                reno.window = reno.window.max(*shadow);
            }
            reno.multiplicative_decrease(BETA);
        } else {
            reno.threshold = reno.window.max(Reno::MINIMUM);
            self.tolerated_losses += 1;
        }
        self.halve_shadow();
        self.backoffs.on_loss(loss);
    }

    fn on_ecn(&mut self, _cx: &mut Context<'_>, marks: &Marks) {
        self.undo.forget();
        self.state.reno.multiplicative_decrease(BETA);
        self.halve_shadow();
        self.backoffs.on_loss(&marks.as_loss());
    }

    fn on_timeout(&mut self, _cx: &mut Context<'_>, loss: &Loss) {
        self.undo.remember_first(loss, self.state);
        self.state.reno.timeout(BETA, loss.again);
        self.state.shadow = self.state.shadow.min(self.state.reno.window);
        self.backoffs.on_loss(loss);
    }

    fn on_spurious(&mut self, _cx: &mut Context<'_>) {
        if let Some(before) = self.undo.take() {
            self.state.reno.restore(before.reno);
            self.state.shadow = self.state.shadow.max(before.shadow);
        }
    }

    fn on_idle_restart(&mut self, cx: &mut Context<'_>) {
        self.state.reno.idle_restart(cx);
        self.max_in_round = Span::ZERO;
    }

    fn probe(&self, out: &mut dyn Probe) {
        out.value("queueing_delay_ms", self.queueing_delay.as_millis_f64());
        out.value("shadow_window", self.state.shadow);
        out.value("competes", f64::from(u8::from(self.competes)));
        out.value("backoffs", self.backoffs.responses as f64);
        out.value("tolerated_losses", self.tolerated_losses as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{World, ack, loss, probed, rtt};

    /// A flow with `window` segments that backs off for certain at q_th.
    fn flow(window: f64, shadow: f64) -> Chd {
        let settings = Settings { p_max: 1.0, ..Settings::default() };
        Chd { state: State { reno: Reno { window, threshold: 2.0 }, shadow }, ..Chd::new(settings) }
    }

    /// The ACK of `number` that ends a round trip whose largest RTT is `millis`, on a path of 40 ms.
    fn round(chd: &mut Chd, millis: u64, number: u64) {
        let end = Ack { rtt: rtt(millis), round_start: true, acknowledged_to: number, sent_to: number + 10, ..ack() };
        chd.on_ack(&mut World::new().context(), &end);
    }

    #[test]
    fn the_largest_rtt_of_a_round_trip_decides_and_only_at_its_end() {
        let mut world = World::new();
        let mut chd = flow(40.0, 0.0);
        // 60 ms is q_th above 40. The round trip ends with a smaller one.
        chd.on_ack(&mut world.context(), &Ack { rtt: rtt(60), acknowledged_to: 1, sent_to: 41, ..ack() });
        assert!((chd.window() - 40.025).abs() < 1e-12);
        round(&mut chd, 45, 2);
        assert!((chd.window() - 20.0125).abs() < 1e-12, "{}", chd.window());
        assert_eq!((probed(&chd, "queueing_delay_ms"), probed(&chd, "backoffs")), (20.0, 1.0));
        // The next round trip is another one: 5 ms are no queue.
        round(&mut chd, 45, 60);
        assert_eq!(probed(&chd, "queueing_delay_ms"), 5.0);
        assert!(chd.window() > 20.0125);
    }

    #[test]
    fn a_longer_queue_than_at_the_last_back_off_keeps_the_window_as_shadow_and_a_shorter_one_drops_it() {
        let mut chd = flow(40.0, 0.0);
        round(&mut chd, 60, 10);
        assert_eq!((chd.window(), probed(&chd, "shadow_window")), (20.0, 40.0));
        // It grows as the window: 1/20 here.
        chd.on_ack(&mut World::new().context(), &ack());
        assert!((probed(&chd, "shadow_window") - 40.05).abs() < 1e-12);
        // As long as before, and not above q_th: it was our own.
        round(&mut chd, 60, 30);
        assert_eq!((probed(&chd, "shadow_window"), probed(&chd, "competes")), (0.0, 0.0));
    }

    #[test]
    fn a_back_off_beyond_the_threshold_shows_others_until_the_queue_is_short() {
        let mut chd = flow(40.0, 30.0);
        // No larger RTT is known than this one, so that p falls to 0 at it.
        round(&mut chd, 100, 10);
        assert_eq!((probed(&chd, "backoffs"), probed(&chd, "competes")), (0.0, 0.0));
        // At 61 ms, of 20 to 60 ms of queue 39 of 40 parts: with p of 0.975 the draw of this test backs off.
        round(&mut chd, 61, 20);
        assert_eq!((probed(&chd, "backoffs"), probed(&chd, "competes")), (1.0, 1.0));
        round(&mut chd, 44, 40);
        assert_eq!(probed(&chd, "competes"), 0.0);
    }

    #[test]
    fn beside_others_a_loss_halves_the_shadow_window() {
        let mut world = World::new();
        let mut chd = Chd { competes: true, ..flow(20.0, 60.0) };
        chd.observe(&Ack { rtt: rtt(70), ..ack() });
        chd.on_loss(&mut world.context(), &loss());
        assert_eq!((chd.window(), probed(&chd, "shadow_window")), (30.0, 30.0));
        chd.on_spurious(&mut world.context());
        assert_eq!((chd.window(), probed(&chd, "shadow_window")), (30.0, 60.0));
        // Without competing flows the window itself is halved.
        let mut alone = flow(20.0, 60.0);
        alone.observe(&Ack { rtt: rtt(70), ..ack() });
        alone.on_loss(&mut world.context(), &loss());
        assert_eq!((alone.window(), probed(&alone, "shadow_window")), (10.0, 30.0));
    }

    #[test]
    fn a_loss_without_a_queue_or_right_after_a_back_off_takes_nothing_of_the_window() {
        let mut world = World::new();
        let mut chd = flow(20.0, 60.0);
        chd.observe(&Ack { rtt: rtt(60), ..ack() });
        chd.on_loss(&mut world.context(), &loss());
        assert_eq!((chd.window(), chd.slow_start_threshold()), (20.0, 20.0));
        assert_eq!((probed(&chd, "shadow_window"), probed(&chd, "tolerated_losses")), (30.0, 1.0));
        let mut chd = flow(40.0, 0.0);
        chd.max_rtt = Span::from_millis(1000);
        // p is 939 of 940 parts: the draw backs off. The acknowledged segments were sent before it.
        round(&mut chd, 61, 10);
        assert_eq!(chd.window(), 20.0);
        chd.observe(&Ack { rtt: rtt(70), ..ack() });
        chd.on_loss(&mut world.context(), &Loss { acknowledged_to: 19, sent_to: 30, ..loss() });
        assert_eq!(chd.window(), 20.0);
    }

    #[test]
    fn a_mark_halves_without_a_queue() {
        let mut chd = flow(20.0, 60.0);
        let marks = Marks { in_flight: 20, acknowledged_to: 0, sent_to: 20, at: units::Time::ZERO };
        chd.on_ecn(&mut World::new().context(), &marks);
        assert_eq!((chd.window(), probed(&chd, "shadow_window")), (10.0, 30.0));
    }

    #[test]
    fn a_timeout_takes_the_shadow_window_with_it() {
        let mut chd = flow(20.0, 60.0);
        chd.on_timeout(&mut World::new().context(), &loss());
        assert_eq!((chd.window(), chd.slow_start_threshold(), probed(&chd, "shadow_window")), (1.0, 10.0, 1.0));
    }

    #[test]
    fn a_loss_does_not_make_a_shadow_window_of_none() {
        let mut chd = flow(20.0, 0.0);
        chd.on_loss(&mut World::new().context(), &loss());
        assert_eq!(probed(&chd, "shadow_window"), 0.0);
    }
}
