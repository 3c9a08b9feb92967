//! The records of a run: meters, samples, events.

use control::Probe;
use engine::{AckRows, Lifetime, flow_row};
use record::{EventKind, FlowCounters, FlowMeter, FlowRow, FlowSample, Probes, Tables, milliseconds, seconds};
use scenario::{DrawnFlow, Plan};
use transport::{Event, Journal};
use units::{Span, Time};

use crate::cache_aligned::CacheAligned;
use crate::flow::{ReceiverHalf, SenderHalf};

/// Everything a run records.
pub(crate) struct Recorder {
    pub(crate) tables: Tables,
    /// Data packets of each flow that were dropped or lost, of those sent in the measured interval.
    pub(crate) dropped: Vec<u64>,
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

impl Recorder {
    pub(crate) fn new(plan: &Plan, drawn: &[DrawnFlow]) -> Self {
        let rows = |sampling| AckRows::new(sampling, drawn.len());
        let (series, probes) = (rows(plan.record.flow_series), rows(plan.record.probes));
        Self {
            tables: Tables::default(),
            dropped: vec![0; drawn.len()],
            left: Vec::new(),
            left_sent: 0,
            events: plan.record.events,
            datagrams: plan.record.datagrams,
            counts: series.is_some() || probes.is_some(),
            series,
            probes,
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

    /// An ACK of a flow brought an RTT sample.
    #[inline]
    pub(crate) fn on_sample(&mut self, now: Time, index: u32, sender: &SenderHalf, receiver: &ReceiverHalf) {
        if self.counts {
            self.count_ack(now, index, sender, receiver);
        }
    }

    /// Takes the rows that are due at this ACK.
    #[inline(never)]
    fn count_ack(&mut self, now: Time, index: u32, sender: &SenderHalf, receiver: &ReceiverHalf) {
        let due = |rows: &mut Option<AckRows>| rows.as_mut().is_some_and(|rows| rows.take(index as usize));
        if due(&mut self.series) {
            self.sample_flow(now, index, sender, receiver);
        }
        if due(&mut self.probes) {
            self.sample_probes(now, index, sender);
        }
    }

    pub(crate) fn sample_flow(&mut self, now: Time, index: u32, sender: &SenderHalf, receiver: &ReceiverHalf) {
        let (Some(sending), Some(receiving)) = (&sender.end, &receiver.end) else { return };
        let (window, threshold) = sending.window();
        let times = sending.round_trip_times();
        let rtt = |i: usize| times.map_or(f64::NAN, |t: [Span; 3]| milliseconds(t[i]));
        let counters = sending.counters();
        self.tables.flow_series.push(FlowSample {
            time_s: seconds(now),
            flow: index,
            window_segments: window,
            threshold_segments: threshold,
            in_flight_segments: sending.in_flight(),
            latest_rtt_ms: rtt(0),
            smoothed_rtt_ms: rtt(1),
            min_rtt_ms: rtt(2),
            delivered_bytes: receiving.delivered_bytes(),
            arrived_packets: receiver.arrived_packets,
            sent_packets: counters.sent,
            retransmitted_packets: counters.retransmitted,
            pacing_rate_bps: sending.pacing_rate().map_or(f64::NAN, |r| r.bits_per_second() as f64),
            state: sending.state(),
        });
    }

    pub(crate) fn sample_probes(&mut self, now: Time, index: u32, sender: &SenderHalf) {
        if let Some(sending) = &sender.end {
            sending.probe(&mut ProbeRows { probes: &mut self.tables.probes, at: now, flow: index });
        }
    }

    /// The measured interval starts here.
    pub(crate) fn restart(
        &mut self,
        now: Time,
        plan: &Plan,
        drawn: &[DrawnFlow],
        senders: &mut [CacheAligned<SenderHalf>],
        receivers: &[CacheAligned<ReceiverHalf>],
    ) {
        for (index, (sender, receiver)) in senders.iter_mut().zip(receivers).enumerate() {
            if let Some(meter) = self.metered(index, sender, receiver) {
                meter.restart(now);
            }
        }
        let mut nothing = FlowMeter::new();
        nothing.restart(now);
        for row in &mut self.left {
            let index = row.flow as usize;
            let lifetime = lifetime(&senders[index], &receivers[index]);
            *row = flow_row(&nothing, plan, row.flow, &drawn[index], lifetime);
        }
    }

    /// The meter of flow `index`, its counters up to date; `None` if it has no ends.
    fn metered<'a>(
        &self,
        index: usize,
        sender: &'a mut SenderHalf,
        receiver: &ReceiverHalf,
    ) -> Option<&'a mut FlowMeter> {
        let (sending, receiving) = (sender.end.as_mut()?, receiver.end.as_ref()?);
        let sent = sending.counters();
        let meter = sending.meter();
        meter.counters = FlowCounters {
            delivered_bytes: receiving.delivered_bytes(),
            arrived_packets: receiver.arrived_packets,
            arrived_bytes: receiver.arrived_bytes,
            marked_packets: u64::from(receiver.marked_packets),
            data_packets: sent.sent,
            retransmitted_packets: sent.retransmitted,
            lost_packets: sent.lost,
            dropped_packets: self.dropped[index],
            timeouts: sent.timeouts,
            recoveries: sent.recoveries,
            spurious: sent.spurious,
        };
        Some(meter)
    }

    /// Flow `index` is about to give up its ends: what it did is known.
    pub(crate) fn retire(
        &mut self,
        plan: &Plan,
        index: u32,
        drawn: &DrawnFlow,
        sender: &mut SenderHalf,
        receiver: &ReceiverHalf,
    ) {
        let lifetime = lifetime(sender, receiver);
        let Some(meter) = self.metered(index as usize, sender, receiver) else { return };
        let sent = meter.counters.data_packets;
        let row = flow_row(meter, plan, index, drawn, lifetime);
        self.left.push(row);
        self.left_sent += sent;
    }

    /// Data packets that the flows sent in the whole run.
    pub(crate) fn data_packets(&self, senders: &[CacheAligned<SenderHalf>]) -> u64 {
        let ends = senders.iter().filter_map(|sender| sender.end.as_ref());
        ends.map(|end| end.counters().sent).sum::<u64>() + self.left_sent
    }

    /// The tables, when the run ends.
    pub(crate) fn finish(
        mut self,
        plan: &Plan,
        drawn: &[DrawnFlow],
        senders: &mut [CacheAligned<SenderHalf>],
        receivers: &[CacheAligned<ReceiverHalf>],
    ) -> Tables {
        self.tables.flows = std::mem::take(&mut self.left);
        for (index, ((sender, receiver), drawn)) in senders.iter_mut().zip(receivers).zip(drawn).enumerate() {
            let lifetime = lifetime(sender, receiver);
            if let Some(meter) = self.metered(index, sender, receiver) {
                let row = flow_row(meter, plan, index as u32, drawn, lifetime);
                self.tables.flows.push(row);
            }
        }
        self.tables.flows.sort_unstable_by_key(|row| row.flow);
        // A link that is looked at late reports what it dropped at the head of its queue late.
        self.tables.events.sort_by_time();
        self.tables
    }
}

/// When a flow was there.
fn lifetime(sender: &SenderHalf, receiver: &ReceiverHalf) -> Lifetime {
    let completed = receiver.is_complete().then_some(receiver.completed);
    Lifetime { start: sender.start, stop: sender.stop, completed }
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
