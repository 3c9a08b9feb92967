//! Single segments and their state.

use super::detection::note_highest;
use super::*;
use crate::{Acknowledgement, MAX_THRESHOLD, linux};

const BY_RTT: RetransmissionTest<'static> = RetransmissionTest { minimum_rtt: Span::ZERO, clock: None };

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
    let mut highest = VecDeque::new();
    for number in (1..=most + 5).chain([0, most + 9, 3]) {
        note_highest(&mut highest, number);
    }
    let expected: Vec<u64> = std::iter::once(most + 9).chain((7..=most + 5).rev()).collect();
    assert_eq!(highest, expected);
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
    board.apply(&Acknowledgement { sack, ..Acknowledgement::default() }, Time::from_nanos(5), BY_RTT);
    assert_eq!((board.next_hole(0), board.next_hole(1), board.in_flight()), (Some(0), Some(1), 3));
    board.resend_hole(1, Time::from_nanos(7), state);
    // Three segments behind it had left.
    let flags = AMBIGUOUS | RETRANSMITTED | 3 << AHEAD;
    assert_eq!((board.segments[1].flags, board.segments[1].at), (flags, Time::from_nanos(7)));
    assert_eq!((board.next_hole(0), board.next_hole(1), board.in_flight()), (Some(0), Some(2), 4));
    // A retransmission on suspicion alone counts once, and keeps no mark of its first transmission.
    board.resend(2, Time::from_nanos(8), state, false);
    assert_eq!((board.segments[2].flags, board.in_flight()), (AMBIGUOUS | 2 << AHEAD, 4));
}

fn at(ms: u64) -> Time {
    Time::ZERO + Span::from_millis(ms)
}

/// Ten segments that left with a millisecond between them, of which these were SACKed at 50 ms.
fn sacked(blocks: &[(u64, u64)]) -> Scoreboard {
    let state = crate::tcp::flight::delivery_rate::DeliveryRate::default().state();
    let mut board = Scoreboard::default();
    (0..10).for_each(|ms| board.push(at(ms), state));
    let mut sack = crate::SackBlocks::default();
    blocks.iter().for_each(|&(start, end)| sack.push(0, start, end));
    board.apply(&Acknowledgement { sack, ..Acknowledgement::default() }, at(50), BY_RTT);
    board
}

fn flags(board: &Scoreboard) -> Vec<u32> {
    board.segments.iter().map(|segment| segment.flags).collect()
}

// RFC 6675, IsLost: three SACKed above it.
#[test]
fn a_segment_is_lost_below_as_many_sacked_ones_as_the_threshold() {
    let mut board = sacked(&[(3, 4), (6, 8)]);
    assert_eq!((board.detect_by_count(3), board.in_flight()), (3, 4));
    assert_eq!(flags(&board)[..5], [LOST, LOST, LOST, SACKED, 0]);
    // With two, those below 6 as well, and none twice.
    assert_eq!((board.detect_by_count(2), board.detect_by_count(2), board.lost_count()), (2, 0, 5));
    assert_eq!(board.detect_by_count(4), 0);
}

// Linux until 4.14: the highest SACKed segment counts, however few there are.
#[test]
fn forward_acknowledgement_counts_from_the_highest_sacked() {
    let mut board = sacked(&[(5, 6)]);
    assert_eq!((board.detect_forward(3), board.lost_count()), (3, 3));
    let state = crate::tcp::flight::delivery_rate::DeliveryRate::default().state();
    assert_eq!(board.next_lost(), Some(0));
    board.resend(0, at(60), state, true);
    board.push(at(60), state);
    // The retransmission is lost once a segment that was first sent after it is SACKed: 10 is the first.
    let mut sack = crate::SackBlocks::default();
    sack.push(0, 9, 10);
    board.apply(&Acknowledgement { sack, ..Acknowledgement::default() }, at(70), BY_RTT);
    assert_eq!((board.detect_forward(3), board.next_lost()), (3, Some(1)));
    let mut sack = crate::SackBlocks::default();
    sack.push(0, 9, 11);
    board.apply(&Acknowledgement { sack, ..Acknowledgement::default() }, at(80), BY_RTT);
    assert_eq!((board.detect_forward(3), board.next_lost()), (2, Some(0)));
}

