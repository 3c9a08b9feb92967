//! How the flight comes down to the window that recovery aims at.

use crate::Reduction;

/// The reduction of the flight in one fast recovery or on one ECN echo, by proportional rate reduction or by the pipe.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Prr {
    method: Reduction,
    /// Target (ssthresh), segments.
    target: u32,
    /// The window before it (RecoverFS, as in Linux the window, not the flight).
    before: u32,
    /// prr_delivered and prr_out.
    delivered: u32,
    sent: u32,
    /// The fast retransmission has yet to leave, which it does whatever the limit (RFC 6675, step 4.3).
    owed: bool,
    /// Segments that may be in flight now.
    limit: u32,
}

impl Prr {
    /// A reduction that takes the window from `before` to `target` segments. It begins with a retransmission if one
    /// is `owed`.
    pub(crate) fn new(method: Reduction, before: f64, target: f64, in_flight: u32, owed: bool) -> Self {
        let (before, target) = ((before as u32).max(1), (target as u32).max(1));
        let mut prr = Self { method, target, before, delivered: 0, sent: 0, owed, limit: in_flight };
        prr.limit_to(in_flight, 0);
        prr
    }

    /// An ACK that delivers something arrived: recomputes the limit (RFC 9937, in the form of Linux since 4.3: without
    /// progress the slow-start bound gives way to the conservative one).
    ///
    /// `in_flight` is the pipe after the ACK. `progress` says that the cumulative point moved and nothing was newly
    /// lost.
    pub(crate) fn on_ack(&mut self, newly_delivered: u32, in_flight: u32, progress: bool) {
        if newly_delivered == 0 {
            return;
        }
        self.delivered += newly_delivered;
        let allowed = if in_flight > self.target {
            // CEIL(prr_delivered * ssthresh / RecoverFS) - prr_out
            let share = (u64::from(self.delivered) * u64::from(self.target)).div_ceil(u64::from(self.before)) as u32;
            share.saturating_sub(self.sent)
        } else {
            let slow_start = progress || self.method == Reduction::ProportionalRateSsrb;
            let bound = self.delivered.saturating_sub(self.sent).max(newly_delivered) + u32::from(slow_start);
            bound.min(self.target - in_flight)
        };
        self.limit_to(in_flight, allowed);
    }

    /// RACK's timer has begun the recovery: in Linux that counts one segment as delivered (tcp_rack_reo_timeout).
    pub(crate) fn on_timer(&mut self, in_flight: u32) {
        if self.method == Reduction::ProportionalRate {
            self.on_ack(1, in_flight, false);
        }
    }

    /// A loss was found while the window came down for an ECN echo. By the pipe its fast retransmission leaves at once,
    /// with `in_flight` segments in flight (RFC 6675, step 4.3). Proportional reduction sends anyway.
    pub(crate) fn owe(&mut self, in_flight: u32) {
        if self.method == Reduction::Pipe {
            self.owed = true;
            self.limit_to(in_flight, 0);
        }
    }

    /// The controller's window is `window` now: aims at no more.
    pub(crate) fn lower_to(&mut self, window: u32) {
        self.target = self.target.min(window);
    }

    /// The reduction proved spurious, but lasts on: `limit` segments may be in flight, and it aims at `target`.
    pub(crate) fn aim_at(&mut self, target: u32, limit: u32) {
        (self.target, self.limit) = (target.max(1), limit);
    }

    /// The window was lowered after idle time.
    pub(crate) fn lower_limit(&mut self, window: u32) {
        self.limit = self.limit.min(window);
    }

    fn limit_to(&mut self, in_flight: u32, allowed: u32) {
        let owed = u32::from(self.owed);
        self.limit = match self.method {
            Reduction::ProportionalRate | Reduction::ProportionalRateSsrb => in_flight + allowed.max(owed),
            Reduction::Pipe => self.target.max((in_flight + 1) * owed),
        };
    }

    /// A segment was sent.
    pub(crate) fn on_sent(&mut self) {
        self.sent += 1;
        if std::mem::take(&mut self.owed) && self.method == Reduction::Pipe {
            self.limit = self.target;
        }
    }

