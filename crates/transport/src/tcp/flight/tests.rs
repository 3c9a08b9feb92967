//! The front door of the flight.

use control::RttSample;

use super::*;
use crate::tcp::repair::Repair;
use crate::{linux, linux_3_5, real_1992};

fn at(ms: u64) -> Time {
    Time::ZERO + Span::from_millis(ms)
}

/// Ten segments that left with a millisecond between them.
fn ten(stack: &Stack) -> Flight {
    let mut flight = Flight::new(stack, &Wants::default());
    flight.open(at(0), None, stack);
    for ms in 0..10 {
        flight.push(at(ms));
    }
    flight
}

fn ack(cumulative: u64) -> Acknowledgement {
    Acknowledgement { cumulative, ..Acknowledgement::default() }
}

/// Acknowledges up to `cumulative`: the advance and the losses found without SACK.
fn acknowledge(flight: &mut Flight, ms: u64, cumulative: u64) -> (u32, u32) {
    let mut summary = flight.apply(at(ms), &ack(cumulative), &real_1992());
    let lost = flight.count_duplicates(&mut summary, Repair::new().stage());
    (summary.acknowledged, lost)
}

#[test]
fn an_ack_gives_an_rtt_a_rate_and_the_end_of_a_round() {
    let stack = linux();
    let mut flight = ten(&stack);
    let summary = flight.apply(at(50), &ack(2), &stack);
    assert_eq!((summary.acknowledged, flight.in_flight()), (2, 8));
    let sample = flight.take_samples(at(50), &ack(2), &summary, &stack, false);
    // The second left at 1 ms.
    assert_eq!(sample.map(|sample| sample.value), Some(Span::from_millis(49)));
    let rate = flight.delivery_rate(at(50), &summary, Span::ZERO);
    assert_eq!(rate.map(|rate| (rate.delivered, rate.interval)), Some((2, Span::from_millis(50))));
    assert!(flight.round_ends());
    flight.apply(at(51), &ack(10), &stack);
    assert!(!flight.round_ends(), "all of that round");
}

#[test]
fn the_third_duplicate_shows_a_loss_without_sack() {
    let mut flight = ten(&real_1992());
    assert_eq!(acknowledge(&mut flight, 50, 1), (1, 0));
    assert_eq!([51, 52, 53, 54].map(|ms| acknowledge(&mut flight, ms, 1)), [(0, 0), (0, 0), (0, 1), (0, 0)]);
    assert_eq!(flight.next_lost(), Some(1));
}

#[test]
fn without_sack_linux_counts_no_duplicates_while_a_repair_waits_for_more_than_its_end() {
    let stack = linux().without_sack();
    let mut flight = ten(&stack);
    let mut repair = Repair::new();
    // Fast recovery to the tenth segment, with three duplicates before. Then one more, and all is acknowledged.
    let duplicate = |flight: &mut Flight, cumulative, stage| {
        let mut summary = flight.apply(at(50), &ack(cumulative), &stack);
        flight.emulate_sack(&mut summary, stage);
        (flight.sacked_count(), summary.delivered)
    };
    assert_eq!([1, 2, 3].map(|_| duplicate(&mut flight, 0, repair.stage())), [(1, 1), (2, 1), (3, 1)]);
    repair.enter(flight.next(), true, &stack);
    repair.begin(flight.next(), &stack);
    assert_eq!(duplicate(&mut flight, 0, repair.stage()), (4, 1));
    assert_eq!(duplicate(&mut flight, 10, repair.stage()), (0, 6));
    flight.push(at(60));
    flight.push(at(60));
    assert_eq!(duplicate(&mut flight, 10, repair.stage()), (0, 0));
    // The repair of a timeout counts none either.
    repair.enter(flight.next(), false, &stack);
    assert_eq!(duplicate(&mut flight, 10, repair.stage()), (0, 0));
}

#[test]
fn without_sack_an_ack_in_the_repair_of_a_timeout_counts_duplicates_anew() {
    let stack = linux().without_sack();
    let mut flight = ten(&stack);
    let mut repair = Repair::new();
    // Until the tenth segment, with new ones above it.
    repair.enter_loss(at(40), false, false, &flight, &stack);
    repair.begin(10, &stack);
    let mut duplicate = |cumulative, stage| {
        let mut summary = flight.apply(at(50), &ack(cumulative), &stack);
        flight.emulate_sack(&mut summary, stage);
        flight.push(at(50));
        (flight.sacked_count(), summary.delivered)
    };
    assert_eq!(duplicate(0, repair.stage()), (0, 0));
    assert_eq!([1, 2, 3].map(|_| duplicate(0, repair.stage())), [(1, 1), (2, 1), (3, 1)]);
    // Two are acknowledged, of which one was counted as a duplicate.
    assert_eq!(duplicate(2, repair.stage()), (0, 1));
}

