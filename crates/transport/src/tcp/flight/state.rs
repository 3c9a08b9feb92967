//! Queries of the flight, none of which changes it.

use units::{Span, Time};

use super::Flight;
use crate::tcp::rtt::RttEstimator;
use crate::{Stack, Timers};

impl Flight {
    #[inline]
    pub(in crate::tcp) fn first(&self) -> u64 {
        self.board.first()
    }

    #[inline]
    pub(in crate::tcp) fn next(&self) -> u64 {
        self.board.next()
    }

    #[inline]
    pub(in crate::tcp) fn outstanding(&self) -> u32 {
        self.board.outstanding()
    }

    /// Segments in flight: pipe (RFC 6675, section 4).
    #[inline]
    pub(in crate::tcp) fn in_flight(&self) -> u32 {
        self.board.in_flight()
    }

    /// True if no outstanding segment is SACKed, lost or retransmitted, and all losses are reported.
    #[inline(always)]
    pub(in crate::tcp) fn is_in_order(&self) -> bool {
        let board = &self.board;
        let irregular = board.sacked_count() | board.lost_count() | board.retransmitted_count();
        irregular | self.unreported | self.duplicates == 0
    }

    /// True if an ACK that counts `marked` segments as marked counts none that is new.
    #[inline(always)]
    pub(in crate::tcp) fn knows_marks(&self, marked: u32) -> bool {
        marked == self.marked as u32
    }

    #[inline]
    pub(in crate::tcp) fn sacked_count(&self) -> u32 {
        self.board.sacked_count()
    }

    /// True if segment `number` is SACKed.
    pub(in crate::tcp) fn is_sacked(&self, number: u64) -> bool {
        self.board.is_sacked(number)
    }

    pub(in crate::tcp) fn lost_count(&self) -> u32 {
        self.board.lost_count()
    }

    /// Retransmissions in flight.
    pub(in crate::tcp) fn retransmitted_count(&self) -> u32 {
        self.board.retransmitted_count()
    }

    /// The next lost segment to send again (RFC 6675, NextSeg rule 1).
    #[inline]
    pub(in crate::tcp) fn next_lost(&mut self) -> Option<u64> {
        self.board.next_lost()
    }

    /// The lowest hole from `from` on (RFC 6675, NextSeg rule 3).
    pub(in crate::tcp) fn next_hole(&self, from: u64) -> Option<u64> {
        self.board.next_hole(from)
    }

    /// The highest segment that was not SACKed.
    pub(in crate::tcp) fn last_unsacked(&self) -> Option<u64> {
        self.board.last_unsacked()
    }

    pub(in crate::tcp) fn highest_sacked(&self) -> Option<u64> {
        self.board.highest_sacked()
    }

    /// When the oldest segment left last.
    #[inline]
    pub(in crate::tcp) fn oldest_at(&self) -> Option<Time> {
        self.board.sent_at(self.board.first())
    }

    /// The retransmission timeout in whole ticks, back-off included.
    pub(in crate::tcp) fn timeout(&self, timers: &Timers) -> Span {
        self.rtt.timeout(timers)
    }

    /// The same for a timer, which rounds up to whole ticks by itself.
    #[inline]
    pub(in crate::tcp) fn timer(&self, timers: &Timers) -> Span {
        self.rtt.timer(timers)
    }

    /// When the retransmission timer of the oldest segment expires, `timeout` after it was sent last.
    pub(in crate::tcp) fn timeout_of_oldest(&self, now: Time, timeout: Span) -> Time {
        self.oldest_at().unwrap_or(now) + timeout
    }

    /// Segments delivered since the start.
    pub(in crate::tcp) fn delivered(&self) -> u64 {
        self.delivery.delivered()
    }

    /// Segments deemed lost since the start.
    pub(in crate::tcp) fn lost(&self) -> u64 {
        self.lost
    }

    /// DupThresh.
    pub(in crate::tcp) fn threshold(&self) -> u32 {
        self.reordering.threshold
    }

    /// How often the path was seen to reorder.
    pub(in crate::tcp) fn reorderings(&self) -> u32 {
        self.reordering.seen.into()
    }

    /// True if the path reorders by more than DupThresh was at first: then data that are SACKed let the window grow as
    /// data in order do (in Linux since 3.12 tcp_may_raise_cwnd).
    pub(in crate::tcp) fn reorders(&self, stack: &Stack) -> bool {
        stack.losses.is_linux_rack() && self.reordering.threshold > stack.losses.threshold
    }

    /// The smallest RTT of the path, including the handshake's (in Linux tcp_synack_rtt_meas), or [`Span::MAX`] if
    /// there is none. Controllers see the smallest RTT of data alone: most modules begin after the handshake, and a SYN
    /// is smaller than a segment, whose transmission would seem to be a queue.
    #[inline]
    pub(in crate::tcp) fn shortest(&self) -> Span {
        match self.opening {
            u32::MAX => self.rtt.minimum,
            opening => self.rtt.minimum.min(Span::from_micros(opening.into())),
        }
    }

    /// Round-trip times.
    #[inline]
    pub(in crate::tcp) fn rtt(&self) -> &RttEstimator {
        &self.rtt
    }

    /// Lets the processor fetch the lines that an ACK reads first.
    pub(in crate::tcp) fn prefetch(&self) {
        self.board.prefetch();
    }

    /// Lets it fetch the lines that those refer to.
    #[inline]
    pub(in crate::tcp) fn prefetch_holes(&self) {
        self.board.prefetch_holes();
    }

    /// Work of the scoreboard, and its consistency.
    #[cfg(test)]
    pub(in crate::tcp) fn board(&self) -> &super::Scoreboard {
        &self.board
    }
}
