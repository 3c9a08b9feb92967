//! H-TCP on single events, with numbers worked out by hand.

use super::*;
use crate::testing::{World, ack, loss, probed, rtt};

fn at(window: f64, settings: Settings) -> HTcp {
    let mut htcp = HTcp::new(settings);
    htcp.state.reno = Reno { window, threshold: 2.0 };
    htcp.rtt_min = Span::from_millis(100);
    htcp
}

/// An epoch in which every round trip of 100 ms delivers `window` segments, the RTT goes from 100 ms to `most`, and a
/// loss ends it. Returns the share kept.
fn epoch(world: &mut World, htcp: &mut HTcp, window: u32, most: u64) -> f64 {
    htcp.on_recovered(&mut world.context());
    for round in 0..10 {
        world.pass(Span::from_millis(100));
        let ack = Ack {
            rtt: rtt(100 + (most - 100) * (round + 1) / 10),
            min_rtt: Span::from_millis(100),
            newly_acknowledged: window,
            newly_delivered: window,
            round_start: true,
            window_limited: false,
            ..ack()
        };
        htcp.on_ack(&mut world.context(), &ack);
    }
    let before = htcp.window();
    htcp.on_loss(&mut world.context(), &loss());
    htcp.window() / before
}

#[test]
fn the_increase_function_is_one_for_a_second_and_quadratic_after_it() {
    // 1 + 10 * 2 + 1 at 3 s; 1 + 10 * 4 + 4 at 5 s; 1 + 100 + 25 at 11 s.
    let htcp = at(100.0, Settings::default());
    for (since, f) in [(0.0, 1.0), (1.0, 1.0), (1.26, 3.6169), (3.0, 22.0), (5.0, 45.0), (11.0, 126.0)] {
        assert!((htcp.f(since) - f).abs() < 1e-9, "f({since}) = {}", htcp.f(since));
    }
}

#[test]
fn the_increase_is_in_proportion_to_the_smallest_rtt_within_limits() {
    // f = 22 at 3 s. 40 ms: a ratio of 2.5; 5 ms: 20, limited to 10; 400 ms: 0.25, limited to 0.5.
    for (millis, f) in [(100, 22.0), (40, 8.8), (5, 2.2), (400, 44.0)] {
        let mut htcp = at(100.0, Settings::default());
        htcp.rtt_min = Span::from_millis(millis);
        assert!((htcp.f(3.0) - f).abs() < 1e-9, "{millis} ms: {}", htcp.f(3.0));
    }
    let mut htcp = at(100.0, Settings::default());
    htcp.rtt_min = Span::from_millis(10);
    assert_eq!(htcp.f(0.5), 1.0);
    let mut unscaled = at(100.0, Settings { rtt_scaling: false, ..Settings::default() });
    unscaled.rtt_min = Span::from_millis(5);
    assert_eq!(unscaled.f(3.0), 22.0);
}

#[test]
fn a_window_of_acknowledgements_adds_two_f_times_what_a_loss_gives_up() {
    // beta 0.5: 2 * 0.5 * 22 = 22 at 3 s. beta 0.8: 2 * 0.2 * 22 = 8.8.
    for (beta, after) in [(0.5, 122.0), (0.8, 108.8)] {
        let mut world = World::new();
        let mut htcp = at(100.0, Settings::default());
        htcp.state.beta = beta;
        world.pass(Span::from_secs(3));
        let min_rtt = Span::from_millis(100);
        let ack = Ack { newly_acknowledged: 100, newly_delivered: 100, min_rtt, ..ack() };
        htcp.on_ack(&mut world.context(), &ack);
        assert!((htcp.window() - after).abs() < 1e-9, "{}", htcp.window());
    }
}

#[test]
fn the_share_kept_is_the_ratio_of_the_rtts_once_the_throughput_is_steady() {
    let mut world = World::new();
    let mut htcp = at(1000.0, Settings::default());
    // The first epoch has none to compare with. Then 100/160 = 0.625 of R_max = 100 + 60, and 95 % of the rise is kept.
    assert_eq!(epoch(&mut world, &mut htcp, 50, 160), 0.5);
    assert!((probed(&htcp, "rtt_max_ms") - 157.0).abs() < 1e-6);
    assert!((epoch(&mut world, &mut htcp, 55, 160) - 0.625).abs() < 1e-9);
    // 55 to 66 are just 20 %; to 67 are more.
    assert!((epoch(&mut world, &mut htcp, 66, 160) - 0.625).abs() < 1e-9);
    assert_eq!(epoch(&mut world, &mut htcp, 80, 160), 0.5);
    assert_eq!(epoch(&mut world, &mut htcp, 60, 160), 0.5);
}

#[test]
fn the_share_kept_stays_between_a_half_and_four_fifths() {
    for (most, kept) in [(110, 0.8), (290, 0.5)] {
        let mut world = World::new();
        let mut htcp = at(1000.0, Settings::default());
        epoch(&mut world, &mut htcp, 50, most);
        assert_eq!(epoch(&mut world, &mut htcp, 50, most), kept, "{most}");
    }
}

#[test]
fn an_rtt_that_exceeds_the_largest_by_more_than_20_ms_does_not_count() {
    let mut htcp = at(100.0, Settings::default());
    for (sample, largest) in [(100, 100.0), (121, 100.0), (120, 120.0), (140, 140.0)] {
        let ack = Ack { rtt: rtt(sample), min_rtt: Span::from_millis(100), ..ack() };
        htcp.on_ack(&mut World::new().context(), &ack);
        assert_eq!(probed(&htcp, "rtt_max_ms"), largest);
    }
}

#[test]
fn a_spurious_loss_gives_the_epoch_back_too() {
    let mut world = World::new();
    let mut htcp = at(100.0, Settings::default());
    epoch(&mut world, &mut htcp, 50, 150);
    htcp.on_recovered(&mut world.context());
    let before = htcp.state;
    world.pass(Span::from_secs(3));
    htcp.on_loss(&mut world.context(), &loss());
    assert_ne!(htcp.state, before);
    htcp.on_spurious(&mut world.context());
    let mut expected = before;
    expected.measures.begin_round(world.now);
    assert_eq!(htcp.state, expected);
}

#[test]
fn the_time_since_the_last_congestion_event_begins_when_recovery_ends() {
    let mut world = World::new();
    let mut htcp = at(100.0, Settings::default());
    htcp.on_loss(&mut world.context(), &loss());
    world.pass(Span::from_secs(2));
    htcp.on_recovered(&mut world.context());
    world.pass(Span::from_secs(3));
    htcp.on_ack(&mut world.context(), &Ack { min_rtt: Span::from_millis(100), ..ack() });
    assert_eq!(probed(&htcp, "alpha"), 22.0);
}
