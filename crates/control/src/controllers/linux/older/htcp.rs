//! H-TCP of Linux 3.5 (`tcp_htcp.c`), in real numbers and without ticks. The paper's is `controllers/htcp.rs`, that of
//! Linux 6 `linux/htcp.rs`.
//!
//! Differences from the paper: the increase function is a whole number, and counts the segments that an ACK covers
//! while other controllers count ACKs. The share kept adapts after two steady epochs, with an R_min above 10 ms; it is
//! at most 102/128.

use units::{Span, Time};

use crate::controllers::htcp::{self, ratio};
use crate::entry::Form;
use crate::parameters::parameters;
use crate::parts::epoch_measures::Measures;
use crate::parts::reno::delegate;
use crate::{Ack, Context, Controller, Loss, Probe, Reno, Undo};

/// The form of H-TCP.
pub(crate) const FORM: Form = Form {
    parameters: Settings::PARAMETERS,
    probes: htcp::ENTRY.probes,
    make: |given| Ok(Box::new(HTcp::new(Settings::read(given)?))),
};

parameters! {
    /// The parameter of the module.
    struct Settings {
        /// The increase is in proportion to the smallest RTT, so that flows gain alike whatever their RTT
        rtt_scaling: bool = true, source "Linux, use_rtt_scaling";
    }
}

/// Standard TCP's increase for so many seconds after a congestion event (Delta_L).
const DELTA_L: f64 = 1.0;
/// A larger change of the throughput makes the next loss keep the smallest share (Delta_B).
const DELTA_B: f64 = 0.2;
/// The smallest and largest share kept.
const BETA_MIN: f64 = 0.5;
const BETA_MAX: f64 = 0.797;
/// Steady epochs after which the share kept adapts, above this R_min.
const STABLE_EPOCHS: u32 = 2;
const ADAPT_ABOVE: Span = Span::from_millis(10);

/// The state that a spurious congestion event restores.
#[derive(Clone, Copy, Debug, PartialEq)]
struct State {
    reno: Reno,
    /// The share kept by the last loss.
    beta: f64,
    /// Epochs in a row without a change of throughput.
    stable: u32,
    measures: Measures,
}

/// The controller.
#[derive(Clone, Copy, Debug)]
struct HTcp {
    settings: Settings,
    state: State,
    undo: Undo<State>,
    in_recovery: bool,
    rtt_min: Span,
    alpha: f64,
}

impl HTcp {
    fn new(settings: Settings) -> Self {
        let state = State { reno: Reno::new(), beta: BETA_MIN, stable: 0, measures: Measures::default() };
        Self { settings, state, undo: Undo::default(), in_recovery: false, rtt_min: Span::ZERO, alpha: 1.0 }
    }

    /// The increase function, `since` seconds after the last congestion event.
    fn f(&self, since: f64) -> f64 {
        let high_speed = since - DELTA_L;
        let half = high_speed / 2.0;
        let f = if high_speed > 0.0 { 1.0 + (10.0 * high_speed + half * half).floor() } else { 1.0 };
        if !self.settings.rtt_scaling || self.rtt_min.is_zero() {
            return f;
        }
        (f / ratio(self.rtt_min)).floor().max(1.0)
    }

    /// Takes the measures of `ack`.
    fn measure(&mut self, now: Time, ack: &Ack) {
        self.state.measures.observe(&mut self.rtt_min, ack);
        self.state.measures.deliver(now, self.rtt_min, ack);
    }

    /// A congestion event: works out the share to keep, and begins a new epoch.
    fn adapt(&mut self, now: Time) {
        self.undo.remember(self.state);
        let state = &mut self.state;
        state.stable = if state.measures.throughput_changed(DELTA_B) { 0 } else { state.stable + 1 };
        state.beta = if state.stable >= STABLE_EPOCHS && self.rtt_min > ADAPT_ABOVE {
            state.measures.rtt_ratio(self.rtt_min).clamp(BETA_MIN, BETA_MAX)
        } else {
            BETA_MIN
        };
        state.measures.end_epoch(now, self.rtt_min);
    }
}

impl Controller for HTcp {
    delegate!(state.reno: on_idle_restart, keep, window, slow_start_threshold);

    fn on_start(&mut self, cx: &mut Context<'_>) {
        self.state.reno.start(cx);
        self.state.measures.restart(cx.now);
    }

    fn on_ack(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        self.measure(cx.now, ack);
        self.alpha = 2.0 * (1.0 - self.state.beta) * self.f(self.state.measures.since(cx.now));
        let reno = &mut self.state.reno;
        if reno.grows_exponentially(ack) {
            reno.grow_by(ack, self.alpha);
        } else if ack.window_limited {
            reno.additive_increase(f64::from(ack.covers()), self.alpha);
        }
    }

