//! The retransmission timer (RFC 6298).

use control::{Counting, Moment};
use transport::{Application, Pace, Phase, Repair, Rule, Stack};
use units::{Bytes, Time};

use crate::harness::{Notice, SenderScript, ack, linux_rack, ms, plain, selective, with};

#[test]
fn the_first_timeout_comes_after_a_second_and_each_further_one_doubles() {
    let mut s = SenderScript::new(plain(), 4.0);
    s.leave(0..4).timer_at(1000);
    s.at(1000).leaves_again(0).nothing_leaves().phase(Phase::Loss).window_is(1.0).timer_at(3000);
    let Notice::Timeout(loss) = s.last_notice() else { panic!("{:?}", s.last_notice()) };
    assert_eq!((loss.in_flight, loss.newly_lost, loss.again, loss.sent_to), (4, 4, false, 4));
    s.at(3000).leaves_again(0).timer_at(7000);
    assert!(matches!(s.last_notice(), Notice::Timeout(loss) if loss.again));
    s.at(7000).leaves_again(0).timer_at(15_000);
}

#[test]
fn back_off_ends_at_the_largest_timeout() {
    let mut s = SenderScript::new(with(plain(), |s| s.timers.rto_max = ms(3000)), 1.0);
    s.leave(0..1).at(1000).leaves_again(0).timer_at(3000);
    s.at(3000).leaves_again(0).timer_at(6000);
    s.at(6000).leaves_again(0).timer_at(9000);
}

#[test]
fn after_a_timeout_everything_is_sent_again_as_the_window_allows() {
    let mut s = SenderScript::new(plain(), 4.0);
    s.leave(0..4).at(1000).leaves_again(0);
    s.window(2.0).at(1040).arrives(ack(1)).leaves_again(1).leaves_again(2).nothing_leaves();
    assert!(matches!(s.last_notice(), Notice::Ack(_)), "the window may grow while a timeout is repaired");
    s.window(4.0).arrives(ack(3)).leaves_again(3).leave(4..7).nothing_leaves().phase(Phase::Loss);
    s.at(1080).arrives(ack(4)).leaves(7).phase(Phase::Open);
}

// RFC 6675, section 5.1.
#[test]
fn what_was_sacked_is_not_sent_again_after_a_timeout() {
    let mut s = SenderScript::new(with(plain(), |s| s.limited_transmit = false), 4.0);
    s.leave(0..4).at(40).arrives(ack(0).sack(1, 2)).nothing_leaves();
    s.at(1000).leaves_again(0).nothing_leaves();
    s.window(4.0).at(1040).arrives(ack(2)).leaves_again(2).leaves_again(3).leave(4..6);
}

// RFC 2018, section 8. Before, nothing left until an ACK arrived.
#[test]
fn what_the_receiver_discarded_after_its_sack_is_sent_again_after_a_timeout() {
    let mut s = SenderScript::new(with(plain(), |s| s.receive_window = 4), 4.0);
    s.leave(0..4).at(40).arrives(ack(1).window(3).sack(2, 4)).nothing_leaves();
    // 0 and 1 are all that the receiver has kept. The RTTs of 40 and 80 ms make a timeout of 45 + 200 ms.
    s.at(80).arrives(ack(2).window(2)).nothing_leaves().timer_at(325);
    s.at(325).leaves_again(2).nothing_leaves().phase(Phase::Loss).in_flight(1);
    s.window(2.0).at(360).arrives(ack(3).window(1)).leaves_again(3).nothing_leaves();
    s.at(400).arrives(ack(4).window(4)).phase(Phase::Open).all();
}

// As Linux (tcp_check_sack_reneging). The smoothed RTT is 40 ms.
#[test]
fn linux_waits_for_half_a_round_trip_until_what_the_receiver_discarded_is_lost() {
    let options = with(plain(), |s| {
        linux_rack(s);
        s.receive_window = 6;
    });
    let mut s = SenderScript::new(options, 6.0);
    s.leave(0..6).at(40).arrives(ack(1).window(5).sack(2, 6)).leaves_again(1).phase(Phase::Recovery);
    s.at(80).arrives(ack(3).window(3)).nothing_leaves().phase(Phase::Recovery).timer_at(100);
    s.at(100).leaves_again(3).nothing_leaves().phase(Phase::Loss).in_flight(1);
    s.window(9.0).at(140).arrives(ack(4).window(2)).leaves_again(4).leaves_again(5).nothing_leaves();
    s.at(180).arrives(ack(6).window(6)).phase(Phase::Open).all();
}

