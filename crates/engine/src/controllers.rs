//! The controllers of flows.

use std::sync::Arc;

use control::{Controller, ControllerRef, Parameters};
use scenario::PlannedFlow;

use crate::Failure;

/// Makes the controllers that the registry does not know: asked for each flow, with its parameters.
pub type Factory = Arc<dyn Fn(&ControllerRef, &Parameters) -> Option<Box<dyn Controller>> + Send + Sync>;

/// The controller of `flow` with the `parameters` that the engine takes of it.
///
/// # Errors
/// [`Failure::Controller`] if neither `factory` nor the registry has it, or not with these parameters.
pub fn controller(
    factory: Option<&Factory>,
    flow: &PlannedFlow,
    parameters: &Parameters,
) -> Result<Box<dyn Controller>, Failure> {
    match factory.and_then(|make| make(&flow.cc, parameters)) {
        Some(controller) => Ok(controller),
        None => control::registry::build(&flow.cc.spelling(), parameters)
            .map_err(|error| Failure::Controller(format!("flow `{}`: {error}", flow.name))),
    }
}
