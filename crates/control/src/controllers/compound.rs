//! Compound TCP (Tan, Song, Zhang and Sridharan, "A Compound TCP approach for high-speed and long distance networks",
//! INFOCOM 2006).
//!
//! The window is the sum of two: the window of standard TCP, and a delay window that grows fast while few segments wait
//! in the queue and goes back as they become many.
//!
//! | rule (section III), with win = cwnd + dwnd | here |
//! | --- | --- |
//! | cwnd += 1/win per ACK | `Controller::on_ack` |
//! | diff = win (1 - base RTT/RTT) once a round trip | `Compound::decide` |
//! | diff < gamma: dwnd += max(alpha win^k - 1, 0); else dwnd -= zeta diff, not below 0 | `Compound::decide` |
//! | loss: dwnd = max(win (1 - beta) - cwnd/2, 0), cwnd halved | `Compound::reduce` |
//! | the delay window takes part above 38 segments and after slow start | `Compound::decide` |
//!
//! Notable differences from the paper: gamma is not tuned to the path. The decision is taken once a round trip that
//! used the window.

use crate::entry::{Aim, Entry, Quantity};
use crate::parameters::parameters;
use crate::parts::reno::delegate;
use crate::range::{above, from};
use crate::{Ack, Context, Controller, Loss, Probe, Reno, Undo};

/// The entry of Compound TCP in the registry.
pub const ENTRY: Entry = Entry {
    name: "compound",
    title: "Compound TCP",
    summary: "The window of standard TCP, and on top one that grows fast while the queue is short",
    source: "Tan, Song, Zhang and Sridharan 2006",
    aim: Aim::General,
    parameters: Settings::PARAMETERS,
    probes: &[
        Quantity::new("delay_window", "segments", "dwnd"),
        Quantity::new("waiting", "segments", "diff, own segments in the queue"),
    ],
    make: |given| Ok(Box::new(Compound::new(Settings::read(given)?))),
};

/// The share that the loss window keeps.
const BETA_LOSS_WINDOW: f64 = 0.5;

parameters! {
    /// The parameters.
    pub struct Settings {
        /// Scale of the increase of the delay window
        alpha: f64 = 0.125, range above(0.0).up_to(10.0), source "section III, alpha";
        /// Power of the window in the increase of the delay window
        k: f64 = 0.75, range above(0.0).up_to(1.0), source "section III, k";
        /// Share of the whole window given up on a loss
        beta: f64 = 0.5, range above(0.0).below(1.0), source "section III, beta";
        /// From so many own segments waiting in the queue on the delay window goes back
        gamma: f64 = 30.0, unit "segments", range above(0.0).up_to(1_000_000.0), source "section III, gamma";
        /// How fast it goes back: segments for each one waiting
        zeta: f64 = 1.0, range above(0.0).up_to(1000.0), source "section III, zeta";
        /// Below this window the delay window does not grow
        low_window: f64 = 38.0,
            unit "segments", range from(0.0).up_to(1_000_000.0), source "section III; RFC 3649, Low_Window";
    }
}

/// The two windows.
#[derive(Clone, Copy, Debug, PartialEq)]
struct State {
    /// The sum, win, and its threshold.
    reno: Reno,
    /// dwnd.
    delay_window: f64,
}

/// The controller.
#[derive(Clone, Copy, Debug)]
pub struct Compound {
    settings: Settings,
    state: State,
    undo: Undo<State>,
    /// diff.
    waiting: f64,
}

impl Compound {
    /// A controller with `settings`.
    pub fn new(settings: Settings) -> Self {
        let state = State { reno: Reno::new(), delay_window: 0.0 };
        Self { settings, state, undo: Undo::default(), waiting: 0.0 }
    }

    /// A round trip ends.
    fn decide(&mut self, ack: &Ack) {
        let Settings { alpha, k, gamma, zeta, low_window, .. } = self.settings;
        let rtt = ack.smoothed_rtt.as_secs_f64();
        if rtt <= 0.0 {
            return;
        }
        let win = self.state.reno.window;
        let queueing = ack.smoothed_rtt.saturating_sub(ack.min_rtt).as_secs_f64();
        self.waiting = win * queueing / rtt;
        let change = if self.waiting >= gamma {
            -zeta * self.waiting
        } else if win >= low_window {
            (alpha * libm::pow(win, k) - 1.0).max(0.0)
        } else {
            return;
        };
        let loss_window = win - self.state.delay_window;
        self.state.delay_window = (self.state.delay_window + change).max(0.0);
        let reno = &mut self.state.reno;
        reno.window = (loss_window + self.state.delay_window).max(Reno::MINIMUM.min(win));
        // A smaller window is no reason for slow start.
        reno.threshold = reno.threshold.min(reno.window.max(Reno::MINIMUM));
    }

    /// A loss: the sum keeps 1 - beta, the window of standard TCP a half.
    fn reduce(&mut self) {
        self.undo.remember(self.state);
        let loss_window = self.state.reno.window - self.state.delay_window;
        self.state.reno.multiplicative_decrease(1.0 - self.settings.beta);
        self.state.delay_window = (self.state.reno.window - BETA_LOSS_WINDOW * loss_window).max(0.0);
    }
}

impl Controller for Compound {
    delegate!(state.reno: on_start, keep, window, slow_start_threshold);

    fn on_ack(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        if ack.round_start && ack.window_limited && !self.state.reno.in_slow_start() {
            self.decide(ack);
        }
        self.state.reno.grow(cx, ack);
    }

    fn on_loss(&mut self, _cx: &mut Context<'_>, _loss: &Loss) {
        self.reduce();
    }

