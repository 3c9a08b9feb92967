//! The records of a run: meters, samples, events.

use control::Probe;
use engine::{AckRows, Lifetime, flow_row};
use record::{EventKind, FlowMeter, FlowRow, FlowSample, Probes, Tables, milliseconds, seconds};
use scenario::{DrawnFlow, Plan};
use transport::{Event, Journal};
use units::{Span, Time};

use crate::cache_aligned::CacheAligned;
use crate::flow::Flow;

/// Everything a run records.
pub(crate) struct Recorder {
    pub(crate) tables: Tables,
    /// Meters of the flows that have a connection: [`Flow::meter`] is an index into it.
    pub(crate) flows: Vec<CacheAligned<FlowMeter>>,
    /// Those that no flow has any more.
    free: Vec<u32>,
    /// The rows of flows that gave up their ends, and the data packets that these sent.
    left: Vec<FlowRow>,
    left_sent: u64,
    pub(crate) events: bool,
    pub(crate) datagrams: bool,
    /// Rows at every n-th ACK that brings an RTT sample.
    series: Option<AckRows>,
    probes: Option<AckRows>,
    counts: bool,
}

/// The meter of a flow without ends.
pub(crate) const NO_METER: u32 = u32::MAX;

impl Recorder {
    pub(crate) fn new(plan: &Plan, drawn: &[DrawnFlow]) -> Self {
        let rows = |sampling| AckRows::new(sampling, drawn.len());
        let (series, probes) = (rows(plan.record.flow_series), rows(plan.record.probes));
        Self {
            tables: Tables::default(),
            flows: Vec::with_capacity(plan.flows.len()),
            free: Vec::new(),
            left: Vec::new(),
            left_sent: 0,
            events: plan.record.events,
            datagrams: plan.record.datagrams,
            counts: series.is_some() || probes.is_some(),
            series,
            probes,
        }
    }

    /// A meter for a flow that gets its ends.
    pub(crate) fn meter(&mut self) -> u32 {
        self.free.pop().unwrap_or_else(|| {
            self.flows.push(CacheAligned::new(FlowMeter::new()));
            self.flows.len() as u32 - 1
        })
    }

    /// An event at an endpoint or a link.
    pub(crate) fn event(
        &mut self,
        at: Time,
        kind: EventKind,
        flow: u32,
        link: Option<u32>,
        sequence: Option<u64>,
        value: Option<f64>,
    ) {
        if self.events {
            self.tables.events.record(at, kind, flow, link, sequence, value);
        }
    }

