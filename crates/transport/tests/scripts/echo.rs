//! ECN at the sender (RFC 3168, section 6.1.2).

use control::{Controller, Wants};
use transport::{Application, Marks, Pace, Phase, Reduction, Sender, Stack};
use units::{Bytes, Ecn, Random, Time};

use crate::harness::{Notice, SenderScript, ack, at, drop_sack, plain, with};

fn capable() -> Stack {
    with(plain(), |s| {
        s.marks = Marks::Echoed { kept: 0.0 };
        s.limited_transmit = false;
    })
}

fn reductions(s: &SenderScript) -> usize {
    s.news().iter().filter(|t| matches!(t, Notice::Ecn(_))).count()
}

#[test]
fn echoes_reduce_the_window_once_a_window_of_data_and_the_next_new_segment_tells_the_receiver() {
    let mut s = SenderScript::new(capable(), 10.0);
    s.leave(0..10).at(40).arrives(ack(2).marked()).window_is(5.0).phase(Phase::Reduced).nothing_leaves();
    s.arrives(ack(4).marked()).nothing_leaves();
    s.arrives(ack(6).marked());
    assert!(s.leaving(10).reduced);
    s.arrives(ack(8).marked());
    assert!(!s.leaving(11).reduced);
    s.leaves(12);
    // The last ACKs from before the receiver got segment 10 still carry the echo.
    s.arrives(ack(10).marked()).phase(Phase::Open).leaves(13).window_is(5.0);
    assert_eq!(reductions(&s), 1);
    // Those from after it are new marks.
    s.at(80).arrives(ack(11)).all();
    s.arrives(ack(12).marked()).window_is(2.5).phase(Phase::Reduced);
    assert_eq!(reductions(&s), 2);
}

#[test]
fn proportional_reduction_on_an_echo_sends_one_segment_for_two_delivered() {
    let mut s = SenderScript::new(with(capable(), |s| s.reduction = Reduction::ProportionalRate), 10.0);
    s.leave(0..10).at(40).arrives(ack(1).marked()).leaves(10).nothing_leaves();
    s.arrives(ack(2).marked()).nothing_leaves().arrives(ack(3).marked()).leaves(11).nothing_leaves();
    s.arrives(ack(4).marked()).nothing_leaves().arrives(ack(5).marked()).leaves(12).nothing_leaves();
}

// Linux (tcp_fastretrans_alert, then tcp_cong_control).
#[test]
fn in_linux_a_reduction_ends_with_the_segment_that_announces_it_and_the_window_grows_on_that_ack() {
    for (recovery_end_grows, phase, window) in [(false, Phase::Open, 5.0), (true, Phase::Reduced, 6.0)] {
        let begin = || {
            let mut s = SenderScript::newreno(with(capable(), |s| s.growth.recovery_end_grows = recovery_end_grows));
            s.leave(0..10).at(40).arrives(ack(2).marked()).phase(Phase::Reduced).window_is(5.0);
            s.arrives(ack(6));
            assert!(s.leaving(10).reduced);
            s
        };
        let mut s = begin();
        s.at(80).arrives(ack(10)).phase(phase).window_is(5.0).all();
        s.arrives(ack(11)).phase(Phase::Open);
        // Five segments at once are a whole window.
        begin().at(80).arrives(ack(11)).phase(Phase::Open).window_is(window);
    }
}

#[test]
fn a_loss_inside_a_reduction_does_not_reduce_again() {
    let mut s = SenderScript::new(capable(), 10.0);
    s.leave(0..10).at(40).arrives(ack(2).marked()).nothing_leaves();
    s.sacks(2, 3..6).phase(Phase::Recovery).window_is(5.0);
    s.leaves_again(2).nothing_leaves().in_flight(5);
    s.at(80).arrives(ack(10)).phase(Phase::Open).window_is(5.0);
    assert!(matches!(s.news()[..], [Notice::Ecn(_), Notice::Recovered]));
}

#[test]
fn without_sack_a_loss_inside_a_reduction_is_repaired_by_fast_retransmit() {
    let mut s = SenderScript::new(with(capable(), drop_sack), 10.0);
    s.leave(0..10).at(40).arrives(ack(2).marked()).nothing_leaves();
    for _ in 0..2 {
        s.arrives(ack(2)).nothing_leaves();
    }
    s.arrives(ack(2)).phase(Phase::Recovery).leaves_again(2);
}

#[test]
fn after_a_fast_retransmit_the_receiver_is_told_and_the_same_marks_do_not_reduce_again() {
    let mut s = SenderScript::new(capable(), 10.0);
    s.leave(0..10).at(40).sacks(0, 1..3).nothing_leaves().arrives(ack(0).sack(1, 4).marked()).leaves_again(0);
    s.at(46).arrives(ack(0).sack(1, 8).marked());
    assert!(s.leaving(10).reduced);
    s.leaves(11);
    s.at(80).arrives(ack(10).marked()).window_is(5.0).phase(Phase::Open);
    assert_eq!(reductions(&s), 0);
}

