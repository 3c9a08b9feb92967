//! Statistics of flows: counters, a meter for each flow, and the row it makes.

use units::{SenderCounters, Span, Time, counters};

use crate::table::{Column, columns};
use crate::{Samples, milliseconds, seconds};

counters! {
    /// Counts of the packets of a flow.
    pub struct FlowCounters {
        /// Application bytes delivered in order to the receiver.
        pub delivered_bytes: u64,
        /// Data packets that arrived at the receiver, duplicates included.
        pub arrived_packets: u64,
        /// IP bytes of the data packets that arrived at the receiver.
        pub arrived_bytes: u64,
        /// Data packets that arrived with a congestion mark.
        pub marked_packets: u64,
        /// Data packets dropped by a queue or lost by an impairment.
        pub dropped_packets: u64,
        /// Counters of the sender.
        pub sender: SenderCounters,
    }
}

columns! {
    /// Statistics of a flow over the measured interval.
    row FlowRow;
    /// Rows of flows.
    columns FlowColumns;
    /// Row number of the flow.
    flow: u32 => U32;
    /// Its name in the scenario. Of short flows each connection has a row: `<name>-0` and so on.
    name: String => Str;
    /// Its controller, as in the scenario: of a file the name without folders, of a class in Python the name of the
    /// class.
    cc: String => Str;
    /// Its profile, as in the scenario.
    profile: String => Str;
    /// When it started.
    start_s: f64 => F64 in "s";
    /// When it completed, was stopped, or the run ended.
    stop_s: f64 => F64 in "s";
    /// Propagation there and back at time 0, without serialisation, queueing and jitter.
    base_rtt_ms: f64 => F64 in "ms";
    /// How much of the measured interval it lived.
    measured_s: f64 => F64 in "s";
    /// Application bytes delivered in order to the receiver, over `measured_s`.
    goodput_bps: f64 => F64 in "bit/s";
    /// IP bytes of its data packets that reached the receiver, over `measured_s`.
    throughput_bps: f64 => F64 in "bit/s";
    /// Application bytes delivered in order.
    delivered_bytes: u64 => U64 in "bytes";
    /// Counters of its sender.
    sender: SenderCounters => Counters;
    /// Data packets that arrived with a congestion mark.
    marked_packets: u64 => U64 in "packets";
    /// Data packets dropped or lost on the way, over data packets sent.
    loss_rate: f64 => F64;
    /// Smallest RTT sample of the sender, from the departure of a segment to its ACK; null without a sample. Samples
    /// contain the wait for a delayed ACK, which may be 40 ms for a lone segment (`delayed_ack_timeout`).
    rtt_min_ms: f64 => NullableF64 in "ms";
    /// Mean of the samples.
    rtt_mean_ms: f64 => NullableF64 in "ms";
    /// Median of the samples.
    rtt_p50_ms: f64 => NullableF64 in "ms";
    /// 90th percentile of the samples.
    rtt_p90_ms: f64 => NullableF64 in "ms";
    /// 95th percentile of the samples.
    rtt_p95_ms: f64 => NullableF64 in "ms";
    /// 99th percentile of the samples.
    rtt_p99_ms: f64 => NullableF64 in "ms";
    /// Largest sample.
    rtt_max_ms: f64 => NullableF64 in "ms";
    /// From the start to the arrival of the last byte of a flow of limited size; null otherwise. The start is the SYN
    /// if the profile has a handshake, so the opening is in it; the ACK of the last byte and the FINs are not. In live
    /// runs it is when the receiving application has read the last byte. An application that waits for an answer sees
    /// half an RTT more, and the wait of the answer in queues.
    completion_s: f64 => NullableF64 in "s";
    /// From the start to the SYN-ACK; null if no connection was opened.
    handshake_ms: f64 => NullableF64 in "ms";
    /// From the start to the arrival of the first data of a TCP flow, whichever they are; null if none came.
    first_byte_ms: f64 => NullableF64 in "ms";
    /// How often the SYN was sent again.
    syn_retransmissions: u64 => U64 in "packets";
    /// How often the SYN-ACK was sent again; in simulations alone.
    syn_ack_retransmissions: u64 => U64 in "packets";
}

