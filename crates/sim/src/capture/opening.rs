//! The packets that open connections, as captures see them.
//!
//! The simulator has no such packets: where the profile has a handshake, the first data leave a base RTT after the
//! start, otherwise at the start, so that the connection was opened a base RTT before. They meet no queue and are not
//! lost. Here they get the times at which they pass each place.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use engine::Interfaces;
use record::pcapng::{Endpoint, Opening, TcpHeader};
use scenario::{DrawnFlow, Kind, Plan, PlannedFlow};
use transport::{EcnMode, Stack};
use units::packet::TIMESTAMPS_OPTION;
use units::{Ecn, Span, Time};

use super::{clock, clock_milliseconds};

/// The largest scale (RFC 7323, section 2.3): windows of up to 1 GiB.
const LARGEST_SCALE: u8 = 14;

/// The bits by which windows are shifted, so that the window of the receiver can be said.
pub(super) fn window_scale(stack: &Stack) -> u8 {
    let window = u64::from(stack.receive_window).saturating_mul(stack.segment_size.get());
    (0..LARGEST_SCALE).find(|scale| window >> scale <= u64::from(u16::MAX)).unwrap_or(LARGEST_SCALE)
}

/// The three packets, in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Which {
    Syn,
    SynAck,
    Ack,
}

/// One of them passes a place, so long after the SYN left.
#[derive(Clone, Copy, Debug)]
struct Stage {
    after: Span,
    /// The interface, if its place is captured.
    interface: Option<u32>,
    which: Which,
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
    timestamps: bool,
    ecn: EcnMode,
    opening: Opening,
    /// The window in the SYN-ACK, not shifted.
    window: u16,
}

impl Form {
    fn new(flow: &PlannedFlow, interfaces: &Interfaces) -> Self {
        let options = &flow.options;
        let mut stages = Vec::new();
        let mut answers = [Span::ZERO; 2];
        let mut after = Span::ZERO;
        for which in [Which::Syn, Which::SynAck, Which::Ack] {
            let (hops, connection) = match which {
                Which::SynAck => (&flow.reverse, [interfaces.receiver, interfaces.sender]),
                Which::Syn | Which::Ack => (&flow.forward, [interfaces.sender, interfaces.receiver]),
            };
            match which {
                Which::Syn => {}
                Which::SynAck => answers[0] = after,
                Which::Ack => answers[1] = after,
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
        stages.retain(|stage| stage.interface.is_some() || (stage.which == Which::SynAck && stage.arrives));
        let timestamps = if options.timestamps { TIMESTAMPS_OPTION.get() } else { 0 };
        let opening = Opening {
            largest_segment: (options.segment_size.get() + timestamps).min(u64::from(u16::MAX)) as u16,
            sack_permitted: options.sack(),
            window_scale: window_scale(options),
        };
        let early = if options.handshake { Span::ZERO } else { flow.base_rtt };
        let window = u64::from(options.receive_window).saturating_mul(options.segment_size.get());
        let window = window.min(u64::from(u16::MAX)) as u16;
        Self { stages, answers, early, timestamps: options.timestamps, ecn: options.ecn(), opening, window }
    }

    /// The packet `which` of the connection `flow`, whose SYN left at `opened`.
    fn header(&self, which: Which, flow: u32, opened: Time) -> TcpHeader<'static> {
        let [sender, receiver] = [Endpoint::sender(flow), Endpoint::receiver(flow)];
        let [answered, confirmed] = self.answers.map(|after| clock_milliseconds(opened + after));
        let (times, acknowledgment) = match which {
            Which::Syn => ((clock_milliseconds(opened), 0), None),
            Which::SynAck => ((answered, clock_milliseconds(opened)), Some(1)),
            Which::Ack => ((confirmed, answered), Some(1)),
        };
        let answer = which == Which::SynAck;
        // The ACE field tells how the SYN and the SYN-ACK arrived: not ECN-capable (RFC 9768, section 3.1.1).
        let accurate = if which == Which::Syn { 0b111 } else { 0b010 };
        TcpHeader {
            source: if answer { receiver } else { sender },
            destination: if answer { sender } else { receiver },
            sequence: u32::from(which == Which::Ack),
            acknowledgment,
            ecn_echo: self.ecn == EcnMode::Classic && which != Which::Ack,
            push: false,
            window_reduced: self.ecn == EcnMode::Classic && which == Which::Syn,
            window: if answer { self.window } else { u16::MAX },
            timestamps: self.timestamps.then_some(times),
            sack: &[],
            ecn: Ecn::NotCapable,
            opening: (which != Which::Ack).then_some(self.opening),
            accurate: (self.ecn == EcnMode::Accurate).then_some(accurate),
            payload: 0,
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

/// The packets that open the connections of a run.
#[derive(Debug)]
pub(super) struct Openings {
    forms: Vec<Form>,
    /// The flow of the plan of each connection; none of datagrams, which open nothing.
    of: Vec<Option<usize>>,
    /// When each SYN leaves.
    opened: Vec<Time>,
    /// When which connection comes to which stage; the next one of each only.
    next: BinaryHeap<Reverse<(Time, u32, usize)>>,
    /// All that was seen before is written: nothing can be put before it any more.
    written: Time,
}

impl Openings {
    pub(super) fn new(plan: &Plan, drawn: &[DrawnFlow], interfaces: &Interfaces) -> Self {
        let forms = plan.flows.iter().map(|flow| Form::new(flow, interfaces)).collect();
        let mut openings = Self {
            forms,
            of: drawn.iter().map(|d| (plan.flows[d.of].kind == Kind::Tcp).then_some(d.of)).collect(),
            opened: vec![Time::NEVER; drawn.len()],
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

    /// A connection of a page starts at `start`, which was not known before.
    pub(super) fn starts(&mut self, start: Time, flow: u32) {
        if self.opened[flow as usize] == Time::NEVER {
            self.open(start, flow);
        }
    }

    fn open(&mut self, start: Time, flow: u32) {
        let Some(of) = self.of[flow as usize] else { return };
        let form = &self.forms[of];
        let opened = Time::ZERO + start.since(Time::ZERO + form.early);
        self.opened[flow as usize] = opened;
        self.schedule(flow, of, 0);
    }

    fn schedule(&mut self, flow: u32, of: usize, stage: usize) {
        if let Some(Stage { after, .. }) = self.forms[of].stages.get(stage) {
            self.next.push(Reverse((self.opened[flow as usize] + *after, flow, stage)));
        }
    }

    /// The next packet that passes a place by `now`: when, where, and what.
    pub(super) fn pop(&mut self, now: Time) -> Option<(Time, Option<u32>, Passing)> {
        let Some(Reverse((at, flow, stage))) = self.next.peek().filter(|Reverse((at, ..))| *at <= now).copied() else {
            self.written = now;
            return None;
        };
        self.next.pop();
        let of = self.of[flow as usize]?;
        self.schedule(flow, of, stage + 1);
        let form = &self.forms[of];
        let Stage { interface, which, arrives, .. } = form.stages[stage];
        let header = form.header(which, flow, self.opened[flow as usize]);
        let brings = header.timestamps.filter(|_| which == Which::SynAck && arrives);
        // On the clock of the run: what leaves at once echoes it.
        let echo = brings.map(|(timestamp, _)| (Time::ZERO + at.since(clock(Time::ZERO)), timestamp));
        Some((at.max(self.written), interface, Passing { flow, header, echo }))
    }
}
