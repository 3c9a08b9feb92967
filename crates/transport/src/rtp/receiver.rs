//! The receiver of a media flow: feedback on packets, and frames.

use std::collections::VecDeque;

use units::{Bytes, Span, Time};

use super::frames::Frames;
use super::{Arrival, FrameArrival, MediaReport, MediaSettings, PacketHeader};
use crate::segment::{Acknowledgement, Data};

/// Packets that arrived after a missing one before that counts as lost.
pub(super) const REORDERING: u64 = 3;

/// The receiver of one flow.
#[derive(Clone, Debug)]
pub struct MediaSink {
    feedback: Span,
    /// The time from a report to the next without news, which a circuit breaker needs.
    regular: Option<Span>,
    /// The deadline is of a report without news.
    quiet: bool,
    repair: Span,
    frames: Frames,
    delivered: Bytes,
    /// Arrivals since the report before the last, and how many of them the last one has.
    arrivals: Vec<Arrival>,
    reported: usize,
    /// The newest packet: when it left and arrived.
    newest: (Time, Time),
    /// From the first number that is neither there nor lost: which are there.
    present: VecDeque<bool>,
    first: u64,
    requested: bool,
    due: bool,
    deadline: Time,
    under_way: VecDeque<(u64, MediaReport)>,
    next_report: u64,
}

impl MediaSink {
    /// A receiver that has got nothing.
    pub fn new(settings: &MediaSettings) -> Self {
        Self {
            feedback: settings.feedback,
            regular: settings.breaker,
            quiet: false,
            repair: settings.repair,
            frames: Frames::new(settings.playout),
            delivered: Bytes::ZERO,
            arrivals: Vec::new(),
            reported: 0,
            newest: (Time::ZERO, Time::ZERO),
            present: VecDeque::new(),
            first: 0,
            requested: false,
            due: false,
            deadline: Time::NEVER,
            under_way: VecDeque::new(),
            next_report: 0,
        }
    }

    /// A packet arrives with `header`. `congestion` says that the path marked it. Afterwards poll what to transmit.
    pub fn on_data(&mut self, now: Time, data: &Data, congestion: bool, header: Option<PacketHeader>) {
        if let Some(header) = header
            && self.frames.on_packet(now, &header)
        {
            self.delivered += Bytes::new(u64::from(data.payload));
        }
        self.arrivals.push(Arrival { sequence: data.sequence, at: now, marked: congestion });
        self.newest = (data.timestamp, now);
        let has_lost = self.settle(data.sequence);
        let needs_key = self.frames.needs_key(now, self.repair);
        // Losses that can be repaired, and the first request for a key frame, are reported at once.
        self.due |= (has_lost && !self.repair.is_zero()) || (needs_key && !self.requested);
        self.requested = needs_key;
        if self.deadline == Time::NEVER || std::mem::take(&mut self.quiet) {
            self.deadline = now + self.feedback;
        }
    }

    /// Notes that packet `sequence` is there. Says whether others are lost by that.
    fn settle(&mut self, sequence: u64) -> bool {
        let Some(index) = sequence.checked_sub(self.first) else { return false };
        let index = index as usize;
        if index >= self.present.len() {
            self.present.resize(index + 1, false);
        }
        self.present[index] = true;
        let mut has_lost = false;
        while let Some(&present) = self.present.front() {
            if !present && (self.present.len() as u64) <= REORDERING {
                break;
            }
            has_lost |= !present;
            self.present.pop_front();
            self.first += 1;
        }
        has_lost
    }

    /// The feedback timer has expired.
    pub fn on_timeout(&mut self, now: Time) {
        if now < self.deadline {
            return;
        }
        self.deadline = Time::NEVER;
        if self.arrivals.len() > self.reported {
            self.due = true;
        } else if let Some(regular) = self.regular {
            self.due |= self.quiet;
            self.quiet = true;
            self.deadline = now + regular;
        }
    }

    /// When the feedback timer expires.
    pub fn poll_timeout(&self) -> Option<Time> {
        (self.deadline != Time::NEVER).then_some(self.deadline)
    }

    /// The report that leaves now, if one does, with its size: its number is `cumulative`.
    pub fn poll_transmit(&mut self, now: Time) -> Option<(Acknowledgement, Bytes)> {
        if !std::mem::take(&mut self.due) {
            return None;
        }
        let number = self.next_report;
        self.next_report += 1;
        let (left, arrived) = self.newest;
        let report = MediaReport {
            arrivals: self.arrivals.clone(),
            kept: now.since(arrived),
            key_request: self.requested.then(|| self.frames.newest()),
        };
        self.arrivals.drain(..self.reported);
        self.reported = self.arrivals.len();
        self.deadline = now + self.regular.filter(|_| self.quiet).unwrap_or(self.feedback);
        let size = report.wire_size();
        self.under_way.push_back((number, report));
        let one_way_delay = arrived.since(left);
        let answer =
            Acknowledgement { cumulative: number, timestamp: now, echo: left, one_way_delay, ..Default::default() };
        Some((answer, size))
    }

