//! The sender of a media flow: an encoder, a pacer, and a controller that gets feedback on packets and sets the rate.

mod history;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;

use control::media::WITHOUT_LIMIT;
use control::{
    Ack, Context, Controller, Loss, Marks, Moment, ParameterError, Parameters, RttSample, SegmentReport, SentState,
};
use units::packet::{IP_HEADER, UDP_HEADER};
use units::{Bytes, Ecn, Random, Rate, SenderCounters, Span, Time};

use self::history::{Fate, History, Sent};
use super::breaker::Breaker;
use super::{Encoder, Frame, MediaReport, MediaSettings, PacketHeader};
use crate::journal::{Event, Journal};
use crate::media::{Datagrams, Recorded};
use crate::segment::Data;
use crate::tcp::DeliveryRate;
use crate::tcp::rtt::RttEstimator;

/// Headers of IP, UDP and RTP (RFC 3550, section 5.1).
const HEADER: u64 = IP_HEADER.get() + UDP_HEADER.get() + 12;
/// The pacer empties its queue within this time (libwebrtc, `kMaxExpectedQueueLength`).
const LONGEST_QUEUE: Span = Span::from_secs(2);
/// Without feedback for this time and four round trips, everything outstanding is lost.
const FEEDBACK_TIMEOUT: Span = Span::from_secs(1);

/// A packet in the queue of the pacer.
#[derive(Clone, Copy, Debug)]
struct Queued {
    header: PacketHeader,
    payload: u32,
    again: bool,
}

/// The sender of one flow.
pub struct MediaSource {
    controller: Box<dyn Controller>,
    random: Random,
    encoder: Encoder,
    settings: MediaSettings,
    /// IP size of the largest packet.
    size: Bytes,
    ecn: bool,
    running: bool,
    queue: VecDeque<Queued>,
    queued: u64,
    departure: Time,
    history: History,
    recovery_point: u64,
    round_mark: u64,
    rtt: RttEstimator,
    delivery: DeliveryRate,
    counters: SenderCounters,
    marked: u64,
    /// When feedback is overdue, and whether the last timeout had no feedback behind it.
    overdue: Time,
    again: bool,
    /// The controller's timer.
    timer: Time,
    breaker: Option<Breaker>,
    frames: Vec<Frame>,
}

impl MediaSource {
    /// A sender of packets of at most `size` IP bytes, of frames that are `recorded` if there is a recording. Its
    /// packets can be marked with `ecn`.
    pub fn new(
        settings: &MediaSettings,
        (size, ecn): (Bytes, bool),
        recorded: Option<&Datagrams>,
        controller: Box<dyn Controller>,
        [random, chance]: [Random; 2],
    ) -> Self {
        let start = controller.pacing_rate().unwrap_or(settings.min_rate);
        let mut encoder = Encoder::new(settings, start, chance);
        if let Some(datagrams) = recorded {
            encoder = encoder.with(Recorded::new(datagrams.clone()), mean_rate(datagrams));
        }
        Self {
            controller,
            random,
            encoder,
            settings: settings.clone(),
            size,
            ecn,
            running: false,
            queue: VecDeque::new(),
            queued: 0,
            departure: Time::ZERO,
            history: History::default(),
            recovery_point: 0,
            round_mark: 0,
            rtt: RttEstimator::new(),
            delivery: DeliveryRate::default(),
            counters: SenderCounters::default(),
            marked: 0,
            overdue: Time::NEVER,
            again: false,
            timer: Time::NEVER,
            breaker: settings
                .breaker
                .map(|interval| Breaker::new(interval, Span::from_secs_f64(1.0 / settings.frame_rate))),
            frames: Vec::new(),
        }
    }

    /// The first frame is captured now.
    pub fn start(&mut self, now: Time) {
        self.running = true;
        self.departure = now;
        self.notify(now, |controller, cx| controller.on_start(cx));
        self.encoder.start(now);
        self.adopt(now);
    }

