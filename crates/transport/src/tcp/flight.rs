//! The flight: outstanding segments, RTTs, the delivery rate and the reordering of the path.

mod delivery_rate;
mod detection;
mod reordering;
mod samples;
mod scoreboard;
mod segment_reports;
#[cfg(test)]
mod tests;

use control::{Ack, Counting, RateSample, SegmentReport, SentState, Wants};
use units::{Span, Time};

pub use self::delivery_rate::{DeliveryRate, DeliveryState};
use self::reordering::Reordering;
use self::scoreboard::Scoreboard;
use super::repair::{Phase, Stage};
use super::rtt::{DelayedAckDetector, RttEstimator, micros};
use crate::segment::Acknowledgement;
use crate::{Clock, Growth, Stack, Timers};

pub(super) use self::scoreboard::AckSummary;

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
    /// Segments deemed lost, and those among them that the controller has not heard of.
    lost: u64,
    unreported: u32,
    /// Duplicate ACKs in a row, without SACK.
    duplicates: u32,
    /// The RTT of the handshake in microseconds while it counts, else the largest number; and to which second it does.
    opening: u32,
    opening_until: u16,
    /// RACK has just found a retransmission lost.
    lost_again: bool,
    detector: DelayedAckDetector,
    reordering: Reordering,
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
            lost_again: false,
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
    pub(super) fn apply(&mut self, now: Time, ack: &Acknowledgement) -> AckSummary {
        self.board.apply(ack, now, self.shortest())
    }

    /// The same, with the summary made in place.
    #[inline(always)]
    pub(super) fn apply_to(&mut self, now: Time, ack: &Acknowledgement, summary: &mut AckSummary) {
        self.board.apply_to(ack, now, self.shortest(), summary);
    }

    /// Applies an ACK that was overtaken: it delivers what it SACKs, no more.
    pub(super) fn receive_old(&mut self, now: Time, ack: &Acknowledgement) -> AckSummary {
        let summary = self.board.apply(ack, now, self.shortest());
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

    /// True if the marked segment is covered; if so the next new segment is marked.
    #[inline]
    pub(super) fn round_ends(&mut self) -> bool {
        let ends = self.board.first() > self.round_mark || self.board.is_sacked(self.round_mark);
        if ends {
            self.round_mark = self.board.next();
        }
        ends
    }

    /// With accurate ECN: how many marks `ack` reports that none before did; none if it was overtaken.
    #[inline]
    pub(super) fn count_marks(&mut self, ack: &Acknowledgement) -> u32 {
        let newly_marked = (ack.marked.wrapping_sub(self.marked as u32) as i32).max(0) as u32;
        self.marked += u64::from(newly_marked);
        newly_marked
    }

    /// The connection as `ack` leaves it, as far as the flight knows.
    #[inline(always)]
    pub(super) fn describe(&self, ack: &Acknowledgement, summary: &AckSummary, stage: Stage, stack: &Stack) -> Ack {
        Ack {
            timestamp_echo: if stack.timestamps { ack.echo } else { Time::NEVER },
            timestamp_tick: stack.clock.timestamp_tick,
            timestamp_at_start: stack.clock.at_start,
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
            counting: self.counting(stage, &stack.growth),
            slow_start_at_threshold: stack.growth.slow_start_at_threshold,
            ..Ack::EMPTY
        }
    }

    /// How this ACK counts. Byte counting takes a segment at most while what a timeout deemed lost is sent again: an
    /// ACK may cover far more than left since (RFC 3465, section 2.3; FreeBSD, while snd_nxt is below snd_max).
    fn counting(&self, stage: Stage, growth: &Growth) -> Counting {
        match growth.counting {
            Counting::Bytes { .. } if stage.phase() == Phase::Loss && self.board.awaits_retransmission() => {
                Counting::Bytes { limit: 1 }
            }
            counting => counting,
        }
    }

    /// Segments deemed lost of which the controller has not heard; from now on it has.
    pub(super) fn take_unreported(&mut self) -> u32 {
        std::mem::take(&mut self.unreported)
    }

    /// `count` segments are deemed lost.
    pub(super) fn note_lost(&mut self, count: u32) {
        self.lost += u64::from(count);
        self.unreported += count;
    }

    /// Everything outstanding that left up to `recent` is lost. Says how many segments that marks, of which the
    /// controller has yet to hear only if `unreported`.
    pub(super) fn lose_outstanding(&mut self, recent: Time, stack: &Stack, unreported: bool) -> u32 {
        if !stack.sack() {
            self.board.clear_duplicates();
        }
        let lost = self.board.lose_all(recent);
        self.lost += u64::from(lost);
        self.unreported = if unreported { self.unreported + lost } else { 0 };
        lost
    }

    /// When what RACK still waits for left, [`Time::NEVER`] without RACK.
    pub(super) fn recent_since(&self, now: Time, stack: &Stack) -> Time {
        if stack.losses.is_rack() { self.board.recent_since(now) } else { Time::NEVER }
    }

    /// A reduction was spurious: what it deemed lost was not.
    pub(super) fn forgive(&mut self, summary: &AckSummary) {
        if self.reordering.counts()
            && let Some((extent, _)) = summary.overtaken
        {
            self.reordering.observe(extent);
        }
        self.board.unmark_lost();
        self.unreported = 0;
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

    /// Segment `sequence`, which is not known to be lost, leaves again in recovery; `hole`: for rule 3 of NextSeg,
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

/// Questions.
impl Flight {
    #[inline]
    pub(super) fn first(&self) -> u64 {
        self.board.first()
    }

    #[inline]
    pub(super) fn next(&self) -> u64 {
        self.board.next()
    }

    #[inline]
    pub(super) fn outstanding(&self) -> u32 {
        self.board.outstanding()
    }

    /// Segments in flight: pipe (RFC 6675, section 4).
    #[inline]
    pub(super) fn in_flight(&self) -> u32 {
        self.board.in_flight()
    }

    /// True if nothing outstanding is SACKed, deemed lost or sent again, and the controller has heard of every loss.
    #[inline(always)]
    pub(super) fn is_plain(&self) -> bool {
        let board = &self.board;
        let amiss = board.sacked_count() | board.lost_count() | board.retransmitted_count();
        amiss | self.unreported | self.duplicates == 0
    }

    /// True if an ACK that counts `marked` segments as marked counts none that is new.
    #[inline(always)]
    pub(super) fn knows_marks(&self, marked: u32) -> bool {
        marked == self.marked as u32
    }

    #[inline]
    pub(super) fn sacked_count(&self) -> u32 {
        self.board.sacked_count()
    }

    pub(super) fn lost_count(&self) -> u32 {
        self.board.lost_count()
    }

    /// Retransmissions in flight.
    pub(super) fn retransmitted_count(&self) -> u32 {
        self.board.retransmitted_count()
    }

    /// The next lost segment to send again (RFC 6675, NextSeg rule 1).
    #[inline]
    pub(super) fn next_lost(&mut self) -> Option<u64> {
        self.board.next_lost()
    }

    /// The lowest hole from `from` on (RFC 6675, NextSeg rule 3).
    pub(super) fn next_hole(&self, from: u64) -> Option<u64> {
        self.board.next_hole(from)
    }

    /// True if segment `number` was sent more than once.
    pub(super) fn was_sent_again(&self, number: u64) -> bool {
        self.board.was_sent_again(number)
    }

    /// The highest segment that was not SACKed.
    pub(super) fn last_unsacked(&self) -> Option<u64> {
        self.board.last_unsacked()
    }

    pub(super) fn highest_sacked(&self) -> Option<u64> {
        self.board.highest_sacked()
    }

    /// When the oldest segment left last.
    #[inline]
    pub(super) fn oldest_at(&self) -> Option<Time> {
        self.board.sent_at(self.board.first())
    }

    /// The retransmission timeout in whole ticks, back-off included.
    pub(super) fn timeout(&self, timers: &Timers) -> Span {
        self.rtt.timeout(timers)
    }

    /// The same for a timer, which rounds up to whole ticks by itself.
    #[inline]
    pub(super) fn timer(&self, timers: &Timers) -> Span {
        self.rtt.timer(timers)
    }

    /// When the retransmission timer of the oldest segment expires, `timeout` after it was sent last.
    pub(super) fn timeout_of_oldest(&self, now: Time, timeout: Span) -> Time {
        self.oldest_at().unwrap_or(now) + timeout
    }

    /// Segments delivered since the start.
    pub(super) fn delivered(&self) -> u64 {
        self.delivery.delivered()
    }

    /// Segments deemed lost since the start.
    pub(super) fn lost(&self) -> u64 {
        self.lost
    }

    /// DupThresh.
    pub(super) fn threshold(&self) -> u32 {
        self.reordering.threshold
    }

    /// How often the path was seen to reorder.
    pub(super) fn reorderings(&self) -> u32 {
        self.reordering.seen.into()
    }

    /// True if the path reorders by more than DupThresh was at first: then data that are SACKed let the window grow as
    /// data in order do (in Linux since 3.12 tcp_may_raise_cwnd).
    pub(super) fn reorders(&self, stack: &Stack) -> bool {
        stack.losses.is_rack() && self.reordering.threshold > stack.losses.threshold
    }

    /// The smallest RTT of the path, that of the handshake among them (in Linux tcp_synack_rtt_meas); [`Span::MAX`]
    /// where there is none. That of data alone is for controllers: most modules begin after the handshake, and a SYN is
    /// smaller than a segment, whose transmission would seem to be a queue.
    #[inline]
    pub(super) fn shortest(&self) -> Span {
        match self.opening {
            u32::MAX => self.rtt.minimum,
            opening => self.rtt.minimum.min(Span::from_micros(opening.into())),
        }
    }

    /// Round-trip times.
    #[inline]
    pub(super) fn rtt(&self) -> &RttEstimator {
        &self.rtt
    }

    /// Lets the processor fetch what an ACK looks up first.
    pub(super) fn prefetch(&self) {
        self.board.prefetch();
    }

    /// Lets it fetch what that refers to in turn.
    #[inline]
    pub(super) fn prefetch_holes(&self) {
        self.board.prefetch_holes();
    }

    /// Work of the scoreboard, and its consistency.
    #[cfg(test)]
    pub(super) fn board(&self) -> &Scoreboard {
        &self.board
    }
}
