//! The base RTT (section III.B) and the search for it: Additional Decrease, equations (15) to (19).

use super::*;

#[test]
fn the_base_rtt_rises_about_a_round_trip_after_a_decrease_and_ends_additional_decreases() {
    // alpha 2: from 84 + 2 + 1 on, so at 88.
    let mut flow = Flow::cruising(default(), 84.0, 84.0, 124.0);
    flow.recover();
    flow.see(140);
    flow.siad.epoch.reno.window = 87.0;
    flow.see(140);
    assert_eq!((flow.probe("rtt_min_ms"), flow.probe("drained")), (100.0, 0.0));
    flow.siad.epoch.reno.window = 88.0;
    flow.see(141);
    assert_eq!((flow.probe("rtt_min_ms"), flow.probe("drained")), (100.0, 0.0));
    flow.see(140);
    assert_eq!((flow.probe("rtt_min_ms"), flow.probe("drained")), (140.0, 1.0));
}

#[test]
fn in_slow_start_and_beyond_the_target_the_queue_need_not_be_empty() {
    for (window, drained) in [(83.0, 1.0), (84.0, 0.0), (124.0, 0.0), (125.0, 1.0)] {
        let mut flow = Flow::cruising(default(), window, 84.0, 124.0);
        flow.see(140);
        assert_eq!(flow.probe("drained"), drained, "{window}");
    }
}

#[test]
fn without_timestamps_or_by_choice_the_smoothed_rtt_is_the_sample() {
    let smoothed = Span::from_micros(123_900);
    for (rtt_source, echo, expected) in
        [(RttSource::Timestamp, true, 100.0), (RttSource::Timestamp, false, 123.0), (RttSource::Smoothed, true, 123.0)]
    {
        let mut flow = Flow::new(Settings { rtt_source, ..default() });
        let mut ack = Ack { smoothed_rtt: smoothed, rtt: rtt(90), ..flow.ack_of(1, 100) };
        if !echo {
            ack.timestamp_echo = Time::NEVER;
        }
        flow.siad.on_ack(&mut flow.world.context(), &ack);
        assert_eq!(flow.probe("rtt_curr_ms"), expected, "{rtt_source:?}");
    }
}

#[test]
fn the_smoothed_rtt_of_a_short_path_has_parts_of_a_tick() {
    // 32 ticks are 32 ms; 32/2 ms are enough for 20 ms. 32 parts of a 64th of 1 ms are 500 us, of a 128th, rounded
    // down to
    // 7812 ns, 250 us: 412 us are 52 of them, and 440 us 56.
    for (micros, nanos) in [(40_600, 40_000_000), (20_600, 20_500_000), (412, 52 * 7812), (440, 56 * 7812)] {
        assert_eq!(in_parts(Span::from_micros(micros), Span::from_millis(1)), Span::from_nanos(nanos), "{micros}");
    }
}

#[test]
fn no_sample_is_shorter_than_a_tick() {
    let mut flow = Flow::new(default());
    flow.acknowledge(1, 0);
    assert_eq!(flow.probe("rtt_min_ms"), 1.0);
}

#[test]
fn the_guard_takes_a_creeping_base_rtt_back_only_if_asked_for() {
    for (min_guard, last) in [(false, 106.0), (true, 100.0)] {
        let mut flow = Flow::cruising(Settings { min_guard, ..default() }, 126.0, 84.0, 130.0);
        for millis in [100, 102, 104, 106] {
            flow.siad.rtt.minimum = Span::from_millis(millis);
            flow.siad.rtt.of_epoch = Span::from_millis(millis);
            flow.lose_at(150);
        }
        assert_eq!(flow.probe("rtt_min_ms"), last);
    }
}

/// A flow on the brink of an Additional Decrease at RTTs of `millis`: the `cnt_dec`-th of its epoch, with `threshold`
/// kept at the last one.
fn brink(settings: Settings, cnt_dec: u32, threshold: f64, incthresh: f64, millis: u64) -> Flow {
    let mut flow = Flow::cruising(settings, threshold, threshold, incthresh);
    flow.siad.epoch.cnt_dec = cnt_dec - 1;
    flow.siad.epoch.reno.window = threshold + flow.siad.epoch.alpha.floor() + 3.0;
    // The smallest sample of the epoch came before.
    flow.siad.rtt.of_epoch = Span::from_millis(millis - 1);
    flow.see(millis);
    flow
}

