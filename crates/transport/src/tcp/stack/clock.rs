//! The clocks of a host by which RTTs are measured.

use units::{Span, Time};

use super::Stack;

/// How RTTs are measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clock {
    /// The clock on which RTT samples are taken. 0 is exact, and controllers that want exact samples get them.
    pub tick: Span,
    /// The clock of the timestamp option, on which SIAD counts RTTs also without that.
    pub timestamp_tick: Span,
    /// Where an ACK covers retransmissions alone, its timestamp gives an RTT. It is for the timeout, and for
    /// controllers and the smallest RTT as well if this is true.
    pub timestamps_for_controllers: bool,
    /// Over how long the smallest RTT is taken. Zero is the whole connection.
    pub min_rtt_window: Span,
    /// What both clocks showed at the start of the run, which is a matter of the host.
    pub at_start: Span,
}

impl Clock {
    /// The time between two readings of a clock with `tick`.
    pub(crate) fn between(&self, sent: Time, now: Time, tick: Span) -> Span {
        (now + self.at_start).floor_to(tick).since((sent + self.at_start).floor_to(tick))
    }

    /// The clock of the timestamp option at `at`.
    pub(crate) fn timestamp(&self, at: Time) -> Time {
        (at + self.at_start).floor_to(self.timestamp_tick)
    }
}

impl Stack {
    /// True if a clock of its host ticks, for timers or for RTTs.
    pub fn has_ticks(&self) -> bool {
        !self.timers.tick.is_zero() || !self.clock.tick.is_zero()
    }

    /// The same on a host whose clocks showed `at_start` at the start of the run.
    #[must_use]
    pub fn on_host(&self, at_start: Span) -> Self {
        Self { clock: Clock { at_start, ..self.clock }, ..self.clone() }
    }
}
