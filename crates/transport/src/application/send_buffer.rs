//! The send buffer: data that the application has written and the receiver has not acknowledged. The application
//! writes until the memory is used up, and goes on once a third of it is free.
//!
//! Linux tests the memory before it begins a piece, and not while it fills the last one. A long write sends a train of
//! the last piece, fills it again, and so on while the window has room: much more may be in flight than the memory
//! holds. Then the application waits until most of it is acknowledged. It also waits once more than half of the largest
//! receive window was written since the last push: all of that leaves, and no piece is left to fill.
//!
//! The functions in the comments are Linux's, in net/ipv4/tcp.c, tcp_input.c, tcp_output.c and net/core/stream.c. A
//! piece is a buffer of the kernel (struct sk_buff): the application fills long ones, and each train that leaves is one
//! of its own.

use std::collections::VecDeque;

use super::pieces::{Pieces, SplitLimit};
use crate::segment::{Acknowledgement, SackBlocks};
use crate::tcp::stack::{FIRST_WINDOW, NO_LIMIT};
use crate::{Buffer, BufferRules, Stack};

/// Room for headers in front of a segment (MAX_TCP_HEADER, without wireless meshes and tunnels).
const HEADERS: u64 = 192;
/// The largest segment without options (mss_clamp) has so many more bytes than one with timestamps.
const OPTIONS: u64 = 12;
/// Shared information behind the data, and the descriptor.
const SHARED: u64 = 320;
const DESCRIPTOR: u64 = 256;
/// Memory of a piece besides its data: the allocation for its headers (SKB_SMALL_HEAD_SIZE) and the descriptor.
const PIECE: u64 = 576 + DESCRIPTOR;
/// Bytes of the longest piece (gso_max_size).
const LONGEST: u64 = 65_536 - HEADERS - 1;
/// Segments that fit at least (TCP_INIT_CWND).
const LEAST_SEGMENTS: u64 = 10;
/// No application sets less memory (SOCK_MIN_SNDBUF).
const LEAST: u64 = 4608;
/// Pieces are split while half of the memory in use is within that of the buffer and twice such a piece
/// (tcp_fragment: SKB_TRUESIZE(GSO_LEGACY_MAX_SIZE)).
const SPLIT_ROOM: u64 = 2 * (65_536 + SHARED + DESCRIPTOR);
/// FreeBSD: net.inet.tcp.sendbuf_inc, and the free room at which the application goes on (sb_lowat).
const STEP: u64 = 8192;
const LOW_WATER: u64 = 2048;

/// The limits of a sender on segments that are not acknowledged.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Windows {
    /// The window, and the segments in flight.
    pub(crate) window: u32,
    pub(crate) in_flight: u32,
    /// The receive window.
    pub(crate) peer: u32,
}

/// The send buffer of a connection. Sizes are bytes, ends of pieces are numbers of segments.
#[derive(Clone, Debug)]
pub(crate) struct SendBuffer {
    rules: BufferRules,
    segment: u64,
    /// Its memory (sk_sndbuf), now and at most.
    memory: u64,
    most: u64,
    /// Memory for each segment of the window (tcp_sndbuf_expand).
    per_segment: u64,
    /// Memory of a piece besides its data.
    per_piece: u64,
    /// Segments of the longest piece, and of the one that the application fills now.
    longest: u64,
    goal: u64,
    /// Segments of the largest receive window (max_window).
    largest_window: u64,
    /// Segments below are acknowledged, have left, and were written.
    acknowledged: u64,
    sent_to: u64,
    written: u64,
    /// Segments that the application has made.
    made: u64,
    /// Segments below were written when the application pushed last (pushed_seq).
    pushed: u64,
    /// The pieces that have left.
    sent: Pieces,
    /// The ends of the pieces that wait.
    waiting: VecDeque<u64>,
    /// Segments of the last one that wait.
    last: u64,
    /// All that waits leaves before the application goes on.
    pushes_all: bool,
    /// The application waits for room (SOCK_NOSPACE).
    is_full: bool,
    /// It was woken, and goes on once all that leaves now has left.
    is_woken: bool,
}

impl SendBuffer {
    /// The buffer of `stack`, if that has a limit.
    pub(crate) fn of(stack: &Stack) -> Option<Self> {
        let rules = stack.buffers.rules;
        let (memory, most) = match stack.buffers.sizes.send {
            Buffer::Unlimited => return None,
            Buffer::Fixed(bytes) if rules == BufferRules::Payload => (bytes.get(), bytes.get()),
            // Linux doubles the size that an application sets (sock_setsockopt).
            Buffer::Fixed(bytes) => ((2 * bytes.get()).max(LEAST), (2 * bytes.get()).max(LEAST)),
            Buffer::Tuned { initial, most, .. } => (initial.get(), most.get()),
        };
        let segment = stack.segment_size.get();
        let whole = segment + OPTIONS + HEADERS + SHARED;
        let per_segment = match rules {
            BufferRules::Ratio => whole.next_power_of_two() + DESCRIPTOR,
            BufferRules::Share { .. } => whole + DESCRIPTOR,
            BufferRules::Payload => segment,
        };
        let mut buffer = Self {
            rules,
            segment,
            memory,
            most,
            per_segment,
            per_piece: if rules == BufferRules::Payload { 0 } else { PIECE },
            longest: if stack.segmentation_offload { (LONGEST / segment).max(1) } else { 1 },
            goal: 1,
            largest_window: 0,
            acknowledged: 0,
            sent_to: 0,
            written: 0,
            made: 0,
            pushed: 0,
            sent: Pieces::default(),
            waiting: VecDeque::new(),
            last: 0,
            pushes_all: false,
            is_full: false,
            is_woken: false,
        };
        // tcp_init_buffer_space.
        match rules {
            BufferRules::Ratio => buffer.grow_to(2 * LEAST_SEGMENTS * per_segment),
            BufferRules::Share { .. } => buffer.grow_to(u64::from(stack.initial_window) * per_segment),
            BufferRules::Payload => {}
        }
        Some(buffer)
    }

