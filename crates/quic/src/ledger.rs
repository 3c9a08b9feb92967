//! The ledger of the sending side of a connection: it takes the reports of the stack, counts them for the tables, and
//! passes them on to a controller of this project.
//!
//! A packet is a segment for a controller of this project: packets of a flow are full but for the last, and QUIC never
//! sends one again. Its reports become the events of [`control::Controller`]. The handshake is no part of it, but for
//! its RTT.

#[cfg(test)]
mod facts;
mod passing;
#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use control::law::{self, Breach};
use control::{
    Ack, Context, Controller, Loss, Marks, Moment, ParameterError, Parameters, Probe, Reports, RttSample, Transmission,
    TransmitStart,
};
use record::FlowMeter;
use stack::{Decisions, NONE, known};
use transport::{DelayedAckDetector, Driver, Event, RttEstimator};
use units::{Bytes, Rate, SenderCounters, Span, Time};

use crate::flight::{Flight, Sent};

/// A controller at work.
pub(crate) enum Control {
    /// A controller of the stack: its last decisions.
    Stack(Decisions),
    /// One of this project, and its pacing rate.
    Ackclock(Box<Driver>, Option<Rate>),
}

/// An acknowledgement that noq reports packet by packet.
#[derive(Default)]
struct Batch {
    newest: Option<Sent>,
    count: u32,
    in_flight_before: u32,
}

/// Losses that noq reports packet by packet.
#[derive(Default)]
struct Losses {
    oldest: Option<Sent>,
    count: u32,
    in_flight_before: u32,
}

/// Facts about one connection at its sender.
pub(crate) struct Ledger {
    /// Bytes of a full packet, without the headers of IP and UDP.
    packet_size: u64,
    initial_window: u32,
    pub(crate) control: Control,
    /// The handshake is over: what is sent from here on counts.
    connected: bool,
    flight: Flight,
    pub(crate) rtt: RttEstimator,
    detector: DelayedAckDetector,
    pub(crate) meter: FlowMeter,
    pub(crate) counters: SenderCounters,
    /// Acknowledgements with an RTT sample.
    pub(crate) samples: u64,
    /// Events that were not taken yet, if anybody takes them.
    pub(crate) journal: Option<Vec<Event>>,
    batch: Batch,
    losses: Losses,
    /// Packets deemed lost of which the controller does not know.
    unreported: u32,
    marked: bool,
    round_mark: u64,
    last_sent: Time,
    /// The last instant that noq passed.
    latest: Time,
    /// When the last loss event began. Packets that left before belong to it.
    recovery_start: Option<Time>,
    pub(crate) in_recovery: bool,
}

impl Ledger {
    pub(crate) fn new(packet_size: u64, initial_window: u32, control: Control, journal: bool) -> Self {
        Self {
            packet_size,
            initial_window,
            control,
            connected: false,
            flight: Flight::default(),
            rtt: RttEstimator::new(),
            detector: DelayedAckDetector::default(),
            meter: FlowMeter::new(),
            counters: SenderCounters::default(),
            samples: 0,
            journal: journal.then(Vec::new),
            batch: Batch::default(),
            losses: Losses::default(),
            unreported: 0,
            marked: false,
            round_mark: 0,
            last_sent: Time::ZERO,
            latest: Time::ZERO,
            recovery_start: None,
            in_recovery: false,
        }
    }

    /// The handshake is over at `now`, which took `rtt`.
    pub(crate) fn connect(&mut self, now: Time, rtt: Span) {
        self.connected = true;
        self.last_sent = now;
        self.observe(now, rtt);
        self.notify(now, |controller, cx| {
            controller.on_start(cx);
            controller.on_handshake(cx, rtt);
        });
    }

    fn observe(&mut self, now: Time, rtt: Span) {
        self.rtt.sample(rtt);
        self.rtt.observe(rtt, now, Span::ZERO);
        self.meter.rtt(rtt);
        self.samples += 1;
    }

    /// The smallest RTT so far, or zero before the first.
    fn shortest(&self) -> Span {
        if self.samples == 0 { Span::ZERO } else { self.rtt.minimum }
    }

