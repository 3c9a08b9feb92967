//! Resuming: a connection that knows the window of an earlier one over the same path sends so much a round trip, until
//! it has seen two round trips of that. Their delivery rate is the nominal rate, and Recovery follows. By the authors'
//! code (`c4_enter_resuming` of picoquic). The text has no more than the name.

use super::{C4, State};
use crate::Ack;

/// The state has an alpha for form's sake: segments sent then make a queue.
pub(super) const ALPHA: f64 = 3.0;
/// Eras of Resuming. The second one shows the delivery of the first.
const ERAS: u32 = 2;
/// An era begins anew as long as no more than this share of the window is in flight.
const FULL: f64 = 16.0 / 17.0;

impl C4 {
    /// The window of the earlier connection in bytes.
    pub(super) fn resumed_window(&self) -> f64 {
        f64::from(self.settings.resumed_window) * self.segment
    }

    /// The first RTT sample begins it. An era in which the application sent less says nothing.
    pub(super) fn resume(&mut self, ack: &Ack) {
        let rtt = ack.smoothed_rtt.as_secs_f64();
        if self.state == State::Initial && self.resumed_rate == 0.0 && self.settings.resumed_window > 0 && rtt > 0.0 {
            self.resumed_rate = self.resumed_window() / rtt;
            self.nominal_max_rtt = self.nominal_max_rtt.max(rtt);
            self.has_left_initial = true;
            self.enter(State::Resuming);
        } else if self.state == State::Resuming
            && f64::from(ack.in_flight) * self.segment < FULL * self.resumed_window()
        {
            self.era_end = self.delivered;
        }
    }

    pub(super) fn end_resumed_era(&mut self) {
        if self.eras >= ERAS {
            self.enter_recovery(false);
        } else {
            self.begin_era();
        }
    }
}
