//! Applies an ACK to the outstanding segments: which of them have arrived, when they left, and in which order.

use units::{Span, Time};

use super::detection::note_highest;
use super::{AMBIGUOUS, APPLICATION_LIMITED, Holes, LOST, RETRANSMITTED, SACKED, Scoreboard, Sent};
use crate::tcp::flight::delivery_rate::DeliveryState;
use crate::{Acknowledgement, Clock};

/// The segment delivered by an ACK that left last.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Newest {
    sent: Sent,
    pub(crate) number: u64,
}

impl Newest {
    /// The state of the connection when it left.
    pub(crate) fn state(&self) -> DeliveryState {
        self.sent.state()
    }

    /// When it left.
    pub(crate) fn at(&self) -> Time {
        self.sent.at
    }

    /// True if it was sent more than once.
    pub(crate) fn is_retransmission(&self) -> bool {
        self.sent.flags & AMBIGUOUS != 0
    }
}

/// Segments that an ACK covers in order: each was sent once, and nothing above has arrived. So the first is the oldest
/// and the last the newest.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InOrder {
    oldest: Sent,
    newest: Sent,
    count: u32,
}

/// Effect of an ACK on the segments that were outstanding.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct AckSummary {
    /// Advance of the cumulative point.
    pub(crate) acknowledged: u32,
    /// Newly delivered, cumulatively or by SACK.
    pub(crate) delivered: u32,
    /// Newly SACKed.
    pub(crate) sacked: u32,
    /// The highest number among these.
    pub(crate) highest_sacked: Option<u64>,
    /// When the oldest newly delivered segment that was sent once left.
    pub(crate) oldest_at: Option<Time>,
    /// When the oldest and the newest segment left whose age is an RTT: sent once, and SACKed where the cumulative
    /// point passed one that was sent more often.
    pub(crate) samples: Option<(Time, Time)>,
    /// The cumulative point passed a segment that was sent more than once: segments above may have waited for that one,
    /// so their age is not an RTT.
    pub(crate) ambiguous: bool,
    /// The newest delivered segment: its state, when and whether more than once it was sent, and its number.
    pub(crate) newest: Option<Newest>,
    /// A segment arrived below the highest one SACKed before this ACK: the numbers by which it was overtaken, and true
    /// if it was sent once, so that the path must have reordered it.
    pub(crate) overtaken: Option<(u64, bool)>,
    /// The lowest of such segments that were sent once.
    pub(crate) late: Option<u64>,
    /// RACK has learned of an arrival, which may show losses.
    pub(crate) advances_rack: bool,
    /// The segment in a duplicate SACK is outstanding and was sent more than once.
    pub(crate) duplicate_was_retransmitted: bool,
}

impl AckSummary {
    fn note_overtaken(&mut self, number: u64, highest: Option<u64>, flags: u32) {
        if let Some(extent) = highest.and_then(|h| h.checked_sub(number)) {
            let sent_once = flags & AMBIGUOUS == 0;
            if sent_once && extent > 0 {
                self.late = Some(self.late.map_or(number, |late| late.min(number)));
            }
            let (most, once) = self.overtaken.unwrap_or((0, false));
            self.overtaken = Some((most.max(extent), once || sent_once));
        }
    }
}

/// Distinguishes the ACK of a retransmission from the ACK of its original, for RACK.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RetransmissionTest<'a> {
    /// A retransmission is not acknowledged sooner (RFC 8985, section 6.2, step 2).
    pub(crate) minimum_rtt: Span,
    /// With timestamps, their clock: segments below the cumulative point left by the time that the ACK echoes (in Linux
    /// tcp_skb_spurious_retrans).
    pub(crate) clock: Option<&'a Clock>,
}

impl RetransmissionTest<'_> {
    /// True if `ack` may answer the transmission at `at`.
    #[inline]
    fn answers(&self, ack: &Acknowledgement, at: Time) -> bool {
        ack.echo >= at || self.clock.is_none_or(|clock| clock.timestamp(ack.echo) >= clock.timestamp(at))
    }
}

