//! Beacons, to the microsecond: of 200 bytes at 6 Mbit/s they take 20 + 68 * 4 = 292 us, and at 1 Mbit/s 192 + 1600.

use units::Span;

use super::super::*;
use super::exchanges::{Seen, play};
use super::saturation::{Saturated, network};

/// 802.11a at 54 Mbit/s: 248 us, SIFS 16 us, an ACK of 28 us. SIFS and a slot (PIFS) are 25 us, DIFS is 34 us.
fn beaconing(stations: u32, interval: u64) -> MediumSettings {
    MediumSettings { beacons: Some(Span::from_micros(interval)), ..network(stations, 54_000) }
}

fn starts(log: &[Seen]) -> Vec<u64> {
    let start = |seen: &Seen| if let Seen::Sent { start, .. } = seen { Some(*start) } else { None };
    log.iter().filter_map(start).collect()
}

/// True if a frame waited for DIFS and a backoff of whole slots after the medium became idle.
fn backed_off(start: u64, idle: u64) -> bool {
    start >= idle + 34 && (start - idle - 34).is_multiple_of(9) && start <= idle + 34 + 15 * 9
}

#[test]
fn a_beacon_has_the_lowest_basic_rate() {
    for (standard, basic, micros) in
        [(Standard::A, vec![], 292), (Standard::A, vec![12_000], 156), (Standard::B, vec![], 1792)]
    {
        let phy = Phy::new(&PhySettings::of(standard), &basic);
        assert_eq!(phy.beacon(200), Span::from_micros(micros), "{standard:?}");
    }
}

#[test]
fn a_frame_that_arrives_in_a_beacon_waits_for_its_end() {
    // The first at 1000 us, until 1292 us. The next at 2000 us.
    let log = play(&beaconing(1, 1000), &[(100, 1), (1100, 1)]);
    let starts = starts(&log);
    assert!(starts[0] == 100 && backed_off(starts[1], 1292), "{starts:?}");
}

#[test]
fn a_beacon_waits_for_an_exchange_and_then_goes_before_all_others() {
    // The exchange ends at `990 + 292 = 1282 us`, the beacon begins PIFS later and ends at `1307 + 292 us`.
    let log = play(&beaconing(2, 1000), &[(990, 1), (1000, 2)]);
    let starts = starts(&log);
    assert!(starts[0] == 990 && backed_off(starts[1], 1599), "{starts:?}");
}

#[test]
fn a_backoff_is_stopped_by_a_beacon_and_goes_on_after_it() {
    // A window of 64 slots without immediate access: some backoffs from 900 us on are longer than until 1000 us.
    let mut seen = [false; 2];
    for seed in 0..40 {
        let start = |interval| {
            let mut settings = beaconing(1, interval);
            settings.conventions.immediate_access = false;
            settings.accesses[1].category.cw_min = Some(63);
            settings.conventions.countdown = Countdown::IdleSlots;
            starts(&super::exchanges::play_again(&settings, &[(900, 1)], seed))[0]
        };
        let (free, stopped) = (start(100_000), start(1000));
        // Whole slots that passed before the beacon count. It lasts 292 us, then DIFS.
        let expected = if free <= 1000 { free } else { 1000 + 292 + 34 + free - (900 + 100 / 9 * 9) };
        assert_eq!(stopped, expected, "backoff of {} us", free - 900);
        seen[usize::from(free > 1000)] = true;
    }
    assert_eq!(seen, [true; 2]);
}

#[test]
fn beacons_take_their_share_of_a_saturated_medium() {
    // Each takes PIFS and 292 us of 10 ms, and the interframe space that it cuts short: 3.2 to 3.5 %.
    let throughput = |settings| Saturated::run(&settings, 1500, 20).throughput(1500);
    let share = 1.0 - throughput(beaconing(5, 10_000)) / throughput(network(5, 54_000));
    assert!((0.030..0.037).contains(&share), "{share}");
}
