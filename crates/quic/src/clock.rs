//! The virtual clock as noq reads it: instants that count from one that was taken at the start.

use std::time::{Duration, Instant};

use units::{Span, Time};

/// Translates between the time of a run and the instants of the standard library.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock(Instant);

impl Clock {
    /// A clock whose run begins now.
    #[expect(clippy::disallowed_methods, reason = "there is no other way to an instant; only differences count")]
    pub(crate) fn new() -> Self {
        Self(Instant::now())
    }

    /// The instant of `time`.
    pub(crate) fn instant(self, time: Time) -> Instant {
        self.0 + Duration::from_nanos(time.as_nanos())
    }

    /// The time of `instant`.
    pub(crate) fn time(self, instant: Instant) -> Time {
        Time::ZERO + span(instant.saturating_duration_since(self.0))
    }
}

/// `duration` in the units of a run, at most [`Span::MAX`].
pub(crate) fn span(duration: Duration) -> Span {
    Span::from_nanos(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX))
}
