//! The two ends of all flows of a run, whatever network is between them: connections, applications, timers, and the
//! rows that they record.

use std::sync::Arc;

use control::Subflows;
use engine::{DueAtAcks, EventQueue, Failure, ProbeRows, Tap, Watch, flow_event, flow_row, pace, sender_event};
use network::Discard;
use record::{EventKind, EventRow, FlowCounters, FrameRow, Tables};
use scenario::{DrawnFlow, Kind, Plan, PlannedFlow};
use stack::{Decisions, Header, Reports, Settings};
use transport::{Driver, EcnMode, Pace, Recorded, Writes};
use units::{Random, Span, Time};

use crate::application::{Outgoing, Reader, Writer};
use crate::check::{self, packet_size, stack_of};
use crate::datagram::{Datagram, HEADERS};
use crate::flow::{Flow, Object, OpenConnection, Path};
use crate::ledger::{Control, Ledger, SharedLedger};
use crate::{LogOf, Quic};

/// So many times a flow is looked at: for its start and stop, its sender, and its receiver.
const SLOTS: u32 = 3;
const PLANNED: u32 = 0;
const SENDER: u32 = 1;
const RECEIVER: u32 = 2;

/// A timer that has expired does so again at this interval at the earliest, as the clock of an operating system moves
/// meanwhile: the pacer of noq rounds intervals of less than half a nanosecond to none.
const TICK: Span = Span::from_nanos(1);

/// The ends of all flows. Datagrams that leave wait in [`leaving`](Self::leaving) after each call.
pub struct Endpoints<'a> {
    flows: Vec<Flow>,
    /// The flow that each row belongs to.
    flow_of: Vec<u32>,
    timers: EventQueue,
    at_acks: DueAtAcks,
    pub(crate) records: Records<'a>,
    of: Of<'a>,
    pub(crate) leaving: Vec<Datagram>,
}

/// A run: a plan, its seed and flows, and the engine that makes their controllers.
#[derive(Clone, Copy)]
pub struct Of<'a> {
    /// The plan.
    pub plan: &'a Plan,
    /// The seed.
    pub seed: u64,
    /// The flows of the tables.
    pub drawn: &'a [DrawnFlow],
    /// The engine.
    pub engine: &'a Quic,
    /// It takes breaches of the law for decisions of controllers.
    pub watch: &'a Watch,
}

/// The tables of a run but for the rows of flows and links.
pub(crate) struct Records<'a> {
    plan: &'a Plan,
    pub(crate) tables: Tables,
    /// Datagrams with data of each flow that links dropped or lost, of those that left in the measured interval.
    pub(crate) dropped: Vec<u64>,
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

impl<'a> Endpoints<'a> {
    /// The ends of a run before its start. `first_steps` has the first steps of data and of acknowledgements of each
    /// flow of the plan.
    pub fn new(of: Of<'a>, first_steps: impl Fn(usize) -> (u32, u32)) -> Self {
        let Of { plan, drawn, .. } = of;
        let (mut flows, mut flow_of): (Vec<Flow>, Vec<u32>) = (Vec::new(), Vec::new());
        for (row, one) in (0..).zip(drawn) {
            let object = Object::new(row, one.start, one.stop);
            let is_path = plan.flows[one.of].subflow.as_deref().is_some_and(|subflow| subflow.index > 0);
            match (&one.page, flows.last_mut()) {
                // The pages of a reader are streams of one connection.
                (Some(page), Some(flow)) if flow.of == one.of => flow.add(object, page),
                (_, Some(flow)) if is_path => flow.paths.push(Path::new(row, first_steps(one.of), one.start)),
                _ => flows.push(Flow::new(flows.len() as u32, one.of, first_steps(one.of), object)),
            }
            flow_of.push(flows.len() as u32 - 1);
        }
        let mut timers = EventQueue::new(flows.len() * SLOTS as usize);
        for flow in &mut flows {
            flow.ecn = plan.flows[flow.of].options.ecn() != EcnMode::Off;
            timers.set(flow.index * SLOTS + PLANNED, flow.objects[0].start);
        }
        Self {
            at_acks: DueAtAcks::new(&plan.record, drawn.len()),
            flows,
            flow_of,
            timers,
            records: Records { plan, tables: Tables::default(), dropped: vec![0; drawn.len()] },
            of,
            leaving: Vec::new(),
        }
    }

    /// The rows by which the connections are named, which are the rows of their first paths.
    pub fn connections(&self) -> impl Iterator<Item = u32> {
        self.flows.iter().map(Flow::first_row)
    }

