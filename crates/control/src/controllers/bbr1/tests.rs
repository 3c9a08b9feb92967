//! BBR by hand: a flow whose segments are acknowledged at a chosen rate, with a chosen number in flight.

use super::*;
use crate::testing::{World, ack, loss, probed, starting};
use crate::{RateSample, RttSample};

/// A path of 40 ms that delivers a segment a millisecond.
struct Flow {
    world: World,
    bbr: Bbr1,
    delivered: u64,
    lost: u64,
}

impl Flow {
    fn new() -> Self {
        let (mut world, mut bbr) = (World::new(), Bbr1::new(Settings::default()));
        bbr.on_start(&mut world.context());
        bbr.on_handshake(&mut world.context(), Span::from_millis(40));
        bbr.on_transmit_start(&mut world.context(), &starting(Span::ZERO));
        Self { world, bbr, delivered: 0, lost: 0 }
    }

    /// After `millis` an ACK for as many segments, with `in_flight` left, of an RTT of `rtt` milliseconds. The segment
    /// of the sample left a window of 40 before.
    fn ack(&mut self, millis: u64, in_flight: u32, rtt: u64) {
        let acked = millis as u32;
        self.ack_at(millis, acked, in_flight, rtt, 1.0, false);
    }

    /// The same for `acked` segments, and with a delivery rate of `rate` segments a millisecond.
    fn ack_at(&mut self, millis: u64, acked: u32, in_flight: u32, rtt: u64, rate: f64, application_limited: bool) {
        self.world.pass(Span::from_millis(millis));
        self.delivered += u64::from(acked);
        let sample = RateSample {
            delivered: (rate * 1000.0) as u64,
            interval: Span::from_millis(1000),
            application_limited,
            prior_delivered: self.delivered.saturating_sub(40),
            is_retransmission: false,
            sent: None,
        };
        let signal = Ack {
            rtt: Some(RttSample { value: Span::from_millis(rtt), delayed: false }),
            rate: Some(sample),
            newly_delivered: acked,
            delivered: self.delivered,
            lost: self.lost,
            in_flight_before: in_flight + acked,
            in_flight,
            acknowledged_to: self.delivered,
            ..ack()
        };
        self.bbr.on_ack(&mut self.world.context(), &signal);
    }

    /// Rounds of 40 ms at the rate of the path.
    fn rounds(&mut self, rounds: u32, in_flight: u32) {
        (0..4 * rounds).for_each(|_| self.ack(10, in_flight, 40));
    }

    /// A flow in ProbeBW, whose pipe has been full.
    fn cruising() -> Self {
        let mut flow = Self::new();
        flow.rounds(10, 38);
        assert_eq!(flow.mode(), 3.0);
        flow
    }

    fn mode(&self) -> f64 {
        probed(&self.bbr, "mode")
    }

    fn megabytes(&self) -> f64 {
        self.bbr.rate as f64 * 1e-6
    }
}

#[test]
fn gains_are_rounded_as_in_linux() {
    // 256 * 2.885 = 738.56 and one in place of the fraction; 256 / 2.885 = 88.7.
    assert_eq!((STARTUP_GAIN, DRAIN_GAIN, CYCLE_GAINS[0], CYCLE_GAINS[1]), (739, 88, 320, 192));
}

#[test]
fn the_first_rate_sends_the_initial_window_in_a_round_trip_at_the_gain_of_startup() {
    let mut bbr = Bbr1::new(Settings::default());
    bbr.on_start(&mut World::new().context());
    // Ten segments of 1448 B in 1 ms, 2.887 times that, less 1 %.
    assert!((bbr.rate as f64 * 1e-6 - 41.382).abs() < 0.002, "{}", bbr.rate);
    // In 40 ms: a fortieth.
    assert!((Flow::new().megabytes() - 1.0345).abs() < 0.0002, "{}", Flow::new().megabytes());
}

