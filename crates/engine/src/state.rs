//! State of a network beside its links: meters, wires, routes, and the reports of links to an engine.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use network::{Chances, Departure, Discard, Egress, Framing, Jitter, Offered, Packet, Wire};
use record::{EventKind, EventRow, FrameRow, LinkMeter, seconds};
use scenario::ClearEcn;
use units::{Random, Span, Time};

use crate::EventQueue;
use crate::route::Routes;

/// A packet on a route.
pub trait Routed: Packet {
    /// The step of its route that it is on, as [`Fabric::first_steps`] counts.
    fn step(&self) -> u32;

    /// It has crossed the wire of its step and begins the next.
    fn next_step(&mut self);

    /// The number of its segment, by which rows name it, or `None` if the packet carries no data.
    fn sequence(&self) -> Option<u64>;
}

/// An engine's own part in the reports of links. Links have their index in the plan.
pub trait Tap<P> {
    /// `link` took `packet` at `at`. It is as it arrived, and `marked` now.
    #[inline]
    fn taken(&mut self, link: u32, packet: &P, at: Time, marked: bool) {
        let _ = (link, packet, at, marked);
    }

    /// The service of `packet` on `link` starts.
    #[inline]
    fn departed(&mut self, link: u32, packet: &P, departure: &Departure) {
        let _ = (link, packet, departure);
    }

    /// `link` lost or dropped `packet` at `at`.
    fn discarded(&mut self, link: u32, packet: P, at: Time, why: Discard);

    /// A row for the table of events.
    fn event(&mut self, row: EventRow);

    /// A row for the table of frames.
    fn frame(&mut self, row: FrameRow) {
        let _ = row;
    }
}

/// State of a network beside its links.
#[derive(Debug)]
pub(crate) struct NetworkState<P> {
    /// One for each link.
    pub(crate) links: Vec<LinkState>,
    pub(crate) ways: Ways<P>,
}

impl<P> NetworkState<P> {
    /// The observer of `link`, which reports to `tap`.
    #[inline(always)]
    pub(crate) fn observe<'a, T>(&'a mut self, link: u32, tap: &'a mut T) -> Observer<'a, P, T> {
        Observer { link, own: &mut self.links[link as usize], ways: &mut self.ways, tap }
    }
}

/// The ways of packets behind links, and when which wire or link is looked at.
#[derive(Debug)]
pub(crate) struct Ways<P> {
    pub(crate) wires: Vec<Wire<P>>,
    pub(crate) routes: Arc<Routes>,
    /// Wires first, then links, then media, of the present stage.
    pub(crate) pending: EventQueue,
    /// In one place of several: the stage to which each wire leads here. Those that end [`ELSEWHERE`] are only filled.
    pub(crate) leads: Vec<u8>,
    /// The stage of the links that take packets now.
    pub(crate) stage: u8,
    /// The stage of each link, where there are stages.
    pub(crate) stage_of: Vec<u8>,
    /// What is pending in each of the other stages.
    pub(crate) others: Vec<EventQueue>,
    /// The wires that end in another place and on which a packet has been put.
    pub(crate) filled: Vec<u32>,
}

impl<P> Ways<P> {
    /// Another packet is the next to arrive on `wire`.
    #[inline]
    pub(crate) fn look_at(&mut self, wire: u32) {
        if self.leads.get(wire as usize).is_some_and(|&stage| stage != self.stage) {
            return self.put_off(wire);
        }
        self.pending.set(wire, or_never(self.wires[wire as usize].next_arrival()));
    }

    /// As [`look_at`](Self::look_at), for a wire that leads to another stage or place.
    #[inline(never)]
    fn put_off(&mut self, wire: u32) {
        match self.others.get_mut(self.leads[wire as usize] as usize) {
            Some(pending) => pending.set(wire, or_never(self.wires[wire as usize].next_arrival())),
            None => self.filled.push(wire),
        }
    }
}

/// Meters of a link, and when it is looked at.
#[derive(Debug)]
pub(crate) struct LinkState {
    pub(crate) meter: LinkMeter,
    /// Bytes that the link could have sent, and those before the measured interval. The tokens that a bucket holds at
    /// its start count as offered.
    pub(crate) offered: Offered,
    pub(crate) offered_before: f64,
    pub(crate) jitter: Jitter,
    /// How packets are framed on it.
    pub(crate) framing: Option<Framing>,
    /// The packets that take room although they wait no longer, where some do.
    pub(crate) held: Option<Box<Held>>,
    /// Which packets arrive twice, where some do.
    pub(crate) twice: Option<Box<(Chances, Random)>>,
    /// Where the ECN field is cleared.
    pub(crate) clear_ecn: Option<ClearEcn>,
    /// The link is looked at this long after the next service starts. With `None` it is looked at only when a wire
    /// behind it has to be.
    pub(crate) wake_after: Option<Span>,
    /// The shortest delay behind it.
    pub(crate) shortest: Span,
}

