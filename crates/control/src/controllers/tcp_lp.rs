//! TCP-LP, low priority (Kuzmanovic and Knightly, "TCP-LP: low-priority service via end-point congestion control",
//! IEEE/ACM Transactions on Networking 14(4), 2006; INFOCOM 2003).
//!
//! TCP-LP takes what others leave. It infers congestion before they do, from the one-way delay, halves its window, and
//! watches: if the congestion lasts, others are there, and it goes down to one segment.
//!
//! | rule | here |
//! | --- | --- |
//! | smoothed one-way delay sd = (1 - gamma) sd + gamma d | `TcpLp::observe` |
//! | early congestion: sd > d_min + delta (d_max - d_min) | `TcpLp::is_congested` |
//! | first indication: w/2, inference phase; indication within it: w = 1 | `TcpLp::back_off` |
//! | no growth in the inference phase, else w += 1/w | `Controller::on_ack` |
//!
//! Everything else is NewReno's. The paper leaves open:
//! - Only a loss ends the slow start of a new connection, as this slow start finds d_max. Later slow starts heed
//!   indications.
//! - Segments acknowledged within a round trip of a back-off were sent before it and are no second indication.
//! - The inference phase is three smoothed RTTs, and every indication begins it anew.
//! - The RTT takes the place of an unknown one-way delay: the rule needs differences of delays only, but cannot
//!   separate the reverse path from the forward path then.

use units::{Span, Time};

use crate::entry::{Aim, Entry, Quantity};
use crate::parameters::parameters;
use crate::parts::reno::delegate;
use crate::range::above;
use crate::{Ack, Context, Controller, Loss, Probe, Reno, Undo};

/// The entry of TCP-LP in the registry.
pub const ENTRY: Entry = Entry {
    name: "tcp-lp",
    title: "TCP-LP",
    summary: "Low priority: yields when the one-way delay exceeds a share of its range, to one segment if that lasts",
    source: "Kuzmanovic and Knightly 2006",
    aim: Aim::Scavenger,
    parameters: Settings::PARAMETERS,
    probes: &[
        Quantity::new("smoothed_delay_ms", "ms", "Smoothed delay"),
        Quantity::new("threshold_delay_ms", "ms", "Delay above which others are inferred"),
        Quantity::new("inferring", "", "1 in an inference phase"),
        Quantity::new("early_indications", "indications", "Early indications acted upon since the start"),
    ],
    make: |given| Ok(Box::new(TcpLp::new(Settings::read(given)?))),
};

/// The share of the window kept on a loss and on a first indication.
const BETA: f64 = 0.5;

parameters! {
    /// The parameters.
    pub struct Settings {
        /// Share of the range of delays above which the path counts as congested
        delta: f64 = 0.15, range above(0.0).below(1.0), source "the paper's delta";
        /// Weight of each sample in the smoothed delay
        gamma: f64 = 0.125, range above(0.0).up_to(1.0), source "the paper's gamma";
        /// Length of the inference phase
        inference_rtts: f64 = 3.0,
            unit "round trips", range above(0.0).up_to(1000.0), source "the paper's inference time-out";
    }
}

/// One-way delays so far, in milliseconds.
#[derive(Clone, Copy, Debug)]
struct Delays {
    smoothed: f64,
    least: f64,
    greatest: f64,
}

/// The controller.
#[derive(Clone, Copy, Debug)]
pub struct TcpLp {
    settings: Settings,
    reno: Reno,
    undo: Undo,
    delays: Option<Delays>,
    /// The end of the inference phase, in the past if there is none.
    inference_until: Time,
    inferring: bool,
    /// Segments before this one were sent before the last back-off.
    relieved_until: u64,
    early_indications: u64,
}

impl TcpLp {
    /// A controller with `settings`.
    pub fn new(settings: Settings) -> Self {
        Self {
            settings,
            reno: Reno::new(),
            undo: Undo::default(),
            delays: None,
            inference_until: Time::ZERO,
            inferring: false,
            relieved_until: 0,
            early_indications: 0,
        }
    }

    fn observe(&mut self, ack: &Ack) {
        let Some(d) = ack.forward_delay().map(Span::as_millis_f64) else { return };
        let gamma = self.settings.gamma;
        self.delays = Some(match self.delays {
            None => Delays { smoothed: d, least: d, greatest: d },
            Some(past) => Delays {
                smoothed: (1.0 - gamma) * past.smoothed + gamma * d,
                least: past.least.min(d),
                greatest: past.greatest.max(d),
            },
        });
    }

    fn threshold_delay(&self) -> f64 {
        self.delays.map_or(0.0, |d| d.least + self.settings.delta * (d.greatest - d.least))
    }

    fn is_congested(&self) -> bool {
        self.delays.is_some_and(|d| d.smoothed > self.threshold_delay())
    }

    /// An indication of early congestion at `now`.
    fn back_off(&mut self, now: Time, ack: &Ack) {
        if self.inferring {
            self.reno = Reno { window: 1.0, threshold: Reno::MINIMUM };
        } else {
            self.reno.multiplicative_decrease(BETA);
        }
        self.inferring = true;
        self.inference_until = now + ack.smoothed_rtt.scale(self.settings.inference_rtts);
        self.relieved_until = ack.sent_to;
        self.early_indications += 1;
    }
}

impl Controller for TcpLp {
    delegate!(reno: on_start, on_timeout(undo), on_spurious(undo), on_idle_restart, window, slow_start_threshold);

    fn on_ack(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        self.observe(ack);
        self.inferring = self.inferring && cx.now < self.inference_until;
        let delays_known = self.reno.threshold.is_finite();
        if delays_known && ack.acknowledged_to >= self.relieved_until && self.is_congested() {
            self.back_off(cx.now, ack);
        } else if !self.inferring {
            self.reno.grow(cx, ack);
        }
    }

