//! The front door of the repair.

use control::Wants;

use super::*;
use crate::linux;

fn at(ms: u64) -> Time {
    Time::ZERO + Span::from_millis(ms)
}

/// Linux with exact timers, after a handshake of 100 ms, and `segments` that left at its end.
fn opened(segments: u32) -> (Stack, Flight, Repair) {
    let mut stack = linux();
    stack.timers.tick = Span::ZERO;
    let mut flight = Flight::new(&stack, &Wants::default());
    flight.open(at(0), Some(at(100)), &stack.clock);
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
    assert_eq!(opened(2).2.next(), at(300));
    // 2 * 100 + 200 ms; the timeout is 100 + max(4 * 50, 200) = 300 ms.
    assert_eq!(opened(1).2.next(), at(400));
    assert_eq!(opened(0).2.next(), Time::NEVER);
}

#[test]
fn one_probe_leaves_and_then_the_timeout_of_the_oldest_segment_counts() {
    let (stack, flight, mut repair) = opened(2);
    assert_eq!(repair.take_due(at(299), &flight, &stack), Due::Nothing);
    assert!(!repair.take_probe());
    assert_eq!(repair.take_due(at(300), &flight, &stack), Due::Nothing);
    assert!(repair.take_probe() && !repair.take_probe());
    repair.on_probe(at(300), Some(1), &flight, &stack);
    assert_eq!((repair.next(), repair.counters().retransmitted), (at(600), 1));
    assert_eq!(repair.take_due(at(600), &flight, &stack), Due::Timeout);
}

#[test]
fn an_echo_is_answered_once_for_what_was_sent_before() {
    let (stack, flight, mut repair) = opened(4);
    assert!(repair.answers_echo(1));
    repair.enter_reduction();
    repair.begin(flight.next(), &stack);
    assert!(!repair.answers_echo(4), "it goes on");
    repair.leave();
    assert_eq!([4, 5].map(|first| repair.answers_echo(first)), [false, true]);
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
fn ticks_delay_the_suspects_of_rack_but_not_beyond_the_timeout() {
    let (mut stack, flight, mut repair) = opened(4);
    repair.await_suspect(at(210), Some(at(225)), &flight, &stack);
    assert_eq!(repair.next(), at(225));
    stack.timers.tick = Span::from_millis(10);
    // 15 + 2 ms are two ticks, and one more from 210 ms on.
    repair.await_suspect(at(210), Some(at(225)), &flight, &stack);
    assert_eq!(repair.next(), at(240));
    repair.await_suspect(at(210), None, &flight, &stack);
    assert!(!repair.takes_suspect(at(1000)));
}
