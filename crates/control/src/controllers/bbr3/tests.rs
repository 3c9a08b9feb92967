//! BBR version 3 by hand: a flow whose segments are acknowledged at a chosen rate, with a chosen number in flight, on a
//! path of 40 ms that delivers 5 segments a millisecond: a bandwidth-delay product of 200.

use units::Time;

use super::*;
use crate::testing::{World, ack, loss, probed, starting};
use crate::{RateSample, RttSample, SentState};

struct Flow {
    world: World,
    bbr: Bbr3,
    delivered: u64,
    lost: u64,
    /// The flight when the segments left that are acknowledged now, and the losses by then.
    sent_in_flight: u32,
    lost_when_sent: u64,
    application_limited: bool,
}

impl Flow {
    fn new() -> Self {
        Self::with(Settings::default())
    }

    fn with(settings: Settings) -> Self {
        let (mut world, mut bbr) = (World::new(), Bbr3::new(settings));
        bbr.on_start(&mut world.context());
        bbr.on_handshake(&mut world.context(), Span::from_millis(40));
        let (delivered, lost, lost_when_sent) = (0, 0, 0);
        Self { world, bbr, delivered, lost, sent_in_flight: 200, lost_when_sent, application_limited: false }
    }

    /// After a millisecond an ACK for 5 segments, of which the sample gives `rate` segments a millisecond.
    fn ack(&mut self, rate: f64, in_flight: u32, rtt: u64) {
        self.world.pass(Span::from_millis(1));
        self.delivered += 5;
        let at = self.world.now;
        let prior_delivered = self.delivered.saturating_sub(200);
        let sent = SentState {
            at,
            delivered: prior_delivered,
            lost: self.lost_when_sent,
            marked: 0,
            in_flight: self.sent_in_flight,
            application_limited: self.application_limited,
        };
        let sample = RateSample {
            delivered: (rate * 40.0).round() as u64,
            interval: Span::from_millis(40),
            application_limited: self.application_limited,
            prior_delivered,
            is_retransmission: false,
            sent: Some(sent),
        };
        let signal = Ack {
            rtt: Some(RttSample { value: Span::from_millis(rtt), delayed: false }),
            rate: Some(sample),
            newly_delivered: 5,
            delivered: self.delivered,
            lost: self.lost,
            in_flight_before: in_flight + 5,
            in_flight,
            acknowledged_to: self.delivered,
            ..ack()
        };
        self.bbr.on_ack(&mut self.world.context(), &signal);
    }

    /// Round trips at the rate of the path.
    fn rounds(&mut self, rounds: u32, in_flight: u32) {
        (0..40 * rounds).for_each(|_| self.ack(5.0, in_flight, 40));
    }

    /// So many segments, every second one, are deemed lost.
    fn lose(&mut self, count: u64) {
        for n in 0..count {
            let sent = SentState {
                at: self.world.now,
                delivered: self.delivered.saturating_sub(200),
                lost: self.lost_when_sent,
                marked: 0,
                in_flight: self.sent_in_flight,
                application_limited: self.application_limited,
            };
            let report = SegmentReport { sequence: self.delivered + 2 * n, sent, ..SegmentReport::EMPTY };
            self.bbr.on_segment_lost(&mut self.world.context(), &report);
            self.lost += 1;
        }
    }

    /// The path marks, with so many segments in flight.
    fn mark(&mut self, in_flight: u32) {
        let (sent_to, at) = (self.delivered + u64::from(in_flight), self.world.now);
        let marks = Marks { in_flight, acknowledged_to: self.delivered, sent_to, at };
        self.bbr.on_ecn(&mut self.world.context(), &marks);
    }

    /// The pipe has been full, and the queue is empty: it cruises.
    fn cruising() -> Self {
        let mut flow = Self::new();
        flow.rounds(6, 200);
        assert_eq!(flow.state(), State::Cruise);
        flow
    }

    /// It has waited long enough to probe, and refilled the pipe.
    fn probing() -> Self {
        let mut flow = Self::cruising();
        while flow.state() != State::Up {
            flow.ack(5.0, 200, 40);
        }
        flow
    }

    fn state(&self) -> State {
        self.bbr.state
    }

    /// Segments a millisecond.
    fn pace(&self) -> f64 {
        self.bbr.window.pacing_rate() / 1000.0
    }
}

fn assert_near(measured: f64, expected: f64) {
    assert!((measured - expected).abs() < 1e-6 * expected.abs().max(1.0), "{measured} is not {expected}");
}

