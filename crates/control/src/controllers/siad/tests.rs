//! What SIAD does on single events, with numbers worked out by hand.

use units::{Span, Time};

use super::*;
use crate::testing::{World, ack, loss, probed, rtt};

/// A SIAD with its clock.
struct Flow {
    siad: Siad,
    world: World,
}

impl Flow {
    fn new(settings: Settings) -> Self {
        let mut world = World::new();
        world.pass(Span::from_secs(100));
        let mut siad = Siad::new(settings);
        siad.on_start(&mut world.context());
        Self { siad, world }
    }

    /// In mid epoch at `window` between `threshold` and `incthresh`, with a base RTT of 100 ms.
    fn cruising(settings: Settings, window: f64, threshold: f64, incthresh: f64) -> Self {
        let mut flow = Self::new(settings);
        flow.siad.epoch.incthresh = incthresh;
        flow.siad.epoch.cmax = incthresh;
        flow.siad.set_window(window, threshold);
        flow.siad.epoch.grew = true;
        flow.see(100);
        flow.siad.epoch.drained = false;
        flow
    }

    fn ack_of(&self, segments: u32, millis: u64) -> Ack {
        let echo = self.world.now.as_nanos() - Span::from_millis(millis).as_nanos();
        Ack {
            timestamp_echo: Time::from_nanos(echo),
            timestamp_tick: Span::from_millis(1),
            newly_acknowledged: segments,
            newly_delivered: segments,
            ..ack()
        }
    }

    /// An ACK of so many segments with an RTT in milliseconds.
    fn acknowledge(&mut self, segments: u32, millis: u64) {
        let ack = self.ack_of(segments, millis);
        self.siad.on_ack(&mut self.world.context(), &ack);
    }

    /// An RTT sample on an ACK that grows nothing.
    fn see(&mut self, millis: u64) {
        let ack = Ack { window_limited: false, ..self.ack_of(1, millis) };
        self.siad.on_ack(&mut self.world.context(), &ack);
    }

    /// A loss with two RTT samples of `millis` before it.
    fn lose_at(&mut self, millis: u64) {
        self.see(millis);
        self.see(millis);
        self.siad.on_loss(&mut self.world.context(), &loss());
    }

    fn time_out(&mut self, again: bool) {
        self.siad.on_timeout(&mut self.world.context(), &Loss { again, ..loss() });
    }

    fn recover(&mut self) {
        self.siad.on_recovered(&mut self.world.context());
    }

    fn probe(&self, name: &str) -> f64 {
        probed(&self.siad, name)
    }

    /// Window and threshold.
    fn windows(&self) -> (f64, f64) {
        (self.siad.epoch.reno.window, self.siad.epoch.reno.threshold)
    }
}

fn default() -> Settings {
    Settings::default()
}

// Increase: (1), (3), (6).

#[test]
fn slow_start_adds_a_segment_for_each_one_acknowledged_whatever_an_ack_covers() {
    let mut flow = Flow::new(default());
    for segments in [2, 1, 3, 4] {
        flow.acknowledge(segments, 100);
    }
    assert_eq!((flow.siad.window(), flow.probe("alpha"), flow.probe("region")), (20.0, 20.0, 1.0));
}

#[test]
fn linear_increment_adds_alpha_in_a_window_of_acknowledgements() {
    // alpha = (160 - 100)/20 = 3: a segment after 33.3 acknowledged, after 33.7 more, and after 34 more: 101.
    let mut flow = Flow::cruising(default(), 100.0, 100.0, 160.0);
    assert_eq!(flow.probe("alpha"), 3.0);
    flow.acknowledge(100, 100);
    assert_eq!(flow.siad.window(), 102.0);
    flow.acknowledge(2, 100);
    assert_eq!((flow.siad.window(), flow.probe("alpha"), flow.probe("region")), (103.0, 3.0, 2.0));
}

#[test]
fn alpha_is_at_least_one_and_at_most_the_threshold() {
    assert_eq!(Flow::cruising(default(), 100.0, 100.0, 110.0).probe("alpha"), 1.0);
    assert_eq!(Flow::cruising(default(), 4.0, 4.0, 104.0).probe("alpha"), 4.0);
}

