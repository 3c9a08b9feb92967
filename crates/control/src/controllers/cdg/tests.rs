//! CDG on single events, with numbers worked out by hand.

use units::Span;

use super::*;
use crate::testing::{World, ack, loss, probed, rtt};

/// A CDG with its clock, past slow start, whose RTT intervals are given by their extremes.
struct Flow {
    cdg: Cdg,
    world: World,
    sent: u64,
}

impl Flow {
    fn new(settings: Settings) -> Self {
        let mut flow = Self { cdg: Cdg::new(settings), world: World::new(), sent: 100 };
        flow.cdg.on_start(&mut flow.world.context());
        flow
    }

    /// In congestion avoidance at `window`, the shadow window alike.
    fn cruising(settings: Settings, window: f64) -> Self {
        let mut flow = Self::new(settings);
        flow.cdg.reno = Reno { window, threshold: 2.0 };
        flow.cdg.shadow = window;
        flow
    }

    /// One RTT interval with these extremes in milliseconds, closed by the ACK of everything sent before it.
    fn interval(&mut self, min: u64, max: u64) {
        let acknowledged_to = self.sent;
        self.sent += 10;
        let ack = Ack { sent_to: self.sent, ..ack() };
        self.cdg.on_ack(&mut self.world.context(), &Ack { rtt: rtt(max), ..ack });
        let last = Ack { rtt: rtt(min), round_start: true, acknowledged_to, ..ack };
        self.cdg.on_ack(&mut self.world.context(), &last);
    }

    /// Intervals whose gradients leave the queue state `Full`: the minimum climbs, the maximum does not.
    fn fill_queue(&mut self) {
        self.interval(40, 60);
        self.interval(42, 60);
        assert_eq!(self.cdg.gradient.queue(), Queue::Full);
    }

    fn lose(&mut self) {
        self.cdg.on_loss(&mut self.world.context(), &loss());
    }
}

/// Backs off whenever a gradient is positive: e^-1000 and less is no chance.
fn certain() -> Settings {
    Settings { g: Span::from_micros(1), a: 1, ..Settings::default() }
}

/// Hardly ever backs off: a gradient of 2 ms gives probability 0.0002.
fn never() -> Settings {
    Settings { g: Span::from_secs(10), a: 1, ..Settings::default() }
}

#[test]
fn a_loss_does_not_raise_the_window_where_that_is_ruled_out() {
    // Half of a shadow window of 100, for a window of 20.
    for (loss_may_raise, after) in [(true, 50.0), (false, 20.0)] {
        let mut world = World::new();
        let settings = Settings { loss_may_raise, loss_tolerance: false, ..Settings::default() };
        let mut cdg = Cdg::new(settings);
        (cdg.reno, cdg.shadow) = (Reno { window: 20.0, threshold: 2.0 }, 100.0);
        cdg.on_loss(&mut world.context(), &loss());
        assert_eq!((cdg.window(), cdg.slow_start_threshold()), (after, after));
    }
}

#[test]
fn the_probability_of_a_backoff_is_that_of_equation_5() {
    // 1 - e^(-g/3): by table of the exponential function.
    for (g, p) in [(0.0, 0.0), (0.375, 0.117_503), (3.0, 0.632_121), (6.0, 0.864_665), (30.0, 0.999_955)] {
        assert!((backoff_probability(g, 3.0) - p).abs() < 1e-6, "{g}");
    }
}

#[test]
fn the_share_of_intervals_that_back_off_follows_the_probability() {
    // A gradient of G in every compared interval: 63 % of 2000 back off, within 4 standard deviations (22 each).
    let mut flow = Flow::cruising(Settings { a: 1, use_ineffectual: false, ..Settings::default() }, 1e6);
    let (mut floor, mut compared) = (40, 0);
    while compared < 2000 {
        let comparable = flow.cdg.gradient.last().is_some() && flow.cdg.relieved_until.is_none();
        compared += u32::from(comparable);
        floor += 3;
        flow.interval(floor, floor);
        if flow.cdg.relieved_until.is_some() {
            floor += 3;
            flow.interval(floor, floor);
        }
    }
    let share = flow.cdg.counts.backoffs as f64 / 2000.0;
    assert!((share - 0.632).abs() < 0.043, "{share}");
}

