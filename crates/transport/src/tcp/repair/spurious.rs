//! Evidence of spurious reductions: Eifel detection by timestamps (RFC 3522), and detection by duplicate SACKs
//! (RFC 3708).

use super::{Phase, Repair};
use crate::Stack;
use crate::segment::Acknowledgement;
use crate::tcp::flight::{AckSummary, Flight};

/// Retransmissions since a loss was detected.
#[derive(Clone, Copy, Debug)]
pub(super) struct Retransmissions {
    /// The cumulative point when loss was detected.
    from: u64,
    /// Those not yet reported as duplicates.
    unreported: u32,
    /// There are any.
    any: bool,
}

impl Retransmissions {
    /// Those under way when loss was detected at the cumulative point `from`.
    pub(super) fn from(from: u64, under_way: u32) -> Self {
        Self { from, unreported: under_way, any: under_way > 0 }
    }

    /// A segment leaves again.
    pub(super) fn on_sent(&mut self) {
        self.unreported += 1;
        self.any = true;
    }

    /// True if one left of which no duplicate was reported.
    pub(super) fn may_be_reported(&self) -> bool {
        self.unreported > 0
    }

    /// True if each of them was reported as a duplicate.
    pub(super) fn were_all_reported(&self) -> bool {
        self.any && self.unreported == 0
    }

    /// Segment `number` arrived twice. Returns true if by now each of them was unnecessary.
    pub(super) fn were_all_duplicates(&mut self, number: u64) -> bool {
        if number < self.from || self.unreported == 0 {
            return false;
        }
        self.unreported -= 1;
        self.unreported == 0
    }
}

/// RACK's reordering window (RFC 8985, section 6.2, step 4).
impl Repair {
    /// A duplicate SACK is to widen the window (RACK.dsack), unless it is of a probe, which no reordering led to.
    #[inline]
    pub(in crate::tcp) fn note_dsack(&mut self, ack: &Acknowledgement, flight: &Flight) {
        if ack.duplicate.is_some_and(|number| flight.has_seen_reordering() && self.probe.repeated() != Some(number)) {
            self.recovery.note_dsack(true);
        }
    }

    /// A duplicate SACK widens the window once something is delivered (in Linux tcp_rack_update_reo_wnd).
    #[inline]
    pub(in crate::tcp) fn update_reordering_window(&mut self, flight: &mut Flight, summary: &AckSummary) {
        if self.recovery.has_dsack() && flight.update_reordering_window(summary) {
            self.recovery.note_dsack(false);
        }
    }
}

/// Linux's order: evidence is collected, and lasts until it is asked for.
impl Repair {
    /// Counts the duplicate SACK of an ACK as evidence, if it reports a retransmission (in Linux tcp_check_dsack for
    /// segments acknowledged before, tcp_sacktag_one above).
    #[inline]
    pub(in crate::tcp) fn count_dsack(&mut self, ack: &Acknowledgement, summary: &AckSummary, flight: &Flight) {
        let Some(number) = ack.duplicate else { return };
        let known = number < flight.first() - u64::from(summary.acknowledged);
        if (known || summary.duplicate_was_retransmitted)
            && let Some(undo) = self.recovery.undo_mut()
        {
            undo.were_all_duplicates(number);
        }
    }

    /// True if duplicate SACKs have reported all that was sent again (in Linux undo_retrans is 0).
    #[inline]
    pub(in crate::tcp) fn is_all_duplicated(&self) -> bool {
        self.recovery.undo().is_some_and(|undo| undo.were_all_reported())
    }

    /// True if `ack`, which leaves the cumulative point at `first`, answers a segment that left before anything was
    /// sent again (in Linux tcp_packet_delayed).
    #[inline]
    pub(in crate::tcp) fn shows_delay(&self, ack: &Acknowledgement, first: u64, stack: &Stack) -> bool {
        // Without SACK a repair that waits for its end has forgotten when something left again.
        let tells = || stack.sack() || !self.stage().is_complete(first);
        self.recovery.undo().is_some()
            && ((self.recovery.is_retransmit_stamp_clear() && tells())
                || (stack.timestamps && self.recovery.left_before(ack.echo, &stack.clock)))
    }

    /// True if an undo gives the window back: there was no mark since (in Linux prior_ssthresh is not 0).
    pub(in crate::tcp) fn may_restore(&self) -> bool {
        self.recovery.may_restore()
    }

