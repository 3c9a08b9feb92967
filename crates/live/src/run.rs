//! One live run from plan to tables.

use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use engine::{Cost, Engine, Factory, Failure, Job, Watch, flow_row};
use record::pcapng::Point;
use record::{EventRow, Events, FlowCounters, FlowSample, FlowSeries, Lifetime, Series, Tables};
use scenario::{DrawnFlow, Plan, Sampling};
use units::{Span, Time};

use crate::algorithm::{Algorithm, Algorithms};
use crate::check::{self, MOST_FLOWS, Refusal};
use crate::datagrams;
use crate::emulator::capture::{self, Capture, Writer};
use crate::emulator::offload::PREFIX;
use crate::emulator::path::Path;
use crate::emulator::pool::Pool;
use crate::emulator::{self, Clock, Emulator, Flows, Measured, SENDER_PORT, SharedCounters};
use crate::fidelity::{Fidelity, Lateness, Trains, reasons};
use crate::host::sockets::Sockets;
use crate::host::system;
use crate::queues::{KernelDiscipline, Queues};
use crate::tcp::endpoints::{self, Endpoints, Traced};
use crate::tcp::probes;
use crate::tcp::settings::Settings;
use crate::testbed::{SETTLING, Testbed, of_tcp, place_size, places, tcp_settings, together};
use crate::watchdog::{self, Unfinished};

/// Runs plans on the kernel's own TCP, and flows of datagrams over its UDP, in real time.
#[derive(Clone)]
pub struct Live {
    /// The source of the controllers of TCP.
    pub algorithms: Arc<dyn Algorithms>,
    /// Makes the controllers of media that the registry does not know.
    pub controllers: Option<Factory>,
    /// The most segments that TCP hands to the path at once (`gso_max_segs` of its device), or the kernel's choice if
    /// `None`.
    pub gso_max_segs: Option<u16>,
    /// A packet capture (pcapng) to write to a file, which is replaced, and where it is taken.
    pub capture: Option<(PathBuf, Point)>,
    /// The source of the queues. Queues of the kernel need virtual time, as the run looks for their packets at once.
    pub queues: Queues,
}

/// The outcome of a live run, with how far it can be trusted.
pub type Outcome = engine::Outcome<Fidelity>;

/// The work before and after a run takes no longer than this, on a machine that does anything at all.
const AROUND: Span = Span::from_secs(30);

impl Engine for Live {
    const KIND: &'static str = "live";
    type Notes = Fidelity;

    fn check(&self, plan: &Plan) -> Result<(), Failure> {
        check::check(plan, self.algorithms.as_ref()).map_err(refused)?;
        in_kernel(plan, &self.queues).map(|_| ()).map_err(Failure::Refused)
    }

    fn run(self, job: &Job, watch: &Watch) -> Result<Outcome, Failure> {
        watched(job, watch, move |job, watch| run_job(&self, job, watch))
    }
}

/// Does `work` on a thread of its own, which is left behind where it is not over in time.
pub(crate) fn watched(
    job: &Job,
    watch: &Watch,
    work: impl FnOnce(&Job, &Watch) -> Result<Outcome, Failure> + Send + 'static,
) -> Result<Outcome, Failure> {
    let (job, own) = (job.clone(), Arc::new(Watch::default()));
    let limit = job.plan.duration + AROUND;
    let watched = Arc::clone(&own);
    // Forwards the request to stop, and the progress.
    let mut look = || {
        own.stop.fetch_or(watch.stop.load(Ordering::Relaxed), Ordering::Relaxed);
        watch.elapsed_nanos.store(own.elapsed_nanos.load(Ordering::Relaxed), Ordering::Relaxed);
    };
    watchdog::within(limit, &mut look, move || work(&job, &watched)).unwrap_or_else(|unfinished| {
        own.stop.store(true, Ordering::Relaxed);
        Err(Failure::Machine(match unfinished {
            Unfinished::Hangs => {
                format!("the run was not over after {limit}: a thread of it hangs, or gets no CPU")
            }
            Unfinished::Broke => "a thread of the run could not be started or broke down".to_owned(),
        }))
    })
}

pub(crate) fn refused(refusal: Refusal) -> Failure {
    Failure::Refused(refusal.to_string())
}

