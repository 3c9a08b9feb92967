//! C4 by hand: a path of 100 ms on which ACKs bring chosen delivery rates, losses and RTTs.

use super::*;
use crate::RttSample;
use crate::testing::{World, ack, loss, probed};
use units::Span;

/// Bytes of a segment. 1000 segments a second are this in kilobytes.
const SEGMENT: f64 = 1448.0;

struct Flow {
    world: World,
    c4: C4,
    delivered: u64,
    /// Segments delivered when the last era of a hundred segments began.
    before: u64,
}

/// The signals of an ACK beside its deliveries.
#[derive(Clone, Copy)]
struct Brings {
    /// Segments a second.
    rate: f64,
    rtt: u64,
    lost: u64,
    marked: u32,
    limited: bool,
    in_flight: u32,
}

/// 1000 segments a second at 100 ms, without congestion.
const STEADY: Brings = Brings { rate: 1000.0, rtt: 100, lost: 0, marked: 0, limited: false, in_flight: 100 };

impl Flow {
    fn new() -> Self {
        Self::with(Settings::default())
    }

    fn with(settings: Settings) -> Self {
        let (mut world, mut c4) = (World::new(), C4::new(settings));
        c4.on_start(&mut world.context());
        Self { world, c4, delivered: 0, before: 0 }
    }

    /// An ACK of `segments` that left in this era's predecessor.
    fn ack(&mut self, segments: u32, brings: Brings) {
        self.take(segments, brings, self.before);
    }

    /// An ACK that ends the era: its segment left after the era began.
    fn era(&mut self, brings: Brings) {
        let left_at = self.delivered;
        self.before = self.delivered;
        self.take(10, brings, left_at);
    }

    fn take(&mut self, segments: u32, brings: Brings, left_at: u64) {
        self.world.pass(Span::from_millis(10));
        self.delivered += u64::from(segments);
        let sample = RateSample {
            delivered: (brings.rate * 10.0) as u64,
            interval: Span::from_secs(10),
            application_limited: brings.limited,
            prior_delivered: left_at,
            is_retransmission: false,
            sent: None,
        };
        let signal = Ack {
            rtt: Some(RttSample { value: Span::from_millis(brings.rtt), delayed: false }),
            smoothed_rtt: Span::from_millis(brings.rtt),
            rate: Some(sample),
            newly_delivered: segments,
            in_flight: brings.in_flight,
            delivered: self.delivered,
            lost: self.c4.lost + brings.lost,
            newly_marked: brings.marked,
            ..ack()
        };
        self.c4.on_ack(&mut self.world.context(), &signal);
    }

    fn is(&self, state: State) -> bool {
        self.c4.state == state
    }

    /// Segments a second.
    fn nominal(&self) -> f64 {
        probed(&self.c4, "nominal_rate")
    }

    /// After Initial, which ends with the third era at one rate, and a Recovery.
    fn cruising() -> Self {
        let mut flow = Self::new();
        (0..4).for_each(|_| flow.era(STEADY));
        assert!(flow.is(State::Recovery));
        flow.era(STEADY);
        assert!(flow.is(State::Cruising));
        flow
    }
}

#[test]
fn a_known_window_is_sent_for_two_round_trips() {
    let mut flow = Flow::with(Settings { resumed_window: 100 });
    assert_eq!((flow.c4.window(), flow.c4.pacing_rate()), (10.0, None));
    flow.ack(1, Brings { rate: 100.0, ..STEADY });
    // 100 segments in 100 ms are 1.448 MB/s.
    assert_eq!((flow.c4.window(), flow.c4.pacing_rate()), (100.0, Some(Rate::from_bits_per_second(11_584_000))));
    // 94 in flight are less than 16/17 of them, 95 are more: so long it says nothing.
    (0..5).for_each(|_| flow.era(Brings { in_flight: 94, ..STEADY }));
    assert!(flow.is(State::Resuming));
    flow.era(Brings { in_flight: 95, rate: 900.0, ..STEADY });
    assert!(flow.is(State::Resuming));
    flow.era(Brings { in_flight: 95, ..STEADY });
    assert!(flow.is(State::Recovery));
    assert_eq!((flow.nominal(), flow.c4.alpha), (1000.0, 15.0 / 16.0));
    // No probe led to it, and none is pushed further.
    flow.era(STEADY);
    assert!(flow.is(State::Cruising));
}

#[test]
fn losses_end_resuming() {
    let mut flow = Flow::with(Settings { resumed_window: 100 });
    flow.ack(10, STEADY);
    assert!(flow.is(State::Resuming));
    // At 1.448 MB/s the threshold is about 6 %, and the first loss makes 1/16.
    flow.ack(10, Brings { lost: 2, ..STEADY });
    assert!(flow.is(State::Recovery));
    assert_eq!(flow.nominal(), 750.0);
}

