//! Packets between the two ends. Segments are numbered, not their bytes: every segment but the last of a flow
//! is full.

use units::{Span, Time};

/// A data segment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Data {
    /// Its number, counted from zero.
    pub sequence: u64,
    /// When this transmission left: the timestamp option.
    pub timestamp: Time,
    /// Application bytes in it.
    pub payload: u32,
    /// Sent before.
    pub retransmission: bool,
    /// The sender has reduced its window on an ECN echo (CWR, RFC 3168).
    pub reduced: bool,
    /// The last segment of an application's write (PSH, RFC 9293).
    pub push: bool,
}

/// A pure acknowledgement.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Acknowledgement {
    /// Every segment below this number arrived.
    pub cumulative: u64,
    /// When the ACK was sent.
    pub timestamp: Time,
    /// The echoed timestamp (RFC 7323, section 4.3), or [`Time::NEVER`] if there is none.
    pub echo: Time,
    /// One-way delay of the segment that caused the ACK.
    pub one_way_delay: Span,
    /// Receive window in segments.
    pub window: u32,
    /// A congestion mark is echoed (ECE, RFC 3168).
    pub congestion_echo: bool,
    /// With accurate ECN: how many segments have arrived with a mark, modulo 2^32 (RFC 9768, section 3.2.2.2, r.cep).
    pub marked: u32,
    /// SACK blocks.
    pub sack: SackBlocks,
    /// A segment that arrived twice (duplicate SACK, RFC 2883).
    pub duplicate: Option<u64>,
}

/// An [`Acknowledgement`] without SACK blocks and duplicate, in half of its size. Most are such.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CumulativeAck {
    cumulative: u64,
    timestamp: Time,
    echo: Time,
    one_way_delay: Span,
    window: u32,
    marked: u32,
    congestion_echo: bool,
}

impl Acknowledgement {
    /// The same if it has neither SACK blocks nor a duplicate.
    #[inline(always)]
    pub fn as_cumulative(&self) -> Option<CumulativeAck> {
        let &Self { cumulative, timestamp, echo, one_way_delay, window, congestion_echo, marked, sack, duplicate } =
            self;
        let ack = CumulativeAck { cumulative, timestamp, echo, one_way_delay, window, marked, congestion_echo };
        (sack.is_empty() && duplicate.is_none()).then_some(ack)
    }
}

impl From<CumulativeAck> for Acknowledgement {
    #[inline(always)]
    fn from(ack: CumulativeAck) -> Self {
        let CumulativeAck { cumulative, timestamp, echo, one_way_delay, window, marked, congestion_echo } = ack;
        let (sack, duplicate) = (SackBlocks::default(), None);
        Self { cumulative, timestamp, echo, one_way_delay, window, congestion_echo, marked, sack, duplicate }
    }
}

/// Up to four SACK blocks, most recent first (RFC 2018, section 4), kept relative to the cumulative point.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SackBlocks {
    blocks: [(u32, u32); 4],
    count: u32,
}

impl SackBlocks {
    /// Appends the block [start, end) of segment numbers above `cumulative`. A fifth is left out.
    pub fn push(&mut self, cumulative: u64, start: u64, end: u64) {
        if let Some(slot) = self.blocks.get_mut(self.count as usize) {
            *slot = ((start - cumulative) as u32, (end - cumulative) as u32);
            self.count += 1;
        }
    }

    /// The blocks as segment numbers [start, end).
    pub fn iter(&self, cumulative: u64) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.blocks[..self.count as usize]
            .iter()
            .map(move |&(start, end)| (cumulative + u64::from(start), cumulative + u64::from(end)))
    }

    /// The same by their numbers, the lowest first.
    pub(crate) fn ascending(mut self) -> Self {
        if self.count > 1 {
            self.blocks[..self.count as usize].sort_unstable();
        }
        self
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.count as usize
    }

    /// True if there is none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }
}
