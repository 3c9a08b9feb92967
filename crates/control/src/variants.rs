//! Which variant of a controller a flow has: that of the stack whose profile it has, or of one that it names.

use serde_json::json;

use crate::nearest::nearest;
use crate::{ParameterError, Parameters, Variant, registry};

/// The parameter by which a scenario names the stack whose variant a controller is.
pub const STACK: &str = "stack";
/// In place of a stack, the paper or the RFC: no parameter differs.
pub const STANDARD: &str = "standard";

/// What is `given` to controller `name` on `stack`, with the parameters by which that stack's differs. `stack` among
/// what is given names another, or [`STANDARD`].
pub fn complete(name: &str, stack: &str, given: &Parameters) -> Result<Parameters, ParameterError> {
    let known = registry::find(name).map_or(&[][..], |entry| entry.variants);
    let mut given = given.clone();
    let chosen = if known.is_empty() { None } else { given.remove(STACK) };
    let values = match chosen {
        None => known.iter().find(|variant| variant.stack == stack).map_or(&[][..], |variant| variant.values),
        Some(chosen) if chosen == json!(STANDARD) => &[],
        Some(chosen) => match known.iter().find(|variant| json!(variant.stack) == chosen) {
            Some(variant) => variant.values,
            None => return Err(unknown(name, &chosen, known)),
        },
    };
    for (parameter, value) in values {
        given.entry((*parameter).to_owned()).or_insert_with(|| value.to_json());
    }
    Ok(given)
}

/// No variant of `name` is called `chosen`.
fn unknown(name: &str, chosen: &serde_json::Value, known: &[Variant]) -> ParameterError {
    let words = || known.iter().map(|variant| variant.stack).chain([STANDARD]);
    let meant = chosen.as_str().and_then(|word| nearest(word, words()));
    let meant = meant.map(|word| format!("did you mean `{word}`? ")).unwrap_or_default();
    let allowed = words().map(|word| format!("\"{word}\"")).collect::<Vec<_>>().join(", ");
    ParameterError(format!("`{name}`, parameter `{STACK}`: {chosen} is not known; {meant}(allowed: {allowed})"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::CONTROLLERS;

    fn given(text: &str) -> Parameters {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn a_stack_with_a_variant_gives_its_parameters_and_others_give_none() {
        assert_eq!(complete("cubic", "linux", &given("{}")).unwrap()["C"], json!(0.4004));
        assert_eq!(complete("cubic", "freebsd-9", &given("{}")).unwrap()["beta"], json!(0.8));
        assert_eq!(complete("cubic", "real-1992", &given("{}")).unwrap(), given("{}"));
        assert_eq!(complete("newreno", "linux", &given("{}")).unwrap(), given("{}"));
    }

    #[test]
    fn what_is_given_goes_before_what_the_stack_has() {
        let completed = complete("cubic", "linux", &given(r#"{"C": 1.5}"#)).unwrap();
        assert_eq!((&completed["C"], &completed["beta"]), (&json!(1.5), &json!(0.7002)));
    }

    #[test]
    fn a_variant_named_in_the_scenario_goes_before_that_of_the_stack() {
        let of = |text: &str| complete("cubic", "linux", &given(text)).unwrap();
        assert_eq!(of(r#"{"stack": "freebsd-9"}"#)["beta"], json!(0.8));
        assert_eq!(of(r#"{"stack": "standard", "C": 1}"#), given(r#"{"C": 1}"#));
        let error = complete("cubic", "linux", &given(r#"{"stack": "linus"}"#)).unwrap_err().to_string();
        assert!(error.starts_with("`cubic`, parameter `stack`: \"linus\" is not known; did you mean `linux`?"));
    }

    #[test]
    fn every_variant_builds_and_differs_from_the_defaults() {
        for entry in CONTROLLERS {
            let name = entry.name;
            for variant in entry.variants {
                let completed = complete(name, variant.stack, &Parameters::new()).unwrap();
                assert!(entry.build(&completed).is_ok(), "{name}, {}", variant.stack);
                for (parameter, value) in variant.values {
                    let declared = entry.parameters.iter().find(|p| p.name == *parameter).unwrap();
                    assert_ne!(declared.default, *value, "{name}, {}, {parameter}", variant.stack);
                }
            }
        }
    }
}
