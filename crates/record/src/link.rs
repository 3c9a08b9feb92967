//! Statistics of link directions: counters, a meter for each, and the row it makes.

use units::{Bytes, Rate, Span, Time, counters};

use crate::Sending;
use crate::durations::Durations;
use crate::table::{Column, columns};
use crate::waits::Waits;

counters! {
    /// Counts of the packets of a link direction.
    pub struct LinkCounters {
        /// Packets offered to the link.
        pub arrived_packets: u64,
        /// Packets whose last bit has left.
        pub departed_packets: u64,
        /// IP bytes of those.
        pub departed_bytes: u64,
        /// Packets dropped by the queue: full, or by its discipline.
        pub dropped_packets: u64,
        /// Packets lost by an impairment.
        pub lost_packets: u64,
        /// Packets marked.
        pub marked_packets: u64,
    }
}

columns! {
    /// Statistics of a link direction over the measured interval.
    row LinkRow;
    /// Rows of link directions.
    columns LinkColumns;
    /// Row number of the link direction.
    link: u32 => U32;
    /// Its name; the reverse direction is `<name>:reverse`.
    name: String => Str;
    /// Nominal rate of IP bytes, or with `framing` of all bytes on the link; null if unlimited.
    rate_bps: f64 => NullableF64 in "bit/s";
    /// True for the link that limited the flows: of the links with a rate that carry data of greedy flows (of all flows
    /// if none is greedy) the one with the largest `busy_share`, the first of equals. Metrics and figures take it if no
    /// link is named.
    is_bottleneck: bool => Bool;
    /// Departed traffic as a share of the traffic that could have left in the measured interval. At a constant rate a
    /// packet that an end of the interval cuts counts bit by bit; on a trace or with steps of the rate it counts where
    /// its last bit leaves. 0 without a rate, and if nothing could leave. Of a wireless station it is the share of time
    /// in which a packet was being sent, with its waits for the medium.
    utilization: f64 => F64;
    /// Share of the interval in which a packet was in service, or at the head in an outage or waiting for the next
    /// opportunity of a trace; at a constant rate the same as `utilization`. Services shorter than a nanosecond count
    /// as none.
    busy_share: f64 => F64;
    /// Bytes that could have left, frames included if the link has `framing`; null if unlimited. A token bucket begins
    /// with its tokens.
    capacity_bytes: f64 => NullableF64 in "bytes";
    /// IP bytes that left, per second.
    throughput_bps: f64 => F64 in "bit/s";
    /// Mean of the waiting packets, weighted by time; the packet in service is not counted.
    queue_packets_mean: f64 => F64 in "packets";
    /// Median of the waiting packets.
    queue_packets_p50: f64 => F64 in "packets";
    /// 95th percentile of the waiting packets.
    queue_packets_p95: f64 => F64 in "packets";
    /// Most waiting packets.
    queue_packets_max: f64 => F64 in "packets";
    /// Mean of the queueing delay over time: at each instant how long the packet at the head has waited so far; 0 while
    /// idle. An outage and the wait for an opportunity are waiting, the transmission of its own bits is not.
    queue_delay_mean_ms: f64 => F64 in "ms";
    /// Median of the queueing delay over time.
    queue_delay_p50_ms: f64 => F64 in "ms";
    /// 95th percentile of the queueing delay over time.
    queue_delay_p95_ms: f64 => F64 in "ms";
    /// 99th percentile of the queueing delay over time.
    queue_delay_p99_ms: f64 => F64 in "ms";
    /// Longest queueing delay over time.
    queue_delay_max_ms: f64 => F64 in "ms";
    /// Mean of the queueing delay of each packet that left: from its arrival to its last bit, without the transmission
    /// of its own bits (an opportunity of a trace takes no time); null if none left.
    packet_queue_delay_mean_ms: f64 => NullableF64 in "ms";
    /// Median of the queueing delay of packets.
    packet_queue_delay_p50_ms: f64 => NullableF64 in "ms";
    /// 95th percentile of the queueing delay of packets.
    packet_queue_delay_p95_ms: f64 => NullableF64 in "ms";
    /// 99th percentile of the queueing delay of packets.
    packet_queue_delay_p99_ms: f64 => NullableF64 in "ms";
    /// Longest queueing delay of a packet.
    packet_queue_delay_max_ms: f64 => NullableF64 in "ms";
    /// Packets offered to the link, those included that it loses before the queue.
    arrived_packets: u64 => U64 in "packets";
    /// Packets whose last bit left.
    departed_packets: u64 => U64 in "packets";
    /// IP bytes of the packets that left.
    departed_bytes: u64 => U64 in "bytes";
    /// Packets dropped by the queue: full, or by its discipline.
    dropped_packets: u64 => U64 in "packets";
    /// Packets lost by an impairment.
    lost_packets: u64 => U64 in "packets";
    /// Packets marked.
    marked_packets: u64 => U64 in "packets";
}

