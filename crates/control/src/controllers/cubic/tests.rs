//! CUBIC on single events, with numbers worked out by hand.

use super::*;
use crate::testing::{World, ack, probed, rtt, starting};
use units::Span;

fn at(window: f64) -> Cubic {
    let mut cubic = Cubic::new(Settings::default());
    cubic.state.reno = Reno { window, threshold: 2.0 };
    cubic
}

/// A loss with as much outstanding as the window lets leave, or more.
fn loss() -> Loss {
    Loss { sent_to: 1000, ..crate::testing::loss() }
}

/// An ACK of so many segments.
fn segments(count: u32) -> Ack {
    Ack { newly_acknowledged: count, newly_delivered: count, ..ack() }
}

#[test]
fn a_loss_keeps_its_share_of_what_was_outstanding_and_the_plateau_is_the_window() {
    let mut world = World::new();
    let mut cubic = at(46.0);
    // 0.7 times 17, RFC 9438, section 4.6.
    cubic.on_loss(&mut world.context(), &Loss { acknowledged_to: 83, sent_to: 100, ..loss() });
    assert!((cubic.window() - 11.9).abs() < 1e-9, "{}", cubic.window());
    assert_eq!(cubic.state.w_max, 46.0);
}

#[test]
fn after_a_loss_at_100_the_plateau_is_4_217_seconds_away() {
    let mut world = World::new();
    let mut cubic = at(100.0);
    cubic.on_loss(&mut world.context(), &loss());
    assert_eq!((cubic.window(), cubic.slow_start_threshold()), (70.0, 70.0));
    let epoch = cubic.state.begin_epoch(0.4, world.now);
    // K = cbrt((100 - 70)/0.4) = cbrt(75).
    assert!((epoch.k - 4.217_163).abs() < 1e-6);
    // 0.4 * (-75) + 100; 0.4 * (-2.217163)^3 + 100; 100; 0.4 * 1.782837^3 + 100.
    for (t, w) in [(0.0, 70.0), (2.0, 95.640_338), (4.217_163, 100.0), (6.0, 102.266_704)] {
        assert!((cubic.state.w_cubic(0.4, epoch, t) - w).abs() < 1e-4, "{t}: {}", cubic.state.w_cubic(0.4, epoch, t));
    }
}

#[test]
fn a_window_of_acks_moves_the_window_to_where_the_cubic_will_be_a_round_trip_later() {
    let mut world = World::new();
    let mut cubic = at(1000.0);
    cubic.on_loss(&mut world.context(), &loss());
    cubic.on_ack(&mut world.context(), &Ack { window_limited: false, ..segments(1) });
    cubic.on_ack(&mut world.context(), &segments(1));
    world.pass(Span::from_secs(1));
    let before = cubic.window();
    cubic.on_ack(&mut world.context(), &segments(1000));
    // K = cbrt(750) = 9.085603; at 1 s + 40 ms: 0.4 * (-8.045603)^3 + 1000 = 791.678.
    assert!(before < 701.0);
    assert!((cubic.window() - 791.68).abs() < 0.01, "{}", cubic.window());
}

#[test]
fn growth_is_at_most_half_the_window_a_round_trip() {
    let mut world = World::new();
    let mut cubic = at(10.0);
    cubic.on_ack(&mut world.context(), &segments(1));
    world.pass(Span::from_secs(60));
    let before = cubic.window();
    cubic.on_ack(&mut world.context(), &segments(20));
    assert!((cubic.window() - 1.5 * before).abs() < 1e-9);
}

#[test]
fn a_short_path_follows_reno_with_alpha_0_53_and_above_the_old_window_with_1() {
    let mut world = World::new();
    let mut cubic = at(10.0);
    cubic.on_loss(&mut world.context(), &loss());
    // alpha = 3 * 0.3/1.7 = 0.529412 per window of 7.
    cubic.on_ack(&mut world.context(), &segments(7));
    assert!((cubic.window() - 7.529_412).abs() < 1e-6, "{}", cubic.window());
    cubic.state.w_est = 10.0;
    cubic.on_ack(&mut world.context(), &segments(100));
    assert!((cubic.state.w_est - 11.0).abs() < 1e-9);
}

