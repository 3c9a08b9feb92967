//! One run from plan to tables.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use control::{Controller, ControllerRef, Parameters};
use record::Tables;
use rustix::time::{ClockId, clock_gettime};
use scenario::{Plan, PlannedFlow};
use units::Time;

use crate::capture::Capture;
use crate::failure::Failure;
use crate::world::World;

/// Makes the controllers that the registry does not know: asked for each flow, with its parameters.
pub type Factory = Arc<dyn Fn(&ControllerRef, &Parameters) -> Option<Box<dyn Controller>> + Send + Sync>;

/// What to run.
#[derive(Clone)]
pub struct Job {
    /// The scenario, resolved.
    pub plan: Arc<Plan>,
    /// Master seed of this run; in place of the plan's.
    pub seed: u64,
    /// Controllers from outside the registry.
    pub controllers: Option<Factory>,
    /// Where to write a packet capture.
    pub capture: Option<PathBuf>,
}

/// Lets others watch a run and stop it.
#[derive(Debug, Default)]
pub struct Watch {
    /// Set to stop the run soon.
    pub stop: AtomicBool,
    /// How far the run has come, in simulated nanoseconds.
    pub simulated_nanos: AtomicU64,
}

/// What a run gives.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The tables.
    pub tables: Tables,
    /// What it cost.
    pub engine: Engine,
}

/// What a run cost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Engine {
    /// Events handled.
    pub events: u64,
    /// Data packets sent.
    pub data_packets: u64,
    /// CPU time of the thread that ran it, seconds.
    pub cpu_s: f64,
    /// Wall-clock time, seconds.
    pub wall_s: f64,
}

/// Looked at every so many events: often enough to stop within milliseconds, seldom enough to cost nothing.
const EVENTS_BETWEEN_LOOKS: u64 = 8192;

/// Runs `job` from start to end.
pub fn run(job: &Job, watch: &Watch) -> Result<Outcome, Failure> {
    let (cpu, wall) = (seconds(ClockId::ThreadCPUTime), seconds(ClockId::Monotonic));
    let plan = job.plan.as_ref();
    let drawn = plan.draw(job.seed).map_err(Failure::Scenario)?;
    let make = |flow: &PlannedFlow| controller(job, flow);
    let capture_failure = |error| Failure::Capture(job.capture.clone().unwrap_or_default(), error);
    let capture =
        job.capture.as_ref().map(|path| Capture::create(path, plan, &drawn)).transpose().map_err(capture_failure)?;
    let mut world = World::new(plan, job.seed, &drawn, &make, capture)?;
    let end = Time::ZERO + plan.duration;
    let mut interrupted = false;
    while let Some(now) = world.step(end) {
        if world.events.is_multiple_of(EVENTS_BETWEEN_LOOKS) {
            watch.simulated_nanos.store(now.as_nanos(), Ordering::Relaxed);
            if world.failure.is_some() || watch.stop.load(Ordering::Relaxed) {
                interrupted = true;
                break;
            }
        }
    }
    if let Some(capture) = world.capture.take() {
        capture.finish().map_err(capture_failure)?;
    }
    if let Some(failure) = world.failure.take() {
        return Err(failure);
    }
    if interrupted {
        return Err(Failure::Interrupted);
    }
    watch.simulated_nanos.store(end.as_nanos(), Ordering::Relaxed);
    let events = world.events;
    let data_packets = world.data_packets();
    let tables = world.finish(end);
    Ok(Outcome {
        tables,
        engine: Engine {
            events,
            data_packets,
            cpu_s: seconds(ClockId::ThreadCPUTime) - cpu,
            wall_s: seconds(ClockId::Monotonic) - wall,
        },
    })
}

/// The controller of `flow`.
fn controller(job: &Job, flow: &PlannedFlow) -> Result<Box<dyn Controller>, Failure> {
    match job.controllers.as_ref().and_then(|make| make(&flow.cc, &flow.parameters)) {
        Some(controller) => Ok(controller),
        None => control::registry::build(&flow.cc.spelling(), &flow.parameters)
            .map_err(|error| Failure::Controller(format!("flow `{}`: {error}", flow.name))),
    }
}

fn seconds(clock: ClockId) -> f64 {
    let now = clock_gettime(clock);
    now.tv_sec as f64 + now.tv_nsec as f64 * 1e-9
}
