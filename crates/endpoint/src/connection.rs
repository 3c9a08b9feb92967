//! An open connection: packets become events of the sender and the receiver, and their answers packets.

use std::sync::Arc;

use control::Controller;
use transport::{
    Acknowledgement, Application, Data, Event, Journal, Opened, Receiver, SackBlocks, Sender, SenderState, Stack,
};
use units::{Bytes, Ecn, Random, Span, Time};

use crate::incoming::Incoming;
use crate::limits::Limits;
use crate::outgoing::{Outgoing, Window};
use crate::packet::{Packet, PacketOptions, Refusal, Timestamps};
use crate::persist::Persist;

/// The largest value of the window field.
pub(crate) const WINDOW_FIELD: u32 = 0xffff;

/// The result of the handshake.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Agreement {
    /// The handshake itself.
    pub(crate) opened: Opened,
    /// Shifts of the window fields received and sent.
    pub(crate) their_scale: u8,
    pub(crate) our_scale: u8,
    /// The window field of the packet that ended the handshake, as bytes.
    pub(crate) window: u64,
    /// TSval of the last packet, where timestamps are in use.
    pub(crate) echo: Option<u32>,
    /// The largest segment that this side has announced, less its timestamps.
    pub(crate) largest: Bytes,
}

/// The connection from the end of its handshake on.
pub(crate) struct Connection {
    stack: Arc<Stack>,
    sender: Sender,
    receiver: Receiver,
    outgoing: Outgoing,
    incoming: Incoming,
    persist: Persist,
    their_scale: u8,
    our_scale: u8,
    /// The receive window of the other side, in bytes, now and at most, and the number of the packet that announced it.
    window: u64,
    largest_window: u64,
    window_from: u64,
    /// Segments leave that the window let leave before the first of them.
    leaving: bool,
    /// TS.Recent, where timestamps are in use.
    echo: Option<u32>,
    /// The last number acknowledged.
    acknowledged: u64,
    /// An ACK is due that the receiver of data knows nothing of: the ACK of a FIN, and a probe.
    due: bool,
    probe_due: bool,
    received: u64,
    /// How often its SYN or SYN-ACK was sent again.
    opening_retransmissions: u32,
    /// When data arrived last, or the connection opened.
    last_received_at: Time,
    limits: Limits,
}

/// Nothing is written down.
struct Silent;

impl Journal for Silent {
    fn note(&mut self, _event: Event) {}
}

impl Connection {
    /// The connection that `agreement` opens at `now`.
    pub(crate) fn new(now: Time, stack: Stack, controller: Box<dyn Controller>, agreement: &Agreement) -> Self {
        let size = stack.segment_size.get().max(1);
        let stack = Stack {
            receive_window: (agreement.window / size).min(u64::from(u32::MAX)) as u32,
            handshake: true,
            ..stack
        };
        let stack = Arc::new(stack);
        let random = Random::stream(0, "flow", 0);
        let mut sender = Sender::new(Arc::clone(&stack), controller, Application::Interactive, random);
        let mut receiver = Receiver::new(&stack, agreement.opened.since.map_or(Span::ZERO, |since| now.since(since)));
        receiver.open_with_packets(now, agreement.largest);
        sender.open(now, agreement.opened);
        Self {
            receiver,
            outgoing: Outgoing::new(size),
            incoming: Incoming::new(),
            persist: Persist::OFF,
            their_scale: agreement.their_scale,
            our_scale: agreement.our_scale,
            window: agreement.window,
            largest_window: agreement.window,
            window_from: 1,
            leaving: false,
            echo: agreement.echo,
            acknowledged: 1,
            due: false,
            probe_due: false,
            received: 0,
            opening_retransmissions: agreement.opened.retransmissions,
            last_received_at: now,
            limits: Limits::default(),
            stack,
            sender,
        }
    }

    pub(crate) fn write(&mut self, bytes: u64) {
        let state = self.sender.state();
        let room = u64::from(state.window.saturating_sub(state.in_flight));
        let window = self.peer_window();
        self.outgoing.write(bytes, room, &window);
    }

    /// The receive window of the other side.
    fn peer_window(&mut self) -> Window {
        let acknowledged = self.sender.acknowledged();
        let end = self.outgoing.start(acknowledged) + self.window;
        Window { acknowledged, end, largest: self.largest_window, train: self.sender.longest_train().into() }
    }

