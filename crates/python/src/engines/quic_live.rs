//! A run over QUIC in real time as a task of a batch.

use std::path::PathBuf;
use std::sync::Arc;

use ::quic::Quic;
use engine::{Engine as _, Watch};
use live::QuicLive;
use pyo3::prelude::*;
use scenario::Plan;

use crate::attached::begin_run;
use crate::controller::Guard;
use crate::custom::{CustomControllers, raised};
use crate::engines::quic::refuse_capture;
use crate::engines::{Opened, Options};
use crate::failure::Failure;
use crate::plan::Planned;
use crate::task::{EngineTask, Setup, Task};

/// The engine with its options.
struct QuicLiveRuns {
    custom: Arc<CustomControllers>,
}

/// Reads the option `pcap_at`.
pub(crate) fn open(options: Options<'_>) -> PyResult<Box<dyn Opened>> {
    // Every engine has it; that there are no captures is said when one is asked for.
    options.point()?;
    let custom = CustomControllers::take(&options)?;
    options.finish()?;
    Ok(Box::new(QuicLiveRuns { custom }))
}

impl Opened for QuicLiveRuns {
    fn task(&self, planned: Arc<Planned>, seed: u64, pcap: Option<PathBuf>) -> Box<dyn Task> {
        Box::new(EngineTask::new(planned, seed, QuicLiveRun { custom: self.custom.clone(), pcap }))
    }

    fn threads(&self) -> usize {
        1
    }
}

/// Refuses a plan that cannot run over QUIC on this machine.
pub(crate) fn check(plan: &Plan) -> Result<(), Failure> {
    QuicLive(Quic::default()).check(plan).map_err(|failure| Failure::of(failure, plan, None))?;
    live::check_machine().map_err(Failure::Machine)
}

/// Sets up the engine of one run.
struct QuicLiveRun {
    custom: Arc<CustomControllers>,
    pcap: Option<PathBuf>,
}

impl Setup for QuicLiveRun {
    type Engine = QuicLive;
    type State = Arc<Guard>;

    fn engine(&self, plan: &Plan, watch: &Arc<Watch>) -> Result<(QuicLive, Arc<Guard>), Failure> {
        refuse_capture(plan, self.pcap.as_deref())?;
        let (controllers, guard) = self.custom.factory(plan, watch)?;
        begin_run(false);
        Ok((QuicLive(Quic { controllers: Some(controllers), stopwatch: None }), guard))
    }

    fn failure(&self, plan: &Plan, guard: &Arc<Guard>, failure: Option<engine::Failure>) -> Option<Failure> {
        let raised = raised(plan, guard);
        raised.or_else(|| failure.map(|failure| Failure::of(failure, plan, None)))
    }
}