#[test]
fn three_round_trips_without_growth_end_startup_and_an_empty_queue_ends_drain() {
    let mut flow = Flow::new();
    // The first round trip shows the rate. The three after it bring nothing.
    flow.rounds(4, 100);
    assert_eq!((flow.mode(), flow.bbr.slow_start_threshold()), (1.0, f64::INFINITY));
    flow.ack(10, 100, 40);
    assert_eq!(flow.mode(), 2.0);
    // 40 segments and three trains of 4: 2.89 * 1.43 MB/s for 2^-10 s are 4.1 kB, two segments; so 46.
    assert_eq!(flow.bbr.slow_start_threshold(), 46.0);
    assert_eq!(flow.bbr.pacing_gain, 88);
    flow.ack(10, 47, 40);
    assert_eq!(flow.mode(), 2.0);
    flow.ack(10, 46, 40);
    assert_eq!(flow.mode(), 3.0);
}

#[test]
fn the_window_is_twice_the_product_and_what_trains_need() {
    let mut flow = Flow::cruising();
    flow.rounds(4, 38);
    // 80, six for trains of two, and two in the phase that probes. All ACKs come in trains of ten, where whole segments
    // of 9.99 were expected: eleven. 97 is made even.
    let probing = if flow.bbr.cycle == 0 { 2 } else { 0 };
    assert_eq!(flow.bbr.window, 98 + probing);
}

#[test]
fn a_cycle_has_one_phase_above_and_one_below_the_bandwidth() {
    let mut flow = Flow::cruising();
    let mut gains = Vec::new();
    for _ in 0..200 {
        // Five fourths of 40, trains and two: 60 are in flight while it probes.
        flow.ack(10, if flow.bbr.pacing_gain > 256 { 60 } else { 44 }, 40);
        if gains.last() != Some(&flow.bbr.pacing_gain) {
            gains.push(flow.bbr.pacing_gain);
        }
    }
    let start = gains.iter().position(|&gain| gain == 320).unwrap();
    assert_eq!(gains[start..start + 4], [320, 192, 256, 320]);
}

#[test]
fn a_pause_that_pacing_made_leaves_the_gain_of_the_cycle() {
    let mut flow = Flow::cruising();
    while probed(&flow.bbr, "pacing_gain") != 1.25 {
        flow.ack(10, 38, 40);
    }
    let before = flow.bbr.rate as f64;
    let paused = TransmitStart { application_limited: false, ..starting(Span::from_millis(60)) };
    flow.bbr.on_transmit_start(&mut flow.world.context(), &paused);
    assert_eq!(flow.bbr.rate as f64, before);
    // Not so after an idle time.
    flow.bbr.on_transmit_start(&mut flow.world.context(), &starting(Span::from_millis(60)));
    assert!((before / flow.bbr.rate as f64 - 1.25).abs() < 0.01, "{}", flow.bbr.rate);
}

#[test]
fn a_sample_of_a_flow_without_data_counts_only_if_it_is_higher() {
    let mut flow = Flow::cruising();
    for (rate, expected) in [(0.5, 1000.0), (1.5, 1500.0)] {
        (0..60).for_each(|_| flow.ack_at(10, 10, 38, 40, rate, true));
        assert!((probed(&flow.bbr, "bandwidth") - expected).abs() < 0.1, "{}", probed(&flow.bbr, "bandwidth"));
    }
}

#[test]
fn recovery_sends_what_is_delivered_and_then_restores_the_window() {
    let mut flow = Flow::cruising();
    let before = flow.bbr.window;
    // Two lost, shown by an ACK of ten.
    flow.lost = 2;
    flow.ack(10, 30, 40);
    let recovery = Loss { sent_to: flow.delivered + 60, ..loss() };
    flow.bbr.on_loss(&mut flow.world.context(), &recovery);
    assert_eq!((flow.bbr.window, flow.bbr.repair.prior_window), (40, before));
    // One for one until the round trip is over: 30 in flight and five delivered do not raise it.
    flow.ack_at(5, 5, 30, 40, 1.0, false);
    assert_eq!(flow.bbr.window, 40);
    // A round trip later two for one.
    flow.ack_at(5, 36, 30, 40, 1.0, false);
    assert_eq!(flow.bbr.window, 76);
    flow.ack_at(5, 30, 30, 40, 1.0, false);
    assert!(flow.bbr.window >= before, "{} of {before}", flow.bbr.window);
}

