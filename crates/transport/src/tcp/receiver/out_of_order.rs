//! Segments out of order at a receiver, and their acknowledgement.

use std::slice;

use prefetch_index::prefetch_index;
use units::Time;

use super::Receiver;
use crate::Conceals;
use crate::segment::{Data, SackBlocks};
use crate::tcp::ranges::Ranges;
use crate::tcp::stack::NO_LIMIT;

/// ACKs of out-of-order data that leave at once after each advance, before SACK compression begins (Linux:
/// TCP_FASTRETRANS_THRESH).
const UNCOMPRESSED: u32 = 3;
/// The most out-of-order segments that one ACK waits for (Linux: tcp_comp_sack_nr).
const MOST_COMPRESSED: u16 = 44;
/// SACK blocks whose changes may wait (Linux: TCP_SACK_BLOCKS_EXPECTED): no ACK has room for many more.
const EXPECTED_BLOCKS: usize = 2;

/// Segments out of order.
#[derive(Debug, Default)]
pub(super) struct Holes {
    early: Ranges,
    /// A number in each of the ranges to report, most recent first (RFC 2018, section 4).
    recent: [u64; 4],
    recent_count: usize,
    /// ACKs of out-of-order data that left uncompressed, and the next segment in order then.
    uncompressed: (u32, u64),
    /// A segment that arrived twice, not yet reported.
    duplicate: Option<u64>,
}

impl Holes {
    /// How many there are.
    pub(super) fn count(&self) -> u64 {
        self.early.count()
    }

    /// The `range` around `number`, above `next`, is the newest: the place that it, or the part of it that was there,
    /// had among those to report.
    fn remember(&mut self, number: u64, (start, end): (u64, u64), next: u64) -> usize {
        // The newest first. Older numbers of the same range would only repeat its block.
        let mut kept = [number, 0, 0, 0];
        let mut count = 1;
        let mut place = self.recent_count;
        for (i, &old) in self.recent[..self.recent_count].iter().enumerate() {
            if (start..end).contains(&old) {
                place = place.min(i);
            } else if old >= next && count < 4 {
                kept[count] = old;
                count += 1;
            }
        }
        self.recent = kept;
        self.recent_count = count;
        place
    }
}

impl Receiver {
    /// A segment arrived that is not the next in order.
    #[inline(never)]
    pub(super) fn on_out_of_place(&mut self, now: Time, data: &Data) {
        let next = self.next;
        if data.sequence < next {
            return self.on_old(data);
        }
        if self.conceals == Conceals::Losses {
            self.next = data.sequence;
            return self.accept(now);
        }
        self.has_holes = true;
        let holes = self.holes.get_or_insert_default();
        let mut arrived_before = true;
        let range = holes.early.insert(data.sequence, data.sequence + 1, |_, _| arrived_before = false);
        self.has_duplicate = arrived_before;
        holes.duplicate = arrived_before.then_some(data.sequence);
        // The block around a duplicate comes second (RFC 2883, section 4).
        let place = holes.remember(data.sequence, range, next);
        self.out_of_order(now, place);
    }

    /// A segment arrived that was delivered before.
    fn on_old(&mut self, data: &Data) {
        self.holes.get_or_insert_default().duplicate = Some(data.sequence);
        self.has_duplicate = true;
        self.quick_acks = self.quick_acks.max(self.quick_acks_again);
        self.answers = false;
        self.reset_delay();
        // Its ACK is the first of them, but where all up to it was acknowledged and none waits (in Linux that is no ACK
        // of data: tcp_send_dupack).
        if self.unacknowledged > 0 || data.sequence + 1 >= self.last_ack_sent {
            self.quick_acks = self.quick_acks.saturating_sub(1);
        }
        self.due = true;
    }

    /// The segment before the next has arrived: perhaps the first of the ranges above it follows.
    #[inline(never)]
    pub(super) fn fill_hole(&mut self) {
        if let Some(holes) = &mut self.holes
            && let Some((start, end)) = holes.early.first()
            && start == self.next
        {
            self.next = end;
            holes.early.remove_below(end);
            self.has_holes = !holes.early.is_empty();
        }
        if self.has_holes
            && let Some(holes) = &mut self.holes
        {
            // The ACK of this advance is the first of those that are not compressed.
            holes.uncompressed = (1, self.next);
        }
    }