impl LinkRow {
    pub(crate) fn columns(rows: Vec<Self>) -> Vec<Column> {
        let mut columns = LinkColumns::default();
        rows.into_iter().for_each(|row| columns.push(row));
        columns.into_columns()
    }
}

/// The description of a link direction, for its row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinkDescription<'a> {
    /// Its index.
    pub link: u32,
    /// Its name.
    pub name: &'a str,
    /// Its nominal rate, or `None` if unlimited.
    pub rate: Option<Rate>,
    /// The bytes that could have left in the measured interval, or `None` if unlimited.
    pub capacity_bytes: Option<f64>,
}

/// The packet that is being served.
#[derive(Clone, Copy, Debug)]
struct InService {
    finish: Time,
    /// How long it has waited.
    waited: Span,
    /// Up to where `waited` is counted, if the link does not send steadily.
    counted: Time,
    size: Bytes,
    /// Its size on the link, frames included.
    on_link: Bytes,
    /// How many more packets depart with it.
    others: u64,
}

/// Measures one link direction.
///
/// Services are reported when they start, with the finish then known. The part of a service beyond the interval is not
/// counted, and a packet departs when its service finishes. Reports may come late but must be in the order of time, and
/// a link must be brought up to date before it is asked for a result.
#[derive(Clone, Debug)]
pub struct LinkMeter {
    /// Counts of the engine since the start of the run. Departures are counted by [`LinkMeter::service`].
    pub counters: LinkCounters,
    /// The counters at the start of the interval.
    base: LinkCounters,
    /// Bytes that left in the interval, frames included, if the link does not send steadily.
    left_on_link: u64,
    from: Time,
    /// How long so many packets waited.
    queue: Durations,
    queue_packets: u32,
    queue_since: Time,
    /// Queueing delays over time and of packets.
    waits: Waits,
    sending: Sending,
    in_service: Option<InService>,
    /// Up to where delay and busy time are accounted for.
    accounted: Time,
    busy: Span,
}

impl LinkMeter {
    /// A meter, whose interval starts at time zero, of a link that sends as `sending` says.
    pub fn new(sending: Sending) -> Self {
        Self {
            counters: LinkCounters::default(),
            base: LinkCounters::default(),
            left_on_link: 0,
            from: Time::ZERO,
            queue: Durations::default(),
            queue_packets: 0,
            queue_since: Time::ZERO,
            waits: Waits::new(),
            sending,
            in_service: None,
            accounted: Time::ZERO,
            busy: Span::ZERO,
        }
    }

    /// From `at` on, `packets` wait. The one in service is not counted.
    #[inline]
    pub fn queue(&mut self, at: Time, packets: u32) {
        // Of the packets of a train only the last leaves a length that lasts.
        if at > self.queue_since {
            self.queue.add(self.queue_packets, at.since(self.queue_since));
            self.queue_since = at;
        }
        self.queue_packets = packets;
    }

    /// A packet of `size` that `waited` before its service is served from `start` to `finish`.
    #[inline]
    pub fn service(&mut self, start: Time, finish: Time, waited: Span, size: Bytes) {
        self.framed_service(start, finish, waited, [size; 2]);
    }

