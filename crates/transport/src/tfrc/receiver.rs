//! The receiver of a TFRC flow: which packets are lost, the loss event rate, the receive rate, and when to report them
//! (RFC 5348, sections 5 and 6).

use std::collections::VecDeque;

use control::tfrc::{Settings, loss_rate_of};
use units::{Bytes, Span, Time};

use super::intervals::Intervals;
use crate::segment::{Acknowledgement, Data};

/// Packets that must arrive after one for it to be lost (section 5.1, NDUPACK).
const REORDERING: u32 = 3;

/// Content of a report (section 3.2.2).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Feedback {
    /// The newest packet to arrive.
    pub newest: u64,
    /// When it was sent (t_recvdata).
    pub sent_at: Time,
    /// How long it has been here (t_delay).
    pub kept: Span,
    /// Bytes a second that arrived over about the last RTT (X_recv).
    pub receive_rate: f64,
    /// The loss event rate, from 0 to 1 (p).
    pub loss_event_rate: f64,
    /// Packets lost so far.
    pub lost: u64,
    /// Loss events so far.
    pub loss_events: u64,
}

/// The receiver of one flow.
///
/// Reports are numbered, and their content stays here until they arrive: [`TfrcSink::take`].
#[derive(Clone, Debug)]
pub struct TfrcSink {
    intervals: Intervals,
    /// Payload of a packet in bytes.
    size: f64,
    delivered: Bytes,
    /// The first packet of which nothing is settled, and when those from it on arrived.
    first: u64,
    arrivals: VecDeque<Option<Time>>,
    /// How many of these have arrived.
    arrived: u32,
    /// The last packet that was settled as arrived.
    before: Option<(u64, Time)>,
    /// The newest packet: its number, and when it left and arrived.
    newest: Option<(u64, Time, Time)>,
    lost: u64,
    loss_events: u64,
    /// When packets arrived in the last RTT, or since the last report if that is longer ago.
    recent: VecDeque<Time>,
    largest_rate: f64,
    reported_at: Time,
    /// When the feedback timer expires, or [`Time::NEVER`] if it is not set.
    deadline: Time,
    /// The RTT that the newest packet said.
    rtt: Span,
    due: bool,
    under_way: VecDeque<(u64, Feedback)>,
    next_report: u64,
}

impl TfrcSink {
    /// A receiver of packets with a payload of `size`.
    pub fn new(settings: Settings, size: Bytes) -> Self {
        Self {
            intervals: Intervals::new(settings.history_discounting),
            size: size.get() as f64,
            delivered: Bytes::ZERO,
            first: 0,
            arrivals: VecDeque::new(),
            arrived: 0,
            before: None,
            newest: None,
            lost: 0,
            loss_events: 0,
            recent: VecDeque::new(),
            largest_rate: 0.0,
            reported_at: Time::NEVER,
            deadline: Time::NEVER,
            rtt: Span::ZERO,
            due: false,
            under_way: VecDeque::new(),
            next_report: 0,
        }
    }

    /// A packet arrives. `congestion` says that the path marked it, and `rtt` is the sender's RTT when it left.
    /// Afterwards poll what to transmit.
    pub fn on_data(&mut self, now: Time, data: &Data, congestion: bool, rtt: Span) {
        self.delivered += Bytes::new(u64::from(data.payload));
        self.rtt = rtt;
        if self.newest.is_none_or(|(newest, ..)| data.sequence > newest) {
            self.newest = Some((data.sequence, data.timestamp, now));
        }
        self.recent.push_back(now);
        let begun = self.loss_events;
        if congestion {
            // A mark is a loss event's as a lost packet is (section 5.2).
            self.note_loss(data.sequence, now);
        }
        self.settle(now, data.sequence);
        if self.reported_at == Time::NEVER || rtt.is_zero() || self.loss_events > begun {
            self.due = true;
        } else if self.deadline == Time::NEVER {
            self.deadline = now + rtt;
        }
    }

    /// The feedback timer has expired.
    pub fn on_timeout(&mut self, now: Time) {
        if now >= self.deadline {
            self.deadline = Time::NEVER;
            self.due = self.recent.back().is_some_and(|&at| at > self.reported_at);
        }
    }

    /// When the feedback timer expires.
    pub fn poll_timeout(&self) -> Option<Time> {
        (self.deadline != Time::NEVER).then_some(self.deadline)
    }