    fn on_duplicate_ack(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        if !self.in_recovery {
            self.measure(cx.now, ack);
        }
    }

    fn on_loss(&mut self, cx: &mut Context<'_>, _loss: &Loss) {
        self.adapt(cx.now);
        self.in_recovery = true;
        self.state.reno.multiplicative_decrease(self.state.beta);
    }

    fn on_recovered(&mut self, cx: &mut Context<'_>) {
        self.in_recovery = false;
        self.state.measures.restart(cx.now);
    }

    fn on_timeout(&mut self, cx: &mut Context<'_>, loss: &Loss) {
        if !loss.again {
            self.adapt(cx.now);
        }
        self.in_recovery = false;
        self.state.measures.restart(cx.now);
        self.state.reno.timeout(self.state.beta, loss.again);
    }

    fn on_spurious(&mut self, cx: &mut Context<'_>) {
        self.in_recovery = false;
        if let Some(before) = self.undo.take() {
            let mut reno = self.state.reno;
            reno.restore(before.reno);
            self.state = State { reno, ..before };
            self.state.measures.begin_round(cx.now);
        }
    }

    fn probe(&self, out: &mut dyn Probe) {
        out.value("alpha", self.alpha);
        out.value("beta", self.state.beta);
        out.value("rtt_max_ms", self.state.measures.rtt_max.as_millis_f64());
        out.value("throughput", self.state.measures.throughput());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Counting;
    use crate::testing::{World, ack, loss};

    fn at(window: f64) -> HTcp {
        let mut htcp = HTcp::new(Settings::default());
        htcp.state.reno = Reno { window, threshold: 2.0 };
        htcp.rtt_min = Span::from_millis(100);
        htcp
    }

    #[test]
    fn the_increase_function_is_a_whole_number() {
        let mut htcp = at(100.0);
        // 2.6 + 0.0169 gives 2.
        assert_eq!((htcp.f(0.5), htcp.f(1.26), htcp.f(3.0)), (1.0, 3.0, 22.0));
        // f = 22 at 3 s. 40 ms: a ratio of 2.5; 5 ms: 20, limited to 10; 400 ms: 0.25, limited to 0.5.
        for (millis, f) in [(40, 8.0), (5, 2.0), (400, 44.0)] {
            htcp.rtt_min = Span::from_millis(millis);
            assert_eq!(htcp.f(3.0), f, "{millis} ms");
        }
    }

    #[test]
    fn the_increase_counts_segments_where_the_stack_counts_acks() {
        let mut htcp = at(100.0);
        let min_rtt = Span::from_millis(100);
        let two = Ack { newly_acknowledged: 2, newly_delivered: 2, min_rtt, counting: Counting::PerAck, ..ack() };
        htcp.on_ack(&mut World::new().context(), &two);
        assert!((htcp.window() - 100.02).abs() < 1e-9, "{}", htcp.window());
    }

    /// An epoch in which every round trip of `least` ms delivers 50 segments, the RTT goes to `most`, and a loss ends
    /// it. Returns the share kept.
    fn epoch(world: &mut World, htcp: &mut HTcp, least: u64, most: u64) -> f64 {
        htcp.on_recovered(&mut world.context());
        for millis in [least, most, most, most, most, most] {
            world.pass(Span::from_millis(least));
            let ack = Ack {
                rtt: crate::testing::rtt(millis),
                min_rtt: Span::from_millis(least),
                newly_delivered: 50,
                round_start: true,
                window_limited: false,
                ..ack()
            };
            htcp.on_ack(&mut world.context(), &ack);
        }
        let before = htcp.window();
        htcp.on_loss(&mut world.context(), &loss());
        htcp.window() / before
    }

    #[test]
    fn the_share_kept_adapts_in_the_second_steady_epoch_and_above_ten_milliseconds() {
        let mut world = World::new();
        let mut htcp = at(1000.0);
        // The first epoch has none before it. R_min/R_max = 100/120, above the cap of 0.797.
        let kept: Vec<_> = (0..4).map(|_| epoch(&mut world, &mut htcp, 100, 120)).collect();
        assert_eq!(kept[..2], [0.5, 0.5]);
        assert!(kept[2..].iter().all(|kept| (kept - 0.797).abs() < 1e-9), "{kept:?}");
        let mut htcp = at(1000.0);
        assert!((0..4).all(|_| epoch(&mut world, &mut htcp, 10, 12) == 0.5));
    }

    #[test]
    fn a_spurious_loss_gives_the_epoch_back() {
        let mut world = World::new();
        let mut htcp = at(1000.0);
        let kept: Vec<_> = (0..3).map(|_| epoch(&mut world, &mut htcp, 100, 120)).collect();
        assert!(kept[2] > 0.5);
        htcp.on_spurious(&mut world.context());
        assert_eq!((htcp.state.stable, htcp.state.beta), (1, 0.5));
    }
}
