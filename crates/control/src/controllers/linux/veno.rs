//! Veno of Linux (`tcp_veno.c`): whole segments, microseconds, and halves of segments. The paper's is
//! `controllers/veno.rs`.
//!
//! | rule of tcp_veno.c | here |
//! | --- | --- |
//! | N at every ACK, from the samples since the last one | `Controller::on_ack` |
//! | N >= beta: one segment in two windows of segments | `Veno::avoid_congestion` |
//! | loss and timeout: 4/5 kept with N < beta, else 1/2 | `Veno::threshold` |
//! | Reno's growth with fewer than three samples, in disorder, and until a timeout is repaired | `Controller::on_ack` |
//!
//! After disorder or a repair, and after a loss, the first ACK finds no sample: its own came before the state of the
//! connection changed. Differences from Linux: the window after a timeout is the transport's.

use crate::controllers::veno;
use crate::entry::Form;
use crate::parts::linux::{Counter, avoidance, micros};
use crate::parts::reno::delegate;
use crate::{Ack, Context, Controller, Loss, Moment, Probe, Reno, TransmitStart, Undo, Wants};

/// The form of Veno.
pub(crate) const FORM: Form =
    Form { parameters: &[], probes: veno::ENTRY.probes, make: |_| Ok(Box::new(Veno::default())) };

/// From so many own segments in the queue on there is congestion (`beta`).
const BETA: f64 = 3.0;
/// With fewer samples it grows as Reno.
const ENOUGH: u32 = 3;
/// No sample since the last ACK, microseconds.
const NONE: u64 = 0x7fff_ffff;

/// The controller.
#[derive(Clone, Copy, Debug)]
struct Veno {
    reno: Reno,
    undo: Undo,
    counter: Counter,
    /// Not between a timeout and its repair (`doing_veno_now`).
    enabled: bool,
    /// The last ACK left segments out of order, or losses.
    disordered: bool,
    /// Samples since the start, the least since the last ACK and the least since sending began, microseconds.
    samples: u32,
    least: u64,
    base: u64,
    /// N, a number of halves.
    waiting: f64,
    /// The next window of segments with a long queue adds one (`inc`).
    due: bool,
}

impl Default for Veno {
    fn default() -> Self {
        Self {
            reno: Reno::new(),
            undo: Undo::default(),
            counter: Counter::new(),
            enabled: true,
            disordered: false,
            samples: 0,
            least: NONE,
            base: NONE,
            waiting: 0.0,
            due: true,
        }
    }
}

impl Veno {
    fn is_congested(&self) -> bool {
        self.waiting >= BETA
    }

    /// The threshold after a congestion event (`tcp_veno_ssthresh`).
    fn threshold(&self) -> f64 {
        let window = self.reno.window as u64;
        (if self.is_congested() { window / 2 } else { window * 4 / 5 }) as f64
    }

    fn observe(&mut self, ack: &Ack) {
        if let Some(rtt) = ack.rtt {
            let rtt = micros(rtt.value) + 1;
            self.base = self.base.min(rtt);
            self.least = self.least.min(rtt);
            self.samples = self.samples.saturating_add(1);
        }
    }

    fn avoid_congestion(&mut self, at: &Moment, credit: u32) {
        let window = self.reno.window as u32;
        if !self.is_congested() {
            self.counter.grow(&mut self.reno, window, credit, at.counting);
        } else if self.counter.add(0) >= window {
            self.counter.clear();
            if self.due {
                self.reno.window += 1.0;
            }
            self.due = !self.due;
        } else {
            self.counter.add(credit);
        }
    }

    /// A repair is over (`veno_enable`).
    fn resume(&mut self) {
        (self.enabled, self.disordered) = (true, true);
    }

    /// Sending begins, or resumes after idle time (`tcp_veno_init`).
    fn measure_anew(&mut self) {
        let Self { reno, undo, counter, samples, waiting, .. } = *self;
        *self = Self { reno, undo, counter, samples, waiting, ..Self::default() };
    }
}

impl Controller for Veno {
    delegate!(reno: on_start, keep, window, slow_start_threshold);

    fn wants(&self) -> Wants {
        Wants { transmit_start: true, exact_rtt: true, ..Wants::default() }
    }

    fn on_ack(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        self.observe(ack);
        if ack.ends_repair {
            self.resume();
        }
        let disordered = ack.leaves_disorder();
        if std::mem::replace(&mut self.disordered, disordered) && !disordered {
            self.least = NONE;
        }
        if !self.enabled || disordered {
            self.counter.grow_as_reno(&mut self.reno, cx, ack);
            return;
        }
        if !ack.window_limited {
            return;
        }
        if self.samples < ENOUGH {
            self.counter.grow_as_reno(&mut self.reno, cx, ack);
        } else {
            let window = self.reno.window as u64;
            self.waiting = (2 * window - 2 * window * self.base / self.least) as f64 / 2.0;
            if let Some(credit) = avoidance(&mut self.reno, cx, ack) {
                self.avoid_congestion(cx, credit);
            }
            self.reno.window = self.reno.window.max(Reno::MINIMUM);
        }
        self.least = NONE;
    }

