//! The running reduction: its phase, its end, and how many segments may be in flight meanwhile.

#[cfg(test)]
mod tests;

use units::Time;

use super::prr::Prr;
use super::spurious::Retransmissions;
use super::stage::{Phase, Stage};
use crate::Clock;

/// Cause of a repair without fast recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Beginning {
    /// A loss event: the controller is notified of its end.
    LossEvent,
    /// A timeout, the last of them if there were more. `answered`: data was acknowledged since (in Linux
    /// `icsk_retransmits` is zero).
    Timeout { answered: bool },
}

/// The reduction of a sender that runs, or the last one.
#[derive(Clone, Debug)]
pub(super) struct Recovery {
    phase: Phase,
    /// In phase `Loss`: how that began.
    beginning: Beginning,
    /// The next segment announces a reduction to the receiver (CWR, RFC 3168).
    announce: bool,
    /// After recovery: the flight may grow to the window only by slow start (RFC 6582, section 3.2, step 3).
    ramp: Option<u32>,
    /// Segments that a timeout left in flight, as they were sent too recently to be deemed lost. They do not count
    /// towards the window.
    in_flight_at_timeout: u32,
    /// It is over when everything below is acknowledged (RecoveryPoint, RFC 6675).
    point: u64,
    /// Boxed: a flow has it only while it reduces.
    prr: Option<Box<Prr>>,
    /// Without SACK, duplicate ACKs up to here may stem from retransmissions (`recover`, RFC 6582).
    recover: u64,
    /// Evidence that may show it to be spurious, so that it is undone.
    undo: Option<Retransmissions>,
    /// The least slow-start threshold after an undo (in Linux `prior_ssthresh`). With 0 an undo restores neither the
    /// threshold nor the window.
    prior_threshold: u32,
    /// The echo of the ACK that is processed is not answered.
    ignores_echo: bool,
    /// A duplicate SACK is to widen RACK's reordering window (RACK.dsack, in Linux `rack.dsack_seen`).
    dsack: bool,
    /// When the first of the retransmissions left that may be in flight, or [`Time::NEVER`] if none is (in Linux
    /// `retrans_stamp`).
    retransmit_stamp: Time,
    /// In this recovery: retransmitted segments are below (HighRxt + 1, RFC 6675).
    high_retransmitted: u64,
    /// The highest segment was sent again on suspicion (RescueRxt, RFC 6675).
    rescued: bool,
}

impl Default for Recovery {
    fn default() -> Self {
        Self {
            phase: Phase::Open,
            beginning: Beginning::LossEvent,
            announce: false,
            ramp: None,
            in_flight_at_timeout: 0,
            point: 0,
            prr: None,
            recover: 0,
            undo: None,
            prior_threshold: 0,
            ignores_echo: false,
            dsack: false,
            retransmit_stamp: Time::NEVER,
            high_retransmitted: 0,
            rescued: false,
        }
    }
}

impl Recovery {
    pub(super) fn phase(&self) -> Phase {
        self.phase
    }

    #[inline]
    pub(super) fn stage(&self) -> Stage {
        Stage { phase: self.phase, point: self.point, recover: self.recover }
    }

    /// True if a timeout, with the cumulative point at `first`, is answered by the reduction under way (in Linux
    /// tcp_enter_loss). Not where data was acknowledged since the last timeout: the timer has not yet sent the oldest
    /// segment again (RFC 5681, section 3.1, equation 4).
    pub(super) fn answers_timeout(&self, first: u64) -> bool {
        match self.phase {
            Phase::Open | Phase::Disorder => false,
            Phase::Reduced | Phase::Recovery => !self.stage().is_complete(first),
            Phase::Loss => self.beginning == Beginning::Timeout { answered: false },
        }
    }

    /// True if the last reduction was announced to the receiver, whose cumulative point is `first` (RFC 3168, section
    /// 6.1.2).
    pub(super) fn is_announced(&self, first: u64) -> bool {
        first > self.point
    }

    /// True if nothing unusual goes on, and the window alone limits the flight.
    #[inline]
    pub(super) fn is_idle(&self) -> bool {
        self.phase == Phase::Open && self.prr.is_none()
    }

    /// Segments that may be in flight now, with a window of `window`.
    pub(super) fn limit(&self, window: u32) -> u32 {
        match (&self.prr, self.ramp) {
            (Some(prr), _) => prr.limit(),
            (None, Some(ramp)) => ramp.min(window),
            (None, None) => window + self.in_flight_at_timeout,
        }
    }

    /// No more than `window` segments may be in flight in this reduction. Says whether there is one.
    pub(super) fn lower_limit(&mut self, window: u32) -> bool {
        let limited = self.prr.as_mut().map(|prr| prr.lower_limit(window));
        limited.is_some()
    }

    /// True if something else than the window limits the flight.
    #[cfg(test)]
    pub(super) fn has_prr(&self) -> bool {
        self.prr.is_some()
    }

