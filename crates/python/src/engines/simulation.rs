//! A run of the simulator as a task of a batch.

use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};
use std::time::Instant;

use control::{ControllerRef, Parameters};
use cpu_time::ThreadTime;
use engine::{CaptureTo, Engine as _, Stopwatch, Watch};
use pyo3::prelude::*;
use record::pcapng::Point;
use scenario::{Error, Plan};
use sim::Simulator;

use crate::attached::{begin_run, let_go};
use crate::controller::{Factories, Guard, Raised, build};
use crate::engines::{Opened, Options};
use crate::failure::{Failure, refusal};
use crate::memory;
use crate::plan::Planned;
use crate::sources::{Compiled, Report};
use crate::task::{EngineTask, Setup, Task};
use crate::threads::PythonThreads;

/// Controllers that are not in the registry, for all runs of a batch.
struct CustomControllers {
    /// Those written in Python.
    factories: Factories,
    /// Those in files.
    compiled: Compiled,
    threads: Arc<PythonThreads>,
}

/// The simulator with its options.
struct Simulations {
    /// The place of packet captures.
    point: Point,
    /// Cores that one run may use.
    cores: usize,
    custom: Arc<CustomControllers>,
}

/// Reads the options `pcap_at`, `controllers` and `cores`.
pub(crate) fn open(options: Options<'_>) -> PyResult<Box<dyn Opened>> {
    let (point, factories) = (options.point()?, options.take("controllers")?.unwrap_or_default());
    let cores = options.take("cores")?.unwrap_or(1);
    options.finish()?;
    let custom = CustomControllers { factories, compiled: Compiled::default(), threads: Arc::default() };
    Ok(Box::new(Simulations { point, cores, custom: Arc::new(custom) }))
}

impl Opened for Simulations {
    fn task(&self, planned: Arc<Planned>, seed: u64, pcap: Option<PathBuf>) -> Box<dyn Task> {
        let setup = Simulation { pcap, point: self.point, cores: self.cores, custom: self.custom.clone() };
        Box::new(EngineTask::new(planned, seed, setup))
    }

    fn threads(&self) -> usize {
        std::thread::available_parallelism().map_or(1, usize::from)
    }

    fn python_threads(&self) -> Option<Arc<PythonThreads>> {
        (!self.custom.factories.is_empty()).then(|| self.custom.threads.clone())
    }
}

/// Refuses controllers that the simulator cannot build.
pub(crate) fn check(plan: &Plan) -> Result<(), Failure> {
    Simulator::default().check(plan).map_err(|failure| Failure::of(failure, plan, None))
}

/// Sets up the simulator of one run.
struct Simulation {
    pcap: Option<PathBuf>,
    /// The place of the packet capture.
    point: Point,
    /// Cores that the run may use.
    cores: usize,
    custom: Arc<CustomControllers>,
}

/// The clocks of the thread that simulates.
const STOPWATCH: Stopwatch = Stopwatch { cpu_s: || ThreadTime::now().as_duration().as_secs_f64(), wall_s };

/// Seconds since the first reading.
fn wall_s() -> f64 {
    #[expect(clippy::disallowed_methods, reason = "an engine's edge: only what a run cost is read from it")]
    static FIRST: LazyLock<Instant> = LazyLock::new(Instant::now);
    FIRST.elapsed().as_secs_f64()
}

impl Setup for Simulation {
    type Engine = Simulator;
    type State = Arc<Guard>;

    fn engine(&self, plan: &Plan, watch: &Arc<Watch>) -> Result<(Simulator, Arc<Guard>), Failure> {
        if let Some(available) = memory::available(memory::MACHINE) {
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
        let sources = self.custom.compiled.of(plan).map_err(Failure::Scenario)?;
        let capture = self.pcap.as_ref().map(|path| match File::create(path) {
            Ok(file) => Ok(CaptureTo { writer: Box::new(file), point: self.point }),
            Err(error) => Err(Failure::Capture(path.clone(), error)),
        });
        begin_run(self.pcap.is_none());
        let guard = Arc::new(Guard::new(watch.clone()));
        let (custom, guarded) = (self.custom.clone(), guard.clone());
        let reporting = guard.clone();
        let report: Report = Arc::new(move |sentence| reporting.stop(sentence));
        let controllers = move |cc: &ControllerRef, parameters: &Parameters| match cc {
            ControllerRef::Source(path) => sources.build(path, parameters, &report),
            ControllerRef::Python { index, .. } => build(&custom.factories, *index, &guarded),
            ControllerRef::Registered(_) | ControllerRef::Engine(_) => None,
        };
        let simulator = Simulator {
            controllers: Some(Arc::new(controllers)),
            capture: capture.transpose()?,
            cores: self.cores,
            stopwatch: Some(STOPWATCH),
        };
        Ok((simulator, guard))
    }

    fn failure(&self, plan: &Plan, guard: &Arc<Guard>, failure: Option<engine::Failure>) -> Option<Failure> {
        let_go();
        if let (Some(_), Some(path)) = (&failure, &self.pcap) {
            discard(path);
        }
        match guard.take() {
            Some(Raised::Exception(error)) => return Some(Failure::Raised(error)),
            Some(Raised::Panic(sentence)) => return Some(Failure::Scenario(refusal(plan, sentence))),
            None => {}
        }
        failure.map(|failure| Failure::of(failure, plan, self.pcap.as_deref()))
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
