//! Registry entry of one controller.

use serde_json::json;

use crate::parameters::check;
use crate::parts::slow_start::{self, Method, Start};
use crate::stacks::{self, STACK};
use crate::{Controller, Parameter, ParameterError, Parameters};

/// One controller as the registry knows it.
#[derive(Clone, Copy)]
pub struct Entry {
    /// The name in scenarios and on the command line.
    pub name: &'static str,
    /// The name as people write it.
    pub title: &'static str,
    /// A description of one sentence without final stop.
    pub summary: &'static str,
    /// Paper or RFC.
    pub source: &'static str,
    /// Its purpose, by which `ackclock check` tests it.
    pub aim: Aim,
    /// Its parameters, in the order of the paper.
    pub parameters: &'static [Parameter],
    /// Its values in traces, in the order of [`Controller::probe`].
    pub probes: &'static [Quantity],
    /// Makes it with the given parameters, which were checked, and the rest at their defaults.
    pub make: Make,
}

/// The purpose of a controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aim {
    /// Any path of the Internet, beside Reno and CUBIC.
    General,
    /// Paths that Reno cannot fill, where it may take more than Reno there.
    Fast,
    /// Short queues; yields to flows that fill them.
    Delay,
    /// Background transfers, which yield to all others (RFC 6297).
    Scavenger,
    /// Queues that mark (accurate ECN), apart from other flows.
    Marks,
}

impl Aim {
    /// Its name in the catalogue and on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::General => "general",
            Self::Fast => "fast",
            Self::Delay => "delay",
            Self::Scavenger => "scavenger",
            Self::Marks => "marks",
        }
    }
}

/// Makes a controller with the given parameters, which were checked, and the rest at their defaults.
pub type Make = fn(&Parameters) -> Result<Box<dyn Controller>, ParameterError>;

/// A controller as one stack has it. The form of the paper or the RFC is in its [`Entry`], other forms are in
/// [`STACKS`](crate::stacks::STACKS).
#[derive(Clone, Copy)]
pub struct Form {
    /// Its parameters, with the defaults of the stack.
    pub parameters: &'static [Parameter],
    /// The quantities that it shows in traces.
    pub probes: &'static [Quantity],
    /// Makes it.
    pub(crate) make: Make,
}

/// A quantity that a controller shows in traces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quantity {
    /// Its name in tables. It ends with the unit if that is one of time.
    pub name: &'static str,
    /// Its unit; `""` for a plain number or a state.
    pub unit: &'static str,
    /// Its meaning, one sentence without final stop.
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
    /// Builds the controller with the given parameters, the rest at their defaults. `stack` among them names the form.
    /// The error says which parameter is not known or out of its range.
    pub fn build(&self, given: &Parameters) -> Result<Box<dyn Controller>, ParameterError> {
        let (form, given) = self.chosen(given)?;
        if form.knows_all(&given) {
            check(self.name, form.parameters, &given)?;
            return (form.make)(&given);
        }
        let (start, mut own) = slow_start::split(self.name, form.parameters, &given)?;
        check(self.name, form.parameters, &own).map_err(|error| self.hint(&form, &own).unwrap_or(error))?;
        if !form.starts_slowly() {
            let name = start.keys().next().map_or("", String::as_str);
            return Err(ParameterError(format!("`{}` has a start of its own: `{name}` cannot be set", self.name)));
        }
        let settings = slow_start::Settings::read(&start)?;
        if settings.slow_start != Method::Own && form.knows(HYSTART) {
            own.insert(HYSTART.to_owned(), json!(false));
        }
        Ok(Box::new(Start::new(settings, (form.make)(&own)?)))
    }

    /// As [`Entry::build`], in the form of `stack` where there is one.
    pub fn build_for(&self, stack: &str, given: &Parameters) -> Result<Box<dyn Controller>, ParameterError> {
        let mut given = given.clone();
        if self.form(stack).is_some() {
            given.insert(STACK.to_owned(), json!(stack));
        }
        self.build(&given)
    }

    /// The form of `stack`, if it has one of its own.
    pub fn form(&self, stack: &str) -> Option<Form> {
        stacks::of(self.name).find(|(name, _)| *name == stack).map(|(_, form)| form)
    }

    /// The form of the paper or the RFC.
    pub fn standard(&self) -> Form {
        Form { parameters: self.parameters, probes: self.probes, make: self.make }
    }

    /// Whether another slow start can take the place of its own: it then has the parameters of
    /// [`SLOW_START`](crate::SLOW_START), too.
    pub fn starts_slowly(&self) -> bool {
        self.standard().starts_slowly()
    }

    /// The form that `given` names, and the rest of `given`.
    fn chosen(&self, given: &Parameters) -> Result<(Form, Parameters), ParameterError> {
        let mut given = given.clone();
        let form = match given.get(STACK).filter(|_| stacks::of(self.name).next().is_some()) {
            Some(stack) => stacks::named(self.name, stack)?,
            None => return Ok((self.standard(), given)),
        };
        given.remove(STACK);
        Ok((form.unwrap_or_else(|| self.standard()), given))
    }

    /// The sentence for a parameter that another form has and `chosen` has not.
    fn hint(&self, chosen: &Form, given: &Parameters) -> Option<ParameterError> {
        let forms = || [(stacks::STANDARD, self.standard())].into_iter().chain(stacks::of(self.name));
        given.keys().filter(|name| !chosen.knows(name)).find_map(|name| {
            let (stack, _) =
                forms().find(|(stack, form)| form.knows(name) || (name == OLD_KEY && *stack == "linux"))?;
            let message = format!("`{}` has no parameter `{name}` in this form; `{STACK} = \"{stack}\"`", self.name);
            Some(ParameterError(message + if name == OLD_KEY { " computes as Linux" } else { " has it" }))
        })
    }
}

/// The key that chose Linux's form before [`STACK`] did.
const OLD_KEY: &str = "arithmetic";

impl Form {
    fn knows(&self, name: &str) -> bool {
        self.parameters.iter().any(|p| p.name == name)
    }

    fn knows_all(&self, given: &Parameters) -> bool {
        given.keys().all(|name| self.knows(name))
    }

    fn starts_slowly(&self) -> bool {
        !slow_start::PARAMETERS.iter().any(|own| self.knows(own.name))
            && (self.make)(&Parameters::new()).is_ok_and(|mut controller| controller.reno().is_some())
    }
}

/// The form with `$settings`, other values of them, and the probes of `$entry`: `with_values!(cubic::Settings,
/// cubic::Cubic, cubic::ENTRY, &[("beta", Literal::Number(0.8))])`.
macro_rules! with_values {
    ($settings:ty, $controller:ty, $entry:expr, $values:expr) => {
        $crate::entry::Form {
            parameters: &$crate::parameters::with_defaults::<{ <$settings>::PARAMETERS.len() }>(
                <$settings>::PARAMETERS,
                $values,
            ),
            probes: $entry.probes,
            make: |given| {
                let settings = <$settings>::read(&$crate::parameters::over($values, given))?;
                Ok(Box::new(<$controller>::new(settings)))
            },
        }
    };
}
pub(crate) use with_values;
