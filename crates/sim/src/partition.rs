//! A partition of the world: links, wires and ends of flows, and the events there at each instant.
//!
//! A data packet leaves its sender at [`Partition::send`], passes links and wires step by step
//! ([`Partition::forward`], [`Partition::arrive`]), reaches the receiver, and comes back as an ACK over the reverse
//! steps. A partition may have all of this, or a part. The world hands over packets that belong to another.

use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use control::{Controller, Subflows};
use engine::{EventQueue, Fabric, Failure, NETWORK, RECEIVERS, Routed as _, SENDERS, Watch};
use record::{DatagramRow, EventKind, seconds};
use scenario::{DrawnFlow, Kind, Plan, PlannedFlow};
use transport::Stack;
use units::{Ecn, Span, Time};

use crate::acks::{AckSlot, Acks};
use crate::agenda::{Agenda, Planned};
use crate::agents::Agents;
use crate::capture::Capture;
use crate::delayed_ack_timers::DelayedAckTimers;
use crate::endpoints::Endpoints;
use crate::flow::{Places, ReceiverHalf, ReceivingEnd, SenderHalf, SendingEnd};
use crate::packet::{Body, Packet};
use crate::recorder::Recorder;

mod expect;
mod network;
mod opening;
mod planned;
mod sending;

pub(crate) use network::{Inbox, Offer};

/// So many flows fit into a cache, where nothing is gained by fetching them early.
const FEW: usize = 512;

/// The shortest span.
const TICK: Span = Span::from_nanos(1);

/// The places of senders' timers, receivers' timers and the agenda among the causes of one instant: behind all wires.
const TIMERS: u32 = u32::MAX - 2;
const DELAYED_ACKS: u32 = u32::MAX - 1;
pub(crate) const AGENDA: u32 = u32::MAX;

/// A turn ends once so many packets are offered to links: what many flows send at once is not held all at a time.
const MANY_OFFERS: usize = if cfg!(test) { 1 << 6 } else { 1 << 15 };

/// Looked at every so many events: often enough to stop within milliseconds, seldom enough to cost nothing.
pub(crate) const EVENTS_BETWEEN_LOOKS: u64 = 8192;

/// Builds the controller of a flow.
pub(crate) type BuildController<'a> = &'a (dyn Fn(&PlannedFlow) -> Result<Box<dyn Controller>, Failure> + Sync);

/// The run that a partition is part of.
#[derive(Clone, Copy)]
pub(crate) struct Of<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) seed: u64,
    pub(crate) drawn: &'a [DrawnFlow],
    pub(crate) make: BuildController<'a>,
    /// Shared state of the subflows of each multipath flow.
    pub(crate) subflows: &'a [Subflows],
    /// The TCP of each flow of the plan on its host.
    pub(crate) stacks: &'a [Arc<Stack>],
}

pub(crate) struct Partition<'a, A> {
    /// The place of the parts that it has, if not everything.
    pub(crate) place: usize,
    pub(crate) plan: &'a Plan,
    pub(crate) drawn: &'a [DrawnFlow],
    of: Of<'a>,
    pub(crate) endpoints: Endpoints<'a, A>,
    /// More flows than a cache holds.
    many: bool,
    /// Only packets move before this time (a lower bound).
    pub(crate) quiet_until: Time,
    /// Flows that have started, among them such as have ended since the last row: in order when rows are due.
    pub(crate) active: Vec<u32>,
    pub(crate) fabric: Fabric<Packet>,
    /// Senders: looked at no later than needed, often for nothing.
    timers: EventQueue,
    /// Receivers.
    delayed_ack_timers: DelayedAckTimers,
    pub(crate) agenda: Agenda,
    pub(crate) agents: A,
    pub(crate) events: u64,
    /// A controller could not be made.
    pub(crate) failure: Option<Failure>,
    /// Packets for links of another partition.
    pub(crate) offers: Option<Vec<Offer>>,
    /// Packets from senders and receivers in other partitions.
    pub(crate) inboxes: Option<[Inbox; 2]>,
}