impl FlowRow {
    pub(crate) fn columns(rows: Vec<Self>) -> Vec<Column> {
        let mut columns = FlowColumns::default();
        rows.into_iter().for_each(|row| columns.push(row));
        columns.into_columns()
    }
}

/// The fields of a flow's row that are not measured.
#[derive(Clone, Copy, Debug)]
pub struct FlowDescription<'a> {
    /// Index of the flow.
    pub flow: u32,
    /// Its name.
    pub name: &'a str,
    /// Its controller.
    pub cc: &'a str,
    /// Its profile.
    pub profile: &'a str,
    /// Round-trip time of the empty path.
    pub base_rtt: Span,
    /// When it ran.
    pub lifetime: Lifetime,
}

/// When a flow ran, and how its connection was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lifetime {
    /// When it started.
    pub start: Time,
    /// When it stops, if it does not complete before.
    pub stop: Time,
    /// When its last segment arrived, if it has an end of its own and reached it.
    pub completed: Option<Time>,
    /// When its connection was open at the sender, if it was opened.
    pub opened: Option<Time>,
    /// When its first data arrived, of TCP.
    pub first_arrival: Option<Time>,
    /// How often its SYN was sent again.
    pub syn_retransmissions: u32,
    /// How often its SYN-ACK was sent again.
    pub syn_ack_retransmissions: u32,
}

/// Measures one flow: its round-trip times. The caller passes its counters. An ACK touches one cache line.
#[derive(Clone, Debug, Default)]
#[repr(align(64))]
pub struct FlowMeter {
    /// Nanoseconds.
    rtt: Samples,
    /// The start of the interval, if that is not the start of the run.
    base: Option<Box<Base>>,
}

/// What had been counted of a flow when the measured interval started, and when that was.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Base {
    from: Time,
    counters: FlowCounters,
}

impl FlowMeter {
    /// A meter whose interval starts at time zero.
    pub fn new() -> Self {
        Self::default()
    }

    /// A round-trip time sample.
    #[inline]
    pub fn rtt(&mut self, sample: Span) {
        self.rtt.record(sample.as_nanos());
    }

    /// Lets the processor fetch memory that the next sample refers to, if any. The first cache line should be there.
    #[inline]
    pub fn prefetch_counted(&self) {
        self.rtt.prefetch();
    }

    /// Lets it fetch what that refers to in turn.
    #[inline]
    pub fn prefetch_counts(&self) {
        self.rtt.prefetch_counts();
    }

    /// The measured interval starts here: forgets everything before `at`, up to which `counters` have counted.
    pub fn restart(&mut self, at: Time, counters: FlowCounters) {
        let base = Base { from: at, counters };
        self.base = (base != Base::default()).then(|| Box::new(base));
        self.rtt.clear();
    }

