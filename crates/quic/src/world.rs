//! The network, the flows, and the clock that drives them.

use std::sync::atomic::Ordering;

use engine::{DueAtAcks, EventQueue, Fabric, Failure, ProbeRows, Routed as _, Schedule, Series, Tap, Watch};
use engine::{flow_event, flow_row, pace, sender_event};
use network::Discard;
use record::{EventKind, EventRow, FlowCounters, FlowMeter, FrameRow, Tables};
use scenario::{DrawnFlow, Plan};
use transport::{Driver, EcnMode};
use units::{Random, Time};

use crate::Quic;
use crate::application::{Reader, Writer};
use crate::check::packet_size;
use crate::clock::Clock;
use crate::datagram::Datagram;
use crate::flow::{Ends, Flow};
use crate::ledger::{Control, Ledger, Once, SharedLedger};
use crate::peer::{Peer, Rules};
use crate::theirs::Theirs;

/// So many times a flow is looked at: for its start and stop, its sender, and its receiver.
const SLOTS: u32 = 3;
const PLANNED: u32 = 0;
const SENDER: u32 = 1;
const RECEIVER: u32 = 2;

/// Looked up every so many events: often enough to stop within milliseconds.
const EVENTS_BETWEEN_LOOKS: u64 = 1024;

/// The stack of the endpoints, in the place of a profile.
const STACK: &str = "noq";

/// A run.
pub(crate) struct World<'a> {
    fabric: Fabric<Datagram>,
    flows: Vec<Flow>,
    timers: EventQueue,
    schedule: Schedule,
    at_acks: DueAtAcks,
    records: Records<'a>,
    pub(crate) of: Of<'a>,
    clock: Clock,
    /// Datagrams that leave now.
    leaving: Vec<Datagram>,
    events: u64,
}

/// The run that a world is of.
#[derive(Clone, Copy)]
pub(crate) struct Of<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) seed: u64,
    pub(crate) drawn: &'a [DrawnFlow],
    pub(crate) engine: &'a Quic,
}

/// The tables of a run but for the rows of flows and links.
struct Records<'a> {
    plan: &'a Plan,
    tables: Tables,
    /// Datagrams with data of each flow that links dropped or lost, of those that left in the measured interval.
    dropped: Vec<u64>,
}

impl Tap<Datagram> for Records<'_> {
    fn discarded(&mut self, _link: u32, datagram: Datagram, _at: Time, _why: Discard) {
        let counts = datagram.number.is_some() && datagram.sent_at >= Time::ZERO + self.plan.warmup;
        self.dropped[datagram.flow as usize] += u64::from(counts);
    }

    fn event(&mut self, row: EventRow) {
        if self.plan.record.events {
            self.tables.events.push(row);
        }
    }

    fn frame(&mut self, row: FrameRow) {
        if self.plan.record.frames {
            self.tables.frames.push(row);
        }
    }
}

impl<'a> World<'a> {
    pub(crate) fn new(of: Of<'a>) -> Self {
        let Of { plan, seed, drawn, .. } = of;
        let fabric = Fabric::new(plan, seed, false);
        let mut timers = EventQueue::new(drawn.len() * SLOTS as usize);
        let flow = |(index, drawn): (u32, &DrawnFlow)| Flow {
            index,
            steps: fabric.first_steps(drawn.of),
            start: drawn.start,
            stop: drawn.stop,
            ecn: plan.flows[drawn.of].options.ecn() != EcnMode::Off,
            ends: None,
            running: false,
            completed: None,
            counters: FlowCounters::default(),
            meter: FlowMeter::new(),
        };
        let flows: Vec<Flow> = (0..).zip(drawn).map(flow).collect();
        flows.iter().for_each(|flow| timers.set(flow.index * SLOTS + PLANNED, flow.start));
        Self {
            fabric,
            flows,
            timers,
            schedule: Schedule::new(plan, &[Series::Flows, Series::Probes, Series::Links]),
            at_acks: DueAtAcks::new(&plan.record, drawn.len()),
            records: Records { plan, tables: Tables::default(), dropped: vec![0; drawn.len()] },
            of,
            clock: Clock::new(),
            leaving: Vec::new(),
            events: 0,
        }
    }

    /// Runs to `end`.
    pub(crate) fn run(&mut self, end: Time, watch: &Watch) -> Result<(), Failure> {
        while let Some(now) = self.step(end)? {
            if self.events.is_multiple_of(EVENTS_BETWEEN_LOOKS) {
                watch.elapsed_nanos.store(now.as_nanos(), Ordering::Relaxed);
                watch.looking.inspect(|looking| looking());
                if watch.stop.load(Ordering::Relaxed) {
                    return Err(Failure::Interrupted);
                }
            }
        }
        watch.elapsed_nanos.store(end.as_nanos(), Ordering::Relaxed);
        Ok(())
    }

