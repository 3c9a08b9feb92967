//! Reordering, and reductions found spurious (RFC 8985, RFC 3522, RFC 3708, RFC 4015).

use transport::{Application, Marks, Pace, Phase, Reduction, Repair, Rule, Stack, StateMachine};
use units::{Bytes, Time};

use crate::harness::{Notice, SenderScript, ack, drop_sack, linux_rack, plain, selective, with};

fn rack() -> Stack {
    with(plain(), |s| {
        selective(s).rule = Rule::Rack(Repair::Fast);
        s.limited_transmit = false;
    })
}

fn undoing() -> Stack {
    with(plain(), |s| {
        s.timestamps = true;
        s.undo = true;
        s.limited_transmit = false;
    })
}

#[test]
fn reordering_by_two_is_no_loss() {
    for sack in [false, true] {
        let options = with(plain(), |s| {
            if !sack {
                drop_sack(s);
            };
            s.limited_transmit = false;
        });
        let mut s = SenderScript::new(options, 4.0);
        let block = |end| if sack { ack(0).sack(1, end) } else { ack(0) };
        s.leave(0..4).at(40).arrives(block(2)).phase(Phase::Disorder).arrives(block(3)).all();
        s.arrives(ack(3)).phase(Phase::Open).all();
        assert_eq!((s.counters().lost_packets, s.counters().retransmitted_packets), (0, 0));
    }
}

// RFC 8985, section 6.2, step 4: no reordering seen, fewer than DupThresh SACKed: a quarter of the smallest RTT.
#[test]
fn rack_gives_a_late_segment_a_quarter_of_the_smallest_rtt() {
    let mut s = SenderScript::new(rack(), 4.0);
    s.leave(0..4).at(40).arrives(ack(0).sack(1, 2)).nothing_leaves().timer_at(50);
    s.at(50).leaves_again(0).phase(Phase::Recovery);
}

// RFC 8985, section 6.2, step 5: the timer waits for the last suspect, so that recovery begins with the segments in
// flight once all are lost, and by proportional rate reduction with one retransmission. Before, the timer of the first
// began it with 9 in flight, and with the eight others lost as many left at once.
#[test]
fn the_timer_of_rack_finds_all_suspects_at_once() {
    let pace = Pace::new(vec![(Time::ZERO, "8mbit".parse().unwrap())], Bytes::new(1000), None);
    let options = with(rack(), |s| {
        s.receive_window = 11;
        s.reduction = Reduction::ProportionalRate;
    });
    let mut s = SenderScript::with(options, 20.0, Application::Paced(pace));
    // One every millisecond. 9 is SACKed 40 ms after it left.
    for number in 0..11 {
        s.at(number).leaves(number);
    }
    s.at(49).arrives(ack(0).sack(9, 10).window(11)).nothing_leaves().timer_at(58);
    s.at(58).leaves_again(0).nothing_leaves().phase(Phase::Recovery);
    assert_eq!(s.counters().lost_packets, 9);
}

#[test]
fn once_reordering_was_seen_rack_waits_however_many_are_sacked() {
    let mut s = SenderScript::new(rack(), 10.0);
    s.leave(0..10).at(40).arrives(ack(0).sack(1, 2)).at(41).arrives(ack(2)).leave(10..12);
    s.at(45).arrives(ack(2).sack(3, 8)).nothing_leaves().timer_at(55);
    s.at(50).arrives(ack(8)).all();
    s.at(280).nothing_leaves();
    assert_eq!(s.counters().lost_packets, 0);
}

// RFC 8985, section 6.2, step 4: RACK.reo_wnd_mult.
#[test]
fn a_duplicate_sack_makes_rack_wait_a_quarter_longer() {
    let mut s = SenderScript::new(rack(), 10.0);
    s.leave(0..10).at(40).arrives(ack(0).sack(1, 2)).at(41).arrives(ack(2)).leave(10..12);
    s.at(60).arrives(ack(2).sack(3, 4)).nothing_leaves().timer_at(70);
    s.at(70).leaves_again(2).at(71).arrives(ack(4)).all();
    s.at(81).arrives(ack(12)).leave(12..14);
    s.at(111).arrives(ack(12).duplicate(2)).nothing_leaves();
    // 13 took 48 ms: 12 is due then, and may be late by two quarters of the 40 ms.
    s.at(129).arrives(ack(12).sack(13, 14)).leaves(14).timer_at(149);
}

