//! Reno of Linux (`tcp_cong.c`): the form of `newreno` there.
//!
//! Differences from RFC 5681: the window is a whole number of segments. A counter of segments acknowledged adds one
//! segment for each window of them, and a loss or timeout keeps half the window, rounded down.

use crate::entry::Form;
use crate::parts::linux::{self, Counter};
use crate::parts::reno::{delegate, reduce};
use crate::{Ack, Context, Controller, Marks, Reno, Undo};

/// The form of NewReno.
pub(crate) const FORM: Form = Form { parameters: &[], probes: &[], make: |_| Ok(Box::new(LinuxReno::default())) };

/// The controller.
#[derive(Clone, Copy, Debug, Default)]
struct LinuxReno {
    reno: Reno,
    undo: Undo,
    counter: Counter,
}

impl LinuxReno {
    /// The threshold after a congestion event (`tcp_reno_ssthresh`).
    fn threshold(&mut self) -> f64 {
        self.counter.clear();
        linux::half(&self.reno)
    }
}

impl Controller for LinuxReno {
    delegate!(reno: on_start, on_spurious(undo), on_idle_restart, keep, window, slow_start_threshold);
    reduce!(settle_at: threshold);

    fn on_ack(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        self.counter.grow_as_reno(&mut self.reno, cx, ack);
    }

    fn on_ecn(&mut self, _cx: &mut Context<'_>, _marks: &Marks) {
        // tcp_enter_cwr: nothing is undone.
        self.undo.forget();
        let threshold = self.threshold();
        self.reno.settle_at(threshold);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{World, ack, loss};

    #[test]
    fn a_window_of_ten_takes_ten_segments_for_one_more() {
        let mut world = World::new();
        let mut newreno = LinuxReno { reno: Reno { window: 10.0, threshold: 10.0 }, ..LinuxReno::default() };
        for _ in 0..9 {
            newreno.on_ack(&mut world.context(), &ack());
            assert_eq!(newreno.window(), 10.0);
        }
        newreno.on_ack(&mut world.context(), &ack());
        assert_eq!(newreno.window(), 11.0);
        // Half of 11, rounded down.
        newreno.on_loss(&mut world.context(), &loss());
        assert_eq!((newreno.window(), newreno.slow_start_threshold()), (5.0, 5.0));
        newreno.on_timeout(&mut world.context(), &loss());
        assert_eq!((newreno.window(), newreno.slow_start_threshold()), (1.0, 2.0));
    }
}
