//! The packets that open and close connections, as captures see them.
//!
//! Where the profile has no handshake, the first data leave at the start, as if the connection had been opened a base
//! RTT before. No packet of the simulation closes a connection. Here such packets get the times at which they would
//! have passed each place of an empty path.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use engine::Interfaces;
use record::pcapng::{Endpoint, Opening, TcpHeader};
use scenario::{DrawnFlow, Kind, Plan, PlannedFlow};
use transport::{EcnMode, OpeningKind, OpeningPacket, Stack};
use units::packet::TIMESTAMPS_OPTION;
use units::{Ecn, Span, Time};

use super::{FIRST_COUNT, TimestampClock, clock};

/// The largest scale (RFC 7323, section 2.3): windows of up to 1 GiB.
const LARGEST_SCALE: u8 = 14;

/// The bits by which windows are shifted, so that the window of the receiver can be said.
pub(super) fn window_scale(stack: &Stack) -> u8 {
    let window = u64::from(stack.receive_window).saturating_mul(stack.segment_size.get());
    (0..LARGEST_SCALE).find(|scale| window >> scale <= u64::from(u16::MAX)).unwrap_or(LARGEST_SCALE)
}

/// The end of a connection: the sender closes when all is acknowledged, the receiver at once after it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Closing {
    /// When the FIN of the sender leaves.
    pub(super) at: Time,
    /// Its number.
    pub(super) end: u32,
    /// The timestamp that it echoes.
    pub(super) echo: u32,
    /// The ACE field of the receiver.
    pub(super) count: u8,
}

/// One of them passes a place, so long after the SYN or the FIN left. The sender's FIN goes the way of the SYN, and the
/// receiver's goes the way of the SYN-ACK.
#[derive(Clone, Copy, Debug)]
struct Stage {
    after: Span,
    /// The interface, if its place is captured.
    interface: Option<u32>,
    which: OpeningKind,
    /// It reaches its end.
    arrives: bool,
}

/// Common facts of the packets of all connections of a flow.
#[derive(Debug)]
struct Form {
    stages: Vec<Stage>,
    /// When the SYN-ACK and the ACK leave, after the SYN.
    answers: [Span; 2],
    /// How long before the start of the flow the SYN leaves.
    early: Span,
    /// They are packets of the simulation.
    on_path: bool,
    timestamps: bool,
    clock: TimestampClock,
    ecn: EcnMode,
    opening: Opening,
    /// The window in the SYN-ACK, which is not shifted, and behind it.
    windows: [u16; 2],
}

impl Form {
    fn new(flow: &PlannedFlow, stack: &Stack, interfaces: &Interfaces) -> Self {
        let options = &flow.options;
        let mut stages = Vec::new();
        let mut answers = [Span::ZERO; 2];
        let mut after = Span::ZERO;
        for which in [OpeningKind::Syn, OpeningKind::SynAck, OpeningKind::Ack] {
            let (hops, connection) = match which {
                OpeningKind::SynAck => (&flow.reverse, [interfaces.receiver, interfaces.sender]),
                OpeningKind::Syn | OpeningKind::Ack => (&flow.forward, [interfaces.sender, interfaces.receiver]),
            };
            match which {
                OpeningKind::Syn => {}
                OpeningKind::SynAck => answers[0] = after,
                OpeningKind::Ack => answers[1] = after,
            }
            stages.push(Stage { after, interface: connection[0], which, arrives: false });
            for hop in hops {
                if let Some(link) = hop.link {
                    stages.push(Stage { after, interface: interfaces.links[link], which, arrives: false });
                }
                after += hop.delay.initial();
            }
            stages.push(Stage { after, interface: connection[1], which, arrives: true });
        }
        // An arrival at the sender is needed where nobody looks, for the timestamp that data echo from then on.
        stages.retain(|stage| stage.interface.is_some() || (stage.which == OpeningKind::SynAck && stage.arrives));
        let timestamps = if options.timestamps { TIMESTAMPS_OPTION.get() } else { 0 };
        let opening = Opening {
            largest_segment: (options.segment_size.get() + timestamps).min(u64::from(u16::MAX)) as u16,
            sack_permitted: options.sack(),
            window_scale: window_scale(options),
        };
        let window = u64::from(options.receive_window).saturating_mul(options.segment_size.get());
        let windows = [window, window >> opening.window_scale].map(|window| window.min(u64::from(u16::MAX)) as u16);
        let early = flow.base_rtt;
        let (on_path, timestamps) = (options.handshake, options.timestamps);
        let clock = TimestampClock(stack.clock.at_start);
        Self { stages, answers, early, on_path, timestamps, clock, ecn: options.ecn(), opening, windows }
    }

