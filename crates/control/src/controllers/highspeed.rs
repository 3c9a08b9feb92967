//! HighSpeed TCP (RFC 3649).
//!
//! Additive increase and multiplicative decrease with constants that depend on the window. Up to 38 segments it is
//! standard TCP, above it has a window of 0.12/p^0.835 at loss probability p.
//!
//! | RFC 3649 | here |
//! | --- | --- |
//! | section 5: b(w) between (Low_Window, 0.5) and (High_Window, High_Decrease) | `decrease` |
//! | section 5: a(w) = w^2 * p(w) * 2 * b(w)/(2 - b(w)), p(w) = 0.078/w^1.2 | `increase` |
//! | appendices B and C: the table of a(w) and b(w), and how it is made | [`TABLE`] |
//! | w = w + a(w)/w per ACK, w = (1 - b(w)) w on a loss | `Controller::on_ack`, `Controller::on_loss` |
//!
//! Notable differences from the RFC:
//! - 0.078 is 1/12.8, as in the program of appendix C.
//! - a(w) is computed from the whole segments of w, and is at least 1. Above 89053, the last row of the table, a and b
//!   are constant.
//! - After a timeout the threshold is (1 - b(w)) w, as after a loss, which the RFC leaves open.
//!
//! Linux takes a and b from the next row of the table. The module of Linux 3.5 does so in real numbers and is otherwise
//! as here. The module of today's Linux is `linux/highspeed.rs`.

use crate::entry::{Aim, Entry, Form, Quantity};
use crate::parts::reno::{delegate, reduce};
use crate::{Ack, Context, Controller, Probe, Reno, Undo};

/// The entry of HighSpeed TCP in the registry.
pub const ENTRY: Entry = Entry {
    name: "highspeed",
    title: "HighSpeed TCP",
    summary: "Increase and decrease depend on the window: the larger it is, the more it grows and the less it gives up",
    source: "RFC 3649",
    aim: Aim::Fast,
    parameters: &[],
    probes: &[
        Quantity::new("a", "segments per RTT", "a(w)"),
        Quantity::new("b", "", "b(w), the share that a loss would take"),
    ],
    make: |_| Ok(Box::new(HighSpeed::new(RFC))),
};

/// HighSpeed TCP of Linux 3.5 (`tcp_highspeed.c`), in real numbers.
pub(crate) const LINUX_3_5: Form =
    Form { parameters: &[], probes: ENTRY.probes, make: |_| Ok(Box::new(HighSpeed::new(LINUX))) };

/// Up to this window, standard TCP (section 5).
const LOW_WINDOW: f64 = 38.0;
/// The window at loss probability 1e-7 (section 5).
const HIGH_WINDOW: f64 = 83_000.0;
/// b at `HIGH_WINDOW` (section 5).
const HIGH_DECREASE: f64 = 0.1;
/// b of standard TCP.
const LOW_DECREASE: f64 = 0.5;

/// Appendix B: the windows at which a(w) has grown by more than 1 since the row before. Row i has a(w) = i + 1. As in
/// Linux, the last row has a(w) = 72.
pub const TABLE: [u32; 72] = [
    38, 118, 221, 347, 495, 663, 851, 1058, 1284, 1529, 1793, 2076, 2378, 2699, 3039, 3399, 3778, 4177, 4596, 5036,
    5497, 5979, 6483, 7009, 7558, 8130, 8726, 9346, 9991, 10661, 11358, 12082, 12834, 13614, 14424, 15265, 16137,
    17042, 17981, 18955, 19965, 21013, 22101, 23230, 24402, 25618, 26881, 28193, 29557, 30975, 32450, 33986, 35586,
    37253, 38992, 40808, 42707, 44694, 46776, 48961, 51258, 53677, 56230, 58932, 61799, 64851, 68113, 71617, 75401,
    79517, 84035, 89053,
];

const LAST_ROW: f64 = TABLE[TABLE.len() - 1] as f64;