#[test]
fn after_a_spurious_reduction_segments_deemed_lost_are_in_flight_again() {
    let stack = linux();
    let mut flight = ten(&stack);
    let lost = flight.lose_outstanding(Time::NEVER, &stack, true);
    assert_eq!((lost, flight.in_flight(), flight.lost()), (10, 0, 10));
    flight.unmark_lost(&AckSummary::default());
    assert_eq!((flight.in_flight(), flight.next_lost(), flight.take_unreported()), (10, None, 0));
}

#[test]
fn losses_are_reported_to_the_controller_once() {
    let mut flight = ten(&linux());
    flight.note_lost(2);
    flight.note_lost(1);
    assert_eq!([flight.take_unreported(), flight.take_unreported()], [3, 0]);
    assert_eq!(flight.lost(), 3);
}

#[test]
fn sacked_segments_show_the_highest_of_them_and_what_was_delivered() {
    let stack = linux();
    let mut flight = ten(&stack);
    assert_eq!((flight.highest_sacked(), flight.threshold(), flight.delivered()), (None, 3, 0));
    let mut sack = crate::SackBlocks::default();
    sack.push(0, 4, 6);
    let sacked = Acknowledgement { sack, ..ack(0) };
    let summary = flight.apply(at(50), &sacked, &stack);
    flight.delivery_rate(at(50), &summary, Span::ZERO);
    assert_eq!((flight.highest_sacked(), flight.sacked_count(), flight.delivered()), (Some(5), 2, 2));
    assert_eq!((flight.last_unsacked(), flight.next_hole(0), flight.next_hole(4)), (Some(9), Some(0), None));
    // Nothing covered: the samples come from segments that were sent once.
    let sample = flight.take_samples(at(50), &sacked, &summary, &stack, false);
    assert_eq!(sample.map(|sample| sample.value), Some(Span::from_millis(45)));
}

#[test]
fn an_ack_of_what_was_sent_twice_gives_a_sample_by_its_timestamp_alone() {
    let without = Stack { timestamps: false, ..linux() };
    let ms = Span::from_millis;
    // Linux 3.5 gives that sample to the timeout alone.
    for (stack, smoothed, smallest) in
        [(linux(), ms(40), Some(40)), (linux_3_5(), ms(40), None), (without, ms(0), None)]
    {
        let mut flight = ten(&stack);
        flight.resend_on_suspicion(at(20), 0, false);
        let echo = Acknowledgement { echo: at(20), ..ack(1) };
        let summary = flight.apply(at(60), &echo, &stack);
        let sample = flight.take_samples(at(60), &echo, &summary, &stack, false);
        let expected = smallest.map(|rtt| RttSample { value: ms(rtt), delayed: false });
        assert_eq!((sample, flight.rtt().smoothed), (expected, smoothed));
        assert_eq!(flight.rtt().minimum, smallest.map_or(Span::MAX, ms));
    }
}

// TCP_TS_HZ, and at least one tick.
#[test]
fn a_sample_by_a_timestamp_counts_its_ticks() {
    for (echo, now, ticks) in [(20_900, 60_100, 40), (60_000, 60_100, 1)] {
        let [echo, now] = [echo, now].map(|us| Time::ZERO + Span::from_micros(us));
        let stack = linux();
        let mut flight = ten(&stack);
        flight.resend_on_suspicion(echo, 0, false);
        let echo = Acknowledgement { echo, ..ack(1) };
        let summary = flight.apply(now, &echo, &stack);
        let sample = flight.take_samples(now, &echo, &summary, &stack, false);
        assert_eq!(sample.map(|sample| sample.value), Some(Span::from_millis(ticks)));
    }
}

#[test]
fn what_is_sacked_beside_a_retransmission_gives_a_sample_of_its_own() {
    let stack = linux();
    let mut flight = ten(&stack);
    flight.resend_on_suspicion(at(20), 0, false);
    let mut sack = crate::SackBlocks::default();
    sack.push(1, 4, 6);
    let both = Acknowledgement { sack, echo: at(20), ..ack(1) };
    let summary = flight.apply(at(60), &both, &stack);
    let sample = flight.take_samples(at(60), &both, &summary, &stack, false);
    assert_eq!(sample.map(|sample| sample.value), Some(Span::from_millis(55)), "segment 5 left at 5 ms");
}

#[test]
fn the_state_at_a_departure_is_that_of_the_connection() {
    let stack = linux();
    let mut flight = ten(&stack);
    let summary = flight.apply(at(50), &ack(2), &stack);
    flight.delivery_rate(at(50), &summary, Span::ZERO);
    flight.note_lost(3);
    assert_eq!(flight.count_marks(&Acknowledgement { marked: 4, ..ack(2) }), 4);
    flight.application_limits(8);
    let sequence = flight.push(at(51));
    let expected = SentState { at: at(51), delivered: 2, lost: 3, marked: 4, in_flight: 9, application_limited: true };
    assert_eq!((sequence, flight.state_at_departure(at(51), sequence)), (10, expected));
}