fn run_job(live: &Live, job: &Job, watch: &Watch) -> Result<Outcome, Failure> {
    let wall = system::monotonic();
    let plan = job.plan.as_ref();
    live.check(plan)?;
    let drawn = plan.draw(job.seed).map_err(|error| Failure::Refused(error.to_string()))?;
    if drawn.len() > MOST_FLOWS {
        return Err(refused(check::too_many(drawn.len() as u64)));
    }
    let mut loaded = Loaded::new(live, plan)?;
    let names = loaded.names(&drawn);
    let queues = in_kernel(plan, &live.queues).map_err(Failure::Refused)?;
    let mut testbed =
        Testbed::build(plan, tcp_settings(plan), &names, live.gso_max_segs, queues).map_err(Failure::Machine)?;
    let sockets = std::mem::take(&mut testbed.sockets);
    let trace = trace(plan, &sockets)?;
    let threads = run_threads((live, job, watch), &drawn, &mut loaded, &mut testbed, (sockets, trace))?;
    if watch.is_stopped() {
        return Err(watch.failure());
    }
    outcome(plan, &drawn, &testbed, threads, wall)
}

/// The links of `plan` whose queues are disciplines of the kernel, and those.
fn in_kernel(plan: &Plan, queues: &Queues) -> Result<Vec<(usize, KernelDiscipline)>, String> {
    let links = plan.links.iter().enumerate();
    links.filter_map(|(index, link)| Some(queues.of(link).transpose()?.map(|found| (index, found)))).collect()
}

/// The kernel's trace of the connections from `sockets`, or `None` if the kernel offers no trace and the plan does not
/// need one.
fn trace(plan: &Plan, sockets: &[Option<Sockets>]) -> Result<Option<kernel::Trace>, Failure> {
    let Some(first) = sockets.iter().flatten().next() else { return Ok(None) };
    let sampling = plan.record.flow_series;
    let segments = matches!(sampling, Sampling::Acks(_));
    let open = || {
        let namespace = kernel::namespace_cookie(&first.sender).map_err(|error| error.to_string())?;
        let ports = SENDER_PORT..=SENDER_PORT + (sockets.len() - 1) as u16;
        let filter = kernel::Filter { namespaces: vec![namespace], ports, segments };
        kernel::Trace::open(&filter).map_err(|error| error.to_string())
    };
    match open() {
        Ok(trace) => Ok(Some(trace)),
        Err(why) if segments => Err(Failure::Machine(check::no_rows(sampling, &why))),
        Err(_) => Ok(None),
    }
}

/// The controllers of the flows, in the kernel while this lives.
struct Loaded {
    algorithms: Vec<Box<dyn Algorithm>>,
    /// The algorithm of each flow of the plan that is of TCP.
    of_flow: Vec<Option<usize>>,
}

impl Loaded {
    /// Flows with the same controller and parameters share one.
    fn new(live: &Live, plan: &Plan) -> Result<Self, Failure> {
        let mut loaded = Self { algorithms: Vec::new(), of_flow: Vec::new() };
        let flows = &plan.flows;
        for (index, flow) in flows.iter().enumerate() {
            if datagrams::are_of(flow) {
                loaded.of_flow.push(None);
                continue;
            }
            let same = |&i: &usize| (&flows[i].cc, &flows[i].given) == (&flow.cc, &flow.given);
            let algorithm = match (0..index).filter(same).find_map(|i| loaded.of_flow[i]) {
                Some(other) => other,
                None => {
                    let refuse = |message| Failure::Machine(format!("flow `{}`: {message}", flow.name()));
                    loaded.algorithms.push(live.algorithms.load(&flow.cc, &flow.given).map_err(refuse)?);
                    loaded.algorithms.len() - 1
                }
            };
            loaded.of_flow.push(Some(algorithm));
        }
        Ok(loaded)
    }

    /// The name for TCP_CONGESTION of each of `drawn` that is of TCP.
    fn names(&self, drawn: &[DrawnFlow]) -> Vec<Option<String>> {
        let name = |algorithm: usize| self.algorithms[algorithm].name().to_owned();
        drawn.iter().map(|flow| self.of_flow[flow.of].map(name)).collect()
    }
}

