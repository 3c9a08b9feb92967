//! The emulated path: the links, queues and wires of a plan, around packets in a [`Pool`](crate::emulator::pool::Pool).
//!
//! Its clock begins [`Path::new`]'s `lead` before the run. Events at a link are accounted for at its own instant,
//! however late the emulator looks.

use engine::{Fabric, Routed, Schedule, Series, Tap, mark_bottleneck};
use network::{Departure, Discard, Packet, Purpose, TcpAck};
use record::{EventRow, LinkRow, LinkSeries};
use scenario::{Hop, Plan};
use units::{Bytes, Ecn, Span, Time};

use crate::emulator::kernel_queue::{KernelQueue, Notes};
use crate::emulator::log::{Entry, Log};

/// A packet on the path.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct InTransit {
    /// Its place in the pool.
    pub(crate) place: u32,
    /// Its size in bytes.
    pub(crate) size: u32,
    /// The index of its flow in the tables, by which queues distinguish flows.
    pub(crate) flow: u32,
    /// The flow of the plan whose route it takes.
    pub(crate) route: u32,
    /// It goes the way of the ACKs.
    pub(crate) reverse: bool,
    /// The step of its route, set by the path.
    pub(crate) step: u32,
    pub(crate) ecn: Ecn,
    pub(crate) marked: bool,
    /// Number of the segment, or `None` if the packet carries no data.
    pub(crate) sequence: Option<u64>,
    pub(crate) purpose: Purpose,
    /// The fields that a filter of ACKs compares, if a link filters ACKs.
    pub(crate) ack: Option<TcpAck>,
    /// When it was read, on the clock of the path.
    pub(crate) sent: Time,
}

impl Packet for InTransit {
    fn size(&self) -> Bytes {
        Bytes::new(u64::from(self.size))
    }
    fn ecn(&self) -> Ecn {
        self.ecn
    }
    fn flow(&self) -> u32 {
        self.flow
    }
    fn class(&self) -> u32 {
        self.step
    }
    fn purpose(&self) -> Purpose {
        self.purpose
    }
    fn tcp_ack(&self) -> Option<TcpAck> {
        self.ack
    }
    fn mark_congestion(&mut self) {
        self.marked = true;
    }
    fn clear_ecn(&mut self) {
        self.ecn = Ecn::NotCapable;
        self.marked = false;
    }
}

impl Routed for InTransit {
    fn step(&self) -> u32 {
        self.step
    }
    fn next_step(&mut self) {
        self.step += 1;
    }
    fn sequence(&self) -> Option<u64> {
        self.sequence
    }
}

/// The links and wires of a plan at work, and their records.
pub(crate) struct Path {
    lead: Span,
    /// On the clock of the run.
    fabric: Fabric<InTransit>,
    /// The first steps of data and ACKs of each flow of the plan.
    steps: Vec<[u32; 2]>,
    /// The queues of the kernel that these pass.
    queue_of: Vec<[Option<usize>; 2]>,
    /// A link filters ACKs.
    filters_acks: bool,
    schedule: Schedule,
    series: LinkSeries,
    observer: Observer,
}

/// Notes on the events at its links.
struct Observer {
    notes: Notes,
    /// The queues that are the kernel's.
    queues: Vec<KernelQueue>,
    /// The link whose queue is logged.
    log: Option<(u32, Log)>,
}

impl Observer {
    #[inline]
    fn log(&self, link: u32, entry: Entry) {
        if let Some((logged, log)) = &self.log
            && *logged == link
        {
            // Its writer may have met a full disk, and says so in the end.
            let _ = log.send(entry);
        }
    }
}

impl Tap<InTransit> for Observer {
    fn taken(&mut self, link: u32, packet: &InTransit, at: Time, _marked: bool) {
        self.log(link, Entry::Arrival { at, size: packet.size() });
    }

    fn departed(&mut self, link: u32, packet: &InTransit, departure: &Departure) {
        let &Departure { arrived, finish, .. } = departure;
        if let Some(queue) = self.queues.iter_mut().find(|queue| queue.link == link) {
            queue.departed(packet, departure);
        }
        self.log(link, Entry::Departure { arrived, finish, size: packet.size() });
    }

    fn discarded(&mut self, link: u32, packet: InTransit, at: Time, why: Discard) {
        let size = packet.size();
        if matches!(why, Discard::Full | Discard::Early) {
            self.log(link, Entry::Arrival { at, size });
        }
        if why != Discard::Lost {
            self.log(link, Entry::Drop { at, size });
        }
        self.notes.dropped.push((packet, why));
    }

    fn event(&mut self, row: EventRow) {
        if let Some(events) = &mut self.notes.events {
            events.push(row);
        }
    }
}

/// Records of the links.
pub(crate) struct LinkTables {
    pub(crate) links: Vec<LinkRow>,
    pub(crate) series: LinkSeries,
    pub(crate) events: Vec<EventRow>,
}

impl Path {
    /// The path of `plan` under `seed`. Every route of the plan has one hop.
    pub(crate) fn new(plan: &Plan, seed: u64, lead: Span) -> Self {
        Self::with_queues(plan, seed, lead, &[])
    }

