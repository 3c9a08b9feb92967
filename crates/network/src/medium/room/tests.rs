//! Which packets find room at an access, and the reports about them.

use units::Time;

use super::*;
use crate::medium::Attempt;
use crate::testing::{Parcel, at};

#[derive(Clone, Copy, Debug, PartialEq)]
enum Seen {
    /// With how many wait, and marked or not.
    Taken(u32, u32, bool),
    Marked(u32, u32),
    Discarded(u32, Discard, u32),
}

#[derive(Debug, Default)]
struct Log(Vec<Seen>);

impl Listener<Parcel> for Log {
    fn take(&mut self, access: u32, packet: &Parcel, now: Time, marked: bool, queued: u32) {
        assert_eq!((access, now), (3, at(7)));
        self.0.push(Seen::Taken(packet.number, queued, marked));
    }
    fn mark(&mut self, access: u32, packet: &Parcel, now: Time, queued: u32) {
        assert_eq!((access, now), (3, at(7)));
        self.0.push(Seen::Marked(packet.number, queued));
    }
    fn serve(&mut self, _: u32, _: &Parcel, _: Time, _: units::Span, _: u32) {}
    fn deliver(&mut self, _: u32, _: Parcel, _: units::Span, _: Time) {}
    fn discard(&mut self, access: u32, packet: Parcel, now: Time, why: Discard, queued: u32) {
        assert_eq!((access, now), (3, at(7)));
        self.0.push(Seen::Discarded(packet.number, why, queued));
    }
    fn attempt(&mut self, _: &Attempt, _: u32) {}
}

fn room(settings: QueueSettings) -> Room<Parcel> {
    Room::new(settings, &Service::Unlimited, Random::stream(1, "queue", 0))
}

/// The reports on one packet.
fn offer(room: &mut Room<Parcel>, packet: Parcel, in_service: (u32, u64)) -> Vec<Seen> {
    let mut log = Log::default();
    let in_service = (in_service.0, Bytes::new(in_service.1));
    room.offer(at(7), Addressed { packet, to: 1 }, in_service, &mut Reports { access: 3, listener: &mut log });
    log.0
}

fn limited(limit: Limit, count_in_service: bool) -> QueueSettings {
    QueueSettings { limit, count_in_service, ..QueueSettings::default() }
}

/// How many of ten full packets find room where so many packets are being sent.
fn taken(settings: QueueSettings, sending: u32) -> usize {
    let mut room = room(settings);
    let sent = (sending, u64::from(sending) * 1500);
    (0..10).filter(|&number| matches!(offer(&mut room, Parcel::full(number), sent)[..], [Seen::Taken(..)])).count()
}

#[test]
fn packets_find_room_up_to_the_limit_beside_what_is_being_sent() {
    let packets = |counted| limited(Limit::Packets(4), counted);
    assert_eq!([0, 1, 3].map(|sending| taken(packets(false), sending)), [4, 4, 4]);
    assert_eq!([0, 1, 3, 4].map(|sending| taken(packets(true), sending)), [4, 3, 1, 0]);
    let bytes = |limit, counted| limited(Limit::Bytes(Bytes::new(limit)), counted);
    assert_eq!([0, 1].map(|sending| taken(bytes(4500, false), sending)), [3, 3]);
    assert_eq!([0, 1].map(|sending| taken(bytes(4500, true), sending)), [3, 2]);
    assert_eq!(taken(bytes(4499, true), 1), 1);
    // A packet that finds nothing at all need not wait. One that finds a frame being sent must.
    assert_eq!([0, 1].map(|sending| taken(limited(Limit::Packets(0), false), sending)), [1, 0]);
    assert_eq!(taken(limited(Limit::Infinite, true), 5), 10);
}

#[test]
fn what_is_taken_marked_or_dropped_is_reported_with_what_waits() {
    let mut queue = room(QueueSettings { mark_above: Some(1), ..limited(Limit::Packets(3), false) });
    let capable = |number| Parcel::full(number).capable();
    assert_eq!(offer(&mut queue, capable(0), (1, 1500)), [Seen::Taken(0, 1, false)]);
    assert_eq!(offer(&mut queue, Parcel::full(1), (1, 1500)), [Seen::Taken(1, 2, false)]);
    assert_eq!(offer(&mut queue, capable(2), (1, 1500)), [Seen::Taken(2, 3, true), Seen::Marked(2, 3)]);
    assert_eq!(offer(&mut queue, capable(3), (1, 1500)), [Seen::Discarded(3, Discard::Full, 3)]);
    assert_eq!((queue.packets(), queue.bytes()), (3, Bytes::new(4500)));
}

#[test]
fn a_discipline_that_makes_room_gives_up_others() {
    let discipline = crate::DisciplineSettings::FairQueueing(crate::FqSettings::default());
    let mut queue = room(QueueSettings { discipline, ..limited(Limit::Packets(2), false) });
    let of = |number, flow| Parcel { number, ..Parcel::of(flow, 1500) };
    offer(&mut queue, of(0, 1), (1, 1500));
    offer(&mut queue, of(1, 1), (1, 1500));
    let seen = offer(&mut queue, of(2, 2), (1, 1500));
    assert_eq!(seen, [Seen::Taken(2, 2, false), Seen::Discarded(1, Discard::Evicted, 2)]);
}

#[test]
fn packets_for_a_station_leave_out_of_turn_where_the_queue_lets_them() {
    let mut queue = room(limited(Limit::Infinite, false));
    let mut log = Log::default();
    let out = &mut Reports { access: 3, listener: &mut log };
    for (number, to) in [(0, 1), (1, 2), (2, 1)] {
        queue.offer(at(7), Addressed { packet: Parcel::full(number), to }, (1, Bytes::new(1500)), out);
    }
    let mut next = |to, most: u64| {
        let found = queue.pop_for(at(9), to, |packet| packet.size <= most, out);
        found.map(|(next, arrived)| (next.packet.number, arrived))
    };
    assert_eq!(next(2, 1499), None);
    assert_eq!(next(2, 1500), Some((1, at(7))));
    assert_eq!([next(1, 1500), next(1, 1500), next(1, 1500)], [Some((0, at(7))), Some((2, at(7))), None]);
    assert!(queue.pop(at(9), out).is_none() && queue.packets() == 0);
}

#[test]
fn in_any_other_queue_the_packet_whose_turn_it_is_goes_next_where_it_does_not_fit() {
    let discipline = crate::DisciplineSettings::FairQueueing(crate::FqSettings::default());
    let mut queue = room(QueueSettings { discipline, ..limited(Limit::Infinite, false) });
    let mut log = Log::default();
    let out = &mut Reports { access: 3, listener: &mut log };
    for (number, to) in [(0, 1), (1, 2)] {
        queue.offer(at(7), Addressed { packet: Parcel::full(number), to }, (1, Bytes::new(1500)), out);
    }
    let mut next_for = |to| queue.pop_for(at(9), to, |_| true, out).map(|(next, _)| next.packet.number);
    assert_eq!([next_for(2), next_for(2)], [None, None], "0 goes next");
    assert_eq!([next_for(1), next_for(2), next_for(2)], [Some(0), Some(1), None]);
    assert!(queue.is_empty());
}
