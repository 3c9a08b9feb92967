//! The thread with both ends of all flows of datagrams and media: it hands them what arrives and the time, and sends
//! what leaves.

use std::io::ErrorKind;
use std::os::fd::AsFd;
use std::sync::atomic::Ordering;

use control::{Probe, law};
use engine::{DueAtAcks, Failure, Schedule, Series, Watch, flow_event, read_number, sender_event, write_number};
use record::{
    DatagramRow, Datagrams, EventKind, EventRow, FlowCounters, FlowMeter, FlowSample, Histogram, VideoFrames, seconds,
};
use rustix::net::{SendFlags, send};
use transport::{Event, Journal};
use units::{Bytes, Ecn, Span, Time};

use super::HEADERS;
use super::flow::{Arrived, Flow};
use crate::host::arrivals::Arrivals;
use crate::host::system;
use crate::tcp::probes::ProbeValue;
use crate::tcp::settings::Settings;

/// Room for the largest datagram.
const LARGEST: usize = 1 << 16;

/// The report of the thread at the end.
#[derive(Default)]
pub(crate) struct Report {
    /// The meter and the counters of each flow, with its row.
    pub(crate) flows: Vec<(u32, FlowMeter, FlowCounters)>,
    pub(crate) series: Vec<FlowSample>,
    pub(crate) probes: Vec<ProbeValue>,
    pub(crate) events: Vec<EventRow>,
    pub(crate) datagrams: Datagrams,
    pub(crate) video_frames: VideoFrames,
    /// Nanoseconds by which timers were late, if there are such flows.
    pub(crate) lateness: Option<Histogram>,
    /// Datagrams that could not be sent.
    pub(crate) dropped: u64,
    pub(crate) cpu_nanos: u64,
}

/// The ends at work.
pub(crate) struct Ends<'a> {
    settings: Settings<'a>,
    watch: &'a Watch,
    flows: Vec<Flow>,
    arrivals: Arrivals,
    schedule: Schedule,
    at_acks: DueAtAcks,
    buffer: Box<[u8]>,
    report: Report,
}

/// Takes the internals of the controller of a flow.
struct Values<'a> {
    probes: &'a mut Vec<ProbeValue>,
    at: Time,
    flow: u32,
}

impl Probe for Values<'_> {
    fn value(&mut self, name: &'static str, value: f64) {
        let Self { at, flow, .. } = *self;
        self.probes.push(ProbeValue { at, flow, name, value });
    }
}

/// Notes the events of the sender of a flow.
struct Notes<'a> {
    /// `None` where they are not recorded.
    events: Option<&'a mut Vec<EventRow>>,
    at: Time,
    row: u32,
}

impl Journal for Notes<'_> {
    fn note(&mut self, event: Event) {
        let Self { at, row, .. } = *self;
        self.events.iter_mut().for_each(|events| events.push(sender_event(at, row, event)));
    }
}

impl<'a> Ends<'a> {
    /// Fails where the process may open no more files.
    pub(crate) fn new(settings: Settings<'a>, watch: &'a Watch, flows: Vec<Flow>) -> rustix::io::Result<Self> {
        let arrivals = Arrivals::new()?;
        for (index, flow) in flows.iter().enumerate() {
            for (end, socket) in flow.sockets.iter().enumerate() {
                arrivals.add(socket, (2 * index + end) as u32)?;
            }
        }
        Ok(Self {
            watch,
            arrivals,
            schedule: Schedule::new(settings.plan, &[Series::Flows, Series::Probes]),
            at_acks: DueAtAcks::new(&settings.plan.record, flows.len()),
            flows,
            settings,
            buffer: vec![0; LARGEST].into(),
            report: Report::default(),
        })
    }

    /// Runs on the calling thread until the end or a halt.
    pub(crate) fn run(mut self) -> Result<Report, Failure> {
        let cpu = system::thread_cpu();
        let late = self.settings.begin();
        self.note_late(late);
        let end = Time::ZERO + self.settings.plan.duration;
        loop {
            let over = self.settings.is_over() || self.watch.conduct.is_broken();
            let now = self.now();
            self.settings.elapsed.store(now.as_nanos(), Ordering::Relaxed);
            self.catch_up(now, end);
            if now >= end || over {
                break;
            }
            let due = self.next(end).min(end);
            let arrived = self.arrivals.wait(due.since(self.now()));
            let now = self.now();
            if now >= due {
                self.note_late(now.since(due));
            }
            self.catch_up(now, end);
            for index in arrived {
                self.receive(index / 2, index % 2, end)?;
            }
        }
        if self.settings.plan.record.datagrams {
            self.flows.iter().for_each(|flow| flow.video_frames(&mut self.report.video_frames));
        }
        let ended = |flow: Flow| (flow.row, flow.counters(), flow.meter);
        let flows = std::mem::take(&mut self.flows).into_iter().map(ended);
        self.report.flows = flows.map(|(row, counters, meter)| (row, meter, counters)).collect();
        self.report.cpu_nanos = system::thread_cpu() - cpu;
        Ok(self.report)
    }

    fn note_late(&mut self, by: Span) {
        self.report.lateness.get_or_insert_default().record(by.as_nanos(), 1);
    }

    /// The time of the run.
    fn now(&self) -> Time {
        self.settings.run_time(system::monotonic())
    }

    /// When something is due next in a run until `end`.
    fn next(&self, end: Time) -> Time {
        let planned = self.schedule.warmup().min(self.schedule.next());
        self.flows.iter().map(|flow| flow.next(end)).fold(planned, Time::min)
    }