    /// The same with these queues in the kernel: the index of each link, and true if its flows may overtake each other.
    pub(crate) fn with_queues(plan: &Plan, seed: u64, lead: Span, in_kernel: &[(usize, bool)]) -> Self {
        let mut behind = plan.clone();
        let mut queues = Vec::new();
        for &(link, fair) in in_kernel {
            queues.push(KernelQueue::new(&plan.links[link], link, fair, seed));
            KernelQueue::behind(&mut behind.links[link]);
        }
        let fabric = Fabric::new(&behind, seed, false);
        let first_steps = |flow| {
            let (data, acks) = fabric.first_steps(flow);
            [data, acks]
        };
        let queue_of = |hops: &Vec<Hop>| in_kernel.iter().position(|&(link, _)| hops[0].link == Some(link));
        Self {
            lead,
            steps: (0..plan.flows.len()).map(first_steps).collect(),
            fabric,
            filters_acks: plan.links.iter().any(|link| link.settings.queue.filters_acks()),
            schedule: Schedule::new(plan, &[Series::Links]),
            series: LinkSeries::default(),
            observer: Observer {
                notes: Notes { events: plan.record.events.then(Vec::new), dropped: Vec::new() },
                queues,
                log: None,
            },
            queue_of: plan.flows.iter().map(|flow| [&flow.forward, &flow.reverse].map(queue_of)).collect(),
        }
    }

    /// Events at the link `index` are sent to `log` from now on.
    pub(crate) fn log_link(&mut self, index: usize, log: Log) {
        self.observer.log = Some((index as u32, log));
    }

    /// True if a link filters ACKs. Packets then have the compared fields in [`InTransit::ack`].
    pub(crate) fn filters_acks(&self) -> bool {
        self.filters_acks
    }

    /// The run begins at this instant of the path's clock.
    pub(crate) fn start(&self) -> Time {
        Time::ZERO + self.lead
    }

    /// `packet` enters at `now`, after everything earlier. Returns the queue of the kernel to which it must be sent, if
    /// any. The caller reports the outcome with [`sent`](Self::sent).
    pub(crate) fn offer(&mut self, now: Time, mut packet: InTransit) -> Option<usize> {
        let (route, direction) = (packet.route as usize, usize::from(packet.reverse));
        let now = self.run_time(now);
        self.settle(now);
        packet.step = self.steps[route][direction];
        let Some(queue) = self.queue_of[route][direction] else {
            self.fabric.forward(now, packet, &mut self.observer);
            return None;
        };
        self.fabric.advance(now, &mut self.observer);
        self.observer.queues[queue].offer(now, packet, &mut self.observer.notes).then_some(queue)
    }

    /// The packet that was just offered was sent to `queue` of the kernel, which has taken it or dropped it.
    pub(crate) fn sent(&mut self, now: Time, queue: usize, taken: bool) {
        let now = self.run_time(now);
        match &mut self.observer.queues[queue] {
            of if taken => of.take(now),
            of => of.refuse(now, &mut self.observer.notes),
        }
    }

    /// The kernel hands out the packet in `place` from its `queue`, with a congestion mark or without. Unknown ones are
    /// ignored.
    pub(crate) fn handed_out(&mut self, now: Time, queue: usize, place: u32, marked: bool) {
        let now = self.run_time(now);
        self.settle(now);
        self.fabric.advance(now, &mut self.observer);
        let packet = self.observer.queues[queue].hand_out(now, place, marked, &mut self.observer.notes);
        if let Some(packet) = packet {
            self.fabric.forward(now, packet, &mut self.observer);
        }
    }

    fn run_time(&self, now: Time) -> Time {
        Time::ZERO + now.since(self.start())
    }

    /// A packet that the links lost or dropped, and why.
    pub(crate) fn poll_dropped(&mut self) -> Option<(InTransit, Discard)> {
        self.observer.notes.dropped.pop()
    }

    /// Brings the links up to `now`.
    pub(crate) fn advance(&mut self, now: Time) {
        if now >= self.start() {
            let now = self.run_time(now);
            self.settle(now);
            self.fabric.advance(now, &mut self.observer);
        }
    }

    /// The packet that arrives first, with the instant at which it should, if that has come by `now`.
    pub(crate) fn pop_due(&mut self, now: Time) -> Option<(InTransit, Time)> {
        let now = self.run_time(now);
        while self.fabric.next() <= now {
            let Some(wire) = self.fabric.begin(now, &mut self.observer) else { continue };
            let due = self.fabric.next_arrival(wire).unwrap_or(Time::NEVER);
            let packet = self.fabric.pop_due(wire, now);
            self.fabric.end(wire);
            if let Some(packet) = packet {
                return Some((packet, due + self.lead));
            }
        }
        None
    }

    /// Packets waiting at all links.
    pub(crate) fn queued_packets(&self) -> u32 {
        self.fabric.queued_packets() + self.observer.queues.iter().map(KernelQueue::in_kernel).sum::<u32>()
    }