impl<'a, A: Agents> Partition<'a, A> {
    /// A partition with the network `fabric`, and no flows yet: what is in one `place`, or everything.
    #[inline(never)]
    pub(crate) fn new(of: Of<'a>, fabric: Fabric<Packet>, capture: Option<Capture>, place: Option<usize>) -> Self {
        let Of { plan, drawn, .. } = of;
        let flows = |there: usize| if place.is_none_or(|place| place == there) { drawn.len() } else { 0 };
        let mut recorder = Recorder::new(plan, drawn, flows(NETWORK), flows(RECEIVERS));
        if place.is_some() {
            recorder.stamped = Some(Vec::new());
            recorder.stamp.number = u64::from(place != Some(NETWORK));
        }
        Self {
            agents: A::new(plan, drawn, |flow| fabric.first_steps(flow)),
            fabric,
            timers: EventQueue::new(flows(SENDERS)),
            delayed_ack_timers: DelayedAckTimers::new(flows(RECEIVERS)),
            endpoints: Endpoints {
                senders: Vec::with_capacity(flows(SENDERS)),
                receivers: Vec::with_capacity(flows(RECEIVERS)),
                acks: Acks::new(place.is_some()),
                lost_acks: (place == Some(NETWORK)).then(Vec::new),
                recorder,
                capture,
                plan,
                agents: PhantomData,
            },
            place: place.unwrap_or(SENDERS),
            many: drawn.len() > FEW,
            quiet_until: Time::ZERO,
            active: Vec::new(),
            agenda: Agenda::new(Vec::new(), |_| false),
            events: 0,
            failure: None,
            offers: place.filter(|&place| place != NETWORK).map(|_| Vec::new()),
            inboxes: (place == Some(NETWORK)).then(Default::default),
            plan,
            drawn,
            of,
        }
    }

    /// `flow` before its start.
    ///
    /// Flows have their ends from the start, so that their order in memory is the flows' order. Only where a flow of
    /// the plan makes many connections, each has them from its start to its completion.
    pub(crate) fn halves(
        &self,
        flow: &DrawnFlow,
        places: &mut Places<'a>,
    ) -> Result<(SenderHalf<'a>, ReceiverHalf), Failure> {
        let segment = self.plan.flows[flow.of].options.segment_size.get();
        let (forward, reverse) = self.fabric.first_steps(flow.of);
        let transient = flow.number.is_some();
        let ends = if transient { None } else { Some(self.ends(flow, places)?) };
        let (sending, receiving) = ends.unzip();
        let sender = SenderHalf {
            end: sending,
            forward,
            running: false,
            transient,
            look_at: Time::NEVER,
            start: flow.start,
            stop: flow.stop,
            opened: Time::NEVER,
            syn_retransmissions: 0,
        };
        let receiver = ReceiverHalf {
            end: receiving,
            reverse,
            marked_packets: 0,
            stop: flow.stop,
            total: flow.bytes.map_or(u64::MAX, |b| b.get().div_ceil(segment)),
            completed: Time::NEVER,
            arrived_packets: 0,
            arrived_bytes: 0,
        };
        Ok((sender, receiver))
    }

    /// The ends of `flow`, in these places if it is TCP and they are free.
    fn ends(&self, flow: &DrawnFlow, places: &mut Places<'a>) -> Result<(SendingEnd<'a>, ReceivingEnd), Failure> {
        let planned = &self.plan.flows[flow.of];
        let failure = |error| Failure::Controller(format!("flow `{}`: {error}", planned.name()));
        let receiving = ReceivingEnd::new(planned, &self.of.stacks[flow.of], self.of.seed).map_err(failure)?;
        if let Kind::Tfrc { .. } = planned.kind {
            return Ok((SendingEnd::tfrc(planned, flow, self.of.seed).map_err(failure)?, receiving));
        }
        let mut controller = (self.of.make)(planned)?;
        if let Some(subflow) = &planned.subflow {
            controller.join(&self.of.subflows[subflow.flow], subflow.index);
        }
        let stack = &self.of.stacks[flow.of];
        Ok((SendingEnd::new((planned, flow), stack, controller, self.of.seed, places), receiving))
    }

