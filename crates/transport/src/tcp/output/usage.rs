//! How much of its window a flow uses (RFC 7661): whether the window may grow, and in Linux also whether it comes
//! down.

use units::{Span, Time};

/// Use of the window of a sender.
#[derive(Clone, Copy, Debug)]
pub(super) struct Usage {
    /// The window limited the flow in this round.
    limited: bool,
    /// Otherwise the most segments that were outstanding in it (max_packets_out in Linux).
    most: u32,
    /// The round ends when everything below is acknowledged (cwnd_usage_seq).
    end: u64,
    /// The most that was outstanding since the window last came down (maxFS of draft-ietf-ccwg-ratelimited-increase).
    largest: u32,
    /// The most that was outstanding since the window was filled or grew (snd_cwnd_used).
    used: u32,
    /// When the window was last filled or grew (snd_cwnd_stamp).
    since: Time,
}

impl Default for Usage {
    fn default() -> Self {
        Self { limited: false, most: 0, end: 0, largest: 0, used: 0, since: Time::ZERO }
    }
}

impl Usage {
    /// Segments up to `next` have left, `outstanding` of them after the cumulative point `first`, and nothing more
    /// leaves now. `limited` says that the window is the reason. It then holds for the whole round.
    pub(super) fn note(&mut self, limited: bool, first: u64, next: u64) {
        let outstanding = (next - first) as u32;
        self.largest = self.largest.max(outstanding);
        if limited || first >= self.end || (!self.limited && outstanding > self.most) {
            *self = Self { limited, most: outstanding, end: next, ..*self };
        }
    }

    /// True if a window of `window` segments counts as used: it limited the flow in this round, or in slow start,
    /// below `threshold`, at least half of it was outstanding.
    pub(super) fn is_limited(&self, window: f64, threshold: f64) -> bool {
        self.limited || window < threshold.min(2.0 * f64::from(self.most))
    }

    /// True if a window of `window` segments may grow although it is not fully used: in slow start, below `threshold`,
    /// to twice the largest flight since it came down, else a segment above that.
    pub(super) fn leaves_room(&self, window: f64, threshold: f64) -> bool {
        let largest = f64::from(self.largest);
        window < if window < threshold { 2.0 * largest } else { largest + 1.0 }
    }

    /// The window came down.
    pub(super) fn forget_largest(&mut self) {
        self.largest = 0;
    }

    /// The connection opens with a window of `initial` segments.
    pub(super) fn open(&mut self, initial: u32) {
        self.largest = initial;
    }

    /// The window is filled, grows or was set at `now`.
    pub(super) fn restart(&mut self, now: Time) {
        self.used = 0;
        self.since = now;
    }

    /// An ACK lets the window grow, or leaves it at its size, at `now`.
    pub(super) fn restart_clock(&mut self, now: Time) {
        self.since = now;
    }

    /// The window is not filled at `now`, with `outstanding` segments. Says how many of it were used if that has
    /// lasted for `timeout`, and begins anew.
    pub(super) fn unused_for(&mut self, timeout: Span, now: Time, outstanding: u32) -> Option<u32> {
        self.used = self.used.max(outstanding);
        let used = self.used;
        (now.since(self.since) >= timeout).then(|| {
            self.restart(now);
            used
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_once_filled_counts_as_used_for_the_round() {
        let mut usage = Usage::default();
        usage.note(true, 0, 10);
        usage.note(false, 4, 12);
        assert!(usage.is_limited(10.0, 5.0), "segments 4 to 9 of that round are outstanding");
        usage.note(false, 10, 14);
        assert!(!usage.is_limited(10.0, 5.0), "a new round began");
        assert!(usage.is_limited(7.0, 20.0), "in slow start 7 are less than twice 4");
        assert!(!usage.is_limited(8.0, 20.0));
    }

    #[test]
    fn the_most_outstanding_is_that_of_the_round() {
        let mut usage = Usage::default();
        usage.note(false, 0, 6);
        usage.note(false, 2, 6);
        assert!(usage.is_limited(11.0, 20.0), "twice 6");
        // The mark of the larger flight ends the round.
        usage.note(false, 6, 8);
        assert!(!usage.is_limited(11.0, 20.0), "twice 2");
    }

    #[test]
    fn a_window_may_exceed_the_largest_flight_by_one_round_of_growth() {
        let mut usage = Usage::default();
        usage.open(10);
        assert!(usage.leaves_room(19.0, f64::INFINITY));
        assert!(!usage.leaves_room(20.0, f64::INFINITY));
        usage.note(false, 0, 30);
        usage.note(false, 30, 34);
        assert!(usage.leaves_room(30.5, 20.0), "the largest flight counts, not the last one");
        assert!(!usage.leaves_room(31.0, 20.0));
        usage.forget_largest();
        usage.note(false, 30, 38);
        assert!(!usage.leaves_room(15.0, 15.0), "8 since the window came down");
    }

    #[test]
    fn an_unused_window_is_reported_once_a_timeout() {
        let ms = |n: u64| Time::ZERO + Span::from_millis(n);
        let mut usage = Usage::default();
        usage.restart(ms(100));
        let timeout = Span::from_millis(240);
        assert_eq!(usage.unused_for(timeout, ms(339), 5), None);
        assert_eq!(usage.unused_for(timeout, ms(340), 3), Some(5));
        assert_eq!(usage.unused_for(timeout, ms(579), 4), None);
        assert_eq!(usage.unused_for(timeout, ms(580), 4), Some(4));
    }

    #[test]
    fn a_larger_flight_begins_no_round_once_the_window_was_filled() {
        let mut usage = Usage::default();
        usage.note(true, 0, 10);
        usage.note(false, 2, 14);
        assert_eq!((usage.limited, usage.most, usage.end), (true, 10, 10));
        // Without a full window it does.
        usage.note(false, 10, 14);
        usage.note(false, 11, 16);
        assert_eq!((usage.limited, usage.most, usage.end), (false, 5, 16));
        usage.note(false, 12, 16);
        assert_eq!((usage.most, usage.end), (5, 16));
    }
}
