//! A run of the simulator as a task of a batch.

use std::fs::OpenOptions;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use control::{ControllerRef, Parameters};
use scenario::Error;
use serde_json::json;
use sim::{Job, Watch};

use crate::controller::{Factories, Guard, build};
use crate::failure::Failure;
use crate::language::{Planned, available_memory};
use crate::run::Run;
use crate::sources::Compiled;
use crate::task::Task;

/// Controllers that are not in the registry, for all runs of a batch.
pub(crate) struct CustomControllers {
    /// Those written in Python.
    pub(crate) factories: Factories,
    /// Those in C.
    pub(crate) compiled: Compiled,
}

/// One run that is asked for.
pub(crate) struct Simulation {
    /// Taken by the run, so that it goes with the last run of its scenario.
    planned: Mutex<Option<Arc<Planned>>>,
    seed: u64,
    pcap: Option<PathBuf>,
    custom: Arc<CustomControllers>,
    watch: Arc<Watch>,
    /// Simulated time in all; 0 until the scenario is planned.
    duration_nanos: AtomicU64,
}

impl Simulation {
    pub(crate) fn new(planned: Arc<Planned>, seed: u64, pcap: Option<PathBuf>, custom: Arc<CustomControllers>) -> Self {
        let planned = Mutex::new(Some(planned));
        Self { planned, seed, pcap, custom, watch: Arc::default(), duration_nanos: AtomicU64::new(0) }
    }
}

impl Task for Simulation {
    fn stop(&self) {
        self.watch.stop.store(true, Ordering::Relaxed);
    }

    fn progress(&self) -> f64 {
        match self.duration_nanos.load(Ordering::Relaxed) {
            0 => 0.0,
            duration => self.watch.simulated_nanos.load(Ordering::Relaxed) as f64 / duration as f64,
        }
    }

    fn run(&self) -> Result<Run, Failure> {
        let planned = self.planned.lock().unwrap_or_else(PoisonError::into_inner).take();
        let planned = planned.ok_or_else(|| Failure::Fault("a task runs only once".to_owned()))?;
        let plan = planned.get().map_err(Failure::Scenario)?;
        drop(planned);
        if let Some(available) = available_memory() {
            plan.check_memory(available).map_err(Failure::Scenario)?;
        }
        let given = self.custom.factories.len();
        let missing = |cc: &ControllerRef| matches!(cc, ControllerRef::Python { index, .. } if *index >= given);
        if let Some(flow) = plan.flows.iter().find(|flow| missing(&flow.cc)) {
            let message = format!(
                "the controller `{}` is one written in Python, and only a program that brings it can run it",
                flow.cc
            );
            let file = format!("scenario `{}`, flow `{}`", plan.name, flow.name);
            return Err(Failure::Scenario(Error { file, line: None, key: "cc".to_owned(), message }));
        }
        let sources = self.custom.compiled.of(&plan).map_err(Failure::Scenario)?;
        self.duration_nanos.store(plan.duration.as_nanos(), Ordering::Relaxed);
        let guard = Arc::new(Guard::new(self.watch.clone()));
        let custom = self.custom.clone();
        let job = Job {
            plan,
            seed: self.seed,
            controllers: Some(Arc::new({
                let guard = guard.clone();
                move |cc: &ControllerRef, parameters: &Parameters| match cc {
                    ControllerRef::Source(path) => sources.build(path, parameters),
                    ControllerRef::Python { index, .. } => build(&custom.factories, *index, &guard),
                    ControllerRef::Registered(_) | ControllerRef::Engine(_) => None,
                }
            })),
            capture: self.pcap.clone(),
        };
        let outcome = sim::run(&job, &self.watch);
        if let (Err(_), Some(path)) = (&outcome, &self.pcap) {
            discard(path);
        }
        if let Some(error) = guard.take() {
            return Err(Failure::Raised(error));
        }
        let outcome = outcome.map_err(|failure| match failure {
            sim::Failure::Interrupted => Failure::Interrupted,
            sim::Failure::Scenario(error) => Failure::Scenario(error),
            sim::Failure::Capture(path, error) => Failure::Capture(path, error),
            other => Failure::Fault(other.to_string()),
        })?;
        let sim::Engine { events, data_packets, cpu_s, wall_s } = outcome.engine;
        let engine = json!({
            "kind": "sim", "events": events, "data_packets": data_packets, "cpu_s": cpu_s, "wall_s": wall_s,
        });
        Run::new(outcome.tables, engine)
    }
}

/// Removes the beginning of a packet capture. What is no regular file, such as a pipe, stays, and so does what could
/// not have been written to.
fn discard(path: &Path) {
    let regular = path.symlink_metadata().is_ok_and(|metadata| metadata.is_file());
    if regular && OpenOptions::new().write(true).open(path).is_ok() {
        // There is nothing to tell: the run has failed for another reason already.
        let _ = std::fs::remove_file(path);
    }
}
