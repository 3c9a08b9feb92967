//! Helpers for the tests over all controllers.

#![allow(dead_code, reason = "each test takes what it needs of the common part")]

use std::collections::BTreeMap;

use control::registry::CONTROLLERS;
use control::stacks::{self, STACK};
use control::{Controller, Entry, Form, Parameters, Probe};
use serde_json::{Value, json};

/// The value that a documented default writes: a number or a truth value where it reads as one, otherwise a string.
pub(crate) fn value(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.into()))
}

/// One parameter given, the rest at their defaults.
pub(crate) fn one(name: &str, value: Value) -> Parameters {
    BTreeMap::from([(name.to_string(), value)])
}

/// `entry` at its defaults.
pub(crate) fn default_controller(entry: &Entry) -> Box<dyn Controller> {
    entry.build(&Parameters::new()).unwrap()
}

/// Every form of every controller: its name with the stack, the parameters that choose it, and its declaration.
pub(crate) fn forms() -> impl Iterator<Item = (&'static Entry, String, Parameters, Form)> {
    CONTROLLERS.iter().flat_map(|entry| {
        let of_stacks = stacks::of(entry.name)
            .map(move |(stack, form)| (entry, format!("{}-{stack}", entry.name), one(STACK, json!(stack)), form));
        [(entry, entry.name.to_owned(), Parameters::new(), entry.standard())].into_iter().chain(of_stacks)
    })
}

/// All probes of `controller`.
pub(crate) fn probes(controller: &dyn Controller) -> BTreeMap<&'static str, f64> {
    struct All(BTreeMap<&'static str, f64>);
    impl Probe for All {
        fn value(&mut self, name: &'static str, value: f64) {
            assert!(self.0.insert(name, value).is_none(), "probe `{name}` shown twice");
        }
    }
    let mut all = All(BTreeMap::new());
    controller.probe(&mut all);
    all.0
}