    /// Does the next event, if it is before `end`, and gives its time. At one instant packets move first, then timers
    /// expire, and rows are taken last, also those of the very end.
    fn step(&mut self, end: Time) -> Result<Option<Time>, Failure> {
        let due = [self.fabric.next(), self.timers.next(), self.schedule.warmup(), self.schedule.next()];
        let now = due.into_iter().min().unwrap_or(Time::NEVER);
        if now > end || (now == end && due[3] != now) {
            return Ok(None);
        }
        self.events += 1;
        if now == end {
            self.sample(now);
        } else if now == due[0] {
            self.move_packets(now)?;
        } else if now == due[1] {
            self.expire(now)?;
        } else if self.schedule.take_warmup(now) {
            self.begin_measuring(now);
        } else {
            self.sample(now);
        }
        Ok(Some(now))
    }

    /// Hands out what arrives at the end of a wire.
    fn move_packets(&mut self, now: Time) -> Result<(), Failure> {
        let Some(wire) = self.fabric.begin(now, &mut self.records) else { return Ok(()) };
        while let Some(mut datagram) = self.fabric.pop_due(wire, now) {
            if self.fabric.is_last(&datagram) {
                self.deliver(now, datagram)?;
            } else {
                datagram.next_step();
                self.fabric.forward(now, datagram, &mut self.records);
            }
        }
        self.fabric.end(wire);
        Ok(())
    }

    /// `datagram` has reached its end.
    fn deliver(&mut self, now: Time, datagram: Datagram) -> Result<(), Failure> {
        let index = datagram.flow;
        let flow = &mut self.flows[index as usize];
        if datagram.number.is_some() {
            flow.count_arrival(&datagram);
        }
        let Some(ends) = flow.ends.as_deref_mut() else { return Ok(()) };
        let instant = self.clock.instant(now);
        if datagram.forward {
            ends.server.receive(instant, datagram.ecn, datagram.content);
            return self.look_at_receiver(now, index);
        }
        if !flow.running {
            return Ok(());
        }
        let before = ends.ledger.open().samples;
        ends.client.receive(instant, datagram.ecn, datagram.content);
        let sampled = ends.ledger.open().samples > before;
        self.look_at_sender(now, index)?;
        if sampled && self.at_acks.any() {
            let (series, probes) = self.at_acks.take(index as usize);
            self.sample_flow(now, index, series, probes);
        }
        Ok(())
    }

    /// Something at the sender of `index` may have changed.
    fn look_at_sender(&mut self, now: Time, index: u32) -> Result<(), Failure> {
        let flow = &mut self.flows[index as usize];
        let driven = flow.drive_sender(now, self.clock, &mut self.leaving);
        self.timers.set(index * SLOTS + SENDER, flow.sender_deadline(self.clock));
        if self.records.plan.record.events
            && let Some(ends) = &flow.ends
            && let Some(journal) = &mut ends.ledger.open().journal
        {
            journal.drain(..).for_each(|event| self.records.event(sender_event(now, index, event)));
        }
        self.finish_look(now, index, driven)
    }

    /// The same for its receiver.
    fn look_at_receiver(&mut self, now: Time, index: u32) -> Result<(), Failure> {
        let flow = &mut self.flows[index as usize];
        let driven = flow.drive_receiver(now, self.clock, &mut self.leaving);
        self.timers.set(index * SLOTS + RECEIVER, flow.receiver_deadline(self.clock));
        let complete = flow.ends.as_ref().is_some_and(|ends| ends.reader.complete);
        if complete && flow.completed.is_none() {
            flow.completed = Some(now);
            self.records.event(flow_event(now, index, EventKind::Complete));
        }
        self.finish_look(now, index, driven)
    }

    /// Datagrams that leave go on their way.
    fn finish_look(&mut self, now: Time, index: u32, driven: Result<(), String>) -> Result<(), Failure> {
        for datagram in self.leaving.drain(..) {
            self.fabric.forward(now, datagram, &mut self.records);
        }
        driven.map_err(|why| {
            let name = self.of.drawn[index as usize].name(self.of.plan);
            Failure::Machine(format!("flow `{name}`: noq ended its connection: {why}"))
        })
    }

    /// A timer is due.
    fn expire(&mut self, now: Time) -> Result<(), Failure> {
        let slot = self.timers.first_slot();
        let (index, which) = (slot / SLOTS, slot % SLOTS);
        self.timers.set(slot, Time::NEVER);
        let instant = self.clock.instant(now);
        let flow = &mut self.flows[index as usize];
        match which {
            PLANNED => self.start_or_stop(now, index),
            SENDER => {
                if let Some(ends) = flow.ends.as_deref_mut() {
                    ends.client.expire(instant);
                    ends.ledger.open().wake(now);
                }
                self.look_at_sender(now, index)
            }
            _ => {
                if let Some(ends) = flow.ends.as_deref_mut() {
                    ends.server.expire(instant);
                }
                self.look_at_receiver(now, index)
            }
        }
    }

