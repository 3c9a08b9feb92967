//! Tests of `gentle_1.rs`.

use super::*;
use crate::testing::{World, ack, loss, probed, rtt};

fn at(window: f64, settings: Settings) -> Gentle {
    let mut gentle = Gentle::new(settings);
    gentle.bounded.reno.window = window;
    gentle.bounded.meter.observe(&Ack { rtt: rtt(100), ..ack() });
    gentle.bounded.meter.restart();
    gentle
}

fn first() -> Settings {
    Settings::default()
}

fn second() -> Settings {
    Settings { version: Version::Second, ..Settings::default() }
}

/// The end of a round trip with this queue, of which a segment takes a tenth of a millisecond on a path of 100 ms.
fn round(gentle: &mut Gentle, queue: f64) {
    let base = 100_000_000;
    gentle.decide(Estimate { queue, delay: (queue * 1e5) as u64, base });
}

#[test]
fn thrust_gains_two_segments_each_round_trip_up_to_twenty() {
    for settings in [first(), second()] {
        let mut gentle = at(10.0, settings);
        let alphas: Vec<f64> = (0..12)
            .map(|_| {
                round(&mut gentle, 0.0);
                probed(&gentle, "alpha")
            })
            .collect();
        assert_eq!(alphas, [2.0, 4.0, 6.0, 8.0, 10.0, 12.0, 14.0, 16.0, 18.0, 20.0, 20.0, 20.0]);
    }
}

#[test]
fn damping_is_in_inverse_proportion_to_the_queue() {
    // NP = 1: 2 * 80/Q, at most 2. NP = 4: 2/16 * 80/Q.
    let mut gentle = at(1000.0, first());
    for (np, queue, alpha) in [(1, 40.0, 2.0), (1, 80.0, 2.0), (4, 40.0, 0.25), (4, 80.0, 0.125), (4, 2.0, 2.0)] {
        gentle.np = np;
        round(&mut gentle, queue);
        assert_eq!(probed(&gentle, "alpha"), alpha, "NP {np}, Q {queue}");
    }
    assert_eq!(gentle.fuel, 0);
    gentle.settings = Settings { alpha_floor: true, ..first() };
    gentle.np = 7;
    round(&mut gentle, 80.0);
    assert_eq!(probed(&gentle, "alpha"), 0.1, "2/49 is less");
}

#[test]
fn a_queue_above_q_max_goes_and_a_round_trip_of_reno_follows() {
    let mut gentle = at(1000.0, first());
    round(&mut gentle, 90.0);
    assert_eq!((gentle.window(), gentle.slow_start_threshold()), (910.0, 910.0));
    assert_eq!((probed(&gentle, "alpha"), probed(&gentle, "ag"), probed(&gentle, "np")), (1.0, 2.0, 1.0));
    round(&mut gentle, 0.0);
    assert_eq!((probed(&gentle, "alpha"), probed(&gentle, "reno_rounds")), (2.0, 0.0));
}

/// NP and AG after so many epochs, each a decongestion and an empty queue.
fn after_epochs(settings: Settings, epochs: u32) -> (u32, u32) {
    let mut gentle = at(1000.0, settings);
    for _ in 0..epochs {
        gentle.bounded.reno.window = 1000.0;
        round(&mut gentle, 90.0);
        round(&mut gentle, 0.0);
    }
    (gentle.np, gentle.ag)
}

#[test]
fn ag_is_counted_once_and_then_np_with_every_decongestion() {
    // AG 1 to 8 in seven epochs, NP 1 to 7 in six. Then AG is 1 again, and NP stays.
    for (epochs, np, ag) in [(7, 1, 8), (8, 2, 8), (13, 7, 8), (14, 7, 1)] {
        assert_eq!(after_epochs(first(), epochs), (np, ag), "{epochs}");
    }
    let text = Settings { ag_reset_on_np: true, ..first() };
    for (epochs, np, ag) in [(8, 2, 1), (16, 3, 1)] {
        assert_eq!(after_epochs(text, epochs), (np, ag), "{epochs}");
    }
}

#[test]
fn several_decongestions_in_a_row_begin_anew() {
    let mut gentle = at(1000.0, first());
    (gentle.np, gentle.ag) = (5, 8);
    for np in [6, 7, 7] {
        round(&mut gentle, 90.0);
        assert_eq!(gentle.np, np);
    }
    round(&mut gentle, 90.0);
    assert_eq!((gentle.np, gentle.ag), (1, 2), "the fourth");
}

#[test]
fn the_second_version_begins_anew_below_half_its_largest_window() {
    let mut gentle = at(1000.0, second());
    (gentle.np, gentle.ag) = (5, 8);
    round(&mut gentle, 90.0);
    assert_eq!(gentle.np, 6);
    gentle.bounded.reno.window = 560.0;
    gentle.bounded.virtual_window = 2.0;
    round(&mut gentle, 90.0);
    assert_eq!((gentle.window(), gentle.np, gentle.ag), (470.0, 1, 2));
}

#[test]
fn the_second_version_thrusts_through_a_queue_until_np_grows() {
    let mut gentle = at(1000.0, second());
    for alpha in [2.0, 4.0, 6.0] {
        round(&mut gentle, 40.0);
        assert_eq!(probed(&gentle, "alpha"), alpha);
    }
    gentle.np = 2;
    round(&mut gentle, 80.0);
    assert_eq!((probed(&gentle, "alpha"), gentle.fuel), (0.5, 0));
    // A window above the virtual one does not count as Reno's.
    round(&mut gentle, 90.0);
    assert_eq!((gentle.bounded.long_rounds, probed(&gentle, "alpha")), (0, 2.0));
}

#[test]
fn thrust_goes_on_up_to_the_queue_that_it_may_have() {
    let mut gentle = at(1000.0, Settings { tpq: 25, q_max: 100, ..first() });
    round(&mut gentle, 25.0);
    assert_eq!((probed(&gentle, "alpha"), gentle.fuel), (2.0, 1));
    round(&mut gentle, 26.0);
    assert_eq!((probed(&gentle, "alpha"), gentle.fuel), (2.0, 0), "2 * 100/26, at most 2");
}

#[test]
fn a_loss_takes_what_yeah_would_give_up_and_begins_anew() {
    let mut world = World::new();
    let mut gentle = at(200.0, first());
    gentle.np = 7;
    round(&mut gentle, 40.0);
    gentle.on_loss(&mut world.context(), &loss());
    assert_eq!((gentle.window(), gentle.slow_start_threshold(), gentle.np), (160.0, 160.0, 1));
    assert_eq!(probed(&gentle, "alpha"), 2.0);
    gentle.on_spurious(&mut world.context());
    assert_eq!(gentle.window(), 200.0);
    gentle.on_timeout(&mut world.context(), &loss());
    assert_eq!((gentle.window(), gentle.slow_start_threshold()), (1.0, 160.0));
}

#[test]
fn the_first_windows_grow_by_thrust_not_by_slow_start() {
    let mut world = World::new();
    let mut gentle = Gentle::<Real>::new(first());
    gentle.on_start(&mut world.context());
    gentle.on_ack(&mut world.context(), &Ack { newly_acknowledged: 10, newly_delivered: 10, ..ack() });
    assert_eq!(gentle.window(), 12.0);
    let mut gentle = Gentle::<Real>::new(Settings { slow_start: true, ..first() });
    gentle.on_start(&mut world.context());
    gentle.on_ack(&mut world.context(), &Ack { newly_acknowledged: 10, newly_delivered: 10, ..ack() });
    assert_eq!(gentle.window(), 20.0);
}
