//! The steps after a loss event, an ECN echo or a timer: fast recovery, go-back-N or a plain reduction, and its end.
//! Also the reduction of a window that the application does not use.

use control::{Ack, Loss, Marks, Restart};
use units::{Span, Time};

use super::{Blocked, Sender};
use crate::journal::{Event, Journal};
use crate::tcp::flight::AckSummary;
use crate::tcp::repair::{Due, Phase};
use crate::{IdleRestart, Reduction, Retransmits, WindowValidation};

/// A mark leaves at least so many segments (RFC 8511, section 3).
const LEFT_BY_MARK: f64 = 2.0;

impl Sender {
    /// Deadlines have passed: handles those due at `now`. Afterwards poll what to transmit.
    pub fn on_timeout(&mut self, now: Time, journal: &mut dyn Journal) {
        self.output.look_again();
        let departs = self.output.blocked() == Blocked::Pace && self.output.departure() <= now;
        let writes = self.backlog.next_write().is_some_and(|at| at <= now);
        if self.repair.takes_suspect(now) {
            self.on_reordering_timeout(now, journal);
        }
        let wakes = self.driver.take_wake(now);
        if wakes {
            self.notify(now, |controller, cx| controller.on_timer(cx));
        }
        if self.repair.take_due(now, &self.flight, &self.stack) == Due::Timeout {
            self.on_retransmission_timeout(now, journal);
        }
        if !(departs || writes || wakes) {
            // A timer of the repair lets nothing else leave: a held train waits on.
            self.output.only_repairs();
        }
    }

    fn on_reordering_timeout(&mut self, now: Time, journal: &mut dyn Journal) {
        self.output.only_repairs();
        self.repair.wait_for_next(false);
        let in_flight = self.flight.in_flight();
        let found = self.flight.detect_by_time(now, self.repair.stage());
        if self.stack.timers.tick.is_zero() {
            self.repair.await_suspect(now, found.suspect.flatten(), &self.flight, &self.stack);
        }
        self.repair.end_reordering(&self.stack);
        self.note_lost(found.lost, self.flight.first(), journal);
        self.report_segments(now);
        if found.lost > 0 && self.repair.phase() != Phase::Recovery {
            self.enter_recovery(now, in_flight, journal);
            self.repair.on_reordering_timeout(self.flight.in_flight());
        }
    }

    /// True if the ACK advances to a segment that was SACKed: in Linux the phase stays, no loss is looked for, and the
    /// timeout comes soon (tcp_check_sack_reneging).
    #[inline(always)]
    pub(super) fn shows_reneging(&self, summary: &AckSummary) -> bool {
        summary.acknowledged > 0 && self.flight.shows_reneging() && self.stack.losses.is_linux()
    }

    /// The receiver has discarded what it SACKed: only the reduction under way counts the ACK.
    #[cold]
    #[inline(never)]
    pub(super) fn wait_for_discarded(&mut self, now: Time, signal: &Ack) {
        self.repair.end_ack(self.driver.window(), signal, self.is_disordered(), true, true);
        self.repair.await_reneging(now, &self.flight);
    }

    /// RFC 6298, 5.4 to 5.6: everything is deemed lost, with RACK except recent segments. The window is the
    /// controller's answer to a timeout, the timer backs off.
    fn on_retransmission_timeout(&mut self, now: Time, journal: &mut dyn Journal) {
        self.output.expire(now);
        self.repair.wait_for_next(false);
        let answered = self.repair.answers_timeout(self.flight.first());
        if !answered && self.stack.losses.undoes_first() {
            self.settle_at_limit(now);
        }
        let window = self.driver.controller().window();
        let in_flight = self.flight.in_flight();
        let again = answered && !self.stack.timers.every_timeout_reduces;
        if self.repair.stage().is_open() {
            self.flight.doubt_reordering(&self.stack);
        }
        let recent =
            if self.flight.forget_discarded() { Time::NEVER } else { self.flight.recent_since(now, &self.stack) };
        let lost = self.flight.lose_outstanding(recent, &self.stack, false);
        self.repair.forget_suspects();
        self.report_segments(now);
        self.repair.count_timeout();
        if !answered {
            self.repair.remember_threshold(self.threshold_at_reduction());
        }
        journal.note(Event::Timeout { window });
        let loss = self.loss(in_flight, lost, again, now);
        self.notify(now, |controller, cx| controller.on_timeout(cx, &loss));
        self.output.restart_clock(now);
        self.repair.enter_loss(now, answered, again, &self.flight, &self.stack);
        self.keep_recent(now);
        self.flight.back_off();
    }