// RFC 3522; RFC 4015.
#[test]
fn the_echo_of_the_original_undoes_a_fast_retransmit_and_raises_the_threshold() {
    let mut s = SenderScript::new(undoing(), 10.0);
    s.leave(0..10).at(40).sacks(0, 1..4).leaves_again(0).window_is(5.0);
    s.at(41).arrives(ack(0).sack(1, 5).echo(0)).at(42).arrives(ack(5).echo(0)).window_is(10.0).phase(Phase::Open);
    assert!(matches!(s.news()[..], [Notice::Loss(_), Notice::Spurious]));
    assert_eq!(s.counters().spurious, 1);
    // In flight: 5 to 9. Four overtook: as many are no sign of loss any more, five are.
    s.leave(10..15).at(50).sacks(5, 6..10).nothing_leaves().phase(Phase::Disorder);
    s.arrives(ack(5).sack(6, 11)).leaves_again(5).phase(Phase::Recovery);
}

#[test]
fn the_echo_of_the_retransmission_undoes_nothing() {
    let mut s = SenderScript::new(undoing(), 10.0);
    s.leave(0..10).at(40).sacks(0, 1..4).leaves_again(0);
    s.at(80).arrives(ack(10).echo(40)).window_is(5.0);
    assert_eq!(s.counters().spurious, 0);
}

// RFC 7323, section 4.1: within one tick of the timestamp clock the two look the same.
#[test]
fn an_echo_in_the_tick_of_the_retransmission_undoes_nothing() {
    let mut s = SenderScript::new(with(undoing(), |s| s.clock.timestamp_tick = crate::harness::ms(100)), 10.0);
    s.leave(0..10).at(40).sacks(0, 1..4).leaves_again(0);
    s.at(42).arrives(ack(10).echo(0)).window_is(5.0);
}

// RFC 3708.
#[test]
fn duplicate_sacks_of_all_retransmissions_undo_the_reduction() {
    let mut s = SenderScript::new(with(undoing(), |s| s.timestamps = false), 10.0);
    s.leave(0..10).at(40).sacks(0, 2..5).leaves_again(0);
    s.arrives(ack(0).sack(2, 6)).nothing_leaves().arrives(ack(0).sack(2, 7)).leaves_again(1);
    s.at(42).arrives(ack(7)).all();
    s.at(80).arrives(ack(7).duplicate(0)).window_is(5.0);
    s.at(81).arrives(ack(7).duplicate(1)).window_is(10.0).phase(Phase::Open);
    assert_eq!(s.counters().spurious, 1);
}

#[test]
fn a_spurious_timeout_is_undone_and_only_new_data_follows() {
    for sack in [true, false] {
        let mut s = SenderScript::new(
            with(undoing(), |s| {
                if !sack {
                    drop_sack(s);
                }
            }),
            4.0,
        );
        s.leave(0..4).at(1000).leaves_again(0).window_is(1.0);
        s.at(1010).arrives(ack(1).echo(0)).window_is(4.0).phase(Phase::Open).leave(4..5).nothing_leaves();
        s.at(1011).arrives(ack(2).echo(0)).leaves(5).arrives(ack(3).echo(0)).leaves(6);
        assert_eq!(s.counters().retransmitted_packets, 1);
    }
}

#[test]
fn a_timeout_that_backed_off_is_undone_as_well() {
    let mut s = SenderScript::new(undoing(), 4.0);
    s.leave(0..4).at(1000).leaves_again(0).at(3000).leaves_again(0);
    s.at(3010).arrives(ack(4).echo(0)).phase(Phase::Open);
    assert_eq!(s.counters().spurious, 1);
}

#[test]
fn without_the_option_nothing_is_undone() {
    let mut s = SenderScript::new(with(undoing(), |s| s.undo = false), 10.0);
    s.leave(0..10).at(40).sacks(0, 1..4).leaves_again(0);
    s.at(42).arrives(ack(10).echo(0).duplicate(0)).window_is(5.0);
}

#[test]
fn a_late_segment_beside_a_lost_one_undoes_nothing() {
    // 0 is late, 5 is lost.
    let mut s = SenderScript::new(undoing(), 10.0);
    s.leave(0..10).at(40).sacks(0, 1..4).leaves_again(0);
    s.at(41).sacks(0, 6..9).all();
    s.at(42).arrives(ack(5).sack(6, 9).echo(0)).all();
    s.at(81).arrives(ack(11).echo(41)).window_is(5.0).all();
    assert_eq!((s.counters().spurious, s.counters().recoveries), (0, 1));
}

