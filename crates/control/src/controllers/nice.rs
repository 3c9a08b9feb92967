//! TCP Nice (Venkataramani, Kokku and Dahlin, "TCP Nice: a mechanism for background transfers", OSDI 2002).
//!
//! Nice is Vegas with a second, sharper sign of congestion: if more than a fraction of the segments of a round trip saw
//! a delay above a threshold, it halves its window, and goes on halving below one segment, so that many background
//! flows together hardly disturb.
//!
//! | rule | here |
//! | --- | --- |
//! | a segment is delayed if RTT > min RTT + t (max RTT - min RTT) | `Nice::observe` |
//! | once a round trip: more than f w delayed: w/2, else Vegas | `Controller::on_ack` |
//! | w below 1: a segment every 1/w round trips | `Controller::pacing_rate` |
//! | loss, timeout: as Vegas and Reno | [`Vegas`] |
//!
//! Notable differences from the paper, and its open points:
//! - Vegas is [`crate::vegas`], the form of FreeBSD, with alpha 1 and beta 3.
//! - An ACK counts the segments that it delivers, so that delayed ACKs do not halve the count. One that may contain the
//!   delayed-ACK timer counts none.
//! - The slow start of a new connection is Vegas's alone, as it finds max RTT. Later slow starts heed the rule.
//! - Below one segment the window offered to the transport stays 1, and pacing at w segments per smoothed RTT spaces
//!   them.

use units::{Rate, Span};

use crate::controllers::vegas::{self, Vegas};
use crate::entry::{Aim, Entry, Quantity};
use crate::parameters::parameters;
use crate::range::above;
use crate::{Ack, Context, Controller, Loss, Probe};

/// The entry of Nice in the registry.
pub const ENTRY: Entry = Entry {
    name: "nice",
    title: "TCP Nice",
    summary: "Background transport: Vegas that halves, even below one segment, when many RTTs of a round are long",
    source: "Venkataramani, Kokku and Dahlin 2002",
    aim: Aim::Scavenger,
    parameters: Settings::PARAMETERS,
    probes: &[
        Quantity::new("nice_window", "segments", "w, also below 1"),
        Quantity::new("delayed_segments", "segments", "Segments of this round trip that were delayed"),
        Quantity::new("threshold_rtt_ms", "ms", "RTT above which a segment was delayed"),
        Quantity::new("backoffs", "back-offs", "Back-offs since the start"),
        Quantity::new("waiting", "segments", "diff of Vegas"),
        Quantity::new("base_rtt_ms", "ms", "Smallest RTT"),
        Quantity::new("round_rtt_ms", "ms", "RTT of the last decision of Vegas"),
        Quantity::new("growing", "", "1 while the window grows by NewReno's rules"),
    ],
    make: |given| Ok(Box::new(Nice::new(Settings::read(given)?))),
};

/// The share of the window kept by a back-off.
const BETA: f64 = 0.5;
/// The smallest window: a segment every 48 round trips.
const MINIMUM: f64 = 1.0 / 48.0;

parameters! {
    /// The parameters.
    pub struct Settings {
        /// Share of the range of RTTs above which a segment was delayed
        threshold: f64 = 0.1, range above(0.0).below(1.0), source "the paper's threshold t";
        /// The window is halved when more than this share of it was delayed
        fraction: f64 = 0.5, range above(0.0).below(1.0), source "the paper's fraction f";
        /// With fewer own segments waiting in the queue the window grows
        alpha: f64 = 1.0,
            unit "segments", range above(0.0).up_to(10_000.0), source "Brakmo and Peterson 1995, section IV-B";
        /// With more own segments waiting in the queue the window shrinks, and slow start ends
        beta: f64 = 3.0,
            unit "segments", range above(0.0).up_to(10_000.0).not_below("alpha"),
            source "Brakmo and Peterson 1995, section IV-B";
    }
}

