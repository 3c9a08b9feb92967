//! The receiver: the times and the content of its ACKs.

use transport::{Conceals, Data, Delay, Marks, Receiver, Stack};
use units::{Bytes, Span, Time};

use crate::harness::{ReceiverScript, at, drop_sack, ms, plain, selective, with};

fn delaying() -> Stack {
    with(plain(), |s| s.acks.delay = Delay::Constant { every: 2, wait: ms(100) })
}

fn stamping() -> Stack {
    with(delaying(), |s| s.timestamps = true)
}

// RFC 5681, section 4.2, and RFC 9293, section 3.8.6.3.
#[test]
fn every_second_segment_is_acknowledged_at_once_and_a_lone_one_after_the_timeout() {
    let mut r = ReceiverScript::new(&delaying());
    r.arrives(0).no_ack().timer_at(100);
    r.at(10).arrives(1).acks(2);
    r.at(20).arrives(2).no_ack().timer_at(120);
    r.at(120).acks(3);
}

#[test]
fn without_delay_every_segment_is_acknowledged() {
    let mut r = ReceiverScript::new(&with(delaying(), |s| s.acks.delay = Delay::None));
    r.arrives(0).acks(1);
    r.arrives(1).acks(2);
}

#[test]
fn quick_acks_come_first() {
    let mut r = ReceiverScript::new(&with(delaying(), |s| s.acks.quick = 2));
    r.arrives(0).acks(1);
    r.arrives(1).acks(2);
    r.arrives(2).no_ack();
}

#[test]
fn linux_acknowledges_segments_one_by_one_until_its_receive_window_is_open() {
    // Counted on the wire, with a receive buffer of 8 MiB.
    let mut r = ReceiverScript::new(&with(transport::linux(), |s| {
        s.acks.delay = Delay::Adaptive { every: 2, wait: ms(100), most: ms(200) }
    }));
    for n in 0..380 {
        r.arrives(n).acks(n + 1);
    }
    r.arrives(380).no_ack();
    r.arrives(381).acks(382);
}

#[test]
fn a_segment_out_of_order_and_one_that_fills_a_hole_are_acknowledged_at_once() {
    let mut r = ReceiverScript::new(&delaying());
    r.arrives(2).acks_blocks(0, &[(2, 3)]);
    r.arrives(0).acks_blocks(1, &[(2, 3)]);
    r.arrives(1).acks(3);
    r.arrives(3).no_ack();
}

// RFC 2018, section 4.
#[test]
fn blocks_come_most_recent_first_and_at_most_four() {
    let mut r = ReceiverScript::new(&delaying());
    r.arrives(2).acks_blocks(0, &[(2, 3)]);
    r.arrives(4).acks_blocks(0, &[(4, 5), (2, 3)]);
    r.arrives(6).acks_blocks(0, &[(6, 7), (4, 5), (2, 3)]);
    r.arrives(8).acks_blocks(0, &[(8, 9), (6, 7), (4, 5), (2, 3)]);
    r.arrives(10).acks_blocks(0, &[(10, 11), (8, 9), (6, 7), (4, 5)]);
    r.arrives(5).acks_blocks(0, &[(4, 7), (10, 11), (8, 9)]);
}

// RFC 7323, appendix A: the timestamps take the room of a block.
#[test]
fn with_timestamps_three_blocks_fit_and_a_duplicate_is_one_of_them() {
    let mut r = ReceiverScript::new(&stamping());
    for number in [2, 4, 6] {
        r.arrives(number);
        let blocks: &[_] = match number {
            2 => &[(2, 3)],
            4 => &[(4, 5), (2, 3)],
            _ => &[(6, 7), (4, 5), (2, 3)],
        };
        r.acks_blocks(0, blocks);
    }
    r.arrives(8).acks_blocks(0, &[(8, 9), (6, 7), (4, 5)]);
    // RFC 2883, section 4: first the duplicate, then the block that contains it.
    let ack = r.arrives(4).acks_blocks(0, &[(4, 5), (8, 9)]);
    assert_eq!(ack.duplicate, Some(4));
    assert_eq!(r.receiver().wire_size(&ack), Bytes::new(52 + 4 + 3 * 8));
}