    /// Segments that a timeout left in flight, beside the window.
    #[cfg(test)]
    pub(super) fn in_flight_at_timeout(&self) -> u32 {
        self.in_flight_at_timeout
    }

    /// A segment leaves.
    pub(super) fn on_sent(&mut self) {
        if let Some(prr) = &mut self.prr {
            prr.on_sent();
        }
    }

    /// Segment `sequence` leaves again.
    pub(super) fn on_retransmission(&mut self, now: Time, sequence: u64) {
        self.high_retransmitted = self.high_retransmitted.max(sequence + 1);
        self.retransmit_stamp = self.retransmit_stamp.min(now);
        if let Some(undo) = &mut self.undo {
            undo.on_sent();
        }
    }

    /// True if no retransmission is in flight.
    pub(super) fn is_retransmit_stamp_clear(&self) -> bool {
        self.retransmit_stamp == Time::NEVER
    }

    /// True if an ACK that echoes the timestamp `echo` is for an original: that left before any retransmission, on the
    /// clock of timestamps.
    pub(super) fn left_before(&self, echo: Time, clock: &Clock) -> bool {
        // Asked of every ACK: the first question mostly answers it without a division.
        let since = self.retransmit_stamp;
        echo < since && since != Time::NEVER && clock.timestamp(echo) < clock.timestamp(since)
    }

    /// No retransmission is in flight.
    pub(super) fn clear_retransmit_stamp(&mut self) {
        self.retransmit_stamp = Time::NEVER;
    }

    /// True if an undo gives the window back.
    pub(super) fn may_restore(&self) -> bool {
        self.prior_threshold > 0
    }

    /// The least slow-start threshold after an undo.
    pub(super) fn prior_threshold(&self) -> u32 {
        self.prior_threshold
    }

    /// An undo gives the window back, and a threshold of at least `prior`.
    pub(super) fn remember_threshold(&mut self, prior: u32) {
        self.prior_threshold = prior.max(1);
    }

    /// An undo gives no window back.
    pub(super) fn forbid_undo(&mut self) {
        self.prior_threshold = 0;
    }

    /// The echo of the ACK that is processed is not answered, or is.
    pub(super) fn ignore_echo(&mut self, ignored: bool) {
        self.ignores_echo = ignored;
    }

    /// True if it is not.
    pub(super) fn ignores_echo(&self) -> bool {
        self.ignores_echo
    }

    /// A duplicate SACK is to widen RACK's reordering window, or has done so.
    pub(super) fn note_dsack(&mut self, pending: bool) {
        self.dsack = pending;
    }

    /// True if a duplicate SACK is to widen RACK's reordering window.
    #[inline]
    pub(super) fn has_dsack(&self) -> bool {
        self.dsack
    }

    /// From here on rule 3 of NextSeg looks for holes (RFC 6675, section 4).
    pub(super) fn high_retransmitted(&self) -> u64 {
        self.high_retransmitted
    }

    /// There is no hole below `sequence`: those that were lost are sent again by rule 1.
    pub(super) fn no_hole_below(&mut self, sequence: u64) {
        self.high_retransmitted = self.high_retransmitted.max(sequence);
    }

    /// True if rule 4 of NextSeg lets a segment leave on suspicion: it does so once.
    pub(super) fn take_rescue(&mut self) -> bool {
        !std::mem::replace(&mut self.rescued, true)
    }

    /// True if the next new segment announces a reduction. It does so once.
    pub(super) fn take_announcement(&mut self) -> bool {
        std::mem::take(&mut self.announce)
    }

    /// The cumulative point advanced by an ACK that counts `credit` segments, which lets the flight grow towards
    /// `window`.
    pub(super) fn on_progress(&mut self, credit: impl FnOnce() -> u32, window: f64) {
        if let Beginning::Timeout { answered } = &mut self.beginning {
            *answered = true;
        }
        if let Some(ramp) = self.ramp {
            let ramp = ramp + credit();
            self.ramp = (f64::from(ramp) < window).then_some(ramp);
        }
    }

    /// An ACK that newly delivers some leaves `in_flight`, with the controller's window at `window`: see
    /// [`Prr::on_ack`].
    pub(super) fn on_ack(&mut self, window: u32, newly_delivered: u32, in_flight: u32, progress: bool) {
        if let Some(prr) = &mut self.prr {
            prr.lower_to(window);
            prr.on_ack(newly_delivered, in_flight, progress);
        }
    }

    /// RACK's timer has begun it, with `in_flight` in flight.
    pub(super) fn on_reordering_timeout(&mut self, in_flight: u32) {
        if let Some(prr) = &mut self.prr {
            prr.on_timer(in_flight);
        }
    }

    /// Unless something is reduced, notes whether segments above the cumulative point have arrived.
    pub(super) fn note_disorder(&mut self, disorder: bool) {
        if self.stage().is_open() {
            self.phase = if disorder { Phase::Disorder } else { Phase::Open };
        }
    }