    fn on_duplicate_ack(&mut self, _cx: &mut Context<'_>, ack: &Ack) {
        self.observe(ack);
        self.enabled |= ack.ends_repair;
        self.disordered = ack.leaves_disorder();
    }

    fn on_spurious(&mut self, _cx: &mut Context<'_>) {
        self.undo.restore(&mut self.reno);
        self.resume();
    }

    fn on_loss(&mut self, _cx: &mut Context<'_>, _loss: &Loss) {
        self.undo.remember(self.reno);
        self.reno.settle_at(self.threshold());
        self.counter.clear();
        self.disordered = true;
    }

    fn on_recovered(&mut self, _cx: &mut Context<'_>) {
        self.resume();
    }

    fn on_timeout(&mut self, _cx: &mut Context<'_>, loss: &Loss) {
        self.undo.remember_first(loss, self.reno);
        self.reno.time_out_to(self.threshold(), loss);
        self.counter.clear();
        self.enabled = false;
    }

    fn on_transmit_start(&mut self, _cx: &mut Context<'_>, _start: &TransmitStart) {
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
    use units::Span;

    use super::*;
    use crate::testing::{World, ack, loss, probed, rtt};

    /// On a path of 100 ms, with three samples.
    fn at(window: f64) -> Veno {
        let base = micros(Span::from_millis(100)) + 1;
        Veno { reno: Reno { window, threshold: 2.0 }, samples: 3, base, ..Veno::default() }
    }

    /// A round trip of `millis`, all in one ACK.
    fn round(veno: &mut Veno, millis: u64) {
        let all = veno.window() as u32;
        let of = Ack { rtt: rtt(millis), sent_to: 1, in_flight: 0, ..ack() };
        veno.on_ack(&mut World::new().context(), &Ack { newly_acknowledged: all, newly_delivered: all, ..of });
    }

    #[test]
    fn every_second_window_of_segments_adds_one_with_a_long_queue() {
        let mut veno = at(50.0);
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
        // 51 * 4/5 = 40.8; half of 50.
        for (millis, after) in [(102, 40.0), (110, 25.0)] {
            let mut veno = at(50.0);
            round(&mut veno, millis);
            veno.on_loss(&mut World::new().context(), &loss());
            assert_eq!(veno.window(), after, "{millis} ms");
        }
    }

    #[test]
    fn every_ack_gives_an_estimate_in_halves_of_segments() {
        let mut veno = at(50.0);
        // 100 - 100 * 100001/104001 = 100 - 96.
        veno.on_ack(&mut World::new().context(), &Ack { rtt: rtt(104), ..ack() });
        assert_eq!(probed(&veno, "waiting"), 2.0);
        veno.on_ack(&mut World::new().context(), &ack());
        assert_eq!(probed(&veno, "waiting"), 50.0, "an ACK without sample finds no RTT at all");
    }

    #[test]
    fn disorder_grows_as_reno_and_the_ack_that_ends_it_has_no_sample() {
        // Nine are outstanding. One of them was SACKed.
        for (in_flight, after) in [(9, 50.0), (8, 51.0)] {
            let mut veno = at(50.0);
            let ack = Ack { rtt: rtt(110), in_flight, ..ack() };
            (0..50).for_each(|_| veno.on_ack(&mut World::new().context(), &ack));
            assert_eq!(veno.window(), after, "{in_flight} in flight");
        }
        let mut veno = at(50.0);
        veno.on_duplicate_ack(&mut World::new().context(), &Ack { in_flight: 8, ..ack() });
        veno.on_ack(&mut World::new().context(), &Ack { rtt: rtt(100), ..ack() });
        assert_eq!(probed(&veno, "waiting"), 50.0);
    }

    #[test]
    fn the_ack_that_ends_the_repair_of_a_timeout_estimates_without_a_sample() {
        let mut world = World::new();
        for (ends_repair, waiting) in [(false, 0.0), (true, 50.0)] {
            let mut veno = at(50.0);
            veno.enabled = false;
            veno.on_ack(&mut world.context(), &Ack { rtt: rtt(104), ends_repair, ..ack() });
            assert_eq!(probed(&veno, "waiting"), waiting);
            // The next one has its own: 100 - 100 * 100001/104001 = 100 - 96.
            veno.on_ack(&mut world.context(), &Ack { rtt: rtt(104), ..ack() });
            assert_eq!(probed(&veno, "waiting"), if ends_repair { 2.0 } else { 0.0 });
        }
    }

    #[test]
    fn a_timeout_keeps_what_a_loss_does() {
        let mut veno = at(50.0);
        veno.on_timeout(&mut World::new().context(), &loss());
        assert_eq!((veno.window(), veno.slow_start_threshold()), (1.0, 40.0));
    }
}
