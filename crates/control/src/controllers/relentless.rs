//! Relentless TCP (Mathis, "Relentless congestion control", PFLDNeT 2009).
//!
//! Additive increase as NewReno, but on losses strict conservation of packets: the window is smaller by as many
//! segments as were lost. It expects queue management that shares the link. It leaves nothing to standard TCP beside
//! it.
//!
//! | rule | here |
//! | --- | --- |
//! | a segment more a round trip | [`Reno::grow`] |
//! | window after recovery = window before - segments lost | `Relentless::charge` |
//!
//! Notable differences from the paper: slow start, timeouts and losses while a timeout is repaired are NewReno's. A
//! mark (ECN) counts as one lost segment.

use crate::entry::{Aim, Entry, Quantity};
use crate::parts::reno::delegate;
use crate::{Ack, Context, Controller, Loss, Marks, Probe, Reno, Undo};

/// The entry of Relentless TCP in the registry.
pub const ENTRY: Entry = Entry {
    name: "relentless",
    title: "Relentless TCP",
    summary: "One segment more a round trip, one less for every segment lost",
    source: "Mathis 2009",
    aim: Aim::Fast,
    parameters: &[],
    probes: &[Quantity::new("lost", "segments", "Segments by which the last recovery lowered the window")],
    make: |_| Ok(Box::new(Relentless::default())),
};

/// The share of the window that the threshold keeps on a timeout.
const BETA_TIMEOUT: f64 = 0.5;

/// The controller.
#[derive(Clone, Copy, Debug, Default)]
pub struct Relentless {
    reno: Reno,
    undo: Undo,
    in_recovery: bool,
    /// Segments lost in the last recovery.
    lost: u32,
}

impl Relentless {
    /// A recovery begins with so many segments lost.
    fn recover(&mut self, lost: u32) {
        self.undo.remember(self.reno);
        self.in_recovery = true;
        self.lost = 0;
        self.charge(lost);
    }

    /// Takes `lost` segments off the window.
    fn charge(&mut self, lost: u32) {
        self.lost += lost;
        let less = (self.reno.window - f64::from(lost)).max(Reno::MINIMUM);
        self.reno.window = self.reno.window.min(less);
        self.reno.threshold = less;
    }
}

impl Controller for Relentless {
    delegate!(reno: on_start, on_idle_restart, window, slow_start_threshold);

    fn on_ack(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        self.reno.grow(cx, ack);
    }

    fn on_duplicate_ack(&mut self, _cx: &mut Context<'_>, ack: &Ack) {
        if self.in_recovery && ack.newly_lost > 0 {
            self.charge(ack.newly_lost);
        }
    }

    fn on_loss(&mut self, _cx: &mut Context<'_>, loss: &Loss) {
        self.recover(loss.newly_lost);
    }

    fn on_ecn(&mut self, _cx: &mut Context<'_>, _marks: &Marks) {
        self.recover(1);
    }

    fn on_recovered(&mut self, _cx: &mut Context<'_>) {
        self.in_recovery = false;
    }

    fn on_timeout(&mut self, _cx: &mut Context<'_>, loss: &Loss) {
        self.undo.remember_first(loss, self.reno);
        self.in_recovery = false;
        self.reno.timeout(BETA_TIMEOUT, loss.again);
    }

    fn on_spurious(&mut self, _cx: &mut Context<'_>) {
        self.in_recovery = false;
        self.undo.restore(&mut self.reno);
    }

    fn probe(&self, out: &mut dyn Probe) {
        out.value("lost", f64::from(self.lost));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{World, ack, loss, probed};

    fn at(window: f64) -> Relentless {
        Relentless { reno: Reno { window, threshold: 2.0 }, ..Relentless::default() }
    }

    #[test]
    fn every_lost_segment_takes_one_off_the_window_also_those_found_during_recovery() {
        let mut world = World::new();
        let mut relentless = at(40.0);
        relentless.on_loss(&mut world.context(), &Loss { newly_lost: 3, ..loss() });
        assert_eq!(relentless.window(), 37.0);
        for newly_lost in [0, 2, 0, 1] {
            relentless.on_duplicate_ack(&mut world.context(), &Ack { newly_lost, ..ack() });
        }
        relentless.on_recovered(&mut world.context());
        assert_eq!((relentless.window(), relentless.slow_start_threshold()), (34.0, 34.0));
        assert_eq!(probed(&relentless, "lost"), 6.0);
        // 34 + 1/34
        relentless.on_ack(&mut world.context(), &ack());
        assert!((relentless.window() - 34.029_41).abs() < 1e-5);
    }

    #[test]
    fn a_spurious_loss_gives_everything_back() {
        let mut world = World::new();
        let mut relentless = at(40.0);
        relentless.on_loss(&mut world.context(), &Loss { newly_lost: 3, ..loss() });
        relentless.on_duplicate_ack(&mut world.context(), &Ack { newly_lost: 2, ..ack() });
        relentless.on_spurious(&mut world.context());
        assert_eq!(relentless.window(), 40.0);
    }

    #[test]
    fn two_segments_remain_whatever_is_lost() {
        let mut relentless = at(10.0);
        relentless.on_loss(&mut World::new().context(), &Loss { newly_lost: 10, ..loss() });
        assert_eq!(relentless.window(), 2.0);
    }

    #[test]
    fn a_timeout_is_newreno_s() {
        let mut world = World::new();
        let mut relentless = at(40.0);
        relentless.on_timeout(&mut world.context(), &loss());
        relentless.on_duplicate_ack(&mut world.context(), &Ack { newly_lost: 5, ..ack() });
        assert_eq!((relentless.window(), relentless.slow_start_threshold()), (1.0, 20.0));
    }
}
