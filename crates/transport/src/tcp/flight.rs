//! The flight: outstanding segments, RTTs, the delivery rate and the reordering of the path.

mod delivery_rate;
mod detection;
mod reordering;
mod samples;
mod scoreboard;
mod segment_reports;
mod state;
#[cfg(test)]
mod tests;

use control::{Ack, Counting, RateSample, SegmentReport, SentState, Wants};
use units::{Span, Time};

pub use self::delivery_rate::{DeliveryRate, DeliveryState};
use self::reordering::Reordering;
use self::scoreboard::{RetransmissionTest, Scoreboard};
use super::repair::{Phase, Stage};
use super::rtt::{DelayedAckDetector, RttEstimator, micros};
use crate::segment::Acknowledgement;
use crate::{Clock, Growth, Stack};

pub(super) use self::scoreboard::{AckSummary, InOrder};

/// Segments on their way, and the path as they show it. State that every ACK touches comes first.
#[repr(C)]
pub(super) struct Flight {
    board: Scoreboard,
    delivery: DeliveryRate,
    rtt: RttEstimator,
    /// The first new segment of the running round-trip interval.
    round_mark: u64,
    /// Segments reported as marked, with accurate ECN.
    marked: u64,
    /// Segments deemed lost, and those not yet reported to the controller.
    lost: u64,
    unreported: u32,
    /// Duplicate ACKs in a row, without SACK.
    duplicates: u32,
    /// The RTT of the handshake in microseconds while it counts, else the largest number. The second field is the
    /// second until which it counts.
    opening: u32,
    opening_until: u16,
    /// Something has arrived since RACK looked last, or a reduction was undone: an ACK makes it look again.
    advanced: bool,
    detector: DelayedAckDetector,
    reordering: Reordering,
}

/// Loss marks when a reduction is undone (in Linux `unmark_loss` of tcp_undo_cwnd_reduction).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LossMarks {
    /// Lost segments are still lost.
    Kept,
    /// No segment is lost.
    Cleared,
}

impl Flight {
    /// Nothing has been sent yet.
    pub(super) fn new(stack: &Stack, wants: &Wants) -> Self {
        let mut board = Scoreboard::default();
        if wants.segments.any() {
            board.report_segments(wants.segments == control::Reports::All);
        }
        Self {
            board,
            delivery: DeliveryRate::default(),
            rtt: RttEstimator::new(),
            round_mark: 0,
            marked: 0,
            lost: 0,
            unreported: 0,
            duplicates: 0,
            opening: u32::MAX,
            opening_until: u16::MAX,
            advanced: false,
            detector: DelayedAckDetector::default(),
            reordering: Reordering::new(&stack.losses),
        }
    }

    /// The handshake is over: its RTT counts from `since`, if it left a sample.
    pub(super) fn open(&mut self, now: Time, since: Option<Time>, stack: &Stack) {
        let Some(since) = since else { return self.rtt.open_without_sample() };
        let clock = &stack.clock;
        let rtt = clock.between(since, now, clock.tick);
        self.rtt.sample_of_round(rtt, &stack.timers, 0, 0);
        self.opening = micros(rtt);
        if !clock.min_rtt_window.is_zero() {
            self.opening_until = seconds(now + clock.min_rtt_window);
        }
    }

    /// Applies the cumulative point and the SACK blocks of an ACK.
    #[inline(always)]
    pub(super) fn apply(&mut self, now: Time, ack: &Acknowledgement, stack: &Stack) -> AckSummary {
        let retransmission_test = self.retransmission_test(stack);
        let summary = self.board.apply(ack, now, retransmission_test);
        self.advanced |= summary.advances_rack;
        summary
    }

    /// The same, with the summary made in place.
    #[inline(always)]
    pub(super) fn apply_to(&mut self, now: Time, ack: &Acknowledgement, stack: &Stack, summary: &mut AckSummary) {
        let retransmission_test = self.retransmission_test(stack);
        self.board.apply_to(ack, now, retransmission_test, summary);
        self.advanced |= summary.advances_rack;
    }

    /// The segments that an ACK with the cumulative point `cumulative` covers, if they are in order.
    #[inline(always)]
    pub(super) fn in_order(&self, cumulative: u64) -> Option<InOrder> {
        self.board.in_order(cumulative)
    }

    /// Applies the ACK that covers `segments`, found just before.
    #[inline(always)]
    pub(super) fn take_in_order(&mut self, now: Time, segments: InOrder) -> AckSummary {
        self.advanced = true;
        self.board.take_in_order(segments, now)
    }

