//! Exceptions of destructors in Python. Python prints and forgets them, and a run whose controllers raise them fails.

use pyo3::exceptions::{PyBaseException, PyKeyboardInterrupt};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::attached::{attach, call, import, is_beneath_a_frame, let_go};
use crate::failure::Failure;

/// This thread listens to destructors as long as this lives.
pub(crate) struct Listening;

impl Listening {
    /// Begins to listen, if the runs of this thread call Python.
    pub(crate) fn begin() -> Option<Self> {
        if !is_beneath_a_frame() {
            return None;
        }
        attach(|py| uninterrupted(py, "listen", &PyTuple::empty(py)).map(drop));
        let_go();
        Some(Self)
    }

    /// What a run ends with. One that went well fails if a destructor did.
    pub(crate) fn end<T>(self, answer: Result<T, Failure>) -> Result<T, Failure> {
        let raised = match &answer {
            Err(Failure::Raised(error)) => Some(error),
            _ => None,
        };
        let heard = attach(|py| -> PyResult<Option<PyErr>> {
            let traceback = raised.and_then(|error| error.traceback(py));
            let interrupted = raised.is_some_and(|error| error.is_instance_of::<PyKeyboardInterrupt>(py));
            let heard = uninterrupted(py, "heard", &(traceback, interrupted).into_pyobject(py)?)?;
            let error = heard.extract::<Option<Bound<'_, PyBaseException>>>()?;
            Ok(error.map(|error| PyErr::from_value(error.into_any())))
        });
        let_go();
        match (answer, heard) {
            (Ok(_), Some(Ok(Some(error)) | Err(error))) => Err(Failure::Raised(error)),
            (answer, _) => answer,
        }
    }
}

/// The value of the function `name` of destructors.py, which is called again where an interrupt of this thread ends it.
fn uninterrupted<'py>(py: Python<'py>, name: &str, arguments: &Bound<'py, PyTuple>) -> PyResult<Bound<'py, PyAny>> {
    let function = import(pyo3::intern!(py, "ackclock.destructors"))?.getattr(name)?;
    loop {
        match call(&function, arguments) {
            Err(error) if error.is_instance_of::<PyKeyboardInterrupt>(py) => {}
            answer => return answer,
        }
    }
}
