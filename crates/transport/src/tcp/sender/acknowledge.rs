//! How a sender processes an acknowledgement: scoreboard, samples, loss detection, phases, controller. In this
//! order, once an ACK.

use control::{Ack, Counting, RateSample, RttSample, SentState};
use units::{Span, Time};

use super::{Sender, TIMER_MIN};
use crate::journal::{Event, Journal};
use crate::segment::Acknowledgement;
use crate::tcp::forward_rto::{Evidence, Verdict};
use crate::tcp::recovery::Phase;
use crate::tcp::rtt::on_clock;
use crate::tcp::scoreboard::AckSummary;
use crate::tcp::segment_reports::SegmentReports;
use crate::tcp::tail_probe::Fate;

impl Sender {
    /// An acknowledgement arrived. Afterwards poll what to transmit. Says whether it carried an RTT sample.
    #[inline(never)]
    pub fn on_acknowledgement(&mut self, now: Time, ack: &Acknowledgement, journal: &mut dyn Journal) -> Option<Span> {
        if ack.cumulative > self.board.next() {
            return None; // never sent (RFC 9293, section 3.10.7.4)
        }
        if ack.cumulative < self.board.first() {
            self.on_old_acknowledgement(now, ack, journal);
            return None;
        }
        self.train_is_ready = false;
        let in_flight_before = self.board.in_flight();
        let had_duplicates = self.board.sacked_count() > 0;
        let mut summary = self.board.apply(ack, now, self.rtt.shortest());
        self.peer_window = ack.window;
        let mut newly_lost = if self.stack.sack() { 0 } else { self.count_duplicates(&mut summary) };
        let sample = self.take_samples(now, ack, &summary);
        let rate = self.delivery_rate(now, &summary);
        let sent = if self.wants.segments.any() { self.state_when_sent(&summary) } else { None };
        let round_start = self.round_ends();
        let newly_marked = self.count_marks(ack);
        if self.stack.sack() {
            if summary.overtaken.is_some() || ack.duplicate.is_some() {
                self.observe_reordering(ack, &summary);
            }
            newly_lost = self.detect_losses(now);
        }
        if self.is_spurious(ack, &summary) || self.is_timeout_spurious(now, &summary) {
            self.undo_reduction(now, &summary, journal);
            newly_lost = 0;
        }
        self.note_lost(newly_lost, self.board.first(), journal);
        self.report_segments(now);

        let entering = self.begins_loss_event(newly_lost);
        let held = !self.wants.governs_recovery && (self.recovery.is_reducing() || entering);
        let ends_recovery = held && !entering && self.is_over() && self.grows_at_end(now, journal);
        let echo = ack.congestion_echo || newly_marked > 0;
        // RFC 3168, section 6.1.2: no growth on an ACK with an echo.
        let marked = echo && !self.wants.governs_marks;
        let grows = summary.acknowledged > 0 && (!held || ends_recovery) && !marked;
        let unreported = if entering { 0 } else { std::mem::take(&mut self.unreported_losses) };
        let mut signal = Ack {
            rtt: sample,
            newly_lost: unreported,
            in_flight_before,
            first_duplicate: !had_duplicates && summary.acknowledged == 0 && self.board.sacked_count() > 0,
            rate,
            round_start,
            ecn_echo: echo,
            newly_marked,
            ends_recovery,
            ..self.state_after(ack, &summary)
        };
        if let Some(rate) = signal.rate.as_mut().filter(|_| self.wants.segments.any()) {
            rate.sent = sent;
        }
        self.signal(now, grows, &signal);
        let progress = summary.acknowledged > 0 && newly_lost == 0;
        self.move_phase(now, &signal, entering, progress, journal);
        if self.probe.is_in_flight() {
            self.settle_probe(now, ack, &signal, journal);
        }
        self.timers.on_ack(summary.acknowledged > 0 || self.shows_older_arrival(&summary)); // RFC 6298, 5.2 and 5.3
        sample.map(|s| s.value)
    }

    /// Whether the `newly_lost` segments begin a loss event: not where losses are repaired already, but what was sent
    /// since and is lost as well belongs to the next window of data.
    #[inline(always)]
    fn begins_loss_event(&mut self, newly_lost: u32) -> bool {
        if !self.recovery.is_repairing() {
            return newly_lost > 0;
        }
        // In Linux a retransmission that is lost after a timeout is a loss event as well.
        let lost_again = std::mem::take(&mut self.lost_again) && self.recovery.phase() == Phase::Loss;
        (self.recovery.is_complete(self.board.first()) && self.board.lost_count() > 0) || lost_again
    }