// RFC 6298, section 3, and the note that follows 5.7.
#[test]
fn a_retransmitted_segment_gives_no_sample_and_does_not_end_the_back_off() {
    let mut s = SenderScript::new(plain(), 4.0);
    s.leave(0..4).at(1000).leaves_again(0).at(3000).leaves_again(0);
    s.window(10.0).at(3040).arrives(ack(1)).leaves_again(1).leaves_again(2).leaves_again(3).leave(4..11).timer_at(7040);
    assert_eq!(s.last_ack().rtt, None);
    s.at(3080).arrives(ack(4)).leave(11..14).timer_at(7080);
    // 4 was sent once, 50 ms ago: the timeout is 50 + 200 ms.
    s.at(3090).arrives(ack(5)).leaves(14).timer_at(3340);
    assert_eq!(s.last_ack().rtt.map(|r| r.value), Some(ms(50)));
}

#[test]
fn the_facts_of_the_stack_come_with_every_ack() {
    let mut s = SenderScript::new(
        with(plain(), |s| {
            s.clock.timestamp_tick = ms(10);
            s.clock.at_start = ms(7);
            (s.growth.counting, s.growth.slow_start_at_threshold) = (Counting::Bytes { limit: 2 }, true);
        }),
        1.0,
    );
    s.leave(0..1).at(40).arrives(ack(1));
    let Moment { now, timestamp_tick, host_clock_at_start, .. } = s.last_moment();
    assert_eq!((now, timestamp_tick, host_clock_at_start), (Time::ZERO + ms(40), ms(10), ms(7)));
    assert_eq!(s.last_moment().counting, Counting::Bytes { limit: 2 });
    assert!(s.last_moment().slow_start_at_threshold);
}

// RFC 7323, section 4.
#[test]
fn with_timestamps_a_retransmitted_segment_ends_the_back_off() {
    let mut s = SenderScript::new(with(plain(), |s| s.timestamps = true), 1.0);
    s.leave(0..1).at(1000).leaves_again(0).timer_at(3000);
    s.at(1040).arrives(ack(1).echo(1000)).leaves(1).timer_at(1280);
    assert_eq!(s.last_ack().timestamp_rtt(&s.last_moment()), Some(ms(40)));
}

// RFC 6298, 5.2 and 5.3.
#[test]
fn an_ack_of_new_data_restarts_the_timer_a_duplicate_does_not_and_the_last_one_stops_it() {
    let mut s = SenderScript::new(
        with(plain(), |s| {
            s.limited_transmit = false;
            s.receive_window = 4;
        }),
        10.0,
    );
    s.leave(0..4).at(40).arrives(ack(2).window(2)).timer_at(280);
    s.at(60).arrives(ack(2).window(2).sack(3, 4)).timer_at(280);
    s.at(70).arrives(ack(4).window(0)).no_timer();
}

#[test]
fn a_timeout_in_recovery_does_not_reduce_twice() {
    let mut s = SenderScript::new(with(plain(), |s| s.limited_transmit = false), 10.0);
    s.leave(0..10).at(40).sacks(0, 1..3).arrives(ack(0).sack(1, 4)).leaves_again(0);
    s.timer().leaves_again(0).nothing_leaves();
    assert!(matches!(s.news()[..], [Notice::Loss(_), Notice::Timeout(loss)] if loss.again));
}

#[test]
fn a_timeout_after_recovery_reduces_again() {
    let mut s = SenderScript::new(with(plain(), |s| s.limited_transmit = false), 10.0);
    s.leave(0..10).at(40).sacks(0, 1..3).arrives(ack(0).sack(1, 4)).leaves_again(0);
    s.at(80).arrives(ack(10)).all();
    s.timer().leaves_again(10);
    assert!(matches!(s.last_notice(), Notice::Timeout(loss) if !loss.again));
}

// RFC 5681, section 3.1, equation 4, and tcp_enter_loss in Linux: the timer has not sent that segment again yet.
// Before, the threshold stayed at 8.
#[test]
fn a_timeout_after_progress_in_the_repair_of_another_reduces_again() {
    let mut s = SenderScript::newreno(with(plain(), |s| s.initial_window = 16));
    s.leave(0..16).at(1000).leaves_again(0).window_is(1.0).threshold_is(8.0);
    s.at(1040).arrives(ack(1)).leaves_again(1).leaves_again(2).window_is(2.0);
    s.at(1080).arrives(ack(3));
    for number in 3..7 {
        s.leaves_again(number);
    }
    // All were sent twice: no sample ends the back-off, so that the timer runs for 2 s, and then for 4.
    s.window_is(4.0).timer_at(3080).at(3080).leaves_again(3).nothing_leaves().window_is(1.0).threshold_is(2.0);
    s.timer_at(7080).at(7080).leaves_again(3).threshold_is(2.0);
}

