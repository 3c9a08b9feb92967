//! The persist timer: probes of a receive window of zero (RFC 9293, section 3.8.6.1).

use units::{Span, Time};

/// When the next probe leaves.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Persist {
    at: Time,
    backoff: u32,
}

impl Persist {
    /// The window is open.
    pub(crate) const OFF: Self = Self { at: Time::NEVER, backoff: 0 };

    /// The window is closed with data to send, or not: the timer starts with the retransmission timeout, or stops.
    /// `expiry` says when a timer expires.
    pub(crate) fn note(&mut self, closed: bool, timeout: Span, expiry: impl FnOnce(Span) -> Time) {
        if !closed {
            *self = Self::OFF;
        } else if self.at == Time::NEVER {
            self.at = expiry(timeout);
        }
    }

    /// When the next probe is due, or [`Time::NEVER`] if none is.
    pub(crate) fn at(&self) -> Time {
        self.at
    }

    /// An ACK arrives while nothing is outstanding: the wait for the next probe begins anew (in Linux tcp_ack_probe).
    pub(crate) fn restart(&mut self, (timeout, most): (Span, Span), expiry: impl FnOnce(Span) -> Time) {
        if self.at != Time::NEVER {
            self.at = expiry(timeout.saturating_mul(1 << self.backoff.min(16)).min(most));
        }
    }

    /// True if a probe leaves now. The time to the next one doubles, up to `most`.
    pub(crate) fn take(&mut self, now: Time, (timeout, most): (Span, Span), expiry: impl FnOnce(Span) -> Time) -> bool {
        if self.at > now {
            return false;
        }
        self.backoff += 1;
        self.at = expiry(timeout.saturating_mul(1 << self.backoff.min(16)).min(most));
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probes_back_off_until_the_window_opens() {
        let ms = |n: u64| Time::ZERO + Span::from_millis(n);
        let (timeout, most) = (Span::from_millis(300), Span::from_millis(1000));
        let mut persist = Persist::OFF;
        let waits = (timeout, most);
        let after = |now: u64| move |wait: Span| ms(now) + wait;
        persist.note(true, timeout, after(0));
        persist.note(true, timeout, after(50));
        assert!(!persist.take(ms(299), waits, after(299)));
        assert!(persist.take(ms(300), waits, after(300)));
        assert_eq!(persist.at(), ms(900), "600 ms later");
        assert!(persist.take(ms(900), waits, after(900)));
        assert_eq!(persist.at(), ms(1900), "1200 ms are more than the largest");
        persist.restart(waits, after(1500));
        assert_eq!(persist.at(), ms(2500), "an ACK does not end the back-off");
        persist.note(false, timeout, after(1000));
        persist.restart(waits, after(1600));
        assert_eq!(persist.at(), Time::NEVER);
        // The next closed window begins anew.
        persist.note(true, timeout, after(5000));
        assert!(persist.take(ms(5300), waits, after(5300)));
        assert_eq!(persist.at(), ms(5900));
    }
}
