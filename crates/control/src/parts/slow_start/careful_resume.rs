//! Careful Resume (RFC 9959; draft-ietf-tsvwg-careful-resume): a connection that knows the window of an earlier one
//! over the same path jumps to half of it once its initial window was delivered and the RTT is about the same. If the
//! path does not hold the jump, the window falls to half of the flight that it did hold.
//!
//! | phase | here |
//! | --- | --- |
//! | Reconnaissance: initial window delivered, RTT confirmed | [`Phase::Reconnaissance`], `CarefulResume::jump` |
//! | Unvalidated: CWND = saved_cwnd / 2, paced over the current RTT | [`Phase::Unvalidated`] |
//! | Validating: CWND = flight size, which grows as in slow start | [`Phase::Validating`] |
//! | Safe Retreat: CWND = PipeSize / 2, then ssthresh = PipeSize | [`Phase::Retreat`] |
//! | Normal | [`Phase::Normal`] |
//!
//! The saved window and RTT are parameters: a run has no earlier connection to learn from. A change of path shows
//! itself by the RTT alone.

use units::{Rate, Span};

use crate::Ack;

/// An RTT below half or above ten times the saved one is another path's.
const SHORTER: u64 = 2;
const LONGER: u64 = 10;

/// The phase of the sender.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Phase {
    Reconnaissance,
    /// The first segment of the jump, and the segments that the path held by then.
    Unvalidated {
        first: u64,
        pipe: f64,
    },
    /// Until everything below `end` is acknowledged.
    Validating {
        end: u64,
        pipe: f64,
    },
    Retreat {
        end: u64,
        pipe: f64,
    },
    Normal,
}

/// The next window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Order {
    /// Growth by slow start.
    Grow,
    /// The present window.
    Hold,
    /// So many segments.
    Set(f64),
    /// The present window, with this threshold.
    End(f64),
}

/// One connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct CarefulResume {
    saved_window: f64,
    saved_rtt: Span,
    phase: Phase,
    rate: Option<Rate>,
}

impl CarefulResume {
    pub(super) const fn new(saved_window: f64, saved_rtt: Span) -> Self {
        Self { saved_window, saved_rtt, phase: Phase::Reconnaissance, rate: None }
    }

    /// The pacing rate of the jump.
    pub(super) fn rate(&self) -> Option<Rate> {
        self.rate
    }

    /// An ACK, with the window before it and the initial one. A segment has `segment` bytes.
    pub(super) fn observe(&mut self, ack: &Ack, window: f64, initial: f64, segment: u64) -> Order {
        let acked = f64::from(ack.newly_delivered);
        match &mut self.phase {
            Phase::Reconnaissance => self.jump(ack, window, initial, segment),
            Phase::Unvalidated { first, pipe } => {
                *pipe += acked;
                if ack.acknowledged_to <= *first {
                    return Order::Hold;
                }
                self.phase = Phase::Validating { end: ack.sent_to, pipe: *pipe };
                self.rate = None;
                Order::Set((f64::from(ack.in_flight_before)).min(window).max(initial))
            }
            Phase::Validating { end, pipe } => {
                *pipe += acked;
                if ack.acknowledged_to >= *end {
                    self.phase = Phase::Normal;
                }
                Order::Grow
            }
            Phase::Retreat { end, pipe } => {
                *pipe += acked;
                if ack.acknowledged_to < *end {
                    return Order::Hold;
                }
                let pipe = *pipe;
                self.phase = Phase::Normal;
                Order::End(pipe)
            }
            Phase::Normal => Order::Grow,
        }
    }

    /// The end of reconnaissance, once the initial window is delivered.
    fn jump(&mut self, ack: &Ack, window: f64, initial: f64, segment: u64) -> Order {
        if (ack.delivered as f64) < initial {
            return Order::Grow;
        }
        self.phase = Phase::Normal;
        let target = self.saved_window / 2.0;
        let rtt = ack.smoothed_rtt;
        let is_same_path = rtt >= self.saved_rtt / SHORTER && rtt <= self.saved_rtt * LONGER;
        if !is_same_path || rtt.is_zero() || target <= window || !ack.window_limited {
            return Order::Grow;
        }
        let bits = target * segment as f64 * 8.0 / rtt.as_secs_f64();
        self.rate = Some(Rate::from_bits_per_second((bits as u64).max(1)));
        self.phase = Phase::Unvalidated { first: ack.sent_to, pipe: window };
        Order::Set(target)
    }