    /// The content of report `number`, which has arrived. Earlier reports that have not are lost.
    pub fn take(&mut self, number: u64) -> Option<MediaReport> {
        while let Some((first, report)) = self.under_way.pop_front() {
            if first >= number {
                return (first == number).then_some(report);
            }
        }
        None
    }

    /// Bytes of media that arrived for the first time and before their frame was whole or given up.
    pub fn delivered(&self) -> Bytes {
        self.delivered
    }

    /// What became of the frames, by their numbers.
    pub fn frames(&self) -> &[FrameArrival] {
        self.frames.arrivals()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Span = Span::from_millis;

    fn at(ms: u64) -> Time {
        Time::ZERO + MS(ms)
    }

    fn sink(repair: Span) -> MediaSink {
        MediaSink::new(&MediaSettings { repair, ..MediaSettings::default() })
    }

    /// Packet `sequence` left 50 ms ago and is a frame of its own. Returns the report that leaves for it.
    fn arrives(sink: &mut MediaSink, ms: u64, sequence: u64) -> Option<MediaReport> {
        let timestamp = at(ms - 50);
        let data = Data { sequence, timestamp, payload: 1000, retransmission: false, reduced: false, push: true };
        let (frame, key) = (sequence as u32, sequence == 0);
        let header = PacketHeader { frame, captured: timestamp, index: 0, needed: 1, key };
        sink.on_data(at(ms), &data, sequence == 1, Some(header));
        let (answer, _) = sink.poll_transmit(at(ms))?;
        sink.take(answer.cumulative)
    }

    fn expires(sink: &mut MediaSink, ms: u64) -> Option<MediaReport> {
        assert_eq!(sink.poll_timeout(), Some(at(ms)));
        sink.on_timeout(at(ms));
        let (answer, _) = sink.poll_transmit(at(ms))?;
        sink.take(answer.cumulative)
    }

    fn numbers(report: &MediaReport) -> Vec<u64> {
        report.arrivals.iter().map(|arrival| arrival.sequence).collect()
    }

    #[test]
    fn reports_come_each_100_ms_and_say_everything_twice() {
        let mut sink = sink(MS(0));
        assert!([(60, 0), (80, 1)].iter().all(|&(ms, sequence)| arrives(&mut sink, ms, sequence).is_none()));
        let report = expires(&mut sink, 160).unwrap();
        assert_eq!((numbers(&report), report.kept), (vec![0, 1], MS(80)));
        assert_eq!(report.arrivals[1], Arrival { sequence: 1, at: at(80), marked: true });
        arrives(&mut sink, 200, 2);
        assert_eq!(numbers(&expires(&mut sink, 260).unwrap()), [0, 1, 2]);
        arrives(&mut sink, 300, 3);
        assert_eq!(numbers(&expires(&mut sink, 360).unwrap()), [2, 3]);
        assert_eq!((expires(&mut sink, 460), sink.poll_timeout()), (None, None), "nothing new has come");
        assert_eq!(sink.delivered(), Bytes::new(4000));
    }

    #[test]
    fn a_loss_that_can_be_repaired_is_reported_at_once() {
        for (repair, expected) in [(MS(0), None), (MS(500), Some(vec![0, 2, 3, 4]))] {
            let mut sink = sink(repair);
            arrives(&mut sink, 60, 0);
            // Without repair a key frame is asked for when the second frame is whole after a gap.
            let asked = arrives(&mut sink, 70, 2).and_then(|report| report.key_request);
            assert_eq!(asked, repair.is_zero().then_some(2));
            assert_eq!(arrives(&mut sink, 80, 3), None);
            assert_eq!(arrives(&mut sink, 90, 4).as_ref().map(numbers), expected);
        }
    }

    #[test]
    fn with_a_breaker_reports_go_on_at_its_interval_when_nothing_arrives() {
        let breaker = Some(Span::from_secs(1));
        let mut sink = MediaSink::new(&MediaSettings { breaker, ..MediaSettings::default() });
        arrives(&mut sink, 60, 0);
        assert_eq!(numbers(&expires(&mut sink, 160).unwrap()), [0]);
        assert_eq!(expires(&mut sink, 260), None, "the next one is due a second later");
        assert_eq!(numbers(&expires(&mut sink, 1260).unwrap()), [0], "the last report is repeated");
        assert!(numbers(&expires(&mut sink, 2260).unwrap()).is_empty());
        // News waits for the interval of feedback alone.
        arrives(&mut sink, 2300, 1);
        assert_eq!(numbers(&expires(&mut sink, 2400).unwrap()), [1]);
    }

    #[test]
    fn a_lost_report_is_gone_and_the_next_one_counts() {
        let mut sink = sink(MS(0));
        arrives(&mut sink, 60, 0);
        for (ms, sequence) in [(160, 1), (260, 2)] {
            sink.on_timeout(at(ms));
            sink.poll_transmit(at(ms)).unwrap();
            sink.arrivals.push(Arrival { sequence, at: at(ms), marked: false });
        }
        assert_eq!(sink.take(1).as_ref().map(numbers), Some(vec![0, 1]));
        assert_eq!((sink.take(0), sink.take(1)), (None, None));
    }
}
