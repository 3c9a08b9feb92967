//! The registry and what it documents, for every controller in it.

#[allow(dead_code, reason = "each test takes what it needs of the common part")]
mod common;

use common::{default_controller, one, probes, value};
use control::registry::{CONTROLLERS, build, find};
use control::{Parameter, Parameters};
use serde_json::{Value, json};
use units::Span;

/// A parameter of each controller, where it has any.
fn parameters() -> impl Iterator<Item = (&'static str, &'static Parameter)> {
    CONTROLLERS.iter().flat_map(|entry| entry.parameters.iter().map(|parameter| (entry.name, parameter)))
}

/// Why `name` refuses `value` for `parameter`; `None` if it does not.
fn refusal(name: &str, parameter: &Parameter, value: Value) -> Option<String> {
    build(name, &one(parameter.name, value)).err().map(|error| error.to_string())
}

#[test]
fn names_are_in_alphabetical_order_and_unique() {
    assert!(CONTROLLERS.is_sorted_by(|a, b| a.name < b.name));
}

#[test]
fn every_controller_and_parameter_is_described() {
    for entry in CONTROLLERS {
        for text in [entry.title, entry.summary, entry.source] {
            assert!(!text.is_empty() && !text.ends_with('.'), "{}: {text:?}", entry.name);
        }
    }
    for (name, p) in parameters() {
        for text in [p.default, p.range, p.meaning, p.source] {
            assert!(!text.is_empty() && !text.ends_with('.'), "{name}, {}: {text:?}", p.name);
        }
    }
}

#[test]
fn every_controller_builds_with_its_documented_defaults() {
    for entry in CONTROLLERS {
        let documented: Parameters = entry.parameters.iter().map(|p| (p.name.to_string(), value(p.default))).collect();
        let built = (entry.build)(&documented).unwrap();
        let default = default_controller(entry);
        assert_eq!(probes(&*built), probes(&*default), "{}", entry.name);
        assert_eq!(built.window(), default.window());
    }
}

#[test]
fn an_unknown_controller_is_refused_with_the_nearest_name() {
    for (given, meant) in [("cubik", "cubic"), ("reno", "newreno"), ("CDG", "cdg"), ("vegass", "vegas")] {
        let error = find(given).err().unwrap().to_string();
        assert!(error.contains(&format!("no controller `{given}`; did you mean `{meant}`?")), "{error}");
    }
}

#[test]
fn an_unknown_parameter_is_refused_with_the_nearest_name() {
    let error = build("cdg", &one("beta", json!(0.5))).err().unwrap().to_string();
    assert!(error.starts_with("`cdg` has no parameter `beta`; did you mean `beta_"), "{error}");
    let error = build("newreno", &one("beta", json!(0.5))).err().unwrap().to_string();
    assert_eq!(error, "`newreno` has no parameters, so `beta` cannot be set");
    for entry in CONTROLLERS {
        let error = (entry.build)(&one("no_such_thing", json!(1))).err().unwrap().to_string();
        assert!(error.contains(entry.name) && error.contains("no_such_thing"), "{error}");
    }
}

#[test]
fn a_refusal_names_controller_parameter_value_and_range() {
    assert_eq!(
        build("aimd", &one("beta", json!(1.5))).err().unwrap().to_string(),
        "`aimd`, parameter `beta`: 1.5 is out of range (allowed: above 0, below 1)"
    );
    let error = build("cdg", &one("G", json!(3))).err().unwrap().to_string();
    assert!(
        error.starts_with("`cdg`, parameter `G`: invalid type: integer `3`, expected Span with its unit"),
        "{error}"
    );
}

#[test]
fn numbers_out_of_range_are_refused_and_zero_only_where_the_range_starts_with_it() {
    let mut tried = 0;
    for (name, p) in parameters() {
        let Ok(Value::Number(_)) = serde_json::from_str(p.default) else { continue };
        tried += 1;
        for wrong in [json!(-1), json!(-0.5), json!(1e300), json!(u64::MAX), json!("1"), json!(true), json!(null)] {
            let why = refusal(name, p, wrong.clone());
            assert!(why.as_ref().is_some_and(|why| why.contains(p.range)), "{name}, {} = {wrong}: {why:?}", p.name);
        }
        let zero_allowed = p.range.starts_with("0 ");
        assert_eq!(refusal(name, p, json!(0)).is_none(), zero_allowed, "{name}, {} = 0", p.name);
    }
    assert!(tried > 0);
}

#[test]
fn times_out_of_range_are_refused_and_zero_only_where_the_range_starts_with_it() {
    let mut tried = 0;
    for (name, p) in parameters() {
        if p.default.parse::<Span>().is_err() {
            continue;
        }
        tried += 1;
        for wrong in [json!(3), json!("3"), json!("-1ms"), json!("1000000s"), json!("1e300s"), json!("soon")] {
            assert!(refusal(name, p, wrong.clone()).is_some(), "{name}, {} = {wrong}", p.name);
        }
        assert_eq!(refusal(name, p, json!("0s")).is_none(), p.range.starts_with("0s "), "{name}, {} = 0s", p.name);
    }
    assert!(tried > 0);
}

#[test]
fn truth_values_and_choices_take_nothing_else() {
    for (name, p) in parameters().filter(|(_, p)| p.range == "true or false" || p.range.contains('"')) {
        for wrong in [json!(1), json!("maybe"), json!(null)] {
            assert!(refusal(name, p, wrong.clone()).is_some(), "{name}, {} = {wrong}", p.name);
        }
    }
    assert_eq!(
        refusal(
            "cdg",
            find("cdg").unwrap().parameters.iter().find(|p| p.name == "shadow_resync").unwrap(),
            json!("after")
        ),
        None
    );
}
