//! The order in which an acknowledgement is processed: scoreboard, samples, loss detection, phases, controller.

use control::Ack;
use units::{Span, Time};

use super::Sender;
use crate::journal::{Event, Journal};
use crate::segment::{Acknowledgement, CumulativeAck};
use crate::tcp::flight::{AckSummary, InOrder};
use crate::tcp::repair::Phase;

/// Content of an ACK, as far as it decides which steps have anything to do.
#[derive(Clone, Copy, Debug)]
enum Content {
    /// More segments in order, while none is missing and nothing is reduced.
    InOrder(InOrder),
    /// With RACK: arrivals alone. There is no duplicate, no mark, and no probe or reduction that it concerns.
    Arrivals,
    /// Anything else.
    Any,
}

/// The response of the sender to an ACK.
#[derive(Clone, Copy, Debug)]
struct Response {
    /// A loss event begins.
    entering: bool,
    ends_recovery: bool,
    /// It ends the repair of a timeout.
    ends_repair: bool,
    /// The window may grow.
    grows: bool,
    /// Lost segments that this ACK reports to the controller.
    newly_lost: u32,
}

const GROWS: Response =
    Response { entering: false, ends_recovery: false, ends_repair: false, grows: true, newly_lost: 0 };

impl Sender {
    /// An acknowledgement arrived. Afterwards poll what to transmit. Says whether it carried an RTT sample.
    pub fn on_acknowledgement(&mut self, now: Time, ack: &Acknowledgement, journal: &mut dyn Journal) -> Option<Span> {
        match ack.as_cumulative() {
            Some(ack) => self.on_cumulative_ack(now, &ack, journal),
            None => self.on_other_acknowledgement(now, ack, journal),
        }
    }

    /// The same for an acknowledgement without SACK blocks and duplicate.
    #[inline(never)]
    pub fn on_cumulative_ack(&mut self, now: Time, ack: &CumulativeAck, journal: &mut dyn Journal) -> Option<Span> {
        // No function that is not inlined gets it, so its empty fields are never written.
        let whole = Acknowledgement::from(*ack);
        if self.is_of_arrivals(&whole)
            && let Some(segments) = self.in_order(&whole)
        {
            return self.process(now, &whole, Content::InOrder(segments), journal);
        }
        self.on_other_acknowledgement(now, &Acknowledgement::from(*ack), journal)
    }

    /// True if `ack` reports nothing but arrivals, as in [`Content::Arrivals`].
    #[inline(always)]
    fn is_of_arrivals(&self, ack: &Acknowledgement) -> bool {
        ack.duplicate.is_none()
            && !ack.congestion_echo
            && self.flight.knows_marks(ack.marked)
            && self.repair.is_settled(ack, self.flight.first(), &self.stack)
    }

    /// The segments that `ack`, which reports nothing but arrivals, covers, if it is [`Content::InOrder`].
    #[inline(always)]
    fn in_order(&self, ack: &Acknowledgement) -> Option<InOrder> {
        let regular = ack.sack.is_empty() && self.flight.is_in_order() && self.repair.is_idle();
        if regular { self.flight.in_order(ack.cumulative) } else { None }
    }

    #[inline(never)]
    fn on_other_acknowledgement(
        &mut self,
        now: Time,
        ack: &Acknowledgement,
        journal: &mut dyn Journal,
    ) -> Option<Span> {
        let rack = self.stack.losses.is_rack();
        let content = if rack && self.is_of_arrivals(ack) { Content::Arrivals } else { Content::Any };
        self.repair.settle_deadline(&self.flight, &self.stack);
        let old = ack.cumulative < self.flight.first();
        let is_empty = !self.stack.sack() || (ack.sack.is_empty() && ack.duplicate.is_none());
        if ack.cumulative > self.flight.next() || (old && is_empty) {
            return None; // never sent (RFC 9293, section 3.10.7.4), or known
        }
        let counts = self.as_it_counts(ack);
        let ack = counts.as_ref().unwrap_or(ack);
        if old {
            self.on_old_acknowledgement(now, ack, journal);
            return None;
        }
        self.process(now, ack, content, journal)
    }