    /// The report that leaves now, if one does: its number is `cumulative`.
    pub fn poll_transmit(&mut self, now: Time) -> Option<Acknowledgement> {
        let (newest, sent_at, arrived_at) = self.newest.filter(|_| std::mem::take(&mut self.due))?;
        let receive_rate = self.receive_rate(now);
        self.largest_rate = self.largest_rate.max(receive_rate);
        let number = self.next_report;
        self.next_report += 1;
        let feedback = Feedback {
            newest,
            sent_at,
            kept: now.since(arrived_at),
            receive_rate,
            loss_event_rate: self.intervals.loss_event_rate(newest),
            lost: self.lost,
            loss_events: self.loss_events,
        };
        self.under_way.push_back((number, feedback));
        self.reported_at = now;
        self.deadline = if self.rtt.is_zero() { Time::NEVER } else { now + self.rtt };
        let one_way_delay = arrived_at.since(sent_at);
        Some(Acknowledgement { cumulative: number, timestamp: now, echo: sent_at, one_way_delay, ..Default::default() })
    }

    /// The content of report `number`, which has arrived. Earlier reports that have not are lost.
    pub fn take(&mut self, number: u64) -> Option<Feedback> {
        while let Some((first, feedback)) = self.under_way.pop_front() {
            if first >= number {
                return (first == number).then_some(feedback);
            }
        }
        None
    }

    /// Payload bytes that arrived.
    pub fn delivered(&self) -> Bytes {
        self.delivered
    }

    /// Bytes a second that arrived over the last RTT, or since the last report if that is longer ago (section 6.2).
    fn receive_rate(&mut self, now: Time) -> f64 {
        let since = if self.reported_at == Time::NEVER { Span::ZERO } else { now.since(self.reported_at) };
        let over = since.max(self.rtt);
        while self.recent.front().is_some_and(|&at| now.since(at) >= over && at < now) {
            self.recent.pop_front();
        }
        if over.is_zero() { 0.0 } else { self.recent.len() as f64 * self.size / over.as_secs_f64() }
    }

    /// Notes the arrival of `sequence`, and which packets are lost by that.
    fn settle(&mut self, now: Time, sequence: u64) {
        let Some(index) = sequence.checked_sub(self.first) else { return };
        let index = index as usize;
        if index >= self.arrivals.len() {
            self.arrivals.resize(index + 1, None);
        }
        if self.arrivals[index].replace(now).is_none() {
            self.arrived += 1;
        }
        while let Some(&oldest) = self.arrivals.front() {
            if let Some(at) = oldest {
                self.before = Some((self.first, at));
                self.arrived -= 1;
            } else if self.arrived >= REORDERING {
                let at = self.lost_at(now);
                self.lost += 1;
                self.note_loss(self.first, at);
            } else {
                break;
            }
            self.arrivals.pop_front();
            self.first += 1;
        }
    }

    /// When the oldest packet, which is lost, would have arrived between its neighbours (section 5.2).
    fn lost_at(&self, now: Time) -> Time {
        let after = (self.first..).zip(&self.arrivals).find_map(|(number, at)| Some((number, (*at)?)));
        let Some(((before, from), (after, to))) = self.before.zip(after) else { return now };
        let share = (self.first - before) as f64 / (after - before) as f64;
        from + to.since(from).scale(share)
    }

