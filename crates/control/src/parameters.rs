//! Parameters of controllers: described as data, given as a table, checked by name.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::DeserializeOwned;
use serde_json::Value;

/// One parameter as documentation shows it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parameter {
    /// Its name in a scenario's `parameters` table.
    pub name: &'static str,
    /// The default as it would be written.
    pub default: &'static str,
    /// Its unit; `""` for a plain number.
    pub unit: &'static str,
    /// What is allowed, in words.
    pub range: &'static str,
    /// What it does, one sentence without final stop.
    pub meaning: &'static str,
    /// Where it comes from: paper and section, or RFC.
    pub source: &'static str,
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

/// Reads `given` into the parameter struct of `controller`: an unknown name is refused with the nearest known one,
/// a value out of type with what the parameter is.
pub(crate) fn read<P: DeserializeOwned>(
    controller: &str,
    known: &[Parameter],
    given: &Parameters,
) -> Result<P, ParameterError> {
    for name in given.keys() {
        if known.iter().any(|p| p.name == name) {
            continue;
        }
        let near = nearest(known.iter().map(|p| p.name), name);
        return Err(ParameterError(match near {
            Some(near) => format!(
                "`{controller}` has no parameter `{name}`; did you mean `{near}`? (there are {})",
                known.iter().map(|p| format!("`{}`", p.name)).collect::<Vec<_>>().join(", ")
            ),
            None => format!("`{controller}` has no parameters, so `{name}` cannot be set"),
        }));
    }
    // One at a time first, so that the message names the parameter that is wrong.
    for (name, value) in given {
        let one = Value::Object([(name.clone(), value.clone())].into_iter().collect());
        if let Err(error) = serde_json::from_value::<P>(one) {
            let p = known.iter().find(|p| p.name == name);
            let range = p.map_or("", |p| p.range);
            return Err(ParameterError(format!("`{controller}`, parameter `{name}`: {error} (allowed: {range})")));
        }
    }
    let all = Value::Object(given.iter().map(|(k, v)| (k.clone(), v.clone())).collect());
    serde_json::from_value(all).map_err(|error| ParameterError(format!("`{controller}`: {error}")))
}

/// The name among `known` that `given` was most likely meant to be: one that contains it, or that it contains,
/// before one that is spelled alike.
pub(crate) fn nearest<'a>(known: impl Iterator<Item = &'a str>, given: &str) -> Option<&'a str> {
    let given = given.to_lowercase();
    let likeness = |name: &str| {
        let name = name.to_lowercase();
        let contained = name.contains(&given) || given.contains(&name);
        f64::from(u8::from(contained)) + strsim::jaro_winkler(&name, &given)
    };
    known.max_by(|a, b| likeness(a).total_cmp(&likeness(b)))
}

/// `Ok` if `holds`, otherwise the sentence for `value` out of the range that `known` tells for parameter `name`.
pub(crate) fn require(
    controller: &str,
    known: &[Parameter],
    name: &str,
    value: impl fmt::Display,
    holds: bool,
) -> Result<(), ParameterError> {
    if holds {
        return Ok(());
    }
    let range = known.iter().find(|p| p.name == name).map_or("", |p| p.range);
    let value = value.to_string();
    // A number of hundreds of digits, as 1e300.
    let value = value.parse::<f64>().ok().filter(|_| value.len() > 24).map_or(value, |number| format!("{number:e}"));
    Err(ParameterError(format!("`{controller}`, parameter `{name}`: {value} is out of range (allowed: {range})")))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use serde::Serialize;

    /// The value that `text` writes: a number or a truth value where it reads as one, otherwise a string.
    fn value(text: &str) -> Value {
        serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.into()))
    }

    /// The table documents every field of `P` once, and every documented default is the real one.
    pub(crate) fn table_agrees_with_defaults<P>(controller: &str, known: &[Parameter])
    where
        P: Default + DeserializeOwned + Serialize + PartialEq + fmt::Debug,
    {
        for p in known {
            let one = Parameters::from([(p.name.to_string(), value(p.default))]);
            assert_eq!(read::<P>(controller, known, &one).unwrap(), P::default(), "default of `{}`", p.name);
        }
        let fields = serde_json::to_value(P::default()).unwrap();
        let mut documented: Vec<&str> = known.iter().map(|p| p.name).collect();
        documented.sort_unstable();
        let mut present: Vec<&String> = fields.as_object().unwrap().keys().collect();
        present.sort_unstable();
        assert_eq!(documented, present);
    }

    #[test]
    fn a_value_out_of_range_is_named_with_what_is_allowed() {
        let known = [Parameter { name: "a", default: "8", unit: "", range: "0 to 64", meaning: "", source: "" }];
        assert_eq!(
            require("cdg", &known, "a", 65, false).unwrap_err().to_string(),
            "`cdg`, parameter `a`: 65 is out of range (allowed: 0 to 64)"
        );
        assert_eq!(
            require("cdg", &known, "a", 1e300, false).unwrap_err().to_string(),
            "`cdg`, parameter `a`: 1e300 is out of range (allowed: 0 to 64)"
        );
        assert_eq!(require("cdg", &known, "a", 64, true), Ok(()));
    }
}
