//! The receiving half of a TCP connection: reassembly and acknowledgements.

mod buffer;
mod out_of_order;
mod round_trip;

use units::{Bytes, Span, Time};

use self::buffer::ReceiveBuffer;
use self::out_of_order::Holes;
use crate::segment::{Acknowledgement, Data};
use crate::tcp::ack_delay::{AckDelay, FINEST, ticks_between};
use crate::tcp::ticks::Ticks;
use crate::{Conceals, Marks, Stack};

/// Quick ACKs after a congestion mark: the window of the sender may be very small.
const QUICK_AFTER_MARK: u32 = 2;
/// Added to the base RTT for the receiver's own retransmission timeout, or twice that RTT if it is more
/// (RFC 6298 with the floor of Linux, after the one sample of the handshake).
const TIMEOUT_MARGIN: Span = Span::from_millis(200);

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
    /// A segment arrives, marked or not. Returns true if an ACK is due for that: on the first mark after a segment
    /// without, and on the second since the last ACK.
    #[inline(never)]
    fn count(&mut self, marked: bool) -> bool {
        let first = marked && !self.last;
        self.last = marked;
        self.total = self.total.wrapping_add(u32::from(marked));
        self.unreported += u32::from(marked);
        first || self.unreported >= UNREPORTED_MARKS
    }
}

/// State that few flows have.
#[derive(Default)]
struct Rare {
    /// The payload of the one segment that is not full, by number.
    short: Option<(u64, u32)>,
    /// The receive buffer, if that has a limit.
    buffer: Option<ReceiveBuffer>,
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
    /// Until when the next ACK may wait, for whatever it waits, or [`Time::NEVER`] if none does.
    deadline: Time,
    /// How long an ACK is delayed now.
    timeout: Span,
    /// Not beside `echo`: read as one, two numbers that were just written one by one would be waited for.
    one_way_delay: Span,
    /// Segments out of order. A flow has this from the first of them on.
    holes: Option<Box<Holes>>,
    /// State that few flows have.
    rare: Option<Box<Rare>>,
    segment_size: u32,
    /// The payload of a segment that needs no other look: none with a receive buffer.
    usual_payload: u32,
    unacknowledged: u32,
    ack_every: u32,
    quick_acks: u32,
    quick_acks_again: u32,
    /// Out-of-order segments for which the next ACK has waited.
    compressed: u16,
    window: u32,
    /// The application takes segments below this number.
    edge: u64,
    /// Bytes of IP and TCP header on an ACK without SACK blocks.
    header: u16,
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
    conceals: Conceals,
    max_blocks: u8,
    marks: Option<MarkCounter>,
    /// How long an ACK of out-of-order data may wait. Zero: not at all.
    compression: Span,
    /// When data arrived last in order, and the pause after which that means something.
    arrived_at: Time,
    calm: Span,
    /// The pause after which ACKs are quick again (Linux: the receiver's retransmission timeout).
    pause: Span,
    delay: AckDelay,
    /// The delay differs from the initial one.
    is_stretched: bool,
    /// The application answers (Linux: pingpong): its answers carry ACKs, so none is quick. The next timeout of a
    /// delayed ACK refutes that.
    answers: bool,
    ticks: Ticks,
    /// `deadline` is when the timer expires. Otherwise it is when the timer of an ACK in order is due, which waits for
    /// a tick.
    on_tick: bool,
}

impl Receiver {
    /// A receiver that has seen nothing, on a path of `base_rtt`.
    pub fn new(stack: &Stack, base_rtt: Span) -> Self {
        let mut new = Self::without_rtt(stack);
        new.on_handshake(stack, base_rtt);
        new
    }

    /// The handshake of a connection with this `stack` took `rtt`.
    pub fn on_handshake(&mut self, stack: &Stack, rtt: Span) {
        let timeout = rtt + (rtt * 2).max(TIMEOUT_MARGIN);
        self.delay = AckDelay::new(&stack.acks.delay, &stack.timers, rtt, timeout);
        self.pause_after(stack, timeout);
        self.compression = stack.selective().map_or(Span::ZERO, |sack| sack.compression.min(rtt / 20));
        self.buffer_as(stack, rtt);
    }

