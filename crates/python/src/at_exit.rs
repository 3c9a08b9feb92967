//! The end of the interpreter while runs have controllers in Python.
//!
//! Threads that are in Python when the interpreter ends never come back. So the threads of runs are stopped before. A
//! daemon thread that waits for their results is not woken to find none.

use std::cell::Cell;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyCFunction;

use crate::batch::Work;
use crate::threads::PythonThreads;

type Running = (Weak<Work>, Arc<PythonThreads>);

static RUNNING: Mutex<Vec<Running>> = Mutex::new(Vec::new());
static REGISTERED: PyOnceLock<()> = PyOnceLock::new();

thread_local! {
    static HERE: Cell<bool> = const { Cell::new(false) };
}

/// Stops `work` when the interpreter ends, if it still runs on `threads`.
pub(crate) fn stop(work: &Arc<Work>, threads: &Arc<PythonThreads>, py: Python<'_>) -> PyResult<()> {
    let mut running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
    running.retain(|(work, _)| work.strong_count() > 0);
    running.push((Arc::downgrade(work), threads.clone()));
    drop(running);
    REGISTERED.get_or_try_init(py, || {
        let function = PyCFunction::new_closure(py, None, None, |arguments, _| stop_all(arguments.py()))?;
        py.import("atexit")?.call_method1("register", (function,)).map(drop)
    })?;
    Ok(())
}

fn stop_all(py: Python<'_>) {
    HERE.set(true);
    let running = std::mem::take(&mut *RUNNING.lock().unwrap_or_else(PoisonError::into_inner));
    running.iter().filter_map(|(work, _)| work.upgrade()).for_each(|work| work.abandon());
    running.iter().for_each(|(_, threads)| threads.interrupt(py));
}

/// Whether this is the thread that ends the interpreter.
pub(crate) fn is_here() -> bool {
    HERE.get()
}
