//! The receiving half of a TCP connection: reassembly, and when and what to acknowledge.

use std::slice;

use prefetch_index::prefetch_index;
use units::{Bytes, Span, Time};

use crate::segment::{Acknowledgement, Data, SackBlocks};
use crate::tcp::ranges::Ranges;
use crate::tcp::ticks::Ticks;
use crate::{EcnMode, Options};

/// ACKs of out-of-order data that leave at once after each advance, before SACK compression begins (Linux:
/// TCP_FASTRETRANS_THRESH).
const UNCOMPRESSED: u32 = 3;
/// The most out-of-order segments that one ACK waits for (Linux: tcp_comp_sack_nr).
const MOST_COMPRESSED: u32 = 44;
/// Quick ACKs after a congestion mark: the window of the sender may be very small.
const QUICK_AFTER_MARK: u32 = 2;
/// What is added to the base RTT for the receiver's own retransmission timeout, or twice that RTT if it is more
/// (RFC 6298 with the floor of Linux, after the one sample of the handshake).
const TIMEOUT_MARGIN: Span = Span::from_millis(200);
/// SACK blocks whose changes may wait (Linux: TCP_SACK_BLOCKS_EXPECTED): no ACK has room for many more.
const EXPECTED_BLOCKS: usize = 2;

/// Marks after which an ACK waits no longer (RFC 9768, section 3.2.2.5.1).
const UNREPORTED_MARKS: u32 = 2;

/// The marks that a receiver with accurate ECN has seen.
#[derive(Clone, Copy, Debug, Default)]
struct MarkCounter {
    total: u32,
    /// Since the last ACK.
    unreported: u32,
    /// The last segment was marked.
    last: bool,
}

impl MarkCounter {
    /// A segment arrives, marked or not. Whether an ACK is due for that: on the first mark after a segment without,
    /// and on the second since the last ACK.
    #[inline(never)]
    fn count(&mut self, marked: bool) -> bool {
        let first = marked && !self.last;
        self.last = marked;
        self.total = self.total.wrapping_add(u32::from(marked));
        self.unreported += u32::from(marked);
        first || self.unreported >= UNREPORTED_MARKS
    }
}

/// The receiver of one connection.
pub struct Receiver {
    /// The next segment in order (RCV.NXT).
    next: u64,
    /// Application bytes delivered in order.
    delivered: Bytes,
    last_ack_sent: u64,
    /// TS.Recent (RFC 7323, section 4.3).
    echo: Time,
    /// Until when the next ACK may wait, for whatever it waits; [`Time::NEVER`] if none does.
    deadline: Time,
    /// How long an ACK is delayed, in whole ticks.
    timeout: Span,
    /// Not beside `echo`: read as one, two numbers that were just written one by one would be waited for.
    one_way_delay: Span,
    /// What is known of segments out of order; a flow has it from the first of them on.
    holes: Option<Box<Holes>>,
    /// The payload of the one segment that is not full, by number.
    short: Option<Box<(u64, u32)>>,
    segment_size: u32,
    unacknowledged: u32,
    ack_every: u32,
    quick_acks: u32,
    quick_acks_again: u32,
    /// Out-of-order segments for which the next ACK has waited.
    compressed: u32,
    window: u32,
    /// The application takes segments below this number.
    edge: u64,
    /// Bytes of IP and TCP header on an ACK without SACK blocks.
    header: u32,
    due: bool,
    /// Segments above the next one in order have arrived.
    has_holes: bool,
    /// A segment has arrived twice, which the next ACK reports.
    has_duplicate: bool,
    congestion: bool,
    /// Segments that are sent again cannot be marked (RFC 3168, section 6.1.5).
    classic_ecn: bool,
    sack: bool,
    timestamps: bool,
    max_blocks: u8,
    marks: Option<MarkCounter>,
    /// How long an ACK of out-of-order data may wait; zero: not at all.
    compression: Span,
    /// When data arrived last, and the pause after which ACKs are quick again.
    arrived_at: Time,
    pause: Span,
    ticks: Ticks,
    /// `deadline` is when the timer expires; else it is when that of an ACK in order is due, which waits for a tick.
    on_tick: bool,
}

