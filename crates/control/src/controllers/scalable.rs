//! Scalable TCP (Kelly, "Scalable TCP: improving performance in highspeed wide area networks", ACM CCR 33(2), 2003).
//!
//! Multiplicative increase and decrease: the time from loss to loss is a number of round trips that does not depend on
//! the rate, ln(1/(1 - b)) / ln(1 + a) = 13.4 with the defaults.
//!
//! | rule (section 2) | here |
//! | --- | --- |
//! | cwnd += a for each segment acknowledged, a = 0.01 | `Scalable::increase` |
//! | cwnd -= b * cwnd on a loss, b = 0.125 | `Scalable::kept` |
//! | standard TCP up to the legacy window | `Settings::legacy_window` |
//!
//! Notable differences from the paper: none. Linux keeps seven eighths at every window and is standard TCP in its
//! increase up to 1/a segments. With 1 % of loss windows are small, and Linux's are twice as large as the paper's. The
//! module since 5.6 is `linux/scalable.rs`. The module of Linux 3.5 differs from the paper by its numbers.

use crate::entry::{Aim, Entry, Form};
use crate::parameters::parameters;
use crate::parts::reno::{delegate, reduce};
use crate::range::{above, from};
use crate::{Ack, Context, Controller, Reno, Undo};

/// The entry of Scalable TCP in the registry.
pub const ENTRY: Entry = Entry {
    name: "scalable",
    title: "Scalable TCP",
    summary: "A hundredth of a segment for every segment acknowledged, seven eighths of the window kept on a loss",
    source: "Kelly 2003",
    aim: Aim::Fast,
    parameters: Settings::PARAMETERS,
    probes: &[],
    make: |given| Ok(Box::new(Scalable::new(Settings::read(given)?))),
};

/// Scalable TCP of Linux 3.5 (`tcp_scalable.c`).
pub(crate) const LINUX_3_5: Form =
    Form { parameters: &[], probes: &[], make: |_| Ok(Box::new(Scalable::of_linux_3_5())) };

parameters! {
    /// The parameters.
    pub struct Settings {
        /// Increase for each segment that is acknowledged
        a: f64 = 0.01, unit "segments per segment acknowledged", range above(0.0).up_to(1.0), source "section 2";
        /// Share of the window given up on a loss
        b: f64 = 0.125, range above(0.0).below(1.0), source "section 2";
        /// Up to this window it is standard TCP
        legacy_window: f64 = 16.0, unit "segments", range from(0.0).up_to(1_000_000.0), source "section 2, lwnd";
    }
}

/// The controller.
#[derive(Clone, Copy, Debug)]
pub struct Scalable {
    settings: Settings,
    /// The share of the window kept on a loss up to the legacy window.
    legacy_kept: f64,
    reno: Reno,
    undo: Undo,
}

impl Scalable {
    /// A controller with `settings`.
    pub fn new(settings: Settings) -> Self {
        Self { settings, legacy_kept: 0.5, reno: Reno::new(), undo: Undo::default() }
    }

    /// The module of Linux 3.5: min(cwnd, 50) ACKs add a segment, as most ACKs cover two (`TCP_SCALABLE_AI_CNT`). A
    /// loss takes an eighth at every window (`TCP_SCALABLE_MD_SCALE`).
    fn of_linux_3_5() -> Self {
        let module = Self::new(Settings { a: 0.02, b: 0.125, legacy_window: 50.0 });
        Self { legacy_kept: 0.875, ..module }
    }

    fn is_legacy(&self) -> bool {
        self.reno.window <= self.settings.legacy_window
    }

    /// Segments a round trip.
    fn increase(&self) -> f64 {
        if self.is_legacy() { 1.0 } else { self.settings.a * self.reno.window }
    }

    /// The share of the window kept on a loss.
    fn kept(&self) -> f64 {
        if self.is_legacy() { self.legacy_kept } else { 1.0 - self.settings.b }
    }
}

impl Controller for Scalable {
    delegate!(reno: on_start, on_spurious(undo), on_idle_restart, keep, window, slow_start_threshold);
    reduce!(keeping kept);

    fn on_ack(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        self.reno.grow_by(cx, ack, self.increase());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{World, ack, loss};

    fn at(window: f64, settings: Settings) -> Scalable {
        Scalable { reno: Reno { window, threshold: 2.0 }, ..Scalable::new(settings) }
    }

    #[test]
    fn a_hundred_segments_acknowledged_add_one_whatever_the_window() {
        let mut world = World::new();
        for window in [100.0, 5000.0] {
            let mut scalable = at(window, Settings::default());
            for _ in 0..100 {
                scalable.on_ack(&mut world.context(), &ack());
            }
            assert!((scalable.window() - window - 1.0).abs() < 1e-9, "{}", scalable.window());
        }
    }

    #[test]
    fn an_eighth_is_regained_in_between_thirteen_and_fourteen_round_trips() {
        // ln(1/0.875)/ln(1.01) = 0.133531/0.009950 = 13.42.
        let mut world = World::new();
        let mut scalable = at(4000.0, Settings::default());
        scalable.on_loss(&mut world.context(), &loss());
        assert_eq!(scalable.window(), 3500.0);
        let mut rounds = 0;
        while scalable.window() < 4000.0 {
            let all = scalable.window() as u32;
            scalable.on_ack(&mut world.context(), &Ack { newly_acknowledged: all, newly_delivered: all, ..ack() });
            rounds += 1;
        }
        assert_eq!(rounds, 14);
    }

    #[test]
    fn up_to_the_legacy_window_it_is_standard_tcp() {
        let mut world = World::new();
        let mut scalable = at(16.0, Settings::default());
        scalable.on_ack(&mut world.context(), &ack());
        assert!((scalable.window() - 16.0625).abs() < 1e-12);
        scalable = at(16.0, Settings::default());
        scalable.on_loss(&mut world.context(), &loss());
        assert_eq!(scalable.window(), 8.0);
        scalable = at(17.0, Settings::default());
        scalable.on_loss(&mut world.context(), &loss());
        assert_eq!(scalable.window(), 14.875);
    }

    #[test]
    fn in_linux_3_5_at_most_fifty_acks_add_a_segment_and_a_loss_takes_an_eighth() {
        let mut world = World::new();
        // One ACK adds 1/min(w, 50).
        for (window, after) in [(40.0, 40.025), (50.0, 50.02), (200.0, 200.02)] {
            let mut scalable = Scalable { reno: Reno { window, threshold: 2.0 }, ..Scalable::of_linux_3_5() };
            scalable.on_ack(&mut world.context(), &ack());
            assert!((scalable.window() - after).abs() < 1e-12, "{}", scalable.window());
        }
        for reduce in [Scalable::on_loss, Scalable::on_timeout] {
            let mut scalable = Scalable { reno: Reno { window: 8.0, threshold: 2.0 }, ..Scalable::of_linux_3_5() };
            reduce(&mut scalable, &mut world.context(), &loss());
            assert_eq!(scalable.slow_start_threshold(), 7.0);
        }
    }
}