#[test]
fn the_first_rate_sends_the_initial_window_in_a_round_trip_at_the_gain_of_startup() {
    let flow = Flow::new();
    // 2.77 * 10 segments in 40 ms.
    assert_near(flow.pace(), 0.6925);
    assert_eq!((flow.state(), flow.bbr.window()), (State::Startup, 10.0));
    // Without a handshake of 1 ms.
    let mut bbr = Bbr3::new(Settings::default());
    bbr.on_start(&mut World::new().context());
    assert_near(bbr.window.pacing_rate(), 27_700.0);
}

#[test]
fn startup_goes_on_while_the_rate_grows_by_a_quarter_and_ends_after_three_rounds_without() {
    let mut flow = Flow::new();
    // Round trips are 40 ACKs, the first of which is the start of the connection.
    for rate in [1.0, 1.25, 1.6, 2.0, 2.5, 4.0] {
        (0..40).for_each(|_| flow.ack(rate, 600, 40));
        assert_eq!(flow.state(), State::Startup);
    }
    assert_near(flow.pace(), 4.0 * 2.77 * 0.99);
    // 4.9 is less than 1.25 * 4: the first of three round trips, and the ACK that begins the fourth ends Startup.
    (0..80).for_each(|_| flow.ack(4.9, 600, 40));
    assert_eq!((flow.state(), *flow.bbr.full_pipe.count()), (State::Startup, 2));
    flow.ack(4.9, 600, 40);
    assert_eq!(flow.state(), State::Drain);
    assert_near(flow.pace(), 4.9 * 0.5 * 0.99);
    // Drain ends when no more than 4.9 * 40 = 196 are in flight.
    flow.ack(4.9, 197, 40);
    assert_eq!(flow.state(), State::Drain);
    // DOWN has nothing left to drain either: the same ACK ends it.
    flow.ack(4.9, 196, 40);
    assert_eq!(flow.state(), State::Cruise);
    assert_near(flow.pace(), 4.9 * 0.99);
}

#[test]
fn drain_takes_three_round_trips_at_most() {
    let mut flow = Flow::new();
    while flow.state() != State::Drain {
        flow.ack(5.0, 600, 40);
    }
    (0..40 * 3).for_each(|_| flow.ack(5.0, 600, 40));
    assert_eq!(flow.state(), State::Drain);
    (0..40).for_each(|_| flow.ack(5.0, 600, 40));
    assert_eq!(flow.state(), State::Down);
}

#[test]
fn an_application_limited_flow_stays_in_startup() {
    let mut flow = Flow::new();
    flow.application_limited = true;
    (0..400).for_each(|_| flow.ack(1.0, 10, 40));
    assert_eq!(flow.state(), State::Startup);
    // A larger rate counts all the same.
    assert_near(probed(&flow.bbr, "max_bw"), 1000.0);
}

#[test]
fn startup_ends_by_losses_after_a_round_trip_of_recovery_in_six_places() {
    // 2 % of 200 are 4: 6 lost are too many, in 6 places enough, in 5 not.
    for (lost, expected) in [(6, State::Drain), (5, State::Startup)] {
        let mut flow = Flow::new();
        (0..60).for_each(|_| flow.ack(1.0, 600, 40));
        *flow.bbr.full_pipe.count() = 0;
        flow.lose(lost);
        flow.bbr.on_loss(&mut flow.world.context(), &Loss { sent_to: 10_000, ..loss() });
        // The growth of the rate does not end it.
        (0..41).for_each(|n| flow.ack(1.0 + f64::from(n) / 4.0, 600, 40));
        assert_eq!(flow.state(), expected, "{lost} lost");
        if expected == State::Drain {
            // The round trip of the losses ends with the 40th ACK, when 10.75 segments a millisecond are delivered: in
            // 40 ms 430.
            assert_near(flow.bbr.model.inflight_longterm(), 430.0);
        }
    }
}

#[test]
fn it_cruises_at_the_bandwidth_with_twice_the_product_as_window() {
    let flow = Flow::cruising();
    assert_near(flow.pace(), 5.0 * 0.99);
    // 400, and the segments by which ACKs ran ahead: an epoch begins with 5 segments of which none were expected yet.
    assert_near(flow.bbr.window(), 405.0);
    assert_eq!(flow.bbr.send_quantum(), 4);
}

