//! Signals of an ACK to the controller: samples, rounds, rates.

use crate::harness::{Notice, SenderScript, ack, drop_sack, ms, plain, with};

// RFC 6298, section 3.
#[test]
fn the_sample_is_of_the_newest_segment_covered_and_comes_with_sack_too() {
    let mut s = SenderScript::new(with(plain(), |s| s.limited_transmit = false), 2.0);
    s.leave(0..2).at(40).arrives(ack(1)).leaves(2).at(45).arrives(ack(2)).leaves(3);
    s.at(90).arrives(ack(4));
    assert_eq!(s.last_ack().rtt.map(|r| r.value), Some(ms(45)), "3 left at 45");
    s.leave(4..6);
    s.at(140).arrives(ack(4).sack(5, 6));
    assert_eq!(s.last_ack().rtt.map(|r| r.value), Some(ms(50)));
    s.at(150).arrives(ack(4).sack(5, 6));
    assert_eq!(s.last_ack().rtt, None, "nothing new in it");
}

#[test]
fn the_lone_segment_of_a_receiver_that_delays_acks_is_marked() {
    let mut s = SenderScript::new(plain(), 4.0);
    let delayed = |s: &SenderScript| s.last_ack().rtt.map(|r| r.delayed);
    s.leave(0..4).at(40).arrives(ack(1)).all();
    assert_eq!(delayed(&s), Some(false), "nothing is known of the receiver");
    s.arrives(ack(3)).all();
    assert_eq!(delayed(&s), Some(false));
    s.arrives(ack(4)).all();
    assert_eq!(delayed(&s), Some(true));
}

#[test]
fn a_cumulative_ack_over_a_retransmission_gives_no_sample() {
    // Without SACK, 1 to 9 arrived a round trip before the hole was filled: their age is no RTT.
    let mut s = SenderScript::new(
        with(plain(), |s| {
            drop_sack(s);
            s.limited_transmit = false;
        }),
        10.0,
    );
    s.leave(0..10).at(40).arrives(ack(0)).arrives(ack(0)).arrives(ack(0)).leaves_again(0);
    s.at(80).arrives(ack(10)).all();
    assert_eq!(s.last_ack().rtt, None);
}

// Hayes and Armitage 2011, section 3.2: RTT intervals as in Vegas.
#[test]
fn a_round_ends_with_the_first_ack_that_covers_the_first_segment_sent_after_the_last_round_ended() {
    let mut s = SenderScript::new(plain(), 4.0);
    let starts = |s: &SenderScript| s.last_ack().round_start;
    s.leave(0..4).at(40).arrives(ack(1)).leaves(4);
    assert!(starts(&s), "0 was the mark; now it is 4");
    s.arrives(ack(4)).leave(5..8);
    assert!(!starts(&s));
    s.at(80).arrives(ack(5)).leaves(8);
    assert!(starts(&s), "now it is 8");
    s.arrives(ack(8)).leave(9..12);
    assert!(!starts(&s));
}

#[test]
fn a_sack_of_the_marked_segment_ends_the_round_and_its_loss_prolongs_it() {
    let mut s = SenderScript::new(plain(), 4.0);
    s.leave(0..4).at(40).arrives(ack(1)).leaves(4).arrives(ack(3)).leave(5..7);
    s.at(80).arrives(ack(3).sack(4, 5)).leaves(7);
    assert!(s.last_ack().round_start, "4 was the mark; now it is 7");

    let mut s = SenderScript::new(plain(), 4.0);
    s.leave(0..4).at(40).arrives(ack(1)).leaves(4).arrives(ack(4)).leave(5..8);
    // 4 is lost.
    for end in 6..9 {
        s.at(80).arrives(ack(4).sack(5, end)).all();
        assert!(!s.last_ack().round_start);
    }
    s.at(120).arrives(ack(8)).all();
    assert!(s.last_ack().round_start);
}

// draft-cheng-iccrg-delivery-rate-estimation, section 3.
#[test]
fn the_delivery_rate_is_what_arrived_over_the_flight_of_the_newest_segment() {
    let mut s = SenderScript::new(plain(), 10.0);
    let rate = |s: &SenderScript| s.last_ack().rate.map(|r| (r.delivered, r.interval));
    s.leave(0..10).at(40).arrives(ack(2)).leave(10..12);
    assert_eq!(rate(&s), Some((2, ms(40))));
    s.at(50).arrives(ack(4)).leave(12..14);
    assert_eq!(rate(&s), Some((4, ms(50))));
    s.at(60).arrives(ack(10)).leave(14..20);
    assert_eq!(rate(&s), Some((10, ms(60))));
    // 11 left at 40 when two were delivered: ten more in 40 ms.
    s.at(80).arrives(ack(12)).leave(20..22);
    assert_eq!(rate(&s), Some((10, ms(40))));
    // With SACK as well: 13 left at 50 when four were delivered, 50 ms after the first segment of the flight before.
    s.at(90).arrives(ack(12).sack(13, 14)).all();
    assert_eq!(rate(&s), Some((9, ms(50))));
}

