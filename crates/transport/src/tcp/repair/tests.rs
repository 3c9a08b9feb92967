//! The front door of the repair.

use control::Wants;

use super::*;
use crate::tcp::flight::AckSummary;
use crate::{Acknowledgement, linux, plain};

fn at(ms: u64) -> Time {
    Time::ZERO + Span::from_millis(ms)
}

/// Linux with exact timers, after a handshake of 100 ms, and `segments` that left at its end.
fn opened(segments: u32) -> (Stack, Flight, Repair) {
    let mut stack = linux();
    stack.timers.tick = Span::ZERO;
    let mut flight = Flight::new(&stack, &Wants::default());
    flight.open(at(100), Some(at(0)), &stack);
    let mut repair = Repair::new();
    for _ in 0..segments {
        flight.push(at(100));
        repair.on_new();
    }
    repair.arm(at(100), &flight, &stack);
    (stack, flight, repair)
}

#[test]
fn a_probe_waits_for_two_round_trips_and_for_the_delayed_ack_of_a_lone_segment() {
    let next = |segments| {
        let (stack, flight, repair) = opened(segments);
        repair.next(&flight, &stack)
    };
    assert_eq!(next(2), at(300));
    // 2 * 100 + 200 ms. The timeout is 100 + max(4 * 50, 200) = 300 ms.
    assert_eq!(next(1), at(400));
    assert_eq!(next(0), Time::NEVER);
}

#[test]
fn a_probe_behind_a_long_round_trip_waits_no_longer_than_the_longest_timeout() {
    let mut stack = linux();
    stack.timers.tick = Span::ZERO;
    let mut flight = Flight::new(&stack, &Wants::default());
    flight.open(at(100_000), Some(at(0)), &stack);
    flight.push(at(100_000));
    let mut repair = Repair::new();
    // The timeout of the first segment, 120 s after it left, has passed. Two round trips are 200 s.
    flight.push(at(300_000));
    repair.on_new();
    repair.arm(at(300_000), &flight, &stack);
    assert_eq!(repair.next(&flight, &stack), at(420_000));
}

#[test]
fn bounds_show_that_an_armed_probe_waits_until_its_deadline_is_computed() {
    let (stack, flight, mut repair) = opened(2);
    let waits = |repair: &Repair| {
        let later = at(300) + Span::from_nanos(1);
        [at(200), at(300), later].map(|at| repair.surely_waits(at, &flight, &stack))
    };
    assert_eq!((waits(&repair), repair.next(&flight, &stack)), ([true, true, false], at(300)));
    repair.settle_deadline(&flight, &stack);
    assert_eq!((waits(&repair), repair.next(&flight, &stack)), ([false; 3], at(300)));
    // An ACK arms it anew.
    repair.on_ack(true);
    repair.arm(at(250), &flight, &stack);
    assert_eq!((waits(&repair), repair.next(&flight, &stack)), ([true; 3], at(450)));
}

#[test]
fn one_probe_leaves_and_then_the_timeout_of_the_oldest_segment_counts() {
    let (stack, flight, mut repair) = opened(2);
    assert_eq!(repair.take_due(at(299), &flight, &stack), Due::Nothing);
    assert!(!repair.take_probe());
    assert_eq!(repair.take_due(at(300), &flight, &stack), Due::Nothing);
    assert!(repair.take_probe() && !repair.take_probe());
    repair.on_probe(at(300), Some(1), &flight, &stack);
    assert_eq!((repair.next(&flight, &stack), repair.counters().retransmitted_packets), (at(600), 1));
    assert_eq!(repair.take_due(at(600), &flight, &stack), Due::Timeout);
}

#[test]
fn counters_take_memory_from_the_first_event_on() {
    let (stack, flight, mut repair) = opened(2);
    repair.on_probe(at(300), None, &flight, &stack);
    assert!(repair.counters.is_none() && repair.counters() == SenderCounters::default());
    repair.on_probe(at(300), Some(1), &flight, &stack);
    assert!(repair.counters.is_some());
}