    /// When to look again after `instant`, if nothing enters until then.
    pub(crate) fn timeout_after(&self, instant: Time) -> Time {
        self.fabric.timeout_after(self.run_time(instant)) + self.lead
    }

    /// Takes the samples that are due by `now` (of the run), and begins to measure if that is due.
    fn settle(&mut self, now: Time) {
        loop {
            let due = self.schedule.next().min(self.schedule.warmup());
            if due > now {
                return;
            }
            if self.schedule.take_warmup(due) {
                self.fabric.begin_measuring(due, &mut self.observer);
                self.observer.queues.iter_mut().for_each(|queue| queue.restart(due));
            }
            if self.schedule.take(Series::Links, due) {
                self.fabric.advance(due, &mut self.observer);
                let before = self.series.link.len();
                self.fabric.sample(due, &mut self.series);
                for queue in &mut self.observer.queues {
                    queue.sample(due, &mut self.series, before);
                }
            }
        }
    }

    /// Ends the run at `end` (of the run). Returns the tables of the links.
    pub(crate) fn finish(mut self, end: Time, plan: &Plan) -> LinkTables {
        self.settle(end);
        self.fabric.advance(end, &mut self.observer);
        if let Some((link, _)) = self.observer.log {
            self.observer.log(link, Entry::End { at: end });
        }
        let events = self.observer.notes.events.take().unwrap_or_default();
        let mut links = self.fabric.rows(end, plan);
        for queue in &mut self.observer.queues {
            let link = queue.link as usize;
            links[link] = queue.row(end, &plan.links[link]);
        }
        mark_bottleneck(&mut links, plan);
        LinkTables { links, series: self.series, events }
    }
}

#[cfg(test)]
mod tests {
    use record::EventKind;

    use super::*;

    /// A path of 10 Mbit/s and 10 ms each way with room for two packets, whose clock begins 100 ms before the run.
    fn path(more: &str) -> (Path, Plan) {
        path_with("", more)
    }

    /// The same with other `keys` of the path.
    fn path_with(keys: &str, more: &str) -> (Path, Plan) {
        let toml = format!(
            "{more}\nduration = \"1s\"\npath = {{ rate = \"10mbit\", rtt = \"20ms\", queue = \"2p\", {keys} }}\n\
             flows = [{{ cc = \"newreno\" }}]"
        );
        let plan = scenario::from_toml(&toml, "test.toml").unwrap().plan(&scenario::NoFiles).unwrap();
        (Path::new(&plan, 1, Span::from_millis(100)), plan)
    }

    fn at(micros: u64) -> Time {
        Time::ZERO + Span::from_micros(micros)
    }

    fn packet(place: u32, reverse: bool) -> InTransit {
        InTransit {
            place,
            size: 1500,
            flow: 0,
            route: 0,
            reverse,
            step: 0,
            ecn: Ecn::NotCapable,
            marked: false,
            sequence: (!reverse).then_some(u64::from(place)),
            purpose: Purpose::Data,
            ack: None,
            sent: Time::ZERO,
        }
    }

    /// The packets that have come out by `now`: places, and when they should have.
    fn due(path: &mut Path, now: Time) -> Vec<(u32, Time)> {
        path.advance(now);
        std::iter::from_fn(|| path.pop_due(now)).map(|(packet, due)| (packet.place, due)).collect()
    }

    #[test]
    fn a_packet_that_opens_a_connection_waits_and_is_lost_by_its_own_number() {
        let (mut path, plan) = path_with("loss = { openings = [1] }", "");
        let opening = |place| InTransit { sequence: None, purpose: Purpose::Opening, ..packet(place, false) };
        // The first data packet is in service until 101.2 ms.
        path.offer(at(100_000), packet(0, false));
        path.offer(at(100_100), opening(1));
        path.offer(at(100_200), opening(2));
        assert_eq!(path.poll_dropped().map(|(packet, why)| (packet.place, why)), Some((2, Discard::Lost)));
        assert_eq!(due(&mut path, at(113_000)), [(0, at(111_200)), (1, at(112_400))]);
        assert_eq!(path.finish(at(1_000_000), &plan).links[0].arrived_packets, 3);
    }

    #[test]
    fn services_and_samples_have_their_own_instants_however_late_one_looks() {
        let (mut path, plan) = path("record = { link_series = \"2ms\" }");
        // 1.2 ms each from 100 ms on the clock of the path. One is in service and two wait. The fourth finds no room.
        for place in 0..4 {
            path.offer(at(100_000), packet(place, false));
        }
        assert_eq!(path.poll_dropped().map(|(packet, _)| packet.place), Some(3));
        path.offer(at(101_300), packet(4, true));
        // Nobody looks for half a second.
        let expected = [(0, at(111_200)), (4, at(111_300)), (1, at(112_400)), (2, at(113_600))];
        assert_eq!(due(&mut path, at(600_000)), expected);
        let tables = path.finish(at(1_000_000), &plan);
        assert_eq!(tables.series.time_s[..3], [0.0, 0.002, 0.004]);
        // Sampled before the arrivals at the same instant. At 2 ms the second is in service, and the third waits.
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
