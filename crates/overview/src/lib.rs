//! The first page of a report as numbers: a sentence per question, curves, and distributions; and metrics of a run.
//!
//! [`page`] reads the runs of one or several labels and answers with the numbers that charts and figures draw. With
//! several labels a curve is a label (a controller of `compare`): all flows of a run together, the median over the
//! repetitions, and the band between their 20th and 80th percentiles. With a single label a curve is a flow, or a group
//! of flows. Callers are the Python package and the module for web pages.
//!
//! A reader of the playground waits for this code. So it has loops over slices of doubles: each chain of iterators
//! would be compiled anew.

mod curves;
mod distributions;
mod levels;
pub mod metrics;
mod panels;
mod run;
mod sentences;
mod statistics;

use serde_json::Value;

pub use run::COLUMNS;

/// With more flows than this, flows of one name and controller are one curve.
const MANY_FLOWS: usize = 16;

/// Curves whose values differ by more than this factor have a logarithmic axis.
const TENFOLD: f64 = 10.0;

/// The first page of a report on the runs of `request`: `sentences` (question and answer), `stack` and `distributions`
/// (panels), `plane` (points) and `band` (the percentiles at its ends).
///
/// `request` is a line of JSON, then doubles (little-endian). The line is a list of labels, each with its repetitions:
/// `{"label", "of": [{"scenario", "duration_s", "warmup_s", "tables": {TABLE: {COLUMN: …}}}]}`. A column is a list of
/// texts, or `{"at", "length"}` for its place in the doubles. With `names` the doubles are indices into these. Missing
/// columns count as empty.
///
/// # Errors
///
/// If the line is no such JSON, or a label has no run.
pub fn page(request: &[u8]) -> Result<Value, String> {
    let mut parts = request.splitn(2, |&byte| byte == b'\n');
    let line = parts.next().unwrap_or_default();
    let mut numbers = Vec::new();
    for eight in parts.next().unwrap_or_default().chunks_exact(8) {
        numbers.push(f64::from_le_bytes(eight.try_into().unwrap_or_default()));
    }
    let labels = run::labels(serde_json::from_slice(line).map_err(|error| error.to_string())?, &numbers)?;
    let is_sampled = |table| labels.iter().all(|label| !label.first().numbers(table, "time_s").is_empty());
    let is_drawn = is_sampled("flow_series") && is_sampled("link_series");
    Ok(panels::object(vec![
        ("sentences", sentences::sentences(&labels)),
        ("stack", if is_drawn { curves::stack(&labels) } else { Vec::new() }.into()),
        ("plane", distributions::plane(&labels)),
        ("distributions", distributions::distributions(&labels).into()),
        ("band", panels::list(&panels::BAND)),
    ]))
}
