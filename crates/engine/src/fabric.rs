//! The network of a plan in motion: its links, the wires behind them, their meters, and when which of them has to be
//! looked at.
//!
//! A packet enters with [`Fabric::forward`] on the first step of its route. [`Fabric::next`] says when something is
//! due. Then [`Fabric::begin`], [`Fabric::pop_due`] and [`Fabric::end`] hand out what arrives there. An engine that
//! wants to know more than the rows hold watches through a [`Tap`]. Everything is dispatched statically: a packet costs
//! no indirect call.

use std::sync::Arc;

use network::{Chances, Discard, Egress, Jitter, Link, Offered, Propagation, Service, Wire};
use record::{LinkDescription, LinkMeter, LinkRow, LinkSample, LinkSeries, Sending, StationRow, seconds};
use scenario::{ClearEcn, Plan, PlannedLink};
use units::{Random, Span, Time};

use crate::EventQueue;
use crate::cut::{Cut, NETWORK, RECEIVERS, SENDERS};
use crate::medium::MeteredMedium;
use crate::route::{NO_LINK, Routes};
use crate::stages::ELSEWHERE;
use crate::state::{Held, LinkState, NetworkState, Observer, Routed, Tap, Ways, or_never};

mod passing;

/// A host takes less than this from the arrival of a packet to the answer of its TCP: an interrupt and its handler.
const HOST_TAKES: Span = Span::from_micros(10);

/// The links and wires of a plan at work.
#[derive(Debug)]
pub struct Fabric<P> {
    links: Vec<Link<P>>,
    /// The wireless media, whose queues are links after these.
    media: Vec<MeteredMedium<P>>,
    state: NetworkState<P>,
}

impl<P: Routed> Fabric<P> {
    /// The network of `plan` under `seed`, with nothing on it. Where reports have to come `in_time`, links whose queue
    /// may drop a packet when its turn comes are looked at for every service. Otherwise such a drop may be reported
    /// later than it happens.
    pub fn new(plan: &Plan, seed: u64, in_time: bool) -> Self {
        Self::of(plan, seed, in_time, Arc::new(Routes::new(plan, false)))
    }

    /// The same network with hosts that take time for a packet, where the plan has such (see [`Plan::has_phases`]).
    pub fn with_hosts(plan: &Plan, seed: u64, in_time: bool) -> Self {
        Self::of(plan, seed, in_time, Arc::new(Routes::new(plan, true)))
    }

    /// That network in three places, if it can be cut. What one place sends to another stays with it until it is
    /// [handed over](Fabric::hand_over).
    pub fn cut(plan: &Plan, seed: u64) -> Option<([Self; 3], Cut)> {
        let routes = Arc::new(Routes::new(plan, true));
        let cut = Cut::new(plan, &routes)?;
        let places = [SENDERS, RECEIVERS, NETWORK].map(|place| {
            let mut fabric = match place {
                NETWORK => Self::of(plan, seed, false, Arc::clone(&routes)),
                _ => Self::without_links(seed, Arc::clone(&routes)),
            };
            fabric.put_in(place, &cut);
            fabric
        });
        Some((places, cut))
    }

    fn of(plan: &Plan, seed: u64, in_time: bool, routes: Arc<Routes>) -> Self {
        let (mut links, mut states): (Vec<Link<P>>, Vec<LinkState>) = (Vec::new(), Vec::new());
        let wired = plan.wired_links();
        let classes = routes.classes(plan);
        for ((index, planned), behind) in (0..).zip(&plan.links).zip(&routes.behind) {
            let stream = |name| Random::stream(seed, name, index);
            let link = Link::new(planned.settings.clone(), stream("loss"), stream("queue"));
            let link = link.with_limits(&planned.limits).with_classes(&classes);
            let lead = routes.leads[index as usize];
            states.push(LinkState {
                meter: LinkMeter::new(sending(&planned.settings.service)),
                offered: Offered::new(&planned.settings.service),
                offered_before: -(link.stock(Time::ZERO).get() as f64),
                jitter: Jitter::new(&planned.jitter, lead, stream("jitter")),
                framing: planned.settings.queue.line(),
                held: planned.held.map(|most| Box::new(Held::new(most))),
                twice: planned.duplicate.map(|chance| Box::new((Chances::new(chance), stream("duplicate")))),
                clear_ecn: planned.clear_ecn,
                wake_after: if in_time && link.drops_at_head() {
                    Some(Span::ZERO)
                } else {
                    behind.overtaking.then_some(behind.shortest)
                },
                shortest: behind.shortest,
            });
            links.push(link);
        }
        // The queues of stations have only their states here.
        links.truncate(wired);
        let media =
            (0..).zip(&plan.media).map(|(index, planned)| MeteredMedium::new(planned, index, seed, &classes)).collect();
        let mut new = Self { links, media, ..Self::without_links(seed, routes) };
        new.state.links = states;
        new.state.ways.pending = EventQueue::new(new.state.ways.wires.len() + new.links.len() + new.media.len());
        new
    }

