//! Programs of the user's own across the path of a plan.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::ScopedJoinHandle;

use engine::{Failure, Watch};
use record::Tables;
use record::pcapng::Point;
use scenario::Plan;
use units::{Span, Time};

use crate::check::{Refusal, check_route};
use crate::emulator::capture;
use crate::emulator::log::{Log, Writer};
use crate::emulator::offload::PREFIX;
use crate::emulator::path::Path;
use crate::emulator::pool::Pool;
use crate::emulator::{Clock, Emulator, Flows, Report, Settings, SharedCounters};
use crate::fidelity::Fidelity;
use crate::host::hosts;
use crate::host::listeners;
use crate::host::namespace::End;
use crate::host::sockets::FAR;
use crate::host::system;
use crate::run::{HaltAll, Seen, fidelity, in_order};
use crate::tcp::endpoints::Traced;
use crate::testbed::{SETTLING, Testbed, place_size, places, shell_settings, together};

/// Commands to run, and the path between them.
#[derive(Clone, Debug)]
pub struct Shell {
    /// The scenario: its links, and the way of its first flow, which everything takes.
    pub plan: Arc<Plan>,
    /// Master seed of the losses.
    pub seed: u64,
    /// The command at the near end, 10.0.0.1. Its packets take the direction of the data. The run ends when it ends.
    pub near: Vec<OsString>,
    /// The command at the far end, 10.0.0.2, or none if empty. It is started first. The other is started when it
    /// listens, or after two seconds.
    pub far: Vec<OsString>,
    /// The log of the queue from near to far, as Mahimahi's `mm-link` does. A file that is there is
    /// replaced.
    pub log: Option<PathBuf>,
    /// The most segments that TCP hands to the path at once (`gso_max_segs` of its device), or the kernel's choice if
    /// `None`.
    pub gso_max_segs: Option<u16>,
    /// A packet capture (pcapng) to write to a file, which is replaced, and where it is taken.
    pub capture: Option<(PathBuf, Point)>,
}

/// The outcome of a shell.
#[derive(Clone, Debug)]
pub struct ShellOutcome {
    /// The exit status of the command at the near end, or 128 plus the number of the signal that ended it.
    pub status: i32,
    /// How long it ran.
    pub elapsed: Span,
    /// Connections of the near end that came to nothing, and datagrams that nobody took.
    pub turned_away: u64,
    /// The tables of the links, and drops, losses and marks. Their flow is a hash of the ports.
    pub tables: Tables,
    /// How far the path can be trusted.
    pub fidelity: Fidelity,
    /// Why the log is not whole: a sentence without final stop. The commands ran on.
    pub log_failed: Option<String>,
    /// The same of the packet capture.
    pub capture_failed: Option<String>,
}

/// A reading of the meter while the commands run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reading {
    /// Since the start.
    pub elapsed: Span,
    /// IP bytes delivered to the far end since the start, and to the near one.
    pub delivered_bytes: [u64; 2],
    /// Packets waiting in the queues.
    pub queue_packets: u64,
}

impl Reading {
    /// Readings of the counters now. If the thread had to wait in between, it looks again: deliveries meanwhile
    /// would be of no time.
    fn of(shared: &[SharedCounters; 2], clock: Clock) -> Self {
        loop {
            let before = clock.now();
            let arrived = |i: usize| shared[i].arrived.load(Ordering::Relaxed);
            let (delivered_bytes, queue_packets) =
                ([arrived(0), arrived(1)], shared[0].waiting.load(Ordering::Relaxed));
            let after = clock.now();
            if after.since(before) < Span::from_micros(100) {
                return Self { elapsed: after.since(Time::ZERO + SETTLING), delivered_bytes, queue_packets };
            }
        }
    }
}

/// The variable in which commands find the address of the far end. Mahimahi's scripts look for this name.
const FAR_ADDRESS: &str = "MAHIMAHI_BASE";
/// The commands are looked at so often.
const TICK: Span = Span::from_millis(20);
/// A command at the far end that does not listen, as it is no server, is waited for so long.
const PATIENCE: Span = Span::from_secs(2);
/// The meter is read so often.
const METER: Span = Span::from_secs(1);

/// Moves the whole process into a user namespace in which it may make network namespaces: for those who are not root.
/// To be called before the process has a second thread.
pub fn become_root() -> Result<(), Refusal> {
    system::unshare_user().map_err(|error| {
        let why = match error.raw_os_error() {
            Some(libc::EINVAL) => "the process has several threads".to_owned(),
            _ => error.to_string(),
        };
        Refusal::new(format!("a network namespace needs root, and a user namespace cannot be made: {why}"))
    })
}