    /// The steps of an acknowledgement, in their order. Inlined, so that the steps that its `content` rules out cost
    /// nothing.
    #[inline(always)]
    fn process(
        &mut self,
        now: Time,
        ack: &Acknowledgement,
        content: Content,
        journal: &mut dyn Journal,
    ) -> Option<Span> {
        self.output.look_again();
        let in_flight_before = self.flight.in_flight();
        let (in_order, any) = (matches!(content, Content::InOrder(_)), matches!(content, Content::Any));
        let had_duplicates = !in_order && self.flight.sacked_count() > 0;
        let mut summary = AckSummary::default();
        if let Content::InOrder(segments) = content {
            summary = self.flight.take_in_order(now, segments);
        } else {
            self.flight.apply_to(now, ack, &self.stack, &mut summary);
        }
        let counted = if any { self.count_duplicates(ack, &mut summary) } else { 0 };
        let is_plain = in_order || ack.sack.is_empty() && ack.duplicate.is_none() && !ack.congestion_echo;
        let fast_path = is_plain && ack.window == self.output.peer_window();
        let limit = self.repair.limit(self.driver.window());
        self.output.set_peer_window(ack.window);
        let rtt = self.flight.take_samples(now, ack, &summary, &self.stack, self.driver.wants().exact_rtt);
        let mut rate = self.flight.delivery_rate(now, &summary, self.stack.clock.tick);
        if let Some(rate) = rate.as_mut().filter(|_| self.driver.wants().segments.any()) {
            rate.sent = self.flight.state_when_sent(&summary);
        }
        let round_start = self.flight.round_ends();
        let newly_marked = if any { self.flight.count_marks(ack) } else { 0 };
        let found = self.look(now, ack, content, (&summary, counted, in_flight_before), journal);
        let ecn_echo = any && (ack.congestion_echo || newly_marked > 0);
        let response = if in_order { GROWS } else { self.respond(now, &summary, found, ecn_echo, journal) };
        let signal = Ack {
            rtt,
            newly_lost: response.newly_lost,
            in_flight_before,
            first_duplicate: !in_order
                && !had_duplicates
                && summary.acknowledged == 0
                && self.flight.sacked_count() > 0,
            rate,
            round_start,
            ecn_echo,
            newly_marked,
            ends_recovery: response.ends_recovery,
            ends_repair: response.ends_repair,
            window_limited: self.is_window_limited(in_flight_before),
            fast_path,
            limit,
            ..self.flight.describe(ack, &summary, &self.stack)
        };
        self.signal(now, response.grows, &signal);
        if summary.acknowledged > 0 {
            self.note_progress(&signal);
        }
        let Some(newly_lost) = found else {
            self.wait_for_discarded(now, &signal);
            return rtt.map(|rtt| rtt.value);
        };
        if !in_order {
            let progress = summary.acknowledged > 0 && newly_lost == 0;
            self.move_phase(now, &signal, response.entering, progress, journal);
        }
        self.repair.on_ack(summary.acknowledged > 0 || self.shows_older_arrival(&summary));
        rtt.map(|rtt| rtt.value)
    }

    /// Losses that an ACK with this summary shows, besides those `counted` without SACK: how many segments are newly
    /// deemed lost. None: the receiver has discarded what it SACKed.
    #[inline(always)]
    fn look(
        &mut self,
        now: Time,
        ack: &Acknowledgement,
        content: Content,
        (summary, counted, in_flight_before): (&AckSummary, u32, u32),
        journal: &mut dyn Journal,
    ) -> Option<u32> {
        if let Content::InOrder(_) = content {
            self.report_segments(now);
            return Some(0);
        }
        if let Content::Any = content {
            self.settle_probe(now, ack, summary, in_flight_before, journal);
        }
        if self.shows_reneging(summary) {
            return None;
        }
        Some(match content {
            Content::Any => self.find_losses(now, ack, summary, counted, journal),
            _ => self.find_losses_by_arrivals(now, summary, journal),
        })
    }