#[test]
fn fast_increase_begins_at_the_target_with_one_and_adds_to_alpha_what_it_adds_to_the_window() {
    let mut flow = Flow::cruising(default(), 159.0, 100.0, 160.0);
    flow.acknowledge(53, 100); // 159/3
    assert_eq!((flow.siad.window(), flow.probe("alpha"), flow.probe("region")), (160.0, 1.0, 3.0));
    flow.acknowledge(160, 100);
    assert_eq!((flow.siad.window(), flow.probe("alpha")), (161.0, 2.0));
    flow.acknowledge(81, 100); // 161/2 = 80.5
    assert_eq!((flow.siad.window(), flow.probe("alpha")), (162.0, 3.0));
}

#[test]
fn alpha_of_fast_increase_is_at_most_half_the_window() {
    let mut flow = Flow::cruising(default(), 20.0, 8.0, 10.0);
    flow.siad.epoch.alpha = 10.0;
    flow.acknowledge(2, 100);
    assert_eq!((flow.siad.window(), flow.probe("alpha")), (21.0, 10.5));
    let mut flow = Flow::cruising(default(), 2.0, 2.0, 2.0);
    flow.acknowledge(2, 100);
    assert_eq!((flow.siad.window(), flow.probe("alpha")), (3.0, 1.5));
}

#[test]
fn slow_start_ends_at_the_threshold_in_linear_increment_or_without_a_target_in_fast_increase() {
    let mut flow = Flow::cruising(default(), 39.0, 40.0, 140.0);
    flow.acknowledge(1, 100);
    assert_eq!((flow.siad.window(), flow.probe("alpha"), flow.probe("region")), (40.0, 5.0, 2.0));
    let mut flow = Flow::cruising(default(), 39.0, 40.0, 40.0);
    flow.acknowledge(2, 100);
    assert_eq!((flow.siad.window(), flow.probe("alpha"), flow.probe("region")), (40.0, 1.0, 3.0));
}

#[test]
fn no_segment_acknowledged_adds_more_than_one_however_large_alpha_is() {
    let mut flow = Flow::cruising(default(), 6.0, 4.0, 400.0);
    flow.siad.epoch.alpha = 24.0;
    flow.acknowledge(3, 100);
    assert_eq!((flow.siad.window(), flow.probe("alpha")), (9.0, 24.0));
}

#[test]
fn an_ack_counts_what_it_delivers_not_what_was_sacked_before() {
    let mut flow = Flow::cruising(default(), 2.0, 50.0, 100.0);
    let ack = Ack { newly_acknowledged: 300, newly_delivered: 1, ..flow.ack_of(1, 100) };
    flow.siad.on_ack(&mut flow.world.context(), &ack);
    assert_eq!(flow.siad.window(), 3.0);
}

// Regular decrease: (4), (5), (7) to (14).

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
    // The decrease is from 124 to 81: the target lies within 21.5 of 124.
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

// Base RTT: section III.B.

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

// Additional Decrease: (15) to (19).

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

// Timeouts, undo, idle time.

#[test]
fn a_timeout_decreases_as_a_loss_and_starts_slowly_without_additional_decreases() {
    let mut flow = Flow::cruising(default(), 126.0, 84.0, 130.0);
    flow.siad.epoch.alpha = 2.0;
    flow.see(150);
    flow.see(150);
    flow.time_out(false);
    // As above: 124 * 2/3 = 82.67, less 1.
    assert_eq!((flow.windows(), flow.probe("events")), ((1.0, 81.0), 1.0));
    assert_eq!((flow.probe("alpha"), flow.probe("drained"), flow.probe("region")), (1.0, 1.0, 1.0));
    flow.time_out(true);
    assert_eq!((flow.windows(), flow.probe("events")), ((1.0, 81.0), 1.0));
    flow.acknowledge(80, 150);
    // Target 124 - 6 = 118: (118 - 81)/20 = 1.85.
    assert_eq!((flow.windows(), flow.probe("alpha"), flow.probe("region")), ((81.0, 81.0), 1.85, 2.0));
    for _ in 0..20 {
        flow.acknowledge(41, 150);
    }
    assert_eq!(flow.probe("additional_decreases"), 0.0);
}

