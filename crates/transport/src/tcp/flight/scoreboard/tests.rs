//! Single segments and their state.

use super::*;

#[test]
fn a_segment_is_newer_across_the_wrap_of_what_was_delivered() {
    let sent = |delivered, at| Sent {
        at: Time::from_nanos(at),
        delivered_at: Time::ZERO,
        first_at: Time::ZERO,
        delivered,
        flags: 0,
    };
    // Five more: 2^32 - 1, 0, 1, 2, 3.
    let (before, after) = (sent(u32::MAX - 1, 9), sent(3, 0));
    assert!(after.is_newer(&before));
    assert!(!before.is_newer(&after));
    assert!(after.is_newer(&after), "of equals the later counts");
    assert!(!after.is_newer(&sent(3, 1)), "it left earlier");
}

#[test]
fn the_highest_numbers_are_kept_as_far_as_a_threshold_may_ask() {
    let most = u64::from(MAX_THRESHOLD);
    let mut holes = Holes::default();
    for number in (1..=most + 5).chain([0, most + 9, 3]) {
        holes.note_highest(number);
    }
    let expected: Vec<u64> = std::iter::once(most + 9).chain((7..=most + 5).rev()).collect();
    assert_eq!(holes.highest_sacked, expected);
}

#[test]
fn a_ring_that_was_large_gives_memory_back() {
    let state = crate::tcp::flight::delivery_rate::DeliveryRate::default().state();
    let mut board = Scoreboard::default();
    (0..1024).for_each(|_| board.push(Time::ZERO, state));
    board.shrink();
    assert!(board.segments.capacity() >= 1024, "in use");
    board.segments.truncate(100);
    board.shrink();
    let capacity = board.segments.capacity();
    assert!((200..=300).contains(&capacity), "{capacity}");
    board.segments.truncate(60);
    board.shrink();
    assert_eq!(board.segments.capacity(), capacity, "at most four times as much is no waste");
}

#[test]
fn a_hole_that_leaves_again_is_in_flight_twice_and_ambiguous() {
    let state = crate::tcp::flight::delivery_rate::DeliveryRate::default().state();
    let mut board = Scoreboard::default();
    let limited = DeliveryState { application_limited: true, ..state };
    (0..4).for_each(|_| board.push(Time::ZERO, limited));
    let mut sack = crate::SackBlocks::default();
    sack.push(0, 3, 4);
    board.apply(&Acknowledgement { sack, ..Acknowledgement::default() }, Time::from_nanos(5), Span::ZERO);
    assert_eq!((board.next_hole(0), board.next_hole(1), board.in_flight()), (Some(0), Some(1), 3));
    board.resend_hole(1, Time::from_nanos(7), state);
    assert_eq!((board.segments[1].flags, board.segments[1].at), (AMBIGUOUS | RETRANSMITTED, Time::from_nanos(7)));
    assert_eq!((board.next_hole(0), board.next_hole(1), board.in_flight()), (Some(0), Some(2), 4));
    // A retransmission on suspicion alone counts once, and keeps no mark of its first transmission.
    board.resend(2, Time::from_nanos(8), state, false);
    assert_eq!((board.segments[2].flags, board.in_flight()), (AMBIGUOUS, 4));
}