    /// The segments that the window lets leave become the receive window of the sender.
    fn admit(&mut self) {
        let window = self.peer_window();
        let admitted = u64::from(self.sender.state().outstanding) + self.outgoing.admit(&window);
        self.sender.note_part(self.outgoing.ends_within_segment());
        let is_limit = self.outgoing.next() + self.outgoing.unsent() > window.end;
        let whole = if is_limit { 0 } else { self.window / self.segment_size() };
        self.sender.note_receive_window(whole.max(admitted).min(u64::from(u32::MAX)) as u32);
    }

    pub(crate) fn close(&mut self) {
        self.outgoing.close();
    }

    pub(crate) fn end_quick_acks(&mut self) {
        self.receiver.end_quick_acks();
    }

    /// An ACK is due now.
    pub(crate) fn acknowledge(&mut self) {
        self.due = true;
    }

    pub(crate) fn set_no_delay(&mut self, on: bool) {
        self.outgoing.no_delay = on;
    }

    /// Bytes that arrived in order.
    pub(crate) fn received(&self) -> u64 {
        self.received
    }

    /// A packet arrives.
    pub(crate) fn inject(&mut self, now: Time, packet: &Packet) -> Result<(), Refusal> {
        if packet.reset {
            return Err(Refusal("a reset is not modelled"));
        }
        if packet.syn {
            return Err(Refusal("a SYN on an open connection is not modelled"));
        }
        if packet.ack && packet.acknowledged > self.outgoing.next() {
            return Ok(()); // never sent (RFC 9293, section 3.10.7.4)
        }
        if let Some(stamps) = packet.options.timestamps.filter(|_| self.stack.timestamps)
            && packet.sequence <= self.acknowledged
        {
            self.echo = Some(stamps.value);
        }
        let looks_closely = packet.payload > 0 || self.leaves_fast_path(packet);
        if packet.ack {
            self.on_acknowledgement(now, packet)?;
            let SenderState { smoothed_rtt, timeout, .. } = self.sender.state();
            self.receiver.note_rtt(&self.stack, smoothed_rtt, timeout);
        }
        if let Some(stamps) = packet.options.timestamps.filter(|_| looks_closely) {
            self.receiver.on_echo(now, stamps.echo, packet.payload);
        }
        if packet.payload > 0 {
            self.on_data(now, packet)?;
        } else if looks_closely {
            self.receiver.look_at_waiting(now);
        }
        if packet.fin {
            let number = packet.sequence + u64::from(packet.payload);
            self.incoming.on_fin(number);
            self.due = true;
        }
        Ok(())
    }

    /// True if Linux finds more in a packet without data than an acknowledgement (header prediction).
    fn leaves_fast_path(&self, packet: &Packet) -> bool {
        let window = u64::from(packet.window) << self.their_scale;
        let next = self.incoming.acknowledged(self.receiver.delivered_segments());
        let has_more = packet.echo || packet.reduced || packet.fin || !packet.options.sack.is_empty();
        has_more || window != self.window || packet.sequence != next || self.receiver.has_holes()
    }

    fn on_acknowledgement(&mut self, now: Time, packet: &Packet) -> Result<(), Refusal> {
        let bytes = packet.acknowledged;
        let first = self.sender.acknowledged();
        let cumulative = self.outgoing.whole_below(bytes);
        if self.outgoing.start(cumulative) != bytes && bytes > 0 {
            return Err(Refusal("an ACK of part of a segment is not modelled"));
        }
        let changed = self.take_window(packet, cumulative > first, cumulative < first);
        let state = self.sender.state();
        if state.outstanding == 0 && cumulative >= first {
            let waits = (state.timeout, self.stack.timers.rto_max);
            self.persist.restart(waits, |wait| self.sender.expiry(now, wait));
        }
        let segments = (self.window / self.stack.segment_size.get()).min(u64::from(u32::MAX)) as u32;
        let (sack, duplicate) = self.read_sack(cumulative, &packet.options.sack);
        let tells_nothing = cumulative == first && packet.options.sack.is_empty() && !packet.echo;
        if tells_nothing && (packet.payload > 0 || packet.fin || changed) {
            // No duplicate ACK (RFC 5681, section 2).
            self.sender.note_receive_window(segments);
            return Ok(());
        }
        let echo = packet.options.timestamps.filter(|_| self.stack.timestamps);
        let ack = Acknowledgement {
            cumulative,
            timestamp: now,
            echo: echo.map_or(Time::NEVER, |stamps| Time::ZERO + Span::from_millis(u64::from(stamps.echo))),
            window: segments,
            congestion_echo: packet.echo,
            sack,
            duplicate,
            ..Acknowledgement::default()
        };
        self.sender.on_acknowledgement(now, &ack, &mut Silent);
        Ok(())
    }