/// The controller.
#[derive(Clone, Copy, Debug)]
pub struct Nice {
    settings: Settings,
    /// Its window is w, also below 1.
    vegas: Vegas,
    max_rtt: Span,
    threshold_rtt: Span,
    /// Segments of this round trip that were delayed.
    delayed: u32,
    /// The rate of w segments a round trip, for w below 1.
    spacing: Option<Rate>,
    backoffs: u64,
}

impl Nice {
    /// A controller with `settings`.
    pub fn new(settings: Settings) -> Self {
        let Settings { alpha, beta, .. } = settings;
        Self {
            settings,
            vegas: Vegas::new(vegas::Settings { alpha, beta, ..vegas::Settings::default() }),
            max_rtt: Span::ZERO,
            threshold_rtt: Span::ZERO,
            delayed: 0,
            spacing: None,
            backoffs: 0,
        }
    }

    fn observe(&mut self, ack: &Ack) {
        let Some(rtt) = ack.undelayed_rtt() else { return };
        self.max_rtt = self.max_rtt.max(rtt);
        self.threshold_rtt = ack.min_rtt + (self.max_rtt - ack.min_rtt).scale(self.settings.threshold);
        if rtt > self.threshold_rtt {
            self.delayed = self.delayed.saturating_add(ack.newly_delivered);
        }
    }

    /// A round trip ends: whether it was one of congestion.
    fn end_round(&mut self) -> bool {
        f64::from(std::mem::take(&mut self.delayed)) > self.settings.fraction * self.vegas.window_at_start()
    }

    /// Below one segment: w segments of this size every smoothed RTT.
    fn space(&mut self, cx: &Context<'_>, ack: &Ack) {
        let rtt = ack.smoothed_rtt.as_secs_f64();
        let below_one = self.vegas.window() < 1.0 && rtt > 0.0;
        self.spacing = below_one.then(|| {
            let bits = 8.0 * cx.segment_size.get() as f64 * self.vegas.window();
            Rate::from_bits_per_second(((bits / rtt) as u64).max(1))
        });
    }
}

impl Controller for Nice {
    fn on_start(&mut self, cx: &mut Context<'_>) {
        self.vegas.on_start(cx);
    }

    fn on_ack(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        self.observe(ack);
        let delays_known = self.vegas.slow_start_threshold().is_finite();
        if ack.round_start && self.end_round() && delays_known {
            self.vegas.back_off((BETA * self.vegas.window()).max(MINIMUM));
            self.backoffs += 1;
        } else {
            self.vegas.on_ack(cx, ack);
        }
        self.space(cx, ack);
    }

    fn on_duplicate_ack(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        self.observe(ack);
        if ack.round_start {
            self.delayed = 0;
        }
        self.vegas.on_duplicate_ack(cx, ack);
    }

    fn on_loss(&mut self, cx: &mut Context<'_>, loss: &Loss) {
        self.vegas.on_loss(cx, loss);
    }

    fn on_timeout(&mut self, cx: &mut Context<'_>, loss: &Loss) {
        self.vegas.on_timeout(cx, loss);
        self.spacing = None;
    }

    fn on_spurious(&mut self, cx: &mut Context<'_>) {
        self.vegas.on_spurious(cx);
        self.spacing = None;
    }

    fn on_idle_restart(&mut self, cx: &mut Context<'_>) {
        self.vegas.on_idle_restart(cx);
    }

    fn window(&self) -> f64 {
        self.vegas.window().max(1.0)
    }

    fn slow_start_threshold(&self) -> f64 {
        self.vegas.slow_start_threshold()
    }

    fn pacing_rate(&self) -> Option<Rate> {
        self.spacing
    }

