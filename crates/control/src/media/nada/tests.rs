//! NADA by hand: the signal, both modes of the update, and its equilibrium.

use units::Bytes;

use super::*;
use crate::SentState;
use crate::testing::{World, ack, probed};

const MILLIS: fn(u64) -> Span = Span::from_millis;

/// A packet of 1250 bytes that leaves at `ms` and takes `delay` milliseconds.
fn packet(ms: u64, delay: u64) -> SegmentReport {
    SegmentReport {
        sent: SentState { at: Time::ZERO + MILLIS(ms), ..SentState::EMPTY },
        one_way_delay: Some(MILLIS(delay)),
        payload: Some(Bytes::new(1250)),
        ..SegmentReport::EMPTY
    }
}

/// Feedback at `now` on ten packets of the 100 ms before, each with this `delay`.
fn feedback(world: &mut World, nada: &mut Nada, now: u64, delay: u64) {
    for n in 0..10 {
        nada.on_segment_delivered(&mut world.context(), &packet(now - 100 + 10 * n, delay));
    }
    world.now = Time::ZERO + MILLIS(now);
    nada.on_ack(&mut world.context(), &ack());
}

fn near(value: f64, expected: f64) {
    assert!((value / expected - 1.0).abs() < 1e-9, "{value}, not {expected}");
}

#[test]
fn without_a_queue_the_rate_rises_above_the_received_one_by_gamma() {
    let (mut world, mut nada) = (World::new(), Nada::new(Settings::default()));
    nada.on_start(&mut world.context());
    for now in (100..=600).step_by(100) {
        feedback(&mut world, &mut nada, now, 50);
    }
    // 1 Mbit/s arrives. gamma = 50/(40 + 100 + 120) = 0.1923.
    near(nada.rate, 1e6 * (1.0 + 50.0 / 260.0));
    assert!(!nada.gradual);
}

#[test]
fn a_queue_brings_the_gradual_update_by_offset_and_difference() {
    let (mut world, mut nada) = (World::new(), Nada::new(Settings::default()));
    nada.on_start(&mut world.context());
    feedback(&mut world, &mut nada, 100, 50);
    nada.rate = 1e6;
    // 20 ms of queue on ten packets of fifteen taps: the minimum is still one of the packets before.
    feedback(&mut world, &mut nada, 200, 70);
    assert_eq!((nada.queue(), nada.gradual), (0.0, true));
    // x_offset = 0 - 10 ms 1.5 = -15 ms: 0.5 * 0.2 * 0.03 = 0.3 % more.
    near(nada.rate, 1e6 * 1.003);
    nada.rate = 1e6;
    feedback(&mut world, &mut nada, 300, 70);
    // x = 20 ms, x_offset = 5 ms, x_diff = 20 ms: 0.5 (0.2 * 0.01 + 2 * 0.04) = 4.1 % less.
    near(nada.rate, 1e6 * (1.0 - 0.041));
}

#[test]
fn losses_and_marks_add_their_squares_and_a_long_queue_is_warped_by_losses() {
    let mut nada = Nada::new(Settings::default());
    (nada.base, nada.loss_ratio, nada.mark_ratio) = (0.05, 0.02, 0.03);
    nada.delays.push_back(0.15);
    // 100 ms + 2 ms * 9 + 10 ms * 4.
    near(nada.congestion(), 0.158);
    nada.intervals.push_back(100);
    nada.since_loss = 699;
    // 50 ms exp(-0.5 * 50/50) in place of 100 ms.
    near(nada.congestion(), 0.05 * libm::exp(-0.5) + 0.058);
    // After seven intervals of 100 packets the warping ends within one more.
    nada.since_loss = 750;
    near(nada.congestion(), 0.5 * 0.05 * libm::exp(-0.5) + 0.5 * 0.1 + 0.058);
    nada.since_loss = 800;
    near(nada.congestion(), 0.158);
    // 10 ms * 100 and more.
    nada.loss_ratio = 0.1;
    near(nada.congestion(), 0.5);
}

#[test]
fn the_mean_loss_interval_weighs_old_ones_less() {
    let (mut world, mut nada) = (World::new(), Nada::new(Settings::default()));
    for interval in [500, 100, 100, 100, 100] {
        nada.since_loss = interval - 1;
        nada.on_segment_lost(&mut world.context(), &packet(0, 0));
    }
    // (4 * 100 + 0.8 * 500)/4.8.
    near(nada.loss_interval().unwrap(), 800.0 / 4.8);
}

