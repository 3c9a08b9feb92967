//! Tail loss probes (RFC 8985, section 7).

use transport::{Application, Event, Pace, Phase, Repair, Rule, Stack, Variance};
use units::{Bytes, Time};

use crate::harness::{Notice, SenderScript, ack, drop_sack, ms, plain, selective, with};

fn probing() -> Stack {
    with(plain(), |s| {
        selective(s).rule = Rule::Rack(Repair::Fast);
        selective(s).tail_loss_probe = true;
        s.receive_window = 4;
    })
}

fn probed(s: &SenderScript) -> bool {
    s.events.iter().any(|e| matches!(e, Event::TailLossProbe { .. }))
}

// Section 7.2.
#[test]
fn two_round_trips_after_the_last_ack_a_probe_leaves_and_then_the_timeout_runs() {
    let mut s = SenderScript::new(with(probing(), |s| s.receive_window = 100), 4.0);
    s.leave(0..4).at(40).arrives(ack(4)).leave(4..8).timer_at(120);
    s.at(120).leaves(8).nothing_leaves().timer_at(360);
    assert!(probed(&s));
    s.at(360).leaves_again(4).phase(Phase::Loss);
}

// Section 7.2: without an RTT sample a second. The timeout of 3 s follows the probe.
#[test]
fn without_a_sample_a_probe_leaves_after_a_second() {
    let options = with(probing(), |s| s.timers.rto_initial = ms(3000));
    let mut s = SenderScript::new(options, 4.0);
    s.leave(0..4).timer_at(1000).at(1000).leaves_again(3).nothing_leaves().timer_at(4000);
    assert!(probed(&s));
}

// RFC 8985, section 6.2, step 2: a probe that arrives after the handshake's round trip is not taken for its original,
// although no sample of data has shown how short an RTT may be. Before, the timeout at 280 ms was waited for.
#[test]
fn the_sack_of_a_probe_shows_the_loss_of_a_whole_first_flight() {
    let options = with(probing(), |s| {
        s.handshake = true;
        s.receive_window = 3;
    });
    let mut s = SenderScript::new(options, 3.0);
    s.at(40).leave(0..3).timer_at(120).at(120).leaves_again(2).nothing_leaves();
    s.at(160).arrives(ack(0).window(3).sack(2, 3)).leaves_again(0).nothing_leaves().phase(Phase::Recovery);
    s.at(200).arrives(ack(1).window(2).sack(2, 3)).leaves_again(1);
}

#[test]
fn new_data_postpones_the_probe() {
    let mut s = SenderScript::new(with(probing(), |s| s.receive_window = 100), 4.0);
    s.leave(0..4).at(40).arrives(ack(4)).leave(4..8).timer_at(120);
    s.window(6.0).at(60).arrives(ack(4)).leave(8..10).timer_at(140);
}

#[test]
fn a_probe_never_waits_longer_than_the_timeout() {
    let options = with(probing(), |s| s.timers.rto_variance = Variance::Deviation);
    let mut s = SenderScript::new(options, 4.0);
    // Two round trips are 600 ms, the timeout 300 + 4 * 150 = 900 ms. After many samples it is 300 + 200 ms.
    s.leave(0..4);
    for round in 1..40 {
        s.at(300 * round).arrives(ack(4 * round).window(4)).all();
    }
    s.timer_at(300 * 39 + 500).timer();
    assert!(probed(&s));
}

/// A window of ten segments, and a source that writes a segment as often as `rate` says. The first is acknowledged
/// after 40 ms, so that the timeout is 240 ms and two round trips are 80 ms. Then nothing arrives any more.
fn outage(rate: &str) -> SenderScript {
    let pace = Pace::new(vec![(Time::ZERO, rate.parse().unwrap())], Bytes::new(1000), None);
    let options = with(probing(), |s| s.receive_window = 100);
    let mut s = SenderScript::with(options, 10.0, Application::Paced(pace));
    s.leave(0..1).at(40).arrives(ack(1));
    s
}

// Section 7.2: if Now() + PTO > TCP_RTO_expiration().
#[test]
fn new_data_puts_the_probe_off_no_further_than_the_oldest_segment_s_timeout() {
    // A segment every 50 ms: 1 left at 50 ms, 5 at 250 ms.
    let mut s = outage("160kbit");
    for number in 1..6 {
        s.at(50 * number).leaves(number);
    }
    s.at(290).leaves_again(5);
    assert!(probed(&s));
    // In Linux each new segment then waits for its probe, until the window is full. The timeout is overdue by then.
    for number in 6..11 {
        s.at(50 * number).leaves(number);
    }
    s.timer_at(580).at(579).nothing_leaves().at(580).leaves_again(1).phase(Phase::Loss);
}

