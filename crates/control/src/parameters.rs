//! Parameters of controllers: each is declared once, given in a scenario as a table, and checked by name.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::{Value, json};
use units::{Rate, Span};

use crate::nearest::nearest;
pub use crate::range::{Literal, Range};

/// One parameter, as `ackclock show controllers`, the documentation, the JSON schema and checks have it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parameter {
    /// Its name in a scenario's `parameters` table.
    pub name: &'static str,
    /// The default.
    pub default: Literal,
    /// Its unit; `""` for a plain number.
    pub unit: &'static str,
    /// The values allowed.
    pub range: Range,
    /// Its meaning, one sentence without final stop.
    pub meaning: &'static str,
    /// Where it comes from: paper and section, or RFC.
    pub source: &'static str,
}

impl Parameter {
    /// Whether its meaning begins with the word `name`.
    fn is_of(&self, name: &str) -> bool {
        // An article says nothing.
        const SHORTEST_WORD: usize = 4;
        let first = self.meaning.split_whitespace().next().unwrap_or_default();
        first.len() >= SHORTEST_WORD && first.eq_ignore_ascii_case(name)
    }

    /// The JSON schema of its value.
    pub fn schema(&self) -> Value {
        let mut schema = self.range.schema();
        schema["default"] = self.default.to_json();
        let unit = if self.unit.is_empty() { String::new() } else { format!("{}: ", self.unit) };
        schema["description"] = json!(format!("{} ({unit}{})", self.meaning, self.range));
        schema
    }
}

/// The values given to a controller by name. Each controller reads them into its own struct.
pub type Parameters = BTreeMap<String, Value>;

/// Why a controller could not be built. Displays as one sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParameterError(pub String);

impl fmt::Display for ParameterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ParameterError {}

/// Checks the parameters `given` to `controller` against its own. An unknown name is refused with the nearest known
/// one, a value of the wrong kind or out of its range with the values allowed.
pub(crate) fn check(controller: &str, known: &[Parameter], given: &Parameters) -> Result<(), ParameterError> {
    let unknown = given.keys().find(|name| known.iter().all(|p| p.name != name.as_str()));
    if let Some(name) = unknown {
        let all = known.iter().map(|p| format!("`{}`", p.name)).collect::<Vec<_>>().join(", ");
        // `increase` means AIMD's alpha, and is spelled like `decrease`.
        let by_meaning = known.iter().find(|p| p.is_of(name)).map(|p| p.name);
        return Err(ParameterError(match by_meaning.or_else(|| nearest(name, known.iter().map(|p| p.name))) {
            Some(near) => {
                format!("`{controller}` has no parameter `{name}`; did you mean `{near}`? (there are {all})")
            }
            None if known.is_empty() => format!("`{controller}` has no parameters, so `{name}` cannot be set"),
            None => format!("`{controller}` has no parameter `{name}` (there are {all})"),
        }));
    }
    let refuse = |p: &Parameter, why: &str| {
        ParameterError(format!("`{controller}`, parameter `{}`: {why} (allowed: {})", p.name, p.range))
    };
    let mut values = Vec::with_capacity(known.len());
    for p in known {
        let value = given.get(p.name).map_or(Ok(p.default), |value| p.range.read(value));
        values.push(value.map_err(|why| refuse(p, &why))?);
    }
    let other = |name: &str| known.iter().position(|p| p.name == name).map(|at| values[at]);
    for (p, value) in known.iter().zip(&values) {
        if !p.range.contains(*value, other) {
            return Err(refuse(p, &format!("{value} is out of range")));
        }
    }
    Ok(())
}

/// `parameters` with other defaults for those that `others` names: the table of a controller that is another one with
/// some parameters set. A name that is not among them does not compile.
pub(crate) const fn with_defaults<const N: usize>(
    parameters: &[Parameter],
    others: &[(&str, Literal)],
) -> [Parameter; N] {
    let mut table = [parameters[0]; N];
    let mut n = 0;
    while n < N {
        table[n] = parameters[n];
        n += 1;
    }
    let mut other = 0;
    while other < others.len() {
        let (name, default) = others[other];
        let mut at = 0;
        while !same(table[at].name, name) {
            at += 1;
        }
        table[at].default = default;
        other += 1;
    }
    table
}

/// Whether two names are the same, in a constant.
const fn same(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let mut at = 0;
    while at < a.len() && at < b.len() && a[at] == b[at] {
        at += 1;
    }
    a.len() == b.len() && at == a.len()
}

/// The values of `others`, and over them the values `given`.
pub(crate) fn over(others: &[(&str, Literal)], given: &Parameters) -> Parameters {
    let mut all: Parameters = others.iter().map(|(name, value)| ((*name).to_owned(), value.to_json())).collect();
    all.extend(given.clone());
    all
}

/// A type that a parameter can have.
pub(crate) trait Kind: Sized {
    /// The value that `json` holds.
    fn from_json(json: &Value) -> Result<Self, ParameterError>;
}

