//! Spurious reductions and losses that an ACK shows, in the order of Linux (tcp_fastretrans_alert).

use units::Time;

use super::Sender;
use crate::journal::{Event, Journal};
use crate::segment::Acknowledgement;
use crate::tcp::flight::{AckSummary, LossMarks};
use crate::tcp::repair::Phase;

/// The next step after a reduction was tested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    /// Losses are detected.
    Detect,
    /// A segment was late: retransmissions wait for the next ACK.
    Wait,
    /// The reduction goes on, and the ACK shows nothing more.
    Continue,
}

impl Sender {
    /// Collects evidence from `ack` of reordering, of duplicates and of marks.
    #[inline]
    pub(super) fn note_evidence(&mut self, ack: &Acknowledgement, summary: &AckSummary) {
        self.repair.count_dsack(ack, summary, &self.flight);
        self.flight.observe_reordering(summary);
        if ack.congestion_echo {
            self.repair.forbid_undo();
        }
    }

    /// Undoes a reduction that `ack` shows to be spurious, then detects losses. Returns how many segments are newly
    /// deemed lost.
    pub(super) fn undo_then_detect(
        &mut self,
        now: Time,
        ack: &Acknowledgement,
        summary: &AckSummary,
        journal: &mut dyn Journal,
    ) -> u32 {
        let partial = self.repair.phase() == Phase::Recovery && !self.repair.stage().is_complete(self.flight.first());
        let (spurious, next) = self.test_reduction(now, ack, summary);
        match spurious {
            Some(marks) if next == Next::Continue => self.undo_in_place(now, marks, journal),
            Some(marks) => self.undo(now, marks, journal),
            None => {}
        }
        if partial && spurious.is_some() {
            self.repair.ignore_echo();
        }
        if self.is_held() && !self.flight.has_any_retransmitted() {
            self.repair.clear_retransmit_stamp();
        }
        self.repair.wait_for_next(next == Next::Wait);
        let newly_lost = if next == Next::Detect { self.detect_after_undo(now, summary) } else { 0 };
        self.note_lost(newly_lost, self.flight.first(), journal);
        self.report_segments(now);
        newly_lost
    }

    /// Detects losses by RACK, without SACK by duplicate ACKs.
    fn detect_after_undo(&mut self, now: Time, summary: &AckSummary) -> u32 {
        if self.stack.losses.emulates_sack() {
            return self.flight.detect_emulated(summary, self.repair.stage());
        }
        let found = self.flight.detect_on_ack(now, self.repair.stage());
        if let Some(suspect) = found.suspect {
            self.repair.await_suspect(now, suspect, &self.flight, &self.stack);
        }
        found.lost
    }

    /// Tests the reduction under way. If `ack` shows it to be spurious, the answer says whether loss marks are kept.
    fn test_reduction(&mut self, now: Time, ack: &Acknowledgement, summary: &AckSummary) -> (Option<LossMarks>, Next) {
        let stage = self.repair.stage();
        let advances = summary.acknowledged > 0;
        let late = self.repair.shows_delay(ack, self.flight.first(), &self.stack);
        let all_twice = self.repair.is_all_duplicated();
        let or_continue = |continues| if continues { Next::Continue } else { Next::Detect };
        match stage.phase() {
            // tcp_try_undo_recovery
            Phase::Recovery if stage.is_complete(self.flight.first()) => {
                ((late || all_twice).then_some(LossMarks::Kept), or_continue(self.is_held()))
            }
            // tcp_try_undo_partial: the path reorders by all that has arrived.
            Phase::Recovery if advances && late => {
                self.flight.observe_late(self.flight.first() - u64::from(summary.acknowledged));
                let waits = self.flight.retransmitted_count() > 0;
                if waits { (None, Next::Wait) } else { (Some(LossMarks::Cleared), Next::Detect) }
            }
            // tcp_try_undo_dsack: duplicate SACKs report all retransmissions.
            Phase::Open | Phase::Disorder | Phase::Recovery if all_twice => {
                self.flight.keep_reordering_window();
                (Some(LossMarks::Kept), Next::Detect)
            }
            Phase::Open | Phase::Disorder | Phase::Recovery | Phase::Reduced => (None, Next::Detect),
            // tcp_process_loss; without SACK tcp_try_undo_loss opens after F-RTO alone.
            Phase::Loss if advances && (late || all_twice) => {
                (Some(LossMarks::Cleared), or_continue(self.stack.losses.emulates_sack()))
            }
            Phase::Loss => {
                let spurious = self.shows_spurious_timeout(now, summary);
                (spurious.then_some(LossMarks::Cleared), or_continue(self.is_held()))
            }
        }
    }

    #[inline(never)]
    fn undo(&mut self, now: Time, marks: LossMarks, journal: &mut dyn Journal) {
        journal.note(Event::Spurious);
        self.flight.on_undo(marks);
        let restores = self.repair.may_restore();
        if !restores {
            self.settle_at_limit(now);
        }
        self.repair.revert();
        if restores {
            self.give_back(now);
        }
    }

    /// Undoes a reduction that goes on.
    #[inline(never)]
    fn undo_in_place(&mut self, now: Time, marks: LossMarks, journal: &mut dyn Journal) {
        journal.note(Event::Spurious);
        self.flight.on_undo(marks);
        self.repair.revert_in_place();
        if self.repair.may_restore() {
            self.give_back(now);
            let controller = self.driver.controller();
            self.repair.aim_at(controller.slow_start_threshold() as u32, self.driver.window());
        }
    }

    /// True if without SACK a repair has reached its end and goes on (in Linux tcp_is_non_sack_preventing_reopen).
    fn is_held(&self) -> bool {
        self.stack.losses.emulates_sack() && self.repair.stage().is_held(self.flight.first())
    }

    /// An ACK shows the last reduction to be spurious, on a stack that looks for that after losses.
    #[inline(never)]
    pub(super) fn undo_reduction(&mut self, now: Time, summary: &AckSummary, journal: &mut dyn Journal) {
        journal.note(Event::Spurious);
        self.flight.unmark_lost(summary);
        self.repair.revert();
        self.give_back(now);
    }
}