    fn notify(&mut self, now: Time, event: impl FnOnce(&mut dyn Controller, &mut Context<'_>)) {
        let segment_size = Bytes::new(self.room());
        let moment = Moment { now, segment_size, initial_window: 10.0, departure: now, ..Moment::EMPTY };
        let mut cx = Context { moment, random: &mut self.random };
        event(self.controller.as_mut(), &mut cx);
    }

    /// Bytes of media in a full packet.
    fn room(&self) -> u64 {
        self.size.get().saturating_sub(HEADER).max(1)
    }

    /// The rate that the controller allows, in bits a second: its pacing rate, or its window in the time from departure
    /// to feedback. Before the first sample that is the lowest rate of the encoder.
    fn target(&self) -> f64 {
        if let Some(rate) = self.controller.pacing_rate() {
            return rate.bits_per_second() as f64;
        }
        if self.rtt.minimum == Span::MAX {
            return self.settings.min_rate.bits_per_second() as f64;
        }
        let time = (self.rtt.smoothed + self.settings.feedback).as_secs_f64();
        8.0 * self.room() as f64 * self.controller.window() / time
    }

    /// The controller has decided: the encoder gets the target, and its timer is asked for.
    fn adopt(&mut self, now: Time) {
        let target = self.target();
        self.encoder.set_target(now, target);
        if self.controller.wants().timer {
            self.timer = self.controller.poll_timeout().map_or(Time::NEVER, |at| at.max(now + control::RESOLUTION));
        }
    }

    /// The next packet that leaves now, if one does.
    pub fn poll_transmit(&mut self, now: Time, journal: &mut dyn Journal) -> Option<Data> {
        if !self.running {
            return None;
        }
        while self.encoder.next_frame() <= now {
            self.encode(now);
        }
        if now < self.departure || !self.may_send() {
            return None;
        }
        let Queued { header, payload, again } = self.queue.pop_front()?;
        self.queued -= u64::from(payload);
        self.departure = self.departure.max(now) + self.spacing(payload);
        let sequence = self.history.next();
        if self.history.outstanding() == 0 {
            self.set_overdue(now);
            self.delivery.restart(now);
        }
        self.breaker.iter_mut().for_each(|breaker| breaker.on_sent(now));
        if self.queue.is_empty() {
            self.delivery.application_limits(self.in_flight());
        }
        let delivery = self.delivery.state();
        self.history.push(Sent { at: now, payload, header, delivery, fate: Fate::Outstanding });
        self.counters.data_packets += 1;
        if again {
            self.counters.retransmitted_packets += 1;
            journal.note(Event::Retransmission { sequence });
        }
        let push = header.index + 1 == header.needed;
        Some(Data { sequence, timestamp: now, payload, retransmission: again, reduced: false, push })
    }

    /// True if the window has room for a packet. One always has.
    fn may_send(&self) -> bool {
        f64::from(self.in_flight()) < self.controller.window().max(1.0)
    }

    /// The frame that is captured by now is encoded, or skipped if a packet has waited for too long.
    fn encode(&mut self, now: Time) {
        // Repairs are at the front.
        let oldest = self.queue.iter().find(|packet| !packet.again);
        if oldest.is_some_and(|packet| now.since(packet.header.captured) > self.settings.queue_limit) {
            self.encoder.skip(now);
        } else if let Some(frame) = self.encoder.poll(now) {
            self.packetise(frame);
        }
    }

    /// Puts the packets of `frame` into the queue of the pacer, all about as large, and those that repair it.
    fn packetise(&mut self, frame: Frame) {
        let needed = u64::from(frame.bytes).div_ceil(self.room()) as u32;
        let repair = (f64::from(needed) * self.settings.fec.get()).ceil() as u32;
        let (share, more) = (frame.bytes / needed, frame.bytes % needed);
        for index in 0..needed + repair {
            let payload = if index < needed { share + u32::from(index < more) } else { share + u32::from(more > 0) };
            let Frame { number, captured, key, .. } = frame;
            let header = PacketHeader { frame: number, captured, index, needed, key };
            self.queue.push_back(Queued { header, payload, again: false });
            self.queued += u64::from(payload);
        }
        self.frames.push(frame);
    }

    /// The time from a packet of `payload` to the next.
    fn spacing(&self, payload: u32) -> Span {
        let drain = 8.0 * self.queued as f64 / LONGEST_QUEUE.as_secs_f64();
        // libwebrtc, `GetPacingRates`: at least the lowest rate of the encoder counts.
        let rate = self.target().max(self.settings.min_rate.bits_per_second() as f64);
        let rate = (self.settings.pacing * rate).max(drain);
        Span::from_secs_f64(8.0 * f64::from(payload) / rate)
    }

    fn set_overdue(&mut self, now: Time) {
        self.overdue = now + FEEDBACK_TIMEOUT + self.settings.feedback + self.rtt.smoothed * 4;
    }

    /// A report arrives. Answers the RTT sample that it gives.
    pub fn on_report(&mut self, now: Time, report: &MediaReport, journal: &mut dyn Journal) -> Option<Span> {
        let in_flight_before = self.in_flight();
        let mut newly = Newly::default();
        for arrival in &report.arrivals {
            let Some(sent) = self.history.deliver(arrival.sequence) else { continue };
            newly.delivered += 1;
            newly.marked += u32::from(arrival.marked);
            newly.last = Some((arrival.sequence, sent));
            newly.delay = Some(arrival.at.since(sent.at));
            let one_way_delay = newly.delay;
            self.report(now, arrival.sequence, &sent, |report| SegmentReport {
                rtt: Some(now.since(sent.at)),
                one_way_delay,
                marked: arrival.marked,
                ..report
            });
        }
        let Some((last, Sent { at: sent_at, .. })) = newly.last else {
            self.breaker.iter_mut().for_each(|breaker| breaker.on_report(now, 0, 0));
            return None;
        };
        self.again = false;
        let rtt = now.since(sent_at).saturating_sub(report.kept);
        self.rtt.sample(rtt);
        self.rtt.observe(rtt, now, Span::ZERO);
        self.delivery.on_delivered(now, newly.delivered);
        self.set_overdue(now);
        let lost = self.find_lost(now);
        self.breaker.iter_mut().for_each(|breaker| breaker.on_report(now, newly.delivered, lost));
        if lost > 0 {
            let sequence = last.saturating_sub(u64::from(lost));
            journal.note(Event::DeemedLost { sequence, count: lost, rtt });
        }
        if let Some(newest) = report.key_request {
            self.encoder.request_key(newest);
        }
        self.tell(now, &newly, (rtt, lost, in_flight_before), journal);
        self.adopt(now);
        self.history.forget(now);
        Some(rtt)
    }

    /// Reports packet `sequence` to a controller that wants that.
    fn report(&mut self, now: Time, sequence: u64, sent: &Sent, more: impl FnOnce(SegmentReport) -> SegmentReport) {
        if !self.controller.wants().segments.any() {
            return;
        }
        let state = SentState { at: sent.at, ..SentState::EMPTY };
        let payload = Some(Bytes::new(u64::from(sent.payload)));
        let segment = more(SegmentReport { sequence, sent: state, payload, ..SegmentReport::EMPTY });
        let lost = sent.fate == Fate::Lost;
        self.notify(now, |controller, cx| {
            if lost {
                controller.on_segment_lost(cx, &segment);
            } else {
                controller.on_segment_delivered(cx, &segment);
            }
        });
    }

    /// Deems packets lost that later ones overtook, and sends them again if their frame is young enough.
    fn find_lost(&mut self, now: Time) -> u32 {
        let mut count = 0;
        while let Some((sequence, sent)) = self.history.pop_lost() {
            count += 1;
            self.report(now, sequence, &sent, |report| report);
            let young = now.since(sent.header.captured) <= self.settings.repair;
            if young && !self.settings.repair.is_zero() {
                self.queue.push_front(Queued { header: sent.header, payload: sent.payload, again: true });
                self.queued += u64::from(sent.payload);
            }
        }
        self.counters.lost_packets += u64::from(count);
        count
    }

    /// The event of the report, and those of a loss or of marks, once in a window of data.
    fn tell(
        &mut self,
        now: Time,
        newly: &Newly,
        (rtt, lost, in_flight_before): (Span, u32, u32),
        journal: &mut dyn Journal,
    ) {
        let last = newly.last.map_or(0, |(last, _)| last);
        let shortest = self.rtt.minimum;
        let rate = newly.last.and_then(|(_, sent)| self.delivery.sample(now, &sent.delivery, sent.at, shortest));
        let round_start = last >= self.round_mark;
        if round_start {
            self.round_mark = self.history.next();
        }
        self.marked += u64::from(newly.marked);
        let starts_event = last >= self.recovery_point;
        let is_loss = lost > 0 && starts_event;
        let limited = self.target() > self.settings.max_rate.bits_per_second() as f64;
        let signal = Ack {
            rtt: Some(RttSample { value: rtt, delayed: false }),
            smoothed_rtt: self.rtt.smoothed,
            min_rtt: self.rtt.minimum,
            one_way_delay: newly.delay,
            rate,
            newly_acknowledged: newly.delivered,
            newly_delivered: newly.delivered,
            newly_lost: if is_loss { 0 } else { lost },
            delivered: self.history.delivered(),
            lost: self.counters.lost_packets,
            in_flight_before,
            in_flight: self.in_flight(),
            round_start,
            ecn_echo: newly.marked > 0,
            newly_marked: newly.marked,
            marked: self.marked,
            application_limited: limited,
            window_limited: !limited,
            acknowledged_to: self.history.settled(),
            sent_to: self.history.next(),
            ..Ack::EMPTY
        };
        self.notify(now, |controller, cx| controller.on_ack(cx, &signal));
        let (acknowledged_to, sent_to) = (signal.acknowledged_to, signal.sent_to);
        if is_loss {
            self.recovery_point = sent_to;
            journal.note(Event::LossEvent { window: self.controller.window() });
            let (in_flight, again, sent_at) = (in_flight_before, false, now);
            let loss = Loss { in_flight, newly_lost: lost, again, acknowledged_to, sent_to, sent_at };
            self.notify(now, |controller, cx| controller.on_loss(cx, &loss));
            self.notify(now, |controller, cx| controller.on_recovered(cx));
        } else if newly.marked > 0 && starts_event && !self.controller.wants().governs_marks {
            self.recovery_point = sent_to;
            journal.note(Event::CongestionEcho { window: self.controller.window() });
            let marks = Marks { in_flight: in_flight_before, acknowledged_to, sent_to, at: now };
            self.notify(now, |controller, cx| controller.on_ecn(cx, &marks));
        }
    }

    /// A deadline has come: of a frame, the pacer, the controller or of feedback.
    pub fn on_timeout(&mut self, now: Time, journal: &mut dyn Journal) {
        if now >= self.timer {
            self.timer = Time::NEVER;
            self.notify(now, |controller, cx| controller.on_timer(cx));
            self.adopt(now);
        }
        let rtt = self.rtt.smoothed;
        if let Some(condition) = self.breaker.as_mut().and_then(|breaker| breaker.check(now, rtt)) {
            journal.note(Event::CircuitBreaker { condition });
            self.running = false;
            self.queue.clear();
            return;
        }
        if now < self.overdue {
            return;
        }
        let in_flight = self.in_flight();
        self.history.abandon();
        let newly_lost = self.find_lost(now);
        self.counters.timeouts += 1;
        journal.note(Event::Timeout { window: self.controller.window() });
        let again = std::mem::replace(&mut self.again, true);
        let (acknowledged_to, sent_to) = (self.history.settled(), self.history.next());
        let loss = Loss { in_flight, newly_lost, again, acknowledged_to, sent_to, sent_at: now };
        self.notify(now, |controller, cx| controller.on_timeout(cx, &loss));
        self.overdue = Time::NEVER;
        self.adopt(now);
    }

    /// When it has to be looked at.
    pub fn poll_timeout(&self) -> Option<Time> {
        if !self.running {
            return None;
        }
        let packet = if self.queue.is_empty() || !self.may_send() { Time::NEVER } else { self.departure };
        let breaker = self.breaker.as_ref().map_or(Time::NEVER, Breaker::deadline);
        let at = self.encoder.next_frame().min(packet).min(self.timer).min(self.overdue).min(breaker);
        (at != Time::NEVER).then_some(at)
    }

    /// The headers of packet `sequence`, unless that left long ago.
    pub fn header(&self, sequence: u64) -> Option<PacketHeader> {
        self.history.get(sequence).map(|sent| sent.header)
    }

    /// Parameters of the controller change.
    pub fn set_parameters(&mut self, now: Time, given: &Parameters) -> Result<(), ParameterError> {
        self.controller.set_parameters(given)?;
        self.adopt(now);
        Ok(())
    }

    /// Packets that are outstanding.
    pub fn in_flight(&self) -> u32 {
        self.history.outstanding()
    }

    /// The ECN codepoint of its packets: ECT(1) for a controller of L4S (RFC 9331, section 4.1).
    pub fn codepoint(&self) -> Ecn {
        match (self.ecn, self.controller.wants().l4s) {
            (false, _) => Ecn::NotCapable,
            (true, false) => Ecn::Ect0,
            (true, true) => Ecn::Ect1,
        }
    }

    /// IP size of a packet with `payload`.
    pub fn wire_size(payload: u32) -> Bytes {
        Bytes::new(HEADER + u64::from(payload))
    }

    /// The controller.
    pub fn controller(&self) -> &dyn Controller {
        self.controller.as_ref()
    }

    /// Window and threshold in packets. Of a controller without a window, the packets in flight at its rate.
    pub fn window(&self) -> (f64, f64) {
        let window = self.controller.window();
        if window < WITHOUT_LIMIT {
            return (window, self.controller.slow_start_threshold());
        }
        (self.target() * self.rtt.smoothed.as_secs_f64() / (8.0 * self.room() as f64), f64::INFINITY)
    }

    /// The rate that the encoder is asked for.
    pub fn rate(&self) -> Rate {
        Rate::from_bits_per_second(self.target() as u64)
    }

    /// Counters since the start.
    pub fn counters(&self) -> SenderCounters {
        self.counters
    }

    /// The latest, the smoothed and the smallest RTT, once there is a sample.
    pub fn round_trip_times(&self) -> Option<[Span; 3]> {
        (self.rtt.minimum != Span::MAX).then_some([self.rtt.latest, self.rtt.smoothed, self.rtt.minimum])
    }

    /// The frames that the encoder has made, by their numbers.
    pub fn frames(&self) -> &[Frame] {
        &self.frames
    }
}

/// The contents of a report that no earlier one had.
#[derive(Clone, Copy, Debug, Default)]
struct Newly {
    delivered: u32,
    marked: u32,
    /// The last packet to arrive, with its number.
    last: Option<(u64, Sent)>,
    delay: Option<Span>,
}

/// The mean rate of `datagrams` in bits a second, whose last one takes as long as the mean.
fn mean_rate(datagrams: &Datagrams) -> f64 {
    let bits: f64 = datagrams.iter().map(|&(_, bytes)| 8.0 * f64::from(bytes)).sum();
    let length = datagrams.last().map_or(0.0, |(last, _)| last.as_secs_f64());
    let writes = datagrams.len() as f64;
    if length > 0.0 { bits / length * (writes - 1.0).max(1.0) / writes } else { bits }
}