#[test]
fn an_echo_is_answered_once_for_what_was_sent_before() {
    let (stack, flight, mut repair) = opened(4);
    assert!(repair.answers_echo(1, &stack));
    repair.enter_reduction();
    repair.begin(flight.next(), &stack);
    assert!(!repair.answers_echo(4, &stack), "it goes on");
    repair.leave();
    assert!(repair.answers_echo(4, &stack), "in Linux, where something else has ended it");
    let stack = plain();
    assert_eq!([4, 5].map(|first| repair.answers_echo(first, &stack)), [false, true]);
}

#[test]
fn with_the_end_that_grows_a_reduction_lasts_for_one_segment_more() {
    let (mut stack, flight, mut repair) = opened(4);
    repair.enter_reduction();
    repair.begin(flight.next(), &stack);
    assert_eq!([3, 4, 5].map(|first| repair.is_over(first, &stack)), [false, false, true]);
    stack.growth.recovery_end_grows = false;
    assert_eq!([3, 4, 5].map(|first| repair.is_over(first, &stack)), [false, true, true]);
}

#[test]
fn without_sack_a_repair_waits_for_something_above_its_end_and_forgets_what_left_again() {
    let (stack, flight, mut repair) = opened(4);
    let stack = stack.without_sack();
    repair.enter(flight.next(), true, &stack);
    repair.begin(flight.next(), &stack);
    repair.await_evidence(&flight, &stack, false);
    assert_eq!([3, 4, 5].map(|first| repair.stage().is_held(first)), [false, true, false]);
    // Nothing has left again: an acknowledged segment was late, unless the end is reached.
    let ack = Acknowledgement::default();
    assert_eq!([3, 4].map(|first| repair.shows_delay(&ack, first, &stack)), [true, false]);
    assert!(!repair.was_spurious());
    repair.revert_in_place();
    assert!(repair.was_spurious() && repair.phase() == Phase::Recovery);
    assert_eq!(repair.counters().spurious, 1);
}

// tcp_enter_recovery, tcp_xmit_retransmit_queue
#[test]
fn in_linux_a_recovery_restarts_the_timer_with_the_oldest_segment_alone() {
    let next = |is_linux: bool, again: Option<u64>| {
        let (stack, flight, mut repair) = opened(4);
        let entered = if is_linux { stack.clone() } else { plain() };
        repair.enter(flight.next(), true, &entered);
        if let Some(sequence) = again {
            repair.on_retransmission(at(150), sequence, sequence == 0);
        }
        repair.arm(at(150), &flight, &stack);
        repair.next(&flight, &stack)
    };
    // Two round trips after the segments left, and the timeout of 300 ms from now on.
    assert_eq!([None, Some(1), Some(0)].map(|again| next(true, again)), [300, 300, 450].map(at));
    assert_eq!(next(false, None), at(450));
}

#[test]
fn ticks_delay_the_suspects_of_rack_but_not_beyond_the_timeout() {
    let (mut stack, flight, mut repair) = opened(4);
    repair.await_suspect(at(210), Some(at(225)), &flight, &stack);
    assert_eq!(repair.next(&flight, &stack), at(225));
    stack.timers.tick = Span::from_millis(10);
    // 15 + 2 ms are two ticks, and one more from 210 ms on.
    repair.await_suspect(at(210), Some(at(225)), &flight, &stack);
    assert_eq!(repair.next(&flight, &stack), at(240));
    // One timer: where nothing else is suspect it still expires.
    repair.await_suspect(at(210), None, &flight, &stack);
    assert!(!repair.takes_suspect(at(239)) && repair.takes_suspect(at(240)));
    stack.timers.tick = Span::ZERO;
    repair.await_suspect(at(240), Some(at(250)), &flight, &stack);
    repair.await_suspect(at(240), None, &flight, &stack);
    assert!(!repair.takes_suspect(at(1000)));
}