#[test]
fn an_ack_that_undoes_a_reduction_begins_none_and_the_next_one_may() {
    // 0 is late, 5 is lost: the ACK that shows the one has three segments above the other.
    let mut s = SenderScript::new(undoing(), 10.0);
    s.leave(0..10).at(40).sacks(0, 1..4).leaves_again(0);
    s.at(42).arrives(ack(5).sack(6, 9).echo(0)).window_is(10.0).phase(Phase::Disorder).leave(10..15);
    // 0 came three late: it takes four now.
    s.at(43).arrives(ack(5).sack(6, 10).echo(0)).leaves_again(5).phase(Phase::Recovery).window_is(5.0);
}

// RFC 8985, section 6.2, step 2: an ACK sooner than the smallest RTT is for the original.
#[test]
fn rack_does_not_take_the_ack_of_an_original_for_that_of_its_retransmission() {
    let mut s = SenderScript::new(rack(), 10.0);
    s.leave(0..10).at(40).arrives(ack(1).sack(2, 3)).all();
    s.at(50).leaves_again(1).nothing_leaves();
    // Had the retransmission of 50 ms arrived, 3 to 9 would be lost.
    s.at(51).arrives(ack(3)).all();
    assert_eq!(s.counters().lost_packets, 1);
}

// Before, every undo counted as reordering seen, so that RACK waited a quarter of 1011 ms.
#[test]
fn a_spurious_timeout_without_reordering_makes_rack_wait_no_longer() {
    let mut s = SenderScript::new(with(undoing(), |s| selective(s).rule = Rule::Rack(Repair::Fast)), 4.0);
    s.leave(0..4).at(1000).leaves_again(0).at(1010).arrives(ack(1).echo(0)).leaves(4);
    s.at(1011).arrives(ack(4).echo(0)).leave(5..8);
    s.at(1100).sacks(4, 5..8).leaves_again(4).phase(Phase::Recovery);
}

// RFC 8985, section 6.2, step 2: RACK.rtt is the RTT of the segment reported last, however old.
#[test]
fn a_late_segment_prolongs_the_patience_of_rack() {
    let mut s = SenderScript::new(rack(), 1.0);
    s.leaves(0).window(2.0).at(2).arrives(ack(0)).leaves(1).window(3.0).at(4).arrives(ack(0)).leaves(2);
    // 2 took 40 ms, the reordering window is 10 ms: 0 is due at 50 ms, and 1, the last suspect, at 52 ms.
    s.at(44).arrives(ack(0).sack(2, 3)).nothing_leaves().timer_at(52);
    // 0 took 48 ms: 1 is due 58 ms after it left.
    s.at(48).arrives(ack(1).sack(2, 3)).leaves(3).timer_at(60);
}

// Before, such an ACK was thrown away whole.
#[test]
fn an_overtaken_ack_still_reports_what_arrived() {
    let mut s = SenderScript::new(with(undoing(), |s| s.timestamps = false), 10.0);
    s.leave(0..10).at(40).sacks(0, 1..4).leaves_again(0).window_is(5.0);
    s.at(42).arrives(ack(4)).all();
    s.at(43).arrives(ack(6)).all();
    // The duplicate SACK of 0 comes late, with a block that no other ACK has shown.
    let before = s.last_ack();
    s.arrives(ack(4).duplicate(0).sack(8, 9)).window_is(10.0).phase(Phase::Disorder).all();
    assert_eq!(s.counters().spurious, 1);
    assert_eq!(s.last_ack(), before, "it is no ACK for the controller");
}

// RFC 6675 and FreeBSD 9: DupThresh is 3.
#[test]
fn without_adaptation_three_above_are_a_loss_however_much_was_reordered() {
    let mut s = SenderScript::new(with(undoing(), |s| selective(s).reordering_adapts = false), 10.0);
    s.leave(0..10).at(40).sacks(0, 1..4).leaves_again(0);
    // Four overtook 0.
    s.at(41).arrives(ack(0).sack(1, 5).echo(0)).at(42).arrives(ack(5).echo(0)).window_is(10.0).leave(10..15);
    s.at(50).sacks(5, 6..8).nothing_leaves().arrives(ack(5).sack(6, 9)).leaves_again(5).phase(Phase::Recovery);
}

fn undoing_rack() -> Stack {
    with(undoing(), |s| {
        linux_rack(s);
        s.marks = Marks::Echoed { kept: 0.0 };
    })
}

