//! What stations get of each other: slow ones, access categories, A-MPDUs.

use super::super::*;
use super::saturation::{Saturated, network};

/// Of 802.11n at 5 GHz with one stream and A-MPDUs of at most so many frames.
fn high_throughput(stations: u32, frames: u32) -> MediumSettings {
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
    // take 3 * 292 + 2132 us for four frames and four backoffs and DIFS.
    let mut settings = network(4, 54_000);
    settings.stations[4].rate = RateSettings::Fixed(0);
    // To the letter the slow one would be at a disadvantage: only the sender of the longer frame awaits an ACK in vain.
    settings.conventions.after_collision = AfterCollision::Eifs;
    let seen = Saturated::run(&settings, 1500, 60);
    let (slow, fast) = (seen.delivered[4] as f64, seen.delivered[1] as f64);
    assert!((slow / fast - 1.0).abs() < 0.05, "{slow} {fast}");
    // At most 4 frames in 3 * 292 + 2132 + 4 * 34 us: 15.3 Mbit/s. One slow frame in four collides, and all that time
    // is lost: at least three quarters. All at 54 Mbit/s have twice as much.
    let all_fast = Saturated::run(&network(4, 54_000), 1500, 20).throughput(1500);
    let mixed = seen.throughput(1500);
    assert!((11.5..15.3).contains(&mixed) && all_fast > 1.9 * mixed, "{mixed} {all_fast}");
}

#[test]
fn aggregation_multiplies_the_throughput_of_high_rates() {
    // MCS 7. Alone: 34 + 67.5 + 228 + 16 + 28 = 373.5 us a frame of 12,000 bits: 32.13 Mbit/s.
    let single = Saturated::run(&high_throughput(1, 1), 1500, 20).throughput(1500);
    assert!((single - 32.13).abs() < 0.05, "{single}");
    // 42 frames of 4 + 1540 bytes are 64,848 bytes, the most of 65,535 but for the time: 5484 us at 65 Mbit/s are
    // 44,557 bytes, 28 frames (43,232 bytes). 22 + 345,856 bits are 1331 symbols: 36 + 5324 us; the block ACK of
    // 32 bytes is 32 us. 34 + 67.5 + 5360 + 16 + 32 = 5509.5 us for 28 frames: 60.99 Mbit/s.
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

/// Stations with the default categories of EDCA, by number: 0 best effort, 1 background, 2 video, 3 voice.
fn prioritised(categories: &[usize]) -> MediumSettings {
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
    // Voice draws from 0 to 3, video from 0 to 7, both after two slots; best effort from 0 to 15 after three.
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
    // AIFSN 3, 1538 bytes in 58 symbols: 34 + 9 + 67.5 + 252 + 16 + 28 = 406.5 us: 29.52 Mbit/s.
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
