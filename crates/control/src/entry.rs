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
    /// What it shows in traces, in the order in which [`Controller::probe`] does.
    pub probes: &'static [Quantity],
    /// Makes it with the given parameters, which were checked, and the rest at their defaults.
    pub(crate) make: fn(&Parameters) -> Result<Box<dyn Controller>, ParameterError>,
}

/// A quantity that a controller shows in traces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quantity {
    /// Its name in tables; it ends with the unit where that is one of time.
    pub name: &'static str,
    /// Its unit; `""` for a plain number or a state.
    pub unit: &'static str,
    /// What it is, one sentence without final stop.
    pub meaning: &'static str,
}

impl Quantity {
    /// The quantity `name` in `unit`.
    pub const fn new(name: &'static str, unit: &'static str, meaning: &'static str) -> Self {
        Self { name, unit, meaning }
    }
}

impl Entry {
    /// Builds the controller with the given parameters, the rest at their defaults. The error says which parameter is
    /// not known or out of its range.
    pub fn build(&self, given: &Parameters) -> Result<Box<dyn Controller>, ParameterError> {
        check(self.name, self.parameters, given)?;
        (self.make)(given)
    }
}
