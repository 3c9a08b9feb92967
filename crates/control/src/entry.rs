//! What the registry says about one controller.

use crate::parameters::check;
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
    /// Makes it with the given parameters, which were checked, and the rest at their defaults.
    pub(crate) make: fn(&Parameters) -> Result<Box<dyn Controller>, ParameterError>,
}

impl Entry {
    /// Builds the controller with the given parameters, the rest at their defaults. The error says which parameter is
    /// not known or out of its range.
    pub fn build(&self, given: &Parameters) -> Result<Box<dyn Controller>, ParameterError> {
        check(self.name, self.parameters, given)?;
        (self.make)(given)
    }
}
