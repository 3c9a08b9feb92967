//! Tests of `cubic.rs`, with numbers worked out by hand.

use super::*;
use crate::testing::{World, ack, loss, probed, rtt, starting};

/// An ACK of so many segments.
fn segments(count: u32) -> Ack {
    Ack { newly_acknowledged: count, newly_delivered: count, ..ack() }
}

#[test]
fn an_idle_time_does_not_move_the_cubic_on_and_a_slow_start_does_not_end_the_epoch() {
    let mut world = World::new();
    let mut cubic = Cubic { reno: Reno { window: 1000.0, threshold: 2.0 }, ..Cubic::new(Settings::default()) };
    cubic.on_loss(&mut world.context(), &loss());
    cubic.on_ack(&mut world.context(), &segments(1));
    world.pass(Span::from_secs(11));
    // The last segment left 100 ms before the last ACK: 10.1 s idle, 0.9 s of the cubic, in ticks of 4 ms.
    cubic.on_transmit_start(&mut world.context(), &starting(Span::from_millis(10_100)));
    let start = cubic.epoch.unwrap().start;
    assert_eq!(ticks(world.now, 250) - start, 225);
    cubic.on_idle_restart(&mut world.context());
    cubic.on_ack(&mut world.context(), &segments(2));
    assert_eq!((cubic.window(), cubic.epoch.unwrap().start), (12.0, start));
    // Longer than the epoch: it begins now.
    cubic.on_transmit_start(&mut world.context(), &starting(Span::from_secs(100)));
    assert_eq!(cubic.epoch.unwrap().start, ticks(world.now, 250));
}

#[test]
fn begins_a_new_cubic_after_a_spurious_timeout() {
    let mut world = World::new();
    let mut cubic = Cubic::new(Settings::default());
    cubic.reno = Reno { window: 50.0, threshold: 40.0 };
    cubic.w_max = 60.0;
    cubic.on_ack(&mut world.context(), &segments(1));
    world.pass(Span::from_secs(10));
    cubic.on_timeout(&mut world.context(), &loss());
    cubic.on_spurious(&mut world.context());
    assert_eq!((cubic.window(), cubic.slow_start_threshold()), (50.0, 40.0));
    // Ten seconds up the old cubic every second ACK would add a segment. The new one has its plateau here, and of
    // the twenty segments of growth_before_loss ten are not enough.
    cubic.on_ack(&mut world.context(), &segments(10));
    assert_eq!((cubic.window(), cubic.w_max, probed(&cubic, "k_s")), (50.0, 0.0, 0.0));
}

#[test]
fn keeps_whole_segments_after_a_loss() {
    let mut world = World::new();
    let mut cubic = Cubic::new(Settings::default());
    cubic.reno = Reno { window: 126.9, threshold: 2.0 };
    cubic.on_loss(&mut world.context(), &loss());
    // 126 * 0.7002 = 88.2.
    assert_eq!((cubic.window(), cubic.slow_start_threshold(), cubic.w_max), (88.0, 88.0, 126.0));
    cubic.on_loss(&mut world.context(), &loss());
    // Fast convergence: 88 * 1.7002/2 = 74.8.
    assert_eq!(cubic.w_max, 74.0);
}

#[test]
fn grows_by_a_twentieth_before_the_first_loss_even_where_reno_would_be_faster_than_the_cubic() {
    let mut world = World::new();
    let mut cubic = Cubic::new(Settings::default());
    cubic.reno = Reno { window: 100.0, threshold: 50.0 };
    cubic.on_ack(&mut world.context(), &segments(10));
    world.pass(Span::from_millis(40));
    // The cubic rises by 0.4004 * 0.08^3 segments and Reno by 0.05: one segment for every 20 remains, 40/20 in all.
    cubic.on_ack(&mut world.context(), &segments(30));
    assert_eq!(cubic.window(), 102.0);
}

#[test]
fn computes_its_growth_anew_after_a_thirty_second_of_a_second() {
    let mut world = World::new();
    let mut cubic = Cubic::new(Settings::default());
    cubic.reno = Reno { window: 10.0, threshold: 2.0 };
    // One segment for every 20: the rule before the first loss.
    cubic.on_ack(&mut world.context(), &segments(1));
    cubic.w_est = 20.0;
    // Seven ticks of 4 ms later the count still holds.
    world.pass(Span::from_millis(28));
    cubic.on_ack(&mut world.context(), &segments(2));
    assert_eq!(cubic.window(), 10.0, "3 of 20 were counted");
    // Reno's window is 10 above: one segment for every 2 from now on.
    world.pass(Span::from_millis(4));
    cubic.on_ack(&mut world.context(), &segments(1));
    assert_eq!(cubic.window(), 11.0);
}

#[test]
fn rounds_the_target_towards_the_plateau_and_the_count_down() {
    let mut world = World::new();
    let mut cubic = Cubic::new(Settings::default());
    cubic.reno = Reno { window: 1000.0, threshold: 2.0 };
    cubic.on_loss(&mut world.context(), &loss());
    cubic.on_ack(&mut world.context(), &Ack { window_limited: false, rtt: rtt(40), ..segments(1) });
    // From 700 on, `K = 1023/1024 cbrt(300/0.4004) = 9.0732`; the target 40 ms ahead is
    // `1000 - floor(0.4004 * 9.0342^3) = 705`, so a segment for every `700/5 = 140` counted.
    cubic.on_ack(&mut world.context(), &segments(139));
    assert_eq!(cubic.window(), 700.0);
    cubic.on_ack(&mut world.context(), &segments(1));
    assert_eq!(cubic.window(), 701.0);
}

