//! Tests of `illinois.rs`.

use super::*;
use crate::testing::{World, ack, loss, probed, rtt};

/// On a path of 100 ms on which the queue has been `most` ms long.
fn at(settings: Settings, window: f64, most: u64) -> Illinois {
    let mut illinois = Illinois::new(settings);
    illinois.reno = Reno { window, threshold: 2.0 };
    for millis in [100, 100 + most] {
        illinois.on_duplicate_ack(&mut World::new().context(), &Ack { rtt: rtt(millis), ..ack() });
    }
    (illinois.count, illinois.sum) = (0, 0);
    illinois
}

/// The ACK that ends a round trip with a queue of `delay` ms.
fn round(illinois: &mut Illinois, delay: u64) {
    let end = illinois.end + 1;
    let ack = Ack { rtt: rtt(100 + delay), acknowledged_to: end, sent_to: end, window_limited: false, ..ack() };
    illinois.on_ack(&mut World::new().context(), &ack);
}

#[test]
fn has_increase_and_decrease_in_128ths_and_64ths() {
    // alpha at 45 of 100 ms, d_1 = 1000 us: `99000 * 1280/(99000 + 44000 * 1242/38) = 82`, each quotient rounded down;
    // beta: `8 + 24 * 35/70 = 20`.
    for (delay, alpha, beta) in
        [(1, 1280.0, 8.0), (10, 322.0, 8.0), (45, 82.0, 20.0), (80, 47.0, 32.0), (100, 38.0, 32.0)]
    {
        let mut illinois = at(Settings::default(), 100.0, 100);
        round(&mut illinois, delay);
        let (a, b) = (probed(&illinois, "alpha") * 128.0, probed(&illinois, "beta") * 64.0);
        assert_eq!((a, b), (alpha, beta), "{delay} ms");
    }
}

// ca->acked is of the ACK that ends the recovery, which covers segments SACKed before.
#[test]
fn counts_all_that_the_end_of_a_recovery_covers() {
    let mut illinois = at(Settings::default(), 32.0, 100);
    illinois.on_loss(&mut World::new().context(), &loss());
    assert_eq!(illinois.window(), 16.0);
    // 32 of 1280/128 each are 320: 20 windows.
    let end = Ack { newly_acknowledged: 32, newly_delivered: 1, ends_recovery: true, ..ack() };
    illinois.on_ack(&mut World::new().context(), &end);
    assert_eq!(illinois.window(), 36.0);
}

#[test]
fn whole_numbers_follow_the_curves_of_every_order() {
    // Within a 128th and a 64th, and the error of dropped bits of the delay.
    for (order, form) in [
        (1, Curves::Power),
        (2, Curves::Power),
        (3, Curves::Power),
        (8, Curves::Power),
        (1, Curves::Fq),
        (1, Curves::Fs),
    ] {
        let settings = Settings { order, form, ..Settings::default() };
        for delay in (2u64..=100).step_by(7) {
            let mut illinois = at(settings, 100.0, 100);
            round(&mut illinois, delay);
            let (a, b) = (probed(&illinois, "alpha"), probed(&illinois, "beta"));
            let (da, dm) = (delay as f64 / 1e3, 0.1);
            let (alpha, beta) = (settings.alpha_at(da, dm), settings.beta_at(da, dm));
            let bits = if order > 3 { 0.2 } else { 0.02 };
            assert!((a - alpha).abs() < bits * alpha + 1.0 / 64.0, "order {order} at {delay}: {a}, {alpha}");
            assert!((b - beta).abs() < bits * beta + 1.0 / 64.0, "order {order} at {delay}: {b}, {beta}");
        }
    }
}

#[test]
fn grows_by_whole_segments_and_rounds_what_a_loss_takes_down() {
    let mut world = World::new();
    let mut illinois = at(Settings::default(), 77.0, 100);
    round(&mut illinois, 1);
    // At ten segments a round trip 7 ACKs of one make 70 of 77, the eighth 80: one segment.
    for n in 1..=8 {
        illinois.on_ack(&mut world.context(), &ack());
        assert_eq!(illinois.window(), if n < 8 { 77.0 } else { 78.0 });
    }
    // 8/64 of 78 are 9.75.
    illinois.on_loss(&mut world.context(), &loss());
    assert_eq!((illinois.window(), illinois.slow_start_threshold()), (69.0, 69.0));
    // Half of 69, as a loss after a timeout would take, is not asked for again.
    illinois.on_timeout(&mut world.context(), &loss());
    assert_eq!((illinois.window(), illinois.slow_start_threshold()), (1.0, 61.0));
    assert_eq!((probed(&illinois, "alpha"), probed(&illinois, "beta")), (1.0, 0.5));
}

#[test]
fn an_increase_of_more_than_eleven_bits_is_refused() {
    let build = |alpha_max| make("illinois", Settings { alpha_max, ..Settings::default() }).err();
    assert!(build(15.99).is_none());
    assert_eq!(
        build(16.0).unwrap().to_string(),
        "`illinois`, parameter `alpha_max`: 16 is out of range (allowed: below 16 in Linux)"
    );
}
