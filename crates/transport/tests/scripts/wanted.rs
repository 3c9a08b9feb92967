//! Events for controllers that ask for them.

use control::{Reports, SegmentReport, SentState, Transmission, TransmitStart, Wants};
use transport::{Application, Phase, Reduction};
use units::{Bytes, Span};

use crate::harness::{Notice, SenderScript, ack, at, ms, plain, with};

/// A sender with `window` segments and all the data in the world, whose controller wants `wants`.
fn wanting(wants: Wants, window: f64) -> SenderScript {
    SenderScript::wanting(wants, with(plain(), |s| s.limited_transmit = false), window, Application::Greedy)
}

fn transmission(sequence: u64, in_flight: u32) -> Transmission {
    Transmission { sequence, retransmission: false, in_flight, application_limited: false }
}

#[test]
fn every_segment_that_leaves_is_reported_with_the_flight_it_joins() {
    let mut s = wanting(Wants { sent: true, ..Wants::default() }, 4.0);
    s.leave(0..4);
    let all = (0..4).map(|n| Notice::Sent(transmission(n, n as u32 + 1))).collect::<Vec<_>>();
    assert_eq!(s.news(), all);
    // Three segments above it are SACKed and 0 is lost. The window is 2: with nothing but 0 outstanding, it leaves
    // again.
    s.at(40).sacks(0, 1..4).leaves_again(0).leaves(4);
    let lost = Transmission { retransmission: true, ..transmission(0, 1) };
    assert_eq!(s.news()[5..], [Notice::Sent(lost), Notice::Sent(transmission(4, 2))], "behind the loss");
}

#[test]
fn a_controller_that_asks_for_nothing_gets_no_transmissions() {
    let mut s = SenderScript::new(plain(), 4.0);
    s.leave(0..4);
    assert_eq!(s.news(), []);
}

#[test]
fn sending_again_with_nothing_outstanding_tells_the_idle_time() {
    use transport::Pace;
    use units::Time;
    // One segment of 1000 bytes each 100 ms, the ACK of each after 40 ms: a segment leaves 100 ms after the one before.
    let pace = Pace::new(vec![(Time::ZERO, "80kbit".parse().unwrap())], Bytes::new(1000), None);
    let wants = Wants { transmit_start: true, ..Wants::default() };
    let options = with(plain(), |s| s.idle_restart = None);
    let mut s = SenderScript::wanting(wants, options, 10.0, Application::Paced(pace));
    s.leaves(0);
    let start = |idle| Notice::TransmitStart(TransmitStart { idle, application_limited: idle > Span::ZERO });
    assert_eq!(s.news(), [start(Span::ZERO)]);
    s.at(40).arrives(ack(1)).at(100).leaves(1);
    assert_eq!(s.news()[1..], [start(ms(100))]);
    // 1 is outstanding when 2 leaves.
    s.at(200).leaves(2);
    assert_eq!(s.news().len(), 2);
}

// Linux until 3.14, TCP_CONG_RTT_STAMP.
#[test]
fn rtt_samples_are_those_of_the_clock_or_exact() {
    for (exact_rtt, rtt) in [(false, 30), (true, 34)] {
        let wants = Wants { exact_rtt, ..Wants::default() };
        let mut s = SenderScript::wanting(wants, with(plain(), |s| s.clock.tick = ms(10)), 2.0, Application::Greedy);
        s.leave(0..2).at(34).arrives(ack(1)).leaves(2);
        let last = s.last_ack();
        assert_eq!((last.rtt.unwrap().value, last.min_rtt), (ms(rtt), ms(rtt)));
    }
}

/// A controller that asks for a report of each segment.
fn segments() -> Wants {
    Wants { segments: Reports::All, ..Wants::default() }
}

/// A segment sent once at `sent` ms, when `delivered` had arrived, as the one that made `in_flight`.
fn report(sequence: u64, sent: u64, delivered: u64, in_flight: u32) -> SegmentReport {
    let sent = SentState { at: at(sent), delivered, lost: 0, marked: 0, in_flight, application_limited: false };
    SegmentReport { sequence, sent, ..SegmentReport::EMPTY }
}

