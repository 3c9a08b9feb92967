//! E-TCP (Gu, Towsley, Hollot and Zhang, "Congestion control for small buffer high speed networks", INFOCOM 2007).
//!
//! For routers with buffers of a few packets: losses come at no less than a fixed rate p0, whatever the window, so that
//! the feedback does not get rarer on faster links.
//!
//! | rule | here |
//! | --- | --- |
//! | w += a for each segment acknowledged, a = 0.04 | `Controller::on_ack` |
//! | w -= D(w) for each segment lost, D(w) = a/(p0 + 1.5/w^2) | `ETcp::charge` |
//!
//! In equilibrium the segments from loss to loss add as much as a loss takes, a = p D(w). The loss rate is p0 = 0.01
//! for large windows, and NewReno's 1.5/w^2 for small ones.
//!
//! Notable differences from the paper: a and p0 are the paper's. D(w) is reconstructed from the two equilibria between
//! which it has to lead, so its shape around w = sqrt(1.5/p0) = 12 segments is ours. Every lost segment counts, as a
//! window of more than 1/p0 segments loses more than one a round trip. A mark (ECN) counts as one. For the same reason
//! the window grows in recovery as well, which it governs itself: such a flow hardly leaves it. Slow start, a loss that
//! ends it, and timeouts are NewReno's.

use crate::entry::{Aim, Entry};
use crate::parameters::parameters;
use crate::parts::reno::delegate;
use crate::range::above;
use crate::{Ack, Context, Controller, Loss, Reno, Undo, Wants};

/// The entry of E-TCP in the registry.
pub const ENTRY: Entry = Entry {
    name: "e-tcp",
    title: "E-TCP",
    summary: "A twenty-fifth of a segment for every one acknowledged, and at most four given up for every one lost",
    source: "Gu, Towsley, Hollot and Zhang 2007",
    aim: Aim::General,
    parameters: Settings::PARAMETERS,
    probes: &[],
    make: |given| Ok(Box::new(ETcp::new(Settings::read(given)?))),
};

/// NewReno's loss rate is this over the square of its window (RFC 3649, section 5: p = 1.5/w^2).
const RENO: f64 = 1.5;
/// The share of the window kept on a loss in slow start and on a timeout.
const BETA_RENO: f64 = 0.5;

parameters! {
    /// The parameters.
    pub struct Settings {
        /// Increase for each segment that is acknowledged
        a: f64 = 0.04,
            unit "segments per segment acknowledged", range above(0.0).up_to(1.0), source "Gu et al. 2007";
        /// Share of lost segments that large windows settle at
        p0: f64 = 0.01, range above(0.0).up_to(1.0), source "Gu et al. 2007";
    }
}

/// The controller.
#[derive(Clone, Copy, Debug)]
pub struct ETcp {
    settings: Settings,
    reno: Reno,
    undo: Undo,
    /// In a recovery that did not end slow start.
    charging: bool,
}

impl ETcp {
    /// A controller with `settings`.
    pub fn new(settings: Settings) -> Self {
        Self { settings, reno: Reno::new(), undo: Undo::default(), charging: false }
    }

    /// Takes D(w) off the window for each of `lost` segments.
    fn charge(&mut self, lost: u32) {
        for _ in 0..lost {
            let w = self.reno.window;
            if w <= Reno::MINIMUM {
                break;
            }
            let decrease = self.settings.a / (self.settings.p0 + RENO / (w * w));
            self.reno.multiplicative_decrease(1.0 - decrease / w);
        }
        self.reno.threshold = self.reno.window.max(Reno::MINIMUM);
    }
}

impl Controller for ETcp {
    delegate!(reno: on_start, on_idle_restart, window, slow_start_threshold);

    fn wants(&self) -> Wants {
        Wants { governs_recovery: true, ..Wants::default() }
    }

    fn on_ack(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        if self.charging {
            // However the stack counts ACKs, an ACK of recovery covers many segments.
            return self.on_duplicate_ack(cx, ack);
        }
        self.reno.grow_by(cx, ack, self.settings.a * self.reno.window);
    }

    fn on_duplicate_ack(&mut self, _cx: &mut Context<'_>, ack: &Ack) {
        if !self.charging {
            return;
        }
        if ack.newly_lost > 0 {
            self.charge(ack.newly_lost);
        }
        if ack.window_limited {
            self.reno.additive_increase(f64::from(ack.newly_delivered), self.settings.a * self.reno.window);
        }
    }