    /// The timestamps of the packet `which` of a connection whose SYN left at `opened`: its own, and that it echoes.
    fn times(&self, which: OpeningKind, opened: Time) -> (u32, u32) {
        let first = self.clock.captured_at(opened);
        let [answered, confirmed] = self.answers.map(|after| self.clock.captured_at(opened + after));
        match which {
            OpeningKind::Syn => (first, 0),
            OpeningKind::SynAck => (answered, first),
            OpeningKind::Ack => (confirmed, answered),
        }
    }

    /// The packet `which` of the connection `flow`, with these timestamps.
    fn header(&self, which: OpeningKind, flow: u32, times: (u32, u32)) -> TcpHeader<'static> {
        let [sender, receiver] = [Endpoint::sender(flow), Endpoint::receiver(flow)];
        let answer = which == OpeningKind::SynAck;
        // The ACE field echoes how the SYN and the SYN-ACK arrived: not ECN-capable (RFC 9768, section 3.1.1).
        let accurate = if which == OpeningKind::Syn { 0b111 } else { 0b010 };
        TcpHeader {
            source: if answer { receiver } else { sender },
            destination: if answer { sender } else { receiver },
            sequence: u32::from(which == OpeningKind::Ack),
            acknowledgment: (which != OpeningKind::Syn).then_some(1),
            ecn_echo: self.ecn == EcnMode::Classic && which != OpeningKind::Ack,
            push: false,
            finish: false,
            window_reduced: self.ecn == EcnMode::Classic && which == OpeningKind::Syn,
            window: if answer { self.windows[0] } else { u16::MAX },
            timestamps: self.timestamps.then_some(times),
            sack: &[],
            ecn: Ecn::NotCapable,
            opening: (which != OpeningKind::Ack).then_some(self.opening),
            accurate: (self.ecn == EcnMode::Accurate).then_some(accurate),
            payload: 0,
        }
    }

    /// The packet that closes the connection `flow` where `which` opened it.
    fn closing(&self, which: OpeningKind, flow: u32, closing: &Closing) -> TcpHeader<'static> {
        let Closing { at, end, echo, count } = *closing;
        let (time, echoed) = self.times(which, at);
        let (sequence, acknowledgment) = match which {
            OpeningKind::Syn => (end, 1),
            OpeningKind::SynAck => (1, end.wrapping_add(1)),
            OpeningKind::Ack => (end.wrapping_add(1), 2),
        };
        let answer = which == OpeningKind::SynAck;
        TcpHeader {
            sequence,
            acknowledgment: Some(acknowledgment),
            finish: which != OpeningKind::Ack,
            ecn_echo: false,
            window_reduced: false,
            window: if answer { self.windows[1] } else { u16::MAX },
            opening: None,
            accurate: (self.ecn == EcnMode::Accurate).then_some(if answer { count } else { FIRST_COUNT as u8 }),
            ..self.header(which, flow, (time, if which == OpeningKind::Syn { echo } else { echoed }))
        }
    }
}

/// A packet that passes a place.
pub(super) struct Passing {
    pub(super) flow: u32,
    pub(super) header: TcpHeader<'static>,
    /// It brings the sender a timestamp: when, on the clock of the run, and which.
    pub(super) echo: Option<(Time, u32)>,
}

