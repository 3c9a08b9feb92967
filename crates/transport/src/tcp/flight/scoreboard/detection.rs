//! Which segments are lost: by the count of RFC 6675, by FACK, by time (RACK, RFC 8985), or all of them.

use std::collections::VecDeque;

use units::{Span, Time};

use super::{AMBIGUOUS, FOUND, LOST, RETRANSMITTED, Retransmission, SACKED, Scoreboard};
use crate::MAX_THRESHOLD;

/// Segment `number` is SACKed as well: notes it among the `highest`, if it is one of them.
#[inline]
pub(super) fn note_highest(highest: &mut VecDeque<u64>, number: u64) {
    let most = MAX_THRESHOLD as usize;
    let above = if highest.front().is_none_or(|&first| first < number) {
        0
    } else {
        highest.partition_point(|&other| other > number)
    };
    if above == 0 {
        highest.truncate(most - 1);
        highest.push_front(number);
    } else if above < most {
        highest.truncate(most - 1);
        highest.insert(above, number);
    }
}

impl Scoreboard {
    /// Marks `number` lost if nothing is known of it yet. Says whether it was.
    fn mark_lost(&mut self, number: u64) -> bool {
        let index = self.index(number);
        let flags = &mut self.segments[index].flags;
        if *flags & (SACKED | LOST) != 0 {
            return false;
        }
        *flags |= LOST;
        self.lost_count += 1;
        // A tail loss probe may have sent it again, but that was not counted as a retransmission in flight.
        self.to_retransmit += u32::from(*flags & RETRANSMITTED == 0);
        let retransmitted = *flags & AMBIGUOUS != 0;
        let holes = self.holes();
        holes.retransmit_cursor = holes.retransmit_cursor.min(number);
        self.report_lost(number, retransmitted);
        true
    }

    /// Marks the first outstanding segment lost: NewReno (RFC 6582), which has no SACK.
    pub(crate) fn mark_first_lost(&mut self) -> u32 {
        if self.segments.is_empty() {
            return 0;
        }
        let marked = u32::from(self.mark_lost(self.first));
        self.sacked_count = self.sacked_count.min(self.outstanding() - self.lost_count);
        marked
    }

    /// A segment is lost once `threshold` segments above it were SACKed (RFC 6675, IsLost). Returns how many were
    /// marked.
    pub(crate) fn detect_by_count(&mut self, threshold: u32) -> u32 {
        let limit = self.holes.as_ref().and_then(|holes| holes.highest_sacked.get(threshold as usize - 1).copied());
        limit.map_or(0, |limit| self.lose_below(limit))
    }

    /// FACK: a segment is lost once one numbered `threshold` higher was SACKed, and a retransmission once a segment
    /// first sent after it was. Returns how many were marked.
    pub(crate) fn detect_forward(&mut self, threshold: u32) -> u32 {
        let Some(highest) = self.highest_sacked() else { return 0 };
        let mut marked = self.lose_below((highest + 1).saturating_sub(u64::from(threshold)));
        while let Some(Retransmission { number, at, sent_to }) = self.first_retransmission() {
            if self.awaits(number, at) {
                if highest < sent_to {
                    break;
                }
                self.lose_again(number);
                marked += 1;
            }
            self.holes().retransmissions.pop_front();
        }
        marked
    }

    /// Marks everything below `limit` lost of which nothing is known. Returns how many that were.
    fn lose_below(&mut self, limit: u64) -> u32 {
        let mut marked = 0;
        let from = self.holes().count_cursor.max(self.first);
        for number in from..limit {
            marked += u32::from(self.mark_lost(number));
        }
        let holes = self.holes();
        holes.count_cursor = holes.count_cursor.max(limit);
        marked
    }

