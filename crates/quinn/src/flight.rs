//! Packets in flight by the times at which they left: quinn tells its controllers times and bytes, and no numbers.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use stack::{Decisions, Report, Reports};

use crate::clock::Clock;

/// A packet that asks for an acknowledgement.
#[derive(Clone, Copy, Debug)]
struct Sent {
    /// The instant that quinn knows, which no other packet has.
    at: Instant,
    /// When it left.
    now: u64,
    number: u64,
    size: u16,
}

/// The packets of one connection that are neither acknowledged nor lost, from the oldest on, and where they are
/// reported.
pub(crate) struct Flight {
    reports: Box<dyn Reports>,
    clock: Clock,
    packets: VecDeque<Sent>,
    /// The last packet that left, and the bytes of its datagram.
    pub(crate) last: Option<(u64, u16)>,
    /// The last decisions of the controller.
    pub(crate) decisions: Decisions,
}

/// The same, shared by the controller and the side.
#[derive(Clone)]
pub(crate) struct SharedFlight(Arc<Mutex<Flight>>);

impl SharedFlight {
    pub(crate) fn new(reports: Box<dyn Reports>, clock: Clock) -> Self {
        let flight = Flight { reports, clock, packets: VecDeque::new(), last: None, decisions: Decisions::EMPTY };
        Self(Arc::new(Mutex::new(flight)))
    }

    /// A run is on one thread, so none waits for it.
    pub(crate) fn lock(&self) -> MutexGuard<'_, Flight> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Flight {
    pub(crate) fn report(&self, report: &Report) {
        self.reports.report(report, &self.decisions);
    }

    /// The packet in [`last`](Self::last) left at `now`, which is `at` for quinn, and asks for an acknowledgement.
    pub(crate) fn push(&mut self, now: u64, at: Instant) {
        let Some((number, size)) = self.last.take() else { return };
        self.packets.push_back(Sent { at, now, number, size });
        self.report(&Report::Sent { now, number, size });
    }

    /// The packet that left at `at` is acknowledged.
    pub(crate) fn acknowledge(&mut self, now: Instant, at: Instant) {
        let Some(index) = self.packets.iter().position(|sent| sent.at == at) else { return };
        if let Some(sent) = self.packets.remove(index) {
            self.report(&Report::Acknowledged { now: self.clock.time(now), sent: sent.now, number: sent.number });
        }
    }

    /// All packets of an acknowledgement were reported.
    pub(crate) fn end_acknowledgement(&self, now: Instant, application_limited: bool) {
        self.report(&Report::AcknowledgementEnds { now: self.clock.time(now), application_limited });
    }

    /// Packets with `bytes` in all are deemed lost, the last of which left at `last`: the oldest ones, as every
    /// threshold that passes a packet has passed those before it.
    pub(crate) fn lose(&mut self, now: Instant, last: Instant, bytes: u64) {
        let mut left = bytes;
        while let Some(sent) = self.packets.front().copied().filter(|sent| left > 0 && sent.at <= last) {
            self.packets.pop_front();
            left = left.saturating_sub(u64::from(sent.size));
            self.report(&Report::Lost { now: self.clock.time(now), number: sent.number, size: sent.size });
        }
    }

    /// The controller is about to be notified: packets were lost, the last of which left at `sent`, or one was marked.
    pub(crate) fn congestion(&self, now: Instant, sent: Instant, persistent: bool, marked: bool) {
        let at =
            self.packets.iter().find(|packet| packet.at == sent).map_or(self.clock.time(sent), |packet| packet.now);
        self.report(&Report::Congestion { now: self.clock.time(now), sent: at, persistent, marked });
    }
}
