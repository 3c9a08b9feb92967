//! The sender of a TFRC flow: when packets leave, and how it reacts to reports (RFC 5348, sections 4 and 8.2).

use std::collections::VecDeque;

use control::Probe;
use control::tfrc::{Report, Settings, Tfrc};
use units::packet::{IP_HEADER, UDP_HEADER};
use units::{Bytes, Rate, SenderCounters, Span, Time};

use super::receiver::Feedback;
use crate::application::Pace;
use crate::journal::{Event, Journal};
use crate::segment::Data;

/// IP and UDP header.
const HEADER: u64 = IP_HEADER.get() + UDP_HEADER.get();

/// When the sender was last not limited by its application, looked at once a report (section 8.2.1).
#[derive(Clone, Copy, Debug, Default)]
struct Limits {
    /// Times at which the rate held packets back (NotLimited1, NotLimited2).
    first: Time,
    second: Time,
    /// Up to when reports have covered, and when the last one came (t_new, t_next).
    covered: Time,
    reported: Time,
}

impl Limits {
    /// The rate holds a packet back.
    fn held_back(&mut self, now: Time) {
        if self.first <= self.covered {
            self.first = now;
        } else if self.second <= self.reported {
            self.second = now;
        }
    }

    /// A report covers what left by `to`: whether the application was the limit all that time.
    fn covers(&mut self, now: Time, to: Time) -> bool {
        let from = std::mem::replace(&mut self.covered, to);
        let within = |at: Time| from < at && at <= to;
        let limited = !within(self.first) && !within(self.second);
        if self.first <= to && self.second > to {
            self.first = self.second;
        }
        self.reported = now;
        limited
    }
}

/// The sender of one flow.
#[derive(Clone, Debug)]
pub struct TfrcSource {
    tfrc: Tfrc,
    settings: Settings,
    /// IP size of a packet.
    size: Bytes,
    /// Data that the application writes, or `None` if there always is more.
    pace: Option<Pace>,
    running: bool,
    next: u64,
    /// When the last packet should have left, and the next one may.
    left_at: Time,
    next_at: Time,
    limits: Limits,
    /// From which packet on which RTT is written into packets.
    rtts: VecDeque<(u64, Span)>,
    /// The newest packet that a report named.
    reported: Option<u64>,
    loss_events: u64,
    /// The latest and the smallest RTT.
    latest: Span,
    smallest: Span,
    counters: SenderCounters,
}

impl TfrcSource {
    /// A sender of packets of IP size `size`, written by `pace` where there is one.
    pub fn new(settings: Settings, size: Bytes, pace: Option<Pace>) -> Self {
        let payload = size.saturating_sub(Bytes::new(HEADER));
        Self {
            tfrc: Tfrc::new(settings, payload.get() as f64, Time::ZERO),
            settings,
            size,
            pace,
            running: false,
            next: 0,
            left_at: Time::ZERO,
            next_at: Time::NEVER,
            limits: Limits::default(),
            rtts: VecDeque::from([(0, Span::ZERO)]),
            reported: None,
            loss_events: 0,
            latest: Span::ZERO,
            smallest: Span::MAX,
            counters: SenderCounters::default(),
        }
    }

    /// Begins at `now`.
    pub fn start(&mut self, now: Time) {
        self.tfrc = Tfrc::new(self.settings, self.payload() as f64, now);
        self.running = true;
        self.left_at = now;
        self.next_at = now;
        self.limits = Limits { first: now, second: now, covered: now, reported: now };
        if let Some(pace) = &mut self.pace {
            pace.start(now);
        }
    }

    /// The next packet that leaves now, if one does.
    pub fn poll_transmit(&mut self, now: Time) -> Option<Data> {
        let written = self.pace.as_mut().is_none_or(|pace| self.next < pace.written(now, self.next));
        if !self.running || !written {
            return None;
        }
        if now < self.next_at {
            self.limits.held_back(now);
            return None;
        }
        // After a pause of the application the next packet counts from now.
        let late = now.since(self.next_at) > self.spacing();
        self.left_at = if late { now } else { self.next_at };
        self.next_at = self.left_at + self.spacing();
        let sequence = self.next;
        self.next += 1;
        self.counters.data_packets += 1;
        self.tfrc.on_sent();
        let payload = self.payload() as u32;
        Some(Data { sequence, timestamp: now, payload, retransmission: false, reduced: false, push: false })
    }

