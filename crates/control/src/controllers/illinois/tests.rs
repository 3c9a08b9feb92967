//! Tests of `illinois.rs`.

use serde_json::json;

use super::*;
use crate::Parameters;
use crate::testing::{World, ack, loss, probed, rtt};

/// On a path of 100 ms on which the queue has been 100 ms long.
fn at(window: f64) -> Illinois {
    let mut illinois = Illinois::new(Settings::default());
    illinois.reno = Reno { window, threshold: 2.0 };
    illinois.rtt_max = Span::from_millis(200);
    illinois
}

/// A round trip of 100 ms and this queueing delay.
fn round(illinois: &mut Illinois, delay: u64) {
    let ack = Ack { rtt: rtt(100 + delay), min_rtt: Span::from_millis(100), round_start: true, ..ack() };
    illinois.on_ack(&mut World::new().context(), &ack);
}

#[test]
fn increase_and_decrease_follow_their_curves_from_corner_to_corner() {
    // d_1 = 1 ms, d_2 = 10 ms, d_3 = 80 ms of d_m = 100 ms. alpha at 10 ms: 10/(1 + 9/99 * 97/3) = 2.538; at 45 ms:
    // 10/(1 + 44/99 * 97/3) = 0.6506. beta at 45 ms: 0.125 + 0.375 * 35/70.
    for (delay, alpha, beta) in [
        (1, 10.0, 0.125),
        (10, 2.538_46, 0.125),
        (45, 0.650_60, 0.3125),
        (50, 0.588_13, 0.339_29),
        (80, 0.373_02, 0.5),
        (100, 0.3, 0.5),
    ] {
        let mut illinois = at(100.0);
        round(&mut illinois, delay);
        let (a, b) = (probed(&illinois, "alpha"), probed(&illinois, "beta"));
        assert!((a - alpha).abs() < 1e-4 && (b - beta).abs() < 1e-4, "{delay} ms: {a}, {b}");
    }
}

#[test]
fn the_delay_is_the_mean_of_the_round_trip() {
    let mut illinois = at(100.0);
    for delay in [20, 40] {
        let ack = Ack { rtt: rtt(100 + delay), min_rtt: Span::from_millis(100), ..ack() };
        illinois.on_ack(&mut World::new().context(), &ack);
    }
    round(&mut illinois, 90);
    assert!((probed(&illinois, "delay_ms") - 50.0).abs() < 1e-9);
}

#[test]
fn the_largest_increase_returns_after_five_short_queues() {
    let mut illinois = at(100.0);
    round(&mut illinois, 50);
    for n in 1..=5 {
        round(&mut illinois, 0);
        let expected = if n < 5 { 0.588_13 } else { 10.0 };
        assert!((probed(&illinois, "alpha") - expected).abs() < 1e-4, "{n}");
    }
}

#[test]
fn a_long_queue_begins_the_count_of_short_ones_anew() {
    let mut illinois = at(100.0);
    for delay in [50, 0, 0, 0, 0, 50, 0, 0, 0, 0] {
        round(&mut illinois, delay);
    }
    assert!((probed(&illinois, "alpha") - 0.588_13).abs() < 1e-4, "four in a row, twice");
    round(&mut illinois, 0);
    assert_eq!(probed(&illinois, "alpha"), 10.0);
}

#[test]
fn below_the_window_threshold_it_is_standard_tcp() {
    let mut illinois = at(14.0);
    round(&mut illinois, 0);
    assert_eq!((probed(&illinois, "alpha"), probed(&illinois, "beta")), (1.0, 0.5));
}

#[test]
fn a_window_of_acknowledgements_adds_alpha_and_a_loss_takes_beta() {
    let mut world = World::new();
    let mut illinois = at(100.0);
    illinois.on_ack(&mut world.context(), &Ack { newly_acknowledged: 100, newly_delivered: 100, ..ack() });
    assert_eq!(illinois.window(), 110.0);
    illinois.reno.window = 80.0;
    round(&mut illinois, 5);
    illinois.reno.window = 80.0;
    illinois.on_loss(&mut world.context(), &loss());
    assert_eq!(illinois.window(), 70.0);
    illinois.on_timeout(&mut world.context(), &loss());
    assert_eq!((illinois.slow_start_threshold(), probed(&illinois, "beta")), (61.25, 0.5));
}

fn given(order: u32, form: Form) -> Settings {
    Settings { order, form, ..Settings::default() }
}

fn close(measured: f64, expected: f64) -> bool {
    (measured - expected).abs() < 5.1e-4
}

