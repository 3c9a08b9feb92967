//! Series and events: a row for each sample or event, stored column by column.

use units::Time;

use crate::Series;
use crate::seconds;
use crate::table::{Column, Data, columns, kinds};

kinds! {
    /// The state of a flow's sender.
    pub enum FlowState {
        /// No duplicate ACK, loss or mark is being handled.
        Open = "open",
        /// Duplicate ACKs or SACKs arrived, nothing is deemed lost yet.
        Disorder = "disorder",
        /// Fast recovery.
        Recovery = "recovery",
        /// Repair after a retransmission timeout.
        Loss = "loss",
        /// The window was reduced for congestion marks.
        Reduced = "reduced",
    }
}

kinds! {
    /// What happened.
    pub enum EventKind {
        /// A flow started.
        Start = "start",
        /// A flow stopped at its time.
        Stop = "stop",
        /// A flow delivered its last byte.
        Complete = "complete",
        /// A queue dropped a packet, one that arrived or one that waited. The value is the number of packets
        /// waiting then.
        Drop = "drop",
        /// An impairment lost a packet.
        Lost = "lost",
        /// A queue marked a packet.
        Mark = "mark",
        /// The sender deems a segment lost. The value is the latest round-trip time in milliseconds.
        DeemedLost = "deemed-lost",
        /// A segment was sent again.
        Retransmission = "retransmission",
        /// The controller was notified of a loss. The value is its window before, in segments.
        LossEvent = "loss-event",
        /// Recovery ended.
        Recovered = "recovered",
        /// The retransmission timer expired. The value is the window before, in segments.
        Timeout = "timeout",
        /// A tail loss probe was sent.
        TailLossProbe = "tail-loss-probe",
        /// A reduction turned out to be spurious.
        Spurious = "spurious",
        /// The controller was notified of congestion marks.
        Ecn = "ecn",
        /// A circuit breaker stopped the flow. The value is the number of the condition in RFC 8083.
        CircuitBreaker = "circuit-breaker",
    }
}

columns! {
    /// A datagram that arrived.
    row DatagramRow;
    /// Datagrams, in the order of their arrival.
    pub columns Datagrams;
    /// When it was sent.
    sent_s: f64 => F64 in "s";
    /// Row of the flow in `flows`.
    flow: u32 => U32;
    /// Its number within the flow, from 0. Missing ones were lost.
    sequence: u64 => U64;
    /// When its last bit arrived.
    arrived_s: f64 => F64 in "s";
}

columns! {
    /// A frame of video.
    row VideoFrameRow;
    /// Frames of video, by flow and number.
    pub columns VideoFrames;
    /// When it was captured, and left the encoder.
    captured_s: f64 => F64 in "s";
    /// Row of the flow in `flows`.
    flow: u32 => U32;
    /// Its number within the flow, from 0.
    frame: u32 => U32;
    /// Its size, without headers and packets that repair it.
    bytes: u32 => U32 in "bytes";
    /// It can be decoded without others.
    is_key: bool => Bool;
    /// When enough of its packets had arrived; null if never.
    complete_s: f64 => NullableF64 in "s";
    /// When the jitter buffer showed it; null if it was never complete, or not decodable.
    shown_s: f64 => NullableF64 in "s";
}

columns! {
    packed;
    /// The state of a flow at a sampling time.
    row FlowSample;
    /// Samples of the flows, in the order of time.
    pub columns FlowSeries;
    /// Sampling time.
    time_s: f64 => F64 in "s";
    /// Row of the flow in `flows`.
    flow: u32 => U32;
    /// Congestion window.
    window_segments: f64 => F64 in "segments";
    /// Slow-start threshold; null while infinite.
    threshold_segments: f64 => NullableF64 in "segments";
    /// Segments in flight (pipe, RFC 6675).
    in_flight_segments: u32 => U32 in "segments";
    /// Latest round-trip time; null before the first sample.
    latest_rtt_ms: f64 => NullableF64 in "ms";
    /// Smoothed round-trip time (RFC 6298); null before the first sample.
    smoothed_rtt_ms: f64 => NullableF64 in "ms";
    /// Smallest round-trip time; null before the first sample.
    min_rtt_ms: f64 => NullableF64 in "ms";
    /// Propagation there and back of a packet that is acknowledged now, without serialisation, queueing and jitter.
    base_rtt_ms: f64 => F64 in "ms";
    /// Application bytes delivered in order to the receiver since the start.
    delivered_bytes: u64 => U64 in "bytes";
    /// Data packets that reached the receiver since the start, duplicates included.
    arrived_packets: u64 => U64 in "packets";
    /// IP bytes of these packets, until the flow was complete.
    arrived_bytes: u64 => U64 in "bytes";
    /// Data packets sent since the start, retransmissions included.
    sent_packets: u64 => U64 in "packets";
    /// Retransmitted packets since the start.
    retransmitted_packets: u64 => U64 in "packets";
    /// Pacing rate; null without pacing.
    pacing_rate_bps: f64 => NullableF64 in "bit/s";
    /// The state of the sender: `open`, `disorder`, `recovery`, `loss` or `reduced`.
    state: FlowState => Dict;
}

