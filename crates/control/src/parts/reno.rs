//! Window and threshold of NewReno, and the rules of it that most controllers share.

use crate::{Ack, Context, Loss, Moment};

/// Window and threshold of a Reno-like controller, and the rules that most controllers share (RFC 5681, section 3.1).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reno {
    /// Congestion window (cwnd), segments.
    pub window: f64,
    /// Slow-start threshold (ssthresh), segments.
    pub threshold: f64,
}

impl Reno {
    /// No window falls below this on a loss (RFC 5681, equation 4).
    pub const MINIMUM: f64 = 2.0;

    /// A connection that has yet to find its path.
    pub const fn new() -> Self {
        Self { window: 1.0, threshold: f64::INFINITY }
    }

    /// Before the first segment.
    pub fn start(&mut self, cx: &Context<'_>) {
        self.window = cx.initial_window;
    }

    /// Whether the window is below the threshold.
    pub fn in_slow_start(&self) -> bool {
        self.window < self.threshold
    }

    /// Whether an ACK grows the window as in slow start: below the threshold, in some stacks also at it (RFC 5681,
    /// section 3.1).
    pub fn grows_exponentially(&self, at: &Moment) -> bool {
        self.in_slow_start() || (at.slow_start_at_threshold && self.window <= self.threshold)
    }

    /// Slow start: one segment for each counted, from below the threshold not beyond it. Returns the credit that is
    /// left for congestion avoidance.
    pub fn slow_start(&mut self, at: &Moment, ack: &Ack) -> f64 {
        let credit = ack.slow_start_credit(at);
        if !self.in_slow_start() {
            self.window += credit;
            return 0.0;
        }
        let room = self.threshold - self.window;
        if credit < room {
            self.window += credit;
            return 0.0;
        }
        // Not `window + room`: rounding might stop short of the threshold.
        self.window = self.threshold;
        credit - room
    }

    /// Grows by `increase` segments per window of counted segments (RFC 5681, equation 3, for 1). One ACK counts a
    /// window at most, as after a timeout it may cover far more than the window then is.
    pub fn additive_increase(&mut self, credit: f64, increase: f64) {
        self.window += increase * (credit / self.window).min(1.0);
    }

    /// Slow start, then congestion avoidance: what NewReno does with an ACK that may grow the window.
    pub fn grow(&mut self, at: &Moment, ack: &Ack) {
        self.grow_by(at, ack, 1.0);
    }

    /// As [`Reno::grow`], with `increase` segments a round trip in congestion avoidance.
    pub fn grow_by(&mut self, at: &Moment, ack: &Ack, increase: f64) {
        self.grow_counting(at, ack, Ack::avoidance_credit, increase);
    }

    /// As [`Reno::grow_by`]; in congestion avoidance an ACK counts for `counted` segments.
    pub(crate) fn grow_counting(
        &mut self,
        at: &Moment,
        ack: &Ack,
        counted: impl Fn(&Ack, &Moment) -> f64,
        increase: f64,
    ) {
        if !ack.window_limited {
            return;
        }
        let credit = if self.grows_exponentially(at) { self.slow_start(at, ack) } else { counted(ack, at) };
        if credit > 0.0 {
            self.additive_increase(credit, increase);
        }
    }

    /// Keeps `beta` of the window, as threshold at least [`Self::MINIMUM`], and never raises the window.
    pub fn multiplicative_decrease(&mut self, beta: f64) {
        self.reduce_to(self.window * beta);
    }

    /// A loss takes the window to `threshold`, at least two segments, and does not raise it.
    pub fn reduce_to(&mut self, threshold: f64) {
        self.threshold = threshold.max(Self::MINIMUM);
        self.window = self.window.min(self.threshold);
    }

    /// A loss or mark takes the window to `threshold`, at least two segments, also from one segment (in Linux
    /// tcp_end_cwnd_reduction).
    pub fn settle_at(&mut self, threshold: f64) {
        self.threshold = threshold.max(Self::MINIMUM);
        self.window = self.threshold;
    }

    /// A timeout: the first of a row sets the threshold, to at least two segments. The window is one segment.
    pub fn time_out_to(&mut self, threshold: f64, loss: &Loss) {
        if !loss.again {
            self.threshold = threshold.max(Self::MINIMUM);
        }
        self.window = 1.0;
    }

    /// A mark leaves at least `window` (RFC 8511, section 3).
    pub fn keep(&mut self, window: f64) {
        self.window = self.window.max(window);
        self.threshold = self.threshold.max(window);
    }

    /// Timeout: the threshold remembers `beta` of the window on the first of a row. The window is one segment
    /// (RFC 5681, section 3.1).
    pub fn timeout(&mut self, beta: f64, again: bool) {
        if !again {
            self.threshold = (self.window * beta).max(Self::MINIMUM);
        }
        self.window = 1.0;
    }

