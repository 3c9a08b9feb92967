//! Evidence of spurious reductions: Eifel detection by timestamps (RFC 3522), and detection by duplicate SACKs
//! (RFC 3708).

use units::Time;

use super::{Phase, Repair};
use crate::segment::Acknowledgement;
use crate::tcp::flight::{AckSummary, Flight};
use crate::{Clock, Stack};

/// Retransmissions since a loss was detected.
#[derive(Clone, Copy, Debug)]
pub(super) struct Retransmissions {
    /// The cumulative point when loss was detected.
    from: u64,
    /// When the first of them left; [`Time::NEVER`] before.
    first_at: Time,
    /// Those not yet reported as duplicates.
    unreported: u32,
}

impl Retransmissions {
    /// Those under way when loss was detected at the cumulative point `from`.
    pub(super) fn from(from: u64, under_way: u32) -> Self {
        Self { from, first_at: Time::NEVER, unreported: under_way }
    }

    /// Those under way at a further reduction, which begins at the cumulative point `from`; the first of all still
    /// counts.
    pub(super) fn anew(self, from: u64, under_way: u32) -> Self {
        Self { from, unreported: under_way, ..self }
    }

    /// A segment leaves again.
    pub(super) fn on_sent(&mut self, now: Time) {
        self.unreported += 1;
        self.first_at = self.first_at.min(now);
    }

    /// True if one left of which no duplicate was reported.
    pub(super) fn may_be_reported(&self) -> bool {
        self.unreported > 0
    }

    /// Segment `number` arrived twice. Returns true if by now each of them was unnecessary.
    pub(super) fn were_all_duplicates(&mut self, number: u64) -> bool {
        if number < self.from || self.unreported == 0 {
            return false;
        }
        self.unreported -= 1;
        self.unreported == 0
    }

    /// True if an ACK that echoes the timestamp `echo` is for an original: it left before any of them, on the
    /// clock of timestamps.
    pub(super) fn left_after(&self, echo: Time, clock: &Clock) -> bool {
        // Asked of every ACK: the first question mostly answers it without a division.
        echo < self.first_at && self.first_at != Time::NEVER && clock.timestamp(echo) < clock.timestamp(self.first_at)
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
        (echoes_original || ack.duplicate.is_some())
            && self.shows_spurious(ack, echoes_original, flight, stack.losses.is_rack())
    }

    #[inline(never)]
    fn shows_spurious(&mut self, ack: &Acknowledgement, echoes_original: bool, flight: &Flight, by_time: bool) -> bool {
        let stage = self.stage();
        let partial = stage.phase() == Phase::Recovery && !stage.is_complete(flight.first());
        let Some(undo) = self.recovery.undo_mut() else { return false };
        // Above the cumulative point a duplicate counts only of what was sent again (in Linux tcp_sacktag_one;
        // below it tcp_check_dsack).
        let counts = |&sequence: &u64| sequence < flight.first() || !by_time || flight.was_sent_again(sequence);
        if ack.duplicate.filter(counts).is_some_and(|sequence| undo.were_all_duplicates(sequence)) {
            return true;
        }
        // A late segment beside lost ones: what was sent again for those may still prove necessary.
        echoes_original && !(partial && flight.retransmitted_count() > 0)
    }

    /// True if the ACK, which moves the cumulative point, echoes a timestamp of before the first retransmission.
    #[inline]
    pub(in crate::tcp) fn echoes_original(&self, ack: &Acknowledgement, summary: &AckSummary, stack: &Stack) -> bool {
        let Some(undo) = self.recovery.undo() else { return false };
        let timestamps = stack.timestamps && summary.acknowledged > 0;
        timestamps && undo.left_after(ack.echo, &stack.clock)
    }

    /// Evidence that may show a reduction which begins now to be spurious. While a timeout is repaired, timestamps tell
    /// nothing of what left since (in Linux `retrans_stamp` stays).
    pub(super) fn evidence(&self, flight: &Flight, stack: &Stack, probed: bool) -> Option<Retransmissions> {
        let earlier = self.recovery.undo().filter(|_| self.recovery.phase() == Phase::Loss);
        // As tcp_init_undo in Linux: what is under way may be reported as a duplicate, a probe included.
        let under_way = flight.retransmitted_count() + u32::from(probed);
        let (from, first) = (Retransmissions::from, flight.first());
        stack.undo.then(|| earlier.map_or_else(|| from(first, under_way), |one| one.anew(first, under_way)))
    }

    /// From now on the reduction may prove spurious.
    pub(in crate::tcp) fn await_evidence(&mut self, flight: &Flight, stack: &Stack, probed: bool) {
        let evidence = self.evidence(flight, stack, probed);
        self.recovery.undo_on(evidence);
    }
}

#[cfg(test)]
mod tests {
    use units::Span;

    use super::*;
    use crate::plain;

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    #[test]
    fn each_retransmission_must_come_twice_for_all_to_be_unnecessary() {
        let mut sent = Retransmissions::from(10, 0);
        assert!(!sent.may_be_reported() && !sent.were_all_duplicates(10));
        sent.on_sent(at(5));
        sent.on_sent(at(6));
        assert!(sent.may_be_reported());
        // What was acknowledged before is none of them.
        assert!(!sent.were_all_duplicates(9));
        assert!(!sent.were_all_duplicates(10) && sent.may_be_reported());
        assert!(sent.were_all_duplicates(12) && !sent.may_be_reported());
        // One was under way when loss was detected.
        let mut sent = Retransmissions::from(10, 1);
        sent.on_sent(at(5));
        assert!(!sent.were_all_duplicates(10) && sent.were_all_duplicates(11));
    }

    #[test]
    fn an_original_left_before_the_first_retransmission_on_the_clock_of_timestamps() {
        let mut sent = Retransmissions::from(10, 0);
        let mut clock = Clock { timestamp_tick: Span::from_millis(4), ..plain().clock };
        assert!(!sent.left_after(at(0), &clock), "nothing was sent again");
        sent.on_sent(at(10));
        sent.on_sent(at(30));
        // Ticks of 4 ms: 10 ms is the third, which begins at 8 ms.
        assert_eq!([7, 8, 10, 12].map(|ms| sent.left_after(at(ms), &clock)), [true, false, false, false]);
        // On a clock that showed 3 ms at time zero that tick begins at 9 ms.
        clock.at_start = Span::from_millis(3);
        assert_eq!([8, 9].map(|ms| sent.left_after(at(ms), &clock)), [true, false]);
        // A further reduction counts its own, and the first of all still is the first.
        let mut anew = sent.anew(20, 0);
        assert!(!anew.may_be_reported() && anew.left_after(at(7), &clock));
        anew.on_sent(at(50));
        assert!(!anew.were_all_duplicates(19) && anew.were_all_duplicates(20));
    }
}
