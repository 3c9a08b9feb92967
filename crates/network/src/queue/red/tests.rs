//! RED's decisions on single packets, with numbers worked out by hand.

use super::*;
use crate::queue::{DisciplineSettings, QueueSettings};
use crate::testing::{Driven, Observed, Parcel, at};
use crate::{Link, LinkSettings, LossModel};

/// The example of tc-red(8) with the weight 2^-5.
fn example() -> RedSettings {
    RedSettings {
        min: Some(Bytes::new(30_000)),
        max: Some(Bytes::new(90_000)),
        burst: Some(55),
        bandwidth: Some(Rate::from_mbit(8)),
        ..RedSettings::default()
    }
}

fn red(settings: RedSettings) -> Red {
    Red::new(settings, Limit::Bytes(Bytes::new(400_000)), None)
}

fn random() -> Random {
    Random::stream(1, "queue", 0)
}

#[test]
fn thresholds_and_weight_have_the_defaults_of_tc() {
    // `55 + 1 - 30 = 26`. With 1/16 a burst of 55 reaches `(1 - 0.9375^55) 16 = 15.5`, with 1/32
    // `(1 - 0.96875^55) 32 = 26.4`.
    assert_eq!(red(example()).weight, 1.0 / 32.0);
    // `55 + 1 - 29 = 27` is more, and `(1 - 0.984375^55) 64 = 37.1`.
    assert_eq!(red(RedSettings { min: Some(Bytes::new(29_000)), ..example() }).weight, 1.0 / 64.0);
    let defaults = red(RedSettings::default());
    // A quarter of the limit, a third of that.
    assert_eq!((defaults.max, (3.0 * defaults.min).round()), (100_000.0, 100_000.0));
    let of_min = red(RedSettings { max: None, ..example() });
    assert_eq!((of_min.min, of_min.max), (30_000.0, 90_000.0));
    let default_of = |limit| Red::new(RedSettings::default(), limit, Some(Rate::from_mbit(8))).max;
    // 100 packets of 1000 bytes, and 100 ms at 1000 bytes a millisecond, a quarter each.
    assert_eq!(default_of(Limit::Packets(100)), 25_000.0);
    assert_eq!(default_of(Limit::Delay(Span::from_millis(100))), 25_000.0);
    let endless = Red::new(RedSettings::default(), Limit::Infinite, None);
    assert_eq!((endless.min, endless.max), (5_000.0, 15_000.0));
}

#[test]
fn lengths_of_zero_are_refused() {
    let refused = |settings: RedSettings| settings.check().err().map(|(key, _)| key);
    assert_eq!(refused(example()), None);
    assert_eq!(refused(RedSettings { min: Some(Bytes::ZERO), ..example() }), Some("min"));
    assert_eq!(refused(RedSettings { max: Some(Bytes::ZERO), ..example() }), Some("max"));
    assert_eq!(refused(RedSettings { avpkt: Bytes::ZERO, ..example() }), Some("avpkt"));
}

#[test]
fn the_average_follows_the_queue_by_its_weight() {
    let mut red = red(example());
    // `32,000/32 = 1000`, then 31/32 of it and 1000 more, and so on.
    for expected in [1000.0, 1968.75, 2907.2265625] {
        red.update(at(1), Bytes::new(32_000));
        assert_eq!(red.average, expected);
    }
}

#[test]
fn the_average_falls_as_if_packets_had_left_an_idle_link() {
    let mut red = red(example());
    red.average = 32_000.0;
    red.idle_since = Some(at(1000));
    // 1000 bytes take 1 ms at 8 Mbit/s: two packets, `(31/32)^2 = 0.938476`...
    red.update(at(3000), Bytes::ZERO);
    assert!((red.average - 30_031.25).abs() < 1e-6, "{}", red.average);
    // It is not idle any more.
    red.update(at(3000), Bytes::ZERO);
    assert!((red.average - 30_031.25 * 31.0 / 32.0).abs() < 1e-6, "{}", red.average);
}

#[test]
fn marks_are_evenly_spread_over_arrivals() {
    // Half-way between min and max: 1 %. The gaps between marks are uniform from 1 to 100 arrivals: 50.5 on
    // average, never more than 100.
    let mut red = red(example());
    red.average = 60_000.0;
    let mut random = random();
    let (mut gap, mut gaps) = (0, Vec::new());
    for _ in 0..200_000 {
        gap += 1;
        if red.fate(&mut random) == Fate::Early {
            gaps.push(gap);
            gap = 0;
        }
    }
    // The first arrival only draws.
    gaps[0] -= 1;
    assert_eq!((gaps.iter().min(), gaps.iter().max()), (Some(&1), Some(&100)));
    let mean = gaps.iter().sum::<u32>() as f64 / gaps.len() as f64;
    // 4000 gaps with a standard deviation of 28.9: the standard error is 0.46.
    assert!((mean - 50.5).abs() < 1.5, "{mean}");
}