impl LinkState {
    /// True if a packet that arrives takes more than an offer to the link.
    pub(crate) fn is_special(&self) -> bool {
        self.held.is_some() || self.twice.is_some() || self.clear_ecn.is_some()
    }
}

/// Packets in service or under way, which take room in the queue, as within `netem`.
#[derive(Debug)]
pub(crate) struct Held {
    most: u32,
    arrivals: BinaryHeap<Reverse<Time>>,
}

impl Held {
    /// At most so many may wait, be in service or be under way.
    pub(crate) fn new(most: u32) -> Self {
        Self { most, arrivals: BinaryHeap::new() }
    }

    /// A packet left the queue, and arrives at `arrival`.
    fn enter(&mut self, arrival: Time) {
        self.arrivals.push(Reverse(arrival));
    }

    /// True if there is no room for a packet that comes at `now`, when `waiting` packets wait.
    pub(crate) fn is_full(&mut self, now: Time, waiting: u32) -> bool {
        while self.arrivals.peek().is_some_and(|arrival| arrival.0 <= now) {
            self.arrivals.pop();
        }
        self.arrivals.len() + waiting as usize >= self.most as usize
    }
}

/// The observer of one link: meters, rows, wires.
pub(crate) struct Observer<'a, P, T> {
    link: u32,
    pub(crate) own: &'a mut LinkState,
    pub(crate) ways: &'a mut Ways<P>,
    pub(crate) tap: &'a mut T,
}

impl<P: Routed, T: Tap<P>> Egress<P> for Observer<'_, P, T> {
    #[inline(always)]
    fn take(&mut self, packet: &P, at: Time, marked: bool, queued: u32) {
        if queued > 0 {
            self.own.meter.queue(at, queued);
        }
        self.tap.taken(self.link, packet, at, marked);
    }

    #[inline(never)]
    fn mark(&mut self, packet: &P, at: Time, queued: u32) {
        self.own.meter.counters.marked_packets += 1;
        self.note(at, EventKind::Mark, packet, f64::from(queued));
    }

    /// The packet goes on the wire, on which it arrives after its last bit has left.
    #[inline]
    fn depart(&mut self, mut packet: P, departure: Departure) {
        let Departure { arrived, start, finish, queued_packets, .. } = departure;
        self.own.meter.queue(start, queued_packets);
        let size = packet.size();
        let on_link = self.own.framing.as_ref().map_or(size, |framing| framing.on_link(size));
        self.own.meter.framed_service(start, finish, start.since(arrived), [size, on_link]);
        self.tap.departed(self.link, &packet, &departure);
        if self.own.clear_ecn == Some(ClearEcn::After) {
            packet.clear_ecn();
        }
        let wire = self.ways.routes.steps[packet.step() as usize].wire;
        let extra = self.own.jitter.draw(finish, packet.size());
        if let Some(held) = &mut self.own.held {
            held.enter(finish + self.ways.routes.delays[wire as usize].0.at(finish) + extra);
        }
        if self.ways.wires[wire as usize].push(finish, extra, packet) {
            self.ways.look_at(wire);
        }
    }

    #[inline(never)]
    fn discard(&mut self, packet: P, at: Time, why: Discard, queued: u32) {
        let meter = &mut self.own.meter;
        if matches!(why, Discard::Evicted | Discard::Head) {
            meter.queue(at, queued);
        }
        if why == Discard::Lost {
            meter.counters.lost_packets += 1;
            self.note(at, EventKind::Lost, &packet, f64::NAN);
        } else {
            meter.counters.dropped_packets += 1;
            self.note(at, EventKind::Drop, &packet, f64::from(queued));
        }
        self.tap.discarded(self.link, packet, at, why);
    }
}

impl<P: Routed, T: Tap<P>> Observer<'_, P, T> {
    fn note(&mut self, at: Time, kind: EventKind, packet: &P, value: f64) {
        let sequence = packet.sequence().unwrap_or(u64::MAX);
        self.tap.event(EventRow { time_s: seconds(at), kind, flow: packet.flow(), link: self.link, sequence, value });
    }
}

#[inline]
pub(crate) fn or_never(at: Option<Time>) -> Time {
    at.unwrap_or(Time::NEVER)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_that_wait_and_packets_under_way_share_the_room() {
        let at = Time::from_nanos;
        let mut held = Held::new(3);
        assert!([0, 2, 3].map(|waiting| held.is_full(at(0), waiting)) == [false, false, true]);
        held.enter(at(20));
        held.enter(at(10));
        assert!([0, 1, 2].map(|waiting| held.is_full(at(9), waiting)) == [false, true, true]);
        // One arrives, and makes room.
        assert!([0, 1, 2].map(|waiting| held.is_full(at(10), waiting)) == [false, false, true]);
        assert!([2, 3].map(|waiting| held.is_full(at(20), waiting)) == [false, true]);
    }
}