    /// Lets a controller of this project handle an event.
    fn notify(&mut self, now: Time, event: impl FnOnce(&mut dyn Controller, &mut Context<'_>)) {
        let Control::Ackclock(driver, rate) = &mut self.control else { return };
        let moment = Moment {
            now,
            segment_size: Bytes::new(self.packet_size),
            initial_window: f64::from(self.initial_window),
            departure: now,
            ..Moment::EMPTY
        };
        *rate = driver.notify(&moment, self.rtt.smoothed, || false, event).rate;
    }

    fn note(&mut self, event: Event) {
        self.journal.iter_mut().for_each(|journal| journal.push(event));
    }

    /// Packets in flight.
    pub(crate) fn in_flight(&self) -> u32 {
        self.flight.in_flight()
    }

    /// The number of the last packet that left.
    pub(crate) fn last_number(&self) -> u64 {
        self.flight.next().saturating_sub(1)
    }

    /// The window in bytes.
    pub(crate) fn window(&self) -> u64 {
        match &self.control {
            Control::Stack(decisions) => decisions.window,
            Control::Ackclock(..) if !self.connected => u64::from(self.initial_window) * self.packet_size,
            Control::Ackclock(driver, _) => u64::from(driver.window()) * self.packet_size,
        }
    }

    /// The window and the slow-start threshold in packets.
    pub(crate) fn decided(&self) -> (f64, f64) {
        let packets = |bytes: u64| bytes as f64 / self.packet_size as f64;
        match &self.control {
            Control::Stack(decisions) => {
                (packets(decisions.window), known(decisions.threshold).map_or(f64::INFINITY, packets))
            }
            Control::Ackclock(driver, _) => driver.decided(),
        }
    }

    /// Checks the decisions of a controller of this project by the law for them.
    pub(crate) fn check_decisions(&self) -> Result<(), Breach> {
        match &self.control {
            Control::Ackclock(driver, _) => law::check(driver.controller()),
            Control::Stack(_) => Ok(()),
        }
    }

    /// The rate of departures, where the controller sets one.
    pub(crate) fn pacing_rate(&self) -> Option<Rate> {
        match &self.control {
            Control::Stack(decisions) => known(decisions.pacing_rate).map(|bytes| in_bits(bytes as f64)),
            Control::Ackclock(_, rate) => *rate,
        }
    }

    /// All decisions of a controller of this project.
    fn decisions(&self) -> Decisions {
        let (driver, rate) = match &self.control {
            Control::Stack(decisions) => return *decisions,
            Control::Ackclock(driver, rate) => (driver, rate),
        };
        let (_, threshold) = driver.decided();
        let quantum = u64::from(driver.controller().send_quantum().max(1));
        Decisions {
            window: self.window(),
            threshold: if threshold.is_finite() { (threshold * self.packet_size as f64) as u64 } else { NONE },
            pacing_rate: rate.map_or(NONE, |rate| rate.bits_per_second() / 8),
            quantum: rate.map_or(NONE, |_| quantum * self.packet_size),
            bandwidth: NONE,
        }
    }

    /// Shows internal values of the controller.
    pub(crate) fn probe(&self, out: &mut dyn Probe) {
        match &self.control {
            Control::Ackclock(driver, _) => driver.controller().probe(out),
            Control::Stack(decisions) => {
                if let Some(bits) = known(decisions.bandwidth) {
                    out.value("bandwidth_estimate_bps", bits as f64);
                }
            }
        }
    }

    /// Parameters of the controller change.
    pub(crate) fn set_parameters(&mut self, now: Time, given: &Parameters) -> Result<(), ParameterError> {
        let mut result = Ok(());
        self.notify(now, |controller, _| result = controller.set_parameters(given));
        result
    }

    /// When a controller of this project wants to be woken, or [`Time::NEVER`] if not.
    pub(crate) fn wake_at(&self) -> Time {
        match &self.control {
            Control::Ackclock(driver, _) => driver.wake_at(),
            Control::Stack(_) => Time::NEVER,
        }
    }

    /// Wakes the controller if it is time.
    pub(crate) fn wake(&mut self, now: Time) {
        if let Control::Ackclock(driver, _) = &mut self.control
            && driver.take_wake(now)
        {
            self.notify(now, |controller, cx| controller.on_timer(cx));
        }
    }

    fn packet_sent(&mut self, now: Time, packet_number: u64, size: u16) {
        if !self.connected {
            return;
        }
        let (begins, wants) = match &self.control {
            Control::Ackclock(driver, _) => (self.flight.in_flight() == 0, Some(*driver.wants())),
            Control::Stack(_) => (false, None),
        };
        let limited = self.flight.is_application_limited();
        if begins && wants.is_some_and(|wants| wants.transmit_start) {
            let start = TransmitStart { idle: now.since(self.last_sent), application_limited: limited };
            self.notify(now, |controller, cx| controller.on_transmit_start(cx, &start));
        }
        (self.last_sent, self.latest) = (now, now);
        if !self.flight.push(now, packet_number, size) {
            return;
        }
        self.counters.data_packets += 1;
        if wants.is_some_and(|wants| wants.sent) {
            let sent = Transmission {
                sequence: self.last_number(),
                retransmission: false,
                in_flight: self.flight.in_flight(),
                application_limited: limited,
            };
            self.notify(now, |controller, cx| controller.on_sent(cx, &sent));
        }
    }

    fn packet_acknowledged(&mut self, now: Time, at: Time, packet_number: u64) {
        self.latest = now;
        if self.batch.count == 0 {
            self.batch.in_flight_before = self.flight.in_flight();
        }
        let Some(sent) = self.flight.acknowledge(packet_number, at) else { return };
        self.batch.count += 1;
        self.batch.newest = Some(sent);
        if let Control::Ackclock(driver, _) = &self.control
            && driver.wants().segments == Reports::All
        {
            let report = self.flight.report(&sent, Some(now.since(at)));
            self.notify(now, |controller, cx| controller.on_segment_delivered(cx, &report));
        }
    }

    /// All packets of an acknowledgement were reported.
    fn acknowledgement_ends(&mut self, now: Time, application_limited: bool) {
        let Batch { newest, count, in_flight_before } = std::mem::take(&mut self.batch);
        let Some(newest) = newest else { return };
        let (mut rate, is_newest) = self.flight.deliver(now, &newest, count, self.shortest());
        if application_limited {
            self.flight.application_limits();
        }
        let delayed = self.detector.may_be_delayed(count);
        let sample = is_newest.then(|| now.since(newest.at));
        if let Some(rtt) = sample {
            self.observe(now, rtt);
        }
        if self.in_recovery && self.recovery_start.is_none_or(|start| newest.at > start) {
            self.in_recovery = false;
            self.note(Event::Recovered);
            self.notify(now, |controller, cx| controller.on_recovered(cx));
        }
        let Control::Ackclock(driver, _) = &self.control else { return };
        let held = self.in_recovery && driver.is_held_in_recovery();
        if let Some(rate) = rate.as_mut().filter(|_| driver.wants().segments.any()) {
            rate.sent = Some(self.flight.state(&newest));
        }
        let round_start = newest.sequence >= self.round_mark;
        if round_start {
            self.round_mark = self.flight.next();
        }
        let (delivered, lost) = self.flight.totals();
        let ack = Ack {
            rtt: sample.map(|value| RttSample { value, delayed }),
            smoothed_rtt: self.rtt.smoothed,
            min_rtt: self.rtt.minimum,
            newly_acknowledged: count,
            newly_delivered: count,
            newly_lost: std::mem::take(&mut self.unreported),
            delivered,
            lost,
            in_flight_before,
            in_flight: self.flight.in_flight(),
            rate,
            round_start,
            ecn_echo: std::mem::take(&mut self.marked),
            application_limited: self.flight.is_application_limited(),
            window_limited: !application_limited,
            acknowledged_to: self.flight.first(),
            sent_to: self.flight.next(),
            ..Ack::EMPTY
        };
        self.notify(now, |controller, cx| match held {
            true => controller.on_duplicate_ack(cx, &ack),
            false => controller.on_ack(cx, &ack),
        });
    }

    fn packet_lost(&mut self, now: Time, packet_number: u64, size: u16) {
        self.latest = now;
        if self.losses.count == 0 {
            self.losses.in_flight_before = self.flight.in_flight();
        }
        let Some(sent) = self.flight.lose(packet_number, size) else { return };
        self.counters.lost_packets += 1;
        // The data of a lost packet leave again in another one.
        self.counters.retransmitted_packets += 1;
        self.unreported += 1;
        self.losses.count += 1;
        self.losses.oldest.get_or_insert(sent);
        if let Control::Ackclock(driver, _) = &self.control
            && driver.wants().segments.any()
        {
            let report = self.flight.report(&sent, None);
            self.notify(now, |controller, cx| controller.on_segment_lost(cx, &report));
        }
    }

    /// Packets were lost, the last of which left at `sent`, or one of them was marked.
    fn congestion(&mut self, now: Time, sent: Time, persistent: bool, marked: bool) {
        let Losses { oldest, count, in_flight_before } = std::mem::take(&mut self.losses);
        let (latest, (window, _)) = (self.rtt.latest, self.decided());
        if let Some(first) = &oldest {
            self.note(Event::DeemedLost { sequence: first.sequence, count, rtt: latest });
        }
        self.marked |= marked;
        let known = self.recovery_start.is_some_and(|start| sent <= start) || (oldest.is_none() && !marked);
        if known {
            return;
        }
        let again = std::mem::replace(&mut self.in_recovery, true);
        self.recovery_start = Some(now);
        // A lost packet is outstanding until its loss is reported (FlightSize, RFC 5681).
        let outstanding = self.flight.first();
        let acknowledged_to = oldest.map_or(outstanding, |first| first.sequence.min(outstanding));
        let sent_to = self.flight.next();
        if marked {
            return self.on_mark(
                now,
                window,
                Marks { in_flight: self.flight.in_flight(), acknowledged_to, sent_to, at: now },
            );
        }
        let loss = Loss {
            in_flight: in_flight_before,
            newly_lost: std::mem::take(&mut self.unreported),
            again: persistent && again,
            acknowledged_to,
            sent_to,
            sent_at: oldest.map_or(sent, |first| first.at),
        };
        if persistent {
            self.counters.timeouts += 1;
            self.note(Event::Timeout { window });
            self.notify(now, |controller, cx| controller.on_timeout(cx, &loss));
        } else {
            self.counters.recoveries += 1;
            self.note(Event::LossEvent { window });
            self.notify(now, |controller, cx| controller.on_loss(cx, &loss));
        }
    }

    fn on_mark(&mut self, now: Time, window: f64, marks: Marks) {
        self.note(Event::CongestionEcho { window });
        if let Control::Ackclock(driver, _) = &self.control
            && !driver.wants().governs_marks
        {
            self.notify(now, |controller, cx| controller.on_ecn(cx, &marks));
        }
    }

    fn spurious(&mut self) {
        self.counters.spurious += 1;
        self.in_recovery = false;
        self.note(Event::Spurious);
        self.notify(self.latest, |controller, cx| controller.on_spurious(cx));
    }
}

fn in_bits(bytes: f64) -> Rate {
    Rate::from_bits_per_second((bytes * 8.0) as u64)
}

/// The ledger of a connection, shared by the stack, which fills it, and the engine, which reads it.
#[derive(Clone)]
pub(crate) struct SharedLedger(Arc<Mutex<Ledger>>);

impl SharedLedger {
    pub(crate) fn new(ledger: Ledger) -> Self {
        Self(Arc::new(Mutex::new(ledger)))
    }

    /// The ledger; a run is on one thread, so none waits for it.
    pub(crate) fn lock(&self) -> MutexGuard<'_, Ledger> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for SharedLedger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SharedLedger")
    }
}