macro_rules! kinds {
    ($($kind:ty),+) => {$(
        impl Kind for $kind {
            fn from_json(json: &Value) -> Result<Self, ParameterError> {
                serde_json::from_value(json.clone()).map_err(|error| ParameterError(error.to_string()))
            }
        }
    )+};
}

kinds!(f64, u32, Span, Rate, bool);

/// Declares the parameters of a controller, each once. From the declaration come the struct with its documentation and
/// defaults, the table that the registry shows and checks by (`PARAMETERS`), and `read`, which takes values from a
/// scenario that were checked.
///
/// ```text
/// parameters! {
///     /// The parameters.
///     pub struct Settings {
///         /// Increase per round trip in congestion avoidance
///         alpha: f64 = 1.0, unit "segments per RTT", range above(0.0).up_to(1000.0), source "RFC 5681, equation 3";
///         /// Scale of the back-off probability
///         g as "G": Span = Span::from_millis(3),
///             range from(Span::ZERO).up_to(Span::from_secs(10)), source "section 3";
///         /// The window of the fluid model
///         fluid: bool = false, source "section 2";
///     }
/// }
/// ```
///
/// The doc comment is the meaning, one sentence without final stop. `as` gives the name in scenarios where it is no
/// name for a field. The unit is left out for plain numbers, the range for `bool` and for types made by
/// [`choices`](crate::parameters::choices), which have one of their own.
macro_rules! parameters {
    (
        $(#[$about:meta])*
        $visibility:vis struct $settings:ident {$(
            $(#[doc = $meaning:literal])+
            $field:ident $(as $name:literal)?: $kind:ident = $default:expr,
                $(unit $unit:literal,)? $(range $range:expr,)? source $source:literal;
        )+}
    ) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq)]
        $visibility struct $settings {$(
            $(#[doc = $meaning])+
            pub $field: $kind,
        )+}

        impl $settings {
            /// The declaration of each, in the order of the paper.
            $visibility const PARAMETERS: &'static [$crate::Parameter] = &[$(
                $crate::Parameter {
                    name: $crate::parameters::parameters!(@name $field $($name)?),
                    default: $crate::parameters::parameters!(@default $kind $default),
                    unit: concat!("", $($unit)?),
                    range: $crate::parameters::parameters!(@range $kind $($range)?),
                    meaning: concat!($($meaning),+).trim_ascii(),
                    source: $source,
                },
            )+];

            /// The values `given`, checked before, and the rest at its defaults.
            pub(crate) fn read(given: &$crate::Parameters) -> Result<Self, $crate::ParameterError> {
                let mut settings = Self::default();
                settings.change(given)?;
                Ok(settings)
            }

            /// Takes over the values `given`, checked before. The rest stays.
            pub(crate) fn change(&mut self, given: &$crate::Parameters) -> Result<(), $crate::ParameterError> {
                $(
                    if let Some(value) = given.get($crate::parameters::parameters!(@name $field $($name)?)) {
                        self.$field = $crate::parameters::Kind::from_json(value)?;
                    }
                )+
                Ok(())
            }
        }

        impl Default for $settings {
            fn default() -> Self {
                Self { $($field: $default),+ }
            }
        }
    };
    (@name $field:ident) => { stringify!($field) };
    (@name $field:ident $name:literal) => { $name };
    (@default f64 $default:expr) => { $crate::Literal::Number($default) };
    (@default u32 $default:expr) => { $crate::Literal::Integer($default) };
    (@default Span $default:expr) => { $crate::Literal::Time($default) };
    (@default Rate $default:expr) => { $crate::Literal::Rate($default) };
    (@default bool $default:expr) => { $crate::Literal::Switch($default) };
    (@default $choice:ident $default:expr) => { $default.literal() };
    (@range f64 $range:expr) => { $crate::Range::Number($range) };
    (@range u32 $range:expr) => { $crate::Range::Integer($range) };
    (@range Span $range:expr) => { $crate::Range::Time($range) };
    (@range Rate $range:expr) => { $crate::Range::Rate($range) };
    (@range bool) => { $crate::Range::Switch };
    (@range $choice:ident) => { $choice::RANGE };
}
pub(crate) use parameters;