    /// Segments that may be in flight.
    pub(crate) fn limit(&self) -> u32 {
        self.limit
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lets everything leave that may: how much that was.
    fn send(prr: &mut Prr, pipe: &mut u32) -> u32 {
        let mut sent = 0;
        while *pipe < prr.limit() {
            *pipe += 1;
            sent += 1;
            prr.on_sent();
        }
        sent
    }

    #[test]
    fn proportional_reduction_paces_a_halving_as_in_the_rfc() {
        // RFC 6937, section 4, first figure: 20 outstanding, the first one lost, ssthresh 10. The third SACK starts it.
        let mut pipe = 16;
        let mut prr = Prr::new(Reduction::ProportionalRate, 20.0, 10.0, pipe, true);
        let mut sent = Vec::new();
        for ack in 0..17 {
            pipe -= u32::from(ack > 0);
            prr.on_ack(1, pipe, false);
            sent.push(send(&mut prr, &mut pipe));
        }
        assert_eq!(pipe, 10, "ends at ssthresh");
        // prr_delivered / 2 rounded up, less prr_out: every second ACK, beginning with the retransmission.
        assert_eq!(&sent[..8], &[1, 0, 1, 0, 1, 0, 1, 0]);
    }

    #[test]
    fn after_heavy_loss_the_bound_grows_the_flight_by_slow_start() {
        // RFC 6937, section 4, second figure: 15 of 20 lost, so that the pipe is far below ssthresh.
        let mut pipe = 2;
        let mut prr = Prr::new(Reduction::ProportionalRate, 20.0, 10.0, pipe, true);
        prr.on_ack(1, pipe, false);
        assert_eq!(send(&mut prr, &mut pipe), 1, "conservation of packets without progress");
        pipe -= 1;
        prr.on_ack(1, pipe, true);
        assert_eq!(send(&mut prr, &mut pipe), 2, "one for the segment delivered and one for the progress");
    }

    #[test]
    fn the_slow_start_bound_of_the_rfc_asks_for_no_progress() {
        // RFC 6937, section 4, second figure: 16 of 20 lost. Every ACK delivers one and sends two until the pipe is
        // at ssthresh.
        let mut pipe = 2;
        let mut prr = Prr::new(Reduction::ProportionalRateSsrb, 20.0, 10.0, pipe, true);
        prr.on_ack(1, pipe, false);
        assert_eq!(send(&mut prr, &mut pipe), 2);
        pipe -= 1;
        prr.on_ack(1, pipe, false);
        assert_eq!(send(&mut prr, &mut pipe), 2);
        assert_eq!(pipe, 5);
    }

    #[test]
    fn an_ack_that_delivers_nothing_leaves_the_limit_alone() {
        let mut prr = Prr::new(Reduction::ProportionalRate, 20.0, 10.0, 5, true);
        prr.on_ack(2, 5, false);
        assert_eq!(prr.limit(), 7);
        prr.on_ack(0, 3, false);
        assert_eq!(prr.limit(), 7);
    }

    #[test]
    fn the_pipe_rule_sends_the_first_retransmission_and_then_waits_for_the_pipe() {
        let mut pipe = 16;
        let mut rule = Prr::new(Reduction::Pipe, 20.0, 10.0, pipe, true);
        assert_eq!(send(&mut rule, &mut pipe), 1);
        assert_eq!(rule.limit(), 10);
        rule.on_ack(1, 16, false);
        assert_eq!(rule.limit(), 10);
    }

    #[test]
    fn a_reduction_on_an_echo_owes_no_segment() {
        let prr = Prr::new(Reduction::ProportionalRate, 20.0, 10.0, 19, false);
        assert_eq!(prr.limit(), 19);
        assert_eq!(Prr::new(Reduction::Pipe, 20.0, 10.0, 19, false).limit(), 10);
    }

    #[test]
    fn a_spurious_reduction_that_lasts_on_begins_from_the_restored_window() {
        let mut prr = Prr::new(Reduction::ProportionalRate, 20.0, 10.0, 12, false);
        prr.aim_at(20, 18);
        assert_eq!(prr.limit(), 18);
        // Below the new target: the delivered segment and one more, on top of the 11 that are left.
        prr.on_ack(1, 11, true);
        assert_eq!(prr.limit(), 13);
    }

    #[test]
    fn a_window_that_comes_down_further_is_the_new_target() {
        // Half of 20: with 12 in flight three deliveries allow `ceil(3 x 10/20) = 2`. A target of 5 allows `ceil(6 x
        // 5/20)`.
        let mut prr = Prr::new(Reduction::ProportionalRate, 20.0, 10.0, 16, false);
        prr.on_ack(3, 12, true);
        assert_eq!(prr.limit(), 14);
        prr.lower_to(5);
        prr.lower_to(9);
        prr.on_ack(3, 12, true);
        assert_eq!((prr.limit(), prr.target), (14, 5));
        // Nothing delivered changes nothing.
        prr.on_ack(0, 3, true);
        assert_eq!((prr.limit(), prr.delivered), (14, 6));
    }
}