// RFC 8985, section 6.2: sent sufficiently before one that has arrived.
#[test]
fn rack_waits_for_the_last_suspect() {
    // 6 left at 6 ms and was SACKed at 50 ms: an RTT of 44 ms. With 3 ms more what left by 3 ms is lost at 50 ms.
    let mut board = sacked(&[(6, 7)]);
    assert_eq!(board.detect_by_time(at(50), Span::from_millis(3)), (4, false, Some(at(5 + 47))));
    let lost = LOST | FOUND;
    assert_eq!(flags(&board)[..7], [lost, lost, lost, lost, 0, 0, SACKED]);
    // At 51 ms 4 is lost, and 5 still waits until 52 ms. Then none waits.
    assert_eq!(board.detect_by_time(at(51), Span::from_millis(3)), (1, false, Some(at(52))));
    assert_eq!(board.detect_by_time(at(52), Span::from_millis(3)), (1, false, None));
    assert_eq!((board.lost_count(), board.in_flight()), (6, 3));
    // 5 was SACKed too: the last suspect is 4.
    let mut two = sacked(&[(5, 7)]);
    assert_eq!(two.detect_by_time(at(50), Span::from_millis(3)), (4, false, Some(at(4 + 47))));
}

#[test]
fn rack_finds_lost_retransmissions_in_the_order_in_which_they_left() {
    let state = crate::tcp::flight::delivery_rate::DeliveryRate::default().state();
    let mut board = sacked(&[(6, 7)]);
    assert_eq!(board.detect_by_time(at(50), Span::ZERO).0, 6);
    board.resend(0, at(60), state, true);
    board.resend(1, at(61), state, true);
    board.resend(2, at(65), state, true);
    assert_eq!((board.in_flight(), board.retransmitted_count()), (6, 3));
    // The retransmission of 2 arrives at 105 ms: 40 ms. With a window of 4 ms the segments of 60 and 61 ms are lost at
    // 104 and 105 ms.
    let mut sack = crate::SackBlocks::default();
    sack.push(0, 2, 3);
    board.apply(&Acknowledgement { sack, ..Acknowledgement::default() }, at(105), BY_RTT);
    // So are 7 to 9, which left long before.
    assert_eq!(board.detect_by_time(at(104), Span::from_millis(4)), (4, true, Some(at(61 + 44))));
    assert_eq!(board.next_lost(), Some(0));
    assert_eq!(board.detect_by_time(at(105), Span::from_millis(4)), (1, true, None));
    assert_eq!((board.lost_count(), board.retransmitted_count()), (8, 0));
}

// In Linux a segment that RACK finds leaves its list (tcp_rack_detect_loss). One that a timeout deems lost does not.
#[test]
fn after_a_spurious_timeout_rack_looks_again_at_what_it_had_not_found() {
    let mut board = sacked(&[(6, 7)]);
    assert_eq!(board.detect_by_time(at(46), Span::ZERO).0, 3, "what left by 2 ms");
    assert_eq!(board.lose_all(Time::NEVER), 6);
    board.unmark_lost();
    assert_eq!((board.detect_by_time(at(60), Span::ZERO).0, board.lost_count()), (3, 3), "3 to 5, not 0 to 2");
}

// RFC 8985, section 6.3: all but segments that left within the RTT, and always the first.
#[test]
fn a_timeout_loses_all_but_what_left_lately_and_always_the_first() {
    let mut board = sacked(&[(4, 5)]);
    // RACK's RTT is 46 ms: at 52 ms what left after 6 ms may still arrive.
    assert_eq!(board.recent_since(at(52)), at(6));
    assert_eq!(board.lose_all(at(6)), 6);
    let expected = [LOST, LOST, LOST, LOST, SACKED, LOST, LOST, 0, 0, 0];
    assert_eq!((flags(&board), board.in_flight(), board.lost_count()), (expected.to_vec(), 3, 6));
    let mut all = sacked(&[(4, 5)]);
    assert_eq!((all.lose_all(Time::NEVER), all.in_flight()), (9, 0));
    // The first is lost even if it left again just now. Its retransmission was in flight, so it counts once more.
    let state = crate::tcp::flight::delivery_rate::DeliveryRate::default().state();
    board.resend(0, at(60), state, true);
    board.resend(1, at(60), state, true);
    assert_eq!((board.lose_all(at(59)), board.in_flight(), board.retransmitted_count()), (4, 1, 1));
    assert_eq!(
        (board.next_lost(), board.holes().retransmissions.front().map(|retransmission| retransmission.number)),
        (Some(0), Some(1))
    );
    // A spurious timeout: segments sent once are not lost any more.
    board.unmark_lost();
    assert_eq!((board.lost_count(), board.next_lost()), (2, Some(0)));
}

