//! The settings of the endpoints of a run.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use engine::{Job, Watch};
use scenario::{DrawnFlow, Plan};
use units::{Span, Time};

use crate::emulator::{Clock, PRIORITY, SharedCounters};
use crate::host::system;
use crate::testbed::SETTLING;

/// The plan of the endpoints, and the state that they share with other threads.
#[derive(Clone, Copy)]
pub(crate) struct Settings<'a> {
    pub(crate) clock: Clock,
    pub(crate) plan: &'a Plan,
    pub(crate) drawn: &'a [DrawnFlow],
    pub(crate) seed: u64,
    /// The run begins at this instant of the clock.
    pub(crate) lead: Span,
    pub(crate) shared: &'a [SharedCounters],
    /// Set when all threads are to end.
    pub(crate) halt: &'a AtomicBool,
    /// Set from outside to stop the run.
    pub(crate) stop: &'a AtomicBool,
    /// How far the run has come.
    pub(crate) elapsed: &'a AtomicU64,
}

impl<'a> Settings<'a> {
    /// The settings of `job`, whose flows are `drawn` and whose time comes from `clock`.
    pub(crate) fn of(
        job: &'a Job,
        watch: &'a Watch,
        drawn: &'a [DrawnFlow],
        clock: Clock,
        (shared, halt): (&'a [SharedCounters], &'a AtomicBool),
    ) -> Self {
        let Watch { stop, elapsed_nanos: elapsed, .. } = watch;
        Self { clock, plan: &job.plan, drawn, seed: job.seed, lead: SETTLING, shared, halt, stop, elapsed }
    }

    /// Begins a thread of endpoints. It runs before ordinary threads, and sleeps until the run begins. Returns how late
    /// it woke.
    pub(crate) fn begin(&self) -> Span {
        system::run_first(PRIORITY - 1);
        let begin = Time::ZERO + self.lead;
        while self.clock.now() < begin {
            system::sleep(begin.since(self.clock.now()));
        }
        self.clock.now().since(begin)
    }

    /// True if the run is to end. A thread reads it before the clock: another thread sets it when that is past the end,
    /// so a clock that is read after it does not show a time before the end.
    pub(crate) fn is_over(&self) -> bool {
        [self.halt, self.stop].iter().any(|flag| flag.load(Ordering::Acquire))
    }

    /// The time of the run at which the machine's monotonic clock showed `nanos`.
    pub(crate) fn run_time(&self, nanos: u64) -> Time {
        Time::ZERO + self.clock.at(nanos).since(Time::ZERO + self.lead)
    }
}
