//! The emulated path: the links, queues and wires of a plan, around packets that lie in a [`Pool`](crate::pool::Pool).
//!
//! Its clock begins [`Path::new`]'s `lead` before the run. Until then connections are opened, over wires without links: the simulator's
//! have no handshake. What happens at a link is accounted for at its own instant, however late the emulator looks.

use network::{Departure, Discard, Egress, Jitter, Link, Packet, Propagation, Wire};
use record::{EventKind, EventRow, LinkDescription, LinkMeter, LinkRow, LinkSample, LinkSeries, seconds};
use scenario::{Hop, Plan, Sampling};
use units::{Bytes, Ecn, Random, Span, Time};

use crate::log::{Entry, Log};

/// A packet on the path.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Held {
    /// Its place in the pool.
    pub(crate) place: u32,
    /// Its size in bytes.
    pub(crate) size: u32,
    /// The index of its flow in the tables, by which queues tell flows apart.
    pub(crate) flow: u32,
    /// The flow of the plan whose route it takes.
    pub(crate) route: u32,
    /// It goes the way of the ACKs.
    pub(crate) reverse: bool,
    pub(crate) ecn: Ecn,
    pub(crate) marked: bool,
    /// Number of the segment; `None` for what carries no data.
    pub(crate) sequence: Option<u64>,
    /// When it was read, on the clock of the path.
    pub(crate) sent: Time,
}

impl Packet for Held {
    fn size(&self) -> Bytes {
        Bytes::new(u64::from(self.size))
    }
    fn ecn(&self) -> Ecn {
        self.ecn
    }
    fn flow(&self) -> u32 {
        self.flow
    }
    fn mark_congestion(&mut self) {
        self.marked = true;
    }
}

/// The links and wires of a plan at work.
pub(crate) struct Path {
    lead: Span,
    links: Vec<Busy>,
    wires: Vec<Wire<Held>>,
    /// Data and ACKs of each flow of the plan.
    routes: Vec<[Route; 2]>,
    warmup: Option<Time>,
    sample_every: Option<Span>,
    next_sample: Time,
    /// The earlier of the two.
    next_due: Time,
    series: LinkSeries,
    events: Option<Vec<EventRow>>,
    /// Lost or dropped, and not yet handed out.
    gone: Vec<Held>,
}

/// A link with what belongs to it.
struct Busy {
    link: Link<Held>,
    jitter: Jitter,
    books: Books,
    /// The shortest delay behind it.
    shortest: Span,
}

/// What is kept of a link.
struct Books {
    meter: LinkMeter,
    log: Option<Log>,
}

impl Books {
    #[inline]
    fn log(&self, entry: Entry) {
        if let Some(log) = &self.log {
            // Its writer may have met a full disk, and tells of it in the end.
            let _ = log.send(entry);
        }
    }
}

#[derive(Clone, Copy)]
struct Route {
    link: Option<usize>,
    wire: usize,
}

/// What the links recorded.
pub(crate) struct LinkTables {
    pub(crate) links: Vec<LinkRow>,
    pub(crate) series: LinkSeries,
    pub(crate) events: Vec<EventRow>,
}

impl Path {
    /// The path of `plan` under `seed`. Every route of the plan has one hop.
    pub(crate) fn new(plan: &Plan, seed: u64, lead: Span) -> Self {
        let stream = |name, i| Random::stream(seed, name, i);
        let mut links: Vec<Busy> = Vec::with_capacity(plan.links.len());
        for (i, link) in (0u64..).zip(&plan.links) {
            links.push(Busy {
                link: Link::new(link.settings.clone(), stream("loss", i), stream("queue", i)),
                jitter: Jitter::new(link.jitter, stream("jitter", i)),
                books: Books { meter: LinkMeter::new(), log: None },
                shortest: Span::MAX,
            });
        }
        let sample_every = match plan.record.link_series {
            Sampling::Every(span) => Some(span),
            Sampling::Off | Sampling::Acks(_) => None,
        };
        let mut path = Self {
            lead,
            links,
            wires: Vec::new(),
            routes: Vec::with_capacity(plan.flows.len()),
            warmup: Some(Time::ZERO + plan.warmup),
            next_sample: sample_every.map_or(Time::NEVER, |_| Time::ZERO),
            next_due: Time::ZERO,
            sample_every,
            series: LinkSeries::default(),
            events: plan.record.events.then(Vec::new),
            gone: Vec::new(),
        };
        let mut known = Vec::new();
        for flow in &plan.flows {
            let [forward, reverse] = [(&flow.forward, false), (&flow.reverse, true)]
                .map(|(hops, reverse)| path.route(plan, &hops[0], reverse, &mut known));
            path.routes.push([forward, reverse]);
        }
        path
    }

