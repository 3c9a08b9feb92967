//! The repair of losses: its phases and their end, F-RTO, the tail loss probe, and the timers of the sender.

mod deadlines;
mod forward_rto;
mod prr;
mod recovery;
mod spurious;
mod stage;
mod tail_probe;
#[cfg(test)]
mod tests;
mod timers;

use control::Ack;
use units::{SenderCounters, Span, Time};

use self::forward_rto::ForwardRto;
use self::prr::Prr;
use self::recovery::Recovery;
use self::tail_probe::{Fate, TailProbe};
use self::timers::Timers;
use super::flight::Flight;
use crate::segment::Acknowledgement;
use crate::{Marks, Reduction, Stack};

pub(super) use self::deadlines::Due;
pub use self::stage::Phase;
pub(super) use self::stage::Stage;

/// The repair of a sender. State that every ACK touches comes first.
#[repr(C)]
pub(super) struct Repair {
    timers: Timers,
    recovery: Recovery,
    probe: TailProbe,
    forward_rto: ForwardRto,
    /// Without segments sent first and segments deemed lost, which the flight counts. Events are rare beside ACKs, so
    /// their counters have cache lines of their own, from the first event on.
    counters: Option<Box<SenderCounters>>,
    duplicate_sacks: u32,
    /// How long the clock whose ticks timers wait for had run at the start of the run.
    uptime: Span,
}

impl Repair {
    /// Nothing has been sent yet.
    pub(super) fn new() -> Self {
        Self {
            timers: Timers::default(),
            recovery: Recovery::default(),
            probe: TailProbe::default(),
            forward_rto: ForwardRto::default(),
            counters: None,
            duplicate_sacks: 0,
            uptime: Span::ZERO,
        }
    }

    /// The clock whose ticks timers wait for has run for `uptime` at the start of the run.
    pub(super) fn up_for(&mut self, uptime: Span) {
        self.uptime = uptime;
    }

    /// The reduction under way.
    #[inline]
    pub(super) fn stage(&self) -> Stage {
        self.recovery.stage()
    }

    #[inline]
    pub(super) fn phase(&self) -> Phase {
        self.recovery.phase()
    }

    /// Segments that may be in flight now, with a window of `window`.
    #[inline]
    pub(super) fn limit(&self, window: u32) -> u32 {
        self.recovery.limit(window)
    }

    /// The window comes down to `window` after idle time. True if a reduction under way limits the window, and its end
    /// brings the window that it aims at.
    pub(super) fn lower_limit(&mut self, window: u32) -> bool {
        self.recovery.lower_limit(window)
    }

    pub(super) fn counters(&self) -> SenderCounters {
        self.counters.as_deref().copied().unwrap_or_default()
    }

    /// The counters, to which an event adds.
    fn count(&mut self) -> &mut SenderCounters {
        self.counters.get_or_insert_default()
    }

    /// True if the reduction under way ends with the cumulative point at `first`.
    #[inline(always)]
    pub(super) fn is_over(&self, first: u64, stack: &Stack) -> bool {
        let lasts = match self.recovery.phase() {
            // Until the segment with CWR is acknowledged.
            Phase::Reduced => stack.growth.recovery_end_grows,
            // Until something above is acknowledged (in Linux tcp_try_undo_recovery, after RFC 6582).
            _ => stack.losses.emulates_sack(),
        };
        if lasts { self.recovery.is_announced(first) } else { self.stage().is_complete(first) }
    }

    /// True if an echo with the cumulative point at `first` begins a reduction.
    #[inline]
    pub(super) fn answers_echo(&self, first: u64, stack: &Stack) -> bool {
        // Linux answers every echo in these states (tcp_try_to_open). A reduction lasts until the receiver knows of it,
        // unless it was undone or a recovery took its place.
        self.stage().is_open() && (stack.losses.is_linux() || self.recovery.is_announced(first))
    }

    /// An echo that the controller answers by itself is announced to the receiver, once for each window of data, up to
    /// `next` (RFC 8257, section 3.3, after RFC 3168).
    #[inline(never)]
    pub(super) fn announce_on_echo(&mut self, first: u64, next: u64, stack: &Stack) {
        if announces(stack) && self.stage().is_open() && self.recovery.is_announced(first) {
            self.recovery.announce_to(next);
        }
    }

