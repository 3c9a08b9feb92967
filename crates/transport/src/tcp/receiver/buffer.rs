//! The receive buffer: the window that its memory makes, and its growth with the flow. The application reads data in
//! order at once, so that only segments out of order take memory. An ACK that a filled hole sends leaves before that.
//!
//! The functions in the comments are Linux's, in net/ipv4/tcp_input.c and tcp_output.c.

use units::{Bytes, Span, Time};

use super::Receiver;
use super::out_of_order::Holes;
use super::round_trip::RoundTrip;
use crate::segment::Data;
use crate::tcp::stack::FIRST_WINDOW;
use crate::{Buffer, BufferRules, Stack};

/// Parts of the ratio of payload to memory (TCP_RMEM_TO_WIN_SCALE), and the ratio before the first full segment.
const WHOLE: u64 = 256;
const FIRST_RATIO: u64 = 128;
/// Segments that a sender may send at first (TCP_INIT_CWND).
const FIRST_SEGMENTS: u64 = 10;
/// ACKs that are quick at first, at most (TCP_MAX_QUICKACKS): further ones follow from the growth of the window.
const QUICK: u32 = 16;
/// Memory besides the data of a segment: the allocation for its headers, the shared information behind it, which is in
/// the same allocation, and the descriptor (struct sk_buff).
const HEADERS: u64 = 116;
const SHARED: u64 = 320;
const DESCRIPTOR: u64 = 256;
/// FreeBSD: net.inet.tcp.recvbuf_inc.
const STEP: u64 = 16_384;

/// The receive buffer of a connection. Sizes are bytes.
pub(super) struct ReceiveBuffer {
    rules: BufferRules,
    /// Its memory (sk_rcvbuf), now and at most.
    memory: u64,
    most: u64,
    segment: u64,
    /// The largest segment that the receiver accepts (advmss).
    largest: u64,
    /// The memory of a full segment (truesize).
    taken: u64,
    ratio: u64,
    /// The window that the sender may have, whatever memory there is (rcv_ssthresh).
    threshold: u64,
    /// The end of the window, which never moves back, and as it was with the last ACK.
    end: u64,
    announced: u64,
    last_ack: u64,
    /// The largest amount of data of a round trip (rcvq_space), when this one began, and the data before it.
    of_round: u64,
    round_at: Time,
    round_from: u64,
    round_trip: RoundTrip,
    /// The application takes segments below this number.
    application: u64,
}

impl ReceiveBuffer {
    /// The buffer of `stack`, if that has a limit.
    pub(super) fn of(stack: &Stack) -> Option<Self> {
        let rules = stack.buffers.rules;
        let (memory, most) = match stack.buffers.sizes.receive {
            Buffer::Unlimited => return None,
            // Linux doubles the size that an application sets (sock_setsockopt).
            Buffer::Fixed(bytes) if rules == BufferRules::Payload => (bytes.get(), bytes.get()),
            Buffer::Fixed(bytes) => (bytes.get() * 2, bytes.get() * 2),
            Buffer::Tuned { initial, most, .. } => (initial.get(), most.get()),
        };
        let segment = stack.segment_size.get();
        let mut buffer = Self {
            rules,
            memory,
            most,
            segment,
            largest: segment,
            taken: (segment + HEADERS + SHARED).next_power_of_two() + DESCRIPTOR,
            ratio: FIRST_RATIO,
            threshold: 0,
            end: 0,
            announced: 0,
            last_ack: 0,
            of_round: 0,
            round_at: Time::NEVER,
            round_from: 0,
            round_trip: RoundTrip::of_path(Span::ZERO),
            application: u64::MAX,
        };
        buffer.begin();
        Some(buffer)
    }

    /// The window of the SYN or SYN-ACK.
    fn begin(&mut self) {
        // tcp_select_initial_window.
        let (first, segment) = (self.window_of(self.memory), self.largest);
        self.threshold = if first > segment { first - first % segment } else { first };
        self.end = self.threshold.min(FIRST_WINDOW);
        self.announced = self.end;
        // tcp_init_buffer_space.
        self.of_round = self.threshold.min(FIRST_SEGMENTS * segment);
    }

    /// ACKs that are quick at first: one for each two segments of the window, of which it has two at least
    /// (tcp_incr_quickack).
    fn quick_acks(&self) -> u32 {
        u32::try_from(self.end / (2 * self.segment)).unwrap_or(u32::MAX).clamp(2, QUICK)
    }

