//! Packet captures of a simulated run.

mod opening;

use std::collections::VecDeque;
use std::io::{self, BufWriter, Write};
use std::sync::Arc;

use engine::{CaptureTo, Failure, Interfaces, comment};
use network::Discard;
use record::pcapng::{self, Endpoint, Point, TcpHeader, UdpHeader};
use scenario::{DrawnFlow, Kind, Plan};
use transport::{Acknowledgement, Data, EcnMode, OpeningKind, Stack};
use units::{Bytes, Span, Time};

use self::opening::{Closing, Openings};
use crate::acks::Acks;
use crate::packet::{Body, Packet};

/// The run begins a day into 1970 on the clock of its captures: connections that are open then were opened before.
const BEGIN: Span = Span::from_secs(86_400);

/// Changes of the timestamp that data echo, kept for data under way.
const ECHOES_KEPT: usize = 4096;

/// Accurate ECN starts to count from here (RFC 9768, section 3.2.1).
const FIRST_COUNT: u32 = 5;

/// The clock of the timestamp option of a host, which counts milliseconds, as its reading at the start of the run.
#[derive(Clone, Copy, Debug)]
struct TimestampClock(Span);

impl TimestampClock {
    /// At a time of the run, or 0 for none.
    fn at(self, at: Time) -> u32 {
        if at == Time::NEVER { 0 } else { self.captured_at(clock(at)) }
    }

    /// At a time on the clock of captures.
    fn captured_at(self, at: Time) -> u32 {
        ((at + self.0).as_nanos() / 1_000_000) as u32
    }
}

/// Facts about a flow for its headers.
#[derive(Clone, Debug)]
struct Form {
    segment: Bytes,
    /// All bytes that the flow sends: its last segment may be short.
    total: Option<Bytes>,
    timestamps: bool,
    clock: TimestampClock,
    datagrams: bool,
    accurate: bool,
    window_scale: u8,
    /// When the timestamp that data echo changed at the sender, and its new value.
    echoes: VecDeque<(Time, u32)>,
}

impl Form {
    fn new(drawn: &DrawnFlow, plan: &Plan, stacks: &[Arc<Stack>]) -> Self {
        let flow = &plan.flows[drawn.of];
        Self {
            segment: flow.options.segment_size,
            total: drawn.bytes,
            timestamps: flow.options.timestamps && flow.kind == Kind::Tcp,
            clock: TimestampClock(stacks[drawn.of].clock.at_start),
            datagrams: flow.kind != Kind::Tcp,
            accurate: flow.options.ecn() == EcnMode::Accurate,
            window_scale: opening::window_scale(&flow.options),
            echoes: VecDeque::new(),
        }
    }

    /// Its last byte is acknowledged where `cumulative` segments are: the number behind that byte.
    fn end(&self, cumulative: u64) -> Option<u32> {
        let total = self.total?.get();
        (cumulative >= total.div_ceil(self.segment.get())).then(|| (total as u32).wrapping_add(1))
    }

    /// The number of the first byte of `segment`: the SYN has number 0, and numbers wrap.
    fn byte(&self, segment: u64) -> u32 {
        let before = segment.wrapping_mul(self.segment.get());
        (self.total.map_or(before, |total| before.min(total.get())) as u32).wrapping_add(1)
    }

    /// From `at` on data echo the timestamp of a packet that left at `sent`. Of the changes before, so many are `kept`.
    fn echo_of(&mut self, at: Time, sent: Time, kept: usize) {
        self.echo(at, self.clock.at(sent), kept);
    }

    /// From `at` on data echo `timestamp`. Of the changes before, so many are `kept`.
    fn echo(&mut self, at: Time, timestamp: u32, kept: usize) {
        if self.timestamps && self.echoes.back().is_none_or(|(_, last)| timestamp.wrapping_sub(*last) as i32 > 0) {
            self.echoes.push_back((at, timestamp));
            if self.echoes.len() > kept {
                self.echoes.pop_front();
            }
        }
    }

    /// The timestamp that data echo which left at `sent`.
    fn echoed(&self, sent: Time) -> u32 {
        let earlier = self.echoes.partition_point(|(at, _)| *at <= sent);
        self.echoes.get(earlier.saturating_sub(1)).map_or(0, |(_, timestamp)| *timestamp)
    }
}