    fn without_links(seed: u64, routes: Arc<Routes>) -> Self {
        let wire = |((index, (delay, overtaking)), to_host): ((u64, &(Propagation, bool)), &bool)| {
            let wire = Wire::new(delay.clone(), *overtaking);
            if *to_host { wire.to_host(HOST_TAKES, Random::stream(seed, "hosts", index)) } else { wire }
        };
        let wires = (0..).zip(&routes.delays).zip(&routes.to_hosts).map(wire).collect();
        let pending = EventQueue::new(routes.delays.len());
        let (leads, others, filled) = (Vec::new(), Vec::new(), Vec::new());
        let ways = Ways { wires, routes, pending, leads, stage: 0, stage_of: Vec::new(), others, filled };
        let state = NetworkState { links: Vec::new(), ways };
        Self { links: Vec::new(), media: Vec::new(), state }
    }

    /// Moves the packets on wires that end in `other`, the same network in another place, to it.
    pub fn hand_over(&mut self, other: &mut Self) {
        let Ways { wires, filled, .. } = &mut self.state.ways;
        filled.retain(|&wire| {
            let there = other.state.ways.leads[wire as usize] != ELSEWHERE;
            if there {
                wires[wire as usize].hand_over(&mut other.state.ways.wires[wire as usize]);
                other.state.ways.look_at(wire);
            }
            !there
        });
    }

    /// The wire or link that is looked at next. Nothing may be pending only where [`next`](Self::next) said so.
    #[inline]
    pub fn next_slot(&self) -> u32 {
        self.state.ways.pending.first_slot()
    }

    /// When something happens next where nothing is offered: something is due, or a service starts.
    pub fn next_change(&self) -> Time {
        let others = self.state.ways.others.iter().map(EventQueue::next);
        self.links.iter().filter_map(Link::poll_timeout).chain(others).fold(self.next(), Time::min)
    }

    /// Takes `wire` off those that are looked at, until [`Fabric::end`] puts it back. Says when another is looked at
    /// next, and which.
    #[inline]
    pub fn lift(&mut self, wire: u32) -> (Time, u32) {
        self.state.ways.pending.set(wire, Time::NEVER);
        (self.next(), self.next_slot())
    }

    /// True if `step` begins with a link.
    #[inline]
    pub fn begins_with_link(&self, step: u32) -> bool {
        self.state.ways.routes.steps[step as usize].link != NO_LINK
    }

    /// The first step of data and of ACKs of the plan's flow `flow`.
    pub fn first_steps(&self, flow: usize) -> (u32, u32) {
        self.state.ways.routes.starts[flow]
    }

    /// When something has to be looked at, or [`Time::NEVER`] if nothing is under way.
    #[inline]
    pub fn next(&self) -> Time {
        self.state.ways.pending.next()
    }

    /// Looks at the first element due, at `now`. If that is a wire, take its arrivals with [`Fabric::pop_due`], then
    /// call [`Fabric::end`].
    #[inline]
    pub fn begin(&mut self, now: Time, tap: &mut impl Tap<P>) -> Option<u32> {
        let slot = self.state.ways.pending.first_slot();
        let wires = self.state.ways.wires.len() as u32;
        if slot >= wires {
            self.advance_link(now, slot - wires, tap);
            return None;
        }
        // Packets at the link can wait for the next look at it, unless one of them may arrive next.
        if !self.state.ways.wires[slot as usize].is_followed(now) {
            let link = self.state.ways.routes.wire_link[slot as usize];
            if (link as usize) < self.links.len() {
                self.advance_link(now, link, tap);
            }
        }
        Some(slot)
    }

