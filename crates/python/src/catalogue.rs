//! The catalogue: version, language, controllers, profiles.

use control::{Parameter, stacks};
use pyo3::prelude::*;
use serde_json::{Value, json};

use crate::event;
use crate::json::text;

/// The version of the engine.
#[pyfunction]
pub(crate) fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}

/// The JSON schema of the scenario language.
#[pyfunction]
pub(crate) fn schema() -> String {
    text(&scenario::schema())
}

/// The classes of the signals that a controller gets.
#[pyfunction]
pub(crate) fn signals(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    to_python(py, &event::described())
}

/// Every column of every table of a run.
#[pyfunction]
pub(crate) fn columns(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    let described = |table: &'static str| {
        move |column: record::Column| {
            let record::Column { name, unit, meaning, .. } = column;
            json!({ "table": table, "name": name, "unit": unit, "meaning": meaning })
        }
    };
    let tables = record::Tables::default().into_tables();
    to_python(py, &tables.into_iter().flat_map(|table| table.columns.into_iter().map(described(table.name))).collect())
}

/// Every controller with its parameters.
#[pyfunction]
pub(crate) fn controllers(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    to_python(py, &described(control::registry::CONTROLLERS))
}

/// Every controller of media, likewise.
#[pyfunction]
pub(crate) fn media_controllers(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    to_python(py, &described(control::registry::MEDIA))
}

/// These controllers with their parameters.
fn described(entries: &[control::Entry]) -> Value {
    let list = entries.iter().map(|entry| {
        let parameters = entry.parameters.iter().map(declared);
        let probes = entry
            .probes
            .iter()
            .map(|probe| json!({ "name": probe.name, "unit": probe.unit, "meaning": probe.meaning }));
        let forms = stacks::of(entry.name).map(|(stack, form)| {
            let parameters = form.parameters.iter().map(|p| (p.name.to_owned(), p.default.to_json()));
            let others = form.parameters.iter().filter(|p| entry.parameters.iter().all(|own| own.name != p.name));
            json!({
                "stack": stack,
                "default": stacks::is_default(entry.name, stack),
                "parameters": parameters.collect::<serde_json::Map<_, _>>(),
                "others": others.map(declared).collect::<Value>(),
            })
        });
        json!({
            "name": entry.name,
            "title": entry.title,
            "summary": entry.summary,
            "source": entry.source,
            "aim": entry.aim.name(),
            "parameters": parameters.collect::<Value>(),
            "forms": forms.collect::<Value>(),
            "probes": probes.collect::<Value>(),
        })
    });
    list.collect()
}

/// The declaration of a parameter.
fn declared(parameter: &Parameter) -> Value {
    json!({
        "name": parameter.name,
        "default": parameter.default.to_string(),
        "unit": parameter.unit,
        "range": parameter.range.to_string(),
        "meaning": parameter.meaning,
        "source": parameter.source,
        "schema": parameter.schema(),
    })
}

fn options(profile: &transport::Profile) -> scenario::TransportOptions {
    scenario::TransportOptions::of(&(profile.stack)())
}

/// Every profile with its options.
#[pyfunction]
pub(crate) fn profiles(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    let list = transport::PROFILES
        .iter()
        .map(|profile| json!({ "name": profile.name, "summary": profile.summary, "options": options(profile) }));
    to_python(py, &list.collect())
}

/// `value` as Python's own dictionaries, lists and numbers.
pub(crate) fn to_python<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    py.import("json")?.call_method1("loads", (text(value),))
}