#[test]
fn a_segment_that_was_delivered_before_is_reported_at_once() {
    let mut r = ReceiverScript::new(&delaying());
    r.arrives(0).arrives(1).acks(2);
    assert_eq!(r.arrives(0).acks(2).duplicate, Some(0));
    r.arrives(2).arrives(3);
    assert_eq!(r.acks(4).duplicate, None, "once");
}

#[test]
fn without_sack_there_are_no_blocks_and_duplicates_are_plain() {
    let mut r = ReceiverScript::new(&with(delaying(), drop_sack));
    r.arrives(1).acks(0);
    assert_eq!(r.arrives(1).acks(0).duplicate, None);
}

// RFC 7323, section 4.3.
#[test]
fn a_delayed_ack_echoes_the_first_segment_it_covers() {
    let mut r = ReceiverScript::new(&stamping());
    r.arrives_sent_at(0, 0).at(10).arrives_sent_at(1, 10);
    assert_eq!(r.acks(2).echo, at(0));
}

#[test]
fn above_a_hole_the_echo_stands_still_and_what_fills_the_hole_moves_it() {
    let mut r = ReceiverScript::new(&stamping());
    r.at(40).arrives_sent_at(0, 1).at(41).arrives_sent_at(1, 2);
    assert_eq!(r.acks(2).echo, at(1));
    r.at(42).arrives_sent_at(3, 4);
    assert_eq!(r.acks_blocks(2, &[(3, 4)]).echo, at(1));
    r.at(43).arrives_sent_at(4, 5);
    assert_eq!(r.acks_blocks(2, &[(3, 5)]).echo, at(1));
    r.at(90).arrives_sent_at(2, 50);
    assert_eq!(r.acks(5).echo, at(50));
}

#[test]
fn without_timestamps_nothing_is_echoed() {
    let mut r = ReceiverScript::new(&delaying());
    r.arrives(1);
    assert_eq!(r.acks_blocks(0, &[(1, 2)]).echo, Time::NEVER);
}

// RFC 3168, section 6.1.3.
#[test]
fn a_mark_is_echoed_until_the_sender_says_that_it_reduced() {
    let mut r = ReceiverScript::new(&with(delaying(), |s| s.acks.delay = Delay::None));
    assert!(!r.arrives(0).acks(1).congestion_echo);
    assert!(r.arrives_marked(1).acks(2).congestion_echo);
    assert!(r.arrives(2).acks(3).congestion_echo);
    assert!(!r.data(3, |data| Data { reduced: true, ..data }, false).acks(4).congestion_echo);
    assert!(r.data(4, |data| Data { reduced: true, ..data }, true).acks(5).congestion_echo, "a new mark");
}

#[test]
fn bytes_count_once_they_are_in_order_and_the_last_segment_is_short() {
    let mut r = ReceiverScript::new(&delaying());
    r.data(2, |data| Data { payload: 300, ..data }, false).acks_blocks(0, &[(2, 3)]);
    assert_eq!(r.receiver().delivered(), Bytes::ZERO);
    r.arrives(0).acks_blocks(1, &[(2, 3)]);
    assert_eq!(r.receiver().delivered(), Bytes::new(1000));
    r.arrives(1).acks(3);
    assert_eq!((r.receiver().delivered(), r.receiver().delivered_segments()), (Bytes::new(2300), 3));
}

fn compressing() -> Stack {
    with(delaying(), |s| selective(s).compression = ms(1))
}