    /// Bytes in flight while the application always has data, and the memory has grown to its most: Linux goes on once
    /// a third is free, so that two thirds leave in each round trip.
    pub(crate) fn carried(&self) -> u64 {
        let memory = if self.rules == BufferRules::Payload { self.most } else { self.most / 3 * 2 };
        let piece = self.longest * self.segment;
        memory * piece / (piece + self.per_piece)
    }

    /// Segments that the application has written.
    pub(super) fn written(&self) -> u64 {
        self.written
    }

    /// The application waits for room.
    pub(super) fn is_full(&self) -> bool {
        self.is_full
    }

    /// True if the application, which has more to write, has just filled the first piece that waits. It hands down a
    /// train of it, however short (tcp_push_one).
    pub(super) fn pushes(&self) -> bool {
        !self.is_full && self.written < self.made && self.waiting.len() == 1 && self.last >= self.goal
    }

    /// The receive window is `segments`: no piece is longer than half of the largest (tcp_bound_to_half_wnd).
    pub(super) fn note_peer_window(&mut self, segments: u32) {
        self.largest_window = self.largest_window.max(segments.into());
        self.goal = self.goal.max(u64::from(segments / 2)).min(self.longest);
    }

    /// The application, which has made `total` segments so far, fills the last piece, or begins one if there is room.
    /// Says whether it has written any. Linux sends between two pieces (tcp_sendmsg_locked).
    pub(super) fn write_piece(&mut self, total: u64) -> bool {
        self.made = total;
        self.pushes_all = false;
        if self.is_full {
            return false;
        }
        let begins = self.waiting.is_empty() || self.last >= self.goal;
        self.is_full = self.written < total && begins && !self.has_room();
        if self.is_full || self.written >= total {
            // The write ends, or waits (tcp_push).
            self.pushed = if self.waiting.is_empty() { self.pushed } else { self.written };
            return false;
        }
        if begins {
            self.last = 0;
            self.waiting.push_back(self.written);
        }
        self.fill_last();
        true
    }

    /// The application fills the last piece that waits.
    fn fill_last(&mut self) {
        let Some(end) = self.waiting.back_mut() else { return };
        let more = self.made.saturating_sub(self.written).min(self.goal.saturating_sub(self.last));
        (self.last, self.written) = (self.last + more, self.written + more);
        *end = self.written;
        // forced_push.
        let unpushed = (self.written - self.pushed) * self.segment;
        if more > 0 && self.last >= self.goal && unpushed > self.largest_window * self.segment / 2 {
            (self.pushed, self.pushes_all) = (self.written, true);
        }
    }

    /// True if the application may begin a piece (sk_stream_memory_free). Linux looks before a piece, however long it
    /// becomes, FreeBSD at all of it.
    fn has_room(&self) -> bool {
        let used = self.used();
        match self.rules {
            BufferRules::Payload => used == 0 || used + self.segment <= self.memory,
            _ => used < self.memory,
        }
    }

    /// The new segment `sequence` leaves. `ends_train` says whether it is the last of a train, which takes segments of
    /// the next piece, too (tcp_grow_skb, since Linux 6.10).
    pub(super) fn note_sent(&mut self, sequence: u64, ends_train: bool, windows: Windows) {
        self.sent_to = sequence + 1;
        self.last = self.last.min(self.written.saturating_sub(self.sent_to));
        let was_last = self.waiting.front() == Some(&self.sent_to);
        if was_last {
            self.waiting.pop_front();
        }
        if ends_train || was_last && (self.waiting.is_empty() || self.rules != BufferRules::Ratio) {
            self.sent.push(self.sent_to);
            // Between two trains the window is not filled (tcp_event_new_data_sent, since Linux 5.18).
            if self.is_full && self.rules == BufferRules::Ratio {
                self.look_for_room(windows);
            } else if !self.is_full && !self.pushes_all {
                self.fill_last();
            }
        }
    }

    /// True if the next segments, of which the window lets `left` leave, are the rest of a piece: they do not wait for
    /// more (tcp_tso_should_defer), nor does one that is the rest of the last piece.
    pub(super) fn is_rest(&self, left: u64) -> bool {
        let rest = self.waiting.front().map_or(0, |&end| end - self.sent_to);
        rest == 1 || rest <= left && self.waiting.len() > 1
    }