    #[inline(always)]
    fn retransmission_test<'a>(&self, stack: &'a Stack) -> RetransmissionTest<'a> {
        let clock = (stack.timestamps && stack.losses.is_rack()).then_some(&stack.clock);
        RetransmissionTest { minimum_rtt: self.shortest(), clock }
    }

    /// Applies an ACK that was overtaken: it delivers the segments that it SACKs, no more.
    pub(super) fn receive_old(&mut self, now: Time, ack: &Acknowledgement, stack: &Stack) -> AckSummary {
        let summary = self.apply(now, ack, stack);
        self.delivery.on_delivered(now, summary.delivered);
        summary
    }

    /// Delivery rate over the flight of the newest segment delivered (draft-cheng-iccrg-delivery-rate-estimation,
    /// section 3.3).
    #[inline(always)]
    pub(super) fn delivery_rate(&mut self, now: Time, summary: &AckSummary, tick: Span) -> Option<RateSample> {
        self.delivery.on_delivered(now, summary.delivered);
        let newest = summary.newest?;
        let shortest = self.shortest().saturating_sub(tick);
        let sample = self.delivery.sample(now, &newest.state(), newest.at(), shortest)?;
        Some(RateSample { is_retransmission: newest.is_retransmission(), ..sample })
    }

    /// True if the application had less to send than the window let leave, for all that was not delivered since.
    pub(super) fn is_application_limited(&self) -> bool {
        self.delivery.is_application_limited()
    }

    /// The state in which the newest segment left, for a controller that asks for reports of each.
    #[inline(never)]
    pub(super) fn state_when_sent(&mut self, summary: &AckSummary) -> Option<SentState> {
        let newest = summary.newest?;
        self.board.reports()?.state(newest.number)
    }

    /// True if the marked segment is covered. If so, the next new segment is marked.
    #[inline]
    pub(super) fn round_ends(&mut self) -> bool {
        let ends = self.board.first() > self.round_mark || self.board.is_sacked(self.round_mark);
        if ends {
            self.round_mark = self.board.next();
        }
        ends
    }

    /// With accurate ECN: how many marks `ack` reports for the first time, or none if it was overtaken.
    #[inline]
    pub(super) fn count_marks(&mut self, ack: &Acknowledgement) -> u32 {
        let newly_marked = (ack.marked.wrapping_sub(self.marked as u32) as i32).max(0) as u32;
        self.marked += u64::from(newly_marked);
        newly_marked
    }

    /// The connection as `ack` leaves it, as far as the flight knows.
    #[inline(always)]
    pub(super) fn describe(&self, ack: &Acknowledgement, summary: &AckSummary, stack: &Stack) -> Ack {
        Ack {
            timestamp_echo: if stack.timestamps { ack.echo } else { Time::NEVER },
            smoothed_rtt: self.rtt.smoothed,
            min_rtt: self.rtt.minimum,
            one_way_delay: Some(ack.one_way_delay),
            newly_acknowledged: summary.acknowledged,
            newly_delivered: summary.delivered,
            delivered: self.delivery.delivered(),
            lost: self.lost,
            in_flight: self.board.in_flight(),
            newly_sacked: summary.highest_sacked,
            marked: self.marked,
            application_limited: self.delivery.is_application_limited(),
            acknowledged_to: self.board.first(),
            sent_to: self.board.next(),
            ..Ack::EMPTY
        }
    }

    /// How an ACK counts. Byte counting takes a segment at most while losses of a timeout are retransmitted: an ACK may
    /// cover far more than left since (RFC 3465, section 2.3, and FreeBSD while snd_nxt is below snd_max).
    #[inline]
    pub(super) fn counting(&self, stage: Stage, growth: &Growth) -> Counting {
        match growth.counting {
            Counting::Bytes { .. } if stage.phase() == Phase::Loss && self.board.awaits_retransmission() => {
                Counting::Bytes { limit: 1 }
            }
            counting => counting,
        }
    }

    /// Segments deemed lost that were not yet reported to the controller. They count as reported from now on.
    pub(super) fn take_unreported(&mut self) -> u32 {
        std::mem::take(&mut self.unreported)
    }

    /// `count` segments are deemed lost.
    pub(super) fn note_lost(&mut self, count: u32) {
        self.lost += u64::from(count);
        self.unreported += count;
    }

    /// Everything outstanding that left up to `recent` is lost. Returns how many segments that marks. They
    /// are yet to be reported to the controller only if `unreported`.
    pub(super) fn lose_outstanding(&mut self, recent: Time, stack: &Stack, unreported: bool) -> u32 {
        if !stack.sack() {
            self.board.clear_duplicates();
        }
        let lost = self.board.lose_all(recent);
        self.lost += u64::from(lost);
        self.unreported = if unreported { self.unreported + lost } else { 0 };
        lost
    }

    /// True if the receiver has discarded segments that it SACKed: the oldest outstanding one is SACKed (RFC 2018,
    /// section 8, in Linux FLAG_SACK_RENEGING).
    #[inline]
    pub(super) fn shows_reneging(&self) -> bool {
        self.board.is_first_sacked()
    }

    /// At a timeout: if the receiver has discarded segments that it SACKed, none counts as SACKed any more (RFC 2018,
    /// section 8). Says whether it has.
    pub(super) fn forget_discarded(&mut self) -> bool {
        let reneging = self.shows_reneging();
        if reneging {
            self.board.forget_sacked();
        }
        reneging
    }

    /// The earliest departure of segments that RACK still waits for, or [`Time::NEVER`] without RACK.
    pub(super) fn recent_since(&self, now: Time, stack: &Stack) -> Time {
        if stack.losses.is_rack() { self.board.recent_since(now) } else { Time::NEVER }
    }

    /// A reduction was spurious: segments sent once are not lost.
    pub(super) fn unmark_lost(&mut self, summary: &AckSummary) {
        if self.reordering.counts()
            && let Some((extent, _)) = summary.overtaken
        {
            self.reordering.observe(extent);
        }
        self.board.unmark_lost();
        self.unreported = 0;
    }

    /// A reduction was undone: RACK looks again for lost segments.
    pub(super) fn on_undo(&mut self, marks: LossMarks) {
        self.advanced = true;
        if marks == LossMarks::Cleared {
            self.board.unmark_all();
            self.unreported = 0;
        }
    }

    /// Duplicate SACKs have shown a reduction to be spurious: RACK keeps its reordering window.
    pub(super) fn keep_reordering_window(&mut self) {
        self.reordering.on_spurious();
    }

    /// True if a retransmission may be in flight: one is, or the first segment was retransmitted (in Linux
    /// tcp_any_retrans_done).
    pub(super) fn has_any_retransmitted(&self) -> bool {
        self.board.retransmitted_count() > 0 || self.board.was_sent_again(self.board.first())
    }

    /// True if any segment is lost, or may be in flight as a retransmission.
    pub(super) fn has_lost_or_retransmitted(&self) -> bool {
        self.board.lost_count() > 0 || self.has_any_retransmitted()
    }

    /// The timer expires though many segments have arrived above a hole: the path reorders less than assumed (in
    /// Linux since 3.12 tcp_enter_loss).
    pub(super) fn doubt_reordering(&mut self, stack: &Stack) {
        if stack.losses.is_linux_rack() && self.board.sacked_count() >= stack.losses.threshold {
            self.reordering.threshold = self.reordering.threshold.min(stack.losses.threshold);
        }
    }

    /// A recovery is over.
    pub(super) fn on_recovered(&mut self) {
        self.reordering.on_recovered();
    }

    /// The next report for a controller that asks for one of each segment: delivered ones first, `true`.
    pub(super) fn poll_report(&mut self, now: Time, clock: &Clock) -> Option<(SegmentReport, bool)> {
        let reports = self.board.reports()?;
        if let Some(mut report) = reports.poll_delivered() {
            report.rtt = (!report.retransmitted).then(|| clock.between(report.sent.at, now, clock.tick));
            return Some((report, true));
        }
        reports.poll_lost().map(|report| (report, false))
    }

    /// Everything was reported.
    pub(super) fn end_reports(&mut self) {
        let first = self.board.first();
        if let Some(reports) = self.board.reports() {
            reports.remove_below(first);
        }
    }

    /// Sending begins at `now`, with nothing outstanding.
    pub(super) fn restart(&mut self, now: Time) {
        self.delivery.restart(now);
    }

    /// A new segment leaves. Says its number.
    #[inline]
    pub(super) fn push(&mut self, now: Time) -> u64 {
        let sequence = self.board.next();
        self.board.push(now, self.delivery.state());
        sequence
    }

    /// Segment `sequence` leaves again.
    pub(super) fn resend(&mut self, now: Time, sequence: u64, stack: &Stack) {
        // Whether the loss of a retransmission is found before the timer expires.
        let track = stack.losses.is_rack() || self.reordering.forward;
        self.board.resend(sequence, now, self.delivery.state(), track);
    }

    /// Segment `sequence`, which is not known to be lost, leaves again in recovery. `hole`: for rule 3 of NextSeg,
    /// which counts it twice in flight.
    pub(super) fn resend_on_suspicion(&mut self, now: Time, sequence: u64, hole: bool) {
        if hole {
            self.board.resend_hole(sequence, now, self.delivery.state());
        } else {
            self.board.resend(sequence, now, self.delivery.state(), false);
        }
    }

    /// The application has nothing more to send.
    pub(super) fn application_limits(&mut self, in_flight: u32) {
        self.delivery.application_limits(in_flight);
    }

    /// The state in which a segment that has just been sent left, remembered for a controller that asks for reports.
    pub(super) fn state_at_departure(&mut self, now: Time, sequence: u64) -> SentState {
        let state = SentState {
            at: now,
            delivered: self.delivery.delivered(),
            lost: self.lost,
            marked: self.marked,
            in_flight: self.board.in_flight(),
            application_limited: self.delivery.is_application_limited(),
        };
        if let Some(reports) = self.board.reports() {
            reports.on_sent(sequence, state);
        }
        state
    }

    /// Gives memory back that a larger window needed.
    pub(super) fn shrink(&mut self) {
        self.board.shrink();
    }

    /// The timeout doubles.
    pub(super) fn back_off(&mut self) {
        self.rtt.back_off();
    }
}

/// Whole seconds, as far as they matter.
fn seconds(at: Time) -> u16 {
    u16::try_from(at.as_nanos() / 1_000_000_000).unwrap_or(u16::MAX)
}
