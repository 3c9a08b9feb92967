//! Regular decrease: equations (4), (5), (7) to (14).

use super::*;

/// Case and window at the loss of a flow at `window` between `threshold` and `incthresh` with `alpha`.
fn at_loss(window: f64, threshold: f64, incthresh: f64, alpha: f64) -> (f64, f64) {
    let mut flow = Flow::cruising(default(), window, threshold, incthresh);
    flow.siad.epoch.alpha = alpha;
    flow.lose_at(150);
    assert_eq!(flow.probe("overestimate"), window - flow.probe("cmax"));
    (flow.probe("event_case"), flow.probe("cmax"))
}

#[test]
fn case_0_a_window_that_has_not_grown_is_that_of_the_loss() {
    let mut flow = Flow::cruising(default(), 100.0, 100.0, 160.0);
    flow.siad.epoch.grew = false;
    flow.lose_at(150);
    assert_eq!((flow.probe("event_case"), flow.probe("cmax")), (0.0, 100.0));
}

#[test]
fn case_1_linear_increment_takes_off_alpha() {
    assert_eq!(at_loss(126.0, 84.0, 130.0, 2.3), (1.0, 123.7));
}

#[test]
fn case_2_fast_increase_takes_off_half_of_alpha() {
    assert_eq!(at_loss(140.0, 84.0, 130.0, 10.0), (2.0, 135.0));
}

#[test]
fn case_3_just_beyond_the_target_takes_off_the_alpha_before_it_and_one_at_least() {
    // (130 - 84)/20 = 2.3; (90 - 84)/20 = 0.3.
    assert_eq!(at_loss(130.0, 84.0, 130.0, 1.0), (3.0, 127.7));
    assert_eq!(at_loss(90.0, 84.0, 90.0, 1.0), (3.0, 89.0));
}

#[test]
fn case_4_fast_increase_at_its_limit_takes_off_a_third() {
    // Half of 150 is 75, of 151 rounded down as well.
    assert_eq!(at_loss(150.0, 84.0, 130.0, 75.0), (4.0, 100.0));
    assert_eq!(at_loss(151.0, 84.0, 130.0, 75.0).0, 4.0);
    assert_eq!(at_loss(150.0, 84.0, 130.0, 74.5).0, 2.0);
}

#[test]
fn case_5_slow_start_or_an_alpha_above_the_window_takes_off_half() {
    assert_eq!(at_loss(200.0, f64::INFINITY, 10.0, 200.0), (5.0, 100.0));
    assert_eq!(at_loss(84.0, 84.0, 130.0, 2.3), (5.0, 42.0));
    assert_eq!(at_loss(30.0, 20.0, 130.0, 30.0), (5.0, 15.0));
}

#[test]
fn a_decrease_keeps_what_the_path_holds_less_one_and_aims_at_the_old_window_and_its_trend() {
    // W = 126.3 - 2.3 = 124; 124 * 100/150 = 82.67, rounded down less 1: 81. Before, the loss came at 120: the target
    // is 124 + 4 = 128, in 20 RTTs: (128 - 81)/20 = 2.35.
    let mut flow = Flow::cruising(default(), 126.0, 84.0, 130.0);
    flow.siad.epoch.alpha = 2.0;
    flow.siad.epoch.cmax = 120.0;
    flow.lose_at(150);
    assert_eq!(flow.windows(), (81.0, 81.0));
    assert_eq!((flow.probe("cmax"), flow.probe("trend"), flow.probe("incthresh")), (124.0, 4.0, 128.0));
    assert_eq!((flow.probe("alpha"), flow.probe("ssthresh_at_event"), flow.probe("events")), (2.35, 81.0, 1.0));
}

#[test]
fn a_falling_trend_cannot_take_the_target_below_the_threshold() {
    // W = 100 - 2 = 98 after 300: 98 - 202 < 0. 98 * 100/140 = 70, less 1.
    let mut flow = Flow::cruising(default(), 100.0, 60.0, 130.0);
    flow.siad.epoch.alpha = 2.0;
    flow.siad.epoch.cmax = 300.0;
    flow.lose_at(140);
    assert_eq!((flow.probe("trend"), flow.probe("incthresh"), flow.windows().1), (-202.0, 69.0, 69.0));
    assert_eq!((flow.probe("alpha"), flow.probe("region")), (1.0, 3.0));
}

#[test]
fn whole_segments_stay_whole_and_the_margin_comes_off_after_rounding() {
    // 128 - 2 = 126, times 2/3 is 84 and not 83.99.
    for (margin, threshold) in [(1.0, 83.0), (0.0, 84.0), (2.0, 82.0), (0.5, 83.0)] {
        let mut flow = Flow::cruising(Settings { margin, ..default() }, 128.0, 84.0, 130.0);
        flow.siad.epoch.alpha = 2.0;
        flow.lose_at(150);
        assert_eq!(flow.windows().1, threshold, "margin {margin}");
    }
}