    /// The statistics of the interval that ends at `at`, up to which `counters` have counted. Rates and shares of
    /// nothing are zero.
    pub fn finish(&self, at: Time, counters: &FlowCounters, flow: FlowDescription<'_>) -> FlowRow {
        let base = self.base.as_deref().copied().unwrap_or_default();
        let counted = *counters - base.counters;
        let Lifetime { start, stop, completed, opened, first_arrival, .. } = flow.lifetime;
        let stop = completed.unwrap_or(stop).min(at);
        let measured_s = stop.since(start.max(base.from)).as_nanos() as f64 / 1e9;
        let after_start = |at: Option<Time>| at.map_or(f64::NAN, |at| milliseconds(at.since(start)));
        let bit_rate = |bytes: u64| if measured_s > 0.0 { bytes as f64 * 8.0 / measured_s } else { 0.0 };
        let rtt = |nanos: Option<f64>| nanos.map_or(f64::NAN, |nanos| nanos / 1e6);
        let samples = self.rtt.statistics();
        let [rtt_p50_ms, rtt_p90_ms, rtt_p95_ms, rtt_p99_ms] =
            samples.quantiles([0.5, 0.9, 0.95, 0.99]).map_or([f64::NAN; 4], |nanos| nanos.map(|nanos| nanos / 1e6));
        FlowRow {
            flow: flow.flow,
            name: flow.name.to_owned(),
            cc: flow.cc.to_owned(),
            profile: flow.profile.to_owned(),
            start_s: seconds(start),
            stop_s: seconds(stop),
            base_rtt_ms: milliseconds(flow.base_rtt),
            measured_s,
            goodput_bps: bit_rate(counted.delivered_bytes),
            throughput_bps: bit_rate(counted.arrived_bytes),
            delivered_bytes: counted.delivered_bytes,
            sender: counted.sender,
            marked_packets: counted.marked_packets,
            loss_rate: counted.dropped_packets as f64 / counted.sender.data_packets.max(1) as f64,
            rtt_min_ms: rtt(samples.min().map(|nanos| nanos as f64)),
            rtt_mean_ms: rtt(samples.mean()),
            rtt_p50_ms,
            rtt_p90_ms,
            rtt_p95_ms,
            rtt_p99_ms,
            rtt_max_ms: rtt(samples.max().map(|nanos| nanos as f64)),
            completion_s: completed.map_or(f64::NAN, |at| at.since(start).as_nanos() as f64 / 1e9),
            handshake_ms: after_start(opened),
            first_byte_ms: after_start(first_arrival),
            syn_retransmissions: flow.lifetime.syn_retransmissions.into(),
            syn_ack_retransmissions: flow.lifetime.syn_ack_retransmissions.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(n: u64) -> Time {
        Time::ZERO + Span::from_millis(n)
    }

    fn described(start: Time, stop: Time) -> FlowDescription<'static> {
        FlowDescription {
            flow: 1,
            name: "cdg-0",
            cc: "cdg",
            profile: "linux",
            base_rtt: Span::from_millis(40),
            lifetime: Lifetime { start, stop, ..Lifetime::default() },
        }
    }

    #[test]
    fn rates_are_over_the_part_of_a_flow_inside_the_interval() {
        let mut meter = FlowMeter::new();
        let mut counters = FlowCounters { delivered_bytes: 1000, dropped_packets: 1, ..FlowCounters::default() };
        counters.sender.data_packets = 10;
        meter.rtt(Span::from_millis(500));
        meter.restart(ms(1000), counters);
        counters.delivered_bytes += 50_000;
        counters.arrived_bytes += 60_000;
        counters.sender.data_packets += 40;
        counters.dropped_packets += 2;
        for rtt in [40, 40, 50, 70] {
            meter.rtt(Span::from_millis(rtt));
        }
        // The flow ends at 3 s: two of the four seconds of the interval.
        let row = meter.finish(ms(5000), &counters, described(ms(500), ms(3000)));
        assert_eq!((row.start_s, row.stop_s, row.measured_s), (0.5, 3.0, 2.0));
        assert_eq!((row.goodput_bps, row.throughput_bps), (200_000.0, 240_000.0));
        assert_eq!((row.sender.data_packets, row.loss_rate), (40, 0.05));
        assert_eq!((row.rtt_min_ms, row.rtt_mean_ms, row.rtt_max_ms), (40.0, 50.0, 70.0));
        assert!((row.rtt_p50_ms / 40.0 - 1.0).abs() < 1.0 / 256.0, "{}", row.rtt_p50_ms);
        assert_eq!(row.rtt_p95_ms, row.rtt_max_ms);
    }

    #[test]
    fn what_an_ack_touches_is_one_cache_line() {
        assert_eq!(size_of::<FlowMeter>(), 64);
    }

    #[test]
    fn the_times_to_open_and_to_complete_have_their_units() {
        let mut flow = described(ms(100), ms(3000));
        let Lifetime { completed, opened, first_arrival, .. } = &mut flow.lifetime;
        (*completed, *opened, *first_arrival) = (Some(ms(2600)), Some(ms(1000)), Some(ms(1500)));
        let row = FlowMeter::new().finish(ms(5000), &FlowCounters::default(), flow);
        assert_eq!((row.stop_s, row.completion_s, row.handshake_ms, row.first_byte_ms), (2.6, 2.5, 900.0, 1400.0));
    }

    #[test]
    fn a_flow_that_never_ran_has_zero_rates_and_no_round_trip_time() {
        let row = FlowMeter::new().finish(ms(5000), &FlowCounters::default(), described(ms(6000), ms(6000)));
        assert_eq!((row.measured_s, row.goodput_bps, row.loss_rate), (0.0, 0.0, 0.0));
        assert!(row.rtt_min_ms.is_nan() && row.rtt_p99_ms.is_nan() && row.completion_s.is_nan());
    }
}
