//! Retransmission timer, tail loss probe and reordering timer.

use units::{Span, Time};

use crate::journal::{Event, Journal};
use crate::sender::{Phase, Sender, Undo};

/// What the retransmission timer does when it expires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Retransmission,
    TailLossProbe,
}

/// The deadlines of a sender.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timers {
    at: Time,
    kind: Kind,
    /// RACK: when the oldest suspect is lost unless it is heard of.
    pub(crate) reordering_at: Time,
}

impl Default for Timers {
    fn default() -> Self {
        Self { at: Time::NEVER, kind: Kind::Retransmission, reordering_at: Time::NEVER }
    }
}

impl Timers {
    pub(crate) fn is_armed(&self) -> bool {
        self.at != Time::NEVER
    }

    pub(crate) fn next(&self) -> Time {
        self.at.min(self.reordering_at)
    }

    pub(crate) fn disarm(&mut self) {
        *self = Self::default();
    }
}

/// The least wait before a probe (RFC 8985 leaves it open; Linux waits two timer ticks).
const PROBE_MIN: Span = Span::from_millis(2);
/// What a receiver may delay the ACK of a lone segment by (RFC 8985, section 7.2, TLP.max_ack_delay).
const WORST_DELAYED_ACK: Span = Span::from_millis(200);

impl Sender {
    /// (Re)starts the timer for the oldest outstanding segment: as tail loss probe where one may be sent (RFC 8985,
    /// section 7.2), else as retransmission timer (RFC 6298, 5.1 and 5.3).
    pub(crate) fn arm(&mut self, now: Time) {
        let may_probe = self.options.tail_loss_probe
            && self.probe.is_none()
            && self.phase == Phase::Open
            && self.rtt.has_sample()
            && self.board.sacked_count() == 0;
        if !may_probe {
            self.arm_retransmission(now);
            return;
        }
        let mut wait = self.rtt.smoothed * 2;
        if self.board.in_flight() <= 1 {
            wait += WORST_DELAYED_ACK;
        }
        let timeout = self.rtt.timeout(&self.options);
        if wait < timeout {
            self.timers.at = now + wait.max(PROBE_MIN);
            self.timers.kind = Kind::TailLossProbe;
        } else {
            self.arm_retransmission(now);
        }
    }

    pub(crate) fn arm_retransmission(&mut self, now: Time) {
        self.timers.at = now + self.rtt.timeout(&self.options);
        self.timers.kind = Kind::Retransmission;
    }

    /// Deadlines have passed: does what is due at `now`. Afterwards poll what to transmit.
    pub fn on_timeout(&mut self, now: Time, journal: &mut dyn Journal) {
        if self.timers.reordering_at <= now {
            self.on_reordering_timeout(now, journal);
        }
        if self.timers.at <= now {
            match self.timers.kind {
                Kind::TailLossProbe => {
                    self.probe_pending = true;
                    self.arm_retransmission(now);
                }
                Kind::Retransmission => self.on_retransmission_timeout(now, journal),
            }
        }
    }

    fn on_reordering_timeout(&mut self, now: Time, journal: &mut dyn Journal) {
        self.timers.reordering_at = Time::NEVER;
        let in_flight = self.board.in_flight();
        let lost = self.detect_by_time(now, journal);
        if lost > 0 && !matches!(self.phase, Phase::Recovery | Phase::Loss) {
            self.enter_recovery(now, in_flight, lost, journal);
            if let Some(episode) = &mut self.episode {
                episode.on_ack(0, self.board.in_flight(), false);
            }
        }
    }

    /// RFC 6298, 5.4 to 5.6: everything is deemed lost, the window is the controller's answer to a timeout, the timer backs off.
    fn on_retransmission_timeout(&mut self, now: Time, journal: &mut dyn Journal) {
        if self.board.outstanding() == 0 {
            self.timers.disarm();
            return;
        }
        let window = self.controller.window();
        let in_flight = self.board.in_flight();
        let repairing = matches!(self.phase, Phase::Recovery | Phase::Loss);
        let again = repairing && self.board.first() < self.recovery_point;
        if !self.options.sack {
            self.board.clear_duplicates();
        }
        let lost = self.board.lose_all();
        self.counters.lost += u64::from(lost);
        self.counters.timeouts += 1;
        journal.note(Event::Timeout { window });
        let loss = self.loss(in_flight, lost, again, now);
        self.tell(now, |controller, cx| controller.on_timeout(cx, &loss));
        self.phase = Phase::Loss;
        self.recovery_point = self.board.next();
        self.episode = None;
        self.ramp = None;
        self.probe = None;
        self.probe_pending = false;
        self.duplicates = 0;
        if !self.options.undo || again {
            self.undo = None;
        } else {
            self.undo = Some(Undo { from: self.board.first(), retransmissions: 0, first_at: None });
        }
        self.rtt.back_off();
        self.timers.reordering_at = Time::NEVER;
        self.arm_retransmission(now);
    }
}
