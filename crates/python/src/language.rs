//! Scenarios: from text to the resolved document, and what a plan says about it.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use control::ControllerRef;
use pyo3::create_exception;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use scenario::{Document, Error, Plan, Scenario};
use serde_json::{Value, json};
use units::{Bytes, Time};

use crate::catalogue::to_python;
use crate::memory;

create_exception!(ackclock._engine, ScenarioError, PyValueError);

/// What an override or a resolved scenario is called in errors, having no file.
const NO_FILE: &str = "scenario";

/// The exception for `error`, its parts as attributes.
pub(crate) fn exception(py: Python<'_>, error: &Error) -> PyErr {
    let exception = ScenarioError::new_err(error.to_string());
    let value = exception.value(py);
    let set = value
        .setattr("file", &error.file)
        .and_then(|()| value.setattr("line", error.line))
        .and_then(|()| value.setattr("key", &error.key));
    set.err().unwrap_or(exception)
}

/// The resolved scenario, as JSON, that the TOML document `text` of `file` describes once `overrides` are set in it.
#[pyfunction]
#[pyo3(signature = (text, file, overrides, *, any_controller=false))]
pub(crate) fn resolve(
    py: Python<'_>,
    text: &str,
    file: &str,
    overrides: Vec<(String, String)>,
    any_controller: bool,
) -> PyResult<String> {
    let document = Document::from_toml(text, file);
    resolved(document, file, &overrides, any_controller).map_err(|error| exception(py, &error))
}

/// The same from a JSON document.
#[pyfunction]
#[pyo3(signature = (document, overrides, *, any_controller=false))]
pub(crate) fn resolve_json(
    py: Python<'_>,
    document: &str,
    overrides: Vec<(String, String)>,
    any_controller: bool,
) -> PyResult<String> {
    let document = json_value(document).and_then(|value| Document::from_json(&value, NO_FILE));
    resolved(document, "", &overrides, any_controller).map_err(|error| exception(py, &error))
}

/// A resolved scenario and its plan, which is made when it is first needed: traces are read then, and only then.
pub(crate) struct Planned {
    resolved: String,
    any_controller: bool,
    plan: OnceLock<Result<Arc<Plan>, Error>>,
}

impl Planned {
    pub(crate) fn new(resolved: String, any_controller: bool) -> Self {
        Self { resolved, any_controller, plan: OnceLock::new() }
    }

    /// The plan, the same for all who ask.
    pub(crate) fn get(&self) -> Result<Arc<Plan>, Error> {
        self.plan.get_or_init(|| plan(&self.resolved, self.any_controller).map(Arc::new)).clone()
    }
}

/// The plan of a resolved scenario, with `any_controller` of one whose controllers the registry need not know.
pub(crate) fn plan(resolved: &str, any_controller: bool) -> Result<Plan, Error> {
    plan_of(&scenario::from_json(&json_value(resolved)?, NO_FILE)?, any_controller)
}

fn plan_of(scenario: &Scenario, any_controller: bool) -> Result<Plan, Error> {
    let files = read_file;
    if any_controller { scenario.plan_live(&files) } else { scenario.plan(&files) }
}

/// The largest file that a scenario may name, in bytes: a trace of an hour at 1 Gbit/s has 300 million lines.
const LARGEST_FILE: u64 = 1 << 30;

/// The bytes of a file that a scenario names. A device or a pipe could go on for ever.
fn read_file(path: &Path) -> std::io::Result<Vec<u8>> {
    let refuse = |why: String| Err(std::io::Error::other(why));
    let about = std::fs::metadata(path)?;
    if !about.is_file() {
        return refuse("it is no regular file".to_owned());
    }
    if about.len() > LARGEST_FILE {
        return refuse(format!("it has {} bytes, more than the {LARGEST_FILE} that are allowed", about.len()));
    }
    std::fs::read(path)
}

/// What tables and plots call the controller that scenarios spell `cc`.
#[pyfunction]
pub(crate) fn controller_label(cc: &str) -> String {
    ControllerRef::from(cc).to_string()
}

/// The file in C that scenarios spell `cc`, if it is one.
#[pyfunction]
pub(crate) fn controller_file(cc: &str) -> Option<PathBuf> {
    match cc.into() {
        ControllerRef::Source(path) => Some(path),
        _ => None,
    }
}

/// What the plan of a resolved scenario says.
#[pyfunction]
pub(crate) fn inspect<'py>(py: Python<'py>, resolved: &str) -> PyResult<Bound<'py, PyAny>> {
    // The names were checked when it was resolved.
    let plan = plan(resolved, true).map_err(|error| exception(py, &error))?;
    let flows = plan.flows.iter().map(|flow| {
        json!({
            "name": flow.name,
            "cc": flow.cc.label(),
            "base_rtt_ms": record::milliseconds(flow.base_rtt),
            "start_s": record::seconds(flow.start),
            "stop_s": record::seconds(flow.stop),
            "connections": flow.connections(),
        })
    });
    let links = plan.links.iter().map(|link| {
        json!({
            "name": link.name,
            "rate_bps": link.rate.map(|rate| rate.bits_per_second()),
            "delay_ms": record::milliseconds(link.delay),
        })
    });
    let answer = json!({
        "warnings": plan.warnings,
        "estimated_memory_bytes": plan.estimated_memory().get(),
        "available_memory_bytes": memory::available(memory::MACHINE).map(Bytes::get),
        "duration_s": record::seconds(Time::ZERO + plan.duration),
        "warmup_s": record::seconds(Time::ZERO + plan.warmup),
        "bottleneck": plan.bottleneck.map(|link| &plan.links[link].name),
        "flows": flows.collect::<Value>(),
        "links": links.collect::<Value>(),
    });
    to_python(py, &answer)
}

fn resolved(
    document: Result<Document, Error>,
    file: &str,
    overrides: &[(String, String)],
    any_controller: bool,
) -> Result<String, Error> {
    let mut document = document?;
    for (key, value) in overrides {
        document.set(key, value)?;
    }
    let scenario = document.scenario()?;
    // Only the plan finds what one key alone cannot tell.
    plan_of(&scenario, any_controller)?;
    let directory = Path::new(file).parent().unwrap_or(Path::new(""));
    let directory = std::path::absolute(directory.join(".")).map_err(|error| failure(error.to_string()))?;
    let value = serde_json::to_value(scenario.anchored(&directory));
    Ok(value.map_err(|error| failure(error.to_string()))?.to_string())
}

fn json_value(text: &str) -> Result<Value, Error> {
    serde_json::from_str(text).map_err(|error| failure(format!("is not JSON: {error}")))
}

fn failure(message: String) -> Error {
    Error { file: NO_FILE.to_owned(), line: None, key: String::new(), message }
}