/// The row of the table for a window of `w` segments: the first not below it.
pub(super) fn row(w: f64) -> usize {
    let whole = w as u32;
    TABLE.partition_point(|&window| window < whole).min(TABLE.len() - 1)
}

/// b(w): the share given up on a loss at window `w`.
pub(super) fn decrease(w: f64) -> f64 {
    LOW_DECREASE + (HIGH_DECREASE - LOW_DECREASE) * libm::log(w / LOW_WINDOW) / libm::log(HIGH_WINDOW / LOW_WINDOW)
}

/// a(w): segments a round trip at window `w`.
fn increase(w: f64) -> f64 {
    let b = decrease(w);
    let p = 1.0 / (12.8 * libm::pow(w, 1.2));
    w * w * p * 2.0 * b / (2.0 - b)
}

/// a(w) of a window of `w` segments: of its whole ones, at least 1, and of the last row beyond the table.
pub(super) fn increase_at(w: f64) -> f64 {
    increase(w.floor().clamp(LOW_WINDOW, LAST_ROW)).max(1.0)
}

/// b(w) of a window of `w` segments.
pub(super) fn decrease_at(w: f64) -> f64 {
    decrease(w.clamp(LOW_WINDOW, LAST_ROW))
}

/// a(w) of Linux: of the row for a window of `w` segments.
fn row_increase(w: f64) -> f64 {
    (row(w) + 1) as f64
}

/// b(w) of Linux: of the row for a window of `w` segments, in 256ths rounded down.
fn row_decrease(w: f64) -> f64 {
    decrease_256ths(row(w)) / 256.0
}

/// b of a row of the table, in 256ths rounded down (`hstcp_aimd_vals`).
pub(super) fn decrease_256ths(row: usize) -> f64 {
    (decrease(f64::from(TABLE[row])) * 256.0).floor()
}

/// a(w) and b(w).
#[derive(Clone, Copy, Debug)]
struct Constants {
    a: fn(f64) -> f64,
    b: fn(f64) -> f64,
}

const RFC: Constants = Constants { a: increase_at, b: decrease_at };
const LINUX: Constants = Constants { a: row_increase, b: row_decrease };

/// The controller.
#[derive(Clone, Copy, Debug)]
pub struct HighSpeed {
    constants: Constants,
    reno: Reno,
    undo: Undo,
    /// a(w), and the whole segments it was worked out for.
    a: f64,
    a_at: f64,
}

impl HighSpeed {
    /// A connection that has yet to find its path.
    fn new(constants: Constants) -> Self {
        Self { constants, reno: Reno::new(), undo: Undo::default(), a: 1.0, a_at: 0.0 }
    }

    /// a(w) of the present window.
    fn a(&mut self) -> f64 {
        let whole = self.reno.window.floor();
        if whole != self.a_at {
            self.a_at = whole;
            self.a = (self.constants.a)(whole);
        }
        self.a
    }

    /// b(w) of the present window.
    fn b(&self) -> f64 {
        (self.constants.b)(self.reno.window)
    }

    /// The share of the window kept on a loss.
    fn kept(&self) -> f64 {
        1.0 - self.b()
    }
}

impl Controller for HighSpeed {
    delegate!(reno: on_start, on_spurious(undo), on_idle_restart, keep, window, slow_start_threshold);
    reduce!(keeping kept);

    fn on_ack(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        let a = if self.reno.in_slow_start() { 1.0 } else { self.a() };
        self.reno.grow_by(cx, ack, a);
    }

