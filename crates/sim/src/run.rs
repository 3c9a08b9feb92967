//! One run from plan to tables.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use control::{Controller, ControllerRef, Parameters};
use engine::{CaptureTo, Cost, Engine, Failure, Job, Outcome, Stopwatch, Watch};
use record::Tables;
use scenario::{Plan, PlannedFlow};
use units::Time;

use crate::agents::{Agents, AllAgents, NoAgents};
use crate::capture::Capture;
use crate::world::World;

/// Makes the controllers that the registry does not know: asked for each flow, with its parameters.
pub type Factory = Arc<dyn Fn(&ControllerRef, &Parameters) -> Option<Box<dyn Controller>> + Send + Sync>;

/// The simulator. It does no input or output and reads no clock of its own: both are handed in.
#[derive(Default)]
pub struct Simulator {
    /// Controllers from outside the registry.
    pub controllers: Option<Factory>,
    /// A packet capture (pcapng) to write.
    pub capture: Option<CaptureTo>,
    /// By which CPU and wall-clock time of the run are read; without it they are 0.
    pub stopwatch: Option<Stopwatch>,
}

/// Looked at every so many events: often enough to stop within milliseconds, seldom enough to cost nothing.
const EVENTS_BETWEEN_LOOKS: u64 = 8192;

impl Engine for Simulator {
    const KIND: &'static str = "sim";
    type Notes = ();

    fn run(self, job: &Job, watch: &Watch) -> Result<Outcome, Failure> {
        let read = |stopwatch: &Option<Stopwatch>| stopwatch.map_or([0.0; 2], |clocks| clocks.read());
        let begin = read(&self.stopwatch);
        let plan = job.plan.as_ref();
        let drawn = plan.draw(job.seed).map_err(Failure::Scenario)?;
        let make = |flow: &PlannedFlow| controller(self.controllers.as_ref(), flow);
        let capture = self.capture.map(|to| Capture::new(to, plan, &drawn)).transpose()?;
        let (tables, [events, data_packets]) = if capture.is_some() || AllAgents::are_in(plan) {
            complete(World::<AllAgents>::new(plan, job.seed, &drawn, &make, capture)?, plan, watch)?
        } else {
            complete(World::<NoAgents>::new(plan, job.seed, &drawn, &make, None)?, plan, watch)?
        };
        let [cpu_s, wall_s] = read(&self.stopwatch);
        let cost = Cost { events, data_packets, cpu_s: cpu_s - begin[0], wall_s: wall_s - begin[1] };
        Ok(Outcome { tables, cost, notes: () })
    }
}

/// Runs `world` to the end of `plan`: its tables, and how many events and data packets it had.
fn complete<A: Agents>(mut world: World<'_, A>, plan: &Plan, watch: &Watch) -> Result<(Tables, [u64; 2]), Failure> {
    let end = Time::ZERO + plan.duration;
    let interrupted = run_to(end, &mut world, watch);
    if !interrupted {
        world.sample_at(end);
    }
    if let Some(capture) = world.take_capture() {
        capture.finish(end).map_err(Failure::Capture)?;
    }
    if let Some(failure) = world.failure.take() {
        return Err(failure);
    }
    if interrupted {
        return Err(Failure::Interrupted);
    }
    watch.elapsed_nanos.store(end.as_nanos(), Ordering::Relaxed);
    let counts = [world.events, world.data_packets()];
    Ok((world.finish(end), counts))
}

/// Runs `world` to `end`, or until it is stopped or fails: whether that happened.
///
/// Never inlined: addressed from the stack pointer and by reference in turn, the world would make the processor guess
/// wrong which store a load depends on.
#[inline(never)]
fn run_to<A: Agents>(end: Time, world: &mut World<'_, A>, watch: &Watch) -> bool {
    while let Some(now) = world.step(end) {
        if world.events.is_multiple_of(EVENTS_BETWEEN_LOOKS) {
            watch.elapsed_nanos.store(now.as_nanos(), Ordering::Relaxed);
            watch.looking.inspect(|looking| looking());
            if world.failure.is_some() || watch.stop.load(Ordering::Relaxed) {
                return true;
            }
        }
    }
    false
}

/// The controller of `flow`.
fn controller(factory: Option<&Factory>, flow: &PlannedFlow) -> Result<Box<dyn Controller>, Failure> {
    match factory.and_then(|make| make(&flow.cc, &flow.parameters)) {
        Some(controller) => Ok(controller),
        None => control::registry::build(&flow.cc.spelling(), &flow.parameters)
            .map_err(|error| Failure::Controller(format!("flow `{}`: {error}", flow.name))),
    }
}