// Linux: an ACK with ECE sets prior_ssthresh to 0.
#[test]
fn a_mark_in_recovery_keeps_the_window_that_it_reduced() {
    for (marked, window) in [(false, 10.0), (true, 5.0)] {
        let mut s = SenderScript::new(undoing_rack(), 10.0);
        s.leave(0..10).at(40).sacks(0, 1..3).arrives(ack(0).sack(1, 4)).leaves_again(0);
        let echo = ack(0).sack(1, 5).echo(0);
        s.at(41).arrives(if marked { echo.marked() } else { echo });
        s.at(42).arrives(ack(5).echo(0)).phase(Phase::Open).window_is(window);
        assert_eq!(s.counters().spurious, 1);
    }
}

// Linux, tcp_ecn_withdraw_cwr.
#[test]
fn a_reduction_that_is_undone_is_not_announced() {
    let mut s = SenderScript::new(undoing_rack(), 10.0);
    s.leave(0..10).at(40).sacks(0, 1..3).arrives(ack(0).sack(1, 4)).leaves_again(0);
    s.at(42).arrives(ack(5).echo(0)).window_is(10.0);
    assert!(!s.leaving(10).reduced);
    s.all();
}

// Linux, tcp_try_undo_dsack within recovery: its state is Recovery until the end of tcp_try_to_open.
#[test]
fn the_ack_that_undoes_a_recovery_before_its_end_answers_no_echo() {
    let options = with(undoing_rack(), |s| {
        s.timestamps = false;
        s.growth.recovery_end_grows = true;
    });
    let mut s = SenderScript::new(options, 10.0);
    s.leave(0..10).at(40).sacks(0, 1..3).arrives(ack(0).sack(1, 4)).leaves_again(0);
    s.at(80).arrives(ack(5).duplicate(0).marked()).all();
    s.phase(Phase::Open).at(81).arrives(ack(6).marked()).phase(Phase::Reduced);
    s.all();
}

// A FreeBSD with RACK is no Linux: a mark beside the evidence leaves the undo as it is, and the undo gives back the
// threshold of before.
#[test]
fn rack_in_the_order_of_the_rfcs_undoes_a_reduction_that_an_echo_came_with() {
    for (linux, window) in [(false, 10.0), (true, 5.0)] {
        let options = with(undoing_rack(), |s| {
            if !linux {
                s.losses.state_machine = StateMachine::Rfc;
            }
        });
        let mut s = SenderScript::new(options, 10.0);
        s.leave(0..10).at(40).sacks(0, 1..3).arrives(ack(0).sack(1, 4)).leaves_again(0).window_is(5.0);
        s.at(41).arrives(ack(0).sack(1, 5).echo(0).marked()).at(42).arrives(ack(5).echo(0)).window_is(window);
        assert_eq!(s.counters().spurious, 1);
    }
}

// Linux, tcp_rack_reo_timeout: it sends lost segments again and nothing else.
#[test]
fn the_timer_of_rack_sends_no_new_segments() {
    let mut s = SenderScript::new(rack(), 4.0);
    s.leave(0..4).at(40).arrives(ack(0).sack(1, 2)).nothing_leaves().timer_at(50);
    s.window(8.0).at(50).leaves_again(0).nothing_leaves();
    s.at(60).arrives(ack(0).sack(1, 3)).leave(4..5);
    s.all();
}

// tcp_process_loss, tcp_try_undo_loss: without SACK the repair goes on behind an undo.
#[test]
fn without_sack_linux_undoes_a_timeout_and_goes_on() {
    let stack = with(undoing(), |s| {
        drop_sack(s);
        s.losses.state_machine = StateMachine::Linux;
    });
    let mut s = SenderScript::new(stack, 4.0);
    s.leave(0..4).at(1000).leaves_again(0).window_is(1.0);
    s.at(1010).arrives(ack(1).echo(0)).window_is(4.0).all();
    assert_eq!(s.counters().spurious, 1);
}

// tcp_try_undo_partial.
#[test]
fn linux_undoes_a_recovery_for_an_ack_of_the_original_alone() {
    // 0 and 5 are missing, and the ACK of 0 shows 5 to be lost.
    for (echo, spurious, phase) in [(0, 1, Phase::Disorder), (40, 0, Phase::Recovery)] {
        let mut s = SenderScript::new(with(undoing(), linux_rack), 10.0);
        s.leave(0..10).at(40).sacks(0, 1..4).leaves_again(0);
        s.at(80).arrives(ack(5).sack(6, 7).echo(echo)).phase(phase).all();
        assert_eq!(s.counters().spurious, spurious, "{echo}");
    }
}
