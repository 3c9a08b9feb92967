//! Losses and marks by round trips (sections 5.5.10 and 5.5.11), and the undo of a spurious recovery.

use super::State;
use super::model::{Bounds, Sample};

/// The share of the short-term bounds that a round trip with losses leaves at least (BBR.Beta).
pub(super) const BETA: f64 = 0.7;
/// Ranges lost in a round trip for Startup to end by loss (BBRStartupFullLossCnt).
const STARTUP_FULL_LOSS_CNT: u32 = 6;

/// The state of the connection when a recovery began.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Undo {
    /// BBR.undo_state: the state that a loss has ended.
    pub(super) state: Option<State>,
    pub(super) bounds: Bounds,
}

/// The losses of round trips.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Losses {
    is_in_round: bool,
    round_begins: bool,
    round_delivered: u64,
    /// Segments deemed lost (C.lost), the ranges of them in this round trip, and the last one.
    lost: u64,
    ranges: u32,
    last: Option<u64>,
    /// Until everything below is acknowledged, losses are repaired.
    recovery_end: Option<u64>,
    undo: Undo,
}

impl Losses {
    /// BBR.loss_round_start: whether the last ACK began a round trip of losses.
    pub(super) fn round_begins(&self) -> bool {
        self.round_begins
    }

    /// Whether losses are being repaired.
    pub(super) fn in_recovery(&self) -> bool {
        self.recovery_end.is_some()
    }

    /// Whether `acknowledged_to` completes the repair.
    pub(super) fn is_repaired(&self, acknowledged_to: u64) -> bool {
        self.recovery_end.is_some_and(|end| acknowledged_to >= end)
    }

    /// An ACK arrives, and `lost` segments were lost by then.
    pub(super) fn count(&mut self, lost: u64) {
        self.lost = lost;
    }

    /// UpdateLatestDeliverySignals(), the part of losses.
    pub(super) fn update_round(&mut self, rs: &Sample) {
        self.round_begins = rs.prior_delivered >= self.round_delivered;
        if self.round_begins {
            self.round_delivered = rs.total_delivered;
        }
    }

    /// A round trip of losses ends: whether it had any.
    pub(super) fn take_round(&mut self) -> bool {
        std::mem::take(&mut self.is_in_round)
    }

    /// The round trip ends: whether it lost segments in too many places for Startup.
    pub(super) fn take_many_ranges(&mut self) -> bool {
        std::mem::take(&mut self.ranges) >= STARTUP_FULL_LOSS_CNT
    }

    /// NoteLoss(): whether it is the first of the round trip, which began with `delivered`.
    pub(super) fn note(&mut self, delivered: u64) -> bool {
        let first = !std::mem::replace(&mut self.is_in_round, true);
        if first {
            self.round_delivered = delivered;
        }
        first
    }

    /// The segment `sequence` is lost, that left when `lost_before` were: how many were lost since.
    pub(super) fn add(&mut self, sequence: u64, lost_before: u64) -> f64 {
        self.lost += 1;
        if self.last.is_none_or(|last| sequence != last + 1) {
            self.ranges += 1;
        }
        self.last = Some(sequence);
        self.lost.saturating_sub(lost_before) as f64
    }

    /// SaveStateUponLoss(), the part of the bounds.
    pub(super) fn save(&mut self, bounds: Bounds) {
        self.undo = Undo { state: None, bounds };
    }

    /// Congestion ends `state`.
    pub(super) fn ended(&mut self, state: State) {
        self.undo.state = Some(state);
    }

    /// A recovery begins, of everything below `end`.
    pub(super) fn enter_recovery(&mut self, end: u64) {
        self.recovery_end = Some(end);
    }

    /// Everything lost is repaired: whether there was a recovery.
    pub(super) fn leave_recovery(&mut self) -> bool {
        self.recovery_end.take().is_some()
    }

    /// The recovery was spurious. Returns the state that it began with.
    pub(super) fn take_undo(&mut self) -> Undo {
        self.recovery_end = None;
        self.is_in_round = false;
        let undo = self.undo;
        self.undo.state = None;
        undo
    }
}

/// IsInflightTooHigh().
pub(super) fn is_inflight_too_high(rs: &Sample, loss_thresh: f64) -> bool {
    rs.lost > rs.tx_in_flight * loss_thresh
}

/// InflightAtLoss(), for a packet of one segment.
pub(super) fn inflight_at_loss(rs: &Sample, loss_thresh: f64) -> f64 {
    let (inflight_prev, lost_prev) = (rs.tx_in_flight - 1.0, rs.lost - 1.0);
    inflight_prev + (loss_thresh * inflight_prev - lost_prev) / (1.0 - loss_thresh)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn just_two_percent_of_a_flight_are_not_too_many() {
        for (lost, too_high) in [(4.0, false), (5.0, true)] {
            let rs = Sample { tx_in_flight: 200.0, lost, ..Sample::default() };
            assert_eq!(is_inflight_too_high(&rs, 0.02), too_high);
        }
    }
}