#[test]
fn ratios_are_smoothed_by_a_tenth() {
    let mut nada = Nada::new(Settings::default());
    nada.batches.push_back(Batch { packets: 80, lost: 4, marked: 8, ..Batch::default() });
    nada.batches.push_back(Batch { packets: 20, lost: 1, marked: 2, ..Batch::default() });
    nada.smooth_ratios();
    near(nada.loss_ratio, 0.005);
    near(nada.mark_ratio, 0.01);
    // The next feedback goes a tenth of the rest.
    nada.smooth_ratios();
    near(nada.loss_ratio, 0.0095);
    near(nada.mark_ratio, 0.019);
}

#[test]
fn the_rate_stays_within_its_limits() {
    let (mut world, mut nada) = (World::new(), Nada::new(Settings::default()));
    nada.on_start(&mut world.context());
    (nada.rate, nada.signal) = (1.4e6, 0.0);
    for now in (100..=900).step_by(100) {
        feedback(&mut world, &mut nada, now, if now < 200 { 50 } else { 900 });
    }
    assert_eq!(nada.rate, 150_000.0);
    nada.on_timeout(&mut world.context(), &crate::testing::loss());
    assert_eq!(nada.rate, 150_000.0);
}

#[test]
fn losses_and_marks_count_for_half_a_second() {
    let (mut world, mut nada) = (World::new(), Nada::new(Settings::default()));
    nada.on_start(&mut world.context());
    let at = |nada: &mut Nada, world: &mut World, ms: u64| {
        world.now = Time::ZERO + MILLIS(ms);
        nada.on_ack(&mut world.context(), &ack());
        (nada.loss_ratio, nada.mark_ratio, nada.gradual)
    };
    for n in 0..8 {
        nada.on_segment_delivered(&mut world.context(), &SegmentReport { marked: n < 3, ..packet(10 * n, 50) });
    }
    for _ in 0..2 {
        nada.on_segment_lost(&mut world.context(), &packet(80, 50));
    }
    // Two lost and three marked of ten packets, each smoothed by a tenth.
    let (lost, marked, gradual) = at(&mut nada, &mut world, 100);
    near(lost, 0.02);
    near(marked, 0.03);
    assert!(gradual);
    // Half a second later they are of twenty.
    for n in 0..10 {
        nada.on_segment_delivered(&mut world.context(), &packet(500 + 10 * n, 50));
    }
    let (lost, marked, gradual) = at(&mut nada, &mut world, 600);
    near(lost, 0.02 + 0.1 * (0.1 - 0.02));
    near(marked, 0.03 + 0.1 * (0.15 - 0.03));
    assert!(gradual);
    // A millisecond later the window has only the ten packets without any.
    let (lost, marked, gradual) = at(&mut nada, &mut world, 601);
    near(lost, 0.9 * 0.028);
    near(marked, 0.9 * 0.042);
    assert!(!gradual);
}

#[test]
fn packets_leave_at_the_reference_rate_and_the_probes_show_the_signal() {
    let (mut world, mut nada) = (World::new(), Nada::new(Settings::default()));
    nada.on_start(&mut world.context());
    for now in (100..=600).step_by(100) {
        feedback(&mut world, &mut nada, now, 50);
    }
    (nada.rate, nada.signal, nada.loss_ratio, nada.mark_ratio) = (1e6, 0.02, 0.03, 0.04);
    assert_eq!(nada.pacing_rate(), Some(Rate::from_mbit(1)));
    assert_eq!(nada.window(), WITHOUT_LIMIT);
    let shown = ["target_rate_bps", "signal_ms", "loss_ratio", "mark_ratio", "mode"];
    assert_eq!(shown.map(|name| probed(&nada, name)), [1e6, 20.0, 0.03, 0.04, 0.0]);
    near(probed(&nada, "received_rate_bps"), 1e6);
    nada.delays = [0.07, 0.08].into();
    near(probed(&nada, "queue_ms"), 20.0);
    nada.on_timeout(&mut world.context(), &crate::testing::loss());
    assert_eq!(nada.rate, 5e5);
}