    /// Segments that left too recently to be deemed lost are added to the window of a controller that starts slowly (in
    /// Linux tcp_enter_loss). They do not count towards the window of any other.
    fn keep_recent(&mut self, now: Time) {
        let mut beside = self.flight.in_flight();
        if beside == 0 {
            return;
        }
        self.notify(now, |controller, _| {
            if let Some(reno) = controller.reno() {
                reno.window += f64::from(std::mem::take(&mut beside));
            }
        });
        self.repair.note_in_flight_at_timeout(beside);
    }

    /// Fast recovery begins, or without it go-back-N. If the window is already coming down for an ECN echo of this
    /// window of data, it goes on from there.
    #[inline(never)]
    pub(super) fn enter_recovery(&mut self, now: Time, in_flight: u32, journal: &mut dyn Journal) {
        let already_reduced = self.repair.phase() == Phase::Reduced;
        let prior = self.threshold_at_reduction();
        let probed = self.repair.repeated().is_some();
        let fast = self.stack.losses.is_fast();
        self.repair.enter(self.flight.next(), fast, &self.stack);
        if self.stack.losses.retransmits() == Retransmits::Holes {
            let holes = self.flight.lose_holes();
            self.note_lost(holes, self.flight.first(), journal);
            self.report_segments(now);
        }
        if !fast {
            // Everything outstanding is lost, and the window alone limits its repair (4.3BSD-Tahoe).
            self.flight.lose_outstanding(Time::NEVER, &self.stack, true);
            self.repair.forget_suspects();
            self.report_segments(now);
        }
        if already_reduced {
            self.repair.extend(&self.flight, &self.stack);
            if self.stack.losses.is_linux() {
                self.repair.await_evidence(&self.flight, &self.stack, probed);
            }
            return;
        }
        let window = self.driver.controller().window();
        journal.note(Event::LossEvent { window });
        let newly_lost = self.flight.take_unreported();
        let loss = self.loss(in_flight, newly_lost, false, now);
        self.notify(now, |controller, cx| controller.on_loss(cx, &loss));
        if fast {
            self.begin_reduction(window, true);
        } else {
            self.repair.begin(self.flight.next(), &self.stack);
        }
        self.repair.remember_threshold(prior);
        self.repair.await_evidence(&self.flight, &self.stack, probed);
    }

    /// The least slow-start threshold that an undo of the reduction which begins now gives back: the present one, in
    /// Linux at least three quarters of the window unless that is being reduced (tcp_current_ssthresh).
    fn threshold_at_reduction(&self) -> u32 {
        let controller = self.driver.controller();
        let threshold = controller.slow_start_threshold() as u32;
        if self.stack.losses.is_linux() && !self.repair.stage().is_reducing() {
            threshold.max(three_quarters(controller.window() as u32))
        } else {
            threshold
        }
    }

    /// The reduction proved spurious, and its window is given back.
    pub(super) fn give_back(&mut self, now: Time) {
        let least = f64::from(self.repair.prior_threshold());
        let raises = self.stack.losses.is_linux() && self.repair.prior_threshold() < u32::MAX;
        self.notify(now, |controller, cx| {
            controller.on_spurious(cx);
            if raises && let Some(reno) = controller.reno() {
                reno.threshold = reno.threshold.max(least);
            }
        });
    }

    /// The window comes down on an ECN echo.
    #[inline(never)]
    pub(super) fn enter_reduction(&mut self, now: Time, in_flight: u32, journal: &mut dyn Journal) {
        let window = self.driver.controller().window();
        journal.note(Event::CongestionEcho { window });
        let (acknowledged_to, sent_to) = (self.flight.first(), self.flight.next());
        let marks = Marks { in_flight, acknowledged_to, sent_to, at: now };
        let kept = self.kept_on_mark(window);
        self.notify(now, |controller, cx| {
            controller.on_ecn(cx, &marks);
            if let Some(kept) = kept {
                controller.keep(kept);
            }
        });
        self.repair.enter_reduction();
        // Linux lets a segment leave at once here, too (tcp_cwnd_reduction). With nothing outstanding all must: no ACK
        // would let another leave.
        let linux = self.stack.reduction == Reduction::ProportionalRate;
        self.begin_reduction(window, linux || self.flight.outstanding() == 0);
        if self.flight.outstanding() == 0 && !self.stack.growth.recovery_end_grows {
            self.leave_reduction(now, journal);
        }
    }

    /// The least that a mark leaves of the window `before` it, if the stack says so (RFC 8511, section 3).
    fn kept_on_mark(&self, before: f64) -> Option<f64> {
        let share = self.stack.marks.kept();
        (share > 0.0).then(|| (before * share).floor().max(LEFT_BY_MARK).min(before))
    }

    /// The controller has just reduced the window from `before`: the flight follows, with a retransmission first if one
    /// is `owed`.
    fn begin_reduction(&mut self, before: f64, owed: bool) {
        self.repair.begin(self.flight.next(), &self.stack);
        if !self.driver.is_held_in_recovery() {
            return;
        }
        let target = self.driver.controller().window();
        self.repair.limit_by(self.stack.reduction, before, target, self.flight.in_flight(), owed);
    }

