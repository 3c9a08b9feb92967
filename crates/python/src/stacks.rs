//! QUIC stacks of the user for the engines on QUIC: with a controller in a file, or from sources of his own. Each is
//! built when the first run of a batch asks for it.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use control::ControllerRef;
use quic::Stacks;
use scenario::{Error, Plan};
use shim::Foreign;

/// The stacks of a batch.
#[derive(Default)]
pub(crate) struct UserStacks {
    /// The folder with the sources of noq, if they are not the registry's.
    noq: Option<PathBuf>,
    /// Those that were built, by the file of their controller.
    built: Mutex<BTreeMap<Option<PathBuf>, Arc<Foreign>>>,
}

impl UserStacks {
    pub(crate) fn new(noq: Option<PathBuf>) -> Self {
        Self { noq, built: Mutex::default() }
    }

    /// The stacks of the flows of `plan`.
    pub(crate) fn of(&self, plan: &Plan) -> Result<Option<Stacks>, Error> {
        let mut stacks: BTreeMap<Option<PathBuf>, Arc<Foreign>> = BTreeMap::new();
        for flow in &plan.flows {
            let key = key(&flow.cc);
            if key.is_none() && self.noq.is_none() {
                continue;
            }
            let stack = self.stack(&flow.cc, key.clone()).map_err(|error| Error {
                file: format!("scenario `{}`, flow `{}`", plan.name, flow.name),
                line: None,
                key: "cc".to_owned(),
                message: error.to_string(),
            })?;
            stacks.insert(key, stack);
        }
        let find = move |cc: &ControllerRef| stacks.get(&key(cc)).map(|stack| Arc::clone(stack) as _);
        Ok(Some(Arc::new(find)))
    }

    fn stack(&self, cc: &ControllerRef, key: Option<PathBuf>) -> Result<Arc<Foreign>, shim::Error> {
        let mut built = self.built.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = built.get(&key) {
            return Ok(Arc::clone(known));
        }
        let stack = Foreign::open(key.is_some().then_some(cc), self.noq.as_deref())?;
        Ok(Arc::clone(built.entry(key).or_insert(stack)))
    }
}

/// The spelling of a controller of a stack that is in a file.
fn key(cc: &ControllerRef) -> Option<PathBuf> {
    match cc {
        ControllerRef::Source(spelled) if cc.stack().is_some() => Some(spelled.clone()),
        _ => None,
    }
}