    fn on_timeout(&mut self, _cx: &mut Context<'_>, loss: &Loss) {
        self.undo.remember_first(loss, self.state);
        self.state.reno.timeout(1.0 - self.settings.beta, loss.again);
        self.state.delay_window = 0.0;
    }

    fn on_spurious(&mut self, _cx: &mut Context<'_>) {
        if let Some(before) = self.undo.take() {
            let loss_window = self.state.reno.window - self.state.delay_window;
            self.state.reno.restore(before.reno);
            self.state.delay_window =
                before.delay_window.min(self.state.reno.window - loss_window.min(before.reno.window));
        }
    }

    fn on_idle_restart(&mut self, cx: &mut Context<'_>) {
        self.state.reno.idle_restart(cx);
        self.state.delay_window = 0.0;
    }

    fn probe(&self, out: &mut dyn Probe) {
        out.value("delay_window", self.state.delay_window);
        out.value("waiting", self.waiting);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{World, ack, loss, probed};
    use units::Span;

    fn at(window: f64, delay_window: f64) -> Compound {
        let mut compound = Compound::new(Settings::default());
        compound.state = State { reno: Reno { window, threshold: 2.0 }, delay_window };
        compound
    }

    /// The ACK that ends a round trip of `millis` on a path of 100 ms. It grows the loss window as well.
    fn round(compound: &mut Compound, millis: u64) {
        let (smoothed_rtt, min_rtt) = (Span::from_millis(millis), Span::from_millis(100));
        compound.on_ack(&mut World::new().context(), &Ack { smoothed_rtt, min_rtt, round_start: true, ..ack() });
    }

    #[test]
    fn with_a_short_queue_the_delay_window_grows_by_an_eighth_of_the_window_to_the_three_quarters() {
        // 256^0.75 = 64: 64/8 - 1 = 7, and the loss window 1/263.
        let mut compound = at(256.0, 20.0);
        round(&mut compound, 100);
        assert!((probed(&compound, "delay_window") - 27.0).abs() < 1e-9);
        assert!((compound.window() - 263.003_802).abs() < 1e-6, "{}", compound.window());
    }

    #[test]
    fn from_gamma_waiting_segments_on_it_goes_back_by_as_many() {
        // 300 * (1 - 100/110) = 27.3 is below 30. 300 * (1 - 100/112) = 32.14 is not.
        let mut compound = at(300.0, 100.0);
        round(&mut compound, 110);
        assert!(probed(&compound, "delay_window") > 100.0);
        let mut compound = at(300.0, 100.0);
        round(&mut compound, 112);
        assert!((probed(&compound, "delay_window") - 67.857_143).abs() < 1e-6);
        let mut compound = at(300.0, 20.0);
        round(&mut compound, 112);
        assert_eq!(probed(&compound, "delay_window"), 0.0);
        assert!((compound.window() - 280.0).abs() < 0.01);
    }

    #[test]
    fn a_delay_window_that_goes_back_does_not_lead_to_slow_start() {
        // After a loss at 400 of which 200 were dwnd: 200 and 100. 200 * (1 - 100/200) = 100 wait, and go.
        let mut compound = at(400.0, 200.0);
        compound.on_loss(&mut World::new().context(), &loss());
        round(&mut compound, 200);
        assert_eq!(probed(&compound, "delay_window"), 0.0);
        assert!((compound.window() - 100.01).abs() < 1e-9, "{}", compound.window());
        compound.on_ack(&mut World::new().context(), &ack());
        assert!(compound.window() < 100.03, "{}", compound.window());
    }

    #[test]
    fn two_segments_remain_however_far_the_delay_window_goes_back() {
        // All but a sixteenth of two segments is dwnd. At twice the base RTT one waits.
        let mut compound = at(2.0, 1.9375);
        compound.settings = Settings { gamma: 0.5, zeta: 10.0, ..compound.settings };
        round(&mut compound, 200);
        assert_eq!((compound.window(), probed(&compound, "delay_window")), (2.5, 0.0));
    }

    #[test]
    fn below_38_segments_it_is_standard_tcp() {
        let mut compound = at(37.0, 0.0);
        round(&mut compound, 100);
        assert_eq!(probed(&compound, "delay_window"), 0.0);
        let mut compound = at(38.0, 0.0);
        round(&mut compound, 100);
        // 38^0.75 = 15.305: an eighth is 1.913.
        assert!((probed(&compound, "delay_window") - 0.9131).abs() < 1e-3);
    }

    #[test]
    fn a_loss_halves_both_and_a_spurious_one_gives_both_back() {
        let mut world = World::new();
        let mut compound = at(120.0, 40.0);
        compound.on_loss(&mut world.context(), &loss());
        assert_eq!((compound.window(), probed(&compound, "delay_window")), (60.0, 20.0));
        compound.on_spurious(&mut world.context());
        assert_eq!((compound.window(), probed(&compound, "delay_window")), (120.0, 40.0));
        compound.on_timeout(&mut world.context(), &loss());
        assert_eq!((compound.window(), probed(&compound, "delay_window")), (1.0, 0.0));
    }

    #[test]
    fn a_spurious_loss_gives_a_large_delay_window_back_and_keeps_what_the_other_grew() {
        // Of 120 segments 20 are the loss window, which is 10 after the loss.
        let mut world = World::new();
        let mut compound = at(120.0, 100.0);
        compound.on_loss(&mut world.context(), &loss());
        assert_eq!((compound.window(), probed(&compound, "delay_window")), (60.0, 50.0));
        compound.on_spurious(&mut world.context());
        assert_eq!((compound.window(), probed(&compound, "delay_window")), (120.0, 100.0));
    }
}