#[test]
fn a_faster_flow_is_more_sensitive() {
    let mut c4 = C4::new(Settings::default());
    // Kilobytes a second. Halfway from 50 to 1000: 0.46; halfway from 1000 to 10,000: 0.96.
    for (rate, sensitivity) in [(49.0, 0.0), (525.0, 0.46), (1000.0, 0.92), (5500.0, 0.96), (20_000.0, 1.0)] {
        c4.nominal_rate = rate * 1e3;
        assert!((c4.sensitivity() - sensitivity).abs() < 1e-12, "{rate}");
    }
    // At the most sensitive: 1/16 of 100 ms, 2 % lost, 3/32 marked. At the least: 1/4, 52 %, 6/32.
    c4.nominal_max_rtt = 0.1;
    let thresholds = |c4: &C4| [c4.delay_threshold(), c4.loss_threshold(), c4.mark_threshold()];
    let near = |found: [f64; 3], expected: [f64; 3]| found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12);
    assert!(near(thresholds(&c4), [0.00625, 0.02, 0.09375]));
    c4.nominal_rate = 1.0;
    assert!(near(thresholds(&c4), [0.025, 0.52, 0.1875]));
    c4.nominal_max_rtt = 1.0;
    assert_eq!(c4.delay_threshold(), 0.025, "no more than 25 ms");
}

#[test]
fn before_a_measure_ten_segments_leave_unpaced_and_then_at_twice_the_rate() {
    let mut flow = Flow::new();
    assert_eq!((flow.c4.window(), flow.c4.pacing_rate()), (10.0, None));
    // Ten segments in 100 ms, 144.8 kB/s, twice that; the window grows by the delivered segments to 20: 2 * 10 is as
    // much.
    flow.ack(10, Brings { rate: 100.0, ..STEADY });
    assert_eq!(flow.c4.window(), 20.0);
    assert_eq!(flow.c4.pacing_rate(), Some(Rate::from_bits_per_second(2_316_800)));
    // At 10 segments a second, 28.96 kB/s, the least rate of Initial holds.
    let mut slow = Flow::new();
    slow.ack(1, Brings { rate: 10.0, ..STEADY });
    assert_eq!(slow.c4.pacing_rate(), Some(Rate::from_bits_per_second(1_048_576)));
}

#[test]
fn initial_ends_after_three_eras_without_increase_and_growth_slows_down_before() {
    let mut flow = Flow::new();
    flow.era(STEADY);
    assert_eq!(flow.c4.initial_cwnd, 20.0 * SEGMENT);
    // The same rate: a first, second and third era without increase. Meanwhile ten delivered count ten, an eighth
    // of that, a 64th of that.
    flow.era(STEADY);
    assert_eq!(flow.c4.initial_cwnd, 30.0 * SEGMENT);
    flow.era(STEADY);
    assert_eq!(flow.c4.initial_cwnd, 31.25 * SEGMENT);
    assert_eq!(flow.c4.slow_start_threshold(), f64::INFINITY);
    // The window is 2 * 1000 a second * 100 ms, half of it takes 100 ms: the nominal max RTT.
    flow.era(STEADY);
    assert!(flow.is(State::Recovery));
    assert!((flow.c4.nominal_max_rtt - 0.1).abs() < 1e-9);
    // Draining: 7/8 of 1000 segments a second for 100 ms and a margin of 15 ms.
    assert!((flow.c4.window() - 0.875 * 115.0).abs() < 1e-9, "{}", flow.c4.window());
}

#[test]
fn eras_in_which_the_application_has_too_little_do_not_end_initial() {
    let mut flow = Flow::new();
    (0..20).for_each(|_| flow.era(Brings { limited: true, ..STEADY }));
    assert!(flow.is(State::Initial));
}

