//! Older kernels' CUBIC on single events, with numbers worked out by hand for C = 0.4 and beta = 0.7.

use super::*;
use crate::controllers::cubic::Epoch;
use crate::testing::{World, ack, loss, starting};

const CUBIC_2_3: Version = Version { growth_before_loss: 0.05, max_increment: f64::INFINITY };

fn rfc() -> Settings {
    Settings { c: 0.4, beta: 0.7, ..Settings::default() }
}

fn at(window: f64, settings: Settings) -> Cubic {
    let mut cubic = Cubic::new(CUBIC_2_3, settings);
    cubic.state.reno = Reno { window, threshold: 2.0 };
    cubic
}

/// An ACK of so many segments.
fn segments(count: u32) -> Ack {
    Ack { newly_acknowledged: count, newly_delivered: count, ..ack() }
}

/// A controller that has just lost at 1000 segments and begins congestion avoidance.
fn after_loss(world: &mut World) -> Cubic {
    let mut cubic = at(1000.0, rfc());
    cubic.on_loss(&mut world.context(), &loss());
    cubic.on_ack(&mut world.context(), &segments(1));
    world.pass(Span::from_secs(1));
    cubic
}

#[test]
fn the_target_lies_the_smallest_rtt_ahead() {
    // K = cbrt(750) = 9.085603; at 1.04 s: 1000 - 0.4 * 8.045603^3 = 791.68.
    let mut world = World::new();
    let mut cubic = after_loss(&mut world);
    let smoothed_rtt = Span::from_millis(200);
    cubic.on_ack(&mut world.context(), &Ack { smoothed_rtt, ..segments(1000) });
    assert!((cubic.window() - 791.68).abs() < 0.01, "{}", cubic.window());
}

#[test]
fn the_cubic_counts_segments_where_the_stack_counts_acks() {
    // The window of 700.006 is 91.67 below its target at 1.04 s: two segments make 0.2619 of that.
    let mut world = World::new();
    let mut cubic = after_loss(&mut world);
    let before = cubic.window();
    world.connection.counting = crate::Counting::PerAck;
    cubic.on_ack(&mut world.context(), &segments(2));
    assert!((cubic.window() - before - 0.2619).abs() < 2e-4, "{}", cubic.window() - before);
}

#[test]
fn before_the_first_loss_and_after_a_timeout_growth_has_a_least_value() {
    let mut world = World::new();
    let mut cubic = at(200.0, Settings { hystart: false, reno_friendly: false, ..rfc() });
    cubic.state.reno.threshold = 100.0;
    // Twenty ACKs make a segment.
    for _ in 0..20 {
        cubic.on_ack(&mut world.context(), &segments(1));
    }
    assert!((cubic.window() - 201.0).abs() < 1e-9, "{}", cubic.window());
    cubic.on_loss(&mut world.context(), &loss());
    let before = cubic.window();
    cubic.on_ack(&mut world.context(), &segments(1));
    // K = cbrt(60.3/0.4) = 5.3220: at 40 ms 201 - 0.4 * 5.2820^3 = 142.05 of 140.7.
    assert!((cubic.window() - before - 0.0096).abs() < 1e-3, "{}", cubic.window() - before);
    cubic.on_timeout(&mut world.context(), &loss());
    cubic.state.reno.window = cubic.state.reno.threshold;
    let before = cubic.window();
    cubic.on_ack(&mut world.context(), &segments(1));
    assert!((cubic.window() - before - 0.05).abs() < 1e-9);
    // A spurious timeout brings back that a loss was seen.
    cubic.on_spurious(&mut world.context());
    assert!(cubic.loss_seen);
}

#[test]
fn the_window_of_reno_grows_by_alpha_at_any_size() {
    // 3 * 0.3/1.7 = 0.529412, also above the window before the loss.
    let mut world = World::new();
    let mut cubic = at(7.0, rfc());
    cubic.state = State { reno: Reno { window: 7.0, threshold: 7.0 }, cwnd_prior: 10.0, ..cubic.state };
    cubic.on_ack(&mut world.context(), &segments(1));
    cubic.state.w_est = 20.0;
    cubic.on_ack(&mut world.context(), &segments(100));
    assert!((cubic.state.w_est - 20.529_412).abs() < 1e-6);
}

#[test]
fn an_idle_time_moves_the_cubic_on_and_a_slow_start_leaves_the_epoch() {
    let mut world = World::new();
    let mut cubic = after_loss(&mut world);
    let before = cubic.state.epoch.map(|Epoch { start, .. }| start);
    world.pass(Span::from_secs(10));
    cubic.on_transmit_start(&mut world.context(), &starting(Span::from_secs(10)));
    cubic.on_idle_restart(&mut world.context());
    cubic.on_ack(&mut world.context(), &segments(2));
    assert_eq!((cubic.window(), cubic.state.epoch.map(|epoch| epoch.start)), (12.0, before));
}

#[test]
fn linux_2_6_22_grows_by_16_segments_in_100_ms_at_most_beyond_the_plateau() {
    let growth = |max_increment| {
        let mut world = World::new();
        let mut cubic = at(1000.0, Settings { reno_friendly: false, ..rfc() });
        cubic.version.max_increment = max_increment;
        (cubic.state.w_max, cubic.loss_seen) = (1000.0, true);
        let all = Ack { newly_acknowledged: 1000, newly_delivered: 1000, ..ack() };
        cubic.on_ack(&mut world.context(), &all);
        cubic.state.reno.window = 1000.0;
        // Ten seconds after the plateau of 1000 the cubic is 0.4 * 10.04^3 = 405 segments higher.
        world.pass(Span::from_secs(10));
        cubic.on_ack(&mut world.context(), &all);
        cubic.window() - 1000.0
    };
    // 40 ms of 100 are 6.4 segments.
    assert!((growth(f64::INFINITY) - 404.8).abs() < 0.1, "{}", growth(f64::INFINITY));
    assert!((growth(16.0) - 6.4).abs() < 1e-9, "{}", growth(16.0));
}

#[test]
fn a_mark_may_lead_below_two_segments_and_a_loss_may_not() {
    let mut world = World::new();
    let marks = Marks { in_flight: 2, acknowledged_to: 0, sent_to: 2, at: world.now };
    let mut cubic = at(2.0, rfc());
    cubic.on_ecn(&mut world.context(), &marks);
    assert!((cubic.window() - 1.4).abs() < 1e-12);
    let mut cubic = at(2.5, rfc());
    cubic.on_loss(&mut world.context(), &loss());
    assert_eq!(cubic.window(), 2.0);
}