    /// Whether the reduction under way ends with the cumulative point where it is now.
    #[inline(always)]
    fn is_over(&self) -> bool {
        let first = self.board.first();
        if self.stack.growth.recovery_end_grows && self.recovery.phase() == Phase::Reduced {
            // Linux goes on until the segment with CWR is acknowledged.
            return self.recovery.is_announced(first);
        }
        self.recovery.is_complete(first)
    }

    /// The reduction is over. Whether the window may grow on the ACK that ends it: then it is left.
    #[cold]
    #[inline(never)]
    fn grows_at_end(&mut self, now: Time, journal: &mut dyn Journal) -> bool {
        let grows =
            self.stack.growth.recovery_end_grows && (self.stack.sack() || self.recovery.phase() == Phase::Reduced);
        if grows {
            self.complete_reduction(now, journal);
        }
        grows
    }

    /// Gives an ACK to the controller, whose window may grow on it or not.
    #[inline(always)]
    fn signal(&mut self, now: Time, grows: bool, signal: &Ack) {
        if grows {
            self.notify(now, |controller, cx| controller.on_ack(cx, signal));
            self.usage.restart_clock(now);
        } else {
            self.notify(now, |controller, cx| controller.on_duplicate_ack(cx, signal));
        }
    }

    /// An ACK that was overtaken by a later one says nothing of the cumulative point. But segments that it reports
    /// as SACKed or as duplicates did arrive (in Linux `old_ack`). It is no ACK for the controller.
    #[cold]
    #[inline(never)]
    fn on_old_acknowledgement(&mut self, now: Time, ack: &Acknowledgement, journal: &mut dyn Journal) {
        if !self.stack.sack() || (ack.sack.is_empty() && ack.duplicate.is_none()) {
            return;
        }
        let in_flight_before = self.board.in_flight();
        let summary = self.board.apply(ack, now, self.rtt.shortest());
        self.delivery.on_delivered(now, summary.delivered);
        self.observe_reordering(ack, &summary);
        let mut newly_lost = self.detect_losses(now);
        if self.is_spurious(ack, &summary) {
            self.undo_reduction(now, &summary, journal);
            newly_lost = 0;
        }
        self.note_lost(newly_lost, self.board.first(), journal);
        self.report_segments(now);
        if newly_lost > 0 && !self.recovery.is_repairing() {
            self.enter_recovery(now, in_flight_before, journal);
        }
        self.recovery.note_disorder(self.board.sacked_count() > 0);
    }

    /// The state of the connection as `ack` leaves it, for the controller.
    #[inline(always)]
    fn state_after(&self, ack: &Acknowledgement, summary: &AckSummary) -> Ack {
        Ack {
            timestamp_echo: if self.stack.timestamps { ack.echo } else { Time::NEVER },
            timestamp_tick: self.stack.clock.timestamp_tick,
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
            window_limited: self.is_window_limited(),
            acknowledged_to: self.board.first(),
            sent_to: self.board.next(),
            counting: self.counting(),
            slow_start_at_threshold: self.stack.growth.slow_start_at_threshold,
            ..Ack::EMPTY
        }
    }

    /// How this ACK counts. Byte counting takes a segment at most while what a timeout deemed lost is sent again: an
    /// ACK may cover far more than left since (RFC 3465, section 2.3; FreeBSD, while snd_nxt is below snd_max).
    fn counting(&self) -> Counting {
        match self.stack.growth.counting {
            Counting::Bytes { .. } if self.recovery.phase() == Phase::Loss && self.board.awaits_retransmission() => {
                Counting::Bytes { limit: 1 }
            }
            counting => counting,
        }
    }

