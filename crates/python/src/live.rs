//! A live run as a task of a batch.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use live::{Algorithms as _, Fidelity, Job, Twins, Watch};
use pyo3::prelude::*;
use scenario::{Error, Plan};
use serde_json::{Value, json};

use crate::batch::Batch;
use crate::failure::Failure;
use crate::language::{Planned, exception, plan};
use crate::run::Run;
use crate::task::Task;

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
#[pyo3(name = "live", signature = (plan, seed, gso_max_segs=None))]
pub(crate) fn live_run(plan: &SharedPlan, seed: u64, gso_max_segs: Option<u16>) -> PyResult<Batch> {
    let planned = plan.0.clone();
    let run = LiveRun { planned, seed, gso_max_segs, watch: Watch::default(), duration_nanos: AtomicU64::new(0) };
    Batch::start(vec![Box::new(run)], 1)
}

/// Refuses a resolved scenario that cannot run live on this machine.
#[pyfunction]
pub(crate) fn live_check(py: Python<'_>, resolved: &str) -> PyResult<()> {
    let plan = plan(resolved, true).map_err(|error| exception(py, &error))?;
    check(&plan).map_err(|message| exception(py, &refusal(&plan, message)))
}

/// Checks the plan, and that its controllers can be loaded.
fn check(plan: &Plan) -> Result<(), String> {
    live::check(plan, &Twins).map_err(|refusal| refusal.to_string())?;
    for (index, flow) in plan.flows.iter().enumerate() {
        let seen = plan.flows[..index].iter().any(|one| (&one.cc, &one.parameters) == (&flow.cc, &flow.parameters));
        if !seen {
            let loaded = Twins.load(&flow.cc, &flow.parameters);
            loaded.map_err(|message| format!("flow `{}`: {message}", flow.name))?;
        }
    }
    Ok(())
}

pub(crate) fn refusal(plan: &Plan, message: String) -> Error {
    Error { file: format!("scenario `{}`", plan.name), line: None, key: String::new(), message }
}

struct LiveRun {
    planned: Arc<Planned>,
    seed: u64,
    gso_max_segs: Option<u16>,
    watch: Watch,
    /// How long the run is in all; 0 until the scenario is planned.
    duration_nanos: AtomicU64,
}

impl Task for LiveRun {
    fn stop(&self) {
        self.watch.stop.store(true, Ordering::Relaxed);
    }

    fn progress(&self) -> f64 {
        match self.duration_nanos.load(Ordering::Relaxed) {
            0 => 0.0,
            duration => self.watch.elapsed_nanos.load(Ordering::Relaxed) as f64 / duration as f64,
        }
    }

    fn run(&self) -> Result<Run, Failure> {
        let plan = self.planned.get().map_err(Failure::Scenario)?;
        self.duration_nanos.store(plan.duration.as_nanos(), Ordering::Relaxed);
        let (seed, gso_max_segs) = (self.seed, self.gso_max_segs);
        let job = Job { plan: plan.clone(), seed, algorithms: Arc::new(Twins), gso_max_segs };
        let outcome = live::run(&job, &self.watch).map_err(|failure| match failure {
            live::Failure::Interrupted => Failure::Interrupted,
            live::Failure::Refused(why) => Failure::Scenario(refusal(&plan, why.to_string())),
            live::Failure::Machine(message) => Failure::Machine(message),
        })?;
        let engine = engine_of(outcome.engine, &outcome.fidelity)?;
        Run::new(outcome.tables, engine)
    }
}

/// What a run cost, and how far it can be trusted.
pub(crate) fn engine_of(cost: live::Engine, fidelity: &Fidelity) -> Result<Value, Failure> {
    let live::Engine { events, data_packets, cpu_s, wall_s } = cost;
    let mut engine = json!({
        "kind": "live", "events": events, "data_packets": data_packets, "cpu_s": cpu_s, "wall_s": wall_s,
    });
    let fidelity = serde_json::to_value(fidelity).map_err(|error| Failure::Fault(error.to_string()))?;
    if let (Value::Object(engine), Value::Object(fidelity)) = (&mut engine, fidelity) {
        engine.extend(fidelity);
    }
    Ok(engine)
}
