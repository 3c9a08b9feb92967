//! The records of a run: meters, samples, events.

use std::sync::Arc;

use engine::{DueAtAcks, ProbeRows, flow_event, flow_row, sender_event, video_frames};
use record::{
    EventKind, EventRow, FlowCounters, FlowMeter, FlowRow, FlowSample, Lifetime, Tables, milliseconds, seconds,
};
use scenario::{DrawnFlow, FlowSettings, Plan};
use transport::{Event, Journal};
use units::{Span, Time};

use crate::cache_aligned::CacheAligned;
use crate::flow::{ReceiverHalf, SenderHalf, SendingEnd};

/// Halves of flows that give their memory back together.
const HALVES: usize = 1 << 16;

/// Where a row belongs among those of all partitions: by what happened at which time, and after how many packets of
/// the same end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Stamp {
    pub(crate) at: Time,
    pub(crate) rank: u32,
    pub(crate) number: u64,
}

/// How a flow opened at its receiver.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OpeningRecord {
    /// When its first data arrived, of TCP, or [`Time::NEVER`] before.
    pub(crate) first_arrival: Time,
    /// SYN-ACKs that left.
    pub(crate) syn_acks: u32,
}

impl Default for OpeningRecord {
    fn default() -> Self {
        Self { first_arrival: Time::NEVER, syn_acks: 0 }
    }
}

/// Everything that a partition records.
pub(crate) struct Recorder {
    pub(crate) tables: Tables,
    /// Data packets of each flow that were dropped or lost, of those sent in the measured interval.
    pub(crate) dropped: Vec<u64>,
    /// How each flow opened at its receiver.
    pub(crate) openings: Vec<OpeningRecord>,
    /// The rows of flows that gave up their ends, and the data packets that these sent.
    left: Vec<FlowRow>,
    left_sent: u64,
    pub(crate) events: bool,
    pub(crate) datagrams: bool,
    /// What happens now.
    pub(crate) stamp: Stamp,
    /// In one partition of several, the rows of events that have yet to be put in order with those of others.
    pub(crate) stamped: Option<Vec<(Stamp, EventRow)>>,
    /// Rows at every n-th ACK that brings an RTT sample.
    at_acks: DueAtAcks,
    /// The settings of each flow, with the delays on its way.
    paths: Vec<Arc<FlowSettings>>,
}

impl Recorder {
    /// The recorder of the flows `drawn`, that of the links and that of the receivers for so many of them.
    pub(crate) fn new(plan: &Plan, drawn: &[DrawnFlow], at_links: usize, at_receivers: usize) -> Self {
        Self {
            tables: Tables::default(),
            dropped: vec![0; at_links],
            openings: vec![OpeningRecord::default(); at_receivers],
            left: Vec::new(),
            left_sent: 0,
            events: plan.record.events,
            datagrams: plan.record.datagrams,
            stamp: Stamp::default(),
            stamped: None,
            at_acks: DueAtAcks::new(&plan.record, drawn.len()),
            paths: drawn.iter().map(|flow| Arc::clone(&plan.flows[flow.of].settings)).collect(),
        }
    }

    /// A flow starts, stops or completes.
    pub(crate) fn event(&mut self, at: Time, kind: EventKind, flow: u32) {
        self.note(flow_event(at, flow, kind));
    }

    /// A row for the table of events.
    pub(crate) fn note(&mut self, row: EventRow) {
        match &mut self.stamped {
            _ if !self.events => {}
            Some(stamped) => stamped.push((self.stamp, row)),
            None => self.tables.events.push(row),
        }
    }