    /// As [`service`](Self::service), of a packet with its size and its size on the link.
    #[inline]
    pub fn framed_service(&mut self, start: Time, finish: Time, waited: Span, [size, on_link]: [Bytes; 2]) {
        self.account(start);
        self.in_service = Some(InService { finish, waited, counted: start, size, on_link, others: 0 });
    }

    /// True while a packet with an unknown finish is in service.
    pub fn is_serving(&self) -> bool {
        self.in_service.is_some_and(|service| service.finish == Time::NEVER)
    }

    /// The service that started with an unknown finish ends `at` that time with the departure of a packet of `size`
    /// that `waited` before it. Or another packet departs at the time of the last departure reported so.
    pub fn departs(&mut self, at: Time, waited: Span, size: Bytes) {
        match &mut self.in_service {
            Some(service) if service.finish == at => {
                service.others += 1;
                service.size += size;
                service.on_link += size;
                self.waits.record(waited.as_nanos(), 0, 1);
            }
            Some(service) if service.finish == Time::NEVER => {
                (service.finish, service.size, service.on_link) = (at, size, size);
            }
            _ => self.service(at, at, waited, size),
        }
    }

    /// The packet in service, whose finish is unknown, is given up at `at`.
    pub fn abandon(&mut self, at: Time) {
        self.account(at);
        self.in_service.take_if(|service| service.finish == Time::NEVER);
    }

    /// The counters at `at` since the start of the run.
    pub fn counters_at(&mut self, at: Time) -> LinkCounters {
        self.account(at);
        self.counters
    }

    /// The measured interval starts here: forgets everything before `at`.
    pub fn restart(&mut self, at: Time) {
        self.bring_to(at);
        self.queue.clear();
        self.waits.clear();
        self.busy = Span::ZERO;
        self.base = self.counters;
        self.left_on_link = 0;
        self.from = at;
    }

    /// The statistics of the interval that ends at `at`.
    pub fn finish(&mut self, at: Time, described: LinkDescription<'_>) -> LinkRow {
        let LinkDescription { link, name, rate, capacity_bytes } = described;
        self.bring_to(at);
        let interval = at.since(self.from).as_nanos() as f64 / 1e9;
        let per_second = |total: f64| if interval > 0.0 { total / interval } else { 0.0 };
        let counted = self.counters - self.base;
        let lengths = self.queue.histogram();
        let [queue_packets_p50, queue_packets_p95, queue_packets_max] =
            lengths.quantiles([0.5, 0.95, 1.0]).unwrap_or_default();
        let delays = self.waits.quantiles_over_time([0.5, 0.95, 0.99]).unwrap_or_default();
        let [queue_delay_p50_ms, queue_delay_p95_ms, queue_delay_p99_ms] = delays.map(|nanos| nanos / 1e6);
        let of_packets = self.waits.quantiles_of_packets([0.5, 0.95, 0.99, 1.0]).unwrap_or([f64::NAN; 4]);
        let of_packets = of_packets.map(|nanos| nanos / 1e6);
        let busy_share = per_second(self.busy.as_nanos() as f64 / 1e9);
        // A packet that an end of the interval cuts counts where its last bit leaves, at a constant rate, bit by bit.
        let utilization = match (&self.sending, capacity_bytes) {
            (Sending::Steadily, _) | (_, None) => busy_share,
            (_, Some(bytes)) if bytes > 0.0 => (self.left_on_link as f64 / bytes).min(1.0),
            _ => 0.0,
        };
        LinkRow {
            link,
            name: name.to_owned(),
            rate_bps: rate.map_or(f64::NAN, |rate| rate.bits_per_second() as f64),
            is_bottleneck: false,
            utilization,
            busy_share,
            capacity_bytes: capacity_bytes.unwrap_or(f64::NAN),
            throughput_bps: per_second(counted.departed_bytes as f64 * 8.0),
            queue_packets_mean: lengths.mean().unwrap_or(0.0),
            queue_packets_p50,
            queue_packets_p95,
            queue_packets_max,
            queue_delay_mean_ms: self.waits.over_time().mean().unwrap_or(0.0) / 1e6,
            queue_delay_p50_ms,
            queue_delay_p95_ms,
            queue_delay_p99_ms,
            queue_delay_max_ms: self.waits.over_time().max().unwrap_or(0) as f64 / 1e6,
            packet_queue_delay_mean_ms: self.waits.of_packets().mean().map_or(f64::NAN, |nanos| nanos / 1e6),
            packet_queue_delay_p50_ms: of_packets[0],
            packet_queue_delay_p95_ms: of_packets[1],
            packet_queue_delay_p99_ms: of_packets[2],
            packet_queue_delay_max_ms: of_packets[3],
            arrived_packets: counted.arrived_packets,
            departed_packets: counted.departed_packets,
            departed_bytes: counted.departed_bytes,
            dropped_packets: counted.dropped_packets,
            lost_packets: counted.lost_packets,
            marked_packets: counted.marked_packets,
        }
    }

