//! The two ends of every flow: the kernel's TCP sockets, the application above them, and what it tells while the run goes on.
//!
//! One thread looks at all sockets a thousand times a second. Send buffers hold more than is sent in between, so nobody waits for it,
//! and no packet wakes it: a wake-up would delay the emulator.

use std::net::SocketAddrV4;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use record::{EventKind, EventRow, FlowSample, FlowSeries, FlowState, Probes, seconds};
use rustix::event::poll;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, SocketFlags, accept_with, connect, recv, send};
use scenario::{Arrivals, DrawnFlow, Plan, PlannedFlow, Sampling, Source};
use transport::{Pace, Periods};
use units::{Random, Span, Time};

use crate::algorithm::{Algorithm, lasting};
use crate::emulator::{Clock, PRIORITY, SENDER_PORT, Seen, timespec};
use crate::sockets::{FAR, RECEIVER_PORT, Sockets};
use crate::system::{self, TcpInfo};

/// Sockets are looked at so often.
const TICK: Span = Span::from_millis(1);
/// Internals are fetched from the controllers so often: before what they told is overwritten.
const DRAIN: Span = Span::from_millis(20);
/// Written or read at once.
const CHUNK: usize = 1 << 20;
/// `tcpi_snd_ssthresh` of a connection that has none yet (TCP_INFINITE_SSTHRESH).
const NO_THRESHOLD: u32 = 0x7fff_ffff;

/// How long before its start the connection of a flow is opened: two round trips, and time for a machine that is busy.
pub(crate) fn opening_lead(flow: &PlannedFlow) -> Span {
    flow.base_rtt * 2 + Span::from_millis(30)
}

/// What the endpoints are told.
#[derive(Clone, Copy)]
pub(crate) struct Settings<'a> {
    pub(crate) clock: Clock,
    pub(crate) plan: &'a Plan,
    pub(crate) drawn: &'a [DrawnFlow],
    pub(crate) seed: u64,
    /// The run begins at this instant of the clock.
    pub(crate) lead: Span,
    pub(crate) seen: &'a [Seen],
    /// Set when all threads are to end.
    pub(crate) halt: &'a AtomicBool,
    /// Set from outside to stop the run.
    pub(crate) stop: &'a AtomicBool,
    /// How far the run has come.
    pub(crate) elapsed: &'a AtomicU64,
}

/// What the endpoints have to say in the end.
#[derive(Default)]
pub(crate) struct Report {
    pub(crate) flows: Vec<Told>,
    pub(crate) series: FlowSeries,
    pub(crate) probes: Probes,
    pub(crate) events: Vec<EventRow>,
    /// Connections that broke, one sentence each.
    pub(crate) broken: Vec<String>,
    /// What the controllers could not tell of themselves, one sentence each.
    pub(crate) untold: Vec<String>,
    pub(crate) cpu_nanos: u64,
}

/// What the endpoints tell of a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Told {
    /// In the measured interval.
    pub(crate) counts: Counts,
    pub(crate) completed: Option<Time>,
}

/// Counted since the start of a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Counts {
    pub(crate) delivered: u64,
    pub(crate) timeouts: u64,
    pub(crate) recoveries: u64,
}

/// What a flow is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Its connection is not opened yet.
    Waiting,
    /// Its connection is opened ahead of its start.
    Opened,
    Sending,
    Over,
}

/// What the application writes.
enum Writing {
    Greedy,
    Finite(u64),
    Paced { pace: Pace, unit: u64, total: u64 },
}

struct Flow {
    index: u32,
    of: usize,
    sockets: Option<Sockets>,
    sink: Option<OwnedFd>,
    stage: Stage,
    open_at: Time,
    start: Time,
    stop: Time,
    writing: Writing,
    written: u64,
    total: Option<u64>,
    info: TcpInfo,
    counts: Counts,
    /// The counts at the start of the measured interval.
    base: Counts,
    completed: Option<Time>,
}

/// All flows at work.
pub(crate) struct Endpoints<'a> {
    settings: Settings<'a>,
    flows: Vec<Flow>,
    /// Each with the flows of the plan that use it.
    algorithms: &'a mut [Box<dyn Algorithm>],
    /// The algorithm of each flow of the plan.
    of_flow: &'a [usize],
    buffer: Vec<u8>,
    measuring: bool,
    next_sample: Time,
    next_drain: Time,
    report: Report,
}

