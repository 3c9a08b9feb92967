//! Timers that expire with the ticks of a kernel's clock, as in Linux with CONFIG_HZ = 250: every 4 ms.

use transport::{Delay, Phase, Repair, Rule, Stack};

use crate::harness::{ReceiverScript, SenderScript, ack, ms, plain, selective, with};

fn ticking() -> Stack {
    with(plain(), |s| s.timers.tick = ms(4))
}

#[test]
fn a_timeout_expires_a_tick_after_its_whole_ticks() {
    let mut s = SenderScript::new(with(ticking(), |s| s.receive_window = 4), 4.0);
    // The RTT of 41 ms makes a timeout of 241 ms, 61 ticks: set in tick 10, it expires with tick 72.
    s.leave(0..4).at(41).arrives(ack(1).window(3)).nothing_leaves().timer_at(282);
    s.at(287).nothing_leaves().timer_at(288).phase(Phase::Open);
    s.at(288).leaves_again(1).phase(Phase::Loss);
}

// A wait of 250 ticks, 500 or 1000 is one for the second or third level of the timer wheel.
#[test]
fn long_timeouts_wait_for_an_eighth_or_a_sixty_fourth_tick() {
    let mut s = SenderScript::new(ticking(), 4.0);
    // 250 ticks from tick 0: the next multiple of 8 is 256.
    s.leave(0..4).at(1023).nothing_leaves().at(1024).leaves_again(0);
    // 500 from tick 256: 760 is the next above 756.
    s.at(3039).nothing_leaves().at(3040).leaves_again(0);
    // 1000 from tick 760: 1792 is the next multiple of 64 above 1760.
    s.at(7167).nothing_leaves().at(7168).leaves_again(0);
}

#[test]
fn an_ack_before_the_tick_finds_the_timer_still_running() {
    let mut s = SenderScript::new(with(ticking(), |s| s.receive_window = 1), 1.0);
    s.leave(0..1).at(41).arrives(ack(1).window(1)).leaves(1);
    // Due after 241 ms, at 282: the tick comes at 288 ms.
    s.at(284).arrives(ack(2).window(1)).leaves(2).phase(Phase::Open);
    assert_eq!(s.counters().timeouts, 0);
}

// net/ipv4/tcp_output.c, tcp_schedule_loss_probe, Linux 6.
#[test]
fn a_probe_waits_two_round_trips_and_two_milliseconds() {
    let mut s = SenderScript::new(
        with(ticking(), |s| {
            selective(s).tail_loss_probe = true;
            selective(s).rule = Rule::Rack(Repair::Fast);
        }),
        4.0,
    );
    // 82 ms are 21 ticks: from tick 10 on, the probe leaves with tick 32.
    s.leave(0..4).at(40).arrives(ack(4)).leave(4..8).timer_at(122);
    s.at(127).nothing_leaves().at(128).leaves(8).nothing_leaves();
    // Then the timeout of 240 ms runs, 60 ticks from tick 32.
    s.timer_at(368).at(371).nothing_leaves().at(372).leaves_again(4).phase(Phase::Loss);
}

// A segment that waits for a train leaves with an ACK, a write or a probe (tcp_tso_should_defer, tcp_send_loss_probe).
#[test]
fn a_timer_that_sends_nothing_frees_no_train() {
    let options = with(ticking(), |s| {
        selective(s).tail_loss_probe = true;
        selective(s).rule = Rule::Rack(Repair::Fast);
        s.segmentation_offload = true;
    });
    let mut s = SenderScript::new(options, 10.0);
    s.leave(0..10).at(40).arrives(ack(10)).leave(10..20);
    // The ACK is overdue: the second of two free segments waits for it.
    s.window(11.0).at(100).arrives(ack(10)).leaves(20).window(12.0).arrives(ack(10)).nothing_leaves();
    // 82 ms are 21 ticks: set in tick 25, the timer expires with tick 47, not when it is due.
    s.timer_at(182).at(187).nothing_leaves().at(188).leaves(21).nothing_leaves();
    // The same again with a probe in flight: segment 10 is due at 280 ms, and the timer is set to its timeout.
    s.window(13.0).at(200).arrives(ack(10)).leaves(22).window(14.0).arrives(ack(10)).nothing_leaves();
    // That is past at the tick at 284 ms, so that it comes a tick later, which ends with the tick at 292 ms.
    s.timer_at(280).at(291).nothing_leaves().at(292).leaves_again(10).nothing_leaves().phase(Phase::Loss);
}

