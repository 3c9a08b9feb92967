//! Reordering of the path as a sender learns it: DupThresh, and how long RACK waits (RFC 8985, section 6.2, step 4).

use units::Span;

use crate::{Detection, Losses, MAX_THRESHOLD, Rule, Selective};

/// Recoveries without a duplicate SACK after which the window of RACK shrinks again (RACK.reo_wnd_persist).
const PERSISTENCE: u8 = 16;
/// The largest DupThresh with RACK, which counts no segments (net.ipv4.tcp_max_reordering).
const RACK_MAX_THRESHOLD: u32 = 300;

/// How far the path is known to reorder.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reordering {
    /// DupThresh: segments that must have arrived above one for it to be lost.
    pub(crate) threshold: u32,
    /// The highest SACKed number alone shows which segments are lost (FACK).
    pub(crate) forward: bool,
    /// DupThresh follows observed reordering.
    adapts: bool,
    /// RACK counts no segments, and duplicate ACKs in place of SACK need no memory of them: DupThresh has no bound but
    /// its own.
    rack: bool,
    /// RACK has just found a retransmission lost.
    pub(crate) lost_again: bool,
    /// How often the path was seen to reorder.
    pub(crate) seen: u16,
    /// Quarters of the smallest RTT that RACK waits (RACK.reo_wnd_mult).
    quarters: u8,
    persistence: u8,
    /// Segments delivered when a duplicate SACK counted last, modulo 2^32: none counts again before something that left
    /// since then is delivered (RACK.dsack_round).
    round: u32,
}

impl Reordering {
    /// DupThresh as the rules for losses begin with it.
    pub(crate) fn new(losses: &Losses) -> Self {
        let threshold = losses.threshold.clamp(1, MAX_THRESHOLD);
        let (adapts, forward) = match losses.detection {
            Detection::Duplicates(_) => (losses.emulates_sack(), false),
            Detection::Selective(Selective { rule, reordering_adapts, .. }) => {
                (reordering_adapts, matches!(rule, Rule::Forward(_)))
            }
        };
        let rack = losses.is_rack() || losses.emulates_sack();
        Self { threshold, adapts, rack, forward, lost_again: false, seen: 0, quarters: 1, persistence: 0, round: 0 }
    }

    /// True if segments are counted above one that may be lost.
    pub(crate) fn counts(&self) -> bool {
        !self.rack
    }

    /// A segment arrived after `extent` segments sent later: as many must not make the next one lost. If this
    /// raises DupThresh, holes are no evidence of loss, and FACK ends.
    pub(crate) fn observe(&mut self, extent: u64) {
        self.seen = self.seen.saturating_add(1);
        let most = if self.rack { RACK_MAX_THRESHOLD } else { MAX_THRESHOLD };
        let needed = extent.saturating_add(1).min(u64::from(most)) as u32;
        if self.adapts && needed > self.threshold {
            self.threshold = needed;
            self.forward = false;
        }
    }

    /// More duplicate ACKs came than there were segments that may have arrived: as many as `extent` must not make one
    /// lost (in Linux tcp_check_reno_reordering).
    pub(crate) fn set(&mut self, extent: u32) {
        self.seen = self.seen.saturating_add(1);
        self.threshold = extent.min(RACK_MAX_THRESHOLD);
    }

    /// True if the path was seen to reorder. Only then a duplicate SACK widens RACK's window (in Linux since 5.6,
    /// tcp_dsack_seen). RFC 8985 has no such condition.
    pub(crate) fn was_seen(&self) -> bool {
        self.seen > 0
    }

    /// A duplicate SACK was reported, and then a segment was delivered that left when `before` of now `delivered`
    /// segments had been: RACK waits a quarter longer from now on (in Linux tcp_rack_update_reo_wnd).
    pub(crate) fn on_duplicate_sack(&mut self, before: u32, delivered: u64) {
        if before.wrapping_sub(self.round) as i32 >= 0 {
            self.round = delivered as u32;
            self.quarters = self.quarters.saturating_add(1);
            self.persistence = PERSISTENCE;
        }
    }

