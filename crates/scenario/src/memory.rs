//! How much memory a run takes, estimated from above: enough to refuse one that would exhaust the machine.

use control::ControllerRef;
use control::registry::find;
use network::{Limit, Propagation, Service, TokenBucket};
use units::packet::MTU;
use units::{Bytes, Rate, Span};

use crate::Error;
use crate::plan::{Kind, Plan, PlannedFlow, PlannedLink};
use crate::values::{Paced, Sampling, Source};

/// Sender, receiver, controller, meter and timers of one flow: measured are 2,700 bytes with NewReno, 4,000 with CDG.
const FLOW: u64 = 4_000;
/// The rest of one of many connections that has ended: its row, and its events.
const ENDED_FLOW: u64 = 1_000;
/// Connections last this many times as long as without losses, at most, where they are many.
const PROLONGED: f64 = 2.0;
/// A packet in a queue or on the wire, with the sender's record of it.
const PACKET: u64 = 200;
/// A row of the series of flows: 97 bytes as columns, up to 60 packed.
const FLOW_ROW: u64 = 160;
/// A row of the table of probes: one name of one flow.
const PROBE_ROW: u64 = 64;
/// Names that a controller from a file or from Python shows, which are not known before it runs: more than any of ours.
const OWN_PROBES: u64 = 24;
/// A row of the series of links.
const LINK_ROW: u64 = 160;
/// No machine has more. Beyond it an estimate says nothing but that.
const MOST: Bytes = Bytes::new(1_000_000_000_000_000);
/// A row of the table of events: 33 bytes as columns, up to 27 packed.
const EVENT_ROW: u64 = 60;
/// One event among this many packets: a loss rate of a few percent, each with drop, detection and retransmission.
const PACKETS_PER_EVENT: u64 = 10;

impl Plan {
    /// Roughly the most memory of a run of this plan: its tables, the packets in the network, the state of the flows.
    pub fn estimated_memory(&self) -> Bytes {
        let loads = self.loads();
        let sent = loads.iter().fold(0u64, |sum, load| sum.saturating_add(load.sent));
        let in_network = loads.iter().fold(0u64, |sum, load| sum.saturating_add(load.in_network));
        let rows = |sampling, series: u64| match sampling {
            Sampling::Off => 0,
            Sampling::Every(span) => (self.duration.as_nanos() / span.as_nanos() + 1).saturating_mul(series),
            Sampling::Acks(n) => sent / u64::from(n) + series,
        };
        let flows = self.flows.iter().fold(0u64, |sum, flow| sum.saturating_add(self.at_once(flow)));
        let passing = self.flows.iter().filter(|flow| flow.is_many());
        let ended = passing.fold(0u64, |sum, flow| sum.saturating_add(flow.connections()));
        let links = self.links.len() as u64;
        let excess = loads.iter().fold(0u64, |sum, load| sum.saturating_add(load.excess));
        let events = if self.record.events { (sent / PACKETS_PER_EVENT).saturating_add(excess) } else { 0 };
        let parts = [
            (flows, FLOW),
            (ended, ENDED_FLOW),
            (in_network, PACKET),
            (rows(self.record.flow_series, flows), FLOW_ROW),
            (rows(self.record.probes, flows), self.probes() * PROBE_ROW),
            (rows(self.record.link_series, links), LINK_ROW),
            (events, EVENT_ROW),
        ];
        Bytes::new(parts.into_iter().fold(0, |sum, (count, size)| sum.saturating_add(count.saturating_mul(size))))
    }

    /// The most names that the controller of a flow shows.
    fn probes(&self) -> u64 {
        let declared = |flow: &PlannedFlow| match &flow.cc {
            ControllerRef::Registered(name) => find(name).map_or(OWN_PROBES, |entry| entry.probes.len() as u64),
            _ => OWN_PROBES,
        };
        self.flows.iter().map(declared).max().unwrap_or(0)
    }

    /// Refuses a run that takes more than 80 % of the `available` memory.
    pub fn check_memory(&self, available: Bytes) -> Result<(), Error> {
        let needed = self.estimated_memory();
        if needed.get() / 4 <= available.get() / 5 {
            return Ok(());
        }
        let message = format!(
            "the run may take {} of memory, more than 80% of the {} available: sample less often (record), shorten the \
             duration, run fewer flows, or bound what is in flight (rate, queue, transport.receive_window)",
            rounded(needed),
            rounded(available)
        );
        Err(Error { file: format!("scenario `{}`", self.name), line: None, key: String::new(), message })
    }