/// Four segments that left at 0, 10, 20 and 30 ms, and an ACK at 100 ms for the segments in `blocks`.
fn four(blocks: &[(u64, u64)]) -> (Scoreboard, AckSummary) {
    let at = |ms| Time::ZERO + Span::from_millis(ms);
    let state = crate::tcp::flight::delivery_rate::DeliveryRate::default().state();
    let mut board = Scoreboard::default();
    for n in 0..4 {
        board.push(at(10 * n), state);
    }
    let mut sack = crate::SackBlocks::default();
    blocks.iter().for_each(|&(start, end)| sack.push(0, start, end));
    let ack = Acknowledgement { sack, ..Acknowledgement::default() };
    let summary = board.apply(&ack, at(100), BY_RTT);
    (board, summary)
}

#[test]
fn the_highest_number_of_an_ack_gives_rack_its_rtt_whatever_the_order_of_blocks() {
    // Segment 3 left at 30 ms.
    for blocks in [[(3, 4), (1, 2)], [(1, 2), (3, 4)]] {
        assert_eq!(four(&blocks).0.rack.rtt, Span::from_millis(70), "{blocks:?}");
    }
}

#[test]
fn segments_in_order_are_taken_as_an_ack_of_any_kind_takes_them() {
    let seen = |board: &Scoreboard, summary: &AckSummary| {
        format!("{summary:?} {} {:?} {:?}", board.first, board.rack, board.segments)
    };
    // Five segments, of which the application limited every combination.
    for limited in 0..1u32 << 5 {
        let mut board = Scoreboard::default();
        for number in 0..5 {
            let state = crate::tcp::flight::delivery_rate::DeliveryRate::default().state();
            board.push(at(number), DeliveryState { application_limited: limited >> number & 1 == 1, ..state });
        }
        for cumulative in 1..=5 {
            let (mut one, mut other, mut any) = (board.clone(), board.clone(), AckSummary::default());
            let segments = one.in_order(cumulative).expect("all were sent once");
            let summary = one.take_in_order(segments, at(100));
            let ack = Acknowledgement { cumulative, ..Acknowledgement::default() };
            other.apply_any(&ack, at(100), BY_RTT, &mut any);
            assert_eq!(seen(&one, &summary), seen(&other, &any), "{limited:b} to {cumulative}");
            assert_eq!((summary.delivered, one.first), (cumulative as u32, cumulative));
        }
        assert!(board.in_order(0).is_none() && board.in_order(6).is_none());
    }
    // One that was sent again, the second of ten, or a SACKed one above the point: they are not in order.
    let mut board = sacked(&[]);
    board.segments[1].flags = AMBIGUOUS;
    assert_eq!([1, 2, 3, 10].map(|cumulative| board.in_order(cumulative).is_some()), [true, false, false, false]);
    assert!(sacked(&[(5, 6)]).in_order(2).is_none());
}

#[test]
fn after_a_spurious_reduction_original_and_retransmission_are_both_in_flight() {
    let at = |ms| Time::ZERO + Span::from_millis(ms);
    let state = crate::tcp::flight::delivery_rate::DeliveryRate::default().state();
    let (mut board, _) = four(&[(3, 4)]);
    assert_eq!(board.detect_by_time(at(100), Span::ZERO), (3, false, None));
    assert_eq!(board.next_lost(), Some(0));
    board.resend(0, at(100), state, true);
    assert_eq!(board.in_flight(), 1);
    board.unmark_all();
    // Segments 0, 1 and 2, and 0 once more.
    assert_eq!((board.in_flight(), board.next_lost(), board.retransmitted_count()), (4, None, 1));
    // RACK has left them behind, and finds the retransmission alone: of two in flight one is lost, which is not sent
    // again.
    board.rack.last = board.rack.last.max(Retransmission { number: 9, at: at(200), sent_to: 10 }.place());
    assert_eq!(board.detect_by_time(at(400), Span::ZERO), (1, false, None));
    assert_eq!((board.in_flight(), board.next_lost()), (3, None));
    board.check(true, true);
}