    /// A receiver that also sends has measured this RTT, which makes its `timeout`: they bound how long ACKs wait.
    pub fn note_rtt(&mut self, stack: &Stack, rtt: Span, timeout: Span) {
        let measured = AckDelay::new(&stack.acks.delay, &stack.timers, rtt, timeout);
        let delay = self.delay.bounded_as(measured);
        self.delay_by(delay);
        self.pause_after(stack, timeout);
    }

    fn pause_after(&mut self, stack: &Stack, timeout: Span) {
        self.pause = if stack.acks.quick_again > 0 { timeout } else { Span::MAX };
        let varies = self.delay.varies();
        self.calm = if varies { self.delay.calm(stack.timers.tick).min(self.pause) } else { self.pause };
    }

    fn without_rtt(stack: &Stack) -> Self {
        Self {
            next: 0,
            delivered: Bytes::ZERO,
            last_ack_sent: 0,
            echo: Time::NEVER,
            one_way_delay: Span::ZERO,
            deadline: Time::NEVER,
            timeout: stack.acks.delay.wait().ceil_to(stack.timers.tick),
            ticks: Ticks::of(stack.timers.tick),
            on_tick: false,
            holes: None,
            rare: None,
            segment_size: stack.segment_size.get() as u32,
            usual_payload: stack.segment_size.get() as u32,
            unacknowledged: 0,
            ack_every: stack.acks.delay.every(),
            quick_acks: stack.acks.quick,
            quick_acks_again: stack.acks.quick_again,
            compressed: 0,
            window: stack.receive_window,
            edge: u64::MAX,
            header: stack.ack_overhead().get() as u16,
            due: false,
            has_holes: false,
            has_duplicate: false,
            congestion: false,
            classic_ecn: matches!(stack.marks, Marks::Echoed { .. }),
            sack: stack.sack(),
            timestamps: stack.timestamps,
            conceals: stack.acks.conceals,
            max_blocks: if stack.timestamps { 3 } else { 4 },
            marks: matches!(stack.marks, Marks::Counted { .. }).then(MarkCounter::default),
            arrived_at: Time::NEVER,
            calm: Span::MAX,
            pause: Span::MAX,
            delay: AckDelay::new(&stack.acks.delay, &stack.timers, Span::ZERO, Span::ZERO),
            is_stretched: false,
            answers: false,
            compression: Span::ZERO,
        }
    }

    /// The clock whose ticks timers wait for has run for `uptime` at the start of the run.
    pub fn up_for(&mut self, uptime: Span) {
        self.ticks = self.ticks.up_for(uptime);
    }

    /// A data segment arrived. `congestion` says that the path marked it (CE). Afterwards poll what to transmit.
    #[inline(always)]
    pub fn on_data(&mut self, now: Time, data: &Data, congestion: bool) {
        let congestion = congestion && self.conceals != Conceals::Marks;
        self.one_way_delay = now.since(data.timestamp);
        if data.reduced && self.marks.is_none() {
            // It may be all that the window lets leave, so it is acknowledged at once.
            self.congestion = false;
            self.due |= self.quick_acks_again > 0;
        }
        if data.sequence == self.next {
            self.note_pause(now);
        }
        if data.sequence >= self.next {
            self.renew_quick_acks(data, congestion);
        }
        if let Some(marks) = &mut self.marks {
            self.due |= marks.count(congestion);
        } else {
            self.congestion |= congestion && data.sequence >= self.next;
        }
        if self.timestamps && data.sequence <= self.last_ack_sent {
            let newer = self.echo == Time::NEVER || data.timestamp >= self.echo;
            if newer {
                self.echo = data.timestamp;
            }
        }
        if data.payload != self.usual_payload {
            return self.on_unusual(now, data);
        }
        self.place(now, data);
    }