#[test]
fn with_a_probe_in_flight_the_oldest_segment_s_timeout_is_next() {
    // A segment every 100 ms: 1 left at 100 ms, and is due at 340 ms.
    let mut s = outage("80kbit");
    s.at(100).leaves(1).at(200).leaves(2).at(280).leaves_again(2).at(300).leaves(3);
    s.at(340).leaves_again(1).phase(Phase::Loss);
}

#[test]
fn the_probe_of_a_lone_segment_allows_for_a_delayed_ack() {
    let mut s = SenderScript::new(with(probing(), |s| s.timers.rto_min = ms(1000)), 1.0);
    s.leave(0..1).at(40).arrives(ack(1)).leaves(1).timer_at(320); // 40 + 2 * 40 + 200
}

#[test]
fn no_probe_without_sack_in_recovery_or_with_segments_sacked() {
    let mut s = SenderScript::new(with(probing(), drop_sack), 4.0);
    s.leave(0..4).at(40).arrives(ack(4)).leave(4..8).timer_at(280);

    let mut s = SenderScript::new(with(probing(), |s| s.limited_transmit = false), 4.0);
    s.leave(0..4).at(40).arrives(ack(1).sack(2, 3).window(3)).timer_at(50); // the reordering window
    s.at(50).leaves_again(1).phase(Phase::Recovery).timer_at(290);
    assert!(!probed(&s));
}

// Section 7.3: no new data, so the last segment again. Only 4 to 7 fit the receive window.
fn repeat_the_last(s: &mut SenderScript) {
    s.leave(0..4).at(40).arrives(ack(4).window(4)).leave(4..8);
    s.at(120).leaves_again(7).nothing_leaves();
}

// Section 7.4.2.
#[test]
fn a_repeated_segment_that_repaired_a_loss_reduces_the_window_once() {
    let mut s = SenderScript::new(probing(), 4.0);
    repeat_the_last(&mut s);
    s.at(160).arrives(ack(8).window(4)).leave(8..12).window_is(4.0);
    // Beyond the probe and no word of a duplicate: 7 was lost.
    s.at(200).arrives(ack(12).window(4)).window_is(2.0).leave(12..14).phase(Phase::Open);
    assert!(matches!(s.news()[..], [Notice::Loss(_), Notice::Recovered]));
    assert_eq!(s.counters().lost_packets, 1);
    s.at(240).arrives(ack(14).window(4)).window_is(2.0);
}

#[test]
fn a_probe_whose_original_arrived_too_costs_nothing() {
    // The receiver says so by duplicate SACK.
    let mut s = SenderScript::new(probing(), 4.0);
    repeat_the_last(&mut s);
    s.at(130).arrives(ack(8).window(4)).leave(8..12);
    s.at(160).arrives(ack(8).duplicate(7).window(4));
    s.at(170).arrives(ack(12).window(4)).window_is(4.0);
    assert_eq!(s.news(), []);

    // Or by a second plain ACK.
    let mut s = SenderScript::new(probing(), 4.0);
    repeat_the_last(&mut s);
    s.at(130).arrives(ack(8).window(4)).leave(8..12);
    s.at(160).arrives(ack(8).window(4)).at(170).arrives(ack(12).window(4)).window_is(4.0);
    assert_eq!(s.news(), []);
}

#[test]
fn a_probe_of_new_data_that_is_acknowledged_proves_nothing() {
    let mut s = SenderScript::new(with(probing(), |s| s.receive_window = 100), 4.0);
    s.leave(0..4).at(40).arrives(ack(4)).leave(4..8).at(120).leaves(8);
    s.at(130).arrives(ack(9)).leave(9..13).at(170).arrives(ack(13)).leave(13..17).window_is(4.0);
    assert_eq!(s.news(), []);
}

#[test]
fn a_lost_probe_is_found_by_rack_when_later_data_arrives() {
    let mut s = SenderScript::new(probing(), 4.0);
    repeat_the_last(&mut s);
    // 4 to 6 arrive, 7 and its probe do not.
    s.at(125).arrives(ack(7).window(4)).leave(8..11);
    s.at(165).arrives(ack(7).sack(8, 9).window(4)).all();
    s.at(166).arrives(ack(7).sack(8, 10).window(4)).all();
    s.at(167).arrives(ack(7).sack(8, 11).window(4)).leaves_again(7).phase(Phase::Recovery);
}
