//! Reports of noq, as a controller of this project receives them.

use std::sync::{Arc, Mutex};

use control::Wants;
use stack::{Report, Reports as _};
use units::Random;

use super::*;

/// Writes down its signals. Its window is 4.
#[derive(Clone, Default)]
struct Heard(Arc<Mutex<Vec<String>>>);

impl Heard {
    fn note(&self, cx: &Context<'_>, what: String) {
        self.0.lock().unwrap().push(format!("{} {what}", cx.now.as_nanos() / 1_000_000));
    }

    fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

impl Controller for Heard {
    fn wants(&self) -> Wants {
        Wants { segments: Reports::Lost, transmit_start: true, ..Wants::default() }
    }
    fn on_start(&mut self, cx: &mut Context<'_>) {
        self.note(cx, "start".to_owned());
    }
    fn on_handshake(&mut self, cx: &mut Context<'_>, rtt: Span) {
        self.note(cx, format!("handshake {}", rtt.as_millis_f64()));
    }
    fn on_transmit_start(&mut self, cx: &mut Context<'_>, start: &TransmitStart) {
        self.note(cx, if start.application_limited { "begins limited" } else { "begins" }.to_owned());
    }
    fn on_ack(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        let rtt = ack.rtt.map(|sample| sample.value.as_millis_f64());
        let counts = (ack.newly_delivered, ack.in_flight, ack.acknowledged_to, ack.sent_to);
        self.note(cx, format!("ack {counts:?} {rtt:?}{}", if ack.round_start { " round" } else { "" }));
    }
    fn on_duplicate_ack(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        self.note(cx, format!("in recovery {}", ack.newly_delivered));
    }
    fn on_segment_lost(&mut self, cx: &mut Context<'_>, segment: &control::SegmentReport) {
        self.note(cx, format!("lost {}", segment.sequence));
    }
    fn on_loss(&mut self, cx: &mut Context<'_>, loss: &Loss) {
        self.note(cx, format!("loss {} of {}, {} outstanding", loss.newly_lost, loss.in_flight, loss.flight_size()));
    }
    fn on_recovered(&mut self, cx: &mut Context<'_>) {
        self.note(cx, "recovered".to_owned());
    }
    fn on_timeout(&mut self, cx: &mut Context<'_>, loss: &Loss) {
        self.note(cx, format!("timeout {}, {} outstanding", loss.newly_lost, loss.flight_size()));
    }
    fn on_spurious(&mut self, cx: &mut Context<'_>) {
        self.note(cx, "spurious".to_owned());
    }
    fn on_idle_restart(&mut self, _cx: &mut Context<'_>) {}
    fn window(&self) -> f64 {
        4.9
    }
    fn slow_start_threshold(&self) -> f64 {
        f64::INFINITY
    }
}

struct Connection {
    ledger: SharedLedger,
    heard: Heard,
}

impl Connection {
    /// Connected at 10 ms.
    fn new() -> Self {
        let heard = Heard::default();
        let driver = Driver::new(Box::new(heard.clone()), false, Random::stream(1, "flow", 0));
        let control = Control::Ackclock(Box::new(driver), None);
        let ledger = SharedLedger::new(Ledger::new(1200, 10, control, true));
        assert_eq!(ledger.window(), 12_000);
        ledger.lock().connect(at(10), Span::from_millis(10));
        assert_eq!(heard.take(), ["10 start", "10 handshake 10"]);
        Self { ledger, heard }
    }

    fn report(&self, report: &Report) {
        self.ledger.report(report, &Decisions::EMPTY);
    }

    /// Packets with these numbers leave.
    fn send(&mut self, ms: u64, numbers: impl IntoIterator<Item = u64>) {
        let now = nanos(ms);
        numbers.into_iter().for_each(|number| self.report(&Report::Sent { now, number, size: 1200 }));
    }

    /// Packets with these numbers, which left at `sent`, are acknowledged.
    fn acknowledge(&mut self, ms: u64, sent: u64, numbers: impl IntoIterator<Item = u64>) {
        self.acknowledgement(ms, sent, numbers, false);
    }

    /// The same, with what noq says of the application.
    fn acknowledgement(&mut self, ms: u64, sent: u64, numbers: impl IntoIterator<Item = u64>, limited: bool) {
        let (now, sent) = (nanos(ms), nanos(sent));
        numbers.into_iter().for_each(|number| self.report(&Report::Acknowledged { now, sent, number }));
        self.report(&Report::AcknowledgementEnds { now, application_limited: limited });
    }