    /// `data` are the next in order, or not.
    #[inline(always)]
    fn place(&mut self, now: Time, data: &Data) {
        if data.sequence == self.next {
            self.accept(now);
            self.due |= data.push && self.quick_acks_again > 0;
        } else {
            self.on_out_of_place(now, data);
        }
    }

    /// A segment in order arrives: how long after the last one?
    #[inline(always)]
    fn note_pause(&mut self, now: Time) {
        let since = now.since(self.arrived_at);
        if since > self.calm || self.is_stretched {
            self.adapt(now, since);
        }
        self.arrived_at = now;
    }

    /// After a pause ACKs are quick again, and the time between segments makes how long they wait.
    #[inline(never)]
    fn adapt(&mut self, now: Time, since: Span) {
        if self.delay.varies() && self.arrived_at != Time::NEVER {
            let mut delay = self.delay;
            delay.on_segment(ticks_between(self.ticks, self.arrived_at, now));
            self.delay_by(delay);
        }
        if since > self.pause {
            self.quick_acks = self.quick_acks.max(self.quick_acks_again);
        }
    }

    /// From now on ACKs wait as `delay` says. One that waits already does not change.
    fn delay_by(&mut self, delay: AckDelay) {
        if self.deadline != Time::NEVER && !self.on_tick {
            self.await_tick();
        }
        self.delay = delay;
        self.is_stretched = delay.is_stretched();
        self.timeout = delay.span(self.ticks.length());
    }

    fn reset_delay(&mut self) {
        if self.is_stretched {
            let mut delay = self.delay;
            delay.reset();
            self.delay_by(delay);
        }
    }

    /// One of the quick ACKs is due, if there are any left.
    #[inline(always)]
    fn use_quick_ack(&mut self) {
        if self.quick_acks > 0 {
            self.quick_acks -= 1;
            if self.quick_acks == 0 {
                self.reset_delay();
            }
        }
    }

    /// ACKs are quick after the first mark of a row, and after a segment that cannot be marked: it was sent before.
    #[inline(always)]
    fn renew_quick_acks(&mut self, data: &Data, congestion: bool) {
        if (congestion && !self.congestion) || (data.retransmission && self.classic_ecn) {
            self.quick_acks = self.quick_acks.max(QUICK_AFTER_MARK.min(self.quick_acks_again));
            self.answers = false;
            self.reset_delay();
        }
    }

    /// The segment in order arrived.
    #[inline(always)]
    fn accept(&mut self, now: Time) {
        let before = self.next;
        self.next += 1;
        let filled_hole = self.has_holes;
        if filled_hole {
            self.fill_hole();
        }
        self.delivered += self.payload_between(before, self.next);
        self.unacknowledged += 1;
        let quick = self.quick_acks > 0 && !self.answers;
        if filled_hole || self.unacknowledged >= self.ack_every || quick {
            self.use_quick_ack();
            self.due = true;
        } else if self.deadline == Time::NEVER {
            (self.deadline, self.on_tick) = (now + self.timeout, false);
        }
    }

    fn payload_between(&self, from: u64, to: u64) -> Bytes {
        let size = u64::from(self.segment_size);
        let full = Bytes::new((to - from) * size);
        match self.rare.as_deref().and_then(|rare| rare.short) {
            Some((number, payload)) if (from..to).contains(&number) => full - Bytes::new(size - u64::from(payload)),
            _ => full,
        }
    }

