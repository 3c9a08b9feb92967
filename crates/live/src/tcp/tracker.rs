//! A connection seen from the outside, at the sender's end of the path: sequence numbers, retransmissions,
//! round-trip times.

use std::collections::VecDeque;

use transport::Ranges;
use units::{Span, Time};

/// Follows one connection by the headers of its segments.
#[derive(Debug, Default)]
pub(crate) struct Tracker {
    /// The sequence number of the first byte.
    first: u32,
    /// Bytes sent, without retransmissions.
    sent: u64,
    /// Bytes acknowledged.
    acknowledged: u64,
    /// Segments not acknowledged, in the order of their bytes.
    outstanding: VecDeque<Sent>,
    /// Bytes that SACK blocks covered.
    sacked: Ranges,
}

#[derive(Clone, Copy, Debug)]
struct Sent {
    /// The byte behind it.
    end: u64,
    at: Time,
    again: bool,
    /// By a SACK block.
    delivered: bool,
}

/// A segment with data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sending {
    /// Its first byte, counted from the connection's.
    pub(crate) offset: u64,
    /// Some of it was sent before.
    pub(crate) again: bool,
}

impl Tracker {
    /// The connection begins with this SYN.
    pub(crate) fn synchronize(&mut self, sequence: u32) {
        if self.sent == 0 {
            self.first = sequence.wrapping_add(1);
        }
    }

    /// A segment of `payload` bytes, at least one, leaves at `now`.
    pub(crate) fn send(&mut self, now: Time, sequence: u32, payload: u32) -> Sending {
        let offset = self.unwrap(sequence);
        let end = offset + u64::from(payload);
        let again = offset < self.sent;
        if again {
            let from = self.outstanding.partition_point(|other| other.end <= offset);
            for other in self.outstanding.range_mut(from..) {
                if other.end > end {
                    break;
                }
                other.again = true;
            }
        }
        if end > self.sent {
            self.outstanding.push_back(Sent { end, at: now, again, delivered: false });
            self.sent = end;
        }
        Sending { offset, again }
    }

    /// An acknowledgement with these SACK blocks arrives at `now`. Returns the round-trip time of the newest segment
    /// that it newly acknowledges and that was sent once (Karn and Partridge 1987). There is none if the cumulative
    /// point passes a retransmitted segment, which may have held up the others.
    pub(crate) fn acknowledge(
        &mut self,
        now: Time,
        acknowledgement: u32,
        sack: impl Iterator<Item = (u32, u32)>,
    ) -> Option<Span> {
        let upto = self.unwrap(acknowledgement);
        let (mut newest, mut spoiled) = (None, false);
        for (start, end) in sack {
            let (start, end) = (self.unwrap(start), self.unwrap(end));
            // Blocks below the cumulative point arrived twice (RFC 2883).
            if upto <= start && start < end && end <= self.sent {
                let outstanding = &mut self.outstanding;
                self.sacked.insert(start, end, |from, to| newest = newest.max(arrived(outstanding, from, to)));
            }
        }
        while let Some(covered) = self.outstanding.front().copied().filter(|sent| sent.end <= upto) {
            self.outstanding.pop_front();
            if !covered.delivered {
                newest = newest.max(Some(covered.at));
            }
            spoiled |= covered.again;
        }
        self.acknowledged = self.acknowledged.max(upto.min(self.sent));
        self.sacked.remove_below(self.acknowledged);
        newest.filter(|_| !spoiled).map(|at| now.since(at))
    }

    /// The byte with this number, the one nearest to the last acknowledged byte.
    fn unwrap(&self, sequence: u32) -> u64 {
        let reference = self.first.wrapping_add(self.acknowledged as u32);
        let distance = sequence.wrapping_sub(reference) as i32;
        self.acknowledged.saturating_add_signed(i64::from(distance))
    }
}

/// The segments in the bytes `from..to` arrived. Returns when the newest of them that was sent once left.
fn arrived(outstanding: &mut VecDeque<Sent>, from: u64, to: u64) -> Option<Time> {
    let mut newest = None;
    let first = outstanding.partition_point(|sent| sent.end <= from);
    for sent in outstanding.range_mut(first..) {
        if sent.end > to {
            break;
        }
        sent.delivered = true;
        if !sent.again {
            newest = newest.max(Some(sent.at));
        }
    }
    newest
}

