//! The two ends of every flow: the kernel's TCP sockets, and their state during the run.
//!
//! One thread looks at all sockets a thousand times a second: send buffers hold more than is sent in between. It takes
//! arrived data at once, as applications do, and writes at once where a send buffer with a limit has room. After each
//! time it pauses, since each wake-up costs the emulator some of its time. In virtual time a wake-up costs none.

use std::net::SocketAddrV4;
use std::os::fd::AsFd;
use std::sync::atomic::Ordering;

use engine::{Schedule, Series};
use record::{EventKind, EventRow, FlowCounters, FlowSample, Histogram, seconds};
use rustix::io::Errno;
use rustix::net::connect;
use scenario::{DrawnFlow, Sampling};
use units::{Span, Time};

use crate::algorithm::{Algorithm, Internal};
use crate::emulator::{Clock, PRIORITY, SENDER_PORT};
use crate::host::arrivals::Arrivals;
use crate::host::sockets::{FAR, RECEIVER_PORT, Sockets};
use crate::host::system::{self, TcpInfo};
use crate::tcp::ack_rows::AckRows;
use crate::tcp::application::unless_later;
use crate::tcp::flow::{Flow, Stage, with_segment};
use crate::tcp::probes::ProbeValue;
use crate::tcp::settings::Settings;
use crate::tcp::tcp_events::compare;

/// Sockets are looked at so often.
const TICK: Span = Span::from_millis(1);
/// After data were taken, those that arrive next wait for as long.
const PAUSE: Span = Span::from_micros(50);
/// Internals are fetched from the controllers so often: before their records are overwritten.
const DRAIN: Span = Span::from_millis(20);
/// Written or read at once.
const CHUNK: usize = 1 << 20;

/// The source of the states of flows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Traced {
    pub(crate) source: &'static str,
    /// Records that found no room, were skipped, or are lacking as looks show.
    pub(crate) missed: u64,
}

impl Default for Traced {
    fn default() -> Self {
        Self { source: "tcp_info", missed: 0 }
    }
}

/// The report of the endpoints at the end.
#[derive(Default)]
pub(crate) struct Report {
    pub(crate) flows: Vec<FlowTotals>,
    pub(crate) series: Vec<FlowSample>,
    /// As controllers reported them, one controller after the other.
    pub(crate) probes: Vec<ProbeValue>,
    pub(crate) events: Vec<EventRow>,
    /// Connections that broke, one sentence each.
    pub(crate) broken: Vec<String>,
    pub(crate) traced: Traced,
    /// Nanoseconds by which the sockets were looked at late.
    pub(crate) lateness: Histogram,
    /// Failures of controllers and of the kernel's trace in reporting, one sentence each.
    pub(crate) unreported: Vec<String>,
    pub(crate) cpu_nanos: u64,
}

/// Totals of a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct FlowTotals {
    /// In the measured interval.
    pub(crate) counts: FlowCounters,
    pub(crate) completed: Option<Time>,
}

/// All flows at work.
pub(crate) struct Endpoints<'a> {
    settings: Settings<'a>,
    flows: Vec<Flow>,
    arrivals: Arrivals,
    /// The kernel's trace of the connections, where there is one.
    trace: Option<kernel::Trace>,
    /// Each with the flows of the plan that use it.
    algorithms: &'a mut [Box<dyn Algorithm>],
    /// The algorithm of each flow of the plan that is of TCP.
    of_flow: &'a [Option<usize>],
    buffer: Vec<u8>,
    /// Data may have arrived since the last wait for them.
    paused: bool,
    measuring: bool,
    schedule: Schedule,
    next_drain: Time,
    /// When controllers that can be asked at any time are asked next, and the time to the one after.
    next_question: Time,
    question_span: Span,
    /// Rows that are due at ACKs.
    ack_rows: Option<AckRows>,
    report: Report,
}