    /// Does all that happens before `end`, but nothing from an event on that concerns both ends of a flow, and not
    /// more than links take at a time: see [`reached`](Self::reached). Says whether it was stopped or failed.
    ///
    /// Never inlined: addressed from the stack pointer and by reference in turn, the partition would make the
    /// processor guess wrong which store a load depends on.
    #[inline(never)]
    pub(crate) fn run(&mut self, end: Time, watch: &Watch) -> bool {
        if self.inboxes.is_some() {
            self.run_network(end);
            return false;
        }
        while let Some(now) = self.step(end) {
            if self.events.is_multiple_of(EVENTS_BETWEEN_LOOKS) {
                if self.offers.is_none() {
                    look(watch, now);
                }
                self.check_decisions(watch);
                if self.failure.is_some() || watch.is_stopped() {
                    return true;
                }
            }
            if self.has_many_offers() {
                break;
            }
        }
        self.failure.is_some()
    }

    /// Holds one of the senders after the other to the law for decisions: a window that no path can hold ends the run.
    pub(crate) fn check_decisions(&self, watch: &Watch) {
        let senders = &self.endpoints.senders;
        let Some(turn) = (self.events / EVENTS_BETWEEN_LOOKS).checked_rem(senders.len() as u64) else { return };
        if let Some(end) = &senders[turn as usize].end {
            watch.conduct.note(&self.plan.flows[self.drawn[turn as usize].of], end.check_decisions());
        }
    }

    /// True if it offers so many packets that links take them before it goes on.
    #[inline]
    fn has_many_offers(&self) -> bool {
        self.offers.as_ref().is_some_and(|offers| offers.len() >= MANY_OFFERS)
    }

    /// All that happens before this has happened here, where it ran to `end`, or as far as its offers let it.
    pub(crate) fn reached(&self, end: Time) -> Time {
        if self.has_many_offers() { end.min(self.next()) } else { end }
    }

    /// When something happens here next, as far as it is known, or [`Time::NEVER`] if nothing will.
    pub(crate) fn next(&self) -> Time {
        let offers = self.inboxes.iter().flatten().map(|inbox| inbox.first().0);
        let timers = self.timers.next().min(self.delayed_ack_timers.next()).min(self.agenda.next);
        offers.fold(timers.min(self.fabric.next_change()), Time::min)
    }

    /// Does what happens next, if that is before `end`, and says when it was.
    ///
    /// At one instant packets move first, then timers expire, then flows start or stop, and samples are taken last:
    /// what is recorded at t includes all that happened at t.
    #[inline]
    fn step(&mut self, end: Time) -> Option<Time> {
        let now = self.fabric.next();
        if (now > self.quiet_until || now >= end) && !self.is_quiet(end) {
            return self.do_otherwise(end);
        }
        self.events += 1;
        if self.offers.is_some() {
            self.move_run(now, end);
        } else {
            self.move_traffic(now);
        }
        Some(now)
    }

    /// True if a packet moves next, before `end`.
    #[inline(never)]
    fn is_quiet(&mut self, end: Time) -> bool {
        let timers = self.timers.next().min(self.delayed_ack_timers.next());
        self.quiet_until = timers.min(self.agenda.next);
        let now = self.fabric.next();
        now <= self.quiet_until && now < end
    }

    /// Does what happens next, which is not that a packet moves, if it is before `end`, and says when it was.
    #[inline(never)]
    fn do_otherwise(&mut self, end: Time) -> Option<Time> {
        let now = self.fabric.next().min(self.quiet_until);
        if now >= end {
            return None;
        }
        if now == self.timers.next() {
            self.begin(now, TIMERS);
            self.expire_sender(now, self.timers.first_slot());
        } else if now == self.delayed_ack_timers.next() {
            self.begin(now, DELAYED_ACKS);
            self.expire_receiver(now);
        } else {
            if self.agenda.peek().is_some_and(|what| is_shared(what, self.drawn)) {
                return None;
            }
            self.begin(now, AGENDA);
            self.run_planned(now);
        }
        self.events += 1;
        Some(now)
    }

