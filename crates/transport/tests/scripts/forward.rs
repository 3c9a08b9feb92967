//! Forward acknowledgment (FACK, Mathis and Mahdavi 1996) and the recovery of Linux 3.5.

use transport::{Phase, Reduction, Resends, Retransmits, Rule, Stack, linux_3_5};

use crate::harness::{Notice, SenderScript, ack, plain, selective, with};

fn fack() -> Stack {
    with(plain(), |s| {
        selective(s).rule = Rule::Forward(Resends::Fast(Retransmits::Lost));
        s.limited_transmit = false;
    })
}

#[test]
fn the_first_sack_beyond_the_threshold_shows_the_loss() {
    let mut s = SenderScript::new(fack(), 10.0);
    // Two above 0: not yet.
    s.leave(0..10).at(40).arrives(ack(0).sack(2, 3)).nothing_leaves().phase(Phase::Disorder);
    // 3 is three above 0, two above 1. 10 outstanding, 2 SACKed, 1 lost: pipe 7, aim 5.
    s.arrives(ack(0).sack(2, 4)).leaves_again(0).nothing_leaves().in_flight(8).phase(Phase::Recovery).window_is(5.0);
    // Now 1 is lost as well, and waits for the pipe: 6 and 5 without it.
    s.arrives(ack(0).sack(2, 5)).nothing_leaves().in_flight(6).arrives(ack(0).sack(2, 6)).nothing_leaves();
    s.arrives(ack(0).sack(2, 7)).leaves_again(1).nothing_leaves().in_flight(5);
    s.at(80).arrives(ack(1).sack(2, 10)).phase(Phase::Recovery).all();
    s.arrives(ack(10)).phase(Phase::Open).window_is(5.0);
}

#[test]
fn one_sack_far_above_shows_every_loss_below_it() {
    let mut s = SenderScript::new(fack(), 10.0);
    s.leave(0..10).at(40).arrives(ack(0).sack(4, 5)).leaves_again(0).all();
    let Some(Notice::Loss(loss)) = s.news().first().copied() else { panic!("{:?}", s.news()) };
    assert_eq!((loss.in_flight, loss.newly_lost, loss.sent_to), (10, 2, 10), "0 and 1; 4 is two above 2");
}

#[test]
fn by_count_one_sack_far_above_shows_nothing() {
    let mut s =
        SenderScript::new(with(fack(), |s| selective(s).rule = Rule::Count(Resends::Fast(Retransmits::Lost))), 10.0);
    s.leave(0..10).at(40).arrives(ack(0).sack(4, 5)).nothing_leaves().phase(Phase::Disorder);
}

#[test]
fn reordering_beyond_the_threshold_is_taken_for_loss_and_ends_it() {
    let mut s = SenderScript::new(
        with(fack(), |s| {
            s.timestamps = true;
            s.undo = true;
        }),
        10.0,
    );
    // 3 overtakes 0 to 2.
    s.leave(0..10).at(40).arrives(ack(0).sack(3, 4).echo(0)).leaves_again(0).phase(Phase::Recovery).window_is(5.0);
    // The original of 0 was late.
    s.at(41).arrives(ack(1).sack(3, 4).echo(0)).phase(Phase::Disorder).window_is(10.0).leaves(10).nothing_leaves();
    assert!(matches!(s.news()[..], [Notice::Loss(_), Notice::Spurious]));
    s.arrives(ack(2).sack(3, 4).echo(0)).leaves(11).arrives(ack(4).echo(0)).leaves(12).leaves(13).phase(Phase::Open);
    // DupThresh is 4 now, and counts: 4 is lost only when four above it have arrived.
    s.at(42).arrives(ack(4).sack(8, 9)).nothing_leaves().phase(Phase::Disorder);
    s.arrives(ack(4).sack(8, 11)).nothing_leaves();
    s.arrives(ack(4).sack(8, 12)).leaves_again(4).phase(Phase::Recovery);
}

#[test]
fn reordering_within_the_threshold_changes_nothing() {
    let mut s = SenderScript::new(fack(), 10.0);
    // 2 overtakes 0 and 1.
    s.leave(0..10).at(40).arrives(ack(0).sack(2, 3)).nothing_leaves();
    s.arrives(ack(1).sack(2, 3)).leaves(10).arrives(ack(3)).leaves(11).leaves(12).phase(Phase::Open);
    s.arrives(ack(3).sack(6, 7)).leaves_again(3).phase(Phase::Recovery);
}

