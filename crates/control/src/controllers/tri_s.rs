//! Tri-S, slow start and search (Wang and Crowcroft, "A new congestion control scheme: slow start and search
//! (Tri-S)", ACM CCR 21(1), 1991), as the thesis of Edwan (Loughborough 2010, section 2.6) describes it.
//!
//! The gain in throughput by a larger window shows whether the path is full: on an empty path each segment more brings
//! as much as the first one did, on a full one nothing.
//!
//! | rule, with T_n and W_n throughput and window of round trip n | here |
//! | --- | --- |
//! | TG_n = (T_n - T_(n-1))/(W_n - W_(n-1)), NTG_n = TG_n/TG_1 | `TriS::measure` |
//! | start: w += 1 for each segment, until a timeout | `Controller::on_ack` |
//! | after it: w = 1, and w += 1 for each segment while NTG > th_d | `Controller::on_ack` |
//! | then each round trip w += 1, and back a round trip later if NTG < th_i | `TriS::search` |
//!
//! Notable differences from the thesis, and its open points: a loss that duplicate ACKs show counts as a timeout, as
//! the scheme is older than fast recovery. The thresholds are not given: a half each. T_1 is one segment in the
//! smallest RTT. The throughput of a round trip is the delivery that its ACKs show. After a segment was given back it
//! holds for a round trip. `strict` gives two back, for less than there was before.

use units::Time;

use crate::entry::{Aim, Entry, Quantity};
use crate::parameters::parameters;
use crate::parts::reno::delegate;
use crate::range::from;
use crate::{Ack, Context, Controller, Loss, Probe, Reno, Undo};

/// The entry of Tri-S in the registry.
pub const ENTRY: Entry = Entry {
    name: "tri-s",
    title: "Tri-S",
    summary: "Tries a segment more each round trip, and gives it back if it brings no throughput",
    source: "Wang and Crowcroft 1991; Edwan 2010, section 2.6",
    aim: Aim::Delay,
    parameters: Settings::PARAMETERS,
    probes: &[
        Quantity::new("ntg", "", "The last normalized throughput gradient"),
        Quantity::new("mode", "", "1 start, 2 slow start after a loss, 3 search"),
    ],
    make: |given| Ok(Box::new(TriS::new(Settings::read(given)?))),
};

parameters! {
    /// The parameters.
    pub struct Settings {
        /// Slow start after a loss goes on while the gradient is above this
        th_d: f64 = 0.5, range from(0.0).up_to(10.0), source "Edwan 2010, section 2.6, th_d, without a value";
        /// A segment that was tried is given back if the gradient is below this
        th_i: f64 = 0.5, range from(0.0).up_to(10.0), source "Edwan 2010, section 2.6, th_i, without a value";
        /// A segment that brings nothing takes another one with it
        strict: bool = false, source "the other reading of section 2.6";
    }
}

/// The share of the window that a loss keeps.
const BETA: f64 = 0.5;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
enum Mode {
    Start = 1,
    Restart = 2,
    Search = 3,
}

/// The measurements of a round trip.
#[derive(Clone, Copy, Debug, Default)]
struct Round {
    /// Segments, and segments a second.
    window: f64,
    throughput: f64,
}

/// The controller.
#[derive(Clone, Copy, Debug)]
pub struct TriS {
    settings: Settings,
    reno: Reno,
    undo: Undo<(Reno, Mode)>,
    mode: Mode,
    last: Round,
    /// The running round trip: its window, when it began, and the segments delivered since.
    window: f64,
    began: Time,
    delivered: u32,
    ntg: f64,
    /// A segment was tried in the round trip before.
    tried: bool,
}

impl TriS {
    /// A controller with `settings`.
    pub fn new(settings: Settings) -> Self {
        Self {
            settings,
            reno: Reno::new(),
            undo: Undo::default(),
            mode: Mode::Start,
            last: Round::default(),
            window: 1.0,
            began: Time::ZERO,
            delivered: 0,
            ntg: 1.0,
            tried: false,
        }
    }

    /// A round trip ends: the gradient against the one before, if the window changed.
    fn measure(&mut self, now: Time, ack: &Ack) {
        let elapsed = now.since(self.began).as_secs_f64();
        if elapsed <= 0.0 || self.delivered == 0 {
            return;
        }
        let round = Round { window: self.window, throughput: f64::from(self.delivered) / elapsed };
        let change = round.window - self.last.window;
        let first = 1.0 / ack.min_rtt.as_secs_f64().max(1e-9);
        if self.last.window > 0.0 && change.abs() >= 0.5 {
            self.ntg = (round.throughput - self.last.throughput) / change / first;
        }
        self.last = round;
    }

    fn begin_round(&mut self, now: Time) {
        (self.window, self.began, self.delivered) = (self.reno.window, now, 0);
    }

    /// A round trip of the search ends.
    fn search(&mut self) {
        if self.tried && self.ntg < self.settings.th_i {
            self.tried = false;
            let back = if self.settings.strict { 2.0 } else { 1.0 };
            self.reno.window = (self.reno.window - back).max(1.0);
        } else {
            self.tried = true;
            self.reno.window += 1.0;
        }
    }

    /// After a loss the search, or slow start, goes on from another window.
    fn begin_anew(&mut self, now: Time, mode: Mode) {
        (self.mode, self.tried) = (mode, false);
        (self.last, self.ntg) = (Round::default(), 1.0);
        self.begin_round(now);
    }
}

impl Controller for TriS {
    delegate!(reno: on_idle_restart, window, slow_start_threshold);

    fn on_start(&mut self, cx: &mut Context<'_>) {
        self.reno.start(cx);
        self.begin_round(cx.now);
    }

