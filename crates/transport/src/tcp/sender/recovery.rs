//! What a loss event or an ECN echo leads to: fast recovery, go-back-N or a plain reduction, and its end.

use control::Loss;
use units::Time;

use super::{Phase, Sender, Undo};
use crate::Reduction;
use crate::journal::{Event, Journal};
use crate::tcp::prr::Episode;

impl Sender {
    /// Fast recovery begins, or without it go-back-N. If the window is already coming down for an ECN echo of this window of data,
    /// it goes on from there.
    pub(super) fn enter_recovery(&mut self, now: Time, in_flight: u32, journal: &mut dyn Journal) {
        let already_reduced = self.phase == Phase::Reduced;
        self.recover = self.board.next();
        self.counters.recoveries += 1;
        self.timer_stale = true;
        if self.options.fast_recovery {
            self.phase = Phase::Recovery;
        } else {
            self.go_back();
        }
        if already_reduced {
            self.recovery_point = self.recover;
            return;
        }
        let window = self.controller.window();
        journal.note(Event::LossEvent { window });
        let newly_lost = std::mem::take(&mut self.untold_losses);
        let loss = self.loss(in_flight, newly_lost, false, now);
        self.tell(now, |controller, cx| controller.on_loss(cx, &loss));
        if self.options.fast_recovery {
            self.begin_reduction(window, true);
        } else {
            self.note_reduction();
        }
        self.undo = self.options.undo.then(|| Undo::from(self.board.first()));
    }

    /// Everything outstanding is lost, and what limits its repair is the window alone (4.3BSD-Tahoe).
    fn go_back(&mut self) {
        self.phase = Phase::Loss;
        self.goes_back = true;
        self.episode = None;
        self.untold_losses += self.lose_outstanding();
    }

    /// Everything outstanding is lost. Returns how many segments that marks.
    pub(super) fn lose_outstanding(&mut self) -> u32 {
        if !self.options.sack {
            self.board.clear_duplicates();
        }
        let lost = self.board.lose_all();
        self.counters.lost += u64::from(lost);
        self.timers.reordering_at = Time::NEVER;
        lost
    }

    /// The window comes down on an ECN echo.
    pub(super) fn enter_reduction(&mut self, now: Time, in_flight: u32, journal: &mut dyn Journal) {
        let window = self.controller.window();
        journal.note(Event::CongestionEcho { window });
        let marks =
            control::Marks { in_flight, acknowledged_to: self.board.first(), sent_to: self.board.next(), at: now };
        self.tell(now, |controller, cx| controller.on_ecn(cx, &marks));
        self.phase = Phase::Reduced;
        self.begin_reduction(window, false);
        if self.board.outstanding() == 0 {
            self.leave_reduction(now, journal);
        }
    }

    /// The controller has just reduced the window from `before`: the flight follows.
    fn begin_reduction(&mut self, before: f64, retransmits: bool) {
        self.note_reduction();
        let (target, in_flight) = (self.controller.window(), self.board.in_flight());
        self.episode = Some(Episode::new(self.options.reduction, before, target, in_flight, retransmits));
    }

    /// What every reduction has in common: it holds for the data sent so far, the receiver is told, and what led to earlier ones
    /// is settled.
    pub(super) fn note_reduction(&mut self) {
        self.recovery_point = self.board.next();
        self.announce_reduction = self.options.ecn;
        self.episode = None;
        self.ramp = None;
        self.undo = None;
        self.probe = None;
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
        let ramps = self.phase != Phase::Loss && self.options.reduction == Reduction::Pipe;
        self.phase = Phase::Open;
        self.episode = None;
        self.tell(now, |controller, cx| controller.on_recovered(cx));
        self.board.shrink();
        let start = self.board.in_flight().max(1) + 1;
        if ramps && start < self.window {
            self.ramp = Some(start);
        }
    }
}