    /// The load of the flows on the network, those that share a bottleneck taken together.
    fn loads(&self) -> Vec<Load> {
        let mut of_links: Vec<Option<Load>> = vec![None; self.links.len()];
        let mut loads = Vec::new();
        for flow in &self.flows {
            let own = self.own_load(flow);
            match self.bottleneck(flow) {
                None => loads.push(own),
                Some((rate, link)) => {
                    let load = of_links[link].get_or_insert_default();
                    load.sent = load.sent.saturating_add(own.sent);
                    load.in_network = load.in_network.saturating_add(own.in_network);
                    load.burst = load.burst.saturating_add(own.burst);
                    load.unreactive = load.unreactive.saturating_add(own.unreactive);
                    load.room = load.room.max(self.room(flow, rate));
                    load.served = packets(rate, self.duration);
                }
            }
        }
        loads.extend(of_links.into_iter().flatten().map(|load| {
            // Slow start overshoots the room of the path up to twofold before it learns of the loss. Served
            // packets clock TCP, its initial windows apart, but not datagrams.
            let clocked = load.served.saturating_add(load.burst).saturating_add(load.unreactive);
            let room = load.room.saturating_mul(2).saturating_add(load.burst);
            // Datagrams beyond the served ones and the room are dropped, each with an event of its own.
            let excess = load.unreactive.saturating_sub(load.served.saturating_add(load.room));
            let sent = load.sent.min(load.served.saturating_add(load.burst));
            Load { sent, in_network: load.in_network.min(room).min(clocked), excess, ..load }
        }));
        loads
    }

    /// The slowest link of `flow`, after its rate.
    fn bottleneck(&self, flow: &PlannedFlow) -> Option<(Rate, usize)> {
        let links = flow.forward.iter().filter_map(|hop| hop.link);
        links.filter_map(|link| peak(&self.links[link]).map(|rate| (rate, link))).min()
    }

    /// How many connections of `flow` there are at a time.
    fn at_once(&self, flow: &PlannedFlow) -> u64 {
        if let Some(pages) = &flow.pages {
            return flow.connections().min(u64::from(pages.connections.mean().0).saturating_add(1));
        }
        let (Some(every), Some(bytes)) = (flow.every, flow.bytes) else { return 1 };
        let (every, bytes) = (every.mean(), bytes.mean());
        let overlapping = PROLONGED * self.lasting(flow, every, bytes) / every.as_nanos().max(1) as f64;
        flow.connections().min((overlapping + 1.0) as u64)
    }

    /// How many nanoseconds a connection of `bytes` of `flow` lasts, if one begins `every` so often: the round trips of
    /// its slow start, through full queues, and its time at the bottleneck. Infinite where more is offered than passes.
    fn lasting(&self, flow: &PlannedFlow, every: Span, bytes: Bytes) -> f64 {
        if flow.source != Source::Greedy {
            return f64::INFINITY; // As long as the application likes.
        }
        let options = &flow.options;
        let segments = bytes.get().div_ceil(options.segment_size.get());
        let links = flow.forward.iter().chain(&flow.reverse).filter_map(|hop| hop.link);
        let waiting: Span = links.map(|link| self.links[link].jitter.longest() + longest_wait(&self.links[link])).sum();
        let round_trip = round_trip(flow, Propagation::longest) + waiting;
        let rounds = slow_start_rounds(segments, options.initial_window, options.receive_window);
        let rate = flow.forward.iter().filter_map(|hop| lowest(&self.links[hop.link?])).min();
        let passing = rate.map_or(0.0, |rate| {
            // All that are there share the rate (processor sharing): the fuller the link, the longer each.
            let offered = bytes.get().saturating_add(segments.saturating_mul(options.data_overhead().get())) as f64;
            let passes = rate.bits_per_second() as f64 * every.as_secs_f64() / 8.0;
            if offered < passes { every.as_nanos() as f64 * offered / (passes - offered) } else { f64::INFINITY }
        });
        round_trip.as_nanos() as f64 * rounds as f64 + passing
    }

    /// The load of `flow` on a path without limits.
    fn own_load(&self, flow: &PlannedFlow) -> Load {
        let window = match flow.kind {
            Kind::Tcp => u64::from(flow.options.receive_window).saturating_mul(self.at_once(flow)),
            Kind::Datagram { .. } | Kind::Tfrc { .. } | Kind::Media { .. } => u64::MAX,
        };
        let size = flow.packet_size().get();
        let offered = match &flow.source {
            _ if matches!(flow.kind, Kind::Media { .. }) => flow.call.max_rate.bytes_in(self.duration).get() / size,
            Source::Greedy => u64::MAX,
            Source::Trace(_) => flow.media.as_ref().map_or(0, |media| media.len() as u64),
            Source::Paced(Paced { rate, .. }) => {
                let fastest = rate.iter().map(|&(_, rate)| rate).max().unwrap_or_default();
                fastest.bytes_in(self.duration).get() / size
            }
        };
        let connections = flow.connections();
        let offered = offered.saturating_mul(connections);
        let of_bytes =
            flow.bytes.map_or(u64::MAX, |bytes| bytes.mean().get().div_ceil(size).saturating_mul(connections));
        let rounds = self.duration.as_nanos() / round_trip(flow, Propagation::shortest).as_nanos().max(1) + 1;
        let sent = offered.min(of_bytes).min(window.saturating_mul(rounds));
        let in_network = sent.min(window);
        let (burst, unreactive) = match flow.kind {
            Kind::Tcp => (in_network.min(u64::from(flow.options.initial_window).saturating_mul(self.at_once(flow))), 0),
            Kind::Datagram { .. } => (0, sent),
            Kind::Tfrc { .. } | Kind::Media { .. } => (0, 0),
        };
        Load { sent, in_network, burst, unreactive, ..Load::default() }
    }

