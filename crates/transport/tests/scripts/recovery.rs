//! Fast retransmit and fast recovery (RFC 5681, 6582, 6675, 6937).

use transport::{Application, Phase, Reduction, Repair, Resends, Retransmits, Rule, Stack, StateMachine};
use units::Bytes;

use crate::harness::{Notice, SenderScript, ack, drop_sack, plain, selective, with};

fn reno() -> Stack {
    with(plain(), drop_sack)
}

fn losses(s: &SenderScript) -> usize {
    s.news().iter().filter(|t| matches!(t, Notice::Loss(_))).count()
}

// RFC 6675, section 5, and RFC 3042.
#[test]
fn the_third_sack_retransmits_and_the_pipe_governs_what_follows() {
    let mut s = SenderScript::new(plain(), 10.0);
    s.leave(0..10).nothing_leaves().timer_at(1000);
    s.at(40).arrives(ack(0).sack(1, 2)).leaves(10).phase(Phase::Disorder);
    s.arrives(ack(0).sack(1, 3)).leaves(11).nothing_leaves();
    // 12 outstanding, 3 SACKed, 1 lost: pipe 8, aim 5. Only the retransmission leaves.
    s.arrives(ack(0).sack(1, 4)).leaves_again(0).nothing_leaves().in_flight(9);
    s.phase(Phase::Recovery).window_is(5.0).timer_at(280);
    let Some(Notice::Loss(loss)) = s.news().first().copied() else { panic!("{:?}", s.news()) };
    assert_eq!((loss.in_flight, loss.newly_lost, loss.acknowledged_to, loss.sent_to), (10, 1, 0, 12));
    s.sacks_from(0, 1, 5..9).nothing_leaves().in_flight(5);
    s.arrives(ack(0).sack(1, 9)).leaves(12).nothing_leaves();
    s.arrives(ack(0).sack(1, 10)).leaves(13);
    // The retransmission fills the hole up to the recovery point.
    s.at(80).arrives(ack(0).sack(1, 12)).leaves(14).leaves(15);
    s.arrives(ack(12)).phase(Phase::Open).window_is(5.0).leaves(16).in_flight(5);
    assert_eq!(s.last_notice(), Notice::Recovered);
    assert_eq!(losses(&s), 1);
}

// Linux (since 4.6 at the latest) leaves recovery first (tcp_fastretrans_alert), then the window may grow
// (tcp_cong_control).
#[test]
fn linux_grows_the_window_on_the_ack_that_ends_a_recovery() {
    // 12 segments are acknowledged, of which 3 were SACKed: 5 and 9/5, in whole segments 6.
    for (recovery_end_grows, window) in [(false, 5.0), (true, 6.0)] {
        let options = with(plain(), |s| s.growth.recovery_end_grows = recovery_end_grows);
        let mut s = SenderScript::newreno(options.clone());
        s.leave(0..10).at(40).arrives(ack(0).sack(1, 2)).leaves(10).arrives(ack(0).sack(1, 3)).leaves(11);
        s.arrives(ack(0).sack(1, 4)).leaves_again(0).phase(Phase::Recovery);
        s.at(80).arrives(ack(12)).phase(Phase::Open).window_is(window);
        // The controller is notified of the end of recovery before it gets the ACK.
        let mut s = SenderScript::new(options, 10.0);
        s.leave(0..10).at(40).arrives(ack(0).sack(1, 2)).leaves(10).arrives(ack(0).sack(1, 3)).leaves(11);
        s.arrives(ack(0).sack(1, 4)).leaves_again(0);
        s.at(80).arrives(ack(12));
        let last = s.last_ack();
        let counted = (last.ends_recovery, last.newly_acknowledged, last.covers());
        assert_eq!(counted, (recovery_end_grows, 12, if recovery_end_grows { 9 } else { 12 }));
    }
}

// RFC 6582, section 3.2.
#[test]
fn without_sack_the_third_duplicate_retransmits_and_duplicates_stand_for_arrivals() {
    let mut s = SenderScript::new(reno(), 10.0);
    s.leave(0..10).at(40).arrives(ack(0)).leaves(10);
    s.arrives(ack(0)).leaves(11);
    s.arrives(ack(0)).leaves_again(0).nothing_leaves().in_flight(9).phase(Phase::Recovery).timer_at(1040);
    for _ in 0..4 {
        s.arrives(ack(0)).nothing_leaves();
    }
    s.arrives(ack(0)).leaves(12).in_flight(5);
    s.at(80).arrives(ack(12)).phase(Phase::Open);
}