#[test]
fn a_rate_measured_while_the_application_was_silent_says_so() {
    use transport::{Application, Pace};
    use units::{Bytes, Time};
    let pace = Pace::new(vec![(Time::ZERO, "400kbit".parse().unwrap())], Bytes::new(1000), None);
    let mut s = SenderScript::with(plain(), 10.0, Application::Paced(pace));
    s.leave(0..1).at(20).leaves(1).at(40).leaves(2).arrives(ack(1));
    s.at(60).leaves(3).arrives(ack(2));
    assert_eq!(s.last_ack().rate.map(|r| r.application_limited), Some(true));
}

#[test]
fn an_ack_in_flight_counts_tell_of_the_pipe_before_and_after() {
    let mut s = SenderScript::new(plain(), 10.0);
    s.leave(0..10).at(40).arrives(ack(2).sack(5, 6)).all();
    let Notice::Ack(ack) = s.last_notice() else { panic!("{:?}", s.last_notice()) };
    assert_eq!((ack.in_flight_before, ack.in_flight), (10, 7));
    assert_eq!((ack.newly_acknowledged, ack.newly_delivered, ack.newly_lost), (2, 3, 0));
    assert_eq!((ack.acknowledged_to, ack.sent_to), (2, 10));
}

#[test]
fn the_newest_sacked_segment_and_the_first_duplicate_are_reported() {
    let mut s = SenderScript::new(with(plain(), |s| s.limited_transmit = false), 6.0);
    let signs = |s: &SenderScript| (s.last_ack().newly_sacked, s.last_ack().first_duplicate);
    s.leave(0..6).at(40).arrives(ack(0).sack(2, 3));
    assert_eq!(signs(&s), (Some(2), true));
    s.arrives(ack(0).sack(4, 5).sack(2, 3));
    assert_eq!(signs(&s), (Some(4), false));
    s.arrives(ack(0).sack(4, 5).sack(2, 3));
    assert_eq!(signs(&s), (None, false), "nothing new in it");
    s.arrives(ack(3).sack(4, 5)).all();
    assert_eq!(signs(&s), (None, false), "the hole was filled");
}

#[test]
fn without_sack_the_first_duplicate_ack_is_one() {
    let mut s = SenderScript::new(
        with(plain(), |s| {
            drop_sack(s);
            s.limited_transmit = false;
        }),
        6.0,
    );
    let signs = |s: &SenderScript| (s.last_ack().newly_sacked, s.last_ack().first_duplicate);
    s.leave(0..6).at(40).arrives(ack(0));
    assert_eq!(signs(&s), (None, true));
    s.arrives(ack(0));
    assert_eq!(signs(&s), (None, false));
}

#[test]
fn an_ack_of_what_was_never_sent_or_long_acknowledged_is_ignored() {
    let mut s = SenderScript::new(plain(), 4.0);
    s.leave(0..4).at(40).arrives(ack(2)).leave(4..6);
    let before = s.last_ack();
    s.arrives(ack(100)).nothing_leaves().arrives(ack(1)).nothing_leaves().in_flight(4);
    assert_eq!(s.last_ack(), before);
}

#[test]
fn an_ack_that_brings_nothing_but_segments_is_on_the_fast_path() {
    let mut s = SenderScript::new(plain(), 10.0);
    s.leave(0..10).at(40).arrives(ack(1)).all();
    let mut fast = |reply| {
        s.arrives(reply).all();
        s.last_ack().fast_path
    };
    assert!(fast(ack(2)));
    assert!(!fast(ack(2).sack(4, 5)), "a block");
    assert!(!fast(ack(3).marked()), "an echo");
    assert!(fast(ack(5)));
    assert!(!fast(ack(6).window(500)), "another window");
    assert!(fast(ack(7).window(500)));
}

#[test]
fn the_ack_that_covers_all_that_a_timeout_repairs_ends_the_repair() {
    let mut s = SenderScript::new(plain(), 4.0);
    s.leave(0..4).at(1000).leaves_again(0).window(4.0).at(1040);
    let ends = [1, 3, 4, 5].map(|cumulative| {
        s.arrives(ack(cumulative)).all();
        s.last_ack().ends_repair
    });
    assert_eq!(ends, [false, false, true, false]);
}

#[test]
fn an_ack_names_the_limit_of_the_reduction_before_it() {
    let mut s = SenderScript::new(transport::linux(), 20.0);
    s.all();
    s.at(80);
    let mut limits = vec![];
    for end in 2..8 {
        s.arrives(ack(0).sack(1, end)).all();
        limits.push(s.last_ack().limit);
    }
    // The third block begins the recovery. Its ACK still has the window of before.
    assert_eq!(limits[..3], [20; 3]);
    assert!(limits[3..].iter().all(|&limit| limit < 20) && limits.is_sorted_by(|a, b| a >= b), "{limits:?}");
}
