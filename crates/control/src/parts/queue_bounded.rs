//! Reno bounded by its own queue: the state and the events that YeAH and TCP-Gentle share. A round trip at a time they
//! estimate how many of their segments wait, give up a queue that is too long, and follow the window that a Reno
//! flow might have. How they grow is their own.

use crate::parts::decongestion::Limits;
use crate::parts::linux::Counter;
use crate::parts::queue_meter::{Estimate, QueueMeter};
use crate::{Ack, Context, Loss, Reno, Undo, Wants};

/// The state, with the names of YeAH's module in Linux where it has them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct QueueBounded {
    pub(crate) limits: Limits,
    pub(crate) reno: Reno,
    undo: Undo,
    pub(crate) counter: Counter,
    pub(crate) meter: QueueMeter,
    /// The estimate of the last round trip.
    pub(crate) last: Estimate,
    /// The window of a virtual Reno flow (reno_count).
    pub(crate) virtual_window: f64,
    /// Round trips with a long queue in a row (doing_reno_now or do_reno).
    pub(crate) long_rounds: u32,
    /// Round trips without, in which the virtual flow is remembered (fast_count or gm_count).
    short_rounds: u32,
    /// After more of them than this it is forgotten (zeta).
    forgotten_after: u32,
    pub(crate) decongestions: u32,
    disorder: Disorder,
}

/// What Linux knows of holes that may be packets out of order, or lost.
#[derive(Clone, Copy, Debug, Default)]
struct Disorder {
    /// Something above the cumulative point has arrived (TCP_CA_Disorder).
    seen: bool,
    /// The window was reduced, so that missing segments are repaired, until the repair is over.
    repaired: bool,
}

impl Disorder {
    /// Whether `ack` shows that there was nothing but disorder, which is over. Where it `grows` the window, no repair
    /// holds that any more.
    fn ends(&mut self, ack: &Ack, grows: bool) -> bool {
        if self.repaired {
            self.repaired = !grows;
            return false;
        }
        let before = std::mem::replace(&mut self.seen, ack.leaves_disorder());
        before && !self.seen
    }
}

impl QueueBounded {
    /// Nothing is known of the path.
    pub(crate) fn new(limits: Limits, forgotten_after: u32) -> Self {
        Self {
            limits,
            reno: Reno::new(),
            undo: Undo::default(),
            counter: Counter::default(),
            meter: QueueMeter::new(limits.whole),
            last: Estimate::default(),
            virtual_window: 2.0,
            long_rounds: 0,
            short_rounds: 0,
            forgotten_after,
            decongestions: 0,
            disorder: Disorder::default(),
        }
    }

    /// Every ACK, and whether it may grow the window. As in Linux's module, a round trip begins where disorder is over.
    pub(crate) fn observe(&mut self, ack: &Ack, grows: bool) {
        let timed_out = self.meter.is_repairing();
        self.meter.observe(ack);
        if self.limits.whole && !timed_out && self.disorder.ends(ack, grows) {
            self.meter.restart();
        }
    }

    /// YeAH: the end of a round trip, if `ack`, which was observed, is one.
    pub(crate) fn end_round(&mut self, ack: &Ack) {
        if let Some(estimate) = self.meter.close(ack, self.reno.window) {
            self.decide(estimate);
        }
    }

    /// YeAH: a queue that is too long is given up, and makes the next round trip one of slow mode.
    fn decide(&mut self, estimate: Estimate) {
        self.last = estimate;
        if !self.limits.is_long(&estimate) {
            self.count_short_round();
            return;
        }
        if self.has_to_decongest() {
            self.decongest();
        }
        self.grow_virtual_window();
        self.count_long_round();
    }

    /// The last round trip had a queue that is long enough to be given up, and the window is above the virtual one.
    pub(crate) fn has_to_decongest(&self) -> bool {
        self.limits.exceeds_queue(&self.last) && self.reno.window > self.virtual_window
    }