    fn note_loss(&mut self, sequence: u64, at: Time) {
        let (size, rtt, rate) = (self.size, self.rtt, self.largest_rate);
        // The interval that would have given the largest rate seen, which slow start found (section 6.3.1).
        let first = || {
            if rtt.is_zero() || rate == 0.0 {
                sequence as f64
            } else {
                1.0 / loss_rate_of(size, rtt.as_secs_f64(), rate)
            }
        };
        self.loss_events += u64::from(self.intervals.lost(sequence, at, rtt, first));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Span = Span::from_millis(100);

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    fn data(sequence: u64, sent: Time) -> Data {
        Data { sequence, timestamp: sent, payload: 1000, retransmission: false, reduced: false, push: false }
    }

    fn sink() -> TfrcSink {
        TfrcSink::new(Settings::default(), Bytes::new(1000))
    }

    /// Packet `sequence` leaves, and arrives 50 ms later at `ms`. Returns the report that leaves for it.
    fn arrives(sink: &mut TfrcSink, ms: u64, sequence: u64) -> Option<Feedback> {
        sink.on_data(at(ms), &data(sequence, at(ms - 50)), false, RTT);
        let report = sink.poll_transmit(at(ms))?;
        sink.take(report.cumulative)
    }

    #[test]
    fn the_first_packet_is_reported_at_once_and_then_there_is_a_report_a_round_trip() {
        let mut sink = sink();
        let report = arrives(&mut sink, 50, 0).unwrap();
        assert_eq!((report.newest, report.sent_at, report.kept), (0, at(0), Span::ZERO));
        assert!((1..=10).all(|n| arrives(&mut sink, 50 + 9 * n, n).is_none()));
        assert_eq!(sink.poll_timeout(), Some(at(150)));
        sink.on_timeout(at(150));
        let number = sink.poll_transmit(at(150)).unwrap().cumulative;
        let report = sink.take(number).unwrap();
        // Ten packets of 1000 bytes in 100 ms. The newest arrived 10 ms ago.
        assert_eq!((report.receive_rate, report.kept, report.loss_event_rate), (100_000.0, Span::from_millis(10), 0.0));
        sink.on_timeout(at(250));
        assert!(sink.poll_transmit(at(250)).is_none(), "nothing has arrived since");
    }

    #[test]
    fn a_packet_is_lost_when_three_later_ones_have_arrived() {
        let mut sink = sink();
        arrives(&mut sink, 50, 0);
        for (ms, sequence) in [(60, 1), (80, 3), (90, 4)] {
            assert!(arrives(&mut sink, ms, sequence).is_none(), "{sequence}");
        }
        let report = arrives(&mut sink, 100, 5).unwrap();
        assert_eq!((report.lost, report.loss_events), (1, 1), "reported at once");
        assert!(report.loss_event_rate > 0.0);
    }

    #[test]
    fn a_packet_that_is_late_by_two_is_not_lost() {
        let mut sink = sink();
        for (ms, sequence) in [(50, 0), (60, 2), (70, 3), (80, 1), (90, 4), (95, 5)] {
            arrives(&mut sink, ms, sequence);
        }
        assert_eq!(sink.loss_events, 0);
    }

    #[test]
    fn the_first_interval_is_that_of_the_largest_receive_rate() {
        let mut sink = sink();
        for n in 0..=10 {
            arrives(&mut sink, 50 + 9 * n, n);
        }
        sink.on_timeout(at(150));
        sink.poll_transmit(at(150)).unwrap();
        for (ms, sequence) in [(160, 12), (170, 13)] {
            arrives(&mut sink, ms, sequence);
        }
        let report = arrives(&mut sink, 180, 14).unwrap();
        // The equation gives 100,000 bytes/s at 100 ms for p = 0.01224, worked out by trial:
        // sqrt(0.00816) = 0.09033, 12 sqrt(0.00459) * 0.01224 * 1.00479 = 0.01000, 1000/(0.1 * 0.10033) = 99,670.
        assert!((report.loss_event_rate / 0.01217 - 1.0).abs() < 0.01, "{}", report.loss_event_rate);
    }

    #[test]
    fn a_mark_begins_a_loss_event_as_a_lost_packet_does() {
        let mut sink = sink();
        arrives(&mut sink, 50, 0);
        sink.on_data(at(60), &data(1, at(10)), true, RTT);
        assert_eq!((sink.loss_events, sink.lost), (1, 0));
    }

    #[test]
    fn a_report_carries_the_times_of_the_newest_packet() {
        let mut sink = sink();
        sink.on_data(at(50), &data(0, at(7)), false, RTT);
        assert_eq!((sink.poll_timeout(), sink.delivered()), (None, Bytes::new(1000)));
        let report = sink.poll_transmit(at(60)).unwrap();
        assert_eq!((report.cumulative, report.timestamp, report.echo), (0, at(60), at(7)));
        assert_eq!(report.one_way_delay, Span::from_millis(43));
        assert_eq!((sink.poll_transmit(at(60)), sink.poll_timeout()), (None, Some(at(160))));
        // An older packet counts, but is not the newest.
        sink.on_data(at(70), &data(2, at(20)), false, RTT);
        sink.on_data(at(80), &data(1, at(10)), false, RTT);
        sink.on_timeout(at(159));
        assert!(sink.poll_transmit(at(159)).is_none());
        sink.on_timeout(at(160));
        let report = sink.poll_transmit(at(160)).unwrap();
        assert_eq!((report.cumulative, report.echo, report.one_way_delay), (1, at(20), Span::from_millis(50)));
        let kept = sink.take(1).unwrap();
        // Two packets in 100 ms. The first report was lost, and is gone.
        assert_eq!((kept.newest, kept.kept, kept.receive_rate), (2, Span::from_millis(90), 20_000.0));
        assert_eq!((sink.take(0), sink.take(1), sink.delivered()), (None, None, Bytes::new(3000)));
    }

    #[test]
    fn a_lost_packet_would_have_come_between_its_neighbours() {
        let mut sink = sink();
        (sink.first, sink.before) = (12, Some((10, at(100))));
        sink.arrivals = [None, Some(at(160))].into();
        // Two of three numbers between 100 and 160 ms.
        assert_eq!(sink.lost_at(at(999)), at(140));
        sink.before = None;
        assert_eq!(sink.lost_at(at(999)), at(999));
    }

    #[test]
    fn while_the_sender_knows_no_rtt_every_packet_is_reported() {
        let mut sink = sink();
        for n in 0..3 {
            sink.on_data(at(50 + n), &data(n, at(n)), false, Span::ZERO);
            let number = sink.poll_transmit(at(50 + n)).unwrap().cumulative;
            let report = sink.take(number).unwrap();
            // Two packets in the millisecond since the last report: that one's and this.
            let expected = if n == 0 { 0.0 } else { 1_000_000.0 };
            assert_eq!((number, report.receive_rate, sink.poll_timeout()), (n, expected, None));
        }
    }
}