    /// The response to an ACK that shows so many segments to be lost, or none if the receiver has discarded some.
    #[inline(always)]
    fn respond(
        &mut self,
        now: Time,
        summary: &AckSummary,
        found: Option<u32>,
        ecn_echo: bool,
        journal: &mut dyn Journal,
    ) -> Response {
        let (stage, reneging, newly_lost) = (self.repair.stage(), found.is_none(), found.unwrap_or(0));
        let entering =
            !reneging && self.flight.begins_loss_event(newly_lost, stage, self.is_over(), &self.stack.losses);
        let held = self.driver.is_held_in_recovery() && (stage.is_reducing() || entering);
        let ends_recovery = held && !entering && !reneging && self.is_over() && self.grows_at_end(now, journal);
        // RFC 3168, section 6.1.2: no growth on an ACK with an echo. Linux answers none while a timeout is repaired.
        let repairs_timeout = || self.stack.losses.is_linux() && stage.phase() == Phase::Loss && !self.is_over();
        let marked =
            ecn_echo && !self.driver.wants().governs_marks && !self.repair.ignores_echo() && !repairs_timeout();
        let advances = summary.acknowledged > 0 || (summary.sacked > 0 && self.flight.reorders(&self.stack));
        Response {
            entering,
            ends_recovery,
            ends_repair: stage.phase() == Phase::Loss && !reneging && self.is_over(),
            grows: advances && (!held || ends_recovery) && !marked,
            newly_lost: if entering { 0 } else { self.flight.take_unreported() },
        }
    }

    /// Before the controller gets the ACK, a tail loss probe in flight may prove to have repaired a loss (in Linux
    /// tcp_process_tlp_ack).
    #[inline(always)]
    fn settle_probe(
        &mut self,
        now: Time,
        ack: &Acknowledgement,
        summary: &AckSummary,
        in_flight_before: u32,
        journal: &mut dyn Journal,
    ) {
        if let Some(repeated) = self.repair.settles_probe(ack, summary.acknowledged, self.flight.first()) {
            self.on_probe_repair(now, repeated, in_flight_before, journal);
        }
    }

    /// Losses that arrivals show with RACK.
    #[inline(always)]
    fn find_losses_by_arrivals(&mut self, now: Time, summary: &AckSummary, journal: &mut dyn Journal) -> u32 {
        self.repair.wait_for_next(false);
        let newly_lost = self.look_for_losses(now, summary);
        self.note_lost(newly_lost, self.flight.first(), journal);
        self.report_segments(now);
        newly_lost
    }

    /// Counts duplicates. Without SACK: how many segments `ack` shows to be lost, as far as that is known by now.
    #[inline(never)]
    fn count_duplicates(&mut self, ack: &Acknowledgement, summary: &mut AckSummary) -> u32 {
        if ack.duplicate.is_some() {
            // A spurious retransmission was delivered as well (in Linux since 5.8 tcp_dsack_seen, with RACK).
            summary.delivered += u32::from(self.stack.losses.is_linux_rack());
        }
        if self.stack.sack() {
            return 0;
        }
        let stage = self.repair.stage();
        if self.stack.losses.emulates_sack() {
            self.flight.emulate_sack(summary, stage);
            return 0;
        }
        self.flight.count_duplicates(summary, stage)
    }

    /// Losses that an ACK shows, besides those `counted` without SACK, and reductions that it shows to be spurious: how
    /// many segments are newly deemed lost.
    #[inline(never)]
    fn find_losses(
        &mut self,
        now: Time,
        ack: &Acknowledgement,
        summary: &AckSummary,
        counted: u32,
        journal: &mut dyn Journal,
    ) -> u32 {
        let mut newly_lost = counted;
        if self.stack.losses.is_rack() {
            self.repair.note_dsack(ack, &self.flight);
            self.repair.update_reordering_window(&mut self.flight, summary);
        }
        if self.stack.losses.undoes_first() {
            self.note_evidence(ack, summary);
            return self.undo_then_detect(now, ack, summary, journal);
        }
        if self.stack.sack() {
            newly_lost = self.look_for_losses(now, summary);
        }
        if self.is_spurious(now, ack, summary) {
            self.undo_reduction(now, summary, journal);
            newly_lost = 0;
        }
        self.note_lost(newly_lost, self.flight.first(), journal);
        self.report_segments(now);
        newly_lost
    }

    /// True if the reduction under way ends with the cumulative point where it is now.
    #[inline(always)]
    fn is_over(&self) -> bool {
        self.repair.is_over(self.flight.first(), &self.stack)
    }