    fn start_or_stop(&mut self, now: Time, index: u32) -> Result<(), Failure> {
        let flow = &mut self.flows[index as usize];
        if now < flow.stop && flow.ends.is_none() {
            // The instant of the end is outside the run.
            self.timers.set(index * SLOTS + PLANNED, flow.stop);
            let ends = self.open(now, index)?;
            let flow = &mut self.flows[index as usize];
            (flow.ends, flow.running) = (Some(Box::new(ends)), true);
            self.records.event(flow_event(now, index, EventKind::Start));
            return self.look_at_sender(now, index);
        }
        if std::mem::take(&mut flow.running) && flow.completed.is_none() {
            self.records.event(flow_event(now, index, EventKind::Stop));
        }
        self.timers.set(index * SLOTS + SENDER, Time::NEVER);
        Ok(())
    }

    /// The connection of flow `index`, which begins at `now`.
    fn open(&self, now: Time, index: u32) -> Result<Ends, Failure> {
        let Of { plan, seed, drawn, engine } = self.of;
        let drawn = &drawn[index as usize];
        let planned = &plan.flows[drawn.of];
        let stack = &planned.options;
        let size = packet_size(stack);
        let rules = Rules {
            packet_size: size as u16,
            receive_window: u64::from(stack.receive_window).saturating_mul(stack.segment_size.get()),
        };
        let instant = self.clock.instant(now);
        let stream = |name| Random::stream(seed, name, drawn.stream());
        let control = match Theirs::of(&planned.cc) {
            Some(theirs) => {
                let initial_window = u64::from(stack.initial_window) * size;
                Control::Noq(theirs.build(instant, rules.packet_size, initial_window))
            }
            None => {
                let controller = engine.controller(planned)?;
                Control::Ours(Box::new(Driver::new(controller, false, stream("flow"))), None)
            }
        };
        let journal = plan.record.events;
        let ledger = SharedLedger::new(Ledger::new(self.clock, size, stack.initial_window, control, journal));
        let mut transport = rules.transport();
        transport.congestion_controller_factory(std::sync::Arc::new(Once(ledger.clone())));
        let client = Peer::client(instant, &rules, transport, &mut stream("quic client"))
            .map_err(|why| Failure::Machine(format!("flow `{}`: {why}", planned.name)))?;
        let server = Peer::server(&rules, &mut stream("quic server"));
        let unit = stack.segment_size;
        let pace = pace(planned, drawn, unit, seed).map(|pace| (pace, unit.get()));
        let writer = Writer::new(drawn.bytes.map(|bytes| bytes.get()), pace);
        Ok(Ends { client, server, writer, reader: Reader::default(), ledger })
    }

    fn begin_measuring(&mut self, now: Time) {
        self.fabric.begin_measuring(now, &mut self.records);
        for flow in &mut self.flows {
            let counted = flow.counted();
            flow.with_meter(|meter| meter.restart(now, counted));
        }
    }

    /// Takes the rows that are due.
    fn sample(&mut self, now: Time) {
        if self.schedule.take(Series::Links, now) {
            self.fabric.advance(now, &mut self.records);
            self.fabric.sample(now, &mut self.records.tables.link_series);
        }
        let (series, probes) = (self.schedule.take(Series::Flows, now), self.schedule.take(Series::Probes, now));
        if series || probes {
            (0..self.flows.len() as u32).for_each(|index| self.sample_flow(now, index, series, probes));
        }
    }

    fn sample_flow(&mut self, now: Time, index: u32, series: bool, probes: bool) {
        let Some(row) = self.flows[index as usize].sample(now) else { return };
        let tables = &mut self.records.tables;
        if series {
            tables.flow_series.push(row);
        }
        if probes && let Some(ends) = &self.flows[index as usize].ends {
            ends.ledger.open().probe(&mut ProbeRows { probes: &mut tables.probes, at: now, flow: index });
        }
    }

    /// Ends the run at `end`: its tables, and how many events and data packets it had.
    pub(crate) fn finish(mut self, end: Time) -> (Tables, [u64; 2]) {
        let Of { plan, drawn, .. } = self.of;
        self.fabric.advance(end, &mut self.records);
        let (links, stations) = (self.fabric.rows(end, plan), self.fabric.station_rows(end, plan));
        let mut tables = self.records.tables;
        let mut data_packets = 0;
        for ((flow, drawn), dropped_packets) in self.flows.iter_mut().zip(drawn).zip(self.records.dropped) {
            let counted = FlowCounters { dropped_packets, ..flow.counted() };
            data_packets += counted.data_packets;
            let (index, lifetime) = (flow.index, flow.lifetime());
            let row = flow.with_meter(|meter| flow_row((meter, &counted), plan, index, drawn, lifetime));
            tables.flows.push(record::FlowRow { profile: STACK.to_owned(), ..row });
        }
        tables.events.sort_by_time();
        (Tables { links, stations, ..tables }, [self.events, data_packets])
    }
}