#[test]
fn a_probe_that_finds_more_is_pushed_and_one_that_does_not_trims_the_rate() {
    let mut flow = Flow::cruising();
    assert_eq!(flow.c4.alpha, 1.0);
    flow.era(STEADY);
    flow.era(STEADY);
    assert!(flow.is(State::Probing));
    assert_eq!(flow.c4.alpha, 1.0625);
    flow.era(STEADY);
    assert!(flow.is(State::Recovery));
    // The probe arrives in Recovery, and was delivered faster.
    flow.era(Brings { rate: 1050.0, ..STEADY });
    assert!(flow.is(State::Pushing));
    // A first era whatever comes, a second with 19/16 of the rate at its start, a third without.
    flow.era(Brings { rate: 1050.0, ..STEADY });
    flow.era(Brings { rate: 1300.0, ..STEADY });
    assert!(flow.is(State::Pushing));
    flow.era(Brings { rate: 1310.0, ..STEADY });
    assert!(flow.is(State::Recovery));
    assert_eq!(flow.c4.alpha, 0.875, "drains what it pushed");
    flow.era(STEADY);
    assert!(flow.is(State::Cruising));
    // Now nothing faster than 1210 comes in a whole cycle: the mean of 1310 and 1210.
    (0..4).for_each(|_| flow.era(Brings { rate: 1210.0, ..STEADY }));
    assert!((flow.nominal() - 1260.0).abs() < 1e-9, "{}", flow.nominal());
}

#[test]
fn a_window_of_two_segments_probes_with_a_whole_third_one() {
    // The window of a probe: 17/16 of the rate for the nominal max RTT and 15 ms.
    let modelled = |flow: &Flow, rate: f64| 1.0625 * rate * (probed(&flow.c4, "nominal_max_rtt_ms") / 1e3 + 0.015);
    let mut slow = Flow::new();
    (0..7).for_each(|_| slow.era(Brings { rate: 20.0, in_flight: 2, ..STEADY }));
    assert!(slow.is(State::Probing));
    // A sixteenth of 20 segments a second for that RTT is less than a segment: the rest of one is added.
    let growth = 0.0625 * 20.0 * probed(&slow.c4, "nominal_max_rtt_ms") / 1e3;
    let expected = modelled(&slow, 20.0) + 1.0 - growth;
    assert!(growth < 1.0 && (slow.c4.window() - expected).abs() < 1e-9, "{} not {expected}", slow.c4.window());
    let mut fast = Flow::cruising();
    (0..2).for_each(|_| fast.era(STEADY));
    assert!((fast.c4.window() - modelled(&fast, 1000.0)).abs() < 1e-9, "{}", fast.c4.window());
}

#[test]
fn pushing_that_goes_on_is_initial_again() {
    let mut flow = Flow::cruising();
    (0..3).for_each(|_| flow.era(STEADY));
    for rate in [1050.0, 1050.0, 1300.0] {
        flow.era(Brings { rate, ..STEADY });
    }
    assert!(flow.is(State::Pushing));
    flow.era(Brings { rate: 1700.0, ..STEADY });
    assert!(flow.is(State::Initial));
    // The nominal rate for the nominal max RTT, and twice as much by the model.
    assert!((flow.c4.window() - 2.0 * 170.0).abs() < 1e-6, "{}", flow.c4.window());
}

#[test]
fn a_flow_without_data_does_not_probe() {
    let mut flow = Flow::cruising();
    (0..10).for_each(|_| flow.era(Brings { limited: true, ..STEADY }));
    assert!(flow.is(State::Cruising));
    flow.era(STEADY);
    assert!(flow.is(State::Probing));
}

#[test]
fn delay_beyond_the_threshold_takes_its_excess_from_the_rate() {
    // 1000 segments of 1448 B a second: 0.92 + 0.08 * 448 / 9000 = 0.923982. The threshold of 100 ms is 6.25 ms +
    // 0.076018 * 18.75 ms = 7.675 ms.
    let mut flow = Flow::cruising();
    assert!((flow.c4.delay_threshold() - 7.675_333e-3).abs() < 1e-8);
    flow.ack(1, Brings { rtt: 107, ..STEADY });
    assert!(flow.is(State::Cruising));
    // 109 ms are 1.324667 ms above: 0.172587 of the threshold.
    flow.ack(1, Brings { rtt: 109, ..STEADY });
    assert!(flow.is(State::Recovery));
    assert!((flow.nominal() - 827.41).abs() < 0.01, "{}", flow.nominal());
    // Segments that left before do not bring the rate back.
    flow.era(STEADY);
    assert!((flow.nominal() - 827.41).abs() < 0.01, "{}", flow.nominal());
    assert!(flow.is(State::Cruising));
}