columns! {
    /// The state of a link direction at a sampling time; counts since the start of the run.
    row LinkSample;
    /// Samples of the links, in the order of time.
    pub columns LinkSeries;
    /// Sampling time.
    time_s: f64 => F64 in "s";
    /// Row of the link direction in `links`.
    link: u32 => U32;
    /// Waiting packets, the one in service not counted.
    queue_packets: u32 => U32 in "packets";
    /// Waiting bytes, the packet in service not counted.
    queue_bytes: u64 => U64 in "bytes";
    /// IP bytes whose last bit has left.
    departed_bytes: u64 => U64 in "bytes";
    /// IP bytes that could have left; null if unlimited.
    capacity_bytes: f64 => NullableF64 in "bytes";
    /// Packets dropped by the queue.
    dropped_packets: u64 => U64 in "packets";
    /// Packets lost by an impairment.
    lost_packets: u64 => U64 in "packets";
    /// Packets marked.
    marked_packets: u64 => U64 in "packets";
}

columns! {
    packed;
    /// Something that happened.
    row EventRow;
    /// Events in the order of time.
    pub columns Events;
    /// Time of the event.
    time_s: f64 => F64 in "s";
    /// Its kind, see below.
    kind: EventKind => Dict;
    /// Row of the flow in `flows`.
    flow: u32 => U32;
    /// Row of the link direction in `links`; null for events of an endpoint.
    link: u32 => NullableU32;
    /// Number of the segment; null if the event is not of a segment.
    sequence: u64 => NullableU64;
    /// The value that the kind defines; null for most.
    value: f64 => NullableF64;
}

impl Series<Events> {
    /// Appends an event of `flow` at one of its endpoints or at `link`.
    #[inline]
    pub fn record(
        &mut self,
        at: Time,
        kind: EventKind,
        flow: u32,
        link: Option<u32>,
        sequence: Option<u64>,
        value: Option<f64>,
    ) {
        self.push(EventRow {
            time_s: seconds(at),
            kind,
            flow,
            link: link.unwrap_or(u32::MAX),
            sequence: sequence.unwrap_or(u64::MAX),
            value: value.unwrap_or(f64::NAN),
        });
    }

    /// Puts the events in the order of time, and events of one instant in the order in which they were appended.
    pub fn sort_by_time(&mut self) {
        let mut last = f64::NEG_INFINITY;
        let out_of_order = self.any_piece(|piece| {
            let before = last;
            last = piece.time_s.last().copied().unwrap_or(before);
            !piece.time_s.is_sorted() || piece.time_s.first().is_some_and(|&first| first < before)
        });
        if !out_of_order {
            return;
        }
        let events = std::mem::take(self).into_columns();
        let mut order: Vec<usize> = (0..events.time_s.len()).collect();
        order.sort_by(|&a, &b| events.time_s[a].total_cmp(&events.time_s[b]));
        for row in order {
            self.push(EventRow {
                time_s: events.time_s[row],
                kind: events.kind[row],
                flow: events.flow[row],
                link: events.link[row],
                sequence: events.sequence[row],
                value: events.value[row],
            });
        }
    }
}

/// Named internals of the controllers in long form: a row per flow, name and sampling time.
#[derive(Clone, Debug, Default)]
pub struct Probes {
    /// Sampling time, s.
    pub time_s: Vec<f64>,
    /// Index of the flow.
    pub flow: Vec<u32>,
    /// Index into [`Probes::names`].
    pub code: Vec<u16>,
    /// The value, in the unit that the controller documents.
    pub value: Vec<f64>,
    names: Vec<&'static str>,
    /// The index at which the next name is expected: a controller shows its internals in the same order every time.
    expected: usize,
}

impl Probes {
    /// Appends a row.
    pub fn push(&mut self, at: Time, flow: u32, name: &'static str, value: f64) {
        let code = self.code_of(name);
        self.time_s.push(seconds(at));
        self.flow.push(flow);
        self.code.push(code as u16);
        self.value.push(value);
        self.expected = code + 1;
    }

