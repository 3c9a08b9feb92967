//! Hybla of Linux (`tcp_hybla.c`): rho in eighths, growth in 128ths of a segment. The paper's is
//! `controllers/hybla.rs`.
//!
//! | rule of tcp_hybla.c | here |
//! | --- | --- |
//! | rho of the smallest smoothed RTT | `Hybla::observe` |
//! | the first window: rho of the handshake's RTT, rounded down (`hybla_init`) | `Controller::on_handshake` |
//! | slow start: 2^rho - 1 an ACK, the fraction from a table; not beyond the threshold | `Hybla::grow` |
//! | congestion avoidance: rho^2/w an ACK; below a part, one segment a window | `Hybla::grow` |
//! | Reno's growth in disorder and until the ACK that ends the repair of a timeout | `Controller::on_ack` |
//! | at most 65535 segments (`snd_cwnd_clamp`, set by `hybla_init`) | `MOST` |
//!
//! Difference from Linux: a connection whose handshake gives no RTT sample has the stack's first window, and rho from
//! the RTTs of data. In Linux it has one segment, and rho is 1 to its end.

use units::Span;

use crate::controllers::hybla::{self, Settings};
use crate::entry::{Form, with_values};
use crate::parts::linux::{self, Counter, micros};
use crate::parts::reno::delegate;
use crate::{Ack, Context, Controller, Loss, Probe, Reno, Undo};

/// The form of Hybla.
pub(crate) const FORM: Form = with_values!(Settings, Hybla, hybla::ENTRY, &[]);

/// Units of rho and of growth.
const EIGHTHS: u64 = 8;
const PARTS: u64 = 128;
/// 2 to the power of eighths, in 128ths, as the table of Linux.
const POWERS: [u64; 8] = [128, 139, 152, 165, 181, 197, 215, 234];
/// The largest exponent.
const LARGEST_EXPONENT: u64 = 16;
/// The largest window, in segments.
const MOST: f64 = 65_535.0;

/// The controller.
#[derive(Clone, Copy, Debug)]
struct Hybla {
    settings: Settings,
    reno: Reno,
    undo: Undo,
    counter: Counter,
    /// The smallest smoothed RTT.
    least: Span,
    /// rho in eighths.
    eighths: u64,
    /// Parts of a segment (`snd_cwnd_cents`).
    parts: u64,
    /// Not while a timeout is repaired (`hybla_en`).
    enabled: bool,
}

impl Hybla {
    fn new(settings: Settings) -> Self {
        Self {
            settings,
            reno: Reno::new(),
            undo: Undo::default(),
            counter: Counter::new(),
            least: Span::MAX,
            eighths: EIGHTHS,
            parts: 0,
            enabled: true,
        }
    }

    fn observe(&mut self, smoothed_rtt: Span) {
        if smoothed_rtt.is_zero() || smoothed_rtt >= self.least {
            return;
        }
        self.least = smoothed_rtt;
        self.eighths = (EIGHTHS * micros(self.least) / micros(self.settings.rtt_0).max(1)).max(EIGHTHS);
    }