impl<'a> Endpoints<'a> {
    pub(crate) fn new(
        settings: Settings<'a>,
        sockets: Vec<Sockets>,
        algorithms: &'a mut [Box<dyn Algorithm>],
        of_flow: &'a [usize],
    ) -> Self {
        let flows = settings.drawn.iter().zip(sockets).enumerate();
        let flow = |(index, (drawn, sockets)): (usize, (&DrawnFlow, Sockets))| {
            let planned = &settings.plan.flows[drawn.of];
            let start = Time::ZERO + settings.lead + drawn.start.since(Time::ZERO);
            Flow {
                index: index as u32,
                of: drawn.of,
                sockets: Some(sockets),
                sink: None,
                stage: Stage::Waiting,
                open_at: Time::ZERO + start.since(Time::ZERO).saturating_sub(opening_lead(planned)),
                start: drawn.start,
                stop: drawn.stop,
                writing: writing(planned, drawn, settings.seed),
                written: 0,
                total: drawn.bytes.map(|bytes| bytes.get()),
                info: TcpInfo::default(),
                counts: Counts::default(),
                base: Counts::default(),
                completed: None,
            }
        };
        let sampled = matches!(settings.plan.record.flow_series, Sampling::Every(_));
        if let Sampling::Every(span) = settings.plan.record.probes {
            algorithms.iter_mut().for_each(|algorithm| algorithm.show(span));
        }
        Self {
            flows: flows.map(flow).collect(),
            settings,
            algorithms,
            of_flow,
            buffer: vec![0; CHUNK],
            measuring: false,
            next_sample: if sampled { Time::ZERO } else { Time::NEVER },
            next_drain: Time::ZERO,
            report: Report::default(),
        }
    }

    /// Runs on the calling thread until the end, or until told to halt.
    pub(crate) fn run(mut self) -> Report {
        system::run_first(PRIORITY - 1);
        let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
        let cpu = system::thread_cpu();
        let end = Time::ZERO + self.settings.plan.duration;
        let begin = Time::ZERO + self.settings.lead;
        loop {
            let now = self.settings.clock.now();
            // Before the run begins, its time is zero.
            let at = Time::ZERO + now.since(begin);
            self.settings.elapsed.store(at.as_nanos(), Ordering::Relaxed);
            for index in 0..self.flows.len() {
                self.tend(now, at.min(end), now >= begin, index);
            }
            if now >= begin {
                self.note_samples(at.min(end));
            }
            if at >= end || [self.settings.halt, self.settings.stop].iter().any(|flag| flag.load(Ordering::Relaxed)) {
                break;
            }
            self.sleep(begin, end);
        }
        self.drain();
        self.report.untold = self.algorithms.iter_mut().filter_map(|algorithm| algorithm.finish()).collect();
        let counted = |flow: &Flow| Told {
            counts: Counts {
                delivered: flow.counts.delivered - flow.base.delivered,
                timeouts: flow.counts.timeouts - flow.base.timeouts,
                recoveries: flow.counts.recoveries - flow.base.recoveries,
            },
            completed: flow.completed,
        };
        self.report.flows = self.flows.iter().map(counted).collect();
        self.report.cpu_nanos = system::thread_cpu() - cpu;
        self.report
    }

    /// Until the next look, or an instant before that at which something is to happen.
    fn sleep(&self, begin: Time, end: Time) {
        let now = self.settings.clock.now();
        let warmup = Time::ZERO + self.settings.plan.warmup;
        let planned = self.flows.iter().flat_map(|flow| [flow.start, flow.stop]).chain([warmup, end, self.next_sample]);
        let of_run = planned.filter(|&at| at != Time::NEVER).map(|at| begin + at.since(Time::ZERO));
        let until = of_run.filter(|&at| at > now).fold(now + TICK, Time::min);
        let _ = poll(&mut [], Some(&timespec(until.since(now))));
    }

