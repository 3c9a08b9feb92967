//! The shares of the medium: slow stations, access categories, A-MPDUs.

use units::{Random, Span, Time};

use super::super::*;
use super::exchanges::{Seen, play_again};
use super::saturation::{Saturated, network};
use crate::testing::Parcel;

/// A medium of 802.11n at 5 GHz with one stream and A-MPDUs of at most so many frames.
pub(super) fn high_throughput(stations: u32, frames: u32) -> MediumSettings {
    let mut settings = network(stations, 54_000);
    settings.phy = PhySettings { streams: 1, ..PhySettings::of(Standard::N) };
    settings.qos = true;
    settings.aggregation = (frames > 1).then(|| Aggregation { frames, ..Aggregation::default() });
    settings.stations.iter_mut().for_each(|station| station.rate = RateSettings::Fastest);
    settings
}

#[test]
fn a_slow_station_slows_all_down_to_its_rate() {
    // Heusse et al. 2003: all get the same share of frames. Without collisions three stations at 54 and one at 6 Mbit/s
    // take `3 * 292 + 2132 us` for four frames and four backoffs and DIFS.
    let mut settings = network(4, 54_000);
    settings.stations[4].rate = RateSettings::Fixed(0);
    // To the letter the slow one would be at a disadvantage: only the sender of the longer frame awaits an ACK in vain.
    settings.conventions.after_collision = AfterCollision::Eifs;
    let seen = Saturated::run(&settings, 1500, 60);
    let (slow, fast) = (seen.delivered[4] as f64, seen.delivered[1] as f64);
    assert!((slow / fast - 1.0).abs() < 0.05, "{slow} {fast}");
    // At most 4 frames in `3 * 292 + 2132 + 4 * 34 us`: 15.3 Mbit/s. One slow frame in four collides, and all that time
    // is lost: at least three quarters. All at 54 Mbit/s have twice as much.
    let all_fast = Saturated::run(&network(4, 54_000), 1500, 20).throughput(1500);
    let mixed = seen.throughput(1500);
    assert!((11.5..15.3).contains(&mixed) && all_fast > 1.9 * mixed, "{mixed} {all_fast}");
}

#[test]
fn aggregation_multiplies_the_throughput_of_high_rates() {
    // MCS 7. Alone: `34 + 67.5 + 228 + 16 + 28 = 373.5 us` a frame of 12,000 bits: 32.13 Mbit/s.
    let single = Saturated::run(&high_throughput(1, 1), 1500, 20).throughput(1500);
    assert!((single - 32.13).abs() < 0.05, "{single}");
    // 42 frames of `4 + 1540` bytes are 64,848 bytes, the most of 65,535 but for the time: 5484 us at 65 Mbit/s are
    // 44,557 bytes, 28 frames (43,232 bytes). `22 + 345,856 bits` are 1331 symbols: `36 + 5324 us`; the block ACK of
    // 32 bytes is 32 us. `34 + 67.5 + 5360 + 16 + 32 = 5509.5 us` for 28 frames: 60.99 Mbit/s.
    let aggregated = Saturated::run(&high_throughput(1, 64), 1500, 20).throughput(1500);
    assert!((aggregated - 60.99).abs() < 0.1, "{aggregated}");
    // Four frames: 4 * 1544 = 6176 bytes, 49,430 bits, 191 symbols: 34 + 67.5 + 800 + 16 + 32 = 949.5 us: 50.55 Mbit/s.
    let four = Saturated::run(&high_throughput(1, 4), 1500, 20).throughput(1500);
    assert!((four - 50.55).abs() < 0.1, "{four}");
}

#[test]
fn a_block_ack_has_only_lost_frames_sent_again() {
    let mut settings = high_throughput(1, 64);
    settings.stations[1].errors = FrameErrors::Share(0.1);
    let clean = Saturated::run(&high_throughput(1, 64), 1500, 20).throughput(1500);
    let lossy = Saturated::run(&settings, 1500, 20);
    // One frame in ten is sent again, and seven losses in a row are one in ten million.
    assert!((lossy.throughput(1500) / clean - 0.9).abs() < 0.01, "{} {clean}", lossy.throughput(1500));
    assert_eq!(lossy.dropped[1], 0);
}

#[test]
fn an_aggregate_lasts_no_longer_where_its_frames_go_again_at_a_slower_rate() {
    // At 60 m MCS 15 never works: the first A-MPDU has 42 frames, as much as 65,535 bytes, and 130 Mbit/s are 4 ms. At
    // the lowest rates these frames take ten times as long. 5484 us, SIFS and a block ack of up to 68 us are the most.
    let mut settings = high_throughput(1, 64);
    settings.phy.streams = 2;
    settings.stations[1].errors = FrameErrors::Distance(60.0);
    settings.stations[1].rate = RateSettings::Arf;
    let seen = Saturated::run(&settings, 1500, 2);
    assert!(seen.delivered[1] > 100 && seen.longest <= Span::from_micros(5484 + 16 + 68), "{:?}", seen.longest);
}