#[test]
fn only_an_ack_that_advances_gives_a_sample_by_its_timestamp() {
    let stack = linux();
    let mut flight = ten(&stack);
    let duplicate = Acknowledgement { echo: at(5), ..ack(0) };
    let summary = flight.apply(at(60), &duplicate, &stack);
    assert_eq!(flight.take_samples(at(60), &duplicate, &summary, &stack, false), None);
    assert_eq!(flight.rtt().smoothed, Span::ZERO);
}

#[test]
fn a_rate_says_whether_its_segment_left_again() {
    for again in [false, true] {
        let stack = linux();
        let mut flight = ten(&stack);
        if again {
            flight.resend_on_suspicion(at(20), 1, false);
        }
        let summary = flight.apply(at(40), &ack(1), &stack);
        flight.take_samples(at(40), &ack(1), &summary, &stack, false);
        let summary = flight.apply(at(60), &ack(2), &stack);
        let rate = flight.delivery_rate(at(60), &summary, Span::ZERO);
        assert_eq!(rate.map(|rate| rate.is_retransmission), Some(again));
    }
}

#[test]
fn a_sack_of_what_left_before_the_oldest_left_last_is_of_an_older_arrival() {
    let stack = linux();
    let mut flight = ten(&stack);
    let mut sacked = |ms, start, end| {
        let mut sack = crate::SackBlocks::default();
        sack.push(0, start, end);
        let summary = flight.apply(at(ms), &Acknowledgement { sack, ..ack(0) }, &stack);
        let older = flight.shows_older_arrival(&summary);
        if ms == 50 {
            flight.resend_on_suspicion(at(55), 0, false);
            flight.push(at(56));
        }
        older
    };
    // 3 left at 3 ms, after the oldest at 0. After the oldest left again at 55 ms, 4 is older and 10 is not. Nothing
    // new shows nothing.
    assert_eq!(
        [(50, 3, 4), (60, 3, 5), (61, 10, 11), (62, 10, 11)].map(|(ms, s, e)| sacked(ms, s, e)),
        [false, true, false, false]
    );
}

#[test]
fn bytes_count_for_a_segment_at_most_only_while_a_timeout_is_repaired() {
    let mut stack = linux();
    stack.growth.counting = Counting::Bytes { limit: 2 };
    let mut flight = ten(&stack);
    let mut repair = Repair::new();
    let counting = |flight: &Flight, repair: &Repair| flight.counting(repair.stage(), &stack.growth);
    flight.lose_outstanding(Time::NEVER, &stack, true);
    assert_eq!(counting(&flight, &repair), Counting::Bytes { limit: 2 });
    repair.enter_loss(at(300), false, false, &flight, &stack);
    assert_eq!(counting(&flight, &repair), Counting::Bytes { limit: 1 });
    (0..10).for_each(|number| flight.resend(at(300), number, &stack));
    assert_eq!(counting(&flight, &repair), Counting::Bytes { limit: 2 }, "all was sent again");
}

#[test]
fn recoveries_without_a_duplicate_narrow_the_window_of_rack() {
    let mut flight = ten(&linux());
    flight.reordering.observe(1);
    flight.reordering.on_duplicate_sack(0, 10);
    let window = |flight: &Flight| flight.reordering.window(true, Span::from_millis(40), Span::from_millis(60));
    (0..15).for_each(|_| flight.on_recovered());
    assert_eq!(window(&flight), Span::from_millis(20));
    flight.on_recovered();
    assert_eq!(window(&flight), Span::from_millis(10));
}

#[test]
fn an_ack_is_described_with_its_timestamp_if_the_stack_has_them() {
    for timestamps in [true, false] {
        let stack = Stack { timestamps, ..linux() };
        let flight = ten(&stack);
        let received = Acknowledgement { echo: at(5), one_way_delay: Span::from_millis(7), ..ack(0) };
        let described = flight.describe(&received, &AckSummary::default(), &stack);
        assert_eq!(described.timestamp_echo, if timestamps { at(5) } else { Time::NEVER });
        assert_eq!((described.one_way_delay, described.in_flight), (Some(Span::from_millis(7)), 10));
        assert_eq!((described.acknowledged_to, described.sent_to), (0, 10));
    }
}

#[test]
fn the_handshake_counts_in_the_smallest_rtt_of_the_path_for_five_minutes() {
    let stack = linux();
    let mut flight = Flight::new(&stack, &Wants::default());
    flight.open(at(40), Some(at(0)), &stack);
    let mut acknowledge = |second: u64| {
        let sent = at(1000 * second);
        let number = flight.push(sent);
        let ack = Acknowledgement { cumulative: number + 1, ..Acknowledgement::default() };
        let now = sent + Span::from_millis(41);
        let summary = flight.apply(now, &ack, &stack);
        flight.take_samples(now, &ack, &summary, &stack, false);
        (flight.shortest(), flight.rtt().minimum)
    };
    let ms = Span::from_millis;
    assert_eq!(acknowledge(1), (ms(40), ms(41)), "and 41 for controllers");
    assert_eq!(acknowledge(300), (ms(40), ms(41)));
    assert_eq!(acknowledge(301), (ms(41), ms(41)));
}
