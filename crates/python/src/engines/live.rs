//! A live run as a task of a batch.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use engine::Watch;
use live::{Algorithms as _, Live, ProjectControllers, Queues};
use pyo3::prelude::*;
use record::pcapng::Point;
use scenario::Plan;

use crate::controller::Guard;
use crate::custom::{CustomControllers, raised};
use crate::engines::{Opened, Options};
use crate::failure::{Failure, refusal};
use crate::plan::Planned;
use crate::task::{EngineTask, Setup, Task};

/// The live engine with its options.
struct LiveRuns {
    /// TCP sends at most so many segments at once.
    gso_max_segs: Option<u16>,
    /// The place of packet captures.
    point: Point,
    /// The controllers of flows whose ends are not the kernel's.
    custom: Arc<CustomControllers>,
}

/// Reads the options `pcap_at` and `gso_max_segs`.
pub(crate) fn open(options: Options<'_>) -> PyResult<Box<dyn Opened>> {
    let (point, gso_max_segs) = (options.point()?, options.take("gso_max_segs")?);
    let live = LiveRuns { point, gso_max_segs, custom: Arc::new(CustomControllers::in_files(live::of_datagrams)) };
    options.finish()?;
    Ok(Box::new(live))
}

impl Opened for LiveRuns {
    fn task(&self, planned: Arc<Planned>, seed: u64, pcap: Option<PathBuf>) -> Box<dyn Task> {
        let capture = pcap.map(|file| (file, self.point));
        let run = LiveRun { gso_max_segs: self.gso_max_segs, capture, custom: self.custom.clone() };
        Box::new(EngineTask::new(planned, seed, run))
    }

    fn threads(&self) -> usize {
        1
    }
}

/// Refuses a plan that cannot run live on this machine, and loads its controllers for a moment.
pub(crate) fn check(plan: &Plan) -> Result<(), Failure> {
    let refused = |message| Failure::Scenario(refusal(plan, message));
    live::check(plan, &ProjectControllers).map_err(|error| refused(error.to_string()))?;
    for (index, flow) in plan.flows.iter().enumerate() {
        let seen = plan.flows[..index].iter().any(|one| (&one.cc, &one.given) == (&flow.cc, &flow.given));
        if !seen && !live::of_datagrams(flow) {
            let loaded = ProjectControllers.load(&flow.cc, &flow.given);
            loaded.map_err(|message| refused(format!("flow `{}`: {message}", flow.name())))?;
        }
    }
    live::check_machine().map_err(Failure::Machine)
}

/// Sets up the live engine of one run.
struct LiveRun {
    gso_max_segs: Option<u16>,
    capture: Option<(PathBuf, Point)>,
    custom: Arc<CustomControllers>,
}

impl Setup for LiveRun {
    type Engine = Live;
    type State = Arc<Guard>;

    fn engine(&self, plan: &Plan, watch: &Arc<Watch>) -> Result<(Live, Arc<Guard>), Failure> {
        let (gso_max_segs, capture) = (self.gso_max_segs, self.capture.clone());
        let (controllers, guard) = self.custom.factory(plan, watch)?;
        let (algorithms, controllers) = (Arc::new(ProjectControllers), Some(controllers));
        Ok((Live { algorithms, controllers, gso_max_segs, capture, queues: Queues::Simulated }, guard))
    }

    fn failure(&self, plan: &Plan, guard: &Arc<Guard>, failure: Option<engine::Failure>) -> Option<Failure> {
        let pcap: Option<&Path> = self.capture.as_ref().map(|(file, _)| file.as_path());
        raised(guard).or_else(|| failure.map(|failure| Failure::of(failure, plan, pcap)))
    }
}
