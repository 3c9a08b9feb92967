//! The sending half of a TCP connection: what leaves, and when.
//!
//! How acknowledgements are digested is in `acknowledge.rs`, what a loss or a mark leads to in `recovery.rs`, timers in `timers.rs`.

mod acknowledge;
#[cfg(test)]
mod property;
mod recovery;
mod timers;

use std::sync::Arc;

use control::{Context, Controller};
use units::{Bytes, Random, Rate, Span, Time};

use self::timers::Timers;
use crate::Options;
use crate::application::Application;
use crate::journal::{Event, Journal};
use crate::segment::Data;
use crate::tcp::prr::Episode;
use crate::tcp::reordering::Reordering;
use crate::tcp::rtt::{DelayedAckDetector, RttEstimator};
use crate::tcp::scoreboard::{Scoreboard, Stamp};

/// What the sender is going through; the states of Linux (RFC 6675 and RFC 3168 know the same without names).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Nothing unusual.
    Open,
    /// Duplicate ACKs or SACK blocks, but no loss yet.
    Disorder,
    /// The window comes down after an ECN echo.
    Reduced,
    /// Fast recovery.
    Recovery,
    /// Repairing after a retransmission timeout; without fast recovery after any loss.
    Loss,
}

impl Phase {
    /// Whether a reduction is under way, during which windows do not grow.
    fn is_reducing(self) -> bool {
        matches!(self, Self::Reduced | Self::Recovery)
    }
}

/// Counters of a sender since its start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SenderCounters {
    /// Data segments sent, retransmissions included.
    pub sent: u64,
    /// Of these, retransmissions.
    pub retransmitted: u64,
    /// Segments deemed lost.
    pub lost: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Fast recoveries entered; without fast recovery, fast retransmits.
    pub recoveries: u64,
    /// Reductions found spurious and undone.
    pub spurious: u64,
}

/// What is needed to find out that a reduction was spurious, and to undo it.
#[derive(Clone, Copy, Debug)]
struct Undo {
    /// The cumulative point when loss was detected.
    from: u64,
    /// Retransmissions not yet reported as duplicates.
    retransmissions: u32,
    /// When the first of them left.
    first_at: Option<Time>,
}

impl Undo {
    fn from(first: u64) -> Self {
        Self { from: first, retransmissions: 0, first_at: None }
    }
}

/// A tail loss probe in flight (RFC 8985, section 7).
#[derive(Clone, Copy, Debug)]
struct TailProbe {
    /// Its fate is known once everything below is acknowledged.
    end: u64,
    /// The segment that it sent again, if it did not carry new data.
    repeated: Option<u64>,
}

/// Why nothing more is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Blocked {
    Window,
    /// The receive window.
    Receiver,
    Pace,
    Application,
}

/// The sender of one connection.
pub struct Sender {
    options: Arc<Options>,
    controller: Box<dyn Controller>,
    random: Random,
    board: Scoreboard,
    rtt: RttEstimator,
    detector: DelayedAckDetector,
    timers: Timers,
    phase: Phase,
    episode: Option<Episode>,
    /// Recovery (or reduction) is over when everything below is acknowledged.
    recovery_point: u64,
    undo: Option<Undo>,
    /// Without fast recovery: the repair under way began with a loss event, of whose end the controller is told.
    goes_back: bool,
    probe: Option<TailProbe>,
    probe_pending: bool,
    reordering: Reordering,
    /// Duplicate ACKs in a row, without SACK.
    duplicates: u32,
    /// Without SACK, duplicate ACKs up to here may stem from retransmissions (`recover`, RFC 6582).
    recover: u64,
    /// The first new segment of the running round-trip interval.
    round_mark: u64,
    delivered: u64,
    delivered_at: Time,
    first_at: Time,
    /// The flow counts as application-limited until this many segments were delivered.
    application_limited_to: u64,
    blocked: Blocked,
    /// The most that was in flight in this round.
    most_in_flight: u32,
    peer_window: u64,
    /// After recovery: the flight may grow to the window only by slow start (RFC 6582, section 3.2, step 3).
    ramp: Option<u32>,
    counters: SenderCounters,
    /// Segments deemed lost of which the controller has not heard.
    untold_losses: u32,
    /// The timer is to be set once all that leaves now has left.
    timer_stale: bool,
    application: Application,
    /// Segments of an application that writes everything at the start.
    total: u64,
    window: u32,
    pacing_rate: Option<Rate>,
    pace_at: Time,
    last_sent_at: Option<Time>,
    announce_reduction: bool,
    wire_overhead: Bytes,
}