    /// A report arrives. Answers the RTT sample that it gave.
    pub fn on_report(&mut self, now: Time, feedback: &Feedback, journal: &mut dyn Journal) -> Option<Span> {
        if self.reported.is_some_and(|reported| feedback.newest < reported) {
            return None;
        }
        self.reported = Some(feedback.newest);
        let rtt = now.since(feedback.sent_at).saturating_sub(feedback.kept);
        self.latest = rtt;
        self.smallest = self.smallest.min(rtt);
        let newly_lost = feedback.lost.saturating_sub(self.counters.lost_packets);
        if newly_lost > 0 {
            let (sequence, count) = (feedback.newest, newly_lost as u32);
            journal.note(Event::DeemedLost { sequence, count, rtt });
        }
        let new_loss_event = feedback.loss_events > self.loss_events;
        if new_loss_event {
            journal.note(Event::LossEvent { window: self.tfrc.window() });
        }
        self.counters.lost_packets = feedback.lost;
        self.loss_events = feedback.loss_events;
        let report = Report {
            rtt,
            loss_event_rate: feedback.loss_event_rate,
            receive_rate: feedback.receive_rate,
            new_loss_event,
            data_limited: self.limits.covers(now, feedback.sent_at),
        };
        self.tfrc.on_report(now, &report);
        self.rtts.push_back((self.next, self.tfrc.rtt()));
        self.reschedule();
        Some(rtt)
    }

    /// A deadline has come, perhaps of the nofeedback timer.
    pub fn on_timeout(&mut self, now: Time, journal: &mut dyn Journal) {
        if now < self.tfrc.expires() {
            return;
        }
        let window = self.tfrc.window();
        if self.tfrc.on_timer(now) {
            self.counters.timeouts += 1;
            journal.note(Event::Timeout { window });
        }
        self.reschedule();
    }

    /// When it has to be looked at.
    pub fn poll_timeout(&self) -> Option<Time> {
        let written = match &self.pace {
            None => Some(self.next_at),
            Some(pace) if pace.has_written(self.next) => Some(self.next_at),
            Some(pace) => pace.next_write().map(|at| at.max(self.next_at)),
        };
        self.running.then(|| written.unwrap_or(Time::NEVER).min(self.tfrc.expires()))
    }

    /// The RTT that packet `sequence` carried. Asked for packets in about the order in which they left.
    pub fn rtt_in(&mut self, sequence: u64) -> Span {
        while self.rtts.get(1).is_some_and(|&(from, _)| from <= sequence) {
            self.rtts.pop_front();
        }
        self.rtts.front().map_or(Span::ZERO, |&(_, rtt)| rtt)
    }

    /// Packets that left after the newest one that a report named.
    pub fn in_flight(&self) -> u32 {
        (self.next - self.reported.map_or(0, |reported| reported + 1)) as u32
    }

    /// IP size of a packet.
    pub fn wire_size(&self) -> Bytes {
        self.size
    }

    /// The rate of departures, of IP bytes.
    pub fn rate(&self) -> Rate {
        let overhead = self.size.get() as f64 / self.payload() as f64;
        Rate::from_bits_per_second((8.0 * self.tfrc.rate() * overhead) as u64)
    }

    /// Packets that are in flight at the allowed rate.
    pub fn window(&self) -> f64 {
        self.tfrc.window()
    }

    /// Shows the loss event rate, the allowed rate, the receive rate and the RTT.
    pub fn probe(&self, out: &mut dyn Probe) {
        self.tfrc.probe(out);
    }

    /// Counters since the start.
    pub fn counters(&self) -> SenderCounters {
        self.counters
    }

    /// The latest, the smoothed and the smallest RTT, once there is a sample.
    pub fn round_trip_times(&self) -> Option<[Span; 3]> {
        (self.smallest != Span::MAX).then_some([self.latest, self.tfrc.rtt(), self.smallest])
    }

    fn payload(&self) -> u64 {
        self.size.get().saturating_sub(HEADER).max(1)
    }

    /// The time between two packets (t_ipi).
    fn spacing(&self) -> Span {
        Span::from_secs_f64(self.payload() as f64 / self.tfrc.rate()).max(Span::from_nanos(1))
    }

