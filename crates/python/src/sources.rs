//! Controllers in files, for the simulator. C is compiled, and objects are loaded, when the first run of a batch asks
//! for them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use control::{Controller, ControllerRef, Parameters};
use scenario::{Error, Plan, PlannedFlow};
pub(crate) use shim::Report;
use shim::{Plugin, Source};

/// A controller in a file.
#[derive(Clone)]
enum Code {
    C(Arc<Source>),
    Object(Arc<Plugin>),
}

impl Code {
    fn open(cc: &ControllerRef, path: &Path) -> Result<Self, shim::Error> {
        if cc.is_object() {
            Plugin::open(path).map(Self::Object)
        } else {
            Source::open(path).map(|source| Self::C(Arc::new(source)))
        }
    }

    /// The code for one run.
    fn for_run(self) -> Self {
        match self {
            Self::C(source) => Self::C(Arc::new(source.for_run())),
            object @ Self::Object(_) => object,
        }
    }

    fn build(&self, parameters: &Parameters, report: &Report) -> Result<Box<dyn Controller>, shim::Error> {
        match self {
            Self::C(source) => source.build(parameters),
            Self::Object(plugin) => plugin.build(parameters, report.clone()),
        }
    }
}

/// Controllers by their files.
#[derive(Default)]
pub(crate) struct Sources(BTreeMap<PathBuf, Code>);

impl Sources {
    /// A controller for one flow, from the file at `path`.
    pub(crate) fn build(&self, path: &Path, given: &Parameters, report: &Report) -> Option<Box<dyn Controller>> {
        self.0.get(path)?.build(given, report).ok()
    }
}

/// Those that a batch has compiled or loaded.
#[derive(Default)]
pub(crate) struct Compiled(Mutex<BTreeMap<PathBuf, Code>>);

impl Compiled {
    /// The controllers in files of the flows of `plan` that an engine `takes`. The error says why one of these flows
    /// cannot have its own.
    pub(crate) fn of(&self, plan: &Plan, takes: fn(&PlannedFlow) -> bool) -> Result<Sources, Error> {
        let mut sources = BTreeMap::new();
        for flow in plan.flows.iter().filter(|flow| takes(flow)) {
            // One of a QUIC stack is built with the stack.
            let (ControllerRef::Source(path), None) = (&flow.cc, flow.cc.stack()) else { continue };
            let refuse = |key: &str, error: shim::Error| {
                let file = format!("scenario `{}`, flow `{}`", plan.name, flow.name());
                Error { file, line: None, key: key.to_owned(), message: error.to_string() }
            };
            if !sources.contains_key(path) {
                let code = self.code(&flow.cc, path).map_err(|error| refuse("cc", error))?;
                sources.insert(path.clone(), code.for_run());
            }
            let silent: Report = Arc::new(|_| {});
            let built = sources[path].build(&flow.parameters, &silent);
            built.map_err(|error| match error {
                shim::Error::Source(_) => refuse("cc", error),
                shim::Error::Parameter(_) => refuse("parameters", error),
            })?;
        }
        Ok(Sources(sources))
    }

    /// The controller in the file at `path`, compiled or loaded once for all runs of the batch.
    fn code(&self, cc: &ControllerRef, path: &Path) -> Result<Code, shim::Error> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match known.get(path) {
            Some(code) => Ok(code.clone()),
            None => {
                let code = Code::open(cc, path)?;
                Ok(known.entry(path.to_owned()).or_insert(code).clone())
            }
        }
    }
}
