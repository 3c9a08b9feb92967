//! Outstanding segments and their state (RFC 6675, section 3, and RFC 8985, section 5).
//!
//! Every operation costs O(1) a segment over its life, whatever the window: SACK blocks are compared by range, loss
//! marks and retransmissions move by cursors that only go forward.

mod arrivals;
mod detection;
mod duplicates;
mod place;
mod retransmission;

use std::collections::VecDeque;
use std::slice;

use prefetch_index::prefetch_index;
use units::{Span, Time};

pub(crate) use self::arrivals::{AckSummary, InOrder, RetransmissionTest};
use self::place::{AHEAD, Place, Retransmission};
use super::delivery_rate::DeliveryState;
use super::segment_reports::SegmentReports;
use crate::tcp::ranges::Ranges;

const SACKED: u32 = 1;
const LOST: u32 = 2;
/// A retransmission is in flight.
const RETRANSMITTED: u32 = 4;
/// Sent more than once: samples are ambiguous (Karn).
const AMBIGUOUS: u32 = 8;
const APPLICATION_LIMITED: u32 = 16;
/// RACK has found it lost, and does not examine it again until it is retransmitted: in Linux it has left RACK's list
/// (`tsorted_sent_queue`). Segments that a timeout deems lost have not (tcp_timeout_mark_lost).
const FOUND: u32 = 32;

/// One outstanding segment. A ring of them is most of the memory of a flow, hence 32 bytes and no more. No byte is
/// padding, so that they are moved whole.
#[derive(Clone, Copy, Debug)]
struct Sent {
    /// When it was last sent.
    at: Time,
    /// The state of the connection at that moment (delivery rate estimation).
    delivered_at: Time,
    first_at: Time,
    delivered: u32,
    flags: u32,
}

const _: () = assert!(size_of::<Sent>() == 32);

impl Sent {
    fn new(at: Time, state: DeliveryState, flags: u32) -> Self {
        let limited = if state.application_limited { APPLICATION_LIMITED } else { 0 };
        let DeliveryState { delivered, delivered_at, first_at, .. } = state;
        Self { at, delivered_at, first_at, delivered, flags: flags | limited }
    }

    /// True if more had been delivered when it left than when `other` did, or as much and it left no earlier.
    fn is_newer(&self, other: &Self) -> bool {
        let ahead = self.delivered.wrapping_sub(other.delivered) as i32;
        ahead > 0 || (ahead == 0 && self.at >= other.at)
    }

    fn state(&self) -> DeliveryState {
        DeliveryState {
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            first_at: self.first_at,
            application_limited: self.flags & APPLICATION_LIMITED != 0,
        }
    }
}

/// The most recently sent segment that is known to have arrived (RFC 8985, RACK.segment), and the RTT of the one that
/// was reported last (RACK.rtt).
#[derive(Clone, Copy, Debug, Default)]
struct Rack {
    last: Place,
    rtt: Span,
}

/// Outstanding segments of a sender. State that every ACK touches is in the structure itself, everything
/// else in [`Holes`], which a flow has from its first loss or SACK on.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scoreboard {
    segments: VecDeque<Sent>,
    /// The lowest outstanding number (SND.UNA).
    first: u64,
    sacked_count: u32,
    lost_count: u32,
    retransmitted_count: u32,
    /// Lost and no retransmission of it in flight.
    to_retransmit: u32,
    rack: Rack,
    holes: Option<Box<Holes>>,
    /// For a controller that asks for a report of each segment.
    reports: Option<Box<SegmentReports>>,
    /// Segments looked at one by one.
    #[cfg(test)]
    work: std::cell::Cell<u64>,
}

/// Further state once segments are missing. The cursors may lag behind the cumulative point, which counts
/// instead.
#[derive(Clone, Debug, Default)]
struct Holes {
    sacked: Ranges,
    /// The highest SACKed numbers, descending, at most the largest DupThresh of them.
    highest_sacked: VecDeque<u64>,
    /// Below: already examined by the count rule, by RACK, for retransmission.
    count_cursor: u64,
    rack_cursor: u64,
    retransmit_cursor: u64,
    /// Segments sent again, in order of sending, for RACK and FACK.
    retransmissions: VecDeque<Retransmission>,
    /// Segments whose retransmission was lost too, in the order of their numbers: the cursor may be past them.
    lost_again: VecDeque<u64>,
}

impl Scoreboard {
    pub(crate) fn first(&self) -> u64 {
        self.first
    }

    pub(crate) fn next(&self) -> u64 {
        self.first + self.segments.len() as u64
    }

    pub(crate) fn outstanding(&self) -> u32 {
        self.segments.len() as u32
    }

    /// Segments in flight: pipe (RFC 6675, section 4).
    pub(crate) fn in_flight(&self) -> u32 {
        self.outstanding() + self.retransmitted_count - self.sacked_count - self.lost_count
    }

    pub(crate) fn sacked_count(&self) -> u32 {
        self.sacked_count
    }

    /// Retransmissions in flight.
    pub(crate) fn retransmitted_count(&self) -> u32 {
        self.retransmitted_count
    }

    pub(crate) fn lost_count(&self) -> u32 {
        self.lost_count
    }

    pub(crate) fn is_sacked(&self, number: u64) -> bool {
        self.sacked_count > 0 && self.holes.as_ref().is_some_and(|holes| holes.sacked.contains(number))
    }