    /// The window gives up its part of the queue.
    pub(crate) fn decongest(&mut self) {
        let left = self.limits.decongested(self.reno.window, self.last.queue, self.virtual_window);
        self.reno = Reno { window: left, threshold: left };
        self.decongestions += 1;
    }

    /// The virtual Reno flow grows, in a round trip with a long queue.
    pub(crate) fn grow_virtual_window(&mut self) {
        self.virtual_window = self.limits.virtual_window(self.virtual_window, self.reno.window);
    }

    /// One round trip more with a long queue.
    pub(crate) fn count_long_round(&mut self) {
        self.long_rounds = self.long_rounds.saturating_add(1);
    }

    /// One round trip more with a short queue.
    pub(crate) fn count_short_round(&mut self) {
        self.long_rounds = 0;
        self.short_rounds += 1;
        if self.short_rounds > self.forgotten_after {
            (self.virtual_window, self.short_rounds) = (2.0, 0);
        }
    }

    /// A congestion event: the threshold that it leaves.
    fn reduced(&mut self) -> f64 {
        let cut = self.limits.cut(self.reno.window, self.last.queue, self.long_rounds);
        self.short_rounds = 0;
        self.virtual_window = self.limits.halved(self.virtual_window);
        self.counter.clear();
        (self.reno.window - cut).max(Reno::MINIMUM)
    }

    pub(crate) fn wants(&self) -> Wants {
        Wants { transmit_start: self.limits.whole, exact_rtt: true, ..Wants::default() }
    }

    pub(crate) fn on_loss(&mut self) {
        self.disorder = Disorder { seen: false, repaired: true };
        self.undo.remember(self.reno);
        let threshold = self.reduced();
        if self.limits.whole {
            self.reno.settle_at(threshold);
        } else {
            self.reno.reduce_to(threshold);
        }
    }

    pub(crate) fn on_recovered(&mut self) {
        self.disorder = Disorder::default();
        self.meter.restart();
    }

    pub(crate) fn on_timeout(&mut self, loss: &Loss) {
        self.disorder = Disorder::default();
        self.undo.remember_first(loss, self.reno);
        let threshold = if loss.again { self.reno.threshold } else { self.reduced() };
        self.reno.time_out_to(threshold, loss);
        self.counter.clear();
        self.meter.time_out(loss.sent_to);
    }

    pub(crate) fn on_spurious(&mut self) {
        self.disorder = Disorder::default();
        self.undo.restore(&mut self.reno);
        self.meter.restart();
    }

    pub(crate) fn on_transmit_start(&mut self) {
        self.meter.forget();
    }

    pub(crate) fn on_idle_restart(&mut self, cx: &Context<'_>) {
        self.reno.idle_restart(cx);
        self.meter.forget();
    }
}

/// Methods of [`Controller`](crate::Controller) that a controller leaves to its field `$bounded`, as
/// [`delegate!`](crate::parts::reno::delegate) does for its `Reno`.
macro_rules! leave_to_bounded {
    ($bounded:ident) => {
        fn wants(&self) -> $crate::Wants {
            self.$bounded.wants()
        }

        fn on_duplicate_ack(&mut self, _cx: &mut $crate::Context<'_>, ack: &$crate::Ack) {
            self.$bounded.observe(ack, false);
        }

        fn on_recovered(&mut self, _cx: &mut $crate::Context<'_>) {
            self.$bounded.on_recovered();
        }

        fn on_spurious(&mut self, _cx: &mut $crate::Context<'_>) {
            self.$bounded.on_spurious();
        }

        fn on_transmit_start(&mut self, _cx: &mut $crate::Context<'_>, _start: &$crate::TransmitStart) {
            self.$bounded.on_transmit_start();
        }

        fn on_idle_restart(&mut self, cx: &mut $crate::Context<'_>) {
            self.$bounded.on_idle_restart(cx);
        }
    };
}
pub(crate) use leave_to_bounded;