// net/ipv4/tcp_input.c, __tcp_ack_snd_check, Linux 6.
#[test]
fn the_fourth_segment_out_of_order_waits_for_more_of_them() {
    let mut r = ReceiverScript::new(&compressing());
    r.arrives(1).acks_blocks(0, &[(1, 2)]);
    r.arrives(2).acks_blocks(0, &[(1, 3)]);
    r.arrives(3).acks_blocks(0, &[(1, 4)]);
    r.arrives(4).no_ack().timer_at(1);
    r.arrives(5).no_ack().timer_at(1);
    r.at(1).acks_blocks(0, &[(1, 6)]);
    r.arrives(6).no_ack().timer_at(2);
    // An ACK that advances the cumulative point leaves at once, and three more after it.
    r.arrives(0).acks(7);
    for n in 8..11 {
        r.arrives(n).acks_blocks(7, &[(8, n + 1)]);
    }
    r.arrives(11).no_ack().timer_at(2);
}

#[test]
fn no_more_than_44_segments_wait() {
    let mut r = ReceiverScript::new(&compressing());
    for n in 1..4 {
        r.arrives(n).acks_blocks(0, &[(1, n + 1)]);
    }
    for n in 4..48 {
        r.arrives(n).no_ack();
    }
    r.arrives(48).acks_blocks(0, &[(1, 49)]);
}

#[test]
fn a_third_block_does_not_wait() {
    let mut r = ReceiverScript::new(&compressing());
    r.arrives(1).acks_blocks(0, &[(1, 2)]);
    r.arrives(5).acks_blocks(0, &[(5, 6), (1, 2)]);
    r.arrives(9).acks_blocks(0, &[(9, 10), (5, 6), (1, 2)]);
    // Growth of the newest two blocks waits. Growth of the third does not.
    r.arrives(10).no_ack();
    r.arrives(6).no_ack();
    r.arrives(2).acks_blocks(0, &[(1, 3), (5, 7), (9, 11)]);
    r.arrives(12).acks_blocks(0, &[(12, 13), (1, 3), (5, 7), (9, 11)]);
}

// As Linux: a duplicate out of order is one more segment of these (tcp_data_queue_ofo), one in order is old data.
#[test]
fn a_duplicate_of_a_segment_out_of_order_waits_as_well() {
    let mut r = ReceiverScript::new(&compressing());
    r.arrives(0).no_ack().arrives(1).acks(2);
    for n in 3..6 {
        r.arrives(n).acks_blocks(2, &[(3, n + 1)]);
    }
    r.arrives(6).no_ack().timer_at(1).arrives(4).no_ack();
    assert_eq!(r.at(1).acks_blocks(2, &[(3, 7)]).duplicate, Some(4));
    // A later arrival before the ACK leaves takes its place.
    r.arrives(5).no_ack().arrives(7).no_ack();
    assert_eq!(r.at(2).acks_blocks(2, &[(3, 8)]).duplicate, None);
    assert_eq!(r.arrives(0).acks_blocks(2, &[(3, 8)]).duplicate, Some(0));
}

#[test]
fn on_a_short_path_acks_wait_for_a_twentieth_of_its_round_trip() {
    let mut r = ReceiverScript::on_a_path(&compressing(), Span::from_millis(10));
    for n in 1..4 {
        r.arrives(n).acks_blocks(0, &[(1, n + 1)]);
    }
    r.arrives(4).no_ack();
    assert_eq!(r.receiver().poll_timeout(), Some(Time::ZERO + Span::from_micros(500)));
}

// RFC 9768, section 3.2.2.5.1.
#[test]
fn marks_are_counted_and_hasten_acks() {
    let options = with(plain(), |s| {
        s.marks = Marks::Counted { kept: 0.0 };
        s.acks.delay = Delay::Constant { every: 4, wait: ms(40) };
    });
    let mut r = ReceiverScript::new(&options);
    let count = |ack: transport::Acknowledgement| (ack.marked, ack.congestion_echo);
    r.arrives(0).no_ack();
    assert_eq!(count(r.arrives_marked(1).acks(2)), (1, false), "the first mark after a segment without");
    r.arrives_marked(2).no_ack();
    assert_eq!(count(r.arrives_marked(3).acks(4)), (3, false), "the second mark since the last ACK");
    r.arrives(4).no_ack().arrives(5).no_ack().arrives(6).no_ack();
    assert_eq!(count(r.arrives(7).acks(8)), (3, false));
}

