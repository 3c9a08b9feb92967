//! What H-TCP does on single events, with numbers worked out by hand.

use super::*;
use crate::Counting;
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
    // In whole numbers: 2.6 + 0.0169 gives 2.
    let whole = at(100.0, Settings { whole_numbers: true, ..Settings::default() });
    assert_eq!((whole.f(1.26), whole.f(3.0)), (3.0, 22.0));
}

#[test]
fn the_increase_is_in_proportion_to_the_smallest_rtt_within_limits() {
    // f = 22 at 3 s. 40 ms: a ratio of 2.5; 5 ms: 20, limited to 10; 400 ms: 0.25, limited to 0.5.
    for (millis, f, whole) in [(100, 22.0, 22.0), (40, 8.8, 8.0), (5, 2.2, 2.0), (400, 44.0, 44.0)] {
        for (whole_numbers, expected) in [(false, f), (true, whole)] {
            let mut htcp = at(100.0, Settings { whole_numbers, ..Settings::default() });
            htcp.rtt_min = Span::from_millis(millis);
            assert!((htcp.f(3.0) - expected).abs() < 1e-9, "{millis} ms: {}", htcp.f(3.0));
        }
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
fn the_increase_counts_segments_where_the_stack_counts_acks_if_told_to() {
    for (count_segments, after) in [(false, 100.01), (true, 100.02)] {
        let mut htcp = at(100.0, Settings { count_segments, ..Settings::default() });
        let min_rtt = Span::from_millis(100);
        let two = Ack { newly_acknowledged: 2, newly_delivered: 2, min_rtt, counting: Counting::PerAck, ..ack() };
        htcp.on_ack(&mut World::new().context(), &two);
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
fn linux_wants_a_second_steady_epoch_and_more_than_ten_milliseconds() {
    let mut world = World::new();
    let mut htcp = at(1000.0, Settings { stable_epochs: 2, ..Settings::default() });
    let kept: Vec<_> = (0..4).map(|_| epoch(&mut world, &mut htcp, 50, 125)).collect();
    assert_eq!(kept[..2], [0.5, 0.5]);
    assert!((kept[2] - 0.8).abs() < 1e-9 && (kept[3] - 0.8).abs() < 1e-9, "{kept:?}");
    let mut htcp = at(1000.0, Settings { adapt_above: Span::from_millis(100), ..Settings::default() });
    assert!((0..3).all(|_| epoch(&mut world, &mut htcp, 50, 125) == 0.5));
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
    htcp.state.throughput.round_start = before.throughput.round_start;
    assert_eq!(htcp.state, before);
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

/// In the arithmetic of Linux, with a clock of 1000 ticks a second.
fn linux(window: f64) -> HTcp {
    let (beta_max, adapt_above) = (0.797, Span::from_millis(10));
    let settings = Settings { beta_max, stable_epochs: 2, adapt_above, hz: 1000, ..Settings::default() };
    let mut htcp = HTcp::new(Settings { arithmetic: Arithmetic::Linux, ..settings });
    htcp.state.reno = Reno { window, threshold: 2.0 };
    htcp
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
fn in_linux_the_window_grows_on_the_ack_after_the_count_and_alpha_is_renewed_then() {
    let mut world = World::new();
    let mut htcp = linux(10.0);
    // Alpha 1: five ACKs count ten segments, the sixth grows the window and counts nothing.
    acks(&mut world, &mut htcp, 5, 2, 100);
    assert_eq!(htcp.window(), 10.0);
    acks(&mut world, &mut htcp, 1, 2, 100);
    assert_eq!((htcp.window(), htcp.whole.counted), (11.0, 0));
    // Alpha is that of the growth before: 2 s later it still is 1, and then 1 + (10 * 2006 + 1006^2/4/1000)/1000 - 10
    // for the first second = 11.
    world.pass(Span::from_secs(2));
    acks(&mut world, &mut htcp, 6, 2, 100);
    assert_eq!((htcp.window(), probed(&htcp, "alpha")), (11.0, 1.0));
    acks(&mut world, &mut htcp, 1, 2, 100);
    assert_eq!((htcp.window(), probed(&htcp, "alpha")), (12.0, 11.0));
}

#[test]
fn in_linux_the_increase_is_scaled_by_a_ratio_in_eighths_of_rtts_in_ticks() {
    // At 3 s f = 22. 41 ms: 8000/410 = 19 eighths, 22 * 8/19 = 9; at 250 ticks a second 11 of them: 2000/110 = 18, and
    // also 9; 11 ms: 72 eighths, 2; at 250 a second 3 ticks: 66, also 2. 400 ms: not below half, 44.
    for (millis, f) in [(100, 22.0), (41, 9.0), (11, 2.0), (400, 44.0)] {
        for hz in [250, 1000] {
            let mut world = World::new();
            let mut htcp = linux(10.0);
            (htcp.settings.hz, htcp.whole) = (hz, Whole::new(&Settings { hz, ..htcp.settings }));
            world.pass(Span::from_millis(2994));
            acks(&mut world, &mut htcp, 6, 2, millis);
            assert_eq!(probed(&htcp, "alpha"), f, "{millis} ms, {hz}");
        }
    }
}

#[test]
fn in_linux_the_first_segment_after_a_loss_comes_with_the_increase_before_it() {
    let mut world = World::new();
    let mut htcp = linux(10.0);
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
fn in_linux_the_share_kept_is_a_128th_rounded_down_and_the_window_whole() {
    let mut world = World::new();
    let mut htcp = HTcp::new(Settings { arithmetic: Arithmetic::Linux, beta_min: 0.6, ..Settings::default() });
    htcp.state.reno = Reno { window: 25.0, threshold: 2.0 };
    htcp.on_loss(&mut world.context(), &loss());
    // 0.6 is 76/128 rounded down; 25 * 76/128 = 14.84.
    assert_eq!((htcp.window(), htcp.slow_start_threshold()), (14.0, 14.0));
}

#[test]
fn in_linux_the_throughput_is_that_of_windows_of_segments() {
    let mut world = World::new();
    let mut htcp = linux(51.0);
    htcp.state.reno.threshold = 100.0;
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
    // In a reduction nothing counts; after it the count is that of the time since.
    htcp.on_loss(&mut world.context(), &loss());
    world.pass(Span::from_millis(50));
    htcp.on_duplicate_ack(&mut world.context(), &unused);
    htcp.on_recovered(&mut world.context());
    assert_eq!(htcp.whole.rate_so_far(), (0, 250));
}

#[test]
fn in_linux_two_steady_epochs_let_the_share_kept_follow_the_rtts() {
    let mut world = World::new();
    let mut htcp = linux(100.0);
    let mut kept = Vec::new();
    for _ in 0..4 {
        htcp.state.reno = Reno { window: 100.0, threshold: 200.0 };
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
fn in_linux_a_spurious_loss_gives_the_beginning_of_the_epoch_back_and_no_more() {
    let mut world = World::new();
    let mut htcp = linux(10.0);
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
fn in_linux_the_increase_of_an_epoch_of_many_hours_wraps_around() {
    let mut world = World::new();
    let mut htcp = linux(10.0);
    world.pass(Span::from_secs(20_000));
    acks(&mut world, &mut htcp, 6, 2, 100);
    // f is more than 10^8, and 2 f 64 in 128ths more than 2^32.
    assert!(probed(&htcp, "alpha") < f64::from(u32::MAX) / 128.0);
}