    /// Takes the window of an ACK that `advances` or is `old`, and says whether it changed. A smaller one counts only
    /// with new data or a new acknowledgement, but for zero (RFC 9293, section 3.10.7.4, as Linux has it).
    fn take_window(&mut self, packet: &Packet, advances: bool, old: bool) -> bool {
        let window = u64::from(packet.window) << self.their_scale;
        let newer = packet.sequence > self.window_from;
        if old || !(advances || newer || window > self.window || window == 0) {
            return false;
        }
        self.window_from = packet.sequence;
        self.largest_window = self.largest_window.max(window);
        std::mem::replace(&mut self.window, window) != window
    }

    /// The SACK blocks in segments, and the segment that a duplicate SACK reports: the first block, if it is below the
    /// cumulative point or within the second block (RFC 2883, section 4).
    fn read_sack(&self, cumulative: u64, blocks: &[(u64, u64)]) -> (SackBlocks, Option<u64>) {
        let mut sack = SackBlocks::default();
        if !self.stack.sack() {
            return (sack, None);
        }
        let whole = |&(start, end): &(u64, u64)| (self.outgoing.first_from(start), self.outgoing.whole_below(end));
        let mut rest = blocks;
        let mut duplicate = None;
        if let Some((&first, others)) = blocks.split_first() {
            let within = others.first().is_some_and(|second| second.0 <= first.0 && first.1 <= second.1);
            let (start, end) = whole(&first);
            if within || first.1 <= self.outgoing.start(cumulative) {
                rest = others;
                duplicate = (start < end).then_some(start);
            }
        }
        for block in rest {
            let (start, end) = whole(block);
            if cumulative <= start && start < end {
                sack.push(cumulative, start, end);
            }
        }
        (sack, duplicate)
    }

    fn on_data(&mut self, now: Time, packet: &Packet) -> Result<(), Refusal> {
        self.last_received_at = now;
        let delivered = self.receiver.delivered_segments();
        let sequence = self.incoming.number(packet.sequence, u64::from(packet.payload), delivered)?;
        let data = Data {
            sequence,
            timestamp: now,
            payload: self.stack.segment_size.get() as u32,
            // The only sign for a receiver: a retransmission is not ECN-capable (RFC 3168, section 6.1.5).
            retransmission: packet.ecn() == Ecn::NotCapable,
            reduced: packet.reduced,
            push: packet.push,
        };
        self.receiver.on_data(now, &data, packet.ecn() == Ecn::Congestion);
        let before = self.incoming.acknowledged(delivered);
        let delivered = self.receiver.delivered_segments();
        self.received += self.incoming.acknowledged(delivered) - before;
        self.incoming.settle(delivered);
        if !self.receiver.has_holes() {
            self.incoming.on_whole(delivered);
        }
        Ok(())
    }

    /// Deadlines have passed.
    pub(crate) fn on_timeout(&mut self, now: Time) {
        self.sender.on_timeout(now, &mut Silent);
        self.receiver.on_timeout(now);
        let timeout = self.sender.state().timeout;
        let waits = (timeout, self.stack.timers.rto_max);
        self.probe_due |= self.persist.take(now, waits, |wait| self.sender.expiry(now, wait));
    }

    /// The next deadline, or [`Time::NEVER`] if there is none.
    pub(crate) fn poll_timeout(&self) -> Time {
        let of = |at: Option<Time>| at.unwrap_or(Time::NEVER);
        of(self.sender.poll_timeout()).min(of(self.receiver.poll_timeout())).min(self.persist.at())
    }

