//! Retransmissions: which segment is next (RFC 6675, NextSeg), and the segments in flight afterwards.

use units::Time;

use super::{AHEAD, AMBIGUOUS, LOST, RETRANSMITTED, Retransmission, SACKED, Scoreboard, Sent};
use crate::tcp::flight::delivery_rate::DeliveryState;

impl Scoreboard {
    /// True if the outstanding segment `number` was sent more than once.
    pub(crate) fn was_sent_again(&self, number: u64) -> bool {
        (self.first..self.next()).contains(&number) && self.segments[self.index(number)].flags & AMBIGUOUS != 0
    }

    /// True if a lost segment has yet to be sent again.
    pub(crate) fn awaits_retransmission(&self) -> bool {
        self.to_retransmit > 0
    }

    /// The next lost segment to send again (RFC 6675, NextSeg rule 1).
    #[inline]
    pub(crate) fn next_lost(&mut self) -> Option<u64> {
        if self.to_retransmit == 0 { None } else { self.find_lost() }
    }

    #[inline(never)]
    fn find_lost(&mut self) -> Option<u64> {
        while let Some(number) = self.holes().lost_again.front().copied() {
            if self.waits_for_retransmission(number) {
                break;
            }
            self.holes().lost_again.pop_front();
        }
        let again = self.holes().lost_again.front().copied();
        let from = self.holes().retransmit_cursor.max(self.first);
        let found = (from..again.unwrap_or(self.next())).find(|&number| self.waits_for_retransmission(number));
        // Beyond one that is lost again the search goes on another time.
        self.holes().retransmit_cursor = found.or(again.map(|number| number.max(from))).unwrap_or(self.next());
        found.or(again)
    }

    fn waits_for_retransmission(&self, number: u64) -> bool {
        number >= self.first && {
            let flags = self.segments[self.index(number)].flags;
            flags & (SACKED | LOST | RETRANSMITTED) == LOST
        }
    }

    /// The lowest segment from `from` on that has SACKed ones above it and is neither SACKed nor lost (RFC 6675,
    /// NextSeg rule 3).
    pub(crate) fn next_hole(&self, from: u64) -> Option<u64> {
        let end = self.highest_sacked()?;
        let mut numbers = from.max(self.first)..end;
        numbers.find(|&number| self.segments[self.index(number)].flags & (SACKED | LOST | RETRANSMITTED) == 0)
    }

    /// Segment `number` leaves again and is in flight twice, though it is not known to be lost (RFC 6675, SetPipe,
    /// b).
    pub(crate) fn resend_hole(&mut self, number: u64, now: Time, state: DeliveryState) {
        let (index, ahead) = (self.index(number), self.ahead_of(number));
        let segment = &mut self.segments[index];
        *segment = Sent::new(now, state, segment.flags & (SACKED | LOST) | AMBIGUOUS | RETRANSMITTED | ahead);
        self.retransmitted_count += 1;
    }

    /// By how much the next new segment is ahead of `number`, as a flag.
    fn ahead_of(&self, number: u64) -> u32 {
        ((self.next() - number) as u32) << AHEAD
    }

    /// Segment `number` leaves again. It need not be lost: a tail loss probe resends on suspicion.
    pub(crate) fn resend(&mut self, number: u64, now: Time, state: DeliveryState, track: bool) {
        let (index, ahead) = (self.index(number), self.ahead_of(number));
        let segment = &mut self.segments[index];
        let lost = segment.flags & LOST != 0;
        let pending = segment.flags & RETRANSMITTED == 0;
        *segment = Sent::new(now, state, segment.flags & (SACKED | LOST | RETRANSMITTED) | AMBIGUOUS | ahead);
        if lost && pending {
            segment.flags |= RETRANSMITTED;
            self.retransmitted_count += 1;
            self.to_retransmit -= 1;
        }
        if track {
            let (first, sent_to) = (self.first, self.next());
            let retransmissions = &mut self.holes().retransmissions;
            while retransmissions.front().is_some_and(|settled| settled.number < first) {
                retransmissions.pop_front();
            }
            retransmissions.push_back(Retransmission { number, at: now, sent_to });
        }
    }
}