impl Scoreboard {
    /// Applies cumulative point and SACK blocks. `test` distinguishes the ACK of a retransmission from the ACK of its
    /// original.
    #[inline(always)]
    pub(crate) fn apply(&mut self, ack: &Acknowledgement, now: Time, test: RetransmissionTest) -> AckSummary {
        self.apply_plain(ack, now).unwrap_or_else(|| {
            // A copy, as an ACK in registers would be stored for a reference to it.
            let (ack, mut summary) = (*ack, AckSummary::default());
            self.apply_any(&ack, now, test, &mut summary);
            summary
        })
    }

    /// The same, but for an ACK that may have SACK blocks: its `summary` is made in place.
    #[inline(always)]
    pub(crate) fn apply_to(
        &mut self,
        ack: &Acknowledgement,
        now: Time,
        test: RetransmissionTest,
        summary: &mut AckSummary,
    ) {
        match self.apply_plain(ack, now) {
            Some(plain) => *summary = plain,
            None => self.apply_any(ack, now, test, summary),
        }
    }

    #[inline(always)]
    fn apply_plain(&mut self, ack: &Acknowledgement, now: Time) -> Option<AckSummary> {
        let found = if ack.sack.is_empty() { self.in_order(ack.cumulative) } else { None };
        found.map(|segments| self.take_in_order(segments, now))
    }

    /// The segments below `cumulative`, if they are in order.
    #[inline(always)]
    pub(crate) fn in_order(&self, cumulative: u64) -> Option<InOrder> {
        if self.sacked_count > 0 || self.reports.as_deref().is_some_and(|reports| reports.has_deliveries()) {
            return None;
        }
        let count = cumulative.checked_sub(self.first)? as usize;
        let &oldest = self.segments.front()?;
        let &newest = self.segments.get(count.checked_sub(1)?)?;
        // Mostly there are one or two.
        let between = (1..count - 1).fold(0, |flags, at| flags | self.segments[at].flags);
        let plain = (oldest.flags | newest.flags | between) & !APPLICATION_LIMITED == 0;
        plain.then_some(InOrder { oldest, newest, count: count as u32 })
    }

    /// Applies the ACK that covers `segments`, found just before.
    #[inline(always)]
    pub(crate) fn take_in_order(&mut self, segments: InOrder, now: Time) -> AckSummary {
        let InOrder { oldest, newest, count } = segments;
        for _ in 0..count {
            self.segments.pop_front();
        }
        self.first += u64::from(count);
        self.rack.rtt = now.since(newest.at);
        let number = self.first - 1;
        self.rack.last = self.rack.last.max(newest.place(number));
        AckSummary {
            acknowledged: count,
            delivered: count,
            oldest_at: Some(oldest.at),
            samples: Some((oldest.at, newest.at)),
            newest: Some(Newest { sent: newest, number }),
            advances_rack: true,
            ..AckSummary::default()
        }
    }

    #[inline(never)]
    pub(super) fn apply_any(
        &mut self,
        ack: &Acknowledgement,
        now: Time,
        test: RetransmissionTest,
        summary: &mut AckSummary,
    ) {
        let highest = self.highest_sacked();
        self.note_duplicate(ack, summary);
        // The last segment to be looked at gives RACK its RTT. In Linux it has the highest number.
        for (start, end) in ack.sack.ascending().iter(ack.cumulative) {
            self.sack(start.max(self.first), end.min(self.next()), (now, test.minimum_rtt), highest, summary);
        }
        let sacked = summary.samples;
        while self.first < ack.cumulative {
            let Some(segment) = self.segments.pop_front() else { break };
            let number = self.first;
            self.first += 1;
            summary.acknowledged += 1;
            self.forget(segment.flags);
            summary.ambiguous |= segment.flags & AMBIGUOUS != 0;
            if segment.flags & SACKED != 0 {
                self.sacked_count -= 1;
            } else {
                summary.delivered += 1;
                summary.note_overtaken(number, highest, segment.flags);
                let minimum_rtt = if test.answers(ack, segment.at) { test.minimum_rtt } else { Span::MAX };
                self.delivered(number, segment, (now, minimum_rtt), summary);
            }
        }
        summary.oldest_at = summary.samples.map(|(oldest, _)| oldest);
        if summary.ambiguous {
            summary.samples = sacked;
        }
        if (highest.is_some() || summary.sacked > 0)
            && let Some(holes) = &mut self.holes
        {
            holes.sacked.remove_below(self.first);
            if holes.sacked.is_empty() {
                holes.highest_sacked.clear();
            }
        }
    }