#[test]
fn an_ack_for_several_segments_gives_an_rtt_for_each() {
    let mut s = wanting(segments(), 2.0);
    s.leave(0..2).at(10).arrives(ack(1)).leaves(2).at(50).arrives(ack(3)).all();
    let rtt = |report, rtt| Notice::Delivered(SegmentReport { rtt: Some(ms(rtt)), ..report });
    assert_eq!(s.news(), [rtt(report(0, 0, 0, 1), 10), rtt(report(1, 0, 0, 2), 50), rtt(report(2, 10, 1, 2), 40)]);
}

#[test]
fn a_lost_segment_is_reported_with_its_state_when_sent() {
    let mut s = wanting(segments(), 4.0);
    s.leave(0..4).at(40).sacks(0, 1..4).leaves_again(0).leaves(4);
    let news = s.news();
    assert_eq!(news[3], Notice::Lost(report(0, 0, 0, 1)), "behind the three that were SACKed");
    assert!(matches!(news[4], Notice::Loss(_)));
    // The retransmission left at 40 when three had arrived and one was lost: it alone was in flight.
    s.at(80).arrives(ack(4)).all();
    let sent = SentState { at: at(40), delivered: 3, lost: 1, marked: 0, in_flight: 1, application_limited: false };
    let delivered = SegmentReport { sequence: 0, retransmitted: true, rtt: None, sent, ..SegmentReport::EMPTY };
    assert_eq!(s.news()[5], Notice::Delivered(delivered));
    let last = s.last_ack();
    assert_eq!((last.delivered, last.lost), (4, 1));
    let rate = last.rate.unwrap();
    assert_eq!((rate.delivered, rate.prior_delivered, rate.is_retransmission), (1, 3, true));
    assert_eq!(rate.sent, Some(sent));
}

#[test]
fn only_a_controller_that_asks_for_deliveries_gets_them() {
    let mut s = wanting(Wants { segments: Reports::Lost, ..Wants::default() }, 4.0);
    s.leave(0..4).at(40).arrives(ack(1)).leaves(4);
    assert_eq!(s.news(), []);
    // 0 left at 0, when nothing had arrived, as the first.
    assert_eq!(s.last_ack().rate.unwrap().sent, Some(report(0, 0, 0, 1).sent));
    s.at(80).sacks(1, 2..5).leaves_again(1).leaves(5);
    assert_eq!(s.news()[0], Notice::Lost(report(1, 0, 0, 2)), "behind no report of a delivery");
    assert!(s.news().iter().all(|notice| !matches!(notice, Notice::Delivered(_))));
}

#[test]
fn a_timeout_reports_every_segment_that_was_outstanding() {
    let mut s = wanting(segments(), 3.0);
    s.leave(0..3).timer().leaves_again(0);
    assert_eq!(s.news()[..3], [1, 2, 3].map(|n| Notice::Lost(report(u64::from(n) - 1, 0, 0, n))));
    assert!(matches!(s.news()[3], Notice::Timeout(_)));
    // Lost again: the others wait for their retransmission and are not lost anew.
    s.timer().leaves_again(0);
    let again = s.news()[4];
    assert!(matches!(again, Notice::Lost(SegmentReport { sequence: 0, retransmitted: true, .. })), "{again:?}");
    assert!(matches!(s.news()[5], Notice::Timeout(_)));
}

#[test]
fn what_proves_spurious_is_not_reported_as_lost_later() {
    // Nothing is lost: the delayed 0 arrives before its retransmission. DupThresh is 3, and timestamps distinguish the
    // two.
    let options = with(plain(), |s| {
        s.timestamps = true;
        s.undo = true;
        s.limited_transmit = false;
    });
    let mut s = SenderScript::wanting(segments(), options, 4.0, Application::Greedy);
    s.leave(0..4).at(40).sacks(0, 1..4).leaves_again(0).leaves(4);
    s.at(50).arrives(ack(4).echo(0)).all();
    let lost = s.news().into_iter().filter(|notice| matches!(notice, Notice::Lost(_))).count();
    assert_eq!(lost, 1, "0, when it was deemed lost");
}

