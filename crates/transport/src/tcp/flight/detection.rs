//! Loss detection of the flight: by duplicate ACKs without SACK, by count, FACK or time with it.

use units::Time;

use super::{AckSummary, Flight};
use crate::tcp::repair::{Phase, Stage};
use crate::{Losses, Retransmits, Stack};

/// Losses found.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::tcp) struct Found {
    /// Segments newly deemed lost.
    pub(in crate::tcp) lost: u32,
    /// If RACK looked: when it deems the last suspect lost, if there is one.
    pub(in crate::tcp) suspect: Option<Option<Time>>,
}

impl Flight {
    /// Without SACK each duplicate counts as an arrival. The third one and every partial ACK mark the first outstanding
    /// segment as lost (RFC 6582, section 3.2). Returns how many segments that marks.
    #[inline(never)]
    pub(in crate::tcp) fn count_duplicates(&mut self, summary: &mut AckSummary, stage: Stage) -> u32 {
        if summary.acknowledged > 0 {
            self.duplicates = 0;
            // Segments that duplicates announced were delivered then (RFC 6937, section 3, DeliveredData without SACK).
            summary.delivered = summary.acknowledged.saturating_sub(self.board.sacked_count()).max(1);
            if stage.phase() != Phase::Recovery {
                self.board.clear_duplicates();
                return 0;
            }
            self.board.discount_duplicates(summary.acknowledged);
            let partial = !stage.is_complete(self.board.first());
            return if partial { self.board.mark_first_lost() } else { 0 };
        }
        if self.board.outstanding() == 0 || stage.phase() == Phase::Loss {
            return 0;
        }
        self.duplicates += 1;
        summary.delivered = u32::from(self.board.count_duplicate());
        let recovering = stage.phase() == Phase::Recovery;
        let fresh = stage.trusts_duplicates(self.board.first());
        if self.duplicates >= self.reordering.threshold && !recovering && fresh {
            return self.board.mark_first_lost();
        }
        0
    }

    /// Without SACK, as Linux: duplicates count as segments SACKed.
    #[inline(never)]
    pub(in crate::tcp) fn emulate_sack(&mut self, summary: &mut AckSummary, stage: Stage) {
        let (phase, outstanding) = (stage.phase(), self.board.outstanding());
        // A repair that lasts until something above its end is acknowledged counts none.
        let held = stage.is_held(self.board.first());
        let acknowledged = summary.acknowledged;
        if acknowledged > 0 {
            summary.delivered = acknowledged.saturating_sub(self.board.sacked_count()).max(1);
            if self.board.eat_duplicates(acknowledged) {
                self.reordering.set(outstanding + acknowledged);
            }
        }
        let partial = phase == Phase::Recovery && !stage.is_complete(self.board.first());
        let counts_anew = if acknowledged > 0 { !partial } else { phase == Phase::Recovery && !partial };
        if counts_anew && !(held && phase == Phase::Loss) {
            self.board.clear_duplicates();
        }
        let counts = !held && (phase != Phase::Loss || self.board.next() > stage.point());
        if acknowledged == 0 && outstanding > 0 && counts {
            let (delivered, limited) = self.board.count_arrived(1);
            summary.delivered = delivered;
            if limited {
                self.reordering.set(outstanding);
            }
        }
    }

    /// After that: every partial ACK shows the first outstanding segment to be lost, and so do DupThresh duplicates
    /// outside of recovery (in Linux tcp_newreno_mark_lost).
    pub(in crate::tcp) fn detect_emulated(&mut self, summary: &AckSummary, stage: Stage) -> u32 {
        let lost = match stage.phase() {
            Phase::Recovery => summary.acknowledged > 0 && !stage.is_complete(self.board.first()),
            Phase::Loss => false,
            _ => self.board.sacked_count() >= self.reordering.threshold,
        };
        if lost { self.board.mark_first_lost() } else { 0 }
    }

    /// Learns reordering from an ACK of a segment that arrived late.
    #[inline(never)]
    pub(in crate::tcp) fn observe_reordering(&mut self, summary: &AckSummary) {
        if !self.reordering.counts() {
            if let Some(late) = summary.late {
                self.observe_late(late);
            }
        } else if let Some((extent, true)) = summary.overtaken {
            self.reordering.observe(extent);
        }
    }

    /// True if the path was seen to reorder.
    pub(in crate::tcp) fn has_seen_reordering(&self) -> bool {
        self.reordering.was_seen()
    }

