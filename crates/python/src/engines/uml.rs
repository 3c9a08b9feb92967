//! A run inside a kernel in virtual time as a task of a batch.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use engine::{Engine as _, Watch};
use live::{Listed, Live, Queues, VirtualTime};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use record::pcapng::Point;
use scenario::Plan;

use crate::engines::{Opened, Options};
use crate::failure::Failure;
use crate::plan::{Planned, SharedPlan};
use crate::task::{EngineTask, Setup, Task};

/// The engine with its options.
#[derive(Clone)]
struct Uml {
    /// TCP sends at most so many segments at once.
    gso_max_segs: Option<u16>,
    /// The place of packet captures.
    point: Point,
    queues: Queues,
}

/// Reads the options `pcap_at`, `gso_max_segs`, `disciplines` and `offered`.
pub(crate) fn open(options: Options<'_>) -> PyResult<Box<dyn Opened>> {
    let disciplines: Option<String> = options.take("disciplines")?;
    let offered: Option<Vec<String>> = options.take("offered")?;
    let uml = Uml {
        point: options.point()?,
        gso_max_segs: options.take("gso_max_segs")?,
        queues: queues_from(disciplines.as_deref(), offered.unwrap_or_default())?,
    };
    options.finish()?;
    Ok(Box::new(uml))
}

impl Opened for Uml {
    fn task(&self, planned: Arc<Planned>, seed: u64, pcap: Option<PathBuf>) -> Box<dyn Task> {
        Box::new(EngineTask::new(planned, seed, UmlRun { of: self.clone(), pcap }))
    }

    fn threads(&self) -> usize {
        1
    }
}

/// The source of queues called `name`, in a kernel with these disciplines.
fn queues_from(name: Option<&str>, offered: Vec<String>) -> PyResult<Queues> {
    match name {
        None => Ok(Queues::WhereOffered(offered)),
        Some("kernel") => Ok(Queues::Kernel(offered)),
        Some("simulated") => Ok(Queues::Simulated),
        Some(other) => {
            Err(PyValueError::new_err(format!("disciplines is `{other}`: it must be `kernel` or `simulated`")))
        }
    }
}

/// The engine on a kernel with these controllers.
fn engine(algorithms: Listed, queues: Queues, of: Option<&UmlRun>) -> VirtualTime {
    let capture = of.and_then(|run| run.pcap.clone().map(|file| (file, run.of.point)));
    let gso_max_segs = of.and_then(|run| run.of.gso_max_segs);
    VirtualTime(Live { algorithms: Arc::new(algorithms), controllers: None, gso_max_segs, capture, queues })
}

/// Refuses a plan that the kernel that runs now cannot run.
pub(crate) fn check(plan: &Plan) -> Result<(), Failure> {
    check_with(plan, Listed::here(), Queues::Simulated)
}

fn check_with(plan: &Plan, algorithms: Listed, queues: Queues) -> Result<(), Failure> {
    engine(algorithms, queues, None).check(plan).map_err(|failure| Failure::of(failure, plan, None))
}

/// Refuses a plan that a kernel in virtual time with the given controllers and queue disciplines cannot run.
#[pyfunction]
#[pyo3(signature = (plan, controllers, offered, disciplines=None))]
pub(crate) fn check_virtual_time(
    py: Python<'_>,
    plan: &SharedPlan,
    controllers: Vec<String>,
    offered: Vec<String>,
    disciplines: Option<&str>,
) -> PyResult<()> {
    let plan = plan.get(py)?;
    let queues = queues_from(disciplines, offered)?;
    check_with(&plan, Listed::new(controllers), queues).map_err(|failure| failure.into_exception(py))
}

/// Sets up the engine of one run.
struct UmlRun {
    of: Uml,
    pcap: Option<PathBuf>,
}

impl Setup for UmlRun {
    type Engine = VirtualTime;
    type State = ();

    fn engine(&self, _plan: &Plan, _watch: &Arc<Watch>) -> Result<(VirtualTime, ()), Failure> {
        Ok((engine(Listed::here(), self.of.queues.clone(), Some(self)), ()))
    }

    fn failure(&self, plan: &Plan, _state: &(), failure: Option<engine::Failure>) -> Option<Failure> {
        let pcap: Option<&Path> = self.pcap.as_deref();
        failure.map(|failure| Failure::of(failure, plan, pcap))
    }
}