    /// The least slow-start threshold after an undo.
    pub(in crate::tcp) fn prior_threshold(&self) -> u32 {
        self.recovery.prior_threshold()
    }

    /// An undo gives the window back, and a threshold of at least `prior`.
    pub(in crate::tcp) fn remember_threshold(&mut self, prior: u32) {
        self.recovery.remember_threshold(prior);
    }

    /// A mark arrives: the window that was reduced is not given back.
    pub(in crate::tcp) fn forbid_undo(&mut self) {
        self.recovery.forbid_undo();
    }
}

impl Repair {
    /// Eifel detection by timestamps (RFC 3522) and detection by duplicate SACKs (RFC 3708).
    #[inline]
    pub(in crate::tcp) fn is_spurious(
        &mut self,
        ack: &Acknowledgement,
        summary: &AckSummary,
        flight: &Flight,
        stack: &Stack,
    ) -> bool {
        let echoes_original = self.echoes_original(ack, summary, stack);
        (echoes_original || ack.duplicate.is_some()) && self.shows_spurious(ack, echoes_original, flight)
    }

    #[inline(never)]
    fn shows_spurious(&mut self, ack: &Acknowledgement, echoes_original: bool, flight: &Flight) -> bool {
        let stage = self.stage();
        let partial = stage.phase() == Phase::Recovery && !stage.is_complete(flight.first());
        let Some(undo) = self.recovery.undo_mut() else { return false };
        if ack.duplicate.is_some_and(|sequence| undo.were_all_duplicates(sequence)) {
            return true;
        }
        // A segment is late and others are lost: retransmissions of those may still prove necessary.
        echoes_original && !(partial && flight.retransmitted_count() > 0)
    }

    /// True if the ACK, which moves the cumulative point, echoes a timestamp of before the first retransmission.
    #[inline]
    pub(in crate::tcp) fn echoes_original(&self, ack: &Acknowledgement, summary: &AckSummary, stack: &Stack) -> bool {
        let timestamps = stack.timestamps && summary.acknowledged > 0;
        self.recovery.undo().is_some() && timestamps && self.recovery.left_before(ack.echo, &stack.clock)
    }

    /// Evidence that may show a reduction which begins now to be spurious. Timestamps show nothing about segments that
    /// left since the first retransmission while a timeout is repaired. In Linux's order this holds while any
    /// retransmission is in flight (`retrans_stamp` stays).
    pub(super) fn evidence(&mut self, flight: &Flight, stack: &Stack, probed: bool) -> Option<Retransmissions> {
        if !stack.losses.undoes_first() && (self.recovery.phase() != Phase::Loss || self.recovery.undo().is_none()) {
            self.recovery.clear_retransmit_stamp();
        }
        // As tcp_init_undo in Linux: retransmissions in flight may be reported as duplicates, also a probe.
        let under_way = flight.retransmitted_count() + u32::from(probed);
        stack.undo.then(|| Retransmissions::from(flight.first(), under_way))
    }

    /// From now on the reduction may prove spurious.
    pub(in crate::tcp) fn await_evidence(&mut self, flight: &Flight, stack: &Stack, probed: bool) {
        // tcp_retrans_stamp_cleanup
        if stack.losses.undoes_first() && !flight.has_any_retransmitted() {
            self.recovery.clear_retransmit_stamp();
        }
        let evidence = self.evidence(flight, stack, probed);
        self.recovery.undo_on(evidence);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_retransmission_must_come_twice_for_all_to_be_unnecessary() {
        let mut sent = Retransmissions::from(10, 0);
        assert!(!sent.may_be_reported() && !sent.were_all_duplicates(10) && !sent.were_all_reported());
        sent.on_sent();
        sent.on_sent();
        assert!(sent.may_be_reported());
        // Segments acknowledged before are none of them.
        assert!(!sent.were_all_duplicates(9));
        assert!(!sent.were_all_duplicates(10) && sent.may_be_reported());
        assert!(sent.were_all_duplicates(12) && !sent.may_be_reported() && sent.were_all_reported());
        // One was under way when loss was detected.
        let mut sent = Retransmissions::from(10, 1);
        sent.on_sent();
        assert!(!sent.were_all_duplicates(10) && sent.were_all_duplicates(11));
    }
}
