//! When the pipe is full by a plateau of the delivery rate (section 5.3.1.2).

use super::model::Sample;

/// Growth of the delivery rate in a round trip below which the pipe may be full, and after how many of these it is.
const GROWTH: f64 = 1.25;
const ROUNDS: u32 = 3;

/// The search for a plateau.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FullPipe {
    /// BBR.full_bw, and round trips without growth above it.
    bw: f64,
    count: u32,
    now: bool,
    reached: bool,
}

impl FullPipe {
    /// BBR.full_bw_now: the last round trips were on a plateau.
    pub(super) fn is_now(&self) -> bool {
        self.now
    }

    /// BBR.full_bw_reached: the pipe was full once.
    pub(super) fn is_reached(&self) -> bool {
        self.reached
    }

    /// ResetFullBW().
    pub(super) fn reset(&mut self) {
        *self = Self { reached: self.reached, ..Self::default() };
    }

    /// The search begins anew, from this rate.
    pub(super) fn restart(&mut self, delivery_rate: f64) {
        self.reset();
        self.bw = delivery_rate;
    }

    /// Congestion shows that the pipe is full.
    pub(super) fn set_reached(&mut self) {
        self.reached = true;
    }

    /// The congestion that showed it was none.
    pub(super) fn forget(&mut self) {
        self.reached = false;
    }

    /// CheckFullBWReached(), for an ACK that begins a round trip.
    pub(super) fn update(&mut self, rs: &Sample) {
        if self.now || rs.is_app_limited {
            return;
        }
        if rs.delivery_rate >= self.bw * GROWTH {
            self.restart(rs.delivery_rate);
            return;
        }
        self.count += 1;
        self.now = self.count >= ROUNDS;
        self.reached |= self.now;
    }

    /// Round trips without growth.
    #[cfg(test)]
    pub(super) fn count(&mut self) -> &mut u32 {
        &mut self.count
    }
}