    fn bring_to(&mut self, at: Time) {
        self.account(at);
        self.queue(at, self.queue_packets);
    }

    /// Counts delay and busy time up to `to`, and the departure of the packet in service if it finished by then.
    #[inline(always)]
    fn account(&mut self, to: Time) {
        match self.in_service {
            // Mostly the packet has left, and its service was counted by nobody yet.
            Some(InService { finish, waited, size, others: 0, .. })
                if finish <= to && finish >= self.accounted && matches!(self.sending, Sending::Steadily) =>
            {
                let served = finish.since(self.accounted);
                self.busy += served;
                self.waits.record_service(waited.as_nanos(), served.as_nanos(), to.since(finish).as_nanos());
                self.counters.departed_packets += 1;
                self.counters.departed_bytes += size.get();
                self.in_service = None;
                self.accounted = to;
            }
            _ => self.account_any(to),
        }
    }

    /// As [`account`](Self::account), whatever is in service.
    #[inline(never)]
    fn account_any(&mut self, to: Time) {
        if let Some(InService { finish, mut waited, size, on_link, others, .. }) = self.in_service {
            let end = finish.min(to);
            let mut served = end.since(self.accounted);
            self.busy += served;
            if !matches!(self.sending, Sending::Steadily) {
                waited = self.account_waiting(end);
                served = Span::ZERO;
            }
            let finished = finish <= to;
            self.waits.record(waited.as_nanos(), served.as_nanos(), u64::from(finished));
            self.accounted = self.accounted.max(end);
            if finished {
                self.counters.departed_packets += 1 + others;
                self.counters.departed_bytes += size.get();
                self.left_on_link += on_link.get();
                self.in_service = None;
            }
        }
        self.waits.record(0, to.since(self.accounted).as_nanos(), 0);
        self.accounted = self.accounted.max(to);
    }

    /// Counts the delay of the packet in service up to `end`, on a link that does not send steadily: how long it has
    /// waited then.
    #[inline(never)]
    fn account_waiting(&mut self, end: Time) -> Span {
        let Self { in_service: Some(packet), sending, accounted, waits, .. } = self else { return Span::ZERO };
        while packet.counted < end {
            // Nothing before the interval is recorded.
            let to = if packet.counted < *accounted { end.min(*accounted) } else { end };
            let (until, waiting) = sending.stretch(packet.counted, to, (packet.on_link, packet.finish));
            let (before, length) = (packet.waited, until.since(packet.counted));
            if waiting {
                packet.waited = before + length;
            }
            if packet.counted >= *accounted {
                if waiting {
                    waits.record_growth(before.as_nanos(), packet.waited.as_nanos());
                } else {
                    waits.record(before.as_nanos(), length.as_nanos(), 0);
                }
            }
            packet.counted = until;
        }
        packet.waited
    }
}

impl Default for LinkMeter {
    fn default() -> Self {
        Self::new(Sending::Steadily)
    }
}

#[cfg(test)]
mod tests;