#[test]
fn an_aggregate_with_its_preamble_and_block_ack_ends_within_the_txop() {
    // 1952 us: ten frames are 36 + 476 * 4 + 16 + 32 = 1988 us, nine 36 + 428 * 4 + 48 = 1796 us. A tenth alone is 272
    // us. `34 + 67.5 + 1796 us` for `9 * 12,000 bits`: 56.92 Mbit/s.
    let mut settings = high_throughput(1, 64);
    settings.accesses[1].category.txop = Span::from_micros(1952);
    let seen = Saturated::run(&settings, 1500, 20);
    assert!((seen.throughput(1500) - 56.92).abs() < 0.05, "{}", seen.throughput(1500));
    assert_eq!(seen.longest, Span::from_micros(1796));
}

/// Stations with the default categories of EDCA, by number: 0 best effort, 1 background, 2 video, 3 voice.
pub(super) fn prioritised(categories: &[usize]) -> MediumSettings {
    let mut settings = network(categories.len() as u32, 54_000);
    settings.qos = true;
    let known = [Category::BEST_EFFORT, Category::BACKGROUND, Category::VIDEO, Category::VOICE];
    for (access, &category) in settings.accesses[1..].iter_mut().zip(categories) {
        access.category = known[category];
    }
    settings
}

#[test]
fn access_categories_get_their_order_and_equal_ones_the_same() {
    let seen = Saturated::run(&prioritised(&[0, 1, 2, 3]), 1500, 60);
    let [effort, background, video, voice] = [1, 2, 3, 4].map(|access| seen.delivered[access] as f64);
    // Voice draws from 0 to 3, video from 0 to 7, both after two slots. Best effort draws from 0 to 15 after three.
    assert!(voice > video && video > effort && effort > background, "{:?}", seen.delivered);
    // Most collisions are of video with voice. If all but the senders wait for EIFS after one, these two get further
    // ahead.
    let mut detected = prioritised(&[0, 1, 2, 3]);
    detected.conventions.after_collision = AfterCollision::Standard;
    let seen = Saturated::run(&detected, 1500, 60);
    let [effort, background, video, voice] = [1, 2, 3, 4].map(|access| seen.delivered[access] as f64);
    assert!(voice > 1.4 * video && video > 4.0 * effort && effort > 2.0 * background, "{:?}", seen.delivered);
    let seen = Saturated::run(&prioritised(&[0, 0]), 1500, 60);
    let [one, other] = [1, 2].map(|access| seen.delivered[access] as f64);
    assert!((one / other - 1.0).abs() < 0.03, "{one} {other}");
}

#[test]
fn a_queue_waits_for_one_of_the_same_station_with_higher_priority() {
    // Both belong to station 1: they never collide on the air.
    let mut settings = prioritised(&[0, 3]);
    settings.accesses[2].station = 1;
    let seen = Saturated::run(&settings, 1500, 20);
    assert_eq!(seen.collisions, 0);
    assert!(seen.delivered[2] > 4 * seen.delivered[1], "{:?}", seen.delivered);
}

#[test]
fn best_effort_alone_waits_a_slot_longer_than_dcf() {
    // AIFSN 3, 1538 bytes in 58 symbols: `34 + 9 + 67.5 + 252 + 16 + 28 = 406.5 us`: 29.52 Mbit/s.
    let seen = Saturated::run(&prioritised(&[0]), 1500, 20);
    assert!((seen.throughput(1500) - 29.52).abs() < 0.05, "{}", seen.throughput(1500));
}

#[test]
fn the_retry_limit_bounds_the_attempts_at_every_frame() {
    // Half of the attempts fail: of a frame all seven do with probability 1/128.
    let mut settings = network(1, 54_000);
    settings.stations[1].errors = FrameErrors::Share(0.5);
    let seen = Saturated::run(&settings, 1500, 60);
    let share = seen.dropped[1] as f64 / (seen.dropped[1] + seen.delivered[1]) as f64;
    assert!((share * 128.0 - 1.0).abs() < 0.1, "{share}");
}

#[test]
fn a_thousand_stations_share_a_medium() {
    let seen = Saturated::run(&network(1000, 54_000), 1500, 2);
    assert!(seen.delivered.iter().sum::<u64>() > 500, "{}", seen.collided());
    assert!(seen.collided() > 0.8, "{}", seen.collided());
}

