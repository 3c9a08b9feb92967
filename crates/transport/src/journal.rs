//! Events that a sender reports, only rare ones.

use units::Span;

use crate::rtp::Stopped;

/// Something happened to a sender.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Event {
    /// Segments were deemed lost, the first of them `sequence`. `rtt` is the latest sample.
    DeemedLost {
        /// The first segment newly deemed lost.
        sequence: u64,
        /// How many.
        count: u32,
        /// The latest RTT sample.
        rtt: Span,
    },
    /// A segment leaves again.
    Retransmission {
        /// Its number.
        sequence: u64,
    },
    /// The controller was notified of a loss. `window` is the window before, in segments.
    LossEvent {
        /// Segments.
        window: f64,
    },
    /// Recovery is over.
    Recovered,
    /// The retransmission timer expired. `window` is the window before, in segments.
    Timeout {
        /// Segments.
        window: f64,
    },
    /// A tail loss probe leaves.
    TailLossProbe {
        /// The segment that probes.
        sequence: u64,
    },
    /// The last reduction was spurious and is undone.
    Spurious,
    /// The window was reduced on an ECN echo.
    CongestionEcho {
        /// The window before, in segments.
        window: f64,
    },
    /// A circuit breaker stops the flow for good.
    CircuitBreaker {
        /// The reason.
        condition: Stopped,
    },
}

/// Takes the events of a sender.
pub trait Journal {
    /// `event` happens now.
    fn note(&mut self, event: Event);
}

/// Forgets everything.
impl Journal for () {
    fn note(&mut self, _event: Event) {}
}

impl Journal for Vec<Event> {
    fn note(&mut self, event: Event) {
        self.push(event);
    }
}
