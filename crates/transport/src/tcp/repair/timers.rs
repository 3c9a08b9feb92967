//! The deadlines of a sender: retransmission timer or tail loss probe, and the reordering timer of RACK.

use units::{Span, Time};

use crate::tcp::ticks::Ticks;

/// Action of the retransmission timer when it expires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Retransmission,
    TailLossProbe,
}

/// Why the timer is to be set anew, once all that leaves now has left.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Causes {
    /// An ACK advanced the cumulative point.
    pub(super) advance: bool,
    /// A new segment left.
    pub(super) new: bool,
    /// The timer expired, or the oldest segment left again: it gets its full time.
    pub(super) restart: bool,
}

/// The deadlines of a sender; [`Time::NEVER`] where a timer does not run.
///
/// Nearly every ACK sets the timer, which hardly ever expires: at which tick it does is found out when it is due.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timers {
    at: Time,
    /// When that was set.
    set_at: Time,
    /// When the oldest suspect is lost unless an ACK for it arrives (RACK).
    reordering_at: Time,
    kind: Kind,
    /// `at` is the tick at which the timer expires, no longer when it is due.
    on_tick: bool,
    /// The timer of a tail loss probe has expired: it leaves next.
    probe_next: bool,
    stale: Causes,
}

impl Default for Timers {
    fn default() -> Self {
        Self {
            at: Time::NEVER,
            set_at: Time::NEVER,
            reordering_at: Time::NEVER,
            kind: Kind::Retransmission,
            on_tick: false,
            probe_next: false,
            stale: Causes::default(),
        }
    }
}

impl Timers {
    /// The next deadline.
    pub(super) fn next(&self) -> Time {
        self.at.min(self.reordering_at)
    }

    /// An ACK arrived, which `advanced` the cumulative point or not.
    pub(super) fn on_ack(&mut self, advanced: bool) {
        self.stale.advance |= advanced;
    }

    /// A new segment leaves.
    pub(super) fn on_new(&mut self) {
        self.stale.new = true;
    }

    /// The timer starts anew if `changed`.
    pub(super) fn restart(&mut self, changed: bool) {
        self.stale.restart |= changed;
    }

    /// Why the timer is to be set now, which the caller then does; `None` if it is not.
    pub(super) fn take_stale(&mut self) -> Option<Causes> {
        let causes = std::mem::take(&mut self.stale);
        (causes != Causes::default()).then_some(causes)
    }

    /// The probe, set at `now`, is due at `at`.
    pub(super) fn set_probe(&mut self, now: Time, at: Time) {
        (self.at, self.set_at, self.kind, self.on_tick) = (at, now, Kind::TailLossProbe, false);
    }

    /// The retransmission timer, set at `now`, is due at `at`, whatever called for setting it.
    pub(super) fn set_timeout(&mut self, now: Time, at: Time) {
        let (kind, stale) = (Kind::Retransmission, Causes::default());
        *self = Self { at, set_at: now, kind, on_tick: false, stale, ..*self };
    }

    /// No probe may leave: sets the retransmission timer. It gets its full time from `now` on, but after a probe
    /// timer it is that of the oldest segment (RFC 6298, 5.1: new data do not restart it), due at `oldest`.
    pub(super) fn set_without_probe(
        &mut self,
        causes: Causes,
        now: Time,
        timeout: Span,
        oldest: impl FnOnce() -> Time,
    ) {
        let probing = self.at != Time::NEVER && self.kind == Kind::TailLossProbe;
        if causes.restart || self.at == Time::NEVER || (causes.advance && !probing) {
            self.set_timeout(now, now + timeout);
        } else if probing {
            self.set_timeout(now, oldest().max(now));
        }
    }

    /// A tail loss probe is to leave next.
    pub(super) fn probe_next(&mut self) {
        self.probe_next = true;
    }

    /// True if a probe is to leave next, which the caller then sends.
    #[inline]
    pub(super) fn take_probe(&mut self) -> bool {
        std::mem::take(&mut self.probe_next)
    }

    #[cfg(test)]
    pub(super) fn is_probe_next(&self) -> bool {
        self.probe_next
    }

    /// Nothing is outstanding.
    pub(super) fn disarm(&mut self) {
        *self = Self { stale: self.stale, probe_next: self.probe_next, ..Self::default() };
    }

    /// When RACK deems the next segment lost, if there is a suspect.
    pub(super) fn set_reordering(&mut self, at: Option<Time>) {
        self.reordering_at = at.unwrap_or(Time::NEVER);
    }

    /// True if the reordering timer has expired; if so it stops.
    pub(super) fn take_reordering(&mut self, now: Time) -> bool {
        let due = self.reordering_at <= now;
        if due {
            self.reordering_at = Time::NEVER;
        }
        due
    }

    /// Action of the other timer, if it has expired. It is to be set anew afterwards; that of a probe stops
    /// until the probe has left. A timer that is due waits for its tick.
    pub(super) fn take_expired(&mut self, now: Time, ticks: Ticks) -> Option<Kind> {
        if self.at <= now && !self.on_tick {
            self.at = ticks.expiry(self.set_at, self.at.since(self.set_at));
            self.on_tick = true;
        }
        if self.at > now {
            return None;
        }
        self.stale.restart = true;
        if self.kind == Kind::TailLossProbe {
            self.at = Time::NEVER;
        }
        Some(self.kind)
    }
}
