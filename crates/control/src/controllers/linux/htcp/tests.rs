//! Tests of `htcp.rs`, with numbers worked out by hand.

use super::*;
use crate::testing::{World, ack, loss, probed, rtt};

/// With a clock of 1000 ticks a second.
fn at(window: f64) -> HTcp {
    let htcp = HTcp::new(Settings { hz: 1000, ..Settings::default() });
    HTcp { reno: Reno { window, threshold: 2.0 }, since: Some(0), ..htcp }
}

/// `count` ACKs of `covered` segments, one a millisecond, with samples of `millis`.
fn acks(world: &mut World, htcp: &mut HTcp, count: u32, covered: u32, millis: u64) {
    let ack = Ack { newly_acknowledged: covered, newly_delivered: covered, rtt: rtt(millis), ..ack() };
    for _ in 0..count {
        world.pass(Span::from_millis(1));
        htcp.on_ack(&mut world.context(), &ack);
    }
}

#[test]
fn the_window_grows_on_the_ack_after_the_count_and_alpha_is_renewed_then() {
    let mut world = World::new();
    let mut htcp = at(10.0);
    // Alpha 1: five ACKs count ten segments, the sixth grows the window and counts nothing.
    acks(&mut world, &mut htcp, 5, 2, 100);
    assert_eq!(htcp.window(), 10.0);
    acks(&mut world, &mut htcp, 1, 2, 100);
    assert_eq!((htcp.window(), htcp.counted), (11.0, 0));
    // Alpha comes from the growth before: 2 s later it still is 1, and then, with 10 less for the first second, `1 +
    // (10 * 2006 + 1006^2/4/1000)/1000 - 10 = 11`.
    world.pass(Span::from_secs(2));
    acks(&mut world, &mut htcp, 6, 2, 100);
    assert_eq!((htcp.window(), probed(&htcp, "alpha")), (11.0, 1.0));
    acks(&mut world, &mut htcp, 1, 2, 100);
    assert_eq!((htcp.window(), probed(&htcp, "alpha")), (12.0, 11.0));
}

#[test]
fn the_increase_is_scaled_by_a_ratio_in_eighths_of_rtts_in_ticks() {
    // At 3 s f = 22. 41 ms: 8000/410 = 19 eighths, 22 * 8/19 = 9; at 250 ticks a second 11 of them: 2000/110 = 18, and
    // also 9; 11 ms: 72 eighths, 2; at 250 a second 3 ticks: 66, also 2. 400 ms: not below half, 44.
    for (millis, f) in [(100, 22.0), (41, 9.0), (11, 2.0), (400, 44.0)] {
        for hz in [250, 1000] {
            let mut world = World::new();
            let mut htcp = at(10.0);
            htcp.settings.hz = hz;
            world.pass(Span::from_millis(2994));
            acks(&mut world, &mut htcp, 6, 2, millis);
            assert_eq!(probed(&htcp, "alpha"), f, "{millis} ms, {hz}");
        }
    }
}

#[test]
fn the_first_segment_after_a_loss_comes_with_the_increase_before_it() {
    let mut world = World::new();
    let mut htcp = at(10.0);
    acks(&mut world, &mut htcp, 1, 2, 100);
    world.pass(Span::from_secs(5));
    htcp.on_loss(&mut world.context(), &loss());
    // 1 + 10 * 4.001 + (4.001/2)^2, each part rounded down: 1 + (40010 + 4000)/1000.
    assert_eq!((htcp.window(), probed(&htcp, "alpha")), (5.0, 45.0));
    htcp.on_recovered(&mut world.context());
    acks(&mut world, &mut htcp, 2, 2, 100);
    assert_eq!((htcp.window(), probed(&htcp, "alpha")), (6.0, 1.0));
}

#[test]
fn the_share_kept_is_a_128th_rounded_down_and_the_window_whole() {
    let mut world = World::new();
    let mut htcp = at(25.0);
    htcp.on_loss(&mut world.context(), &loss());
    assert_eq!((htcp.window(), htcp.slow_start_threshold()), (12.0, 12.0));
    // Two steady epochs: 76/128 are 0.59 of 100/168 ticks; 25 * 76/128 = 14.84.
    let mut htcp = HTcp { stable: 1, rtt_min: 100, rtt_max: 168, ..at(25.0) };
    htcp.on_loss(&mut world.context(), &loss());
    assert_eq!((htcp.window(), htcp.slow_start_threshold()), (14.0, 14.0));
}

#[test]
fn the_throughput_is_that_of_windows_of_segments() {
    let mut world = World::new();
    let mut htcp = at(51.0);
    htcp.reno.threshold = 100.0;
    // 50 of 51 segments less alpha, in 125 ACKs of which each takes a millisecond: the RTT has not passed before.
    let unused = Ack { window_limited: false, newly_acknowledged: 1, rtt: rtt(100), ..ack() };
    let mut most = Vec::new();
    for _ in 0..200 {
        world.pass(Span::from_millis(1));
        htcp.on_ack(&mut world.context(), &unused);
        most.push(probed(&htcp, "throughput"));
    }
    // 100 segments in 100 ms, of which the first 99 ms are no RTT.
    assert_eq!((most[98], most[99], most[199]), (0.0, 1000.0, 1000.0));
    // In a reduction nothing counts. After it the count begins anew.
    htcp.on_loss(&mut world.context(), &loss());
    world.pass(Span::from_millis(50));
    htcp.on_duplicate_ack(&mut world.context(), &unused);
    htcp.on_recovered(&mut world.context());
    assert_eq!((htcp.acknowledged, htcp.since), (0, Some(250)));
}