#[test]
fn a_lost_retransmission_is_found_from_what_was_first_sent_after_it() {
    let mut s = SenderScript::new(fack(), 10.0);
    s.leave(0..10).at(40).sacks(0, 1..3).nothing_leaves().arrives(ack(0).sack(1, 4)).leaves_again(0);
    // 10 outstanding, 3 SACKed, 1 lost, 1 sent again: pipe 7, aim 5.
    s.at(41).sacks_from(0, 1, 5..7).nothing_leaves().in_flight(5);
    s.arrives(ack(0).sack(1, 7)).leaves(10).arrives(ack(0).sack(1, 8)).leaves(11);
    s.arrives(ack(0).sack(1, 9)).leaves(12).arrives(ack(0).sack(1, 10)).leaves(13).in_flight(5);
    // 10 left after the retransmission, which must have been lost: of 14 outstanding 10 are SACKed, 11 to 13 are
    // under way.
    s.at(81).arrives(ack(0).sack(1, 11)).leaves_again(0).leaves(14).nothing_leaves().in_flight(5);
    s.arrives(ack(0).sack(1, 12)).leaves(15).nothing_leaves();
    s.at(121).arrives(ack(12)).phase(Phase::Open).window_is(5.0).all();
    assert_eq!((s.counters().lost_packets, s.counters().recoveries, s.counters().timeouts), (2, 1, 0));
}

// RFC 6937, section 3, with losses that FACK finds all at once.
#[test]
fn after_heavy_loss_proportional_reduction_sends_two_for_each_delivered_up_to_the_threshold() {
    let mut s = SenderScript::new(with(fack(), |s| s.reduction = Reduction::ProportionalRateSsrb), 20.0);
    // 0 to 15 are lost. 16 is three above 13: 20 outstanding, 1 SACKed, 14 lost: pipe 5, aim 10.
    s.leave(0..20).at(40).arrives(ack(0).sack(16, 17)).leaves_again(0).leaves_again(1).nothing_leaves().in_flight(7);
    // 14, then 15 are lost too: each ACK takes two out of the pipe and puts two in.
    s.arrives(ack(0).sack(16, 18)).leaves_again(2).leaves_again(3).nothing_leaves().in_flight(7);
    s.arrives(ack(0).sack(16, 19)).leaves_again(4).leaves_again(5).nothing_leaves().in_flight(7);
    s.arrives(ack(0).sack(16, 20)).leaves_again(6).leaves_again(7).nothing_leaves().in_flight(8);
    s.at(80).arrives(ack(1).sack(16, 20)).leaves_again(8).leaves_again(9).nothing_leaves().in_flight(9);
    s.arrives(ack(2).sack(16, 20)).leaves_again(10).leaves_again(11).nothing_leaves().in_flight(10);
    // At ssthresh: as many as leave the pipe.
    s.arrives(ack(3).sack(16, 20)).leaves_again(12).nothing_leaves().in_flight(10);
}

#[test]
fn linux_3_5_ends_recovery_at_the_threshold_and_then_grows_once_as_in_slow_start() {
    let mut s = SenderScript::newreno(linux_3_5());
    s.leave(0..10).timer_at(1000).at(40).arrives(ack(0).sack(1, 2)).leaves(10).arrives(ack(0).sack(1, 3)).leaves(11);
    // 12 outstanding, 3 SACKed, 1 lost: pipe 8, aim 5. CEIL(1 * 5/10) = 1: the retransmission.
    s.arrives(ack(0).sack(1, 4)).leaves_again(0).nothing_leaves().window_is(5.0);
    // CEIL(n/2) of n delivered: every second ACK releases one.
    s.arrives(ack(0).sack(1, 5)).nothing_leaves().arrives(ack(0).sack(1, 6)).leaves(12).nothing_leaves();
    s.arrives(ack(0).sack(1, 7)).nothing_leaves().arrives(ack(0).sack(1, 8)).leaves(13).nothing_leaves();
    s.arrives(ack(0).sack(1, 9)).nothing_leaves().arrives(ack(0).sack(1, 10)).nothing_leaves().in_flight(5);
    // At ssthresh: one for each.
    s.at(80).arrives(ack(0).sack(1, 11)).leaves(14).arrives(ack(0).sack(1, 12)).leaves(15).in_flight(5);
    // The ACK that ends recovery does not grow the window, the next one does by a whole segment, then it is 1/window.
    s.arrives(ack(12)).phase(Phase::Open).window_is(5.0).leaves(16).nothing_leaves();
    s.at(82).arrives(ack(13)).window_is(6.0).leave(17..19).nothing_leaves();
    s.at(84).arrives(ack(14)).window_is(6.0 + 1.0 / 6.0).leaves(19).nothing_leaves();
}
