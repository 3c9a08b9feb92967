//! Scenarios: from text to the handle that engines take.

use std::path::{Path, PathBuf};

use control::ControllerRef;
use pyo3::create_exception;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use scenario::{Document, Error};
use serde_json::Value;

use crate::plan::{Files, SharedPlan};

create_exception!(ackclock._engine, ScenarioError, PyValueError);

/// The name in errors of an override or a resolved scenario, which has no file.
pub(crate) const NO_FILE: &str = "scenario";

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

/// The end of the name of a scenario in JSON. Any other is TOML.
const JSON: &str = ".json";

/// The scenario that the document `text` of `file` describes once `overrides` are set in it.
#[pyfunction]
#[pyo3(signature = (text, file, overrides, files=None))]
pub(crate) fn resolve(
    py: Python<'_>,
    text: &str,
    file: &str,
    overrides: Vec<(String, String)>,
    files: Option<&Bound<'_, Files>>,
) -> PyResult<SharedPlan> {
    let document = if file.ends_with(JSON) {
        json_value(text)
            .map_err(|error| Error { file: file.to_owned(), ..error })
            .and_then(|value| Document::from_json(&value, file))
    } else {
        Document::from_toml(text, file)
    };
    resolved(document, file, &overrides, files).map_err(|error| exception(py, &error))
}

/// The same from a JSON document. `file` is its file, if there is one.
#[pyfunction]
#[pyo3(signature = (document, overrides, files=None, file=None))]
pub(crate) fn resolve_json(
    py: Python<'_>,
    document: &str,
    overrides: Vec<(String, String)>,
    files: Option<&Bound<'_, Files>>,
    file: Option<&str>,
) -> PyResult<SharedPlan> {
    let document = json_value(document).and_then(|value| Document::from_json(&value, file.unwrap_or(NO_FILE)));
    resolved(document, file.unwrap_or_default(), &overrides, files).map_err(|error| exception(py, &error))
}

/// The keys of a path that a file with `text` has values for over time: "rate", "rtt" or "delay", "loss".
#[pyfunction]
#[pyo3(signature = (text, columns=None))]
pub(crate) fn trace_keys(text: &str, columns: Option<&str>) -> PyResult<Vec<&'static str>> {
    scenario::trace_keys(text, columns).map_err(PyValueError::new_err)
}

/// The name in tables and plots of the controller that scenarios spell `cc`.
#[pyfunction]
pub(crate) fn controller_label(cc: &str) -> String {
    ControllerRef::from(cc).to_string()
}

/// What scenarios spell for the controller in the file `cc` if that is named from `folder`, or `None` if it is in none.
#[pyfunction]
pub(crate) fn controller_at(cc: &str, folder: PathBuf) -> Option<String> {
    let cc = ControllerRef::from(cc);
    let at = cc.file().map(|_| cc.at(|file| folder.join(file).components().collect()));
    at.map(|cc| cc.spelling().into_owned())
}

fn resolved(
    document: Result<Document, Error>,
    file: &str,
    overrides: &[(String, String)],
    files: Option<&Bound<'_, Files>>,
) -> Result<SharedPlan, Error> {
    let mut document = document?;
    for (key, value) in overrides {
        document.set(key, value)?;
    }
    let directory = Path::new(file).parent().unwrap_or(Path::new(""));
    let directory = std::path::absolute(directory.join(".")).map_err(|error| failure(error.to_string()))?;
    let own = Files::default();
    SharedPlan::of(document.scenario()?, &directory, files.map_or(&own, |files| files.get()))
}

pub(crate) fn json_value(text: &str) -> Result<Value, Error> {
    serde_json::from_str(text).map_err(|error| failure(format!("is not JSON: {error}")))
}

pub(crate) fn failure(message: String) -> Error {
    Error { file: NO_FILE.to_owned(), line: None, key: String::new(), message }
}
