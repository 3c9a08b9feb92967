//! TCP-Africa (King, Baraniuk and Riedi, "TCP-Africa: an adaptive and fair rapid increase rule for scalable TCP",
//! INFOCOM 2005).
//!
//! HighSpeed TCP while the queue is short, standard TCP as soon as it is not: of its own segments those that wait are
//! estimated as Vegas does, on the smoothed RTT.
//!
//! | rule | here |
//! | --- | --- |
//! | diff = w (1 - smallest RTT/smoothed RTT) | `Africa::estimate` |
//! | diff < alpha, fast mode: w += a(w)/w per ACK, a(w) of HighSpeed TCP | `Africa::increase` |
//! | else, slow mode: w += 1/w per ACK | `Africa::increase` |
//! | loss: w = (1 - b(w)) w, b(w) of HighSpeed TCP, in either mode | `Controller::on_loss` |
//!
//! The last ACK sets the mode. The sources leave open:
//! - alpha is a number of segments above one, 2 here.
//! - a(w) and b(w) are the formulas of RFC 3649 (`highspeed`), after a timeout too.

use crate::controllers::highspeed;
use crate::entry::{Aim, Entry, Quantity};
use crate::parameters::parameters;
use crate::parts::reno::{delegate, reduce};
use crate::range::above;
use crate::{Ack, Context, Controller, Probe, Reno, Undo};

/// The entry of TCP-Africa in the registry.
pub const ENTRY: Entry = Entry {
    name: "africa",
    title: "TCP-Africa",
    summary: "HighSpeed TCP while few of its own segments wait in the queue, standard TCP otherwise",
    source: "King, Baraniuk and Riedi 2005",
    aim: Aim::General,
    parameters: Settings::PARAMETERS,
    probes: &[
        Quantity::new("waiting", "segments", "diff, own segments in the queue"),
        Quantity::new("fast", "", "1 in fast mode"),
        Quantity::new("a", "segments per RTT", "Increase of a round trip"),
    ],
    make: |given| Ok(Box::new(Africa::new(Settings::read(given)?))),
};

parameters! {
    /// The parameters.
    pub struct Settings {
        /// From so many own segments waiting in the queue on growth is that of standard TCP
        alpha: f64 = 2.0, unit "segments", range above(0.0).up_to(1_000_000.0), source "the paper's alpha, above 1";
    }
}

/// The controller.
#[derive(Clone, Copy, Debug)]
pub struct Africa {
    settings: Settings,
    reno: Reno,
    undo: Undo,
    /// diff.
    waiting: f64,
}

impl Africa {
    /// A controller with `settings`.
    pub fn new(settings: Settings) -> Self {
        Self { settings, reno: Reno::new(), undo: Undo::default(), waiting: 0.0 }
    }

    fn estimate(&mut self, ack: &Ack) {
        let rtt = ack.smoothed_rtt.as_secs_f64();
        if rtt > 0.0 {
            self.waiting = self.reno.window * ack.smoothed_rtt.saturating_sub(ack.min_rtt).as_secs_f64() / rtt;
        }
    }

    fn is_fast(&self) -> bool {
        self.waiting < self.settings.alpha
    }

    /// Segments a round trip.
    fn increase(&self) -> f64 {
        if self.is_fast() { highspeed::increase_at(self.reno.window) } else { 1.0 }
    }

    /// The share of the window kept on a loss.
    fn kept(&self) -> f64 {
        1.0 - highspeed::decrease_at(self.reno.window)
    }
}

impl Controller for Africa {
    delegate!(reno: on_start, on_spurious(undo), on_idle_restart, keep, window, slow_start_threshold);
    reduce!(keeping kept);

    fn on_ack(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        self.estimate(ack);
        self.reno.grow_by(cx, ack, self.increase());
    }

    fn probe(&self, out: &mut dyn Probe) {
        out.value("waiting", self.waiting);
        out.value("fast", f64::from(u8::from(self.is_fast())));
        out.value("a", self.increase());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{World, ack, loss, probed};
    use units::Span;

    fn at(window: f64) -> Africa {
        Africa { reno: Reno { window, threshold: 2.0 }, ..Africa::new(Settings::default()) }
    }

    /// An ACK at a smoothed RTT of `micros` above 100 ms.
    fn with_queue(micros: u64) -> Ack {
        let min_rtt = Span::from_millis(100);
        Ack { smoothed_rtt: min_rtt + Span::from_micros(micros), min_rtt, ..ack() }
    }

    #[test]
    fn below_alpha_waiting_segments_it_grows_as_highspeed_tcp_and_from_there_on_as_reno() {
        // At 1000 segments 200 us are 2/1.002 = 1.996 segments, and 201 us 2.006.
        let mut africa = at(1000.0);
        africa.on_ack(&mut World::new().context(), &with_queue(200));
        // RFC 3649, appendix B: a is 8 up to 1058 segments, and 7 up to 851; by the formula 7.7.
        let a = probed(&africa, "a");
        assert!(a > 7.0 && a < 8.0, "{a}");
        assert_eq!(probed(&africa, "fast"), 1.0);
        assert!((africa.window() - 1000.0 - a / 1000.0).abs() < 1e-4, "{}", africa.window());
        let mut africa = at(1000.0);
        africa.on_ack(&mut World::new().context(), &with_queue(201));
        assert_eq!((africa.window(), probed(&africa, "fast"), probed(&africa, "a")), (1000.001, 0.0, 1.0));
    }

    #[test]
    fn small_windows_are_those_of_standard_tcp() {
        let mut world = World::new();
        let mut africa = at(20.0);
        africa.on_ack(&mut world.context(), &with_queue(0));
        assert_eq!(africa.window(), 20.05);
        let mut africa = at(20.0);
        africa.on_loss(&mut world.context(), &loss());
        assert_eq!((africa.window(), africa.slow_start_threshold()), (10.0, 10.0));
    }

    #[test]
    fn a_loss_takes_what_highspeed_tcp_gives_up_in_either_mode() {
        let mut world = World::new();
        // b(83000) = 0.1 by definition.
        for queue in [0, 50_000] {
            let mut africa = at(83_000.0);
            africa.estimate(&with_queue(queue));
            africa.on_loss(&mut world.context(), &loss());
            assert!((africa.window() - 74_700.0).abs() < 1e-6, "{}", africa.window());
            africa.on_spurious(&mut world.context());
            assert_eq!(africa.window(), 83_000.0);
        }
    }

    #[test]
    fn just_alpha_in_the_queue_is_not_fast() {
        let alpha = Settings::default().alpha;
        for (waiting, is_fast) in [(alpha, false), (alpha * 0.999, true)] {
            assert_eq!(Africa { waiting, ..at(100.0) }.is_fast(), is_fast);
        }
    }
}
