//! Increase: equations (1), (3), (6).

use super::*;

#[test]
fn slow_start_adds_a_segment_for_each_one_acknowledged_whatever_an_ack_covers() {
    let mut flow = Flow::new(default());
    for segments in [2, 1, 3, 4] {
        flow.acknowledge(segments, 100);
    }
    assert_eq!((flow.siad.window(), flow.probe("alpha"), flow.probe("region")), (20.0, 20.0, 1.0));
}

#[test]
fn linear_increment_adds_alpha_in_a_window_of_acknowledgements() {
    // alpha = (160 - 100)/20 = 3: a segment after 33.3 acknowledged, after 33.7 more, and after 34 more: 101.
    let mut flow = Flow::cruising(default(), 100.0, 100.0, 160.0);
    assert_eq!(flow.probe("alpha"), 3.0);
    flow.acknowledge(100, 100);
    assert_eq!(flow.siad.window(), 102.0);
    flow.acknowledge(2, 100);
    assert_eq!((flow.siad.window(), flow.probe("alpha"), flow.probe("region")), (103.0, 3.0, 2.0));
}

#[test]
fn alpha_is_at_least_one_and_at_most_the_threshold() {
    assert_eq!(Flow::cruising(default(), 100.0, 100.0, 110.0).probe("alpha"), 1.0);
    assert_eq!(Flow::cruising(default(), 4.0, 4.0, 104.0).probe("alpha"), 4.0);
}

#[test]
fn fast_increase_begins_at_the_target_with_one_and_adds_to_alpha_what_it_adds_to_the_window() {
    let mut flow = Flow::cruising(default(), 159.0, 100.0, 160.0);
    flow.acknowledge(53, 100); // 159/3
    assert_eq!((flow.siad.window(), flow.probe("alpha"), flow.probe("region")), (160.0, 1.0, 3.0));
    flow.acknowledge(160, 100);
    assert_eq!((flow.siad.window(), flow.probe("alpha")), (161.0, 2.0));
    flow.acknowledge(81, 100); // 161/2 = 80.5
    assert_eq!((flow.siad.window(), flow.probe("alpha")), (162.0, 3.0));
}

#[test]
fn alpha_of_fast_increase_is_at_most_half_the_window() {
    let mut flow = Flow::cruising(default(), 20.0, 8.0, 10.0);
    flow.siad.epoch.alpha = 10.0;
    flow.acknowledge(2, 100);
    assert_eq!((flow.siad.window(), flow.probe("alpha")), (21.0, 10.5));
    let mut flow = Flow::cruising(default(), 2.0, 2.0, 2.0);
    flow.acknowledge(2, 100);
    assert_eq!((flow.siad.window(), flow.probe("alpha")), (3.0, 1.5));
}

#[test]
fn slow_start_ends_at_the_threshold_in_linear_increment_or_without_a_target_in_fast_increase() {
    let mut flow = Flow::cruising(default(), 39.0, 40.0, 140.0);
    flow.acknowledge(1, 100);
    assert_eq!((flow.siad.window(), flow.probe("alpha"), flow.probe("region")), (40.0, 5.0, 2.0));
    let mut flow = Flow::cruising(default(), 39.0, 40.0, 40.0);
    flow.acknowledge(2, 100);
    assert_eq!((flow.siad.window(), flow.probe("alpha"), flow.probe("region")), (40.0, 1.0, 3.0));
}

#[test]
fn no_segment_acknowledged_adds_more_than_one_however_large_alpha_is() {
    let mut flow = Flow::cruising(default(), 6.0, 4.0, 400.0);
    flow.siad.epoch.alpha = 24.0;
    flow.acknowledge(3, 100);
    assert_eq!((flow.siad.window(), flow.probe("alpha")), (9.0, 24.0));
}

#[test]
fn an_ack_counts_what_it_delivers_not_what_was_sacked_before() {
    let mut flow = Flow::cruising(default(), 2.0, 50.0, 100.0);
    let ack = Ack { newly_acknowledged: 300, newly_delivered: 1, ..flow.ack_of(1, 100) };
    flow.siad.on_ack(&mut flow.world.context(), &ack);
    assert_eq!(flow.siad.window(), 3.0);
}
