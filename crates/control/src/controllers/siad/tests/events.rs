//! Timeouts, undo, idle time, and parameters that change (section III.C).

use super::*;

#[test]
fn a_timeout_decreases_as_a_loss_and_starts_slowly_without_additional_decreases() {
    let mut flow = Flow::cruising(default(), 126.0, 84.0, 130.0);
    flow.siad.epoch.alpha = 2.0;
    flow.see(150);
    flow.see(150);
    flow.time_out(false);
    // As above: 124 * 2/3 = 82.67, less 1.
    assert_eq!((flow.windows(), flow.probe("events")), ((1.0, 81.0), 1.0));
    assert_eq!((flow.probe("alpha"), flow.probe("drained"), flow.probe("region")), (1.0, 1.0, 1.0));
    flow.time_out(true);
    assert_eq!((flow.windows(), flow.probe("events")), ((1.0, 81.0), 1.0));
    flow.acknowledge(80, 150);
    // Target 124 - 6 = 118: (118 - 81)/20 = 1.85.
    assert_eq!((flow.windows(), flow.probe("alpha"), flow.probe("region")), ((81.0, 81.0), 1.85, 2.0));
    for _ in 0..20 {
        flow.acknowledge(41, 150);
    }
    assert_eq!(flow.probe("additional_decreases"), 0.0);
}

#[test]
fn a_timeout_in_recovery_is_no_second_decrease() {
    let mut flow = Flow::cruising(default(), 126.0, 84.0, 130.0);
    flow.lose_at(150);
    let threshold = flow.windows().1;
    flow.time_out(true);
    assert_eq!((flow.windows(), flow.probe("events")), ((1.0, threshold), 1.0));
}

#[test]
fn a_spurious_loss_gives_the_epoch_back() {
    let mut flow = Flow::cruising(default(), 126.0, 84.0, 130.0);
    flow.see(120);
    let names = ["alpha", "incthresh", "cmax", "num_rtt", "cnt_dec", "drained", "region"];
    let before = (flow.windows(), names.map(|name| flow.probe(name)), flow.siad.rtt.of_epoch);
    for event in [Flow::recover, |flow: &mut Flow| flow.time_out(true)] {
        flow.siad.on_loss(&mut flow.world.context(), &loss());
        event(&mut flow);
        flow.siad.on_spurious(&mut flow.world.context());
        assert_eq!((flow.windows(), names.map(|name| flow.probe(name)), flow.siad.rtt.of_epoch), before);
    }
    flow.siad.on_spurious(&mut flow.world.context());
    assert_eq!(flow.windows(), before.0, "only once");
}

#[test]
fn a_spurious_loss_does_not_count_for_the_guard() {
    let mut flow = Flow::cruising(Settings { min_guard: true, ..default() }, 126.0, 84.0, 130.0);
    let mut lose = |millis: u64, spurious: bool| {
        flow.siad.rtt.minimum = Span::from_millis(millis);
        flow.siad.rtt.of_epoch = Span::from_millis(millis);
        flow.lose_at(150);
        if spurious {
            flow.siad.on_spurious(&mut flow.world.context());
        }
        flow.probe("rtt_min_ms")
    };
    // Without the spurious 104, 106 is the third in a row. 108 is the fourth, spurious first.
    let events = [(100, false), (102, false), (104, true), (106, false), (108, true), (108, false)];
    assert_eq!(events.map(|(millis, spurious)| lose(millis, spurious)), [100.0, 102.0, 104.0, 106.0, 108.0, 100.0]);
}

#[test]
fn after_idle_the_flow_starts_slowly_from_the_initial_window() {
    let mut flow = Flow::cruising(default(), 126.0, 84.0, 130.0);
    flow.siad.on_idle_restart(&mut flow.world.context());
    assert_eq!((flow.windows(), flow.probe("alpha")), ((10.0, 84.0), 10.0));
    flow.acknowledge(10, 100);
    assert_eq!(flow.siad.window(), 20.0);
}

/// Parameters as a scenario gives them.
fn given(name: &str, value: serde_json::Value) -> crate::Parameters {
    [(name.to_owned(), value)].into_iter().collect()
}

#[test]
fn num_rtt_changes_at_once_and_keeps_the_target() {
    // 20 segments to the target in 20 round trips. With 10 of them it is two segments a round trip.
    let mut flow = Flow::cruising(Settings::default(), 40.0, 20.0, 40.0);
    flow.siad.epoch.alpha = 1.0;
    assert_eq!(flow.siad.set_parameters(&given("num_rtt", 10.into())), Ok(()));
    assert_eq!((flow.probe("num_rtt"), flow.siad.epoch.alpha), (10.0, 2.0));
}

#[test]
fn a_spurious_loss_gives_back_no_num_rtt_of_the_past() {
    let mut flow = Flow::cruising(Settings::default(), 40.0, 20.0, 40.0);
    flow.siad.epoch.alpha = 1.0;
    flow.lose_at(150);
    assert_eq!(flow.siad.set_parameters(&given("num_rtt", 10.into())), Ok(()));
    flow.siad.on_spurious(&mut flow.world.context());
    assert_eq!((flow.probe("num_rtt"), flow.siad.epoch.alpha), (10.0, 2.0));
}

#[test]
fn a_change_that_is_not_allowed_changes_nothing() {
    let mut flow = Flow::new(Settings::default());
    let refused = flow.siad.set_parameters(&given("num_rtt", 1.into())).unwrap_err().to_string();
    assert!(refused.contains("num_rtt") && refused.contains("2 to 1000000"), "{refused}");
    assert_eq!(flow.probe("num_rtt"), 20.0);
}
