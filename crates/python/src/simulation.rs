//! A run of the simulator as a task of a batch.

use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};
use std::time::Instant;

use control::{ControllerRef, Parameters};
use cpu_time::ThreadTime;
use engine::{CaptureTo, Stopwatch, Watch};
use record::pcapng::Point;
use scenario::{Error, Plan};
use sim::Simulator;

use crate::controller::{Factories, Guard, build};
use crate::failure::Failure;
use crate::memory;
use crate::sources::Compiled;
use crate::task::Maker;
use crate::threads::PythonThreads;

/// Controllers that are not in the registry, for all runs of a batch.
pub(crate) struct CustomControllers {
    /// Those written in Python.
    pub(crate) factories: Factories,
    /// Those in C.
    pub(crate) compiled: Compiled,
    pub(crate) threads: Arc<PythonThreads>,
}

/// Makes the simulator of one run.
pub(crate) struct Simulation {
    pub(crate) pcap: Option<PathBuf>,
    /// Where the packet capture is taken.
    pub(crate) point: Point,
    pub(crate) custom: Arc<CustomControllers>,
}

/// The clocks of the thread that simulates.
const STOPWATCH: Stopwatch = Stopwatch { cpu_s: || ThreadTime::now().as_duration().as_secs_f64(), wall_s };

/// Seconds since the first reading.
fn wall_s() -> f64 {
    #[expect(clippy::disallowed_methods, reason = "an engine's edge: only what a run cost is read from it")]
    static FIRST: LazyLock<Instant> = LazyLock::new(Instant::now);
    FIRST.elapsed().as_secs_f64()
}

impl Maker for Simulation {
    type Engine = Simulator;
    type Kept = Arc<Guard>;

    fn make(&self, plan: &Plan, watch: &Arc<Watch>) -> Result<(Simulator, Arc<Guard>), Failure> {
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
        let guard = Arc::new(Guard::new(watch.clone()));
        let (custom, guarded) = (self.custom.clone(), guard.clone());
        let controllers = move |cc: &ControllerRef, parameters: &Parameters| match cc {
            ControllerRef::Source(path) => sources.build(path, parameters),
            ControllerRef::Python { index, .. } => build(&custom.factories, *index, &guarded, &custom.threads),
            ControllerRef::Registered(_) | ControllerRef::Engine(_) => None,
        };
        let simulator = Simulator {
            controllers: Some(Arc::new(controllers)),
            capture: capture.transpose()?,
            stopwatch: Some(STOPWATCH),
        };
        Ok((simulator, guard))
    }

    fn fail(&self, _plan: &Plan, guard: &Arc<Guard>, failure: Option<engine::Failure>) -> Option<Failure> {
        self.custom.threads.leave();
        if let (Some(_), Some(path)) = (&failure, &self.pcap) {
            discard(path);
        }
        if let Some(error) = guard.take() {
            return Some(Failure::Raised(error));
        }
        Some(match failure? {
            engine::Failure::Interrupted => Failure::Interrupted,
            engine::Failure::Scenario(error) => Failure::Scenario(error),
            // Of what a run is asked for, only its capture can be refused: the plan has been checked.
            engine::Failure::Refused(message) => Failure::Scenario(Error {
                file: "--pcap-at".to_owned(),
                line: None,
                key: "bottleneck".to_owned(),
                message,
            }),
            engine::Failure::Capture(error) => Failure::Capture(self.pcap.clone().unwrap_or_default(), error),
            other => Failure::Fault(other.to_string()),
        })
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
