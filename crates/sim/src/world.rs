//! The world: links, wires and flows, and what happens in it at each instant.
//!
//! A data packet enters at [`World::send`], passes links and wires step by step ([`World::forward`],
//! [`World::arrive`]), reaches the receiver, and comes back as an ACK over the reverse steps.

use std::marker::PhantomData;

use control::{Controller, Subflows};
use engine::{EventQueue, Fabric, Failure, Routed as _, Schedule, Series};
use record::{DatagramRow, EventKind, seconds};
use scenario::{DrawnFlow, Kind, Plan, PlannedFlow};
use units::{Ecn, Span, Time};

use crate::agenda::{Agenda, Due, Planned};
use crate::agents::Agents;
use crate::cache_aligned::CacheAligned;
use crate::capture::Capture;
use crate::delayed_ack_timers::DelayedAckTimers;
use crate::endpoints::Endpoints;
use crate::flow::{ReceiverHalf, ReceivingEnd, SenderHalf, SendingEnd};
use crate::packet::{AckSlot, Acks, Body, Packet};
use crate::recorder::Recorder;

mod expect;
mod planned;

/// So many flows fit into a cache, where nothing is gained by fetching them early.
const FEW: usize = 512;

/// Builds the controller of a flow.
pub(crate) type BuildController<'a> = &'a dyn Fn(&PlannedFlow) -> Result<Box<dyn Controller>, Failure>;

pub(crate) struct World<'a, A> {
    pub(crate) plan: &'a Plan,
    seed: u64,
    pub(crate) drawn: &'a [DrawnFlow],
    make: BuildController<'a>,
    pub(crate) endpoints: Endpoints<'a, A>,
    /// More flows than a cache holds.
    many: bool,
    /// Only packets move before this time (a lower bound).
    pub(crate) quiet_until: Time,
    /// Flows that have started, among them such as have ended since the last row: in order when rows are due.
    active: Vec<u32>,
    pub(crate) fabric: Fabric<Packet>,
    /// Senders: looked at no later than needed, often for nothing.
    timers: EventQueue,
    /// Receivers.
    delayed_ack_timers: DelayedAckTimers,
    pub(crate) agenda: Agenda,
    /// When the next rows are due.
    schedule: Schedule,
    /// Shared state of the subflows of each multipath flow.
    subflows: Vec<Subflows>,
    pub(crate) agents: A,
    pub(crate) events: u64,
    /// A controller could not be made.
    pub(crate) failure: Option<Failure>,
}

impl<'a, A: Agents> World<'a, A> {
    /// The world of `plan` under `seed`, in which its flows are as `drawn`.
    ///
    /// Flows have their ends from the start, so that they lie in memory in their order; only where a flow of the plan
    /// makes many connections, each has them from its start to its completion.
    #[inline(never)]
    pub(crate) fn new(
        plan: &'a Plan,
        seed: u64,
        drawn: &'a [DrawnFlow],
        make: BuildController<'a>,
        capture: Option<Capture>,
    ) -> Result<Self, Failure> {
        let fabric = Fabric::new(plan, seed, capture.is_some());
        let mut world = Self {
            agents: A::new(plan, drawn, |flow| fabric.first_steps(flow)),
            fabric,
            timers: EventQueue::new(drawn.len()),
            delayed_ack_timers: DelayedAckTimers::new(drawn.len()),
            schedule: Schedule::new(plan, &[Series::Flows, Series::Probes, Series::Links]),
            endpoints: Endpoints {
                senders: Vec::with_capacity(drawn.len()),
                receivers: Vec::with_capacity(drawn.len()),
                acks: Acks::default(),
                recorder: Recorder::new(plan, drawn),
                capture,
                plan,
                agents: PhantomData,
            },
            subflows: subflows(plan),
            many: drawn.len() > FEW,
            quiet_until: Time::ZERO,
            active: Vec::new(),
            agenda: Agenda::new(Vec::new()),
            events: 0,
            failure: None,
            plan,
            seed,
            drawn,
            make,
        };
        let mut planned = vec![(world.schedule.warmup(), Planned::WarmUpEnds)];
        for (index, flow) in (0..).zip(drawn) {
            plan_flow(&plan.flows[flow.of], index, flow, plan.duration, &mut planned);
            let (sender, receiver) = world.halves(flow)?;
            world.endpoints.senders.push(CacheAligned::new(sender));
            world.endpoints.receivers.push(CacheAligned::new(receiver));
        }
        A::begin(&mut world);
        world.agenda = Agenda::new(planned);
        Ok(world)
    }