    /// A segment is lost if one sent sufficiently later has arrived (RFC 8985, section 6.2, step 5). Returns how
    /// many were marked, whether a retransmission was among them, and when the last of the other suspects would be: so
    /// long the timer of RACK waits, and an ACK may find the earlier ones.
    pub(crate) fn detect_by_time(&mut self, now: Time, reordering_window: Span) -> (u32, bool, Option<Time>) {
        let rack = self.rack;
        let wait = rack.rtt + reordering_window;
        let mut marked = 0;
        let mut next: Option<Time> = None;
        // Segments sent once are ordered by their numbers…
        let mut cursor = self.holes.as_ref().map_or(0, |holes| holes.rack_cursor).max(self.first);
        let start = cursor;
        while cursor < self.next() {
            let segment = self.segments[self.index(cursor)];
            if segment.flags & (SACKED | LOST | AMBIGUOUS | FOUND) == 0 {
                if segment.place(cursor) >= rack.last {
                    break;
                }
                let due = segment.at + wait;
                if due > now {
                    next = Some(self.last_suspect(cursor) + wait);
                    break;
                }
                marked += u32::from(self.mark_lost(cursor));
                let index = self.index(cursor);
                self.segments[index].flags |= FOUND;
            }
            cursor += 1;
        }
        if cursor > start {
            self.holes().rack_cursor = cursor;
        }
        // …and retransmissions in the order of their sending.
        let mut again = false;
        while let Some(retransmission @ Retransmission { number, at, .. }) = self.first_retransmission() {
            if self.awaits(number, at) {
                if retransmission.place() >= rack.last {
                    break;
                }
                let due = at + wait;
                if due > now {
                    let due = self.last_suspect_retransmission().unwrap_or(at) + wait;
                    next = Some(next.map_or(due, |n| n.max(due)));
                    break;
                }
                again |= self.lose_again(number);
                marked += 1;
            }
            self.holes().retransmissions.pop_front();
        }
        (marked, again, next)
    }

    /// When the last segment left of those sent once that RACK suspects, of which `first` is one.
    #[inline(never)]
    fn last_suspect(&self, first: u64) -> Time {
        let rack = self.rack;
        let sent_once = |number: u64| self.segments[self.index(number)].flags & AMBIGUOUS == 0;
        let outstanding = (first..self.next()).contains(&rack.last.number());
        // Behind a retransmission all that left before it is suspect, whatever its number.
        let mut number =
            if outstanding && sent_once(rack.last.number()) { rack.last.number() } else { self.next() - 1 };
        while number > first {
            if let Some((start, _)) = self.holes.as_ref().and_then(|holes| holes.sacked.containing(number)) {
                number = start - 1;
                continue;
            }
            let segment = &self.segments[self.index(number)];
            if segment.flags & (LOST | AMBIGUOUS | FOUND) == 0 && segment.place(number) < rack.last {
                break;
            }
            number -= 1;
        }
        self.segments[self.index(number)].at
    }

    /// The same of those sent again.
    fn last_suspect_retransmission(&self) -> Option<Time> {
        let mut retransmissions = self.holes.as_ref()?.retransmissions.iter().rev();
        retransmissions.find(|one| one.place() < self.rack.last && self.awaits(one.number, one.at)).map(|one| one.at)
    }

    fn first_retransmission(&self) -> Option<Retransmission> {
        self.holes.as_ref().and_then(|holes| holes.retransmissions.front().copied())
    }

    /// True if the transmission of `number` at `at` is the last one and nothing is known of its fate.
    fn awaits(&self, number: u64, at: Time) -> bool {
        number >= self.first && {
            let segment = &self.segments[self.index(number)];
            let settled = segment.flags & SACKED != 0 || segment.flags & (LOST | RETRANSMITTED) == LOST;
            segment.at == at && !settled
        }
    }