    /// What happens at the link `index` from now on is sent to `log`.
    pub(crate) fn log_link(&mut self, index: usize, log: Log) {
        self.links[index].books.log = Some(log);
    }

    /// Packets that leave one link for one delay share a wire, as in the simulator.
    fn route(&mut self, plan: &Plan, hop: &Hop, reverse: bool, known: &mut Vec<(Hop, bool)>) -> Route {
        let wire = known.iter().position(|(other, back)| (other, *back) == (hop, reverse)).unwrap_or_else(|| {
            let varies = !hop.delay.is_constant() || hop.link.is_some_and(|l| !plan.links[l].jitter.is_zero());
            let later = hop.delay.later().iter().map(|&(at, delay)| (at + self.lead, delay));
            self.wires.push(Wire::new(Propagation::steps(hop.delay.initial(), later), hop.reorder && varies));
            known.push((hop.clone(), reverse));
            known.len() - 1
        });
        if let Some(link) = hop.link {
            let shortest = &mut self.links[link].shortest;
            *shortest = (*shortest).min(hop.delay.shortest());
        }
        Route { link: hop.link, wire }
    }

    /// The run begins at this instant of the path's clock.
    pub(crate) fn start(&self) -> Time {
        Time::ZERO + self.lead
    }

    /// `packet` enters at `now`, after everything earlier.
    pub(crate) fn offer(&mut self, now: Time, packet: Held) {
        let route = self.routes[packet.route as usize][usize::from(packet.reverse)];
        match route.link {
            Some(link) if now >= self.start() => self.offer_to_link(self.run_time(now), link, packet),
            _ => {
                self.wires[route.wire].push(now, Span::ZERO, packet);
            }
        }
    }

    fn run_time(&self, now: Time) -> Time {
        Time::ZERO + now.since(self.start())
    }

    fn offer_to_link(&mut self, now: Time, index: usize, packet: Held) {
        self.settle(now);
        self.links[index].books.meter.counters.arrived_packets += 1;
        let (link, mut out) = self.observed(index);
        link.offer(now, packet, &mut out);
    }

    /// Link `index`, and what observes it.
    fn observed(&mut self, index: usize) -> (&mut Link<Held>, Observer<'_>) {
        let Busy { link, jitter, books, .. } = &mut self.links[index];
        let Self { wires, routes, lead, events, gone, .. } = self;
        (link, Observer { index: index as u32, books, jitter, wires, routes, lead: *lead, events, gone })
    }

    /// A packet that the links lost or dropped.
    pub(crate) fn poll_gone(&mut self) -> Option<Held> {
        self.gone.pop()
    }

    /// Brings the links up to `now`.
    pub(crate) fn advance(&mut self, now: Time) {
        if now >= self.start() {
            let now = self.run_time(now);
            self.settle(now);
            self.advance_links(now);
        }
    }

    /// The packet that arrives first, with the instant at which it should, if that has come by `now`.
    pub(crate) fn pop_due(&mut self, now: Time) -> Option<(Held, Time)> {
        let next = |wire: &Wire<Held>| wire.next_arrival().unwrap_or(Time::NEVER);
        let first = self.wires.iter_mut().min_by_key(|wire| next(wire))?;
        let due = next(first);
        Some((first.pop_due(now)?, due))
    }

    /// Packets waiting at all links.
    pub(crate) fn queued_packets(&self) -> u32 {
        self.links.iter().map(|busy| busy.link.queued_packets()).sum()
    }

    /// When to look again after `instant`, if nothing enters until then.
    pub(crate) fn timeout_after(&self, instant: Time) -> Time {
        let arrivals = self.wires.iter().filter_map(|wire| wire.arrival_after(instant));
        let services = self.links.iter().filter_map(|busy| Some(busy.link.poll_timeout()? + self.lead + busy.shortest));
        arrivals.chain(services.filter(|&at| at > instant)).min().unwrap_or(Time::NEVER)
    }