#[test]
fn a_probe_follows_63_round_trips_or_three_seconds_and_is_of_refill_and_up() {
    let mut flow = Flow::cruising();
    let begun = flow.bbr.probe_bw.cycle_stamp();
    while flow.state() == State::Cruise {
        flow.ack(5.0, 200, 40);
    }
    // 62 or 63 round trips of 40 ms are 2.5 s; the clock says 2 to 3 s, whichever is first.
    let waited = flow.world.now.since(begun).as_secs_f64();
    assert!((1.95..=2.6).contains(&waited), "{waited}");
    assert_eq!(flow.state(), State::Refill);
    assert_near(flow.pace(), 4.95);
    (0..40).for_each(|_| flow.ack(5.0, 200, 40));
    assert_eq!(flow.state(), State::Up);
    assert_near(flow.pace(), 5.0 * 1.25 * 0.99);
    // The plateau: a round trip as baseline, and three without growth.
    (0..130).for_each(|_| flow.ack(5.0, 250, 40));
    assert_eq!(flow.state(), State::Down);
}

#[test]
fn a_probe_with_too_much_loss_bounds_what_may_be_in_flight() {
    let mut flow = Flow::probing();
    flow.sent_in_flight = 240;
    // 4 of 240 are 1.7 %, 5 are 2.1 %.
    flow.lose(4);
    assert_eq!(flow.state(), State::Up);
    flow.lose(1);
    assert_eq!(flow.state(), State::Down);
    // 239 before it, of which 4 were lost: 239 + (0.02 * 239 - 4) / 0.98.
    assert_near(flow.bbr.model.inflight_longterm(), 239.0 + 0.78 / 0.98);
    assert!(flow.bbr.probe_bw.prev_too_high());
    // Of that 85 % while it cruises.
    flow.ack(5.0, 190, 40);
    assert_eq!(flow.state(), State::Cruise);
    assert_near(flow.bbr.inflight_with_headroom(), 0.85 * (239.0 + 0.78 / 0.98));
    assert!(flow.bbr.window() <= 0.85 * 239.8);
}

#[test]
fn after_a_probe_that_went_too_high_the_next_one_stops_at_the_bound_and_a_good_one_follows_at_once() {
    let mut flow = Flow::probing();
    flow.sent_in_flight = 240;
    flow.lose(5);
    flow.lost_when_sent = flow.lost;
    flow.sent_in_flight = 190;
    while flow.state() != State::Up {
        flow.ack(5.0, 190, 40);
    }
    flow.ack(5.0, 230, 40);
    assert_eq!(flow.state(), State::Up);
    flow.ack(5.0, 240, 40);
    assert_eq!((flow.state(), flow.bbr.probe_bw.prev_precautionary()), (State::Down, true));
    // A round trip without loss later.
    (0..41).for_each(|_| flow.ack(5.0, 250, 40));
    assert_eq!(flow.state(), State::Refill);
}

#[test]
fn a_loss_while_it_cruises_lowers_the_short_term_bounds_to_what_is_delivered_or_seven_tenths() {
    let mut flow = Flow::cruising();
    (0..45).for_each(|_| flow.ack(4.0, 200, 40));
    let window = flow.bbr.window();
    flow.lose(1);
    (0..41).for_each(|_| flow.ack(4.0, 180, 40));
    // 4 segments a millisecond were delivered, 160 in a round trip. 0.7 of 5 are less, 0.7 of the window more.
    assert_near(probed(&flow.bbr, "bw"), 4000.0);
    assert_near(probed(&flow.bbr, "inflight_shortterm"), 0.7 * window);
    assert_near(flow.pace(), 4.0 * 0.99);
    // The next probe forgets them.
    while flow.state() != State::Refill {
        flow.ack(4.0, 150, 40);
    }
    assert_near(probed(&flow.bbr, "bw"), 5000.0);
}

#[test]
fn probe_rtt_comes_after_five_seconds_without_a_smaller_rtt_and_takes_200_ms() {
    let mut flow = Flow::cruising();
    let mut before = flow.state();
    while flow.state() != State::ProbeRtt {
        before = flow.state();
        flow.ack(5.0, 200, 41);
    }
    assert_ne!(before, State::Startup);
    let since = flow.world.now.since(Time::ZERO).as_secs_f64();
    // The last RTT of 40 ms: of the first ACK, after which none was smaller.
    assert!((5.0..5.01).contains(&since), "{since}");
    // Half of 5 * 40. The time runs from when no more is in flight, and a round trip has to pass as well.
    assert_near(flow.bbr.window(), 100.0);
    flow.ack(5.0, 100, 40);
    let begun = flow.world.now;
    while flow.state() == State::ProbeRtt {
        flow.ack(2.5, 95, 40);
    }
    let took = flow.world.now.since(begun).as_millis_f64();
    assert_eq!((flow.state(), took), (State::Cruise, 201.0));
    // The window is the former one, and low rates of this time do not count.
    assert!(flow.bbr.window() > 300.0, "{}", flow.bbr.window());
    assert_near(probed(&flow.bbr, "max_bw"), 5000.0);
}

