//! Packet captures of a simulated run: who saw which packet.

use std::io::{self, BufWriter, Write};

use network::Discard;
use record::pcapng::{self, Endpoint, Header, TcpHeader, UdpHeader};
use scenario::{DrawnFlow, Kind, Plan};
use transport::{Acknowledgement, Data};
use units::{Bytes, Time};

use crate::packet::{Acks, Body, Packet};

/// Interfaces: all senders, all receivers, then every link.
const SENDERS: u32 = 0;
const RECEIVERS: u32 = 1;
const LINKS: u32 = 2;

/// What the headers of a flow need to know.
#[derive(Clone, Copy, Debug)]
struct Form {
    segment: Bytes,
    /// All bytes that the flow sends: its last segment may be short.
    total: Option<Bytes>,
    timestamps: bool,
    datagrams: bool,
}

/// A capture that is being written. Packets are captured where they leave an end, where they are offered to a link, and
/// where they reach an end.
pub(crate) struct Capture {
    file: pcapng::Capture<BufWriter<Box<dyn Write + Send>>>,
    forms: Vec<Form>,
    failure: Option<io::Error>,
}

impl Capture {
    pub(crate) fn new(writer: Box<dyn Write + Send>, plan: &Plan, drawn: &[DrawnFlow]) -> io::Result<Self> {
        let mut names = vec!["sender", "receiver"];
        names.extend(plan.links.iter().map(|l| l.name.as_str()));
        let form = |drawn: &DrawnFlow| {
            let flow = &plan.flows[drawn.of];
            Form {
                segment: flow.options.segment_size,
                total: drawn.bytes,
                timestamps: flow.options.timestamps,
                datagrams: flow.kind != Kind::Tcp,
            }
        };
        let forms = drawn.iter().map(form).collect();
        let file = pcapng::Capture::new(BufWriter::new(writer), &names)?;
        Ok(Self { file, forms, failure: None })
    }

    pub(crate) fn at_sender(&mut self, now: Time, packet: &Packet, acks: &Acks) {
        self.write(SENDERS, now, packet, acks, None);
    }

    pub(crate) fn at_receiver(&mut self, now: Time, packet: &Packet, acks: &Acks) {
        self.write(RECEIVERS, now, packet, acks, None);
    }

    /// `packet` reaches the end of its route.
    pub(crate) fn at_end(&mut self, now: Time, packet: &Packet, acks: &Acks) {
        let interface = if matches!(packet.body(), Body::Data(_)) { RECEIVERS } else { SENDERS };
        self.write(interface, now, packet, acks, None);
    }

    /// `packet` was offered to `link` and taken.
    pub(crate) fn at_link(&mut self, link: u32, now: Time, packet: &Packet, acks: &Acks, marked: bool) {
        self.write(LINKS + link, now, packet, acks, marked.then_some("marked: congestion experienced"));
    }

    /// `packet` was dropped by `link`: as it was offered, or captured already and while it waited there.
    pub(crate) fn at_discard(&mut self, link: u32, now: Time, packet: &Packet, acks: &Acks, why: Discard) {
        let comment = match why {
            Discard::Lost => "lost: impairment of the link",
            Discard::Full => "dropped: the queue is full",
            Discard::Early => "dropped early, before the queue is full",
            Discard::Evicted => "dropped while it waited: the last of the longest queue",
            Discard::Head => "dropped while it waited, when its turn came",
            Discard::Retries => "lost: not acknowledged within the retry limit of the station",
        };
        self.write(LINKS + link, now, packet, acks, Some(comment));
    }

    fn write(&mut self, interface: u32, now: Time, packet: &Packet, acks: &Acks, comment: Option<&str>) {
        if self.failure.is_some() {
            return;
        }
        let form = self.forms[packet.flow as usize];
        let result = match &packet.body() {
            Body::Data(data) if !form.datagrams => {
                data_header(packet, data, form, |h| self.put(interface, now, h, comment))
            }
            Body::Ack(slot) if !form.datagrams => {
                ack_header(packet, acks.get(*slot), form, |h| self.put(interface, now, h, comment))
            }
            body => {
                let towards_receiver = matches!(body, Body::Data(_));
                let ends = [Endpoint::sender(packet.flow), Endpoint::receiver(packet.flow)];
                let [source, destination] = if towards_receiver { ends } else { [ends[1], ends[0]] };
                let header = UdpHeader { source, destination, ecn: packet.ecn(), payload: (packet.size() - 28) as u16 };
                self.put(interface, now, &header, comment)
            }
        };
        self.failure = result.err();
    }

    fn put(&mut self, interface: u32, now: Time, header: &impl Header, comment: Option<&str>) -> io::Result<()> {
        self.file.packet(interface, now, header, comment)
    }

    /// Ends the file.
    #[inline(never)]
    pub(crate) fn finish(self) -> io::Result<()> {
        match self.failure {
            Some(error) => Err(error),
            None => self.file.finish().map(|_| ()),
        }
    }
}

/// The timestamp option counts milliseconds.
fn timestamp(at: Time) -> u32 {
    if at == Time::NEVER { 0 } else { (at.as_nanos() / 1_000_000) as u32 }
}

/// The number of the first byte of `segment`. Bytes are numbered from 1, as if a SYN had gone before; numbers wrap.
fn byte(segment: u64, form: Form) -> u32 {
    let before = segment.wrapping_mul(form.segment.get());
    (form.total.map_or(before, |total| before.min(total.get())) as u32).wrapping_add(1)
}

fn data_header<R>(packet: &Packet, data: &Data, form: Form, then: impl FnOnce(&TcpHeader<'_>) -> R) -> R {
    then(&TcpHeader {
        source: Endpoint::sender(packet.flow),
        destination: Endpoint::receiver(packet.flow),
        sequence: byte(data.sequence, form),
        acknowledgment: Some(1),
        ecn_echo: false,
        window_reduced: data.reduced,
        window: u16::MAX,
        timestamps: form.timestamps.then(|| (timestamp(data.timestamp), 0)),
        sack: &[],
        ecn: packet.ecn(),
        payload: data.payload as u16,
    })
}

fn ack_header<R>(packet: &Packet, ack: &Acknowledgement, form: Form, then: impl FnOnce(&TcpHeader<'_>) -> R) -> R {
    let mut blocks = [(0, 0); 5];
    let mut count = 0;
    let duplicate = ack.duplicate.map(|n| (n, n + 1));
    for (start, end) in duplicate.into_iter().chain(ack.sack.iter(ack.cumulative)) {
        blocks[count] = (byte(start, form), byte(end, form));
        count += 1;
    }
    then(&TcpHeader {
        source: Endpoint::receiver(packet.flow),
        destination: Endpoint::sender(packet.flow),
        sequence: 1,
        acknowledgment: Some(byte(ack.cumulative, form)),
        ecn_echo: ack.congestion_echo,
        window_reduced: false,
        window: u16::MAX,
        timestamps: form.timestamps.then(|| (timestamp(ack.timestamp), timestamp(ack.echo))),
        sack: &blocks[..count],
        ecn: packet.ecn(),
        payload: 0,
    })
}