#[test]
fn takes_the_numbers_of_a_kernel() {
    // Linux 6.18: a window of 12 lost one, the smallest RTT was 107.8 ms. 22 ticks of 4 ms after recovery K was
    // 2203/1024 s and the count 4. With the true root, 2205/1024 s, it would be 8.
    let mut cubic = Cubic { w_max: 12.0, shortest: Span::from_micros(107_811), ..Cubic::new(Settings::default()) };
    let epoch = cubic.begin_epoch(1000, 8.0, 1.0);
    assert_eq!(epoch.k * PARTS, 2203.0);
    assert_eq!([1000, 1010, 1022].map(|tick| cubic.count_of(&epoch, tick, 8.0)), [8, 8, 4]);
}

#[test]
fn approaches_the_window_of_reno_over_a_round_trip() {
    let mut world = World::new();
    let mut cubic = Cubic::new(Settings::default());
    cubic.w_max = 20.0;
    cubic.reno = Reno { window: 20.0, threshold: 2.0 };
    cubic.on_ack(&mut world.context(), &segments(1));
    // On the plateau the cubic asks for a segment in 100 windows. Reno is four ahead, and a bit: a segment for every
    // 20/4 = 5.
    cubic.reno.window = 20.0;
    cubic.w_est = 24.0;
    world.pass(Span::from_millis(32));
    // With the one counted before, ten make two segments.
    cubic.on_ack(&mut world.context(), &segments(9));
    assert_eq!(cubic.window(), 22.0);
}

#[test]
fn computes_the_cubic_once_a_tick_though_the_window_has_grown() {
    let mut world = World::new();
    let mut cubic = Cubic::new(Settings::default());
    cubic.reno = Reno { window: 10.0, threshold: 2.0 };
    cubic.on_loss(&mut world.context(), &loss());
    // `W_max = 10`, window 7, `K = cbrt(3/0.4004) = 1.9571`.
    world.pass(Span::from_secs(1));
    cubic.on_ack(&mut world.context(), &segments(1));
    // 0.4 s later the target is `10 - floor(0.4004 * 1.5571^3) = 9`: a segment for every `7/2 = 3`.
    world.pass(Span::from_millis(400));
    cubic.on_ack(&mut world.context(), &segments(2));
    assert_eq!((cubic.window(), cubic.count.segments), (8.0, 3));
    // By the cubic it would be 8/1 now, but the tick is the same.
    cubic.on_ack(&mut world.context(), &segments(3));
    assert_eq!((cubic.window(), cubic.count.segments), (9.0, 3));
    world.pass(Span::from_millis(4));
    cubic.on_ack(&mut world.context(), &segments(1));
    assert_eq!(cubic.count.segments, 900, "the target lies no higher");
}

#[test]
fn a_train_may_be_longer_by_four_trains_of_segmentation_offload_and_a_millisecond_at_most() {
    let mut world = World::new();
    // 262,144 bytes at `2 * 100 * 1000 B / 10 ms`: 13 ms.
    let ack = Ack { smoothed_rtt: Span::from_millis(10), ..segments(1) };
    let mut cx = world.context();
    cx.moment.segment_size = units::Bytes::new(1000);
    assert_eq!(train_allowance(&cx, &ack, 100.0), Span::from_millis(1));
    // At twenty times that and a tenth of the RTT, 0.0655 ms.
    let near = Ack { smoothed_rtt: Span::from_millis(1), ..ack };
    assert_eq!(train_allowance(&cx, &near, 2000.0).as_nanos() / 1000, 65);
}

#[test]
fn hystart_ends_a_reduction_that_has_taken_the_window_below_the_threshold() {
    // An eighth of 100 ms: the ninth RTT of 113 ms ends the search. The threshold after the loss is 28.
    for (limit, after) in [(20, (20.0, 20.0)), (28, (28.0, 28.0)), (35, (28.0, 28.0)), (15, (28.0, 28.0))] {
        let mut world = World::new();
        let mut cubic = Cubic { shortest: Span::from_millis(100), ..Cubic::new(Settings::default()) };
        cubic.reno = Reno { window: 40.0, threshold: f64::INFINITY };
        cubic.on_loss(&mut world.context(), &loss());
        for _ in 0..9 {
            world.pass(Span::from_millis(6));
            let ack = Ack { rtt: rtt(113), limit, newly_acknowledged: 0, ..segments(1) };
            cubic.on_duplicate_ack(&mut world.context(), &ack);
        }
        assert_eq!((cubic.window(), cubic.slow_start_threshold()), after, "{limit}");
    }
}

#[test]
fn a_round_of_hystart_ends_with_the_cumulative_point() {
    // Nine RTTs of 113 ms end the search, but not in two rounds. A SACK block ends none.
    for (covers, ends) in [(false, true), (true, false)] {
        let mut world = World::new();
        let mut cubic = Cubic { shortest: Span::from_millis(100), ..Cubic::new(Settings::default()) };
        cubic.reno.window = 30.0;
        for number in 1..=9 {
            world.pass(Span::from_millis(6));
            let acknowledged_to = if covers && number > 5 { 11 } else { 1 };
            let ack = Ack { rtt: rtt(113), acknowledged_to, round_start: number == 5, ..segments(0) };
            cubic.on_duplicate_ack(&mut world.context(), &ack);
        }
        assert_eq!(cubic.slow_start_threshold().is_finite(), ends, "{covers}");
    }
}
