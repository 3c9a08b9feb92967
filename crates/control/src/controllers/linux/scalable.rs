//! Scalable TCP of Linux since 5.6 (`tcp_scalable.c`). The paper's is `controllers/scalable.rs`.
//!
//! Differences from the paper: windows are whole segments. min(cwnd, 100) segments acknowledged add one, and a loss
//! takes an eighth, rounded down, at every window.

use crate::entry::Form;
use crate::parts::linux::{self, Counter};
use crate::parts::reno::{delegate, reduce};
use crate::{Ack, Context, Controller, Reno, Undo};

/// The form of Scalable TCP.
pub(crate) const FORM: Form = Form { parameters: &[], probes: &[], make: |_| Ok(Box::new(Scalable::default())) };

/// At most so many segments acknowledged add one (`TCP_SCALABLE_AI_CNT`).
const MOST: f64 = 100.0;
/// The share that a loss takes (`TCP_SCALABLE_MD_SCALE`).
const TAKEN: f64 = 0.125;

/// The controller.
#[derive(Clone, Copy, Debug, Default)]
struct Scalable {
    reno: Reno,
    undo: Undo,
    counter: Counter,
}

impl Scalable {
    /// The threshold after a congestion event (`tcp_scalable_ssthresh`).
    fn threshold(&mut self) -> f64 {
        self.counter.clear();
        self.reno.window - (self.reno.window * TAKEN).floor()
    }
}

impl Controller for Scalable {
    delegate!(reno: on_start, on_spurious(undo), on_idle_restart, keep, window, slow_start_threshold);
    reduce!(settle_at: threshold);

    fn on_ack(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        if let Some(credit) = linux::avoidance(&mut self.reno, cx, ack) {
            let every = self.reno.window.min(MOST) as u32;
            self.counter.grow(&mut self.reno, every, credit, cx.counting);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{World, ack, loss};

    fn at(window: f64) -> Scalable {
        Scalable { reno: Reno { window, threshold: 2.0 }, ..Scalable::default() }
    }

    #[test]
    fn a_hundred_segments_open_the_window_by_one_and_a_loss_takes_an_eighth_in_whole_segments() {
        let mut world = World::new();
        // One segment for each 10 at a window of 10, and for each 100 at one of 250.
        for (window, every) in [(10.0, 10), (250.0, 100)] {
            let mut scalable = at(window);
            let counts = |n| Ack { newly_acknowledged: n, newly_delivered: n, ..ack() };
            scalable.on_ack(&mut world.context(), &counts(every - 1));
            assert_eq!(scalable.window(), window);
            scalable.on_ack(&mut world.context(), &counts(1));
            assert_eq!(scalable.window(), window + 1.0);
        }
        // 15 - 1, 14 - 1 and 7 - 0: an eighth rounded down.
        for (window, after) in [(15.0, 14.0), (14.0, 13.0), (7.0, 7.0)] {
            let mut scalable = at(window);
            scalable.on_loss(&mut world.context(), &loss());
            assert_eq!(scalable.window(), after);
        }
    }
}