    /// Does for flow `index` what is to be done at `now`, which is `at` of the run if that has begun.
    fn tend(&mut self, now: Time, at: Time, begun: bool, index: usize) {
        let flow = &mut self.flows[index];
        if flow.stage == Stage::Waiting && now >= flow.open_at {
            flow.stage = Stage::Opened;
            if let Some(sockets) = &flow.sockets {
                let to = SocketAddrV4::new(FAR, RECEIVER_PORT + flow.index as u16);
                if let Err(error) = connect(&sockets.sender, &to).or_else(unless_later) {
                    self.give_up(at, index, error);
                    return;
                }
            }
        }
        if !begun {
            // What goes wrong now goes wrong again below.
            let _ = self.flows[index].accept();
            return;
        }
        let flow = &mut self.flows[index];
        if flow.stage == Stage::Opened && at >= flow.start {
            flow.stage = Stage::Sending;
            if let Writing::Paced { pace, .. } = &mut flow.writing {
                pace.start(flow.start);
            }
            let start = flow.start;
            self.note(start, EventKind::Start, index, f64::NAN);
        }
        if self.flows[index].stage == Stage::Sending {
            self.serve(at, index);
        }
        let flow = &mut self.flows[index];
        if !self.measuring && at >= Time::ZERO + self.settings.plan.warmup {
            flow.base = flow.counts;
        }
        if flow.stage == Stage::Sending && at >= flow.stop {
            self.stop(index);
        }
        self.measuring |= index + 1 == self.flows.len() && at >= Time::ZERO + self.settings.plan.warmup;
    }

    /// Writes, reads, and looks at the state of flow `index`.
    fn serve(&mut self, at: Time, index: usize) {
        let flow = &mut self.flows[index];
        let result = flow.accept().and_then(|()| flow.write(at, &self.buffer));
        let result = result.and_then(|()| flow.read(&mut self.buffer));
        if let Err(error) = result {
            return self.give_up(at, index, error);
        }
        let flow = &mut self.flows[index];
        if flow.completed.is_none() && flow.total.is_some_and(|total| flow.counts.delivered >= total) {
            flow.completed = Some(at);
            flow.stage = Stage::Over;
            self.note(at, EventKind::Complete, index, f64::NAN);
        }
        self.look(at, index);
    }

    /// Notes what has changed in the state of flow `index`.
    fn look(&mut self, at: Time, index: usize) {
        let flow = &mut self.flows[index];
        let Some(sockets) = &flow.sockets else { return };
        let Ok(info) = TcpInfo::of(sockets.sender.as_fd()) else { return };
        let before = std::mem::replace(&mut flow.info, info);
        let window = f64::from(before.window);
        let timeouts = u64::from(info.timeouts.wrapping_sub(before.timeouts));
        flow.counts.timeouts += timeouts;
        let (was, is) = (state(&before), state(&info));
        let repairs = |state| matches!(state, FlowState::Recovery | FlowState::Loss);
        let recovery = was != is && is == FlowState::Recovery;
        flow.counts.recoveries += u64::from(recovery);
        for _ in 0..timeouts {
            self.note(at, EventKind::Timeout, index, window);
        }
        if recovery {
            self.note(at, EventKind::LossEvent, index, window);
        } else if repairs(was) && !repairs(is) {
            self.note(at, EventKind::Recovered, index, f64::NAN);
        }
        if was != is && is == FlowState::Reduced {
            self.note(at, EventKind::Ecn, index, window);
        }
    }

    /// Flow `index` stops: what is under way counts for nothing.
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
        let Sampling::Every(span) = self.settings.plan.record.flow_series else { return };
        while self.next_sample <= at {
            let due = self.next_sample;
            for index in 0..self.flows.len() {
                if self.flows[index].stage == Stage::Sending {
                    self.sample(due, index);
                }
            }
            self.next_sample += span;
        }
    }

    fn sample(&mut self, at: Time, index: usize) {
        let flow = &self.flows[index];
        let seen = &self.settings.seen[index];
        let info = &flow.info;
        let count = |number: &AtomicU64| number.load(Ordering::Relaxed);
        let micros = |us: u32| if us == 0 || us == u32::MAX { f64::NAN } else { f64::from(us) / 1e3 };
        let latest = count(&seen.latest_rtt);
        let paces = self.algorithms[self.of_flow[flow.of]].paces();
        self.report.series.push(FlowSample {
            time_s: seconds(at),
            flow: flow.index,
            window_segments: f64::from(info.window),
            threshold_segments: if info.threshold >= NO_THRESHOLD { f64::INFINITY } else { f64::from(info.threshold) },
            in_flight_segments: (info.unacknowledged + info.retransmitted).saturating_sub(info.sacked + info.lost),
            latest_rtt_ms: if latest == 0 { f64::NAN } else { latest as f64 / 1e6 },
            smoothed_rtt_ms: micros(info.smoothed_rtt_us),
            min_rtt_ms: micros(info.min_rtt_us),
            delivered_bytes: flow.counts.delivered,
            arrived_packets: count(&seen.arrived),
            sent_packets: count(&seen.sent),
            retransmitted_packets: count(&seen.retransmitted),
            pacing_rate_bps: if paces { info.pacing_rate as f64 * 8.0 } else { f64::NAN },
            state: state(info),
        });
    }

    /// Fetches what the controllers tell of themselves.
    fn drain(&mut self) {
        if self.settings.plan.record.probes == Sampling::Off {
            return;
        }
        let (flows, clock, lead) = (self.flows.len(), self.settings.clock, self.settings.lead);
        for algorithm in self.algorithms.iter_mut() {
            algorithm.drain(&mut |internal| {
                let flow = internal.port.wrapping_sub(SENDER_PORT);
                let at = Time::ZERO + clock.at(internal.at).since(Time::ZERO + lead);
                if usize::from(flow) < flows {
                    self.report.probes.push(at, u32::from(flow), lasting(internal.name), internal.value);
                }
            });
        }
    }
}