// Linux 6.12 in virtual time, seed 98005 of `kernel differential --faults modules`: the second loss keeps 5 of 7.
#[test]
fn the_first_measurement_of_the_throughput_finds_none() {
    let mut world = World::new();
    let mut htcp = HTcp { since: None, ..at(51.0) };
    let unused = Ack { window_limited: false, newly_acknowledged: 1, rtt: rtt(10), ..ack() };
    for expected in [0.0, 1000.0] {
        for _ in 0..50 {
            world.pass(Span::from_millis(1));
            htcp.on_ack(&mut world.context(), &unused);
        }
        assert!(probed(&htcp, "throughput") <= expected, "{expected}");
        assert!(htcp.since.is_some());
    }
    assert!(probed(&htcp, "throughput") > 0.0);
}

#[test]
fn the_ack_that_ends_the_repair_of_a_timeout_begins_an_epoch() {
    let mut world = World::new();
    let mut htcp = at(51.0);
    htcp.on_timeout(&mut world.context(), &loss());
    world.pass(Span::from_millis(300));
    let of = |ends_repair| Ack { newly_acknowledged: 1, rtt: rtt(10), ends_repair, ..ack() };
    for (ends_repair, phase, epoch) in [(false, Phase::Reducing, 0), (true, Phase::Open, 300)] {
        htcp.on_ack(&mut world.context(), &of(ends_repair));
        assert_eq!((htcp.phase, htcp.epoch, htcp.acknowledged), (phase, epoch, 0));
    }
}

#[test]
fn two_steady_epochs_let_the_share_kept_follow_the_rtts() {
    let mut world = World::new();
    let mut htcp = at(100.0);
    let mut kept = Vec::new();
    for _ in 0..4 {
        htcp.reno = Reno { window: 100.0, threshold: 200.0 };
        acks(&mut world, &mut htcp, 1, 1, 100);
        let unused = |millis| Ack { window_limited: false, rtt: rtt(millis), ..ack() };
        for round in 0..400 {
            world.pass(Span::from_millis(1));
            htcp.on_ack(&mut world.context(), &unused(100 + 20 * (round / 100)));
        }
        htcp.on_loss(&mut world.context(), &loss());
        kept.push(probed(&htcp, "beta") * 128.0);
        htcp.on_recovered(&mut world.context());
    }
    // 100/160 are 80 of 128. Each loss takes R_max from 160 to 157, from where 20 ms more are reached again.
    assert_eq!(kept, [64.0, 64.0, 80.0, 80.0]);
    assert_eq!(probed(&htcp, "rtt_max_ms"), 157.0);
}

#[test]
fn a_spurious_loss_gives_the_beginning_of_the_epoch_back_and_no_more() {
    let mut world = World::new();
    let mut htcp = at(10.0);
    world.pass(Span::from_secs(3));
    htcp.on_loss(&mut world.context(), &loss());
    htcp.on_spurious(&mut world.context());
    htcp.on_recovered(&mut world.context());
    assert_eq!(htcp.window(), 10.0);
    acks(&mut world, &mut htcp, 6, 2, 100);
    // 1 + (20060 + 1003^2/1000)/1000, of 3.006 s.
    assert_eq!(probed(&htcp, "alpha"), 22.0);
}

#[test]
fn the_increase_of_an_epoch_of_many_hours_wraps_around() {
    let mut world = World::new();
    let mut htcp = at(10.0);
    world.pass(Span::from_secs(20_000));
    acks(&mut world, &mut htcp, 6, 2, 100);
    // f is more than 10^8, and 2 f 64 in 128ths more than 2^32.
    assert!(probed(&htcp, "alpha") < f64::from(u32::MAX) / 128.0);
}

#[test]
fn rtts_are_measured_in_open_connections_and_the_largest_rises_by_20_ms_at_most() {
    let mut htcp = at(10.0);
    let mut measured = |rtt, phase| {
        htcp.measure(rtt, phase);
        (htcp.rtt_min, htcp.rtt_max)
    };
    assert_eq!(measured(100, Phase::Open), (100, 100));
    assert_eq!(measured(120, Phase::Open), (100, 120));
    assert_eq!(measured(141, Phase::Open), (100, 120));
    assert_eq!(measured(140, Phase::Open), (100, 140));
    // The smallest falls at any time, the largest stays.
    assert_eq!(measured(90, Phase::Reducing), (90, 140));
    assert_eq!(measured(145, Phase::Reducing), (90, 140));
    assert_eq!(measured(80, Phase::Open), (80, 140));
}

#[test]
fn on_short_paths_the_share_kept_does_not_adapt() {
    // This is the second steady epoch.
    for (rtt_min, beta) in [(10, 64), (11, 100)] {
        let mut htcp = HTcp { stable: 1, rtt_min, rtt_max: 14, ..at(25.0) };
        htcp.on_loss(&mut World::new().context(), &loss());
        assert_eq!(htcp.beta, beta, "{rtt_min}");
    }
}

#[test]
fn without_a_sample_in_order_there_is_no_largest_rtt_to_lower() {
    let mut htcp = HTcp { rtt_min: 100, rtt_max: 0, ..at(25.0) };
    htcp.on_loss(&mut World::new().context(), &loss());
    assert_eq!(htcp.rtt_max, 0);
}