    /// A congestion event when segments below `sent_to` were sent. Returns the largest window allowed.
    pub(super) fn congested(&mut self, sent_to: u64) -> Option<f64> {
        self.rate = None;
        let (pipe, end) = match self.phase {
            Phase::Unvalidated { pipe, .. } => (pipe, sent_to),
            Phase::Validating { pipe, end } => (pipe, end),
            Phase::Retreat { .. } => return None,
            Phase::Reconnaissance | Phase::Normal => {
                self.phase = Phase::Normal;
                return None;
            }
        };
        self.phase = Phase::Retreat { end, pipe };
        Some(pipe / 2.0)
    }

    /// A timeout ends it.
    pub(super) fn stop(&mut self) {
        (self.phase, self.rate) = (Phase::Normal, None);
    }

    /// Whether the window does not follow the controller.
    pub(super) fn retreats(&self) -> bool {
        matches!(self.phase, Phase::Retreat { .. })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::ack;

    /// An ACK of `newly` segments up to `to`, when `sent_to` were sent, after 100 ms.
    fn acked(newly: u32, to: u64, sent_to: u64) -> Ack {
        Ack {
            smoothed_rtt: Span::from_millis(100),
            newly_delivered: newly,
            delivered: to,
            acknowledged_to: to,
            sent_to,
            in_flight_before: 60,
            ..ack()
        }
    }

    /// Another connection had 200 segments and 100 ms.
    fn jumped() -> CarefulResume {
        let mut resume = CarefulResume::new(200.0, Span::from_millis(100));
        assert_eq!(resume.observe(&acked(4, 4, 14), 10.0, 10.0, 1000), Order::Grow);
        assert_eq!(resume.observe(&acked(6, 10, 24), 20.0, 10.0, 1000), Order::Set(100.0));
        resume
    }

    #[test]
    fn half_the_saved_window_is_paced_over_a_round_trip() {
        let mut resume = jumped();
        // 100 segments of 1000 bytes in 100 ms.
        assert_eq!(resume.rate(), Some(Rate::from_bits_per_second(8_000_000)));
        assert_eq!(resume.observe(&acked(10, 20, 60), 100.0, 10.0, 1000), Order::Hold);
        // The first segment of the jump is the 25th. Of it 60 are in flight, as many as the flow needs.
        assert_eq!(resume.observe(&acked(5, 25, 90), 100.0, 10.0, 1000), Order::Set(60.0));
        assert_eq!((resume.rate(), resume.phase), (None, Phase::Validating { end: 90, pipe: 20.0 + 15.0 }));
        assert_eq!(resume.observe(&acked(65, 90, 200), 60.0, 10.0, 1000), Order::Grow);
        assert_eq!(resume.phase, Phase::Normal);
    }

    #[test]
    fn a_loss_leaves_half_of_what_the_path_held_until_the_jump_is_repaired() {
        let mut resume = jumped();
        resume.observe(&acked(14, 24, 100), 100.0, 10.0, 1000);
        // 20 before the jump and 14: half of 34.
        assert_eq!(resume.congested(124), Some(17.0));
        assert!(resume.retreats());
        assert_eq!(resume.congested(130), None);
        assert_eq!(resume.observe(&acked(40, 64, 130), 17.0, 10.0, 1000), Order::Hold);
        assert_eq!(resume.observe(&acked(60, 124, 150), 17.0, 10.0, 1000), Order::End(134.0));
        assert_eq!(resume.observe(&acked(1, 125, 150), 17.0, 10.0, 1000), Order::Grow);
    }

    #[test]
    fn another_rtt_a_small_window_and_a_loss_before_forbid_the_jump() {
        for (window, rtt) in [(200.0, 201), (200.0, 9), (40.0, 100)] {
            let mut resume = CarefulResume::new(window, Span::from_millis(rtt));
            assert_eq!(resume.observe(&acked(10, 10, 24), 20.0, 10.0, 1000), Order::Grow);
            assert_eq!(resume.phase, Phase::Normal, "{window} segments, {rtt} ms");
        }
        let mut resume = CarefulResume::new(200.0, Span::from_millis(100));
        assert_eq!(resume.congested(10), None);
        assert_eq!(resume.observe(&acked(10, 10, 24), 20.0, 10.0, 1000), Order::Grow);
    }
}