    /// Holds one of the connections, another each turn, to the law for decisions of controllers.
    pub fn check_decisions(&self, turn: u64) {
        let Some(index) = turn.checked_rem(self.flows.len() as u64) else { return };
        let flow = &self.flows[index as usize];
        if let Some(open) = &flow.open {
            let Of { plan, watch, .. } = self.of;
            for (path, ledger) in flow.paths.iter().zip(&open.ledgers) {
                let planned = &plan.flows[self.of.drawn[path.row as usize].of];
                watch.conduct.note(planned, ledger.lock().check_decisions());
            }
        }
    }

    /// When a timer expires next.
    pub fn next_timer(&self) -> Time {
        self.timers.next()
    }

    /// The datagrams that leave now.
    pub fn leaving(&mut self) -> impl Iterator<Item = Datagram> {
        self.leaving.drain(..)
    }

    /// `datagram` has reached its end.
    ///
    /// # Errors
    /// [`Failure::Machine`] if a connection ends, [`Failure::Controller`] if a controller cannot be made.
    pub fn deliver(&mut self, now: Time, datagram: Datagram) -> Result<(), Failure> {
        let index = self.flow_of[datagram.flow as usize];
        let flow = &mut self.flows[index as usize];
        // The rows of the paths of a connection follow each other.
        let path = datagram.flow - flow.first_row();
        if datagram.number.is_some() {
            flow.count_arrival(path as usize, &datagram);
        }
        let Some(open) = flow.open.as_deref_mut() else { return Ok(()) };
        let (instant, header) = (now.as_nanos(), Header { path, ecn: datagram.ecn.bits() });
        if datagram.forward {
            open.reader.path = path as usize;
            open.server.receive(instant, header, datagram.content);
            return self.look_at_receiver(now, index, now);
        }
        if !flow.running {
            return Ok(());
        }
        if !self.at_acks.any() {
            open.client.receive(instant, header, datagram.content);
            return self.look_at_sender(now, index, now);
        }
        let before = open.samples();
        open.client.receive(instant, header, datagram.content);
        let sampled = open.samples();
        self.look_at_sender(now, index, now)?;
        for path in (0..before.len()).filter(|&path| sampled[path] > before[path]) {
            let row = self.flows[index as usize].paths[path].row;
            let (series, probes) = self.at_acks.take(row as usize);
            self.sample_path(now, index, path, series, probes);
        }
        Ok(())
    }

    /// Something at the sender of `index` may have changed. Its timer expires no earlier than `earliest`.
    fn look_at_sender(&mut self, now: Time, index: u32, earliest: Time) -> Result<(), Failure> {
        let flow = &mut self.flows[index as usize];
        let driven = flow.drive_sender(now, &mut self.leaving);
        self.timers.set(index * SLOTS + SENDER, flow.sender_deadline().max(earliest));
        for row in flow.newly_begun.drain(..).filter(|&row| row != flow.objects[0].row) {
            self.records.event(flow_event(now, row, EventKind::Start));
        }
        if self.records.plan.record.events
            && let Some(open) = &flow.open
        {
            for (path, ledger) in flow.paths.iter().zip(&open.ledgers) {
                if let Some(journal) = &mut ledger.lock().journal {
                    journal.drain(..).for_each(|event| self.records.event(sender_event(now, path.row, event)));
                }
            }
        }
        self.check_driven(index, driven)
    }

    /// The same for its receiver.
    fn look_at_receiver(&mut self, now: Time, index: u32, earliest: Time) -> Result<(), Failure> {
        let flow = &mut self.flows[index as usize];
        let driven = flow.drive_receiver(now, &mut self.leaving);
        self.timers.set(index * SLOTS + RECEIVER, flow.receiver_deadline().max(earliest));
        if let Some(open) = flow.open.as_deref_mut() {
            let rows = open.reader.rows.drain(..);
            let wanted = self.records.plan.record.datagrams;
            rows.filter(|_| wanted).for_each(|row| self.records.tables.datagrams.push(row));
        }
        let complete = flow.newly_complete(now);
        let is_over = !complete.is_empty() && flow.page_is_complete();
        complete.into_iter().for_each(|row| self.records.event(flow_event(now, row, EventKind::Complete)));
        if is_over {
            self.turn_page(now, index);
        }
        self.check_driven(index, driven)
    }

    /// The connection of flow `index` is still there.
    fn check_driven(&self, index: u32, driven: Result<(), String>) -> Result<(), Failure> {
        driven.map_err(|why| {
            let row = self.flows[index as usize].objects[0].row;
            let drawn = &self.of.drawn[row as usize];
            let (name, stack) = (drawn.name(self.of.plan), stack_of(&self.of.plan.flows[drawn.of].cc));
            Failure::Machine(format!("flow `{name}`: {stack} ended its connection: {why}"))
        })
    }

