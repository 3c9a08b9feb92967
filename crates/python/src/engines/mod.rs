//! The engines that Python may ask for by name. An engine is a file here and a line in [`ENGINES`].

#[cfg(feature = "live")]
pub(crate) mod live;
#[cfg(feature = "quic")]
mod quic;
#[cfg(all(feature = "live", feature = "quic"))]
mod quic_live;
pub(crate) mod simulation;
#[cfg(feature = "live")]
pub(crate) mod uml;

use std::path::PathBuf;
use std::sync::Arc;

use engine::Engine as _;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use record::pcapng::Point;
use scenario::Plan;

use crate::failure::Failure;
use crate::plan::{Planned, SharedPlan};
use crate::task::Task;
use crate::threads::PythonThreads;

/// An engine, as Python may ask for it.
struct Entry {
    /// Its name in results, on the command line and in Python.
    name: &'static str,
    /// Refuses a plan that it cannot run on this machine.
    check: fn(&Plan) -> Result<(), Failure>,
    /// Reads its options.
    open: fn(Options<'_>) -> PyResult<Box<dyn Opened>>,
}

/// Every engine that is built in, the default first.
const ENGINES: &[Entry] = &[
    Entry { name: sim::Simulator::KIND, check: simulation::check, open: simulation::open },
    #[cfg(feature = "quic")]
    Entry { name: ::quic::Quic::KIND, check: quic::check, open: quic::open::<::quic::Quic> },
    #[cfg(feature = "live")]
    Entry { name: ::live::Live::KIND, check: live::check, open: live::open },
    #[cfg(all(feature = "live", feature = "quic"))]
    Entry { name: ::live::QuicLive::KIND, check: quic_live::check, open: quic::open::<::live::QuicLive> },
    #[cfg(feature = "live")]
    Entry { name: ::live::VirtualTime::KIND, check: uml::check, open: uml::open },
];

/// An engine with its options.
pub(crate) trait Opened {
    /// The run of `planned` with `seed`, which writes its packets to `pcap`, if anywhere.
    fn task(&self, planned: Arc<Planned>, seed: u64, pcap: Option<PathBuf>) -> Box<dyn Task>;

    /// How many runs go on at the same time unless the caller says.
    fn threads(&self) -> usize;

    /// The threads of its runs, if they call Python.
    fn python_threads(&self) -> Option<Arc<PythonThreads>> {
        None
    }
}

/// The engine called `name` with `options`.
pub(crate) fn open(name: &str, options: Option<&Bound<'_, PyDict>>, py: Python<'_>) -> PyResult<Box<dyn Opened>> {
    let left = options.map_or_else(|| Ok(PyDict::new(py)), |options| options.copy())?;
    (find(name)?.open)(Options { engine: name, left })
}

fn find(name: &str) -> PyResult<&'static Entry> {
    ENGINES.iter().find(|entry| entry.name == name).ok_or_else(|| {
        let known: Vec<_> = ENGINES.iter().map(|entry| entry.name).collect();
        PyValueError::new_err(format!("there is no engine `{name}` (there are {})", known.join(", ")))
    })
}

/// The options of an engine, of which it takes those that it knows.
pub(crate) struct Options<'py> {
    engine: &'py str,
    left: Bound<'py, PyDict>,
}

impl<'py> Options<'py> {
    /// The option `name`, if it is given.
    pub(crate) fn take<T>(&self, name: &str) -> PyResult<Option<T>>
    where
        T: for<'a> FromPyObject<'a, 'py, Error: Into<PyErr>>,
    {
        let Some(value) = self.left.get_item(name)? else { return Ok(None) };
        self.left.del_item(name)?;
        if value.is_none() { Ok(None) } else { value.extract().map(Some).map_err(Into::into) }
    }

    /// The place of packet captures.
    pub(crate) fn point(&self) -> PyResult<Point> {
        let point: Option<String> = self.take("pcap_at")?;
        point.map_or(Ok(Point::Sender), |point| point.parse().map_err(PyValueError::new_err))
    }

    /// Refuses the options that were not taken.
    pub(crate) fn finish(self) -> PyResult<()> {
        match self.left.keys().get_item(0) {
            Ok(name) => Err(PyTypeError::new_err(format!("the engine `{}` has no option `{name}`", self.engine))),
            Err(_) => Ok(()),
        }
    }
}

/// The names of the engines that are built in, the default first.
#[pyfunction]
pub(crate) fn engines() -> Vec<&'static str> {
    ENGINES.iter().map(|entry| entry.name).collect()
}

/// True if runs over QUIC can write the log of their stack.
#[pyfunction]
pub(crate) fn has_qlog() -> bool {
    cfg!(feature = "qlog")
}

/// Refuses a plan that the engine called `name` cannot run on this machine.
#[pyfunction]
#[pyo3(name = "check")]
pub(crate) fn check_plan(py: Python<'_>, name: &str, plan: &SharedPlan) -> PyResult<()> {
    let entry = find(name)?;
    let plan = plan.get(py)?;
    (entry.check)(&plan).map_err(|failure| failure.into_exception(py))
}