    /// True if a timeout with the cumulative point at `first` is answered by the reduction under way.
    pub(super) fn answers_timeout(&self, first: u64) -> bool {
        self.recovery.answers_timeout(first)
    }

    /// True if nothing is being repaired or reduced.
    #[inline(always)]
    pub(super) fn is_idle(&self) -> bool {
        self.recovery.is_idle()
    }

    /// True if no probe is in flight, no timeout is tested, and `ack` shows no reduction to be spurious. It is no
    /// duplicate SACK, and `first` is the cumulative point before it.
    #[inline(always)]
    pub(super) fn is_settled(&self, ack: &Acknowledgement, first: u64, stack: &Stack) -> bool {
        let tells = stack.timestamps && ack.cumulative > first;
        let linux = stack.losses.undoes_first();
        let may_undo = || {
            let undo = self.recovery.undo();
            undo.is_some_and(|undo| {
                let open = || {
                    undo.were_all_reported()
                        || (self.stage().is_repairing() && self.recovery.is_retransmit_stamp_clear())
                };
                (linux && open()) || (tells && self.recovery.left_before(ack.echo, &stack.clock))
            })
        };
        let quiet = !self.probe.is_in_flight() && !self.forward_rto.is_on() && !self.recovery.has_dsack();
        quiet && !may_undo()
    }

    /// A recovery is spurious before its end: in Linux the ACK that shows this answers no echo.
    pub(super) fn ignore_echo(&mut self) {
        self.recovery.ignore_echo(true);
    }

    /// True if the echo of the ACK that is processed is not answered.
    pub(super) fn ignores_echo(&self) -> bool {
        self.recovery.ignores_echo()
    }

    /// The reduction was spurious.
    pub(super) fn revert(&mut self) {
        self.count().spurious += 1;
        self.timers.repair_waits = false;
        self.recovery.revert();
    }

    /// The reduction was spurious, but lasts on.
    pub(super) fn revert_in_place(&mut self) {
        self.count().spurious += 1;
        self.recovery.revert_in_place();
    }

    /// The flight comes to `window` segments at once, and the reduction aims at `target`.
    pub(super) fn aim_at(&mut self, target: u32, window: u32) {
        self.recovery.aim_at(target, window);
    }

    /// True if fast recovery goes on after it proved spurious.
    pub(super) fn was_spurious(&self) -> bool {
        self.recovery.phase() == Phase::Recovery && self.recovery.undo().is_none()
    }

    /// Segments that the reduction under way allows in flight, or `None` if none limits it.
    pub(super) fn reduced_to(&self) -> Option<u32> {
        self.recovery.reduced_to()
    }

    /// No retransmission is in flight.
    pub(super) fn clear_retransmit_stamp(&mut self) {
        self.recovery.clear_retransmit_stamp();
    }

    /// The fate of a tail loss probe (RFC 8985, section 7.4): the segment, if it repaired a loss that nothing else
    /// showed.
    #[inline]
    pub(super) fn settles_probe(&mut self, ack: &Acknowledgement, acknowledged: u32, first: u64) -> Option<u64> {
        if !self.probe.is_in_flight() {
            return None;
        }
        let pure = acknowledged == 0 && ack.sack.is_empty();
        match self.probe.settle(first, ack.duplicate, pure) {
            Fate::Repaired(repeated) => Some(repeated),
            Fate::Open | Fate::Settled => None,
        }
    }

    /// The segment that the probe in flight sent again.
    pub(super) fn repeated(&self) -> Option<u64> {
        self.probe.repeated()
    }

    /// True if a probe is to leave next. Then it does.
    #[inline]
    pub(super) fn take_probe(&mut self) -> bool {
        self.timers.take_probe()
    }

    /// The probe goes on with the next segment.
    pub(super) fn probe_next(&mut self) {
        self.timers.probe_next();
    }

    /// The probe has left: then the retransmission timer runs (RFC 8985, section 7.3).
    pub(super) fn on_probe(&mut self, now: Time, repeated: Option<u64>, flight: &Flight, stack: &Stack) {
        if repeated.is_some() {
            self.count().retransmitted_packets += 1;
        }
        self.probe.on_sent(flight.next(), repeated);
        self.timers.set_timeout(now, now + flight.timer(&stack.timers));
    }

