//! The clock of a run as noq reads it: instants that count from one that was taken at the start.

use std::time::{Duration, Instant};

/// Translates between nanoseconds of a run and the instants of the standard library.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock(Instant);

impl Clock {
    /// A clock whose run begins now.
    #[expect(clippy::disallowed_methods, reason = "there is no other way to an instant; only differences count")]
    pub(crate) fn new() -> Self {
        Self(Instant::now())
    }

    /// The instant of `time`.
    pub(crate) fn instant(self, time: u64) -> Instant {
        self.0 + Duration::from_nanos(time)
    }

    /// The time of `instant`.
    pub(crate) fn time(self, instant: Instant) -> u64 {
        u64::try_from(instant.saturating_duration_since(self.0).as_nanos()).unwrap_or(u64::MAX)
    }
}