    /// Does all that is due by `now`, in the order in which it is.
    fn catch_up(&mut self, now: Time, end: Time) {
        loop {
            let due = self.next(end);
            if due > now.min(end) {
                return;
            }
            // First at its instant: what else happens then is measured.
            if self.schedule.take_warmup(due) {
                self.flows.iter_mut().for_each(|flow| {
                    let counters = flow.counters();
                    flow.meter.restart(due, counters);
                });
                continue;
            }
            // The instant of the end is outside the run, but for its rows.
            match (0..self.flows.len()).find(|&index| due < end && self.flows[index].next(end) == due) {
                Some(index) => self.expire(now, due, index),
                None if self.schedule.next() == due => self.sample(due),
                None => return,
            }
        }
    }

    /// What is `due` for flow `index` happens.
    fn expire(&mut self, now: Time, due: Time, index: usize) {
        let flow = &mut self.flows[index];
        let (row, start, stop) = (flow.row, flow.start, flow.stop);
        if !flow.running && due == start {
            flow.begin(now);
            self.note(start, EventKind::Start, row);
        } else if flow.running && due == stop {
            flow.end();
            self.note(stop, EventKind::Stop, row);
        } else {
            let Self { flows, report, settings, .. } = self;
            flows[index].on_timeout(now, &mut notes(settings, report, now, row));
            if let Some((number, size)) = flows[index].poll_answer(now) {
                self.send(index, 1, number, size);
            }
        }
        self.transmit(now, index);
    }

    fn note(&mut self, at: Time, kind: EventKind, row: u32) {
        if self.settings.plan.record.events {
            self.report.events.push(flow_event(at, row, kind));
        }
    }

    /// Sends what leaves the sender of flow `index` now.
    fn transmit(&mut self, now: Time, index: usize) {
        loop {
            let Self { flows, report, settings, .. } = self;
            let row = flows[index].row;
            let Some((number, size)) = flows[index].poll_transmit(now, &mut notes(settings, report, now, row)) else {
                break;
            };
            self.send(index, 0, number, size);
        }
        let flow = &self.flows[index];
        self.watch.conduct.note(&self.settings.plan.flows[flow.of], law::check(flow.controller()));
    }

    /// A datagram of `size` IP bytes with this number leaves an `end` of flow `index`.
    fn send(&mut self, index: usize, end: usize, number: u64, size: Bytes) {
        let content = &mut self.buffer[..size.get().saturating_sub(HEADERS) as usize];
        content.fill(0);
        write_number(content, number);
        let sent = send(&self.flows[index].sockets[end], content, SendFlags::empty());
        self.report.dropped += u64::from(sent != Ok(content.len()));
    }

    /// Takes the datagrams that have come to an end of flow `index`, before the `end` of the run.
    fn receive(&mut self, index: usize, at: usize, end: Time) -> Result<(), Failure> {
        loop {
            let (length, tos) = match system::receive_marked(self.flows[index].sockets[at].as_fd(), &mut self.buffer) {
                Ok(received) => received,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(Failure::Machine(format!("a socket cannot be read: {error}"))),
            };
            let now = self.now();
            let Some(number) = read_number(&self.buffer[..length]).filter(|_| now < end) else { continue };
            match at {
                0 => self.answer_arrives(now, index, number),
                _ => self.data_arrive(now, index, number, (length as u64 + HEADERS, Ecn::of(tos))),
            }
        }
    }

    fn data_arrive(&mut self, now: Time, index: usize, number: u64, (size, ecn): (u64, Ecn)) {
        let flow = &mut self.flows[index];
        let Some(Arrived { data, answer }) = flow.data_arrive(now, number, size, ecn == Ecn::Congestion) else {
            return;
        };
        if self.settings.plan.record.datagrams {
            let (sent_s, arrived_s, sequence) = (seconds(data.timestamp), seconds(now), data.sequence);
            self.report.datagrams.push(DatagramRow { sent_s, flow: flow.row, sequence, arrived_s });
        }
        if let Some((number, size)) = answer {
            self.send(index, 1, number, size);
        }
    }

    fn answer_arrives(&mut self, now: Time, index: usize, number: u64) {
        let Self { flows, report, settings, .. } = self;
        let row = flows[index].row;
        if flows[index].answer_arrives(now, number, &mut notes(settings, report, now, row)) && self.at_acks.any() {
            let (series, probes) = self.at_acks.take(index);
            self.sample_flow(now, index, series, probes);
        }
        self.transmit(now, index);
    }

    /// Takes the rows that are due at `due`.
    fn sample(&mut self, due: Time) {
        let (series, probes) = (self.schedule.take(Series::Flows, due), self.schedule.take(Series::Probes, due));
        (0..self.flows.len()).for_each(|index| self.sample_flow(due, index, series, probes));
    }

    fn sample_flow(&mut self, at: Time, index: usize, series: bool, probes: bool) {
        let flow = &self.flows[index];
        if !flow.running {
            return;
        }
        if series {
            let base_rtt = self.settings.plan.flows[flow.of].base_rtt_at(at);
            self.report.series.push(flow.sample(at, base_rtt));
        }
        if probes {
            flow.controller().probe(&mut Values { probes: &mut self.report.probes, at, flow: flow.row });
        }
    }
}

/// A journal for one event at the sender of `row`.
fn notes<'r>(settings: &Settings<'_>, report: &'r mut Report, at: Time, row: u32) -> Notes<'r> {
    Notes { events: settings.plan.record.events.then_some(&mut report.events), at, row }
}