    /// The packet that leaves now, if one does.
    pub(crate) fn poll_transmit(&mut self, now: Time) -> Option<Packet> {
        let first = self.sender.acknowledged();
        self.sender.note_written(self.outgoing.available(first));
        self.sender.note_held(self.outgoing.holds_small(first));
        if !self.leaving {
            self.admit();
        }
        if let Some(data) = self.sender.poll_transmit(now, &mut Silent) {
            self.leaving = true;
            return Some(self.data_packet(now, &data));
        }
        self.leaving = false;
        self.note_limits(now);
        let state = self.sender.state();
        let closed = state.outstanding == 0 && self.window < self.outgoing.unsent().min(self.segment_size());
        self.persist.note(closed, state.timeout, |wait| self.sender.expiry(now, wait));
        if std::mem::take(&mut self.probe_due) && closed {
            if self.window > 0 {
                self.outgoing.admit_part(self.outgoing.next() + self.window);
                self.sender.note_receive_window(1);
                self.sender.probe_window();
                let data = self.sender.poll_transmit(now, &mut Silent);
                self.persist.note(data.is_none(), state.timeout, |wait| self.sender.expiry(now, wait));
                return data.map(|data| Packet { push: true, ..self.data_packet(now, &data) });
            }
            // A number that was acknowledged before: it asks for an ACK (as in Linux).
            return Some(Packet { sequence: self.outgoing.next() - 1, ..self.header(now) });
        }
        let answer = self.receiver.poll_transmit(now);
        if answer.is_none() && !self.due {
            return None;
        }
        self.due = false;
        let mut packet = self.header(now);
        if let Some(ack) = answer {
            packet.echo = ack.congestion_echo;
            let block = |(start, end)| self.incoming.block(start, end);
            packet.options.sack = ack.duplicate.map(|number| block((number, number + 1))).into_iter().collect();
            packet.options.sack.extend(ack.sack.iter(ack.cumulative).map(block));
        }
        Some(packet)
    }

    /// Nothing more leaves now: the receive window is the reason if it has no room for the next segment.
    fn note_limits(&mut self, now: Time) {
        let unsent = self.outgoing.unsent();
        let under_way = self.outgoing.next() - self.outgoing.start(self.sender.acknowledged());
        let next = unsent.min(self.stack.segment_size.get());
        let held_back = unsent > 0 && self.window < under_way + next;
        self.limits.note(now, unsent + under_way > 0, held_back);
    }

    /// How long data were under way or waited by `now`, and how long of that for the receive window.
    pub(crate) fn limits(&self, now: Time) -> (Span, Span) {
        self.limits.by(now)
    }

    /// How long no data arrived by `now`.
    pub(crate) fn silence(&self, now: Time) -> Span {
        now.since(self.last_received_at)
    }

    fn data_packet(&mut self, now: Time, data: &Data) -> Packet {
        let (sequence, payload, push, fin) = self.outgoing.leave(data.sequence);
        self.receiver.on_acknowledged_with_data(now);
        self.due = false;
        let codepoint = if payload > 0 { self.sender.codepoint(data) } else { Ecn::NotCapable };
        let header = self.header(now);
        Packet { sequence, payload, push, fin, reduced: data.reduced, codepoint: codepoint as u8, ..header }
    }

    /// The common part of all packets.
    fn header(&mut self, now: Time) -> Packet {
        self.sender.note_packet(now);
        self.acknowledged = self.incoming.acknowledged(self.receiver.delivered_segments());
        let stamps = self.stack.timestamps.then(|| Timestamps { value: ticks(now), echo: self.echo.unwrap_or(0) });
        Packet {
            ack: true,
            sequence: self.outgoing.next(),
            acknowledged: self.acknowledged,
            window: WINDOW_FIELD >> self.our_scale,
            options: PacketOptions { timestamps: stamps, ..PacketOptions::default() },
            ..Packet::default()
        }
    }

    pub(crate) fn state(&self) -> SenderState {
        self.sender.state()
    }

    /// Packets sent again since the start, with the handshake (in Linux tcp_create_openreq_child).
    pub(crate) fn total_retransmissions(&self) -> u64 {
        self.state().total_retransmissions + u64::from(self.opening_retransmissions)
    }

    /// Bytes acknowledged and not yet sent.
    pub(crate) fn progress(&self) -> (u64, u64) {
        (self.outgoing.start(self.sender.acknowledged()) - 1, self.outgoing.unsent())
    }

    pub(crate) fn segment_size(&self) -> u64 {
        self.stack.segment_size.get()
    }
}

/// The clock of timestamps.
pub(crate) fn ticks(now: Time) -> u32 {
    (now.as_nanos() / 1_000_000) as u32
}