/// Runs the commands of `shell` until the one at the near end is over, and calls `meter` once a second.
pub fn shell(shell: &Shell, watch: &Watch, meter: &mut dyn FnMut(Reading)) -> Result<ShellOutcome, Failure> {
    let plan = shell.plan.as_ref();
    check(shell).map_err(Failure::Refused)?;
    let testbed =
        Testbed::build(plan, shell_settings(plan), &[], shell.gso_max_segs, Vec::new()).map_err(Failure::Machine)?;
    // After all that can fail: an older log is replaced.
    let log = shell.log.as_deref().map(|file| open_log(file, plan)).transpose().map_err(Failure::Machine)?;
    let shared = [SharedCounters::default(), SharedCounters::default()];
    let halt = AtomicBool::new(false);
    let clock = Clock::start();
    let (capture, capture_writer) = capture::open(shell.capture.as_ref(), plan, clock)?;
    let settings = Settings {
        clock,
        flows: Flows::One,
        shared: &shared,
        stops: Vec::new(),
        segment: 1,
        together: together(plan),
        warmup: Time::ZERO + plan.warmup,
        end: Time::NEVER,
        events: plan.record.events,
        halt: &halt,
        capture,
    };
    let mut path = Path::new(plan, shell.seed, SETTLING);
    let writer = log.map(|(link, log, writer)| {
        path.log_link(link, log);
        writer
    });
    let pool = Pool::new(places(plan), PREFIX + place_size(plan) as usize);
    let emulator = Emulator::new(settings, [&testbed.near.tun, &testbed.far.tun], &mut [], path, pool)
        .map_err(|error| Failure::Machine(error.to_string()))?;
    let head = head(shell, clock);
    std::thread::scope(|scope| {
        let named = |name: &str| std::thread::Builder::new().name(name.to_owned());
        let failed = |error: io::Error| Failure::Machine(error.to_string());
        let start = |writer: Writer<File>| named("ack-log").spawn_scoped(scope, || writer.run(&head));
        let writer = writer.map(start).transpose().map_err(failed)?;
        let capture = capture_writer
            .map(|(writer, file)| named("ack-capture").spawn_scoped(scope, || writer.run(file)).map_err(failed));
        let capture = capture.transpose()?;
        let run = || {
            let _halt = HaltAll(&halt);
            emulator.run(plan)
        };
        let emulator = named("ack-emulator").spawn_scoped(scope, run).map_err(failed)?;
        let status = {
            let _halt = HaltAll(&halt);
            let mut look = || meter(Reading::of(&shared, clock));
            run_commands(shell, &testbed, watch, &halt, clock, &mut look)
        };
        let report = emulator.join().map_err(|_| Failure::Machine("the emulator broke down".to_owned()))?;
        let wrong = [writer, capture].map(|writer| match writer?.join() {
            Ok(written) => written.err().map(|error| error.to_string()),
            Err(_) => Some("its thread broke down".to_owned()),
        });
        let ended = status.map_err(Failure::Machine)?.ok_or(Failure::Interrupted)?;
        Ok(outcome(plan, &testbed, report, ended, wrong))
    })
}

/// Refuses without a way for the packets, or without a command.
fn check(shell: &Shell) -> Result<(), String> {
    let flow = shell.plan.flows.first().ok_or("a shell needs a flow whose way its packets take")?;
    check_route(flow).map_err(|message| format!("flow `{}`: {message}", flow.name()))?;
    if shell.near.is_empty() {
        return Err("a shell needs a command".to_owned());
    }
    Ok(())
}

/// The link whose queue is logged, the way to its log, and the writer to `file`, which exists and is empty.
fn open_log(file: &std::path::Path, plan: &Plan) -> Result<(usize, Log, Writer<File>), String> {
    let link = plan.flows.first().and_then(|flow| flow.forward.first()?.link);
    let link = link.ok_or("there is no queue to log: the way from near to far has no link")?;
    let opened = File::create(file).map_err(|error| format!("{}: cannot be written: {error}", file.display()))?;
    let (log, writer) = Writer::new(opened, &plan.links[link].settings.service);
    Ok((link, log, writer))
}

/// The head of the log: commands, and when the clock of the log began, in milliseconds since 1970.
fn head(shell: &Shell, clock: Clock) -> Vec<String> {
    let words = |command: &[OsString]| command.join(OsStr::new(" ")).to_string_lossy().into_owned();
    let started = (system::wall_clock() - clock.now().as_nanos() + SETTLING.as_nanos()) / 1_000_000;
    vec![
        format!("ackclock shell (near to far) {}", words(&shell.near)),
        format!("seed: {}", shell.seed),
        format!("init timestamp: {started}"),
    ]
}

/// How a command ended.
#[derive(Clone, Copy, Debug)]
struct Ended {
    status: i32,
    turned_away: u64,
}