    /// An ACK that was overtaken by a later one says nothing of the cumulative point. But segments that it reports
    /// as SACKed or as duplicates did arrive (in Linux `old_ack`). It is no ACK for the controller.
    #[cold]
    #[inline(never)]
    fn on_old_acknowledgement(&mut self, now: Time, ack: &Acknowledgement, journal: &mut dyn Journal) {
        let in_flight_before = self.flight.in_flight();
        let summary = self.flight.receive_old(now, ack, &self.stack);
        let newly_lost = if self.stack.losses.undoes_first() {
            self.repair.note_dsack(ack, &self.flight);
            self.note_evidence(ack, &summary);
            self.undo_then_detect(now, ack, &summary, journal)
        } else {
            self.find_losses(now, ack, &summary, 0, journal)
        };
        let (stage, over) = (self.repair.stage(), self.is_over());
        if self.flight.begins_loss_event(newly_lost, stage, over, &self.stack.losses) {
            self.enter_recovery(now, in_flight_before, journal);
        }
        self.repair.note_disorder(self.is_disordered());
    }

    /// With SACK: learns from an ACK how the path reorders, then looks for losses.
    #[inline(always)]
    fn look_for_losses(&mut self, now: Time, summary: &AckSummary) -> u32 {
        if summary.overtaken.is_some() {
            self.flight.observe_reordering(summary);
        }
        self.detect_losses(now)
    }

    /// Loss detection with SACK. Returns how many segments are newly deemed lost.
    #[inline]
    pub(super) fn detect_losses(&mut self, now: Time) -> u32 {
        let found = self.flight.detect(now, self.repair.stage(), &self.stack);
        if let Some(suspect) = found.suspect {
            self.repair.await_suspect(now, suspect, &self.flight, &self.stack);
        }
        found.lost
    }

    /// True if the ACK shows the last reduction, or the timeout that is tested, to be spurious.
    #[inline]
    fn is_spurious(&mut self, now: Time, ack: &Acknowledgement, summary: &AckSummary) -> bool {
        self.repair.is_spurious(ack, summary, &self.flight, &self.stack) || self.shows_spurious_timeout(now, summary)
    }

    /// True if the ACK shows the timeout that is tested to be spurious (F-RTO).
    #[inline]
    pub(super) fn shows_spurious_timeout(&mut self, now: Time, summary: &AckSummary) -> bool {
        let (flight, output, backlog) = (&self.flight, &self.output, &mut self.backlog);
        let sack = self.stack.sack();
        self.repair
            .is_timeout_spurious(summary, flight, sack, || super::transmit::has_new(now, flight, output, backlog))
    }

    /// The reduction is over. Returns true if the window may grow on the ACK that ends it: then it is left.
    #[cold]
    #[inline(never)]
    fn grows_at_end(&mut self, now: Time, journal: &mut dyn Journal) -> bool {
        let grows = self.stack.growth.recovery_end_grows;
        if grows {
            self.complete_reduction(now, journal);
        }
        grows
    }

    /// Gives an ACK to the controller, whose window may grow on it or not.
    #[inline(always)]
    fn signal(&mut self, now: Time, grows: bool, signal: &Ack) {
        if grows {
            self.notify_of(now, None, |controller, cx| controller.on_ack(cx, signal));
            self.output.restart_clock(now);
        } else {
            self.notify(now, |controller, cx| controller.on_duplicate_ack(cx, signal));
        }
    }

    /// True if the window counts as used with `in_flight` segments before the ACK, so that it may grow.
    #[inline]
    pub(super) fn is_window_limited(&self, in_flight: u32) -> bool {
        self.output.is_window_limited(self.driver.decided(), in_flight, self.stack.growth.validation)
    }

    /// True if an ACK that only SACKs shows an arrival from before the oldest segment left last. In Linux that
    /// restarts the timer as well: it must not expire on a retransmission that cannot be acknowledged yet.
    fn shows_older_arrival(&self, summary: &AckSummary) -> bool {
        self.stack.losses.is_linux_rack() && self.flight.shows_older_arrival(summary)
    }

    /// Reports the fate of segments to a controller that asks for it, delivered ones first.
    #[inline]
    pub(super) fn report_segments(&mut self, now: Time) {
        if self.driver.wants().segments.any() {
            self.report_all(now);
        }
    }