#[test]
fn a_probe_that_the_timeout_bounds_leaves_with_the_tick_of_the_timeout() {
    let options = with(ticking(), |s| {
        selective(s).tail_loss_probe = true;
        selective(s).rule = Rule::Rack(Repair::Fast);
        s.receive_window = 2;
    });
    let mut s = SenderScript::new(options, 2.0);
    // The RTT of 601 ms makes a timeout of 601 + 4 * 300.5 = 1803 ms, 451 ticks, and two round trips are 1204 ms.
    s.leave(0..2).at(601).arrives(ack(2).window(2)).leave(2..4).timer_at(1805);
    // After many samples it is 601 + 200 ms, 201 ticks, and less than two round trips.
    for round in 2..60 {
        s.at(601 * round).arrives(ack(2 * round).window(2)).all();
    }
    // Set at 35,459 ms, in tick 8864: 9065 is followed by 9072, a multiple of 8.
    s.timer_at(35_459 + 804).at(36_287).nothing_leaves().at(36_288).leaves_again(119);
}

// net/ipv4/tcp_recovery.c, tcp_rack_mark_lost, Linux 6.
#[test]
fn the_timer_of_rack_waits_two_milliseconds_more_and_an_ack_may_find_the_loss_before() {
    let options = with(ticking(), |s| selective(s).rule = Rule::Rack(Repair::Fast));
    let script = || {
        let mut s = SenderScript::new(options.clone(), 4.0);
        s.leave(0..4).at(40).arrives(ack(4)).leave(4..8).window(5.0).at(50).arrives(ack(4)).leaves(8);
        // 4 is lost at 40 + 40 + 10 ms. 12 ms are 3 ticks: set in tick 20, the timer expires with tick 24.
        s.window(4.0).at(80).arrives(ack(4).sack(5, 6)).nothing_leaves().timer_at(96);
        s
    };
    script().at(95).nothing_leaves().at(96).leaves_again(4).phase(Phase::Recovery);
    // An RTT of 41 ms says the same at 91 ms.
    script().at(91).arrives(ack(4).sack(8, 9)).leaves_again(4).phase(Phase::Recovery);
}

#[test]
fn ticks_lie_where_the_host_came_up() {
    let mut s = SenderScript::new(with(ticking(), |s| s.receive_window = 1), 1.0);
    // Up for 5 ms, ticks are at 3, 7, 11 ms: 250 ticks from tick 1 on end with tick 256, at 1024 - 5 ms.
    s.up_for(ms(5)).leave(0..1).at(1018).nothing_leaves().at(1019).leaves_again(0);
}

// net/ipv4/tcp_output.c, tcp_send_delayed_ack.
#[test]
fn a_delayed_ack_leaves_a_tick_after_its_whole_ticks_and_a_compressed_one_at_its_time() {
    let options = with(ticking(), |s| {
        s.acks.delay = Delay::Constant { every: 2, wait: ms(40) };
        selective(s).compression = ms(1);
    });
    let mut r = ReceiverScript::new(&options);
    // 10 ticks from tick 2 on, and one.
    r.at(10).arrives(0).no_ack().timer_at(50);
    r.at(50).no_ack().timer_at(52).at(52).acks(1);
    // Segments out of order: three ACKs, and the fourth waits for a millisecond.
    for number in [2, 3, 4] {
        r.arrives(number).acks_blocks(1, &[(2, number + 1)]);
    }
    r.arrives(5).no_ack().timer_at(53).at(53).acks_blocks(1, &[(2, 6)]);
}