    /// Segments below `acknowledged` have arrived, and nothing more leaves now: an application that waits may go on
    /// (tcp_check_space).
    pub(super) fn make_room(&mut self, acknowledged: u64, windows: Windows) {
        self.acknowledge(acknowledged);
        // A receiver without a limit has one in its SYN-ACK.
        let is_opening = acknowledged == 0 && windows.peer == NO_LIMIT;
        self.note_peer_window(if is_opening { (FIRST_WINDOW / self.segment) as u32 } else { windows.peer });
        if self.is_full {
            self.look_for_room(windows);
            (self.is_woken, self.is_full) = (false, !self.may_go_on());
        }
    }

    /// The application waits for room (tcp_check_space): the memory may grow until there is some.
    fn look_for_room(&mut self, windows: Windows) {
        if !self.is_woken {
            self.grow(windows);
            self.is_woken = self.may_go_on();
        }
    }

    /// True if there is room for an application that has waited.
    fn may_go_on(&self) -> bool {
        let used = self.used();
        match self.rules {
            BufferRules::Payload => self.memory.saturating_sub(used) >= LOW_WATER.min(self.memory),
            // sk_stream_write_space.
            _ => used < self.memory && self.memory - used >= used / 2,
        }
    }

    fn acknowledge(&mut self, acknowledged: u64) {
        self.acknowledged = acknowledged;
        self.sent.acknowledge(acknowledged);
    }

    /// The memory within which Linux splits pieces (since 5.2).
    fn split_limit(&self) -> SplitLimit {
        let others = self.used() - self.sent.len() as u64 * self.per_piece;
        let most = if self.rules == BufferRules::Ratio { self.memory + SPLIT_ROOM } else { u64::MAX };
        SplitLimit { others, per_piece: self.per_piece, most }
    }

    /// Says whether the lost segment `sequence` may leave again where `segments` may, with those below `first`
    /// acknowledged.
    pub(super) fn leaves_again(&mut self, first: u64, sequence: u64, segments: u32) -> bool {
        self.acknowledge(first);
        let limit = self.split_limit();
        self.sent.leaves_again(sequence, segments.into(), limit)
    }

    /// Segment `sequence`, the last that is not SACKed, leaves again as a probe.
    pub(super) fn note_probe(&mut self, sequence: u64) {
        self.sent.split_last(sequence);
    }

    /// The SACK blocks of `ack`, as far as they count: those of whole pieces, and of pieces that are split. Segments
    /// below `first` are acknowledged before it, and `sacked` has the number behind the last that is SACKed, and says
    /// which are.
    pub(super) fn tag(
        &mut self,
        first: u64,
        ack: &Acknowledgement,
        sacked: (Option<u64>, impl Fn(u64) -> bool),
    ) -> SackBlocks {
        self.acknowledge(first);
        let limit = self.split_limit();
        let mut blocks = [(0, 0); 4];
        let ascending = ack.sack.ascending();
        let count = ascending.iter(ack.cumulative).zip(&mut blocks).map(|(block, place)| *place = block).count();
        let mut counted = SackBlocks::default();
        self.sent.tag(first, &blocks[..count], sacked, limit, |start, end| counted.push(ack.cumulative, start, end));
        counted
    }

    /// Bytes of memory in use (sk_wmem_queued). A piece that has partly arrived keeps the memory besides its data.
    fn used(&self) -> u64 {
        let pieces = (self.sent.len() + self.waiting.len()) as u64;
        self.written.saturating_sub(self.acknowledged) * self.segment + pieces * self.per_piece
    }

    /// The application has waited for room: the memory may grow with the window.
    fn grow(&mut self, Windows { window, in_flight, peer }: Windows) {
        let outstanding = self.sent_to - self.acknowledged;
        match self.rules {
            // tcp_should_expand_sndbuf, tcp_sndbuf_expand: recovery may need 1.7 windows.
            BufferRules::Ratio if in_flight < window => {
                self.grow_to(2 * u64::from(window).max(LEAST_SEGMENTS) * self.per_segment);
            }
            // tcp_new_space.
            BufferRules::Share { .. } if outstanding < u64::from(window) => {
                self.grow_to(2 * u64::from(window) * self.per_segment);
            }
            // tcp_output.
            BufferRules::Payload => {
                let used = self.used();
                let waiting = self.written.saturating_sub(self.sent_to) * self.segment;
                let may_send = u64::from(window.min(peer)).saturating_mul(self.segment);
                let is_filled = used >= self.memory / 8 * 7 && used < self.most;
                let is_offered = u64::from(peer).saturating_mul(self.segment) / 4 * 5 >= self.memory;
                if is_filled && is_offered && may_send >= waiting {
                    self.grow_to(self.memory + STEP);
                }
            }
            _ => {}
        }
    }

    fn grow_to(&mut self, memory: u64) {
        self.memory = self.memory.max(memory.min(self.most));
    }
}

#[cfg(test)]
mod tests;