    /// Something happens at `now` that has the place `rank` among the causes of this instant.
    #[inline]
    pub(crate) fn begin(&mut self, now: Time, rank: u32) {
        let stamp = &mut self.endpoints.recorder.stamp;
        (stamp.at, stamp.rank) = (now, rank);
    }

    #[inline]
    fn move_traffic(&mut self, now: Time) {
        self.begin(now, self.fabric.next_slot());
        let Some(wire) = self.fabric.begin(now, &mut self.endpoints) else { return };
        while let Some(packet) = self.fabric.pop_due(wire, now) {
            if self.many {
                self.expect(wire);
            }
            self.arrive(now, packet);
        }
        self.fabric.end(wire);
    }

    /// Without links here, what is on a wire waits for nothing but timers, other wires and `end`: all that arrives
    /// before is taken in a row.
    #[inline]
    fn move_run(&mut self, mut now: Time, end: Time) {
        let wire = self.fabric.next_slot();
        let (next, other) = self.fabric.lift(wire);
        let end = end.min(if wire < other { next + TICK } else { next });
        self.begin(now, wire);
        while let Some((at, packet)) = self.fabric.pop_before(wire, end.min(self.quiet_until + TICK)) {
            if at != now {
                self.events += 1;
                now = at;
                self.begin(now, wire);
            }
            if self.many {
                self.expect(wire);
            }
            self.deliver(now, packet);
            if self.has_many_offers() {
                break;
            }
        }
        self.fabric.end(wire);
    }

    /// `packet` begins the step it is on.
    #[inline(always)]
    pub(crate) fn forward(&mut self, now: Time, packet: Packet) {
        if let Some(offers) = &mut self.offers
            && self.fabric.begins_with_link(packet.step)
        {
            let stamp = &mut self.endpoints.recorder.stamp;
            stamp.number += 2;
            return offers.push(Offer { at: now, rank: stamp.rank, packet });
        }
        self.fabric.forward(now, packet, &mut self.endpoints);
    }

    /// `packet`, which has crossed a wire, begins its next step.
    #[inline(never)]
    fn pass_on(&mut self, now: Time, packet: Packet) {
        A::on_step(self, now, packet);
    }

    /// `packet` has crossed the wire of its step.
    #[inline]
    fn arrive(&mut self, now: Time, mut packet: Packet) {
        if !self.fabric.is_last(&packet) {
            packet.next_step();
            return self.pass_on(now, packet);
        }
        self.deliver_alone(now, packet);
    }

    /// As [`deliver`](Self::deliver), where others may arrive elsewhere in between.
    #[inline(never)]
    fn deliver_alone(&mut self, now: Time, packet: Packet) {
        self.deliver(now, packet);
    }

    /// `packet` has reached its end.
    #[inline(always)]
    fn deliver(&mut self, now: Time, packet: Packet) {
        let body = packet.body();
        if let Some((capture, acks)) = self.endpoints.captured() {
            capture.at_end(now, &packet, &body, acks);
        }
        match body {
            Body::Data(data) => self.data_arrives(now, &packet, &data),
            Body::Ack(slot) => self.ack_arrives(now, packet.flow, slot),
            Body::Opening => self.opening_arrives(now, &packet),
        }
    }

    #[inline(always)]
    fn ack_arrives(&mut self, now: Time, index: u32, slot: AckSlot) {
        let i = index as usize;
        let Endpoints { senders, receivers, acks, recorder, .. } = &mut self.endpoints;
        let ack = acks.take(slot);
        let sender: &mut SenderHalf<'a> = &mut senders[i];
        let Some(end) = sender.end.as_mut().filter(|_| sender.running) else { return };
        let report = |number| receivers[i].end.as_mut()?.take_report(number);
        if end.on_ack(now, ack, report, &mut recorder.journal(now, index)) {
            recorder.on_sample(now, index, sender, receivers);
        }
        self.send(now, index);
        A::on_ack(self, now, index);
        if self.endpoints.senders[i].transient && self.endpoints.receivers[i].is_complete() {
            self.retire(now, index);
        }
    }

