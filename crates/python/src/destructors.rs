//! Exceptions of destructors in Python. Python prints and forgets them, and a run whose controllers raise them fails.

use pyo3::exceptions::PyBaseException;
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
        attach(|py| -> PyResult<()> { call(&function(py, "listen")?, &PyTuple::empty(py)).map(drop) });
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
            let heard = call(&function(py, "heard")?, &(traceback,).into_pyobject(py)?)?;
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

/// The function `name` of destructors.py.
fn function<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
    import(pyo3::intern!(py, "ackclock.destructors"))?.getattr(name)
}