    /// The window that `memory` makes (tcp_win_from_space).
    fn window_of(&self, memory: u64) -> u64 {
        match self.rules {
            BufferRules::Ratio => memory * self.ratio / WHOLE,
            BufferRules::Share { reserved } => memory - (memory >> reserved),
            BufferRules::Payload => memory,
        }
    }

    /// The memory that makes a `window` (tcp_space_from_win; FreeBSD has none).
    fn memory_for(&self, window: u64) -> u64 {
        match self.rules {
            BufferRules::Ratio => window * WHOLE / self.ratio,
            // tcp_rcv_space_adjust: whole segments, each with as much memory as its payload needs as a window.
            BufferRules::Share { .. } => {
                let mut each = self.taken;
                while self.window_of(each) < self.segment {
                    each += 128;
                }
                (window / self.segment).max(1) * each
            }
            BufferRules::Payload => window,
        }
    }

    /// The window that is left with `early` segments out of order and `unread` ones in order (tcp_space).
    fn space(&self, early: u64, unread: u64) -> u64 {
        let taken = if self.rules == BufferRules::Payload { 0 } else { (early + unread) * self.taken };
        self.window_of(self.memory.saturating_sub(taken))
    }

    /// A full segment arrives, with `early` ones out of order. Says whether the window grows, which makes its ACK quick
    /// (tcp_grow_window).
    fn grow(&mut self, early: u64) -> bool {
        if self.rules == BufferRules::Ratio {
            // tcp_measure_rcv_mss.
            self.ratio = (self.segment * WHOLE / self.taken).max(1);
        }
        let room = self.space(early, 1).saturating_sub(self.threshold);
        self.threshold = if self.rules == BufferRules::Payload {
            self.memory
        } else {
            // A window that no longer fits comes down (tcp_set_window_clamp).
            (self.threshold + room.min(2 * self.largest)).min(self.window_of(self.memory))
        };
        room > 0
    }

    /// The application has read `bytes` in all, and `early` segments are out of order: at the end of a round trip the
    /// buffer grows (tcp_rcv_space_adjust).
    fn adjust(&mut self, now: Time, bytes: u64, early: u64) {
        if self.round_at == Time::NEVER {
            (self.round_at, self.round_from) = (now, bytes);
        }
        if self.round_trip.smoothed().is_none_or(|rtt| now.since(self.round_at) < rtt) {
            return;
        }
        let read = bytes - self.round_from;
        (self.round_at, self.round_from) = (now, bytes);
        let wanted = match self.rules {
            BufferRules::Payload => {
                let filled = read > self.memory / 8 * 7;
                self.memory + if filled { STEP } else { 0 }
            }
            _ if read <= self.of_round => return,
            BufferRules::Share { .. } => self.memory_for(2 * read),
            BufferRules::Ratio => {
                // tcp_rcvbuf_grow.
                let window = 2 * read;
                let faster = window * (read - self.of_round) / self.of_round.max(1);
                self.memory_for(window + 2 * faster + early * self.segment)
            }
        };
        self.of_round = read;
        self.memory = self.memory.max(wanted.min(self.most));
    }

    /// A segment arrives, full or not, with `early` ones out of order and `last_ack` segments acknowledged. Says
    /// whether the window grows.
    fn arrives(&mut self, one_way_delay: Span, last_ack: u64, early: u64, is_full: bool) -> bool {
        if self.last_ack != last_ack {
            (self.last_ack, self.announced) = (last_ack, self.end);
        }
        self.round_trip.on_segment(one_way_delay);
        is_full && self.grow(early)
    }

    /// The application has read the segments below `next`, with `early` ones above. Says whether the sender should know
    /// of the window at once: it sees less than half of it, and there is twice as much (tcp_cleanup_rbuf).
    fn settle(&mut self, now: Time, next: u64, early: u64) -> bool {
        let bytes = next * self.segment;
        self.round_trip.on_data(now, bytes, self.announced.saturating_sub(self.last_ack * self.segment));
        self.adjust(now, bytes, early);
        self.select(bytes, early);
        let left = self.announced.saturating_sub(bytes);
        let window = self.end - bytes;
        2 * left <= self.window_of(self.memory) && window > 0 && window >= 2 * left
    }

