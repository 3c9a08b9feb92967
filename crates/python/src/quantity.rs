//! Quantities with their units, read as scenarios read them.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use units::{Bytes, Fraction, ParseError, Rate, Span};

/// Reads one spelling as seconds, bits per second, bytes or a share of 1.
type Reader = fn(&str) -> Result<f64, ParseError>;

/// Every kind of quantity by its name. A bare number can be a fraction only, so fractions come last.
const KINDS: [(&str, Reader); 4] = [
    ("time", |text| text.parse().map(Span::as_secs_f64)),
    ("rate", |text| text.parse().map(|rate: Rate| rate.bits_per_second() as f64)),
    ("size", |text| text.parse().map(|size: Bytes| size.get() as f64)),
    ("fraction", |text| text.parse().map(Fraction::get)),
];

/// The number that `text` spells, in seconds, bits per second, bytes, or as a share of 1. Without `kind` the unit
/// decides.
#[pyfunction]
#[pyo3(signature = (text, kind=None))]
pub(crate) fn quantity(text: &str, kind: Option<&str>) -> PyResult<f64> {
    let Some(kind) = kind else {
        return KINDS.iter().find_map(|(_, read)| read(text).ok()).ok_or_else(|| {
            let examples = "`40ms`, `10mbit`, `64kB`, `1%` or `0.01`";
            PyValueError::new_err(format!("`{text}` is no quantity with its unit: write it like {examples}"))
        });
    };
    let Some((_, read)) = KINDS.iter().find(|(name, _)| *name == kind) else {
        let known = KINDS.map(|(name, _)| format!("`{name}`")).join(", ");
        return Err(PyValueError::new_err(format!("there is no kind of quantity `{kind}`; there are {known}")));
    };
    read(text).map_err(|error| PyValueError::new_err(error.to_string()))
}
