//! TCP Veno (Fu and Liew, "TCP Veno: TCP enhancement for transmission over wireless access networks", IEEE JSAC 21(2),
//! 2003).
//!
//! NewReno that estimates its segments in the queue as Vegas does. With few, a loss is taken for one of the link, not
//! of congestion, and takes a fifth; with many the window grows by a segment in two round trips.
//!
//! | rule | here |
//! | --- | --- |
//! | N = w (1 - R_base/R_min) | `parts/queue_meter.rs` |
//! | N >= beta: one segment in two round trips | `Controller::on_ack` |
//! | loss: 4/5 kept with N < beta, else 1/2 | `Veno::kept` |
//!
//! Notable differences from the paper: R_min is the smallest RTT of a round trip; half a segment a round trip stands
//! for one in two. A timeout halves.
//!
//! With `arithmetic = "linux"` it is Linux's module, in whole segments, microseconds and halves of segments: N is
//! estimated at every ACK, from the samples since the last one, and a timeout keeps what a loss does. The window
//! after a timeout is the transport's. In disorder and while a timeout is repaired it grows as Reno. After either, and
//! after a loss, the first ACK finds no sample: its own came before the state of the connection changed.

use units::Span;

use crate::entry::{Entry, Quantity};
use crate::parameters::parameters;
use crate::parts::linux::{self, Arithmetic, Counter, avoidance, micros};
use crate::parts::queue_meter::QueueMeter;
use crate::parts::reno::delegate;
use crate::range::above;
use crate::{Ack, Context, Controller, Loss, Probe, Reno, Undo, Wants};

/// What the registry tells about Veno.
pub const ENTRY: Entry = Entry {
    name: "veno",
    title: "TCP Veno",
    summary: "NewReno that gives up a fifth on a loss with a short queue, and grows half as fast with a long one",
    source: "Fu and Liew 2003; Linux",
    parameters: Settings::PARAMETERS,
    probes: &[Quantity::new("waiting", "segments", "N, own segments in the queue")],
    make: |given| Ok(Box::new(Veno::new(Settings::read(given)?))),
};

const KEPT_BY_RANDOM_LOSS: f64 = 0.8;
const KEPT_BY_CONGESTION: f64 = 0.5;
/// With fewer samples Linux does as NewReno.
const ENOUGH: u32 = 3;
/// No sample since the last ACK, in Linux.
const NONE: u64 = 0x7fff_ffff;

parameters! {
    /// The parameters.
    pub struct Settings {
        /// From so many own segments in the queue on there is congestion
        beta: f64 = 3.0, unit "segments", range above(0.0).up_to(1_000_000.0), source "section II, beta";
        /// Real numbers, or the whole numbers of the module in Linux
        arithmetic: Arithmetic = Arithmetic::Float, source "Linux, tcp_veno.c";
    }
}

/// What Linux keeps, in microseconds.
#[derive(Clone, Copy, Debug)]
struct Whole {
    /// Not between a timeout and its repair.
    enabled: bool,
    /// The last ACK left segments out of order, or losses.
    disordered: bool,
    samples: u32,
    least: u64,
    base: u64,
    /// The next segment with a long queue is due.
    due: bool,
    counter: Counter,
}

impl Whole {
    const fn new() -> Self {
        Self {
            enabled: true,
            disordered: false,
            samples: 0,
            least: NONE,
            base: NONE,
            due: true,
            counter: Counter::new(),
        }
    }
}

/// The controller.
#[derive(Clone, Copy, Debug)]
pub struct Veno {
    settings: Settings,
    reno: Reno,
    undo: Undo,
    meter: QueueMeter,
    /// N; in Linux a number of halves.
    waiting: f64,
    whole: Whole,
}

impl Veno {
    /// A controller with `settings`.
    pub fn new(settings: Settings) -> Self {
        let meter = QueueMeter::new(false);
        Self { settings, reno: Reno::new(), undo: Undo::default(), meter, waiting: 0.0, whole: Whole::new() }
    }

    fn computes_as_linux(&self) -> bool {
        self.settings.arithmetic == Arithmetic::Linux
    }

    fn is_congested(&self) -> bool {
        self.waiting >= self.settings.beta
    }

    /// What a loss leaves.
    fn kept(&self) -> f64 {
        if !self.computes_as_linux() {
            let share = if self.is_congested() { KEPT_BY_CONGESTION } else { KEPT_BY_RANDOM_LOSS };
            return self.reno.window * share;
        }
        let window = self.reno.window as u64;
        (if self.is_congested() { window / 2 } else { window * 4 / 5 }) as f64
    }