#[test]
fn slow_start_decides_by_the_raw_gradient_and_avoidance_by_the_smoothed() {
    let g = Gradients { raw_min: 2.0, raw_max: 4.0, min: -0.5, max: 1.0 };
    assert_eq!(Flow::new(certain()).cdg.deciding_gradient(&Moment::EMPTY, g), Some(2.0));
    assert_eq!(Flow::cruising(certain(), 20.0).cdg.deciding_gradient(&Moment::EMPTY, g), Some(1.0));
    let only_max = Gradients { raw_min: -1.0, raw_max: 4.0, min: -0.5, max: -1.0 };
    assert_eq!(Flow::new(certain()).cdg.deciding_gradient(&Moment::EMPTY, only_max), Some(4.0));
    assert_eq!(Flow::cruising(certain(), 20.0).cdg.deciding_gradient(&Moment::EMPTY, only_max), None);
}

#[test]
fn a_delay_backoff_keeps_beta_d_of_the_window_and_ends_slow_start() {
    let mut flow = Flow::new(certain());
    flow.interval(40, 40);
    // Two ACKs of slow start.
    assert_eq!(flow.cdg.window(), 12.0);
    flow.interval(44, 44);
    // One more ACK, then the back-off: 0.7 * 13.
    assert!((flow.cdg.window() - 9.1).abs() < 1e-12);
    assert_eq!(flow.cdg.slow_start_threshold(), flow.cdg.window());
}

#[test]
fn there_is_at_most_one_backoff_in_two_intervals() {
    let mut flow = Flow::cruising(certain(), 1000.0);
    let mut backed_off = Vec::new();
    for n in 0..7 {
        let before = flow.cdg.counts.backoffs;
        flow.interval(40 + 2 * n, 40 + 2 * n);
        backed_off.push(flow.cdg.counts.backoffs > before);
    }
    assert_eq!(backed_off, [false, true, false, true, false, true, false]);
}

#[test]
fn the_window_grows_a_segment_in_the_interval_after_a_backoff() {
    let mut flow = Flow::cruising(certain(), 100.0);
    flow.interval(40, 40);
    assert_eq!(flow.cdg.window(), 101.0);
    flow.interval(44, 44);
    assert!((flow.cdg.window() - 70.7).abs() < 1e-9);
    flow.interval(48, 48);
    assert!((flow.cdg.window() - 71.7).abs() < 1e-9);
}

/// For each indication of `count` intervals with positive gradients, true if it cut the window.
fn indications(settings: Settings, count: u32) -> Vec<bool> {
    let mut flow = Flow::cruising(settings, 1e6);
    let mut floor = 40;
    let mut acted = Vec::new();
    let mut interval = |flow: &mut Flow| {
        floor += 2;
        flow.interval(floor, floor);
    };
    interval(&mut flow);
    for _ in 0..count {
        let (k, backoffs) = (flow.cdg.indications, flow.cdg.counts.backoffs);
        interval(&mut flow);
        if flow.cdg.indications != k {
            acted.push(flow.cdg.counts.backoffs > backoffs);
        }
    }
    acted
}

#[test]
fn five_backoffs_without_effect_are_followed_by_five_holds_and_so_on() {
    let five = |acts: bool| [acts; 5];
    let pattern = [five(true), five(false), five(true), five(false)].concat();
    // Every other interval is skipped.
    assert_eq!(indications(certain(), 40), pattern);
}

#[test]
fn the_tenth_indication_counts_anew_and_a_negative_gradient_does_so_at_once() {
    let mut flow = Flow::cruising(certain(), 1e6);
    let mut counts = Vec::new();
    for n in 0..22 {
        flow.interval(40 + 2 * n, 40 + 2 * n);
        if n % 2 == 1 {
            counts.push(flow.cdg.indications);
        }
    }
    assert_eq!(counts, [1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 1]);
    flow.interval(60, 60);
    flow.interval(50, 50);
    assert_eq!(flow.cdg.indications, 0);
}