#[test]
fn a_loss_takes_a_quarter_where_the_flow_is_fast_and_nothing_where_it_is_slow() {
    // One loss makes a smoothed rate of 6.25 %; at 1448 kB/s 2 % + 0.076 * 50 % = 5.8 % are too much.
    let mut flow = Flow::cruising();
    flow.ack(1, Brings { lost: 1, ..STEADY });
    assert!((flow.nominal() - 750.0).abs() < 1e-9, "{}", flow.nominal());
    assert!((flow.c4.nominal_max_rtt - 0.075).abs() < 1e-9);
    // At a tenth of that, 144.8 kB/s, 48 % are: a tenth of the way from 50 to 1000 kB/s.
    let slow = Brings { rate: 100.0, ..STEADY };
    let mut flow = Flow::new();
    (0..5).for_each(|_| flow.era(slow));
    assert!(flow.is(State::Cruising));
    flow.ack(1, Brings { lost: 5, ..slow });
    assert!((flow.nominal() - 100.0).abs() < 1e-9, "{}", flow.nominal());
    // Eleven in a row: 1 - (15/16)^11 = 50.8 %, after five less one delivered 25.9 + 74.1 * 50.8 %.
    flow.ack(1, Brings { lost: 11, ..slow });
    assert!((flow.nominal() - 75.0).abs() < 1e-9, "{}", flow.nominal());
}

#[test]
fn a_second_congested_recovery_falls_to_what_was_delivered() {
    let mut flow = Flow::cruising();
    flow.ack(1, Brings { lost: 1, ..STEADY });
    flow.era(Brings { rate: 700.0, ..STEADY });
    assert!((flow.nominal() - 750.0).abs() < 1e-9);
    // Nothing faster than 500 comes until the next loss, and its Recovery: 500, where three quarters are 562.5.
    flow.ack(1, Brings { rate: 500.0, lost: 1, ..STEADY });
    assert!((flow.nominal() - 562.5).abs() < 1e-9);
    flow.era(Brings { rate: 400.0, ..STEADY });
    assert!((flow.nominal() - 500.0).abs() < 1e-9, "{}", flow.nominal());
}

#[test]
fn marks_lower_the_rate_and_probes_go_less_far_then() {
    let mut flow = Flow::cruising();
    // One of twenty: a 16th of 5 %, below (2 - 0.924) * 3/32 = 10 %.
    flow.ack(20, Brings { marked: 1, ..STEADY });
    assert!(flow.is(State::Cruising));
    // Half of an ACK counts at once.
    flow.ack(2, Brings { marked: 1, ..STEADY });
    assert!((flow.nominal() - 750.0).abs() < 1e-9, "{}", flow.nominal());
    assert_eq!(flow.c4.ecn_alpha, 0.5);
    flow.era(Brings { rate: 700.0, ..STEADY });
    assert_eq!(flow.c4.ecn_alpha, 0.0);
    (0..2).for_each(|_| flow.era(Brings { rate: 700.0, ..STEADY }));
    assert_eq!(flow.c4.alpha, 1.03125);
}

#[test]
fn jitter_raises_the_nominal_max_rtt_at_once_and_is_forgotten_by_eighths() {
    let mut flow = Flow::cruising();
    // The first era of Cruising: segments acknowledged in it left in Recovery. 104 ms are within the threshold.
    flow.ack(1, Brings { rtt: 104, ..STEADY });
    flow.era(STEADY);
    assert!((flow.c4.nominal_max_rtt - 0.104).abs() < 1e-12);
    // The next one has 100 ms: an eighth less.
    flow.era(STEADY);
    assert!((flow.c4.nominal_max_rtt - 0.1035).abs() < 1e-12);
}

#[test]
fn an_rtt_far_above_the_smallest_counts_for_250_ms_and_brings_initial_back_once() {
    let mut flow = Flow::cruising();
    // 900 ms: congestion, and a quarter less. In the Recovery after it the same.
    flow.ack(1, Brings { rtt: 900, ..STEADY });
    assert!(flow.is(State::Recovery));
    flow.ack(1, Brings { rtt: 900, ..STEADY });
    flow.era(STEADY);
    // Segments of Cruising made no queue: 100 + 250 ms, which is more than 5/2 of 100 ms.
    assert!((flow.c4.nominal_max_rtt - 0.35).abs() < 1e-9, "{}", flow.c4.nominal_max_rtt);
    assert!(flow.is(State::Initial));
    let seen = flow.c4.has_seen_jitter;
    assert!(seen);
}

#[test]
fn a_timeout_leaves_one_segment_until_something_is_delivered_and_changes_nothing_else() {
    let mut flow = Flow::cruising();
    let (window, rate) = (flow.c4.window(), flow.nominal());
    flow.c4.on_timeout(&mut flow.world.context(), &Loss { newly_lost: 50, ..loss() });
    assert_eq!(flow.c4.window(), 1.0);
    flow.ack(1, STEADY);
    assert_eq!((flow.c4.window(), flow.nominal()), (window, rate));
}

