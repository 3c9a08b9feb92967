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
    /// The folders with the sources of stacks, if they are not the registry's, by the names of the stacks.
    sources: BTreeMap<&'static str, PathBuf>,
    /// Those that were built.
    built: Mutex<BTreeMap<String, Arc<Foreign>>>,
}

impl UserStacks {
    /// Those from these folders.
    pub(crate) fn new(sources: BTreeMap<&'static str, PathBuf>) -> Self {
        Self { sources, built: Mutex::default() }
    }

    /// The stacks of the flows of `plan`.
    pub(crate) fn of(&self, plan: &Plan) -> Result<Option<Stacks>, Error> {
        let mut stacks: BTreeMap<String, Arc<Foreign>> = BTreeMap::new();
        for flow in &plan.flows {
            let (stack, key) = named(&flow.cc);
            let sources = self.sources.get(stack);
            if key == BUILT_IN && sources.is_none() {
                continue;
            }
            let found = self.stack(&flow.cc, &key, sources).map_err(|error| Error {
                file: format!("scenario `{}`, flow `{}`", plan.name, flow.name()),
                line: None,
                key: "cc".to_owned(),
                message: error.to_string(),
            })?;
            stacks.insert(key, found);
        }
        let find = move |cc: &ControllerRef| stacks.get(&named(cc).1).map(|stack| Arc::clone(stack) as _);
        Ok(Some(Arc::new(find)))
    }

    fn stack(&self, cc: &ControllerRef, key: &str, sources: Option<&PathBuf>) -> Result<Arc<Foreign>, shim::Error> {
        let mut built = self.built.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = built.get(key) {
            return Ok(Arc::clone(known));
        }
        let stack = Foreign::open(cc, sources.map(PathBuf::as_path))?;
        Ok(Arc::clone(built.entry(key.to_owned()).or_insert(stack)))
    }
}

/// The stack that is built in, and runs controllers of ackclock.
const BUILT_IN: &str = "noq";

/// The stack of `cc`, and the name of its object: the spelling of a controller in a file, else the stack's.
fn named(cc: &ControllerRef) -> (&str, String) {
    let stack = cc.stack().map_or(BUILT_IN, |(stack, _)| stack);
    let is_file = cc.file().is_some() && cc.stack().is_some();
    (stack, if is_file { cc.spelling().into_owned() } else { stack.to_owned() })
}