    /// Takes the samples that are due by `now` (of the run), and begins to measure if that is due.
    fn settle(&mut self, now: Time) {
        while self.next_due <= now {
            let due = self.next_due;
            self.advance_links(due);
            if self.warmup == Some(due) {
                self.links.iter_mut().for_each(|busy| busy.books.meter.restart(due));
                self.warmup = None;
            }
            if self.next_sample == due {
                self.sample(due);
                self.next_sample = self.sample_every.map_or(Time::NEVER, |span| due + span);
            }
            self.next_due = self.next_sample.min(self.warmup.unwrap_or(Time::NEVER));
        }
    }

    fn sample(&mut self, at: Time) {
        for (link, busy) in (0u32..).zip(&mut self.links) {
            let counters = busy.books.meter.counters_at(at);
            self.series.push(LinkSample {
                time_s: seconds(at),
                link,
                queue_packets: busy.link.queued_packets(),
                queue_bytes: busy.link.queued_bytes().get(),
                departed_bytes: counters.departed_bytes,
                dropped_packets: counters.dropped_packets,
                lost_packets: counters.lost_packets,
                marked_packets: counters.marked_packets,
            });
        }
    }

    fn advance_links(&mut self, now: Time) {
        for index in 0..self.links.len() {
            let (link, mut out) = self.observed(index);
            link.advance(now, &mut out);
        }
    }

    /// Ends the run at `end` (of the run): what the links recorded.
    pub(crate) fn finish(mut self, end: Time, plan: &Plan) -> LinkTables {
        self.settle(end);
        self.advance_links(end);
        self.links.iter().for_each(|busy| busy.books.log(Entry::End { at: end }));
        let rows = self.links.iter_mut().zip(&plan.links).enumerate().map(|(index, (busy, link))| {
            let described = LinkDescription {
                link: index as u32,
                name: &link.name,
                rate: link.rate,
                is_bottleneck: plan.bottleneck == Some(index),
            };
            busy.books.meter.finish(end, described)
        });
        LinkTables { links: rows.collect(), series: self.series, events: self.events.unwrap_or_default() }
    }
}

/// What the path makes of what a link reports.
struct Observer<'a> {
    index: u32,
    books: &'a mut Books,
    jitter: &'a mut Jitter,
    wires: &'a mut [Wire<Held>],
    routes: &'a [[Route; 2]],
    lead: Span,
    events: &'a mut Option<Vec<EventRow>>,
    gone: &'a mut Vec<Held>,
}

impl Egress<Held> for Observer<'_> {
    fn take(&mut self, packet: &Held, at: Time, _marked: bool, queued: u32) {
        if queued > 0 {
            self.books.meter.queue(at, queued);
        }
        self.books.log(Entry::Arrival { at, size: packet.size() });
    }

    fn mark(&mut self, packet: &Held, at: Time, queued: u32) {
        self.books.meter.counters.marked_packets += 1;
        self.note(at, EventKind::Mark, packet, f64::from(queued));
    }

    /// The packet goes on its wire, on which it arrives after its last bit has left.
    fn depart(&mut self, packet: Held, departure: Departure) {
        let waited = departure.start.since(departure.arrived);
        self.books.meter.queue(departure.start, departure.queued_packets);
        self.books.meter.service(departure.start, departure.finish, waited, packet.size());
        let Departure { arrived, finish, .. } = departure;
        self.books.log(Entry::Departure { arrived, finish, size: packet.size() });
        let route = self.routes[packet.route as usize][usize::from(packet.reverse)];
        self.wires[route.wire].push(finish + self.lead, self.jitter.draw(), packet);
    }

    fn discard(&mut self, packet: Held, at: Time, why: Discard, queued: u32) {
        let size = packet.size();
        self.gone.push(packet);
        if why == Discard::Lost {
            self.books.meter.counters.lost_packets += 1;
            return self.note(at, EventKind::Lost, &packet, f64::NAN);
        }
        if matches!(why, Discard::Full | Discard::Early) {
            self.books.log(Entry::Arrival { at, size });
        } else {
            self.books.meter.queue(at, queued);
        }
        self.books.log(Entry::Drop { at, size });
        self.books.meter.counters.dropped_packets += 1;
        self.note(at, EventKind::Drop, &packet, f64::from(queued));
    }
}