    /// Without SACK: duplicates stand for arrivals, the third of them and every partial ACK for the loss of the first
    /// outstanding segment (RFC 6582, section 3.2). Returns how many segments that marks.
    #[inline(never)]
    fn count_duplicates(&mut self, summary: &mut AckSummary) -> u32 {
        if summary.acknowledged > 0 {
            self.duplicates = 0;
            // What duplicates announced was delivered then (RFC 6937, section 3, DeliveredData without SACK).
            summary.delivered = summary.acknowledged.saturating_sub(self.board.sacked_count()).max(1);
            if self.recovery.phase() != Phase::Recovery {
                self.board.clear_duplicates();
                return 0;
            }
            self.board.discount_duplicates(summary.acknowledged);
            let partial = !self.recovery.is_complete(self.board.first());
            return if partial { self.board.mark_first_lost() } else { 0 };
        }
        if self.board.outstanding() == 0 || self.recovery.phase() == Phase::Loss {
            return 0;
        }
        self.duplicates += 1;
        summary.delivered = u32::from(self.board.count_duplicate());
        let recovering = self.recovery.phase() == Phase::Recovery;
        let fresh = self.recovery.trusts_duplicates(self.board.first());
        if self.duplicates >= self.reordering.threshold && !recovering && fresh {
            return self.board.mark_first_lost();
        }
        0
    }

    /// RTT samples: one for the timeout from the oldest segment covered, one for controllers from the newest, none
    /// from a segment sent twice unless timestamps tell its transmissions apart (RFC 6298, section 3).
    fn take_samples(&mut self, now: Time, ack: &Acknowledgement, summary: &AckSummary) -> Option<RttSample> {
        let tick = self.stack.clock.tick;
        let in_order = if summary.sacked == 0 { summary.acknowledged } else { 0 };
        let delayed = self.detector.may_be_delayed(in_order);
        if let Some(oldest) = summary.oldest_at.filter(|_| !summary.ambiguous) {
            self.rtt.sample(on_clock(oldest, now, tick));
        } else if summary.acknowledged > 0 && self.stack.timestamps && ack.echo != Time::NEVER {
            self.rtt.sample(on_clock(ack.echo, now, tick));
        }
        let newest = summary.newest_at.filter(|_| !summary.ambiguous)?;
        let value = on_clock(newest, now, if self.wants.exact_rtt { Span::ZERO } else { tick });
        self.rtt.observe(value, now, self.stack.clock.min_rtt_window);
        Some(RttSample { value, delayed })
    }

    /// Delivery rate over the flight of the newest segment delivered (draft-cheng-iccrg-delivery-rate-estimation,
    /// section 3.3).
    #[inline(always)]
    fn delivery_rate(&mut self, now: Time, summary: &AckSummary) -> Option<RateSample> {
        self.delivery.on_delivered(now, summary.delivered);
        let newest = summary.newest?;
        let shortest = self.rtt.minimum.saturating_sub(self.stack.clock.tick);
        let sample = self.delivery.sample(now, &newest.state(), newest.at(), shortest)?;
        Some(RateSample { is_retransmission: newest.is_retransmission(), ..sample })
    }

    /// The state in which the newest segment left, for a controller that asks for reports of each.
    #[inline(never)]
    fn state_when_sent(&mut self, summary: &AckSummary) -> Option<SentState> {
        let newest = summary.newest?;
        self.board.reports()?.state(newest.number)
    }

    /// With accurate ECN: how many marks `ack` reports that none before did; none if it was overtaken.
    fn count_marks(&mut self, ack: &Acknowledgement) -> u32 {
        let newly_marked = (ack.marked.wrapping_sub(self.marked as u32) as i32).max(0) as u32;
        self.marked += u64::from(newly_marked);
        newly_marked
    }

    /// Whether the marked segment is covered; if so the next new segment is marked.
    fn round_ends(&mut self) -> bool {
        let ends = self.board.first() > self.round_mark || self.board.is_sacked(self.round_mark);
        if ends {
            self.round_mark = self.board.next();
        }
        ends
    }

    /// What the ACK tells of reordering: a segment that arrived late, or a duplicate that shows a needless
    /// retransmission.
    #[inline(never)]
    fn observe_reordering(&mut self, ack: &Acknowledgement, summary: &AckSummary) {
        if let Some((extent, true)) = summary.overtaken {
            self.reordering.observe(extent);
        }
        if let Some(duplicate) = ack.duplicate
            && self.probe.repeated() != Some(duplicate)
        {
            self.reordering.on_duplicate_sack(self.board.first(), self.board.next());
        }
    }

    /// Whether an ACK that only SACKs shows an arrival from before the oldest segment left last. In Linux that
    /// restarts the timer as well: it must not expire on a retransmission that cannot be acknowledged yet.
    fn shows_older_arrival(&self, summary: &AckSummary) -> bool {
        let resent = self.recovery.is_repairing() && self.stack.losses.is_rack();
        resent
            && summary.oldest_at.is_some_and(|at| self.board.sent_at(self.board.first()).is_some_and(|sent| at < sent))
    }

