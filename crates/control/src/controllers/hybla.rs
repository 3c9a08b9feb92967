//! TCP Hybla (Caini and Firrincieli, "TCP Hybla: a TCP enhancement for heterogeneous networks", International Journal
//! of Satellite Communications and Networking 22, 2004).
//!
//! NewReno whose growth does not depend on the RTT: a flow with rho times the reference RTT grows as fast as one with
//! that RTT, in segments a second.
//!
//! | rule, with rho = max(RTT/RTT_0, 1) | here |
//! | --- | --- |
//! | slow start: w += 2^rho - 1 for each ACK | `Hybla::slow_start` |
//! | congestion avoidance: w += rho^2/w for each ACK | `Controller::on_ack` |
//!
//! Notable differences from the paper: rho is that of the smallest smoothed RTT so far, as in Linux; 2^rho is at most
//! 2^16. The first window and threshold are not multiplied by rho, and segments are not paced.
//!
//! With `arithmetic = "linux"` it is Linux's module, with rho in eighths and increases in 128ths, but for: the first
//! window, which Linux sets to rho of the handshake, which the simulator does not have (one segment up to an RTT of 50
//! ms, four at 100 ms); its largest window of 65535 segments.

use units::Span;

use crate::entry::{Entry, Quantity};
use crate::parameters::parameters;
use crate::parts::linux::{self, Arithmetic, Counter, micros};
use crate::parts::reno::delegate;
use crate::range::from;
use crate::{Ack, Context, Controller, Loss, Probe, Reno, Undo};

/// What the registry tells about Hybla.
pub const ENTRY: Entry = Entry {
    name: "hybla",
    title: "TCP Hybla",
    summary: "NewReno that grows as fast on long paths as on one of 25 ms",
    source: "Caini and Firrincieli 2004; Linux",
    parameters: Settings::PARAMETERS,
    probes: &[Quantity::new("rho", "", "RTT over the reference RTT, at least 1")],
    make: |given| Ok(Box::new(Hybla::new(Settings::read(given)?))),
};

/// The share of the window kept on a loss.
const BETA: f64 = 0.5;
/// 2^rho grows no further.
const LARGEST_EXPONENT: f64 = 16.0;
/// Linux has rho in eighths, and what a window grows by in 128ths.
const EIGHTHS: u64 = 8;
const PARTS: u64 = 128;
/// 2 to the power of eighths, in 128ths, as the table of Linux.
const POWERS: [u64; 8] = [128, 139, 152, 165, 181, 197, 215, 234];

parameters! {
    /// The parameters.
    pub struct Settings {
        /// The RTT of the flow that it equals
        rtt_0: Span = Span::from_millis(25),
            unit "time", range from(Span::from_millis(1)).up_to(Span::from_secs(10)), source "RTT_0";
        /// Real numbers, or the whole numbers of the module in Linux
        arithmetic: Arithmetic = Arithmetic::Float, source "Linux, tcp_hybla.c";
    }
}

/// The controller.
#[derive(Clone, Copy, Debug)]
pub struct Hybla {
    settings: Settings,
    reno: Reno,
    undo: Undo,
    /// The smallest smoothed RTT.
    least: Span,
    rho: f64,
    /// rho in eighths.
    eighths: u64,
    /// A timeout is being repaired: NewReno's growth, as in disorder, in Linux.
    disabled: bool,
    /// Parts of a segment.
    parts: u64,
    counter: Counter,
}

impl Hybla {
    /// A controller with `settings`.
    pub fn new(settings: Settings) -> Self {
        Self {
            settings,
            reno: Reno::new(),
            undo: Undo::default(),
            least: Span::MAX,
            rho: 1.0,
            eighths: EIGHTHS,
            disabled: false,
            parts: 0,
            counter: Counter::default(),
        }
    }

    fn computes_as_linux(&self) -> bool {
        self.settings.arithmetic == Arithmetic::Linux
    }

