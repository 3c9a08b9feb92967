//! The queues of an access: one, or at an access point with airtime fairness one for each station.

use std::sync::Arc;

use units::{Bytes, Random, Span, Time};

use super::airtime::Airtime;
use super::room::{Addressed, Reports, Room, Waiting};
use super::{Attempt, Listener};
use crate::{Discard, FlowClass, Packet, QueueSettings, Service};

/// The packets that wait at one access, without those being sent.
#[derive(Debug)]
#[allow(clippy::large_enum_variant, reason = "an access has one; and with pointers of 32 bits it is smaller")]
pub(crate) enum Rooms<P> {
    One(Room<P>),
    ByStation(Box<ByStation<P>>),
}

/// A queue for each station, which take turns by airtime.
#[derive(Debug)]
pub(crate) struct ByStation<P> {
    rooms: Vec<Room<P>>,
    turns: Airtime,
    /// Packets in all queues.
    packets: u32,
}

impl<P: Packet> Rooms<P> {
    /// `nominal` is the service by which disciplines reckon that need one.
    pub(crate) fn one(settings: QueueSettings, nominal: &Service, random: Random) -> Self {
        Self::One(Room::new(settings, nominal, random))
    }

    /// The same for each of so many stations.
    pub(crate) fn by_station(stations: usize, settings: QueueSettings, nominal: &Service, mut random: Random) -> Self {
        let seed = random.uniform().to_bits();
        let room = |station| Room::new(settings, nominal, Random::stream(seed, "station", station));
        let rooms = (0..stations as u64).map(room).collect();
        Self::ByStation(Box::new(ByStation { rooms, turns: Airtime::new(stations), packets: 0 }))
    }

    /// Disciplines may distinguish packets by these classes.
    pub(crate) fn set_classes(&mut self, classes: &Arc<[FlowClass]>) {
        match self {
            Self::One(room) => room.set_classes(classes),
            Self::ByStation(all) => all.rooms.iter_mut().for_each(|room| room.set_classes(classes)),
        }
    }

    #[inline]
    pub(crate) fn packets(&self) -> u32 {
        match self {
            Self::One(room) => room.packets(),
            Self::ByStation(all) => all.packets,
        }
    }

    pub(crate) fn bytes(&self) -> Bytes {
        match self {
            Self::One(room) => room.bytes(),
            Self::ByStation(all) => all.rooms.iter().map(Room::bytes).fold(Bytes::ZERO, |sum, bytes| sum + bytes),
        }
    }