    /// Loss detection by time or by count. Returns how many segments are newly deemed lost.
    #[inline]
    fn detect_losses(&mut self, now: Time) -> u32 {
        // In order, and nothing was sent again that could have overtaken anything.
        let in_order = self.board.sacked_count() == 0 && self.recovery.phase() == Phase::Open;
        if in_order { 0 } else { self.detect_disorderly(now) }
    }

    #[inline(never)]
    fn detect_disorderly(&mut self, now: Time) -> u32 {
        if self.stack.losses.is_rack() {
            return self.detect_by_time(now);
        }
        if self.board.sacked_count() == 0 || self.recovery.phase() == Phase::Loss {
            return 0;
        }
        let recovering = self.recovery.phase() == Phase::Recovery && !self.recovery.is_complete(self.board.first());
        let threshold = if recovering && self.retransmits_holes() { 1 } else { self.reordering.threshold };
        if self.reordering.forward {
            self.board.detect_forward(threshold)
        } else {
            self.board.detect_by_count(threshold)
        }
    }

    /// RACK (RFC 8985, section 6.2). Returns how many segments are newly deemed lost.
    pub(super) fn detect_by_time(&mut self, now: Time) -> u32 {
        let evidence = self.recovery.is_repairing() || self.board.sacked_count() >= self.reordering.threshold;
        let window = self.reordering.window(evidence, self.rtt.shortest(), self.rtt.smoothed);
        let (lost, again, next) = self.board.detect_by_time(now, window);
        self.timers.set_reordering(next.map(|due| self.reordering_expiry(now, due)));
        self.lost_again = again;
        lost
    }

    /// When the timer of RACK expires that is set at `now` for `due`: no later than that of a retransmission.
    #[inline(never)]
    fn reordering_expiry(&self, now: Time, due: Time) -> Time {
        if self.ticks.are_exact() {
            return due;
        }
        let wait = due.since(now) + TIMER_MIN;
        self.ticks.expiry(now, wait.min(self.rtt.timeout(&self.stack.timers)))
    }

    /// Reports to a controller that asks for it what became of segments, delivered ones first.
    #[inline]
    pub(super) fn report_segments(&mut self, now: Time) {
        if self.wants.segments.any() {
            self.report_all(now);
        }
    }

    #[inline(never)]
    fn report_all(&mut self, now: Time) {
        while let Some(mut report) = self.board.reports().and_then(SegmentReports::poll_delivered) {
            report.rtt = (!report.retransmitted).then(|| on_clock(report.sent.at, now, self.stack.clock.tick));
            self.notify(now, |controller, cx| controller.on_segment_delivered(cx, &report));
        }
        while let Some(report) = self.board.reports().and_then(SegmentReports::poll_lost) {
            self.notify(now, |controller, cx| controller.on_segment_lost(cx, &report));
        }
        let first = self.board.first();
        if let Some(reports) = self.board.reports() {
            reports.remove_below(first);
        }
    }

    #[inline]
    pub(super) fn note_lost(&mut self, count: u32, sequence: u64, journal: &mut dyn Journal) {
        if count > 0 {
            self.note_some_lost(count, sequence, journal);
        }
    }

    #[inline(never)]
    fn note_some_lost(&mut self, count: u32, sequence: u64, journal: &mut dyn Journal) {
        self.lost += u64::from(count);
        self.unreported_losses += count;
        journal.note(Event::DeemedLost { sequence, count, rtt: self.rtt.latest });
    }

    /// The fate of a tail loss probe (RFC 8985, section 7.4): if it repaired a loss that nothing else showed, the
    /// window is reduced once for it.
    #[inline(never)]
    fn settle_probe(&mut self, now: Time, ack: &Acknowledgement, signal: &Ack, journal: &mut dyn Journal) {
        let pure = signal.newly_acknowledged == 0 && ack.sack.is_empty();
        let Fate::Repaired(repeated) = self.probe.settle(self.board.first(), ack.duplicate, pure) else { return };
        self.note_lost(1, repeated, journal);
        let window = self.controller.window();
        journal.note(Event::LossEvent { window });
        let newly_lost = std::mem::take(&mut self.unreported_losses);
        let loss = self.loss(signal.in_flight_before, newly_lost, false, now);
        self.notify(now, |controller, cx| controller.on_loss(cx, &loss));
        self.notify(now, |controller, cx| controller.on_recovered(cx));
        self.note_reduction();
    }