    /// The timer that is due first expires.
    ///
    /// # Errors
    /// See [`deliver`](Self::deliver).
    pub fn expire(&mut self, now: Time) -> Result<(), Failure> {
        let slot = self.timers.first_slot();
        let (index, which) = (slot / SLOTS, slot % SLOTS);
        self.timers.set(slot, Time::NEVER);
        let instant = now.as_nanos();
        let flow = &mut self.flows[index as usize];
        match which {
            PLANNED => self.run_planned(now, index),
            SENDER => {
                if let Some(open) = flow.open.as_deref_mut() {
                    open.client.expire(instant);
                    open.ledgers.iter().for_each(|ledger| ledger.lock().wake(now));
                }
                self.look_at_sender(now, index, now + TICK)
            }
            _ => {
                if let Some(open) = flow.open.as_deref_mut() {
                    open.server.expire(instant);
                }
                self.look_at_receiver(now, index, now + TICK)
            }
        }
    }

    /// A flow starts, changes, turns a page or stops.
    fn run_planned(&mut self, now: Time, index: u32) -> Result<(), Failure> {
        let flow = &mut self.flows[index as usize];
        let planned = &self.of.plan.flows[flow.of];
        let stop = flow.objects[0].stop;
        if now < stop && flow.open.is_none() && !flow.complete {
            let open = self.open(now, index)?;
            let flow = &mut self.flows[index as usize];
            (flow.open, flow.running) = (Some(Box::new(open)), true);
            self.begin_page(now, index);
        } else if now >= stop {
            if std::mem::take(&mut flow.running) && !flow.complete {
                for path in &flow.paths {
                    self.records.event(flow_event(now, path.row, EventKind::Stop));
                }
            }
            self.timers.set(index * SLOTS + SENDER, Time::NEVER);
            return Ok(());
        } else if flow.turn <= now {
            flow.turn = Time::NEVER;
            self.begin_page(now, index);
        } else if let Some(change) = planned.changes.get(flow.changes).filter(|change| change.at <= now) {
            flow.changes += 1;
            if let Some(open) = &flow.open {
                for ledger in &open.ledgers {
                    let changed = ledger.lock().set_parameters(now, &change.parameters);
                    changed.map_err(|error| Failure::Controller(error.to_string()))?;
                }
            }
        }
        // The instant of the end is outside the run.
        let next = self.flows[index as usize].planned_at(now, &planned.changes);
        self.timers.set(index * SLOTS + PLANNED, next);
        self.look_at_sender(now, index, now)
    }

    /// The objects of the page under way are asked for.
    fn begin_page(&mut self, now: Time, index: u32) {
        let flow = &mut self.flows[index as usize];
        let begins = flow.page_begins();
        let (end, first) = (flow.pages[flow.page].end, flow.first_row());
        for object in &mut flow.objects[begins..end] {
            object.start = now;
            let bytes = self.of.drawn[object.row as usize].bytes;
            if let Some(open) = flow.open.as_mut().filter(|_| object.row > first) {
                open.writer.add(Outgoing::new(bytes.map(|bytes| bytes.get()), None));
            }
            self.records.event(flow_event(now, object.row, EventKind::Start));
        }
    }

    /// All of a page has arrived: the reader pauses and asks for the next, which begins when the request has crossed
    /// the path.
    fn turn_page(&mut self, now: Time, index: u32) {
        let flow = &mut self.flows[index as usize];
        let planned = &self.of.plan.flows[flow.of];
        let next = flow.pages.get(flow.page + 1).map(|next| now + next.think + planned.base_rtt.scale(0.5));
        match next.filter(|&at| at < planned.stop) {
            Some(at) => {
                flow.page += 1;
                flow.turn = at;
                self.timers.set(index * SLOTS + PLANNED, flow.planned_at(now, &planned.changes));
            }
            None => flow.complete = true,
        }
    }