#[test]
fn before_a_measure_a_delivery_after_a_timeout_does_not_free_the_initial_window() {
    let mut flow = Flow::new();
    flow.c4.on_timeout(&mut flow.world.context(), &loss());
    let unmeasured = Ack { rtt: None, rate: None, newly_delivered: 1, delivered: 1, ..ack() };
    flow.c4.on_ack(&mut flow.world.context(), &unmeasured);
    assert_eq!(flow.c4.window(), 1.0);
    flow.ack(1, STEADY);
    assert!(flow.c4.window() >= 10.0, "{}", flow.c4.window());
}

#[test]
fn bursts_take_four_milliseconds() {
    let mut flow = Flow::cruising();
    // 1000 segments a second: 4; at 100 a second two, at 100,000 a second 64 KiB.
    assert_eq!(flow.c4.send_quantum(), 4);
    for (rate, segments) in [(100.0, 2), (100_000.0, 45)] {
        flow.c4.nominal_rate = rate * SEGMENT;
        assert_eq!(flow.c4.send_quantum(), segments);
    }
}

#[test]
fn pushing_goes_on_at_just_nineteen_sixteenths_of_the_rate_before() {
    // 1900 of 1600 segments a second.
    for (rate, state) in [(1900.0, State::Pushing), (1899.0, State::Recovery)] {
        let mut flow = Flow::cruising();
        flow.c4.state = State::Pushing;
        (flow.c4.eras, flow.c4.rate_before, flow.c4.nominal_rate) = (1, 1600.0 * SEGMENT, rate * SEGMENT);
        flow.c4.end_era(false);
        assert!(flow.is(state), "{rate}");
    }
}

#[test]
fn a_smaller_rtt_than_any_before_asks_for_a_drain_and_the_same_one_does_not() {
    for (rtt, drains) in [(0.1, false), (0.099, true)] {
        let mut c4 = C4::new(Settings::default());
        (c4.running_min_rtt, c4.alpha_previous) = (0.1, 1.0);
        (c4.era_min_rtt, c4.era_max_rtt) = (rtt, rtt);
        c4.update_rtts();
        assert_eq!((c4.draining_needed, c4.running_min_rtt), (drains, rtt));
    }
}

#[test]
fn without_an_rtt_a_known_window_is_not_sent() {
    let mut flow = Flow::with(Settings { resumed_window: 100 });
    let unmeasured = Ack { rtt: None, rate: None, smoothed_rtt: Span::ZERO, ..ack() };
    flow.c4.on_ack(&mut flow.world.context(), &unmeasured);
    assert!(flow.is(State::Initial));
}

#[test]
fn a_first_congested_recovery_keeps_the_rate_and_one_without_deliveries_too() {
    // At the second congestion in a row the rate falls to the fastest delivery since the first, if there was any.
    for (congestions, recent, expected) in [(0, 500.0, 1000.0), (1, 500.0, 500.0), (1, 0.0, 1000.0)] {
        let mut c4 = C4::new(Settings::default());
        (c4.state, c4.congested, c4.congestions) = (State::Recovery, true, congestions);
        (c4.recent_maximum, c4.nominal_rate) = (recent, 1000.0);
        c4.end_recovery();
        assert_eq!(c4.nominal_rate, expected, "{congestions} {recent}");
    }
    // Nor does a probe after which nothing came trim it.
    for (recent, expected) in [(0.0, 1000.0), (500.0, 750.0)] {
        let mut c4 = C4::new(Settings::default());
        (c4.state, c4.came_from) = (State::Recovery, State::Probing);
        (c4.recent_maximum, c4.nominal_rate, c4.rate_of_cycle) = (recent, 1000.0, 1000.0);
        c4.end_recovery();
        assert_eq!(c4.nominal_rate, expected, "{recent}");
    }
}

#[test]
fn initial_does_not_end_before_a_rate_is_known() {
    let mut c4 = C4::new(Settings::default());
    c4.leave_initial(true);
    assert_eq!((c4.state, c4.has_left_initial), (State::Initial, false));
    // Without a rate there is no growth either.
    (0..2).for_each(|_| c4.end_initial_era(false));
    assert_eq!(c4.no_increase, 2);
}

#[test]
fn a_delivery_in_no_time_counts_as_one_in_a_millisecond() {
    let mut c4 = C4::new(Settings::default());
    c4.segment = 1448.0;
    let sample = RateSample {
        delivered: 3,
        interval: Span::ZERO,
        application_limited: false,
        prior_delivered: 0,
        is_retransmission: false,
        sent: None,
    };
    c4.measure(&sample);
    assert_eq!(c4.nominal_rate, 3.0 * 1448.0 / 1e-3);
}