// RFC 8511, section 3: a mark leaves 0.8 of the window, and two segments at least.

#[test]
fn with_abe_a_mark_leaves_a_share_of_the_window_of_its_own_and_a_loss_does_not() {
    let options = with(capable(), |s| s.marks = Marks::Echoed { kept: 0.8 });
    let mut s = SenderScript::new(options.clone(), 11.0);
    // 0.8 of 11 are 8 whole segments.
    s.leave(0..11).at(40).arrives(ack(2).marked()).window_is(8.0).phase(Phase::Reduced);
    let mut s = SenderScript::new(options.clone(), 10.0);
    s.leave(0..10).at(40).sacks(0, 1..3).arrives(ack(0).sack(1, 4)).window_is(5.0);
    for (before, left) in [(2.0, 2.0), (1.0, 1.0)] {
        let mut s = SenderScript::new(options.clone(), before);
        s.leave(0..before as u64).at(40).arrives(ack(1).marked()).window_is(left);
    }
}

#[test]
fn with_abe_the_flight_comes_down_to_what_the_mark_left() {
    let reduction = Reduction::ProportionalRate;
    let mut s = SenderScript::new(
        with(capable(), |s| {
            s.marks = Marks::Echoed { kept: 0.8 };
            s.reduction = reduction;
        }),
        10.0,
    );
    s.leave(0..10).at(40).arrives(ack(1).marked()).leaves(10).arrives(ack(2).marked()).leaves(11);
    s.arrives(ack(3).marked()).leaves(12).arrives(ack(4).marked()).leaves(13);
    // Four of five delivered, rounded up. Then as many as make eight.
    s.arrives(ack(5).marked()).nothing_leaves().arrives(ack(6).marked()).nothing_leaves().in_flight(8);
    s.arrives(ack(7).marked()).leaves(14).in_flight(8);
}

#[test]
fn a_share_below_that_of_a_loss_takes_nothing_more() {
    let mut s = SenderScript::new(with(capable(), |s| s.marks = Marks::Echoed { kept: 0.3 }), 10.0);
    s.leave(0..10).at(40).arrives(ack(2).marked()).window_is(5.0);
}

#[test]
fn a_timeout_inside_a_reduction_does_not_reduce_again() {
    let mut s = SenderScript::new(capable(), 10.0);
    s.leave(0..10).at(40).arrives(ack(2).marked()).nothing_leaves();
    s.timer().leaves_again(2);
    assert!(matches!(s.news()[..], [Notice::Ecn(_), Notice::Timeout(loss)] if loss.again));
}

#[test]
fn a_reduction_on_an_echo_is_not_undone_for_an_earlier_loss() {
    let mut s = SenderScript::new(with(capable(), |s| s.undo = true), 10.0);
    s.leave(0..10).at(40).sacks(0, 1..3).arrives(ack(0).sack(1, 4)).leaves_again(0);
    s.at(80).arrives(ack(10)).all();
    s.at(120).arrives(ack(11).marked()).phase(Phase::Reduced);
    s.all();
    s.arrives(ack(11).duplicate(0)).phase(Phase::Reduced).window_is(2.5);
    assert_eq!(s.counters().spurious, 0);
}

#[test]
fn a_sender_without_ecn_does_not_announce_reductions() {
    let mut s = SenderScript::new(with(capable(), |s| s.marks = Marks::Off), 10.0);
    s.leave(0..10).at(40).sacks(0, 1..3).arrives(ack(0).sack(1, 4)).leaves_again(0);
    s.arrives(ack(0).sack(1, 8));
    assert!(!s.leaving(10).reduced);
    s.all();
}

#[test]
fn an_echo_with_nothing_outstanding_does_not_hold_up_what_is_sent_next() {
    let steps =
        vec![(at(0), "8mbit".parse().unwrap()), (at(1), "0bit".parse().unwrap()), (at(99), "8mbit".parse().unwrap())];
    let pace = Pace::new(steps, Bytes::new(1000), Some(Bytes::new(3000)));
    let options = with(capable(), |s| s.reduction = Reduction::ProportionalRate);
    let mut s = SenderScript::with(options, 10.0, Application::Paced(pace));
    s.leave(0..1).at(1).leaves(1);
    s.at(41).arrives(ack(2)).at(50).arrives(ack(2).duplicate(1).marked()).window_is(5.0).phase(Phase::Open);
    s.at(100).leaves(2);
}

// RFC 9768: the receiver counts, and nothing is latched until the sender announces that it has reduced.

fn accurate() -> Stack {
    with(capable(), |s| s.marks = Marks::Counted { kept: 0.0 })
}

