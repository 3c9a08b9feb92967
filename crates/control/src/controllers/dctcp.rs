//! DCTCP, data center TCP (RFC 8257; Alizadeh et al., "Data center TCP (DCTCP)", SIGCOMM 2010).
//!
//! Switches mark every packet that meets more than a threshold in the queue. The sender estimates the share of marked
//! segments and gives up half that share of its window once a window of data: a little where few are marked, half where
//! all are.
//!
//! | RFC 8257, section 3.3 | here |
//! | --- | --- |
//! | M = bytes marked / bytes acknowledged, once a window of data | `Dctcp::estimate` |
//! | Alpha = Alpha (1 - g) + g M | `Dctcp::estimate` |
//! | cwnd = cwnd (1 - Alpha/2), once a window of data | `Dctcp::reduce` |
//! | loss and timeout as in other TCPs (section 3.5) | [`Reno`] |
//!
//! Differences: segments are counted instead of bytes, and marks by accurate ECN (RFC 9768) instead of the receiver's
//! state machine of section 3.2. With `ecn = true` the receiver repeats an echo until a reduction is announced to it,
//! and every segment until then counts as marked. The window does not grow in the window of data after a reduction
//! (RFC 3168, section 6.1.2). A window that is not fully used does not grow.

use crate::entry::{Aim, Entry, Quantity};
use crate::parameters::parameters;
use crate::parts::reno::delegate;
use crate::range::{above, from};
use crate::{Ack, Context, Controller, Loss, Probe, Reno, Undo, Wants};

/// The entry of DCTCP in the registry.
pub const ENTRY: Entry = Entry {
    name: "dctcp",
    title: "DCTCP",
    summary: "Gives up half the share of segments that the path marks (ECN)",
    source: "RFC 8257",
    aim: Aim::Marks,
    parameters: Settings::PARAMETERS,
    probes: &[
        Quantity::new("alpha", "", "Alpha, the estimated share of marked segments"),
        Quantity::new("marked_share", "", "M, the share of the last window of data"),
        Quantity::new("reductions", "reductions", "Reductions for marks since the start"),
    ],
    make: |given| Ok(Box::new(Dctcp::new(Settings::read(given)?))),
};

/// The share of the window kept on a loss.
const BETA: f64 = 0.5;

parameters! {
    /// The parameters.
    pub struct Settings {
        /// Weight of the last window of data in the estimate
        g: f64 = 0.0625, range above(0.0).up_to(1.0), source "RFC 8257, section 4.2, g; Linux, dctcp_shift_g";
        /// The estimate before the first mark; 1 makes the first reduction a half
        initial_alpha: f64 = 1.0,
            range from(0.0).up_to(1.0), source "RFC 8257, section 3.5, DCTCP.Alpha; Linux, dctcp_alpha_on_init";
    }
}

/// The controller.
#[derive(Clone, Copy, Debug)]
pub struct Dctcp {
    settings: Settings,
    reno: Reno,
    undo: Undo,
    alpha: f64,
    marked_share: f64,
    /// Segments delivered and marked in this window of data.
    delivered: u64,
    marked: u64,
    /// It ends when more than this is acknowledged (DCTCP.WindowEnd).
    window_end: u64,
    /// No further reduction, nor growth, until more than this is acknowledged.
    reduced_to: Option<u64>,
    reductions: u64,
}

impl Dctcp {
    /// A controller with `settings`.
    pub fn new(settings: Settings) -> Self {
        Self {
            settings,
            reno: Reno::new(),
            undo: Undo::default(),
            alpha: settings.initial_alpha,
            marked_share: 0.0,
            delivered: 0,
            marked: 0,
            window_end: 0,
            reduced_to: None,
            reductions: 0,
        }
    }

    /// Counts the marks of `ack`. At the end of a window of data the estimate follows their share.
    fn estimate(&mut self, ack: &Ack) {
        let repeated = if ack.ecn_echo { ack.newly_delivered } else { 0 };
        let marked = if ack.newly_marked > 0 { ack.newly_marked } else { repeated };
        self.delivered += u64::from(ack.newly_delivered);
        self.marked += u64::from(marked);
        if ack.acknowledged_to <= self.window_end || self.delivered == 0 {
            return;
        }
        self.marked_share = (self.marked as f64 / self.delivered as f64).min(1.0);
        self.alpha += self.settings.g * (self.marked_share - self.alpha);
        (self.delivered, self.marked) = (0, 0);
        self.window_end = ack.sent_to;
    }

