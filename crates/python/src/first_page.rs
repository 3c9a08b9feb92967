//! The first page of a report.

use std::collections::BTreeMap;

use overview::COLUMNS;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// The columns of each table that the first page of a report reads.
#[pyfunction]
pub(crate) fn first_page_columns() -> BTreeMap<&'static str, Vec<&'static str>> {
    COLUMNS.iter().map(|&(table, columns)| (table, columns.to_vec())).collect()
}

/// The first page of a report as JSON.
#[pyfunction]
pub(crate) fn first_page(py: Python<'_>, request: &[u8]) -> PyResult<String> {
    let page = py.detach(|| overview::page(request)).map_err(PyValueError::new_err)?;
    Ok(page.to_string())
}
