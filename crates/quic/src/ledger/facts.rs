//! The facts in each event that a controller of this project gets, and its decisions as a stack reads them.

use std::sync::{Arc, Mutex};

use control::{RateSample, SegmentReport, SentState, Wants};
use stack::{Report, Reports as _};
use units::Random;

use super::*;

/// Keeps its events. The window is 4.9 segments and the threshold 7.5.
#[derive(Clone, Default)]
struct Keeping {
    kept: Arc<Mutex<Kept>>,
    wants: Wants,
    window: Option<f64>,
    pacing_rate: Option<Rate>,
    wake_at: Option<Time>,
}

#[derive(Default)]
struct Kept {
    moments: Vec<Moment>,
    acks: Vec<Ack>,
    duplicates: Vec<Ack>,
    losses: Vec<Loss>,
    timeouts: Vec<Loss>,
    marks: Vec<Marks>,
    sent: Vec<Transmission>,
    starts: Vec<TransmitStart>,
    segments: Vec<SegmentReport>,
    woken: Vec<Time>,
}

impl Keeping {
    fn all() -> Self {
        let wants = Wants { sent: true, transmit_start: true, segments: Reports::All, ..Wants::default() };
        Self { wants, ..Self::default() }
    }

    fn put(&self, cx: &Context<'_>, put: impl FnOnce(&mut Kept)) {
        let mut kept = self.kept.lock().unwrap();
        kept.moments.push(cx.moment);
        put(&mut kept);
    }

    fn ledger(&self) -> SharedLedger {
        let driver = Driver::new(Box::new(self.clone()), false, Random::stream(1, "flow", 0));
        SharedLedger::new(Ledger::new(1200, 10, Control::Ackclock(Box::new(driver), None), false))
    }

    /// A ledger whose connection opens at 10 ms.
    fn connected(&self) -> SharedLedger {
        let ledger = self.ledger();
        ledger.lock().connect(at(10), Span::from_millis(10));
        ledger
    }

    fn kept(&self) -> std::sync::MutexGuard<'_, Kept> {
        self.kept.lock().unwrap()
    }
}