    /// The last transmission of `number`, not its first one, was lost. If only the original of two in flight counts as
    /// lost then, after an undo, the other one is not sent again. Says whether it was the retransmission.
    fn lose_again(&mut self, number: u64) -> bool {
        let index = self.index(number);
        let flags = &mut self.segments[index].flags;
        let retransmission = *flags & (LOST | RETRANSMITTED) == LOST | RETRANSMITTED;
        if retransmission {
            self.retransmitted_count -= 1;
            *flags &= !RETRANSMITTED;
        } else {
            self.lost_count += 1;
            *flags |= LOST;
        }
        if *flags & RETRANSMITTED == 0 {
            self.to_retransmit += 1;
            let again = &mut self.holes().lost_again;
            let place = again.partition_point(|&other| other < number);
            again.insert(place, number);
        }
        self.report_lost(number, true);
        retransmission
    }

    /// The time from which on segments left that RACK still waits for: older ones are lost without a reordering window.
    pub(crate) fn recent_since(&self, now: Time) -> Time {
        Time::ZERO + now.since(Time::ZERO + self.rack.rtt)
    }

    /// No segment is SACKed any more.
    pub(crate) fn forget_sacked(&mut self) {
        for segment in &mut self.segments {
            segment.flags &= !SACKED;
        }
        self.sacked_count = 0;
        let holes = self.holes();
        holes.sacked.clear();
        holes.highest_sacked.clear();
    }

    /// Everything not SACKed is lost (RFC 6298, 5.4, and RFC 6675, section 5.1), except segments that left after
    /// `recent`, but with the first (RFC 8985, section 6.3). Returns how many were newly marked.
    pub(crate) fn lose_all(&mut self, recent: Time) -> u32 {
        let (mut marked, mut excepted) = (0, false);
        self.retransmitted_count = 0;
        self.to_retransmit = 0;
        self.lost_count = 0;
        for (index, segment) in self.segments.iter_mut().enumerate() {
            if segment.flags & SACKED != 0 {
                continue;
            }
            let in_flight = segment.flags & (LOST | RETRANSMITTED) != LOST;
            if index > 0 && segment.at > recent && in_flight {
                self.lost_count += u32::from(segment.flags & LOST != 0);
                self.retransmitted_count += u32::from(segment.flags & RETRANSMITTED != 0);
                excepted = true;
                continue;
            }
            // A retransmission under way is lost as well, and counts like one that RACK finds.
            marked += u32::from(in_flight);
            if let Some(reports) = self.reports.as_mut().filter(|_| in_flight) {
                reports.on_lost(self.first + index as u64, segment.flags & AMBIGUOUS != 0);
            }
            segment.flags = (segment.flags | LOST) & !RETRANSMITTED;
            self.lost_count += 1;
            self.to_retransmit += 1;
        }
        let (first, next) = (self.first, if excepted { self.first } else { self.next() });
        let holes = self.holes();
        holes.retransmissions.retain(|retransmission| retransmission.number > first && retransmission.at > recent);
        holes.lost_again.clear();
        holes.retransmit_cursor = first;
        holes.count_cursor = next;
        holes.rack_cursor = next;
        marked
    }

    /// Nothing is lost: the reduction was spurious. Original and retransmission of one segment are both in flight then.
    /// RACK does not examine the segments that it found lost again (in Linux tcp_undo_cwnd_reduction with unmark_loss).
    pub(crate) fn unmark_all(&mut self) {
        for segment in &mut self.segments {
            segment.flags &= !LOST;
        }
        self.lost_count = 0;
        self.to_retransmit = 0;
        let holes = self.holes();
        holes.count_cursor = 0;
        holes.rack_cursor = 0;
        holes.lost_again.clear();
        if let Some(reports) = &mut self.reports {
            reports.forget_losses();
        }
    }

    /// Takes back the loss marks of segments sent once: the reduction was spurious. Retransmissions stay as they are.
    pub(crate) fn unmark_lost(&mut self) {
        for segment in &mut self.segments {
            if segment.flags & (LOST | AMBIGUOUS) == LOST {
                segment.flags &= !LOST;
                self.lost_count -= 1;
                self.to_retransmit -= 1;
            }
        }
        let holes = self.holes();
        holes.count_cursor = 0;
        holes.rack_cursor = 0;
        if let Some(reports) = &mut self.reports {
            reports.forget_losses();
        }
    }
}
