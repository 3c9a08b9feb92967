//! PERT, probabilistic early response TCP (Bhandarkar, Reddy, Zhang and Loguinov, "Emulating AQM from end hosts",
//! SIGCOMM 2007).
//!
//! The sender acts as a router with RED and ECN would: with a probability that grows with the queueing delay it reduces
//! its window, by less than a loss would, as the queue is still short.
//!
//! | rule | here |
//! | --- | --- |
//! | srtt0.99 = 0.99 srtt0.99 + 0.01 RTT, per ACK | `Pert::observe` |
//! | queueing delay q = srtt0.99 - smallest RTT | `Pert::queueing_delay` |
//! | p: 0 below T_min, to p_max at T_max, to 1 at 2 T_max (gentle RED) | `Settings::response_probability` |
//! | w = 0.65 w, at most once a round trip | `Controller::on_ack` |
//!
//! Everything else is NewReno's. Open points of the paper, and its later form:
//! - The thresholds are fixed. The form that raises them and matches the loss rate while the queue is long, to hold its
//!   own against NewReno, is not part of it.
//! - Early responses also come in slow start, as marks would, and end it.
//! - A round trip after a response has passed when everything is acknowledged that had been sent by then.

use units::Span;

use crate::entry::{Aim, Entry, Quantity};
use crate::parameters::parameters;
use crate::parts::probabilistic::Probabilistic;
use crate::parts::reno::delegate;
use crate::range::{above, from};
use crate::{Ack, Context, Controller, Loss, Probe, Reno, Undo};

/// The entry of PERT in the registry.
pub const ENTRY: Entry = Entry {
    name: "pert",
    title: "PERT",
    summary: "Emulates RED with ECN at the sender: early responses with a probability that grows with the queueing \
        delay",
    source: "Bhandarkar, Reddy, Zhang and Loguinov 2007",
    aim: Aim::General,
    parameters: Settings::PARAMETERS,
    probes: &[
        Quantity::new("queueing_delay_ms", "ms", "q"),
        Quantity::new("response_probability", "", "p"),
        Quantity::new("early_responses", "responses", "Early responses since the start"),
    ],
    make: |given| Ok(Box::new(Pert::new(Settings::read(given)?))),
};

/// The share of the window kept on a loss.
const BETA_LOSS: f64 = 0.5;

parameters! {
    /// The parameters.
    pub struct Settings {
        /// Weight of the past in the smoothed RTT, per ACK
        weight: f64 = 0.99, range above(0.0).below(1.0), source "the paper's srtt0.99";
        /// Queueing delay above which early responses begin
        t_min: Span = Span::from_millis(5),
            unit "time", range from(Span::ZERO).up_to(Span::from_secs(10)).less_than("t_max"),
            source "the paper's T_min";
        /// Queueing delay at which the probability is p_max; it is 1 at twice this
        t_max: Span = Span::from_millis(10),
            unit "time", range from(Span::from_micros(1)).up_to(Span::from_secs(10)).more_than("t_min"),
            source "the paper's T_max";
        /// Probability of an early response per ACK at t_max
        p_max: f64 = 0.05, range above(0.0).up_to(1.0), source "the paper's p_max";
        /// Share of the window kept by an early response
        beta_early: f64 = 0.65, range above(0.0).below(1.0), source "the paper's decrease by 35 %";
    }
}

impl Settings {
    /// The probability of an early response at queueing delay `q` in milliseconds.
    fn response_probability(&self, q: f64) -> f64 {
        let (t_min, t_max) = (self.t_min.as_millis_f64(), self.t_max.as_millis_f64());
        if q <= t_min {
            0.0
        } else if q <= t_max {
            self.p_max * (q - t_min) / (t_max - t_min)
        } else {
            (self.p_max + (1.0 - self.p_max) * (q - t_max) / t_max).min(1.0)
        }
    }
}

/// The controller.
#[derive(Clone, Copy, Debug)]
pub struct Pert {
    settings: Settings,
    reno: Reno,
    undo: Undo,
    /// srtt0.99 in milliseconds.
    smoothed_rtt: Option<f64>,
    min_rtt: Span,
    early_responses: Probabilistic,
}

impl Pert {
    /// A controller with `settings`.
    pub fn new(settings: Settings) -> Self {
        Self {
            settings,
            reno: Reno::new(),
            undo: Undo::default(),
            smoothed_rtt: None,
            min_rtt: Span::ZERO,
            early_responses: Probabilistic::default(),
        }
    }