#[test]
fn a_row_of_timeouts_without_progress_reduces_once() {
    let mut s = SenderScript::new(plain(), 16.0);
    s.leave(0..16).at(1000).leaves_again(0).window(4.0).at(1040).arrives(ack(1)).all();
    s.timer().leaves_again(1).timer().leaves_again(1);
    let again = s.news().iter().map(|notice| matches!(notice, Notice::Timeout(loss) if loss.again)).collect::<Vec<_>>();
    assert_eq!(again, [false, false, true]);
}

// tcp_timer_rexmt of FreeBSD 9 and 4.3BSD, enter_loss of TCP/Linux in ns-2: half of 16, then half of a window of one,
// but at least two. Two reductions are not undone, as FreeBSD forgets its state before the first.
#[test]
fn every_timeout_of_a_row_reduces_where_the_stack_says_so() {
    let base = with(plain(), |s| {
        s.initial_window = 16;
        s.timestamps = true;
        s.undo = true;
    });
    for (every_timeout_reduces, threshold, spurious) in [(false, 8.0, 1), (true, 2.0, 0)] {
        let mut s =
            SenderScript::newreno(with(base.clone(), |s| s.timers.every_timeout_reduces = every_timeout_reduces));
        s.leave(0..16).at(1000).leaves_again(0).threshold_is(8.0);
        s.at(3000).leaves_again(0).threshold_is(threshold);
        s.at(3040).arrives(ack(16).echo(0)).all();
        assert_eq!(s.counters().spurious, spurious);
    }
}

// The same for a timeout in fast recovery: half of 16, half of these 8.
#[test]
fn a_timeout_in_recovery_reduces_again_where_the_stack_says_so() {
    for (every_timeout_reduces, threshold) in [(false, 8.0), (true, 4.0)] {
        let base = with(plain(), |s| {
            s.initial_window = 16;
            s.limited_transmit = false;
        });
        let mut s = SenderScript::newreno(with(base, |s| s.timers.every_timeout_reduces = every_timeout_reduces));
        s.leave(0..16).at(40).sacks(0, 1..3).arrives(ack(0).sack(1, 4)).leaves_again(0).all();
        s.threshold_is(8.0).timer().leaves_again(0).threshold_is(threshold);
    }
}

// As Linux, where `retrans_stamp` stays: what left between the two timeouts was a retransmission, too.
#[test]
fn a_second_reduction_of_a_repair_is_not_undone_by_an_ack_of_what_left_before_it() {
    let mut s = SenderScript::new(
        with(plain(), |s| {
            s.timestamps = true;
            s.undo = true;
        }),
        16.0,
    );
    s.leave(0..16).at(1000).leaves_again(0).window(2.0).at(1040).arrives(ack(1).echo(1000));
    s.leaves_again(1).leaves_again(2).timer().leaves_again(1).arrives(ack(3).echo(1040)).all();
    assert_eq!(s.counters().spurious, 0);
}

// As Linux: the round trip of the retransmission has not passed yet.
#[test]
fn a_sack_of_what_left_before_the_retransmission_restarts_the_timer() {
    let options = with(plain(), |s| {
        linux_rack(s);
        s.timers.rto_min = ms(1000);
        s.limited_transmit = false;
    });
    let mut s = SenderScript::new(options, 10.0);
    s.leave(0..10).at(40).sacks(0, 1..4).leaves_again(0).timer_at(1040);
    s.at(60).arrives(ack(0).sack(1, 6)).nothing_leaves().timer_at(1060);
}

// The same after an undo (tcp_clean_rtx_queue knows no state). Before, the timer went on at 4040 ms.
#[test]
fn a_sack_of_what_left_before_it_restarts_the_timer_of_a_spurious_timeout_too() {
    let options = with(testing(), |s| {
        linux_rack(s);
        s.undo = true;
        s.receive_window = 4;
    });
    let mut s = SenderScript::new(options, 4.0);
    s.leave(0..4).at(1000).leaves_again(0).phase(Phase::Loss);
    // The RTT of 1010 ms makes a timeout of 1010 + 4 * 505 ms.
    s.at(1010).arrives(ack(0).window(4).sack(1, 2)).nothing_leaves().phase(Phase::Disorder).timer_at(4040);
    // The next one of 1026 ms raises the smoothed RTT by 2 ms.
    s.at(1026).arrives(ack(0).window(4).sack(1, 3)).nothing_leaves().phase(Phase::Disorder).timer_at(4058);
}