    /// The different names, in the order of their first appearance.
    pub fn names(&self) -> &[&'static str] {
        &self.names
    }

    fn code_of(&mut self, name: &'static str) -> usize {
        if self.names.get(self.expected).is_some_and(|known| *known == name) {
            return self.expected;
        }
        self.names.iter().position(|known| *known == name).unwrap_or_else(|| {
            self.names.push(name);
            self.names.len() - 1
        })
    }

    pub(crate) fn into_columns(self) -> Vec<Column> {
        let names = self.names.into_iter().map(str::to_owned).collect();
        vec![
            Column { name: "time_s", unit: Some("s"), meaning: "Time of the sample.", data: Data::F64(self.time_s) },
            Column { name: "flow", unit: None, meaning: "Row of the flow in `flows`.", data: Data::U32(self.flow) },
            Column {
                name: "name",
                unit: None,
                meaning: "Name of the probe.",
                data: Data::Dict { codes: self.code, names },
            },
            Column { name: "value", unit: None, meaning: "Its value.", data: Data::F64(self.value) },
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_without_link_segment_or_value_has_nulls_there() {
        let mut events = Series::<Events>::default();
        events.record(Time::from_nanos(1_500_000_000), EventKind::TailLossProbe, 2, None, None, None);
        events.record(Time::from_nanos(2_000_000_000), EventKind::Drop, 0, Some(1), Some(77), Some(84.0));
        let columns = events.into_columns().into_columns();
        assert_eq!(columns[0].data, Data::F64(vec![1.5, 2.0]));
        let Data::Dict { codes, names } = &columns[1].data else { panic!("{:?}", columns[1]) };
        assert_eq!(
            [names[usize::from(codes[0])].as_str(), names[usize::from(codes[1])].as_str()],
            ["tail-loss-probe", "drop"]
        );
        assert_eq!(columns[3].data, Data::NullableU32(vec![u32::MAX, 1]));
        assert_eq!(columns[4].data, Data::NullableU64(vec![u64::MAX, 77]));
        let Data::NullableF64(values) = &columns[5].data else { panic!("{:?}", columns[5]) };
        assert!(values[0].is_nan() && values[1] == 84.0);
    }

    #[test]
    fn events_sort_by_time_and_keep_their_order_within_an_instant() {
        let mut events = Series::<Events>::default();
        for (nanos, flow) in [(2_000_000_000, 0), (1_000_000_000, 1), (2_000_000_000, 2), (1_500_000_000, 3)] {
            events.record(Time::from_nanos(nanos), EventKind::Drop, flow, None, None, None);
        }
        events.sort_by_time();
        let events = events.into_columns();
        assert_eq!((events.time_s, events.flow), (vec![1.0, 1.5, 2.0, 2.0], vec![1, 3, 0, 2]));
    }

    #[test]
    fn the_last_variant_of_each_kind_has_the_last_name() {
        assert_eq!(FlowState::NAMES[FlowState::Reduced as usize], "reduced");
        assert_eq!(EventKind::NAMES[EventKind::Ecn as usize], "ecn");
        assert_eq!(EventKind::NAMES[EventKind::LossEvent as usize], "loss-event");
        assert_eq!(EventKind::NAMES[EventKind::Retransmission as usize], "retransmission");
    }

    #[test]
    fn probe_names_are_kept_once_whatever_their_order() {
        let mut probes = Probes::default();
        for name in ["alpha", "beta", "alpha", "beta", "queue", "alpha"] {
            probes.push(Time::ZERO, 0, name, 1.0);
        }
        assert_eq!(probes.names(), ["alpha", "beta", "queue"]);
        assert_eq!(probes.code, [0, 1, 0, 1, 2, 0]);
    }

    #[test]
    fn events_sort_by_time_across_the_pieces_in_which_they_are_held() {
        // Pieces of 1024 rows are each in order, but the last two begin before the first two end.
        let mut events = Series::<Events>::default();
        for flow in 0..4096u32 {
            let nanos = if flow < 2048 { 2_000_000_000 } else { 1_000_000_000 };
            events.record(Time::from_nanos(nanos), EventKind::Drop, flow, None, None, None);
        }
        events.sort_by_time();
        let events = events.into_columns();
        assert!(events.time_s.is_sorted());
        assert_eq!((events.flow[0], events.flow[2047], events.flow[2048]), (2048, 4095, 0));
    }
}
