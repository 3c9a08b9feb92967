//! TCP Veno (Fu and Liew, "TCP Veno: TCP enhancement for transmission over wireless access networks", IEEE JSAC 21(2),
//! 2003).
//!
//! NewReno that estimates its segments in the queue as Vegas does. With few, a loss is taken for one of the link, not
//! of congestion, and takes a fifth. With many the window grows by a segment in two round trips.
//!
//! | rule | here |
//! | --- | --- |
//! | N = w (1 - R_base/R_min) | `parts/queue_meter.rs` |
//! | N >= beta: one segment in two round trips | `Controller::on_ack` |
//! | loss: 4/5 kept with N < beta, else 1/2 | `Veno::kept` |
//!
//! Notable differences from the paper: R_min is the smallest RTT of a round trip. Half a segment a round trip replaces
//! one in two. A timeout halves.
//!
//! Linux's module is `linux/veno.rs`.

use crate::entry::{Aim, Entry, Quantity};
use crate::parameters::parameters;
use crate::parts::queue_meter::QueueMeter;
use crate::parts::reno::delegate;
use crate::range::above;
use crate::{Ack, Context, Controller, Loss, Probe, Reno, Undo, Wants};

/// The entry of Veno in the registry.
pub const ENTRY: Entry = Entry {
    name: "veno",
    title: "TCP Veno",
    summary: "NewReno that gives up a fifth on a loss with a short queue, and grows half as fast with a long one",
    source: "Fu and Liew 2003; Linux",
    aim: Aim::General,
    parameters: Settings::PARAMETERS,
    probes: &[Quantity::new("waiting", "segments", "N, own segments in the queue")],
    make: |given| Ok(Box::new(Veno::new(Settings::read(given)?))),
};

const KEPT_BY_RANDOM_LOSS: f64 = 0.8;
const KEPT_BY_CONGESTION: f64 = 0.5;

parameters! {
    /// The parameters.
    pub struct Settings {
        /// From so many own segments in the queue on there is congestion
        beta: f64 = 3.0, unit "segments", range above(0.0).up_to(1_000_000.0), source "section II, beta";
    }
}

/// The controller.
#[derive(Clone, Copy, Debug)]
pub struct Veno {
    settings: Settings,
    reno: Reno,
    undo: Undo,
    meter: QueueMeter,
    /// N.
    waiting: f64,
}

impl Veno {
    /// A controller with `settings`.
    pub fn new(settings: Settings) -> Self {
        let meter = QueueMeter::new(false);
        Self { settings, reno: Reno::new(), undo: Undo::default(), meter, waiting: 0.0 }
    }

    fn is_congested(&self) -> bool {
        self.waiting >= self.settings.beta
    }

    /// The share of the window that a loss leaves.
    fn kept(&self) -> f64 {
        self.reno.window * if self.is_congested() { KEPT_BY_CONGESTION } else { KEPT_BY_RANDOM_LOSS }
    }
}

impl Controller for Veno {
    delegate!(reno: on_start, on_spurious(undo), keep, window, slow_start_threshold);

    fn wants(&self) -> Wants {
        Wants { exact_rtt: true, ..Wants::default() }
    }

    fn on_ack(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        self.meter.observe(ack);
        if let Some(estimate) = self.meter.close(ack, self.reno.window) {
            self.waiting = estimate.queue;
        }
        self.reno.grow_by(cx, ack, if self.is_congested() { 0.5 } else { 1.0 });
    }

    fn on_duplicate_ack(&mut self, _cx: &mut Context<'_>, ack: &Ack) {
        self.meter.observe(ack);
    }

    fn on_loss(&mut self, _cx: &mut Context<'_>, _loss: &Loss) {
        self.undo.remember(self.reno);
        self.reno.reduce_to(self.kept());
    }

    fn on_recovered(&mut self, _cx: &mut Context<'_>) {
        self.meter.restart();
    }

    fn on_timeout(&mut self, _cx: &mut Context<'_>, loss: &Loss) {
        self.undo.remember_first(loss, self.reno);
        self.reno.timeout(KEPT_BY_CONGESTION, loss.again);
        self.meter.restart();
    }

    fn on_idle_restart(&mut self, cx: &mut Context<'_>) {
        self.reno.idle_restart(cx);
        self.meter.forget();
    }

    fn probe(&self, out: &mut dyn Probe) {
        out.value("waiting", self.waiting);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{World, ack, loss, rtt};

    fn at(window: f64) -> Veno {
        let mut veno = Veno::new(Settings::default());
        veno.reno = Reno { window, threshold: 2.0 };
        (0..3).for_each(|_| veno.on_duplicate_ack(&mut World::new().context(), &Ack { rtt: rtt(100), ..ack() }));
        veno.meter.restart();
        veno
    }

    /// A round trip of `millis` on a path of 100 ms, all in one ACK.
    fn round(veno: &mut Veno, millis: u64) {
        let (all, end) = (veno.window() as u32, veno.meter.end() + 1);
        let of = Ack { rtt: rtt(millis), acknowledged_to: end, sent_to: end, in_flight: 0, ..ack() };
        (0..2).for_each(|_| veno.on_duplicate_ack(&mut World::new().context(), &of));
        veno.on_ack(&mut World::new().context(), &Ack { newly_acknowledged: all, newly_delivered: all, ..of });
    }

    #[test]
    fn with_a_long_queue_the_window_grows_half_as_fast() {
        // 50 segments: 2.9 of them wait at 106.2 ms, 3.4 at 107.3; of them 1 - 100/106 and 1 - 100/107.
        for (millis, after) in [(106, 51.0), (107, 50.5)] {
            let mut veno = at(50.0);
            round(&mut veno, millis);
            assert_eq!(veno.window(), after, "{millis} ms");
        }
    }

    #[test]
    fn a_loss_takes_a_fifth_with_a_short_queue_and_a_half_with_a_long_one() {
        for (millis, after) in [(102, 40.8), (110, 25.25)] {
            let mut veno = at(50.0);
            round(&mut veno, millis);
            veno.on_loss(&mut World::new().context(), &loss());
            assert!((veno.window() - after).abs() < 1e-9, "{millis} ms: {}", veno.window());
        }
    }

    #[test]
    fn a_timeout_halves() {
        let mut veno = at(50.0);
        veno.on_timeout(&mut World::new().context(), &loss());
        assert_eq!((veno.window(), veno.slow_start_threshold()), (1.0, 25.0));
    }
}