#[test]
fn after_an_idle_time_it_paces_at_the_bandwidth_and_needs_no_probe_rtt() {
    let mut flow = Flow::cruising();
    flow.world.pass(Span::from_secs(20));
    flow.bbr.on_transmit_start(&mut flow.world.context(), &starting(Span::from_secs(20)));
    assert_near(flow.pace(), 4.95);
    flow.ack(5.0, 200, 45);
    assert_ne!(flow.state(), State::ProbeRtt);
    // The smallest RTT is older than ten seconds.
    assert_near(probed(&flow.bbr, "min_rtt_ms"), 45.0);
}

#[test]
fn a_pause_that_pacing_made_leaves_the_gain_of_the_cycle() {
    let mut flow = Flow::probing();
    let before = flow.pace();
    let paused = TransmitStart { application_limited: false, ..starting(Span::from_millis(20)) };
    flow.bbr.on_transmit_start(&mut flow.world.context(), &paused);
    assert_near(flow.pace(), before);
    // Not so after an idle time: the gain of UP is gone.
    flow.bbr.on_transmit_start(&mut flow.world.context(), &starting(Span::from_millis(20)));
    assert_near(flow.pace(), before / 1.25);
}

#[test]
fn a_spurious_recovery_gives_back_bounds_and_state() {
    let mut flow = Flow::probing();
    let window = flow.bbr.window();
    flow.sent_in_flight = 240;
    flow.lose(5);
    flow.bbr.on_loss(&mut flow.world.context(), &loss());
    assert!(flow.bbr.model.inflight_longterm().is_finite());
    flow.bbr.on_spurious(&mut flow.world.context());
    assert!(flow.bbr.model.inflight_longterm().is_infinite());
    assert_eq!(flow.state(), State::Refill);
    assert!(flow.bbr.window() >= window);
}

#[test]
fn a_timeout_leaves_one_segment_and_its_repair_gives_the_window_back() {
    let mut flow = Flow::cruising();
    let window = flow.bbr.window();
    flow.bbr.on_timeout(&mut flow.world.context(), &Loss { sent_to: flow.delivered + 200, ..loss() });
    assert_eq!(flow.bbr.window(), 1.0);
    flow.ack(5.0, 1, 40);
    assert_eq!(flow.bbr.window(), 6.0);
    (0..40).for_each(|_| flow.ack(5.0, 150, 40));
    assert!(flow.bbr.window() > 0.9 * window, "{}", flow.bbr.window());
}

#[test]
fn the_window_is_four_segments_at_least() {
    let mut flow = Flow::cruising();
    flow.bbr.model.reset_latest();
    flow.bbr.model.lower_bounds(1.0, 1.0);
    flow.ack(5.0, 4, 40);
    assert_eq!(flow.bbr.window(), 4.0);
}

#[test]
fn a_mark_ends_startup() {
    let mut flow = Flow::new();
    (0..60).for_each(|_| flow.ack(1.0, 600, 40));
    assert_eq!(flow.state(), State::Startup);
    flow.mark(600);
    flow.ack(1.0, 600, 40);
    assert_eq!(flow.state(), State::Drain);
}

#[test]
fn a_mark_ends_a_probe_as_too_high_with_what_is_in_flight_as_the_bound() {
    let mut flow = Flow::probing();
    flow.mark(240);
    assert_eq!((flow.state(), flow.bbr.probe_bw.prev_too_high()), (State::Down, true));
    assert_near(flow.bbr.model.inflight_longterm(), 240.0);
    // Not below seven tenths of the product of 200.
    let mut low = Flow::probing();
    low.mark(100);
    assert_near(low.bbr.model.inflight_longterm(), 140.0);
}

#[test]
fn a_mark_while_it_cruises_is_what_a_loss_would_be() {
    let (mut marked, mut lossy) = (Flow::cruising(), Flow::cruising());
    for flow in [&mut marked, &mut lossy] {
        (0..45).for_each(|_| flow.ack(4.0, 200, 40));
    }
    marked.mark(200);
    lossy.lose(1);
    for flow in [&mut marked, &mut lossy] {
        (0..41).for_each(|_| flow.ack(4.0, 180, 40));
        // As of a loss: 4 segments a millisecond were delivered, where 0.7 of 5 are less.
        assert_near(probed(&flow.bbr, "bw"), 4000.0);
    }
    let bound = |flow: &Flow| probed(&flow.bbr, "inflight_shortterm");
    assert_near(bound(&marked), bound(&lossy));
}