    /// Duplicate SACKs have shown a reduction to be spurious (in Linux tcp_try_undo_dsack).
    pub(crate) fn on_spurious(&mut self) {
        self.persistence = (self.persistence + 1).min(PERSISTENCE);
    }

    /// A recovery is over.
    pub(crate) fn on_recovered(&mut self) {
        self.persistence = self.persistence.saturating_sub(1);
        if self.persistence == 0 {
            self.quarters = 1;
        }
    }

    /// How much later than it should a segment may arrive before RACK deems it lost (RACK.reo_wnd): not at all while no
    /// reordering was ever seen and there is good evidence of loss.
    pub(crate) fn window(&self, evidence: bool, minimum_rtt: Span, smoothed_rtt: Span) -> Span {
        if (self.seen == 0 && evidence) || minimum_rtt == Span::MAX {
            return Span::ZERO;
        }
        (minimum_rtt / 4 * u64::from(self.quarters)).min(smoothed_rtt)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{freebsd_9, linux, linux_3_5};

    const MS: fn(u64) -> Span = Span::from_millis;

    #[test]
    fn four_overtaking_segments_raise_the_threshold_to_five() {
        let mut reordering = Reordering::new(&linux().losses);
        reordering.observe(4);
        assert_eq!(reordering.threshold, 5);
        reordering.observe(2);
        assert_eq!(reordering.threshold, 5, "it never falls");
        reordering.observe(1000);
        assert_eq!(reordering.threshold, 300);
        let mut counting = Reordering::new(&linux_3_5().losses);
        counting.observe(1000);
        assert_eq!(counting.threshold, 16);
        let mut constant = Reordering::new(&freebsd_9().losses);
        constant.observe(4);
        assert_eq!(constant.threshold, 3);
    }

    #[test]
    fn the_window_is_zero_only_on_evidence_and_before_reordering_was_seen() {
        let mut reordering = Reordering::new(&linux().losses);
        assert_eq!(reordering.window(true, MS(40), MS(60)), MS(0));
        assert_eq!(reordering.window(false, MS(40), MS(60)), MS(10));
        reordering.observe(1);
        assert_eq!(reordering.window(true, MS(40), MS(60)), MS(10));
    }

    #[test]
    fn duplicate_sacks_widen_the_window_once_a_round_up_to_the_smoothed_rtt_for_sixteen_recoveries() {
        let mut reordering = Reordering::new(&linux().losses);
        assert!(!reordering.was_seen());
        reordering.observe(1);
        assert!(reordering.was_seen());
        reordering.on_duplicate_sack(10, 20);
        reordering.on_duplicate_sack(19, 30);
        assert_eq!(reordering.window(true, MS(40), MS(60)), MS(20), "the second one came within the round");
        for delivered in [30, 40, 50, 60, 70] {
            reordering.on_duplicate_sack(delivered as u32 - 10, delivered);
        }
        assert_eq!(reordering.window(true, MS(40), MS(60)), MS(60), "70 ms are more than the smoothed RTT");
        for _ in 0..15 {
            reordering.on_recovered();
        }
        assert_eq!(reordering.window(true, MS(40), MS(60)), MS(60));
        reordering.on_recovered();
        assert_eq!(reordering.window(true, MS(40), MS(60)), MS(10));
    }

    #[test]
    fn a_spurious_reduction_keeps_the_window_wide_for_one_recovery_more_and_sixteen_at_most() {
        let mut reordering = Reordering::new(&linux().losses);
        reordering.observe(1);
        reordering.on_duplicate_sack(10, 20);
        reordering.on_spurious();
        (0..15).for_each(|_| reordering.on_recovered());
        reordering.on_spurious();
        reordering.on_recovered();
        assert_eq!(reordering.window(true, MS(40), MS(60)), MS(20), "the first one counted for nothing");
        reordering.on_recovered();
        assert_eq!(reordering.window(true, MS(40), MS(60)), MS(10));
    }
}