    /// How many packets fit in the queues and on the wires of `flow`, if its slowest link has `rate`.
    fn room(&self, flow: &PlannedFlow, rate: Rate) -> u64 {
        let queues = flow.forward.iter().filter_map(|hop| hop.link).map(|link| queue_room(&self.links[link]));
        let hops = flow.forward.iter().chain(&flow.reverse);
        let jitter: Span = hops.filter_map(|hop| hop.link).map(|link| self.links[link].jitter.longest()).sum();
        queues.fold(packets(rate, round_trip(flow, Propagation::longest) + jitter), u64::saturating_add)
    }
}

/// Packets that some flows send, and have in the network at a time.
#[derive(Clone, Copy, Default)]
struct Load {
    sent: u64,
    in_network: u64,
    /// The part of it that leaves at once: the initial windows.
    burst: u64,
    /// The part of it that nothing slows down: datagrams.
    unreactive: u64,
    /// The part of it that is dropped for want of room.
    excess: u64,
    /// Packets that fit between the endpoints.
    room: u64,
    /// Packets that the bottleneck serves in the whole run.
    served: u64,
}

/// The sum of `of_each` over the delays of `flow`, there and back.
fn round_trip(flow: &PlannedFlow, of_each: fn(&Propagation) -> Span) -> Span {
    flow.forward.iter().chain(&flow.reverse).map(|hop| of_each(&hop.delay)).sum()
}

/// The highest rate of a link, `None` for unlimited.
fn peak(link: &PlannedLink) -> Option<Rate> {
    match &link.settings.service {
        Service::Steps(steps) => steps.iter().map(|&(_, rate)| rate).max(),
        // A burst that leaves at once counts as if it took a tenth of a second.
        Service::Shaped(TokenBucket { rate, burst, peak: TokenBucket::AT_ONCE }) => {
            let of_burst = burst.get().saturating_mul(80);
            Some(Rate::from_bits_per_second(rate.bits_per_second().saturating_add(of_burst)))
        }
        Service::Shaped(bucket) => Some(bucket.peak),
        Service::Unlimited | Service::Fixed(_) | Service::Trace(_) => link.rate,
    }
}

/// The lowest rate of a link, `None` for unlimited.
fn lowest(link: &PlannedLink) -> Option<Rate> {
    match &link.settings.service {
        Service::Steps(steps) => steps.iter().map(|&(_, rate)| rate).min(),
        Service::Unlimited | Service::Fixed(_) | Service::Shaped(_) | Service::Trace(_) => link.rate,
    }
}

/// How long a packet waits in the full queue before a link. A queue without limit has no such time and counts as zero.
/// Flows that all pass leave it short.
fn longest_wait(link: &PlannedLink) -> Span {
    match (link.settings.queue.limit, lowest(link)) {
        (Limit::Infinite, _) | (_, None) => Span::ZERO,
        (Limit::Delay(span), _) => span,
        (Limit::Packets(_) | Limit::Bytes(_), Some(rate)) => {
            rate.time_for(Bytes::new(queue_room(link).saturating_mul(MTU.get())))
        }
    }
}

/// The round trips in which a number of segments leave, if the window doubles in each from `initial` to `most`.
fn slow_start_rounds(segments: u64, initial: u32, most: u32) -> u64 {
    let (mut window, most) = (u64::from(initial.min(most)), u64::from(most));
    let (mut left, mut rounds) = (segments, 0);
    while left > 0 && window < most {
        left = left.saturating_sub(window);
        window = most.min(2 * window);
        rounds += 1;
    }
    rounds + left.div_ceil(most)
}

/// How many packets may wait before a link.
fn queue_room(link: &PlannedLink) -> u64 {
    let Some(rate) = peak(link) else { return 0 };
    match link.settings.queue.limit {
        Limit::Infinite => u64::MAX,
        Limit::Packets(n) => u64::from(n),
        Limit::Bytes(bytes) => bytes.get().div_ceil(MTU.get()),
        Limit::Delay(span) => packets(rate, span),
    }
}

/// How many packets pass at `rate` in `span`, rounded up.
fn packets(rate: Rate, span: Span) -> u64 {
    rate.bytes_in(span).get() / MTU.get() + 1
}

/// A size as people say it.
fn rounded(bytes: Bytes) -> String {
    if bytes > MOST {
        return format!("more than {}", rounded(MOST));
    }
    let gigabytes = bytes.get() as f64 / 1e9;
    if gigabytes >= 0.95 { format!("{gigabytes:.1} GB") } else { format!("{:.0} MB", gigabytes * 1e3) }
}