#[test]
fn lost_segments_are_sent_again_by_their_numbers() {
    let at = |ms| Time::ZERO + Span::from_millis(ms);
    let state = crate::tcp::flight::delivery_rate::DeliveryRate::default().state();
    let (mut board, _) = four(&[(3, 4)]);
    board.detect_by_time(at(100), Span::ZERO);
    for number in 0..3 {
        board.resend(number, at(100 + number), state, true);
    }
    // What left after them has arrived: all three are lost again.
    board.rack.last = Retransmission { number: 9, at: at(200), sent_to: 10 }.place();
    assert_eq!(board.detect_by_time(at(400), Span::ZERO), (3, true, None));
    let mut again = Vec::new();
    while let Some(number) = board.next_lost() {
        again.push(number);
        board.resend(number, at(400), state, true);
    }
    assert_eq!(again, [0, 1, 2]);
}

#[test]
fn a_duplicate_sack_of_what_was_sent_again_shows_reordering_where_the_original_was_sacked() {
    let at = |ms| Time::ZERO + Span::from_millis(ms);
    let state = crate::tcp::flight::delivery_rate::DeliveryRate::default().state();
    let (mut board, _) = four(&[(3, 4)]);
    board.resend(1, at(100), state, true);
    let mut sack = crate::SackBlocks::default();
    sack.push(0, 1, 2);
    let arrival = Acknowledgement { sack, ..Acknowledgement::default() };
    let summary = board.apply(&arrival, at(110), BY_RTT);
    assert_eq!((summary.late, summary.duplicate_was_retransmitted), (None, false));
    let summary = board.apply(&Acknowledgement { duplicate: Some(1), ..arrival }, at(120), BY_RTT);
    assert_eq!((summary.late, summary.duplicate_was_retransmitted), (Some(1), true));
    // Segment 2 was sent once: the network duplicated it.
    let summary = board.apply(&Acknowledgement { duplicate: Some(2), ..arrival }, at(130), BY_RTT);
    assert_eq!((summary.late, summary.duplicate_was_retransmitted), (None, false));
}

#[test]
fn a_timestamp_from_before_a_retransmission_tells_rack_nothing() {
    let at = |ms| Time::ZERO + Span::from_millis(ms);
    let state = crate::tcp::flight::delivery_rate::DeliveryRate::default().state();
    let clock = linux().clock;
    let test = RetransmissionTest { clock: Some(&clock), ..BY_RTT };
    for (echo, advances) in [(99, false), (100, true)] {
        let (mut board, _) = four(&[]);
        board.resend(0, at(100), state, true);
        let ack = Acknowledgement { cumulative: 1, echo: at(echo), ..Acknowledgement::default() };
        assert_eq!(board.apply(&ack, at(150), test).advances_rack, advances);
    }
}

#[test]
fn retransmissions_below_the_first_segment_are_forgotten_with_the_next_one() {
    let state = crate::tcp::flight::delivery_rate::DeliveryRate::default().state();
    let mut board = sacked(&[(6, 7)]);
    assert_eq!(board.detect_by_time(at(50), Span::ZERO).0, 6);
    let mut resent = |cumulative, number, ms| {
        board.apply(&Acknowledgement { cumulative, ..Acknowledgement::default() }, at(ms), BY_RTT);
        board.resend(number, at(ms), state, true);
        board.holes().retransmissions.iter().map(|retransmission| retransmission.number).collect::<Vec<_>>()
    };
    assert_eq!(resent(0, 1, 60), [1]);
    assert_eq!(resent(0, 2, 61), [1, 2]);
    assert_eq!(resent(2, 3, 105), [2, 3]);
}
