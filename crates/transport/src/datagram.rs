//! A source that does not react: datagrams at a given rate or as recorded, each echoed by the sink, and a controller
//! that only watches.

use std::collections::VecDeque;

use control::{Ack, Context, Controller, Loss, Moment, ParameterError, Parameters, RttSample};
use units::packet::{IP_HEADER, UDP_HEADER};
use units::{Bytes, Random, SenderCounters, Span, Time};

use crate::application::Pace;
use crate::journal::{Event, Journal};
use crate::media::{Datagrams, Recorded};
use crate::segment::{Acknowledgement, Data, SackBlocks};
use crate::tcp::rtt::RttEstimator;

/// IP and UDP header.
const HEADER: u64 = IP_HEADER.get() + UDP_HEADER.get();

/// Datagrams echoed after it that make one lost.
const REORDERING: u64 = 3;

/// When datagrams are written, and how large ones.
#[derive(Clone, Debug)]
pub enum Writes {
    /// Full ones at a rate.
    Paced(Pace),
    /// As recorded.
    Recorded(Recorded),
}

impl Writes {
    /// The application begins at `now`.
    pub fn start(&mut self, now: Time) {
        match self {
            Self::Paced(pace) => pace.start(now),
            Self::Recorded(recorded) => recorded.start(now),
        }
    }

    /// The payload of datagram `number`, the next one, if it is written by `now`. A full one has `full` bytes.
    pub fn take(&mut self, now: Time, number: u64, full: u32) -> Option<u32> {
        match self {
            Self::Paced(pace) => (number < pace.written(now, number)).then_some(full),
            Self::Recorded(recorded) => recorded.take(now),
        }
    }

    /// When the next one is written.
    pub fn next_write(&self) -> Option<Time> {
        match self {
            Self::Paced(pace) => pace.next_write(),
            Self::Recorded(recorded) => recorded.next_write(),
        }
    }
}

/// A source of a constant or stepwise rate, or of recorded media, without congestion control.
///
/// Its controller is fed every echo and every loss event as if it steered, so that an estimator can be watched on a
/// stimulus that does not depend on it. Its window and its wishes beyond the usual events are ignored.
pub struct DatagramSource {
    controller: Box<dyn Controller>,
    random: Random,
    writes: Writes,
    /// IP size of the largest.
    size: Bytes,
    /// When each outstanding datagram left, or `None` once it was echoed.
    outstanding: VecDeque<Option<Time>>,
    /// How many of these were echoed.
    echoed: u32,
    first: u64,
    recovery_point: u64,
    round_mark: u64,
    rtt: RttEstimator,
    counters: SenderCounters,
}

/// Datagrams that are deemed lost.
struct Lost {
    count: u32,
    /// The number of the first.
    first: u64,
    /// When the first left.
    sent_at: Time,
}

impl DatagramSource {
    /// A source of datagrams of IP size `size`, paced by `pace`.
    pub fn new(size: Bytes, pace: Pace, controller: Box<dyn Controller>, random: Random) -> Self {
        Self::of(size, Writes::Paced(pace), controller, random)
    }

    /// A source of recorded `datagrams`, none of which has a larger IP size than `size`.
    pub fn recorded(size: Bytes, datagrams: Datagrams, controller: Box<dyn Controller>, random: Random) -> Self {
        Self::of(size, Writes::Recorded(Recorded::new(datagrams)), controller, random)
    }

    fn of(size: Bytes, writes: Writes, controller: Box<dyn Controller>, random: Random) -> Self {
        Self {
            controller,
            random,
            writes,
            size,
            outstanding: VecDeque::new(),
            echoed: 0,
            first: 0,
            recovery_point: 0,
            round_mark: 0,
            rtt: RttEstimator::new(),
            counters: SenderCounters::default(),
        }
    }

    /// Begins at `now`.
    pub fn start(&mut self, now: Time) {
        self.writes.start(now);
        self.notify(now, |controller, cx| controller.on_start(cx));
    }

