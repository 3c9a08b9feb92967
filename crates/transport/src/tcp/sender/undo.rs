//! What an ACK tells of losses and of needless reductions with RACK, in the order of Linux (tcp_fastretrans_alert).

use units::Time;

use super::Sender;
use crate::journal::{Event, Journal};
use crate::segment::Acknowledgement;
use crate::tcp::flight::AckSummary;
use crate::tcp::repair::Phase;

/// What an ACK shows of the reduction under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Judgement {
    /// It stands.
    Stands,
    /// It stands, and a segment was late: what is lost waits for the next ACK.
    Waits,
    /// It was needless. What was deemed lost still is.
    Needless,
    /// It was needless, and nothing is lost.
    NothingLost,
    /// Without SACK: its end is reached, but it lasts until something above is acknowledged. The ACK tells no more.
    Held,
    /// It lasts on, but its window is given back; `nothing_lost`: and nothing is lost.
    HeldNeedless { nothing_lost: bool },
}

impl Sender {
    /// With RACK: learns from `ack` how the path reorders and doubles, and that it marks.
    #[inline]
    pub(super) fn hear(&mut self, ack: &Acknowledgement, summary: &AckSummary) {
        self.repair.note_duplicate(ack, summary, &self.flight);
        self.flight.observe_reordering(summary);
        if ack.congestion_echo {
            self.repair.forbid_undo();
        }
    }

    /// Then: reductions that `ack` shows to be needless, and losses. Says how many segments are newly deemed lost.
    pub(super) fn alert(
        &mut self,
        now: Time,
        ack: &Acknowledgement,
        summary: &AckSummary,
        journal: &mut dyn Journal,
    ) -> u32 {
        let within = self.repair.phase() == Phase::Recovery && !self.repair.stage().is_complete(self.flight.first());
        let judgement = self.judge(now, ack, summary);
        match judgement {
            Judgement::Stands | Judgement::Waits | Judgement::Held => {}
            Judgement::HeldNeedless { nothing_lost } => self.undo_within(now, nothing_lost, journal),
            Judgement::Needless => self.undo(now, false, journal),
            Judgement::NothingLost => self.undo(now, true, journal),
        }
        if within && matches!(judgement, Judgement::Needless | Judgement::NothingLost) {
            self.repair.ignore_echo();
        }
        if self.is_held() && !self.flight.awaits_what_was_resent() {
            self.repair.forget_resent();
        }
        let waits = judgement == Judgement::Waits;
        self.repair.wait_for_next(waits);
        let ended = waits || matches!(judgement, Judgement::Held | Judgement::HeldNeedless { .. });
        let newly_lost = if ended { 0 } else { self.look_at_departures(now, summary.acknowledged > 0) };
        self.note_lost(newly_lost, self.flight.first(), journal);
        self.report_segments(now);
        newly_lost
    }

    /// RACK looks at what has left; without SACK duplicates tell.
    fn look_at_departures(&mut self, now: Time, advanced: bool) -> u32 {
        if self.stack.losses.emulates_sack() {
            return self.flight.detect_emulated(advanced, self.repair.stage());
        }
        let found = self.flight.detect_on_ack(now, self.repair.stage());
        if let Some(suspect) = found.suspect {
            self.repair.await_suspect(now, suspect, &self.flight, &self.stack);
        }
        found.lost
    }

    fn judge(&mut self, now: Time, ack: &Acknowledgement, summary: &AckSummary) -> Judgement {
        let stage = self.repair.stage();
        let advances = summary.acknowledged > 0;
        let over = stage.is_complete(self.flight.first());
        let late = self.repair.shows_delay(ack, self.flight.first(), &self.stack);
        let (emulated, held) = (self.stack.losses.emulates_sack(), self.is_held());
        let all_twice = self.repair.is_all_duplicated();
        match stage.phase() {
            Phase::Reduced => Judgement::Stands,
            Phase::Open | Phase::Disorder if all_twice => self.judge_by_duplicates(),
            Phase::Open | Phase::Disorder => Judgement::Stands,
            // tcp_try_undo_recovery
            Phase::Recovery if held && (late || all_twice) => Judgement::HeldNeedless { nothing_lost: false },
            Phase::Recovery if held => Judgement::Held,
            Phase::Recovery if over && (late || all_twice) => Judgement::Needless,
            Phase::Recovery if over => Judgement::Stands,
            // tcp_try_undo_partial: the path reorders by all that has arrived.
            Phase::Recovery if advances && late => {
                self.flight.observe_late(self.flight.first() - u64::from(summary.acknowledged));
                if self.flight.retransmitted_count() > 0 { Judgement::Waits } else { Judgement::NothingLost }
            }
            Phase::Recovery if all_twice => self.judge_by_duplicates(),
            Phase::Recovery => Judgement::Stands,
            // tcp_process_loss; without SACK tcp_try_undo_loss opens after F-RTO alone.
            Phase::Loss if advances && (late || all_twice) && emulated => {
                Judgement::HeldNeedless { nothing_lost: true }
            }
            Phase::Loss if advances && (late || all_twice) => Judgement::NothingLost,
            Phase::Loss => match (self.shows_spurious_timeout(now, summary), held) {
                (true, true) => Judgement::HeldNeedless { nothing_lost: true },
                (true, false) => Judgement::NothingLost,
                (false, true) => Judgement::Held,
                (false, false) => Judgement::Stands,
            },
        }
    }

    /// tcp_try_undo_dsack: duplicate SACKs report all that was sent again.
    fn judge_by_duplicates(&mut self) -> Judgement {
        self.flight.wait_longer();
        Judgement::Needless
    }

    #[inline(never)]
    fn undo(&mut self, now: Time, nothing_lost: bool, journal: &mut dyn Journal) {
        journal.note(Event::Spurious);
        self.flight.look_again(nothing_lost);
        let restores = self.repair.may_restore();
        if !restores {
            self.settle_at_limit(now);
        }
        self.repair.revert();
        if restores {
            self.give_back(now);
        }
    }

    /// A reduction that lasts on was needless.
    #[inline(never)]
    fn undo_within(&mut self, now: Time, nothing_lost: bool, journal: &mut dyn Journal) {
        journal.note(Event::Spurious);
        self.flight.look_again(nothing_lost);
        self.repair.revert_within();
        if self.repair.may_restore() {
            self.give_back(now);
            let controller = self.driver.controller();
            self.repair.aim_at(controller.slow_start_threshold() as u32, self.driver.window());
        }
    }

    /// True if a repair has come to its end without SACK, and lasts on (in Linux tcp_is_non_sack_preventing_reopen).
    fn is_held(&self) -> bool {
        self.stack.losses.emulates_sack() && self.repair.stage().is_held(self.flight.first())
    }
}
