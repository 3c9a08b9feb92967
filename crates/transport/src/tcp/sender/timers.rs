//! Retransmission timer, tail loss probe and reordering timer.

use units::{Span, Time};

use super::{Phase, Sender, Undo};
use crate::journal::{Event, Journal};

/// What the retransmission timer does when it expires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Retransmission,
    TailLossProbe,
}

/// The deadlines of a sender.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timers {
    at: Time,
    kind: Kind,
    /// RACK: when the oldest suspect is lost unless it is heard of.
    pub(super) reordering_at: Time,
}

impl Default for Timers {
    fn default() -> Self {
        Self { at: Time::NEVER, kind: Kind::Retransmission, reordering_at: Time::NEVER }
    }
}

impl Timers {
    /// Whether the retransmission timer runs, rather than none or that of a probe.
    pub(super) fn awaits_timeout(&self) -> bool {
        self.at != Time::NEVER && self.kind == Kind::Retransmission
    }

    pub(super) fn next(&self) -> Time {
        self.at.min(self.reordering_at)
    }

    fn disarm(&mut self) {
        *self = Self::default();
    }
}

/// The least wait before a probe (RFC 8985 leaves it open; Linux waits two timer ticks).
const PROBE_MIN: Span = Span::from_millis(2);
/// What a receiver may delay the ACK of a lone segment by (RFC 8985, section 7.2, TLP.max_ack_delay).
const WORST_DELAYED_ACK: Span = Span::from_millis(200);

impl Sender {
    /// (Re)starts the timer if anything is outstanding: as tail loss probe where one may be sent (RFC 8985, section 7.2), else as
    /// retransmission timer (RFC 6298, 5.1 to 5.3).
    pub(super) fn arm(&mut self, now: Time) {
        if self.board.outstanding() == 0 {
            self.timers.disarm();
            return;
        }
        let timeout = self.rtt.timeout(&self.options);
        let may_probe = self.options.tail_loss_probe
            && self.probe.is_none()
            && !matches!(self.phase, Phase::Recovery | Phase::Loss)
            && self.board.sacked_count() == 0;
        if !may_probe {
            self.timers.at = now + timeout;
            self.timers.kind = Kind::Retransmission;
            return;
        }
        let mut wait = if self.rtt.has_sample() { self.rtt.smoothed * 2 } else { timeout };
        if self.board.outstanding() == 1 {
            wait += WORST_DELAYED_ACK;
        }
        self.timers.at = now + wait.max(PROBE_MIN).min(timeout);
        self.timers.kind = Kind::TailLossProbe;
    }

    /// Deadlines have passed: does what is due at `now`. Afterwards poll what to transmit.
    pub fn on_timeout(&mut self, now: Time, journal: &mut dyn Journal) {
        if self.timers.reordering_at <= now {
            self.on_reordering_timeout(now, journal);
        }
        if self.timers.at <= now {
            match self.timers.kind {
                Kind::TailLossProbe => {
                    self.timers.at = Time::NEVER;
                    self.timer_stale = true; // it restarts when the probe has left
                    self.probe_pending = true;
                }
                Kind::Retransmission => self.on_retransmission_timeout(now, journal),
            }
        }
    }

    fn on_reordering_timeout(&mut self, now: Time, journal: &mut dyn Journal) {
        self.timers.reordering_at = Time::NEVER;
        let in_flight = self.board.in_flight();
        let lost = self.detect_by_time(now);
        self.note_lost(lost, self.board.first(), journal);
        if lost > 0 && !matches!(self.phase, Phase::Recovery | Phase::Loss) {
            self.enter_recovery(now, in_flight, journal);
        }
    }

    /// RFC 6298, 5.4 to 5.6: everything is deemed lost, the window is the controller's answer to a timeout, the timer backs off.
    fn on_retransmission_timeout(&mut self, now: Time, journal: &mut dyn Journal) {
        let window = self.controller.window();
        let in_flight = self.board.in_flight();
        let reduced = matches!(self.phase, Phase::Reduced | Phase::Recovery | Phase::Loss);
        let again = reduced && self.board.first() < self.recovery_point;
        let lost = self.lose_outstanding();
        self.counters.timeouts += 1;
        self.untold_losses = 0; // lost again, or told now
        journal.note(Event::Timeout { window });
        let loss = self.loss(in_flight, lost, again, now);
        self.tell(now, |controller, cx| controller.on_timeout(cx, &loss));
        self.phase = Phase::Loss;
        self.goes_back = false;
        // A timeout within a reduction is undone with it.
        let undo = if again { self.undo } else { self.options.undo.then(|| Undo::from(self.board.first())) };
        self.note_reduction();
        self.undo = undo;
        self.recover = self.board.next();
        self.rtt.back_off();
        self.timer_stale = true;
    }
}
