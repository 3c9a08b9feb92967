//! The result of a run: tables and cost.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use arrow_array::RecordBatch;
use overview::metrics;
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use record::Tables;
use serde_json::Value;

use crate::catalogue::to_python;
use crate::language::exception;
use crate::plan::SharedPlan;
use crate::table::{Table, arrow_failure, doubles, record_batch, rows};

/// The tables of one run.
#[pyclass(frozen, module = "ackclock._engine")]
pub(crate) struct Run {
    tables: Mutex<RunTables>,
    engine: Value,
}

/// Tables take several times the memory as batches, so each becomes one only when it is asked for.
struct RunTables {
    recorded: Tables,
    batches: HashMap<&'static str, RecordBatch>,
}

impl RunTables {
    /// The batch of the table called `name`, or `None` if there is none.
    fn batch(&mut self, name: &str) -> PyResult<Option<RecordBatch>> {
        if let Some(batch) = self.batches.get(name) {
            return Ok(Some(batch.clone()));
        }
        let Some(table) = self.recorded.take(name) else { return Ok(None) };
        let name = table.name;
        let batch = record_batch(table).map_err(|error| arrow_failure(&error))?;
        self.batches.insert(name, batch.clone());
        Ok(Some(batch))
    }
}

impl Run {
    pub(crate) fn new(recorded: Tables, engine: Value) -> Self {
        Self { tables: Mutex::new(RunTables { recorded, batches: HashMap::new() }), engine }
    }

    fn batch(&self, py: Python<'_>, name: &str) -> PyResult<RecordBatch> {
        let batch = py.detach(|| self.tables.lock().unwrap_or_else(PoisonError::into_inner).batch(name));
        batch?.ok_or_else(|| {
            PyKeyError::new_err(format!("there is no table `{name}`; there are {}", Tables::NAMES.join(", ")))
        })
    }
}

#[pymethods]
impl Run {
    /// The table called `name`.
    fn table(&self, py: Python<'_>, name: &str) -> PyResult<Table> {
        self.batch(py, name).map(Table)
    }

    /// Jain's index of the goodputs of the flows of `plan` that last, send all they can, and have data on `link`.
    #[pyo3(signature = (plan, link=None))]
    fn fairness(&self, py: Python<'_>, plan: &SharedPlan, link: Option<usize>) -> PyResult<f64> {
        let flows = self.batch(py, "flows")?;
        let planned = plan.planned();
        let greedy = planned.greedy().map_err(|error| exception(py, &error))?;
        let routes = planned.get().map_err(|error| exception(py, &error))?.routes();
        let crossing = link.map_or_else(Vec::new, |link| metrics::crossing(&routes, link));
        Ok(metrics::fairness([greedy, &crossing], &doubles(&flows, "goodput_bps"), &doubles(&flows, "completion_s")))
    }

    /// The rows of the table called `name`.
    fn rows<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Vec<Bound<'py, PyDict>>> {
        rows(py, &self.batch(py, name)?)
    }

    /// The cost of the run.
    #[getter]
    fn engine<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, &self.engine)
    }
}