    /// The window becomes the limit of the flight, as the end of the reduction will not set it (in Linux both are
    /// `snd_cwnd`).
    pub(super) fn settle_at_limit(&mut self, now: Time) {
        let Some(limit) = self.repair.reduced_to() else { return };
        self.notify(now, |controller, _| {
            if let Some(reno) = controller.reno() {
                reno.window = f64::from(limit);
            }
        });
    }

    /// Leaves fast recovery, go-back-N or reduction.
    pub(super) fn leave_reduction(&mut self, now: Time, journal: &mut dyn Journal) {
        journal.note(Event::Recovered);
        // tcp_end_cwnd_reduction
        if self.stack.losses.undoes_first() && self.stack.undo && self.repair.was_spurious() {
            self.settle_at_limit(now);
        }
        let ramps = self.repair.phase() != Phase::Loss
            && self.stack.reduction == Reduction::Pipe
            && self.driver.is_held_in_recovery();
        self.repair.leave();
        self.notify(now, |controller, cx| controller.on_recovered(cx));
        self.output.restart_clock(now);
        self.flight.shrink();
        let start = self.flight.in_flight().max(1) + 1;
        if ramps && start < self.driver.window() {
            self.repair.ramp_from(start);
        }
    }

    pub(super) fn loss(&self, in_flight: u32, newly_lost: u32, again: bool, now: Time) -> Loss {
        Loss {
            in_flight,
            newly_lost,
            again,
            acknowledged_to: self.flight.first(),
            sent_to: self.flight.next(),
            sent_at: self.flight.oldest_at().unwrap_or(now),
        }
    }

    /// The flow sends again after `idle`, perhaps longer than the timeout (RFC 5681, section 4.1, and RFC 2861).
    #[inline(never)]
    pub(super) fn restart_after(&mut self, now: Time, idle: Span) {
        let timeout = self.flight.timeout(&self.stack.timers);
        if idle <= timeout {
            return;
        }
        let restart = match self.stack.idle_restart {
            None => return,
            Some(IdleRestart::Rfc5681) => None,
            // Such a controller minds its window by itself.
            Some(IdleRestart::Linux) if self.driver.wants().governs_recovery => return,
            Some(IdleRestart::Linux) => {
                let halvings = (idle.as_nanos() - 1) / timeout.as_nanos().max(1);
                let before = self.repair.limit(self.driver.window());
                let window = before.checked_shr(halvings.min(32) as u32).unwrap_or(0);
                let window = window.max(before.min(self.stack.initial_window));
                if self.repair.lower_limit(window) {
                    return self.output.restart_usage(now);
                }
                Some(restart(before, window, true))
            }
        };
        self.notify_of(now, restart, |controller, cx| controller.on_idle_restart(cx));
        self.output.restart_usage(now);
    }

    /// As Linux (tcp_cwnd_application_limited): while the window is not filled and no ACK has let it grow for a
    /// timeout, it comes down halfway to the used part, but not to less than the initial one.
    #[inline]
    pub(super) fn note_unused_window(&mut self, now: Time) {
        let filled = match self.stack.growth.validation {
            // tcp_cwnd_validate before 3.16.
            WindowValidation::Flight => self.flight.outstanding() >= self.driver.window(),
            _ => self.is_window_limited(self.flight.in_flight()),
        };
        if filled {
            self.output.restart_usage(now);
        } else {
            self.lower_unused_window(now);
        }
    }

    #[inline(never)]
    fn lower_unused_window(&mut self, now: Time) {
        // tcp_cwnd_application_limited: the application or the receive window, not a full send buffer.
        let blocked = self.output.blocked();
        let counts = blocked.is_of_application() || blocked == Blocked::Receiver;
        if !counts || self.driver.wants().governs_recovery {
            return;
        }
        let timeout = self.flight.timeout(&self.stack.timers);
        let Some(used) = self.output.unused_for(timeout, now, self.flight.outstanding()) else { return };
        let (used, window) = (used.max(self.stack.initial_window), self.driver.window());
        if self.repair.phase() == Phase::Open && used < window {
            let restart = restart(window, window.midpoint(used), false);
            self.notify_of(now, Some(restart), |controller, cx| controller.on_idle_restart(cx));
        }
    }
}

/// A window of `window` segments, and a threshold of three quarters of the window `before`.
fn restart(before: u32, window: u32, idle: bool) -> Restart {
    Restart { window: f64::from(window), threshold: f64::from(three_quarters(before)), idle }
}

/// Three quarters of `window`, as Linux rounds them.
fn three_quarters(window: u32) -> u32 {
    window / 2 + window / 4
}