    /// `flow` before its start.
    fn halves(&self, flow: &DrawnFlow) -> Result<(SenderHalf, ReceiverHalf), Failure> {
        let segment = self.plan.flows[flow.of].options.segment_size.get();
        let (forward, reverse) = self.fabric.first_steps(flow.of);
        let transient = flow.number.is_some();
        let (sending, receiving) =
            if transient { (None, None) } else { self.ends(flow).map(|(a, b)| (Some(a), Some(b)))? };
        let sender = SenderHalf {
            end: sending,
            forward,
            running: false,
            transient,
            look_at: Time::NEVER,
            start: flow.start,
            stop: flow.stop,
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

    /// The ends of `flow`.
    fn ends(&self, flow: &DrawnFlow) -> Result<(SendingEnd, ReceivingEnd), Failure> {
        let planned = &self.plan.flows[flow.of];
        let failure = |error| Failure::Controller(format!("flow `{}`: {error}", planned.name));
        let receiving = ReceivingEnd::new(planned, self.seed).map_err(failure)?;
        if let Kind::Tfrc { .. } = planned.kind {
            return Ok((SendingEnd::tfrc(planned, flow, self.seed).map_err(failure)?, receiving));
        }
        let mut controller = (self.make)(planned)?;
        if let Some(subflow) = planned.subflow {
            controller.join(&self.subflows[subflow.flow], subflow.index);
        }
        Ok((SendingEnd::new(planned, flow, controller, self.seed), receiving))
    }

    /// Does what happens next, if that is before `end`, and says when it was.
    ///
    /// At one instant packets move first, then timers expire, then flows start or stop, and samples are taken last:
    /// what is recorded at t includes all that happened at t.
    #[inline]
    pub(crate) fn step(&mut self, end: Time) -> Option<Time> {
        let now = self.fabric.next();
        if (now > self.quiet_until || now >= end) && !self.is_quiet(end) {
            return self.do_otherwise(end);
        }
        self.events += 1;
        self.move_traffic(now);
        Some(now)
    }

    /// Tells if a packet moves next, before `end`.
    #[inline(never)]
    fn is_quiet(&mut self, end: Time) -> bool {
        let timers = self.timers.next().min(self.delayed_ack_timers.next());
        self.quiet_until = timers.min(self.agenda.next).min(self.schedule.next());
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
        self.events += 1;
        if now == self.timers.next() {
            self.expire_sender(now, self.timers.first_slot());
        } else if now == self.delayed_ack_timers.next() {
            self.expire_receiver(now);
        } else if now == self.agenda.next {
            self.run_planned(now);
        } else {
            self.sample(now);
        }
        Some(now)
    }

    #[inline]
    fn move_traffic(&mut self, now: Time) {
        let Some(wire) = self.fabric.begin(now, &mut self.endpoints) else { return };
        while let Some(packet) = self.fabric.pop_due(wire, now) {
            if self.many {
                self.expect(wire);
            }
            self.arrive(now, packet);
        }
        self.fabric.end(wire);
    }

    /// `packet` begins the step it is on.
    #[inline]
    pub(crate) fn forward(&mut self, now: Time, packet: Packet) {
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
        let body = packet.body();
        if let Some((capture, acks)) = self.endpoints.captured() {
            capture.at_end(now, &packet, &body, acks);
        }
        match body {
            Body::Data(data) => self.data_arrives(now, &packet, &data),
            Body::Ack(slot) => self.ack_arrives(now, packet.flow, slot),
        }
    }

    #[inline(always)]
    fn ack_arrives(&mut self, now: Time, index: u32, slot: AckSlot) {
        let i = index as usize;
        let Endpoints { senders, receivers, acks, recorder, .. } = &mut self.endpoints;
        let ack = acks.take(slot);
        let sender: &mut SenderHalf = &mut senders[i];
        let Some(end) = sender.end.as_mut().filter(|_| sender.running) else { return };
        let report = || receivers[i].end.as_mut()?.take_report(ack.cumulative);
        if end.on_ack(now, ack, report, &mut recorder.journal(now, index)) {
            recorder.on_sample(now, index, sender, &receivers[i]);
        }
        self.send(now, index);
        A::on_ack(self, now, index);
        if self.endpoints.senders[i].transient && self.endpoints.receivers[i].is_complete() {
            self.retire(index);
        }
    }

    #[inline]
    fn data_arrives(&mut self, now: Time, packet: &Packet, data: &transport::Data) {
        let congestion = packet.ecn() == Ecn::Congestion;
        let i = packet.flow as usize;
        let Endpoints { senders, receivers, acks, .. } = &mut self.endpoints;
        let receiver: &mut ReceiverHalf = &mut receivers[i];
        if now > receiver.stop {
            return; // what was on the way when the flow stopped counts for nothing
        }
        let Some(end) = &mut receiver.end else { return };
        let rtt = || senders[i].end.as_mut().map_or(Span::ZERO, |sending| sending.rtt_in(data.sequence));
        let ack = end.on_data(now, data, congestion, rtt, acks);
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
            self.endpoints.recorder.event(now, EventKind::Complete, index, None, None, None);
            A::on_completion(self, now, index);
        }
    }

    #[inline]
    pub(crate) fn acknowledge(&mut self, now: Time, flow: u32, (slot, size): (AckSlot, u32)) {
        let step = self.endpoints.receivers[flow as usize].reverse;
        let packet = Packet::of_ack(flow, step, size, slot);
        if let Some((capture, acks)) = self.endpoints.captured() {
            capture.at_receiver(now, &packet, acks);
        }
        self.forward(now, packet);
    }

    /// Lets the sender of `index` send what it may, and notes when it wants to be woken.
    #[inline]
    pub(crate) fn send(&mut self, now: Time, index: u32) {
        let deadline = loop {
            let sender: &mut SenderHalf = &mut self.endpoints.senders[index as usize];
            let Some(end) = &mut sender.end else { return };
            let packet =
                end.poll_transmit(now, index, sender.forward, &mut self.endpoints.recorder.journal(now, index));
            let Some(packet) = packet else { break end.deadline() };
            if let Some((capture, acks)) = self.endpoints.captured() {
                capture.at_sender(now, &packet, acks);
            }
            self.forward(now, packet);
        };
        let deadline = or_never(deadline);
        if self.endpoints.senders[index as usize].look_at > deadline {
            self.look_at(index, deadline);
        }
    }

    /// The sender of `index` is looked at then, and not before; [`Time::NEVER`]: not at all.
    #[inline]
    fn look_at(&mut self, index: u32, at: Time) {
        self.endpoints.senders[index as usize].look_at = at;
        self.timers.set(index, at);
        self.quiet_until = self.quiet_until.min(at);
    }

    /// The sender of `index` is looked at: perhaps nothing is due, as deadlines move without moving their slot.
    #[inline(never)]
    fn expire_sender(&mut self, now: Time, index: u32) {
        let sender: &mut SenderHalf = &mut self.endpoints.senders[index as usize];
        let Some(end) = sender.end.as_mut().filter(|_| sender.running) else {
            return self.look_at(index, Time::NEVER);
        };
        if end.deadline().is_some_and(|at| at <= now) {
            end.on_timeout(now, &mut self.endpoints.recorder.journal(now, index));
            self.send(now, index);
        }
        let deadline = self.endpoints.senders[index as usize].end.as_ref().and_then(SendingEnd::deadline);
        self.look_at(index, or_never(deadline));
        if self.many && self.timers.next() != Time::NEVER {
            // Packets move meanwhile.
            self.endpoints.senders[self.timers.first_slot() as usize].end.iter().for_each(SendingEnd::prefetch);
        }
    }

    /// A delayed ACK is due, unless its timer was taken back.
    #[inline(never)]
    fn expire_receiver(&mut self, now: Time) {
        let Some(index) = self.delayed_ack_timers.due(now) else { return };
        let Some(end) = &mut self.endpoints.receivers[index as usize].end else { return };
        let ack = end.on_timeout(now, &mut self.endpoints.acks);
        self.delayed_ack_timers.set(index, or_never(end.deadline()));
        if let Some(ack) = ack {
            self.acknowledge(now, index, ack);
        }
    }

    /// Data packets that the flows have sent.
    pub(crate) fn data_packets(&self) -> u64 {
        self.endpoints.recorder.data_packets(&self.endpoints.senders)
    }

    /// The capture, if there is one.
    pub(crate) fn take_capture(&mut self) -> Option<Capture> {
        self.endpoints.capture.take()
    }

    /// Takes the rows that are due at the very `end`. Whatever else happens at that instant is outside the run.
    pub(crate) fn sample_at(&mut self, end: Time) {
        if self.schedule.next() == end {
            self.events += 1;
            self.sample(end);
        }
    }

    /// Ends the run at `end`: brings everything up to date and gives the tables.
    #[inline(never)]
    pub(crate) fn finish(mut self, end: Time) -> record::Tables {
        self.fabric.advance(end, &mut self.endpoints);
        self.endpoints.recorder.tables.links = self.fabric.rows(end, self.plan);
        self.endpoints.recorder.tables.stations = self.fabric.station_rows(end, self.plan);
        let Endpoints { mut senders, receivers, recorder, .. } = self.endpoints;
        recorder.finish(self.plan, self.drawn, &mut senders, &receivers)
    }
}

/// Adds to `agenda` what is known beforehand of flow `index`, which is `planned` and was `drawn`, in a run of
/// `duration`.
fn plan_flow(planned: &PlannedFlow, index: u32, drawn: &DrawnFlow, duration: Span, agenda: &mut Vec<(Time, Planned)>) {
    if drawn.page.is_none_or(|page| page.number == 0) {
        agenda.push((drawn.start, Planned::Start(index)));
    }
    if planned.quick_start.is_some() {
        let before = drawn.start.since(Time::ZERO + planned.base_rtt);
        agenda.push((Time::ZERO + before, Planned::Agent(Due::Request(index))));
    }
    // The instant of the end is outside the run.
    if drawn.stop < Time::ZERO + duration {
        agenda.push((drawn.stop, Planned::Stop(index)));
    }
    agenda.extend((0..).zip(&planned.changes).map(|(n, change)| (change.at, Planned::Change(index, n))));
}

/// Shared state of the subflows of each multipath flow of `plan`.
fn subflows(plan: &Plan) -> Vec<Subflows> {
    let firsts = plan.flows.iter().filter_map(|flow| flow.subflow).filter(|subflow| subflow.index == 0);
    firsts.map(|subflow| Subflows::new(subflow.count)).collect()
}

#[inline]
fn or_never(at: Option<Time>) -> Time {
    at.unwrap_or(Time::NEVER)
}