    /// A duplicate SACK of an outstanding segment. If it was SACKed before and had been retransmitted, it was late: the
    /// original did arrive (in Linux tcp_sacktag_one).
    #[inline]
    fn note_duplicate(&mut self, ack: &Acknowledgement, summary: &mut AckSummary) {
        let Some(number) = ack.duplicate.filter(|number| (self.first..self.next()).contains(number)) else { return };
        let flags = self.segments[self.index(number)].flags;
        summary.duplicate_was_retransmitted = flags & AMBIGUOUS != 0;
        if flags & (AMBIGUOUS | SACKED) == AMBIGUOUS | SACKED {
            summary.late = Some(number);
        }
    }

    #[inline(never)]
    fn sack(&mut self, start: u64, end: u64, clock: (Time, Span), highest: Option<u64>, summary: &mut AckSummary) {
        if start >= end {
            return;
        }
        // Taken out, as each new SACK changes the rest of the board.
        let mut holes = self.holes.take().unwrap_or_default();
        let Holes { sacked, highest_sacked, .. } = &mut *holes;
        sacked.insert(start, end, |from, to| {
            for number in from..to {
                let index = self.index(number);
                let segment = self.segments[index];
                self.forget(segment.flags);
                self.segments[index].flags = segment.flags & (AMBIGUOUS | APPLICATION_LIMITED) | SACKED;
                self.sacked_count += 1;
                summary.sacked += 1;
                summary.highest_sacked = summary.highest_sacked.max(Some(number));
                summary.delivered += 1;
                summary.note_overtaken(number, highest, segment.flags);
                self.delivered(number, segment, clock, summary);
                note_highest(highest_sacked, number);
            }
        });
        self.holes = Some(holes);
    }

    /// Takes a segment that is no longer outstanding out of the counts of lost and retransmitted ones.
    fn forget(&mut self, flags: u32) {
        if flags & LOST != 0 {
            self.lost_count -= 1;
            if flags & RETRANSMITTED == 0 {
                self.to_retransmit -= 1;
            }
        }
        if flags & RETRANSMITTED != 0 {
            self.retransmitted_count -= 1;
        }
    }

    /// Segment `number` arrived: samples and RACK.
    #[inline]
    fn delivered(&mut self, number: u64, segment: Sent, (now, minimum_rtt): (Time, Span), summary: &mut AckSummary) {
        if segment.flags & AMBIGUOUS == 0 {
            let (oldest, newest) = summary.samples.unwrap_or((segment.at, segment.at));
            summary.samples = Some((oldest.min(segment.at), newest.max(segment.at)));
        }
        if summary.newest.is_none_or(|newest| segment.is_newer(&newest.sent)) {
            summary.newest = Some(Newest { sent: segment, number });
        }
        if let Some(reports) = &mut self.reports {
            reports.on_delivered(number, segment.flags & AMBIGUOUS != 0);
        }
        // RFC 8985, section 6.2, step 2: an ACK sooner than the minimum RTT after a retransmission is for the original.
        let rtt = now.since(segment.at);
        if segment.flags & AMBIGUOUS != 0 && rtt < minimum_rtt {
            return;
        }
        self.rack.rtt = rtt;
        summary.advances_rack = true;
        self.rack.last = self.rack.last.max(segment.place(number));
    }
}
