//! What the registry says about one controller.

use crate::{Controller, Parameter, ParameterError, Parameters};

/// One controller as the registry knows it.
#[derive(Clone, Copy)]
pub struct Entry {
    /// The name in scenarios and on the command line.
    pub name: &'static str,
    /// The name as people write it.
    pub title: &'static str,
    /// What it does, one sentence without final stop.
    pub summary: &'static str,
    /// Paper or RFC.
    pub source: &'static str,
    /// Its parameters, in the order of the paper.
    pub parameters: &'static [Parameter],
    /// Builds it with the given parameters, the rest at their defaults.
    pub build: fn(&Parameters) -> Result<Box<dyn Controller>, ParameterError>,
}

/// Refuses every parameter, for a controller that has none.
pub(crate) fn no_parameters(controller: &str, given: &Parameters) -> Result<(), ParameterError> {
    #[derive(serde::Deserialize)]
    struct None {}
    crate::parameters::read::<None>(controller, &[], given).map(|_| ())
}