    /// An ACK in order on a fully used window (`hybla_cong_avoid`).
    fn grow(&mut self) {
        let exponential = self.reno.in_slow_start();
        let window = self.reno.window as u64;
        let increment = if exponential {
            let whole = (self.eighths / EIGHTHS).min(LARGEST_EXPONENT);
            (1 << whole) * POWERS[(self.eighths % EIGHTHS) as usize] - PARTS
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
    delegate!(reno: on_start, on_idle_restart, keep, window, slow_start_threshold);

    fn on_handshake(&mut self, _cx: &mut Context<'_>, rtt: Span) {
        self.observe(rtt);
        self.reno.window = (self.eighths / EIGHTHS) as f64;
    }

    fn on_ack(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        self.observe(ack.smoothed_rtt);
        self.enabled |= ack.ends_repair;
        if !ack.window_limited {
            return;
        }
        if self.enabled && !ack.leaves_disorder() {
            self.grow();
        } else {
            self.counter.grow_as_reno(&mut self.reno, cx, ack);
        }
        self.reno.window = self.reno.window.min(MOST);
    }

    fn on_loss(&mut self, _cx: &mut Context<'_>, _loss: &Loss) {
        self.undo.remember(self.reno);
        self.reno.settle_at(linux::half(&self.reno));
        self.counter.clear();
    }

    fn on_duplicate_ack(&mut self, _cx: &mut Context<'_>, ack: &Ack) {
        self.enabled |= ack.ends_repair;
    }

    fn on_spurious(&mut self, _cx: &mut Context<'_>) {
        self.undo.restore(&mut self.reno);
        self.enabled = true;
    }

    fn on_timeout(&mut self, _cx: &mut Context<'_>, loss: &Loss) {
        self.undo.remember_first(loss, self.reno);
        self.reno.time_out_to(linux::half(&self.reno), loss);
        self.counter.clear();
        self.enabled = false;
    }

    fn probe(&self, out: &mut dyn Probe) {
        out.value("rho", self.eighths as f64 / EIGHTHS as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{World, ack, loss, probed};

    fn at(window: f64, threshold: f64, millis: u64) -> (Hybla, Ack) {
        let hybla = Hybla { reno: Reno { window, threshold }, ..Hybla::new(Settings::default()) };
        (hybla, Ack { smoothed_rtt: Span::from_millis(millis), ..ack() })
    }

    fn acks(hybla: &mut Hybla, ack: &Ack, count: u32) {
        (0..count).for_each(|_| hybla.on_ack(&mut World::new().context(), ack));
    }

    #[test]
    fn the_first_window_is_rho_of_the_handshake_rounded_down() {
        // 49/25 is 1.96, 50/25 is 2, 100/25 is 4, 620/25 is 24.8. The initial window of the stack is 10.
        for (millis, window) in [(5, 1.0), (49, 1.0), (50, 2.0), (100, 4.0), (620, 24.0)] {
            let (mut world, mut hybla) = (World::new(), Hybla::new(Settings::default()));
            hybla.on_start(&mut world.context());
            assert_eq!(hybla.window(), 10.0);
            hybla.on_handshake(&mut world.context(), Span::from_millis(millis));
            assert_eq!(hybla.window(), window, "{millis} ms");
            // A longer RTT of data does not change rho.
            let rho = probed(&hybla, "rho");
            let later = Ack { smoothed_rtt: Span::from_millis(900), window_limited: false, ..ack() };
            acks(&mut hybla, &later, 1);
            assert_eq!((hybla.window(), probed(&hybla, "rho")), (window, rho), "{millis} ms");
        }
    }

    #[test]
    fn four_times_the_reference_rtt_adds_fifteen_whole_segments_a_round_trip() {
        // In 128ths 2048/1000 are 2 of them: 15.6 segments.
        let (mut hybla, ack) = at(1000.0, 2.0, 100);
        acks(&mut hybla, &ack, 1000);
        assert_eq!(hybla.window(), 1015.0);
    }

    #[test]
    fn slow_start_adds_two_to_the_rho_less_one_for_each_ack() {
        // rho = 4 and 1.5: 15 segments; in 128ths 2 * 181 - 128 = 234, one segment and 106 parts.
        for (millis, after) in [(100, 25.0), (38, 11.0)] {
            let (mut hybla, ack) = at(10.0, f64::INFINITY, millis);
            acks(&mut hybla, &ack, 1);
            assert_eq!(hybla.window(), after, "{millis} ms");
        }
        let (mut hybla, ack) = at(10.0, 20.0, 100);
        acks(&mut hybla, &ack, 1);
        assert_eq!(hybla.window(), 20.0, "not beyond the threshold");
    }

    #[test]
    fn the_window_is_clamped_as_the_module_does() {
        // rho = 24 at 600 ms: an ACK of slow start adds 2^16 - 1 segments.
        let (mut hybla, ack) = at(10.0, f64::INFINITY, 600);
        acks(&mut hybla, &ack, 1);
        assert_eq!(hybla.window(), 65_535.0);
        // Reno's growth of disorder meets the same bound.
        acks(&mut hybla, &Ack { in_flight: 1, ..ack }, 70_000);
        assert_eq!(hybla.window(), 65_535.0);
    }

    #[test]
    fn a_short_path_is_reno() {
        // 2 * 64/100 are one of 128 parts.
        let (mut hybla, ack) = at(100.0, 2.0, 10);
        acks(&mut hybla, &ack, 128);
        assert_eq!((hybla.window(), probed(&hybla, "rho")), (101.0, 1.0));
    }

    #[test]
    fn a_window_that_adds_less_than_a_part_grows_by_reno() {
        // 2 * 64/300 is no part: a segment after 300 ACKs.
        let (mut hybla, ack) = at(300.0, 2.0, 10);
        acks(&mut hybla, &ack, 299);
        assert_eq!(hybla.window(), 300.0);
        acks(&mut hybla, &ack, 1);
        assert_eq!(hybla.window(), 301.0);
    }

    #[test]
    fn disorder_grows_as_reno() {
        // In order an ACK adds 20 of 128 parts at 100 segments, 17 at 114.
        for (in_flight, after) in [(9, 114.0), (8, 101.0)] {
            let (mut hybla, ack) = at(100.0, 2.0, 100);
            acks(&mut hybla, &Ack { in_flight, ..ack }, 100);
            assert_eq!(hybla.window(), after, "{in_flight} of 9 in flight");
        }
    }

    #[test]
    fn a_loss_keeps_half_rounded_down_and_a_timeout_makes_it_reno_until_it_is_repaired() {
        let mut world = World::new();
        let (mut hybla, ack) = at(25.0, 2.0, 100);
        hybla.on_loss(&mut world.context(), &loss());
        assert_eq!(hybla.window(), 12.0);
        hybla.on_timeout(&mut world.context(), &loss());
        acks(&mut hybla, &ack, 1);
        assert_eq!((hybla.window(), hybla.slow_start_threshold()), (2.0, 6.0));
        let duplicate = |ends_repair| Ack { ends_repair, ..ack };
        for (ends_repair, after) in [(false, 3.0), (true, 6.0)] {
            hybla.on_duplicate_ack(&mut world.context(), &duplicate(ends_repair));
            acks(&mut hybla, &ack, 1);
            assert_eq!(hybla.window(), after);
        }
    }

    #[test]
    fn a_spurious_timeout_leaves_it_as_it_was() {
        let mut world = World::new();
        let (mut hybla, ack) = at(10.0, f64::INFINITY, 100);
        hybla.on_timeout(&mut world.context(), &loss());
        hybla.on_spurious(&mut world.context());
        acks(&mut hybla, &ack, 1);
        assert_eq!(hybla.window(), 25.0);
    }

    // Linux 6.12 in virtual time, seed 90026 of `kernel differential --faults modules`.
    #[test]
    fn the_ack_that_ends_the_repair_of_a_timeout_grows_by_rho() {
        let (mut hybla, ack) = at(44.0, 2.0, 100);
        hybla.on_timeout(&mut World::new().context(), &loss());
        // Slow start with rho = 4: 15 segments.
        acks(&mut hybla, &Ack { ends_repair: true, ..ack }, 1);
        assert_eq!(hybla.window(), 16.0);
        acks(&mut hybla, &ack, 1);
        assert_eq!(hybla.window(), 22.0);
    }

    #[test]
    fn acks_of_slow_start_do_not_count_for_the_growth_after_it() {
        // Five ACKs to the threshold. Then a window of ACKs adds a segment.
        let (mut hybla, ack) = at(295.0, 300.0, 10);
        acks(&mut hybla, &ack, 5 + 299);
        assert_eq!(hybla.window(), 300.0);
        acks(&mut hybla, &ack, 1);
        assert_eq!(hybla.window(), 301.0);
    }

    #[test]
    fn the_smallest_smoothed_rtt_gives_rho() {
        let (mut hybla, ack) = at(100.0, 2.0, 50);
        for (millis, rho) in [(50, 2.0), (100, 2.0), (0, 2.0), (25, 1.0)] {
            acks(&mut hybla, &Ack { smoothed_rtt: Span::from_millis(millis), ..ack }, 1);
            assert_eq!(probed(&hybla, "rho"), rho, "{millis}");
        }
    }
}
