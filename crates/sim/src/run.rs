//! One run from plan to tables.

use control::Subflows;
use engine::{CaptureTo, Cost, Engine, Factory, Failure, Job, Outcome, Stopwatch, Watch};
use record::Tables;
use scenario::{Plan, PlannedFlow};
use units::Time;

use crate::agents::{Agents, AllAgents, NoAgents};
use crate::capture::Capture;
use crate::flow::Rows;
use crate::hosts::stacks;
use crate::partition::Of;
use crate::world::World;

/// The simulator. It does no input or output and reads no clock of its own: both are handed in.
#[derive(Default)]
pub struct Simulator {
    /// Controllers from outside the registry.
    pub controllers: Option<Factory>,
    /// A packet capture (pcapng) to write.
    pub capture: Option<CaptureTo>,
    /// Cores that the run may use. None counts as one. The tables are the same for every number.
    pub cores: usize,
    /// By which CPU and wall-clock time of the run are read. Without it they are 0.
    pub stopwatch: Option<Stopwatch>,
}

impl Engine for Simulator {
    const KIND: &'static str = "sim";
    type Notes = ();

    fn run(self, job: &Job, watch: &Watch) -> Result<Outcome, Failure> {
        let read = |stopwatch: &Option<Stopwatch>| stopwatch.map_or([0.0; 2], |clocks| clocks.read());
        let begin = read(&self.stopwatch);
        let plan = job.plan.as_ref();
        let drawn = plan.draw(job.seed).map_err(Failure::Scenario)?;
        let make =
            |flow: &PlannedFlow| engine::controller(self.controllers.as_ref(), flow, &flow.parameters, &watch.conduct);
        let subflows = subflows(plan);
        let stacks = stacks(plan, job.seed);
        let of = Of { plan, seed: job.seed, drawn: &drawn, make: &make, subflows: &subflows, stacks: &stacks };
        let mut rows = Rows::new(plan, &drawn);
        let capture = self.capture.map(|to| Capture::new(to, plan, &drawn, &stacks)).transpose()?;
        let end = Time::ZERO + plan.duration;
        let clocks = self.stopwatch.unwrap_or(Stopwatch { cpu_s: || 0.0, wall_s: || 0.0 });
        let (tables, [events, data_packets], others_s) = if capture.is_some() || AllAgents::are_in(plan) {
            let mut world = World::<AllAgents>::new(of, rows.places(), capture, false)?;
            let interrupted = world.run(end, watch);
            complete(world, interrupted, end, watch).map(|(tables, counts)| (tables, counts, 0.0))?
        } else {
            let mut world = World::<NoAgents>::new(of, rows.places(), None, true)?;
            let (interrupted, others_s) = world.run_on(self.cores, end, watch, clocks);
            complete(world, interrupted, end, watch).map(|(tables, counts)| (tables, counts, others_s))?
        };
        debug_assert_eq!(engine::check_physics(plan, &drawn, &tables), Ok(()));
        let [cpu_s, wall_s] = read(&self.stopwatch);
        let cost = Cost { events, data_packets, cpu_s: cpu_s - begin[0] + others_s, wall_s: wall_s - begin[1] };
        Ok(Outcome { tables, cost, notes: () })
    }
}

/// Ends a run to `end`, which was `interrupted` or not: its tables, and how many events and data packets it had.
fn complete<A: Agents>(
    mut world: World<'_, A>,
    interrupted: bool,
    end: Time,
    watch: &Watch,
) -> Result<(Tables, [u64; 2]), Failure> {
    if let Some(capture) = world.take_capture() {
        capture.finish(end).map_err(Failure::Capture)?;
    }
    if let Some(failure) = world.take_failure() {
        return Err(failure);
    }
    if interrupted || watch.conduct.is_broken() {
        return Err(watch.failure());
    }
    let counts = world.counts();
    Ok((world.finish(end, watch), counts))
}

/// Shared state of the subflows of each multipath flow of `plan`.
fn subflows(plan: &Plan) -> Vec<Subflows> {
    let firsts = plan.flows.iter().filter_map(|flow| flow.subflow.as_deref()).filter(|subflow| subflow.index == 0);
    firsts.map(|subflow| Subflows::new(subflow.count)).collect()
}