impl<'a> Endpoints<'a> {
    /// Fails where the process may open no more files.
    pub(crate) fn new(
        settings: Settings<'a>,
        sockets: Vec<Option<Sockets>>,
        trace: Option<kernel::Trace>,
        algorithms: &'a mut [Box<dyn Algorithm>],
        of_flow: &'a [Option<usize>],
    ) -> Result<Self, Errno> {
        let flows = settings.drawn.iter().zip(sockets).enumerate();
        let flow = |(index, (drawn, sockets)): (usize, (&DrawnFlow, Option<Sockets>))| {
            Flow::new(&settings, index as u32, drawn, sockets)
        };
        algorithms.iter_mut().for_each(|algorithm| algorithm.show(settings.plan.record.probes));
        let ack_rows = AckRows::new(settings.plan.record.flow_series, settings.drawn.len());
        Ok(Self {
            flows: flows.map(flow).collect(),
            arrivals: Arrivals::new()?,
            settings,
            trace,
            algorithms,
            of_flow,
            buffer: vec![0; CHUNK],
            paused: true,
            measuring: false,
            schedule: Schedule::new(settings.plan, &[Series::Flows]),
            next_drain: Time::ZERO,
            next_question: if settings.plan.record.probes == Sampling::Off { Time::NEVER } else { Time::ZERO },
            question_span: match settings.plan.record.probes {
                Sampling::Every(span) => span,
                Sampling::Off | Sampling::Acks(_) => TICK,
            },
            ack_rows,
            report: Report::default(),
        })
    }

    /// Runs on the calling thread until the end or a halt.
    pub(crate) fn run(mut self) -> Report {
        system::run_first(PRIORITY - 1);
        let cpu = system::thread_cpu();
        let end = Time::ZERO + self.settings.plan.duration;
        let begin = Time::ZERO + self.settings.lead;
        self.report.lateness.record(self.settings.clock.now().since(begin).as_nanos(), 1);
        loop {
            let over = self.settings.is_over();
            let now = self.settings.clock.now();
            // Before the run begins, its time is zero.
            let at = Time::ZERO + now.since(begin);
            self.settings.elapsed.store(at.as_nanos(), Ordering::Relaxed);
            for index in 0..self.flows.len() {
                if now >= begin {
                    self.poll(at.min(end), index);
                }
            }
            if now >= begin {
                self.drain_trace(at.min(end));
                self.note_samples(at.min(end));
            }
            if at >= end || over {
                break;
            }
            let until = self.next_look(begin, end);
            self.take_until(until, begin);
            if until >= begin {
                self.report.lateness.record(self.settings.clock.now().since(until).as_nanos(), 1);
            }
        }
        self.drain();
        self.report.unreported.extend(self.algorithms.iter_mut().filter_map(|algorithm| algorithm.finish()));
        let counted = |flow: &Flow| FlowTotals { counts: flow.counts - flow.base, completed: flow.completed };
        self.report.flows = self.flows.iter().map(counted).collect();
        if let Some(trace) = &self.trace {
            self.report.traced.source = "tracepoint";
            self.report.traced.missed += trace.missed().unwrap_or(0);
        }
        self.report.cpu_nanos = system::thread_cpu() - cpu;
        self.report
    }

    /// Takes what arrives until `until`, in a run that began at `begin`.
    fn take_until(&mut self, until: Time, begin: Time) {
        let rest = |clock: Clock| until.since(clock.now());
        while rest(self.settings.clock) > Span::ZERO {
            let mut any = false;
            let arrived = self.arrivals.wait(rest(self.settings.clock));
            self.paused = false;
            for index in arrived {
                any = true;
                let at = Time::ZERO + self.settings.clock.now().since(begin);
                self.wake(at, index);
            }
            if any && !system::in_virtual_time() {
                system::sleep(rest(self.settings.clock).min(PAUSE));
                self.paused = true;
            }
        }
    }

    /// Something has come for flow `index` at `at`: data, its connection, or room in its send buffer.
    fn wake(&mut self, at: Time, index: usize) {
        let flow = &mut self.flows[index];
        if flow.stage == Stage::Opening && flow.open(at, &self.arrivals) {
            return self.serve(at, index);
        }
        let written = flow.go_on(at, &self.buffer);
        match written.and_then(|()| flow.accept(&self.arrivals)).and_then(|()| flow.take(&mut self.buffer)) {
            Ok(()) if flow.is_complete() => self.serve(at, index),
            Err(error) if flow.stage == Stage::Sending => self.give_up(at, index, error),
            Ok(()) | Err(_) => (),
        }
    }

    /// When to look next: at an instant at which something is to happen, if there is one within a tick.
    fn next_look(&self, begin: Time, end: Time) -> Time {
        let now = self.settings.clock.now();
        let warmup = Time::ZERO + self.settings.plan.warmup;
        let planned =
            self.flows.iter().flat_map(|flow| [flow.start, flow.stop]).chain([warmup, end, self.schedule.next()]);
        let of_run = planned.filter(|&at| at != Time::NEVER).map(|at| begin + at.since(Time::ZERO));
        of_run.filter(|&at| at > now).fold(now + TICK, Time::min)
    }

