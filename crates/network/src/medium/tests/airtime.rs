//! Airtime fairness of the access point, against airtimes worked out by hand.

use std::sync::Arc;

use units::{Random, Span, Time};

use super::super::*;
use super::rules::high_throughput;
use super::saturation::network;
use crate::testing::Parcel;
use crate::{CakeSettings, Diffserv, Discard, DisciplineSettings, FlowClass, FqCodelSettings, Limit};

/// Packets by station, and microseconds on the air.
#[derive(Debug, Default)]
struct Seen {
    received: [u64; 4],
    sent: [u64; 4],
    dropped: [u64; 4],
    airtime: [u64; 4],
    longest: u64,
}

impl Listener<Parcel> for Seen {
    fn take(&mut self, _: u32, _: &Parcel, _: Time, _: bool, _: u32) {}
    fn mark(&mut self, _: u32, _: &Parcel, _: Time, _: u32) {}
    fn serve(&mut self, _: u32, _: &Parcel, _: Time, _: Span, _: u32) {}
    fn deliver(&mut self, access: u32, packet: Parcel, _: Span, _: Time) {
        let count = if access == 0 { &mut self.received } else { &mut self.sent };
        count[packet.flow as usize] += 1;
    }
    fn discard(&mut self, _: u32, packet: Parcel, _: Time, _: Discard, _: u32) {
        self.dropped[packet.flow as usize] += 1;
    }
    fn attempt(&mut self, attempt: &Attempt, _: u32) {
        let station = if attempt.access == 0 { attempt.to } else { attempt.access };
        let micros = attempt.airtime().as_nanos() / 1000;
        self.airtime[station as usize] += micros;
        self.longest = self.longest.max(micros);
    }
}

/// Ten seconds in which 200 packets wait at the access point for each of the stations `down`, and at each of `up`.
fn saturate(settings: &MediumSettings, down: &[u32], up: &[u32]) -> Seen {
    let stream = |name| Random::stream(1, name, 0);
    let queue = |access| Random::stream(1, "queue", u64::from(access));
    let mut medium = Medium::new(settings, stream("backoff"), stream("frame errors"), queue);
    let mut seen = Seen::default();
    let (mut now, end) = (Time::ZERO, Time::ZERO + Span::from_secs(10));
    let mut offered = [0; 4];
    while now < end {
        for _ in 0..200 {
            for &to in down {
                let index = to as usize;
                if offered[index] < seen.received[index] + seen.dropped[index] + 200 {
                    medium.offer(now, 0, to, Parcel::of(to, 1500), &mut seen);
                    offered[index] += 1;
                }
            }
        }
        for &from in up {
            while medium.queued(from).0 < 100 {
                medium.offer(now, from, ACCESS_POINT, Parcel::of(from, 1500), &mut seen);
            }
        }
        now = medium.next();
        medium.advance(now, &mut seen);
    }
    seen
}

/// Station 1 at 54 Mbit/s, station 2 at 6 Mbit/s.
fn fast_and_slow(airtime_fairness: bool) -> MediumSettings {
    let mut settings = MediumSettings { airtime_fairness, ..network(2, 54_000) };
    settings.stations[2].rate = RateSettings::Fixed(0);
    settings
}

#[test]
fn without_turns_a_slow_station_takes_the_airtime_and_with_them_half_of_it() {
    // 802.11a: an exchange at 54 Mbit/s takes `248 + 16 + 28 = 292 us`, one at 6 Mbit/s `2072 + 16 + 44 = 2132 us`, and
    // 34 us and 7.5 slots of 9 us go before each. In turn they are 2 frames in `292 + 2132 + 2 * 101.5 us`: 3807 of
    // each in 10 s.
    let seen = saturate(&fast_and_slow(false), &[1, 2], &[]);
    assert!(seen.received[1].abs_diff(3807) < 40 && seen.received[2].abs_diff(3807) < 40, "{seen:?}");
    // By airtime 2132 / 292 = 7.30 fast frames for each slow one: 8.30 in `2 * 2132 + 8.30 * 101.5 us`: 1958 slow ones.
    let seen = saturate(&fast_and_slow(true), &[1, 2], &[]);
    assert!(seen.received[1].abs_diff(14_297) < 150 && seen.received[2].abs_diff(1958) < 20, "{seen:?}");
    // To an exchange and a turn.
    assert!(seen.airtime[1].abs_diff(seen.airtime[2]) <= 2132 + 256, "{seen:?}");
}