#[test]
fn orders_one_to_three_have_the_values_of_the_thesis() {
    // The functions of Edwan 2010, section 6.1: delay in units of d_m, alpha and beta of orders 1, 2 and 3.
    for (d, alpha, beta) in [
        (0.1, [2.538, 7.575, 9.687], [0.125, 0.125, 0.125]),
        (0.3, [0.955, 2.559, 5.339], [0.232, 0.173, 0.144]),
        (0.5, [0.588, 1.101, 1.983], [0.339, 0.268, 0.216]),
        (0.7, [0.425, 0.594, 0.827], [0.446, 0.411, 0.376]),
        (0.8, [0.373, 0.461, 0.570], [0.5, 0.5, 0.5]),
        (1.0, [0.3, 0.3, 0.3], [0.5, 0.5, 0.5]),
    ] {
        for order in 1..=3 {
            let settings = given(order, Form::Power);
            let (a, b) = (settings.alpha_at(d, 1.0), settings.beta_at(d, 1.0));
            let n = order as usize - 1;
            assert!(close(a, alpha[n]) && close(b, beta[n]), "order {order} at {d}: {a}, {b}");
        }
    }
}

#[test]
fn fq_has_the_square_in_the_decrease_alone() {
    let settings = given(7, Form::Fq);
    assert!(close(settings.alpha_at(0.3, 1.0), 0.955) && close(settings.beta_at(0.3, 1.0), 0.173));
}

#[test]
fn fs_has_its_corners_at_0_275_and_0_45_of_the_largest_delay() {
    // d_2 = 0.1, d_3 = 0.8: d_5 = 0.45 with half way 0.3125, d_4 = 0.275 with 0.125; between them 0.21875 at 0.3625. At
    // 0.7 the line of order 1: 0.125 + 0.375 * 0.6/0.7.
    let settings = given(1, Form::Fs);
    for (d, beta) in [(0.275, 0.125), (0.3625, 0.21875), (0.45, 0.3125), (0.7, 0.446_43), (0.8, 0.5), (0.9, 0.5)] {
        assert!(close(settings.beta_at(d, 1.0), beta), "{d}: {}", settings.beta_at(d, 1.0));
    }
    assert!(close(settings.alpha_at(0.3, 1.0), 0.955));
}

#[test]
fn the_orders_of_the_thesis_are_illinois_with_their_parameters() {
    for (entry, order, form) in
        [(TCP_Q, 2, Form::Power), (TCP_C, 3, Form::Power), (TCP_FQ, 1, Form::Fq), (TCP_FS, 1, Form::Fs)]
    {
        let defaults: Parameters = entry.parameters.iter().map(|p| (p.name.to_owned(), p.default.to_json())).collect();
        let expected = Settings { theta_in_a_row: false, ..given(order, form) };
        assert_eq!(Settings::read(&defaults), Ok(expected), "{}", entry.name);
    }
    // At 30 of 100 ms the square gives 2.559, whatever else is given.
    let mut q = TCP_Q.build(&Parameters::from([("window_threshold".to_owned(), json!(1))])).unwrap();
    let of = |delay: u64| Ack { rtt: rtt(100 + delay), min_rtt: Span::from_millis(100), ..ack() };
    q.on_ack(&mut World::new().context(), &of(100));
    q.on_ack(&mut World::new().context(), &Ack { round_start: true, ..of(0) });
    q.on_ack(&mut World::new().context(), &Ack { round_start: true, ..of(30) });
    assert!((probed(&*q, "alpha") - 2.559).abs() < 1e-3, "{}", probed(&*q, "alpha"));
}

#[test]
fn linux_counts_short_queues_over_all_round_trips() {
    let mut illinois = at(100.0);
    illinois.settings.theta_in_a_row = false;
    for delay in [50, 0, 0, 0, 0, 50, 0] {
        round(&mut illinois, delay);
    }
    assert_eq!(probed(&illinois, "alpha"), 10.0, "the fifth, if not in a row");
}

#[test]
fn extremes_may_be_those_of_the_means_of_round_trips() {
    let mut illinois = Illinois::new(Settings { extrema: Extrema::WindowAverage, ..Settings::default() });
    illinois.reno = Reno { window: 100.0, threshold: 2.0 };
    // Means of 100 and 180 ms, then one of 140: 40 of 80 ms. The samples would have given 100 and 200.
    for (first, last) in [(100, 100), (160, 200), (100, 180)] {
        let of = |millis: u64| Ack { rtt: rtt(millis), min_rtt: Span::from_millis(100), ..ack() };
        illinois.on_ack(&mut World::new().context(), &of(first));
        illinois.on_ack(&mut World::new().context(), &Ack { round_start: true, ..of(last) });
    }
    let (delay, most) = (probed(&illinois, "delay_ms"), probed(&illinois, "delay_max_ms"));
    assert!((delay - 40.0).abs() < 1e-9 && (most - 80.0).abs() < 1e-9, "{delay}, {most}");
}

#[test]
fn the_old_bug_leaves_what_should_have_been_given_up() {
    let mut illinois = at(80.0);
    illinois.settings.legacy_beta_bug = true;
    round(&mut illinois, 5);
    illinois.reno.window = 80.0;
    illinois.on_loss(&mut World::new().context(), &loss());
    assert_eq!(illinois.window(), 10.0);
}