    /// Eifel detection by timestamps (RFC 3522) and detection by duplicate SACKs (RFC 3708).
    #[inline]
    fn is_spurious(&mut self, ack: &Acknowledgement, summary: &AckSummary) -> bool {
        let Some(undo) = self.recovery.undo() else { return false };
        let timestamps = self.stack.timestamps && summary.acknowledged > 0;
        let echoes_original = timestamps && undo.left_after(ack.echo, self.stack.clock.timestamp_tick);
        (echoes_original || ack.duplicate.is_some()) && self.shows_spurious(ack, echoes_original)
    }

    #[inline(never)]
    fn shows_spurious(&mut self, ack: &Acknowledgement, echoes_original: bool) -> bool {
        let partial = self.recovery.phase() == Phase::Recovery && !self.recovery.is_complete(self.board.first());
        let Some(undo) = self.recovery.undo_mut() else { return false };
        if ack.duplicate.is_some_and(|sequence| undo.were_all_duplicates(sequence)) {
            return true;
        }
        // A late segment beside lost ones: what was sent again for those may still prove necessary.
        echoes_original && !(partial && self.board.retransmitted_count() > 0)
    }

    /// Forward RTO recovery (RFC 5682): whether an ACK of what was not sent again shows the timeout to be spurious.
    #[inline]
    fn is_timeout_spurious(&mut self, now: Time, summary: &AckSummary) -> bool {
        self.forward_rto.is_on() && self.tests_timeout(now, summary)
    }

    #[inline(never)]
    fn tests_timeout(&mut self, now: Time, summary: &AckSummary) -> bool {
        if self.recovery.phase() != Phase::Loss {
            self.forward_rto.end();
            return false;
        }
        let evidence = Evidence {
            oldest_original: summary.oldest_at,
            partial: summary.acknowledged > 0 && !self.recovery.is_complete(self.board.first()),
            duplicate: summary.acknowledged == 0 || summary.sacked > 0,
            new_data: self.has_new_data(now),
        };
        let verdict = self.forward_rto.on_ack(evidence);
        if verdict == Verdict::SendNew {
            self.recovery.move_point(self.board.next());
        }
        verdict == Verdict::Spurious
    }

    #[inline(never)]
    fn undo_reduction(&mut self, now: Time, summary: &AckSummary, journal: &mut dyn Journal) {
        self.counters.spurious += 1;
        journal.note(Event::Spurious);
        if let Some((extent, _)) = summary.overtaken {
            self.reordering.observe(extent);
        }
        self.board.unmark_lost();
        self.unreported_losses = 0;
        self.recovery.revert();
        self.notify(now, |controller, cx| controller.on_spurious(cx));
    }

    /// Moves between the phases, and lets what limits the flight count the ACK. `progress`: it moved the cumulative
    /// point, and showed no loss.
    fn move_phase(&mut self, now: Time, signal: &Ack, entering: bool, progress: bool, journal: &mut dyn Journal) {
        if signal.newly_acknowledged > 0 {
            self.recovery.on_progress(|| signal.slow_start_credit() as u32, self.exact_window);
        }
        if !self.recovery.is_open() && self.is_over() {
            self.complete_reduction(now, journal);
        }
        if entering {
            self.enter_recovery(now, signal.in_flight_before, journal);
        } else if signal.ecn_echo
            && !self.wants.governs_marks
            && self.recovery.is_open()
            && self.recovery.is_announced(self.board.first())
        {
            self.enter_reduction(now, signal.in_flight_before, journal);
        }
        self.recovery.note_disorder(self.board.sacked_count() > 0);
        self.recovery.on_ack(self.window, signal.newly_delivered, signal.in_flight, progress);
    }

    /// All that had been sent when the reduction began is acknowledged.
    #[inline(never)]
    fn complete_reduction(&mut self, now: Time, journal: &mut dyn Journal) {
        if self.recovery.phase() != Phase::Reduced {
            self.reordering.on_recovered();
        }
        if self.recovery.is_reported() {
            self.leave_reduction(now, journal);
        } else {
            self.recovery.leave();
        }
        // Duplicates of the retransmissions may still come.
        self.recovery.settle();
    }
}