    fn notify(&mut self, now: Time, event: impl FnOnce(&mut dyn Controller, &mut Context<'_>)) {
        let segment_size = self.size.saturating_sub(Bytes::new(HEADER));
        let moment = Moment { now, segment_size, initial_window: 1.0, departure: now, ..Moment::EMPTY };
        let mut cx = Context { moment, random: &mut self.random };
        event(self.controller.as_mut(), &mut cx);
    }

    fn next(&self) -> u64 {
        self.first + self.outstanding.len() as u64
    }

    /// The next datagram that leaves now, if one does.
    #[inline(never)]
    pub fn poll_transmit(&mut self, now: Time) -> Option<Data> {
        let sequence = self.next();
        let full = self.size.saturating_sub(Bytes::new(HEADER)).get() as u32;
        let payload = self.writes.take(now, sequence, full)?;
        self.outstanding.push_back(Some(now));
        self.counters.data_packets += 1;
        Some(Data { sequence, timestamp: now, payload, retransmission: false, reduced: false, push: false })
    }

    /// The sink echoed a datagram: `echo.cumulative` is its number. Says whether that gave an RTT sample.
    #[inline(never)]
    pub fn on_echo(&mut self, now: Time, echo: &Acknowledgement, journal: &mut dyn Journal) -> Option<Span> {
        let sequence = echo.cumulative;
        let in_flight_before = self.in_flight();
        let index = usize::try_from(sequence.checked_sub(self.first)?).ok()?;
        let sent = self.outstanding.get_mut(index)?.take()?;
        self.echoed += 1;
        let rtt = now.since(sent);
        self.rtt.sample(rtt);
        self.rtt.observe(rtt, now, Span::ZERO);
        let lost = self.settle(sequence);
        let round_start = sequence >= self.round_mark;
        if round_start {
            self.round_mark = self.next();
        }
        let signal = Ack {
            rtt: Some(RttSample { value: rtt, delayed: false }),
            timestamp_echo: echo.echo,
            smoothed_rtt: self.rtt.smoothed,
            min_rtt: self.rtt.minimum,
            one_way_delay: Some(echo.one_way_delay),
            newly_acknowledged: 1,
            newly_delivered: 1,
            newly_lost: lost.count,
            in_flight_before,
            in_flight: self.in_flight(),
            round_start,
            ecn_echo: echo.congestion_echo,
            application_limited: true,
            acknowledged_to: self.first,
            sent_to: self.next(),
            ..Ack::EMPTY
        };
        self.notify(now, |controller, cx| controller.on_ack(cx, &signal));
        if lost.count > 0 {
            journal.note(Event::DeemedLost { sequence: lost.first, count: lost.count, rtt });
            self.on_loss(now, lost, in_flight_before, sequence, journal);
        }
        Some(rtt)
    }

    /// Drops settled datagrams: echoed, or overtaken by `REORDERING` echoes.
    fn settle(&mut self, echoed: u64) -> Lost {
        let mut lost = Lost { count: 0, first: self.first, sent_at: Time::ZERO };
        while let Some(&oldest) = self.outstanding.front() {
            if let Some(sent_at) = oldest {
                if self.first + REORDERING > echoed {
                    break;
                }
                if lost.count == 0 {
                    (lost.first, lost.sent_at) = (self.first, sent_at);
                }
                lost.count += 1;
            } else {
                self.echoed -= 1;
            }
            self.outstanding.pop_front();
            self.first += 1;
        }
        lost
    }

    fn on_loss(&mut self, now: Time, lost: Lost, in_flight: u32, echoed: u64, journal: &mut dyn Journal) {
        self.counters.lost_packets += u64::from(lost.count);
        if echoed < self.recovery_point {
            return;
        }
        self.recovery_point = self.next();
        journal.note(Event::LossEvent { window: self.controller.window() });
        let loss = Loss {
            in_flight,
            newly_lost: lost.count,
            again: false,
            acknowledged_to: lost.first,
            sent_to: self.next(),
            sent_at: lost.sent_at,
        };
        self.notify(now, |controller, cx| controller.on_loss(cx, &loss));
        self.notify(now, |controller, cx| controller.on_recovered(cx));
    }

    /// Parameters of the controller change.
    pub fn set_parameters(&mut self, given: &Parameters) -> Result<(), ParameterError> {
        self.controller.set_parameters(given)
    }

    /// When the next datagram leaves.
    pub fn poll_timeout(&self) -> Option<Time> {
        self.writes.next_write()
    }

    /// Datagrams sent and neither echoed nor lost.
    pub fn in_flight(&self) -> u32 {
        self.outstanding.len() as u32 - self.echoed
    }

    /// IP size of a datagram with `payload`.
    pub fn wire_size(payload: u32) -> Bytes {
        Bytes::new(HEADER + u64::from(payload))
    }

    /// The controller that watches.
    pub fn controller(&self) -> &dyn Controller {
        self.controller.as_ref()
    }

    /// Counters since the start.
    pub fn counters(&self) -> SenderCounters {
        self.counters
    }

    /// The latest, the smoothed and the smallest RTT, once there is a sample.
    pub fn round_trip_times(&self) -> Option<[Span; 3]> {
        (self.rtt.minimum != Span::MAX).then_some([self.rtt.latest, self.rtt.smoothed, self.rtt.minimum])
    }
}

/// The sink of datagrams: echoes each.
#[derive(Clone, Debug, Default)]
pub struct DatagramSink {
    delivered: Bytes,
}

impl DatagramSink {
    /// IP size of an echo: header, number and timestamp.
    pub const ECHO_SIZE: Bytes = Bytes::new(HEADER + 16);

    /// A datagram arrived. `congestion` says that the path marked it. Answers the echo.
    #[inline(never)]
    pub fn on_data(&mut self, now: Time, data: &Data, congestion: bool) -> Acknowledgement {
        self.delivered += Bytes::new(u64::from(data.payload));
        Acknowledgement {
            cumulative: data.sequence,
            timestamp: now,
            echo: data.timestamp,
            one_way_delay: now.since(data.timestamp),
            window: u32::MAX,
            congestion_echo: congestion,
            marked: 0,
            sack: SackBlocks::default(),
            duplicate: None,
        }
    }

    /// Payload bytes that arrived.
    pub fn delivered(&self) -> Bytes {
        self.delivered
    }
}

#[cfg(test)]
mod tests;