    /// After a duplicate SACK: RACK's window widens if something was delivered that left since it last did. Returns
    /// true if anything was delivered.
    pub(in crate::tcp) fn update_reordering_window(&mut self, summary: &AckSummary) -> bool {
        let before = summary.newest.map(|newest| newest.state().delivered);
        before.map(|before| self.reordering.on_duplicate_sack(before, self.delivery.delivered())).is_some()
    }

    /// Segment `number` arrived late: it was overtaken by all that has arrived (in Linux tcp_check_sack_reordering).
    pub(in crate::tcp) fn observe_late(&mut self, number: u64) {
        let end = self.board.highest_sacked().map_or(self.board.first(), |highest| highest + 1);
        if end > number {
            self.reordering.observe(end - number - 1);
        }
    }

    /// Loss detection by time or by count, with SACK.
    #[inline]
    pub(in crate::tcp) fn detect(&mut self, now: Time, stage: Stage, stack: &Stack) -> Found {
        // In order, and nothing was sent again that could have overtaken anything.
        let in_order = self.board.sacked_count() == 0 && stage.phase() == Phase::Open;
        if in_order { Found::default() } else { self.detect_disorderly(now, stage, stack) }
    }

    #[inline(never)]
    fn detect_disorderly(&mut self, now: Time, stage: Stage, stack: &Stack) -> Found {
        if stack.losses.is_rack() {
            return self.detect_on_ack(now, stage);
        }
        if self.board.sacked_count() == 0 || stage.phase() == Phase::Loss {
            return Found::default();
        }
        let recovering = stage.phase() == Phase::Recovery && !stage.is_complete(self.board.first());
        let holes = recovering && stack.losses.retransmits() == Retransmits::Holes;
        let threshold = if holes { 1 } else { self.reordering.threshold };
        let lost = if self.reordering.forward {
            self.board.detect_forward(threshold)
        } else {
            self.board.detect_by_count(threshold)
        };
        Found { lost, suspect: None }
    }

    /// RACK on an ACK: if something has arrived since it looked last (in Linux tcp_rack_mark_lost).
    pub(in crate::tcp) fn detect_on_ack(&mut self, now: Time, stage: Stage) -> Found {
        if std::mem::take(&mut self.advanced) { self.detect_by_time(now, stage) } else { Found::default() }
    }

    /// RACK (RFC 8985, section 6.2).
    pub(in crate::tcp) fn detect_by_time(&mut self, now: Time, stage: Stage) -> Found {
        // The ACK that ends a recovery ends it before losses are looked for (in Linux tcp_fastretrans_alert).
        let repairing = stage.is_repairing() && !stage.is_complete(self.board.first());
        let evidence = repairing || self.board.sacked_count() >= self.reordering.threshold;
        let window = self.reordering.window(evidence, self.shortest(), self.rtt.smoothed);
        let (lost, again, next) = self.board.detect_by_time(now, window);
        self.reordering.lost_again = again;
        Found { lost, suspect: Some(next) }
    }

    /// Everything below the highest SACKed segment is lost. Returns how many segments that marks.
    pub(in crate::tcp) fn lose_holes(&mut self) -> u32 {
        self.board.detect_by_count(1)
    }

    /// True if the `newly_lost` segments begin a loss event. They do not while losses are being repaired, but lost
    /// segments that were sent since belong to the next window of data.
    #[inline(always)]
    pub(in crate::tcp) fn begins_loss_event(
        &mut self,
        newly_lost: u32,
        stage: Stage,
        over: bool,
        losses: &Losses,
    ) -> bool {
        if !stage.is_repairing() {
            // In Linux also if an undo left segments lost (tcp_time_to_recover).
            return newly_lost > 0 || (losses.undoes_first() && self.board.lost_count() > 0);
        }
        // In Linux a retransmission that is lost after a timeout is a loss event as well.
        let lost_again = std::mem::take(&mut self.reordering.lost_again) && stage.phase() == Phase::Loss;
        let lost_again = lost_again && losses.undoes_first();
        (over && self.board.lost_count() > 0) || lost_again
    }

    /// True if an ACK that only SACKs shows an arrival from before the oldest segment left last.
    pub(in crate::tcp) fn shows_older_arrival(&self, summary: &AckSummary) -> bool {
        summary.oldest_at.is_some_and(|at| self.oldest_at().is_some_and(|sent| at < sent))
    }
}
