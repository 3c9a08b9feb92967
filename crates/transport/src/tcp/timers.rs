//! The deadlines of a sender: retransmission timer or tail loss probe, and the reordering timer of RACK.

use units::Time;

/// What the retransmission timer does when it expires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Retransmission,
    TailLossProbe,
}

/// The deadlines of a sender; [`Time::NEVER`] where a timer does not run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timers {
    at: Time,
    /// When the oldest suspect is lost unless an ACK for it arrives (RACK).
    reordering_at: Time,
    kind: Kind,
    /// The timer is to be set anew once all that leaves now has left.
    stale: bool,
}

impl Default for Timers {
    fn default() -> Self {
        Self { at: Time::NEVER, reordering_at: Time::NEVER, kind: Kind::Retransmission, stale: false }
    }
}

impl Timers {
    /// Whether the retransmission timer runs, rather than none or that of a probe.
    pub(super) fn awaits_timeout(&self) -> bool {
        self.at != Time::NEVER && self.kind == Kind::Retransmission
    }

    /// The next deadline.
    pub(super) fn next(&self) -> Time {
        self.at.min(self.reordering_at)
    }

    /// What happened calls for setting the timer anew.
    pub(super) fn outdate(&mut self, changed: bool) {
        self.stale |= changed;
    }

    /// Whether the timer is to be set now, which the caller then does.
    pub(super) fn take_stale(&mut self) -> bool {
        std::mem::take(&mut self.stale)
    }

    /// The timer expires at `at`, as `kind`.
    pub(super) fn set(&mut self, at: Time, kind: Kind) {
        (self.at, self.kind) = (at, kind);
    }

    /// Nothing is outstanding.
    pub(super) fn disarm(&mut self) {
        *self = Self { stale: self.stale, ..Self::default() };
    }

    /// When RACK deems the next segment lost, if there is a suspect.
    pub(super) fn set_reordering(&mut self, at: Option<Time>) {
        self.reordering_at = at.unwrap_or(Time::NEVER);
    }

    /// Whether the reordering timer has expired; if so it stops.
    pub(super) fn take_reordering(&mut self, now: Time) -> bool {
        let due = self.reordering_at <= now;
        if due {
            self.reordering_at = Time::NEVER;
        }
        due
    }

    /// What the other timer is to do, if it has expired. It is to be set anew afterwards; that of a probe stops
    /// until the probe has left.
    pub(super) fn take_expired(&mut self, now: Time) -> Option<Kind> {
        if self.at > now {
            return None;
        }
        self.stale = true;
        if self.kind == Kind::TailLossProbe {
            self.at = Time::NEVER;
        }
        Some(self.kind)
    }
}
