//! The state that a sender reports, with numbers worked out by hand.

use control::newreno::NewReno;
use units::{Ecn, Random, Time};

use super::*;
use crate::tcp::Phase;
use crate::{Acknowledgement, Detection, Reduction, linux, plain};

fn at(ms: u64) -> Time {
    Time::ZERO + Span::from_millis(ms)
}

/// TCP of RFC 5681 with NewReno and an initial window.
fn sender(application: Application, initial_window: u32) -> Sender {
    let stack = Stack { initial_window, ..plain() };
    Sender::new(stack, Box::new(NewReno::default()), application, Random::stream(1, "sender", 0))
}

/// The numbers of the segments that leave.
fn leave(sender: &mut Sender, ms: u64) -> Vec<u64> {
    std::iter::from_fn(|| sender.poll_transmit(at(ms), &mut ())).map(|data| data.sequence).collect()
}

fn acknowledge(sender: &mut Sender, ms: u64, cumulative: u64) -> Vec<u64> {
    let ack = Acknowledgement { cumulative, window: u32::MAX, ..Acknowledgement::default() };
    sender.on_acknowledgement(at(ms), &ack, &mut ());
    leave(sender, ms)
}

#[test]
fn the_state_follows_acks_and_timeouts() {
    let mut sender = sender(Application::Interactive, 3);
    sender.start(at(0));
    assert!(leave(&mut sender, 0).is_empty());
    sender.note_written(8);
    assert_eq!(leave(&mut sender, 0), [0, 1, 2]);
    let begun = SenderState {
        phase: Phase::Open,
        window: 3,
        threshold: f64::INFINITY,
        in_flight: 3,
        outstanding: 3,
        sacked: 0,
        lost: 0,
        retransmissions: 0,
        total_retransmissions: 0,
        reordering: 3,
        reorderings: 0,
        backoff: 0,
        delivered: 0,
        timeout: Span::from_secs(1),
        smoothed_rtt: Span::ZERO,
        rtt_variation: Span::ZERO,
        minimum_rtt: None,
    };
    assert_eq!((sender.state(), sender.round_trip_times(), sender.acknowledged()), (begun, None, 0));
    assert_eq!(acknowledge(&mut sender, 100, 1), [3, 4]);
    let rtt = Span::from_millis(100);
    let answered = SenderState {
        window: 4,
        in_flight: 4,
        outstanding: 4,
        delivered: 1,
        smoothed_rtt: rtt,
        rtt_variation: rtt / 2,
        minimum_rtt: Some(rtt),
        ..begun
    };
    assert_eq!((sender.state(), sender.round_trip_times(), sender.acknowledged()), (answered, Some([rtt; 3]), 1));
    assert_eq!(sender.poll_timeout(), Some(at(1100)));
    sender.on_timeout(at(1100), &mut ());
    assert_eq!(leave(&mut sender, 1100), [1]);
    // Half of the flight of four. All are lost, and one of them is under way again.
    let timed_out = SenderState {
        phase: Phase::Loss,
        window: 1,
        threshold: 2.0,
        in_flight: 1,
        lost: 4,
        retransmissions: 1,
        total_retransmissions: 1,
        backoff: 1,
        timeout: Span::from_secs(2),
        ..answered
    };
    assert_eq!((sender.state(), sender.phase(), sender.in_flight()), (timed_out, Phase::Loss, 1));
    let c = sender.counters();
    assert_eq!([c.data_packets, c.retransmitted_packets, c.lost_packets, c.timeouts, c.recoveries], [6, 1, 4, 1, 0]);
    sender.on_timeout(at(3100), &mut ());
    assert_eq!(leave(&mut sender, 3100), [1]);
    let counters = sender.counters();
    assert_eq!((counters.timeouts, counters.retransmitted_packets, sender.state().backoff), (2, 2, 2));
}

#[test]
fn a_sender_with_nothing_outstanding_is_idle_and_not_busy() {
    let mut sender = sender(Application::Interactive, 3);
    sender.start(at(0));
    sender.note_written(5);
    assert_eq!(leave(&mut sender, 0), [0, 1, 2]);
    assert_eq!(acknowledge(&mut sender, 100, 2), [3, 4]);
    // The window has room for two more from here on: the application limits until 200 ms, and then it is idle.
    assert!(acknowledge(&mut sender, 200, 5).is_empty());
    let times = |ms| {
        let counters = sender.counters_until(at(ms));
        [counters.busy_us, counters.app_limited_us].map(|us| us / 1000)
    };
    assert_eq!([times(200), times(300)], [[200, 100], [200, 200]]);
}

#[test]
fn three_duplicates_begin_a_recovery() {
    let mut sender = sender(Application::Greedy, 6);
    sender.start(at(0));
    assert_eq!(leave(&mut sender, 0).len(), 6);
    let left = [100, 101, 102].map(|ms| acknowledge(&mut sender, ms, 0));
    assert_eq!(left, [vec![], vec![], vec![0]]);
    let state = sender.state();
    assert_eq!((state.phase, state.sacked, state.lost, state.retransmissions), (Phase::Recovery, 3, 1, 1));
    assert_eq!((state.threshold, sender.counters().recoveries, sender.counters().lost_packets), (3.0, 1, 1));
}