#[test]
fn without_sack_partial_acks_retransmit_one_segment_each() {
    // 0 and 4 are lost.
    let mut s = SenderScript::new(reno(), 10.0);
    s.leave(0..10).at(40).arrives(ack(0)).leaves(10).arrives(ack(0)).leaves(11).arrives(ack(0)).leaves_again(0);
    for _ in 5..9 {
        s.arrives(ack(0)).nothing_leaves();
    }
    s.arrives(ack(0)).leaves(12).arrives(ack(0)).leaves(13).arrives(ack(0)).leaves(14).in_flight(5);
    // 11 outstanding. 10 duplicates less the three that segments 1 to 3 caused, and 4 is lost: pipe 3, aim 5.
    s.at(80).arrives(ack(4)).leaves_again(4).leaves(15).nothing_leaves().in_flight(5).phase(Phase::Recovery);
    assert_eq!(s.last_ack().newly_delivered, 1, "the retransmission; duplicates reported the others");
    s.at(120).arrives(ack(12)).phase(Phase::Open).window_is(5.0);
    assert_eq!(losses(&s), 1);
}

// RFC 6582, section 3.2, step 1: an ACK of exactly the recovery point does not cover more than `recover`.
#[test]
fn without_sack_duplicates_caused_by_retransmissions_do_not_start_another_recovery() {
    let mut s = SenderScript::new(reno(), 4.0);
    s.leave(0..4).at(1000).leaves_again(0);
    s.window(4.0).at(1040).arrives(ack(1)).leaves_again(1).leaves_again(2).leaves_again(3).leaves(4);
    s.at(1080).arrives(ack(4)).leave(5..8);
    for _ in 0..2 {
        s.arrives(ack(4)).all();
    }
    s.arrives(ack(4)).all();
    s.phase(Phase::Disorder);
    assert_eq!(s.counters().recoveries, 0);
}

// In Linux tcp_limit_reno_sacked, tcp_check_reno_reordering.
#[test]
fn without_sack_linux_takes_more_duplicates_than_may_have_arrived_for_reordering() {
    let options = with(reno(), |s| {
        s.losses.state_machine = StateMachine::Linux;
        s.limited_transmit = false;
    });
    let mut s = SenderScript::new(options, 3.0);
    // Two of three may have arrived, which is no evidence of loss.
    s.leave(0..3).at(40).arrives(ack(0)).in_flight(2).arrives(ack(0)).in_flight(1);
    s.arrives(ack(0)).in_flight(1).nothing_leaves().phase(Phase::Disorder);
    s.at(80).arrives(ack(3)).leave(3..6).phase(Phase::Open);
    // One is acknowledged, and of two outstanding one may have arrived.
    s.at(120).arrives(ack(3)).arrives(ack(3)).in_flight(1).arrives(ack(4)).leaves(6).in_flight(3);
}

// RFC 6937, section 3: data delivered, without SACK.
#[test]
fn without_sack_proportional_reduction_counts_duplicates_as_delivered() {
    let options = with(reno(), |s| {
        s.reduction = Reduction::ProportionalRate;
        s.limited_transmit = false;
    });
    let mut s = SenderScript::new(options, 20.0);
    s.leave(0..20).at(40).arrives(ack(0)).arrives(ack(0)).nothing_leaves();
    s.arrives(ack(0)).leaves_again(0);
    for new in 20..25 {
        s.arrives(ack(0)).nothing_leaves().arrives(ack(0)).leaves(new).nothing_leaves();
    }
}

#[test]
fn several_losses_in_one_window_reduce_it_once() {
    // 0, 2 and 4 are lost.
    let mut s = SenderScript::new(with(plain(), |s| s.limited_transmit = false), 10.0);
    s.leave(0..10).at(40).arrives(ack(0).sack(1, 2)).arrives(ack(0).sack(3, 4).sack(1, 2)).nothing_leaves();
    // 1, 3 and 5 arrived: 0 has three above it, 2 has two.
    s.arrives(ack(0).sack(5, 6).sack(3, 4).sack(1, 2)).leaves_again(0).nothing_leaves();
    s.arrives(ack(0).sack(5, 7).sack(3, 4).sack(1, 2)).nothing_leaves();
    // With 7 also 4 is lost. 10 outstanding, 5 SACKed, 3 lost, 1 sent again: pipe 3, aim 5.
    s.arrives(ack(0).sack(5, 8).sack(3, 4).sack(1, 2)).leaves_again(2).leaves_again(4).nothing_leaves().in_flight(5);
    s.at(80).arrives(ack(2).sack(5, 10).sack(3, 4)).leave(10..13).phase(Phase::Recovery);
    s.arrives(ack(4).sack(5, 10)).leaves(13).arrives(ack(10)).leaves(14).phase(Phase::Open);
    assert_eq!((losses(&s), s.counters().recoveries, s.counters().lost_packets), (1, 1, 3));
}