    /// When the next packet arrives on `wire`. `None`: none will.
    pub fn next_arrival(&self, wire: u32) -> Option<Time> {
        self.state.ways.wires[wire as usize].next_arrival()
    }

    /// When something arrives after `instant`, at the earliest: for an engine that has set its clock to `instant`
    /// already.
    pub fn timeout_after(&self, instant: Time) -> Time {
        let arrivals = self.state.ways.wires.iter().filter_map(|wire| wire.arrival_after(instant));
        let links = self.links.iter().zip(&self.state.links);
        let services = links.filter_map(|(link, link_state)| Some(link.poll_timeout()? + link_state.shortest));
        or_never(arrivals.chain(services.filter(|&at| at > instant)).min())
    }

    /// The next packet that has arrived on `wire` by `now`.
    #[inline]
    pub fn pop_due(&mut self, wire: u32, now: Time) -> Option<P> {
        self.state.ways.wires[wire as usize].pop_due(now)
    }

    /// The next packet that arrives on `wire` before `end`, and when.
    #[inline]
    pub fn pop_before(&mut self, wire: u32, end: Time) -> Option<(Time, P)> {
        self.state.ways.wires[wire as usize].pop_before(end)
    }

    /// The packet that arrives on `wire` after `others` more, as far as that is known.
    #[inline]
    pub fn ahead(&self, wire: u32, others: usize) -> Option<&P> {
        self.state.ways.wires[wire as usize].ahead(others)
    }

    /// Lets the processor fetch the packet that arrives on `wire` after `others` more.
    #[inline]
    pub fn prefetch(&self, wire: u32, others: usize) {
        self.state.ways.wires[wire as usize].prefetch(others);
    }

    /// Lets the processor fetch where the packets come from and go to that pass the link before `wire` after `others`
    /// more.
    #[inline]
    pub fn prefetch_passage(&self, wire: u32, others: usize) {
        self.state.ways.wires[wire as usize].prefetch_place(others);
        if let Some(link) = self.links.get(self.state.ways.routes.wire_link[wire as usize] as usize) {
            link.prefetch(others);
        }
    }

    /// All that arrived on `wire` was taken.
    #[inline]
    pub fn end(&mut self, wire: u32) {
        let next = self.state.ways.wires[wire as usize].next_arrival();
        self.state.ways.pending.set(wire, or_never(next));
    }

    /// True if `packet` is on the last step of its route.
    #[inline]
    pub fn is_last(&self, packet: &P) -> bool {
        self.state.ways.routes.steps[packet.step() as usize].last
    }

    /// `packet` begins the step it is on. Inlined, so that a packet that was made just now goes from registers to its
    /// place: read back from memory in wider pieces than it was written in, it would stall the processor.
    #[inline(always)]
    pub fn forward(&mut self, now: Time, packet: P, tap: &mut impl Tap<P>) {
        let step = self.state.ways.routes.steps[packet.step() as usize];
        if step.link == NO_LINK {
            let wire = &mut self.state.ways.wires[step.wire as usize];
            if wire.push(now, Span::ZERO, packet) {
                self.state.ways.look_at(step.wire);
            }
            return;
        }
        let Some(link) = self.links.get_mut(step.link as usize) else {
            return self.send_by_air(now, packet, tap);
        };
        self.state.links[step.link as usize].meter.counters.arrived_packets += 1;
        if self.state.links[step.link as usize].is_special() {
            return self.forward_specially(now, packet, step.link, tap);
        }
        link.offer(now, packet, &mut self.state.observe(step.link, tap));
        self.wake_link(step.link);
    }

    /// `packet` arrives at a `link` where packets under way take room, some arrive twice, or the ECN field is cleared.
    #[cold]
    #[inline(never)]
    fn forward_specially(&mut self, now: Time, mut packet: P, link: u32, tap: &mut impl Tap<P>) {
        let served = &mut self.links[link as usize];
        let mut observer = self.state.observe(link, tap);
        if observer.own.clear_ecn == Some(ClearEcn::Before) {
            packet.clear_ecn();
        }
        let twice = observer.own.twice.as_deref_mut().is_some_and(|(chances, random)| chances.strike(random));
        let copy = if twice { packet.duplicate() } else { None };
        observer.own.meter.counters.arrived_packets += u64::from(copy.is_some());
        for packet in std::iter::once(packet).chain(copy) {
            served.advance(now, &mut observer);
            let waiting = served.queued_packets();
            if observer.own.held.as_mut().is_some_and(|held| held.is_full(now, waiting)) {
                observer.discard(packet, now, Discard::Full, waiting);
            } else {
                served.offer(now, packet, &mut observer);
            }
        }
        self.wake_link(link);
    }