    fn observe(&mut self, ack: &Ack) {
        if !self.computes_as_linux() {
            self.meter.observe(ack);
        } else if let Some(rtt) = ack.rtt {
            let rtt = micros(rtt.value) + 1;
            self.whole.base = self.whole.base.min(rtt);
            self.whole.least = self.whole.least.min(rtt);
            self.whole.samples = self.whole.samples.saturating_add(1);
        }
    }

    fn grow_by_whole_segments(&mut self, ack: &Ack) {
        let disordered = ack.leaves_disorder();
        if std::mem::replace(&mut self.whole.disordered, disordered) && !disordered {
            self.whole.least = NONE;
        }
        let Whole { enabled, samples, least, base, .. } = self.whole;
        if !enabled || disordered {
            self.whole.counter.grow_as_reno(&mut self.reno, ack);
            return;
        }
        if !ack.window_limited {
            return;
        }
        if samples < ENOUGH {
            self.whole.counter.grow_as_reno(&mut self.reno, ack);
        } else {
            let window = self.reno.window as u64;
            self.waiting = (2 * window - 2 * window * base / least) as f64 / 2.0;
            if let Some(credit) = avoidance(&mut self.reno, ack) {
                self.avoid_congestion(ack, credit);
            }
            self.reno.window = self.reno.window.max(Reno::MINIMUM);
        }
        self.whole.least = NONE;
    }

    fn avoid_congestion(&mut self, ack: &Ack, credit: u32) {
        let window = self.reno.window as u32;
        if !self.is_congested() {
            self.whole.counter.grow(&mut self.reno, window, credit, ack.counting);
        } else if self.whole.counter.add(0) >= window {
            self.whole.counter.clear();
            if self.whole.due {
                self.reno.window += 1.0;
            }
            self.whole.due = !self.whole.due;
        } else {
            self.whole.counter.add(credit);
        }
    }

    /// Sending begins, or resumes after idle time.
    fn measure_anew(&mut self) {
        self.meter.forget();
        let Whole { samples, counter, .. } = self.whole;
        self.whole = Whole { samples, counter, ..Whole::new() };
    }
}

impl Controller for Veno {
    delegate!(reno: on_start, on_spurious(undo), keep, window, slow_start_threshold);

    fn wants(&self) -> Wants {
        Wants { transmit_start: self.computes_as_linux(), exact_rtt: true, ..Wants::default() }
    }

    fn on_ack(&mut self, _cx: &mut Context<'_>, ack: &Ack) {
        self.observe(ack);
        if self.computes_as_linux() {
            self.grow_by_whole_segments(ack);
            return;
        }
        if let Some(estimate) = self.meter.close(ack, self.reno.window) {
            self.waiting = estimate.queue;
        }
        self.reno.grow_by(ack, if self.is_congested() { 0.5 } else { 1.0 });
    }

    fn on_duplicate_ack(&mut self, _cx: &mut Context<'_>, ack: &Ack) {
        self.observe(ack);
        self.whole.disordered = ack.leaves_disorder();
    }

    fn on_loss(&mut self, _cx: &mut Context<'_>, _loss: &Loss) {
        self.undo.remember(self.reno);
        let threshold = self.kept();
        linux::reduce(&mut self.reno, threshold);
        self.whole.counter.clear();
        self.whole.disordered = true;
    }

    fn on_recovered(&mut self, _cx: &mut Context<'_>) {
        self.meter.restart();
        (self.whole.enabled, self.whole.disordered) = (true, true);
    }

    fn on_timeout(&mut self, _cx: &mut Context<'_>, loss: &Loss) {
        self.undo.remember_first(loss, self.reno);
        let threshold = if self.computes_as_linux() { self.kept() } else { self.reno.window * KEPT_BY_CONGESTION };
        linux::time_out(&mut self.reno, threshold, loss);
        self.whole.counter.clear();
        self.whole.enabled = false;
        self.meter.restart();
    }

    fn on_transmit_start(&mut self, _cx: &mut Context<'_>, _idle: Span) {
        self.measure_anew();
    }

    fn on_idle_restart(&mut self, cx: &mut Context<'_>) {
        self.reno.idle_restart(cx);
        self.measure_anew();
    }

