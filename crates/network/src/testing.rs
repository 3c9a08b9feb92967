//! The tests of this crate share a packet, an observer that remembers everything, and a discipline without a link
//! around it.

use units::{Bytes, Ecn, Random, Span, Time};

use crate::{Admission, Context, Count, Departure, Discard, Discipline, Egress, FlowClass, Packet, Served, TcpAck};

/// A packet to look at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Parcel {
    pub(crate) number: u32,
    pub(crate) flow: u32,
    /// In bytes.
    pub(crate) size: u64,
    pub(crate) ecn: Ecn,
    pub(crate) ack: Option<TcpAck>,
}

impl Parcel {
    /// Packet `number` of flow 0 with 1500 bytes: 1.2 ms at 10 Mbit/s.
    pub(crate) const fn full(number: u32) -> Self {
        Self { number, flow: 0, size: 1500, ecn: Ecn::NotCapable, ack: None }
    }

    /// A packet of `flow` with `size` bytes.
    pub(crate) const fn of(flow: u32, size: u64) -> Self {
        Self { number: 0, flow, size, ecn: Ecn::NotCapable, ack: None }
    }

    /// The same, ECN-capable.
    pub(crate) const fn capable(self) -> Self {
        Self { ecn: Ecn::Ect0, ..self }
    }
}

impl Packet for Parcel {
    fn size(&self) -> Bytes {
        Bytes::new(self.size)
    }
    fn ecn(&self) -> Ecn {
        self.ecn
    }
    fn flow(&self) -> u32 {
        self.flow
    }
    fn class(&self) -> u32 {
        self.flow
    }
    fn tcp_ack(&self) -> Option<TcpAck> {
        self.ack
    }
    fn mark_congestion(&mut self) {
        assert!(self.ecn.is_capable(), "only what is capable is marked");
        self.ecn = Ecn::Congestion;
    }
    fn clear_ecn(&mut self) {
        self.ecn = Ecn::NotCapable;
    }
}

/// So many microseconds after the start.
pub(crate) fn at(micros: u64) -> Time {
    Time::ZERO + Span::from_micros(micros)
}

/// The reports of a link, by the numbers of the packets.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Observed {
    pub(crate) taken: Vec<u32>,
    pub(crate) departed: Vec<(Parcel, Departure)>,
    /// With the packets that waited then.
    pub(crate) marked: Vec<(u32, Time, u32)>,
    pub(crate) discarded: Vec<(u32, Time, Discard, u32)>,
}

impl Egress<Parcel> for Observed {
    fn take(&mut self, packet: &Parcel, _at: Time, _marked: bool, _queued: u32) {
        self.taken.push(packet.number);
    }
    fn mark(&mut self, packet: &Parcel, at: Time, queued: u32) {
        self.marked.push((packet.number, at, queued));
    }
    fn depart(&mut self, packet: Parcel, departure: Departure) {
        self.departed.push((packet, departure));
    }
    fn discard(&mut self, packet: Parcel, at: Time, why: Discard, queued: u32) {
        self.discarded.push((packet.number, at, why, queued));
    }
}

/// A discipline that is called as a link calls it.
#[derive(Debug)]
pub(crate) struct Driven<D> {
    pub(crate) discipline: D,
    random: Random,
    count: Count,
    dropped: Vec<(Parcel, u32)>,
    /// The classes by flow.
    pub(crate) classes: Vec<FlowClass>,
}

impl<D: Discipline<Parcel>> Driven<D> {
    pub(crate) fn new(discipline: D) -> Self {
        let random = Random::stream(1, "queue", 0);
        Self { discipline, random, count: Count::default(), dropped: Vec::new(), classes: Vec::new() }
    }

    fn ask<T>(&mut self, now: Time, call: impl FnOnce(&mut D, &mut Context<'_, Parcel>) -> T) -> T {
        let Self { discipline, random, count, dropped, classes } = self;
        call(discipline, &mut Context { now, random, count, in_service: Bytes::ZERO, dropped, classes })
    }

    /// The decision on `packet`, which arrives.
    pub(crate) fn admit(&mut self, now: Time, packet: Parcel) -> Admission {
        self.ask(now, |discipline, cx| discipline.admit(&packet, cx))
    }

    pub(crate) fn push(&mut self, now: Time, packet: Parcel) {
        self.count.add(&packet);
        self.ask(now, |discipline, cx| discipline.push(packet, cx));
    }

    /// `packet` finds the link idle.
    pub(crate) fn pass(&mut self, now: Time, packet: Parcel) {
        self.ask(now, |discipline, cx| discipline.pass(&packet, cx));
    }

    pub(crate) fn pop(&mut self, now: Time) -> Option<Served<Parcel>> {
        let served = self.ask(now, Discipline::pop)?;
        self.count.remove(&served.packet);
        Some(served)
    }

    /// The packets dropped for `packet`.
    pub(crate) fn make_room(&mut self, now: Time, packet: Parcel) -> Vec<Parcel> {
        self.ask(now, |discipline, cx| discipline.make_room(&packet, cx));
        self.dropped()
    }

    /// The packets dropped since the last time.
    pub(crate) fn dropped(&mut self) -> Vec<Parcel> {
        self.dropped.drain(..).map(|(packet, _)| packet).collect()
    }
}