#[test]
fn without_the_reno_friendly_region_the_cubic_alone_counts() {
    let mut world = World::new();
    let mut cubic = Cubic::new(Settings { reno_friendly: false, ..Settings::default() });
    cubic.state.reno = Reno { window: 10.0, threshold: 2.0 };
    cubic.on_loss(&mut world.context(), &loss());
    cubic.on_ack(&mut world.context(), &segments(7));
    // K = cbrt(7.5) = 1.957434; at 40 ms: 0.4 * (-1.917434)^3 + 10 = 7.1802.
    assert!((cubic.window() - 7.1802).abs() < 1e-3, "{}", cubic.window());
}

#[test]
fn fast_convergence_lowers_the_plateau_of_a_loss_below_the_last() {
    let mut world = World::new();
    let mut cubic = at(100.0);
    cubic.on_loss(&mut world.context(), &loss());
    cubic.state.reno.window = 80.0;
    cubic.on_loss(&mut world.context(), &loss());
    // 80 * (1 + 0.7)/2. The window itself is reduced as always.
    assert!((probed(&cubic, "w_max") - 68.0).abs() < 1e-9);
    assert!((cubic.window() - 56.0).abs() < 1e-9);

    let mut cubic = Cubic::new(Settings { fast_convergence: false, ..Settings::default() });
    cubic.state = State { w_max: 100.0, reno: Reno { window: 80.0, threshold: 2.0 }, ..cubic.state };
    cubic.on_loss(&mut world.context(), &loss());
    assert_eq!(probed(&cubic, "w_max"), 80.0);
}

#[test]
fn after_a_timeout_the_plateau_is_where_slow_start_ends() {
    let mut world = World::new();
    let mut cubic = at(100.0);
    cubic.state.w_max = 150.0;
    cubic.on_timeout(&mut world.context(), &loss());
    assert_eq!((cubic.window(), cubic.slow_start_threshold()), (1.0, 70.0));
    cubic.state.reno.window = 70.0;
    cubic.on_ack(&mut world.context(), &segments(1));
    assert_eq!((probed(&cubic, "k_s"), probed(&cubic, "w_max")), (0.0, 70.0));
}

#[test]
fn a_spurious_event_restores_the_epoch_too() {
    let mut world = World::new();
    let mut cubic = at(100.0);
    cubic.on_loss(&mut world.context(), &loss());
    cubic.on_ack(&mut world.context(), &segments(1));
    let before = cubic.state;
    cubic.on_loss(&mut world.context(), &loss());
    cubic.on_spurious(&mut world.context());
    assert_eq!(cubic.state, before);
    cubic.on_timeout(&mut world.context(), &loss());
    cubic.on_timeout(&mut world.context(), &Loss { again: true, ..loss() });
    cubic.on_spurious(&mut world.context());
    assert_eq!(cubic.state, before);
}

#[test]
fn time_in_which_the_window_is_not_used_does_not_count() {
    let mut world = World::new();
    let mut cubic = at(100.0);
    cubic.on_loss(&mut world.context(), &loss());
    cubic.on_ack(&mut world.context(), &segments(1));
    let start = cubic.state.epoch.unwrap().start;
    world.pass(Span::from_secs(3));
    cubic.on_ack(&mut world.context(), &Ack { window_limited: false, ..segments(1) });
    assert_eq!(cubic.state.epoch.unwrap().start, start + Span::from_secs(3));
    world.pass(Span::from_secs(2));
    cubic.on_idle_restart(&mut world.context());
    cubic.on_transmit_start(&mut world.context(), &starting(Span::from_secs(5)));
    assert_eq!(cubic.state.epoch.unwrap().start, start + Span::from_secs(5));
    // Idle sends the window back to the initial one. Congestion avoidance will start anew from the end of slow start.
    assert_eq!(cubic.window(), 10.0);
}

#[test]
fn a_mark_may_lead_below_two_segments_and_a_loss_may_not() {
    let mut world = World::new();
    let marks = Marks { in_flight: 2, acknowledged_to: 0, sent_to: 2, at: world.now };
    let mut cubic = at(2.0);
    cubic.on_ecn(&mut world.context(), &marks);
    assert!((cubic.window() - 1.4).abs() < 1e-12);
    assert_eq!(cubic.slow_start_threshold(), 2.0);
    let mut cubic = at(2.5);
    cubic.on_loss(&mut world.context(), &loss());
    assert_eq!(cubic.window(), 2.0);
}