#[test]
fn a_recovery_that_follows_another_at_once_goes_on_with_its_window() {
    let mut flow = Flow::cruising();
    let before = flow.bbr.window;
    flow.lost = 1;
    flow.ack(10, 30, 40);
    let first = Loss { sent_to: flow.delivered + 31, ..loss() };
    flow.bbr.on_loss(&mut flow.world.context(), &first);
    assert_eq!(flow.bbr.window, 40);
    // The ACK of 40 that ends it shows the next loss. The round trip is over: two for one, less the one lost.
    flow.lost = 2;
    flow.ack_at(40, 40, 30, 40, 1.0, false);
    flow.bbr.on_recovered(&mut flow.world.context());
    let second = Loss { sent_to: flow.delivered + 30, ..loss() };
    flow.bbr.on_loss(&mut flow.world.context(), &second);
    assert_eq!((flow.bbr.window, flow.bbr.repair.prior_window), (40 - 1 + 40, before));
    // An ACK without a loss ends the second one, and puts the window back.
    flow.ack_at(40, 30, 30, 40, 1.0, false);
    flow.bbr.on_recovered(&mut flow.world.context());
    assert!(flow.bbr.window >= before, "{} of {before}", flow.bbr.window);
}

#[test]
fn after_ten_seconds_four_segments_measure_the_rtt_anew() {
    let mut flow = Flow::cruising();
    let before = flow.bbr.window;
    let mut entered = 0;
    while flow.mode() != 4.0 {
        flow.ack(10, 38, 41);
        entered += 1;
        assert!(entered < 1100);
    }
    // The RTT of 40 ms was seen until 400 ms, but only a smaller one puts this off: later than ten seconds after the
    // first.
    assert_eq!(flow.world.now, Time::ZERO + Span::from_millis(10_010));
    assert_eq!(flow.bbr.window, 4);
    // Once four are in flight 200 ms begin. They end with a round trip.
    flow.ack_at(40, 34, 4, 40, 0.1, false);
    (0..5).for_each(|_| flow.ack_at(40, 40, 4, 40, 0.1, false));
    assert_eq!((flow.mode(), flow.bbr.window), (4.0, 4));
    flow.ack_at(40, 40, 4, 40, 0.1, false);
    assert_eq!(flow.mode(), 3.0);
    assert!(flow.bbr.window + 2 >= before, "{} of {before}", flow.bbr.window);
    assert_eq!(probed(&flow.bbr, "min_rtt_ms"), 40.0);
    // Deliveries meanwhile did not lower the bandwidth.
    assert!((probed(&flow.bbr, "bandwidth") - 1000.0).abs() < 0.1);
}

// As in Linux, where the 200 ms are 50 ticks that have to be over: an ACK 202 ms later may be in the last of them.
#[test]
fn probe_rtt_ends_with_a_tick_of_the_clock() {
    let mut flow = Flow::cruising();
    while flow.mode() != 4.0 {
        flow.ack(10, 38, 41);
    }
    // 10.048 s is tick 2512 of 4 ms, 10.25 s is in tick 2562.
    flow.ack_at(38, 34, 4, 40, 0.1, false);
    (0..2).for_each(|_| flow.ack_at(101, 40, 4, 101, 0.1, false));
    assert_eq!((flow.world.now, flow.mode()), (Time::ZERO + Span::from_millis(10_250), 4.0));
    flow.ack_at(101, 40, 4, 101, 0.1, false);
    assert_eq!(flow.mode(), 3.0);
}

#[test]
fn a_timeout_leaves_one_segment_and_a_spurious_one_nothing() {
    let mut flow = Flow::cruising();
    let before = flow.bbr.window;
    flow.bbr.on_timeout(&mut flow.world.context(), &Loss { newly_lost: 0, ..loss() });
    assert_eq!(flow.bbr.window(), 1.0);
    flow.bbr.on_spurious(&mut flow.world.context());
    assert_eq!(flow.bbr.window, before);
}

#[test]
fn slow_flows_send_single_segments_and_fast_ones_trains_of_a_millisecond() {
    let mut flow = Flow::cruising();
    // 1.2 Mbit/s are 150 kB/s. 2^-10 s at 20 MB/s are 19531 B: 13 segments; at most 64 kB.
    for (rate, train) in [(149_999, 1), (150_000, 2), (20_000_000, 13), (1_000_000_000, 45)] {
        flow.bbr.rate = rate;
        flow.bbr.size_trains();
        assert_eq!(flow.bbr.send_quantum(), train, "{rate}");
    }
}

