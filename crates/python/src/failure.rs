//! What can keep a run from giving tables, and the exceptions that come of it.

use std::path::PathBuf;

use pyo3::create_exception;
use pyo3::exceptions::{PyOSError, PyRuntimeError};
use pyo3::prelude::*;
use scenario::Error;

use crate::language::exception;

create_exception!(ackclock._engine, MachineError, PyRuntimeError);

/// Why a run gave no tables.
pub(crate) enum Failure {
    Scenario(Error),
    Raised(PyErr),
    /// Stopped on request.
    Interrupted,
    /// A packet capture that cannot be written.
    Capture(PathBuf, std::io::Error),
    /// The machine cannot do it.
    #[cfg_attr(not(feature = "live"), expect(dead_code, reason = "a simulation asks nothing of the machine"))]
    Machine(String),
    /// A fault of the engine.
    Fault(String),
}

impl Failure {
    pub(crate) fn into_exception(self, py: Python<'_>) -> PyErr {
        match self {
            Self::Scenario(error) => exception(py, &error),
            Self::Raised(error) => error,
            Self::Capture(path, error) => {
                let reason = error.to_string();
                // Without the number that Rust puts after it: the number is an argument of its own.
                let reason = reason.split(" (os error").next().unwrap_or_default().to_owned();
                PyOSError::new_err((error.raw_os_error(), reason, path))
            }
            Self::Interrupted => PyRuntimeError::new_err("the run was stopped"),
            Self::Machine(message) => MachineError::new_err(message),
            Self::Fault(message) => PyRuntimeError::new_err(message),
        }
    }
}