/// A transfer of ten segments of which 0 and 8 are lost, until the SACK of 9: five segments may be in flight.
fn lossy_tail(retransmits: Retransmits) -> SenderScript {
    let options = with(plain(), |s| {
        s.limited_transmit = false;
        selective(s).rule = Rule::Count(Resends::Fast(retransmits));
    });
    let mut s = SenderScript::with(options, 10.0, Application::Finite(Bytes::new(10_000)));
    s.leave(0..10).at(40).sacks(0, 1..3).nothing_leaves().arrives(ack(0).sack(1, 4)).leaves_again(0).nothing_leaves();
    s.in_flight(7).sacks_from(0, 1, 5..7).nothing_leaves().in_flight(5);
    s
}

// RFC 6675, section 4, NextSeg, rules 3 and 4.
#[test]
fn what_is_not_lost_is_sent_again_as_a_last_resort() {
    let mut s = lossy_tail(Retransmits::NextSeg);
    // Nothing is lost, new or a hole: the highest segment, once in this recovery. The pipe does not count it.
    s.arrives(ack(0).sack(1, 7)).leaves_again(9).nothing_leaves().in_flight(4);
    s.arrives(ack(0).sack(1, 8)).nothing_leaves().in_flight(3);
    // 8 has one SACKed segment above it: it may have been lost, and the pipe counts it twice.
    s.arrives(ack(0).sack(9, 10).sack(1, 8)).leaves_again(8).nothing_leaves().in_flight(3);
    s.at(80).arrives(ack(8).sack(9, 10)).nothing_leaves().phase(Phase::Recovery);
    s.arrives(ack(10)).phase(Phase::Open).no_timer();
    assert_eq!((s.counters().timeouts, s.counters().lost_packets, s.counters().retransmitted_packets), (0, 1, 3));
}

#[test]
fn without_last_resorts_the_tail_waits_for_the_timeout() {
    let mut s = lossy_tail(Retransmits::Lost);
    s.sacks_from(0, 1, 7..9).arrives(ack(0).sack(9, 10).sack(1, 8)).nothing_leaves();
    s.at(80).arrives(ack(8).sack(9, 10)).nothing_leaves().phase(Phase::Recovery);
    s.timer().leaves_again(8).phase(Phase::Loss);
}

// FreeBSD before version 13: tcp_sack_output gives out every hole below snd_fack.
#[test]
fn in_recovery_every_hole_below_the_highest_sack_is_lost_where_the_stack_says_so() {
    let options = with(plain(), |s| {
        s.limited_transmit = false;
        selective(s).rule = Rule::Count(Resends::Fast(Retransmits::Holes));
    });
    let mut s = SenderScript::new(options, 10.0);
    // 0, 2 and 8 are lost. The first three SACKs begin recovery. Then 2, with two above it, is lost as well.
    s.leave(0..10).at(40).arrives(ack(0).sack(1, 2)).arrives(ack(0).sack(3, 4).sack(1, 2)).nothing_leaves();
    s.arrives(ack(0).sack(3, 5).sack(1, 2)).leaves_again(0).nothing_leaves().in_flight(6);
    s.arrives(ack(0).sack(3, 6).sack(1, 2)).nothing_leaves().in_flight(5);
    s.arrives(ack(0).sack(3, 7).sack(1, 2)).leaves_again(2).nothing_leaves().in_flight(5);
    s.arrives(ack(0).sack(3, 8).sack(1, 2)).leaves(10).nothing_leaves();
    // 11 outstanding, 7 SACKed, 3 lost, 2 sent again: 3, and the aim is 5.
    s.arrives(ack(0).sack(9, 10).sack(3, 8).sack(1, 2)).leaves_again(8).leaves(11).nothing_leaves().in_flight(5);
    // 10 is missing, above the recovery point: one SACK is no evidence.
    s.at(80).arrives(ack(10).sack(11, 12)).phase(Phase::Disorder);
    assert_eq!((losses(&s), s.counters().recoveries, s.counters().lost_packets), (1, 1, 3));
}