    /// Loss in 4.3BSD-Tahoe, however it was found: the threshold remembers half the window in whole segments, and
    /// slow start begins anew (Jacobson 1988, appendix B).
    pub fn tahoe(&mut self) {
        self.threshold = (self.window / 2.0).floor().max(Self::MINIMUM);
        self.window = 1.0;
    }

    /// Takes back a reduction: window and threshold are at least as `before` it.
    pub fn restore(&mut self, before: Self) {
        self.window = self.window.max(before.window);
        self.threshold = self.threshold.max(before.threshold);
    }

    /// After idle: no more than the initial window (RFC 5681, section 4.1), or the values of the stack.
    pub fn idle_restart(&mut self, cx: &Context<'_>) {
        let Some(restart) = cx.restart else {
            self.window = self.window.min(cx.initial_window);
            return;
        };
        self.threshold = self.threshold.max(restart.threshold);
        self.window = self.window.min(restart.window);
    }
}

/// Methods of [`Controller`](crate::Controller) that a controller answers as NewReno does, from its field `$reno`:
/// `delegate!(reno: on_start, window)`. `on_timeout` and `on_spurious` name the field with the [`Undo`](crate::Undo)
/// that they save to and restore from: `delegate!(reno: on_spurious(undo))`. `slow_start_threshold` brings `reno` with
/// it.
macro_rules! delegate {
    ($($reno:ident).+:) => {};
    ($($reno:ident).+: $method:ident $(($undo:ident))? $(, $($others:tt)*)?) => {
        delegate!(@$method $($undo)? $($reno).+);
        delegate!($($reno).+: $($($others)*)?);
    };
    (@on_start $($reno:ident).+) => {
        fn on_start(&mut self, cx: &mut $crate::Context<'_>) {
            self.$($reno).+.start(cx);
        }
    };
    (@on_timeout $undo:ident $($reno:ident).+) => {
        fn on_timeout(&mut self, _cx: &mut $crate::Context<'_>, loss: &$crate::Loss) {
            self.$undo.remember_first(loss, self.$($reno).+);
            self.$($reno).+.timeout(0.5, loss.again);
        }
    };
    (@on_spurious $undo:ident $($reno:ident).+) => {
        fn on_spurious(&mut self, _cx: &mut $crate::Context<'_>) {
            self.$undo.restore(&mut self.$($reno).+);
        }
    };
    (@on_idle_restart $($reno:ident).+) => {
        fn on_idle_restart(&mut self, cx: &mut $crate::Context<'_>) {
            self.$($reno).+.idle_restart(cx);
        }
    };
    (@keep $($reno:ident).+) => {
        fn keep(&mut self, window: f64) -> bool {
            self.$($reno).+.keep(window);
            true
        }
    };
    (@window $($reno:ident).+) => {
        fn window(&self) -> f64 {
            self.$($reno).+.window
        }
    };
    (@slow_start_threshold $($reno:ident).+) => {
        fn slow_start_threshold(&self) -> f64 {
            self.$($reno).+.threshold
        }

        fn reno(&mut self) -> Option<&mut $crate::Reno> {
            Some(&mut self.$($reno).+)
        }
    };
}
pub(crate) use delegate;

/// The answers to a loss and a timeout of a controller with the fields `reno` and `undo`: both go to the threshold that
/// its method works out (a loss by the named method of [`Reno`]), or keep the share of the window that it does.
macro_rules! reduce {
    ($reduction:ident: $threshold:ident) => {
        fn on_loss(&mut self, _cx: &mut $crate::Context<'_>, _loss: &$crate::Loss) {
            self.undo.remember(self.reno);
            let threshold = self.$threshold();
            self.reno.$reduction(threshold);
        }

        fn on_timeout(&mut self, _cx: &mut $crate::Context<'_>, loss: &$crate::Loss) {
            self.undo.remember_first(loss, self.reno);
            let threshold = self.$threshold();
            self.reno.time_out_to(threshold, loss);
        }
    };
    (keeping $share:ident) => {
        fn on_loss(&mut self, _cx: &mut $crate::Context<'_>, _loss: &$crate::Loss) {
            self.undo.remember(self.reno);
            self.reno.multiplicative_decrease(self.$share());
        }

        fn on_timeout(&mut self, _cx: &mut $crate::Context<'_>, loss: &$crate::Loss) {
            self.undo.remember_first(loss, self.reno);
            self.reno.timeout(self.$share(), loss.again);
        }
    };
}
pub(crate) use reduce;

impl Default for Reno {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{World, ack};
    use crate::{Counting, Restart};

    const BYTES: Counting = Counting::Bytes { limit: 2 };