#[test]
fn hystart_ends_slow_start_at_the_present_window_or_by_choice_not() {
    for (hystart, expected) in [(true, 2.0), (false, 0.0)] {
        let mut world = World::new();
        let mut cubic = Cubic::new(Settings { hystart, ..Settings::default() });
        cubic.on_start(&mut world.context());
        cubic.state.reno.window = 30.0;
        for n in 0..20 {
            world.pass(Span::from_millis(5));
            let ack = Ack { rtt: rtt(60), round_start: n == 0, ..segments(1) };
            cubic.on_ack(&mut world.context(), &ack);
        }
        assert_eq!(probed(&cubic, "hystart_found"), expected);
        // Eight ACKs grew it before the ninth ended slow start.
        assert_eq!(cubic.slow_start_threshold(), if hystart { 38.0 } else { f64::INFINITY });
        assert_eq!(probed(&cubic, "cwnd_prior"), if hystart { 38.0 } else { 0.0 });
    }
}

#[test]
fn a_window_at_the_threshold_counts_one_ack_as_slow_start_where_the_stack_does() {
    let mut world = World::new();
    (world.connection.slow_start_at_threshold, world.connection.counting) = (true, crate::Counting::PerAck);
    let mut cubic = at(10.0);
    cubic.on_loss(&mut world.context(), &loss());
    cubic.on_ack(&mut world.context(), &segments(2));
    assert_eq!((cubic.window(), cubic.slow_start_threshold()), (8.0, 7.0));
    // The cubic begins with the next ACK, from 8 segments.
    cubic.on_ack(&mut world.context(), &segments(2));
    assert!(cubic.window() < 8.1);
    assert!((probed(&cubic, "k_s") - libm::cbrt(5.0)).abs() < 1e-12);
}

#[test]
fn hystart_leaves_the_stack_its_ack_at_the_threshold() {
    let mut world = World::new();
    world.connection.slow_start_at_threshold = true;
    let mut cubic = Cubic::new(Settings::default());
    cubic.on_start(&mut world.context());
    cubic.state.reno.window = 30.0;
    for n in 0..9 {
        world.pass(Span::from_millis(5));
        cubic.on_ack(&mut world.context(), &Ack { rtt: rtt(60), round_start: n == 0, ..segments(1) });
    }
    // Eight ACKs and the ninth, at which the threshold became 38.
    assert_eq!((cubic.window(), cubic.slow_start_threshold()), (39.0, 38.0));
}

/// A controller that has just lost at 1000 segments and begins congestion avoidance.
fn after_loss(world: &mut World) -> Cubic {
    let mut cubic = at(1000.0);
    cubic.on_loss(&mut world.context(), &loss());
    cubic.on_ack(&mut world.context(), &Ack { window_limited: false, ..segments(1) });
    cubic.on_ack(&mut world.context(), &segments(1));
    world.pass(Span::from_secs(1));
    cubic
}

#[test]
fn an_idle_time_does_not_move_the_cubic_on_where_the_window_stays() {
    // The 10 s since the last ACK are left out.
    let mut world = World::new();
    let mut cubic = after_loss(&mut world);
    cubic.last_ack = world.now;
    world.pass(Span::from_secs(10));
    cubic.on_transmit_start(&mut world.context(), &starting(Span::from_millis(10_100)));
    assert_eq!(world.now.since(cubic.state.epoch.unwrap().start), Span::from_secs(1));
}

#[test]
fn the_target_lies_a_smoothed_rtt_ahead() {
    // K = 9.085603. At 1.2 s: 1000 - 0.4 * 7.885603^3 = 803.86.
    let mut world = World::new();
    let mut cubic = after_loss(&mut world);
    cubic.on_ack(&mut world.context(), &Ack { smoothed_rtt: Span::from_millis(200), ..segments(1000) });
    assert!((cubic.window() - 803.86).abs() < 0.01, "{}", cubic.window());
}
