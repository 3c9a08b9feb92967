//! The two halves of a flow in the world. They are apart in memory: a packet touches one of them.

mod receiving;
mod row;
mod sending;

pub(crate) use receiving::{ReceivingEnd, Report};
pub(crate) use row::{Places, Rows};
pub(crate) use sending::SendingEnd;

use units::Time;

/// The sending half of a flow, in one cache line.
pub(crate) struct SenderHalf<'a> {
    /// None before the start and after the end of one connection of many.
    pub(crate) end: Option<SendingEnd<'a>>,
    /// The first step of the data.
    pub(crate) forward: u32,
    /// Sends: started and not yet stopped.
    pub(crate) running: bool,
    /// One connection of many: it has ends only from start to completion.
    pub(crate) transient: bool,
    /// When its sender is looked at next, if at all.
    pub(crate) look_at: Time,
    pub(crate) start: Time,
    pub(crate) stop: Time,
    /// When its connection was open, or [`Time::NEVER`] before, and without a handshake.
    pub(crate) opened: Time,
    /// How often its SYN was sent again until then.
    pub(crate) syn_retransmissions: u32,
}

/// The receiving half of a flow, in one cache line.
pub(crate) struct ReceiverHalf {
    /// None before the start and after the end of one connection of many.
    pub(crate) end: Option<ReceivingEnd>,
    /// The first step of the ACKs.
    pub(crate) reverse: u32,
    /// Data packets that arrived with a congestion mark: no flow has 2^32.
    pub(crate) marked_packets: u32,
    pub(crate) stop: Time,
    /// Segments that make the flow complete, or [`u64::MAX`] if it does not end by itself.
    pub(crate) total: u64,
    /// When it was complete, or [`Time::NEVER`] before.
    pub(crate) completed: Time,
    /// Data packets that arrived, and the IP bytes of those until the flow was complete.
    pub(crate) arrived_packets: u64,
    pub(crate) arrived_bytes: u64,
}

impl ReceiverHalf {
    /// True if all that the flow sends has arrived.
    pub(crate) fn is_complete(&self) -> bool {
        self.completed != Time::NEVER
    }

    /// A data packet of `size` IP bytes arrives.
    #[inline]
    pub(crate) fn count(&mut self, size: u32, congestion: bool) {
        self.arrived_packets += 1;
        self.marked_packets += u32::from(congestion);
        if !self.is_complete() {
            self.arrived_bytes += u64::from(size);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cache_aligned::CacheAligned;

    #[test]
    fn each_half_is_a_cache_line() {
        assert_eq!(size_of::<CacheAligned<SenderHalf>>(), 64);
        assert_eq!(size_of::<CacheAligned<ReceiverHalf>>(), 64);
    }
}
