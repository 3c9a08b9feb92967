//! What the registry says about one controller.

use serde_json::json;

use crate::parameters::check;
use crate::parts::slow_start::{self, Method, Start};
use crate::{Controller, Parameter, ParameterError, Parameters, Variant};

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
    /// What stacks made of it.
    pub variants: &'static [Variant],
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

/// By this parameter a controller has HyStart of its own, which another start takes the place of.
const HYSTART: &str = "hystart";

impl Entry {
    /// Builds the controller with the given parameters, the rest at their defaults. The error says which parameter is
    /// not known or out of its range.
    pub fn build(&self, given: &Parameters) -> Result<Box<dyn Controller>, ParameterError> {
        if self.knows_all(given) {
            check(self.name, self.parameters, given)?;
            return (self.make)(given);
        }
        let (start, mut own) = slow_start::split(self.name, self.parameters, given)?;
        check(self.name, self.parameters, &own)?;
        if !self.starts_slowly() {
            let name = start.keys().next().map_or("", String::as_str);
            return Err(ParameterError(format!("`{}` has a start of its own: `{name}` cannot be set", self.name)));
        }
        let settings = slow_start::Settings::read(&start)?;
        if settings.slow_start != Method::Own && self.parameters.iter().any(|p| p.name == HYSTART) {
            own.insert(HYSTART.to_owned(), json!(false));
        }
        Ok(Box::new(Start::new(settings, (self.make)(&own)?)))
    }

    /// Whether another slow start can take the place of its own: it then has the parameters of
    /// [`SLOW_START`](crate::SLOW_START), too.
    pub fn starts_slowly(&self) -> bool {
        let keeps_name = |own: &Parameter| slow_start::PARAMETERS.iter().any(|p| p.name == own.name);
        !self.parameters.iter().any(keeps_name)
            && (self.make)(&Parameters::new()).is_ok_and(|mut controller| controller.reno().is_some())
    }

    fn knows_all(&self, given: &Parameters) -> bool {
        given.keys().all(|name| self.parameters.iter().any(|p| p.name == name.as_str()))
    }
}
