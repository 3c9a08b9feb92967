//! The sysctls of Linux: their meaning for an endpoint, and a list of them.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde_json::json;
use transport::PROFILES;

use crate::catalogue::to_python;

/// The meaning of `settings`, names and values, for an endpoint of `profile`.
#[pyfunction]
pub(crate) fn configure<'py>(
    py: Python<'py>,
    profile: &str,
    settings: Vec<(String, String)>,
) -> PyResult<Bound<'py, PyAny>> {
    let found = PROFILES.iter().find(|known| known.name == profile);
    let found = found.ok_or_else(|| PyValueError::new_err(format!("there is no profile `{profile}`")))?;
    let configured = scenario::configure(&(found.stack)(), &settings).map_err(PyValueError::new_err)?;
    to_python(py, &json!(configured))
}

/// Every sysctl that is known.
#[pyfunction]
pub(crate) fn sysctls(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    to_python(py, &json!(scenario::sysctls()))
}
