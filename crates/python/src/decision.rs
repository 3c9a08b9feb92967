//! Decisions of controllers written in Python, and the sentences about those outside the law.

use control::law::Breach;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyFloat, PyString, PyTuple};
use units::{Span, Time};

use crate::attached::{attribute, call, import};
use crate::failure::ControllerError;

/// Later than anything that happens, in seconds: as good as never.
const FAR_S: f64 = 1e9;
pub(crate) const FAR: Time = Time::from_nanos(1_000_000_000_000_000_000);

/// The controller called `name` after `event`, for sentences about its decisions.
pub(crate) struct Named<'a> {
    pub(crate) name: &'a str,
    pub(crate) event: &'a str,
}

impl Named<'_> {
    /// A decision as `law` takes it.
    pub(crate) fn lawful<T>(&self, value: &Bound<'_, PyAny>, law: impl Fn(f64) -> Result<T, Breach>) -> PyResult<T> {
        let number = number(value);
        law(number.unwrap_or(f64::NAN)).map_err(|breach| match number {
            Some(_) => ControllerError::new_err(format!("{}.{breach} (after {})", self.name, self.event)),
            None => self.refusal(breach.decision, value, breach.allowed),
        })
    }

    /// The time in the attribute `of`.
    pub(crate) fn point(&self, object: &Bound<'_, PyAny>, of: &Bound<'_, PyString>) -> PyResult<Option<Time>> {
        let value = attribute(object, of)?;
        if value.is_none() {
            return Ok(None);
        }
        match number(&value) {
            Some(at) if !at.is_nan() => Ok(Some(Time::ZERO + Span::from_secs_f64(at.min(FAR_S)))),
            _ => Err(self.refusal(of.to_str()?, &value, "a time in seconds, or None")),
        }
    }

    /// The sentence about the value of an attribute that is none of the `allowed`.
    pub(crate) fn refusal(&self, attribute: &str, value: &Bound<'_, PyAny>, allowed: &str) -> PyErr {
        let Self { name, event } = self;
        match shown(value) {
            Ok(value) => {
                ControllerError::new_err(format!("{name}.{attribute} is {value}: allowed is {allowed} (after {event})"))
            }
            Err(error) => error,
        }
    }
}

/// The number that `value` is. A bool is none.
fn number(value: &Bound<'_, PyAny>) -> Option<f64> {
    match value.cast_exact::<PyFloat>() {
        Ok(float) => Some(float.value()),
        Err(_) if value.is_instance_of::<PyBool>() => None,
        Err(_) => value.extract().ok(),
    }
}

/// `value` in a sentence: see `errors.shown`.
fn shown(value: &Bound<'_, PyAny>) -> PyResult<String> {
    let py = value.py();
    let function = attribute(&import(pyo3::intern!(py, "ackclock.errors"))?, pyo3::intern!(py, "shown"))?;
    call(&function, &PyTuple::new(py, [value])?)?.extract()
}
