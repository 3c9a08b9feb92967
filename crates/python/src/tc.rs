//! Lines of `tc`: their quantities, their queues, and the words that are known.

use network::{DisciplineSettings, TcMeaning};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde_json::json;
use units::tc;

use crate::catalogue::to_python;

/// `text`, a "time", "rate" or "size" of `tc`, as scenarios spell it.
#[pyfunction]
pub(crate) fn tc_quantity(text: &str, kind: &str) -> PyResult<String> {
    let spelled = match kind {
        "time" => tc::time(text).map(|time| time.to_string()),
        "rate" => tc::rate(text).map(|rate| rate.to_string()),
        "size" => tc::size(text).map(|size| format!("{}B", size.get())),
        _ => return Err(PyValueError::new_err(format!("`{kind}` is none of `time`, `rate` and `size`"))),
    };
    spelled.map_err(|error| PyValueError::new_err(error.to_string()))
}

/// The keys of a path whose queue `tc` calls `name`, with the words behind it.
#[pyfunction]
pub(crate) fn tc_queue<'py>(py: Python<'py>, name: &str, words: Vec<String>) -> PyResult<Bound<'py, PyAny>> {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    to_python(py, &scenario::path_of_tc(name, &words).map_err(PyValueError::new_err)?)
}

/// Every word of `tc` for a queue.
#[pyfunction]
pub(crate) fn tc_words(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    let words = DisciplineSettings::words_of_tc().into_iter().map(|word| {
        let (key, why) = match word.meaning {
            TcMeaning::Key(key) => (Some(key), None),
            TcMeaning::Shorthand => (None, None),
            TcMeaning::Passed(why) | TcMeaning::Refused(why) => (None, Some(why)),
        };
        json!({
            "discipline": word.discipline,
            "word": word.word,
            "takes": word.takes,
            "key": key,
            "why": why,
            "read": word.is_read(),
        })
    });
    to_python(py, &words.collect())
}