    /// Gives up half the share of marked segments.
    fn reduce(&mut self, ack: &Ack) {
        self.undo.forget();
        self.reno.multiplicative_decrease(1.0 - self.alpha / 2.0);
        self.reduced_to = Some(ack.sent_to);
        self.reductions += 1;
    }

    /// Takes in the marks of an ACK. True if the window may grow.
    fn on_marks(&mut self, ack: &Ack) -> bool {
        self.estimate(ack);
        self.reduced_to = self.reduced_to.filter(|&end| ack.acknowledged_to <= end);
        if ack.ecn_echo && self.reduced_to.is_none() {
            self.reduce(ack);
        }
        self.reduced_to.is_none()
    }
}

impl Controller for Dctcp {
    delegate!(reno: on_start, on_timeout(undo), on_spurious(undo), on_idle_restart, window, slow_start_threshold);

    fn wants(&self) -> Wants {
        Wants { governs_marks: true, needs_marks: true, ..Wants::default() }
    }

    fn on_ack(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        if self.on_marks(ack) {
            self.reno.grow(cx, ack);
        }
    }

    fn on_duplicate_ack(&mut self, _cx: &mut Context<'_>, ack: &Ack) {
        self.on_marks(ack);
    }

    fn on_loss(&mut self, _cx: &mut Context<'_>, _loss: &Loss) {
        self.undo.remember(self.reno);
        self.reno.multiplicative_decrease(BETA);
    }

    fn probe(&self, out: &mut dyn Probe) {
        out.value("alpha", self.alpha);
        out.value("marked_share", self.marked_share);
        out.value("reductions", self.reductions as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{World, ack, loss, probed};

    fn at(window: f64, alpha: f64) -> Dctcp {
        Dctcp { reno: Reno { window, threshold: window }, alpha, ..Dctcp::new(Settings::default()) }
    }

    /// An ACK up to segment `to` of 100 sent, for ten segments of which `marked` were marked.
    fn marked(to: u64, sent_to: u64, marked: u32) -> Ack {
        let (newly_marked, ecn_echo) = (marked, marked > 0);
        Ack { newly_delivered: 10, acknowledged_to: to, sent_to, newly_marked, ecn_echo, ..ack() }
    }

    #[test]
    fn the_estimate_follows_the_share_of_a_window_of_data() {
        let mut world = World::new();
        let mut dctcp = at(100.0, 0.5);
        // The first ACK ends a window of data without marks: 0.5 * 15/16 = 0.46875. The next one ends above 110.
        dctcp.on_ack(&mut world.context(), &marked(10, 110, 0));
        assert_eq!(probed(&dctcp, "alpha"), 0.46875);
        (2..=11).for_each(|n| dctcp.on_ack(&mut world.context(), &marked(10 * n, 110 + 10 * n, 4)));
        assert_eq!(probed(&dctcp, "alpha"), 0.46875);
        // 44 of 110: 0.46875 * 15/16 + 0.4/16 = 0.464453.
        dctcp.on_ack(&mut world.context(), &marked(120, 230, 4));
        assert_eq!(probed(&dctcp, "marked_share"), 0.4);
        assert!((probed(&dctcp, "alpha") - 0.464_453).abs() < 1e-6);
    }

    #[test]
    fn marks_take_half_their_share_once_a_window_of_data() {
        let mut world = World::new();
        let mut dctcp = Dctcp { window_end: 1000, ..at(100.0, 0.2) };
        // A tenth of 100.
        dctcp.on_ack(&mut world.context(), &marked(10, 110, 3));
        assert_eq!((dctcp.window(), dctcp.slow_start_threshold()), (90.0, 90.0));
        // No more of it up to 110, and no growth.
        dctcp.on_ack(&mut world.context(), &marked(110, 200, 10));
        assert_eq!(dctcp.window(), 90.0);
        dctcp.on_ack(&mut world.context(), &marked(120, 210, 10));
        assert_eq!(dctcp.window(), 81.0);
    }

    #[test]
    fn an_echo_without_a_count_marks_all_that_is_delivered() {
        let mut world = World::new();
        let mut dctcp = at(100.0, 0.0);
        dctcp.on_ack(&mut world.context(), &Ack { ecn_echo: true, newly_marked: 0, ..marked(10, 110, 0) });
        assert_eq!(probed(&dctcp, "alpha"), 0.0625);
    }

    #[test]
    fn a_loss_halves_whatever_the_estimate() {
        let mut world = World::new();
        let mut dctcp = at(100.0, 0.1);
        dctcp.on_loss(&mut world.context(), &loss());
        assert_eq!(dctcp.window(), 50.0);
        dctcp.on_spurious(&mut world.context());
        assert_eq!(dctcp.window(), 100.0);
    }
}