    /// The cumulative point advances.
    #[inline]
    pub(super) fn on_progress(&mut self, credit: impl FnOnce() -> u32, window: f64) {
        self.recovery.on_progress(credit, window);
    }

    /// An ACK is processed: see [`Recovery::on_ack`]. `disorder`: segments above the cumulative point have arrived.
    /// `counts`: it counts for the reduction.
    #[inline]
    pub(super) fn end_ack(&mut self, window: u32, signal: &Ack, disorder: bool, progress: bool, counts: bool) {
        self.recovery.note_disorder(disorder);
        self.recovery.ignore_echo(false);
        let delivered = if counts { signal.newly_delivered } else { 0 };
        self.recovery.on_ack(window, delivered, signal.in_flight, progress);
    }

    /// Outside of repairs the time of the first retransmission is cleared once none is in flight (in Linux
    /// tcp_try_to_open).
    pub(super) fn settle_retransmit_stamp(&mut self, flight: &Flight) {
        if !self.stage().is_repairing() && !flight.has_any_retransmitted() {
            self.recovery.clear_retransmit_stamp();
        }
    }

    /// Segments above the cumulative point have arrived, or none have.
    pub(super) fn note_disorder(&mut self, disorder: bool) {
        self.recovery.note_disorder(disorder);
    }

    /// A repair begins, with `next` the next new segment: by fast recovery, or else by going back. In Linux only the
    /// retransmission of the oldest segment restarts the timer (tcp_xmit_retransmit_queue).
    pub(super) fn enter(&mut self, next: u64, fast: bool, stack: &Stack) {
        self.count().recoveries += 1;
        self.timers.restart(!stack.losses.is_linux());
        self.recovery.enter_repair(next, fast);
    }

    /// The window was reduced already for these losses: recovery goes on to the end of the flight, in Linux to the end
    /// of the reduction (tcp_enter_recovery).
    pub(super) fn extend(&mut self, flight: &Flight, stack: &Stack) {
        let end = if stack.losses.is_linux() { self.recovery.point() } else { flight.next() };
        self.recovery.extend(end, flight.in_flight());
    }

    /// A timeout is repaired, which the reduction under way answered or not. `again`: it is no new reduction.
    pub(super) fn enter_loss(&mut self, now: Time, answered: bool, again: bool, flight: &Flight, stack: &Stack) {
        let undo = match (answered, again) {
            (false, _) => self.evidence(flight, stack, self.probe.repeated().is_some()),
            (true, true) => self.recovery.undo(), // with the reduction that answers it
            (true, false) => None,                // in FreeBSD TF_PREVVALID is cleared
        };
        // If no repair is under way except for timeouts in a row (RFC 5682, section 3.1, step 1, and tcp_enter_loss).
        let tests = match self.recovery.phase() {
            Phase::Recovery => false,
            Phase::Loss => answered,
            Phase::Open | Phase::Disorder | Phase::Reduced => true,
        };
        if tests && stack.forward_rto {
            self.forward_rto.begin(now);
        } else {
            self.forward_rto.end();
        }
        self.recovery.enter_loss(flight.next(), announces(stack), undo);
        self.probe.forget();
    }

    /// The timeout leaves `beside` segments in flight that do not count towards the window.
    pub(super) fn note_in_flight_at_timeout(&mut self, beside: u32) {
        self.recovery.note_in_flight_at_timeout(beside);
    }

    /// A timeout is counted.
    pub(super) fn count_timeout(&mut self) {
        self.count().timeouts += 1;
    }

    /// A reduction begins, for all that was sent so far.
    pub(super) fn begin(&mut self, next: u64, stack: &Stack) {
        self.recovery.begin(next, announces(stack));
        self.probe.forget();
    }

    /// The flight comes down on an ECN echo.
    pub(super) fn enter_reduction(&mut self) {
        self.recovery.enter_reduction();
    }

    /// The window has come down from `before` to `target`: the flight follows, with a retransmission first if one is
    /// `owed`.
    pub(super) fn limit_by(&mut self, reduction: Reduction, before: f64, target: f64, in_flight: u32, owed: bool) {
        self.recovery.limit_by(Prr::new(reduction, before, target, in_flight, owed));
    }