    /// The connection of flow `index`, which begins at `now`.
    fn open(&self, now: Time, index: u32) -> Result<OpenConnection, Failure> {
        let Of { plan, seed, drawn, engine, watch } = self.of;
        let flow = &self.flows[index as usize];
        let of_path = |path: &Path| &drawn[path.row as usize];
        let drawn = of_path(&flow.paths[0]);
        let planned = &plan.flows[drawn.of];
        let stack = &planned.options;
        let size = packet_size(stack);
        let stream = |name| Random::stream(seed, name, drawn.stream());
        let settings = |is_client, mut random: Random| Settings {
            now: now.as_nanos(),
            seed: std::array::from_fn(|_| (random.uniform() * 256.0) as u8),
            is_client,
            packet_size: size as u16,
            receive_window: u64::from(stack.receive_window).saturating_mul(stack.segment_size.get()),
            initial_window: u64::from(stack.initial_window) * size,
            paths: flow.paths.len() as u32,
        };
        let own = check::own(&planned.cc);
        let subflows = Subflows::new(flow.paths.len());
        let ledger = |(number, path): (usize, &Path)| {
            let control = match own {
                Some(_) => Control::Stack(Decisions::EMPTY),
                None => {
                    let mut controller = engine.controller(planned, &watch.conduct)?;
                    if flow.paths.len() > 1 {
                        controller.join(&subflows, number);
                    }
                    let random = Random::stream(seed, "flow", of_path(path).stream());
                    Control::Ackclock(Box::new(Driver::new(controller, false, random)), None)
                }
            };
            Ok(SharedLedger::new(Ledger::new(size, stack.initial_window, control, plan.record.events)))
        };
        let ledgers: Vec<_> = flow.paths.iter().enumerate().map(ledger).collect::<Result<_, Failure>>()?;
        let name = drawn.name(plan);
        let log = |side| LogOf { row: flow.first_row(), name: name.clone(), side };
        let reports = ledgers.iter().map(|ledger| Box::new(ledger.clone()) as Box<dyn Reports>).collect();
        let client = engine.side(planned, &settings(true, stream("quic client")), own, reports, log("client"))?;
        let server = engine.side(planned, &settings(false, stream("quic server")), None, Vec::new(), log("server"))?;
        let writer = writer(planned, drawn, seed);
        Ok(OpenConnection { client, server, writer, reader: Reader::default(), ledgers, connected: false })
    }

    /// The measured interval begins.
    pub fn begin_measuring(&mut self, now: Time) {
        self.flows.iter_mut().for_each(|flow| flow.begin_measuring(now));
    }

    /// Takes the rows of all flows: of the series, and of the internals of controllers.
    pub fn sample(&mut self, now: Time, series: bool, probes: bool) {
        for index in 0..self.flows.len() as u32 {
            let paths = self.flows[index as usize].paths.len();
            (0..paths).for_each(|path| self.sample_path(now, index, path, series, probes));
        }
    }

    fn sample_path(&mut self, now: Time, index: u32, path: usize, series: bool, probes: bool) {
        let flow = &self.flows[index as usize];
        let planned = &self.of.plan.flows[self.of.drawn[flow.paths[path].row as usize].of];
        let Some(row) = flow.sample(now, path, planned.base_rtt_at(now)) else { return };
        let (tables, flow) = (&mut self.records.tables, row.flow);
        if series {
            tables.flow_series.push(row);
        }
        if probes && let Some(open) = &self.flows[index as usize].open {
            open.ledgers[path].lock().probe(&mut ProbeRows { probes: &mut tables.probes, at: now, flow });
        }
    }

    /// The tables of the ends, and how many data packets there were. Links dropped `dropped` packets of each row.
    ///
    /// # Errors
    /// A stack whose destructor panics.
    pub fn finish(mut self, dropped: &[u64]) -> Result<(Tables, u64), Failure> {
        let Of { plan, drawn, .. } = self.of;
        let mut tables = std::mem::take(&mut self.records.tables);
        let mut data_packets = 0;
        for index in 0..self.flows.len() {
            let ended = self.flows[index].end();
            self.check_driven(index as u32, ended)?;
        }
        for flow in &self.flows {
            let profile = stack_of(&plan.flows[flow.of].cc);
            flow.rows(|row, lifetime, meter, counters| {
                let counters = FlowCounters { dropped_packets: dropped[row as usize], ..counters };
                data_packets += counters.sender.data_packets;
                let row = flow_row((meter, &counters), plan, row, &drawn[row as usize], lifetime);
                tables.flows.push(record::FlowRow { profile: profile.to_owned(), ..row });
            });
        }
        Ok((tables, data_packets))
    }
}

/// The application that writes the data of `drawn`, a flow of `planned`.
fn writer(planned: &PlannedFlow, drawn: &DrawnFlow, seed: u64) -> Writer {
    if let Kind::Datagram { packet_size, .. } = planned.kind {
        let writes = match (&planned.media, pace(planned, drawn, packet_size, seed)) {
            (Some(media), _) => Writes::Recorded(Recorded::new(Arc::clone(media))),
            (None, paced) => Writes::Paced(paced.unwrap_or_else(|| Pace::new(Vec::new(), packet_size, drawn.bytes))),
        };
        let full = packet_size.get().saturating_sub(HEADERS) as u32;
        return Writer::Datagrams { writes, full, next: 0 };
    }
    let unit = planned.options.segment_size;
    let pace = pace(planned, drawn, unit, seed).map(|pace| (pace, unit.get()));
    Writer::Streams(vec![Outgoing::new(drawn.bytes.map(|bytes| bytes.get()), pace)])
}