#[cfg(test)]
mod tests {
    use super::*;

    const NO_SACK: std::iter::Empty<(u32, u32)> = std::iter::empty();

    fn at(millis: u64) -> Time {
        Time::ZERO + Span::from_millis(millis)
    }

    /// A connection whose first byte has a number shortly before the wrap-around.
    fn connection() -> Tracker {
        let mut tracker = Tracker::default();
        tracker.synchronize(u32::MAX - 1000);
        tracker
    }

    /// The number of byte `offset`.
    fn number(offset: u32) -> u32 {
        (u32::MAX - 999).wrapping_add(offset)
    }

    #[test]
    fn the_newest_segment_that_an_ack_covers_gives_the_sample_across_the_wrap_around() {
        let mut tracker = connection();
        for (millis, offset) in [(0, 0), (1, 600), (2, 1200)] {
            let sending = tracker.send(at(millis), number(offset), 600);
            assert_eq!(sending, Sending { offset: u64::from(offset), again: false });
        }
        assert_eq!(tracker.acknowledge(at(41), number(1200), NO_SACK), Some(Span::from_millis(40)));
        assert_eq!(tracker.acknowledge(at(42), number(1200), NO_SACK), None);
        assert_eq!(tracker.acknowledge(at(45), number(1800), NO_SACK), Some(Span::from_millis(43)));
    }

    #[test]
    fn what_was_sent_twice_gives_no_sample() {
        let mut tracker = connection();
        for offset in [0, 600, 1200] {
            tracker.send(at(0), number(offset), 600);
        }
        assert_eq!(tracker.send(at(50), number(0), 600), Sending { offset: 0, again: true });
        // The ACK of all three was triggered by the one sent twice.
        assert_eq!(tracker.acknowledge(at(90), number(1800), NO_SACK), None);
        tracker.send(at(91), number(1800), 600);
        assert_eq!(tracker.acknowledge(at(131), number(2400), NO_SACK), Some(Span::from_millis(40)));
    }

    #[test]
    fn a_retransmission_marks_only_the_segments_it_covers() {
        let mut tracker = connection();
        for offset in [0, 600, 1200] {
            tracker.send(at(0), number(offset), 600);
        }
        tracker.send(at(30), number(600), 600);
        assert_eq!(tracker.acknowledge(at(40), number(600), NO_SACK), Some(Span::from_millis(40)));
        assert_eq!(tracker.acknowledge(at(70), number(1200), NO_SACK), None);
        assert_eq!(tracker.acknowledge(at(71), number(1800), NO_SACK), Some(Span::from_millis(71)));
    }
    #[test]
    fn a_segment_gives_its_sample_when_it_is_sacked_and_no_second_one_later() {
        let mut tracker = connection();
        for (millis, offset) in [(0, 0), (1, 600), (2, 1200), (3, 1800)] {
            tracker.send(at(millis), number(offset), 600);
        }
        // The first is lost. The block grows by one segment, then by two at once.
        assert_eq!(
            tracker.acknowledge(at(41), number(0), [(number(600), number(1200))].into_iter()),
            Some(Span::from_millis(40))
        );
        let all = (number(600), number(2400));
        assert_eq!(tracker.acknowledge(at(44), number(0), [all].into_iter()), Some(Span::from_millis(41)));
        assert_eq!(tracker.acknowledge(at(45), number(0), [all].into_iter()), None);
        tracker.send(at(46), number(0), 600);
        assert_eq!(tracker.acknowledge(at(86), number(2400), NO_SACK), None);
        tracker.send(at(87), number(2400), 600);
        // The second block reports a duplicate.
        let again = (number(1200), number(1800));
        assert_eq!(tracker.acknowledge(at(130), number(3000), [again].into_iter()), Some(Span::from_millis(43)));
    }

    #[test]
    fn a_sacked_segment_that_was_sent_twice_gives_none() {
        let mut tracker = connection();
        for offset in [0, 600, 1200] {
            tracker.send(at(0), number(offset), 600);
        }
        tracker.send(at(50), number(1200), 600);
        assert_eq!(tracker.acknowledge(at(60), number(0), [(number(1200), number(1800))].into_iter()), None);
        // The first was sent once, and the cumulative point passes nothing that was not.
        assert_eq!(tracker.acknowledge(at(61), number(600), NO_SACK), Some(Span::from_millis(61)));
    }
}