#[test]
fn an_upload_counts_for_the_turns_of_its_station() {
    // The access point and station 1 send as many frames, all of 292 us. Station 1 has used its half with its own
    // frames.
    let mut settings = fast_and_slow(true);
    settings.stations[2].rate = settings.stations[1].rate.clone();
    let seen = saturate(&settings, &[1, 2], &[1]);
    assert!(seen.sent[1] > 11_000 && seen.received[2] > 11_000 && seen.received[1] < 500, "{seen:?}");
    settings.airtime_fairness = false;
    let seen = saturate(&settings, &[1, 2], &[1]);
    assert!(seen.received[1].abs_diff(seen.received[2]) <= 1, "{seen:?}");
}

#[test]
fn aggregates_of_a_lossy_station_end_with_its_turn() {
    for share in [0.0, 0.3, 0.8] {
        let mut settings = MediumSettings { airtime_fairness: true, ..high_throughput(2, 64) };
        settings.stations[2].errors = FrameErrors::Share(share);
        let seen = saturate(&settings, &[1, 2], &[]);
        // Seven attempts at frames of a turn are its most, and a turn of the other.
        assert!(seen.airtime[1].abs_diff(seen.airtime[2]) <= 8 * seen.longest, "{share}: {seen:?}");
        assert!(seen.received[1] > 20_000, "{share}: {seen:?}");
    }
}

#[test]
fn each_station_has_a_queue_of_its_own_and_full_aggregates_under_any_discipline() {
    // MCS 7: 28 frames in 5360 us (see `aggregation_multiplies_the_throughput_of_high_rates`), 60.99 Mbit/s of both.
    let mut settings = MediumSettings { airtime_fairness: true, ..high_throughput(2, 64) };
    let discipline = DisciplineSettings::FqCodel(FqCodelSettings { target: Span::from_secs(1), ..Default::default() });
    settings.accesses[0].queue = crate::QueueSettings { limit: Limit::Packets(100), discipline, ..Default::default() };
    let seen = saturate(&settings, &[1, 2], &[]);
    for station in [1, 2] {
        let mbit = seen.received[station] as f64 * 12_000.0 / 10e6;
        assert!((mbit - 30.5).abs() < 0.3, "{seen:?}");
    }
}

/// The flows of the packets that a station gets, in their order.
#[derive(Debug, Default)]
struct Order(Vec<u32>);

impl Listener<Parcel> for Order {
    fn take(&mut self, _: u32, _: &Parcel, _: Time, _: bool, _: u32) {}
    fn mark(&mut self, _: u32, _: &Parcel, _: Time, _: u32) {}
    fn serve(&mut self, _: u32, _: &Parcel, _: Time, _: Span, _: u32) {}
    fn deliver(&mut self, _: u32, packet: Parcel, _: Span, _: Time) {
        self.0.push(packet.flow);
    }
    fn discard(&mut self, _: u32, _: Parcel, _: Time, _: Discard, _: u32) {}
    fn attempt(&mut self, _: &Attempt, _: u32) {}
}

#[test]
fn the_queues_of_an_access_tell_classes_of_packets_apart() {
    let cake = CakeSettings { diffserv: Diffserv::Diffserv3, flowblind: true, ..CakeSettings::default() };
    let order = |airtime_fairness, points: &[u8]| {
        let classes = points.iter().map(|&dscp| FlowClass { hosts: [0; 2], dscp }).collect::<Arc<[FlowClass]>>();
        let mut settings = MediumSettings { airtime_fairness, ..network(1, 54_000) };
        settings.accesses[0].queue.discipline = DisciplineSettings::Cake(cake);
        let stream = |name| Random::stream(1, name, 0);
        let medium = Medium::new(&settings, stream("backoff"), stream("frame errors"), |_| stream("queue"));
        let (mut medium, mut order) = (medium.with_classes(&classes), Order::default());
        for flow in [0, 0, 0, 1] {
            medium.offer(Time::ZERO, 0, 1, Parcel::of(flow, 1500), &mut order);
        }
        while medium.packets() > 0 {
            medium.advance(medium.next(), &mut order);
        }
        order.0
    };
    for airtime_fairness in [false, true] {
        // The first packet finds the medium idle. Expedited forwarding goes before best effort.
        assert_eq!(order(airtime_fairness, &[0, 46]), [0, 1, 0, 0]);
        assert_eq!(order(airtime_fairness, &[]), [0, 0, 0, 1]);
    }
}