/// A capture that is being written. Packets are captured where they leave an end, where they are offered to a link, and
/// where they reach an end.
pub(crate) struct Capture {
    file: pcapng::Capture<BufWriter<Box<dyn Write + Send>>>,
    interfaces: Interfaces,
    forms: Vec<Form>,
    echoes_kept: usize,
    openings: Openings,
    failure: Option<io::Error>,
}

impl Capture {
    pub(crate) fn new(to: CaptureTo, plan: &Plan, drawn: &[DrawnFlow], stacks: &[Arc<Stack>]) -> Result<Self, Failure> {
        let (interfaces, names) = Interfaces::new(to.point, plan)?;
        let file = pcapng::Capture::new(BufWriter::new(to.writer), &names).map_err(Failure::Capture)?;
        let openings = Openings::new(plan, drawn, stacks, &interfaces);
        let forms = drawn.iter().map(|drawn| Form::new(drawn, plan, stacks)).collect();
        let echoes_kept = if to.point == Point::Sender { 1 } else { ECHOES_KEPT };
        Ok(Self { file, interfaces, forms, echoes_kept, openings, failure: None })
    }

    /// A flow starts that had no time to start at: one that waits for another.
    pub(crate) fn starts(&mut self, now: Time, flow: u32) {
        self.openings.starts(clock(now), flow);
    }

    pub(crate) fn at_sender(&mut self, now: Time, packet: &Packet, acks: &Acks) {
        self.write(self.interfaces.sender, now, packet, &packet.body(), acks, None);
    }

    pub(crate) fn at_receiver(&mut self, now: Time, packet: &Packet, acks: &Acks) {
        self.write(self.interfaces.receiver, now, packet, &packet.body(), acks, None);
    }

    /// `packet`, which carries `body`, reaches the end of its route.
    pub(crate) fn at_end(&mut self, now: Time, packet: &Packet, body: &Body, acks: &Acks) {
        let interface = match body {
            Body::Data(_) => self.interfaces.receiver,
            Body::Opening if packet.opening().kind != OpeningKind::SynAck => self.interfaces.receiver,
            Body::Opening => {
                let opening = packet.opening();
                self.forms[packet.flow as usize].echo_of(now, opening.timestamp, self.echoes_kept);
                self.interfaces.sender
            }
            Body::Ack(slot) => {
                let sent = acks.get(*slot).timestamp;
                self.forms[packet.flow as usize].echo_of(now, sent, self.echoes_kept);
                self.interfaces.sender
            }
        };
        self.write(interface, now, packet, body, acks, None);
        if let Body::Ack(slot) = body {
            self.close(now, packet.flow, &acks.get(*slot));
        }
    }

    /// Closes the connection of `flow` if `ack`, which has reached the sender, acknowledges all of it.
    fn close(&mut self, now: Time, flow: u32, ack: &Acknowledgement) {
        let form = &self.forms[flow as usize];
        if let Some(end) = form.end(ack.cumulative) {
            let (echo, count) = (form.clock.at(ack.timestamp), congestion_count(ack));
            self.openings.close(flow, Closing { at: clock(now), end, echo, count });
        }
    }

    /// `packet` was offered to `link` and taken.
    pub(crate) fn at_link(&mut self, link: u32, now: Time, packet: &Packet, acks: &Acks, marked: bool) {
        let comment = marked.then_some("marked: congestion experienced");
        self.write(self.interfaces.links[link as usize], now, packet, &packet.body(), acks, comment);
    }

    /// `packet` was dropped by `link`: as it was offered, or captured already and while it waited there.
    pub(crate) fn at_discard(&mut self, link: u32, now: Time, packet: &Packet, body: &Body, acks: &Acks, why: Discard) {
        self.write(self.interfaces.links[link as usize], now, packet, body, acks, Some(comment(why)));
    }

    fn write(
        &mut self,
        interface: Option<u32>,
        now: Time,
        packet: &Packet,
        body: &Body,
        acks: &Acks,
        comment: Option<&str>,
    ) {
        let Some(interface) = interface.filter(|_| self.failure.is_none()) else { return };
        let put = |capture: &mut Self| capture.put(interface, now, packet, body, acks, comment);
        let result = self.open_until(clock(now)).and_then(|()| put(self));
        self.failure = result.err();
    }