    /// A sender's journal for one event.
    pub(crate) fn journal(&mut self, at: Time, flow: u32) -> FlowJournal<'_> {
        FlowJournal { recorder: self, at, flow }
    }

    /// An ACK brought an RTT sample.
    #[inline]
    pub(crate) fn rtt(&mut self, now: Time, index: u32, flow: &Flow, sample: Span) {
        self.flows[flow.meter as usize].rtt(sample);
        if self.counts {
            self.count_ack(now, index, flow);
        }
    }

    /// Takes the rows that are due at this ACK.
    #[inline(never)]
    fn count_ack(&mut self, now: Time, index: u32, flow: &Flow) {
        let due = |rows: &mut Option<AckRows>| rows.as_mut().is_some_and(|rows| rows.take(index as usize));
        if due(&mut self.series) {
            self.sample_flow(now, index, flow);
        }
        if due(&mut self.probes) {
            self.sample_probes(now, index, flow);
        }
    }

    pub(crate) fn sample_flow(&mut self, now: Time, index: u32, flow: &Flow) {
        let Some(connection) = &flow.connection else { return };
        let (window, threshold) = connection.window();
        let times = connection.round_trip_times();
        let rtt = |i: usize| times.map_or(f64::NAN, |t: [Span; 3]| milliseconds(t[i]));
        let counters = connection.counters();
        self.tables.flow_series.push(FlowSample {
            time_s: seconds(now),
            flow: index,
            window_segments: window,
            threshold_segments: threshold,
            in_flight_segments: connection.in_flight(),
            latest_rtt_ms: rtt(0),
            smoothed_rtt_ms: rtt(1),
            min_rtt_ms: rtt(2),
            delivered_bytes: connection.delivered_bytes(),
            arrived_packets: self.flows[flow.meter as usize].counters.arrived_packets,
            sent_packets: counters.sent,
            retransmitted_packets: counters.retransmitted,
            pacing_rate_bps: connection.pacing_rate().map_or(f64::NAN, |r| r.bits_per_second() as f64),
            state: connection.state(),
        });
    }

    pub(crate) fn sample_probes(&mut self, now: Time, index: u32, flow: &Flow) {
        if let Some(connection) = &flow.connection {
            connection.probe(&mut ProbeRows { probes: &mut self.tables.probes, at: now, flow: index });
        }
    }

    /// Brings the counters of `flow` up to date.
    fn count(&mut self, flow: &Flow) {
        let Some(connection) = &flow.connection else { return };
        let sent = connection.counters();
        let counters = &mut self.flows[flow.meter as usize].counters;
        counters.delivered_bytes = connection.delivered_bytes();
        counters.data_packets = sent.sent;
        counters.retransmitted_packets = sent.retransmitted;
        counters.lost_packets = sent.lost;
        counters.timeouts = sent.timeouts;
        counters.recoveries = sent.recoveries;
        counters.spurious = sent.spurious;
    }

    /// The measured interval starts here.
    pub(crate) fn restart(&mut self, now: Time, plan: &Plan, drawn: &[DrawnFlow], flows: &[CacheAligned<Flow>]) {
        for flow in flows.iter().filter(|flow| flow.connection.is_some()) {
            self.count(flow);
            self.flows[flow.meter as usize].restart(now);
        }
        let mut nothing = FlowMeter::new();
        nothing.restart(now);
        for row in &mut self.left {
            let index = row.flow as usize;
            *row = flow_row(&nothing, plan, row.flow, &drawn[index], lifetime(&flows[index]));
        }
    }

    /// `flow` gives up its ends: what it did is known, and its meter is free for another.
    pub(crate) fn retire(&mut self, plan: &Plan, index: u32, drawn: &DrawnFlow, flow: &mut Flow) {
        self.count(flow);
        let meter = std::mem::replace(&mut flow.meter, NO_METER);
        let own = std::mem::take(&mut *self.flows[meter as usize]);
        self.left.push(flow_row(&own, plan, index, drawn, lifetime(flow)));
        self.left_sent += own.counters.data_packets;
        self.free.push(meter);
    }

    /// Data packets that the flows sent in the whole run.
    pub(crate) fn data_packets(&self, flows: &[CacheAligned<Flow>]) -> u64 {
        flows
            .iter()
            .filter_map(|flow| flow.connection.as_ref())
            .map(|connection| connection.counters().sent)
            .sum::<u64>()
            + self.left_sent
    }

    /// The tables, when the run ends.
    pub(crate) fn finish(mut self, plan: &Plan, drawn: &[DrawnFlow], flows: &[CacheAligned<Flow>]) -> Tables {
        self.tables.flows = std::mem::take(&mut self.left);
        for (index, (flow, drawn)) in flows.iter().zip(drawn).enumerate() {
            if flow.connection.is_some() {
                self.count(flow);
                let meter = &self.flows[flow.meter as usize];
                self.tables.flows.push(flow_row(meter, plan, index as u32, drawn, lifetime(flow)));
            }
        }
        self.tables.flows.sort_unstable_by_key(|row| row.flow);
        // A link that is looked at late reports what it dropped at the head of its queue late.
        self.tables.events.sort_by_time();
        self.tables
    }
}

/// When `flow` was there.
fn lifetime(flow: &Flow) -> Lifetime {
    Lifetime { start: flow.start, stop: flow.stop, completed: flow.completed }
}

struct ProbeRows<'a> {
    probes: &'a mut Probes,
    at: Time,
    flow: u32,
}

impl Probe for ProbeRows<'_> {
    fn value(&mut self, name: &'static str, value: f64) {
        self.probes.push(self.at, self.flow, name, value);
    }
}

/// Writes a sender's events as rows.
pub(crate) struct FlowJournal<'a> {
    recorder: &'a mut Recorder,
    at: Time,
    flow: u32,
}

impl Journal for FlowJournal<'_> {
    fn note(&mut self, event: Event) {
        let (kind, sequence, value) = match event {
            Event::DeemedLost { sequence, rtt, .. } => (EventKind::DeemedLost, Some(sequence), Some(milliseconds(rtt))),
            Event::Retransmission { sequence } => (EventKind::Retransmission, Some(sequence), None),
            Event::LossEvent { window } => (EventKind::LossEvent, None, Some(window)),
            Event::Recovered => (EventKind::Recovered, None, None),
            Event::Timeout { window } => (EventKind::Timeout, None, Some(window)),
            Event::TailLossProbe { sequence } => (EventKind::TailLossProbe, Some(sequence), None),
            Event::Spurious => (EventKind::Spurious, None, None),
            Event::CongestionEcho { window } => (EventKind::Ecn, None, Some(window)),
        };
        self.recorder.event(self.at, kind, self.flow, None, sequence, value);
    }
}