    /// The window of an ACK that fills a hole. The application has not read the `covered` segments, so a window without
    /// a limit is smaller by them, as in Linux with every buffer (tcp_select_window). A receive buffer has its own
    /// rule, and a `receive_window` is constant.
    #[cold]
    pub(super) fn window_before_read(&self, covered: u64) -> u32 {
        let unread = if self.window == NO_LIMIT { covered as u32 } else { 0 };
        self.window().min(self.window.saturating_sub(unread))
    }

    /// A segment out of order, in the block at this place: to be acknowledged at once (RFC 5681, section 4.2), but
    /// for SACK compression.
    fn out_of_order(&mut self, now: Time, place: usize) {
        let next = self.next;
        let uncompressed = &mut self.holes.get_or_insert_default().uncompressed;
        if uncompressed.1 != next {
            *uncompressed = (0, next);
        }
        if self.compression.is_zero() || self.quick_acks > 0 {
            self.use_quick_ack();
            self.due = true;
        } else if uncompressed.0 < UNCOMPRESSED {
            uncompressed.0 += 1;
            self.due = true;
        } else if place >= EXPECTED_BLOCKS || self.compressed >= MOST_COMPRESSED {
            self.due = true;
        } else {
            self.compressed += 1;
            let at = now + self.compression;
            if at < self.deadline {
                (self.deadline, self.on_tick) = (at, true);
            }
        }
    }

    /// The SACK blocks of the next ACK, and the segment that it reports as a duplicate.
    #[inline]
    pub(super) fn report(&mut self) -> (SackBlocks, Option<u64>) {
        if self.has_duplicate || self.has_holes { self.report_holes() } else { Default::default() }
    }

    #[inline(never)]
    fn report_holes(&mut self) -> (SackBlocks, Option<u64>) {
        let mut sack = SackBlocks::default();
        self.has_duplicate = false;
        let Some(holes) = &mut self.holes else { return (sack, None) };
        let duplicate = holes.duplicate.take().filter(|_| self.sack);
        if self.sack && self.has_holes {
            let room = usize::from(self.max_blocks) - usize::from(duplicate.is_some());
            for &number in &holes.recent[..holes.recent_count] {
                if sack.len() == room {
                    break;
                }
                if let Some((start, end)) = holes.early.containing(number) {
                    sack.push(self.next, start, end);
                }
            }
        }
        (sack, duplicate)
    }

    /// Lets the processor fetch the record of segments out of order, if there are any.
    #[inline]
    pub fn prefetch(&self) {
        if let Some(holes) = self.holes.as_deref().filter(|_| self.has_holes) {
            prefetch_index(slice::from_ref(holes), 0);
            prefetch_index(slice::from_ref(&holes.duplicate), 0);
        }
    }

    /// Lets it fetch what that refers to in turn.
    #[inline]
    pub fn prefetch_holes(&self) {
        if let Some(holes) = self.holes.as_deref().filter(|_| self.has_holes) {
            holes.early.prefetch();
        }
    }
}

#[cfg(test)]
mod tests {
    use units::{Span, Time};

    use super::*;
    use crate::linux;

    /// The windows in the ACKs of the segments 0 to 23, of which number 2 arrives after number 21.
    fn windows(receive_window: u32) -> Vec<u32> {
        let stack = crate::Stack { receive_window, ..linux() };
        let mut receiver = Receiver::new(&stack, Span::from_millis(50));
        let arrive = |sequence: u64| {
            let data = Data {
                sequence,
                timestamp: Time::ZERO,
                payload: 1448,
                retransmission: false,
                reduced: false,
                push: false,
            };
            receiver.on_data(Time::ZERO, &data, false);
            receiver.poll_transmit(Time::ZERO).map(|ack| ack.window)
        };
        [0, 1].into_iter().chain(3..22).chain([2, 22, 23]).filter_map(arrive).collect()
    }

    // In Linux 6.12 with `tcp_rmem` of 256 MiB, ackclock's live hosts without a limit, the window differed from the one
    // before in 284 of 284 such ACKs.
    #[test]
    fn the_ack_of_a_filled_hole_leaves_before_the_application_has_read() {
        let found = windows(NO_LIMIT);
        let (before, after) = found.split_at(21);
        assert!(before.iter().all(|&window| window == NO_LIMIT), "{before:?}");
        assert_eq!(after, [NO_LIMIT - 20, NO_LIMIT, NO_LIMIT]);
        assert_eq!(windows(500), [500; 24], "a constant window");
    }
}
