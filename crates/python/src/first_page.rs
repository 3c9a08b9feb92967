//! The first page of a report, and metrics of a run.

use std::collections::BTreeMap;

use overview::{COLUMNS, metrics};
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

/// Goodput of all flows together.
#[pyfunction]
pub(crate) fn goodput(delivered_bytes: Vec<f64>, measured_s: f64) -> f64 {
    metrics::goodput(&delivered_bytes, measured_s)
}

/// Loss of all flows together.
#[pyfunction]
pub(crate) fn loss_percent(data_packets: Vec<f64>, loss_rate: Vec<f64>) -> f64 {
    metrics::loss_percent(&data_packets, &loss_rate)
}

/// What limited the flows for longest, unless it was the window, and for how much of the time in percent.
#[pyfunction]
pub(crate) fn limit(
    measured_s: Vec<f64>,
    completion_s: Vec<Option<f64>>,
    times_us: [Vec<f64>; 4],
) -> Option<(&'static str, f64)> {
    let completion_s: Vec<f64> = completion_s.into_iter().map(|time| time.unwrap_or(f64::NAN)).collect();
    let [busy_us, app_limited_us, rwnd_limited_us, sndbuf_limited_us] = &times_us;
    metrics::FlowTimes {
        measured_s: &measured_s,
        completion_s: &completion_s,
        busy_us,
        app_limited_us,
        rwnd_limited_us,
        sndbuf_limited_us,
    }
    .limit()
}

/// Jain's fairness index.
#[pyfunction]
pub(crate) fn jain(values: Vec<f64>) -> f64 {
    metrics::jain(&values)
}

/// Jain's index of the goodputs of lasting flows, with `link` of those that cross it. `flows` is the JSON of the list
/// in the resolved scenario.
#[pyfunction]
#[pyo3(signature = (flows, goodputs, completions, routes=Vec::new(), link=None))]
pub(crate) fn fairness(
    flows: &str,
    goodputs: Vec<f64>,
    completions: Vec<Option<f64>>,
    routes: Vec<Vec<usize>>,
    link: Option<usize>,
) -> PyResult<f64> {
    let flows = serde_json::from_str(flows).map_err(|error| PyValueError::new_err(error.to_string()))?;
    let greedy = metrics::greedy(&flows);
    let completions: Vec<f64> = completions.into_iter().map(|time| time.unwrap_or(f64::NAN)).collect();
    let crossing = link.map_or_else(Vec::new, |link| metrics::crossing(&routes, link));
    Ok(metrics::fairness([&greedy, &crossing], &goodputs, &completions))
}