impl Controller for Keeping {
    fn wants(&self) -> Wants {
        self.wants
    }
    fn on_ack(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        self.put(cx, |kept| kept.acks.push(*ack));
    }
    fn on_duplicate_ack(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        self.put(cx, |kept| kept.duplicates.push(*ack));
    }
    fn on_loss(&mut self, cx: &mut Context<'_>, loss: &Loss) {
        self.put(cx, |kept| kept.losses.push(*loss));
    }
    fn on_timeout(&mut self, cx: &mut Context<'_>, loss: &Loss) {
        self.put(cx, |kept| kept.timeouts.push(*loss));
    }
    fn on_ecn(&mut self, cx: &mut Context<'_>, marks: &Marks) {
        self.put(cx, |kept| kept.marks.push(*marks));
    }
    fn on_sent(&mut self, cx: &mut Context<'_>, sent: &Transmission) {
        self.put(cx, |kept| kept.sent.push(*sent));
    }
    fn on_transmit_start(&mut self, cx: &mut Context<'_>, start: &TransmitStart) {
        self.put(cx, |kept| kept.starts.push(*start));
    }
    fn on_segment_delivered(&mut self, cx: &mut Context<'_>, segment: &SegmentReport) {
        self.put(cx, |kept| kept.segments.push(*segment));
    }
    fn on_segment_lost(&mut self, cx: &mut Context<'_>, segment: &SegmentReport) {
        self.put(cx, |kept| kept.segments.push(*segment));
    }
    fn poll_timeout(&self) -> Option<Time> {
        self.wake_at
    }
    fn on_timer(&mut self, cx: &mut Context<'_>) {
        self.put(cx, |kept| kept.woken.push(cx.now));
    }
    fn on_idle_restart(&mut self, _cx: &mut Context<'_>) {}
    fn window(&self) -> f64 {
        self.window.unwrap_or(4.9)
    }
    fn slow_start_threshold(&self) -> f64 {
        if self.pacing_rate.is_some() { 7.5 } else { f64::INFINITY }
    }
    fn pacing_rate(&self) -> Option<Rate> {
        self.pacing_rate
    }
    fn send_quantum(&self) -> u32 {
        3
    }
    fn probe(&self, out: &mut dyn Probe) {
        out.value("asked", 1.0);
    }
}

fn at(ms: u64) -> Time {
    Time::ZERO + Span::from_millis(ms)
}

fn ms(ms: u64) -> Span {
    Span::from_millis(ms)
}

fn report(ledger: &SharedLedger, report: &Report) {
    ledger.report(report, &Decisions::EMPTY);
}

fn send(ledger: &SharedLedger, now: u64, numbers: impl IntoIterator<Item = u64>) {
    let now = at(now).as_nanos();
    numbers.into_iter().for_each(|number| report(ledger, &Report::Sent { now, number, size: 1200 }));
}

/// Packets that left at `sent` are acknowledged, and the controller is not told yet.
fn acknowledge(ledger: &SharedLedger, now: u64, sent: u64, numbers: impl IntoIterator<Item = u64>) {
    let (now, sent) = (at(now).as_nanos(), at(sent).as_nanos());
    numbers.into_iter().for_each(|number| report(ledger, &Report::Acknowledged { now, sent, number }));
}

fn end(ledger: &SharedLedger, now: u64, application_limited: bool) {
    report(ledger, &Report::AcknowledgementEnds { now: at(now).as_nanos(), application_limited });
}

fn congestion(ledger: &SharedLedger, now: u64, sent: u64, persistent: bool, marked: bool) {
    let (now, sent) = (at(now).as_nanos(), at(sent).as_nanos());
    report(ledger, &Report::Congestion { now, sent, persistent, marked });
}

#[test]
fn an_ack_has_the_counts_of_the_connection_and_its_samples() {
    let keeping = Keeping::all();
    let ledger = keeping.connected();
    send(&ledger, 20, 0..3);
    send(&ledger, 30, [3]);
    acknowledge(&ledger, 70, 20, [0, 1]);
    end(&ledger, 70, false);
    let state = SentState { at: at(20), delivered: 0, lost: 0, marked: 0, in_flight: 2, application_limited: false };
    let rate = RateSample {
        delivered: 2,
        interval: ms(50),
        application_limited: false,
        prior_delivered: 0,
        is_retransmission: false,
        sent: Some(state),
    };
    // SRTT = 7/8 * 10 ms of the handshake + 1/8 * 50 ms.
    let first = Ack {
        rtt: Some(RttSample { value: ms(50), delayed: false }),
        smoothed_rtt: ms(15),
        min_rtt: ms(10),
        newly_acknowledged: 2,
        newly_delivered: 2,
        delivered: 2,
        in_flight_before: 4,
        in_flight: 2,
        rate: Some(rate),
        round_start: true,
        window_limited: true,
        acknowledged_to: 2,
        sent_to: 4,
        ..Ack::EMPTY
    };
    assert_eq!(keeping.kept().acks, [first]);
    // One packet alone, from a receiver that was seen to delay. Until the next one the application had nothing to send.
    acknowledge(&ledger, 78, 30, [3]);
    end(&ledger, 78, true);
    let state = SentState { at: at(30), delivered: 0, in_flight: 4, ..state };
    let rate = RateSample { delivered: 3, interval: ms(58), sent: Some(state), ..rate };
    // 7/8 * 15 ms + 1/8 * 48 ms
    let second = Ack {
        rtt: Some(RttSample { value: ms(48), delayed: true }),
        smoothed_rtt: Span::from_micros(19_125),
        newly_acknowledged: 1,
        newly_delivered: 1,
        delivered: 3,
        in_flight_before: 2,
        in_flight: 1,
        rate: Some(rate),
        round_start: false,
        application_limited: true,
        window_limited: false,
        ..first
    };
    assert_eq!(keeping.kept().acks[1..], [second]);
    // A packet before the newest gives no sample.
    acknowledge(&ledger, 79, 20, [2]);
    end(&ledger, 79, true);
    let third = keeping.kept().acks[2];
    assert_eq!((third.rtt, third.smoothed_rtt, third.acknowledged_to), (None, Span::from_micros(19_125), 4));
    let ledger = ledger.lock();
    assert_eq!((ledger.samples, ledger.last_number(), ledger.in_flight()), (3, 3, 0));
}

#[test]
fn a_loss_has_the_flight_before_it_and_is_counted_once() {
    let keeping = Keeping::all();
    let ledger = keeping.connected();
    send(&ledger, 20, 0..2);
    send(&ledger, 25, [2, 3]);
    for number in [1, 2] {
        report(&ledger, &Report::Lost { now: at(72).as_nanos(), number, size: 1200 });
    }
    congestion(&ledger, 72, 25, false, false);
    let loss = Loss { in_flight: 4, newly_lost: 2, again: false, acknowledged_to: 0, sent_to: 4, sent_at: at(20) };
    assert_eq!(keeping.kept().losses, [loss]);
    // Another one of the same window is no event of its own: the next ACK has it.
    report(&ledger, &Report::Lost { now: at(74).as_nanos(), number: 3, size: 1200 });
    congestion(&ledger, 74, 25, false, false);
    acknowledge(&ledger, 75, 20, [0]);
    end(&ledger, 75, false);
    let kept = keeping.kept();
    assert_eq!((kept.losses.len(), kept.acks.len()), (1, 0));
    let ack = kept.duplicates[0];
    assert_eq!((ack.newly_lost, ack.lost, ack.delivered, ack.in_flight_before), (1, 3, 1, 1), "{ack:?}");
    assert_eq!((ack.acknowledged_to, ack.sent_to), (4, 4));
    // Every lost one was reported, with the state when it left.
    let lost: Vec<_> = kept.segments[..3].iter().map(|one| (one.sequence, one.rtt, one.sent.at)).collect();
    assert_eq!(lost, [(1, None, at(20)), (2, None, at(25)), (3, None, at(25))]);
    assert_eq!((kept.segments[3].sequence, kept.segments[3].rtt), (0, Some(ms(55))));
    let counters = ledger.lock().counters;
    assert_eq!((counters.data_packets, counters.lost_packets, counters.retransmitted_packets), (4, 3, 3));
    assert_eq!((counters.recoveries, counters.timeouts), (1, 0));
}

#[test]
fn a_timeout_is_another_one_if_the_window_was_reduced_before() {
    let keeping = Keeping::all();
    let ledger = keeping.connected();
    send(&ledger, 20, 0..3);
    for (now, sent, number) in [(900, 20, 0), (1800, 910, 3)] {
        if number == 3 {
            send(&ledger, 910, [3]);
        }
        report(&ledger, &Report::Lost { now: at(now).as_nanos(), number, size: 1200 });
        congestion(&ledger, now, sent, true, false);
    }
    let timeouts = &keeping.kept().timeouts;
    assert_eq!([timeouts[0].again, timeouts[1].again], [false, true]);
    assert_eq!([timeouts[0].in_flight, timeouts[1].in_flight], [3, 3]);
    // The oldest outstanding packet is older than the lost one.
    assert_eq!([timeouts[0].acknowledged_to, timeouts[1].acknowledged_to], [0, 1]);
    assert_eq!(ledger.lock().counters.timeouts, 2);
}

#[test]
fn a_mark_is_an_event_of_its_window_and_known_to_the_ack() {
    let keeping = Keeping::all();
    let ledger = keeping.connected();
    send(&ledger, 20, 0..3);
    acknowledge(&ledger, 70, 20, [0]);
    congestion(&ledger, 70, 20, false, true);
    end(&ledger, 70, false);
    acknowledge(&ledger, 71, 20, [1]);
    congestion(&ledger, 71, 20, false, true);
    end(&ledger, 71, false);
    let kept = keeping.kept();
    assert_eq!(kept.marks, [Marks { in_flight: 2, acknowledged_to: 1, sent_to: 3, at: at(70) }]);
    assert_eq!(kept.duplicates.iter().map(|ack| ack.ecn_echo).collect::<Vec<_>>(), [true, true]);
    drop(kept);
    // Neither lost nor marked is no event.
    send(&ledger, 72, [3]);
    congestion(&ledger, 130, 72, false, false);
    acknowledge(&ledger, 131, 72, [3]);
    end(&ledger, 131, false);
    let kept = keeping.kept();
    assert_eq!((kept.marks.len(), kept.losses.len(), kept.acks[0].ecn_echo), (1, 0, false));
}

#[test]
fn a_controller_that_governs_marks_has_them_in_acks_alone() {
    let wants = Wants { governs_marks: true, ..Wants::default() };
    let keeping = Keeping { wants, ..Keeping::default() };
    let ledger = keeping.connected();
    send(&ledger, 20, 0..2);
    acknowledge(&ledger, 70, 20, [0]);
    congestion(&ledger, 70, 20, false, true);
    end(&ledger, 70, false);
    let kept = keeping.kept();
    assert_eq!((kept.marks.len(), kept.duplicates[0].ecn_echo), (0, true));
    // It asked for no reports of single packets.
    assert!(kept.segments.is_empty() && kept.sent.is_empty() && kept.starts.is_empty());
    assert_eq!(kept.duplicates[0].rate.and_then(|rate| rate.sent), None);
}

#[test]
fn a_departure_begins_a_flight_and_has_its_number() {
    let keeping = Keeping::all();
    let ledger = keeping.connected();
    send(&ledger, 20, 0..3);
    acknowledge(&ledger, 70, 20, [0]);
    end(&ledger, 70, true);
    send(&ledger, 71, [3]);
    acknowledge(&ledger, 72, 20, [1, 2]);
    acknowledge(&ledger, 121, 71, [3]);
    end(&ledger, 121, false);
    send(&ledger, 146, [4]);
    // A packet of the handshake that is sent again has an older number, and is none.
    send(&ledger, 147, [1]);
    let kept = keeping.kept();
    let start = |idle, application_limited| TransmitStart { idle, application_limited };
    assert_eq!(kept.starts, [start(ms(10), false), start(ms(75), false)]);
    let sent = |sequence, in_flight, application_limited| Transmission {
        sequence,
        retransmission: false,
        in_flight,
        application_limited,
    };
    let first = [sent(0, 1, false), sent(1, 2, false), sent(2, 3, false)];
    assert_eq!((&kept.sent[..3], &kept.sent[3..]), (&first[..], &[sent(3, 3, true), sent(4, 1, false)][..]));
    let moment = kept.moments[0];
    assert_eq!((moment.now, moment.segment_size, moment.initial_window), (at(20), Bytes::new(1200), 10.0));
    assert_eq!(moment.departure, at(20));
    assert_eq!(ledger.lock().counters.data_packets, 5);
}

#[test]
fn decisions_of_a_controller_are_bytes_for_the_stack() {
    let unpaced = Keeping::default().connected();
    let none = Decisions { window: 4800, ..Decisions::EMPTY };
    assert_eq!((unpaced.decisions(), unpaced.window()), (none, 4800));
    assert_eq!(unpaced.lock().decided(), (4.9, f64::INFINITY));
    let keeping = Keeping { pacing_rate: Some(Rate::from_bits_per_second(9_600_000)), ..Keeping::default() };
    let paced = keeping.connected();
    let decisions = Decisions { window: 4800, threshold: 9000, pacing_rate: 1_200_000, quantum: 3600, bandwidth: NONE };
    assert_eq!(paced.decisions(), decisions);
    assert_eq!(paced.lock().pacing_rate(), keeping.pacing_rate);
    assert_eq!(keeping.ledger().window(), 12_000, "the initial window during the handshake");
    assert_eq!(format!("{paced:?}"), "SharedLedger");
}

#[test]
fn decisions_of_a_controller_of_the_stack_are_shown_in_packets() {
    let control = Control::Stack(Decisions::EMPTY);
    let ledger = Ledger::new(1200, 10, control, false);
    assert_eq!((ledger.decided(), ledger.pacing_rate()), ((0.0, f64::INFINITY), None));
    let ledger = SharedLedger::new(ledger);
    let decisions =
        Decisions { window: 6000, threshold: 1800, pacing_rate: 125_000, quantum: 2400, bandwidth: 2_000_000 };
    ledger.report(&Report::Decided, &decisions);
    assert_eq!((ledger.decisions(), ledger.window()), (decisions, 6000));
    let ledger = ledger.lock();
    assert_eq!((ledger.decided(), ledger.pacing_rate()), ((5.0, 1.5), Some(Rate::from_bits_per_second(1_000_000))));
    assert_eq!((ledger.wake_at(), ledger.check_decisions()), (Time::NEVER, Ok(())));
    let mut shown = Shown::default();
    ledger.probe(&mut shown);
    assert_eq!(shown.0, [("bandwidth_estimate_bps", 2e6)]);
}

/// Internal values.
#[derive(Default)]
struct Shown(Vec<(&'static str, f64)>);

impl Probe for Shown {
    fn value(&mut self, name: &'static str, value: f64) {
        self.0.push((name, value));
    }
}

#[test]
fn a_controller_is_held_to_the_law_shown_and_given_no_parameters_that_it_refuses() {
    let keeping = Keeping { window: Some(f64::NAN), ..Keeping::default() };
    let ledger = keeping.connected();
    assert_eq!(ledger.lock().check_decisions().map_err(|breach| breach.decision), Err("window"));
    assert_eq!(Keeping::default().connected().lock().check_decisions(), Ok(()));
    let mut shown = Shown::default();
    ledger.lock().probe(&mut shown);
    assert_eq!(shown.0, [("asked", 1.0)]);
    assert!(ledger.lock().set_parameters(at(20), &Parameters::new()).is_err());
}

#[test]
fn a_controller_is_woken_once_at_the_time_that_it_names() {
    let wants = Wants { timer: true, ..Wants::default() };
    let keeping = Keeping { wants, wake_at: Some(at(50)), ..Keeping::default() };
    let ledger = keeping.connected();
    assert_eq!(ledger.lock().wake_at(), at(50));
    for now in [49, 50] {
        ledger.lock().wake(at(now));
    }
    assert_eq!(keeping.kept().woken, [at(50)]);
    assert!(ledger.lock().wake_at() > at(50));
}