#[test]
fn a_receiver_that_conceals_losses_acknowledges_all_below() {
    let mut r = ReceiverScript::new(&with(plain(), |s| s.acks.conceals = Conceals::Losses));
    r.arrives(0).no_ack().arrives(1).acks(2);
    // 2 and 3 are lost.
    r.arrives(4).no_ack().arrives(5).acks_blocks(6, &[]);
    assert_eq!((r.receiver().delivered(), r.receiver().has_holes()), (Bytes::new(4000), false));
    // One of them was only late.
    r.arrives(3).acks(6);
    assert_eq!(r.receiver().delivered(), Bytes::new(4000));
}

#[test]
fn a_receiver_that_conceals_marks_reports_none() {
    for marks in [Marks::Echoed { kept: 0.0 }, Marks::Counted { kept: 0.0 }] {
        let mut r = ReceiverScript::new(&with(plain(), |s| (s.marks, s.acks.conceals) = (marks, Conceals::Marks)));
        let ack = r.arrives_marked(0).no_ack().arrives_marked(1).acks(2);
        assert_eq!((ack.congestion_echo, ack.marked), (false, 0), "{marks:?}");
    }
}

/// Delayed ACKs, which become quick again, on a path of 100 ms, so that a pause of 300 ms is long.
fn quick_again() -> Stack {
    with(plain(), |s| s.acks.quick_again = 3)
}

#[test]
fn after_a_pause_acks_are_quick_again() {
    let mut s = ReceiverScript::new(&quick_again());
    s.arrives(0).no_ack().at(10).arrives(1).acks(2);
    s.at(310).arrives(2).no_ack().arrives(3).acks(4);
    s.at(611).arrives(4).acks(5);
    s.arrives(5).acks(6);
    s.arrives(6).acks(7);
    s.arrives(7).no_ack();
}

#[test]
fn the_first_mark_makes_two_acks_quick() {
    let mut s = ReceiverScript::new(&with(quick_again(), |s| s.marks = Marks::Echoed { kept: 0.0 }));
    s.arrives(0).no_ack().arrives(1).acks(2);
    s.arrives_marked(2).acks(3);
    s.arrives_marked(3).acks(4);
    s.arrives_marked(4).no_ack();
}

#[test]
fn a_duplicate_makes_acks_quick() {
    let mut s = ReceiverScript::new(&quick_again());
    s.arrives(0).no_ack().arrives(1).acks(2);
    s.arrives(0).acks(2);
    s.arrives(2).acks(3);
}

#[test]
fn the_last_segment_of_a_write_is_acknowledged_at_once() {
    let mut s = ReceiverScript::new(&quick_again());
    s.arrives(0).no_ack().arrives(1).acks(2);
    s.data(2, |data| Data { push: true, ..data }, false).acks(3);
    let mut s = ReceiverScript::new(&plain());
    s.data(0, |data| Data { push: true, ..data }, false).no_ack();
}

// As Linux since 4.19: what announces a reduction may be all that the window lets leave.
#[test]
fn a_segment_that_announces_a_reduction_is_acknowledged_at_once() {
    let reduced = |data: Data| Data { reduced: true, ..data };
    let mut s = ReceiverScript::new(&with(quick_again(), |s| s.marks = Marks::Echoed { kept: 0.0 }));
    assert!(!s.data(0, reduced, false).acks(1).congestion_echo);
    s.arrives(1).no_ack();
    // Marked itself, it also begins a new row of marks: two ACKs are quick, this one and the next.
    let mut s = ReceiverScript::new(&with(quick_again(), |s| s.marks = Marks::Echoed { kept: 0.0 }));
    s.arrives_marked(0).acks(1);
    s.arrives_marked(1).acks(2);
    s.arrives_marked(2).no_ack().arrives(3).acks(4);
    assert!(s.data(4, reduced, true).acks(5).congestion_echo);
    assert!(s.arrives(5).acks(6).congestion_echo);
    s.arrives(6).no_ack();
    // Not so in older stacks, nor with accurate ECN, where the flag is part of a number (RFC 9768, section 3.2).
    let mut s = ReceiverScript::new(&with(plain(), |s| s.marks = Marks::Echoed { kept: 0.0 }));
    s.data(0, reduced, false).no_ack();
    let mut s = ReceiverScript::new(&with(quick_again(), |s| s.marks = Marks::Counted { kept: 0.0 }));
    s.data(0, reduced, false).no_ack();
}