    /// Does the work of flow `index` at `at`.
    fn poll(&mut self, at: Time, index: usize) {
        let flow = &mut self.flows[index];
        if flow.stage == Stage::Waiting && at >= flow.start && flow.start < flow.stop {
            flow.stage = Stage::Opening;
            let start = flow.start;
            if let Err(error) = self.connect(index) {
                return self.give_up(at, index, error);
            }
            self.note(start, EventKind::Start, index, f64::NAN);
        }
        if self.flows[index].stage == Stage::Sending {
            self.serve(at, index);
        }
        let flow = &mut self.flows[index];
        if !self.measuring && at >= Time::ZERO + self.settings.plan.warmup {
            flow.base = flow.counts;
        }
        if matches!(flow.stage, Stage::Opening | Stage::Sending) && at >= flow.stop {
            self.stop(index);
        }
        self.measuring |= index + 1 == self.flows.len() && at >= Time::ZERO + self.settings.plan.warmup;
    }

    /// The SYN of flow `index` leaves.
    fn connect(&self, index: usize) -> Result<(), Errno> {
        let flow = &self.flows[index];
        let Some(Sockets { sender, listener: Some(listener), .. }) = &flow.sockets else { return Ok(()) };
        let to = SocketAddrV4::new(FAR, RECEIVER_PORT + flow.index as u16);
        connect(sender, &to).or_else(unless_later)?;
        self.arrivals.add_opening(sender, listener, flow.index)
    }

    /// Writes, reads, and looks at the state of flow `index`.
    fn serve(&mut self, at: Time, index: usize) {
        let flow = &mut self.flows[index];
        let written = flow.write(at, &self.buffer);
        let result = if self.paused { written.and_then(|()| flow.take(&mut self.buffer)) } else { written };
        if let Err(error) = result {
            return self.give_up(at, index, error);
        }
        let flow = &mut self.flows[index];
        if flow.is_complete() {
            flow.complete(at);
            self.note(at, EventKind::Complete, index, f64::NAN);
        }
        self.look(at, index);
    }

    /// Looks at the connection of flow `index`, and notes the changes unless the trace reports them. Records from
    /// before the last look are read first, because the window before a change comes from a look before it.
    fn look(&mut self, at: Time, index: usize) {
        self.read_trace();
        let flow = &mut self.flows[index];
        let Some(sockets) = &flow.sockets else { return };
        if self.trace.is_some() && flow.looked > Time::ZERO {
            self.report.traced.missed += flow.traced.lacks(flow.look_began, &flow.info);
        }
        let began = self.settings.run_time(system::monotonic());
        let Ok(info) = TcpInfo::of(sockets.sender.as_fd()) else { return };
        let before = std::mem::replace(&mut flow.info, info);
        // Changes until its end may show in the look.
        let looked = self.settings.run_time(system::monotonic());
        flow.count_limits(looked);
        (flow.look_began, flow.looked) = (began, looked);
        flow.window_before = before.window;
        if self.trace.is_none() {
            let mut changes = Vec::new();
            compare(&before, &info, &mut flow.counts.sender, &mut |change| changes.push(change));
            changes.into_iter().for_each(|(kind, value)| self.note(at, kind, index, value));
        }
    }

    /// Reads the records of the kernel's trace.
    fn read_trace(&mut self) {
        let Some(trace) = self.trace.take() else { return };
        match trace.drain(|segment| self.receive(&segment)) {
            Ok(()) => self.trace = Some(trace),
            Err(error) => self.report.unreported.push(error.to_string()),
        }
    }

    /// The same, when all flows have been looked at after `at`. It also completes the rows that are due.
    fn drain_trace(&mut self, at: Time) {
        self.read_trace();
        let Some(mut rows) = self.ack_rows.take() else { return };
        for index in 0..self.flows.len() {
            if let Some(due) = rows.due(index).filter(|&due| due <= at) {
                rows.complete(index, self.row(due, index));
            }
        }
        rows.hand_out(at, |row| self.report.series.push(row));
        self.ack_rows = Some(rows);
    }