/// The reports of the threads of a run.
pub(crate) struct Threads<E> {
    pub(crate) emulator: emulator::Report,
    pub(crate) endpoints: E,
}

/// Sets `halt` when dropped: a thread that ends, however it does, takes the other with it.
pub(crate) struct HaltAll<'a>(pub(crate) &'a AtomicBool);

impl Drop for HaltAll<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

/// The reports of both kinds of ends.
type OfEnds = (endpoints::Report, datagrams::Report);

fn run_threads(
    (live, job, watch): (&Live, &Job, &Watch),
    drawn: &[DrawnFlow],
    loaded: &mut Loaded,
    testbed: &mut Testbed,
    (sockets, trace): (Vec<Option<Sockets>>, Option<kernel::Trace>),
) -> Result<Threads<OfEnds>, Failure> {
    let plan = job.plan.as_ref();
    let of_datagrams = datagrams::open((plan, drawn, job.seed), live.controllers.as_ref(), watch, testbed)?;
    let routes: Vec<usize> = drawn.iter().map(|flow| flow.of).collect();
    let shared: Vec<SharedCounters> = drawn.iter().map(|_| SharedCounters::default()).collect();
    let (inside, halt) = (Inside::new(job, testbed), AtomicBool::new(false));
    let clock = Clock::of_run();
    let (capture, writer) = capture::open(live.capture.as_ref(), plan, clock)?;
    let flows = Flows::ByPort(&routes);
    let emulator = inside.emulator(plan, drawn, (clock, flows), (&shared, &halt), capture, testbed)?;
    let settings = Settings::of(job, watch, drawn, clock, (&shared, &halt));
    let failed = |error: rustix::io::Errno| Failure::Machine(error.to_string());
    let endpoints =
        Endpoints::new(settings, sockets, trace, &mut loaded.algorithms, &loaded.of_flow).map_err(failed)?;
    let there = !of_datagrams.is_empty();
    let of_datagrams =
        there.then(|| datagrams::Ends::new(settings, watch, of_datagrams)).transpose().map_err(failed)?;
    let Threads { emulator, endpoints } =
        side_by_side(emulator, || both(endpoints, of_datagrams, &halt), writer, plan, &halt)?;
    Ok(Threads { emulator, endpoints: endpoints? })
}

/// Runs the ends of TCP on the calling thread, and those of datagrams, if there are any, on one of their own.
fn both(
    endpoints: Endpoints<'_>,
    of_datagrams: Option<datagrams::Ends<'_>>,
    halt: &AtomicBool,
) -> Result<OfEnds, Failure> {
    let broken = || Failure::Machine("a thread of the run could not be started or broke down".to_owned());
    std::thread::scope(|scope| {
        let run = of_datagrams.map(|ends| {
            || {
                let _halt = HaltAll(halt);
                ends.run()
            }
        });
        let named = || std::thread::Builder::new().name("ack-datagrams".to_owned());
        let thread = run.map(|run| named().spawn_scoped(scope, run)).transpose().map_err(|_| broken())?;
        let of_tcp = endpoints.run();
        let of_datagrams = thread
            .map_or(Ok(datagrams::Report::default()), |thread| thread.join().unwrap_or_else(|_| Err(broken())))?;
        Ok((of_tcp, of_datagrams))
    })
}

/// The links of an emulator and the room for its packets: made before the clock starts, as that takes its time.
pub(crate) struct Inside {
    path: Path,
    pool: Pool,
}

impl Inside {
    pub(crate) fn new(job: &Job, testbed: &Testbed) -> Self {
        let plan = job.plan.as_ref();
        let queues: Vec<(usize, bool)> = testbed.queues.iter().map(|(link, of)| (*link, of.fair)).collect();
        Self {
            path: Path::with_queues(plan, job.seed, SETTLING, &queues),
            pool: Pool::new(places(plan), PREFIX + place_size(plan) as usize),
        }
    }