impl Sender {
    /// A sender that has not started. Connections with the same options may share them.
    pub fn new(
        options: impl Into<Arc<Options>>,
        controller: Box<dyn Controller>,
        application: Application,
        random: Random,
    ) -> Self {
        let mut options = options.into();
        if !options.sack && (options.rack || options.tail_loss_probe) {
            // Both go by SACK (RFC 8985, sections 6.1 and 7.2).
            let options = Arc::make_mut(&mut options);
            options.rack = false;
            options.tail_loss_probe = false;
        }
        let total = match application {
            Application::Finite(bytes) => bytes.get().div_ceil(options.segment_size.get()),
            Application::Greedy | Application::Paced(_) => u64::MAX,
        };
        Self {
            reordering: Reordering::new(options.duplicate_threshold, options.forward_acknowledgment),
            total,
            peer_window: u64::from(options.receive_window),
            wire_overhead: options.data_overhead(),
            options,
            controller,
            random,
            board: Scoreboard::default(),
            rtt: RttEstimator::new(),
            detector: DelayedAckDetector::default(),
            timers: Timers::default(),
            phase: Phase::Open,
            episode: None,
            recovery_point: 0,
            undo: None,
            goes_back: false,
            probe: None,
            probe_pending: false,
            duplicates: 0,
            recover: 0,
            round_mark: 0,
            delivered: 0,
            delivered_at: Time::ZERO,
            first_at: Time::ZERO,
            application_limited_to: 0,
            blocked: Blocked::Application,
            most_in_flight: 0,
            ramp: None,
            counters: SenderCounters::default(),
            untold_losses: 0,
            timer_stale: false,
            application,
            window: 1,
            pacing_rate: None,
            pace_at: Time::ZERO,
            last_sent_at: None,
            announce_reduction: false,
        }
    }

    /// Opens the connection: from now on [`poll_transmit`](Self::poll_transmit) yields segments. (The handshake is not modelled: data
    /// leaves at once.)
    pub fn start(&mut self, now: Time) {
        self.delivered_at = now;
        self.first_at = now;
        if let Application::Paced(pace) = &mut self.application {
            pace.start(now);
        }
        self.tell(now, |controller, cx| controller.on_start(cx));
    }

    /// Segments that the application has written by `now`.
    fn written(&mut self, now: Time, enough: u64) -> u64 {
        match &mut self.application {
            Application::Greedy | Application::Finite(_) => self.total,
            Application::Paced(pace) => pace.written(now, enough),
        }
    }

    /// The next instant at which the application writes.
    fn next_write(&self) -> Option<Time> {
        match &self.application {
            Application::Paced(pace) => pace.next_write(),
            Application::Greedy | Application::Finite(_) => None,
        }
    }

    /// Application bytes in segment `sequence`.
    fn payload(&self, sequence: u64) -> u32 {
        let full = self.options.segment_size.get();
        let bytes = match &self.application {
            Application::Greedy => None,
            Application::Finite(bytes) => Some(*bytes),
            Application::Paced(pace) => pace.bytes(),
        };
        bytes.map_or(full, |all| all.get().saturating_sub(sequence * full).min(full)) as u32
    }

    /// Size on the wire (IP) of a segment with `payload` bytes.
    pub fn wire_size(&self, payload: u32) -> Bytes {
        self.wire_overhead + Bytes::new(u64::from(payload))
    }