    /// Packets begin the step they are on, each at its time, as long as `next` gives one. Its argument is the next
    /// element that the fabric will look at, and it gives no packet after that. Packets for one link follow each other
    /// in one loop.
    pub fn forward_all<T: Tap<P>>(
        &mut self,
        tap: &mut T,
        mut next: impl FnMut(&mut T, (Time, u32)) -> Option<(Time, P)>,
    ) {
        self.forward_from(tap, |tap, Ways { pending, .. }| next(tap, (pending.next(), pending.first_slot())));
    }

    /// As [`forward_all`](Self::forward_all), where the packets may come from wires.
    #[inline(always)]
    fn forward_from<T: Tap<P>>(
        &mut self,
        tap: &mut T,
        mut next: impl FnMut(&mut T, &mut Ways<P>) -> Option<(Time, P)>,
    ) {
        while let Some((now, packet)) = next(tap, &mut self.state.ways) {
            let first = packet.step();
            let link = self.state.ways.routes.steps[first as usize].link;
            // A link that is itself looked at changes the next time.
            let alone = |state: &LinkState| state.wake_after.is_some() || state.is_special();
            if self.state.links.get(link as usize).is_none_or(alone) {
                self.forward(now, packet, tap);
                continue;
            }
            let Some(served) = self.links.get_mut(link as usize) else {
                self.forward(now, packet, tap);
                continue;
            };
            let mut observer = self.state.observe(link, tap);
            let mut offered = (now, packet);
            let other = loop {
                observer.own.meter.counters.arrived_packets += 1;
                served.offer_in_row(offered.0, offered.1, &mut observer);
                let Observer { ways, tap, .. } = &mut observer;
                let Some(following) = next(tap, ways) else { return };
                let step = following.1.step();
                if step != first && ways.routes.steps[step as usize].link != link {
                    break following;
                }
                offered = following;
            };
            self.forward(other.0, other.1, tap);
        }
    }

    /// `packet` begins a step over a wireless medium.
    #[cold]
    #[inline(never)]
    fn send_by_air(&mut self, now: Time, packet: P, tap: &mut impl Tap<P>) {
        let step = self.state.ways.routes.steps[packet.step() as usize];
        let index = self.media.partition_point(|air| air.first_link <= step.link) - 1;
        self.media[index].offer(now, (step.link, step.station), packet, &mut self.state, tap);
        self.wake_medium(index);
    }

    #[cold]
    #[inline(never)]
    fn advance_medium(&mut self, now: Time, index: usize, tap: &mut impl Tap<P>) {
        self.media[index].advance(now, &mut self.state, tap);
        self.wake_medium(index);
    }

    fn wake_medium(&mut self, index: usize) {
        let slot = self.state.ways.wires.len() + self.links.len() + index;
        self.state.ways.pending.set(slot as u32, self.media[index].medium.next());
    }

    /// Brings all links up to `now`.
    pub fn advance(&mut self, now: Time, tap: &mut impl Tap<P>) {
        for link in 0..(self.links.len() + self.media.len()) as u32 {
            self.advance_link(now, link, tap);
        }
    }

    /// The measured interval starts at `now`, to which the links are brought.
    pub fn begin_measuring(&mut self, now: Time, tap: &mut impl Tap<P>) {
        self.advance(now, tap);
        for (index, link_state) in self.state.links.iter_mut().enumerate() {
            link_state.meter.restart(now);
            let stock = self.links.get(index).map_or(0.0, |link| link.stock(now).get() as f64);
            link_state.offered_before = link_state.offered.bytes_by(now).unwrap_or(0.0) - stock;
        }
        self.media.iter_mut().for_each(|air| air.restart(now));
    }

    /// Bytes that `link`, an index of the plan, has sent since the start of the run. It was brought up to `now`.
    pub fn departed_bytes(&mut self, now: Time, link: usize) -> u64 {
        self.state.links[link].meter.counters_at(now).departed_bytes
    }