    fn on_ack(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        self.delivered += ack.newly_delivered;
        if ack.round_start {
            self.measure(cx.now, ack);
            if self.mode == Mode::Restart && self.ntg <= self.settings.th_d {
                self.mode = Mode::Search;
                self.reno.threshold = self.reno.window.max(Reno::MINIMUM);
            } else if self.mode == Mode::Search && ack.window_limited {
                self.search();
            }
        }
        if self.mode != Mode::Search && ack.window_limited {
            self.reno.window += ack.slow_start_credit(cx);
        }
        if ack.round_start {
            self.begin_round(cx.now);
        }
    }

    fn on_duplicate_ack(&mut self, _cx: &mut Context<'_>, ack: &Ack) {
        self.delivered += ack.newly_delivered;
    }

    fn on_loss(&mut self, cx: &mut Context<'_>, _loss: &Loss) {
        self.undo.remember((self.reno, self.mode));
        self.reno.multiplicative_decrease(BETA);
        self.begin_anew(cx.now, Mode::Search);
    }

    fn on_timeout(&mut self, cx: &mut Context<'_>, loss: &Loss) {
        self.undo.remember_first(loss, (self.reno, self.mode));
        self.reno.timeout(BETA, loss.again);
        self.begin_anew(cx.now, Mode::Restart);
    }

    fn on_spurious(&mut self, _cx: &mut Context<'_>) {
        if let Some((reno, mode)) = self.undo.take() {
            self.reno.restore(reno);
            self.mode = mode;
        }
    }

    fn probe(&self, out: &mut dyn Probe) {
        out.value("ntg", self.ntg);
        out.value("mode", f64::from(self.mode as u8));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Counting;
    use crate::testing::{World, ack, loss, probed};
    use units::Span;

    /// A round trip of `millis` on a path of 100 ms, whose window is delivered by one ACK.
    fn round(world: &mut World, tri_s: &mut TriS, millis: u64) {
        world.pass(Span::from_millis(millis));
        let newly_delivered = tri_s.window() as u32;
        let ack = Ack { min_rtt: Span::from_millis(100), round_start: true, newly_delivered, ..ack() };
        world.connection.counting = Counting::PerAck;
        tri_s.on_ack(&mut world.context(), &ack);
    }

    fn searching(window: f64, settings: Settings) -> TriS {
        let mut tri_s = TriS::new(settings);
        (tri_s.mode, tri_s.reno) = (Mode::Search, Reno { window, threshold: 2.0 });
        tri_s.begin_round(Time::ZERO);
        tri_s
    }

    #[test]
    fn on_an_empty_path_each_round_trip_adds_a_segment() {
        let (mut world, mut tri_s) = (World::new(), searching(10.0, Settings::default()));
        (0..3).for_each(|_| round(&mut world, &mut tri_s, 100));
        assert_eq!(tri_s.window(), 13.0);
        // 12 segments in 100 ms after 11: ten a second more, as the first brought.
        assert!((probed(&tri_s, "ntg") - 1.0).abs() < 1e-9, "{}", probed(&tri_s, "ntg"));
    }

    #[test]
    fn on_a_full_path_a_segment_comes_and_goes() {
        // 100 segments a second at most: 10 in 100 ms, 11 in 110, 12 in 120.
        let (mut world, mut tri_s) = (World::new(), searching(10.0, Settings::default()));
        let windows: Vec<f64> = (0..6)
            .map(|_| {
                let millis = 10 * tri_s.window() as u64;
                round(&mut world, &mut tri_s, millis);
                tri_s.window()
            })
            .collect();
        assert_eq!(windows, [11.0, 10.0, 11.0, 10.0, 11.0, 10.0]);
        let (mut world, mut tri_s) = (World::new(), searching(10.0, Settings { strict: true, ..Settings::default() }));
        round(&mut world, &mut tri_s, 100);
        round(&mut world, &mut tri_s, 110);
        assert_eq!(tri_s.window(), 9.0);
    }

    #[test]
    fn after_a_timeout_it_starts_slowly_until_growth_brings_less_than_half() {
        let mut world = World::new();
        let mut tri_s = TriS::new(Settings::default());
        tri_s.on_start(&mut world.context());
        tri_s.on_ack(&mut world.context(), &ack());
        assert_eq!((tri_s.window(), probed(&tri_s, "mode")), (11.0, 1.0));
        tri_s.on_timeout(&mut world.context(), &loss());
        assert_eq!((tri_s.window(), probed(&tri_s, "mode")), (1.0, 2.0));
        round(&mut world, &mut tri_s, 100);
        round(&mut world, &mut tri_s, 100);
        assert_eq!((tri_s.window(), probed(&tri_s, "mode")), (3.0, 2.0));
        // Two segments in 100 ms, then three in 142: 21.1 a second after 20, a ninth of the gain by the first.
        round(&mut world, &mut tri_s, 142);
        assert_eq!((tri_s.window(), probed(&tri_s, "mode")), (3.0, 3.0));
        assert!((probed(&tri_s, "ntg") - 0.1127).abs() < 1e-3, "{}", probed(&tri_s, "ntg"));
    }

    #[test]
    fn a_loss_halves_and_the_search_goes_on() {
        let mut tri_s = TriS::new(Settings::default());
        tri_s.reno.window = 80.0;
        tri_s.on_loss(&mut World::new().context(), &loss());
        assert_eq!((tri_s.window(), probed(&tri_s, "mode")), (40.0, 3.0));
        tri_s.on_spurious(&mut World::new().context());
        assert_eq!((tri_s.window(), probed(&tri_s, "mode")), (80.0, 1.0));
    }
}