    fn observe(&mut self, ack: &Ack) {
        if ack.smoothed_rtt.is_zero() || ack.smoothed_rtt >= self.least {
            return;
        }
        self.least = ack.smoothed_rtt;
        let (rtt, reference) = (self.least, self.settings.rtt_0);
        self.rho = (rtt.as_secs_f64() / reference.as_secs_f64()).max(1.0);
        self.eighths = (EIGHTHS * micros(rtt) / micros(reference).max(1)).max(EIGHTHS);
    }

    /// What a loss leaves.
    fn half(&self) -> f64 {
        let half = self.reno.window * BETA;
        if self.computes_as_linux() { half.floor() } else { half }
    }

    /// Slow start; what goes beyond the threshold is lost.
    fn slow_start(&mut self, credit: f64) {
        let gain = libm::exp2(self.rho.min(LARGEST_EXPONENT)) - 1.0;
        let limit = self.reno.threshold.max(self.reno.window + credit);
        self.reno.window = (self.reno.window + gain * credit).min(limit);
    }

    /// Linux, in parts of a segment.
    fn grow_by_whole_segments(&mut self) {
        let exponential = self.reno.in_slow_start();
        let window = self.reno.window as u64;
        let whole = self.eighths / EIGHTHS;
        let increment = if exponential {
            (1 << whole.min(16)) * POWERS[(self.eighths % EIGHTHS) as usize] - PARTS
        } else {
            2 * self.eighths * self.eighths / window
        };
        let waited = if exponential || increment >= PARTS { 0 } else { self.counter.add(1) };
        self.parts += increment % PARTS;
        let segments = increment / PARTS + self.parts / PARTS;
        if self.parts >= PARTS {
            self.counter.clear();
        }
        self.parts %= PARTS;
        self.reno.window += segments as f64;
        if increment == 0 && u64::from(waited) >= window {
            self.reno.window += 1.0;
            self.counter.clear();
        }
        if exponential {
            self.reno.window = self.reno.window.min(self.reno.threshold);
        }
    }
}

impl Controller for Hybla {
    delegate!(reno: on_start, on_spurious(undo), on_idle_restart, keep, window, slow_start_threshold);

    fn on_ack(&mut self, _cx: &mut Context<'_>, ack: &Ack) {
        self.observe(ack);
        if !ack.window_limited {
            return;
        }
        if self.computes_as_linux() {
            if self.disabled || ack.leaves_disorder() {
                self.counter.grow_as_reno(&mut self.reno, ack);
            } else {
                self.grow_by_whole_segments();
            }
        } else if self.reno.grows_exponentially(ack) {
            self.slow_start(ack.slow_start_credit());
        } else {
            self.reno.additive_increase(ack.avoidance_credit(), self.rho * self.rho);
        }
    }

    fn on_loss(&mut self, _cx: &mut Context<'_>, _loss: &Loss) {
        self.undo.remember(self.reno);
        let half = self.half();
        linux::reduce(&mut self.reno, half);
        self.counter.clear();
    }

    fn on_recovered(&mut self, _cx: &mut Context<'_>) {
        self.disabled = false;
    }

    fn on_timeout(&mut self, _cx: &mut Context<'_>, loss: &Loss) {
        self.undo.remember_first(loss, self.reno);
        let half = self.half();
        linux::time_out(&mut self.reno, half, loss);
        self.counter.clear();
        self.disabled = true;
    }

