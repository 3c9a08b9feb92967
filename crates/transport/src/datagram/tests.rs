//! Signals that echoes give to a watching controller, with numbers worked out by hand.

use std::sync::{Arc, Mutex};

use units::Rate;

use super::*;

#[derive(Clone, Debug, PartialEq)]
enum Seen {
    /// The time, the segment size and the initial window.
    Start(Time, Bytes, f64),
    Ack(Ack),
    Loss(Loss),
    Recovered,
}

/// A controller that writes down its events.
#[derive(Clone, Default)]
struct Watcher(Arc<Mutex<Vec<Seen>>>);

impl Watcher {
    fn note(&self, seen: Seen) {
        self.0.lock().unwrap().push(seen);
    }

    /// The events since the last look.
    fn take(&self) -> Vec<Seen> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

impl Controller for Watcher {
    fn on_start(&mut self, cx: &mut Context<'_>) {
        self.note(Seen::Start(cx.now, cx.segment_size, cx.initial_window));
    }
    fn on_ack(&mut self, _: &mut Context<'_>, ack: &Ack) {
        self.note(Seen::Ack(*ack));
    }
    fn on_loss(&mut self, _: &mut Context<'_>, loss: &Loss) {
        self.note(Seen::Loss(*loss));
    }
    fn on_recovered(&mut self, _: &mut Context<'_>) {
        self.note(Seen::Recovered);
    }
    fn on_timeout(&mut self, _: &mut Context<'_>, _: &Loss) {}
    fn on_idle_restart(&mut self, _: &mut Context<'_>) {}
    fn window(&self) -> f64 {
        7.0
    }
    fn slow_start_threshold(&self) -> f64 {
        f64::INFINITY
    }
}

fn at(ms: u64) -> Time {
    Time::ZERO + Span::from_millis(ms)
}

/// A datagram of 1000 bytes each millisecond from 10 ms on, and those that left by `to`.
fn sent_until(to: u64) -> (DatagramSource, Watcher, Vec<Data>) {
    let watcher = Watcher::default();
    let pace = Pace::new(vec![(Time::ZERO, Rate::from_mbit(8))], Bytes::new(1000), None);
    let random = Random::stream(1, "datagrams", 0);
    let mut source = DatagramSource::new(Bytes::new(1028), pace, Box::new(watcher.clone()), random);
    source.start(at(10));
    assert_eq!(watcher.take(), [Seen::Start(at(10), Bytes::new(1000), 1.0)]);
    let sent = send(&mut source, 10..=to);
    (source, watcher, sent)
}

/// All that leaves in these milliseconds.
fn send(source: &mut DatagramSource, mut millis: std::ops::RangeInclusive<u64>) -> Vec<Data> {
    let mut sent = Vec::new();
    for now in &mut millis {
        while let Some(data) = source.poll_transmit(at(now)) {
            sent.push(data);
        }
    }
    sent
}

/// The echo of `data`, which arrived 8 ms after it left, comes back at `now`.
fn echo(source: &mut DatagramSource, data: &Data, now: u64, marked: bool) -> (Option<Span>, Vec<Event>) {
    let echo = DatagramSink::default().on_data(data.timestamp + Span::from_millis(8), data, marked);
    let mut events = Vec::new();
    (source.on_echo(at(now), &echo, &mut events), events)
}

#[test]
fn datagrams_leave_as_they_are_written() {
    let (mut source, _, sent) = sent_until(13);
    let expected = (0..4).map(|sequence| Data {
        sequence,
        timestamp: at(10 + sequence),
        payload: 1000,
        retransmission: false,
        reduced: false,
        push: false,
    });
    assert_eq!(sent, expected.collect::<Vec<_>>());
    assert_eq!((source.in_flight(), source.counters().data_packets), (4, 4));
    assert_eq!(source.poll_timeout(), Some(at(14)));
    assert_eq!(source.poll_transmit(at(13)), None);
    // An IP header of 20 bytes and a UDP header of 8. An echo has a number and a timestamp.
    assert_eq!((DatagramSource::wire_size(1000), DatagramSink::ECHO_SIZE), (Bytes::new(1028), Bytes::new(44)));
    assert_eq!(source.controller().window(), 7.0);
    assert!(source.set_parameters(&Parameters::new()).is_err());
}

#[test]
fn recorded_datagrams_leave_with_their_own_sizes() {
    let datagrams: Datagrams = Arc::new([(Span::ZERO, 300), (Span::from_millis(5), 40)]);
    let random = Random::stream(1, "datagrams", 0);
    let mut source = DatagramSource::recorded(Bytes::new(1028), datagrams, Box::new(Watcher::default()), random);
    assert_eq!(source.poll_timeout(), None, "before the start");
    source.start(at(20));
    let sent = send(&mut source, 20..=30);
    let left: Vec<_> = sent.iter().map(|data| (data.sequence, data.timestamp, data.payload)).collect();
    assert_eq!(left, [(0, at(20), 300), (1, at(25), 40)]);
    assert_eq!(source.poll_timeout(), None);
}

#[test]
fn an_echo_shows_the_path_and_what_is_still_under_way() {
    let (mut source, watcher, sent) = sent_until(13);
    assert_eq!(source.round_trip_times(), None);
    assert_eq!(echo(&mut source, &sent[0], 30, false), (Some(Span::from_millis(20)), vec![]));
    let first = Ack {
        rtt: Some(RttSample { value: Span::from_millis(20), delayed: false }),
        timestamp_echo: at(10),
        smoothed_rtt: Span::from_millis(20),
        min_rtt: Span::from_millis(20),
        one_way_delay: Some(Span::from_millis(8)),
        newly_acknowledged: 1,
        newly_delivered: 1,
        in_flight_before: 4,
        in_flight: 3,
        round_start: true,
        application_limited: true,
        acknowledged_to: 1,
        sent_to: 4,
        ..Ack::EMPTY
    };
    assert_eq!(watcher.take(), [Seen::Ack(first)]);
    // The second echo is of the first round, marked, and took 22 ms: `7/8 x 20 + 1/8 x 22 = 20.25` (RFC 6298).
    assert_eq!(echo(&mut source, &sent[1], 33, true).0, Some(Span::from_millis(22)));
    let second = Ack {
        rtt: Some(RttSample { value: Span::from_millis(22), delayed: false }),
        timestamp_echo: at(11),
        smoothed_rtt: Span::from_micros(20_250),
        in_flight_before: 3,
        in_flight: 2,
        round_start: false,
        ecn_echo: true,
        acknowledged_to: 2,
        ..first
    };
    assert_eq!(watcher.take(), [Seen::Ack(second)]);
    let [latest, smoothed, smallest] = [22_000, 20_250, 20_000].map(Span::from_micros);
    assert_eq!(source.round_trip_times(), Some([latest, smoothed, smallest]));
    // A round covers the datagrams under way at its first echo. The next one begins with the next datagram to leave.
    let later = send(&mut source, 34..=34);
    for (data, round_start) in [(&sent[2], false), (&sent[3], false), (&later[0], true), (&later[1], false)] {
        echo(&mut source, data, 40, false);
        let seen = watcher.take();
        assert!(matches!(&seen[..], [Seen::Ack(ack)] if ack.round_start == round_start), "{}", data.sequence);
    }
}

#[test]
fn an_echo_that_comes_again_says_nothing() {
    let (mut source, watcher, sent) = sent_until(13);
    echo(&mut source, &sent[1], 30, false);
    watcher.take();
    let never = Data { sequence: 4, ..sent[3] };
    for data in [&sent[1], &never] {
        assert_eq!(echo(&mut source, data, 31, false), (None, vec![]), "{}", data.sequence);
    }
    echo(&mut source, &sent[0], 32, false);
    watcher.take();
    assert_eq!(echo(&mut source, &sent[0], 33, false), (None, vec![]), "settled");
    assert_eq!((watcher.take(), source.in_flight()), (vec![], 2));
}

#[test]
fn a_datagram_is_lost_by_the_third_echo_after_it_and_the_controller_is_notified_of_one_loss_a_round() {
    let (mut source, watcher, sent) = sent_until(18);
    for number in [1, 2] {
        assert_eq!(echo(&mut source, &sent[number], 30, false).1, []);
    }
    watcher.take();
    // Of nine, 1 to 3 have arrived and 0 is lost: seven were under way before, five are left.
    let rtt = Span::from_millis(17);
    let (_, events) = echo(&mut source, &sent[3], 30, false);
    assert_eq!(events, [Event::DeemedLost { sequence: 0, count: 1, rtt }, Event::LossEvent { window: 7.0 }]);
    // It is outstanding until this event, and left first of all.
    let loss =
        Loss { in_flight: 7, newly_lost: 1, again: false, acknowledged_to: 0, sent_to: 9, sent_at: sent[0].timestamp };
    let seen = watcher.take();
    assert_eq!(seen[1..], [Seen::Loss(loss), Seen::Recovered]);
    assert!(matches!(&seen[0], Seen::Ack(Ack { newly_lost: 1, in_flight_before: 7, in_flight: 5, .. })));
    // 4 and 5 are lost within the same round: no other loss event.
    let events = [6, 7, 8].map(|number| echo(&mut source, &sent[number], 31, false).1);
    let lost = |sequence, rtt| vec![Event::DeemedLost { sequence, count: 1, rtt: Span::from_millis(rtt) }];
    assert_eq!(events, [vec![], lost(4, 14), lost(5, 13)]);
    assert!(watcher.take().iter().all(|seen| matches!(seen, Seen::Ack(_))));
    assert_eq!((source.in_flight(), source.counters().lost_packets), (0, 3));
    // What left since belongs to a new round: 9 to 11 are lost at once when 14 arrives.
    let later = send(&mut source, 32..=32);
    let (_, events) = echo(&mut source, &later[5], 50, false);
    let rtt = Span::from_millis(18);
    assert_eq!(events, [Event::DeemedLost { sequence: 9, count: 3, rtt }, Event::LossEvent { window: 7.0 }]);
    assert_eq!((source.in_flight(), source.counters().lost_packets), (later.len() as u32 - 4, 6));
}

#[test]
fn the_sink_counts_what_arrives_and_says_when() {
    let (_, _, sent) = sent_until(10);
    let mut sink = DatagramSink::default();
    let answer = sink.on_data(at(25), &sent[0], true);
    assert_eq!((answer.cumulative, answer.timestamp, answer.echo), (0, at(25), at(10)));
    assert_eq!((answer.one_way_delay, answer.congestion_echo), (Span::from_millis(15), true));
    assert!(!sink.on_data(at(26), &sent[0], false).congestion_echo);
    assert_eq!(sink.delivered(), Bytes::new(2000));
}