    /// True if nothing waits here.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        match self {
            Self::One(room) => room.is_empty(),
            Self::ByStation(all) => all.packets == 0 && all.rooms.iter().all(Room::is_empty),
        }
    }

    /// True if there is a queue for each station.
    pub(crate) fn are_apart(&self) -> bool {
        matches!(self, Self::ByStation(_))
    }

    /// The sizes of packets that were taken from a queue and are not sent yet.
    pub(crate) fn next(&self) -> impl Iterator<Item = Bytes> + '_ {
        let rooms = match self {
            Self::One(room) => std::slice::from_ref(room),
            Self::ByStation(all) => &all.rooms,
        };
        rooms.iter().filter_map(Room::next).map(Packet::size)
    }

    /// The same of the queue with packets for station `to`.
    pub(crate) fn next_for(&self, to: u32) -> Option<Bytes> {
        match self {
            Self::One(room) => room.next(),
            Self::ByStation(all) => all.rooms[to as usize].next(),
        }
        .map(Packet::size)
    }

    /// Takes `packet` or drops it, where `in_service` packets of its queue are being sent.
    pub(crate) fn offer(
        &mut self,
        now: Time,
        packet: Addressed<P>,
        in_service: (u32, Bytes),
        out: &mut Reports<'_, impl Listener<P>>,
    ) {
        match self {
            Self::One(room) => room.offer(now, packet, in_service, out),
            Self::ByStation(all) => {
                let to = packet.to;
                all.within(to, out, |room, out| room.offer(now, packet, in_service, out));
                if !all.rooms[to as usize].is_empty() {
                    all.turns.list(to);
                }
            }
        }
    }

    /// The packet whose turn it is, with the time of its arrival.
    #[inline]
    pub(crate) fn pop(&mut self, now: Time, out: &mut Reports<'_, impl Listener<P>>) -> Option<Waiting<P>> {
        match self {
            Self::One(room) => room.pop(now, out),
            Self::ByStation(all) => all.pop(now, out),
        }
    }

    /// The next packet for station `to` that `fits`, as [`Room::pop_for`] has it.
    pub(crate) fn pop_for(
        &mut self,
        now: Time,
        to: u32,
        fits: impl Fn(&P) -> bool,
        out: &mut Reports<'_, impl Listener<P>>,
    ) -> Option<Waiting<P>> {
        match self {
            Self::One(room) => room.pop_for(now, to, fits, out),
            Self::ByStation(all) => all.within(to, out, |room, out| room.pop_for(now, to, fits, out)),
        }
    }

    /// `station` used the medium.
    pub(crate) fn charge(&mut self, station: u32, airtime: Span) {
        if let Self::ByStation(all) = self {
            all.turns.charge(station, airtime);
        }
    }

    /// True if `station` may be sent more before the others. Always true without turns.
    pub(crate) fn turn_lasts(&self, station: u32) -> bool {
        match self {
            Self::One(_) => true,
            Self::ByStation(all) => all.turns.lasts(station),
        }
    }
}

impl<P: Packet> ByStation<P> {
    fn pop(&mut self, now: Time, out: &mut Reports<'_, impl Listener<P>>) -> Option<Waiting<P>> {
        let Self { rooms, turns, packets } = self;
        turns.next(|station| {
            let room = &mut rooms[station as usize];
            let others = *packets - room.packets();
            let mut among = Among { others, listener: &mut *out.listener };
            let next = room.pop(now, &mut Reports { access: out.access, listener: &mut among });
            *packets = others + room.packets();
            next
        })
    }

    /// Calls the queue of `station`. Its reports of waiting packets include packets in the others.
    fn within<T, L: Listener<P>>(
        &mut self,
        station: u32,
        out: &mut Reports<'_, L>,
        call: impl FnOnce(&mut Room<P>, &mut Reports<'_, Among<'_, L>>) -> T,
    ) -> T {
        let room = &mut self.rooms[station as usize];
        let others = self.packets - room.packets();
        let mut among = Among { others, listener: &mut *out.listener };
        let result = call(room, &mut Reports { access: out.access, listener: &mut among });
        self.packets = others + room.packets();
        result
    }
}

/// The listener of one queue among several of an access.
struct Among<'a, L> {
    /// Packets that wait in the others.
    others: u32,
    listener: &'a mut L,
}

impl<P, L: Listener<P>> Listener<P> for Among<'_, L> {
    fn take(&mut self, access: u32, packet: &P, at: Time, marked: bool, queued: u32) {
        self.listener.take(access, packet, at, marked, self.others + queued);
    }

    fn mark(&mut self, access: u32, packet: &P, at: Time, queued: u32) {
        self.listener.mark(access, packet, at, self.others + queued);
    }

    fn serve(&mut self, access: u32, packet: &P, at: Time, waited: Span, queued: u32) {
        self.listener.serve(access, packet, at, waited, self.others + queued);
    }

    fn deliver(&mut self, access: u32, packet: P, waited: Span, at: Time) {
        self.listener.deliver(access, packet, waited, at);
    }

    fn discard(&mut self, access: u32, packet: P, at: Time, why: Discard, queued: u32) {
        self.listener.discard(access, packet, at, why, self.others + queued);
    }

    fn attempt(&mut self, attempt: &Attempt, kbit: u32) {
        self.listener.attempt(attempt, kbit);
    }
}
