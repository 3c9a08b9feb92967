//! A run over QUIC as a task of a batch.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ::quic::Quic;
use engine::{Engine as _, Watch};
use pyo3::prelude::*;
use scenario::Plan;

use crate::attached::begin_run;
use crate::controller::Guard;
use crate::custom::{CustomControllers, raised};
use crate::engines::simulation::{STOPWATCH, check_memory};
use crate::engines::{Opened, Options};
use crate::failure::{Failure, refusal};
use crate::plan::Planned;
use crate::task::{EngineTask, Setup, Task};
use crate::threads::PythonThreads;

/// The engine with its options.
struct QuicRuns {
    custom: Arc<CustomControllers>,
}

/// Reads the options `pcap_at` and `controllers`.
pub(crate) fn open(options: Options<'_>) -> PyResult<Box<dyn Opened>> {
    // Every engine has it; that there are no captures is said when one is asked for.
    options.point()?;
    let custom = CustomControllers::take(&options)?;
    options.finish()?;
    Ok(Box::new(QuicRuns { custom }))
}

impl Opened for QuicRuns {
    fn task(&self, planned: Arc<Planned>, seed: u64, pcap: Option<PathBuf>) -> Box<dyn Task> {
        Box::new(EngineTask::new(planned, seed, QuicRun { custom: self.custom.clone(), pcap }))
    }

    fn threads(&self) -> usize {
        std::thread::available_parallelism().map_or(1, usize::from)
    }

    fn python_threads(&self) -> Option<Arc<PythonThreads>> {
        self.custom.python_threads()
    }
}

/// Refuses a plan that cannot run over QUIC.
pub(crate) fn check(plan: &Plan) -> Result<(), Failure> {
    Quic::default().check(plan).map_err(|failure| Failure::of(failure, plan, None))
}

/// Refuses a packet capture.
pub(crate) fn refuse_capture(plan: &Plan, pcap: Option<&Path>) -> Result<(), Failure> {
    let message = "pcap: packets of QUIC are not captured, as a capture would show nothing inside them";
    pcap.map_or(Ok(()), |_| Err(Failure::Scenario(refusal(plan, message.to_owned()))))
}

/// Sets up the engine of one run.
struct QuicRun {
    custom: Arc<CustomControllers>,
    pcap: Option<PathBuf>,
}

impl Setup for QuicRun {
    type Engine = Quic;
    type State = Arc<Guard>;

    fn engine(&self, plan: &Plan, watch: &Arc<Watch>) -> Result<(Quic, Arc<Guard>), Failure> {
        refuse_capture(plan, self.pcap.as_deref())?;
        check_memory(plan)?;
        let (controllers, guard) = self.custom.factory(plan, watch)?;
        begin_run(true);
        Ok((Quic { controllers: Some(controllers), stopwatch: Some(STOPWATCH) }, guard))
    }

    fn failure(&self, plan: &Plan, guard: &Arc<Guard>, failure: Option<engine::Failure>) -> Option<Failure> {
        let raised = raised(plan, guard);
        raised.or_else(|| failure.map(|failure| Failure::of(failure, plan, None)))
    }
}