    /// The acknowledgement that leaves now, if one does.
    #[inline]
    pub fn poll_transmit(&mut self, now: Time) -> Option<Acknowledgement> {
        if !self.due {
            return None;
        }
        let window = self.announced_window();
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
            window,
            congestion_echo: self.congestion,
            marked: self.marks.map_or(0, |marks| marks.total),
            sack,
            duplicate,
        })
    }

    /// The application takes segments below `edge` from now on. If it took none until now, an ACK is due that says so.
    pub fn open_to(&mut self, edge: u64) {
        let edge = self.within_buffer(edge);
        self.due |= self.is_closed() && edge > self.next;
        self.edge = edge;
    }

    /// The receive window is at most `segments` from now on. If it was smaller, an ACK is due that says so.
    pub fn set_window(&mut self, segments: u32) {
        self.due |= segments > self.window;
        self.window = segments;
    }

    /// The receive window, segments.
    pub fn window(&self) -> u32 {
        u32::try_from(self.edge.saturating_sub(self.next)).unwrap_or(u32::MAX).min(self.window)
    }

    /// The receive window in the ACK that leaves now. If a segment filled a hole, the ACK covers more than has arrived
    /// since the last one.
    #[inline(always)]
    fn announced_window(&self) -> u32 {
        let covered = self.next - self.last_ack_sent;
        if covered > self.unacknowledged.into() { self.window_before_read(covered) } else { self.window() }
    }

    /// True if the receive window is 0: the application takes no more.
    pub fn is_closed(&self) -> bool {
        self.edge <= self.next
    }

    /// The last ACK leaves once more: it may have been lost.
    pub fn repeat(&mut self) {
        self.due = true;
    }

    /// A data segment of the other direction leaves and carries the acknowledgement, without SACK blocks if none
    /// is due: nothing waits any more.
    pub fn on_acknowledged_with_data(&mut self, now: Time) {
        if self.unacknowledged > 0 && !self.due {
            self.use_quick_ack();
        }
        self.due = false;
        self.unacknowledged = 0;
        self.deadline = Time::NEVER;
        self.compressed = 0;
        self.last_ack_sent = self.next;
        // tcp_event_data_sent: a reply leaves while an ACK of the data might wait.
        if self.quick_acks_again > 0 && self.arrived_at != Time::NEVER {
            self.answers |= self.delay.is_longer(ticks_between(self.ticks, self.arrived_at, now));
        }
    }

    /// A packet without data arrives for which Linux leaves its fast path, so that it looks if an ACK waits. One leaves
    /// whose timer expires within a quarter of its wait (tcp_send_delayed_ack), or which need not have waited.
    pub fn look_at_waiting(&mut self, now: Time) {
        if self.unacknowledged == 0 || self.due || self.compressed > 0 || self.quick_acks_again == 0 {
            return;
        }
        // A timer that waits for a tick expires with the one after.
        let due = self.ticks.number(self.deadline, FINEST) - u64::from(self.on_tick && !self.ticks.are_exact());
        let is_near = due <= self.ticks.number(now, FINEST) + self.delay.ticks() / 4;
        if is_near || self.quick_acks > 0 && !self.answers {
            self.use_quick_ack();
            self.due = true;
        }
    }

    /// Quick ACKs end, as when the application is known to answer (TCP_QUICKACK off).
    pub fn end_quick_acks(&mut self) {
        self.quick_acks = 0;
        self.answers = true;
    }

    /// When to call [`on_timeout`](Self::on_timeout), at the latest.
    pub fn poll_timeout(&self) -> Option<Time> {
        (self.deadline != Time::NEVER).then_some(self.deadline)
    }

    /// An ACK that waited is due, or waits for the tick at which its timer expires.
    pub fn on_timeout(&mut self, now: Time) {
        if self.deadline <= now && !self.on_tick {
            self.await_tick();
        }
        if self.deadline <= now {
            self.due = true;
            if self.compressed == 0 && (self.answers || self.delay.varies()) {
                let mut delay = self.delay;
                if std::mem::take(&mut self.answers) {
                    delay.reset();
                } else {
                    delay.on_expiry();
                }
                self.delay_by(delay);
            }
            // Every ACK counts as one of the quick ones (tcp_dec_quickack_mode), also one that an answer did not carry.
            self.use_quick_ack();
        }
    }

    /// The ACK that waits is due with a tick.
    fn await_tick(&mut self) {
        let set_at = Time::ZERO + self.deadline.since(Time::ZERO + self.timeout);
        self.deadline = self.ticks.expiry(set_at, self.timeout);
        self.on_tick = true;
    }

    /// Application bytes delivered in order.
    pub fn delivered(&self) -> Bytes {
        self.delivered
    }

    /// True if segments above the next one in order have arrived.
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