    /// Lets the controller handle an event, then reads what it decided.
    fn tell(&mut self, now: Time, event: impl FnOnce(&mut dyn Controller, &mut Context<'_>)) {
        let mut cx = Context {
            now,
            segment_size: self.options.segment_size,
            initial_window: f64::from(self.options.initial_window),
            random: &mut self.random,
        };
        event(self.controller.as_mut(), &mut cx);
        self.window = (self.controller.window() as u32).max(1);
        self.pacing_rate = self.controller.pacing_rate();
    }

    /// Segments that may be in flight now.
    fn limit(&self) -> u32 {
        match (&self.episode, self.ramp) {
            (Some(episode), _) => episode.limit(),
            (None, Some(ramp)) => ramp.min(self.window),
            (None, None) => self.window,
        }
    }

    /// The next segment that leaves now, if one does. Call until it answers `None`: only then is the timer set.
    pub fn poll_transmit(&mut self, now: Time, journal: &mut dyn Journal) -> Option<Data> {
        let data = if std::mem::take(&mut self.probe_pending) {
            self.send_probe(now, journal)
        } else {
            self.next_segment(now, journal)
        };
        if data.is_none() && std::mem::take(&mut self.timer_stale) {
            self.arm(now);
        }
        data
    }

    fn next_segment(&mut self, now: Time, journal: &mut dyn Journal) -> Option<Data> {
        let in_flight = self.board.in_flight();
        if in_flight >= self.limit() {
            self.blocked = Blocked::Window;
            return None;
        }
        let lost = self.board.next_lost();
        if lost.is_none()
            && let Some(reason) = self.withholds_new(now, in_flight)
        {
            self.blocked = reason;
            return None;
        }
        if self.pace_at > now {
            self.blocked = Blocked::Pace;
            return None;
        }
        Some(match lost {
            Some(sequence) => self.retransmit(now, sequence, journal),
            None => self.send_new(now),
        })
    }

    /// Why no new segment leaves although the window has room, if none does.
    fn withholds_new(&mut self, now: Time, in_flight: u32) -> Option<Blocked> {
        let next = self.board.next();
        if next >= self.board.first().saturating_add(self.peer_window) {
            return Some(Blocked::Receiver);
        }
        if self.phase == Phase::Disorder && !self.options.limited_transmit && self.board.outstanding() >= self.window {
            return Some(Blocked::Window);
        }
        if next >= self.written(now, next) {
            // What is sent next, with this flight or none before it, does not show what the path can carry.
            self.application_limited_to = self.delivered + u64::from(in_flight) + 1;
            return Some(Blocked::Application);
        }
        None
    }

    fn stamp(&self) -> Stamp {
        Stamp {
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            first_at: self.first_at,
            application_limited: self.delivered < self.application_limited_to,
        }
    }

    fn send_new(&mut self, now: Time) -> Data {
        if self.board.outstanding() == 0 {
            let idle = self.last_sent_at.map_or(Span::ZERO, |at| now.since(at));
            if self.options.slow_start_restart && idle > self.rtt.timeout(&self.options) {
                self.tell(now, |controller, cx| controller.on_idle_restart(cx));
            }
            self.first_at = now;
            self.delivered_at = now;
        }
        let sequence = self.board.next();
        self.board.push(now, self.stamp());
        self.most_in_flight = self.most_in_flight.max(self.board.in_flight());
        // RFC 6298, 5.1; a probe timer restarts with every new segment (RFC 8985, section 7.2).
        self.timer_stale |= !self.timers.awaits_timeout();
        let reduced = std::mem::take(&mut self.announce_reduction);
        self.leave(now, sequence, false, reduced)
    }

    fn retransmit(&mut self, now: Time, sequence: u64, journal: &mut dyn Journal) -> Data {
        self.counters.retransmitted += 1;
        self.board.resend(sequence, now, self.stamp(), self.tracks_retransmissions());
        if let Some(undo) = &mut self.undo {
            undo.retransmissions += 1;
            undo.first_at.get_or_insert(now);
        }
        // The oldest segment gets its full time again, as in BSD and Linux: RFC 6298 leaves it open.
        self.timer_stale |= sequence == self.board.first();
        journal.note(Event::Retransmission { sequence });
        self.leave(now, sequence, true, false)
    }

    /// Whether the loss of a retransmission is found before the timer expires.
    fn tracks_retransmissions(&self) -> bool {
        self.options.rack || self.reordering.forward
    }

    /// A tail loss probe: a new segment if there is one, else the last one again (RFC 8985, section 7.3).
    fn send_probe(&mut self, now: Time, journal: &mut dyn Journal) -> Option<Data> {
        let next = self.board.next();
        let new = next < self.written(now, next) && next < self.board.first().saturating_add(self.peer_window);
        let repeated = if new { None } else { Some(self.board.last_unsacked()?) };
        journal.note(Event::TailLossProbe { sequence: repeated.unwrap_or(next) });
        let data = if let Some(sequence) = repeated {
            self.counters.retransmitted += 1;
            self.board.resend(sequence, now, self.stamp(), self.tracks_retransmissions());
            self.leave(now, sequence, true, false)
        } else {
            self.send_new(now)
        };
        self.probe = Some(TailProbe { end: self.board.next(), repeated });
        Some(data)
    }

    /// What every transmission has in common.
    #[inline]
    fn leave(&mut self, now: Time, sequence: u64, retransmission: bool, reduced: bool) -> Data {
        let payload = self.payload(sequence);
        self.counters.sent += 1;
        if let Some(episode) = &mut self.episode {
            episode.on_sent();
        }
        if let Some(rate) = self.pacing_rate {
            self.pace_at = self.pace_at.max(now) + rate.time_for(self.wire_size(payload));
        }
        self.last_sent_at = Some(now);
        Data { sequence, timestamp: now, payload, retransmission, reduced }
    }

    /// When to call [`on_timeout`](Self::on_timeout), at the latest. Valid once nothing more leaves.
    pub fn poll_timeout(&self) -> Option<Time> {
        let next = match self.blocked {
            Blocked::Application => self.timers.next().min(self.next_write().unwrap_or(Time::NEVER)),
            Blocked::Pace => self.timers.next().min(self.pace_at),
            Blocked::Window | Blocked::Receiver => self.timers.next(),
        };
        (next != Time::NEVER).then_some(next)
    }

    /// The controller, for its window, threshold and probes.
    pub fn controller(&self) -> &dyn Controller {
        self.controller.as_ref()
    }

    /// What the sender is going through.
    pub fn phase(&self) -> Phase {
        self.phase
    }

    /// Counters since the start.
    pub fn counters(&self) -> SenderCounters {
        self.counters
    }

    /// Segments in flight (pipe).
    pub fn in_flight(&self) -> u32 {
        self.board.in_flight()
    }

    /// Everything below this number is acknowledged.
    pub fn acknowledged(&self) -> u64 {
        self.board.first()
    }

    /// The latest, the smoothed and the smallest RTT, once there is a sample.
    pub fn round_trip_times(&self) -> Option<[Span; 3]> {
        (self.rtt.minimum != Span::MAX).then_some([self.rtt.latest, self.rtt.smoothed, self.rtt.minimum])
    }
}
