//! Runs that begin alike: they are one run until the first flow starts that starts at another time in another of them.
//!
//! Of a sweep over the start of a second flow, most of the time is often that of the first flow alone.

use engine::{Engine as _, Failure, Job, Outcome, Stopwatch, Watch};
use network::DisciplineSettings;
use scenario::{DrawnFlow, Plan, PlannedFlow, PlannedLink};
use units::Time;

use crate::run::{Simulator, complete, controller, read, run_to};
use crate::world::World;

/// One of the runs.
struct Part<'a> {
    /// Its index among the jobs.
    index: usize,
    job: &'a Job,
    watch: &'a Watch,
    drawn: Vec<DrawnFlow>,
    /// When the first flow starts that does not start then in all of them.
    parts_at: Time,
}

impl Simulator {
    /// Runs `jobs`, each until it is stopped through its watch, and gives what comes of each with its index, as soon as
    /// it is known: the same as [`run`](engine::Engine::run) gives. Those that [begin](Plan::begins_as) as the first
    /// does share their beginning, and what it costs evenly.
    pub fn run_together(&self, jobs: &[(Job, &Watch)], give: &mut dyn FnMut(usize, Result<Outcome, Failure>)) {
        let alone = |index: usize| {
            let (job, watch) = &jobs[index];
            let simulator = Self { controllers: self.controllers.clone(), capture: None, stopwatch: self.stopwatch };
            simulator.run(job, watch)
        };
        let parts = Self::parts(jobs);
        for index in (0..jobs.len()).filter(|index| parts.iter().all(|part| part.index != *index)) {
            give(index, alone(index));
        }
        let shared = self.run_parts(&parts, give);
        for part in &parts[shared..] {
            give(part.index, alone(part.index));
        }
    }

    /// Those of `jobs` that begin as the first does, in the order in which they part; none if nothing is shared.
    fn parts<'a>(jobs: &'a [(Job, &Watch)]) -> Vec<Part<'a>> {
        let Some((first, _)) = jobs.first() else { return Vec::new() };
        let alike = |job: &Job| job.seed == first.seed && is_plain(&job.plan) && job.plan.begins_as(&first.plan);
        let drawn = |(index, (job, watch)): (usize, &'a (Job, &'a Watch))| {
            let drawn = if alike(job) { job.plan.draw(job.seed).ok()? } else { return None };
            Some(Part { index, job, watch, drawn, parts_at: Time::NEVER })
        };
        let mut parts: Vec<Part<'a>> = jobs.iter().enumerate().filter_map(drawn).collect();
        let Some(flows) = parts.first().map(|part| part.drawn.len()) else { return parts };
        let differs = |flow: &usize| parts.iter().any(|part| part.drawn[*flow].start != parts[0].drawn[*flow].start);
        let differing: Vec<usize> = (0..flows).filter(differs).collect();
        for part in &mut parts {
            part.parts_at = differing.iter().map(|&flow| part.drawn[flow].start).min().unwrap_or(Time::NEVER);
        }
        parts.sort_by_key(|part| part.parts_at);
        if differing.is_empty() { Vec::new() } else { parts }
    }

    /// Runs `parts`, as long as what they share can be copied; says of how many the outcome was given.
    fn run_parts(&self, parts: &[Part<'_>], give: &mut dyn FnMut(usize, Result<Outcome, Failure>)) -> usize {
        let Some(last) = parts.last() else { return 0 };
        let make = |flow: &PlannedFlow| controller(self.controllers.as_ref(), flow);
        let mut laps = Laps { stopwatch: self.stopwatch, before: read(self.stopwatch) };
        // What each of the parts to come owes for what they share.
        let mut owed = [0.0; 2];
        let Ok(mut shared) = World::new(&last.job.plan, last.job.seed, &last.drawn, &make, None) else { return 0 };
        for (given, part) in parts.iter().enumerate().take(parts.len() - 1) {
            if run_to(part.parts_at, &mut shared, last.watch) || shared.failure.is_some() {
                return given;
            }
            let sharing = (parts.len() - given) as f64;
            owed = add(owed, laps.lap().map(|seconds| seconds / sharing));
            let Some(world) = shared.branch(part.parts_at, &part.job.plan, &part.drawn, &make) else { return given };
            give(part.index, complete(world, &part.job.plan, part.watch, || add(owed, laps.lap())));
        }
        give(last.index, complete(shared, &last.job.plan, last.watch, || add(owed, laps.lap())));
        parts.len()
    }
}