#[test]
fn beyond_max_all_are_struck_or_gently_more() {
    let mut cliff = red(example());
    let mut random = random();
    cliff.average = 90_000.0;
    assert_eq!([(); 3].map(|()| cliff.fate(&mut random)), [Fate::Hard; 3]);
    cliff.average = 29_999.0;
    assert_eq!([(); 3].map(|()| cliff.fate(&mut random)), [Fate::Pass; 3]);
    let mut gentle = red(RedSettings { gentle: true, ..example() });
    // `0.02 + 0.98/2 = 0.51` at one and a half times max: gaps of 1 or 2 arrivals, of 1 with 0.51.
    gentle.average = 135_000.0;
    let struck = (0..100_000).filter(|_| gentle.fate(&mut random) == Fate::Early).count() as f64 / 100_000.0;
    assert!((struck - 1.0 / 1.49).abs() < 0.01, "{struck}");
    gentle.average = 180_000.0;
    assert_eq!(gentle.fate(&mut random), Fate::Hard);
}

#[test]
fn the_probability_adapts_towards_the_middle() {
    let mut red = red(RedSettings { adaptive: true, ..example() });
    // Above `30,000 + 3 x 12,000`: a quarter more, below 0.04. Then 0.01 more.
    for expected in [0.025, 0.03125, 0.039_062_5, 0.048_828_125, 0.058_828_125] {
        red.adapt(66_001.0);
        assert_eq!(red.probability, expected);
    }
    red.adapt(60_000.0);
    assert_eq!(red.probability, 0.058_828_125);
    // Below `30,000 + 2 x 12,000`.
    red.adapt(53_999.0);
    assert_eq!(red.probability, 0.058_828_125 * 0.9);
    // It rises while it is at most 0.5, and falls while it is at least 0.01.
    red.probability = 0.5;
    for _ in 0..2 {
        red.adapt(80_000.0);
        assert_eq!(red.probability, 0.51);
    }
    red.probability = 0.01;
    for _ in 0..2 {
        red.adapt(40_000.0);
        assert_eq!(red.probability, 0.01 * 0.9);
    }
    // Every half second since the start, however long nothing arrives: at 0.5, 1 and 1.5 s.
    red.probability = 0.02;
    red.average = 80_000.0;
    red.update(at(1_600_000), Bytes::new(80_000));
    assert_eq!(red.probability, 0.039_062_5);
}

/// A queue's decision on one packet that finds its average at `average`.
fn admitted(settings: RedSettings, average: f64, packet: Parcel) -> Admission {
    let mut queue = Driven::new(RedQueue { red: red(settings), waiting: Fifo::new() });
    queue.discipline.red.average = average * 32.0 / 31.0;
    queue.discipline.red.spread = Some((1000, 0.5));
    queue.admit(Time::ZERO, packet)
}

#[test]
fn marks_take_the_place_of_drops_where_they_may() {
    let (plain, capable) = (Parcel::full(0), Parcel::full(0).capable());
    let marking = RedSettings { ecn: true, ..example() };
    assert_eq!(admitted(example(), 60_000.0, capable), Admission::Drop);
    assert_eq!(admitted(marking, 60_000.0, capable), Admission::Mark);
    assert_eq!(admitted(marking, 60_000.0, plain), Admission::Drop);
    assert_eq!(admitted(marking, 95_000.0, capable), Admission::Mark);
    assert_eq!(admitted(RedSettings { harddrop: true, ..marking }, 95_000.0, capable), Admission::Drop);
    assert_eq!(admitted(RedSettings { harddrop: true, ..marking }, 60_000.0, capable), Admission::Mark);
    assert_eq!(admitted(RedSettings { nodrop: true, ..marking }, 95_000.0, plain), Admission::Take);
}

#[test]
fn what_finds_the_queue_full_counts_in_the_average() {
    let mut queue = Driven::new(RedQueue { red: red(example()), waiting: Fifo::new() });
    (0..64).for_each(|number| queue.push(at(0), Parcel::of(number, 1000)));
    // `64,000/32 = 2000`, then 31/32 of it and 2000 more.
    for expected in [2000.0, 3937.5] {
        assert!(queue.make_room(at(0), Parcel::full(0)).is_empty());
        assert_eq!(queue.discipline.red.average, expected);
    }
}

#[test]
fn what_is_dropped_leaves_an_idle_queue_idle() {
    let mut queue = Driven::new(RedQueue { red: red(example()), waiting: Fifo::new() });
    queue.discipline.red.average = 120_000.0;
    queue.discipline.red.idle_since = Some(at(1000));
    // 1000 bytes take 1 ms: half a packet, then 32 more, `120,000 (31/32)^32.5 = 42,762.393` in all.
    assert_eq!(queue.admit(at(1500), Parcel::full(0)), Admission::Drop);
    assert_eq!(queue.discipline.red.idle_since, Some(at(1500)));
    assert_eq!(queue.admit(at(33_500), Parcel::full(1)), Admission::Take);
    assert!((queue.discipline.red.average - 42_762.393).abs() < 1e-3, "{}", queue.discipline.red.average);
    // Also if the last packet is still in service.
    queue.discipline.red.average = 120_000.0;
    queue.discipline.red.idle_since = Some(at(50_000));
    assert_eq!(queue.admit(at(49_000), Parcel::full(2)), Admission::Drop);
    assert_eq!(queue.discipline.red.idle_since, Some(at(50_000)));
}