    fn probe(&self, out: &mut dyn Probe) {
        out.value("rho", if self.computes_as_linux() { self.eighths as f64 / EIGHTHS as f64 } else { self.rho });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{World, ack, loss, probed};

    fn at(window: f64, threshold: f64, arithmetic: Arithmetic, millis: u64) -> (Hybla, Ack) {
        let mut hybla = Hybla::new(Settings { arithmetic, ..Settings::default() });
        hybla.reno = Reno { window, threshold };
        (hybla, Ack { smoothed_rtt: Span::from_millis(millis), ..ack() })
    }

    #[test]
    fn four_times_the_reference_rtt_adds_sixteen_segments_a_round_trip() {
        for arithmetic in [Arithmetic::Float, Arithmetic::Linux] {
            let (mut hybla, ack) = at(1000.0, 2.0, arithmetic, 100);
            (0..1000).for_each(|_| hybla.on_ack(&mut World::new().context(), &ack));
            // In 128ths 2048/1000 are 2 of them: 15.6 segments, of which 15 are whole.
            assert!((hybla.window() - 1016.0).abs() < 1.01, "{arithmetic:?}: {}", hybla.window());
        }
    }

    #[test]
    fn slow_start_adds_two_to_the_rho_less_one_for_each_ack() {
        for (arithmetic, millis, after) in [
            (Arithmetic::Float, 100, 25.0),
            (Arithmetic::Linux, 100, 25.0),
            // rho = 1.5: 2^1.5 - 1 = 1.828; in 128ths 2 * 181 - 128 = 234, one segment and 106 parts.
            (Arithmetic::Float, 37, 10.0 + 1.789_487),
            (Arithmetic::Linux, 38, 11.0),
        ] {
            let (mut hybla, ack) = at(10.0, f64::INFINITY, arithmetic, millis);
            hybla.on_ack(&mut World::new().context(), &ack);
            assert!((hybla.window() - after).abs() < 1e-5, "{arithmetic:?} {millis}: {}", hybla.window());
        }
    }

    #[test]
    fn a_short_path_is_newreno() {
        for arithmetic in [Arithmetic::Float, Arithmetic::Linux] {
            let (mut hybla, ack) = at(100.0, 2.0, arithmetic, 10);
            (0..128).for_each(|_| hybla.on_ack(&mut World::new().context(), &ack));
            assert!((hybla.window() - 101.0).abs() < 0.3, "{arithmetic:?}: {}", hybla.window());
            assert_eq!(probed(&hybla, "rho"), 1.0);
        }
    }

    #[test]
    fn rho_is_that_of_the_smallest_smoothed_rtt() {
        let (mut hybla, ack) = at(100.0, 2.0, Arithmetic::Float, 50);
        hybla.on_ack(&mut World::new().context(), &ack);
        hybla.on_ack(&mut World::new().context(), &Ack { smoothed_rtt: Span::from_millis(90), ..ack });
        assert_eq!(probed(&hybla, "rho"), 2.0);
    }

    #[test]
    fn slow_start_does_not_go_beyond_the_threshold() {
        for arithmetic in [Arithmetic::Float, Arithmetic::Linux] {
            let (mut hybla, ack) = at(10.0, 20.0, arithmetic, 100);
            hybla.on_ack(&mut World::new().context(), &ack);
            assert_eq!(hybla.window(), 20.0);
        }
    }

    #[test]
    fn a_window_that_adds_less_than_a_part_grows_by_newreno() {
        // 2 * 64/300 is no part: a segment after 300 ACKs.
        let (mut hybla, ack) = at(300.0, 2.0, Arithmetic::Linux, 10);
        (0..299).for_each(|_| hybla.on_ack(&mut World::new().context(), &ack));
        assert_eq!(hybla.window(), 300.0);
        hybla.on_ack(&mut World::new().context(), &ack);
        assert_eq!(hybla.window(), 301.0);
    }

    #[test]
    fn linux_grows_as_newreno_in_disorder() {
        // In order an ACK adds 20 of 128 parts at 100 segments, 17 at 114.
        for (in_flight, after) in [(9, 114.0), (8, 101.0)] {
            let (mut hybla, ack) = at(100.0, 2.0, Arithmetic::Linux, 100);
            let ack = Ack { in_flight, ..ack };
            (0..100).for_each(|_| hybla.on_ack(&mut World::new().context(), &ack));
            assert_eq!(hybla.window(), after, "{in_flight} of 9 in flight");
        }
    }

    #[test]
    fn a_loss_halves() {
        for (arithmetic, after) in [(Arithmetic::Float, 12.5), (Arithmetic::Linux, 12.0)] {
            let (mut hybla, _) = at(25.0, 2.0, arithmetic, 100);
            hybla.on_loss(&mut World::new().context(), &loss());
            assert_eq!(hybla.window(), after);
        }
    }
}