    #[inline(always)]
    fn data_arrives(&mut self, now: Time, packet: &Packet, data: &transport::Data) {
        let congestion = packet.ecn() == Ecn::Congestion;
        let i = packet.flow as usize;
        let Endpoints { senders, receivers, acks, recorder, .. } = &mut self.endpoints;
        let receiver: &mut ReceiverHalf = &mut receivers[i];
        if now > receiver.stop {
            return; // what was on the way when the flow stopped counts for nothing
        }
        let Some(end) = &mut receiver.end else { return };
        let sender = || {
            let senders = senders;
            senders[i].end.as_mut()
        };
        let ack = end.on_data(now, data, congestion, sender, || recorder.openings[i].first_arrival = now, acks);
        let deadline = or_never(end.deadline());
        receiver.count(packet.size(), congestion);
        self.delayed_ack_timers.set(packet.flow, deadline);
        self.quiet_until = self.quiet_until.min(deadline);
        if receiver.total != u64::MAX {
            self.note_completion(now, packet.flow);
        }
        if self.endpoints.recorder.datagrams {
            self.note_datagram(now, packet.flow, data);
        }
        if let Some(ack) = ack {
            self.acknowledge(now, packet.flow, ack);
        }
        A::on_data(self, now, packet.flow);
    }

    /// Notes the arrival of `data`, if it is a datagram.
    #[inline(never)]
    fn note_datagram(&mut self, now: Time, flow: u32, data: &transport::Data) {
        if self.endpoints.receivers[flow as usize].end.as_ref().is_some_and(ReceivingEnd::takes_datagrams) {
            let (sent_s, arrived_s, sequence) = (seconds(data.timestamp), seconds(now), data.sequence);
            self.endpoints.recorder.tables.datagrams.push(DatagramRow { sent_s, flow, sequence, arrived_s });
        }
    }

    /// Notes it if the last segment of `index` has arrived.
    #[inline(never)]
    fn note_completion(&mut self, now: Time, index: u32) {
        let receiver: &mut ReceiverHalf = &mut self.endpoints.receivers[index as usize];
        let delivered = receiver.end.as_ref().map_or(0, ReceivingEnd::delivered_segments);
        if !receiver.is_complete() && delivered >= receiver.total {
            receiver.completed = now;
            self.endpoints.recorder.event(now, EventKind::Complete, index);
            A::on_completion(self, now, index);
        }
    }

    #[inline]
    pub(crate) fn acknowledge(&mut self, now: Time, flow: u32, (slot, size): (AckSlot, u32)) {
        let step = self.endpoints.receivers[flow as usize].reverse;
        let mut packet = Packet::of_ack(flow, step, size, slot);
        A::on_answer(self, &mut packet);
        if let Some((capture, acks)) = self.endpoints.captured() {
            capture.at_receiver(now, &packet, acks);
        }
        self.forward(now, packet);
    }
}

/// Says how far the run has come, on its own thread.
pub(crate) fn look(watch: &Watch, now: Time) {
    watch.elapsed_nanos.store(now.as_nanos(), Ordering::Relaxed);
    watch.looking.inspect(|looking| looking());
}

/// True if `what` concerns both ends of a flow, or all of them.
pub(crate) fn is_shared(what: Planned, drawn: &[DrawnFlow]) -> bool {
    match what {
        Planned::WarmUpEnds => true,
        // It counts as stopped unless it is complete.
        Planned::Stop(index) => drawn[index as usize].bytes.is_some(),
        Planned::Agent(_) | Planned::Start(_) | Planned::Change(..) => false,
    }
}

#[inline]
fn or_never(at: Option<Time>) -> Time {
    at.unwrap_or(Time::NEVER)
}