/// The packets that open and close the connections of a run.
#[derive(Debug)]
pub(super) struct Openings {
    forms: Vec<Form>,
    /// The flow of the plan of each connection, or `None` for datagrams, which open nothing.
    of: Vec<Option<usize>>,
    /// When each SYN leaves.
    opened: Vec<Time>,
    /// How each ends.
    closed: Vec<Option<Closing>>,
    /// When which connection comes to which stage, with only the next stage of each. The stages of its end follow the
    /// stages of its opening.
    next: BinaryHeap<Reverse<(Time, u32, usize)>>,
    /// All that was seen before is written: nothing can be put before it any more.
    written: Time,
}

impl Openings {
    pub(super) fn new(plan: &Plan, drawn: &[DrawnFlow], stacks: &[Arc<Stack>], interfaces: &Interfaces) -> Self {
        let forms = plan.flows.iter().zip(stacks).map(|(flow, stack)| Form::new(flow, stack, interfaces)).collect();
        let mut openings = Self {
            forms,
            of: drawn.iter().map(|d| (plan.flows[d.of].kind == Kind::Tcp).then_some(d.of)).collect(),
            opened: vec![Time::NEVER; drawn.len()],
            closed: vec![None; drawn.len()],
            next: BinaryHeap::new(),
            written: Time::ZERO,
        };
        for (flow, drawn) in drawn.iter().enumerate() {
            let known = drawn.page.is_none_or(|page| page.number == 0);
            if known && drawn.start < drawn.stop {
                openings.open(clock(drawn.start), flow as u32);
            }
        }
        openings
    }

