//! SCReAM by hand: the share of marks, the average queue, reductions, growth and the target.

use units::Bytes;

use super::*;
use crate::SentState;
use crate::testing::{World, ack, probed};

const MS: fn(u64) -> Span = Span::from_millis;

/// A packet of 1000 bytes that takes `delay` milliseconds.
fn packet(delay: u64, marked: bool) -> SegmentReport {
    SegmentReport {
        sent: SentState { at: Time::ZERO, ..SentState::EMPTY },
        one_way_delay: Some(MS(delay)),
        payload: Some(Bytes::new(1000)),
        marked,
        ..SegmentReport::EMPTY
    }
}

/// SCReAM with a window of 20,000 bytes, an RTT of 50 ms and segments of 1000 bytes, of which `flight` are in flight.
fn scream(settings: Settings, flight: f64) -> Scream {
    Scream { window: 20_000.0, rtt: 0.05, flight: [1000.0 * flight; 2], inflection: 10_000.0, ..Scream::new(settings) }
}

fn near(value: f64, expected: f64) {
    assert!((value / expected - 1.0).abs() < 1e-9, "{value}, not {expected}");
}

fn at(ms: u64) -> Time {
    Time::ZERO + MS(ms)
}

#[test]
fn the_share_of_marks_rises_by_an_eighth_and_falls_by_a_128th() {
    let mut scream = scream(Settings::default(), 20.0);
    (scream.counted, scream.counted_marked) = (4.0, 2.0);
    scream.update_alpha(at(9));
    assert_eq!(scream.alpha, 0.0, "updates are 10 ms apart");
    scream.update_alpha(at(10));
    near(scream.alpha, 0.5 / 8.0);
    scream.counted = 4.0;
    scream.update_alpha(at(20));
    near(scream.alpha, 0.5 / 8.0 * 127.0 / 128.0);
}

#[test]
fn the_average_queue_rises_by_a_quarter_and_falls_at_once() {
    let mut scream = scream(Settings::default(), 20.0);
    scream.queue = 0.04;
    scream.update_queue(at(25));
    near(scream.mean_queue, 0.01);
    scream.update_queue(at(49));
    near(scream.mean_queue, 0.01);
    scream.update_queue(at(50));
    near(scream.mean_queue, 0.0175);
    scream.queue = 0.005;
    scream.update_queue(at(75));
    near(scream.mean_queue, 0.005);
}

#[test]
fn a_loss_leaves_70_percent_and_a_classic_mark_80_once_in_the_virtual_rtt() {
    let mut scream = scream(Settings::default(), 20.0);
    (scream.lost, scream.marked) = (true, true);
    scream.reduce(at(24), 1.0);
    near(scream.window, 20_000.0);
    scream.reduce(at(25), 1.0);
    near(scream.window, 14_000.0);
    assert_eq!((scream.inflection, scream.lost, scream.marked), (20_000.0, false, false));
    scream.marked = true;
    scream.reduce(at(50), 1.0);
    near(scream.window, 11_200.0);
    assert_eq!(scream.inflection, 20_000.0, "the window has not grown since");
    (scream.window, scream.lost) = (3100.0, true);
    scream.reduce(at(75), 1.0);
    near(scream.window, 3000.0);
}

#[test]
fn a_mark_of_l4s_takes_half_the_share_of_marks_over_the_virtual_rtts_in_an_rtt() {
    let settings = Settings { l4s: true, ..Settings::default() };
    let mut scream = scream(settings, 20.0);
    assert!(scream.wants().l4s && scream.wants().governs_marks);
    (scream.alpha, scream.marked, scream.queue) = (0.4, true, 0.02);
    // 0.4/2 over two virtual RTTs of 25 ms: a tenth.
    scream.reduce(at(25), 0.1);
    near(scream.window, 18_000.0);
    // A queue below 15 ms, and the window near its inflection: a quarter of that.
    (scream.marked, scream.queue) = (true, 0.01);
    scream.reduce(at(50), 0.1);
    near(scream.window, 18_000.0 * 0.975);
    // After more than 100 RTTs without congestion it falls to what was in flight first.
    (scream.marked, scream.flight) = (true, [12_000.0, 10_000.0]);
    scream.reduce(at(50 + 5001), 1.0);
    near(scream.window, 10_000.0 * 0.9);
}