#[test]
fn either_gradient_below_zero_shows_that_the_backoffs_had_effect() {
    for (min, max) in [(44, 58), (36, 62)] {
        let mut flow = Flow::cruising(never(), 40.0);
        flow.interval(40, 60);
        flow.cdg.indications = 3;
        flow.interval(min, max);
        assert_eq!(flow.cdg.indications, 0, "{min} {max}");
    }
}

#[test]
fn without_detection_of_ineffectual_backoffs_every_indication_acts() {
    assert_eq!(indications(Settings { use_ineffectual: false, ..certain() }, 30), [true; 15]);
    assert_eq!(indications(Settings { b_prime: 0, ..certain() }, 30), [true; 15]);
}

#[test]
fn a_hold_freezes_the_window_and_skips_a_gradient_or_by_choice_neither() {
    let mut flow = Flow::cruising(Settings { b: 0, ..certain() }, 50.0);
    flow.interval(40, 40);
    flow.interval(42, 42);
    assert_eq!((flow.cdg.window(), flow.cdg.indications), (51.0, 1));
    flow.interval(44, 44);
    assert_eq!((flow.cdg.window(), flow.cdg.indications), (52.0, 1));

    let mut flow = Flow::cruising(Settings { b: 0, hold_freezes_window: false, ..certain() }, 50.0);
    flow.interval(40, 40);
    flow.interval(42, 42);
    assert_eq!((flow.cdg.window(), flow.cdg.indications), (52.0, 1));
    flow.interval(44, 44);
    assert_eq!((flow.cdg.window(), flow.cdg.indications), (53.0, 2));
}

#[test]
fn the_shadow_window_starts_as_the_initial_window_and_grows_with_the_window() {
    let mut flow = Flow::new(never());
    assert_eq!(flow.cdg.shadow, 10.0);
    flow.interval(40, 40);
    assert_eq!((flow.cdg.window(), flow.cdg.shadow), (12.0, 12.0));
    flow.cdg.reno.threshold = 2.0;
    flow.interval(40, 40);
    assert_eq!((flow.cdg.window(), flow.cdg.shadow), (13.0, 13.0));
}

#[test]
fn a_backoff_raises_the_shadow_window_to_the_window_before_or_after_the_cut() {
    for (shadow_resync, expected) in [(ShadowResync::Before, 101.0), (ShadowResync::After, 70.7)] {
        let mut flow = Flow::cruising(Settings { shadow_resync, ..certain() }, 100.0);
        flow.cdg.shadow = 30.0;
        flow.interval(40, 40);
        flow.interval(44, 44);
        assert!((flow.cdg.shadow - expected).abs() < 1e-9, "{shadow_resync:?}: {}", flow.cdg.shadow);
    }
    let mut flow = Flow::cruising(certain(), 100.0);
    flow.cdg.shadow = 150.0;
    flow.interval(40, 40);
    flow.interval(44, 44);
    assert_eq!(flow.cdg.shadow, 151.0);
}

#[test]
fn an_empty_queue_ends_the_shadow_window_until_the_next_backoff() {
    let mut flow = Flow::cruising(never(), 20.0);
    flow.interval(40, 60);
    flow.interval(40, 50);
    assert_eq!(flow.cdg.gradient.queue(), Queue::Empty);
    assert_eq!(flow.cdg.shadow, 0.0);
    flow.interval(40, 50);
    assert_eq!((flow.cdg.window(), flow.cdg.shadow), (23.0, 0.0));
}