    /// The header of `packet`, which opens the connection of `flow`.
    pub(super) fn header(&self, flow: u32, packet: &OpeningPacket) -> TcpHeader<'static> {
        let form = &self.forms[self.of[flow as usize].unwrap_or_default()];
        form.header(packet.kind, flow, (form.clock.at(packet.timestamp), form.clock.at(packet.echo)))
    }

    /// A connection of a page starts at `start`, which was not known before.
    pub(super) fn starts(&mut self, start: Time, flow: u32) {
        if self.opened[flow as usize] == Time::NEVER {
            self.open(start, flow);
        }
    }

    fn open(&mut self, start: Time, flow: u32) {
        let Some(of) = self.of[flow as usize] else { return };
        let form = &self.forms[of];
        if form.on_path {
            return;
        }
        let opened = Time::ZERO + start.since(Time::ZERO + form.early);
        self.opened[flow as usize] = opened;
        self.schedule(flow, of, 0);
    }

    /// The connection of `flow` ends, unless it has ended already.
    pub(super) fn close(&mut self, flow: u32, closing: Closing) {
        let Some(of) = self.of[flow as usize].filter(|_| self.closed[flow as usize].is_none()) else { return };
        self.closed[flow as usize] = Some(closing);
        self.schedule(flow, of, self.forms[of].stages.len());
    }

    fn schedule(&mut self, flow: u32, of: usize, stage: usize) {
        let stages = &self.forms[of].stages;
        let (begun, next) = match (stage.checked_sub(stages.len()), self.closed[flow as usize]) {
            (Some(behind), Some(closing)) => (closing.at, stages.get(behind)),
            (Some(_), None) => return,
            (None, _) => (self.opened[flow as usize], stages.get(stage)),
        };
        if let Some(Stage { after, .. }) = next {
            self.next.push(Reverse((begun + *after, flow, stage)));
        }
    }

    /// The next packet that passes a place by `now`: its time, place and content.
    pub(super) fn pop(&mut self, now: Time) -> Option<(Time, Option<u32>, Passing)> {
        let Some(Reverse((at, flow, stage))) = self.next.peek().filter(|Reverse((at, ..))| *at <= now).copied() else {
            self.written = now;
            return None;
        };
        self.next.pop();
        let of = self.of[flow as usize]?;
        let stages = self.forms[of].stages.len();
        if stage + 1 != stages {
            self.schedule(flow, of, stage + 1);
        }
        let form = &self.forms[of];
        let Stage { interface, which, arrives, .. } = form.stages[stage % stages];
        if let (true, Some(closing)) = (stage >= stages, &self.closed[flow as usize]) {
            return Some((
                at.max(self.written),
                interface,
                Passing { flow, header: form.closing(which, flow, closing), echo: None },
            ));
        }
        let header = form.header(which, flow, form.times(which, self.opened[flow as usize]));
        let brings = header.timestamps.filter(|_| which == OpeningKind::SynAck && arrives);
        // On the clock of the run: what leaves at once echoes it.
        let echo = brings.map(|(timestamp, _)| (Time::ZERO + at.since(clock(Time::ZERO)), timestamp));
        Some((at.max(self.written), interface, Passing { flow, header, echo }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn form(ecn: EcnMode) -> Form {
        Form {
            stages: Vec::new(),
            answers: [Span::from_millis(20), Span::from_millis(40)],
            early: Span::from_millis(40),
            on_path: true,
            timestamps: true,
            clock: TimestampClock(Span::from_millis(1000)),
            ecn,
            opening: Opening { largest_segment: 1460, sack_permitted: true, window_scale: 7 },
            windows: [65_535, 8_000],
        }
    }

    /// ECE, CWR, ACE, FIN and PSH, sequence and acknowledgment numbers, and the window.
    fn fields(header: &TcpHeader<'_>) -> ([bool; 4], Option<u8>, u32, Option<u32>, u16) {
        let TcpHeader { ecn_echo, window_reduced, finish, push, .. } = *header;
        let flags = [ecn_echo, window_reduced, finish, push];
        (flags, header.accurate, header.sequence, header.acknowledgment, header.window)
    }

    #[test]
    fn a_handshake_asks_for_ecn_as_its_stack_does() {
        let of = |ecn, which| {
            let header = form(ecn).header(which, 0, (1, 2));
            assert_eq!(header.opening.is_some(), which != OpeningKind::Ack);
            assert_eq!((header.timestamps, header.payload), (Some((1, 2)), 0));
            fields(&header)
        };
        let (none, all) = ([false; 4], u16::MAX);
        for ecn in [EcnMode::Off, EcnMode::Classic, EcnMode::Accurate] {
            // RFC 3168, section 6.1.1: ECE and CWR in the SYN, ECE in the SYN-ACK.
            let (syn, syn_ack) = match ecn {
                EcnMode::Classic => ([true, true, false, false], [true, false, false, false]),
                _ => (none, none),
            };
            let ace = |bits| (ecn == EcnMode::Accurate).then_some(bits);
            assert_eq!(of(ecn, OpeningKind::Syn), (syn, ace(0b111), 0, None, all));
            assert_eq!(of(ecn, OpeningKind::SynAck), (syn_ack, ace(0b010), 0, Some(1), 65_535));
            assert_eq!(of(ecn, OpeningKind::Ack), (none, ace(0b010), 1, Some(1), all));
        }
    }

    #[test]
    fn a_connection_closes_with_a_fin_of_each_end_and_an_ack() {
        let closing = Closing { at: Time::from_nanos(500_000_000), end: 7000, echo: 1490, count: 3 };
        let of = |ecn, which| {
            let header = form(ecn).closing(which, 0, &closing);
            assert!(header.opening.is_none());
            (fields(&header), header.timestamps)
        };
        let (open, finish) = ([false; 4], [false, false, true, false]);
        let first = FIRST_COUNT as u8;
        for ecn in [EcnMode::Classic, EcnMode::Accurate] {
            let ace = |bits| (ecn == EcnMode::Accurate).then_some(bits);
            // The clock of the host is a second ahead of the run's.
            let [at, answered, confirmed] = [1500, 1520, 1540];
            assert_eq!(of(ecn, OpeningKind::Syn), ((finish, ace(first), 7000, Some(1), u16::MAX), Some((at, 1490))));
            assert_eq!(of(ecn, OpeningKind::SynAck), ((finish, ace(3), 1, Some(7001), 8000), Some((answered, at))));
            assert_eq!(
                of(ecn, OpeningKind::Ack),
                ((open, ace(first), 7001, Some(2), u16::MAX), Some((confirmed, answered)))
            );
        }
    }
}
