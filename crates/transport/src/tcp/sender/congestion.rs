//! What a loss event, an ECN echo or a timer leads to: fast recovery, go-back-N or a plain reduction, and its end.

use control::Loss;
use units::Time;

use super::transmit::{How, Leaving};
use super::{Blocked, Sender, timeout_of_oldest};
use crate::journal::{Event, Journal};
use crate::tcp::prr::Prr;
use crate::tcp::recovery::Phase;
use crate::tcp::spurious::Retransmissions;
use crate::tcp::timers::Kind;
use crate::{Marks, Reduction, Retransmits};

/// A mark leaves at least so many segments (RFC 8511, section 3).
const LEFT_BY_MARK: f64 = 2.0;

impl Sender {
    /// Deadlines have passed: does what is due at `now`. Afterwards poll what to transmit.
    pub fn on_timeout(&mut self, now: Time, journal: &mut dyn Journal) {
        self.train_is_ready = false;
        if self.timers.take_reordering(now) {
            self.on_reordering_timeout(now, journal);
        }
        if self.wake_at <= now {
            self.wake_at = Time::NEVER;
            self.notify(now, |controller, cx| controller.on_timer(cx));
        }
        match self.timers.take_expired(now, self.ticks) {
            // One probe at a time: then it is the turn of the oldest segment's timeout.
            Some(Kind::TailLossProbe) if self.probe.is_in_flight() => {
                let due = timeout_of_oldest(&self.board, now, self.rtt.timeout(&self.stack.timers));
                self.timers.set_timeout(now, due.max(now));
            }
            Some(Kind::TailLossProbe) => self.probe.expire(),
            Some(Kind::Retransmission) => self.on_retransmission_timeout(now, journal),
            None => {}
        }
    }

    fn on_reordering_timeout(&mut self, now: Time, journal: &mut dyn Journal) {
        let in_flight = self.board.in_flight();
        let lost = self.detect_by_time(now);
        self.note_lost(lost, self.board.first(), journal);
        self.report_segments(now);
        if lost > 0 && self.recovery.phase() != Phase::Recovery {
            self.enter_recovery(now, in_flight, journal);
        }
    }

    /// RFC 6298, 5.4 to 5.6: everything is deemed lost, with RACK but for what left recently; the window is the
    /// controller's answer to a timeout, the timer backs off.
    fn on_retransmission_timeout(&mut self, now: Time, journal: &mut dyn Journal) {
        let window = self.controller.window();
        let in_flight = self.board.in_flight();
        let answered = self.recovery.answers_timeout(self.board.first());
        let again = answered && !self.stack.timers.every_timeout_reduces;
        let recent = if self.stack.losses.is_rack() { self.board.recent_since(now) } else { Time::NEVER };
        let lost = self.lose_outstanding(recent);
        self.report_segments(now);
        self.counters.timeouts += 1;
        self.unreported_losses = 0; // lost again, or reported now
        journal.note(Event::Timeout { window });
        let loss = self.loss(in_flight, lost, again, now);
        self.notify(now, |controller, cx| controller.on_timeout(cx, &loss));
        self.usage.restart_clock(now);
        let undo = match (answered, again) {
            (false, _) => self.evidence(),
            (true, true) => self.recovery.undo(), // with the reduction that answers it
            (true, false) => None,                // in FreeBSD TF_PREVVALID is cleared
        };
        // Where no repair is under way but that of timeouts in a row (RFC 5682, section 3.1, step 1).
        let tests = match self.recovery.phase() {
            Phase::Recovery => false,
            Phase::Loss => self.forward_rto.is_unanswered(),
            Phase::Open | Phase::Disorder | Phase::Reduced => self.stack.forward_rto,
        };
        if tests {
            self.forward_rto.begin(now);
        } else {
            self.forward_rto.end();
        }
        self.recovery.enter_loss(self.board.next(), self.announces(), undo, self.board.in_flight());
        self.probe.forget();
        self.rtt.back_off();
    }

    /// Fast recovery begins, or without it go-back-N. If the window is already coming down for an ECN echo of this
    /// window of data, it goes on from there.
    #[inline(never)]
    pub(super) fn enter_recovery(&mut self, now: Time, in_flight: u32, journal: &mut dyn Journal) {
        let already_reduced = self.recovery.phase() == Phase::Reduced;
        let fast = self.stack.losses.is_fast();
        self.counters.recoveries += 1;
        self.timers.restart(true);
        self.recovery.enter_repair(self.board.next(), fast);
        if fast && self.retransmits_holes() {
            let holes = self.board.detect_by_count(1);
            self.note_lost(holes, self.board.first(), journal);
            self.report_segments(now);
        }
        if !fast {
            // Everything outstanding is lost, and what limits its repair is the window alone (4.3BSD-Tahoe).
            self.unreported_losses += self.lose_outstanding(Time::NEVER);
            self.report_segments(now);
        }
        if already_reduced {
            return self.recovery.extend(self.board.next(), self.board.in_flight());
        }
        let window = self.controller.window();
        journal.note(Event::LossEvent { window });
        let newly_lost = std::mem::take(&mut self.unreported_losses);
        let loss = self.loss(in_flight, newly_lost, false, now);
        self.notify(now, |controller, cx| controller.on_loss(cx, &loss));
        if fast {
            self.begin_reduction(window, true);
        } else {
            self.note_reduction();
        }
        self.recovery.undo_on(self.evidence());
    }