    /// The receiver takes segments below this number.
    fn edge(&self) -> u64 {
        (self.end / self.segment).min(self.application)
    }

    /// The same in the ACK of a segment that has filled a hole, where the window ended at byte `end` before. The
    /// application has not read the `unread` segments below `next` yet (tcp_select_window).
    fn edge_before_read(&self, end: u64, next: u64, early: u64, unread: u64) -> u64 {
        let window = self.space(early, unread).min(self.threshold);
        (end.max(next * self.segment + window) / self.segment).min(self.edge())
    }

    /// The end of the window for a receiver that has `bytes` in order and `early` segments above them
    /// (__tcp_select_window).
    fn select(&mut self, bytes: u64, early: u64) {
        let free = self.space(early, 0);
        let full = self.window_of(self.memory);
        let closed = free < full / 2 && (free < full / 16 || free < self.segment);
        let window = if closed { 0 } else { free.min(self.threshold) };
        self.end = self.end.max(bytes + window);
    }
}

impl Stack {
    /// The receive window in segments with which a connection opens.
    pub(crate) fn first_window(&self) -> u32 {
        let of_buffer = ReceiveBuffer::of(self).map_or(u64::MAX, |buffer| buffer.end / buffer.segment);
        u64::from(self.receive_window).min(of_buffer) as u32
    }

    /// Segments of the smallest window that the receive buffer makes while the application reads, if that has a limit.
    pub fn smallest_window(&self) -> Option<u64> {
        let mut buffer = ReceiveBuffer::of(self)?;
        let first = buffer.end;
        buffer.grow(0);
        Some(first.min(buffer.threshold) / buffer.segment)
    }

    /// Bytes of the largest window that the receive buffer makes, if that has a limit.
    pub(crate) fn largest_window(&self) -> Option<u64> {
        let mut buffer = ReceiveBuffer::of(self)?;
        buffer.grow(0);
        Some(buffer.window_of(buffer.most))
    }
}

impl Receiver {
    /// The receive buffer is that of `stack`, on a path whose handshake took `rtt`.
    pub(super) fn buffer_as(&mut self, stack: &Stack, rtt: Span) {
        let Some(mut buffer) = ReceiveBuffer::of(stack) else { return };
        let has_delays = stack.timestamps || buffer.rules == BufferRules::Payload;
        buffer.round_trip = if has_delays { RoundTrip::of_path(rtt) } else { RoundTrip::of_packets() };
        self.quick_acks = self.quick_acks.min(buffer.quick_acks());
        self.usual_payload = u32::MAX;
        self.edge = buffer.end / buffer.segment;
        self.rare.get_or_insert_default().buffer = Some(buffer);
    }

    /// The connection opens at `now` between hosts of which one is no part of the simulation: the receive buffer finds
    /// the RTT in the packets. The receiver has announced segments of `largest` bytes.
    pub fn open_with_packets(&mut self, now: Time, largest: Bytes) {
        let Some(buffer) = self.buffer() else { return };
        buffer.round_trip = RoundTrip::of_packets();
        buffer.round_at = now;
        buffer.largest = largest.get();
        buffer.begin();
        let quick = buffer.quick_acks();
        self.edge = buffer.edge();
        self.quick_acks = self.quick_acks.min(quick);
    }

    /// A packet of this `payload` echoes a timestamp, in milliseconds.
    pub fn on_echo(&mut self, now: Time, echo: u32, payload: u32) {
        let is_full = payload >= self.segment_size;
        if let Some(buffer) = self.buffer() {
            buffer.round_trip.on_echo(now, echo, is_full);
        }
    }

    fn buffer(&mut self) -> Option<&mut ReceiveBuffer> {
        self.rare.as_deref_mut()?.buffer.as_mut()
    }

    /// The application takes segments below `edge`: so does the receive buffer, or below one of its own.
    pub(super) fn within_buffer(&mut self, edge: u64) -> u64 {
        let Some(buffer) = self.buffer() else { return edge };
        buffer.application = edge;
        buffer.edge()
    }

    /// Segments out of order.
    fn early(&self) -> u64 {
        if self.has_holes { self.holes.as_deref().map_or(0, Holes::count) } else { 0 }
    }