    /// The rate has changed: a packet that waits leaves by the new one (section 4.6).
    fn reschedule(&mut self) {
        if self.next > 0 {
            self.next_at = self.left_at + self.spacing();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    fn source() -> TfrcSource {
        let mut source = TfrcSource::new(Settings::default(), Bytes::new(1028), None);
        source.start(at(0));
        source
    }

    fn feedback(newest: u64, sent_at: Time) -> Feedback {
        let kept = Span::from_millis(20);
        Feedback { newest, sent_at, kept, receive_rate: 1000.0, loss_event_rate: 0.0, lost: 0, loss_events: 0 }
    }

    #[test]
    fn a_report_takes_the_time_apart_that_the_receiver_kept_the_packet() {
        let mut source = source();
        assert!(source.poll_transmit(at(0)).is_some() && source.poll_transmit(at(0)).is_none());
        let rtt = source.on_report(at(120), &feedback(0, at(0)), &mut ());
        assert_eq!(rtt, Some(Span::from_millis(100)));
        // 4000 bytes a round trip: a packet every 25 ms from the first on, so the next one leaves at once.
        assert!(source.poll_transmit(at(120)).is_some());
        assert_eq!(source.poll_timeout(), Some(at(145)));
    }

    #[test]
    fn packets_carry_the_rtt_that_was_known_when_they_left() {
        let mut source = source();
        source.poll_transmit(at(0));
        source.on_report(at(120), &feedback(0, at(0)), &mut ());
        source.poll_transmit(at(120));
        assert_eq!((source.rtt_in(0), source.rtt_in(1)), (Span::ZERO, Span::from_millis(100)));
    }

    #[test]
    fn a_sender_that_gets_no_report_halves_its_rate_after_two_seconds() {
        let mut source = source();
        source.poll_transmit(at(0));
        source.poll_transmit(at(1000));
        let mut events: Vec<Event> = Vec::new();
        source.on_timeout(at(1500), &mut events);
        assert!(events.is_empty());
        source.on_timeout(at(2000), &mut events);
        assert_eq!(events, [Event::Timeout { window: 0.0 }]);
        // A packet in two seconds from the last one at 1 s on.
        assert_eq!(source.poll_timeout(), Some(at(3000)));
    }

    #[test]
    fn an_application_that_writes_less_is_the_limit_and_one_that_waits_is_not() {
        let mut limits = Limits::default();
        assert!(limits.covers(at(100), at(50)), "the rate never held a packet back");
        limits.held_back(at(80));
        assert!(!limits.covers(at(200), at(150)));
        assert!(limits.covers(at(300), at(250)));
    }

    #[test]
    fn the_first_report_allows_four_packets_a_round_trip() {
        let mut source = source();
        assert_eq!(source.round_trip_times(), None);
        source.poll_transmit(at(0));
        assert_eq!((source.in_flight(), source.counters().data_packets), (1, 1));
        source.on_report(at(120), &feedback(0, at(0)), &mut ());
        // 4000 bytes of payload in 100 ms, and 28 bytes of headers for each 1000: `8 x 40,000 x 1.028`.
        assert_eq!((source.window(), source.rate().bits_per_second()), (4.0, 328_960));
        assert_eq!((source.in_flight(), source.wire_size()), (0, Bytes::new(1028)));
        let mut shown = Shown::default();
        source.probe(&mut shown);
        assert_eq!(shown.0[1], ("allowed_rate_bps", 320_000.0));
        // A second sample of 60 ms: `0.9 x 100 + 0.1 x 60 = 96` (section 4.3, step 2).
        source.poll_transmit(at(120));
        source.on_report(at(200), &feedback(1, at(120)), &mut ());
        let known = source.round_trip_times().unwrap();
        assert_eq!(known.map(|span| span.as_nanos().div_ceil(1000)), [60_000, 96_000, 60_000]);
        // A report older than the newest one has no effect.
        assert_eq!(source.on_report(at(210), &feedback(0, at(0)), &mut ()), None);
        assert_eq!(source.on_report(at(220), &feedback(1, at(120)), &mut ()), Some(Span::from_millis(80)));
    }

    #[derive(Default)]
    struct Shown(Vec<(&'static str, f64)>);

    impl Probe for Shown {
        fn value(&mut self, name: &'static str, value: f64) {
            self.0.push((name, value));
        }
    }

    #[test]
    fn losses_that_a_report_adds_are_noted_once() {
        let mut source = source();
        source.poll_transmit(at(0));
        source.on_report(at(120), &feedback(0, at(0)), &mut ());
        let rtt = Span::from_millis(100);
        let deemed = |count| Event::DeemedLost { sequence: 0, count, rtt };
        // The window before the first loss event is four packets.
        let reports =
            [((2, 1), vec![deemed(2), Event::LossEvent { window: 4.0 }]), ((2, 1), vec![]), ((3, 1), vec![deemed(1)])];
        for ((lost, loss_events), expected) in reports {
            let mut events: Vec<Event> = Vec::new();
            source.on_report(at(120), &Feedback { lost, loss_events, ..feedback(0, at(0)) }, &mut events);
            assert_eq!(events, expected);
        }
        assert_eq!((source.counters().lost_packets, source.loss_events), (3, 1));
    }

    #[test]
    fn a_packet_that_leaves_late_does_not_delay_the_next_one() {
        let mut source = source();
        source.poll_transmit(at(0));
        source.on_report(at(120), &feedback(0, at(0)), &mut ());
        let mut next = |now| source.poll_transmit(at(now)).map(|_| source.next_at);
        // 25 ms apart. The second is late by 95 ms, more than that, so the next ones are counted from it on.
        assert_eq!(next(120), Some(at(145)));
        assert_eq!(next(144), None);
        assert_eq!(next(150), Some(at(170)));
        assert_eq!(next(195), Some(at(195)));
        assert_eq!(next(195), Some(at(220)));
        assert_eq!(next(246), Some(at(271)));
    }

    #[test]
    fn an_application_writes_and_the_rate_says_when_that_leaves() {
        // A packet of 1000 bytes each 3 s, at 0, 3 and 6 s. The first rate is one a second.
        let steps = vec![(Time::ZERO, Rate::from_bits_per_second(2_666))];
        let pace = Pace::new(steps, Bytes::new(1000), None);
        let mut source = TfrcSource::new(Settings::default(), Bytes::new(1028), Some(pace));
        assert_eq!((source.poll_transmit(at(0)), source.poll_timeout()), (None, None), "before the start");
        source.start(at(0));
        assert!(source.poll_transmit(at(0)).is_some() && source.poll_transmit(at(1000)).is_none());
        assert_eq!(source.poll_timeout(), Some(at(2000)), "the nofeedback timer");
        source.on_report(at(1120), &feedback(0, at(1000)), &mut ());
        source.tfrc.on_sent();
        assert_eq!(source.poll_timeout(), Some(at(1520)));
        source.on_timeout(at(1520), &mut ());
        assert_eq!(source.counters().timeouts, 1);
        // Written, but not yet due: 20,000 bytes/s are a packet in 50 ms.
        source.left_at = at(2990);
        source.reschedule();
        assert!(source.poll_transmit(at(3001)).is_none());
        assert_eq!(source.limits.first, at(3001), "held back");
        source.tfrc.on_report(at(3002), &Report { rtt: Span::from_secs(1), ..report() });
        assert_eq!(source.poll_timeout(), Some(at(3040)));
        assert!(source.poll_transmit(at(3040)).is_some());
    }

    fn report() -> Report {
        Report {
            rtt: Span::ZERO,
            loss_event_rate: 0.0,
            receive_rate: 10_000.0,
            new_loss_event: false,
            data_limited: true,
        }
    }

    #[test]
    fn each_report_asks_for_the_time_since_the_last() {
        // Section 8.2.1: NotLimited1 and NotLimited2, t_new and t_next.
        let mut limits = Limits::default();
        let held = |limits: &mut Limits, ms| {
            limits.held_back(at(ms));
            (limits.first, limits.second)
        };
        assert_eq!(held(&mut limits, 10), (at(10), at(0)));
        assert_eq!(held(&mut limits, 20), (at(10), at(20)));
        assert_eq!(held(&mut limits, 30), (at(10), at(20)), "both are taken");
        // Packets that left by 15 ms are covered: 10 ms is among them, 20 ms is the first of the rest.
        assert!(!limits.covers(at(100), at(15)));
        assert_eq!((limits.first, limits.covered, limits.reported), (at(20), at(15), at(100)));
        assert_eq!(held(&mut limits, 110), (at(20), at(110)));
        assert!(!limits.covers(at(200), at(105)));
        assert_eq!(limits.first, at(110));
        assert!(limits.covers(at(300), at(109)));
        assert!(!limits.covers(at(400), at(300)));
        assert_eq!(limits.first, at(110));
        assert!(limits.covers(at(500), at(400)));
        assert_eq!(held(&mut limits, 450), (at(450), at(110)));
        // The instants themselves: from is not within, to is.
        let mut bounds = Limits { first: at(50), second: at(50), covered: at(50), reported: at(50) };
        assert!(bounds.covers(at(60), at(55)));
        bounds.first = at(70);
        assert!(!bounds.covers(at(80), at(70)));
    }
}
