//! The reduction under way, as far as others go by it: its phase and its end.

/// Phase of a sender: the states of Linux (RFC 6675 and RFC 3168 know the same without names).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Nothing unusual.
    Open,
    /// Duplicate ACKs or SACK blocks, but no loss yet.
    Disorder,
    /// The window comes down after an ECN echo.
    Reduced,
    /// Fast recovery.
    Recovery,
    /// Repairing after a retransmission timeout, or without fast recovery after any loss.
    Loss,
}

/// The reduction under way, or the last one, as far as others go by it.
#[derive(Clone, Copy, Debug)]
pub(in crate::tcp) struct Stage {
    pub(super) phase: Phase,
    pub(super) point: u64,
    pub(super) recover: u64,
}

impl Stage {
    #[inline]
    pub(in crate::tcp) fn phase(&self) -> Phase {
        self.phase
    }

    /// True if lost segments are being sent again.
    #[inline]
    pub(in crate::tcp) fn is_repairing(&self) -> bool {
        matches!(self.phase, Phase::Recovery | Phase::Loss)
    }

    /// True if the flight is being reduced, during which windows do not grow.
    #[inline]
    pub(in crate::tcp) fn is_reducing(&self) -> bool {
        matches!(self.phase, Phase::Reduced | Phase::Recovery)
    }

    /// True if nothing is being reduced or repaired.
    #[inline]
    pub(in crate::tcp) fn is_open(&self) -> bool {
        matches!(self.phase, Phase::Open | Phase::Disorder)
    }

    /// The first number that was not sent when the last reduction began.
    pub(in crate::tcp) fn point(&self) -> u64 {
        self.point
    }

    /// True if everything is acknowledged, `first` being the cumulative point, that had been sent when the last
    /// reduction began.
    #[inline]
    pub(in crate::tcp) fn is_complete(&self, first: u64) -> bool {
        first >= self.point
    }

    /// True if all that had been sent when the repair under way began is acknowledged, `first` being the cumulative
    /// point, and nothing above: without SACK Linux then waits for more (tcp_is_non_sack_preventing_reopen, after RFC
    /// 6582).
    pub(in crate::tcp) fn is_held(&self, first: u64) -> bool {
        self.is_repairing() && first == self.point
    }

    /// True if duplicate ACKs are evidence of loss, `first` being the cumulative point, and not of retransmissions
    /// (RFC 6582).
    #[inline]
    pub(in crate::tcp) fn trusts_duplicates(&self, first: u64) -> bool {
        self.recover == 0 || first > self.recover
    }
}