    /// A segment arrives that is not as long as others, or there is a receive buffer.
    #[cold]
    #[inline(never)]
    pub(super) fn on_unusual(&mut self, now: Time, data: &Data) {
        let is_full = data.payload == self.segment_size;
        if !is_full {
            self.rare.get_or_insert_default().short = Some((data.sequence, data.payload));
        }
        let (early, last_ack, delay) = (self.early(), self.last_ack_sent, self.one_way_delay);
        let opens = self.buffer().is_some_and(|buffer| buffer.arrives(delay, last_ack, early, is_full));
        // icsk_ack.quick |= 1
        self.quick_acks |= u32::from(opens && self.ack_every > 1);
        let before = self.next;
        self.place(now, data);
        let (next, early) = (self.next, self.early());
        let unread = next - before;
        if let Some(buffer) = self.buffer() {
            let end = buffer.end;
            let is_news = buffer.settle(now, next, early);
            self.edge = if unread > 1 { buffer.edge_before_read(end, next, early, unread) } else { buffer.edge() };
            self.due |= is_news;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{freebsd_9, linux, linux_3_5};

    const RTT: Span = Span::from_millis(50);

    fn receiver(stack: Stack, receive: Buffer) -> Receiver {
        let mut stack = stack;
        stack.buffers.sizes.receive = receive;
        Receiver::new(&stack, RTT)
    }

    fn segment(at: Time, sequence: u64) -> Data {
        let timestamp = Time::ZERO + at.since(Time::ZERO + RTT / 2);
        Data { sequence, timestamp, payload: 1448, retransmission: false, reduced: false, push: false }
    }

    /// The acknowledgements and thresholds with the segments of `numbers`, which arrive 4 ms apart.
    fn play(receiver: &mut Receiver, numbers: impl Iterator<Item = u64>) -> Vec<(bool, u64)> {
        let arrive = |number: u64| {
            let now = Time::ZERO + RTT + Span::from_millis(4) * number;
            receiver.on_data(now, &segment(now, number), false);
            (receiver.poll_transmit(now).is_some(), receiver.buffer().unwrap().threshold)
        };
        numbers.map(arrive).collect()
    }

    // The numbers of the three tests that follow were read in Linux 6.18 (TCP_INFO, SO_RCVBUF).

    #[test]
    fn the_window_of_linux_opens_by_two_segments_each_and_acks_are_quick_meanwhile() {
        let mut receiver = receiver(linux(), Buffer::tuned(4096, 131_072, 15_728_640));
        let found = play(&mut receiver, 0..30);
        let thresholds: Vec<u64> = found.iter().map(|&(_, threshold)| threshold).collect();
        assert_eq!(thresholds[..7], [68_056, 70_952, 73_848, 76_744, 79_640, 80_480, 80_480]);
        assert!(thresholds[7..].iter().all(|&threshold| threshold == 80_480));
        let acks: Vec<usize> = (0..30).filter(|&number| found[number].0).collect();
        // Six of them are due to the window.
        assert_eq!(acks, [(0..22).collect::<Vec<_>>(), vec![23, 25, 27, 29]].concat());
    }

    #[test]
    fn a_window_opens_for_segments_that_are_more_than_half_of_their_memory() {
        // ACKs for 80 segments that arrive 4 ms apart: 16 are quick, then every second one.
        let acks = |size: u32| {
            let stack = Stack { segment_size: Bytes::new(size.into()), ..linux() };
            let mut receiver = receiver(stack, Buffer::tuned(4096, 8_388_608, 268_435_456));
            let is_acknowledged = |&number: &u64| {
                let now = Time::ZERO + RTT + Span::from_millis(4) * number;
                receiver.on_data(now, &Data { payload: size, ..segment(now, number) }, false);
                receiver.poll_transmit(now).is_some()
            };
            (0..80).filter(is_acknowledged).count()
        };
        assert_eq!([536, 1000, 1300, 1448].map(acks), [48, 48, 80, 80]);
    }

    #[test]
    fn linux_grows_the_buffer_by_the_data_of_a_round_trip() {
        let mut receiver = receiver(linux(), Buffer::tuned(4096, 131_072, 6_291_456));
        play(&mut receiver, 0..1);
        let buffer = receiver.buffer().unwrap();
        buffer.of_round = 14_480;
        let (now, bytes) = (buffer.round_at + RTT, buffer.round_from + 46 * 1448);
        buffer.adjust(now, bytes, 0);
        assert_eq!((buffer.of_round, buffer.memory), (66_608, 1_747_792));
        buffer.adjust(now + RTT / 2, bytes + 500 * 1448, 0);
        assert_eq!(buffer.memory, 1_747_792, "the round trip is not over");
        buffer.adjust(now + RTT, bytes + 195 * 1448, 0);
        assert_eq!(buffer.memory, 6_291_456, "the most");
    }

    #[test]
    fn a_buffer_that_an_application_sets_does_not_grow() {
        // Twice 400 kB: a window of 500,000 bytes with 160 of 256 parts, less one segment of 1440.
        let mut receiver = receiver(linux(), Buffer::Fixed(Bytes::new(400_000)));
        assert_eq!(play(&mut receiver, 0..60).last().unwrap().1, 498_560);
        assert_eq!(receiver.buffer().unwrap().memory, 800_000);
    }

    #[test]
    fn a_hole_takes_memory_and_the_end_of_the_window_stays() {
        let mut receiver = receiver(linux(), Buffer::tuned(4096, 131_072, 131_072));
        play(&mut receiver, 0..20);
        let window = receiver.window();
        // The segment after the hole is number 21.
        play(&mut receiver, 21..40);
        assert_eq!(receiver.window(), window, "20 segments are in order, as before");
        let free = receiver.buffer().unwrap().space(19, 0);
        assert_eq!(free, (131_072 - 19 * 2304) * 160 / 256);
        play(&mut receiver, 20..21);
        // All 40 are in order. The ACK leaves before the application has read the last 20, which leave 53,120 bytes of
        // window: it ends within segment 76. Then the window has 80,480 bytes again, 55 segments.
        assert_eq!((receiver.delivered_segments(), receiver.window()), (40, 36));
        play(&mut receiver, 40..41);
        assert_eq!((receiver.delivered_segments(), receiver.window()), (41, 55));
    }

    #[test]
    fn a_window_that_has_halved_is_announced_at_once() {
        let mut receiver = receiver(linux(), Buffer::Fixed(Bytes::new(4_000)));
        receiver.end_quick_acks();
        // 8000 bytes of memory make a window of 5000 bytes, three segments.
        let found = play(&mut receiver, 0..1);
        assert_eq!((found[0].0, receiver.window()), (true, 2));
    }

    #[test]
    fn older_linux_reserves_a_share_of_memory_and_doubles_the_round() {
        let mut receiver = receiver(linux_3_5(), Buffer::tuned(4096, 87_380, 6_291_456));
        play(&mut receiver, 0..40);
        let buffer = receiver.buffer().unwrap();
        assert_eq!(buffer.window_of(87_380), 43_690);
        let (now, bytes) = (buffer.round_at + RTT, buffer.round_from + 100 * 1448);
        buffer.adjust(now, bytes, 0);
        // 200 segments, each with so much memory that half of it is a segment: 2304 + 5 * 128.
        assert_eq!(buffer.memory, 200 * 2944);
    }

    #[test]
    fn freebsd_grows_in_steps_once_a_round_trip_fills_seven_eighths() {
        let mut receiver = receiver(freebsd_9(), Buffer::tuned(65_536, 65_536, 98_304));
        play(&mut receiver, 0..1);
        let buffer = receiver.buffer().unwrap();
        let mut after = |rounds: u64, bytes: u64| {
            let now = buffer.round_at + RTT * rounds;
            buffer.adjust(now, buffer.round_from + bytes, 0);
            buffer.memory
        };
        assert_eq!(
            [after(1, 57_344), after(1, 57_345), after(1, 90_000), after(1, 98_000)],
            [65_536, 81_920, 98_304, 98_304]
        );
    }

    #[test]
    fn a_buffer_for_less_than_a_segment_makes_no_window() {
        let window = |bytes| {
            let mut stack = linux();
            stack.buffers.sizes.receive = Buffer::Fixed(Bytes::new(bytes));
            stack.smallest_window()
        };
        // Half of twice the size at first.
        assert_eq!([1447, 1448, 2896].map(window), [Some(0), Some(1), Some(2)]);
        let mut stack = linux();
        stack.buffers.sizes.receive = Buffer::Fixed(Bytes::new(2896));
        assert_eq!((stack.first_window(), linux().first_window()), (2, 1 << 30));
        assert_eq!(linux().smallest_window(), None);
    }

    #[test]
    fn without_a_limit_there_is_no_buffer() {
        assert!(receiver(linux(), Buffer::Unlimited).buffer().is_none());
    }
}