/// Declares a type whose values a scenario chooses by a word, or by a whole number.
///
/// ```text
/// choices! {
///     /// Where RTT samples come from.
///     pub enum RttSource {
///         /// The timestamp option.
///         Timestamp = Word("timestamp"),
///         /// The smoothed RTT of the retransmission timer.
///         Smoothed = Word("smoothed"),
///     }
/// }
/// ```
macro_rules! choices {
    (
        $(#[$about:meta])*
        $visibility:vis enum $choice:ident {$(
            $(#[$meaning:meta])+
            $variant:ident = $kind:ident($literal:literal),
        )+}
    ) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        $visibility enum $choice {$(
            $(#[$meaning])+
            $variant,
        )+}

        impl $choice {
            pub(crate) const RANGE: $crate::Range = $crate::Range::Choice(&[$($crate::Literal::$kind($literal)),+]);

            pub(crate) const fn literal(self) -> $crate::Literal {
                match self {$(
                    Self::$variant => $crate::Literal::$kind($literal),
                )+}
            }
        }

        impl $crate::parameters::Kind for $choice {
            fn from_json(json: &serde_json::Value) -> Result<Self, $crate::ParameterError> {
                [$(Self::$variant),+]
                    .into_iter()
                    .find(|choice| choice.literal().to_json() == *json)
                    .ok_or_else(|| $crate::ParameterError(format!("{json} is not allowed")))
            }
        }
    };
}
pub(crate) use choices;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::range::{above, from};

    choices! {
        /// Which window.
        enum Which {
            /// The first.
            First = Integer(1),
            /// Both.
            Both = Word("both"),
        }
    }

    parameters! {
        /// One parameter of each kind.
        struct Settings {
            /// A share
            share as "S": f64 = 0.5, range above(0.0).below(1.0), source "here";
            /// A count,
            /// in two lines
            count: u32 = 8, unit "segments", range from(1).up_to(64), source "here";
            /// A time
            time: Span = Span::from_millis(3),
                unit "time", range from(Span::ZERO).up_to(Span::from_secs(1)), source "here";
            /// A rate
            rate: Rate = Rate::from_bits_per_second(1_000_000), unit "rate",
                range from(Rate::from_bits_per_second(1000)).up_to(Rate::from_mbit(1000)), source "here";
            /// A switch
            switch: bool = true, source "here";
            /// A choice
            which: Which = Which::Both, source "here";
        }
    }

    fn given(pairs: &[(&str, Value)]) -> Parameters {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect()
    }

    fn refusal(name: &str, value: Value) -> String {
        check("x", Settings::PARAMETERS, &given(&[(name, value)])).unwrap_err().to_string()
    }

    #[test]
    fn the_table_says_what_the_declaration_says() {
        let table: Vec<_> = Settings::PARAMETERS
            .iter()
            .map(|p| format!("{} = {}; {}; {}; {}", p.name, p.default, p.unit, p.range, p.meaning))
            .collect();
        assert_eq!(
            table,
            [
                "S = 0.5; ; above 0, below 1; A share",
                "count = 8; segments; 1 to 64; A count, in two lines",
                "time = 3ms; time; 0s to 1s; A time",
                "rate = 1mbit; rate; 1kbit to 1gbit; A rate",
                "switch = true; ; true or false; A switch",
                "which = both; ; 1 or \"both\"; A choice",
            ]
        );
    }

    #[test]
    fn given_values_are_read_and_the_rest_are_defaults() {
        let given = given(&[("S", json!(0.25)), ("time", json!("7ms")), ("which", json!(1))]);
        assert_eq!(check("x", Settings::PARAMETERS, &given), Ok(()));
        let expected = Settings { share: 0.25, time: Span::from_millis(7), which: Which::First, ..Settings::default() };
        assert_eq!(Settings::read(&given), Ok(expected));
        assert_eq!(Settings::default().count, 8);
    }

    #[test]
    fn a_table_with_other_defaults_differs_in_those_alone() {
        let others = [("count", Literal::Integer(9)), ("switch", Literal::Switch(false))];
        let table: [Parameter; 6] = with_defaults(Settings::PARAMETERS, &others);
        let defaults: Vec<_> = table.iter().map(|p| format!("{} = {}", p.name, p.default)).collect();
        assert_eq!(defaults, ["S = 0.5", "count = 9", "time = 3ms", "rate = 1mbit", "switch = false", "which = both"]);
        let read = Settings::read(&over(&others, &given(&[("count", json!(10))])));
        assert_eq!(read, Ok(Settings { count: 10, switch: false, ..Settings::default() }));
    }

    #[test]
    fn a_refusal_says_controller_parameter_value_and_range() {
        assert_eq!(refusal("count", json!(65)), "`x`, parameter `count`: 65 is out of range (allowed: 1 to 64)");
        assert_eq!(refusal("S", json!(1e300)), "`x`, parameter `S`: 1e300 is out of range (allowed: above 0, below 1)");
        assert_eq!(refusal("which", json!(2)), "`x`, parameter `which`: 2 is not allowed (allowed: 1 or \"both\")");
        assert_eq!(
            refusal("switch", json!(1)),
            "`x`, parameter `switch`: invalid type: integer `1`, expected true or false (allowed: true or false)"
        );
        assert_eq!(
            refusal("S", json!("nan")),
            "`x`, parameter `S`: invalid type: string \"nan\", expected a number (allowed: above 0, below 1)"
        );
        assert_eq!(
            refusal("count", json!(-1)),
            "`x`, parameter `count`: invalid value: integer `-1`, expected a whole number (allowed: 1 to 64)"
        );
    }

    #[test]
    fn the_schema_has_default_unit_and_range() {
        assert_eq!(
            Settings::PARAMETERS[1].schema(),
            json!({
                "type": "integer", "minimum": 1, "maximum": 64, "default": 8,
                "description": "A count, in two lines (segments: 1 to 64)"
            })
        );
    }
}
