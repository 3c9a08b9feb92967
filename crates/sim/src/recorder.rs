//! What the world writes down: meters, samples, events.

use control::Probe;
use record::{
    EventKind, FlowDescription, FlowMeter, FlowSample, LinkMeter, LinkSample, Probes, Tables, milliseconds, seconds,
};
use scenario::{Plan, Sampling};
use transport::{Event, Journal};
use units::{Span, Time};

use crate::flow::Flow;

/// Everything a run records.
pub(crate) struct Recorder {
    pub(crate) tables: Tables,
    pub(crate) links: Vec<LinkMeter>,
    pub(crate) flows: Vec<FlowMeter>,
    pub(crate) events: bool,
    /// ACKs with a sample until the next row, per flow, where rows are counted in ACKs.
    series_every: u32,
    probes_every: u32,
    acks: Vec<u64>,
}

/// Rows are due at every so-manieth ACK: this many, or never.
fn every_acks(sampling: Sampling) -> u32 {
    match sampling {
        Sampling::Acks(n) => n,
        Sampling::Off | Sampling::Every(_) => 0,
    }
}

impl Recorder {
    pub(crate) fn new(plan: &Plan) -> Self {
        let (series_every, probes_every) = (every_acks(plan.record.flow_series), every_acks(plan.record.probes));
        let counts = series_every > 0 || probes_every > 0;
        let mut tables = Tables::default();
        if let Sampling::Every(span) = plan.record.flow_series {
            let rows = |life: Span| (life.as_nanos() / span.as_nanos()) as usize + 1;
            tables.flow_series.reserve(plan.flows.iter().map(|f| rows(f.stop.since(f.start))).sum());
        }
        Self {
            tables,
            links: plan.links.iter().map(|_| LinkMeter::new()).collect(),
            flows: plan.flows.iter().map(|_| FlowMeter::new()).collect(),
            events: plan.record.events,
            series_every,
            probes_every,
            acks: if counts { vec![0; plan.flows.len()] } else { Vec::new() },
        }
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
        self.flows[index as usize].rtt(sample);
        if self.acks.is_empty() {
            return;
        }
        let count = self.acks[index as usize];
        self.acks[index as usize] = count + 1;
        if self.series_every > 0 && count.is_multiple_of(u64::from(self.series_every)) {
            self.sample_flow(now, index, flow);
        }
        if self.probes_every > 0 && count.is_multiple_of(u64::from(self.probes_every)) {
            self.sample_probes(now, index, flow);
        }
    }

    pub(crate) fn sample_flow(&mut self, now: Time, index: u32, flow: &Flow) {
        let controller = flow.ends.controller();
        let threshold = controller.slow_start_threshold();
        let times = flow.ends.round_trip_times();
        let rtt = |i: usize| times.map_or(f64::NAN, |t: [Span; 3]| milliseconds(t[i]));
        let counters = flow.ends.counters();
        self.tables.flow_series.push(FlowSample {
            time_s: seconds(now),
            flow: index,
            window_segments: controller.window(),
            threshold_segments: threshold,
            in_flight_segments: flow.ends.in_flight(),
            latest_rtt_ms: rtt(0),
            smoothed_rtt_ms: rtt(1),
            min_rtt_ms: rtt(2),
            delivered_bytes: flow.ends.delivered_bytes(),
            sent_packets: counters.sent,
            retransmitted_packets: counters.retransmitted,
            pacing_rate_bps: controller.pacing_rate().map_or(f64::NAN, |r| r.bits_per_second() as f64),
            state: flow.ends.state(),
        });
    }

    pub(crate) fn sample_probes(&mut self, now: Time, index: u32, flow: &Flow) {
        flow.ends.probe(&mut ProbeRows { probes: &mut self.tables.probes, at: now, flow: index });
    }

    pub(crate) fn sample_link(&mut self, now: Time, index: u32, queue_packets: u32, queue_bytes: u64) {
        let counters = self.links[index as usize].counters_at(now);
        self.tables.link_series.push(LinkSample {
            time_s: seconds(now),
            link: index,
            queue_packets,
            queue_bytes,
            departed_bytes: counters.departed_bytes,
            dropped_packets: counters.dropped_packets,
            lost_packets: counters.lost_packets,
            marked_packets: counters.marked_packets,
        });
    }

    /// Brings the counters of flow `index` up to date.
    pub(crate) fn count(&mut self, index: usize, flow: &Flow) {
        let sent = flow.ends.counters();
        let counters = &mut self.flows[index].counters;
        counters.delivered_bytes = flow.ends.delivered_bytes();
        counters.data_packets = sent.sent;
        counters.retransmitted_packets = sent.retransmitted;
        counters.lost_packets = sent.lost;
        counters.timeouts = sent.timeouts;
        counters.recoveries = sent.recoveries;
        counters.spurious = sent.spurious;
    }

    /// The tables, when the run ends at `end`.
    pub(crate) fn finish(mut self, end: Time, plan: &Plan, flows: &[Flow]) -> Tables {
        for (index, (flow, planned)) in flows.iter().zip(&plan.flows).enumerate() {
            self.count(index, flow);
            let description = FlowDescription {
                flow: index as u32,
                name: &planned.name,
                cc: &planned.cc,
                profile: &planned.profile,
                start: flow.start,
                stop: flow.completed.unwrap_or(flow.stop).min(end),
                base_rtt: planned.base_rtt,
                completion: flow.completed.map(|at| at.since(flow.start)),
            };
            self.tables.flows.push(self.flows[index].finish(end, description));
        }
        for (index, (meter, planned)) in self.links.iter_mut().zip(&plan.links).enumerate() {
            self.tables.links.push(meter.finish(end, index as u32, &planned.name, planned.rate));
        }
        self.tables
    }
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
