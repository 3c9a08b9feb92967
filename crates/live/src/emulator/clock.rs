//! The clock of a run.

use units::{Span, Time};

use crate::host::system;

/// In virtual time runs begin at a multiple of this, and so all at one place between two ticks of the kernel.
const BEGIN: Span = Span::from_millis(100);

/// The clock of the path, which all threads of a run read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    opened: u64,
}

impl Clock {
    /// A clock that starts now.
    pub(crate) fn start() -> Self {
        Self { opened: system::monotonic() }
    }

    /// The clock of a run that begins now or soon.
    pub(crate) fn of_run() -> Self {
        system::reach_multiple_of(BEGIN);
        Self::start()
    }

    pub(crate) fn now(self) -> Time {
        self.at(system::monotonic())
    }

    /// Its reading when the monotonic clock of the machine showed `nanos`.
    pub(crate) fn at(self, nanos: u64) -> Time {
        Time::from_nanos(nanos.saturating_sub(self.opened))
    }

    /// The reading of the monotonic clock of the machine at `at`, since its start.
    pub(crate) fn machine(self, at: Time) -> Span {
        Span::from_nanos(self.opened) + at.since(Time::ZERO)
    }
}
