//! Which form of a controller a stack has: here and nowhere else.
//!
//! A stack that is not in [`STACKS`], or has no form of a controller there, has the form of the paper or the RFC. So
//! has a QUIC stack.

use serde_json::{Value, json};

use crate::controllers::{freebsd, highspeed, htcp, linux, scalable, yeah};
use crate::nearest::nearest;
use crate::{Form, ParameterError, Parameters};

/// The parameter by which a scenario names the stack whose form a controller has.
pub const STACK: &str = "stack";
/// In place of a stack, the paper or the RFC.
pub const STANDARD: &str = "standard";

/// The stack of the Linux kernel of today, whose forms the programs in `kernel/` have, too.
pub const LINUX: &str = "linux";

/// The controllers of one stack that are not the paper's or the RFC's.
pub struct Stack {
    /// The profile of its flows.
    pub name: &'static str,
    /// The form of each by default, by its name in the registry.
    pub forms: &'static [(&'static str, Form)],
    /// The forms that a flow has only where its parameters name the stack.
    pub on_request: &'static [(&'static str, Form)],
}

/// Every stack with forms of its own.
pub const STACKS: &[Stack] = &[
    Stack {
        name: LINUX,
        forms: &[
            ("bic", linux::bic::FORM),
            ("cubic", linux::cubic::FORM),
            ("highspeed", linux::highspeed::FORM),
            ("htcp", linux::htcp::FORM),
            ("hybla", linux::hybla::FORM),
            ("illinois", linux::illinois::FORM),
            ("scalable", linux::scalable::FORM),
            ("vegas", linux::vegas::FORM),
            ("veno", linux::veno::FORM),
            ("westwood", linux::westwood::FORM),
            ("yeah", yeah::LINUX),
        ],
        on_request: &[
            ("gentle-1", linux::gentle_1::FORM),
            ("gentle-2", linux::gentle_1::SECOND),
            ("newreno", linux::reno::FORM),
            ("pit", linux::pit::FORM),
            ("tcp-c", linux::illinois::TCP_C),
            ("tcp-fq", linux::illinois::TCP_FQ),
            ("tcp-fs", linux::illinois::TCP_FS),
            ("tcp-q", linux::illinois::TCP_Q),
        ],
    },
    Stack {
        name: "linux-3.5",
        forms: &[
            ("cubic", linux::cubic_2_3::CUBIC_2_3),
            ("highspeed", highspeed::LINUX_3_5),
            ("htcp", htcp::LINUX_3_5),
            ("scalable", scalable::LINUX_3_5),
            ("vegas", linux::vegas::FORM),
        ],
        on_request: &[],
    },
    Stack { name: "linux-2.6.33", forms: &[("cubic", linux::cubic_2_3::CUBIC_2_3)], on_request: &[] },
    Stack { name: "ns2-linux", forms: &[("cubic", linux::cubic_2_3::CUBIC_2_6_22)], on_request: &[] },
    Stack { name: "freebsd-9", forms: &[("cubic", freebsd::cubic::FORM)], on_request: &[] },
];

/// The forms of controller `name`, each with its stack.
pub fn of(name: &str) -> impl Iterator<Item = (&'static str, Form)> {
    STACKS.iter().filter_map(move |stack| {
        let mut all = stack.forms.iter().chain(stack.on_request);
        all.find(|(controller, _)| *controller == name).map(|(_, form)| (stack.name, *form))
    })
}

/// Whether flows of the profile `stack` have its form of controller `name` without asking for it.
pub fn is_default(name: &str, stack: &str) -> bool {
    STACKS.iter().any(|one| one.name == stack && one.forms.iter().any(|(controller, _)| *controller == name))
}

/// The form of controller `name` that `stack` names, a string. `None` is the form of the paper or the RFC.
pub(crate) fn named(name: &str, stack: &Value) -> Result<Option<Form>, ParameterError> {
    if *stack == json!(STANDARD) {
        return Ok(None);
    }
    match of(name).find(|(known, _)| *stack == json!(known)) {
        Some((_, form)) => Ok(Some(form)),
        None => Err(unknown(name, stack)),
    }
}