    /// Whether segments that are not known to be lost may leave again where no new one may (NextSeg, RFC 6675).
    pub(super) fn resorts(&self) -> bool {
        let asked = self.stack.losses.retransmits() == Retransmits::NextSeg;
        asked && self.recovery.phase() == Phase::Recovery && self.blocked != Blocked::Window
    }

    /// Rules 3 and 4 of NextSeg (RFC 6675, section 4): the lowest hole that was not sent again, else, once in a
    /// recovery, the highest segment that was not SACKed.
    #[inline(never)]
    pub(super) fn last_resort(&mut self, now: Time, journal: &mut dyn Journal) -> Option<Leaving> {
        if self.pacer.blocks(now) {
            self.blocked = Blocked::Pace;
            return None;
        }
        let sequence = if let Some(hole) = self.board.next_hole(self.recovery.resent_to()) {
            self.board.resend_hole(hole, now, self.delivery.state());
            self.recovery.on_retransmission(now, hole);
            hole
        } else {
            self.recovery.no_hole_below(self.board.highest_sacked().unwrap_or(0));
            let rescue = self.board.last_unsacked().filter(|_| self.recovery.take_rescue())?;
            self.board.resend(rescue, now, self.delivery.state(), false);
            rescue
        };
        self.counters.retransmitted += 1;
        journal.note(Event::Retransmission { sequence });
        Some(Leaving { sequence, how: How::Again })
    }

    /// Whether in recovery everything below the highest SACKed segment counts as lost.
    pub(super) fn retransmits_holes(&self) -> bool {
        self.stack.losses.retransmits() == Retransmits::Holes
    }

    /// What may show that a reduction which begins now is spurious. While a timeout is repaired, timestamps tell
    /// nothing of what left since (in Linux `retrans_stamp` stays).
    fn evidence(&self) -> Option<Retransmissions> {
        let first = self.board.first();
        let earlier = self.recovery.undo().filter(|_| self.recovery.phase() == Phase::Loss);
        self.stack.undo.then(|| earlier.map_or_else(|| Retransmissions::from(first), |one| one.anew(first)))
    }

    /// Everything outstanding that left up to `recent` is lost. Returns how many segments that marks.
    fn lose_outstanding(&mut self, recent: Time) -> u32 {
        if !self.stack.sack() {
            self.board.clear_duplicates();
        }
        let lost = self.board.lose_all(recent);
        self.lost += u64::from(lost);
        self.timers.set_reordering(None);
        lost
    }

    /// The window comes down on an ECN echo.
    #[inline(never)]
    pub(super) fn enter_reduction(&mut self, now: Time, in_flight: u32, journal: &mut dyn Journal) {
        let window = self.controller.window();
        journal.note(Event::CongestionEcho { window });
        let marks =
            control::Marks { in_flight, acknowledged_to: self.board.first(), sent_to: self.board.next(), at: now };
        let kept = self.kept_on_mark(window);
        self.notify(now, |controller, cx| {
            controller.on_ecn(cx, &marks);
            if let Some(kept) = kept {
                controller.keep(kept);
            }
        });
        self.recovery.enter_reduction();
        self.begin_reduction(window, false);
        if self.board.outstanding() == 0 {
            self.leave_reduction(now, journal);
        }
    }

    /// What a mark leaves of the window `before` it at least, if the sender says so (RFC 8511, section 3).
    fn kept_on_mark(&self, before: f64) -> Option<f64> {
        let share = self.stack.marks.kept();
        (share > 0.0).then(|| (before * share).floor().max(LEFT_BY_MARK).min(before))
    }

    /// The controller has just reduced the window from `before`: the flight follows.
    fn begin_reduction(&mut self, before: f64, retransmits: bool) {
        self.note_reduction();
        if self.wants.governs_recovery {
            return;
        }
        let (target, in_flight) = (self.controller.window(), self.board.in_flight());
        self.recovery.limit_by(Prr::new(self.stack.reduction, before, target, in_flight, retransmits));
    }

    /// Whether reductions are announced to the receiver (CWR, RFC 3168).
    fn announces(&self) -> bool {
        matches!(self.stack.marks, Marks::Echoed { .. })
    }

    /// A reduction begins, for all that was sent so far.
    pub(super) fn note_reduction(&mut self) {
        self.recovery.begin(self.board.next(), self.announces());
        self.probe.forget();
    }

    pub(super) fn loss(&self, in_flight: u32, newly_lost: u32, again: bool, now: Time) -> Loss {
        Loss {
            in_flight,
            newly_lost,
            again,
            acknowledged_to: self.board.first(),
            sent_to: self.board.next(),
            sent_at: self.board.sent_at(self.board.first()).unwrap_or(now),
        }
    }

    /// Leaves fast recovery, go-back-N or reduction.
    pub(super) fn leave_reduction(&mut self, now: Time, journal: &mut dyn Journal) {
        journal.note(Event::Recovered);
        let ramps = self.recovery.phase() != Phase::Loss
            && self.stack.reduction == Reduction::Pipe
            && !self.wants.governs_recovery;
        self.recovery.leave();
        self.notify(now, |controller, cx| controller.on_recovered(cx));
        self.usage.restart_clock(now);
        self.board.shrink();
        let start = self.board.in_flight().max(1) + 1;
        if ramps && start < self.window {
            self.recovery.ramp_from(start);
        }
    }
}