#[test]
fn a_txop_has_one_backoff_for_many_frames() {
    // 802.11a: a frame of 248 us and its ACK take 292 us. In 2048 us go six: `6 * 292 + 5 * 16 = 1832 us`; the seventh
    // would end after `1832 + 16 + 292 = 2140 us`. `34 + 67.5 + 1832 us` for `6 * 12,000 bits`: 37.23 Mbit/s.
    let mut settings = network(1, 54_000);
    settings.accesses[1].category.txop = Span::from_micros(2048);
    let seen = Saturated::run(&settings, 1500, 20);
    assert!((seen.throughput(1500) - 37.23).abs() < 0.04, "{}", seen.throughput(1500));
    // Stations collide over TXOPs and not over frames, and share the medium alike.
    let mut settings = network(4, 54_000);
    settings.accesses.iter_mut().for_each(|access| access.category.txop = Span::from_micros(2048));
    let (bursts, single) = (Saturated::run(&settings, 1500, 60), Saturated::run(&network(4, 54_000), 1500, 60));
    assert!(bursts.collisions * 4 < single.collisions, "{} {}", bursts.collisions, single.collisions);
    let (most, least) = (bursts.delivered.iter().max().unwrap(), bursts.delivered[1..].iter().min().unwrap());
    assert!(*most as f64 / (*least as f64) < 1.06, "{:?}", bursts.delivered);
}

#[test]
fn a_txop_ends_with_a_frame_that_fails() {
    let mut settings = network(1, 54_000);
    settings.accesses[1].category.txop = Span::from_micros(2048);
    settings.stations[1].errors = FrameErrors::Share(1.0);
    let seen = Saturated::run(&settings, 1500, 5);
    assert_eq!(seen.delivered[1], 0);
    // Seven attempts with windows of 15, 31 ... 1023 and `248 + 45 + 34 us` each: 2289 us and 1013.5 slots of 9 us.
    let frames = seen.dropped[1] as f64;
    assert!((frames * (7.0 * 327.0 + 1013.5 * 9.0) / 5e6 - 1.0).abs() < 0.05, "{frames}");
}

#[test]
fn a_station_of_802_11b_sends_at_its_own_rates_beside_others() {
    let mut settings = network(2, 54_000);
    settings.phy = PhySettings { protection: true, ..PhySettings::of(Standard::G) };
    settings.stations.iter_mut().for_each(|station| station.rate = RateSettings::Fastest);
    settings.stations[2].dsss = true;
    let one_of = |station: u32| {
        let mut alone = settings.clone();
        alone.accesses.retain(|access| [ACCESS_POINT, station].contains(&access.station));
        Saturated::run(&alone, 1500, 20).throughput(1500)
    };
    // 11 Mbit/s: 192 + 1118 us, SIFS 10 us, an ACK of 203 us, DIFS 50 us, 15.5 slots of 20 us: 12,000 bits in 1883 us.
    assert!((one_of(2) - 6.373).abs() < 0.02, "{}", one_of(2));
    // 54 Mbit/s behind a CTS of 203 us and SIFS: `213 + 254 + 10 + 34 + 50 + 7.5 * 20 = 711 us`.
    assert!((one_of(1) - 16.878).abs() < 0.05, "{}", one_of(1));
}

#[test]
fn an_aggregate_gathers_frames_for_one_station() {
    // The access point has frames for two stations in turn: an A-MPDU holds frames for only one of them.
    let settings = high_throughput(2, 64);
    let stream = |name| Random::stream(1, name, 0);
    let mut medium = Medium::new(&settings, stream("backoff"), stream("frame errors"), |_| stream("queue"));
    let mut seen = Saturated { delivered: vec![0; 3], dropped: vec![0; 3], ..Saturated::default() };
    for packet in 0..21 {
        medium.offer(Time::ZERO, ACCESS_POINT, 1 + packet % 2, Parcel::of(0, 1500), &mut seen);
    }
    // Eleven for station 1, then ten for station 2.
    while medium.next() != Time::NEVER {
        medium.advance(medium.next(), &mut seen);
    }
    assert_eq!((seen.attempts, seen.delivered[0]), (2, 21));
}

#[test]
fn all_queues_of_a_station_wait_for_the_ack_of_one() {
    // Voice of station 1 collides with voice of station 2, from 100 to 352 us. Station 1 awaits its ACK until 397 us.
    // Its best effort, to which a packet came at 200 us, is sent 43 us and up to 15 slots later.
    let mut settings = prioritised(&[3, 0, 3]);
    settings.accesses[2].station = 1;
    let starts = (0..600).map(|seed| {
        let log = play_again(&settings, &[(100, 1), (100, 3), (200, 2)], seed);
        let sent = log.iter().filter_map(|seen| match *seen {
            Seen::Sent { access, start, .. } => Some((access, start)),
            _ => None,
        });
        { sent }.nth(2).unwrap()
    });
    let best_effort: Vec<u64> = starts.filter(|(access, _)| *access == 2).map(|(_, start)| start).collect();
    let is_right = |start: &u64| *start >= 440 && (*start - 440).is_multiple_of(9) && *start <= 440 + 15 * 9;
    assert!(best_effort.len() > 5 && best_effort.iter().all(is_right), "{best_effort:?}");
}