    /// The emulator of a run of `plan`.
    pub(crate) fn emulator<'a>(
        self,
        plan: &Plan,
        drawn: &[DrawnFlow],
        (clock, flows): (Clock, Flows<'a>),
        (shared, halt): (&'a [SharedCounters], &'a AtomicBool),
        capture: Option<Capture>,
        testbed: &'a mut Testbed,
    ) -> Result<Emulator<'a>, Failure> {
        let settings = emulator::Settings {
            clock,
            flows,
            shared,
            stops: drawn.iter().map(|flow| flow.stop).collect(),
            segment: of_tcp(plan).next().map_or(1, |flow| flow.options.segment_size.get()),
            together: together(plan),
            warmup: Time::ZERO + plan.warmup,
            end: Time::ZERO + plan.duration,
            events: plan.record.events,
            halt,
            capture,
        };
        let devices = [&testbed.near.tun, &testbed.far.tun];
        Emulator::new(settings, devices, &mut testbed.routers, self.path, self.pool)
            .map_err(|error| Failure::Machine(error.to_string()))
    }
}

/// Runs both on threads of their own, and the writer of a capture beside them. If one ends, the other does.
pub(crate) fn side_by_side<E: Send>(
    emulator: Emulator<'_>,
    endpoints: impl FnOnce() -> E + Send,
    writer: Option<(Writer, File)>,
    plan: &Plan,
    halt: &AtomicBool,
) -> Result<Threads<E>, Failure> {
    let broken = || Failure::Machine("a thread of the run could not be started or broke down".to_owned());
    let named = |name: &str| std::thread::Builder::new().name(name.to_owned());
    let run = || {
        std::thread::scope(|scope| {
            let writer = writer.map(|(writer, file)| named("ack-capture").spawn_scoped(scope, || writer.run(file)));
            let writer = writer.transpose().ok()?;
            let emulator = named("ack-emulator").spawn_scoped(scope, || {
                let _halt = HaltAll(halt);
                emulator.run(plan)
            });
            let endpoints = named("ack-endpoints").spawn_scoped(scope, || {
                let _halt = HaltAll(halt);
                endpoints()
            });
            if emulator.is_err() || endpoints.is_err() {
                halt.store(true, Ordering::Relaxed);
            }
            let threads = Threads { emulator: emulator.ok()?.join().ok()?, endpoints: endpoints.ok()?.join().ok()? };
            let written = writer.map_or(Some(Ok(())), |writer| writer.join().ok())?;
            Some(written.map(|()| threads).map_err(Failure::Capture))
        })
    };
    run().ok_or_else(broken)?
}

fn outcome(
    plan: &Plan,
    drawn: &[DrawnFlow],
    testbed: &Testbed,
    threads: Threads<OfEnds>,
    wall: u64,
) -> Result<Outcome, Failure> {
    let Threads { emulator, endpoints: (endpoints, datagrams) } = threads;
    let dropped: Vec<u64> = emulator.measured.iter().map(|flow| flow.counters.dropped_packets).collect();
    let without_room = testbed.without_room().map_err(|error| Failure::Machine(error.to_string()))?;
    let has_tcp = of_tcp(plan).next().is_some();
    let of_tcp = has_tcp.then_some(&endpoints.lateness);
    let lateness = of_tcp.into_iter().chain(&datagrams.lateness).map(Lateness::of);
    let seen = Seen {
        lateness: lateness.reduce(Lateness::worse),
        traced: if has_tcp { endpoints.traced } else { Traced { source: "ends", missed: 0 } },
        dropped: datagrams.dropped + without_room,
    };
    let wrong = [&*endpoints.broken, &*endpoints.unreported].concat();
    let fidelity = fidelity(plan, &emulator, testbed, &seen, wrong);
    let mut data_packets = emulator.measured.iter().map(|flow| flow.counters.sender.data_packets).sum();
    let flows = emulator.measured.into_iter().zip(endpoints.flows).zip(drawn).enumerate();
    let mut rows: Vec<_> =
        flows.map(|(index, ((measured, totals), drawn))| row(plan, index as u32, drawn, &measured, &totals)).collect();
    for (index, meter, counters) in datagrams.flows {
        let drawn = &drawn[index as usize];
        data_packets += counters.sender.data_packets;
        let counters = FlowCounters { dropped_packets: dropped[index as usize], ..counters };
        let lifetime = Lifetime { start: drawn.start, stop: drawn.stop, ..Lifetime::default() };
        rows[index as usize] = flow_row((&meter, &counters), plan, index, drawn, lifetime);
    }
    let every_ack = (plan.record.flow_series == Sampling::Acks(1)).then_some(&*endpoints.series);
    let probes = [endpoints.probes, datagrams.probes].concat();
    let probes = probes::table(probes, every_ack, |flow| drawn[flow as usize].stop);
    let cost = Cost {
        events: emulator.moved,
        data_packets,
        cpu_s: (emulator.cpu_nanos + endpoints.cpu_nanos + datagrams.cpu_nanos) as f64 / 1e9,
        wall_s: (system::monotonic() - wall) as f64 / 1e9,
    };
    let tables = Tables {
        flows: rows,
        links: emulator.links.links,
        flow_series: samples_in_order([endpoints.series, datagrams.series].concat()),
        link_series: emulator.links.series,
        probes,
        events: in_order([emulator.links.events, emulator.events, endpoints.events, datagrams.events].concat()).into(),
        datagrams: datagrams.datagrams,
        video_frames: datagrams.video_frames,
        ..Tables::default()
    };
    Ok(Outcome { tables, cost, notes: fidelity })
}

