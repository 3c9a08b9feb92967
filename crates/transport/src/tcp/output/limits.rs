//! The time that each limit holds a flow back.
//!
//! Linux has such times in tcp_chrono. It counts an application without data for as busy while segments are
//! outstanding, and a full send buffer for none in a round trip in which the window was full once.

use units::{Span, Time};

use super::Blocked;

/// The times with each limit.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::tcp) struct Times {
    /// Data are outstanding or wait (TCP_CHRONO_BUSY and the others).
    pub(in crate::tcp) busy: Span,
    pub(in crate::tcp) application: Span,
    pub(in crate::tcp) receiver: Span,
    pub(in crate::tcp) send_buffer: Span,
}

/// The limits of a flow until the present one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// The present one began then. [`Time::NEVER`] before the connection opens.
    since: Time,
    times: Times,
}

impl Default for Limits {
    fn default() -> Self {
        Self { since: Time::NEVER, times: Times::default() }
    }
}

impl Limits {
    /// The connection opens.
    pub(super) fn open(&mut self, now: Time) {
        self.since = now;
    }

    /// The limit `ended` gives way to another.
    pub(super) fn turn(&mut self, now: Time, ended: Blocked) {
        *self = Self { since: now, times: self.until(now, ended) };
    }

    /// The times until `now`, when `limit` holds. Pacing and repairs count as the window.
    pub(super) fn until(&self, now: Time, limit: Blocked) -> Times {
        let mut times = self.times;
        let lasted = now.since(self.since);
        match limit {
            Blocked::Idle | Blocked::Application => times.application += lasted,
            Blocked::Window | Blocked::Pace => {}
            Blocked::Receiver => times.receiver += lasted,
            Blocked::SendBuffer => times.send_buffer += lasted,
        }
        if limit != Blocked::Idle {
            times.busy += lasted;
        }
        times
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_limit_has_its_time_from_the_opening_on() {
        let at = |ms| Time::ZERO + Span::from_millis(ms);
        let mut limits = Limits::default();
        assert!(limits.until(at(3), Blocked::Idle).application.is_zero());
        limits.open(at(5));
        let turns = [(10, Blocked::Idle), (15, Blocked::Window), (35, Blocked::Receiver), (75, Blocked::SendBuffer)];
        turns.into_iter().for_each(|(ms, ended)| limits.turn(at(ms), ended));
        let found = |limit| {
            let Times { busy, application, receiver, send_buffer } = limits.until(at(155), limit);
            [busy, application, receiver, send_buffer].map(|time| time.as_nanos() / 1_000_000)
        };
        assert_eq!(found(Blocked::Idle), [65, 85, 20, 40]);
        assert_eq!(found(Blocked::Application), [145, 85, 20, 40]);
        assert_eq!(found(Blocked::Window), [145, 5, 20, 40]);
        assert_eq!(found(Blocked::Receiver), [145, 5, 100, 40]);
    }
}
