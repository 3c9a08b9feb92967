//! What a run gives: tables, and what it cost.

use arrow_array::RecordBatch;
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use record::Tables;
use serde_json::Value;

use crate::catalogue::to_python;
use crate::failure::Failure;
use crate::table::{Table, record_batch};

/// The tables of one run.
#[pyclass(frozen, module = "ackclock._engine")]
pub(crate) struct Run {
    tables: Vec<(&'static str, RecordBatch)>,
    engine: Value,
}

impl Run {
    pub(crate) fn new(tables: Tables, engine: Value) -> Result<Self, Failure> {
        let tables = tables.into_tables().map(|table| {
            let name = table.name;
            record_batch(table).map(|batch| (name, batch))
        });
        let tables: Result<_, _> = tables.into_iter().collect();
        Ok(Self { tables: tables.map_err(|error| Failure::Fault(error.to_string()))?, engine })
    }
}

#[pymethods]
impl Run {
    /// The table called `name`.
    fn table(&self, name: &str) -> PyResult<Table> {
        let found = self.tables.iter().find(|(known, _)| *known == name);
        found.map(|(_, batch)| Table(batch.clone())).ok_or_else(|| {
            let known = self.tables.iter().map(|(known, _)| *known).collect::<Vec<_>>().join(", ");
            PyKeyError::new_err(format!("there is no table `{name}`; there are {known}"))
        })
    }

    /// What the run cost.
    #[getter]
    fn engine<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, &self.engine)
    }
}
