//! Runs over QUIC as tasks of a batch, in virtual time or in real time.

use std::collections::BTreeMap;
use std::fs::File;
use std::marker::PhantomData;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ::quic::{LogOf, Logs, Quic};
use engine::{Engine, Watch};
use pyo3::prelude::*;
use scenario::Plan;
use serde::Serialize;

use crate::attached::begin_run;
use crate::controller::Guard;
use crate::custom::{CustomControllers, raised};
use crate::engines::simulation::{STOPWATCH, check_memory};
use crate::engines::{Opened, Options};
use crate::failure::{Failure, refusal};
use crate::plan::Planned;
use crate::stacks::UserStacks;
use crate::task::{EngineTask, Setup, Task};
use crate::threads::PythonThreads;

/// An engine with the connections of noq.
pub(crate) trait OverQuic: Engine<Notes: Serialize> + 'static {
    /// Its runs take the time of the scenario, one after the other.
    const REAL_TIME: bool;

    /// The engine on these connections.
    fn over(quic: Quic) -> Self;
}

impl OverQuic for Quic {
    const REAL_TIME: bool = false;

    fn over(quic: Quic) -> Self {
        quic
    }
}

/// The engine `E` with its options.
struct QuicRuns<E> {
    custom: Arc<CustomControllers>,
    stacks: Arc<UserStacks>,
    /// The folder for the logs of noq.
    logs: Option<PathBuf>,
    engine: PhantomData<fn() -> E>,
}

/// Reads the options of the engine `E`: `pcap_at`, `controllers`, the sources of stacks and, where it is built in,
/// `qlog`.
pub(crate) fn open<E: OverQuic>(options: Options<'_>) -> PyResult<Box<dyn Opened>> {
    // Every engine has this option. A request for a capture is refused later.
    options.point()?;
    let custom = CustomControllers::take(&options)?;
    let logs = if cfg!(feature = "qlog") { options.take("qlog")? } else { None };
    let mut sources = BTreeMap::new();
    for (stack, _) in ::stack::STACKS {
        if let Some(folder) = options.take(stack)? {
            sources.insert(stack, folder);
        }
    }
    let stacks = Arc::new(UserStacks::new(sources));
    options.finish()?;
    Ok(Box::new(QuicRuns::<E> { custom, stacks, logs, engine: PhantomData }))
}

impl<E: OverQuic> Opened for QuicRuns<E> {
    fn task(&self, planned: Arc<Planned>, seed: u64, pcap: Option<PathBuf>) -> Box<dyn Task> {
        let (custom, stacks, logs) = (self.custom.clone(), self.stacks.clone(), self.logs.clone());
        let setup = QuicRun::<E> { custom, stacks, seed, logs, pcap, engine: PhantomData };
        Box::new(EngineTask::new(planned, seed, setup))
    }

    fn threads(&self) -> usize {
        if E::REAL_TIME { 1 } else { std::thread::available_parallelism().map_or(1, usize::from) }
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
fn refuse_capture(plan: &Plan, pcap: Option<&Path>) -> Result<(), Failure> {
    let message = "pcap: packets of QUIC are not captured, as a capture would show nothing inside them";
    pcap.map_or(Ok(()), |_| Err(Failure::Scenario(refusal(plan, message.to_owned()))))
}

/// Sets up the engine of one run.
struct QuicRun<E> {
    custom: Arc<CustomControllers>,
    stacks: Arc<UserStacks>,
    seed: u64,
    logs: Option<PathBuf>,
    pcap: Option<PathBuf>,
    engine: PhantomData<fn() -> E>,
}

impl<E> QuicRun<E> {
    /// The logs of noq in the folder for them: files with the name of `plan`, the seed, and the row of the flow.
    fn logs(&self, plan: &Plan) -> Option<Logs> {
        let safe = |c: char| if c.is_alphanumeric() || "._-".contains(c) { c } else { '-' };
        let run = format!("{}-seed-{}", plan.name.chars().map(safe).collect::<String>(), self.seed);
        let folder = self.logs.clone()?;
        Logs::new(move |LogOf { row, side, .. }| {
            let file = File::create(folder.join(format!("{run}-flow-{row}-{side}.sqlog")))?;
            Ok(Box::new(file))
        })
    }
}

impl<E: OverQuic> Setup for QuicRun<E> {
    type Engine = E;
    type State = Arc<Guard>;

    fn engine(&self, plan: &Plan, watch: &Arc<Watch>) -> Result<(E, Arc<Guard>), Failure> {
        refuse_capture(plan, self.pcap.as_deref())?;
        if !E::REAL_TIME {
            check_memory(plan)?;
        }
        let (controllers, guard) = self.custom.factory(plan, watch)?;
        let stacks = self.stacks.of(plan).map_err(Failure::Scenario)?;
        begin_run(!E::REAL_TIME);
        let logs = self.logs(plan);
        Ok((E::over(Quic { controllers: Some(controllers), stacks, stopwatch: Some(STOPWATCH), logs }), guard))
    }

    fn failure(&self, plan: &Plan, guard: &Arc<Guard>, failure: Option<engine::Failure>) -> Option<Failure> {
        let raised = raised(guard);
        raised.or_else(|| failure.map(|failure| Failure::of(failure, plan, self.logs.as_deref())))
    }
}