    fn observe(&mut self, ack: &Ack) {
        if let Some(rtt) = ack.undelayed_rtt() {
            let (rtt, weight) = (rtt.as_millis_f64(), self.settings.weight);
            self.smoothed_rtt = Some(self.smoothed_rtt.map_or(rtt, |past| weight * past + (1.0 - weight) * rtt));
            self.min_rtt = ack.min_rtt;
        }
    }

    /// q in milliseconds.
    fn queueing_delay(&self) -> f64 {
        self.smoothed_rtt.map_or(0.0, |smoothed| (smoothed - self.min_rtt.as_millis_f64()).max(0.0))
    }

    fn response_probability(&self) -> f64 {
        self.settings.response_probability(self.queueing_delay())
    }
}

impl Controller for Pert {
    delegate!(reno: on_start, on_timeout(undo), on_spurious(undo), on_idle_restart, window, slow_start_threshold);

    fn on_ack(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        self.observe(ack);
        let probability = self.response_probability();
        if self.early_responses.responds(cx, ack, probability) {
            self.reno.multiplicative_decrease(self.settings.beta_early);
        } else {
            self.reno.grow(cx, ack);
        }
    }

    fn on_duplicate_ack(&mut self, _cx: &mut Context<'_>, ack: &Ack) {
        self.observe(ack);
    }

    fn on_loss(&mut self, _cx: &mut Context<'_>, loss: &Loss) {
        self.undo.remember(self.reno);
        self.reno.multiplicative_decrease(BETA_LOSS);
        self.early_responses.on_loss(loss);
    }

    fn probe(&self, out: &mut dyn Probe) {
        out.value("queueing_delay_ms", self.queueing_delay());
        out.value("response_probability", self.response_probability());
        out.value("early_responses", self.early_responses.responses as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{World, ack, loss, probed, rtt};

    fn cruising(window: f64) -> Pert {
        Pert { reno: Reno { window, threshold: 2.0 }, ..Pert::new(Settings::default()) }
    }

    #[test]
    fn the_probability_is_that_of_gentle_red() {
        let settings = Settings::default();
        // Half way from 5 to 10 ms half of 0.05; half way from 10 to 20 ms half way from 0.05 to 1.
        for (q, p) in [(0.0, 0.0), (5.0, 0.0), (7.5, 0.025), (10.0, 0.05), (15.0, 0.525), (20.0, 1.0), (90.0, 1.0)] {
            let got = settings.response_probability(q);
            assert!((got - p).abs() < 1e-12, "{got} at {q} ms, not {p}");
        }
    }

    #[test]
    fn the_smoothed_rtt_takes_a_hundredth_of_each_sample() {
        let mut world = World::new();
        let mut pert = cruising(50.0);
        for millis in [40, 140, 40] {
            pert.on_ack(&mut world.context(), &Ack { rtt: rtt(millis), ..ack() });
        }
        // 40, then 39.6 + 1.4 = 41, then 40.59 + 0.4 = 40.99: 0.99 ms above the minimum.
        assert!((probed(&pert, "queueing_delay_ms") - 0.99).abs() < 1e-9);
    }

    #[test]
    fn an_early_response_keeps_65_percent_and_comes_once_a_round_trip() {
        let mut world = World::new();
        let mut pert = cruising(100.0);
        // The first sample is the smoothed RTT: 30 ms of queue, where the probability is 1.
        let first = Ack { rtt: rtt(70), acknowledged_to: 10, sent_to: 110, ..ack() };
        pert.on_ack(&mut world.context(), &first);
        assert_eq!((pert.window(), pert.slow_start_threshold()), (65.0, 65.0));
        pert.on_ack(&mut world.context(), &Ack { acknowledged_to: 109, sent_to: 174, ..first });
        assert!((pert.window() - 65.0 - 1.0 / 65.0).abs() < 1e-12, "still the same round trip");
        pert.on_ack(&mut world.context(), &Ack { acknowledged_to: 110, sent_to: 174, ..first });
        assert!((pert.window() - 0.65 * (65.0 + 1.0 / 65.0)).abs() < 1e-12);
        assert_eq!(probed(&pert, "early_responses"), 2.0);
    }

    #[test]
    fn without_queue_it_is_newreno() {
        let mut world = World::new();
        let mut pert = cruising(50.0);
        for _ in 0..100 {
            pert.on_ack(&mut world.context(), &Ack { rtt: rtt(45), ..ack() });
        }
        assert!((51.9..52.0).contains(&pert.window()), "{}", pert.window());
        let window = pert.window();
        pert.on_loss(&mut world.context(), &loss());
        assert_eq!(pert.window(), window / 2.0);
    }
}