/// What a receiver knows of segments out of order.
#[derive(Debug, Default)]
struct Holes {
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
    /// The range around `number`, above `next`, is the newest: the place that it, or the part of it that was there, had
    /// among those to report.
    fn remember(&mut self, number: u64, next: u64) -> usize {
        // The newest first; older numbers of the same range would only repeat its block.
        let range = self.early.containing(number);
        let mut kept = [number, 0, 0, 0];
        let mut count = 1;
        let mut place = self.recent_count;
        for (i, &old) in self.recent[..self.recent_count].iter().enumerate() {
            let same = range.is_some_and(|(start, end)| (start..end).contains(&old));
            if same {
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
    /// A receiver that has seen nothing, on a path of `base_rtt`, as its handshake would have measured it.
    pub fn new(options: &Options, base_rtt: Span) -> Self {
        Self {
            next: 0,
            delivered: Bytes::ZERO,
            last_ack_sent: 0,
            echo: Time::NEVER,
            one_way_delay: Span::ZERO,
            deadline: Time::NEVER,
            timeout: options.delayed_ack_timeout.ceil_to(options.timer_tick),
            ticks: Ticks::of(options.timer_tick),
            on_tick: false,
            holes: None,
            short: None,
            segment_size: options.segment_size.get() as u32,
            unacknowledged: 0,
            ack_every: options.ack_every.max(1),
            quick_acks: options.quick_acks,
            quick_acks_again: options.quick_acks_again,
            compressed: 0,
            window: options.receive_window,
            edge: u64::MAX,
            header: options.ack_overhead().get() as u32,
            due: false,
            has_holes: false,
            has_duplicate: false,
            congestion: false,
            classic_ecn: options.ecn == EcnMode::Classic,
            sack: options.sack,
            timestamps: options.timestamps,
            max_blocks: if options.timestamps { 3 } else { 4 },
            marks: (options.ecn == EcnMode::Accurate).then(MarkCounter::default),
            arrived_at: Time::NEVER,
            pause: base_rtt + (base_rtt * 2).max(TIMEOUT_MARGIN),
            compression: if options.sack { options.sack_compression.min(base_rtt / 20) } else { Span::ZERO },
        }
    }

    /// The clock whose ticks timers wait for has run for `uptime` at the start of the run.
    pub fn up_for(&mut self, uptime: Span) {
        self.ticks = self.ticks.up_for(uptime);
    }

    /// A data segment arrived; `congestion` says that the path marked it (CE). Afterwards poll what to transmit.
    pub fn on_data(&mut self, now: Time, data: &Data, congestion: bool) {
        self.one_way_delay = now.since(data.timestamp);
        if data.reduced && self.marks.is_none() {
            // It may be all that the window lets leave, so it is acknowledged at once.
            self.congestion = false;
            self.due |= self.quick_acks_again > 0;
        }
        if self.quick_acks_again > 0 {
            self.renew_quick_acks(now, data, congestion);
        }
        if let Some(marks) = &mut self.marks {
            self.due |= marks.count(congestion);
        } else {
            self.congestion |= congestion;
        }
        if self.timestamps && data.sequence <= self.last_ack_sent {
            let newer = self.echo == Time::NEVER || data.timestamp >= self.echo;
            if newer {
                self.echo = data.timestamp;
            }
        }
        if data.payload != self.segment_size {
            self.note_short(data);
        }
        if data.sequence == self.next {
            self.accept(now);
            self.due |= data.push && self.quick_acks_again > 0;
        } else {
            self.on_out_of_place(now, data);
        }
    }

    /// A segment arrived that is not the next in order.
    #[inline(never)]
    fn on_out_of_place(&mut self, now: Time, data: &Data) {
        let next = self.next;
        if data.sequence < next || self.has_early(data.sequence) {
            self.due = true;
            self.has_duplicate = true;
            // The ACK of this segment is the first of them.
            self.quick_acks = self.quick_acks.max(self.quick_acks_again).saturating_sub(1);
            let holes = self.holes.get_or_insert_default();
            holes.duplicate = Some(data.sequence);
            if data.sequence > next {
                holes.remember(data.sequence, next); // the block around it comes second (RFC 2883, section 4)
            }
        } else {
            self.has_holes = true;
            let holes = self.holes.get_or_insert_default();
            holes.early.insert(data.sequence, data.sequence + 1, |_, _| {});
            let place = holes.remember(data.sequence, next);
            self.out_of_order(now, place);
        }
    }

    /// `data` is the one segment that is not full.
    #[cold]
    #[inline(never)]
    fn note_short(&mut self, data: &Data) {
        self.short = Some(Box::new((data.sequence, data.payload)));
    }

    /// After a pause ACKs are quick again, after the first mark of a row, and after a segment that cannot be marked: it
    /// was sent before.
    fn renew_quick_acks(&mut self, now: Time, data: &Data, congestion: bool) {
        if now.since(self.arrived_at) > self.pause {
            self.quick_acks = self.quick_acks.max(self.quick_acks_again);
        }
        self.arrived_at = now;
        if (congestion && !self.congestion) || (data.retransmission && self.classic_ecn) {
            self.quick_acks = self.quick_acks.max(QUICK_AFTER_MARK.min(self.quick_acks_again));
        }
    }

    /// The segment in order arrived.
    fn accept(&mut self, now: Time) {
        let before = self.next;
        self.next += 1;
        let filled_hole = self.has_holes;
        if filled_hole {
            self.fill_hole();
        }
        self.delivered += self.payload_between(before, self.next);
        self.unacknowledged += 1;
        if filled_hole || self.unacknowledged >= self.ack_every || self.quick_acks > 0 {
            self.quick_acks = self.quick_acks.saturating_sub(1);
            self.due = true;
        } else if self.deadline == Time::NEVER {
            (self.deadline, self.on_tick) = (now + self.timeout, false);
        }
    }

    /// The segment before the next has arrived: perhaps the first of the ranges above it follows.
    #[inline(never)]
    fn fill_hole(&mut self) {
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

    fn payload_between(&self, from: u64, to: u64) -> Bytes {
        let size = u64::from(self.segment_size);
        let full = Bytes::new((to - from) * size);
        match self.short.as_deref() {
            Some(&(number, payload)) if (from..to).contains(&number) => full - Bytes::new(size - u64::from(payload)),
            _ => full,
        }
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
            self.quick_acks = self.quick_acks.saturating_sub(1);
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

    /// Whether segment `number` has arrived out of order.
    fn has_early(&self, number: u64) -> bool {
        self.has_holes && self.holes.as_ref().is_some_and(|holes| holes.early.contains(number))
    }

    /// The SACK blocks of the next ACK, and the segment that it reports as a duplicate.
    #[inline]
    fn report(&mut self) -> (SackBlocks, Option<u64>) {
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

    /// Lets the processor fetch what is known of segments out of order, where there are any.
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

    /// The acknowledgement that leaves now, if one does.
    #[inline]
    pub fn poll_transmit(&mut self, now: Time) -> Option<Acknowledgement> {
        if !self.due {
            return None;
        }
        self.due = false;
        self.unacknowledged = 0;
        self.deadline = Time::NEVER;
        self.compressed = 0;
        if let Some(marks) = &mut self.marks {
            marks.unreported = 0;
        }
        let (sack, duplicate) = self.report();
        self.last_ack_sent = self.next;
        Some(Acknowledgement {
            cumulative: self.next,
            timestamp: now,
            echo: self.echo,
            one_way_delay: self.one_way_delay,
            window: self.window(),
            congestion_echo: self.congestion,
            marked: self.marks.map_or(0, |marks| marks.total),
            sack,
            duplicate,
        })
    }

    /// The application takes segments below `edge` from now on. If it took none until now, an ACK is due that says so.
    pub fn open_to(&mut self, edge: u64) {
        self.due |= self.is_closed() && edge > self.next;
        self.edge = edge;
    }

    /// The receive window, segments.
    pub fn window(&self) -> u32 {
        u32::try_from(self.edge.saturating_sub(self.next)).unwrap_or(u32::MAX).min(self.window)
    }

    /// Whether the receive window is 0: the application takes no more.
    pub fn is_closed(&self) -> bool {
        self.edge <= self.next
    }

    /// The last ACK leaves once more: it may have been lost.
    pub fn repeat(&mut self) {
        self.due = true;
    }

    /// A data segment of the other direction leaves and carries the acknowledgement, without SACK blocks if none
    /// is due: nothing waits any more.
    pub fn on_acknowledged_with_data(&mut self) {
        self.due = false;
        self.unacknowledged = 0;
        self.deadline = Time::NEVER;
        self.compressed = 0;
        self.quick_acks = self.quick_acks.saturating_sub(1);
        self.last_ack_sent = self.next;
    }

    /// Quick ACKs end, as when the other side's application is known to answer (TCP_QUICKACK off).
    pub fn end_quick_acks(&mut self) {
        self.quick_acks = 0;
    }

    /// When to call [`on_timeout`](Self::on_timeout), at the latest.
    pub fn poll_timeout(&self) -> Option<Time> {
        (self.deadline != Time::NEVER).then_some(self.deadline)
    }

    /// An ACK that waited is due, or waits for the tick at which its timer expires.
    pub fn on_timeout(&mut self, now: Time) {
        if self.deadline <= now && !self.on_tick {
            let set_at = Time::ZERO + self.deadline.since(Time::ZERO + self.timeout);
            self.deadline = self.ticks.expiry(set_at, self.timeout);
            self.on_tick = true;
        }
        self.due |= self.deadline <= now;
    }

    /// Application bytes delivered in order.
    pub fn delivered(&self) -> Bytes {
        self.delivered
    }

    /// Whether segments above the next one in order have arrived.
    pub fn has_holes(&self) -> bool {
        self.has_holes
    }

    /// Segments delivered in order.
    pub fn delivered_segments(&self) -> u64 {
        self.next
    }

    /// Size on the wire (IP) of `ack`.
    pub fn wire_size(&self, ack: &Acknowledgement) -> Bytes {
        let blocks = ack.sack.len() as u64 + u64::from(ack.duplicate.is_some());
        Bytes::new(u64::from(self.header) + if blocks == 0 { 0 } else { 4 + 8 * blocks })
    }
}
