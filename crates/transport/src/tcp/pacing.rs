//! Pacing: when the next segment may leave.

use units::{Bytes, Rate, Time};

/// The pacer of a sender, which lets everything pass while there is no rate.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pacer {
    rate: Option<Rate>,
    /// When the next segment may leave.
    next: Time,
}

impl Pacer {
    /// From now on segments leave at `rate`.
    pub(super) fn set_rate(&mut self, rate: Option<Rate>) {
        self.rate = rate;
    }

    /// When the next segment may leave.
    pub(super) fn next(&self) -> Time {
        self.next
    }

    /// A segment of `size` on the wire leaves now.
    pub(super) fn on_sent(&mut self, now: Time, size: Bytes) {
        if let Some(rate) = self.rate {
            self.next = self.next.max(now) + rate.time_for(size);
        }
    }
}