// RFC 6675, section 5: RecoveryPoint.
#[test]
fn recovery_lasts_until_the_recovery_point_and_asks_for_no_growth_until_then() {
    let mut s = SenderScript::new(with(plain(), |s| s.limited_transmit = false), 6.0);
    s.leave(0..6).at(40).arrives(ack(0).sack(2, 3)).arrives(ack(0).sack(2, 4)).arrives(ack(0).sack(2, 5));
    s.leaves_again(0).leaves_again(1).nothing_leaves();
    s.at(80).arrives(ack(1).sack(2, 5)).leaves(6).phase(Phase::Recovery);
    assert!(matches!(s.last_notice(), Notice::Duplicate(a) if a.newly_acknowledged == 1));
    s.arrives(ack(5)).leaves(7).phase(Phase::Recovery);
    s.arrives(ack(6)).leaves(8).phase(Phase::Open);
    s.at(120).arrives(ack(7)).leaves(9);
    assert!(matches!(s.last_notice(), Notice::Ack(_)));
}

#[test]
fn what_is_lost_of_the_data_sent_in_recovery_is_a_new_loss() {
    let mut s = SenderScript::new(with(plain(), |s| s.limited_transmit = false), 10.0);
    s.leave(0..10)
        .at(40)
        .arrives(ack(0).sack(1, 2))
        .arrives(ack(0).sack(1, 3))
        .arrives(ack(0).sack(1, 4))
        .leaves_again(0);
    for end in 5..8 {
        s.at(36 + end).arrives(ack(0).sack(1, end)).all();
    }
    s.at(46).arrives(ack(0).sack(1, 10)).leave(11..14).nothing_leaves();
    // 10 is lost. The retransmission of 0 comes last.
    s.at(86).arrives(ack(0).sack(11, 14).sack(1, 10)).leaves_again(10).all();
    s.phase(Phase::Recovery).window_is(5.0);
    s.at(87).arrives(ack(10).sack(11, 14)).phase(Phase::Recovery).window_is(2.5).all();
    assert_eq!((losses(&s), s.counters().recoveries), (2, 2));
}

// RFC 8985, section 6.2.
#[test]
fn a_lost_retransmission_is_found_by_rack_from_what_was_sent_after_it() {
    let mut s = SenderScript::new(with(plain(), |s| selective(s).rule = Rule::Rack(Repair::Fast)), 10.0);
    retransmit_in_vain(&mut s);
    // 12 left at 47 ms, after the retransmission at 42 ms. Pipe 3, aim 5.
    s.at(87).arrives(ack(0).sack(1, 13)).leaves_again(0).leaves(16).nothing_leaves().phase(Phase::Recovery);
    // The timer counts from this retransmission: not before 87 + 240 ms.
    s.at(326).nothing_leaves();
    assert_eq!(losses(&s), 1);
}

#[test]
fn a_lost_retransmission_takes_a_timeout_without_rack() {
    let mut s = SenderScript::new(plain(), 10.0);
    retransmit_in_vain(&mut s);
    s.at(87).arrives(ack(0).sack(1, 13)).leaves(16).nothing_leaves();
    s.timer().leaves_again(0).nothing_leaves().phase(Phase::Loss);
    let Notice::Timeout(loss) = s.last_notice() else { panic!("{:?}", s.last_notice()) };
    assert!(loss.again, "the window of data was already reduced for the loss");
}

#[test]
fn a_lost_tail_is_found_by_rack_when_the_retransmission_before_it_arrives() {
    // 0, 8 and 9 are lost, and there is no more.
    let all = Application::Finite(Bytes::new(10_000));
    let mut s = SenderScript::with(with(plain(), |s| selective(s).rule = Rule::Rack(Repair::Fast)), 10.0, all);
    s.leave(0..10).at(40).sacks(0, 1..3).arrives(ack(0).sack(1, 4)).leaves_again(0).sacks_from(0, 1, 5..9);
    // RACK goes by the retransmission, sent after 8 and 9. In recovery it does not wait.
    s.at(80).arrives(ack(8)).leaves_again(8).leaves_again(9).nothing_leaves();
    s.at(120).arrives(ack(10)).no_timer();
    assert_eq!(s.counters().timeouts, 0);
}

