//! Without fast recovery: go-back-N after the third duplicate ACK (4.3BSD-Tahoe, and Dabbous 1992, section 2).

use control::{Ack, Context, Controller, Loss, Reno};
use transport::{Detection, Event, Marks, Phase, Resends, Rule, Selective, Stack, real_1992};
use units::Span;

use crate::harness::{Notice, SenderScript, ack, with};

/// Slow start below half the window of the last loss, which begins again at one segment.
struct Tahoe(Reno);

impl Controller for Tahoe {
    fn on_start(&mut self, cx: &mut Context<'_>) {
        self.0.start(cx);
    }

    fn on_ack(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        self.0.grow(cx, ack);
    }

    fn on_loss(&mut self, _cx: &mut Context<'_>, _loss: &Loss) {
        self.0.timeout(0.5, false);
    }

    fn on_timeout(&mut self, _cx: &mut Context<'_>, loss: &Loss) {
        self.0.timeout(0.5, loss.again);
    }

    fn on_idle_restart(&mut self, cx: &mut Context<'_>) {
        self.0.idle_restart(cx);
    }

    fn window(&self) -> f64 {
        self.0.window
    }

    fn slow_start_threshold(&self) -> f64 {
        self.0.threshold
    }
}

fn options(initial_window: u32) -> Stack {
    with(real_1992(), |s| s.initial_window = initial_window)
}

fn tahoe(initial_window: u32) -> SenderScript {
    SenderScript::steered(options(initial_window), Box::new(Tahoe(Reno::new())))
}

/// `count` duplicates of ACK `cumulative`, which release nothing.
fn duplicates(s: &mut SenderScript, cumulative: u64, count: u32) {
    for _ in 0..count {
        s.arrives(ack(cumulative)).nothing_leaves();
    }
}

fn loss_events(s: &SenderScript) -> usize {
    s.events.iter().filter(|e| matches!(e, Event::LossEvent { .. })).count()
}

#[test]
fn the_third_duplicate_starts_again_from_one_segment() {
    let mut s = tahoe(8);
    s.leave(0..8).timer_at(3000).at(40);
    duplicates(&mut s, 0, 2);
    s.window_is(8.0).phase(Phase::Disorder);
    s.arrives(ack(0)).leaves_again(0).nothing_leaves().in_flight(1).phase(Phase::Loss).window_is(1.0).timer_at(3040);
    duplicates(&mut s, 0, 4);
    // The receiver kept 1 to 7: nothing of them is sent again.
    s.at(80).arrives(ack(8)).window_is(2.0).leave(8..10).nothing_leaves().phase(Phase::Open);
    assert_eq!(s.events.last(), Some(&Event::Recovered));
    assert_eq!((loss_events(&s), s.counters().recoveries, s.counters().lost_packets), (1, 1, 8));
}

#[test]
fn the_window_opens_by_slow_start_while_go_back_n_repairs_one_hole_after_the_other() {
    // 0, 2, 4 and 12 are lost: everything else stays with the receiver, so that the cumulative point jumps.
    let mut s = tahoe(16);
    s.leave(0..16).at(40);
    duplicates(&mut s, 0, 2);
    s.arrives(ack(0)).leaves_again(0).nothing_leaves();
    duplicates(&mut s, 0, 9);
    s.at(80).arrives(ack(2)).window_is(2.0).leaves_again(2).leaves_again(3).nothing_leaves();
    s.at(120).arrives(ack(4)).window_is(3.0).leaves_again(4).leaves_again(5).leaves_again(6).nothing_leaves();
    duplicates(&mut s, 4, 1);
    s.at(160).arrives(ack(12)).window_is(4.0);
    s.leaves_again(12).leaves_again(13).leaves_again(14).leaves_again(15).nothing_leaves().phase(Phase::Loss);
    duplicates(&mut s, 12, 2);
    s.at(200).arrives(ack(16)).window_is(5.0).leave(16..21).phase(Phase::Open);
    // 13, 14 and 15 arrived twice. Their duplicates are no loss, and release nothing.
    duplicates(&mut s, 16, 3);
    s.window_is(5.0).phase(Phase::Disorder);
    assert_eq!(loss_events(&s), 1);
    // The threshold is 8: slow start goes on. 16 was sent once, so that there is a first sample, of 40 ms.
    s.at(240).arrives(ack(17)).window_is(6.0).leave(21..23).timer_at(1240);
}

#[test]
fn duplicates_beyond_the_data_of_the_last_loss_are_a_new_loss() {
    let mut s = tahoe(8);
    s.leave(0..8).at(40);
    duplicates(&mut s, 0, 2);
    s.arrives(ack(0)).leaves_again(0).at(80).arrives(ack(8)).leave(8..10);
    // 10 of the next flight is lost.
    s.at(120).arrives(ack(9)).leave(10..12).arrives(ack(10)).leave(12..14);
    s.at(160);
    duplicates(&mut s, 10, 2);
    s.arrives(ack(10)).leaves_again(10).nothing_leaves().window_is(1.0).phase(Phase::Loss);
    assert_eq!(loss_events(&s), 2);
}