#[test]
fn a_controller_that_governs_recovery_alone_limits_the_flight() {
    let wants = Wants { governs_recovery: true, ..Wants::default() };
    let options = with(plain(), |s| {
        s.reduction = Reduction::ProportionalRate;
        s.limited_transmit = false;
    });
    let mut s = SenderScript::wanting(wants, options, 4.0, Application::Greedy);
    // 0 is lost, nothing is in flight, and the window of 6 becomes 3. Proportional rate reduction would send 0
    // again and no more.
    s.leave(0..4).at(40).sacks(0, 1..3).window(6.0).arrives(ack(0).sack(1, 4)).leaves_again(0).leave(4..6);
    s.in_flight(3).window_is(3.0).phase(Phase::Recovery);
    s.window(5.0).at(60).arrives(ack(0).sack(1, 4)).leave(6..8).in_flight(5);
    s.at(80).arrives(ack(4)).leaves(8);
    assert!(s.news().contains(&Notice::Recovered));
    s.in_flight(5);
}

#[test]
fn an_ack_inside_a_governed_recovery_may_grow_the_window() {
    let wants = Wants { governs_recovery: true, ..Wants::default() };
    let mut s = wanting(wants, 10.0);
    // 0 and 5 are lost: 1 to 4 and 6 to 8 arrived.
    s.leave(0..10).at(40).sacks(0, 1..5);
    s.all();
    s.arrives(ack(0).sack(6, 9).sack(1, 5)).all();
    s.at(80).arrives(ack(5).sack(6, 9)).all();
    assert!(matches!(s.last_notice(), Notice::Ack(ack) if ack.newly_acknowledged == 5), "{:?}", s.last_notice());
    s.phase(Phase::Recovery);
}

#[test]
fn a_controller_is_woken_when_it_asked_to_be() {
    let mut s = wanting(Wants { timer: true, ..Wants::default() }, 2.0);
    s.leave(0..2).wake_up(60).at(40).arrives(ack(1)).leaves(2).timer_at(60).window(3.0).timer().leaves(3);
    assert_eq!(s.news(), [Notice::Timer]);
    // The retransmission timer did not move: it was set at 40, to 40 + 200 ms.
    s.timer_at(280);
}

#[test]
fn a_controller_that_names_the_present_does_not_stop_time() {
    let mut s = wanting(Wants { timer: true, ..Wants::default() }, 2.0);
    s.leave(0..2).wake_up(10).at(40).arrives(ack(1)).leaves(2).timer();
    assert_eq!(s.news(), [Notice::Timer], "a nanosecond after 40 ms");
    s.timer_at(280);
}

#[test]
fn a_controller_is_not_woken_once_all_is_acknowledged() {
    let wants = Wants { timer: true, ..Wants::default() };
    let mut s = SenderScript::wanting(wants, plain(), 2.0, Application::Finite(Bytes::new(1500)));
    s.leave(0..2).wake_up(100).at(40).arrives(ack(1)).timer_at(100).at(50).arrives(ack(2)).no_timer();
    assert_eq!(s.news(), []);
}

#[test]
fn a_timer_that_nobody_asked_for_does_not_run() {
    let mut s = SenderScript::new(plain(), 2.0);
    s.leave(0..2).wake_up(60).at(40).arrives(ack(1)).leaves(2).timer_at(280);
}

// draft-briscoe-iccrg-prague-congestion-control, section 3.1.6.
#[test]
fn a_quarter_of_a_segment_is_one_every_four_round_trips() {
    let wants = Wants { fractional_window: true, ..Wants::default() };
    let mut s = wanting(wants, 1.0);
    s.leaves(0).window(0.25).at(40).arrives(ack(1)).leaves(1);
    // The RTT is 40 ms, so the next one leaves 160 ms later, although the ACK is back after 40.
    s.at(80).arrives(ack(2)).nothing_leaves().timer_at(200).timer().leaves(2);
}

#[test]
fn without_wanting_it_a_quarter_of_a_segment_is_one() {
    let mut s = SenderScript::new(plain(), 1.0);
    s.leaves(0).window(0.25).at(40).arrives(ack(1)).leaves(1).at(80).arrives(ack(2)).leaves(2);
}