// As Linux: a segment that is not ECN-capable was sent before.
#[test]
fn what_cannot_be_marked_makes_two_acks_quick() {
    let again = |data: Data| Data { retransmission: true, ..data };
    let mut s = ReceiverScript::new(&with(quick_again(), |s| s.marks = Marks::Echoed { kept: 0.0 }));
    s.data(0, again, false).acks(1);
    s.arrives(1).acks(2);
    s.arrives(2).no_ack();
    let mut s = ReceiverScript::new(&quick_again());
    s.data(0, again, false).no_ack();
}

// As Linux: each ACK of new data counts as a quick one, also out of order, and so does the ACK of a segment that had
// arrived before.
#[test]
fn acks_of_data_out_of_order_use_up_quick_acks() {
    let mut s = ReceiverScript::new(&with(plain(), |s| s.acks.quick = 4));
    s.arrives(0).acks(1);
    s.arrives(2).acks_blocks(1, &[(2, 3)]);
    s.arrives(3).acks_blocks(1, &[(2, 4)]);
    s.arrives(1).acks(4);
    s.arrives(4).no_ack();
}

// As Linux: the ACK of a segment that had arrived before is one of them, unless the segment was acknowledged with more
// behind it and no other ACK is due (tcp_send_dupack). A segment that arrived out of order before brings none.
#[test]
fn quick_acks_after_a_duplicate() {
    let begin = || {
        let mut s = ReceiverScript::new(&quick_again());
        s.arrives(0).no_ack().arrives(1).acks(2);
        s
    };
    let mut s = begin();
    s.arrives(0).acks(2);
    s.arrives(2).acks(3);
    s.arrives(3).acks(4);
    s.arrives(4).acks(5);
    s.arrives(5).no_ack();
    let mut s = begin();
    s.arrives(1).acks(2);
    s.arrives(2).acks(3);
    s.arrives(3).acks(4);
    s.arrives(4).no_ack();
    let mut s = begin();
    s.arrives(2).no_ack().arrives(0).acks(3);
    s.arrives(3).acks(4);
    s.arrives(4).acks(5);
    s.arrives(5).no_ack();
    let mut s = begin();
    s.arrives(3).acks_blocks(2, &[(3, 4)]);
    assert_eq!(s.arrives(3).acks_blocks(2, &[(3, 4)]).duplicate, Some(3));
    s.arrives(2).acks(4);
    s.arrives(4).no_ack();
}

/// Delayed ACKs whose wait varies, on a path of 100 ms.
fn stretching() -> Stack {
    with(quick_again(), |s| {
        s.acks.delay = Delay::Adaptive { every: 2, wait: ms(40), most: ms(200) };
        s.timers.tick = ms(4);
    })
}

/// The ACK that waits, for everything below `cumulative`, leaves at `ms`.
#[track_caller]
fn waits_until(s: &mut ReceiverScript, ms: u64, cumulative: u64) {
    s.no_ack().at(ms - 1).no_ack().at(ms).acks(cumulative);
}

// As Linux (tcp_delack_timer_handler, tcp_event_data_recv): ticks of 4 ms, and a timer takes one more.
#[test]
fn a_delayed_ack_that_waited_in_vain_doubles_the_wait_up_to_a_round_trip() {
    let mut s = ReceiverScript::new(&stretching());
    waits_until(s.arrives(0), 44, 1);
    waits_until(s.at(200).arrives(1), 284, 2);
    waits_until(s.at(400).arrives(2), 504, 3);
    // It has become 75 ticks, the receiver's own timeout. Segments at once make that 37 + 5, 21 + 5, 13 + 5, 9 + 5.
    s.at(600).arrives(3).no_ack().arrives(4).acks(5);
    s.arrives(5).no_ack().arrives(6).acks(7);
    waits_until(s.arrives(7), 660, 8);
}