    /// A sender's journal for one event.
    pub(crate) fn journal(&mut self, at: Time, flow: u32) -> FlowJournal<'_> {
        FlowJournal { recorder: self, at, flow }
    }

    /// An ACK of a flow brought an RTT sample.
    #[inline]
    pub(crate) fn on_sample(
        &mut self,
        now: Time,
        index: u32,
        sender: &SenderHalf<'_>,
        receivers: &[CacheAligned<ReceiverHalf>],
    ) {
        if self.at_acks.any() {
            self.count_ack(now, index, sender, receivers);
        }
    }

    /// Takes the rows that are due at this ACK.
    #[inline(never)]
    fn count_ack(&mut self, now: Time, index: u32, sender: &SenderHalf<'_>, receivers: &[CacheAligned<ReceiverHalf>]) {
        let (series, probes) = self.at_acks.take(index as usize);
        if series {
            self.sample_flow(now, index, sender, &receivers[index as usize]);
        }
        if probes {
            self.sample_probes(now, index, sender);
        }
    }

    pub(crate) fn sample_flow(&mut self, now: Time, index: u32, sender: &SenderHalf<'_>, receiver: &ReceiverHalf) {
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
            base_rtt_ms: milliseconds(self.paths[index as usize].base_rtt_at(now)),
            delivered_bytes: receiving.delivered_bytes(),
            arrived_packets: receiver.arrived_packets,
            arrived_bytes: receiver.arrived_bytes,
            sent_packets: counters.data_packets,
            retransmitted_packets: counters.retransmitted_packets,
            pacing_rate_bps: sending.pacing_rate().map_or(f64::NAN, |r| r.bits_per_second() as f64),
            state: sending.state(),
        });
    }

    pub(crate) fn sample_probes(&mut self, now: Time, index: u32, sender: &SenderHalf<'_>) {
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
        Halves { senders, receivers, dropped }: Halves<'_, '_>,
    ) {
        for ((sender, receiver), &dropped) in senders.iter_mut().zip(receivers).zip(dropped) {
            if let Some((meter, counters)) = measured(now, sender, receiver, dropped) {
                meter.restart(now, counters);
            }
        }
        let mut nothing = FlowMeter::new();
        nothing.restart(now, FlowCounters::default());
        for row in &mut self.left {
            let index = row.flow as usize;
            let lifetime = lifetime(&senders[index], &receivers[index], self.openings[index]);
            let measured = (&nothing, &FlowCounters::default());
            *row = flow_row(measured, plan, row.flow, &drawn[index], lifetime);
        }
    }

    /// Flow `index` is about to give up its ends: what it did is known.
    pub(crate) fn retire(
        &mut self,
        now: Time,
        plan: &Plan,
        (index, drawn): (u32, &DrawnFlow),
        sender: &mut SenderHalf<'_>,
        receiver: &ReceiverHalf,
    ) {
        let lifetime = lifetime(sender, receiver, self.openings[index as usize]);
        let Some((meter, counters)) = measured(now, sender, receiver, self.dropped[index as usize]) else { return };
        self.left.push(flow_row((meter, &counters), plan, index, drawn, lifetime));
        self.left_sent += counters.sender.data_packets;
    }

    /// Data packets that the flows sent in the whole run.
    pub(crate) fn data_packets(&self, senders: &[CacheAligned<SenderHalf<'_>>]) -> u64 {
        let ends = senders.iter().filter_map(|sender| sender.end.as_ref());
        ends.map(|end| end.counters().data_packets).sum::<u64>() + self.left_sent
    }

    /// The tables, when the run ends.
    pub(crate) fn finish(
        &mut self,
        plan: &Plan,
        drawn: &[DrawnFlow],
        (mut senders, mut receivers): (Vec<CacheAligned<SenderHalf<'_>>>, Vec<CacheAligned<ReceiverHalf>>),
        (dropped, openings): (Vec<u64>, Vec<OpeningRecord>),
    ) -> Tables {
        if self.datagrams {
            (0..).zip(senders.iter().zip(&receivers)).for_each(|(flow, halves)| self.note_frames(flow, halves));
        }
        self.tables.flows = std::mem::take(&mut self.left);
        self.tables.flows.reserve_exact(senders.len() - self.tables.flows.len());
        // Each flow ends here: the names in the next rows take its memory. Of many flows the halves, from the last on,
        // make room for rows.
        while let (Some(mut sender), Some(receiver)) = (senders.pop(), receivers.pop()) {
            let index = senders.len();
            let lifetime = lifetime(&sender, &receiver, openings[index]);
            let end = Time::ZERO + plan.duration;
            if let Some((meter, counters)) = measured(end, &mut sender, &receiver, dropped[index]) {
                let row = flow_row((meter, &counters), plan, index as u32, &drawn[index], lifetime);
                self.tables.flows.push(row);
            }
            if index.is_multiple_of(HALVES) {
                senders.shrink_to_fit();
                receivers.shrink_to_fit();
            }
        }
        self.tables.flows.sort_unstable_by_key(|row| row.flow);
        // A link that is looked at late reports what it dropped at the head of its queue late.
        self.tables.events.sort_by_time();
        std::mem::take(&mut self.tables)
    }
}

impl Recorder {
    /// Notes the frames of video of flow `flow`, of which these are the ends.
    fn note_frames(
        &mut self,
        flow: u32,
        (sender, receiver): (&CacheAligned<SenderHalf<'_>>, &CacheAligned<ReceiverHalf>),
    ) {
        let (Some(sending), Some(receiving)) = (&sender.end, &receiver.end) else { return };
        video_frames(flow, sending.frames(), receiving.frames(), &mut self.tables.video_frames);
    }
}

/// The halves of all flows, and how many of their data packets were dropped or lost.
pub(crate) struct Halves<'h, 'a> {
    pub(crate) senders: &'h mut [CacheAligned<SenderHalf<'a>>],
    pub(crate) receivers: &'h [CacheAligned<ReceiverHalf>],
    pub(crate) dropped: &'h [u64],
}

/// The meter of a flow, and its counters until `now`, or `None` if it has no ends.
fn measured<'h>(
    now: Time,
    sender: &'h mut SenderHalf<'_>,
    receiver: &ReceiverHalf,
    dropped: u64,
) -> Option<(&'h mut FlowMeter, FlowCounters)> {
    let (sending, receiving) = (sender.end.as_mut()?, receiver.end.as_ref()?);
    let counters = FlowCounters {
        delivered_bytes: receiving.delivered_bytes(),
        arrived_packets: receiver.arrived_packets,
        arrived_bytes: receiver.arrived_bytes,
        marked_packets: u64::from(receiver.marked_packets),
        dropped_packets: dropped,
        // A flow that was stopped waits for nothing more.
        sender: sending.counters_until(now.min(sender.stop)),
    };
    Some((sending.meter(), counters))
}

/// When a flow was there that opened so at its receiver.
fn lifetime(sender: &SenderHalf<'_>, receiver: &ReceiverHalf, opening: OpeningRecord) -> Lifetime {
    let known = |at: Time| (at != Time::NEVER).then_some(at);
    Lifetime {
        start: sender.start,
        stop: sender.stop,
        completed: known(receiver.completed),
        opened: known(sender.opened),
        first_arrival: known(opening.first_arrival),
        syn_retransmissions: sender
            .end
            .as_ref()
            .and_then(SendingEnd::syn_retransmissions)
            .unwrap_or(sender.syn_retransmissions),
        syn_ack_retransmissions: opening.syn_acks.saturating_sub(1),
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
        self.recorder.note(sender_event(self.at, self.flow, event));
    }
}