    /// True if the lowest outstanding segment is SACKed.
    #[inline]
    pub(crate) fn is_first_sacked(&self) -> bool {
        self.segments.front().is_some_and(|segment| segment.flags & SACKED != 0)
    }

    /// When segment `number` was last sent.
    pub(crate) fn sent_at(&self, number: u64) -> Option<Time> {
        self.segments.get(number.checked_sub(self.first)? as usize).map(|s| s.at)
    }

    /// The highest SACKed number.
    pub(crate) fn highest_sacked(&self) -> Option<u64> {
        if self.sacked_count == 0 {
            return None;
        }
        self.holes.as_ref().and_then(|holes| holes.highest_sacked.front().copied())
    }

    /// From now on the loss of each segment is reported, and its delivery if `deliveries`. Nothing was sent yet.
    pub(crate) fn report_segments(&mut self, deliveries: bool) {
        self.reports = Some(Box::new(SegmentReports::new(deliveries)));
    }

    /// The reports of each segment, if there are any.
    pub(crate) fn reports(&mut self) -> Option<&mut SegmentReports> {
        self.reports.as_deref_mut()
    }

    fn report_lost(&mut self, number: u64, retransmitted: bool) {
        if let Some(reports) = &mut self.reports {
            reports.on_lost(number, retransmitted);
        }
    }

    /// Lets the processor fetch the lines that an ACK reads first.
    pub(crate) fn prefetch(&self) {
        let (front, back) = self.segments.as_slices();
        // Two lines: the segments that an ACK covers may be in both.
        prefetch_index(front, 0);
        prefetch_index(front, 2);
        // The place of the next segment.
        let last = if back.is_empty() { front } else { back };
        prefetch_index(last, last.len());
        if let Some(holes) = self.holes.as_deref().filter(|_| self.sacked_count > 0) {
            prefetch_index(slice::from_ref(holes), 0);
            prefetch_index(slice::from_ref(&holes.lost_again), 0);
        }
    }

    /// Lets the processor fetch the state of segments out of order. The references to it should be cached already.
    #[inline]
    pub(crate) fn prefetch_holes(&self) {
        if let Some(holes) = self.holes.as_deref().filter(|_| self.sacked_count > 0) {
            holes.sacked.prefetch();
            prefetch_index(holes.highest_sacked.as_slices().0, 0);
            prefetch_index(holes.retransmissions.as_slices().0, 0);
        }
    }

    fn holes(&mut self) -> &mut Holes {
        self.holes.get_or_insert_default()
    }

    fn index(&self, number: u64) -> usize {
        #[cfg(test)]
        self.work.set(self.work.get() + 1);
        (number - self.first) as usize
    }

    /// Gives memory back that a larger window needed: a ring is walked from end to end however little is in it, and
    /// the rings of many flows should stay in the cache.
    pub(crate) fn shrink(&mut self) {
        let enough = 2 * self.segments.len().max(8);
        if self.segments.capacity() > 2 * enough {
            self.segments.shrink_to(enough);
        }
    }

    /// A new segment leaves.
    pub(crate) fn push(&mut self, now: Time, state: DeliveryState) {
        if self.segments.len() == self.segments.capacity() {
            self.make_room();
        }
        self.segments.push_back(Sent::new(now, state, 0));
    }

    /// The ring grows by a half, not to twice its size: rings are most of the memory of many flows.
    #[cold]
    #[inline(never)]
    fn make_room(&mut self) {
        let segments = self.segments.len();
        self.segments.reserve_exact(if segments < 4 { 4 } else { segments / 2 });
    }

    /// The highest outstanding number that was not SACKed.
    pub(crate) fn last_unsacked(&self) -> Option<u64> {
        let index = self.segments.iter().rposition(|s| s.flags & SACKED == 0)?;
        Some(self.first + index as u64)
    }

    /// Segments looked at one by one so far.
    #[cfg(test)]
    pub(crate) fn work(&self) -> u64 {
        self.work.get()
    }

    /// Recounts everything from the flags: the counters must be equal.
    #[cfg(test)]
    pub(crate) fn check(&self, sack: bool, resends_unlost: bool) {
        let count = |mask: u32, value: u32| self.segments.iter().filter(|s| s.flags & mask == value).count() as u32;
        assert_eq!(self.lost_count, count(LOST, LOST), "lost");
        assert_eq!(self.retransmitted_count, count(RETRANSMITTED, RETRANSMITTED), "retransmitted");
        assert_eq!(self.to_retransmit, count(LOST | RETRANSMITTED, LOST), "to retransmit");
        let unlost = count(LOST | RETRANSMITTED, RETRANSMITTED);
        assert!(resends_unlost || unlost == 0, "what was retransmitted was lost");
        assert!(self.in_flight() <= self.outstanding() + unlost, "twice in flight is only what was sent again unlost");
        assert_eq!(count(SACKED | LOST, SACKED | LOST), 0, "nothing is both SACKed and lost");
        if sack {
            assert_eq!(self.sacked_count, count(SACKED, SACKED), "SACKed");
            let ranges = (self.first..self.next()).filter(|&n| self.is_sacked(n)).count() as u32;
            assert_eq!(self.sacked_count, ranges, "SACKed by range");
        }
        assert!(self.sacked_count + self.lost_count <= self.outstanding(), "in flight is not negative");
    }
}

#[cfg(test)]
mod tests;
