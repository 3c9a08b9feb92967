//! Departures when nothing is lost: windows, limits, the application.

use control::Counting;
use transport::{Application, Pace};
use units::{Bytes, Time};

use crate::harness::{SenderScript, ack, plain, with};

fn paced(rate: &str) -> Application {
    Application::Paced(Pace::new(vec![(Time::ZERO, rate.parse().unwrap())], Bytes::new(1000), None))
}

// RFC 5681, section 3.1, and RFC 3465, section 2.2.
#[test]
fn slow_start_counts_acks_bytes_or_segments() {
    // Four leave, then one ACK for two and one for two more, or one for all four.
    for (counting, after_two, after_four) in
        [(Counting::PerAck, 5.0, 5.0), (Counting::Bytes { limit: 2 }, 6.0, 6.0), (Counting::Segments, 6.0, 8.0)]
    {
        let options = with(plain(), |s| {
            s.initial_window = 4;
            s.growth.counting = counting;
        });
        SenderScript::newreno(options.clone()).leave(0..4).at(40).arrives(ack(2)).window_is(after_two);
        SenderScript::newreno(options).leave(0..4).at(40).arrives(ack(4)).window_is(after_four);
    }
}

#[test]
fn slow_start_with_delayed_acks_doubles_the_flight_in_a_round_trip() {
    let mut s = SenderScript::newreno(with(plain(), |s| s.initial_window = 4));
    s.leave(0..4).nothing_leaves();
    s.at(40).arrives(ack(2)).leave(4..8).nothing_leaves();
    s.at(41).arrives(ack(4)).leave(8..12).nothing_leaves().window_is(8.0).in_flight(8);
}

#[test]
fn only_whole_segments_of_the_window_leave() {
    SenderScript::new(plain(), 3.9).leave(0..3).nothing_leaves();
}

#[test]
fn a_window_below_one_segment_still_sends_one() {
    SenderScript::new(plain(), 0.3).leave(0..1).nothing_leaves();
}

#[test]
fn the_receive_window_limits_what_is_outstanding_and_opens_with_an_ack() {
    let mut s = SenderScript::new(with(plain(), |s| s.receive_window = 3), 10.0);
    s.leave(0..3).nothing_leaves();
    s.at(40).arrives(ack(1).window(4)).leave(3..5).nothing_leaves();
    assert!(!s.last_ack().window_limited, "the congestion window was never used up");
}

#[test]
fn the_last_segment_is_short_and_nothing_follows_the_end() {
    let mut s = SenderScript::with(plain(), 10.0, Application::Finite(Bytes::new(2300)));
    assert_eq!(s.leaving(0).payload, 1000);
    assert_eq!(s.leaving(1).payload, 1000);
    assert_eq!(s.leaving(2).payload, 300);
    s.nothing_leaves().at(40).arrives(ack(3)).nothing_leaves().no_timer();
}

#[test]
fn an_application_that_writes_a_segment_at_a_time_wakes_the_sender_for_each() {
    // 1000 bytes at 100 kbit/s: one every 80 ms.
    let mut s = SenderScript::with(plain(), 10.0, paced("100kbit"));
    s.leave(0..1).timer_at(80);
    s.at(80).leave(1..2).timer_at(160);
    s.at(100).arrives(ack(1)).nothing_leaves();
    assert!(s.last_ack().application_limited);
}

#[test]
fn an_application_that_waits_for_the_window_does_not_wake_the_sender() {
    let mut s = SenderScript::with(plain(), 1.0, paced("100kbit"));
    s.leave(0..1).timer_at(1000); // the retransmission timeout, although the application writes at 80
    s.at(170).arrives(ack(1)).leaves(1).nothing_leaves();
}

#[test]
fn a_paced_controller_spreads_the_window_and_then_leaves_the_timer_alone() {
    // 1000 bytes of payload at 800 kbit/s: 10 ms each.
    let mut s = SenderScript::with(plain(), 10.0, Application::Finite(Bytes::new(3000)));
    s.all();
    s.pace("800kbit").at(40).arrives(ack(3)).no_timer();

    let mut s = SenderScript::new(plain(), 2.0);
    s.leave(0..2);
    s.pace("800kbit").at(40).arrives(ack(2)).leaves(2).nothing_leaves().timer_at(50);
    s.at(50).leaves(3).nothing_leaves().timer_at(280);
}

// RFC 7661; RFC 9438, section 5.8.
#[test]
fn a_window_counts_as_used_only_where_it_held_something_back() {
    let mut s = SenderScript::new(plain(), 4.0);
    s.leave(0..4).at(40).arrives(ack(1)).leaves(4);
    assert!(s.last_ack().window_limited);

    let mut s = SenderScript::with(plain(), 10.0, paced("100kbit"));
    s.leave(0..1).at(40).arrives(ack(1));
    assert!(!s.last_ack().window_limited);
}

// As tcp_cwnd_validate in Linux. RFC 7661 too asks about the last window, not the last instant.
#[test]
fn a_window_that_held_something_back_counts_as_used_for_the_whole_round() {
    // A burst of six, of which a window of four holds two back. Then the application is silent.
    let mut s = SenderScript::with(plain(), 4.0, Application::Finite(Bytes::new(6000)));
    s.leave(0..4).at(40).arrives(ack(2)).leave(4..6);
    s.at(41).arrives(ack(4)).at(80).arrives(ack(5));
    assert!(s.last_ack().window_limited, "four were outstanding when 5 left");
    s.arrives(ack(6));
    assert!(s.last_ack().window_limited);
}