// A pause of 28 ms, 7 ticks, makes 10/2 + 7, another one 12/2 + 7, none 12/2 + 5.
#[test]
fn pauses_shorter_than_the_wait_stretch_it() {
    let mut s = ReceiverScript::new(&stretching());
    s.arrives(0).no_ack().at(28).arrives(1).acks(2);
    waits_until(s.at(56).arrives(2), 56 + 56, 3);
    let mut s = ReceiverScript::new(&stretching());
    s.arrives(0).no_ack().at(28).arrives(1).acks(2);
    waits_until(s.arrives(2), 28 + 48, 3);
}

// The end of quick ACKs, a mark and a duplicate bring it back.
#[test]
fn quick_acks_bring_the_wait_back() {
    let mut s = ReceiverScript::new(&stretching());
    waits_until(s.arrives(0), 44, 1);
    waits_until(s.at(200).arrives(1), 284, 2);
    s.at(400).arrives(1).acks(2);
    for n in 2..4 {
        s.arrives(n).acks(n + 1);
    }
    waits_until(s.at(500).arrives(4), 544, 5);
}

// As Linux: of the three ACKs that are not compressed the one of the advance itself is the first, if a hole is left.
#[test]
fn the_ack_of_an_advance_below_a_hole_is_one_of_those_not_compressed() {
    let mut s = ReceiverScript::new(&with(plain(), |s| selective(s).compression = ms(1)));
    s.arrives(0).no_ack().arrives(1).acks(2);
    s.arrives(3).acks_blocks(2, &[(3, 4)]);
    s.arrives(5).acks_blocks(2, &[(5, 6), (3, 4)]);
    s.arrives(2).acks_blocks(4, &[(5, 6)]);
    s.arrives(6).acks_blocks(4, &[(5, 7)]);
    s.arrives(7).acks_blocks(4, &[(5, 8)]);
    s.arrives(8).no_ack();
}

#[test]
fn an_application_that_takes_no_more_closes_the_window_and_opening_it_is_worth_an_ack() {
    let mut r = ReceiverScript::new(&with(plain(), |s| {
        (s.receive_window, s.acks.delay) = (20, Delay::None);
    }));
    r.open_to(3).no_ack();
    assert_eq!((r.receiver().window(), r.receiver().is_closed()), (3, false));
    for number in 0..3 {
        r.arrives(number).acks(number + 1);
    }
    assert_eq!((r.receiver().window(), r.receiver().is_closed()), (0, true));
    // Nothing that the sender could use.
    r.open_to(3).no_ack();
    assert_eq!(r.open_to(5).acks(3).window, 2);
    // It was open: no ACK is due for that.
    r.open_to(100).no_ack();
    assert_eq!((r.receiver().window(), r.receiver().is_closed()), (20, false));
}

// tcp_event_data_sent: Linux takes what leaves while an ACK might wait for an answer.
#[test]
fn an_answer_ends_quick_acks_where_they_may_begin_again() {
    let acknowledged = |quick_again| {
        let stack = with(delaying(), |s| (s.acks.quick, s.acks.quick_again) = (9, quick_again));
        let (mut receiver, timestamp) = (Receiver::new(&stack, ms(100)), Time::ZERO);
        let mut arrives = |ms, sequence| {
            let (retransmission, reduced, push) = (false, false, false);
            let data = Data { sequence, timestamp, payload: 1000, retransmission, reduced, push };
            receiver.on_data(at(ms), &data, false);
            let acknowledged = receiver.poll_transmit(at(ms)).map(|ack| ack.cumulative);
            receiver.on_acknowledged_with_data(at(ms));
            acknowledged
        };
        [arrives(0, 0), arrives(1, 1)]
    };
    assert_eq!(acknowledged(0), [Some(1), Some(2)]);
    assert_eq!(acknowledged(1), [Some(1), None]);
}
