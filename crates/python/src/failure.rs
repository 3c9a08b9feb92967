//! Failures of runs, and the exceptions that they become.

use std::path::{Path, PathBuf};

use pyo3::create_exception;
use pyo3::exceptions::{PyOSError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use scenario::{Error, Plan};

use crate::language::exception;

create_exception!(ackclock._engine, MachineError, PyRuntimeError);
create_exception!(ackclock._engine, ControllerError, PyValueError);

/// Why a run gave no tables.
pub(crate) enum Failure {
    Scenario(Error),
    Raised(PyErr),
    /// A controller failed, or decided what no run can go on with.
    Controller(String),
    /// Stopped on request.
    Interrupted,
    /// A packet capture that cannot be written.
    Capture(PathBuf, std::io::Error),
    /// The machine cannot do it.
    Machine(String),
    /// A fault of the engine.
    Fault(String),
}

impl Failure {
    /// Why a run of `plan`, which was to write its packets to `pcap`, gave no tables.
    pub(crate) fn of(failure: engine::Failure, plan: &Plan, pcap: Option<&Path>) -> Self {
        match failure {
            engine::Failure::Interrupted => Self::Interrupted,
            engine::Failure::Scenario(error) => Self::Scenario(error),
            engine::Failure::Refused(message) => Self::Scenario(refusal(plan, message)),
            engine::Failure::CapturePoint(message) => {
                let (file, key) = ("--pcap".to_owned(), "bottleneck".to_owned());
                Self::Scenario(Error { file, line: None, key, message })
            }
            engine::Failure::Capture(error) => Self::Capture(pcap.unwrap_or(Path::new("")).to_owned(), error),
            engine::Failure::Machine(message) => Self::Machine(message),
            engine::Failure::Controller(message) => Self::Controller(message),
        }
    }

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
            Self::Controller(message) => ControllerError::new_err(message),
            Self::Machine(message) => MachineError::new_err(message),
            Self::Fault(message) => PyRuntimeError::new_err(message),
        }
    }
}

/// An engine refuses `plan` with `message`.
pub(crate) fn refusal(plan: &Plan, message: String) -> Error {
    Error { file: format!("scenario `{}`", plan.name), line: None, key: String::new(), message }
}
