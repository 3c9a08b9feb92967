//! Counters of senders.

/// Counters of a sender since its start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SenderCounters {
    /// Data segments sent, retransmissions included.
    pub sent: u64,
    /// Retransmissions among these.
    pub retransmitted: u64,
    /// Segments deemed lost.
    pub lost: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Fast recoveries entered, or fast retransmits without fast recovery.
    pub recoveries: u64,
    /// Reductions found spurious and undone.
    pub spurious: u64,
}