    fn probe(&self, out: &mut dyn Probe) {
        out.value("a", self.a);
        out.value("b", self.b());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{World, ack, loss, probed};

    fn at(window: f64) -> HighSpeed {
        HighSpeed { reno: Reno { window, threshold: 2.0 }, ..HighSpeed::new(RFC) }
    }

    fn module(window: f64) -> HighSpeed {
        HighSpeed { constants: LINUX, ..at(window) }
    }

    #[test]
    fn the_formulas_give_the_rows_that_the_rfc_prints() {
        // RFC 3649, appendix B: w, a(w), b(w).
        let rows = [
            (118.0, 2.0, 0.44),
            (221.0, 3.0, 0.41),
            (347.0, 4.0, 0.38),
            (495.0, 5.0, 0.37),
            (1058.0, 8.0, 0.33),
            (10_661.0, 30.0, 0.21),
        ];
        for (w, a, b) in rows {
            assert!((increase(w) - a).abs() < 0.95 && increase(w) >= a, "a({w}) = {}", increase(w));
            assert!((decrease(w) - b).abs() <= 0.0051, "b({w}) = {}", decrease(w));
        }
        assert!((decrease(38.0) - 0.5).abs() < 1e-12 && (decrease(83_000.0) - 0.1).abs() < 1e-12);
    }

    #[test]
    fn the_procedure_of_appendix_c_gives_every_row_of_the_table() {
        let mut rows = vec![38];
        let mut last = 1.0;
        for w in 38..90_000 {
            let a = increase(f64::from(w));
            if a > last + 1.0 {
                rows.push(w);
                last = a;
            }
        }
        assert_eq!(rows, TABLE);
    }

    #[test]
    fn small_windows_are_those_of_standard_tcp() {
        let mut world = World::new();
        let mut controller = at(32.0);
        controller.on_ack(&mut world.context(), &ack());
        assert_eq!(controller.window(), 32.03125);
        controller.reno.window = 32.0;
        controller.on_loss(&mut world.context(), &loss());
        assert_eq!(controller.window(), 16.0);
    }

    #[test]
    fn at_a_thousand_segments_it_adds_eight_a_round_trip_and_keeps_two_thirds() {
        let mut world = World::new();
        let mut controller = at(1058.0);
        controller.on_ack(&mut world.context(), &Ack { newly_acknowledged: 1058, newly_delivered: 1058, ..ack() });
        // 1058^0.8 / 12.8 * 2 * 0.32695/1.67305 = 262.80/12.8 * 0.39084 = 8.0245.
        assert!((controller.window() - 1066.02).abs() < 0.02, "{}", controller.window());
        assert!((probed(&controller, "a") - 8.02).abs() < 0.02);
        // ln(1058/38) = 3.3265 of 7.6890 leaves b = 0.5 - 0.4 * 0.43263 = 0.32695.
        let mut controller = at(1058.0);
        controller.on_loss(&mut world.context(), &loss());
        assert!((controller.window() - 712.09).abs() < 0.02, "{}", controller.window());
    }

    #[test]
    fn linux_3_5_takes_the_next_row() {
        // Up to 38 segments row 0; 39 to 118 row 1; beyond the last row the last.
        for (window, a, b) in [
            (38.9, 1.0, 128.0),
            (39.0, 2.0, 112.0),
            (118.0, 2.0, 112.0),
            (119.0, 3.0, 104.0),
            (347.0, 4.0, 98.0),
            (348.0, 5.0, 93.0),
            (1529.0, 10.0, 78.0),
            (200_000.0, 72.0, 24.0),
        ] {
            let mut controller = module(window);
            assert_eq!(controller.b() * 256.0, b, "{window}");
            controller.on_ack(&mut World::new().context(), &ack());
            assert_eq!(probed(&controller, "a"), a, "{window}");
        }
    }

    #[test]
    fn in_linux_3_5_a_window_of_acks_adds_a_and_a_loss_takes_b() {
        let mut world = World::new();
        let mut controller = module(1058.0);
        controller.on_ack(&mut world.context(), &Ack { newly_acknowledged: 1058, newly_delivered: 1058, ..ack() });
        assert_eq!(controller.window(), 1066.0);
        // 1066 is in the row of 1284, whose b is 81/256: ln(1284/38) = 3.5201 of 7.6890 leaves 0.5 - 0.18313 = 0.31687.
        for reduce in [HighSpeed::on_loss, HighSpeed::on_timeout] {
            let mut controller = module(1066.0);
            reduce(&mut controller, &mut world.context(), &loss());
            assert_eq!(controller.slow_start_threshold(), 1066.0 * (1.0 - 81.0 / 256.0));
        }
    }
}