#[test]
fn in_slow_start_half_a_window_in_flight_is_enough() {
    for (window, used) in [(5.0, true), (6.0, false)] {
        let mut s = SenderScript::with(plain(), window, Application::Finite(Bytes::new(3000)));
        s.threshold(100.0).leave(0..3).at(40).arrives(ack(1));
        assert_eq!(s.last_ack().window_limited, used, "three of {window}");
    }
}

#[test]
fn after_a_handshake_data_leave_with_its_sample() {
    let mut s = SenderScript::new(with(plain(), |s| s.handshake = true), 2.0);
    // The path has 40 ms. The timeout is 40 + 200 ms.
    s.leave(0..2).nothing_leaves().timer_at(280);
    // The application writes one every 80 ms from then on.
    let mut s = SenderScript::with(with(plain(), |s| s.handshake = true), 2.0, paced("100kbit"));
    s.leaves(0).nothing_leaves().at(120).leaves(1);
}

#[test]
fn the_last_segment_of_what_was_written_is_marked_as_such() {
    let mut s = SenderScript::with(plain(), 10.0, Application::Finite(Bytes::new(2300)));
    assert_eq!([s.leaving(0).push, s.leaving(1).push, s.leaving(2).push], [false, false, true]);
    // One every 80 ms. The window holds 1 and 2 back until 170 ms.
    let mut s = SenderScript::with(plain(), 1.0, paced("100kbit"));
    assert!(s.leaving(0).push);
    s.window(2.0).at(170).arrives(ack(1));
    assert_eq!([s.leaving(1).push, s.leaving(2).push], [false, true]);
}

// As tcp_tso_autosize and tcp_tso_should_defer in Linux: 40 segments of 1000 bytes in 10 ms are 4 MB/s. 1.2 times this
// rate in 2^-10 s are 4687 bytes, and 2^16 >> 19 bytes more are none.
#[test]
fn with_segmentation_offload_segments_leave_in_trains_of_a_millisecond() {
    let mut s = SenderScript::new(with(plain(), |s| s.segmentation_offload = true), 40.0);
    s.leave(0..40).at(10).arrives(ack(1)).leaves(40);
    // Just after that, room for one, two and three segments waits for the fourth.
    s.arrives(ack(2)).arrives(ack(3)).arrives(ack(4)).nothing_leaves().arrives(ack(5)).leave(41..45);
    assert!(s.last_ack().window_limited);
    // A third of the window, 14 segments, leaves at once, in full trains: three, and the last two segments wait.
    s.arrives(ack(19)).leave(45..57).arrives(ack(21)).leave(57..61);
}

// As Linux since 5.4: 45 to 56 leave in pieces of a full train, 4, and the last of each piece is pushed. A segment that
// leaves alone is not.
#[test]
fn the_last_segment_of_each_piece_of_a_train_is_pushed() {
    let mut s = SenderScript::new(with(plain(), |s| s.segmentation_offload = true), 40.0);
    s.leave(0..40).at(10).arrives(ack(1));
    assert!(!s.leaving(40).push);
    s.arrives(ack(2)).arrives(ack(3)).arrives(ack(4)).arrives(ack(5));
    assert_eq!([41, 42, 43, 44].map(|number| s.leaving(number).push), [false, false, false, true]);
    s.arrives(ack(19));
    let pushed: Vec<u64> = (45..57).filter(|&number| s.leaving(number).push).collect();
    assert_eq!(pushed, [48, 52, 56]);
}

#[test]
fn without_segmentation_offload_only_the_end_of_a_write_is_pushed() {
    let mut s = SenderScript::new(plain(), 40.0);
    assert!((0..40).all(|number| !s.leaving(number).push));
}

#[test]
fn a_train_waits_for_a_millisecond_at_most_and_for_no_late_ack() {
    let options = with(plain(), |s| s.segmentation_offload = true);
    let mut s = SenderScript::new(options.clone(), 40.0);
    s.leave(0..40).at(10).arrives(ack(1)).leaves(40).at(11).arrives(ack(2)).leaves(41);
    // Nor where there is no second segment.
    let mut s = SenderScript::with(options, 40.0, Application::Finite(Bytes::new(42_000)));
    s.leave(0..40).at(10).arrives(ack(1)).leaves(40).arrives(ack(2)).leaves(41);
}

// As tcp_tso_should_defer since Linux 6.18. Before, a train waited from half a round trip on: at 15 ms.
#[test]
fn a_train_waits_only_where_the_next_ack_is_due_within_a_millisecond() {
    let options = with(plain(), |s| {
        s.segmentation_offload = true;
        s.losses.threshold = 16;
    });
    let mut s = SenderScript::new(options, 20.0);
    // Segments 20 to 39 leave at 10 ms, and their ACK is due at 20 ms, or with samples of 5 ms at 19.4 and then 18.8
    // ms.
    s.leave(0..20).at(10).arrives(ack(20)).leave(20..40);
    s.at(15).arrives(ack(20).sack(21, 22)).leaves(40).arrives(ack(20).sack(21, 23)).leaves(41);
    // With samples of 8 ms it is due at 18.7, and then at 18.6 ms.
    s.at(18).arrives(ack(20).sack(21, 24)).leaves(42).arrives(ack(20).sack(21, 25)).nothing_leaves();
}