impl Observer<'_> {
    fn note(&mut self, at: Time, kind: EventKind, packet: &Held, value: f64) {
        if let Some(events) = self.events {
            let sequence = packet.sequence.unwrap_or(u64::MAX);
            events.push(EventRow { time_s: seconds(at), kind, flow: packet.flow, link: self.index, sequence, value });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A path of 10 Mbit/s and 10 ms each way with room for two packets, whose clock begins 100 ms before the run.
    fn path(more: &str) -> (Path, Plan) {
        let toml = format!(
            "{more}\nduration = \"1s\"\npath = {{ rate = \"10mbit\", rtt = \"20ms\", queue = \"2p\" }}\nflows = [{{ cc = \"newreno\" }}]"
        );
        let plan = scenario::from_toml(&toml, "test.toml").unwrap().plan(&scenario::NoFiles).unwrap();
        (Path::new(&plan, 1, Span::from_millis(100)), plan)
    }

    fn at(micros: u64) -> Time {
        Time::ZERO + Span::from_micros(micros)
    }

    fn packet(place: u32, reverse: bool) -> Held {
        Held {
            place,
            size: 1500,
            flow: 0,
            route: 0,
            reverse,
            ecn: Ecn::NotCapable,
            marked: false,
            sequence: (!reverse).then_some(u64::from(place)),
            sent: Time::ZERO,
        }
    }

    /// What has come out by `now`: places, and when they should have.
    fn due(path: &mut Path, now: Time) -> Vec<(u32, Time)> {
        path.advance(now);
        std::iter::from_fn(|| path.pop_due(now)).map(|(packet, due)| (packet.place, due)).collect()
    }

    #[test]
    fn before_the_run_begins_a_packet_only_takes_the_delay() {
        let (mut path, plan) = path("");
        path.offer(at(50_000), packet(0, false));
        path.offer(at(50_000), packet(1, false));
        assert_eq!([0, 60_000].map(|t| path.timeout_after(at(t))), [at(60_000), Time::NEVER]);
        assert_eq!(due(&mut path, at(60_500)), [(0, at(60_000)), (1, at(60_000))]);
        assert_eq!(path.finish(at(1_000_000), &plan).links[0].arrived_packets, 0);
    }

    #[test]
    fn services_and_samples_have_their_own_instants_however_late_one_looks() {
        let (mut path, plan) = path("record = { link_series = \"2ms\" }");
        // 1.2 ms each from 100 ms on the clock of the path; one is in service and two wait; the fourth finds no room.
        for place in 0..4 {
            path.offer(at(100_000), packet(place, false));
        }
        assert_eq!(path.poll_gone().map(|gone| gone.place), Some(3));
        path.offer(at(101_300), packet(4, true));
        // Nobody looks for half a second.
        let expected = [(0, at(111_200)), (4, at(111_300)), (1, at(112_400)), (2, at(113_600))];
        assert_eq!(due(&mut path, at(600_000)), expected);
        let tables = path.finish(at(1_000_000), &plan);
        assert_eq!(tables.series.time_s[..3], [0.0, 0.002, 0.004]);
        // Sampled before what arrives at the same instant; at 2 ms the second is in service, and the third waits.
        assert_eq!(tables.series.queue_packets[..3], [0, 1, 0]);
        assert_eq!(tables.series.departed_bytes[..3], [0, 1500, 4500]);
        let row = &tables.links[0];
        assert_eq!((row.arrived_packets, row.departed_packets, row.dropped_packets), (4, 3, 1));
        // Busy for 3.6 ms of a second.
        assert!((row.utilization - 0.0036).abs() < 1e-12);
        assert_eq!(
            (tables.events[0].kind, tables.events[0].sequence, tables.events[0].value),
            (EventKind::Drop, 3, 2.0)
        );
    }

    #[test]
    fn the_measured_interval_begins_at_the_end_of_the_warm_up() {
        let (mut path, plan) = path("warmup = \"1ms\"");
        path.offer(at(100_000), packet(0, false));
        path.offer(at(102_000), packet(1, false));
        let row = &path.finish(at(1_000_000), &plan).links[0];
        assert_eq!((row.arrived_packets, row.departed_packets), (1, 2));
        // 0.2 ms of the first and 1.2 ms of the second, of 999 ms.
        assert!((row.utilization - 1.4 / 999.0).abs() < 1e-12, "{row:?}");
    }
}