/// 0 is lost, sent again at 42 ms and lost again. 12 to 15 leave later.
fn retransmit_in_vain(s: &mut SenderScript) {
    s.leave(0..10).at(40).arrives(ack(0).sack(1, 2)).leaves(10);
    s.at(41).arrives(ack(0).sack(1, 3)).leaves(11);
    s.at(42).arrives(ack(0).sack(1, 4)).leaves_again(0);
    s.at(46).sacks_from(0, 1, 5..9).nothing_leaves();
    s.at(47).arrives(ack(0).sack(1, 9)).leaves(12);
    s.at(48).arrives(ack(0).sack(1, 10)).leaves(13);
    s.at(80).arrives(ack(0).sack(1, 11)).leaves(14);
    s.at(81).arrives(ack(0).sack(1, 12)).leaves(15).nothing_leaves();
}

// RFC 3042.
#[test]
fn without_limited_transmit_the_first_two_duplicates_release_nothing() {
    for sack in [true, false] {
        let mut s = SenderScript::new(
            with(plain(), |s| {
                s.limited_transmit = false;
                if !sack {
                    drop_sack(s);
                };
            }),
            10.0,
        );
        let block = |end| if sack { ack(0).sack(1, end) } else { ack(0) };
        s.leave(0..10).at(40).arrives(block(2)).nothing_leaves().arrives(block(3)).nothing_leaves();
        s.arrives(block(4)).leaves_again(0).nothing_leaves();
    }
}

// RFC 6937, section 4, first figure.
#[test]
fn proportional_reduction_sends_one_segment_for_two_delivered() {
    let options = with(plain(), |s| {
        s.reduction = Reduction::ProportionalRate;
        s.limited_transmit = false;
    });
    let mut s = SenderScript::new(options, 20.0);
    s.leave(0..20).at(40).sacks(0, 1..3).nothing_leaves();
    s.arrives(ack(0).sack(1, 4)).leaves_again(0).nothing_leaves();
    for i in 0..5 {
        s.arrives(ack(0).sack(1, 5 + 2 * i)).nothing_leaves();
        s.arrives(ack(0).sack(1, 6 + 2 * i)).leaves(20 + i).nothing_leaves();
    }
    // 25 outstanding, 15 SACKed, 0 sent again: the pipe has reached the aim of 10 and is kept there.
    s.arrives(ack(0).sack(1, 16)).nothing_leaves().in_flight(10);
    for i in 0..4 {
        s.arrives(ack(0).sack(1, 17 + i)).leaves(25 + i).nothing_leaves().in_flight(10);
    }
    s.at(80).arrives(ack(20)).phase(Phase::Open).leaves(29).in_flight(10);
}

// RFC 6937, section 4, second figure.
#[test]
fn after_heavy_loss_proportional_reduction_conserves_packets_and_then_slow_starts() {
    let options = with(plain(), |s| {
        s.reduction = Reduction::ProportionalRate;
        s.limited_transmit = false;
    });
    let mut s = SenderScript::new(options, 20.0);
    // 0 to 15 are lost: with 18 SACKed, 0 to 15 have three above.
    s.leave(0..20).at(40).sacks(0, 16..18).nothing_leaves();
    s.arrives(ack(0).sack(16, 19)).leaves_again(0).nothing_leaves().in_flight(2);
    s.arrives(ack(0).sack(16, 20)).leaves_again(1).nothing_leaves().in_flight(2);
    s.at(80).arrives(ack(1).sack(16, 20)).leaves_again(2).leaves_again(3).nothing_leaves();
    s.arrives(ack(2).sack(16, 20)).leaves_again(4).leaves_again(5).nothing_leaves();
}

// RFC 6582, section 3.2, step 3.
#[test]
fn after_pipe_recovery_the_flight_returns_to_the_window_by_slow_start() {
    let mut s = SenderScript::new(with(plain(), |s| s.limited_transmit = false), 20.0);
    s.leave(0..20).at(40).sacks(0, 1..3).nothing_leaves().arrives(ack(0).sack(1, 4)).leaves_again(0);
    // ACKs of 4 to 19 are lost on their way: the next one covers everything, and the flight is empty.
    s.at(80).arrives(ack(20)).leave(20..22).nothing_leaves();
    s.at(120).arrives(ack(22)).leave(22..26).nothing_leaves();
    s.at(160).arrives(ack(26)).leave(26..34).nothing_leaves();
    s.at(200).arrives(ack(34)).leave(34..44).nothing_leaves().window_is(10.0);
}