/// How the command at the near end ended, or `None` if it was stopped from outside.
fn run_commands(
    shell: &Shell,
    testbed: &Testbed,
    watch: &Watch,
    halt: &AtomicBool,
    clock: Clock,
    look: &mut dyn FnMut(),
) -> Result<Option<Ended>, String> {
    let (over, listens) = (AtomicBool::new(false), AtomicBool::new(false));
    // The clock of the path begins earlier: its threads have to start.
    while clock.now() < Time::ZERO + SETTLING {
        system::sleep(SETTLING);
    }
    std::thread::scope(|scope| {
        let (over, listens) = (&over, &listens);
        let ends = move || [over, halt, &watch.stop].iter().any(|flag| flag.load(Ordering::Relaxed));
        // Called in the far end's namespace.
        let far_ends = move || {
            if !listens.load(Ordering::Relaxed) {
                listens.store(listeners::any_listens(), Ordering::Relaxed);
            }
            ends()
        };
        let start = |end, command, ends: Box<dyn Fn() -> bool + Send>| {
            let run = move || {
                let result = run_command(end, command, &*ends);
                // A command that cannot be run takes the other with it.
                over.fetch_or(result.is_err(), Ordering::Relaxed);
                result
            };
            std::thread::Builder::new().spawn_scoped(scope, run).map_err(|error| error.to_string())
        };
        let far = if shell.far.is_empty() { None } else { Some(start(&testbed.far, &shell.far, Box::new(far_ends))?) };
        let serves = |far: &ScopedJoinHandle<'_, _>| listens.load(Ordering::Relaxed) || far.is_finished() || ends();
        while far.as_ref().is_some_and(|far| !serves(far)) && clock.now() < Time::ZERO + SETTLING + PATIENCE {
            system::sleep(TICK);
        }
        // The far one runs, and would go on.
        let near =
            start(&testbed.near, &shell.near, Box::new(ends)).inspect_err(|_| over.store(true, Ordering::Relaxed))?;
        let mut next = Time::ZERO + SETTLING + METER;
        while !near.is_finished() {
            system::sleep(TICK);
            let now = clock.now();
            watch.elapsed_nanos.store(now.since(Time::ZERO + SETTLING).as_nanos(), Ordering::Relaxed);
            if now >= next {
                look();
                next += METER;
            }
        }
        let status = near.join().unwrap_or_else(|_| Err("a thread broke down".to_owned()));
        over.store(true, Ordering::Relaxed);
        if let Some(far) = far {
            far.join().unwrap_or_else(|_| Err("a thread broke down".to_owned()))?;
        }
        let ended = status?;
        Ok(ended.filter(|_| !watch.stop.load(Ordering::Relaxed)))
    })
}

/// Runs `command` in the namespace of `end` until it ends, or until `over`, which is asked there: then the answer is
/// `None`. Belongs to a thread of its own, whose namespaces it changes.
fn run_command(end: &End, command: &[OsString], over: &dyn Fn() -> bool) -> Result<Option<Ended>, String> {
    let named = |error: io::Error| format!("`{}` cannot be run: {error}", command[0].to_string_lossy());
    end.enter().and_then(|()| system::unshare_processes()).map_err(named)?;
    // The ends have only their addresses if mounts cannot be changed.
    let _ = hosts::name_the_ends().and_then(|()| hosts::show_own_devices());
    let mut prepared = Command::new(&command[0]);
    prepared.args(&command[1..]).env(FAR_ADDRESS, FAR.to_string());
    system::contain(&mut prepared);
    let mut child = prepared.spawn().map_err(named)?;
    loop {
        if let Some(status) = child.try_wait().map_err(named)? {
            return Ok(Some(Ended { status: code(status), turned_away: listeners::turned_away() }));
        }
        if over() {
            return kill(&mut child).map(|()| None).map_err(named);
        }
        system::sleep(TICK);
    }
}

/// Ends the first process of a space, and so all of them.
fn kill(child: &mut Child) -> io::Result<()> {
    child.kill()?;
    child.wait().map(|_| ())
}

fn code(status: ExitStatus) -> i32 {
    status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0))
}

/// The outcome of a shell. `wrong` has the faults of its log and its capture.
fn outcome(
    plan: &Plan,
    testbed: &Testbed,
    report: Report,
    ended: Ended,
    [log_failed, capture_failed]: [Option<String>; 2],
) -> ShellOutcome {
    // Nobody looks into the connections of others.
    let ends = Seen { lateness: None, traced: Traced { source: "none", missed: 0 }, dropped: 0 };
    let fidelity = fidelity(plan, &report, testbed, &ends, Vec::new());
    let Report { ended: over, links, .. } = report;
    let Ended { status, turned_away } = ended;
    let tables = Tables {
        links: links.links,
        link_series: links.series,
        events: in_order(links.events).into(),
        ..Tables::default()
    };
    ShellOutcome { status, elapsed: over.since(Time::ZERO), turned_away, tables, fidelity, log_failed, capture_failed }
}