#[test]
fn what_is_delivered_before_the_next_train_leaves_is_not_in_flight_then() {
    let mut flow = Flow::cruising();
    let mut at = |gain: u64, wait: u64| {
        flow.bbr.pacing_gain = gain;
        let departure = flow.world.now + Span::from_millis(wait);
        flow.world.connection.departure = departure;
        flow.bbr.in_flight_at_departure(&flow.world.context(), 40)
    };
    // A segment a millisecond: 3 of 40 are delivered in 3 ms, of 2^-24 less than 4 in 4 ms. While it probes a train
    // of two is added.
    assert_eq!([at(256, 0), at(192, 3), at(320, 3)], [40, 38, 40]);
    assert_eq!(at(192, 50), 0);
}

#[test]
fn rtts_are_whole_microseconds_between_readings_of_a_clock() {
    let on = super::model::on_microseconds;
    // From 1.2 to 4.1 us are 3, from 1.9 to 4.1 us as well, from 1.1 to 3.9 us 2.
    for (sent, now, micros) in [(1200, 4100, 3), (1900, 4100, 3), (1100, 3900, 2)] {
        assert_eq!(on(Time::from_nanos(now), Span::from_nanos(now - sent)), Span::from_micros(micros));
    }
}

#[test]
fn the_first_ten_segments_leave_unpaced_and_a_train_is_no_more_than_half_the_window() {
    let mut flow = Flow::new();
    assert_eq!(flow.bbr.send_quantum(), 10);
    flow.rounds(1, 38);
    flow.bbr.train = 13;
    for (window, train) in [(40, 13), (8, 4), (1, 1)] {
        flow.bbr.window = window;
        assert_eq!(flow.bbr.send_quantum(), train);
    }
}

#[test]
fn a_loss_that_a_timer_shows_is_not_one_of_the_next_ack() {
    let mut flow = Flow::cruising();
    flow.world.pass(Span::from_millis(3));
    let by_timer = Loss { newly_lost: 3, sent_to: flow.delivered + 60, ..loss() };
    flow.bbr.on_loss(&mut flow.world.context(), &by_timer);
    // In the phase that probes, once it is long enough, a loss would end it: 38 in flight alone do not.
    (flow.bbr.cycle, flow.bbr.pacing_gain, flow.bbr.cycle_start) = (0, 320, Time::ZERO);
    flow.lost = 3;
    flow.ack(10, 38, 40);
    assert_eq!(flow.bbr.cycle, 0);
    flow.lost = 4;
    flow.ack(10, 38, 40);
    assert_eq!(flow.bbr.cycle, 1);
}

#[test]
fn the_rate_of_a_policer_is_used_for_48_round_trips_of_probe_bw() {
    let mut flow = Flow::cruising();
    let mut policed = |n: u64, round_start: bool, mode: Mode| {
        flow.bbr.delivered_at = Time::ZERO + Span::from_millis(100) * n;
        (flow.bbr.lost, flow.bbr.round_start, flow.bbr.mode) = (20 * n, round_start, mode);
        flow.bbr.look_for_policer(&mut flow.world.context(), 100 * n, true, false);
        flow.bbr.policer.bandwidth().is_some()
    };
    // Two lossy intervals of four round trips.
    assert_eq!((1..=8).find(|&n| policed(n, true, Mode::ProbeBandwidth)), Some(8));
    (0..47).for_each(|_| assert!(policed(9, true, Mode::ProbeBandwidth)));
    // Neither ACKs within a round trip nor round trips of another mode count.
    (0..50).for_each(|_| assert!(policed(9, false, Mode::ProbeBandwidth)));
    (0..50).for_each(|_| assert!(policed(9, true, Mode::ProbeRtt)));
    assert!(!policed(9, true, Mode::ProbeBandwidth));
}

#[test]
fn a_sample_of_no_length_shows_no_bandwidth() {
    let mut flow = Flow::cruising();
    let before = flow.bbr.bandwidth();
    let rate = RateSample {
        delivered: 100_000,
        interval: Span::ZERO,
        application_limited: false,
        prior_delivered: flow.delivered,
        is_retransmission: false,
        sent: None,
    };
    flow.bbr.on_ack(&mut flow.world.context(), &Ack { rate: Some(rate), newly_delivered: 1, ..ack() });
    assert_eq!(flow.bbr.bandwidth(), before);
}