    /// Repair of a loss begins, with `next` the next new segment: by fast recovery, or else by going back.
    pub(super) fn enter_repair(&mut self, next: u64, fast: bool) {
        self.recover = next;
        if fast {
            self.phase = Phase::Recovery;
        } else {
            self.phase = Phase::Loss;
            self.beginning = Beginning::LossEvent;
            self.prr = None;
        }
    }

    /// The window was reduced already for these losses: recovery goes on to `next`, with a retransmission first.
    pub(super) fn extend(&mut self, next: u64, in_flight: u32) {
        self.point = next;
        self.forbid_undo();
        if let Some(prr) = &mut self.prr {
            prr.owe(in_flight);
        }
    }

    /// The flight comes down on an ECN echo.
    pub(super) fn enter_reduction(&mut self) {
        self.phase = Phase::Reduced;
    }

    /// The retransmission timer has expired. `undo` is evidence that may show this to be spurious.
    pub(super) fn enter_loss(&mut self, next: u64, ecn: bool, undo: Option<Retransmissions>) {
        self.phase = Phase::Loss;
        self.beginning = Beginning::Timeout { answered: false };
        let prior = self.prior_threshold;
        self.begin(next, ecn);
        self.prior_threshold = prior;
        self.undo = undo;
        self.recover = next;
    }

    /// The timeout leaves `beside` segments in flight that do not count towards the window.
    pub(super) fn note_in_flight_at_timeout(&mut self, beside: u32) {
        self.in_flight_at_timeout = beside;
    }

    /// The repair of a timeout goes on to `next`: new segments leave meanwhile.
    pub(super) fn move_point(&mut self, next: u64) {
        self.point = next;
    }

    /// The first number that was not sent when the last reduction began.
    pub(super) fn point(&self) -> u64 {
        self.point
    }

    /// Begins any reduction: it holds for the data sent so far, up to `next`, it is announced to the
    /// receiver where `ecn` is in use, and evidence of earlier ones is dropped.
    pub(super) fn begin(&mut self, next: u64, ecn: bool) {
        self.point = next;
        self.announce = ecn;
        self.prr = None;
        self.ramp = None;
        self.in_flight_at_timeout = 0;
        self.undo = None;
        self.forbid_undo();
        self.high_retransmitted = 0;
        self.rescued = false;
    }

    /// The next new segment announces a reduction made by the controller, for the data below `next`.
    pub(super) fn announce_to(&mut self, next: u64) {
        (self.point, self.announce) = (next, true);
    }

    /// Limits the flight until the reduction is over.
    pub(super) fn limit_by(&mut self, prr: Prr) {
        self.prr = Some(Box::new(prr));
    }

    /// Evidence that may show the reduction to be spurious.
    pub(super) fn undo(&self) -> Option<Retransmissions> {
        self.undo
    }

    pub(super) fn undo_mut(&mut self) -> Option<&mut Retransmissions> {
        self.undo.as_mut()
    }

    pub(super) fn undo_on(&mut self, evidence: Option<Retransmissions>) {
        self.undo = evidence;
    }

    /// The reduction is complete: evidence that it was spurious may still come of segments sent again.
    pub(super) fn settle(&mut self) {
        self.undo = self.undo.filter(Retransmissions::may_be_reported);
    }

    /// True if the controller is notified that the reduction is over: not after a timeout, which is over with the
    /// first ACK.
    pub(super) fn is_reported(&self) -> bool {
        self.phase != Phase::Loss || self.beginning == Beginning::LossEvent
    }

    /// Nothing is reduced any more.
    pub(super) fn leave(&mut self) {
        self.phase = Phase::Open;
        self.prr = None;
        self.in_flight_at_timeout = 0;
    }

    /// The reduction was spurious. If its window is given back, there is nothing to announce.
    pub(super) fn revert(&mut self) {
        self.leave();
        self.announce &= !self.may_restore();
        self.ramp = None;
        self.undo = None;
    }

    /// The reduction was spurious, but it lasts until its end.
    pub(super) fn revert_in_place(&mut self) {
        self.announce &= !self.may_restore();
        self.ramp = None;
        self.in_flight_at_timeout = 0;
        self.undo = None;
        if let Beginning::Timeout { answered } = &mut self.beginning {
            *answered = true;
        }
    }

    /// The flight comes to `window` segments at once, and its reduction aims at `target`.
    pub(super) fn aim_at(&mut self, target: u32, window: u32) {
        if let Some(prr) = &mut self.prr {
            prr.aim_at(target, window);
        }
    }

    /// Segments that may be in flight, or `None` if no reduction limits it.
    pub(super) fn reduced_to(&self) -> Option<u32> {
        self.prr.as_ref().map(|prr| prr.limit())
    }

    /// From now on the flight grows from `start` segments by slow start.
    pub(super) fn ramp_from(&mut self, start: u32) {
        self.ramp = Some(start);
    }
}