#[test]
fn without_an_rtt_the_product_is_the_initial_window() {
    let mut bbr = Bbr3::new(Settings::default());
    bbr.on_start(&mut World::new().context());
    assert_eq!((bbr.bdp_multiple(1.0), bbr.bdp_multiple(2.77)), (10.0, 10.0));
}

#[test]
fn the_pacing_rate_is_of_the_payload_in_bits() {
    // 692.5 segments a second of 1448 bytes.
    let rate = Flow::new().bbr.pacing_rate().unwrap().bits_per_second();
    assert!(rate.abs_diff(8_021_920) <= 1, "{rate}");
}

#[test]
fn the_latest_signals_are_the_largest_of_a_round_trip() {
    let mut flow = Flow::cruising();
    while !flow.bbr.losses.round_begins() {
        flow.ack(4.0, 200, 40);
    }
    flow.ack(4.5, 200, 40);
    flow.ack(4.0, 200, 40);
    flow.bbr.model.lower_bounds(0.7, 100.0);
    // 180 of 4.5 segments a millisecond in 40; 0.7 of 5000 and of 100 are less.
    assert_near(probed(&flow.bbr, "bw"), 4500.0);
    assert_near(probed(&flow.bbr, "inflight_shortterm"), 180.0);
}

#[test]
fn a_probe_raises_its_bound_by_a_segment_for_every_window_acknowledged() {
    let mut flow = Flow::probing();
    flow.bbr.model.bound_long_term(200.0);
    // It began with a window of 405: less is acknowledged in the first round trip. The second goes by half the window
    // of 200: of 205 twice that is counted, the five left and 95 more are the third segment.
    for (acks, bound) in [(40, 200.0), (1, 202.0), (18, 202.0), (1, 203.0)] {
        (0..acks).for_each(|_| flow.ack(5.0, 200, 40));
        assert_eq!(flow.bbr.model.inflight_longterm(), bound);
    }
}

#[test]
fn probe_rtt_waits_for_a_round_trip_after_the_flight_came_down() {
    let mut visit = ProbeRtt::new();
    visit.drain(Time::ZERO);
    assert_eq!([false, true, false].map(|begins| visit.is_round_done(begins)), [false, true, true]);
    visit.drain(Time::ZERO);
    assert!(!visit.is_round_done(false));
    // 200 ms are over later than 200 ms after.
    assert_eq!([200, 201].map(|ms| visit.is_done(Time::ZERO + Span::from_millis(ms))), [false, true]);
}

/// It sends at half the rate of an earlier connection: 800 segments in 40 ms.
fn resuming() -> Flow {
    let mut flow =
        Flow::with(Settings { saved_window: 800.0, saved_rtt: Span::from_millis(40), ..Settings::default() });
    (0..41).for_each(|_| flow.ack(0.5, 10, 40));
    flow
}

#[test]
fn what_was_saved_is_used_for_two_round_trips_of_startup() {
    let mut flow = resuming();
    assert_eq!((flow.pace(), flow.bbr.window(), flow.state()), (10.0, 800.0, State::Startup));
    // The rate of the path shows it, and Startup goes on from there: 2.77 times 9.9.
    flow.rounds(1, 400);
    assert!(flow.bbr.resume.rate() > 0.0);
    (0..41).for_each(|_| flow.ack(10.0, 400, 40));
    assert_eq!((flow.bbr.resume.rate(), flow.state()), (0.0, State::Startup));
    assert!((flow.pace() - 27.423).abs() < 1e-9, "{}", flow.pace());
}

#[test]
fn a_loss_of_what_was_sent_so_ends_startup_and_drain_learns_no_bandwidth() {
    let mut flow = resuming();
    flow.lose(1);
    flow.ack(5.0, 400, 40);
    assert_eq!(flow.state(), State::Drain);
    flow.rounds(1, 400);
    assert_eq!(flow.bbr.model.max_bw(), 500.0);
    flow.ack(5.0, 10, 40);
    assert_eq!((flow.state(), flow.bbr.model.max_bw()), (State::Cruise, 500.0));
    flow.ack(5.0, 10, 40);
    assert_eq!(flow.bbr.model.max_bw(), 5000.0);
}