// tcp_schedule_loss_probe
#[test]
fn with_ticks_a_probe_takes_the_place_of_racks_timer_once_new_data_leave() {
    let next = |leaves: bool, repairs: bool| {
        let (mut stack, flight, mut repair) = opened(4);
        stack.timers.tick = Span::from_millis(10);
        if repairs {
            repair.enter(4, true, &stack);
        }
        repair.await_suspect(at(210), Some(at(225)), &flight, &stack);
        if leaves {
            repair.on_new();
        }
        repair.arm(at(210), &flight, &stack);
        repair.next(&flight, &stack)
    };
    assert_eq!([next(false, false), next(false, true), next(true, true)], [at(240); 3]);
    // The timeout of the oldest, 300 ms after 100, comes before 210 + 2 * 100 + 2 ms.
    assert_eq!(next(true, false), at(400));
}

#[test]
fn a_test_of_a_timeout_goes_by_what_an_ack_covers_and_sacks() {
    // RFC 5682, section 3.1: an advance sends new data, then a duplicate or a SACK shows the loss to be real.
    let later = |summary: AckSummary, sack: bool| {
        let (stack, mut flight, mut repair) = opened(4);
        repair.enter_loss(at(300), false, false, &flight, &stack);
        flight.apply(at(310), &Acknowledgement { cumulative: 1, ..Acknowledgement::default() }, &stack);
        let partial = AckSummary { acknowledged: 1, ..AckSummary::default() };
        assert!(!repair.is_timeout_spurious(&partial, &flight, true, || true));
        assert!(repair.sends_new());
        let spurious = repair.is_timeout_spurious(&summary, &flight, sack, || true);
        (spurious, repair.sends_new())
    };
    let summary = |acknowledged, sacked| AckSummary { acknowledged, sacked, ..AckSummary::default() };
    assert_eq!(later(summary(0, 0), true), (false, false));
    assert_eq!(later(summary(1, 1), true), (false, false));
    assert_eq!(later(summary(1, 0), true), (false, true));
    // What left by the timeout and was sent once arrived: nothing was lost.
    let original = AckSummary { oldest_at: Some(at(100)), ..summary(1, 0) };
    assert_eq!(later(original, true), (true, false));
    // Beside one that was sent again this says nothing without SACK.
    let beside = AckSummary { ambiguous: true, ..original };
    assert_eq!([true, false].map(|sack| later(beside, sack).0), [true, false]);
}

#[test]
fn a_test_ends_where_there_is_nothing_new_to_send() {
    let (stack, mut flight, mut repair) = opened(4);
    repair.enter_loss(at(300), false, false, &flight, &stack);
    assert!(!repair.ends_test(4), "no new data are sent yet");
    flight.apply(at(310), &Acknowledgement { cumulative: 1, ..Acknowledgement::default() }, &stack);
    repair.is_timeout_spurious(&AckSummary { acknowledged: 1, ..AckSummary::default() }, &flight, true, || true);
    assert!(!repair.ends_test(5), "one was sent");
    assert!(repair.ends_test(4) && !repair.sends_new() && !repair.ends_test(4));
}

#[test]
fn the_repair_knows_what_its_probe_sent_again() {
    let (stack, flight, mut repair) = opened(2);
    assert_eq!(repair.repeated(), None);
    repair.on_probe(at(300), Some(0), &flight, &stack);
    assert_eq!(repair.repeated(), Some(0));
    repair.on_probe(at(300), None, &flight, &stack);
    assert_eq!(repair.repeated(), None);
}

#[test]
fn timeouts_are_counted() {
    let (_, _, mut repair) = opened(1);
    repair.count_timeout();
    repair.count_timeout();
    assert_eq!(repair.counters().timeouts, 2);
}