    fn on_loss(&mut self, _cx: &mut Context<'_>, loss: &Loss) {
        self.undo.remember(self.reno);
        self.charging = !self.reno.in_slow_start();
        if self.charging {
            self.charge(loss.newly_lost.max(1));
        } else {
            self.reno.multiplicative_decrease(BETA_RENO);
        }
    }

    fn on_recovered(&mut self, _cx: &mut Context<'_>) {
        self.charging = false;
    }

    fn on_timeout(&mut self, _cx: &mut Context<'_>, loss: &Loss) {
        self.undo.remember_first(loss, self.reno);
        self.charging = false;
        self.reno.timeout(BETA_RENO, loss.again);
    }

    fn on_spurious(&mut self, _cx: &mut Context<'_>) {
        self.charging = false;
        self.undo.restore(&mut self.reno);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{World, ack, loss};

    fn at(window: f64) -> ETcp {
        ETcp { reno: Reno { window, threshold: 2.0 }, ..ETcp::new(Settings::default()) }
    }

    #[test]
    fn a_loss_takes_four_segments_of_a_large_window_and_less_of_a_small_one() {
        let mut world = World::new();
        // 1000: 0.04/0.0100015 = 3.9994. 10: 0.04/0.025 = 1.6. 5: 0.04/0.07 = 0.571429.
        for (window, after) in [(1000.0, 996.0006), (10.0, 8.4), (5.0, 4.428_571)] {
            let mut e_tcp = at(window);
            e_tcp.on_loss(&mut world.context(), &loss());
            assert!((e_tcp.window() - after).abs() < 1e-5, "{}", e_tcp.window());
        }
    }

    #[test]
    fn each_segment_lost_counts_also_those_found_during_recovery() {
        let mut world = World::new();
        let mut e_tcp = at(10.0);
        // 10 - 1.6 = 8.4; 0.04/(0.01 + 1.5/70.56) = 1.279652; 7.120348: 0.04/(0.01 + 1.5/50.69936) = 1.010453.
        e_tcp.on_loss(&mut world.context(), &Loss { newly_lost: 2, ..loss() });
        assert!((e_tcp.window() - 7.120_348).abs() < 1e-5, "{}", e_tcp.window());
        e_tcp.on_duplicate_ack(&mut world.context(), &Ack { newly_lost: 1, newly_delivered: 0, ..ack() });
        assert!((e_tcp.window() - 6.109_895).abs() < 1e-5, "{}", e_tcp.window());
        e_tcp.on_recovered(&mut world.context());
        e_tcp.on_duplicate_ack(&mut world.context(), &Ack { newly_lost: 1, ..ack() });
        assert_eq!(e_tcp.window(), e_tcp.slow_start_threshold());
    }

    #[test]
    fn the_window_grows_in_recovery_by_what_is_delivered() {
        let mut world = World::new();
        let mut e_tcp = at(1000.0);
        e_tcp.on_loss(&mut world.context(), &loss());
        // 996.0006; 25 segments make one more, however they were acknowledged.
        e_tcp.on_duplicate_ack(&mut world.context(), &Ack { newly_acknowledged: 0, newly_delivered: 20, ..ack() });
        e_tcp.on_ack(&mut world.context(), &Ack { newly_acknowledged: 25, newly_delivered: 5, ..ack() });
        assert!((e_tcp.window() - 997.0006).abs() < 1e-5, "{}", e_tcp.window());
    }

    #[test]
    fn a_loss_in_slow_start_halves_however_many_segments_it_took() {
        let mut world = World::new();
        let mut e_tcp = at(200.0);
        e_tcp.reno.threshold = f64::INFINITY;
        e_tcp.on_loss(&mut world.context(), &Loss { newly_lost: 7, ..loss() });
        e_tcp.on_duplicate_ack(&mut world.context(), &Ack { newly_lost: 70, ..ack() });
        assert_eq!(e_tcp.window(), 100.0);
    }

    #[test]
    fn twenty_five_segments_acknowledged_add_one() {
        let mut world = World::new();
        let mut e_tcp = at(500.0);
        for _ in 0..25 {
            e_tcp.on_ack(&mut world.context(), &ack());
        }
        assert!((e_tcp.window() - 501.0).abs() < 1e-9);
    }

    #[test]
    fn a_decrease_of_more_than_the_window_leaves_two_segments() {
        let mut e_tcp = ETcp { settings: Settings { a: 1.0, p0: 1e-6 }, ..at(40.0) };
        e_tcp.on_loss(&mut World::new().context(), &loss());
        assert_eq!(e_tcp.window(), 2.0);
    }
}