#[test]
fn after_a_mark_with_nothing_outstanding_a_segment_leaves() {
    for reduction in [Reduction::ProportionalRate, Reduction::ProportionalRateSsrb, Reduction::Pipe] {
        let marks = Marks::Echoed { kept: 0.0 };
        let mut stack = Stack { initial_window: 3, marks, reduction, ..plain() };
        stack.growth.recovery_end_grows = true;
        let random = Random::stream(1, "sender", 0);
        let mut sender = Sender::new(stack, Box::new(NewReno::default()), Application::Interactive, random);
        sender.start(at(0));
        sender.note_written(3);
        assert_eq!(leave(&mut sender, 0), [0, 1, 2]);
        assert!(acknowledge(&mut sender, 100, 3).is_empty());
        // The last segment came twice, the second time with a mark.
        let marked = Acknowledgement { cumulative: 3, window: 9, congestion_echo: true, ..Acknowledgement::default() };
        sender.on_acknowledgement(at(100), &marked, &mut ());
        assert_eq!((sender.phase(), sender.in_flight()), (Phase::Reduced, 0));
        sender.note_written(4);
        assert_eq!(leave(&mut sender, 100), [3], "{reduction:?}");
    }
}

#[test]
fn a_timeout_sends_again_what_waited_for_the_next_ack() {
    let stack = Stack { initial_window: 8, ..linux() };
    let random = Random::stream(1, "sender", 0);
    let mut sender = Sender::new(stack, Box::new(NewReno::default()), Application::Greedy, random);
    sender.start(at(0));
    assert_eq!(leave(&mut sender, 0).len(), 8);
    let answer = |cumulative, blocks: u64, echo| {
        let mut sack = crate::SackBlocks::default();
        sack.push(cumulative, 4, 4 + blocks);
        Acknowledgement { cumulative, window: 9, sack, echo, ..Acknowledgement::default() }
    };
    // Segments 4 to 7 arrive: 0 to 3 are lost, and leave again, one for each that arrived.
    sender.on_acknowledgement(at(100), &answer(0, 4, at(0)), &mut ());
    assert_eq!(leave(&mut sender, 100), [0, 1, 2, 3]);
    // The original of 0 was late, and others are on their way again, so lost segments wait.
    sender.on_acknowledgement(at(110), &answer(1, 4, at(0)), &mut ());
    let sent = leave(&mut sender, 110);
    assert!(sent.iter().all(|&number| number >= 8), "{sent:?}");
    let mut due = at(110);
    while sender.phase() != Phase::Loss {
        due = sender.poll_timeout().unwrap();
        sender.on_timeout(due, &mut ());
    }
    assert_eq!(sender.poll_transmit(due, &mut ()).map(|data| data.sequence), Some(1));
}

// tcp_update_pacing_rate, tcp_tso_autosize
#[test]
fn in_a_recovery_all_that_is_outstanding_makes_the_longest_train() {
    let stack = Stack { initial_window: 990, ..linux() };
    let random = Random::stream(1, "sender", 0);
    let mut sender = Sender::new(stack, Box::new(NewReno::default()), Application::Greedy, random);
    sender.start(at(0));
    assert_eq!(leave(&mut sender, 0).len(), 990, "22 trains of 45");
    acknowledge(&mut sender, 100, 4);
    // Twice 994 segments in 100 ms, for 1/1024 s: 19.4.
    assert_eq!((sender.state().outstanding, sender.longest_train()), (994, 19));
    let mut sack = crate::SackBlocks::default();
    sack.push(4, 5, 8);
    let ack = Acknowledgement { cumulative: 4, window: u32::MAX, sack, ..Acknowledgement::default() };
    sender.on_acknowledgement(at(101), &ack, &mut ());
    // The window comes down to 497, and 1.2 times 994 segments are 11.6. 497 would make 5.8.
    let state = sender.state();
    assert_eq!((state.phase, state.threshold, state.outstanding), (Phase::Recovery, 497.0, 994));
    assert_eq!(sender.longest_train(), 11);
}

#[test]
fn segments_have_the_headers_of_their_stack() {
    let linux = Sender::new(linux(), Box::new(NewReno::default()), Application::Greedy, Random::stream(1, "sender", 0));
    assert_eq!(linux.wire_size(1448), Bytes::new(1500));
    let plain = sender(Application::Greedy, 3);
    assert_eq!(plain.wire_size(100), Bytes::new(140));
    let data = |retransmission| Data {
        sequence: 0,
        timestamp: at(0),
        payload: 1460,
        retransmission,
        reduced: false,
        push: false,
    };
    let marking = Stack { marks: Marks::Echoed { kept: 0.0 }, ..crate::plain() };
    let marking =
        Sender::new(marking, Box::new(NewReno::default()), Application::Greedy, Random::stream(1, "sender", 0));
    assert_eq!([false, true].map(|again| marking.codepoint(&data(again))), [Ecn::Ect0, Ecn::NotCapable]);
    assert_eq!(plain.codepoint(&data(false)), Ecn::NotCapable);
}