#[test]
fn a_timeout_in_recovery_is_no_second_decrease() {
    let mut flow = Flow::cruising(default(), 126.0, 84.0, 130.0);
    flow.lose_at(150);
    let threshold = flow.windows().1;
    flow.time_out(true);
    assert_eq!((flow.windows(), flow.probe("events")), ((1.0, threshold), 1.0));
}

#[test]
fn a_spurious_loss_gives_the_epoch_back() {
    let mut flow = Flow::cruising(default(), 126.0, 84.0, 130.0);
    flow.see(120);
    let names = ["alpha", "incthresh", "cmax", "num_rtt", "cnt_dec", "drained", "region"];
    let before = (flow.windows(), names.map(|name| flow.probe(name)), flow.siad.rtt.of_epoch);
    for event in [Flow::recover, |flow: &mut Flow| flow.time_out(true)] {
        flow.siad.on_loss(&mut flow.world.context(), &loss());
        event(&mut flow);
        flow.siad.on_spurious(&mut flow.world.context());
        assert_eq!((flow.windows(), names.map(|name| flow.probe(name)), flow.siad.rtt.of_epoch), before);
    }
    flow.siad.on_spurious(&mut flow.world.context());
    assert_eq!(flow.windows(), before.0, "only once");
}

#[test]
fn a_spurious_loss_does_not_count_for_the_guard() {
    let mut flow = Flow::cruising(Settings { min_guard: true, ..default() }, 126.0, 84.0, 130.0);
    let mut lose = |millis: u64, spurious: bool| {
        flow.siad.rtt.minimum = Span::from_millis(millis);
        flow.siad.rtt.of_epoch = Span::from_millis(millis);
        flow.lose_at(150);
        if spurious {
            flow.siad.on_spurious(&mut flow.world.context());
        }
        flow.probe("rtt_min_ms")
    };
    // Without the spurious 104, 106 is the third in a row; 108 is the fourth, spurious first.
    let events = [(100, false), (102, false), (104, true), (106, false), (108, true), (108, false)];
    assert_eq!(events.map(|(millis, spurious)| lose(millis, spurious)), [100.0, 102.0, 104.0, 106.0, 108.0, 100.0]);
}

#[test]
fn after_idle_the_flow_starts_slowly_from_the_initial_window() {
    let mut flow = Flow::cruising(default(), 126.0, 84.0, 130.0);
    flow.siad.on_idle_restart(&mut flow.world.context());
    assert_eq!((flow.windows(), flow.probe("alpha")), ((10.0, 84.0), 10.0));
    flow.acknowledge(10, 100);
    assert_eq!(flow.siad.window(), 20.0);
}

/// Parameters as a scenario gives them.
fn given(name: &str, value: serde_json::Value) -> crate::Parameters {
    [(name.to_owned(), value)].into_iter().collect()
}

// Section III.C.
#[test]
fn num_rtt_changes_at_once_and_keeps_the_target() {
    // 20 segments to the target in 20 round trips; with 10 of them it is two segments a round trip.
    let mut flow = Flow::cruising(Settings::default(), 40.0, 20.0, 40.0);
    flow.siad.epoch.alpha = 1.0;
    assert_eq!(flow.siad.set_parameters(&given("num_rtt", 10.into())), Ok(()));
    assert_eq!((flow.probe("num_rtt"), flow.siad.epoch.alpha), (10.0, 2.0));
}

#[test]
fn a_spurious_loss_gives_back_no_num_rtt_of_the_past() {
    let mut flow = Flow::cruising(Settings::default(), 40.0, 20.0, 40.0);
    flow.siad.epoch.alpha = 1.0;
    flow.lose_at(150);
    assert_eq!(flow.siad.set_parameters(&given("num_rtt", 10.into())), Ok(()));
    flow.siad.on_spurious(&mut flow.world.context());
    assert_eq!((flow.probe("num_rtt"), flow.siad.epoch.alpha), (10.0, 2.0));
}

#[test]
fn a_change_that_is_not_allowed_changes_nothing() {
    let mut flow = Flow::new(Settings::default());
    let refused = flow.siad.set_parameters(&given("num_rtt", 1.into())).unwrap_err().to_string();
    assert!(refused.contains("num_rtt") && refused.contains("2 to 1000000"), "{refused}");
    assert_eq!(flow.probe("num_rtt"), 20.0);
}