#[test]
fn a_count_of_marks_tells_how_many_are_new() {
    let mut s = SenderScript::new(accurate(), 10.0);
    let marks = |s: &SenderScript| (s.last_ack().newly_marked, s.last_ack().marked, s.last_ack().ecn_echo);
    s.leave(0..10).at(40).arrives(ack(2).count(1)).nothing_leaves().window_is(5.0).phase(Phase::Reduced);
    assert_eq!(marks(&s), (1, 1, true));
    s.arrives(ack(4).count(3));
    assert_eq!(marks(&s), (2, 3, true));
    assert_eq!(reductions(&s), 1, "one a window of data");
    s.arrives(ack(5).count(2)).arrives(ack(6).count(3));
    assert_eq!(marks(&s), (0, 3, false), "an ACK that was overtaken reported the third before");
    assert!(!s.leaving(10).reduced, "no CWR: the receiver does not wait for it");
}

#[test]
fn a_controller_that_governs_marks_gets_them_with_acks_alone() {
    let wants = Wants { governs_marks: true, ..Wants::default() };
    let mut s = SenderScript::wanting(wants, accurate(), 10.0, Application::Greedy);
    s.leave(0..10).at(40).arrives(ack(2).count(1)).leave(10..12).phase(Phase::Open);
    assert_eq!(s.last_ack().newly_marked, 1);
    assert_eq!(s.news(), []);
}

// RFC 8257, section 3.3: the setting of CWR is also as per RFC 3168.
#[test]
fn an_echo_that_the_controller_answers_is_announced_once_a_window_of_data() {
    let wants = Wants { governs_marks: true, ..Wants::default() };
    let mut s = SenderScript::wanting(wants, capable(), 10.0, Application::Greedy);
    s.leave(0..10).at(40).arrives(ack(2).marked()).phase(Phase::Open);
    assert!(s.leaving(10).reduced && !s.leaving(11).reduced);
    s.arrives(ack(4).marked());
    assert!(!s.leaving(12).reduced && !s.leaving(13).reduced, "the receiver does not know of it yet");
    s.arrives(ack(10)).leave(14..20).at(80).arrives(ack(12).marked());
    assert!(s.leaving(20).reduced, "a new mark");
    assert_eq!(s.news(), []);
}

#[test]
fn the_controller_chooses_the_codepoint_of_new_segments() {
    struct Scalable(control::newreno::NewReno);
    impl Controller for Scalable {
        fn wants(&self) -> Wants {
            Wants { l4s: true, ..Wants::default() }
        }
        fn on_ack(&mut self, cx: &mut control::Context<'_>, ack: &control::Ack) {
            self.0.on_ack(cx, ack);
        }
        fn on_loss(&mut self, cx: &mut control::Context<'_>, loss: &control::Loss) {
            self.0.on_loss(cx, loss);
        }
        fn on_timeout(&mut self, cx: &mut control::Context<'_>, loss: &control::Loss) {
            self.0.on_timeout(cx, loss);
        }
        fn on_idle_restart(&mut self, _cx: &mut control::Context<'_>) {}
        fn window(&self) -> f64 {
            2.0
        }
        fn slow_start_threshold(&self) -> f64 {
            2.0
        }
    }
    for (marks, codepoint) in [(Marks::Counted { kept: 0.0 }, Ecn::Ect1), (Marks::Off, Ecn::NotCapable)] {
        let options = with(capable(), |s| s.marks = marks);
        let controller = Box::new(Scalable(control::newreno::NewReno::default()));
        let mut sender = Sender::new(options, controller, Application::Greedy, Random::stream(1, "script", 0));
        sender.start(Time::ZERO);
        let data = sender.poll_transmit(Time::ZERO, &mut ()).unwrap();
        assert_eq!(sender.codepoint(&data), codepoint);
        while sender.poll_transmit(Time::ZERO, &mut ()).is_some() {}
        sender.on_timeout(at(1000), &mut ());
        let data = sender.poll_transmit(at(1000), &mut ()).unwrap();
        assert!(data.retransmission);
        assert_eq!(sender.codepoint(&data), Ecn::NotCapable);
    }
}

// RFC 3168, section 6.1.2.
#[test]
fn an_ack_with_an_echo_does_not_grow_the_window() {
    let mut s = SenderScript::newreno(with(capable(), |s| s.initial_window = 4));
    s.leave(0..4).at(40).arrives(ack(2).marked()).window_is(2.0);
}

// RFC 6675, step 4.3. Before, it waited for the pipe: 14 segments against a window of 10.
#[test]
fn a_loss_inside_a_reduction_is_repaired_at_once_by_the_pipe_rule() {
    let mut s = SenderScript::new(capable(), 20.0);
    s.leave(0..20).at(40).arrives(ack(2).marked()).window_is(10.0).nothing_leaves();
    s.sacks(2, 3..6).leaves_again(2).nothing_leaves().in_flight(15).phase(Phase::Recovery);
}