#[test]
fn an_opening_leaves_the_first_sample_and_the_initial_window() {
    let state = |opened| {
        let mut sender = sender(Application::Greedy, 3);
        sender.open(at(1200), opened);
        let left = leave(&mut sender, 1200).len();
        (left, sender.state().smoothed_rtt, sender.state().timeout)
    };
    let ms = Span::from_millis;
    // 200 ms + 4 * 100 ms are below the least of 1 s, but 900 ms + 4 * 450 ms are not.
    assert_eq!(state(Opened::at_once(at(1000))), (3, ms(200), ms(1000)));
    assert_eq!(state(Opened::at_once(at(300))), (3, ms(900), ms(2700)));
    // Sent again: no sample, so that data wait for 3 s, and a window of one.
    assert_eq!(state(Opened { since: None, cautious: true, retransmissions: 1 }), (1, Span::ZERO, ms(3000)));
}

// RFC 4782.
#[test]
fn a_granted_rate_makes_the_window_and_the_pace() {
    let mut quick = sender(Application::Greedy, 3);
    // 10 Mbit/s for 100 ms are 125,000 bytes: 83 packets of 1500. They leave 1.2 ms apart.
    quick.open_at_rate(at(100), Opened::at_once(at(0)), Rate::from_mbit(10));
    assert_eq!((quick.state().window, leave(&mut quick, 100)), (83, vec![0]));
    let next = quick.poll_timeout().unwrap().as_nanos();
    assert!(next.abs_diff(101_200_000) <= 1, "{next}");
    // A rate of less than the usual window does not make it smaller.
    let mut slow = sender(Application::Greedy, 3);
    slow.open_at_rate(at(100), Opened::at_once(at(0)), Rate::from_bits_per_second(120_000));
    assert_eq!(slow.state().window, 3);
}

#[test]
fn no_more_leaves_than_the_receiver_takes() {
    let mut sender = sender(Application::Interactive, 3);
    sender.start(at(0));
    sender.note_receive_window(1);
    sender.note_written(8);
    assert_eq!(leave(&mut sender, 0), [0]);
    sender.note_receive_window(2);
    assert_eq!(leave(&mut sender, 1), [1]);
}

/// A sender with a slow-start threshold of 10 segments.
fn at_threshold(stack: Stack) -> Sender {
    let mut sender =
        Sender::new(stack, Box::new(NewReno::default()), Application::Interactive, Random::stream(1, "sender", 0));
    sender.start(at(0));
    sender.notify(at(0), |controller, _| controller.reno().unwrap().threshold = 10.0);
    sender
}

/// The retransmission timer expires.
fn time_out(sender: &mut Sender) -> u64 {
    loop {
        let due = sender.poll_timeout().unwrap();
        sender.on_timeout(due, &mut ());
        let ms = due.as_nanos() / 1_000_000;
        if sender.counters().timeouts > 0 {
            return ms;
        }
        leave(sender, ms);
    }
}

// tcp_current_ssthresh; FreeBSD gives back what there was.
#[test]
fn an_undo_gives_back_the_threshold_in_linux_at_least_three_quarters_of_the_window() {
    let of_linux = Stack { initial_window: 20, ..linux() };
    let of_others = Stack { initial_window: 20, timestamps: true, undo: true, ..plain() };
    for (stack, threshold) in [(of_linux, 15.0), (of_others, 10.0)] {
        let mut sender = at_threshold(stack);
        sender.note_written(20);
        assert_eq!(leave(&mut sender, 0).len(), 20);
        let ms = time_out(&mut sender);
        assert_eq!(leave(&mut sender, ms), [0]);
        assert_eq!((sender.state().window, sender.state().threshold), (1, 10.0));
        // It answers what left first: nothing was lost.
        let ack = Acknowledgement { cumulative: 20, window: u32::MAX, echo: at(0), ..Acknowledgement::default() };
        sender.on_acknowledgement(at(ms + 100), &ack, &mut ());
        assert_eq!((sender.counters().spurious, sender.state().threshold), (1, threshold));
    }
}

// tcp_enter_loss: the window is one more than the flight.
#[test]
fn what_left_just_before_a_timeout_is_part_of_the_window() {
    let mut stack = Stack { segmentation_offload: false, timestamps: false, ..linux() };
    let Detection::Selective(selective) = &mut stack.losses.detection else { panic!("Linux uses SACK") };
    selective.tail_loss_probe = false;
    let mut sender = at_threshold(stack);
    sender.note_written(10);
    assert_eq!(leave(&mut sender, 0).len(), 10);
    assert!(acknowledge(&mut sender, 100, 4).is_empty());
    let due = sender.poll_timeout().unwrap().as_nanos() / 1_000_000;
    sender.note_written(13);
    assert_eq!(leave(&mut sender, due - 1), [10, 11, 12]);
    let due = time_out(&mut sender);
    assert_eq!((sender.state().window, sender.in_flight(), leave(&mut sender, due)), (4, 3, vec![4]));
    // Slow start goes on from there.
    acknowledge(&mut sender, due + 100, 5);
    assert_eq!(sender.state().window, 5);
}
