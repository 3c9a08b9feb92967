//! Forward RTO recovery: whether a timeout was spurious, without timestamps (F-RTO, RFC 5682, section 3.1, with SACK).

use units::Time;

use super::{Phase, Repair};
use crate::tcp::flight::{AckSummary, Flight};

/// The test of the last timeout.
#[derive(Clone, Copy, Debug)]
pub(super) struct ForwardRto {
    /// When the timer expired, or [`Time::NEVER`] while nothing is tested.
    since: Time,
    /// The cumulative point has advanced, and new segments leave in place of segments that seem lost (step 2.b).
    sends_new: bool,
}

/// Evidence of an ACK on the timeout.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Evidence {
    /// The oldest segment newly delivered that was sent once left then.
    pub(super) oldest_original: Option<Time>,
    /// The cumulative point advanced, but not past the segments that the timeout deemed lost.
    pub(super) partial: bool,
    /// Nothing was acknowledged, or something was SACKed.
    pub(super) duplicate: bool,
    /// A new segment may leave.
    pub(super) new_data: bool,
}

/// Conclusion from the evidence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Nothing yet, or no more.
    None,
    /// New segments are to leave next.
    SendNew,
    /// The timeout was spurious (step 3.b): what had not been sent again arrived.
    Spurious,
}

impl Default for ForwardRto {
    fn default() -> Self {
        Self { since: Time::NEVER, sends_new: false }
    }
}

impl ForwardRto {
    /// True if a timeout is tested.
    pub(super) fn is_on(&self) -> bool {
        self.since != Time::NEVER
    }

    /// True if new segments leave in place of lost ones.
    pub(super) fn sends_new(&self) -> bool {
        self.sends_new
    }

    /// The timer expired at `now`, and the oldest segment leaves again (step 1).
    pub(super) fn begin(&mut self, now: Time) {
        *self = Self { since: now, sends_new: false };
    }

    /// The loss was real, or the test cannot decide.
    pub(super) fn end(&mut self) {
        *self = Self::default();
    }

    /// An ACK arrives while the timeout is repaired (steps 2 and 3).
    pub(super) fn on_ack(&mut self, evidence: Evidence) -> Verdict {
        if evidence.oldest_original.is_some_and(|left| left <= self.since) {
            self.end();
            return Verdict::Spurious;
        }
        if self.sends_new {
            if evidence.duplicate {
                self.end();
            }
        } else if evidence.partial {
            if evidence.new_data {
                self.sends_new = true;
                return Verdict::SendNew;
            }
            self.end();
        }
        Verdict::None
    }
}

impl Repair {
    /// Forward RTO recovery (RFC 5682): whether an ACK of segments that were not sent again shows the timeout to be
    /// spurious. `has_new`: a new segment may leave.
    #[inline]
    pub(in crate::tcp) fn is_timeout_spurious(
        &mut self,
        summary: &AckSummary,
        flight: &Flight,
        sack: bool,
        has_new: impl FnOnce() -> bool,
    ) -> bool {
        self.forward_rto.is_on() && self.tests_timeout(summary, flight, sack, has_new)
    }

    #[inline(never)]
    fn tests_timeout(
        &mut self,
        summary: &AckSummary,
        flight: &Flight,
        sack: bool,
        has_new: impl FnOnce() -> bool,
    ) -> bool {
        if self.recovery.phase() != Phase::Loss {
            self.forward_rto.end();
            return false;
        }
        let evidence = Evidence {
            // Without SACK an ACK that covers a retransmission shows no original (in Linux tcp_clean_rtx_queue).
            oldest_original: summary.oldest_at.filter(|_| sack || !summary.ambiguous),
            partial: summary.acknowledged > 0 && !self.stage().is_complete(flight.first()),
            duplicate: summary.acknowledged == 0 || summary.sacked > 0,
            new_data: has_new(),
        };
        let verdict = self.forward_rto.on_ack(evidence);
        if verdict == Verdict::SendNew {
            self.recovery.move_point(flight.next());
        }
        verdict == Verdict::Spurious
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // RFC 5682, section 3.1.
    #[test]
    fn new_data_leave_after_the_first_ack_and_the_second_one_tells() {
        let mut test = ForwardRto::default();
        assert!(!test.is_on());
        let timeout = Time::from_nanos(1000);
        let partial = Evidence { partial: true, new_data: true, ..Evidence::default() };
        let original = |left| Evidence { oldest_original: Some(Time::from_nanos(left)), ..Evidence::default() };
        test.begin(timeout);
        assert!(test.is_on() && !test.sends_new());
        // A duplicate before any advance says nothing.
        assert_eq!(test.on_ack(Evidence { duplicate: true, ..Evidence::default() }), Verdict::None);
        assert_eq!(test.on_ack(partial), Verdict::SendNew);
        assert!(test.sends_new());
        // A later departure shows nothing. A departure by then was no retransmission.
        assert_eq!(test.on_ack(original(1001)), Verdict::None);
        assert_eq!(test.on_ack(original(1000)), Verdict::Spurious);
        assert!(!test.is_on() && !test.sends_new());
        // A duplicate after the new data shows the loss to be real, as does an advance with nothing new to send.
        for last in [Evidence { duplicate: true, ..Evidence::default() }, Evidence { new_data: false, ..partial }] {
            test.begin(timeout);
            if last.duplicate {
                test.on_ack(partial);
            }
            assert_eq!(test.on_ack(last), Verdict::None);
            assert!(!test.is_on());
        }
    }
}