#[test]
fn a_lost_retransmission_takes_a_timeout() {
    let mut s = SenderScript::new(options(8), 8.0);
    s.leave(0..8).at(40).arrives(ack(0)).arrives(ack(0)).arrives(ack(0));
    for number in 0..4 {
        s.leaves_again(number);
    }
    // 0 is lost again, 1 to 3 arrive a second time.
    s.at(80);
    duplicates(&mut s, 0, 3);
    s.timer_at(3040).timer().leaves_again(0).nothing_leaves().phase(Phase::Loss).timer_at(9040);
    // It is the first time that the timer sends 0 again (RFC 5681, section 3.1, equation 4).
    assert!(matches!(s.news()[..], [Notice::Loss(_), Notice::Timeout(loss)] if !loss.again));
    s.at(3080).arrives(ack(8)).leaves(8).phase(Phase::Open);
    assert!(matches!(s.last_notice(), Notice::Ack(_)), "the end of the repair after a timeout is not a recovery");
}

// RFC 6298, section 3.
#[test]
fn what_was_sent_twice_gives_no_sample_and_every_ack_of_new_data_may_grow_the_window() {
    let mut s = SenderScript::new(options(8), 8.0);
    s.leave(0..8).at(40).arrives(ack(0)).arrives(ack(0)).nothing_leaves();
    // The controller halves: that is the window of the repair.
    s.arrives(ack(0)).window_is(4.0);
    for number in 0..4 {
        s.leaves_again(number);
    }
    let Notice::Loss(loss) = s.last_notice() else { panic!("{:?}", s.last_notice()) };
    assert_eq!((loss.in_flight, loss.newly_lost, loss.again, loss.sent_to), (6, 8, false, 8));
    s.at(80).arrives(ack(2)).leaves_again(4).leaves_again(5).nothing_leaves().phase(Phase::Loss);
    assert!(matches!(s.last_notice(), Notice::Ack(a) if a.newly_acknowledged == 2 && a.rtt.is_none()));
    s.at(120).arrives(ack(8)).leave(8..12).phase(Phase::Open);
    assert!(matches!(s.news()[..], [Notice::Loss(_), Notice::Recovered]));
    assert!(s.last_ack().rtt.is_none(), "6 and 7 were sent once, but waited for the hole to be filled");
    s.at(160).arrives(ack(9)).leaves(12);
    assert_eq!(s.last_ack().rtt.map(|r| r.value.as_nanos()), Some(40_000_000));
}

#[test]
fn with_sack_only_what_is_missing_is_sent_again() {
    let mut s = SenderScript::steered(
        with(options(8), |s| {
            s.losses.detection = Detection::Selective(Selective {
                rule: Rule::Count(Resends::GoBackN),
                reordering_adapts: false,
                tail_loss_probe: false,
                compression: Span::ZERO,
            });
        }),
        Box::new(Tahoe(Reno::new())),
    );
    // 0 and 4 are lost.
    s.leave(0..8).at(40).sacks(0, 1..3).nothing_leaves();
    s.arrives(ack(0).sack(1, 4)).leaves_again(0).nothing_leaves().phase(Phase::Loss);
    for end in 6..9 {
        s.arrives(ack(0).sack(5, end).sack(1, 4)).nothing_leaves();
    }
    s.at(80).arrives(ack(4).sack(5, 8)).window_is(2.0).leaves_again(4).leaves(8).nothing_leaves();
    s.at(120).arrives(ack(8)).window_is(3.0).leave(9..11).phase(Phase::Open);
    assert_eq!(loss_events(&s), 1);
}

#[test]
fn a_window_that_came_down_for_a_mark_is_not_reduced_again_for_a_loss_beside_it() {
    let mut s = SenderScript::new(with(options(8), |s| s.marks = Marks::Echoed { kept: 0.0 }), 8.0);
    s.leave(0..8).at(40).arrives(ack(1).marked()).nothing_leaves().window_is(4.0).phase(Phase::Reduced);
    duplicates(&mut s, 1, 2);
    s.arrives(ack(1)).phase(Phase::Loss).window_is(4.0);
    for number in 1..5 {
        s.leaves_again(number);
    }
    assert!(matches!(s.news()[..], [Notice::Ecn(_)]));
    // The window alone limits the repair, not the target of the mark.
    s.window(6.0).at(80).arrives(ack(3)).leaves_again(5).leaves_again(6).leaves_again(7).leaves(8).nothing_leaves();
    s.at(120).arrives(ack(8)).leave(9..14).phase(Phase::Open);
    assert!(matches!(s.news()[..], [Notice::Ecn(_), Notice::Recovered]));
}