#[test]
fn a_queue_beyond_half_its_target_is_a_virtual_mark() {
    let mut scream = scream(Settings::default(), 20.0);
    scream.mean_queue = 0.03;
    scream.reduce(at(25), 1.0);
    near(scream.window, 20_000.0);
    // 45 ms are half of the way from 30 to 60: 0.5/2 over two virtual RTTs.
    scream.mean_queue = 0.045;
    scream.reduce(at(50), 1.0);
    near(scream.window, 17_500.0);
    assert_eq!(scream.detected_at, Time::ZERO, "growth stays multiplicative");
}

#[test]
fn the_window_grows_by_a_segment_an_rtt_and_by_two_percent_long_after_congestion() {
    let mut scream = scream(Settings::default(), 20.0);
    (scream.acked, scream.acked_marked) = (20_000.0, 4000.0);
    scream.increase(Time::ZERO, 1.0);
    // 16,000 bytes at 1000/20,000.
    near(scream.window, 20_800.0);
    assert!(scream.inflection_due);
    scream.window = 20_000.0;
    // 50 of 100 RTTs after congestion: half of 2 % of 20 segments.
    scream.increase(at(2500), 1.0);
    near(scream.window, 20_000.0 + 800.0 * 1.2);
    scream.window = 20_000.0;
    // Near the inflection: a quarter, and a tenth of the multiplicative part.
    scream.increase(at(2500), 0.1);
    near(scream.window, 20_000.0 + 200.0 * 1.02);
    // 1000 + 1.5 * 12,000 bytes are the limit.
    (scream.window, scream.flight) = (19_000.0, [12_000.0, 8000.0]);
    scream.increase(at(2500), 1.0);
    near(scream.window, 19_000.0);
}

#[test]
fn the_distance_from_the_inflection_is_squared() {
    let mut scream = scream(Settings::default(), 20.0);
    for (inflection, expected) in [(20_000.0, 0.1), (10_000.0, 1.0), (18_823.529_411_764_706, 0.25)] {
        scream.inflection = inflection;
        near(scream.distance(), expected);
    }
}

#[test]
fn the_target_is_the_window_over_the_rtt_with_room_for_headers_and_variance() {
    let scream = scream(Settings::default(), 20.0);
    // 160,000 bits in 50 ms, 1000 of 1020 bytes, over 1.2.
    near(scream.target().unwrap(), 3.2e6 / 1.02 / 1.2);
    near(scream.window(), 60.0);
    // A window of four segments: 1 - (0.25 - 0.1).
    let small = Scream { window: 4000.0, ..scream };
    near(small.target().unwrap(), 640_000.0 * 0.85 / 1.02 / 1.2);
    assert_eq!(Scream::new(Settings::default()).pacing_rate(), None, "no RTT yet");
}

#[test]
fn feedback_counts_bytes_marks_and_the_queue() {
    let (mut world, mut scream) = (World::new(), Scream::new(Settings::default()));
    for (delay, marked) in [(60, false), (50, true), (65, false)] {
        scream.on_segment_delivered(&mut world.context(), &packet(delay, marked));
    }
    scream.on_segment_lost(&mut world.context(), &packet(0, false));
    assert_eq!((scream.acked, scream.acked_marked, scream.packets), (4000.0, 1000.0, 4.0));
    assert_eq!((scream.counted, scream.counted_marked), (3.0, 1.0));
    world.now = at(100);
    scream.on_ack(&mut world.context(), &Ack { in_flight_before: 7, smoothed_rtt: MS(50), ..ack() });
    near(probed(&scream, "queue_ms"), 15.0);
    assert_eq!(scream.flight, [7000.0, 0.0]);
    // A loss takes the window of 3000 bytes to 2100, which is below the least.
    assert_eq!((scream.reacted_at, scream.acked), (at(100), 0.0));
}

#[test]
fn a_timeout_of_feedback_is_a_loss() {
    let mut world = World::new();
    let mut scream = scream(Settings::default(), 20.0);
    world.now = at(2000);
    scream.on_timeout(&mut world.context(), &crate::testing::loss());
    near(scream.window, 14_000.0);
}

#[test]
fn packets_leave_at_the_target_and_the_probes_show_both_windows() {
    let scream = Scream { queue: 0.02, mean_queue: 0.01, alpha: 0.25, ..scream(Settings::default(), 20.0) };
    assert_eq!(scream.pacing_rate(), Some(Rate::from_bits_per_second(2_614_379)), "3.2 Mbit/s over 1.02 and 1.2");
    near(probed(&scream, "target_rate_bps"), 3.2e6 / 1.02 / 1.2);
    let shown = ["reference_window_bytes", "inflection_bytes", "queue_ms", "mean_queue_ms", "alpha"];
    assert_eq!(shown.map(|name| probed(&scream, name)), [20_000.0, 10_000.0, 20.0, 10.0, 0.25]);
}
