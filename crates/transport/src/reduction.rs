//! How the flight comes down to the window that recovery aims at.

use crate::Reduction;

/// One episode of fast recovery or of an ECN reduction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Episode {
    method: Reduction,
    /// What it aims at (ssthresh), segments.
    target: u32,
    /// The window before it (RecoverFS).
    before: u32,
    delivered: u32,
    sent: u32,
    /// Segments that may be in flight now.
    limit: u32,
}

impl Episode {
    /// An episode that takes the window from `before` to `target` segments.
    pub(crate) fn new(method: Reduction, before: f64, target: f64) -> Self {
        let (before, target) = ((before as u32).max(1), (target as u32).max(1));
        Self { method, target, before, delivered: 0, sent: 0, limit: target }
    }

    /// An ACK arrived: recomputes the limit (RFC 6937, section 3).
    ///
    /// `in_flight` is the pipe after the ACK; `progress` says that the cumulative point moved and nothing was newly lost.
    pub(crate) fn on_ack(&mut self, newly_delivered: u32, in_flight: u32, progress: bool) {
        if self.method == Reduction::Pipe {
            // RFC 6675, step 4.2: the first retransmission leaves whatever the pipe.
            self.limit = if self.sent == 0 { self.target.max(in_flight + 1) } else { self.target };
            return;
        }
        self.delivered += newly_delivered;
        let allowed = if in_flight > self.target {
            // Proportional part: CEIL(prr_delivered * ssthresh / RecoverFS) - prr_out
            let share = (u64::from(self.delivered) * u64::from(self.target)).div_ceil(u64::from(self.before)) as u32;
            share.saturating_sub(self.sent)
        } else {
            // Slow-start reduction bound, conservative unless there is progress.
            let bound = self.delivered.saturating_sub(self.sent).max(newly_delivered) + u32::from(progress);
            bound.min(self.target - in_flight)
        };
        // The fast retransmission itself always leaves.
        self.limit = in_flight + allowed.max(u32::from(self.sent == 0));
    }

    /// A segment was sent.
    pub(crate) fn on_sent(&mut self) {
        self.sent += 1;
    }

    /// Segments that may be in flight.
    pub(crate) fn limit(&self) -> u32 {
        self.limit
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proportional_reduction_paces_a_halving_as_in_the_rfc() {
        // RFC 6937, appendix A, like its figure: RecoverFS 20, ssthresh 10, one segment lost.
        let mut prr = Episode::new(Reduction::ProportionalRate, 20.0, 10.0);
        let mut pipe = 16; // 20 outstanding, 1 lost, 3 SACKed
        let mut sent = Vec::new();
        for ack in 0..19 {
            let delivered = if ack == 0 { 3 } else { 1 };
            if ack > 0 {
                pipe -= 1;
            }
            prr.on_ack(delivered, pipe, false);
            let mut now = 0;
            while pipe < prr.limit() {
                pipe += 1;
                prr.on_sent();
                now += 1;
            }
            sent.push(now);
        }
        assert_eq!(pipe, 10, "ends at ssthresh");
        // Three delivered entitle to ceil(3/2) = 2 at once, then one for every second ACK.
        assert_eq!(&sent[..7], &[2, 0, 1, 0, 1, 0, 1]);
    }

    #[test]
    fn after_heavy_loss_the_bound_grows_the_flight_by_slow_start() {
        let mut prr = Episode::new(Reduction::ProportionalRate, 20.0, 10.0);
        // 17 of 20 lost: pipe 0 when three were SACKed.
        prr.on_ack(3, 0, false);
        assert_eq!(prr.limit(), 3);
        for _ in 0..3 {
            prr.on_sent();
        }
        prr.on_ack(1, 2, true);
        assert_eq!(prr.limit(), 4, "one for the segment delivered and one for the progress");
    }

    #[test]
    fn the_pipe_rule_sends_the_first_retransmission_and_then_waits_for_the_pipe() {
        let mut pipe = Episode::new(Reduction::Pipe, 20.0, 10.0);
        pipe.on_ack(3, 16, false);
        assert_eq!(pipe.limit(), 17);
        pipe.on_sent();
        pipe.on_ack(1, 16, false);
        assert_eq!(pipe.limit(), 10);
    }
}
