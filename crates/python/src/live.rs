//! A live run as a task of a batch.

use std::path::PathBuf;
use std::sync::Arc;

use engine::Watch;
use live::{Algorithms as _, Live, ProjectControllers};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use record::pcapng::Point;
use scenario::{Error, Plan};

use crate::batch::Batch;
use crate::failure::{Failure, MachineError};
use crate::language::{Planned, exception, plan};
use crate::task::{EngineTask, Maker};

/// A resolved scenario whose plan all its runs share.
#[pyclass(frozen, name = "Plan", module = "ackclock._engine")]
pub(crate) struct SharedPlan(Arc<Planned>);

#[pymethods]
impl SharedPlan {
    #[new]
    #[pyo3(signature = (resolved, *, any_controller=false))]
    fn new(resolved: String, any_controller: bool) -> Self {
        Self(Arc::new(Planned::new(resolved, any_controller)))
    }
}

/// Starts a live run of `plan`, whose TCP sends at most `gso_max_segs` segments at once.
#[pyfunction]
#[pyo3(name = "live", signature = (plan, seed, gso_max_segs=None, pcap=None, pcap_at="sender"))]
pub(crate) fn live_run(
    plan: &SharedPlan,
    seed: u64,
    gso_max_segs: Option<u16>,
    pcap: Option<PathBuf>,
    pcap_at: &str,
) -> PyResult<Batch> {
    let capture = capture(pcap, pcap_at)?;
    let run = EngineTask::new(plan.0.clone(), seed, LiveRun { gso_max_segs, capture });
    Batch::start(vec![Box::new(run)], 1)
}

/// Refuses a resolved scenario that cannot run live on this machine, before anything is run or written.
#[pyfunction]
pub(crate) fn live_check(py: Python<'_>, resolved: &str) -> PyResult<()> {
    let plan = plan(resolved, true).map_err(|error| exception(py, &error))?;
    check(&plan).map_err(|message| exception(py, &refusal(&plan, message)))?;
    live::check_machine().map_err(MachineError::new_err)
}

/// Checks the plan, and that its controllers can be loaded.
fn check(plan: &Plan) -> Result<(), String> {
    live::check(plan, &ProjectControllers).map_err(|refusal| refusal.to_string())?;
    for (index, flow) in plan.flows.iter().enumerate() {
        let seen = plan.flows[..index].iter().any(|one| (&one.cc, &one.parameters) == (&flow.cc, &flow.parameters));
        if !seen {
            let loaded = ProjectControllers.load(&flow.cc, &flow.parameters);
            loaded.map_err(|message| format!("flow `{}`: {message}", flow.name))?;
        }
    }
    Ok(())
}

pub(crate) fn refusal(plan: &Plan, message: String) -> Error {
    Error { file: format!("scenario `{}`", plan.name), line: None, key: String::new(), message }
}

/// Makes the live engine of one run.
/// The capture to `pcap`, if any, at the place `pcap_at`.
pub(crate) fn capture(pcap: Option<PathBuf>, pcap_at: &str) -> PyResult<Option<(PathBuf, Point)>> {
    let point = pcap_at.parse().map_err(PyValueError::new_err)?;
    Ok(pcap.map(|file| (file, point)))
}

struct LiveRun {
    gso_max_segs: Option<u16>,
    capture: Option<(PathBuf, Point)>,
}

impl Maker for LiveRun {
    type Engine = Live;
    type Kept = ();

    fn make(&self, _plan: &Plan, _watch: &Arc<Watch>) -> Result<(Live, ()), Failure> {
        let (gso_max_segs, capture) = (self.gso_max_segs, self.capture.clone());
        Ok((Live { algorithms: Arc::new(ProjectControllers), gso_max_segs, capture }, ()))
    }

    fn fail(&self, plan: &Plan, _kept: &(), failure: Option<engine::Failure>) -> Option<Failure> {
        Some(match failure? {
            engine::Failure::Interrupted => Failure::Interrupted,
            engine::Failure::Scenario(error) => Failure::Scenario(error),
            engine::Failure::Refused(why) => Failure::Scenario(refusal(plan, why)),
            engine::Failure::Capture(error) => {
                let file = self.capture.as_ref().map(|(file, _)| file.clone());
                Failure::Capture(file.unwrap_or_default(), error)
            }
            engine::Failure::Machine(message) => Failure::Machine(message),
            other => Failure::Fault(other.to_string()),
        })
    }
}
