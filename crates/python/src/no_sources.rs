//! Controllers in files where the simulator is built without them: refused by a sentence.

use std::path::Path;
use std::sync::Arc;

use control::{Controller, ControllerRef, Parameters};
use scenario::{Error, Plan, PlannedFlow};

/// Takes the sentence about a controller that failed during a run.
pub(crate) type Report = Arc<dyn Fn(String) + Send + Sync>;

/// None.
pub(crate) struct Sources;

impl Sources {
    /// There is none.
    pub(crate) fn build(&self, _: &Path, _: &Parameters, _: &Report) -> Option<Box<dyn Controller>> {
        None
    }
}

/// Compiles nothing.
#[derive(Default)]
pub(crate) struct Compiled {}

impl Compiled {
    /// Refuses a plan where flows that an engine `takes` have controllers in files.
    pub(crate) fn of(&self, plan: &Plan, takes: fn(&PlannedFlow) -> bool) -> Result<Sources, Error> {
        match plan.flows.iter().find(|flow| takes(flow) && matches!(flow.cc, ControllerRef::Source(_))) {
            None => Ok(Sources),
            Some(flow) => Err(Error {
                file: format!("scenario `{}`, flow `{}`", plan.name, flow.name()),
                line: None,
                key: "cc".to_owned(),
                message: format!(
                    "`{}` is a file, and this ackclock was built without such controllers (they need Linux)",
                    flow.cc
                ),
            }),
        }
    }
}