    /// Appends a row of each link to `series`, at `now`. The links were brought up to it ([`Fabric::advance`]).
    pub fn sample(&mut self, now: Time, series: &mut LinkSeries) {
        let wired = self.links.iter().map(|link| (link.queued_packets(), link.queued_bytes()));
        let wireless = self.media.iter().flat_map(|air| air.medium.queues());
        let queues = wired.chain(wireless);
        for ((index, (packets, bytes)), link_state) in (0u32..).zip(queues).zip(&mut self.state.links) {
            let counters = link_state.meter.counters_at(now);
            series.push(LinkSample {
                time_s: seconds(now),
                link: index,
                queue_packets: packets,
                queue_bytes: bytes.get(),
                departed_bytes: counters.departed_bytes,
                capacity_bytes: link_state.offered.bytes_by(now).unwrap_or(f64::NAN),
                dropped_packets: counters.dropped_packets,
                lost_packets: counters.lost_packets,
                marked_packets: counters.marked_packets,
            });
        }
    }

    /// The rows of the links over the interval that ends at `end`, to which they were brought.
    pub fn rows(&mut self, end: Time, plan: &Plan) -> Vec<LinkRow> {
        let row = |((index, link_state), link): ((usize, &mut LinkState), &PlannedLink)| {
            link_state.meter.finish(
                end,
                LinkDescription {
                    link: index as u32,
                    name: &link.name,
                    rate: link.rate,
                    capacity_bytes: link_state.offered.bytes_by(end).map(|bytes| bytes - link_state.offered_before),
                },
            )
        };
        let mut rows: Vec<LinkRow> = self.state.links.iter_mut().enumerate().zip(&plan.links).map(row).collect();
        mark_bottleneck(&mut rows, plan);
        rows
    }

    /// The rows of the stations of wireless media, likewise.
    pub fn station_rows(&self, end: Time, plan: &Plan) -> Vec<StationRow> {
        self.media.iter().enumerate().flat_map(|(index, air)| air.rows(end, plan, index)).collect()
    }

    /// Packets waiting at all links.
    pub fn queued_packets(&self) -> u32 {
        let by_air: u32 = self.media.iter().map(|air| air.medium.packets()).sum();
        self.links.iter().map(Link::queued_packets).sum::<u32>() + by_air
    }

    #[inline]
    fn advance_link(&mut self, now: Time, link: u32, tap: &mut impl Tap<P>) {
        let wired = self.links.len();
        let Some(served) = self.links.get_mut(link as usize) else {
            return self.advance_medium(now, link as usize - wired, tap);
        };
        served.advance(now, &mut self.state.observe(link, tap));
        self.wake_link(link);
    }

    /// If packets leave a link for different delays, the one in service may arrive after one that waits: the link
    /// must be advanced by the time at which the next service could end and cross the shortest wire. With one wire
    /// behind it that keeps the order, the arrival of the packet in service is that time.
    #[inline(always)]
    fn wake_link(&mut self, link: u32) {
        if let Some(after) = self.state.links[link as usize].wake_after {
            self.wake_link_after(link, after);
        }
    }

    #[inline(never)]
    fn wake_link_after(&mut self, link: u32, after: Span) {
        let at = or_never(self.links[link as usize].poll_timeout()) + after;
        self.state.ways.pending.set(self.state.ways.wires.len() as u32 + link, at);
    }
}

/// Marks the link that limited the flows. It is the link of [`Plan::limiting`] that was busy for the largest share of
/// the interval, the first of equals. If none was busy, it is the expected one.
pub fn mark_bottleneck(rows: &mut [LinkRow], plan: &Plan) {
    let busier = |most: Option<usize>, link: usize| {
        let busy = rows[link].busy_share;
        if busy > most.map_or(0.0, |most| rows[most].busy_share) { Some(link) } else { most }
    };
    let limits = plan.limiting.iter().copied().fold(None, busier).or(plan.bottleneck);
    for (link, row) in rows.iter_mut().enumerate() {
        row.is_bottleneck = limits == Some(link);
    }
}

/// When a link with `service` sends.
fn sending(service: &Service) -> Sending {
    match service {
        Service::Unlimited | Service::Fixed(_) => Sending::Steadily,
        Service::Steps(_) => Sending::Except(service.outages().into()),
        Service::Trace(_) => Sending::AtInstants,
        Service::Shaped(bucket) => Sending::AtEnd(bucket.peak),
    }
}
