//! The two ends of each flow, and the rows about them.

use engine::{EventQueue, Fabric, Routed, Tap, flow_row};
use network::{Discard, Packet};
use record::{EventRow, FlowCounters, FlowMeter, FlowSample, FlowState, Lifetime, Tables, milliseconds, seconds};
use scenario::{DrawnFlow, Plan};
use units::packet::{IP_HEADER, TCP_HEADER, TIMESTAMPS_OPTION};
use units::{Bytes, Ecn, Span, Time};

use crate::WINDOW;

/// The headers of a segment, and the whole of an ACK.
const HEADERS: Bytes = Bytes::new(IP_HEADER.get() + TCP_HEADER.get() + TIMESTAMPS_OPTION.get());

/// A data segment, or the ACK of one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Segment {
    flow: u32,
    step: u32,
    number: u64,
    size: Bytes,
    is_ack: bool,
    /// When the data segment left.
    sent_at: Time,
}

impl Packet for Segment {
    fn size(&self) -> Bytes {
        self.size
    }
    fn ecn(&self) -> Ecn {
        Ecn::NotCapable
    }
    fn flow(&self) -> u32 {
        self.flow
    }
    fn mark_congestion(&mut self) {}
    fn clear_ecn(&mut self) {}
}

impl Routed for Segment {
    fn step(&self) -> u32 {
        self.step
    }
    fn next_step(&mut self) {
        self.step += 1;
    }
    fn sequence(&self) -> Option<u64> {
        (!self.is_ack).then_some(self.number)
    }
}

struct Flow {
    /// The first steps of data and of ACKs.
    steps: (u32, u32),
    payload: Bytes,
    stop: Time,
    base_rtt: Span,
    /// Segments that leave when its timer is due: the first window, or in place of lost ones.
    owed: u64,
    in_flight: u32,
    latest_rtt: Span,
    counters: FlowCounters,
    meter: FlowMeter,
}

/// All flows.
pub(crate) struct Ends {
    flows: Vec<Flow>,
    timers: EventQueue,
    records_events: bool,
    pub(crate) tables: Tables,
}

impl Ends {
    pub(crate) fn new(plan: &Plan, drawn: &[DrawnFlow], fabric: &Fabric<Segment>) -> Self {
        let mut timers = EventQueue::new(drawn.len());
        (0..).zip(drawn).for_each(|(index, flow)| timers.set(index, flow.start));
        let flow = |drawn: &DrawnFlow| Flow {
            steps: fabric.first_steps(drawn.of),
            payload: plan.flows[drawn.of].packet_size(),
            stop: drawn.stop,
            base_rtt: plan.flows[drawn.of].base_rtt,
            owed: WINDOW,
            in_flight: 0,
            latest_rtt: Span::ZERO,
            counters: FlowCounters::default(),
            meter: FlowMeter::new(),
        };
        let flows = drawn.iter().map(flow).collect();
        Self { flows, timers, records_events: plan.record.events, tables: Tables::default() }
    }

    /// When a sender is due next.
    pub(crate) fn next(&self) -> Time {
        self.timers.next()
    }

    /// The segments of the sender that is due at `now`.
    pub(crate) fn due(&mut self, now: Time) -> Vec<Segment> {
        let index = self.timers.first_slot();
        self.timers.set(index, Time::NEVER);
        let owed = std::mem::take(&mut self.flows[index as usize].owed);
        (0..owed).filter_map(|_| self.send(now, index)).collect()
    }

    /// The next segment of flow `index`, unless it has stopped.
    fn send(&mut self, now: Time, index: u32) -> Option<Segment> {
        let flow = &mut self.flows[index as usize];
        if now >= flow.stop {
            return None;
        }
        let number = flow.counters.sender.data_packets;
        flow.counters.sender.data_packets += 1;
        flow.in_flight += 1;
        let size = flow.payload + HEADERS;
        Some(Segment { flow: index, step: flow.steps.0, number, size, is_ack: false, sent_at: now })
    }

    /// `segment` arrives at an end. Returns the segment that answers it.
    pub(crate) fn arrive(&mut self, now: Time, segment: &Segment) -> Option<Segment> {
        let flow = &mut self.flows[segment.flow as usize];
        if segment.is_ack {
            flow.in_flight -= 1;
            flow.latest_rtt = now.since(segment.sent_at);
            flow.meter.rtt(flow.latest_rtt);
            return self.send(now, segment.flow);
        }
        let counters = &mut flow.counters;
        counters.arrived_packets += 1;
        counters.arrived_bytes += segment.size.get();
        counters.delivered_bytes += flow.payload.get();
        Some(Segment { step: flow.steps.1, size: HEADERS, is_ack: true, ..*segment })
    }

    /// The measured interval starts.
    pub(crate) fn begin_measuring(&mut self, now: Time) {
        self.flows.iter_mut().for_each(|flow| flow.meter.restart(now, flow.counters));
    }

    /// A row of the series for each flow that sends.
    pub(crate) fn sample(&mut self, now: Time) {
        for (index, flow) in (0..).zip(&self.flows).filter(|(_, flow)| flow.counters.sender.data_packets > 0) {
            let counters = &flow.counters;
            self.tables.flow_series.push(FlowSample {
                time_s: seconds(now),
                flow: index,
                window_segments: WINDOW as f64,
                threshold_segments: f64::INFINITY,
                in_flight_segments: flow.in_flight,
                latest_rtt_ms: milliseconds(flow.latest_rtt),
                smoothed_rtt_ms: f64::NAN,
                min_rtt_ms: f64::NAN,
                base_rtt_ms: milliseconds(flow.base_rtt),
                delivered_bytes: counters.delivered_bytes,
                arrived_packets: counters.arrived_packets,
                arrived_bytes: counters.arrived_bytes,
                sent_packets: counters.sender.data_packets,
                retransmitted_packets: 0,
                pacing_rate_bps: f64::NAN,
                state: FlowState::Open,
            });
        }
    }

    /// Data segments that left.
    pub(crate) fn sent(&self) -> u64 {
        self.flows.iter().map(|flow| flow.counters.sender.data_packets).sum()
    }

    /// The tables, with a row of each flow.
    pub(crate) fn finish(mut self, plan: &Plan, drawn: &[DrawnFlow]) -> Tables {
        let row = |(index, (flow, drawn)): (u32, (&Flow, &DrawnFlow))| {
            let lifetime = Lifetime { start: drawn.start, stop: drawn.stop, ..Lifetime::default() };
            flow_row((&flow.meter, &flow.counters), plan, index, drawn, lifetime)
        };
        self.tables.flows = (0..).zip(self.flows.iter().zip(drawn)).map(row).collect();
        self.tables
    }
}

impl Tap<Segment> for Ends {
    fn discarded(&mut self, _link: u32, segment: Segment, at: Time, _why: Discard) {
        let flow = &mut self.flows[segment.flow as usize];
        flow.in_flight -= 1;
        flow.counters.dropped_packets += u64::from(!segment.is_ack);
        if flow.owed == 0 {
            self.timers.set(segment.flow, at + flow.base_rtt);
        }
        flow.owed += 1;
    }

    fn event(&mut self, row: EventRow) {
        if self.records_events {
            self.tables.events.push(row);
        }
    }
}