    fn on_duplicate_ack(&mut self, _cx: &mut Context<'_>, ack: &Ack) {
        self.observe(ack);
    }

    fn on_loss(&mut self, _cx: &mut Context<'_>, _loss: &Loss) {
        self.undo.remember(self.reno);
        self.reno.multiplicative_decrease(BETA);
    }

    fn probe(&self, out: &mut dyn Probe) {
        out.value("smoothed_delay_ms", self.delays.map_or(0.0, |d| d.smoothed));
        out.value("threshold_delay_ms", self.threshold_delay());
        out.value("inferring", f64::from(u8::from(self.inferring)));
        out.value("early_indications", self.early_indications as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{World, ack, loss, probed, rtt};

    const MS: fn(u64) -> Span = Span::from_millis;

    /// Delays from 20 to 120 ms are known, of which 15 % is 35 ms, and the smoothed one is 20 ms.
    fn cruising(window: f64) -> TcpLp {
        let delays = Some(Delays { smoothed: 20.0, least: 20.0, greatest: 120.0 });
        TcpLp { reno: Reno { window, threshold: 2.0 }, delays, ..TcpLp::new(Settings::default()) }
    }

    /// An ACK of a segment that took `millis`. Everything sent before `n` is acknowledged, and `n + 10` is next.
    fn arrived(n: u64, millis: u64) -> Ack {
        Ack { one_way_delay: Some(MS(millis)), acknowledged_to: n, sent_to: n + 10, ..ack() }
    }

    #[test]
    fn the_smoothed_delay_must_exceed_15_percent_of_the_range() {
        let mut world = World::new();
        let mut lp = cruising(50.0);
        // 7/8 * 20 + 100/8 = 30; then 26.25 + 12.5 = 38.75, above 35.
        lp.on_ack(&mut world.context(), &arrived(10, 100));
        assert_eq!((probed(&lp, "smoothed_delay_ms"), probed(&lp, "threshold_delay_ms")), (30.0, 35.0));
        assert!((lp.window() - 50.02).abs() < 1e-12);
        lp.on_ack(&mut world.context(), &arrived(11, 100));
        assert_eq!(probed(&lp, "smoothed_delay_ms"), 38.75);
        assert!((lp.window() - 25.01).abs() < 1e-12);
    }

    #[test]
    fn the_inference_phase_of_three_round_trips_does_not_grow() {
        let mut world = World::new();
        let mut lp = cruising(50.0);
        lp.delays = Some(Delays { smoothed: 120.0, ..lp.delays.unwrap() });
        lp.on_ack(&mut world.context(), &arrived(10, 120));
        assert_eq!((lp.window(), probed(&lp, "inferring")), (25.0, 1.0));
        lp.delays = Some(Delays { smoothed: 20.0, ..lp.delays.unwrap() });
        // The smoothed RTT is 40 ms: three are 120 ms.
        world.pass(MS(119));
        lp.on_ack(&mut world.context(), &arrived(40, 20));
        assert_eq!(lp.window(), 25.0);
        world.pass(MS(1));
        lp.on_ack(&mut world.context(), &arrived(41, 20));
        assert!((lp.window() - 25.04).abs() < 1e-12);
        assert_eq!(probed(&lp, "inferring"), 0.0);
    }

    #[test]
    fn a_second_indication_within_the_inference_phase_leaves_one_segment() {
        let mut world = World::new();
        let mut lp = cruising(50.0);
        lp.delays = Some(Delays { smoothed: 120.0, ..lp.delays.unwrap() });
        lp.on_ack(&mut world.context(), &arrived(10, 120));
        world.pass(MS(40));
        lp.on_ack(&mut world.context(), &arrived(19, 120));
        assert_eq!(lp.window(), 25.0, "sent before the back-off");
        lp.on_ack(&mut world.context(), &arrived(20, 120));
        assert_eq!((lp.window(), lp.slow_start_threshold()), (1.0, 2.0));
        assert_eq!(probed(&lp, "early_indications"), 2.0);
    }

    #[test]
    fn the_first_slow_start_ends_with_a_loss_alone() {
        let mut world = World::new();
        let mut lp = TcpLp::new(Settings::default());
        lp.on_start(&mut world.context());
        for (n, millis) in (10..).zip([20, 60, 120, 120, 120]) {
            lp.on_ack(&mut world.context(), &arrived(n, millis));
        }
        assert_eq!(lp.window(), 15.0);
        lp.on_loss(&mut world.context(), &loss());
        assert_eq!(lp.window(), 7.5);
    }

    #[test]
    fn without_one_way_delays_it_takes_round_trips_free_of_the_delayed_ack_timer() {
        let mut world = World::new();
        let mut lp = TcpLp::new(Settings::default());
        let delayed = rtt(90).map(|rtt| crate::RttSample { delayed: true, ..rtt });
        lp.on_ack(&mut world.context(), &Ack { rtt: rtt(50), ..ack() });
        lp.on_ack(&mut world.context(), &Ack { rtt: delayed, ..ack() });
        assert_eq!(probed(&lp, "smoothed_delay_ms"), 50.0);
    }

    #[test]
    fn a_delay_of_just_the_threshold_is_no_congestion() {
        let lp = |smoothed| TcpLp {
            delays: Some(Delays { smoothed, least: 20.0, greatest: 120.0 }),
            ..TcpLp::new(Settings::default())
        };
        assert_eq!([34.9, 35.0, 35.1].map(|smoothed| lp(smoothed).is_congested()), [false, false, true]);
        assert!(!TcpLp::new(Settings::default()).is_congested());
    }
}