/// Reads clocks again and again.
struct Laps {
    stopwatch: Option<Stopwatch>,
    before: [f64; 2],
}

impl Laps {
    /// CPU and wall-clock time since the last reading, seconds.
    fn lap(&mut self) -> [f64; 2] {
        let now = read(self.stopwatch);
        let before = std::mem::replace(&mut self.before, now);
        [now[0] - before[0], now[1] - before[1]]
    }
}

fn add(a: [f64; 2], b: [f64; 2]) -> [f64; 2] {
    [a[0] + b[0], a[1] + b[1]]
}

/// Whether `plan` has nothing but flows that each have their ends from the start of the run, and no state that cannot
/// be copied beside them.
fn is_plain(plan: &Plan) -> bool {
    let hops = |flow: &PlannedFlow| flow.forward.iter().chain(&flow.reverse).all(|hop| hop.snoop.is_none());
    let plain = |flow: &PlannedFlow| {
        let alone = flow.subflow.is_none() && flow.relays.is_none() && flow.quick_start.is_none();
        alone && !flow.is_many() && hops(flow)
    };
    let first_in_first_out = |link: &PlannedLink| link.settings.queue.discipline == DisciplineSettings::Fifo;
    plan.media.is_empty() && plan.links.iter().all(first_in_first_out) && plan.flows.iter().all(plain)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use network::PieSettings;
    use scenario::NoFiles;

    use super::*;

    /// Two flows of which the second starts at `start`; `more` is the rest of its table, and `path` that of the path.
    fn job(start: &str, more: &str, path: &str) -> Job {
        let text = format!(
            "duration = \"9s\"\nwarmup = \"2s\"\n\
             path = {{ rate = \"5mbit\", rtt = \"40ms\", queue = \"20p\", loss = \"0.5%\"{path} }}\n\
             flows = [{{ cc = \"newreno\" }}, {{ cc = \"cubic\", start = \"{start}\"{more} }}]"
        );
        let plan = scenario::from_toml(&text, "test.toml").and_then(|scenario| scenario.plan(&NoFiles));
        Job { plan: Arc::new(plan.unwrap_or_else(|error| panic!("{error}"))), seed: 7 }
    }

    /// Of `jobs` the indices of those that share their beginning, with the seconds at which they part, and how many of
    /// them are run so.
    fn shared(jobs: &[Job]) -> (Vec<(usize, f64)>, usize) {
        let watch = Watch::default();
        let jobs: Vec<(Job, &Watch)> = jobs.iter().map(|job| (job.clone(), &watch)).collect();
        let parts = Simulator::parts(&jobs);
        let run = Simulator::default().run_parts(&parts, &mut |_, outcome| assert!(outcome.is_ok()));
        (parts.iter().map(|part| (part.index, part.parts_at.as_secs_f64())).collect(), run)
    }

    #[test]
    fn runs_part_where_the_first_flow_starts_at_another_time() {
        let jobs = ["5s", "3s", "2s", "3s"].map(|start| job(start, "", ""));
        assert_eq!(shared(&jobs), (vec![(2, 2.0), (1, 3.0), (3, 3.0), (0, 5.0)], 4));
    }

    #[test]
    fn what_differs_otherwise_is_run_alone() {
        let mut jobs = vec![job("5s", "", ""), job("3s", "", ""), job("3s", ", rtt = \"50ms\"", "")];
        jobs.push(job("2s", "", ", jitter = \"1ms\""));
        jobs.push(Job { seed: 8, ..job("2s", "", "") });
        assert_eq!(shared(&jobs), (vec![(1, 3.0), (0, 5.0)], 2));
        // Nothing differs: nothing says where to part.
        assert_eq!(shared(&[jobs[0].clone(), jobs[0].clone()]), (vec![], 0));
    }

    #[test]
    fn what_cannot_be_copied_is_run_alone() {
        // The state of a discipline is its own.
        let managed = ["3s", "5s"].map(|start| Job { plan: with_pie(&job(start, "", "").plan), seed: 7 });
        assert_eq!(shared(&managed), (vec![], 0));
        // Of flows that make many connections there are more or fewer.
        let many = ["3s", "5s"].map(|start| job(start, ", bytes = \"20kB\", every = \"1s\"", ""));
        assert_eq!(shared(&many), (vec![], 0));
    }

    fn with_pie(plan: &Plan) -> Arc<Plan> {
        let mut plan = plan.clone();
        plan.links[0].settings.queue.discipline = DisciplineSettings::Pie(PieSettings::default());
        Arc::new(plan)
    }
}
