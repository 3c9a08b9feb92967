//! Controllers in C, for the simulator: compiled when the first run of a batch asks for them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use control::{Controller, ControllerRef, Parameters};
use scenario::{Error, Plan};
use shim::Source;

/// Controllers in C by their files.
#[derive(Default)]
pub(crate) struct Sources(BTreeMap<PathBuf, Arc<Source>>);

impl Sources {
    /// A controller for one flow, from the file at `path`.
    pub(crate) fn build(&self, path: &Path, parameters: &Parameters) -> Option<Box<dyn Controller>> {
        self.0.get(path)?.build(parameters).ok()
    }
}

/// Those that a batch has compiled.
#[derive(Default)]
pub(crate) struct Compiled(Mutex<BTreeMap<PathBuf, Arc<Source>>>);

impl Compiled {
    /// The controllers of `plan` that are files in C. What keeps one of its flows from having its own is the answer
    /// instead.
    pub(crate) fn of(&self, plan: &Plan) -> Result<Sources, Error> {
        let mut sources = BTreeMap::new();
        for flow in &plan.flows {
            let ControllerRef::Source(path) = &flow.cc else { continue };
            let refuse = |key: &str, error: shim::Error| {
                let file = format!("scenario `{}`, flow `{}`", plan.name, flow.name);
                Error { file, line: None, key: key.to_owned(), message: error.to_string() }
            };
            if !sources.contains_key(path) {
                sources.insert(path.clone(), self.source(path).map_err(|error| refuse("cc", error))?);
            }
            let built = sources[path].build(&flow.parameters);
            built.map_err(|error| match error {
                shim::Error::Source(_) => refuse("cc", error),
                shim::Error::Parameter(_) => refuse("parameters", error),
            })?;
        }
        Ok(Sources(sources))
    }

    /// The controller in the file at `path`: for all runs of the batch the same.
    fn source(&self, path: &Path) -> Result<Arc<Source>, shim::Error> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match known.get(path) {
            Some(source) => Ok(source.clone()),
            None => {
                let source = Arc::new(Source::open(path)?);
                Ok(known.entry(path.to_owned()).or_insert(source).clone())
            }
        }
    }
}