    fn probe(&self, out: &mut dyn Probe) {
        out.value("waiting", self.waiting);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{World, ack, loss, probed, rtt};

    fn at(window: f64, arithmetic: Arithmetic) -> Veno {
        let mut veno = Veno::new(Settings { arithmetic, ..Settings::default() });
        veno.reno = Reno { window, threshold: 2.0 };
        (0..3).for_each(|_| veno.on_duplicate_ack(&mut World::new().context(), &Ack { rtt: rtt(100), ..ack() }));
        veno.meter.restart();
        veno.whole.least = NONE;
        veno
    }

    /// A round trip of `millis` on a path of 100 ms, all in one ACK.
    fn round(veno: &mut Veno, millis: u64) {
        let (all, end) = (veno.window() as u32, veno.meter.end() + 1);
        let of = Ack { rtt: rtt(millis), acknowledged_to: end, sent_to: end, in_flight: 0, ..ack() };
        (0..2).for_each(|_| veno.on_duplicate_ack(&mut World::new().context(), &of));
        veno.on_ack(&mut World::new().context(), &Ack { newly_acknowledged: all, newly_delivered: all, ..of });
    }

    #[test]
    fn with_a_long_queue_the_window_grows_half_as_fast() {
        // 50 segments: 2.9 of them wait at 106.2 ms, 3.4 at 107.3; of them 1 - 100/106 and 1 - 100/107.
        for (millis, after) in [(106, 51.0), (107, 50.5)] {
            let mut veno = at(50.0, Arithmetic::Float);
            round(&mut veno, millis);
            assert_eq!(veno.window(), after, "{millis} ms");
        }
    }

    #[test]
    fn in_linux_every_second_round_trip_adds_a_segment_with_a_long_queue() {
        let mut veno = at(50.0, Arithmetic::Linux);
        let windows: Vec<f64> = (0..7)
            .map(|_| {
                round(&mut veno, 110);
                veno.window()
            })
            .collect();
        // One round trip fills the counter, the next finds it full.
        assert_eq!(windows, [50.0, 51.0, 51.0, 51.0, 51.0, 52.0, 52.0]);
    }

    #[test]
    fn a_loss_takes_a_fifth_with_a_short_queue_and_a_half_with_a_long_one() {
        let mut world = World::new();
        for (arithmetic, millis, after) in [
            (Arithmetic::Float, 102, 40.8),
            (Arithmetic::Float, 110, 25.25),
            // 51 * 4/5 = 40.8; half of 50.
            (Arithmetic::Linux, 102, 40.0),
            (Arithmetic::Linux, 110, 25.0),
        ] {
            let mut veno = at(50.0, arithmetic);
            round(&mut veno, millis);
            veno.on_loss(&mut world.context(), &loss());
            assert!((veno.window() - after).abs() < 1e-9, "{arithmetic:?}, {millis} ms: {}", veno.window());
        }
    }

    #[test]
    fn linux_estimates_in_halves_of_segments_at_every_ack() {
        let mut veno = at(50.0, Arithmetic::Linux);
        // 100 - 100 * 100001/104001 = 100 - 96.
        veno.on_ack(&mut World::new().context(), &Ack { rtt: rtt(104), ..ack() });
        assert_eq!(probed(&veno, "waiting"), 2.0);
        veno.on_ack(&mut World::new().context(), &ack());
        assert_eq!(probed(&veno, "waiting"), 50.0, "an ACK without sample finds no RTT at all");
    }

    #[test]
    fn linux_grows_as_reno_in_disorder_and_forgets_the_sample_of_the_ack_that_ends_it() {
        // Nine are outstanding; one of them was SACKed.
        for (in_flight, after) in [(9, 50.0), (8, 51.0)] {
            let mut veno = at(50.0, Arithmetic::Linux);
            let ack = Ack { rtt: rtt(110), in_flight, ..ack() };
            (0..50).for_each(|_| veno.on_ack(&mut World::new().context(), &ack));
            assert_eq!(veno.window(), after, "{in_flight} in flight");
        }
        let mut veno = at(50.0, Arithmetic::Linux);
        veno.on_duplicate_ack(&mut World::new().context(), &Ack { in_flight: 8, ..ack() });
        veno.on_ack(&mut World::new().context(), &Ack { rtt: rtt(100), ..ack() });
        assert_eq!(probed(&veno, "waiting"), 50.0);
    }

    #[test]
    fn a_timeout_halves_and_in_linux_keeps_what_a_loss_does() {
        for (arithmetic, threshold) in [(Arithmetic::Float, 25.0), (Arithmetic::Linux, 40.0)] {
            let mut veno = at(50.0, arithmetic);
            veno.on_timeout(&mut World::new().context(), &loss());
            assert_eq!((veno.window(), veno.slow_start_threshold()), (1.0, threshold));
        }
    }
}