    #[test]
    fn a_window_at_the_threshold_grows_by_slow_start_once_where_the_stack_says_so() {
        let mut reno = Reno { window: 10.0, threshold: 10.0 };
        let at = Moment { slow_start_at_threshold: true, counting: BYTES, ..Moment::EMPTY };
        let two = Ack { newly_acknowledged: 2, ..ack() };
        reno.grow(&at, &two);
        assert_eq!(reno.window, 12.0);
        reno.grow(&at, &two);
        assert_eq!(reno.window, 12.0 + 2.0 / 12.0);
    }

    #[test]
    fn slow_start_stops_at_the_threshold_and_the_rest_counts_for_avoidance() {
        let mut reno = Reno { window: 9.0, threshold: 10.0 };
        reno.grow(&Moment::EMPTY, &Ack { newly_acknowledged: 6, newly_delivered: 6, ..ack() });
        // One segment to the threshold. The other five add 5/10.
        assert_eq!(reno, Reno { window: 10.5, threshold: 10.0 });
    }

    #[test]
    fn byte_counting_limits_slow_start_to_two_segments_an_ack() {
        let mut reno = Reno { window: 10.0, threshold: f64::INFINITY };
        reno.grow(&Moment { counting: BYTES, ..Moment::EMPTY }, &Ack { newly_acknowledged: 5, ..ack() });
        assert_eq!(reno.window, 12.0);
    }

    #[test]
    fn an_unused_window_does_not_grow() {
        let mut reno = Reno { window: 10.0, threshold: f64::INFINITY };
        reno.grow(&Moment::EMPTY, &Ack { window_limited: false, ..ack() });
        assert_eq!(reno.window, 10.0);
    }

    #[test]
    fn an_ack_of_more_than_a_window_counts_one_window() {
        let mut reno = Reno { window: 4.0, threshold: 2.0 };
        reno.grow(&Moment::EMPTY, &Ack { newly_acknowledged: 100, newly_delivered: 100, ..ack() });
        assert_eq!(reno.window, 5.0);
    }

    #[test]
    fn after_idle_the_window_is_the_initial_one_or_what_the_stack_says() {
        let mut world = World::new();
        let before = Reno { window: 120.0, threshold: 40.0 };
        let mut reno = before;
        reno.idle_restart(&world.context());
        assert_eq!(reno, Reno { window: 10.0, threshold: 40.0 });
        // Three quarters of 120, then half the window after one timeout.
        reno = before;
        world.connection.restart = Some(Restart { window: 60.0, threshold: 90.0, idle: true });
        reno.idle_restart(&world.context());
        assert_eq!(reno, Reno { window: 60.0, threshold: 90.0 });
    }

    #[test]
    fn a_loss_halves_but_does_not_raise_a_window_of_one() {
        let mut reno = Reno { window: 20.0, threshold: f64::INFINITY };
        reno.multiplicative_decrease(0.5);
        assert_eq!(reno, Reno { window: 10.0, threshold: 10.0 });
        reno = Reno { window: 1.0, threshold: 10.0 };
        reno.multiplicative_decrease(0.5);
        assert_eq!(reno, Reno { window: 1.0, threshold: 2.0 });
    }

    #[test]
    fn in_linux_a_reduction_leaves_the_threshold_also_above_the_window() {
        let mut reno = Reno { window: 20.0, threshold: f64::INFINITY };
        reno.settle_at(10.0);
        assert_eq!(reno, Reno { window: 10.0, threshold: 10.0 });
        // A window of one: two segments, as the threshold has them.
        reno = Reno { window: 1.0, threshold: 10.0 };
        reno.settle_at(0.0);
        assert_eq!(reno, Reno { window: 2.0, threshold: 2.0 });
    }

    #[test]
    fn tahoe_remembers_half_the_window_in_whole_segments_and_at_least_two() {
        let mut reno = Reno { window: 37.9, threshold: f64::INFINITY };
        reno.tahoe();
        assert_eq!(reno, Reno { window: 1.0, threshold: 18.0 });
        reno.tahoe();
        assert_eq!(reno, Reno { window: 1.0, threshold: 2.0 });
    }

    #[test]
    fn repeated_timeouts_keep_the_threshold_of_the_first() {
        let mut reno = Reno { window: 20.0, threshold: f64::INFINITY };
        reno.timeout(0.5, false);
        reno.timeout(0.5, true);
        assert_eq!(reno, Reno { window: 1.0, threshold: 10.0 });
    }

    #[test]
    fn slow_start_reaches_a_threshold_that_the_sum_would_round_down() {
        // 4 segments and an odd part in 2^53: the distance rounds to 4, and window and 4 to 5.
        let threshold = 5.0 + 4.0 * f64::EPSILON;
        let mut reno = Reno { window: 1.0 + 2.0 * f64::EPSILON, threshold };
        assert_eq!((threshold - reno.window, reno.window + 4.0), (4.0, 5.0));
        reno.grow(&Moment::EMPTY, &Ack { newly_acknowledged: 4, newly_delivered: 4, ..ack() });
        assert_eq!(reno.window, threshold);
    }
}