#[test]
fn an_additional_decrease_comes_when_a_round_trip_of_growth_has_not_shown_the_base_rtt() {
    // alpha = (124 - 84)/20 = 2: beyond 84 + 2 + 2.
    let mut flow = brink(default(), 1, 84.0, 124.0, 120);
    flow.siad.epoch.reno.window = 88.0;
    flow.acknowledge(1, 120);
    assert_eq!(flow.probe("additional_decreases"), 0.0);
    flow.siad.epoch.reno.window = 89.0;
    flow.acknowledge(1, 120);
    // w1 = 84 * 100/120 - 1 = 69; k = 19: red = 3.63; alpha_new = (124 - 69)/18 = 3.06. 69 - 3.63 = 65.37.
    // red is larger, so alpha = (124 - 65)/19 = 3.105.
    assert_eq!(flow.windows(), (65.0, 64.0));
    assert!((flow.probe("alpha") - 3.105).abs() < 0.001);
    let values = ["cnt_dec", "additional_decreases", "drained"].map(|name| flow.probe(name));
    assert_eq!(values, [1.0, 1.0, 0.0]);
}

#[test]
fn where_the_climb_takes_more_than_the_share_of_the_window_alpha_is_what_was_cut() {
    // alpha = (324 - 84)/20 = 12. w1 = 84 * 100/120 - 1 = 69; red = 69/19 = 3.63; alpha_new = (324 - 69)/18 = 14.17.
    let mut flow = brink(default(), 1, 84.0, 324.0, 120);
    flow.acknowledge(1, 120);
    assert_eq!(flow.windows(), (54.0, 53.0));
    assert!((flow.probe("alpha") - 14.1667).abs() < 0.001);
    assert_eq!(flow.probe("drained"), 0.0);
}

#[test]
fn the_last_additional_decrease_leaves_one_round_trip_to_the_target() {
    // The 19th of 20: k = 1. w1 = 69, red = 69: down to the smallest window, and alpha = (124 - 2)/1.
    let mut flow = brink(default(), 19, 84.0, 124.0, 120);
    flow.acknowledge(1, 120);
    assert_eq!((flow.windows(), flow.probe("alpha")), ((2.0, 1.0), 122.0));
    assert_eq!((flow.probe("cnt_dec"), flow.probe("drained")), (19.0, 1.0));
    assert_eq!(flow.siad.slow_start_threshold(), 2.0, "as the transport sees it");
    // There is no 20th.
    let mut flow = brink(default(), 20, 84.0, 124.0, 120);
    flow.acknowledge(1, 120);
    assert_eq!(flow.probe("additional_decreases"), 0.0);
}

#[test]
fn with_two_round_trips_an_epoch_the_climb_is_divided_by_one_not_by_zero() {
    // N = 2: the only one has k = 1, and alpha_new = (100 - 49)/max(1, 0) = 51 above red = 49. 49 - 51 < 2.
    let mut flow = brink(Settings { num_rtt: 2, ..default() }, 1, 60.0, 100.0, 120);
    flow.acknowledge(1, 120);
    assert_eq!((flow.windows(), flow.probe("alpha"), flow.probe("drained")), ((2.0, 1.0), 51.0, 1.0));
}

#[test]
fn where_the_backlog_is_all_but_two_segments_the_window_is_two_and_the_climb_starts_there() {
    // w1 = 5 * 100/200 - 1 = 1.5; alpha = (41 - 2)/19 = 2.05.
    let mut flow = brink(default(), 1, 5.0, 41.0, 200);
    flow.acknowledge(1, 200);
    assert_eq!((flow.windows(), flow.probe("drained")), ((2.0, 1.0), 1.0));
    assert!((flow.probe("alpha") - 39.0 / 19.0).abs() < 1e-9);
}

#[test]
fn an_alpha_above_the_window_ends_additional_decreases_and_stays_unless_clamped() {
    // w1 = 40 * 100/125 - 1 = 31; red = 31/10 = 3.1; alpha_new = (211 - 31)/9 = 20: 11 left.
    for (clamp_after_ad, alpha) in [(false, 20.0), (true, 11.0)] {
        let mut flow = brink(Settings { clamp_after_ad, ..default() }, 10, 40.0, 211.0, 125);
        flow.acknowledge(1, 125);
        assert_eq!((flow.windows(), flow.probe("alpha"), flow.probe("drained")), ((11.0, 10.0), alpha, 1.0));
    }
}

#[test]
fn the_base_rtt_seen_once_ends_additional_decreases_of_the_epoch() {
    let mut flow = brink(default(), 1, 84.0, 124.0, 120);
    flow.see(100);
    flow.acknowledge(1, 120);
    assert_eq!(flow.probe("additional_decreases"), 0.0);
}

#[test]
fn a_window_that_is_not_used_neither_grows_nor_is_decreased() {
    let mut flow = brink(default(), 1, 84.0, 124.0, 120);
    let before = flow.windows();
    for _ in 0..200 {
        flow.see(120);
    }
    assert_eq!(flow.windows(), before);
}