    /// RACK's timer has begun a recovery, with `in_flight` in flight.
    pub(super) fn on_reordering_timeout(&mut self, in_flight: u32) {
        self.recovery.on_reordering_timeout(in_flight);
    }

    /// True if the controller is notified that the reduction is over.
    pub(super) fn is_reported(&self) -> bool {
        self.recovery.is_reported()
    }

    /// Nothing is reduced any more.
    pub(super) fn leave(&mut self) {
        self.recovery.leave();
    }

    /// The reduction is complete: duplicates of the retransmissions may still come.
    pub(super) fn settle(&mut self) {
        self.recovery.settle();
    }

    /// From now on the flight grows from `start` segments by slow start.
    pub(super) fn ramp_from(&mut self, start: u32) {
        self.recovery.ramp_from(start);
    }

    /// A segment leaves.
    #[inline]
    pub(super) fn on_sent(&mut self) {
        self.recovery.on_sent();
    }

    /// A new segment leaves: whether it announces a reduction.
    #[inline]
    pub(super) fn on_new(&mut self) -> bool {
        self.timers.on_new();
        self.recovery.take_announcement()
    }

    /// Segment `sequence` leaves again. `oldest`: it is the first that is outstanding.
    pub(super) fn on_retransmission(&mut self, now: Time, sequence: u64, oldest: bool) {
        self.count().retransmitted_packets += 1;
        self.recovery.on_retransmission(now, sequence);
        // The oldest segment gets its full time again, as in BSD and Linux: RFC 6298 leaves it open.
        self.timers.restart(oldest);
    }

    /// A duplicate SACK arrives: whether it may be of a retransmission, as there were so many (in Linux since 5.8
    /// tcp_dsack_seen).
    pub(super) fn counts_duplicate(&mut self) -> bool {
        self.duplicate_sacks += 1;
        u64::from(self.duplicate_sacks) <= self.counters().retransmitted_packets
    }

    /// True if new segments leave in place of lost ones, to test a timeout or while those wait.
    #[inline]
    pub(super) fn sends_new(&self) -> bool {
        self.timers.repair_waits || self.forward_rto.sends_new()
    }

    /// Lost segments wait for the next ACK, or no more.
    #[inline]
    pub(super) fn wait_for_next(&mut self, waits: bool) {
        self.timers.repair_waits = waits;
    }

    /// Such a test has no segment to send, with `next` the next new one: it ends. Says whether it did.
    pub(super) fn ends_test(&mut self, next: u64) -> bool {
        let ends = self.forward_rto.sends_new() && next == self.recovery.point();
        if ends {
            self.forward_rto.end();
        }
        ends
    }

    /// Rules 3 and 4 of NextSeg (RFC 6675, section 4): the lowest hole that was not sent again, else, once in a
    /// recovery, the highest segment that was not SACKed. Says whether it is a hole.
    pub(super) fn last_resort(&mut self, now: Time, flight: &Flight) -> Option<(u64, bool)> {
        if let Some(hole) = flight.next_hole(self.recovery.high_retransmitted()) {
            self.recovery.on_retransmission(now, hole);
            self.count().retransmitted_packets += 1;
            return Some((hole, true));
        }
        self.recovery.no_hole_below(flight.highest_sacked().unwrap_or(0));
        let rescue = flight.last_unsacked().filter(|_| self.recovery.take_rescue())?;
        self.count().retransmitted_packets += 1;
        Some((rescue, false))
    }

    #[cfg(test)]
    pub(super) fn is_probing(&self) -> bool {
        self.timers.is_probe_next()
    }

    /// True if something else than the window limits the flight.
    #[cfg(test)]
    pub(super) fn is_limited(&self) -> bool {
        self.recovery.has_prr()
    }

    /// Segments that a timeout left in flight, beside the window.
    #[cfg(test)]
    pub(super) fn in_flight_at_timeout(&self) -> u32 {
        self.recovery.in_flight_at_timeout()
    }
}

/// True if reductions are announced to the receiver (CWR, RFC 3168).
fn announces(stack: &Stack) -> bool {
    matches!(stack.marks, Marks::Echoed { .. })
}