    fn probe(&self, out: &mut dyn Probe) {
        out.value("nice_window", self.vegas.window());
        out.value("delayed_segments", f64::from(self.delayed));
        out.value("threshold_rtt_ms", self.threshold_rtt.as_millis_f64());
        out.value("backoffs", self.backoffs as f64);
        self.vegas.probe(out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{World, ack, loss, probed, rtt};

    /// Has seen 140 ms on a path of 40 ms: more than 50 ms is a delay.
    fn cruising(window: f64) -> Nice {
        let mut nice = Nice::new(Settings::default());
        nice.vegas.back_off(window);
        nice.max_rtt = Span::from_millis(140);
        nice
    }

    /// A round trip in which `delayed` of the segments take 60 ms and the others 40 ms, the last one ending it.
    fn round(nice: &mut Nice, segments: u32, delayed: u32) {
        let mut world = World::new();
        for n in 1..=segments {
            let millis = if n <= delayed { 60 } else { 40 };
            nice.on_ack(&mut world.context(), &Ack { rtt: rtt(millis), round_start: n == segments, ..ack() });
        }
    }

    #[test]
    fn more_than_half_of_the_segments_delayed_halve_the_window() {
        let mut nice = cruising(20.0);
        round(&mut nice, 20, 10);
        assert_eq!((nice.window(), probed(&nice, "threshold_rtt_ms")), (21.0, 50.0), "half is not more than half");
        let mut nice = cruising(20.0);
        round(&mut nice, 20, 11);
        assert_eq!((nice.window(), probed(&nice, "backoffs")), (10.0, 1.0));
    }

    #[test]
    fn the_count_begins_anew_with_each_round_trip() {
        let mut nice = cruising(20.0);
        round(&mut nice, 20, 8);
        round(&mut nice, 20, 8);
        assert_eq!(probed(&nice, "backoffs"), 0.0);
    }

    #[test]
    fn an_ack_counts_the_segments_that_it_delivers() {
        let mut nice = cruising(4.0);
        let pair = Ack { rtt: rtt(60), newly_acknowledged: 2, newly_delivered: 2, ..ack() };
        nice.on_ack(&mut World::new().context(), &pair);
        nice.on_ack(&mut World::new().context(), &Ack { rtt: rtt(40), round_start: true, ..pair });
        assert_eq!(probed(&nice, "backoffs"), 0.0, "2 of 4");
        nice.on_ack(&mut World::new().context(), &pair);
        nice.on_ack(&mut World::new().context(), &Ack { round_start: true, ..pair });
        assert_eq!(probed(&nice, "backoffs"), 1.0, "4 of 5");
    }

    #[test]
    fn below_one_segment_it_is_spaced_down_to_one_in_48_round_trips() {
        let mut nice = cruising(1.0);
        assert_eq!(nice.pacing_rate(), None);
        round(&mut nice, 1, 1);
        round(&mut nice, 1, 1);
        assert_eq!((nice.window(), probed(&nice, "nice_window")), (1.0, 0.25));
        // A quarter of 1448 bytes in 40 ms: 362 * 8 / 0.04 = 72,400 bit/s.
        assert_eq!(nice.pacing_rate(), Some(Rate::from_bits_per_second(72_400)));
        for _ in 0..10 {
            round(&mut nice, 1, 1);
        }
        assert_eq!(probed(&nice, "nice_window"), 1.0 / 48.0);
    }

    #[test]
    fn when_the_congestion_is_over_a_window_below_one_grows_as_vegas_does() {
        let mut nice = cruising(0.25);
        round(&mut nice, 1, 0);
        assert_eq!((nice.window(), nice.pacing_rate()), (1.25, None));
    }

    #[test]
    fn the_first_slow_start_is_that_of_vegas() {
        let mut nice = Nice::new(Settings::default());
        nice.on_start(&mut World::new().context());
        // In the round trip from 10 to 20 segments all but one RTT are long, but fewer than three segments wait in the
        // end.
        round(&mut nice, 10, 9);
        assert_eq!((nice.window(), probed(&nice, "backoffs")), (19.0, 0.0));
    }

    #[test]
    fn losses_are_those_of_reno() {
        let mut nice = cruising(20.0);
        nice.on_loss(&mut World::new().context(), &loss());
        assert_eq!(nice.window(), 10.0);
        nice.on_timeout(&mut World::new().context(), &loss());
        assert_eq!((nice.window(), nice.slow_start_threshold()), (1.0, 5.0));
    }
}