impl Flow {
    fn accept(&mut self) -> Result<(), Errno> {
        let listener = self.sockets.as_ref().and_then(|sockets| sockets.listener.as_ref());
        if let (None, Some(listener)) = (&self.sink, listener) {
            let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
            match accept_with(listener, flags) {
                Ok(sink) => self.sink = Some(sink),
                Err(error) => return unless_later(error),
            }
        }
        Ok(())
    }

    /// Writes what the application has at `at`.
    fn write(&mut self, at: Time, zeros: &[u8]) -> Result<(), Errno> {
        let Some(sockets) = &self.sockets else { return Ok(()) };
        let offered = match &mut self.writing {
            Writing::Greedy => u64::MAX,
            Writing::Finite(total) => *total,
            Writing::Paced { pace, unit, total } => (pace.written(at, u64::MAX - 1) * *unit).min(*total),
        };
        while self.written < offered {
            let length = (offered - self.written).min(zeros.len() as u64) as usize;
            match send(&sockets.sender, &zeros[..length], SendFlags::NOSIGNAL | SendFlags::DONTWAIT) {
                Ok(written) => self.written += written as u64,
                Err(error) => return unless_later(error),
            }
        }
        Ok(())
    }

    /// Takes what was delivered, and forgets it.
    fn read(&mut self, buffer: &mut [u8]) -> Result<(), Errno> {
        let Some(sink) = &self.sink else { return Ok(()) };
        loop {
            match recv(sink, &mut *buffer, RecvFlags::DONTWAIT | RecvFlags::TRUNC) {
                Ok((_, 0)) => return Ok(()),
                Ok((_, length)) => self.counts.delivered += length as u64,
                Err(error) => return unless_later(error),
            }
        }
    }
}

/// An error that only says that there is nothing to do yet is none.
fn unless_later(error: Errno) -> Result<(), Errno> {
    match error {
        Errno::AGAIN | Errno::INPROGRESS | Errno::INTR | Errno::NOTCONN => Ok(()),
        error => Err(error),
    }
}

/// `tcpi_ca_state` (enum tcp_ca_state of linux/tcp.h).
fn state(info: &TcpInfo) -> FlowState {
    match info.congestion_state {
        1 => FlowState::Disorder,
        2 => FlowState::Reduced,
        3 => FlowState::Recovery,
        4 => FlowState::Loss,
        _ => FlowState::Open,
    }
}

fn writing(planned: &PlannedFlow, drawn: &DrawnFlow, seed: u64) -> Writing {
    let total = drawn.bytes.map(|bytes| bytes.get());
    let Source::Paced(paced) = &planned.source else {
        return total.map_or(Writing::Greedy, Writing::Finite);
    };
    // The streams of the simulator: the same units at the same instants.
    let stream = |name| Random::stream(seed, name, drawn.stream());
    let unit = planned.options.segment_size;
    let mut pace = Pace::new(paced.rate.clone(), unit, drawn.bytes);
    if paced.arrivals == Arrivals::Poisson {
        pace = pace.poisson(stream("source"));
    }
    if let Some(periods) = paced.periods {
        pace = pace.with_periods(Periods::new(periods.on, periods.off, stream("periods"), drawn.stop));
    }
    Writing::Paced { pace, unit: unit.get(), total: total.unwrap_or(u64::MAX) }
}
