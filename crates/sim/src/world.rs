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
use crate::flow::{Connection, Flow};
use crate::packet::{AckSlot, Acks, Body, Packet};
use crate::recorder::{NO_METER, Recorder};

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
                flows: Vec::with_capacity(drawn.len()),
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
            let flow = world.flow(flow)?;
            world.endpoints.flows.push(CacheAligned::new(flow));
        }
        A::begin(&mut world);
        world.agenda = Agenda::new(planned);
        Ok(world)
    }

    /// `flow` before its start.
    fn flow(&mut self, flow: &DrawnFlow) -> Result<Flow, Failure> {
        let segment = self.plan.flows[flow.of].options.segment_size.get();
        let (forward, reverse) = self.fabric.first_steps(flow.of);
        let transient = flow.number.is_some();
        Ok(Flow {
            connection: if transient { None } else { Some(self.connection(flow)?) },
            forward,
            reverse,
            look_at: Time::NEVER,
            meter: if transient { NO_METER } else { self.endpoints.recorder.meter() },
            start: flow.start,
            stop: flow.stop,
            running: false,
            transient,
            total: flow.bytes.map(|b| b.get().div_ceil(segment)),
            completed: None,
        })
    }

    /// The ends of `flow`.
    fn connection(&self, flow: &DrawnFlow) -> Result<Connection, Failure> {
        let planned = &self.plan.flows[flow.of];
        if let Kind::Tfrc { .. } = planned.kind {
            let failure = |error| Failure::Controller(format!("flow `{}`: {error}", planned.name));
            return Connection::tfrc(planned, flow, self.seed).map_err(failure);
        }
        let mut controller = (self.make)(planned)?;
        if let Some(subflow) = planned.subflow {
            controller.join(&self.subflows[subflow.flow], subflow.index);
        }
        Ok(Connection::new(planned, flow, controller, self.seed))
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
            Body::Ack(slot) => {
                let flow: &mut Flow = &mut self.endpoints.flows[packet.flow as usize];
                let ack = self.endpoints.acks.take(slot);
                if !flow.running {
                    return;
                }
                let Some(connection) = &mut flow.connection else { return };
                let sample = connection.on_ack(now, ack, &mut self.endpoints.recorder.journal(now, packet.flow));
                if let Some(sample) = sample {
                    self.endpoints.recorder.rtt(now, packet.flow, flow, sample);
                }
                self.send(now, packet.flow);
                A::on_ack(self, now, packet.flow);
                let flow = &self.endpoints.flows[packet.flow as usize];
                if flow.transient && flow.completed.is_some() {
                    self.retire(packet.flow);
                }
            }
        }
    }

    #[inline]
    fn data_arrives(&mut self, now: Time, packet: &Packet, data: &transport::Data) {
        let congestion = packet.ecn() == Ecn::Congestion;
        let flow: &mut Flow = &mut self.endpoints.flows[packet.flow as usize];
        if now > flow.stop {
            return; // what was on the way when the flow stopped counts for nothing
        }
        let Some(connection) = &mut flow.connection else { return };
        let counters = &mut self.endpoints.recorder.flows[flow.meter as usize].counters;
        counters.arrived_packets += 1;
        counters.marked_packets += u64::from(congestion);
        if flow.total.is_none() || flow.completed.is_none() {
            counters.arrived_bytes += u64::from(packet.size());
        }
        let ack = connection.on_data(now, data, congestion, &mut self.endpoints.acks);
        let deadline = or_never(connection.receiver_deadline());
        self.delayed_ack_timers.set(packet.flow, deadline);
        self.quiet_until = self.quiet_until.min(deadline);
        if flow.total.is_some() {
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
        if matches!(
            self.endpoints.flows[flow as usize].connection,
            Some(Connection::Datagram { .. } | Connection::Tfrc { .. })
        ) {
            let (sent_s, arrived_s, sequence) = (seconds(data.timestamp), seconds(now), data.sequence);
            self.endpoints.recorder.tables.datagrams.push(DatagramRow { sent_s, flow, sequence, arrived_s });
        }
    }

    /// Notes it if the last segment of `index` has arrived.
    #[inline(never)]
    fn note_completion(&mut self, now: Time, index: u32) {
        let flow: &mut Flow = &mut self.endpoints.flows[index as usize];
        let delivered = flow.connection.as_ref().map(Connection::delivered_segments);
        if flow.completed.is_none() && delivered >= flow.total {
            flow.completed = Some(now);
            self.endpoints.recorder.event(now, EventKind::Complete, index, None, None, None);
            A::on_completion(self, now, index);
        }
    }

    #[inline]
    pub(crate) fn acknowledge(&mut self, now: Time, flow: u32, (slot, size): (AckSlot, u32)) {
        let step = self.endpoints.flows[flow as usize].reverse;
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
            let flow: &mut Flow = &mut self.endpoints.flows[index as usize];
            let Some(connection) = &mut flow.connection else { return };
            let packet =
                connection.poll_transmit(now, index, flow.forward, &mut self.endpoints.recorder.journal(now, index));
            let Some(packet) = packet else { break connection.sender_deadline() };
            if let Some((capture, acks)) = self.endpoints.captured() {
                capture.at_sender(now, &packet, acks);
            }
            self.forward(now, packet);
        };
        let deadline = or_never(deadline);
        if self.endpoints.flows[index as usize].look_at > deadline {
            self.look_at(index, deadline);
        }
    }

    /// The sender of `index` is looked at then, and not before; [`Time::NEVER`]: not at all.
    #[inline]
    fn look_at(&mut self, index: u32, at: Time) {
        self.endpoints.flows[index as usize].look_at = at;
        self.timers.set(index, at);
        self.quiet_until = self.quiet_until.min(at);
    }

    /// The sender of `index` is looked at: perhaps nothing is due, as deadlines move without moving their slot.
    #[inline(never)]
    fn expire_sender(&mut self, now: Time, index: u32) {
        let flow: &mut Flow = &mut self.endpoints.flows[index as usize];
        let Some(connection) = flow.connection.as_mut().filter(|_| flow.running) else {
            return self.look_at(index, Time::NEVER);
        };
        if connection.sender_deadline().is_some_and(|at| at <= now) {
            connection.on_sender_timeout(now, &mut self.endpoints.recorder.journal(now, index));
            self.send(now, index);
        }
        let deadline = self.endpoints.flows[index as usize].connection.as_ref().and_then(Connection::sender_deadline);
        self.look_at(index, or_never(deadline));
        if self.many && self.timers.next() != Time::NEVER {
            // Packets move meanwhile.
            self.endpoints.flows[self.timers.first_slot() as usize]
                .connection
                .iter()
                .for_each(Connection::prefetch_sender);
        }
    }

    /// A delayed ACK is due, unless its timer was taken back.
    #[inline(never)]
    fn expire_receiver(&mut self, now: Time) {
        let Some(index) = self.delayed_ack_timers.due(now) else { return };
        let Some(connection) = &mut self.endpoints.flows[index as usize].connection else { return };
        let ack = connection.on_receiver_timeout(now, &mut self.endpoints.acks);
        self.delayed_ack_timers.set(index, or_never(connection.receiver_deadline()));
        if let Some(ack) = ack {
            self.acknowledge(now, index, ack);
        }
    }

    /// Data packets that the flows have sent.
    pub(crate) fn data_packets(&self) -> u64 {
        self.endpoints.recorder.data_packets(&self.endpoints.flows)
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
        self.endpoints.recorder.finish(self.plan, self.drawn, &self.endpoints.flows)
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
