//! The running reduction, with numbers worked by hand.

use units::Span;

use super::*;
use crate::plain;

#[test]
fn after_recovery_the_flight_grows_to_the_window_by_what_acks_count() {
    let mut recovery = Recovery::default();
    recovery.ramp_from(3);
    assert_eq!((recovery.limit(10), recovery.limit(2)), (3, 2));
    for (credit, limit) in [(2, 5), (4, 9)] {
        recovery.on_progress(|| credit, 10.0);
        assert_eq!((recovery.limit(10), recovery.ramp), (limit, Some(limit)));
    }
    // At the window it ends.
    recovery.on_progress(|| 1, 10.0);
    assert_eq!((recovery.limit(10), recovery.ramp), (10, None));
}

#[test]
fn an_original_left_before_the_first_retransmission_on_the_clock_of_timestamps() {
    let at = |ms| Time::ZERO + Span::from_millis(ms);
    let mut clock = Clock { timestamp_tick: Span::from_millis(4), ..plain().clock };
    let mut recovery = Recovery::default();
    assert!(recovery.is_retransmit_stamp_clear() && !recovery.left_before(at(0), &clock));
    recovery.on_retransmission(at(10), 3);
    recovery.on_retransmission(at(30), 4);
    // Ticks of 4 ms: 10 ms is the third, which begins at 8 ms.
    assert_eq!([7, 8, 10, 12].map(|ms| recovery.left_before(at(ms), &clock)), [true, false, false, false]);
    // On a clock that showed 3 ms at time zero that tick begins at 9 ms.
    clock.at_start = Span::from_millis(3);
    assert_eq!([8, 9].map(|ms| recovery.left_before(at(ms), &clock)), [true, false]);
    recovery.clear_retransmit_stamp();
    assert!(recovery.is_retransmit_stamp_clear() && !recovery.left_before(at(0), &clock));
}

#[test]
fn a_timeout_in_a_row_is_answered_until_data_is_acknowledged() {
    let mut recovery = Recovery::default();
    assert!(!recovery.answers_timeout(0));
    recovery.enter_loss(10, false, None);
    recovery.note_in_flight_at_timeout(4);
    assert!(recovery.answers_timeout(3) && !recovery.is_reported());
    assert_eq!((recovery.limit(1), recovery.point(), recovery.in_flight_at_timeout()), (5, 10, 4));
    recovery.on_progress(|| 1, 10.0);
    assert!(!recovery.answers_timeout(3));
    // A recovery answers for segments sent before it began, and for no others.
    recovery.begin(20, false);
    recovery.enter_repair(20, true);
    assert!(recovery.answers_timeout(19) && !recovery.answers_timeout(20) && recovery.is_reported());
    recovery.enter_repair(20, false);
    assert!(!recovery.answers_timeout(19) && recovery.is_reported());
    recovery.leave();
    assert_eq!((recovery.phase(), recovery.limit(7)), (Phase::Open, 7));
}

#[test]
fn holes_are_looked_for_above_what_was_sent_again_and_the_rescue_is_one() {
    let mut recovery = Recovery::default();
    recovery.begin(30, true);
    assert!(recovery.take_announcement() && !recovery.take_announcement());
    recovery.on_retransmission(Time::ZERO, 7);
    recovery.on_retransmission(Time::ZERO, 4);
    assert_eq!(recovery.high_retransmitted(), 8);
    recovery.no_hole_below(6);
    assert_eq!(recovery.high_retransmitted(), 8);
    recovery.no_hole_below(12);
    assert_eq!(recovery.high_retransmitted(), 12);
    assert!(recovery.take_rescue() && !recovery.take_rescue());
    recovery.begin(40, false);
    assert!(!recovery.take_announcement() && recovery.take_rescue());
    assert_eq!((recovery.high_retransmitted(), recovery.point()), (0, 40));
    recovery.move_point(50);
    assert_eq!(recovery.point(), 50);
    assert!(!recovery.is_announced(50) && recovery.is_announced(51));
}

#[test]
fn evidence_remains_only_while_duplicates_may_come() {
    let mut recovery = Recovery::default();
    recovery.undo_on(Some(Retransmissions::from(3, 0)));
    recovery.settle();
    assert!(recovery.undo().is_none());
    recovery.undo_on(Some(Retransmissions::from(3, 0)));
    recovery.on_retransmission(Time::ZERO, 5);
    recovery.settle();
    assert!(recovery.undo().is_some_and(|undo| undo.may_be_reported()));
    recovery.revert();
    assert!(recovery.undo().is_none());
}

#[test]
fn disorder_is_noted_unless_something_is_reduced() {
    let mut recovery = Recovery::default();
    recovery.note_disorder(true);
    assert_eq!(recovery.phase(), Phase::Disorder);
    recovery.note_disorder(false);
    assert_eq!(recovery.phase(), Phase::Open);
    recovery.enter_reduction();
    recovery.note_disorder(true);
    assert_eq!(recovery.phase(), Phase::Reduced);
    // Without SACK duplicates up to `recover` may stem from retransmissions (RFC 6582).
    assert!(recovery.stage().trusts_duplicates(0));
    recovery.enter_repair(9, true);
    assert!(!recovery.stage().trusts_duplicates(9) && recovery.stage().trusts_duplicates(10));
}
