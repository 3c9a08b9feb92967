//! A run of the simulator as a task of a batch.

use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};
use std::time::Instant;

use cpu_time::ThreadTime;
use engine::{CaptureTo, Engine as _, Stopwatch, Watch};
use pyo3::prelude::*;
use record::pcapng::Point;
use scenario::Plan;
use sim::Simulator;
use units::Bytes;

use crate::attached::begin_run;
use crate::controller::Guard;
use crate::custom::{CustomControllers, raised};
use crate::engines::{Opened, Options};
use crate::failure::Failure;
use crate::memory;
use crate::plan::Planned;
use crate::task::{EngineTask, Setup, Task};
use crate::threads::PythonThreads;

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
    let (point, custom) = (options.point()?, CustomControllers::take(&options)?);
    let cores = options.take("cores")?.unwrap_or(1);
    options.finish()?;
    Ok(Box::new(Simulations { point, cores, custom }))
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
        self.custom.python_threads()
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

/// A run that takes less fits beside any program: Linux reads a dozen files to say how much memory there is.
const SMALL: Bytes = Bytes::new(16 << 20);

/// Refuses a plan that takes more memory than there is.
pub(crate) fn check_memory(plan: &Plan) -> Result<(), Failure> {
    if plan.estimated_memory() < SMALL {
        return Ok(());
    }
    let available = memory::available(memory::MACHINE);
    available.map_or(Ok(()), |available| plan.check_memory(available).map_err(Failure::Scenario))
}

/// The clocks of the thread that simulates.
pub(crate) const STOPWATCH: Stopwatch = Stopwatch { cpu_s: || ThreadTime::now().as_duration().as_secs_f64(), wall_s };

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
        check_memory(plan)?;
        let (controllers, guard) = self.custom.factory(plan, watch)?;
        let capture = self.pcap.as_ref().map(|path| match File::create(path) {
            Ok(file) => Ok(CaptureTo { writer: Box::new(file), point: self.point }),
            Err(error) => Err(Failure::Capture(path.clone(), error)),
        });
        begin_run(self.pcap.is_none());
        let simulator = Simulator {
            controllers: Some(controllers),
            capture: capture.transpose()?,
            cores: self.cores,
            stopwatch: Some(STOPWATCH),
        };
        Ok((simulator, guard))
    }

    fn failure(&self, plan: &Plan, guard: &Arc<Guard>, failure: Option<engine::Failure>) -> Option<Failure> {
        let raised = raised(guard);
        if let (Some(_), Some(path)) = (&failure, &self.pcap) {
            discard(path);
        }
        raised.or_else(|| failure.map(|failure| Failure::of(failure, plan, self.pcap.as_deref())))
    }
}

/// Removes the beginning of a packet capture. Only a regular file that could have been written to is removed. A pipe
/// stays.
fn discard(path: &Path) {
    let regular = path.symlink_metadata().is_ok_and(|metadata| metadata.is_file());
    if regular && OpenOptions::new().write(true).open(path).is_ok() {
        // An error is ignored: the run has failed for another reason already.
        let _ = std::fs::remove_file(path);
    }
}