#[test]
fn a_loss_with_a_full_queue_halves_the_larger_of_window_and_shadow_window() {
    let mut flow = Flow::cruising(never(), 40.0);
    flow.cdg.shadow = 60.0;
    flow.fill_queue();
    // Both grew by 2.
    flow.lose();
    assert_eq!((flow.cdg.window(), flow.cdg.slow_start_threshold(), flow.cdg.shadow), (31.0, 31.0, 31.0));
    assert_eq!((flow.cdg.counts.losses_congestion, flow.cdg.counts.losses_full), (1, 1));

    let mut flow = Flow::cruising(Settings { use_shadow: false, ..never() }, 40.0);
    flow.cdg.shadow = 60.0;
    flow.fill_queue();
    flow.lose();
    assert_eq!((flow.cdg.window(), flow.cdg.shadow), (21.0, 31.0));
}

#[test]
fn losses_with_a_rising_falling_or_empty_queue_leave_window_and_shadow_window_alone() {
    for (second, state) in [((42, 62), Queue::Rising), ((38, 58), Queue::Falling), ((40, 58), Queue::Empty)] {
        let mut flow = Flow::cruising(never(), 40.0);
        flow.interval(40, 60);
        flow.interval(second.0, second.1);
        assert_eq!(flow.cdg.gradient.queue(), state);
        let shadow = flow.cdg.shadow;
        flow.lose();
        assert_eq!((flow.cdg.window(), flow.cdg.slow_start_threshold(), flow.cdg.shadow), (42.0, 42.0, shadow));
        assert_eq!(flow.cdg.counts.losses_tolerated, 1);
    }
}

#[test]
fn a_loss_with_an_unknown_queue_is_congestion_or_by_choice_not() {
    let mut flow = Flow::new(Settings::default());
    flow.lose();
    assert_eq!(flow.cdg.window(), 5.0);
    let mut flow = Flow::new(Settings { unknown_is_congestion: false, ..Settings::default() });
    flow.lose();
    assert_eq!(flow.cdg.window(), 10.0);
}

#[test]
fn without_tolerance_every_loss_is_congestion() {
    let mut flow = Flow::cruising(Settings { loss_tolerance: false, ..never() }, 40.0);
    flow.interval(40, 60);
    flow.interval(42, 62);
    flow.lose();
    assert_eq!(flow.cdg.window(), 21.0);
}

#[test]
fn a_loss_within_a_round_trip_of_a_backoff_is_tolerated_and_a_later_one_is_not() {
    let mut flow = Flow::cruising(certain(), 100.0);
    flow.fill_queue();
    // 0.7 * 101.
    assert_eq!(flow.cdg.counts.backoffs, 1);
    let window = flow.cdg.window();
    flow.lose();
    assert_eq!(flow.cdg.window(), window);
    flow.cdg.on_recovered(&mut flow.world.context());
    flow.lose();
    // From the shadow window, 101 at the back-off.
    assert_eq!(flow.cdg.window(), 50.5);
}

#[test]
fn indications_in_recovery_count_but_do_not_act() {
    let mut flow = Flow::cruising(certain(), 40.0);
    flow.interval(40, 40);
    flow.interval(38, 38);
    flow.lose();
    let window = flow.cdg.window();
    let closing = Ack { rtt: rtt(45), round_start: true, ..ack() };
    flow.cdg.on_duplicate_ack(&mut flow.world.context(), &closing);
    assert_eq!((flow.cdg.window(), flow.cdg.indications, flow.cdg.counts.backoffs), (window, 1, 0));
    // After it the same gradient acts, on a duplicate ACK as well.
    flow.cdg.on_recovered(&mut flow.world.context());
    flow.cdg.on_duplicate_ack(&mut flow.world.context(), &Ack { rtt: rtt(50), ..closing });
    assert_eq!(flow.cdg.counts.backoffs, 1);
}

