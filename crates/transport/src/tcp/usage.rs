//! How much of its window a flow uses (RFC 7661): whether the window may grow.

/// What a sender remembers of the use of its window.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Usage {
    /// The window limited the flow in this round.
    limited: bool,
    /// Otherwise the most segments that were outstanding in it (max_packets_out in Linux).
    most: u32,
    /// The round ends when everything below is acknowledged (cwnd_usage_seq).
    end: u64,
}

impl Usage {
    /// Segments up to `next` have left, `outstanding` of them after the cumulative point `first`, and nothing more
    /// leaves now; `limited` says that the window is the reason. That holds for the whole round.
    pub(super) fn note(&mut self, limited: bool, first: u64, next: u64) {
        let outstanding = (next - first) as u32;
        if limited || first >= self.end || (!self.limited && outstanding > self.most) {
            *self = Self { limited, most: outstanding, end: next };
        }
    }

    /// Whether a window of `window` segments counts as used: it limited the flow in this round, or in slow start,
    /// below `threshold`, at least half of it was outstanding.
    pub(super) fn is_limited(&self, window: f64, threshold: f64) -> bool {
        self.limited || window < threshold.min(2.0 * f64::from(self.most))
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
}
