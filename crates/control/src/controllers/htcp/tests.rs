//! H-TCP on single events, with numbers worked out by hand.

use super::*;
use crate::Counting;
use crate::testing::{World, ack, loss, probed, rtt};

fn at(window: f64, settings: Settings) -> HTcp {
    begun(HTcp::new(settings), window)
}

fn module(window: f64) -> HTcp {
    begun(HTcp::of_module(ModuleSettings::default()), window)
}

fn begun(mut htcp: HTcp, window: f64) -> HTcp {
    htcp.state.reno = Reno { window, threshold: 2.0 };
    htcp.rtt_min = Span::from_millis(100);
    htcp
}

/// As `epoch_from`, with a smallest RTT of 100 ms.
fn epoch(world: &mut World, htcp: &mut HTcp, window: u32, most: u64) -> f64 {
    epoch_from(100, world, htcp, window, most)
}

/// An epoch in which every round trip of `least` ms delivers `window` segments, the RTT goes from `least` to `most`,
/// and a loss ends it. Returns the share kept.
fn epoch_from(least: u64, world: &mut World, htcp: &mut HTcp, window: u32, most: u64) -> f64 {
    htcp.on_recovered(&mut world.context());
    for round in 0..10 {
        world.pass(Span::from_millis(least));
        let ack = Ack {
            rtt: rtt(least + (most - least) * (round + 1) / 10),
            min_rtt: Span::from_millis(least),
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

#[test]
fn in_linux_3_5_the_increase_function_is_a_whole_number() {
    let mut htcp = module(100.0);
    // 2.6 + 0.0169 gives 2.
    assert_eq!((htcp.f(0.5), htcp.f(1.26), htcp.f(3.0)), (1.0, 3.0, 22.0));
    // f = 22 at 3 s. 40 ms: a ratio of 2.5; 5 ms: 20, limited to 10; 400 ms: 0.25, limited to 0.5.
    for (millis, f) in [(40, 8.0), (5, 2.0), (400, 44.0)] {
        htcp.rtt_min = Span::from_millis(millis);
        assert_eq!(htcp.f(3.0), f, "{millis} ms");
    }
}

#[test]
fn in_linux_3_5_the_increase_counts_segments_where_the_stack_counts_acks() {
    let mut htcp = module(100.0);
    let min_rtt = Span::from_millis(100);
    let two = Ack { newly_acknowledged: 2, newly_delivered: 2, min_rtt, ..ack() };
    let mut world = World::new();
    world.connection.counting = Counting::PerAck;
    htcp.on_ack(&mut world.context(), &two);
    assert!((htcp.window() - 100.02).abs() < 1e-9, "{}", htcp.window());
}

#[test]
fn in_linux_3_5_the_share_kept_adapts_in_the_second_steady_epoch_and_above_ten_milliseconds() {
    let mut world = World::new();
    let mut htcp = module(1000.0);
    // The first epoch has none before it. R_min/R_max = 100/120, above the cap of 0.797.
    let kept: Vec<_> = (0..4).map(|_| epoch(&mut world, &mut htcp, 50, 120)).collect();
    assert_eq!(kept[..2], [0.5, 0.5]);
    assert!(kept[2..].iter().all(|kept| (kept - 0.797).abs() < 1e-9), "{kept:?}");
    let mut htcp = module(1000.0);
    assert!((0..4).all(|_| epoch_from(10, &mut world, &mut htcp, 50, 12) == 0.5));
}

#[test]
fn in_linux_3_5_a_spurious_loss_gives_the_count_of_epochs_back() {
    let mut world = World::new();
    let mut htcp = module(1000.0);
    let kept: Vec<_> = (0..3).map(|_| epoch(&mut world, &mut htcp, 50, 120)).collect();
    assert!(kept[2] > 0.5);
    htcp.on_spurious(&mut world.context());
    assert_eq!((htcp.state.steady_epochs, htcp.state.beta), (1, 0.5));
}
