//! Controllers that stay in the kernel.

use kernel::{LoadError, machine};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde_json::json;

use crate::catalogue::to_python;
use crate::failure::MachineError;

/// Loads a controller with `parameters` (a JSON object) and pins it. Returns its name for TCP_CONGESTION.
#[pyfunction]
pub(crate) fn kernel_load(controller: &str, parameters: &str) -> PyResult<String> {
    machine::pin(&controller.into(), &from_json(parameters)?).map_err(|error| exception(&error))
}

/// Takes a controller out of the kernel.
#[pyfunction]
pub(crate) fn kernel_unload(name: &str) -> PyResult<()> {
    machine::unpin(name).map_err(|error| exception(&error))
}

/// The controllers that are pinned.
#[pyfunction]
pub(crate) fn kernel_list(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    let pinned = machine::list().map_err(|error| exception(&error))?;
    let pinned = pinned.into_iter().map(|one| json!({ "name": one.name, "parameters": one.parameters }));
    to_python(py, &pinned.collect())
}

/// Sets `parameters` (a JSON object) of a controller that is pinned.
#[pyfunction]
pub(crate) fn kernel_set(name: &str, parameters: &str) -> PyResult<()> {
    machine::set(name, &from_json(parameters)?).map_err(|error| exception(&error))
}

fn exception(error: &LoadError) -> PyErr {
    MachineError::new_err(error.to_string())
}

fn from_json<T: serde::de::DeserializeOwned>(text: &str) -> PyResult<T> {
    serde_json::from_str(text).map_err(|error| PyValueError::new_err(format!("{text} is not JSON for this: {error}")))
}