    fn receive(&mut self, segment: &kernel::Segment) {
        let index = usize::from(segment.local_port.wrapping_sub(SENDER_PORT));
        let at = self.settings.run_time(segment.time_ns);
        let Some(flow) = self.flows.get_mut(index).filter(|flow| flow.sends(at)) else { return };
        if segment.kind != kernel::Kind::Arrived {
            let mut changes = Vec::new();
            let window = if at < flow.looked { flow.window_before } else { flow.info.window };
            flow.traced.read(at, segment, window, &mut flow.counts.sender, &mut |change| changes.push(change));
            return changes.into_iter().for_each(|(kind, value)| self.note(at, kind, index, value));
        }
        let Some(mut rows) = self.ack_rows.take() else { return };
        if let Some(due) = rows.due(index) {
            rows.complete(index, with_segment(segment, self.row(due, index)));
        }
        rows.ack(at, index);
        self.ack_rows = Some(rows);
    }

    /// Flow `index` stops. Its packets under way no longer count.
    fn stop(&mut self, index: usize) {
        let flow = &mut self.flows[index];
        flow.stage = Stage::Over;
        // The run is over at its end, and the others should not notice.
        if flow.stop < Time::ZERO + self.settings.plan.duration {
            flow.sockets = None;
            flow.sink = None;
        }
        let stop = flow.stop;
        self.note(stop, EventKind::Stop, index, f64::NAN);
    }

    /// The connection of flow `index` broke.
    fn give_up(&mut self, at: Time, index: usize, error: Errno) {
        let flow = &mut self.flows[index];
        flow.stage = Stage::Over;
        let name = self.settings.drawn[index].name(self.settings.plan);
        self.report.broken.push(format!("flow `{name}`: its connection broke at {at}: {error}"));
    }

    fn note(&mut self, at: Time, kind: EventKind, flow: usize, value: f64) {
        if self.settings.plan.record.events {
            let (flow, time_s) = (flow as u32, seconds(at));
            self.report.events.push(EventRow { time_s, kind, flow, link: u32::MAX, sequence: u64::MAX, value });
        }
    }

    /// Writes the rows that are due by `at`.
    fn note_samples(&mut self, at: Time) {
        if at >= self.next_drain {
            self.next_drain = at + DRAIN;
            self.drain();
        }
        self.ask_controllers(at);
        while self.schedule.next() <= at {
            let due = self.schedule.next();
            self.schedule.take(Series::Flows, due);
            for index in 0..self.flows.len() {
                if self.flows[index].stage == Stage::Sending {
                    self.report.series.push(self.row(due, index));
                }
            }
        }
    }

    /// The row of flow `index` at `at`, as the last look found it.
    fn row(&self, at: Time, index: usize) -> FlowSample {
        let flow = &self.flows[index];
        let paces = self.of_flow[flow.of].is_some_and(|algorithm| self.algorithms[algorithm].paces());
        let base_rtt = self.settings.plan.flows[flow.of].base_rtt_at(at);
        flow.row(at, (base_rtt, &self.settings.shared[index]), paces)
    }

    /// Asks the controllers that can be asked at any time, once for all questions due by `at`.
    fn ask_controllers(&mut self, at: Time) {
        if at < self.next_question {
            return;
        }
        while self.next_question <= at {
            self.next_question += self.question_span;
        }
        let Self { algorithms, of_flow, settings, flows, report, .. } = self;
        for flow in flows.iter().filter(|flow| flow.stage == Stage::Sending) {
            let (Some(sockets), Some(algorithm)) = (&flow.sockets, of_flow[flow.of]) else { continue };
            let (socket, port) = (sockets.sender.as_fd(), SENDER_PORT + flow.index as u16);
            algorithms[algorithm].look(socket, port, system::monotonic(), &mut |internal| {
                report.probes.extend(probe_value(settings, flows.len(), &internal));
            });
        }
    }

    /// Fetches the internal values that the controllers report.
    fn drain(&mut self) {
        if self.settings.plan.record.probes == Sampling::Off {
            return;
        }
        let Self { algorithms, settings, flows, report, .. } = self;
        for algorithm in algorithms.iter_mut() {
            algorithm.drain(&mut |internal| report.probes.extend(probe_value(settings, flows.len(), &internal)));
        }
    }
}

/// `internal` as a row of one of so many `flows`, if it is of one.
fn probe_value(settings: &Settings<'_>, flows: usize, internal: &Internal<'_>) -> Option<ProbeValue> {
    let flow = internal.port.wrapping_sub(SENDER_PORT);
    let at = settings.run_time(internal.at);
    let (name, value) = (control::intern(internal.name), internal.value);
    (usize::from(flow) < flows).then_some(ProbeValue { at, flow: u32::from(flow), name, value })
}