    /// Packets with these numbers, the last of which left at `sent`, are lost.
    fn lose(&mut self, ms: u64, sent: u64, numbers: impl IntoIterator<Item = u64>, persistent: bool) {
        let (now, sent) = (nanos(ms), nanos(sent));
        numbers.into_iter().for_each(|number| self.report(&Report::Lost { now, number, size: 1200 }));
        self.report(&Report::Congestion { now, sent, persistent, marked: false });
    }
}

fn nanos(ms: u64) -> u64 {
    at(ms).as_nanos()
}

fn at(ms: u64) -> Time {
    Time::ZERO + Span::from_millis(ms)
}

#[test]
fn an_acknowledgement_of_several_packets_is_one_event() {
    let mut connection = Connection::new();
    // Whole segments of the window count.
    assert_eq!(connection.ledger.window(), 4 * 1200);
    connection.send(20, 0..4);
    connection.acknowledge(70, 20, [0, 1]);
    connection.send(70, [4]);
    connection.acknowledge(75, 20, [3]);
    assert_eq!(
        connection.heard.take(),
        ["20 begins", "70 ack (2, 2, 2, 4) Some(50.0) round", "75 ack (1, 2, 2, 5) Some(55.0)"]
    );
}

#[test]
fn what_follows_an_acknowledgement_that_the_application_limits_is_limited_until_it_is_delivered() {
    let mut connection = Connection::new();
    let limited = |connection: &Connection| connection.ledger.lock().flight.is_application_limited();
    // Two delivered, none in flight: C.app_limited is the first packet that leaves later, which is the third.
    connection.send(20, 0..2);
    connection.acknowledgement(70, 20, [0, 1], true);
    assert!(limited(&connection));
    connection.send(80, [2]);
    connection.acknowledge(130, 80, [2]);
    assert!(!limited(&connection));
    // Four delivered and one in flight: that one and the next, the sixth, are limited.
    connection.send(140, [3, 4]);
    connection.acknowledgement(190, 140, [3], true);
    connection.send(190, [5]);
    connection.acknowledge(195, 140, [4]);
    assert!(limited(&connection));
    connection.acknowledge(240, 190, [5]);
    assert!(!limited(&connection));
    let begins: Vec<_> = connection.heard.take().into_iter().filter(|line| line.contains("begins")).collect();
    assert_eq!(begins, ["20 begins", "80 begins limited", "140 begins"]);
}

#[test]
fn losses_of_a_window_are_one_event_and_recovery_ends_with_what_was_sent_in_it() {
    let mut connection = Connection::new();
    connection.send(20, 0..8);
    connection.acknowledge(70, 20, [3]);
    connection.lose(70, 20, [0], false);
    connection.send(71, [8]);
    connection.acknowledge(75, 20, [7]);
    // Another one that left before the recovery.
    connection.lose(75, 20, [4], false);
    connection.acknowledge(121, 71, [8]);
    let heard = connection.heard.take();
    assert_eq!(
        heard[1..],
        [
            "70 ack (1, 7, 0, 8) Some(50.0) round",
            "70 lost 0",
            "70 loss 1 of 7, 8 outstanding",
            "75 in recovery 1",
            "75 lost 4",
            "121 recovered",
            "121 ack (1, 4, 1, 9) Some(50.0) round",
        ]
    );
    let ledger = connection.ledger.lock();
    assert_eq!((ledger.counters.lost_packets, ledger.counters.recoveries), (2, 1));
    assert_eq!(ledger.journal.as_ref().map(Vec::len), Some(4), "two losses, the event, and the end of the recovery");
}

#[test]
fn persistent_congestion_is_a_timeout_and_a_spurious_loss_is_taken_back() {
    let mut connection = Connection::new();
    connection.send(20, 0..3);
    connection.lose(900, 20, [0, 1], true);
    connection.report(&Report::Spurious);
    assert_eq!(
        connection.heard.take()[1..],
        ["900 lost 0", "900 lost 1", "900 timeout 2, 3 outstanding", "900 spurious"]
    );
    let ledger = connection.ledger.lock();
    assert_eq!((ledger.counters.timeouts, ledger.counters.spurious, ledger.in_recovery), (1, 1, false));
}

#[test]
fn packets_of_the_handshake_do_not_count() {
    let heard = Heard::default();
    let driver = Driver::new(Box::new(heard.clone()), false, Random::stream(1, "flow", 0));
    let ledger = SharedLedger::new(Ledger::new(1200, 10, Control::Ackclock(Box::new(driver), None), false));
    let now = nanos(40);
    for report in [
        Report::Sent { now: 0, number: 0, size: 1200 },
        Report::Lost { now, number: 0, size: 1200 },
        Report::Congestion { now, sent: 0, persistent: false, marked: false },
    ] {
        ledger.report(&report, &Decisions::EMPTY);
    }
    assert!(heard.take().is_empty());
    let counters = ledger.lock().counters;
    assert_eq!((counters.data_packets, counters.recoveries), (0, 0));
}