#[test]
fn a_window_that_may_grow_in_recovery_does_so_unless_the_loss_was_of_congestion() {
    let mut flow = Flow::cruising(Settings { grows_in_recovery: true, ..certain() }, 40.0);
    assert!(flow.cdg.wants().governs_recovery && !Cdg::new(certain()).wants().governs_recovery);
    flow.interval(40, 40);
    flow.interval(38, 38);
    flow.lose();
    assert_eq!(flow.cdg.window(), 42.0);
    flow.interval(38, 38);
    assert_eq!(flow.cdg.window(), 43.0);
    // 0.7 * 43.
    flow.interval(45, 45);
    assert!((flow.cdg.window() - 30.1).abs() < 1e-12);

    let mut flow = Flow::cruising(Settings { grows_in_recovery: true, ..never() }, 40.0);
    flow.fill_queue();
    flow.lose();
    flow.interval(38, 38);
    assert_eq!(flow.cdg.window(), 21.0);
    flow.cdg.on_recovered(&mut flow.world.context());
    flow.interval(38, 38);
    assert_eq!(flow.cdg.window(), 22.0);
}

#[test]
fn a_mark_is_congestion_whatever_the_queue_looks_like_and_once_a_round_trip() {
    let mut flow = Flow::cruising(certain(), 40.0);
    flow.interval(40, 40);
    flow.interval(38, 38);
    let marks = Marks { in_flight: 40, acknowledged_to: flow.sent, sent_to: flow.sent + 40, at: flow.world.now };
    flow.cdg.shadow = 100.0;
    flow.cdg.on_ecn(&mut flow.world.context(), &marks);
    assert_eq!((flow.cdg.window(), flow.cdg.shadow), (21.0, 50.0));
    flow.interval(60, 60);
    assert_eq!(flow.cdg.window(), 21.0);
}

#[test]
fn a_timeout_forgets_the_path_and_starts_from_one_segment() {
    let mut flow = Flow::cruising(never(), 40.0);
    flow.fill_queue();
    flow.cdg.indications = 3;
    flow.cdg.on_timeout(&mut flow.world.context(), &loss());
    assert_eq!((flow.cdg.window(), flow.cdg.slow_start_threshold(), flow.cdg.shadow), (1.0, 21.0, 21.0));
    assert_eq!((flow.cdg.gradient.queue(), flow.cdg.indications), (Queue::Unknown, 0));
    flow.cdg.on_timeout(&mut flow.world.context(), &Loss { again: true, ..loss() });
    assert_eq!((flow.cdg.slow_start_threshold(), flow.cdg.shadow), (21.0, 21.0));
    flow.interval(80, 80);
    assert_eq!(flow.cdg.gradient.gradients(), Gradients::default());
}

#[test]
fn a_spurious_loss_gives_window_threshold_and_shadow_window_back() {
    let mut flow = Flow::cruising(never(), 40.0);
    flow.fill_queue();
    flow.lose();
    flow.cdg.on_spurious(&mut flow.world.context());
    assert_eq!((flow.cdg.window(), flow.cdg.shadow), (42.0, 42.0));
}

#[test]
fn an_unused_window_does_not_grow() {
    let mut flow = Flow::cruising(never(), 40.0);
    let unused = Ack { rtt: rtt(40), round_start: true, window_limited: false, ..ack() };
    flow.cdg.on_ack(&mut flow.world.context(), &unused);
    assert_eq!((flow.cdg.window(), flow.cdg.shadow), (40.0, 40.0));
}

#[test]
fn a_window_never_falls_below_the_floor() {
    let mut flow = Flow::cruising(certain(), 2.0);
    for n in 0..8 {
        flow.interval(40 + 2 * n, 40 + 2 * n);
        assert!(flow.cdg.window() >= 2.0);
    }
    flow.cdg.on_timeout(&mut flow.world.context(), &loss());
    flow.lose();
    assert!(flow.cdg.slow_start_threshold() >= 2.0);
}

#[test]
fn probes_show_gradients_and_extremes_in_milliseconds() {
    let mut flow = Flow::cruising(never(), 40.0);
    flow.interval(40, 60);
    flow.interval(42, 65);
    for (name, value) in [
        ("gradient_min_raw", 2.0),
        ("gradient_max_raw", 5.0),
        ("queue_state", 3.0),
        ("interval", 2.0),
        ("interval_rtt_min_ms", 43.0),
        ("interval_rtt_max_ms", 66.0),
    ] {
        assert_eq!(probed(&flow.cdg, name), value, "{name}");
    }
}