#[test]
fn a_queue_that_empties_is_idle_once_its_last_packet_has_left() {
    let mut queue = Driven::new(RedQueue { red: red(example()), waiting: Fifo::new() });
    queue.push(at(0), Parcel::full(0));
    queue.push(at(0), Parcel::full(1));
    assert!(queue.pop(at(100)).is_some());
    assert_eq!(queue.discipline.red.idle_since, None);
    assert!(queue.pop(at(1600)).is_some());
    // 1500 bytes take 1.5 ms.
    assert_eq!(queue.discipline.red.idle_since, Some(at(3100)));
}

#[test]
fn the_packet_in_service_counts_in_the_average_where_it_takes_room() {
    // A burst of one packet at a minimum of one: the weight is 1/2. All arrive at once, the first is in service. The
    // second finds nothing waiting, the third 1500 bytes: on average 750. With the one in service they find 1500 and
    // 3000: 750 and 1875, above all.
    let settings = RedSettings {
        min: Some(Bytes::new(1500)),
        max: Some(Bytes::new(1501)),
        avpkt: Bytes::new(1500),
        burst: Some(1),
        ..RedSettings::default()
    };
    for (count_in_service, expected) in [(false, vec![0, 1, 2]), (true, vec![0, 1])] {
        let discipline = DisciplineSettings::Red(settings);
        let queue = QueueSettings { count_in_service, discipline, ..QueueSettings::default() };
        let service = Service::Fixed(Rate::from_mbit(10));
        let mut link = Link::new(LinkSettings { service, queue, loss: LossModel::None }, random(), random());
        let mut out = Observed::default();
        (0..3).for_each(|number| link.offer(Time::ZERO, Parcel::full(number), &mut out));
        assert_eq!(out.taken, expected);
    }
}

#[test]
fn what_passes_an_idle_link_leaves_it_idle_once_it_has_left() {
    let mut queue = Driven::new(RedQueue { red: red(example()), waiting: Fifo::new() });
    queue.pass(at(100), Parcel::full(0));
    assert_eq!(queue.discipline.red.idle_since, Some(at(1600)));
}

#[test]
fn without_a_rate_an_idle_queue_forgets_its_average() {
    let mut red = Red::new(RedSettings { bandwidth: None, ..example() }, Limit::Infinite, None);
    red.average = 32_000.0;
    red.idle_since = Some(at(1000));
    // At the same instant nothing was idle: `32,000 x 31/32`.
    red.update(at(1000), Bytes::ZERO);
    assert_eq!(red.average, 31_000.0);
    red.idle_since = Some(at(1000));
    red.update(at(1001), Bytes::ZERO);
    assert_eq!((red.average, red.idle_since), (0.0, None));
}

#[test]
fn the_average_of_an_idle_queue_counts_at_each_adaptation() {
    // 8 Mbit/s and 1000 bytes: after 500 packets of idle time the average is nearly nothing, so the probability falls
    // by a tenth at 0.5 s and at 1 s. While packets wait it stays above.
    let adaptive = RedSettings { adaptive: true, ..example() };
    for (idle_since, expected) in
        [(Some(at(0)), 0.02 * 0.9 * 0.9), (None, 0.025 * 1.25), (Some(at(500_000)), 0.025 * 0.9)]
    {
        let mut red = red(adaptive);
        (red.average, red.idle_since) = (80_000.0, idle_since);
        red.update(at(1_000_000), Bytes::new(80_000));
        assert!((red.probability - expected).abs() < 1e-12, "{idle_since:?}: {}", red.probability);
        assert_eq!(red.adapts, at(1_500_000));
    }
}

#[test]
fn the_first_arrival_above_min_draws_and_the_count_begins_anew_with_each_mark() {
    let mut red = red(example());
    let mut random = random();
    red.average = 60_000.0;
    assert_eq!((red.fate(&mut random), red.spread.is_some()), (Fate::Pass, true));
    // 1 %: the fiftieth arrival is due at a share of one half, the first at none.
    for (due, arrivals) in [(0.5, 50), (0.0, 1), (0.499, 50), (0.501, 51)] {
        red.spread = Some((0, due));
        let struck = (1..=100).find(|_| red.fate(&mut random) == Fate::Early);
        assert_eq!(struck, Some(arrivals), "{due}");
        assert_eq!(red.spread.map(|(count, _)| count), Some(0));
    }
    // Below min the spread is forgotten, at min it begins.
    red.average = 29_999.9;
    assert_eq!((red.fate(&mut random), red.spread), (Fate::Pass, None));
    red.average = 30_000.0;
    assert_eq!((red.fate(&mut random), red.spread.is_some()), (Fate::Pass, true));
}