/// Rows of both kinds of ends in the order of time.
fn samples_in_order(mut rows: Vec<FlowSample>) -> Series<FlowSeries> {
    rows.sort_by(|a, b| a.time_s.total_cmp(&b.time_s));
    let mut series = Series::default();
    rows.into_iter().for_each(|row| series.push(row));
    series
}

/// Measurements of a run's endpoints about themselves.
pub(crate) struct Seen {
    /// How late they were looked at, or `None` if a command of the user's has them.
    pub(crate) lateness: Option<Lateness>,
    /// The source of the states of flows.
    pub(crate) traced: Traced,
    /// Packets for which a socket had no room.
    pub(crate) dropped: u64,
}

/// How far the work of `emulator` can be trusted, and which other faults occurred.
pub(crate) fn fidelity(
    plan: &Plan,
    emulator: &emulator::Report,
    testbed: &Testbed,
    ends: &Seen,
    wrong: Vec<String>,
) -> Fidelity {
    let lateness = Lateness::of(&emulator.lateness);
    let Seen { lateness: endpoints_late, traced, dropped: by_sockets } = *ends;
    let dropped = testbed.dropped();
    let drops_outside = emulator.dropped + by_sockets + dropped.as_ref().copied().unwrap_or(0);
    let mut reasons = reasons(plan, &lateness, endpoints_late.as_ref(), drops_outside);
    reasons.extend(dropped.err().map(|error| format!("what the devices dropped cannot be read: {error}")));
    reasons.extend(wrong);
    if traced.missed > 0 {
        reasons.push(format!("the kernel's trace misses {} records", traced.missed));
    }
    Fidelity {
        kernel: rustix::system::uname().release().to_string_lossy().into_owned(),
        valid: reasons.is_empty(),
        reasons,
        lateness_us: lateness,
        endpoints_late_us: endpoints_late,
        stalls: emulator.stalls,
        drops_outside,
        emulator_cpu_s: emulator.cpu_nanos as f64 / 1e9,
        trains: Trains::of(&emulator.trains),
        scheduling: if emulator.first { "fifo" } else { "other" },
        rtt_source: "ack",
        state_source: traced.source,
        missed_records: traced.missed,
        gso_max_segs: testbed.gso_max_segs,
        queues: testbed.spelled_queues(plan),
        sysctls: testbed.settings.iter().map(|setting| (setting.name, setting.value.clone())).collect(),
    }
}

fn row(
    plan: &Plan,
    flow: u32,
    drawn: &DrawnFlow,
    measured: &Measured,
    totals: &endpoints::FlowTotals,
) -> record::FlowRow {
    // The emulator counts packets, and the endpoints everything else: the counters of the other are zero.
    let counters = measured.counters + totals.counts;
    let (start, stop, completed) = (drawn.start, drawn.stop, totals.completed);
    let lifetime = Lifetime { start, stop, completed, ..measured.opening() };
    flow_row((&measured.meter, &counters), plan, flow, drawn, lifetime)
}

/// All events in the order of time. At one instant they stay as given.
pub(crate) fn in_order(mut rows: Vec<EventRow>) -> Events {
    rows.sort_by(|a, b| a.time_s.total_cmp(&b.time_s));
    let mut events = Events::default();
    rows.into_iter().for_each(|row| events.push(row));
    events
}