    /// Writes what opens connections by `now`.
    fn open_until(&mut self, now: Time) -> io::Result<()> {
        while let Some((at, interface, passing)) = self.openings.pop(now) {
            if let Some((arrival, timestamp)) = passing.echo {
                self.forms[passing.flow as usize].echo(arrival, timestamp, self.echoes_kept);
            }
            if let Some(interface) = interface {
                self.file.packet(interface, at, &passing.header, None)?;
            }
        }
        Ok(())
    }

    fn put(
        &mut self,
        interface: u32,
        now: Time,
        packet: &Packet,
        body: &Body,
        acks: &Acks,
        comment: Option<&str>,
    ) -> io::Result<()> {
        let form = &self.forms[packet.flow as usize];
        let file = &mut self.file;
        match body {
            Body::Data(data) if !form.datagrams => {
                data_header(packet, data, form, |h| file.packet(interface, clock(now), h, comment))
            }
            Body::Ack(slot) if !form.datagrams => {
                ack_header(packet, &acks.get(*slot), form, |h| file.packet(interface, clock(now), h, comment))
            }
            Body::Opening => {
                let header = self.openings.header(packet.flow, &packet.opening());
                file.packet(interface, clock(now), &header, comment)
            }
            body => {
                let towards_receiver = matches!(body, Body::Data(_));
                let connection = [Endpoint::sender(packet.flow), Endpoint::receiver(packet.flow)];
                let [source, destination] = if towards_receiver { connection } else { [connection[1], connection[0]] };
                let header = UdpHeader { source, destination, ecn: packet.ecn(), payload: (packet.size() - 28) as u16 };
                file.packet(interface, clock(now), &header, comment)
            }
        }
    }

    /// Ends the file of a run until `end`.
    #[inline(never)]
    pub(crate) fn finish(mut self, end: Time) -> io::Result<()> {
        match self.failure {
            Some(error) => Err(error),
            None => self.open_until(clock(end)).and_then(|()| self.file.finish().map(|_| ())),
        }
    }
}

/// `at` on the clock of captures.
fn clock(at: Time) -> Time {
    at + BEGIN
}

/// The ACE field of accurate ECN.
pub(crate) fn congestion_count(ack: &Acknowledgement) -> u8 {
    (ack.marked.wrapping_add(FIRST_COUNT) & 7) as u8
}

fn data_header<R>(packet: &Packet, data: &Data, form: &Form, then: impl FnOnce(&TcpHeader<'_>) -> R) -> R {
    then(&TcpHeader {
        source: Endpoint::sender(packet.flow),
        destination: Endpoint::receiver(packet.flow),
        sequence: form.byte(data.sequence),
        acknowledgment: Some(1),
        ecn_echo: false,
        push: data.push,
        finish: false,
        window_reduced: data.reduced,
        window: u16::MAX,
        timestamps: form.timestamps.then(|| (form.clock.at(data.timestamp), form.echoed(data.timestamp))),
        sack: &[],
        ecn: packet.ecn(),
        opening: None,
        accurate: form.accurate.then_some(FIRST_COUNT as u8),
        payload: data.payload as u16,
    })
}

fn ack_header<R>(packet: &Packet, ack: &Acknowledgement, form: &Form, then: impl FnOnce(&TcpHeader<'_>) -> R) -> R {
    let mut blocks = [(0, 0); 5];
    let mut count = 0;
    let duplicate = ack.duplicate.map(|n| (n, n + 1));
    for (start, end) in duplicate.into_iter().chain(ack.sack.iter(ack.cumulative)) {
        blocks[count] = (form.byte(start), form.byte(end));
        count += 1;
    }
    let window = u64::from(ack.window).saturating_mul(form.segment.get()) >> form.window_scale;
    then(&TcpHeader {
        source: Endpoint::receiver(packet.flow),
        destination: Endpoint::sender(packet.flow),
        sequence: 1,
        acknowledgment: Some(form.byte(ack.cumulative)),
        ecn_echo: ack.congestion_echo,
        push: false,
        finish: false,
        window_reduced: false,
        window: window.min(u64::from(u16::MAX)) as u16,
        timestamps: form.timestamps.then(|| (form.clock.at(ack.timestamp), form.clock.at(ack.echo))),
        sack: &blocks[..count],
        ecn: packet.ecn(),
        opening: None,
        accurate: form.accurate.then(|| congestion_count(ack)),
        payload: 0,
    })
}
