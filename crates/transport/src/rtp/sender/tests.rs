//! The sender of media by hand: packets of frames, the pacer, feedback, repair, and windows as rates.

use std::sync::{Arc, Mutex};

use control::{Probe, Reports, Wants};
use units::Fraction;

use super::*;
use crate::rtp::{Arrival, Stopped};

const MS: fn(u64) -> Span = Span::from_millis;

fn at(ms: u64) -> Time {
    Time::ZERO + MS(ms)
}

/// Calls that a controller got.
type Calls = Arc<Mutex<Vec<String>>>;

/// A controller of a rate, or of a window, that writes its calls down.
struct Script {
    rate: Option<Rate>,
    window: f64,
    calls: Calls,
}

impl Controller for Script {
    fn wants(&self) -> Wants {
        Wants { segments: Reports::All, ..Wants::default() }
    }
    fn on_segment_delivered(&mut self, _cx: &mut Context<'_>, segment: &SegmentReport) {
        let (delay, payload) = (segment.one_way_delay.unwrap(), segment.payload.unwrap());
        self.calls.lock().unwrap().push(format!("{} took {delay} with {payload}", segment.sequence));
    }
    fn on_segment_lost(&mut self, _cx: &mut Context<'_>, segment: &SegmentReport) {
        self.calls.lock().unwrap().push(format!("{} lost", segment.sequence));
    }
    fn on_ack(&mut self, _cx: &mut Context<'_>, ack: &Ack) {
        let Ack { newly_delivered, newly_lost, newly_marked, in_flight, .. } = ack;
        let counts = format!("ack of {newly_delivered}, {newly_lost} lost, {newly_marked} marked, {in_flight} left");
        self.calls.lock().unwrap().push(counts);
    }
    fn on_loss(&mut self, _cx: &mut Context<'_>, loss: &Loss) {
        self.calls.lock().unwrap().push(format!("loss of {}", loss.newly_lost));
    }
    fn on_timeout(&mut self, _cx: &mut Context<'_>, loss: &Loss) {
        self.calls.lock().unwrap().push(format!("timeout with {}, again: {}", loss.newly_lost, loss.again));
    }
    fn on_idle_restart(&mut self, _cx: &mut Context<'_>) {}
    fn window(&self) -> f64 {
        self.window
    }
    fn slow_start_threshold(&self) -> f64 {
        f64::INFINITY
    }
    fn pacing_rate(&self) -> Option<Rate> {
        self.rate
    }
    fn probe(&self, _out: &mut dyn Probe) {}
}

/// 25 frames a second at 500 kbit/s are 2500 bytes each, three packets of 1000 bytes of IP: 960 of media.
fn settings() -> MediaSettings {
    let none = Fraction::new(0.0).unwrap();
    MediaSettings {
        frame_rate: 25.0,
        size_variation: none,
        interval_variation: none,
        burst: Bytes::new(2500),
        ..MediaSettings::default()
    }
}

fn source(settings: &MediaSettings, rate: Option<u64>, window: f64) -> (MediaSource, Calls) {
    let calls = Calls::default();
    let rate = rate.map(Rate::from_bits_per_second);
    let controller = Box::new(Script { rate, window, calls: Arc::clone(&calls) });
    let random = || Random::stream(1, "test", 0);
    let mut source = MediaSource::new(settings, (Bytes::new(1000), false), None, controller, [random(), random()]);
    source.start(at(0));
    (source, calls)
}

/// Everything that leaves by `ms`: when, and with how much.
fn leaving(source: &mut MediaSource, ms: u64) -> Vec<(u64, u32)> {
    let mut left = Vec::new();
    while let Some(now) = source.poll_timeout().filter(|now| *now <= at(ms)) {
        source.on_timeout(now, &mut ());
        while let Some(data) = source.poll_transmit(now, &mut ()) {
            left.push((now.as_nanos() / 1_000_000, data.payload));
        }
    }
    left
}

fn report(arrivals: &[(u64, u64)], kept: u64) -> MediaReport {
    let arrival = |&(sequence, ms): &(u64, u64)| Arrival { sequence, at: at(ms), marked: false };
    MediaReport { arrivals: arrivals.iter().map(arrival).collect(), kept: MS(kept), key_request: None }
}

#[test]
fn a_frame_leaves_in_even_packets_at_the_pace() {
    let (mut source, _) = source(&settings(), Some(500_000), f64::INFINITY);
    // 834, 833 and 833 bytes at 1.25 Mbit/s: 5.3 ms each.
    assert_eq!(leaving(&mut source, 60), [(0, 834), (5, 833), (10, 833), (40, 834), (45, 833), (50, 833)]);
    assert_eq!((source.in_flight(), source.frames().len()), (6, 2));
    let header = source.header(4).unwrap();
    assert_eq!(header, PacketHeader { frame: 1, captured: at(40), index: 1, needed: 3, key: false });
    assert_eq!(MediaSource::wire_size(960), Bytes::new(1000));
}

#[test]
fn a_report_tells_the_controller_of_each_packet_and_then_of_all() {
    let (mut source, calls) = source(&settings(), Some(500_000), f64::INFINITY);
    leaving(&mut source, 60);
    let rtt = source.on_report(at(100), &report(&[(0, 30), (1, 36)], 14), &mut ());
    // Packet 1 left after 834 bytes at 1.25 Mbit/s, 5.3376 ms, and waited for 14 ms at the receiver.
    assert_eq!(rtt, Some(Span::from_nanos(100_000_000 - 5_337_600 - 14_000_000)));
    let expected = ["0 took 30ms with 834B", "1 took 30662.4us with 833B", "ack of 2, 0 lost, 0 marked, 4 left"];
    assert_eq!(*calls.lock().unwrap(), expected);
    // What an earlier report said is not said again.
    assert_eq!(source.on_report(at(110), &report(&[(0, 30), (1, 36)], 24), &mut ()), None);
    assert_eq!(calls.lock().unwrap().len(), 3);
}

/// A controller that writes the samples of the delivery rate down: packets, time, and whether the encoder limits.
struct Rates(Arc<Mutex<Vec<(u64, Span, bool)>>>);

impl Controller for Rates {
    fn on_ack(&mut self, _cx: &mut Context<'_>, ack: &Ack) {
        let sample = ack.rate.map(|rate| (rate.delivered, rate.interval, rate.application_limited));
        self.0.lock().unwrap().extend(sample);
    }
    fn on_loss(&mut self, _cx: &mut Context<'_>, _loss: &Loss) {}
    fn on_timeout(&mut self, _cx: &mut Context<'_>, _loss: &Loss) {}
    fn on_idle_restart(&mut self, _cx: &mut Context<'_>) {}
    fn window(&self) -> f64 {
        f64::INFINITY
    }
    fn slow_start_threshold(&self) -> f64 {
        f64::INFINITY
    }
    fn pacing_rate(&self) -> Option<Rate> {
        Some(Rate::from_bits_per_second(500_000))
    }
    fn probe(&self, _out: &mut dyn Probe) {}
}

#[test]
fn a_report_gives_a_sample_of_the_delivery_rate() {
    let samples = Arc::new(Mutex::new(Vec::new()));
    let controller = Box::new(Rates(Arc::clone(&samples)));
    let random = || Random::stream(1, "test", 0);
    let mut source = MediaSource::new(&settings(), (Bytes::new(1000), false), None, controller, [random(), random()]);
    source.start(at(0));
    leaving(&mut source, 30);
    source.on_report(at(100), &report(&[(0, 30), (1, 36)], 64), &mut ());
    // The last packet of the frame leaves nothing behind it in the queue of the pacer.
    source.on_report(at(110), &report(&[(2, 41)], 69), &mut ());
    assert_eq!(*samples.lock().unwrap(), [(2, MS(100), false), (3, MS(110), true)]);
}

#[test]
fn a_packet_that_three_others_overtook_is_lost_and_leaves_again_while_its_frame_is_young() {
    for (repair, again) in [(0, false), (150, true), (50, false)] {
        let (mut source, calls) = source(&MediaSettings { repair: MS(repair), ..settings() }, Some(500_000), 99.0);
        leaving(&mut source, 60);
        calls.lock().unwrap().clear();
        source.on_report(at(70), &report(&[(0, 30), (2, 40), (3, 70)], 0), &mut ());
        assert_eq!(source.in_flight(), 3, "packet 1 may still come");
        let mut events: Vec<Event> = Vec::new();
        source.on_report(at(78), &report(&[(4, 78)], 0), &mut events);
        let said = calls.lock().unwrap();
        assert_eq!(said[said.len() - 3..], ["1 lost", "ack of 1, 0 lost, 0 marked, 1 left", "loss of 1"]);
        assert!(matches!(events[0], Event::DeemedLost { count: 1, .. }), "{events:?}");
        let data = source.poll_transmit(at(78), &mut ());
        assert_eq!(data.map(|data| (data.sequence, data.retransmission)), again.then_some((6, true)));
        assert_eq!(source.counters().retransmitted_packets, u64::from(again));
        if again {
            assert_eq!(source.header(6).map(|header| (header.frame, header.index)), Some((0, 1)));
        }
    }
}

#[test]
fn without_feedback_everything_is_lost_and_the_controller_is_told_again_and_again() {
    let (mut source, calls) = source(&settings(), Some(500_000), 3.0);
    // The window of three packets is full after the first frame.
    assert_eq!(leaving(&mut source, 1099).len(), 3);
    // A second and the interval of feedback after the first packet.
    leaving(&mut source, 1100);
    assert_eq!(calls.lock().unwrap()[..], ["0 lost", "1 lost", "2 lost", "timeout with 3, again: false"]);
    leaving(&mut source, 2210);
    assert_eq!(calls.lock().unwrap().last().unwrap(), "timeout with 3, again: true");
    assert_eq!(source.counters().timeouts, 2);
}

#[test]
fn a_circuit_breaker_stops_it_for_good() {
    let breaker = Some(Span::from_secs(1));
    let (mut source, _) = source(&MediaSettings { breaker, ..settings() }, Some(500_000), f64::INFINITY);
    let mut events: Vec<Event> = Vec::new();
    while let Some(now) = source.poll_timeout() {
        source.on_timeout(now, &mut events);
        while source.poll_transmit(now, &mut events).is_some() {}
        assert!(now <= at(15_000));
    }
    // 25 frames a second and the one at 15 s, three packets each: the last two have not left.
    assert_eq!(events.last(), Some(&Event::CircuitBreaker { condition: Stopped::RtcpTimeout }));
    let sent = source.counters().data_packets;
    assert!((1120..=1126).contains(&sent), "{sent}");
    source.on_report(at(16_000), &report(&[(1000, 30)], 0), &mut events);
    assert_eq!((source.poll_transmit(at(16_000), &mut ()), source.poll_timeout()), (None, None));
}

#[test]
fn a_window_is_a_rate_over_the_time_from_departure_to_feedback() {
    let (mut source, _) = source(&settings(), None, 20.0);
    assert_eq!(source.rate(), Rate::from_bits_per_second(150_000), "no sample");
    leaving(&mut source, 10);
    source.on_report(at(60), &report(&[(0, 60)], 0), &mut ());
    // 20 packets of 960 bytes in 60 + 100 ms.
    assert_eq!(source.rate(), Rate::from_bits_per_second(960_000));
    assert_eq!(source.window(), (20.0, f64::INFINITY));
}

#[test]
fn the_window_of_a_rate_is_what_it_has_in_flight() {
    let (mut source, _) = source(&settings(), Some(500_000), f64::INFINITY);
    leaving(&mut source, 10);
    source.on_report(at(96), &report(&[(0, 96)], 0), &mut ());
    // 6000 bytes in 96 ms, in packets of 960 bytes.
    assert_eq!(source.window(), (6.25, f64::INFINITY));
}

#[test]
fn frames_are_skipped_while_a_packet_waits_for_too_long() {
    let (mut source, _) = source(&MediaSettings { queue_limit: MS(100), ..settings() }, Some(500_000), 2.0);
    // Two packets leave. The third has waited for 80 ms at the third frame, and for 120 ms at the fourth.
    assert_eq!(leaving(&mut source, 190).len(), 2);
    assert_eq!(source.frames().len(), 3);
    // Seven packets wait, which leave at 5.3 ms each as reports make room.
    source.on_report(at(195), &report(&[(0, 30), (1, 36)], 0), &mut ());
    source.on_report(at(215), &report(&[(2, 215), (3, 215)], 0), &mut ());
    assert_eq!(leaving(&mut source, 230).len(), 2);
    assert_eq!(source.frames().len(), 3, "the oldest packet is of 40 ms");
}

#[test]
fn packets_that_repair_a_frame_follow_it() {
    let fec = Fraction::new(0.5).unwrap();
    let (mut source, _) = source(&MediaSettings { fec, ..settings() }, Some(500_000), f64::INFINITY);
    let left = leaving(&mut source, 30);
    assert_eq!(left.iter().map(|(_, payload)| *payload).collect::<Vec<_>>(), [834, 833, 833, 834, 834]);
    assert_eq!(source.header(4).map(|header| (header.index, header.needed)), Some((4, 3)));
}

#[test]
fn a_recording_has_the_mean_rate_of_its_writes() {
    // 3 writes of 1000 bytes each 100 ms: 80 kbit/s.
    let writes: Datagrams = [0, 100, 200].map(|ms| (MS(ms), 1000)).into();
    assert!((mean_rate(&writes) - 80_000.0).abs() < 1e-6, "{}", mean_rate(&writes));
}