/// The parameters that are `given` to controller `name` in a flow of the profile `stack`, and the name of its form. A
/// form that is named in `given` goes first.
pub fn complete(name: &str, stack: &str, given: &Parameters) -> Result<Parameters, ParameterError> {
    let mut given = given.clone();
    if of(name).next().is_none() {
        return Ok(given);
    }
    match given.get(STACK) {
        Some(chosen) if named(name, chosen)?.is_some() => {}
        Some(_) => drop(given.remove(STACK)),
        None if is_default(name, stack) => drop(given.insert(STACK.to_owned(), json!(stack))),
        None => {}
    }
    Ok(given)
}

/// The sentence for a stack that has no form of `name`.
fn unknown(name: &str, chosen: &Value) -> ParameterError {
    let words = || of(name).map(|(stack, _)| stack).chain([STANDARD]);
    let meant = chosen.as_str().and_then(|word| nearest(word, words()));
    let meant = meant.map(|word| format!("did you mean `{word}`? ")).unwrap_or_default();
    let allowed = words().map(|word| format!("\"{word}\"")).collect::<Vec<_>>().join(", ");
    ParameterError(format!("`{name}`, parameter `{STACK}`: {chosen} is not known; {meant}(allowed: {allowed})"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::{CONTROLLERS, build, find};

    fn given(text: &str) -> Parameters {
        serde_json::from_str(text).unwrap()
    }

    fn default_of(name: &str, stack: &str, parameter: &str) -> Value {
        let (_, form) = of(name).find(|(known, _)| *known == stack).unwrap();
        form.parameters.iter().find(|p| p.name == parameter).unwrap().default.to_json()
    }

    #[test]
    fn a_profile_gives_the_form_of_its_stack_where_there_is_one() {
        let stack = |name, profile| complete(name, profile, &given("{}")).unwrap().remove(STACK);
        assert_eq!(stack("cubic", "linux"), Some(json!("linux")));
        assert_eq!(stack("cubic", "freebsd-9"), Some(json!("freebsd-9")));
        assert_eq!(stack("cubic", "real-1992"), None);
        assert_eq!(stack("newreno", "linux"), None);
        assert_eq!(
            (default_of("cubic", "linux", "C"), default_of("cubic", "ns2-linux", "beta")),
            (json!(0.4004), json!(0.7998))
        );
    }

    #[test]
    fn a_form_that_the_scenario_names_goes_before_that_of_the_profile() {
        let of = |text: &str| complete("cubic", "linux", &given(text)).unwrap();
        assert_eq!(of(r#"{"stack": "freebsd-9"}"#), given(r#"{"stack": "freebsd-9"}"#));
        assert_eq!(of(r#"{"stack": "standard", "C": 1}"#), given(r#"{"C": 1}"#));
        let error = complete("cubic", "linux", &given(r#"{"stack": "linus"}"#)).unwrap_err().to_string();
        assert!(error.starts_with("`cubic`, parameter `stack`: \"linus\" is not known; did you mean `linux`?"));
        assert!(complete("aimd", "linux", &given(r#"{"stack": "linux"}"#)).is_ok());
        let error = build("aimd", &given(r#"{"stack": "linux"}"#)).err().unwrap().to_string();
        assert!(error.starts_with("`aimd` has no parameter `stack`"), "{error}");
    }

    #[test]
    fn a_parameter_of_another_form_is_refused_with_the_stack_that_has_it() {
        let error = |text: &str| build("newreno", &given(text)).err().unwrap().to_string();
        assert_eq!(
            error(r#"{"arithmetic": "linux"}"#),
            "`newreno` has no parameter `arithmetic` in this form; `stack = \"linux\"` computes as Linux"
        );
        let error = build("cubic", &given(r#"{"C": 0.5, "Q": 1}"#)).err().unwrap().to_string();
        assert!(error.starts_with("`cubic` has no parameter `Q`"), "{error}");
    }

    #[test]
    fn every_form_is_of_a_controller_and_builds() {
        for stack in STACKS {
            for (name, _) in stack.forms.iter().chain(stack.on_request) {
                let entry = find(name).unwrap();
                assert!(entry.build(&given(&format!("{{\"stack\": \"{}\"}}", stack.name))).is_ok(), "{name}");
            }
        }
        assert!(CONTROLLERS.iter().any(|entry| of(entry.name).next().is_none()));
    }
}