#[test]
fn a_decrease_ends_at_the_smallest_window_at_the_lowest() {
    for (min_cwnd, least) in [(2, 2.0), (5, 5.0)] {
        let mut flow = Flow::cruising(Settings { min_cwnd, ..default() }, 8.0, 4.0, 10.0);
        flow.lose_at(2000);
        assert_eq!(flow.windows(), (least, least));
    }
}

#[test]
fn without_any_rtt_half_of_the_window_is_kept() {
    let mut flow = Flow::new(default());
    let unknown = Ack { smoothed_rtt: Span::ZERO, newly_delivered: 15, ..ack() };
    flow.siad.on_ack(&mut flow.world.context(), &unknown);
    flow.siad.on_loss(&mut flow.world.context(), &loss());
    // 25 - 12.5 = 12.5, half of it rounded down.
    assert_eq!(flow.windows(), (6.0, 6.0));
}

#[test]
fn the_first_loss_aims_at_twice_the_window_at_the_loss_less_the_initial_one() {
    // 242 - 121 = 121; 121 * 100/150 = 80.67 - 1 = 79; 121 + (121 - 10) = 232; (232 - 79)/20 = 7.65.
    let mut flow = Flow::new(default());
    flow.acknowledge(232, 100);
    flow.lose_at(150);
    assert_eq!((flow.windows().1, flow.probe("incthresh"), flow.probe("alpha")), (79.0, 232.0, 7.65));
}

#[test]
fn a_length_in_time_gives_the_round_trips_by_the_mean_rtt_of_the_coming_epoch_and_two_at_least() {
    // From 100 to 150 ms: 125 ms. 4000/125 = 32; 3990/125 = 31.92; 100/125 < 2.
    for (millis, round_trips) in [(4000, 32.0), (3990, 31.0), (100, 2.0)] {
        let settings = Settings { num_ms: Span::from_millis(millis), ..default() };
        let mut flow = Flow::cruising(settings, 126.0, 84.0, 130.0);
        flow.lose_at(150);
        assert_eq!(flow.probe("num_rtt"), round_trips, "{millis} ms");
        // W = 126 - 2.3 = 123.7, and 130 the time before: 117.4. 123.7 / 1.5 = 82.47, less 1: 81.
        assert!((flow.probe("alpha") - (36.4 / round_trips)).abs() < 1e-9);
    }
}

#[test]
fn case_3_counts_with_the_round_trips_of_the_epoch_that_ends() {
    let settings = Settings { num_ms: Span::from_millis(4000), ..default() };
    let mut flow = Flow::cruising(settings, 130.0, 84.0, 130.0);
    flow.siad.epoch.alpha = 1.0;
    flow.lose_at(150);
    // 2.3; with 32 it would be 1.4.
    assert_eq!((flow.probe("overestimate").round(), flow.probe("num_rtt")), (2.0, 32.0));
}

#[test]
fn without_trend_the_target_is_the_window_at_the_loss_and_at_random_it_is_about_there() {
    let target = |trend| {
        let mut flow = Flow::cruising(Settings { trend, ..default() }, 126.0, 84.0, 130.0);
        flow.siad.epoch.alpha = 2.0;
        flow.siad.epoch.cmax = 90.0;
        flow.lose_at(150);
        flow.probe("incthresh")
    };
    assert_eq!(target(Trend::Paper), 158.0);
    assert_eq!(target(Trend::None), 124.0);
    // The decrease is from 124 to 81: the target is within 21.5 of 124.
    let mut flow = Flow::cruising(Settings { trend: Trend::Random, ..default() }, 126.0, 84.0, 130.0);
    let (mut below, mut above) = (0, 0);
    for _ in 0..100 {
        flow.siad.epoch.reno = Reno { window: 126.0, threshold: 84.0 };
        flow.siad.epoch.alpha = 2.0;
        flow.siad.epoch.incthresh = 130.0;
        flow.lose_at(150);
        let deviation = flow.probe("incthresh") - 124.0;
        assert!(deviation.abs() <= 21.5, "{deviation}");
        below += u32::from(deviation < -5.0);
        above += u32::from(deviation > 5.0);
    }
    assert!(below > 20 && above > 20, "{below} below, {above} above");
}

#[test]
fn recovery_begins_an_epoch_that_watches_for_the_empty_queue() {
    let mut flow = Flow::cruising(default(), 126.0, 84.0, 130.0);
    flow.siad.epoch.cnt_dec = 3;
    flow.see(100);
    assert_eq!(flow.probe("drained"), 1.0);
    flow.lose_at(150);
    flow.recover();
    assert_eq!((flow.probe("drained"), flow.probe("cnt_dec"), flow.siad.rtt.of_epoch), (0.0, 0.0, Span::MAX));
    // Another loss at once is case 0: 81 * 100/150 = 54, less 1.
    flow.siad.on_loss(&mut flow.world.context(), &loss());
    assert_eq!((flow.probe("event_case"), flow.windows().1), (0.0, 53.0));
}
