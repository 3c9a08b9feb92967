//! How long a connection had unacknowledged data, and how long the receive window held it back (in Linux `tcp_chrono`).

use units::{Span, Time};

/// The clocks of a connection.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Limits {
    busy: Clock,
    held_back: Clock,
}

impl Limits {
    /// From `now` on there are data that are not acknowledged, or not, and the receive window holds them back, or not.
    pub(crate) fn note(&mut self, now: Time, busy: bool, held_back: bool) {
        self.busy.set(now, busy);
        self.held_back.set(now, held_back);
    }

    /// How long each was so by `now`.
    pub(crate) fn by(&self, now: Time) -> (Span, Span) {
        (self.busy.by(now), self.held_back.by(now))
    }
}

/// How long something was so.
#[derive(Clone, Copy, Debug, Default)]
struct Clock {
    before: Span,
    since: Option<Time>,
}

impl Clock {
    fn set(&mut self, now: Time, on: bool) {
        if on != self.since.is_some() {
            *self = Self { before: self.by(now), since: on.then_some(now) };
        }
    }

    fn by(&self, now: Time) -> Span {
        self.before + self.since.map_or(Span::ZERO, |since| now.since(since))
    }
}