// RFC 3465, section 2.3. Before, the ACK counted two segments: 1 + 2.
#[test]
fn after_a_timeout_byte_counting_takes_one_segment_an_ack() {
    let options = with(plain(), |s| {
        s.initial_window = 6;
        s.growth.counting = Counting::Bytes { limit: 2 };
    });
    let mut s = SenderScript::newreno(options);
    s.leave(0..6).at(1000).leaves_again(0).window_is(1.0);
    s.at(1040).arrives(ack(2)).window_is(2.0).leaves_again(2).leaves_again(3);
}

// RFC 8985, section 6.3: only the first, and segments that left longer ago than the RTT of RACK.
#[test]
fn with_rack_a_timeout_spares_what_left_within_the_last_round_trip() {
    let options = with(plain(), |s| {
        selective(s).rule = Rule::Rack(Repair::Fast);
        s.receive_window = 100;
    });
    let pace = Pace::new(vec![(Time::ZERO, "160kbit".parse().unwrap())], Bytes::new(1000), None);
    let mut s = SenderScript::with(options, 20.0, Application::Paced(pace));
    // A segment every 50 ms. RACK.rtt is 120 ms, the timeout 120 + 4 * 60 ms, and the ACK restarts it.
    s.leave(0..1).at(50).leaves(1).at(100).leaves(2).at(120).arrives(ack(1)).timer_at(150);
    for number in 3..10 {
        s.at(50 * number).leaves(number);
    }
    // 1 to 7, which left by 360 ms, are lost. 8 and 9, of 400 and 450 ms, are still on their way.
    s.at(480).leaves_again(1).nothing_leaves().in_flight(3).phase(Phase::Loss);
    assert_eq!(s.counters().lost_packets, 7);
}

// As Linux (FLAG_LOST_RETRANS). Before, the window stayed as it was.
#[test]
fn a_retransmission_lost_after_a_timeout_is_a_loss_event() {
    let options = with(plain(), |s| {
        linux_rack(s);
        s.limited_transmit = false;
        s.receive_window = 100;
    });
    let mut s = SenderScript::new(options, 4.0);
    s.leave(0..4).at(40).arrives(ack(4)).leave(4..8).at(280).leaves_again(4).window_is(1.0);
    s.window(4.0).at(320).arrives(ack(5)).leaves_again(5).leaves_again(6).leaves_again(7).leaves(8);
    // 6 left after 5 and is there: 5 is lost again.
    s.at(360).arrives(ack(5).sack(6, 7)).phase(Phase::Recovery).window_is(2.0).leaves_again(5);
    assert!(matches!(s.news()[..], [Notice::Timeout(_), Notice::Loss(_)]));
}

fn testing() -> Stack {
    with(plain(), |s| s.forward_rto = true)
}

// RFC 5682, section 3.1, steps 2.b and 3.b.
#[test]
fn without_timestamps_a_timeout_is_undone_when_what_was_not_sent_again_arrives() {
    let mut s = SenderScript::new(testing(), 4.0);
    s.leave(0..4).at(1000).leaves_again(0).window_is(1.0);
    // The ACK of the original, or of the copy: two new segments leave, and nothing again.
    s.window(2.0).at(1010).arrives(ack(1)).leave(4..6).nothing_leaves().phase(Phase::Loss);
    s.at(1011).arrives(ack(2)).window_is(4.0).phase(Phase::Open).nothing_leaves();
    assert_eq!((s.counters().retransmitted_packets, s.counters().spurious), (1, 1));
}

// Step 3.a.
#[test]
fn a_duplicate_after_the_new_segments_shows_a_timeout_to_be_real() {
    let mut s = SenderScript::new(testing(), 4.0);
    s.leave(0..4).at(1000).leaves_again(0).window(2.0).at(1040).arrives(ack(1)).leave(4..6);
    s.at(1080).arrives(ack(1).sack(4, 5)).leaves_again(1).nothing_leaves().phase(Phase::Loss);
    assert_eq!(s.counters().spurious, 0);
}

#[test]
fn with_nothing_new_to_send_a_timeout_is_repaired_as_ever() {
    let mut s = SenderScript::with(testing(), 4.0, Application::Finite(Bytes::new(4000)));
    s.leave(0..4).at(1000).leaves_again(0).window(2.0).at(1040).arrives(ack(1)).leaves_again(1).leaves_again(2);
}