    #[inline(never)]
    fn report_all(&mut self, now: Time) {
        while let Some((report, delivered)) = self.flight.poll_report(now, &self.stack.clock) {
            self.notify(now, |controller, cx| match delivered {
                true => controller.on_segment_delivered(cx, &report),
                false => controller.on_segment_lost(cx, &report),
            });
        }
        self.flight.end_reports();
    }

    #[inline]
    pub(super) fn note_lost(&mut self, count: u32, sequence: u64, journal: &mut dyn Journal) {
        if count > 0 {
            self.note_some_lost(count, sequence, journal);
        }
    }

    #[inline(never)]
    fn note_some_lost(&mut self, count: u32, sequence: u64, journal: &mut dyn Journal) {
        self.flight.note_lost(count);
        journal.note(Event::DeemedLost { sequence, count, rtt: self.flight.rtt().latest });
    }

    /// A tail loss probe repaired the loss of segment `repeated`, which nothing else showed: the window is reduced once
    /// for it (RFC 8985, section 7.4).
    #[inline(never)]
    fn on_probe_repair(&mut self, now: Time, repeated: u64, in_flight: u32, journal: &mut dyn Journal) {
        self.note_lost(1, repeated, journal);
        let window = self.driver.controller().window();
        journal.note(Event::LossEvent { window });
        let newly_lost = self.flight.take_unreported();
        let loss = self.loss(in_flight, newly_lost, false, now);
        self.notify(now, |controller, cx| controller.on_loss(cx, &loss));
        self.notify(now, |controller, cx| controller.on_recovered(cx));
        self.repair.begin(self.flight.next(), &self.stack);
    }

    /// Moves between the phases, and lets the reduction count the ACK. `progress`: it moved the cumulative point, and
    /// showed no loss.
    fn move_phase(&mut self, now: Time, signal: &Ack, entering: bool, progress: bool, journal: &mut dyn Journal) {
        let first = self.flight.first();
        if !self.repair.stage().is_open() && self.is_over() {
            self.complete_reduction(now, journal);
        }
        if entering {
            self.enter_recovery(now, signal.in_flight_before, journal);
            if signal.ecn_echo {
                self.repair.forbid_undo();
            }
        } else if signal.ecn_echo && self.driver.wants().governs_marks {
            self.repair.announce_on_echo(first, self.flight.next(), &self.stack);
        } else if signal.ecn_echo && !self.repair.ignores_echo() && self.repair.answers_echo(first, &self.stack) {
            self.enter_reduction(now, signal.in_flight_before, journal);
        }
        // In Linux an ACK with nothing outstanding before it does not count for the reduction (no_queue).
        let counts =
            !self.stack.losses.undoes_first() || signal.newly_acknowledged > 0 || self.flight.outstanding() > 0;
        self.repair.end_ack(self.driver.window(), signal, self.is_disordered(), progress, counts);
        if self.stack.losses.undoes_first() {
            self.repair.settle_retransmit_stamp(&self.flight);
        }
    }

    /// Lets the repair know of an ACK that moved the cumulative point.
    #[inline(always)]
    fn note_progress(&mut self, signal: &Ack) {
        let (flight, growth, stage) = (&self.flight, &self.stack.growth, self.repair.stage());
        let credit = || flight.counting(stage, growth).in_slow_start(signal);
        self.repair.on_progress(credit, self.driver.decided().0);
    }

    /// True if segments above the cumulative point have arrived, in Linux also if any are lost or were sent again
    /// (tcp_try_keep_open).
    #[inline]
    pub(super) fn is_disordered(&self) -> bool {
        self.flight.sacked_count() > 0 || (self.stack.losses.undoes_first() && self.flight.has_lost_or_retransmitted())
    }

    /// All that had been sent when the reduction began is acknowledged.
    #[inline(never)]
    fn complete_reduction(&mut self, now: Time, journal: &mut dyn Journal) {
        if self.repair.phase() != Phase::Reduced {
            self.flight.on_recovered();
        }
        if self.repair.is_reported() {
            self.leave_reduction(now, journal);
        } else {
            self.repair.leave();
        }
        self.repair.settle();
    }
}
